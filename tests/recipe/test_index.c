/* The index from outside: what hits and changes are good for, and what is refused. Threads and processes are
 * test_threads.c's. */
#include "support/files.h"

#include "base/memory.h"
#include "calque/calque.h"
#include "calque/lab/lexical.h"
#include "lexical/growing.h"
/* a type there has the name of a function of calque/index.h */
#define cq_index_check cq_index_check_of_record
#include "store/index_snapshot.h"
#undef cq_index_check

#include <dlfcn.h>
#include <math.h>

#define MODEL     CQ_TESTS_DIR "/golden/models/bert-uncased"
#define SAME_DIM  CQ_TESTS_DIR "/golden/models/bert-lower" /* another model of its dimensions */
#define OTHER_DIM CQ_TESTS_DIR "/golden/models/pool-max-new"

static cq_slice slice(const char *text) {
  return (cq_slice){text, strlen(text)};
}

/* Options for opening an index of the small model for writing. */
static cq_index_options for_writing(void) {
  cq_index_options o = cq_index_default_options();
  o.model = MODEL, o.writing = true;
  return o;
}

static const char *const lines[] = {"a river", "the house by the river", "late trains", "a garden"};
enum { N = 4 };

static cq_index *fresh(const char *name) {
  cq_document documents[N];
  cq_index *index = NULL;
  cq_error error = {0};
  for (size_t i = 0; i < N; i++)
    documents[i] =
        (cq_document){.id = {&"abcd"[i], 1}, .language = slice(i % 2 ? "en" : "xx"), .text = slice(lines[i])};
  if (cq_index_create(test_path(name), (const cq_index_options[]){for_writing()}, &error) ||
      cq_index_open(&index, test_path(name), (const cq_index_options[]){for_writing()}, &error) ||
      cq_index_add(index, documents, N, NULL, &error) || cq_index_commit(index, &error))
    fail_msg("%s", error.message);
  return index;
}

/* The best document for a line itself is that line. */
static void hits_outlive_the_index(void **state) {
  (void)state;
  cq_index *index = fresh("hits.index");
  cq_search_options o = cq_search_default_options();
  o.k = 3, o.ranking = CQ_RANK_DENSE;
  cq_slice queries[N];
  for (size_t i = 0; i < N; i++) queries[i] = slice(lines[i]);
  cq_hits *hits, *of_language;
  size_t n;
  assert_int_equal(cq_index_search(&hits, index, queries, N, &o, NULL, NULL), CQ_OK);
  o.language = "xx";
  assert_int_equal(cq_index_search(&of_language, index, queries, 1, &o, NULL, NULL), CQ_OK);
  assert_int_equal(cq_index_remove(index, &(cq_slice){"a", 1}, 1, &n, NULL), CQ_OK);
  assert_int_equal(n, 1);
  assert_int_equal(cq_index_size(index), N); /* before the commit */
  assert_int_equal(cq_index_commit(index, NULL), CQ_OK);
  assert_int_equal(cq_index_size(index), N - 1);
  cq_index_free(index);
  for (size_t q = 0; q < N; q++) {
    const cq_hit *hit = cq_hits_of(hits, q, &n);
    assert_int_equal(n, 3);
    assert_true(hit[0].cosine > 0.999 && hit[0].cosine >= hit[1].cosine && hit[1].cosine >= hit[2].cosine);
    assert_memory_equal(hit[0].document.text.data, lines[q], strlen(lines[q]));
    assert_int_equal(hit[0].document.id.n, 1);
  }
  assert_non_null(cq_hits_of(of_language, 0, &n));
  assert_int_equal(n, 2);
  assert_null(cq_hits_of(of_language, 1, &n));
  assert_int_equal(n, 0);
  cq_hits_free(hits);
  cq_hits_free(of_language);
  cq_hits_free(NULL);
}

