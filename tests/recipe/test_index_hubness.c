/* Hubness of an index's passages beside a plain loop, and the rankings that correct for it (CSLS). */
#include "support/files.h"

#include "base/memory.h"
#include "calque/calque.h"
#include "store/index_store.h"

#include <math.h>

#define MODEL CQ_TESTS_DIR "/golden/models/bert-uncased"

static const char *const texts[] = {"a river",  "the house by the river", "late trains", "a garden", "a dog",
                                    "the book", "two dogs in the garden", "a late river"};
static const char *const asked[] = {"where is the river", "trains", "who reads a book", "dogs"};
enum { N = 8, N_ASKED = 4, MAX_DIM = 256 };

static cq_slice slice(const char *text) {
  return (cq_slice){text, strlen(text)};
}

static void add(cq_index *index, size_t from, size_t to) {
  cq_error error = {0};
  for (size_t i = from; i < to; i++) {
    const cq_document d = {.id = {&"abcdefgh"[i], 1}, .text = slice(texts[i])};
    if (cq_index_add(index, &d, 1, NULL, &error)) fail_msg("%s", error.message);
  }
  if (cq_index_commit(index, &error)) fail_msg("%s", error.message);
}

static cq_index *fresh(const char *name, size_t n) {
  cq_index_options o = cq_index_default_options();
  cq_index *index;
  o.model = MODEL, o.writing = true;
  assert_int_equal(cq_index_create(test_path(name), &o, NULL), CQ_OK);
  assert_int_equal(cq_index_open(&index, test_path(name), &o, NULL), CQ_OK);
  add(index, 0, n);
  return index;
}

static void encode(float vectors[][MAX_DIM], const char *const *lines, size_t n, size_t *dim) {
  cq_encoder *encoder;
  assert_int_equal(cq_encoder_open(&encoder, MODEL, NULL, NULL), CQ_OK);
  *dim = (size_t)cq_encoder_dim(encoder);
  for (size_t i = 0; i < n; i++)
    assert_int_equal(cq_encoder_encode(vectors[i], NULL, encoder, (cq_slice[]){slice(lines[i])}, 1, NULL, NULL, NULL),
                     CQ_OK);
  cq_encoder_free(encoder);
}

/* The mean cosine of document i and its k nearest of `queries`, `own` left out. */
static double plain_mean(const float *document, float queries[][MAX_DIM], size_t n, size_t dim, size_t k, size_t own) {
  double sum = 0;
  bool taken[N] = {false};
  if (own < n) taken[own] = true;
  for (size_t r = 0; r < k; r++) {
    size_t best = n;
    for (size_t q = 0; q < n; q++)
      if (!taken[q] && (best == n || cq_cosine(document, queries[q], dim) > cq_cosine(document, queries[best], dim)))
        best = q;
    sum += cq_cosine(document, queries[best], dim);
    taken[best] = true;
  }
  return sum / (double)k;
}

/* What a search by CSLS finds: every document, with the score of the formula, the best first. */
static void ranks_as(const cq_index *index, const double *means, const size_t *documents, size_t n) {
  static float of_texts[N][MAX_DIM], of_asked[N_ASKED][MAX_DIM];
  size_t dim, n_found;
  cq_search_options o = cq_search_default_options();
  cq_hits *hits;
  encode(of_texts, texts, N, &dim);
  encode(of_asked, asked, N_ASKED, &dim);
  o.csls = true, o.ranking = CQ_RANK_DENSE;
  for (size_t q = 0; q < N_ASKED; q++) {
    const cq_slice query = slice(asked[q]);
    assert_int_equal(cq_index_search(&hits, index, &query, 1, &o, NULL, NULL), CQ_OK);
    const cq_hit *hit = cq_hits_of(hits, 0, &n_found);
    assert_int_equal(n_found, n);
    for (size_t i = 0; i < n; i++) {
      size_t d = 0;
      while (documents[d] != (size_t)(hit[i].document.id.data[0] - 'a')) assert_true(++d < n);
      const double cosine = cq_cosine(of_asked[q], of_texts[documents[d]], dim);
      assert_float_equal(hit[i].cosine, cosine, 1e-6);
      assert_float_equal(hit[i].score, 2 * cosine - means[d], 1e-5);
      assert_true(i == 0 || hit[i - 1].score >= hit[i].score);
    }
    cq_hits_free(hits);
  }
}

