/* Building an index: what counts as a document, what is refused and named, and that threads, segments and forms
 * change nothing. */
#include "support/files.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/slice.h"
#include "calque/lab/lexical.h"
#include "calque/lexical.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* A path that stays valid, unlike test_path's. */
static const char *kept_path(const char *name) {
  static char paths[4][400];
  static size_t n;
  char *path = paths[n++ % 4];
  snprintf(path, sizeof paths[0], "%s", test_path(name));
  return path;
}

static cq_status build_of(const char *name, const char *const *paths, size_t n, const cq_lexical_build_options *how,
                          int n_threads, cq_error *error) {
  cq_context *ctx = NULL;
  if (n_threads) assert_int_equal(cq_context_open(&ctx, n_threads, NULL), CQ_OK);
  const cq_status status = cq_lexical_build(test_path(name), paths, n, how, ctx, error);
  cq_context_free(ctx);
  return status;
}

static cq_status build(const char *name, const char *file, cq_error *error) {
  const char *const paths[] = {test_path(file)};
  return build_of(name, paths, 1, NULL, 0, error);
}

static cq_lexical *opened(const char *name) {
  cq_lexical *index;
  assert_int_equal(cq_lexical_open(&index, test_path(name), NULL), CQ_OK);
  return index;
}

static void counts_are(const cq_lexical *index, const char *term, uint64_t n_documents, uint64_t n_occurrences) {
  uint64_t documents, occurrences;
  cq_lexical_count(&documents, &occurrences, index, cq_slice_of(term));
  assert_int_equal(documents, n_documents);
  assert_int_equal(occurrences, n_occurrences);
}

static void same_files(const char *a, const char *b) {
  size_t n_a, n_b;
  unsigned char *bytes_a = read_bytes(&n_a, test_path(a)), *bytes_b = read_bytes(&n_b, test_path(b));
  assert_int_equal(n_a, n_b);
  assert_memory_equal(bytes_a, bytes_b, n_a);
  free(bytes_a);
  free(bytes_b);
}

/* Neither an index of that name nor one under construction. */
static void left_nothing(const char *name) {
  assert_int_equal(count_files(name), 0);
}

static void documents_are_counted(void **state) {
  (void)state;
  write_text(test_path("docs.tsv"), "a\tOne two, two three.\n\nb\t\nc\t ... \nd\tTwo!\n");
  assert_int_equal(build("counted", "docs.tsv", NULL), CQ_OK);
  cq_lexical *index = opened("counted");
  const cq_lexical_info *about = cq_lexical_about(index);
  assert_int_equal(about->n_documents, 4);
  assert_int_equal(about->n_occurrences, 5);
  assert_int_equal(about->n_terms, 3);
  assert_int_equal(about->n_segments, 1);
  assert_string_equal(about->language, "");
  assert_false(about->stems);
  counts_are(index, "two", 2, 3);
  counts_are(index, "one", 1, 1);
  counts_are(index, "Two", 0, 0);
  static const char *const ids[] = {"a", "b", "c", "d"};
  for (uint64_t d = 0; d < 4; d++) assert_true(cq_slice_equal(cq_lexical_id(index, d), cq_slice_of(ids[d])));
  cq_lexical_free(index);
  /* Empty documents alone. */
  write_text(test_path("blank.tsv"), "a\t\nb\t\n");
  assert_int_equal(build("blank", "blank.tsv", NULL), CQ_OK);
  index = opened("blank");
  assert_int_equal(cq_lexical_about(index)->n_documents, 2);
  assert_int_equal(cq_lexical_about(index)->n_occurrences, 0);
  cq_lexical_term term = {.term = cq_slice_of("a"), .weight = 1};
  const cq_lexical_query query = {&term, 1};
  for (int m = 0; m < CQ_N_LEXICAL_MODELS; m++) {
    cq_lexical_hit *hits;
    cq_lexical_options o = cq_lexical_default_options();
    o.model = (cq_lexical_model)m;
    assert_int_equal(cq_lexical_search(&hits, index, &query, 1, &o, NULL, NULL), CQ_OK);
    assert_null(hits[0].id.data);
    cq_free(hits);
  }
  cq_lexical_free(index);
}

