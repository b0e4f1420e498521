/* JSON files: places of faults, typed members, exact numbers both ways. */
#include "support/files.h"

#include "base/memory.h"
#include "format/json.h"

static json_t *parse(const char *text) {
  json_t *json;
  cq_error error = {0};
  if (cq_json_parse(&json, cq_slice_of(text), "x.json", &error)) fail_msg("%s", error.message);
  return json;
}

static void faults_are_placed(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t line;
  } cases[] = {{"", 1},       {"{", 1},        {"{\n\"a\": 1,\n}", 3}, {"{\"a\":\n\n[1 2]}", 3},
               {"{}\n{}", 2}, {"\"text\"", 1}, {"{\"a\":1e999}", 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    json_t *json;
    cq_error error = {0};
    write_text(test_path("bad.json"), cases[i].text);
    assert_int_equal(cq_json_read(&json, test_path("bad.json"), &error), CQ_ERR_FORMAT);
    assert_null(json);
    assert_int_equal(error.line, cases[i].line);
    assert_non_null(strstr(error.message, "bad.json:"));
    assert_non_null(strstr(error.message, "not JSON: "));
  }
  json_t *json;
  cq_error error = {0};
  assert_int_equal(cq_json_read(&json, test_path("none.json"), &error), CQ_ERR_IO);
  write_bytes(test_path("bad.json"), "{\"a\":\"\xFF\"}", 9);
  assert_int_equal(cq_json_read(&json, test_path("bad.json"), &error), CQ_ERR_FORMAT);
}

static void members_are_typed(void **state) {
  (void)state;
  json_t *json = parse(
      "{\"i\":-3,\"r\":0.5,\"whole\":512.0,\"t\":true,\"s\":\"text\",\"null\":null,\"nul\":\"a\\u0000b\",\"o\":{}}");
  int64_t i = 7;
  double d = 7;
  bool b = false;
  const char *s = "kept";
  cq_error error = {0};
  assert_int_equal(cq_json_get_int(&i, json, "i", -3, 3, "x.json", &error), CQ_OK);
  assert_int_equal(i, -3);
  assert_int_equal(cq_json_get_int(&i, json, "whole", 0, 1000, "x.json", &error), CQ_OK);
  assert_int_equal(i, 512);
  assert_int_equal(cq_json_get_int(&i, json, "missing", 0, 1, "x.json", &error), CQ_OK);
  assert_int_equal(cq_json_get_int(&i, json, "null", 0, 1, "x.json", &error), CQ_OK);
  assert_int_equal(i, 512);
  assert_int_equal(cq_json_get_int(&i, json, "i", -2, 3, "x.json", &error), CQ_ERR_FORMAT);
  assert_string_equal(error.message, "x.json: \"i\" is -3, expected -2 to 3");
  assert_int_equal(cq_json_get_int(&i, json, "r", 0, 1, "x.json", &error), CQ_ERR_FORMAT);
  assert_string_equal(error.message, "x.json: \"r\" is a number, expected an integer");
  assert_int_equal(cq_json_get_number(&d, json, "r", "x.json", &error), CQ_OK);
  assert_true(d == 0.5);
  assert_int_equal(cq_json_get_number(&d, json, "i", "x.json", &error), CQ_OK);
  assert_true(d == -3);
  assert_int_equal(cq_json_get_number(&d, json, "s", "x.json", &error), CQ_ERR_FORMAT);
  assert_int_equal(cq_json_get_bool(&b, json, "t", "x.json", &error), CQ_OK);
  assert_true(b);
  assert_int_equal(cq_json_get_bool(&b, json, "i", "x.json", &error), CQ_ERR_FORMAT);
  assert_string_equal(error.message, "x.json: \"i\" is an integer, expected true or false");
  assert_int_equal(cq_json_get_string(&s, json, "missing", "x.json", &error), CQ_OK);
  assert_string_equal(s, "kept");
  assert_int_equal(cq_json_get_string(&s, json, "s", "x.json", &error), CQ_OK);
  assert_string_equal(s, "text");
  assert_int_equal(cq_json_get_string(&s, json, "o", "x.json", &error), CQ_ERR_FORMAT);
  assert_int_equal(cq_json_get_string(&s, json, "nul", "x.json", &error), CQ_ERR_FORMAT);
  assert_string_equal(s, "text");
  json_decref(json);
}

/* Tokenizer files hold int(1e30) as a length: it must not stop the reading, only the use. */
static void huge_integers_become_real(void **state) {
  (void)state;
  json_t *json =
      parse("{\"text\": \"1000000000000000019884624838656 \\\" 2\", \"max\": 1000000000000000019884624838656, "
            "\"list\": [-99999999999999999999, 9007199254740993, 1.5e3]}");
  assert_true(json_real_value(json_object_get(json, "max")) == 1e30);
  assert_string_equal(json_string_value(json_object_get(json, "text")), "1000000000000000019884624838656 \" 2");
  assert_true(json_integer_value(json_array_get(json_object_get(json, "list"), 1)) == 9007199254740993);
  int64_t i = 7;
  cq_error error = {0};
  assert_int_equal(cq_json_get_int(&i, json, "max", 0, INT64_MAX, "x.json", &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "\"max\" is 1e+30, expected"));
  json_decref(json);
}