static void scores_are_those_of_the_formula(void **state) {
  (void)state;
  static float of_texts[N][MAX_DIM], of_asked[N_ASKED][MAX_DIM];
  cq_slice queries[N_ASKED];
  double means[N];
  size_t documents[N], dim, n;
  cq_index *index = fresh("formula.index", 6);
  cq_search_options o = cq_search_default_options();
  cq_hits *hits;
  cq_error error = {0};
  for (size_t i = 0; i < N_ASKED; i++) queries[i] = slice(asked[i]);
  encode(of_texts, texts, N, &dim);
  encode(of_asked, asked, N_ASKED, &dim);
  o.csls = true, o.ranking = CQ_RANK_DENSE;
  assert_int_equal(cq_index_search(&hits, index, queries, 1, &o, NULL, &error), CQ_ERR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "formula.index: it has no hubness to correct for"));
  o.ranking = CQ_RANK_WORDS; /* which has no vectors */
  assert_int_equal(cq_index_search(&hits, index, queries, 1, &o, NULL, NULL), CQ_OK);
  cq_hits_free(hits);
  /* Of queries. What is added afterwards gets its number, what is removed leaves the others theirs. */
  assert_int_equal(cq_index_hubness(index, queries, N_ASKED, 2, NULL, NULL), CQ_OK);
  assert_int_equal(cq_index_n_hubness_queries(index), 0);
  assert_int_equal(cq_index_commit(index, NULL), CQ_OK);
  assert_int_equal(cq_index_n_hubness_queries(index), N_ASKED);
  add(index, 6, N);
  for (size_t i = 0; i < N; i++) documents[i] = i, means[i] = plain_mean(of_texts[i], of_asked, N_ASKED, dim, 2, N);
  ranks_as(index, means, documents, N);
  assert_int_equal(cq_index_remove(index, &(cq_slice){"c", 1}, 1, &n, NULL), CQ_OK);
  assert_int_equal(cq_index_commit(index, NULL), CQ_OK);
  assert_int_equal(cq_index_compact(index, NULL, NULL), CQ_OK);
  for (size_t i = 2; i < N - 1; i++) documents[i] = i + 1, means[i] = means[i + 1];
  ranks_as(index, means, documents, N - 1);
  assert_int_equal(cq_index_check(index, NULL, NULL), CQ_OK);
  cq_index_free(index);
}

/* A passage that stands for a query is no neighbor of itself. */
static void passages_stand_for_queries(void **state) {
  (void)state;
  static float of_texts[N][MAX_DIM];
  double means[N];
  size_t documents[N], dim;
  cq_index *index = fresh("passages.index", N);
  cq_error error = {0};
  encode(of_texts, texts, N, &dim);
  assert_int_equal(cq_index_hubness(index, NULL, 100, 0, NULL, &error), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_index_hubness(index, NULL, 100, 3, NULL, NULL), CQ_OK);
  assert_int_equal(cq_index_commit(index, NULL), CQ_OK);
  for (size_t i = 0; i < N; i++) documents[i] = i, means[i] = plain_mean(of_texts[i], of_texts, N, dim, 3, i);
  ranks_as(index, means, documents, N);
  assert_int_equal(cq_index_hubness(index, NULL, N / 2, 2, NULL, NULL), CQ_OK); /* every other one */
  assert_int_equal(cq_index_commit(index, NULL), CQ_OK);
  static float sampled[N / 2][MAX_DIM];
  for (size_t i = 0; i < N / 2; i++) memcpy(sampled[i], of_texts[2 * i], sizeof sampled[i]);
  for (size_t i = 0; i < N; i++) means[i] = plain_mean(of_texts[i], sampled, N / 2, dim, 2, i % 2 ? N : i / 2);
  ranks_as(index, means, documents, N);
  assert_int_equal(cq_index_hubness(index, NULL, 0, 0, NULL, NULL), CQ_OK);
  assert_int_equal(cq_index_commit(index, NULL), CQ_OK);
  assert_int_equal(cq_index_n_hubness_queries(index), 0);
  cq_index_free(index);
  index = fresh("none.index", 0);
  assert_int_equal(cq_index_hubness(index, NULL, 100, 3, NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "an index without documents"));
  cq_index_free(index);
}

/* A failed call changes nothing, and can be made again. */
static void every_allocation_may_fail(void **state) {
  (void)state;
  cq_slice queries[N_ASKED];
  for (size_t i = 0; i < N_ASKED; i++) queries[i] = slice(asked[i]);
  for (int what = 0; what < 4; what++) { /* passages, queries, a commit of new documents, compaction */
    cq_index *index = fresh((const char *[]){"m0", "m1", "m2", "m3"}[what], N - 1);
    size_t n_before = 0;
    bool failed = true;
    if (what >= 2) {
      assert_int_equal(cq_index_hubness(index, queries, 2, 2, NULL, NULL), CQ_OK);
      assert_int_equal(cq_index_commit(index, NULL), CQ_OK);
      n_before = 2;
    }
    const cq_document d = {.id = {"h", 1}, .text = slice(texts[7])};
    if (what == 2) assert_int_equal(cq_index_add(index, &d, 1, NULL, NULL), CQ_OK);
    for (long n = 1; failed; n++) {
      cq_error error = {0};
      cq_alloc_fail_at(n);
      const cq_status status = what == 3   ? cq_index_compact(index, NULL, &error)
                               : what == 2 ? cq_index_commit(index, &error)
                                           : cq_index_hubness(index, what ? queries : NULL, N_ASKED, 2, NULL, &error);
      failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      if (status != (failed ? CQ_ERR_MEMORY : CQ_OK)) fail_msg("%d, allocation %ld: %s", what, n, error.message);
      if (failed) assert_int_equal(cq_index_n_hubness_queries(index), n_before);
    }
    assert_int_equal(cq_index_commit(index, NULL), CQ_OK);
    assert_int_equal(cq_index_n_hubness_queries(index), what < 2 ? N_ASKED : 2);
    assert_int_equal(cq_index_size(index), what == 2 ? N : N - 1);
    assert_int_equal(cq_index_check(index, NULL, NULL), CQ_OK);
    cq_index_free(index);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scores_are_those_of_the_formula),
      cmocka_unit_test(passages_stand_for_queries),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
