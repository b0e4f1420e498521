/* Any bytes as the hub's list of files either are an error that names the address, or names that stay in their directory;
 * as a model's card they are an error on line 1, or become a card that stays what it is when it is published again. */
#include "fuzz.h"

#include "curl/hub_card.h"
#include "curl/listing.h"

#include <string.h>

static void read_listing(const uint8_t *data, size_t n) {
  cq_error error = {0};
  json_error_t problem;
  json_t *json;
  cq_hub_listing l;
  if (cq_json_load(&json, (cq_slice){(const char *)data, n}, 0, &problem)) return;
  const cq_status status = cq_hub_listing_read(&l, json, "http://hub/list", &error);
  if (status) {
    CHECK(status == CQ_ERR_FORMAT && !strncmp(error.message, "http://hub/list: ", 17));
    return;
  }
  CHECK(strspn(l.commit, "0123456789abcdef") == 40);
  cq_hub_want_model(&l, json_object_get(l.json, "modules"));
  CHECK(cq_hub_want_matching(&l, NULL, 0, "org/model", &error) == CQ_OK);
  for (size_t i = 0; i < l.n; i++) {
    const char *name = l.files[i].name;
    CHECK(l.files[i].is_wanted && cq_hub_listing_find(&l, name));
    CHECK(name[0] && name[0] != '/' && strncmp(name, "../", 3) != 0 && !strstr(name, "/../") && !strchr(name, '\\'));
  }
  cq_hub_listing_free(&l);
}

static void write_card(const uint8_t *data, size_t n) {
  const char *const languages[] = {"de", "no"};
  cq_hub_put_options o = cq_hub_put_default_options();
  cq_builder card = {0}, again = {0};
  cq_error error = {0};
  o.license = "mit", o.languages = languages, o.n_languages = 2;
  fuzz_file("README.md", data, n);
  const cq_status status = cq_hub_card_write(&card, fuzz_path(""), "org/model", &o, &error);
  if (status) {
    CHECK(status == CQ_ERR_FORMAT && error.line == 1 && n >= 3);
  } else {
    CHECK(!strncmp(card.data, "---\n", 4) && card.data[card.n - 1] == '\n');
    fuzz_file("README.md", card.data, card.n);
    CHECK(cq_hub_card_write(&again, fuzz_path(""), "org/model", &o, &error) == CQ_OK);
    CHECK(again.n == card.n);
  }
  cq_builder_free(&card), cq_builder_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  read_listing(data, n);
  write_card(data, n);
  return 0;
}
