/* Weighted bags of words by hand: their counts, projections and likelihoods, and what feedback makes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "lab/clir/bags.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void near(double a, double b, const char *what) {
  if (!(fabs(a - b) <= 1e-6 * fmax(1, fabs(b)))) fail_msg("%s: %.9g, expected %.9g", what, a, b);
}

static void nears(const double *a, const double *b, size_t n, const char *what) {
  for (size_t i = 0; i < n; i++) near(a[i], b[i], what);
}

/* Bag d is words[ends[d - 1] .. ends[d]). */
static cq_bags bags_of(const uint32_t *words, const size_t *ends, size_t n, uint32_t n_words) {
  cq_word_run *runs = calloc(n + 1, sizeof *runs);
  cq_bags bags;
  assert_non_null(runs);
  for (size_t d = 0; d < n; d++) {
    const size_t first = d ? ends[d - 1] : 0;
    runs[d] = (cq_word_run){words ? words + first : NULL, ends[d] - first};
  }
  assert_int_equal(cq_bags_open(&bags, runs, n, n_words, NULL), CQ_OK);
  free(runs);
  return bags;
}

/* Word 4 is in none of four bags, the third of which is empty. */
static const uint32_t words[] = {2, 0, 2, 2, /**/ 1, 0, /**/ 3, 3, 1};
static const size_t ends[] = {4, 6, 6, 9};
enum { BAGS = 4, WORDS = 5 };

static cq_bags small_bags(void) {
  return bags_of(words, ends, BAGS, WORDS);
}

static void words_are_counted(void **state) {
  (void)state;
  cq_bags b = small_bags();
  static const size_t starts[] = {0, 2, 4, 4, 6};
  static const cq_weighted_word items[] = {{0, 1}, {2, 3}, {0, 1}, {1, 1}, {1, 1}, {3, 2}};
  assert_int_equal(b.n, BAGS);
  assert_int_equal(b.n_words, WORDS);
  assert_memory_equal(b.starts, starts, sizeof starts);
  for (size_t i = 0; i < 6; i++) {
    assert_int_equal(b.items[i].word, items[i].word);
    assert_true(b.items[i].weight == items[i].weight);
  }
  nears(b.lengths, (double[]){4, 2, 0, 3}, BAGS, "length");
  nears(b.masses, (double[]){2, 2, 3, 2, 0}, WORDS, "mass");
  near(b.mass, 9, "mass of all");
  nears(b.idf, (double[]){log(2), log(2), log(5 / 1.5), log(5 / 1.5), log(10)}, WORDS, "idf");
  cq_bags_close(&b);
  assert_null(b.items);
  cq_bags_close(&b);
}

static cq_bags random_bags(uint32_t n, uint32_t n_words) {
  uint32_t *all = malloc(n * 30 * sizeof *all);
  size_t *stops = malloc(n * sizeof *stops), at = 0;
  cq_random random = cq_random_seeded(3, 1);
  assert_true(all && stops);
  for (uint32_t d = 0; d < n; d++) {
    for (uint64_t i = cq_random_below(&random, 30); i; i--) all[at++] = (uint32_t)cq_random_below(&random, n_words);
    stops[d] = at;
  }
  cq_bags b = bags_of(all, stops, n, n_words);
  free(all), free(stops);
  return b;
}

/* The formula word by word over all words, whether a bag has them or not. */
static double likelihood_of(const cq_bags *b, uint32_t d, const double *query, double mu) {
  double sum = 0, length = 0;
  for (size_t i = b->starts[d]; i < b->starts[d + 1]; i++) length += (double)b->items[i].weight;
  for (uint32_t w = 0; w < b->n_words; w++) {
    double count = 0, all = 0, mass = 0;
    for (size_t i = b->starts[d]; i < b->starts[d + 1]; i++)
      if (b->items[i].word == w) count += (double)b->items[i].weight;
    for (size_t i = 0; i < b->starts[b->n]; i++) {
      mass += (double)b->items[i].weight;
      if (b->items[i].word == w) all += (double)b->items[i].weight;
    }
    if (!(all > 0)) continue;
    /* log2 p(w | d) less log2 of the word's share of all, which is the same in every bag. */
    sum += query[w] * (log2((count + mu * all / mass) / (length + mu)) - log2(all / mass));
  }
  return sum;
}

