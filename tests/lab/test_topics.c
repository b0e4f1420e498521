/* Topics: TREC's, FIRE's and CLEF's forms, JSON lines and TSV, and errors with their lines. */
#include "support/files.h"

#include "base/memory.h"
#include "base/slice.h"
#include "format/collection.h"

/* "id/title/description/narrative" of each topic, with a bar between topics. */
static void check(const char *text, const char *expected) {
  cq_topics topics;
  cq_error error = {0};
  cq_builder got = {0};
  write_text(test_path("t"), text);
  cq_builder_bytes(&got, "", 0);
  if (cq_topics_read(&topics, test_path("t"), &error)) fail_msg("%s\n%s", text, error.message);
  for (size_t i = 0; i < topics.n; i++) {
    const cq_topic *t = &topics.items[i];
    const cq_slice fields[] = {t->id, t->title, t->description, t->narrative};
    for (int f = 0; f < 4; f++) {
      if (i || f) cq_builder_char(&got, f ? '/' : '|');
      cq_builder_bytes(&got, fields[f].data, fields[f].n);
    }
  }
  if (strcmp(got.data, expected) != 0) fail_msg("%s\ngave     '%s'\nexpected '%s'", text, got.data, expected);
  cq_builder_free(&got);
  cq_topics_free(&topics);
  assert_true(!topics.items && topics.n == 0);
}

static void trecs_fields_are_not_closed(void **state) {
  (void)state;
  check("<top>\n"
        "<num> Number: 301\n"
        "<title> Old  Harbours\n"
        "\n"
        "<desc> Description:\n"
        "Which harbours\nare older than their towns?\n"
        "\n"
        "<narr> Narrative:\n"
        "A relevant document names\n one.\n"
        "\n"
        "</top>\n"
        "\n"
        "<top>\n<head> Tipster\n<num> Number:  302\n<title> Topic:  Boats\n</top>\n",
        "301/Old Harbours/Which harbours are older than their towns?/A relevant document names one.|302/Boats//");
  check("<TOP><NUM>number:7<TITLE>Number: what of it</TOP>",
        "7/Number: what of it//"); /* a label of its own field only */
}

static void fires_fields_are_closed(void **state) {
  (void)state;
  check("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<topics>\n"
        "<top lang=\"hi\">\n<num>26</num>\n<title>नदी का पुल</title>\n<desc>कौन सा पुल?</desc>\n<narr>एक &amp; "
        "दो</narr>\n</top>\n"
        "<top lang='hi'><num>27</num>lost<title>नाव</title></top>\n</topics>\n",
        "26/नदी का पुल/कौन सा पुल?/एक & दो|27/नाव//");
}

/* <topic number="1">: with fields, with others, and with text alone. */
static void numbers_may_be_attributes(void **state) {
  (void)state;
  check("<topics task=\"2021\">\n<topic number=\"1\">\nA 45-year-old  man &amp; his\nheart.\n</topic>\n"
        "<topic number='2' type=\"faceted\"><query>coronavirus origin</query><question>where?</question>\n"
        "<narrative>seeking more</narrative></topic>\n"
        "<topic type=faceted number = 3 ><disease>Liposarcoma</disease><gene>CDK4</gene></topic>\n"
        "<topic number=\"4\"><num>Number: 40</num><title>boats</title></topic>\n</topics>\n",
        "1/A 45-year-old man & his heart.//|2/coronavirus origin//seeking more|3/Liposarcoma CDK4//|40/boats//");
}

static void clefs_fields_name_a_language(void **state) {
  (void)state;
  check("<top>\n<num> C041 </num>\n<DE-title> Alte Häfen </DE-title>\n<DE-desc> Welche? </DE-desc>\n<DE-narr> Einer. "
        "</DE-narr>\n</top>\n",
        "C041/Alte Häfen/Welche?/Einer.");
  check("<topics>\n<topic lang=\"de\">\n<identifier>10.2452/451-AH</identifier>\n<title>Häfen</title>\n"
        "<description>Welche?</description>\n<narrative>Einer.</narrative>\n</topic>\n</topics>\n",
        "10.2452/451-AH/Häfen/Welche?/Einer.");
}

static void tags_inside_fields_are_blanks(void **state) {
  (void)state;
  check("<top><num>1</num><title>one<b>two</b> <!-- x -->three a < b</title><desc/><narr>n</narr></top>",
        "1/one two three a < b//n");
}

static void tabs_part_id_and_title(void **state) {
  (void)state;
  check("1\told  harbours\n\n q2 \tboats\tat dawn \r\n3\t\n", "1/old harbours//|q2/boats at dawn//|3///");
}

static void json_lines_are_read(void **state) {
  (void)state;
  check(
      "{\"id\": \"a\", \"title\": \"old\\nharbours\", \"description\": \"which?\", \"narrative\": \"one\"}\n\n"
      " {\"_id\": 12, \"text\": \"boats\", \"metadata\": {}}\n{\"qid\": \"b\", \"query\": \"dawn\", \"title\": \"\"}\n"
      "{\"num\": 4}\n",
      "a/old harbours/which?/one|12/boats//|b/dawn//|4///");
}