static void an_open_index_sees_commits_when_it_looks(void **state) {
  (void)state;
  cq_index *index = fresh("refresh.index"), *reader;
  const cq_document more = {.id = {"e", 1}, .language = {"xx", 2}, .text = slice("a cat")};
  bool changed = true;
  assert_int_equal(cq_index_open(&reader, test_path("refresh.index"), NULL, NULL), CQ_OK);
  assert_int_equal(cq_index_refresh(reader, &changed, NULL), CQ_OK);
  assert_false(changed);
  assert_int_equal(cq_index_add(index, &more, 1, NULL, NULL), CQ_OK);
  assert_int_equal(cq_index_commit(index, NULL), CQ_OK);
  assert_int_equal(cq_index_size(index), N + 1);
  assert_int_equal(cq_index_size(reader), N);
  assert_int_equal(cq_index_refresh(reader, &changed, NULL), CQ_OK);
  assert_true(changed);
  assert_int_equal(cq_index_size(reader), N + 1);
  assert_int_equal(cq_index_refresh(index, &changed, NULL), CQ_OK);
  assert_false(changed);
  cq_index_free(index);
  cq_index_free(reader);
}

static void an_index_for_reading_refuses_changes(void **state) {
  (void)state;
  cq_index_free(fresh("reading.index"));
  cq_index *index;
  cq_error error = {0};
  size_t n;
  const cq_document more = {.id = {"e", 1}, .language = {"xx", 2}, .text = slice("a cat")};
  assert_int_equal(cq_index_open(&index, test_path("reading.index"), NULL, NULL), CQ_OK);
  assert_int_equal(cq_index_add(index, &more, 1, NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "it is open for reading only"));
  assert_int_equal(cq_index_remove(index, &more.id, 1, &n, NULL), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_index_approximate(index, CQ_APPROXIMATE_NONE, NULL, NULL), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_index_approximate(index, CQ_APPROXIMATE_IVF, NULL, NULL), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_index_commit(index, NULL), CQ_ERR_ARGUMENT);
  cq_index_free(index);
}

/* --- an approximation, but no plugin to use it with: this program's path does not lead to it --- */

static int n_told;
static char told[2048];
static void count_notice(void *context, const char *remark) {
  (void)context;
  n_told++;
  snprintf(told, sizeof told, "%s", remark);
}

static void without_the_plugin_search_is_exact(void **state) {
  (void)state;
  if (dlopen("libcalque_faiss.so", RTLD_NOW | RTLD_LOCAL)) {
    print_message("skipped: the plugin for FAISS is installed where every program finds it\n");
    return;
  }
  cq_index_free(fresh("exact.index"));
  cq_index_store *store;
  size_t n;
  assert_int_equal(cq_index_store_open(&store, test_path("exact.index"), true, NULL), CQ_OK);
  write_text(test_path("exact.index/approximate-1"), "of a library that is not here");
  assert_int_equal(cq_index_store_set_approximate(store, true, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(store, NULL), CQ_OK);
  cq_index_store_close(store);
  cq_index *index;
  cq_error error = {0};
  cq_index_options counting = cq_index_default_options();
  counting.notice = count_notice;
  assert_int_equal(cq_index_open(&index, test_path("exact.index"), &counting, NULL), CQ_OK);
  assert_int_equal(cq_index_approximated(index), N);
  const cq_slice query = slice(lines[1]);
  for (int i = 0; i < 3; i++) {
    cq_hits *hits;
    assert_int_equal(cq_index_search(&hits, index, &query, 1, NULL, NULL, &error), CQ_OK);
    assert_int_equal(error.status, CQ_OK);
    assert_string_equal(error.message, "");
    const cq_hit *hit = cq_hits_of(hits, 0, &n);
    assert_int_equal(n, N);
    assert_memory_equal(hit->document.text.data, lines[1], strlen(lines[1]));
    cq_hits_free(hits);
  }
  assert_int_equal(n_told, 1);
  assert_non_null(strstr(told, "searching exactly"));
  assert_non_null(strstr(told, "plugin for FAISS"));
  cq_index_free(index);
}

/* --- queries by a student --- */

/* Queries have the vectors of the query model, documents those of the index's; neither needs the other. */
static void queries_are_encoded_by_the_query_model(void **state) {
  (void)state;
  cq_index *index = fresh("student.index");
  cq_encoder *teacher, *student;
  float document[256], query[256];
  size_t n;
  cq_hits *hits;
  const cq_slice line = slice(lines[1]);
  cq_index_free(index);
  cq_index_options o = cq_index_default_options();
  o.query_model = SAME_DIM, o.notice = count_notice;
  n_told = 0;
  assert_int_equal(cq_index_open(&index, test_path("student.index"), &o, NULL), CQ_OK);
  assert_int_equal(n_told, 1);
  assert_non_null(strstr(told, "queries are encoded by " SAME_DIM ", documents were by "));
  assert_int_equal(cq_index_search(&hits, index, &line, 1, NULL, NULL, NULL), CQ_OK);
  assert_int_equal(n_told, 1);
  assert_int_equal(cq_encoder_open(&teacher, MODEL, NULL, NULL), CQ_OK);
  assert_int_equal(cq_encoder_open(&student, SAME_DIM, NULL, NULL), CQ_OK);
  const size_t dim = (size_t)cq_encoder_dim(student);
  assert_true(dim <= 256 && cq_encoder_dim(teacher) == (int)dim);
  assert_int_equal(cq_encoder_encode(query, NULL, student, &line, 1, NULL, NULL, NULL), CQ_OK);
  const cq_hit *hit = cq_hits_of(hits, 0, &n);
  assert_int_equal(n, N);
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(cq_encoder_encode(document, NULL, teacher, &hit[i].document.text, 1, NULL, NULL, NULL), CQ_OK);
    assert_float_equal(hit[i].cosine, cq_cosine(query, document, dim), 1e-6);
    assert_true(hit[i].cosine < 0.99); /* were both the same model's, one would be 1 */
  }
  cq_hits_free(hits);
  cq_index_free(index);
  cq_encoder_free(teacher);
  cq_encoder_free(student);
}