static void likelihood_is_the_formula(void **state) {
  (void)state;
  enum { N = 20, M = 25 };
  cq_bags small = small_bags(), random = random_bags(N, M);
  double query[M] = {[0] = 1, [2] = 0.5, [3] = 2, [4] = 7}, scores[N];
  static const double mus[] = {0.5, 10, 2000};
  for (int i = 0; i < 3; i++) {
    cq_bags_likelihood(scores, &small, query, mus[i]);
    for (uint32_t d = 0; d < BAGS; d++) near(scores[d], likelihood_of(&small, d, query, mus[i]), "likelihood");
  }
  for (int w = 0; w < M; w++) query[w] = w % 3 ? 0.1 * w : 0;
  for (int i = 0; i < 3; i++) {
    cq_bags_likelihood(scores, &random, query, mus[i]);
    for (uint32_t d = 0; d < N; d++) near(scores[d], likelihood_of(&random, d, query, mus[i]), "likelihood");
  }
  /* Words that are in no bag change nothing; an empty query scores nothing. */
  cq_bags_likelihood(scores, &small, (double[]){0, 0, 0, 0, 3}, 10);
  nears(scores, (double[]){0, 0, 0, 0}, BAGS, "likelihood of an unknown word");
  cq_bags_close(&small), cq_bags_close(&random);
}

static void feedback_is_the_best_words(void **state) {
  (void)state;
  cq_bags b = small_bags();
  double query[WORDS];
  const double weights[] = {0.5, 0.25, 0.25, 0}; /* the empty bag has a weight and no words */
  /* 0: (0.5 / 4 + 0.25 / 2) log 2; 1: 0.25 / 2 log 2; 2: 0.5 3/4 log(5 / 1.5) */
  const double zero = 0.25 * log(2), one = 0.125 * log(2), two = 0.375 * log(5 / 1.5);
  assert_int_equal(cq_bags_feedback(query, &b, weights, 10, NULL, NULL), CQ_OK);
  const double all = zero + one + two;
  nears(query, (double[]){zero / all, one / all, two / all, 0, 0}, WORDS, "feedback of all words");
  assert_int_equal(cq_bags_feedback(query, &b, weights, 2, NULL, NULL), CQ_OK);
  nears(query, (double[]){zero / (zero + two), 0, two / (zero + two), 0, 0}, WORDS, "feedback of two words");
  const double allowed[] = {3, 0.1, 0, 1, 1};
  assert_int_equal(cq_bags_feedback(query, &b, weights, 2, allowed, NULL), CQ_OK);
  nears(query, (double[]){zero / (zero + one), one / (zero + one), 0, 0, 0}, WORDS, "feedback of words allowed");
  assert_int_equal(cq_bags_feedback(query, &b, weights, 1, allowed, NULL), CQ_OK);
  nears(query, (double[]){1, 0, 0, 0, 0}, WORDS, "feedback of a word");
  /* Nothing allowed, or nothing relevant: nothing, and no number that is none. */
  const double nothing[WORDS] = {0};
  assert_int_equal(cq_bags_feedback(query, &b, weights, 2, nothing, NULL), CQ_OK);
  nears(query, nothing, WORDS, "feedback of no words");
  assert_int_equal(cq_bags_feedback(query, &b, nothing, 2, NULL, NULL), CQ_OK);
  nears(query, nothing, WORDS, "feedback of no bags");
  assert_int_equal(cq_bags_feedback(query, &b, (double[]){0, 0, 1, 0}, 2, NULL, NULL), CQ_OK);
  nears(query, nothing, WORDS, "feedback of an empty bag");
  cq_bags_close(&b);
}

static void feedback_sums_to_one(void **state) {
  (void)state;
  enum { N = 20, M = 25 };
  cq_bags b = random_bags(N, M);
  double weights[N], query[M];
  for (int d = 0; d < N; d++) weights[d] = d % 3 ? 0 : 1.0 / (d + 1);
  for (size_t m = 1; m <= M; m += 4) {
    double sum = 0, least = INFINITY, full[M];
    size_t n = 0, n_all = 0;
    assert_int_equal(cq_bags_feedback(full, &b, weights, M, NULL, NULL), CQ_OK);
    assert_int_equal(cq_bags_feedback(query, &b, weights, m, NULL, NULL), CQ_OK);
    for (int w = 0; w < M; w++) {
      sum += query[w], n += query[w] > 0, n_all += full[w] > 0;
      if (query[w] > 0) least = fmin(least, full[w]);
    }
    near(sum, 1, "sum of feedback");
    assert_true(n >= m || n == n_all); /* more, where the last are equal */
    for (int w = 0; w < M; w++)
      if (!(query[w] > 0)) assert_true(full[w] < least || full[w] == 0);
  }
  cq_bags_close(&b);
}

/* --- tables --- */