static void errors_have_their_line(void **state) {
  (void)state;
#define FIRST "<top>\n<num> 1\n<title> a\n</top>\n" /* four lines */
  static const struct {
    const char *text;
    uint64_t line;
    const char *message;
  } cases[] = {
      {FIRST "<top>\n<num> 1\n</top>\n", 5, "topic '1' appears twice"},
      {FIRST "\n<top>\n<title> b\n</top>\n", 6, "a topic without a number"},
      {FIRST "<top><num> </num></top>\n", 5, "a topic without a number"},
      {FIRST "<top>\n<num> Number: 2 b\n</top>\n", 5, "the topic's number '2 b' has a blank in it"},
      {FIRST "<top>\n<num> 2\n<title> b\n", 5, "the topic is not closed"},
      {FIRST "<top>\n<num> 2\n<top>\n<num> 3\n</top>\n", 7, "a topic inside a topic"},
      {FIRST "\n</top>\n", 6, "the end of a topic, but none has begun"},
      {FIRST "<top/>\n", 5, "the end of a topic, but none has begun"},
      {FIRST "<top>\n<num> 2\n<title> b\n<desc> c\n<title> d\n<narr> e\n</top>\n", 9,
       "a topic with two fields <title>"},
      {FIRST "<top>\n<num>2</num><DE-title>b</DE-title>\n<EN-title>c\n</EN-title>\n</top>\n", 7, "two fields <title>"},
      {FIRST "<top>\n<num>2</num>\n<identifier>3</identifier>\n</top>\n", 7, "a topic with two fields <identifier>"},
      {"<topics>\n</topics>\n", 2, "no topics"},
      {"", 0, "no topics"},
      {"\n \n", 2, "no topics"},
      {"1\ta\n\n1\tb\n", 3, "topic '1' appears twice"},
      {"1\ta\nb\n", 2, "no tab, expected id, tab, title"},
      {"1\ta\n\tb\n", 2, "a topic without a number"},
      {"1\ta\n2 3\tb\n", 2, "the topic's number '2 3' has a blank in it"},
      {"{\"id\": \"1\"}\n{\"id\": 1}\n", 2, "topic '1' appears twice"},
      {"{\"id\": \"1\"}\n{\"title\": \"b\"}\n", 2, "a topic without a number"},
      {"{\"id\": 1.5}\n", 1, "a topic without a number"},
      {"{\"id\": \"1\"}\n\n{\"id\": \n", 3, "not a JSON object"},
      {"{\"id\": \"1\"}\n[1]\n", 2, "not a JSON object"},
      {"{\"id\": \"a\\u0000b\"}\n", 1, "has a blank in it"},
      {FIRST "\xFF\n", 5, "not UTF-8"},
  };
  int failures = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_topics topics;
    cq_error error = {0};
    write_text(test_path("e"), cases[i].text);
    const cq_status status = cq_topics_read(&topics, test_path("e"), &error);
    if (status != CQ_ERR_FORMAT || error.line != cases[i].line || !strstr(error.message, cases[i].message))
      failures++, print_error("%s: status %d, line %llu: %s\n", cases[i].text, status, (unsigned long long)error.line,
                              error.message);
    assert_true(!topics.items && topics.n == 0 && !topics.text);
  }
  assert_int_equal(failures, 0);
  cq_topics topics;
  assert_int_equal(cq_topics_read(&topics, test_path("nowhere"), NULL), CQ_ERR_IO);
  cq_topics_free(&topics);
}

static void failed_allocations_are_reported(void **state) {
  (void)state;
  static const char *const texts[] = {
      ("<top><num>1</num><title>old harbours, and more of them than there is room for at first</title></top>\n"
       "<top><num>2</num><desc>boats</desc></top>\n"),
      "{\"id\": \"1\", \"title\": \"old harbours\"}\n{\"id\": 2}\n",
      "1\told harbours\n2\t\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    write_text(test_path("m"), texts[i]);
    for (long n = 1;; n++) {
      cq_topics topics;
      cq_error error = {0};
      cq_alloc_fail_at(n);
      const cq_status status = cq_topics_read(&topics, test_path("m"), &error);
      const bool failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      if (failed) {
        if (status != CQ_ERR_MEMORY) fail_msg("allocation %ld gave status %d: %s", n, status, error.message);
        continue;
      }
      assert_int_equal(status, CQ_OK);
      assert_int_equal(topics.n, 2);
      assert_true(cq_slice_equal(topics.items[1].id, cq_slice_of("2")));
      assert_true(n > 8);
      cq_topics_free(&topics);
      break;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(trecs_fields_are_not_closed),
      cmocka_unit_test(fires_fields_are_closed),
      cmocka_unit_test(clefs_fields_name_a_language),
      cmocka_unit_test(tags_inside_fields_are_blanks),
      cmocka_unit_test(tabs_part_id_and_title),
      cmocka_unit_test(numbers_may_be_attributes),
      cmocka_unit_test(json_lines_are_read),
      cmocka_unit_test(errors_have_their_line),
      cmocka_unit_test(failed_allocations_are_reported),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