/* Vectors of a task, [1, dim]. */
static void encode_for(float *out, const char *model, const char *task, cq_slice text, int *dim) {
  cq_encoder *encoder;
  cq_encoder_options o = cq_encoder_default_options();
  o.task = task;
  assert_int_equal(cq_encoder_open(&encoder, model, &o, NULL), CQ_OK);
  assert_true((*dim = cq_encoder_dim(encoder)) <= 64);
  assert_int_equal(cq_encoder_encode(out, NULL, encoder, &text, 1, NULL, NULL, NULL), CQ_OK);
  cq_encoder_free(encoder);
}

/* A query is compared with documents by the cosine of what each has been encoded as; tasks NULL: without. */
static void check_tasks(const char *name, const char *model, const char *const tasks[2]) {
  cq_index *index;
  cq_hits *hits;
  cq_error error = {0};
  cq_index_options o = cq_index_default_options();
  float query[64], document[64], plain[64];
  int dim;
  size_t n;
  o.model = model, o.writing = true;
  if (cq_index_open(&index, test_path(name), &o, &error)) fail_msg("%s", error.message);
  const cq_document one = {.id = {"a", 1}, .language = {"en", 2}, .text = slice(lines[1])};
  assert_int_equal(cq_index_add(index, &one, 1, NULL, NULL), CQ_OK);
  assert_int_equal(cq_index_commit(index, NULL), CQ_OK);
  cq_index_free(index);
  o.model = NULL, o.writing = false;
  if (cq_index_open(&index, test_path(name), &o, &error)) fail_msg("%s", error.message);
  const char *prompt;
  assert_int_equal(cq_index_query_prompt(&prompt, index), strcmp(name, "router.index") != 0);
  if (strcmp(name, "prompts.index") == 0)
    assert_string_equal(prompt, "query");
  else
    assert_null(prompt);
  const cq_slice line = slice(lines[1]);
  if (cq_index_search(&hits, index, &line, 1, NULL, NULL, &error)) fail_msg("%s", error.message);
  encode_for(query, model, tasks ? tasks[0] : NULL, line, &dim);
  encode_for(document, model, tasks ? tasks[1] : NULL, line, &dim);
  encode_for(plain, model, NULL, line, &dim);
  const cq_hit *hit = cq_hits_of(hits, 0, &n);
  assert_int_equal(n, 1);
  assert_float_equal(hit->cosine, cq_cosine(query, document, (size_t)dim), 1e-6);
  if (tasks) assert_true(hit->cosine < 0.999 && cq_cosine(query, plain, (size_t)dim) < 0.9999999);
  cq_hits_free(hits);
  cq_index_free(index);
}