/* A copy, as cq_word_table_free releases it. */
static cq_word_table table_of(uint32_t n_targets, const size_t *starts, size_t n_sources,
                              const cq_weighted_word *items) {
  cq_word_table t = {.n_sources = (uint32_t)n_sources, .n_targets = n_targets};
  t.starts = cq_alloc_array(n_sources + 1, sizeof *t.starts);
  t.items = cq_alloc_array(starts[n_sources], sizeof *t.items);
  assert_true(t.starts && t.items);
  memcpy(t.starts, starts, (n_sources + 1) * sizeof *starts);
  if (starts[n_sources]) memcpy(t.items, items, starts[n_sources] * sizeof *items);
  return t;
}

static void expect_entries(const cq_weighted_word *items, const size_t *starts, size_t row, const double *expected,
                           uint32_t n, const char *what) {
  double found[WORDS] = {0};
  for (size_t i = starts[row]; i < starts[row + 1]; i++) {
    assert_true(items[i].word < n);
    assert_true(i == starts[row] || items[i - 1].word < items[i].word);
    found[items[i].word] = (double)items[i].weight;
  }
  nears(found, expected, n, what);
}

static void bags_are_read_through_a_table(void **state) {
  (void)state;
  cq_bags b = small_bags(), read;
  cq_word_table t = table_of(WORDS, (size_t[]){0, 2, 2, 5}, 3,
                             (cq_weighted_word[]){{2, 0.5f}, {0, 1}, {2, 0.25f}, {1, 0.75f}, {4, 1}});
  assert_int_equal(cq_bags_project(&read, &b, &t, NULL), CQ_OK);
  assert_int_equal(read.n, BAGS);
  assert_int_equal(read.n_words, 3);
  expect_entries(read.items, read.starts, 0, (double[]){1 + 1.5, 0, 0.75}, 3, "bag 0");
  expect_entries(read.items, read.starts, 1, (double[]){1, 0, 0.75}, 3, "bag 1");
  expect_entries(read.items, read.starts, 2, (double[]){0, 0, 0}, 3, "bag 2");
  expect_entries(read.items, read.starts, 3, (double[]){0, 0, 0.75}, 3, "bag 3");
  nears(read.lengths, (double[]){3.25, 1.75, 0, 0.75}, BAGS, "length read");
  nears(read.masses, (double[]){3.5, 0, 2.25}, 3, "mass read");
  near(read.mass, 5.75, "mass of all read");
  nears(read.idf, (double[]){log(5 / 2.5), log(5 / 0.5), log(5 / 3.5)}, 3, "idf read");
  cq_bags_close(&read);
  cq_word_table_free(&t);
  /* A table without entries leaves empty bags, of which nothing can be said. */
  double scores[BAGS];
  t = table_of(WORDS, (size_t[]){0, 0, 0}, 2, NULL);
  assert_int_equal(cq_bags_project(&read, &b, &t, NULL), CQ_OK);
  cq_bags_likelihood(scores, &read, (double[]){1, 1}, 10);
  nears(scores, (double[]){0, 0, 0, 0}, BAGS, "likelihood in empty bags");
  cq_bags_close(&read), cq_bags_close(&b);
  cq_word_table_free(&t);
}

static void tables_have_a_mean(void **state) {
  (void)state;
  cq_word_table mean, t[3] = {
                          table_of(4, (size_t[]){0, 2, 2}, 2, (cq_weighted_word[]){{3, 0.5f}, {1, 0.25f}}),
                          table_of(4, (size_t[]){0, 1, 2}, 2, (cq_weighted_word[]){{1, 0.5f}, {0, 0.75f}}),
                          table_of(4, (size_t[]){0, 1, 1}, 2, (cq_weighted_word[]){{3, 1}}),
                      };
  assert_int_equal(cq_word_table_mean(&mean, t, 3, NULL), CQ_OK);
  assert_int_equal(mean.n_sources, 2);
  assert_int_equal(mean.n_targets, 4);
  expect_entries(mean.items, mean.starts, 0, (double[]){0, 0.25, 0, 0.5}, 4, "row 0 of the mean");
  expect_entries(mean.items, mean.starts, 1, (double[]){0.25, 0, 0, 0}, 4, "row 1 of the mean");
  cq_word_table_free(&mean);
  assert_int_equal(cq_word_table_mean(&mean, t, 1, NULL), CQ_OK);
  expect_entries(mean.items, mean.starts, 0, (double[]){0, 0.25, 0, 0.5}, 4, "the mean of one");
  cq_word_table_free(&mean);
  for (int i = 0; i < 3; i++) cq_word_table_free(&t[i]);
  cq_word_table_free(&t[0]);
}

