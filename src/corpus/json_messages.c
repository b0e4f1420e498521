/* Messages in JSON, a file for each language with the same keys: MediaWiki, i18next, ARB, Chrome's extensions.
 *
 *   en.json   {"@metadata": {...}, "menu": {"open": "Open", "files_one": "one file"}, "days": ["Mon", "Tue"]}
 *   de.json   {"menu": {"open": "\u00d6ffnen", ...
 *
 * A key is the path of names and positions to a text. Names that begin with '@' are about the messages, and ignored. */
#include "base/error.h"
#include "corpus/catalogs.h"
#include "format/json.h"

#include <string.h>

/* Text under a key; `key` is as it was afterwards. The parser limits the depth. */
static cq_status put_json(cq_catalogs *c, cq_builder *key, const json_t *value, const char *path, cq_error *error) {
  const size_t n_key = key->n;
  const char *name;
  json_t *member;
  cq_status status = CQ_OK;
  if (json_is_string(value)) {
    const cq_slice text = {json_string_value(value), json_string_length(value)};
    return cq_catalogs_put(c, (cq_slice){key->data, key->n}, (cq_slice){0}, text, path, error);
  }
  for (size_t i = 0; !status && i < json_array_size(value); i++) {
    cq_builder_printf(key, "/%zu", i);
    if (key->failed) return cq_fail_memory(error, path);
    status = put_json(c, key, json_array_get(value, i), path, error);
    key->n = n_key;
  }
  json_object_foreach((json_t *)value, name, member) {
    if (status || *name == '@') continue;
    cq_builder_printf(key, "/%s", name);
    if (key->failed) return cq_fail_memory(error, path);
    status = put_json(c, key, member, path, error);
    key->n = n_key;
  }
  return status;
}

static cq_status read_json_messages(cq_catalogs *c, cq_slice file, const char *path, cq_error *error) {
  json_t *json = NULL;
  cq_builder key = {0};
  cq_status status = cq_json_parse(&json, file, path, error);
  if (!status) status = put_json(c, &key, json, path, error);
  cq_builder_free(&key);
  json_decref(json);
  return status;
}

static cq_status open_json_messages(cq_format_reader *reader, cq_error *error) {
  return cq_catalogs_open((cq_catalogs *)reader, read_json_messages, false, error);
}

const cq_format cq_format_json_messages = {
    .about = {.name = "json-messages",
              .inputs = "FILE...",
              .min_inputs = 1,
              .max_inputs = 65536,
              .has_columns = true,
              .help = "messages of the same keys in JSON (MediaWiki, i18next, ARB): two files, or with --columns en,de "
                      "a directory"},
    .endings = ".json .arb",
    .size = sizeof(cq_catalogs),
    .open = open_json_messages,
    .next = cq_catalogs_next,
    .close = cq_catalogs_close,
};