/* By the model's prompts and routes for both; an index of before there were such stays as it is. */
static void queries_and_documents_have_their_own_prompts(void **state) {
  static const char router[] = CQ_TESTS_DIR "/golden/models/router";
  static const char *const both[2] = {"query", "document"};
  char command[2048], copy[512], fingerprint[33];
  cq_encoder *encoder;
  cq_index_options o = cq_index_default_options();
  (void)state;
  o.model = router;
  assert_int_equal(cq_index_create(test_path("router.index"), &o, NULL), CQ_OK);
  check_tasks("router.index", router, both);

  snprintf(copy, sizeof copy, "%s", test_path("prompts"));
  snprintf(command, sizeof command,
           "cp -r '%s' '%s' && chmod -R u+w '%s' && printf '{\"prompts\":{\"query\":\"the question: \",\"passage\":\"a "
           "text: \"}}' "
           "> '%s/config_sentence_transformers.json'",
           MODEL, copy, copy, copy);
  assert_int_equal(system(command), 0);
  o.model = copy;
  assert_int_equal(cq_index_create(test_path("prompts.index"), &o, NULL), CQ_OK);
  check_tasks("prompts.index", copy, both);

  assert_int_equal(cq_encoder_open(&encoder, copy, NULL, NULL), CQ_OK);
  assert_int_equal(cq_encoder_fingerprint(fingerprint, encoder, NULL), CQ_OK);
  assert_int_equal(
      cq_index_store_create(test_path("old.index"), copy, fingerprint, cq_encoder_dim(encoder), false, NULL), CQ_OK);
  cq_encoder_free(encoder);
  check_tasks("old.index", copy, NULL);

  /* who takes the note away damages the manifest */
  cq_index *index;
  cq_error error = {0};
  snprintf(command, sizeof command, "sed -i '/\"tasks\"/s/true/false/' '%s/manifest.json'", test_path("prompts.index"));
  assert_int_equal(system(command), 0);
  assert_int_equal(cq_index_open(&index, test_path("prompts.index"), NULL, &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "it is damaged"));
}

/* What is added is encoded by the index's own model all the same. */
static void documents_are_encoded_by_the_own_model(void **state) {
  (void)state;
  cq_index_free(fresh("both.index"));
  const cq_document more = {.id = {"e", 1}, .language = {"en", 2}, .text = slice("late trains by the river")};
  cq_index *index;
  cq_hits *hits;
  size_t n;
  cq_index_options o = for_writing();
  o.query_model = SAME_DIM;
  assert_int_equal(cq_index_open(&index, test_path("both.index"), &o, NULL), CQ_OK);
  assert_int_equal(cq_index_add(index, &more, 1, NULL, NULL), CQ_OK);
  assert_int_equal(cq_index_commit(index, NULL), CQ_OK);
  cq_index_free(index);
  assert_int_equal(cq_index_open(&index, test_path("both.index"), NULL, NULL), CQ_OK);
  assert_int_equal(cq_index_search(&hits, index, &more.text, 1, NULL, NULL, NULL), CQ_OK);
  const cq_hit *hit = cq_hits_of(hits, 0, &n);
  assert_memory_equal(hit->document.id.data, "e", 1);
  assert_true(hit->cosine > 0.999);
  cq_hits_free(hits);
  cq_index_free(index);
}

static void a_query_model_of_other_dimensions_is_refused(void **state) {
  (void)state;
  cq_index_free(fresh("dimensions.index"));
  cq_index *index = NULL;
  cq_error error = {0};
  cq_index_options o = cq_index_default_options();
  o.query_model = OTHER_DIM;
  assert_int_equal(cq_index_open(&index, test_path("dimensions.index"), &o, &error), CQ_ERR_ARGUMENT);
  assert_null(index);
  assert_non_null(strstr(error.message, "dimensions.index"));
  assert_non_null(strstr(error.message, "the query model " OTHER_DIM));
  o.query_model = "/no/model/is/here";
  assert_int_equal(cq_index_open(&index, test_path("dimensions.index"), &o, &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "/no/model/is/here"));
}