static void the_analysis_is_remembered(void **state) {
  (void)state;
  write_text(test_path("houses.tsv"), "a\tThe houses' roofs\nb\tA house\n");
  write_text(test_path("stop.txt"), "the\na\n");
  const char *const paths[] = {test_path("houses.tsv")};
  const cq_analysis_options english = {.size = sizeof english, .language = "en", .stop_words = test_path("stop.txt")};
  const cq_lexical_build_options how = {.size = sizeof how, .analysis = &english};
  assert_int_equal(build_of("stems", paths, 1, &how, 0, NULL), CQ_OK);
  unlink(test_path("stop.txt")); /* the index has its own */
  cq_lexical *index = opened("stems");
  const cq_lexical_info *about = cq_lexical_about(index);
  assert_string_equal(about->language, "en");
  assert_true(about->stems);
  assert_int_equal(about->n_stop_words, 2);
  assert_int_equal(about->n_terms, 2);
  counts_are(index, "hous", 2, 2);
  cq_lexical_query query;
  assert_int_equal(cq_lexical_parse(&query, index, cq_slice_of("the HOUSING"), NULL), CQ_OK);
  assert_int_equal(query.n, 1);
  assert_true(cq_slice_equal(query.terms[0].term, cq_slice_of("hous")));
  cq_lexical_query_free(&query);
  cq_lexical_free(index);
}

static void forms_and_fields_give_the_same(void **state) {
  (void)state;
  write_text(test_path("same.tsv"), "a\tred wine\nb\t\nc\tblue wine\n");
  write_text(test_path("same.trec"), "<DOC>\n<DOCNO> a </DOCNO>\n<TITLE>red</TITLE> wine\n</DOC>\n"
                                     "<DOC>\n<DOCNO>b</DOCNO>\n</DOC>\n<DOC><DOCNO>c</DOCNO>blue <b>wine</b></DOC>\n");
  write_text(test_path("same.jsonl"), "{\"id\": \"a\", \"title\": \"red\", \"text\": \"wine\"}\n{\"id\": \"b\"}\n"
                                      "{\"id\": \"c\", \"title\": \"blue\", \"text\": \"wine\", \"year\": \"1990\"}\n");
  assert_int_equal(build("same-1", "same.tsv", NULL), CQ_OK);
  assert_int_equal(build("same-2", "same.trec", NULL), CQ_OK);
  assert_int_equal(build("same-3", "same.jsonl", NULL), CQ_OK);
  same_files("same-1/segment-1", "same-2/segment-1");
  same_files("same-1/segment-1", "same-3/segment-1");
  const char *const fields[] = {"title"}, *const trec[] = {test_path("same.trec")},
                    *const json[] = {test_path("same.jsonl")};
  const cq_lexical_build_options how = {.size = sizeof how, .fields = fields, .n_fields = 1};
  assert_int_equal(build_of("title-1", trec, 1, &how, 0, NULL), CQ_OK);
  assert_int_equal(build_of("title-2", json, 1, &how, 0, NULL), CQ_OK);
  cq_lexical *index = opened("title-1");
  counts_are(index, "red", 1, 1);
  counts_are(index, "wine", 0, 0);
  counts_are(index, "blue", 0, 0);
  cq_lexical_free(index);
  index = opened("title-2");
  counts_are(index, "blue", 1, 1);
  counts_are(index, "wine", 0, 0);
  cq_lexical_free(index);
}

static void refused(const char *text, uint64_t line, const char *why) {
  cq_error error = {0};
  write_text(test_path("wrong"), text);
  assert_int_equal(build("refused", "wrong", &error), CQ_ERR_FORMAT);
  assert_string_equal(error.file, test_path("wrong"));
  assert_int_equal(error.line, line);
  assert_non_null(strstr(error.message, why));
  left_nothing("refused");
}

