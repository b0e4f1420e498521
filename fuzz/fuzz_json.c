/* Any bytes either are an error with a line, or JSON that is the same after being written and read again. */
#include "fuzz.h"

#include "format/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  json_t *json, *again;
  cq_error error = {0};
  cq_status status = cq_json_parse(&json, (cq_slice){(const char *)data, n}, "input", &error);
  if (status) {
    CHECK(status == CQ_ERR_FORMAT && error.line > 0 && !json);
    return 0;
  }
  int64_t i = 0;
  double d = 0;
  bool b = false;
  const char *s = "";
  CHECK(cq_json_get_int(&i, json, "a", -5, 5, "input", &error) <= CQ_ERR_FORMAT && i >= -5 && i <= 5);
  CHECK(cq_json_get_number(&d, json, "a", "input", &error) <= CQ_ERR_FORMAT);
  CHECK(cq_json_get_bool(&b, json, "a", "input", &error) <= CQ_ERR_FORMAT);
  CHECK(cq_json_get_string(&s, json, "a", "input", &error) <= CQ_ERR_FORMAT);
  for (int indent = -1; indent < 3; indent += 3) {
    cq_builder text = {0};
    cq_json_append(&text, json, indent);
    CHECK(!text.failed);
    CHECK(cq_json_parse(&again, (cq_slice){text.data, text.n}, "again", &error) == CQ_OK);
    CHECK(json_equal(json, again));
    json_decref(again);
    cq_builder_free(&text);
  }
  json_decref(json);
  return 0;
}