/* Vectors that the caller has are taken as they are: the same hits, and none of the query's text. */
static void queries_may_be_encoded_already(void **state) {
  (void)state;
  cq_index *index = fresh("vectors.index");
  const cq_encoder *encoder;
  const cq_slice query = slice(lines[1]), other = slice("late trains");
  float vector[512];
  cq_search_options o = cq_search_default_options();
  cq_hits *expected, *hits;
  size_t n_expected, n;
  o.ranking = CQ_RANK_DENSE;
  assert_int_equal(cq_index_encoder(&encoder, index, NULL), CQ_OK);
  assert_true(cq_encoder_dim(encoder) <= 512);
  assert_int_equal(cq_encoder_encode(vector, NULL, encoder, &query, 1, NULL, NULL, NULL), CQ_OK);
  assert_int_equal(cq_index_search(&expected, index, &query, 1, &o, NULL, NULL), CQ_OK);
  o.query_vectors = vector;
  assert_int_equal(cq_index_search(&hits, index, &other, 1, &o, NULL, NULL), CQ_OK);
  const cq_hit *a = cq_hits_of(expected, 0, &n_expected), *b = cq_hits_of(hits, 0, &n);
  assert_int_equal(n, n_expected);
  for (size_t i = 0; i < n; i++) {
    assert_memory_equal(a[i].document.id.data, b[i].document.id.data, 1);
    assert_memory_equal(&a[i].cosine, &b[i].cosine, sizeof(double));
  }
  cq_hits_free(hits);
  vector[0] = NAN;
  assert_int_equal(cq_index_search(&hits, index, &other, 1, &o, NULL, NULL), CQ_ERR_ARGUMENT);
  cq_hits_free(expected);
  cq_index_free(index);
}

/* --- by words --- */

/* The scores of an index by words are, bit for bit, those of a set of segments of the same texts' forms. */
static void words_rank_as_a_lexical_index(void **state) {
  (void)state;
  static const char *const texts[] = {"a river and a house", "the house by the river", "late trains, late trains",
                                      "a garden"};
  const cq_slice queries[] = {slice("the river house"), slice("late garden late")};
  cq_document documents[N];
  cq_index *index = fresh("words.index");
  cq_analyzer *analyzer;
  cq_lexical_set *lexical;
  cq_slice same[N];
  cq_error error = {0};
  for (size_t i = 0; i < N; i++) {
    documents[i] = (cq_document){.id = {&"abcd"[i], 1}, .text = slice(texts[i])};
    same[i] = slice(texts[i]);
  }
  if (cq_analyzer_open_forms(&analyzer, &error) ||
      cq_lexical_segment_of_texts(test_path("words"), analyzer, same, NULL, N, NULL, &error) ||
      cq_lexical_set_open(&lexical, analyzer, (const char *const[]){test_path("words")}, 1, NULL, &error) ||
      cq_index_add(index, documents, N, NULL, &error) || cq_index_commit(index, &error) ||
      cq_index_compact(index, NULL, &error)) /* the statistics have what is deleted until then */
    fail_msg("%s", error.message);
  for (int model = 0; model < 2 * CQ_N_LEXICAL_MODELS; model++) {
    cq_search_options o = cq_search_default_options();
    cq_lexical_options by = cq_lexical_default_options();
    assert_int_equal(o.words_model, CQ_BM25);
    o.ranking = CQ_RANK_WORDS;
    o.words_model = by.model = (cq_lexical_model)(model % CQ_N_LEXICAL_MODELS);
    o.words_mu = by.mu = model < CQ_N_LEXICAL_MODELS ? 0 : 12;
    for (size_t q = 0; q < 2; q++) {
      cq_lexical_hit *expected;
      cq_hits *hits;
      size_t n;
      assert_int_equal(cq_lexical_set_search_texts(&expected, lexical, &queries[q], 1, &by, NULL, NULL, NULL), CQ_OK);
      assert_int_equal(cq_index_search(&hits, index, &queries[q], 1, &o, NULL, NULL), CQ_OK);
      const cq_hit *hit = cq_hits_of(hits, 0, &n);
      assert_true(n >= 2);
      for (size_t i = 0; i < n; i++) {
        assert_memory_equal(&hit[i].score, &expected[i].score, sizeof(double));
        assert_memory_equal(&hit[i].words, &expected[i].score, sizeof(double));
        assert_int_equal(hit[i].document.id.data[0], "abcd"[expected[i].document]);
      }
      assert_true(n == by.k || !expected[n].id.data);
      cq_hits_free(hits);
      cq_free(expected);
    }
  }
  cq_lexical_set_free(lexical);
  cq_analyzer_free(analyzer);
  cq_index_free(index);
}