static void a_table_goes_through_another(void **state) {
  (void)state;
  cq_word_table through,
      ab = table_of(3, (size_t[]){0, 2, 2, 3}, 3, (cq_weighted_word[]){{0, 0.5f}, {2, 1}, {1, 0.25f}}),
      bc = table_of(2, (size_t[]){0, 1, 2, 4}, 3, (cq_weighted_word[]){{1, 0.5f}, {0, 0.25f}, {0, 0.125f}, {1, 0.75f}});
  assert_int_equal(cq_word_table_through(&through, &ab, &bc, 0, NULL), CQ_OK);
  assert_int_equal(through.n_sources, 3);
  assert_int_equal(through.n_targets, 2);
  expect_entries(through.items, through.starts, 0, (double[]){0.125, 0.75}, 2, "the greater of 0.25 and 0.75");
  expect_entries(through.items, through.starts, 1, (double[]){0, 0}, 2, "a word without entries");
  expect_entries(through.items, through.starts, 2, (double[]){0.0625, 0}, 2, "one way");
  cq_word_table_free(&through);
  assert_int_equal(cq_word_table_through(&through, &ab, &bc, 0.125f, NULL), CQ_OK);
  expect_entries(through.items, through.starts, 0, (double[]){0, 0.75}, 2, "not 0.125");
  expect_entries(through.items, through.starts, 2, (double[]){0, 0}, 2, "too little");
  cq_word_table_free(&through);
  cq_word_table_free(&ab);
  cq_word_table_free(&bc);
}

/* --- similarity, weights, scores --- */

static void similarity_is_a_squared_cosine(void **state) {
  (void)state;
  cq_bags b = small_bags();
  const double idf[WORDS] = {1, 2, 3, 0, 1};
  double sums[BAGS] = {10, 20, 30, 40}, scratch[WORDS] = {0};
  cq_bags_add_similar(sums, &b, 0, &b, idf, 2, scratch);
  /* Bag 0: (log 2, 0, 3 log 4); bag 1: (log 2, 2 log 2); bag 3: (0, 2 log 2), word 3 has no weight. */
  const double l = log(2), x = l * l + 9 * 4 * l * l, y = l * l + 4 * l * l;
  nears(sums, (double[]){12, 20 + 2 * l * l * l * l / (x * y), 30, 40}, BAGS, "similarity to bag 0");
  nears(scratch, (double[WORDS]){0}, WORDS, "scratch");
  memset(sums, 0, sizeof sums);
  cq_bags_add_similar(sums, &b, 3, &b, idf, 1, scratch);
  nears(sums, (double[]){0, 0.8, 0, 1}, BAGS, "similarity to bag 3");
  memset(sums, 0, sizeof sums);
  cq_bags_add_similar(sums, &b, 2, &b, idf, 1, scratch); /* empty */
  nears(sums, (double[]){0, 0, 0, 0}, BAGS, "similarity to an empty bag");
  nears(scratch, (double[WORDS]){0}, WORDS, "scratch");
  cq_bags_close(&b);
}

static void the_best_have_weights(void **state) {
  (void)state;
  const double scores[] = {-3, -1, -5, -1, -2};
  double weights[5];
  assert_int_equal(cq_top_weights(weights, scores, 5, 3, CQ_BY_LIKELIHOOD, NULL), CQ_OK);
  nears(weights, (double[]){0, 0.4, 0, 0.4, 0.2}, 5, "weights by likelihood");
  assert_int_equal(cq_top_weights(weights, scores, 5, 3, CQ_BY_RANK, NULL), CQ_OK);
  const double three = 1 + 1 / 2.0 + 1 / 3.0;
  nears(weights, (double[]){0, 1 / three, 0, 0.5 / three, 1 / three / 3}, 5, "weights by rank");
  /* Of equal ones the first. */
  for (int how = 0; how < 2; how++) {
    assert_int_equal(cq_top_weights(weights, scores, 5, 1, (cq_weighting)how, NULL), CQ_OK);
    nears(weights, (double[]){0, 1, 0, 0, 0}, 5, "the first of equal ones");
    assert_int_equal(cq_top_weights(weights, (double[]){7, 7, 7, 7, 7}, 5, 2, (cq_weighting)how, NULL), CQ_OK);
    assert_true(weights[0] > 0 && weights[1] > 0 && weights[2] == 0 && weights[3] == 0 && weights[4] == 0);
    near(weights[0] + weights[1], 1, "weights of equal ones");
    near(weights[0] / weights[1], how == CQ_BY_RANK ? 2 : 1, "equal ones");
    /* More than there are, none, and of none. */
    double sum = 0;
    assert_int_equal(cq_top_weights(weights, scores, 5, 50, (cq_weighting)how, NULL), CQ_OK);
    for (int i = 0; i < 5; i++) sum += weights[i], assert_true(weights[i] > 0);
    near(sum, 1, "sum of weights");
    assert_int_equal(cq_top_weights(weights, scores, 5, 0, (cq_weighting)how, NULL), CQ_OK);
    nears(weights, (double[]){0, 0, 0, 0, 0}, 5, "no weights");
    assert_int_equal(cq_top_weights(weights, scores, 0, 3, (cq_weighting)how, NULL), CQ_OK);
  }
  /* Likelihoods of long queries are beyond exp2. */
  assert_int_equal(cq_top_weights(weights, (double[]){-90001, -90000, -95000}, 3, 3, CQ_BY_LIKELIHOOD, NULL), CQ_OK);
  nears(weights, (double[]){1 / 3.0, 2 / 3.0, 0}, 3, "weights of small likelihoods");
}