static void what_is_written_reads_back_exactly(void **state) {
  (void)state;
  static const char text[] = "{\n"
                             "  \"eps\": 1e-12,\n"
                             "  \"tenth\": 0.1,\n"
                             "  \"exact\": 0.30000000000000004,\n"
                             "  \"whole\": 2.0,\n"
                             "  \"big\": 1e+30,\n"
                             "  \"integer\": -9223372036854775808,\n"
                             "  \"text\": \"a\\\"\\\\\\n\\t\\r\\u0001\\u0000\xC3\xA4\",\n"
                             "  \"list\": [\n    1,\n    [],\n    {},\n    null\n  ],\n"
                             "  \"yes\": true,\n"
                             "  \"no\": false\n"
                             "}\n";
  json_t *json = parse(text), *again;
  cq_error error = {0};
  size_t n;
  assert_int_equal(cq_json_write(json, test_path("w.json"), &error), CQ_OK);
  unsigned char *bytes = read_bytes(&n, test_path("w.json"));
  assert_string_equal((char *)bytes, text);
  free(bytes);
  assert_int_equal(cq_json_read(&again, test_path("w.json"), &error), CQ_OK);
  assert_true(json_equal(json, again));
  json_decref(again);
  json_decref(json);
  json = parse("{\"a\": [1, {\"b\": 2.5}], \"c\": {}}");
  cq_builder line = {0};
  cq_json_append(&line, json, -1);
  assert_string_equal(line.data, "{\"a\": [1, {\"b\": 2.5}], \"c\": {}}");
  cq_builder_free(&line);
  json_decref(json);
}

static void allocation_failures_are_reported(void **state) {
  (void)state;
  json_t *json = parse("{\"a\": 1}");
  for (int reading = 0; reading < 2; reading++) {
    for (long n = 1;; n++) {
      json_t *got = NULL;
      cq_error error = {0};
      cq_alloc_fail_at(n);
      cq_status status =
          reading ? cq_json_read(&got, test_path("m.json"), &error) : cq_json_write(json, test_path("m.json"), &error);
      bool failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      json_decref(got);
      if (!failed) break;
      assert_int_equal(status, CQ_ERR_MEMORY);
    }
  }
  json_decref(json);
}

/* Whichever allocation fails: what is read is the whole of it, or nothing. */
static void no_character_is_lost(void **state) {
  (void)state;
  const char *text = "{\"a long key with many letters, longer than a first buffer\": [\"and \\u00e9 a long value, too, "
                     "which the buffer has to grow for several times over and over\", {\"b\": [1, 2.5, null, true]}]}";
  json_t *whole = parse(text);
  for (long n = 1;; n++) {
    json_t *got = NULL;
    cq_alloc_fail_at(n);
    const cq_status status = cq_json_parse(&got, cq_slice_of(text), "x.json", NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    assert_true(failed ? !got : json_equal(got, whole));
    json_decref(got);
    if (!failed) break;
  }
  json_decref(whole);
}

static json_t *make_document(const json_t *source) {
  json_t *list = json_array(), *object = cq_json_deep_copy(source), *other = cq_json_copy(source);
  for (int i = 0; i < 40; i++) cq_json_push(&list, json_integer(i));
  cq_json_push(&list, json_pack("{s:s}", "type", "NFKC"));
  cq_json_set(&object, "list", list);
  cq_json_set(&object, "other", other);
  for (int i = 0; i < 40; i++) cq_json_set(&object, (char[]){'k', (char)('0' + i), '\0'}, json_string("a value"));
  return object;
}

static void no_key_is_dropped(void **state) {
  (void)state;
  json_t *source = parse("{\"a\": [1, {\"b\": 2.5}], \"c\": {\"d\": [], \"e\": \"f\"}, \"g\": 1, \"h\": 2, \"i\": 3}");
  json_t *whole = make_document(source);
  assert_int_equal(json_object_size(whole), 5 + 2 + 40);
  assert_int_equal(json_array_size(json_object_get(whole, "list")), 41);
  for (long n = 1;; n++) {
    cq_alloc_fail_at(n);
    json_t *got = make_document(source);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_true(failed ? !got : json_equal(got, whole));
    json_decref(got);
    if (!failed) break;
  }
  json_decref(whole);
  json_decref(source);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(faults_are_placed),
      cmocka_unit_test(members_are_typed),
      cmocka_unit_test(huge_integers_become_real),
      cmocka_unit_test(what_is_written_reads_back_exactly),
      cmocka_unit_test(allocation_failures_are_reported),
      cmocka_unit_test(no_character_is_lost),
      cmocka_unit_test(no_key_is_dropped),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