static void what_is_wrong_is_named(void **state) {
  (void)state;
  refused("a\tx\nb\ty\n\na\tz\n", 4, "the id 'a' appears twice");
  refused("<DOC>\n<DOCNO>a</DOCNO>\nx\n</DOC>\n<DOC>\n<DOCNO>a</DOCNO>\n</DOC>\n", 5, "the id 'a' appears twice");
  refused("{\"id\": 7}\n{\"id\": \"7\"}\n", 2, "the id '7' appears twice");
  refused("a\tx\nno tab\n", 2, "no tab");
  refused("a\tx\na b\ty\n", 2, "an id with a blank in it");
  refused("<DOC>\nx\n</DOC>\n", 1, "a document without <DOCNO>");
  refused("<DOC>\n<DOCNO>a</DOCNO>\n", 1, "is not closed");
  refused("{\"id\": \"a\"}\n{\n", 2, "not a JSON object");
  /* Two mistakes: the first one in the file is named, however the work was divided. */
  refused("a\tx\nno tab\na\tz\n", 2, "no tab");
  cq_error error = {0};
  write_text(test_path("wrong"), "1\t\n2\t\nno tab\n4\t\n5\t\n6\t\n7\t\n8\t\n9\t\n\xff\t\n");
  const char *const wrong[] = {kept_path("wrong")};
  /* What is read ahead while line 3 is looked into is not reported before it. */
  const cq_lexical_build_options pieces = {.size = sizeof pieces, .segment_documents = 1};
  assert_int_equal(build_of("refused", wrong, 1, &pieces, 2, &error), CQ_ERR_FORMAT);
  assert_int_equal(error.line, 3);
  write_text(test_path("empty.tsv"), "");
  assert_int_equal(build("refused", "empty.tsv", &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "empty.tsv: no documents"));
  write_text(test_path("blank.txt"), "\n  \n");
  assert_int_equal(build("refused", "blank.txt", &error), CQ_ERR_FORMAT);
  assert_int_equal(mkdir(test_path("hollow"), 0777), 0);
  assert_int_equal(build("refused", "hollow", &error), CQ_ERR_FORMAT);
  assert_int_equal(build("refused", "nowhere", &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "nowhere: there is no such file or directory"));
  left_nothing("refused");
  const char *const paths[] = {test_path("docs.tsv")};
  const cq_analysis_options stop_words = {.size = sizeof stop_words, .stop_words = test_path("no-words")};
  const cq_lexical_build_options no_words = {.size = sizeof no_words, .analysis = &stop_words};
  assert_int_equal(build_of("refused", paths, 1, &no_words, 0, &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "no-words"));
  const cq_analysis_options english = {.size = sizeof english, .language = "english"};
  const cq_lexical_build_options no_code = {.size = sizeof no_code, .analysis = &english};
  assert_int_equal(build_of("refused", paths, 1, &no_code, 0, &error), CQ_ERR_ARGUMENT);
  left_nothing("refused");
}

/* An id may come back in another file and in another segment. */
static void ids_are_one_s_own_everywhere(void **state) {
  (void)state;
  cq_builder text = {0};
  for (int d = 0; d < 10000; d++) cq_builder_printf(&text, "d%d\tword\n", d);
  write_bytes(test_path("first.tsv"), text.data, text.n);
  cq_builder_clear(&text);
  for (int d = 10000; d < 12000; d++) cq_builder_printf(&text, "d%d\tword\n", d == 11500 ? 3 : d);
  write_bytes(test_path("second.tsv"), text.data, text.n);
  cq_builder_free(&text);
  const char *const paths[] = {kept_path("first.tsv"), kept_path("second.tsv")};
  for (int n_threads = 1; n_threads <= 3; n_threads++) {
    cq_error error = {0};
    const cq_lexical_build_options how = {.size = sizeof how, .segment_documents = n_threads == 2 ? 700 : 0};
    assert_int_equal(build_of("twice", paths, 2, &how, n_threads, &error), CQ_ERR_FORMAT);
    assert_string_equal(error.file, test_path("second.tsv"));
    assert_int_equal(error.line, 1501);
    assert_non_null(strstr(error.message, "the id 'd3' appears twice"));
    left_nothing("twice");
  }
}

/* More than one batch of documents and more than one buffer of text are read before the mistake is seen: it is still
 * the file's first mistake that is named, and what was counted before it in its batch is not added to the next. */