static void scores_are_standardized(void **state) {
  (void)state;
  double scores[] = {1, 3, 5, 7}, same[] = {2.5, 2.5, 2.5};
  cq_standardize(scores, 4);
  nears(scores, (double[]){-3 / sqrt(5), -1 / sqrt(5), 1 / sqrt(5), 3 / sqrt(5)}, 4, "standardized");
  cq_standardize(same, 3);
  nears(same, (double[]){0, 0, 0}, 3, "equal scores");
  cq_standardize(same, 1);
  nears(same, (double[]){0}, 1, "one score");
  cq_standardize(NULL, 0);
}

static void there_may_be_nothing(void **state) {
  (void)state;
  cq_bags b = bags_of(NULL, NULL, 0, 0);
  double one = 7;
  assert_int_equal(b.n, 0);
  cq_bags_likelihood(&one, &b, &one, 10);
  assert_int_equal(cq_bags_feedback(&one, &b, &one, 3, NULL, NULL), CQ_OK);
  assert_true(one == 7);
  cq_bags_close(&b);
  b = bags_of(NULL, (size_t[]){0, 0}, 2, 3); /* bags, words and nothing in them */
  double scores[2] = {9, 9}, query[] = {1, 2, 3}, scratch[3] = {0};
  cq_bags_likelihood(scores, &b, query, 10);
  nears(scores, (double[]){0, 0}, 2, "likelihood in empty bags");
  assert_int_equal(cq_bags_feedback(query, &b, (double[]){0.5, 0.5}, 2, NULL, NULL), CQ_OK);
  nears(query, (double[]){0, 0, 0}, 3, "feedback of empty bags");
  cq_bags_add_similar(scores, &b, 0, &b, b.idf, 1, scratch);
  nears(scores, (double[]){0, 0}, 2, "similarity of empty bags");
  cq_bags_close(&b);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  cq_bags b = small_bags();
  cq_word_table t =
      table_of(WORDS, (size_t[]){0, 2, 2, 4}, 3, (cq_weighted_word[]){{2, 0.5f}, {0, 1}, {2, 0.25f}, {1, 0.75f}});
  const cq_word_run runs[] = {{words, 4}, {words + 4, 5}};
  for (long n = 1;; n++) {
    cq_bags counted = {0}, read = {0};
    cq_word_table mean = {0};
    double weights[2], query[WORDS];
    cq_error error = {0};
    cq_alloc_fail_at(n);
    cq_status status = cq_bags_open(&counted, runs, 2, WORDS, &error);
    if (!status) status = cq_word_table_mean(&mean, &t, 1, &error);
    if (!status) status = cq_bags_project(&read, &b, &mean, &error);
    if (!status) status = cq_top_weights(weights, (double[]){1, 2}, 2, 2, CQ_BY_RANK, &error);
    if (!status) status = cq_bags_feedback(query, &counted, weights, 2, NULL, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    cq_bags_close(&counted), cq_bags_close(&read);
    cq_word_table_free(&mean);
    if (!failed) break;
    assert_true(error.message[0] != 0);
  }
  cq_bags_close(&b);
  cq_word_table_free(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_are_counted),
      cmocka_unit_test(likelihood_is_the_formula),
      cmocka_unit_test(feedback_is_the_best_words),
      cmocka_unit_test(feedback_sums_to_one),
      cmocka_unit_test(bags_are_read_through_a_table),
      cmocka_unit_test(tables_have_a_mean),
      cmocka_unit_test(a_table_goes_through_another),
      cmocka_unit_test(similarity_is_a_squared_cosine),
      cmocka_unit_test(the_best_have_weights),
      cmocka_unit_test(scores_are_standardized),
      cmocka_unit_test(there_may_be_nothing),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