static void search_with_each_allocation_failing(const char *directory, const cq_index_options *options,
                                                const cq_slice *query, const char *best) {
  bool failed = true;
  for (long n = 1; failed; n++) {
    cq_index *index = NULL;
    cq_hits *hits = NULL;
    size_t n_found;
    cq_alloc_fail_at(n);
    cq_error err = {0};
    cq_status status = cq_index_open(&index, directory, options, &err);
    if (!status) status = cq_index_search(&hits, index, query, 1, NULL, NULL, &err);
    failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (status != (failed ? CQ_ERR_MEMORY : CQ_OK)) fail_msg("allocation %ld: %s", n, err.message);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    if (failed) assert_null(hits);
    if (failed && index) { /* it can be searched nevertheless */
      assert_int_equal(cq_index_search(&hits, index, query, 1, NULL, NULL, NULL), CQ_OK);
    }
    if (hits && best) assert_memory_equal(cq_hits_of(hits, 0, &n_found)->document.text.data, best, strlen(best));
    cq_hits_free(hits);
    cq_index_free(index);
  }
}

/* Cosine and share of the query, worked out by hand: "river" is in 2 of 4 documents, "zeppelin" in none. The two documents
 * without either get the mean share of the other two. */
static void a_hybrid_score_is_the_sum_of_both(void **state) {
  (void)state;
  cq_index *index = fresh("hybrid.index");
  cq_search_options o = cq_search_default_options();
  const cq_slice query = slice("zeppelin river");
  const double idf_river = log(1 + (4 - 2 + 0.5) / (2 + 0.5)), idf_zeppelin = log(1 + (4 + 0.5) / 0.5);
  cq_hits *by_words, *hybrid;
  size_t n, n_words;
  o.ranking = CQ_RANK_WORDS;
  assert_int_equal(cq_index_search(&by_words, index, &query, 1, &o, NULL, NULL), CQ_OK);
  o.ranking = CQ_RANK_HYBRID, o.words_weight = 0.25;
  assert_int_equal(cq_index_search(&hybrid, index, &query, 1, &o, NULL, NULL), CQ_OK);
  const cq_hit *words = cq_hits_of(by_words, 0, &n_words), *both = cq_hits_of(hybrid, 0, &n);
  assert_int_equal(n, N);
  assert_int_equal(n_words, 2);
  for (size_t i = 0; i < n; i++) {
    double share = 2.2 * (words[0].score + words[1].score) / 2 / (idf_river + idf_zeppelin);
    for (size_t k = 0; k < n_words; k++)
      if (words[k].document.id.data[0] == both[i].document.id.data[0])
        share = 2.2 * words[k].score / (idf_river + idf_zeppelin);
    assert_float_equal(both[i].score, 0.75 * both[i].cosine + 0.25 * share, 1e-6);
    assert_true(share < 0.5); /* of "a river", which is short: most of the query is missing */
  }
  cq_hits_free(by_words), cq_hits_free(hybrid);
  cq_index_free(index);
}

static void every_allocation_of_a_search_may_fail(void **state) {
  (void)state;
  cq_index_free(fresh("memory.index"));
  const cq_slice query = slice(lines[2]);
  cq_index_options o = cq_index_default_options();
  search_with_each_allocation_failing(test_path("memory.index"), NULL, &query, lines[2]);
  o.query_model = SAME_DIM;
  search_with_each_allocation_failing(test_path("memory.index"), &o, &query, NULL);
}