static void a_mistake_in_a_large_collection(void **state) {
  (void)state;
  enum { N = 4600, WRONG = 1001, LINES = 4, WORDS_EACH = 80 };
  cq_builder text = {0};
  for (int d = 1; d <= N; d++) {
    cq_builder_printf(&text, "<DOC>\n");
    if (d == WRONG)
      cq_builder_printf(&text, "<NUMBER>large-%d</NUMBER>\n", d);
    else
      cq_builder_printf(&text, "<DOCNO>large-%d</DOCNO>\n", d);
    /* Half are its own, and half come back with every eighth hundred of documents: before the mistake, and after it. */
    for (int i = 0; i < WORDS_EACH; i++)
      cq_builder_printf(&text, "%s%d", i ? " " : "",
                        i % 2 ? 100000000 + d * WORDS_EACH + i : 900000000 + d / 100 % 8 * 100 + i);
    cq_builder_printf(&text, "\n</DOC>\n");
  }
  assert_true(text.n > 3 << 20);
  write_bytes(test_path("large.trec"), text.data, text.n);
  cq_builder_free(&text);
  const char *const paths[] = {kept_path("large.trec")};
  static const uint32_t segments[] = {0, 500, 3000};
  for (size_t i = 0; i < sizeof segments / sizeof *segments; i++)
    for (int n_threads = 0; n_threads <= 2; n_threads++) {
      cq_error error = {0};
      const cq_lexical_build_options how = {.size = sizeof how, .segment_documents = segments[i]};
      assert_int_equal(build_of("unfinished", paths, 1, &how, n_threads, &error), CQ_ERR_FORMAT);
      assert_string_equal(error.file, paths[0]);
      assert_int_equal(error.line, (WRONG - 1) * LINES + 1);
      assert_non_null(strstr(error.message, "a document without <DOCNO>"));
      left_nothing("unfinished");
    }
}

static void what_exists_is_kept(void **state) {
  (void)state;
  cq_error error = {0};
  assert_int_equal(mkdir(test_path("mine"), 0777), 0);
  write_text(test_path("mine/notes"), "precious");
  assert_int_equal(build("mine", "docs.tsv", &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "mine"));
  assert_int_equal(count_files("mine"), 1);
  assert_int_equal(access(test_path("mine/notes"), F_OK), 0);
}

/* --- threads and segments --- */

static void count_calls(void *context, uint64_t n_documents) {
  uint64_t *last = context;
  assert_true(n_documents > *last);
  *last = n_documents;
}

static void threads_change_no_byte(void **state) {
  (void)state;
  enum { N = 20000 };
  static const uint32_t segments[] = {0, 6000, 1111};
  cq_builder text = {0};
  uint64_t n_tokens = 0;
  for (uint32_t d = 0; d < N; d++) {
    cq_random r = cq_random_seeded(8, d);
    cq_builder_printf(&text, "d%u\t", d);
    for (uint64_t i = cq_random_below(&r, 12); i; i--, n_tokens++) {
      const double u = cq_random_uniform(&r);
      cq_builder_printf(&text, "longprefix%d ", (int)(5000 * u * u));
    }
    cq_builder_char(&text, '\n');
  }
  write_bytes(test_path("many.tsv"), text.data, text.n);
  cq_builder_free(&text);
  const char *const paths[] = {kept_path("many.tsv")};
  for (size_t i = 0; i < 3; i++) {
    char names[3][32];
    for (int n_threads = 1; n_threads <= 3; n_threads++) {
      uint64_t progress = 0;
      const cq_lexical_build_options how = {
          .size = sizeof how, .segment_documents = segments[i], .progress = count_calls, .progress_context = &progress};
      char *name = names[n_threads - 1];
      snprintf(name, sizeof names[0], "many-%zu-%d", i, n_threads);
      assert_int_equal(build_of(name, paths, 1, &how, n_threads, NULL), CQ_OK);
      assert_int_equal(progress, N);
    }
    cq_lexical *index = opened(names[0]);
    const cq_lexical_info *about = cq_lexical_about(index);
    assert_int_equal(about->n_documents, N);
    assert_int_equal(about->n_occurrences, n_tokens);
    /* Segments are made of batches of 4096 documents, or fewer if the options say so. */
    assert_int_equal(about->n_segments, i == 0 ? 1 : i == 1 ? (N + 4095) / 4096 : (N + 1110) / 1111);
    uint64_t n_documents, n_occurrences;
    cq_lexical_count(&n_documents, &n_occurrences, index, cq_slice_of("longprefix0"));
    static uint64_t expected[2];
    if (i == 0) expected[0] = n_documents, expected[1] = n_occurrences;
    assert_true(n_documents > 100 && n_documents == expected[0] && n_occurrences == expected[1]);
    for (uint64_t d = 0; d < N; d += 997) {
      char id[16];
      snprintf(id, sizeof id, "d%d", (int)d);
      assert_true(cq_slice_equal(cq_lexical_id(index, d), cq_slice_of(id)));
    }
    for (int other = 1; other < 3; other++) {
      char a[64], b[64];
      for (size_t s = 0; s <= about->n_segments; s++) {
        snprintf(a, sizeof a, s ? "%s/segment-%zu" : "%s/manifest.json", names[0], s);
        snprintf(b, sizeof b, s ? "%s/segment-%zu" : "%s/manifest.json", names[other], s);
        same_files(a, b);
      }
    }
    cq_lexical_free(index);
  }
}

/* --- failures --- */

static void kill_me(void *context, uint64_t n_documents) {
  (void)context, (void)n_documents;
  kill(getpid(), SIGKILL);
}

static void a_killed_build_is_no_index(void **state) {
  (void)state;
  const char *const paths[] = {test_path("docs.tsv")};
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    const cq_lexical_build_options how = {.size = sizeof how, .progress = kill_me};
    _exit(cq_lexical_build(test_path("killed"), paths, 1, &how, NULL, NULL));
  }
  int how_it_ended;
  assert_int_equal(waitpid(child, &how_it_ended, 0), child);
  assert_true(WIFSIGNALED(how_it_ended));
  assert_int_not_equal(access(test_path("killed"), F_OK), 0);
  assert_int_equal(count_files("killed"), 1); /* what it had begun, under another name */
  assert_int_equal(build("killed", "docs.tsv", NULL), CQ_OK);
  assert_int_equal(count_files("killed"), 1);
  cq_lexical_free(opened("killed"));
}

static void broken_manifests_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *why;
  } cases[] = {
      {"", ""},
      {"[]", ""},
      {"{\"lexical_index\": 2, \"segments\": 0, \"language\": \"\", \"stems\": false, \"stop_words\": []}",
       "version 1"},
      {"{\"lexical_index\": 1, \"segments\": 2, \"language\": \"\", \"stems\": false, \"stop_words\": []}",
       "segment-2"},
      {"{\"lexical_index\": 1, \"segments\": -1, \"language\": \"\", \"stems\": false, \"stop_words\": []}",
       "segments"},
      {"{\"lexical_index\": 1, \"segments\": 1, \"language\": 4, \"stems\": false, \"stop_words\": []}", "language"},
      {"{\"lexical_index\": 1, \"segments\": 1, \"language\": \"\", \"stems\": 1, \"stop_words\": []}", "stems"},
      {"{\"lexical_index\": 1, \"segments\": 1, \"language\": \"\", \"stems\": false, \"stop_words\": [1]}",
       "stop_words"},
  };
  assert_int_equal(build("manifest", "docs.tsv", NULL), CQ_OK);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_error error = {0};
    cq_lexical *index = (cq_lexical *)&error;
    write_text(test_path("manifest/manifest.json"), cases[i].text);
    assert_int_equal(cq_lexical_open(&index, test_path("manifest"), &error),
                     strstr(cases[i].why, "segment-2") ? CQ_ERR_IO : CQ_ERR_FORMAT);
    assert_non_null(strstr(error.message, "manifest"));
    assert_non_null(strstr(error.message, cases[i].why));
    assert_null(index);
  }
  cq_error error = {0};
  cq_lexical *index;
  assert_int_equal(cq_lexical_open(&index, test_path("nowhere"), &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "nowhere"));
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  write_text(test_path("some.tsv"), "a\tred wine\nb\tblue wine, red house\nc\t\nd\tred\n");
  write_text(test_path("words.txt"), "the\n");
  const char *const paths[] = {kept_path("some.tsv")};
  const cq_analysis_options english = {.size = sizeof english, .language = "en", .stop_words = kept_path("words.txt")};
  const cq_lexical_build_options how = {.size = sizeof how, .analysis = &english, .segment_documents = 2};
  for (long n = 1;; n++) {
    cq_error error = {0};
    cq_alloc_fail_at(n);
    const cq_status status = cq_lexical_build(test_path("failing"), paths, 1, &how, NULL, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    if (!failed) break;
    assert_true(error.message[0] != 0);
    left_nothing("failing");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(documents_are_counted),
      cmocka_unit_test(the_analysis_is_remembered),
      cmocka_unit_test(forms_and_fields_give_the_same),
      cmocka_unit_test(what_is_wrong_is_named),
      cmocka_unit_test(ids_are_one_s_own_everywhere),
      cmocka_unit_test(a_mistake_in_a_large_collection),
      cmocka_unit_test(what_exists_is_kept),
      cmocka_unit_test(threads_change_no_byte),
      cmocka_unit_test(a_killed_build_is_no_index),
      cmocka_unit_test(broken_manifests_are_refused),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