/* By each ranking, with each kind of best sentence. */
static void every_allocation_of_a_ranking_may_fail(void **state) {
  (void)state;
  cq_index_free(fresh("rankings.index"));
  const cq_slice queries[] = {slice(lines[1]), slice("trains in a garden")};
  for (int way = 0; way < 4; way++) {
    cq_search_options o = cq_search_default_options();
    cq_index *index = NULL;
    bool failed = true;
    assert_int_equal(cq_index_open(&index, test_path("rankings.index"), NULL, NULL), CQ_OK);
    o.ranking = way % 2 ? CQ_RANK_WORDS : CQ_RANK_HYBRID;
    o.snippet = way / 2 ? CQ_SNIPPET_WORDS : CQ_SNIPPET_VECTORS;
    o.filter = "not id = nobody", o.language = "en";
    for (long n = 1; failed; n++) {
      cq_hits *hits = NULL;
      size_t n_found;
      cq_error error = {0};
      cq_alloc_fail_at(n);
      const cq_status status = cq_index_search(&hits, index, queries, 2, &o, NULL, &error);
      failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      if (status != (failed ? CQ_ERR_MEMORY : CQ_OK)) fail_msg("way %d, allocation %ld: %s", way, n, error.message);
      if (failed) assert_null(hits);
      if (failed && n % 8) continue;
      if (failed) assert_int_equal(cq_index_search(&hits, index, queries, 2, &o, NULL, NULL), CQ_OK);
      assert_int_equal(cq_hits_of(hits, 0, &n_found)->document.id.data[0], 'b');
      assert_non_null(cq_hits_of(hits, 0, &n_found)->best.data);
      cq_hits_free(hits);
    }
    cq_index_free(index);
  }
}

/* Adding, committing and compacting: what fails leaves the index as it was, and can be made again. */
static void every_allocation_of_a_change_may_fail(void **state) {
  (void)state;
  cq_index *index = fresh("changes.index");
  const cq_document more = {.id = {"e", 1},
                            .title = slice("A title"),
                            .text = slice("a cat. a dog. the river."),
                            .metadata = slice("{\"year\": 2001, \"tags\": [\"a\"]}")};
  size_t n_removed;
  cq_index_free(index);
  cq_index_options o = for_writing();
  o.passage_tokens = 4, o.passage_overlap = 0; /* of which the document has several */
  assert_int_equal(cq_index_open(&index, test_path("changes.index"), &o, NULL), CQ_OK);
  assert_int_equal(cq_index_remove(index, &(cq_slice){"a", 1}, 1, &n_removed, NULL), CQ_OK);
  assert_int_equal(cq_index_commit(index, NULL), CQ_OK);
  for (int what = 0; what < 3; what++) {
    bool failed = true;
    for (long n = 1; failed; n++) {
      cq_error error = {0};
      cq_alloc_fail_at(n);
      const cq_status status = what == 0   ? cq_index_add(index, &more, 1, NULL, &error)
                               : what == 1 ? cq_index_commit(index, &error)
                                           : cq_index_compact(index, NULL, &error);
      failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      if (status != (failed ? CQ_ERR_MEMORY : CQ_OK)) fail_msg("%d, allocation %ld: %s", what, n, error.message);
      assert_int_equal(cq_index_size(index), what == 2 || (what == 1 && !failed) ? N : N - 1);
      if (failed && n % 16 == 1) assert_int_equal(cq_index_check(index, NULL, NULL), CQ_OK);
    }
  }
  assert_true(cq_index_n_passages(index) > N);
  assert_int_equal(cq_index_check(index, NULL, NULL), CQ_OK);
  cq_index_free(index);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hits_outlive_the_index),
      cmocka_unit_test(an_open_index_sees_commits_when_it_looks),
      cmocka_unit_test(an_index_for_reading_refuses_changes),
      cmocka_unit_test(without_the_plugin_search_is_exact),
      cmocka_unit_test(queries_are_encoded_by_the_query_model),
      cmocka_unit_test(queries_and_documents_have_their_own_prompts),
      cmocka_unit_test(documents_are_encoded_by_the_own_model),
      cmocka_unit_test(a_query_model_of_other_dimensions_is_refused),
      cmocka_unit_test(queries_may_be_encoded_already),
      cmocka_unit_test(words_rank_as_a_lexical_index),
      cmocka_unit_test(a_hybrid_score_is_the_sum_of_both),
      cmocka_unit_test(every_allocation_of_a_search_may_fail),
      cmocka_unit_test(every_allocation_of_a_ranking_may_fail),
      cmocka_unit_test(every_allocation_of_a_change_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
