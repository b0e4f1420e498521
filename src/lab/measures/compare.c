/* Compares runs: judgments and runs -> a value of each measure for each topic -> groups' means -> tests of each pair.
 *
 *     values   [n_runs, n_measures + 1, n_judged]   all judged topics, which are the same for each run; the extra
 *                                                   measure is num_ret, which shows whether a run has the topic
 *     means    [n_runs, n_measures, n_groups]       over the topics that any run has; without groups, each topic
 *     results  [n_pairs, n_measures]
 *
 * All of it is in one arena; a run's documents are released before the next run is read. */
#include "calque/lab/compare.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/slice.h"
#include "calque/lab/retrieval.h"
#include "lab/measures/significance.h"

#include <stdlib.h>
#include <string.h>

#define O cq_compare_options
static const cq_option option_rows[] = {
    {CQ_TEXTS(O, "measure", measures, n_measures, CHANGES, "NAME",
              "what to compare, as 'calque eval retrieval' names it"),
     .otherwise = "map"},
    {CQ_COUNT(O, "group", topics_per_group, CHANGES, 0, 0, 0, "N",
              "test means over groups of N consecutive topic numbers: 1 to N, N + 1 to 2 N and so on"),
     .letter = 'g', .otherwise = "test single topics"},
    {CQ_FLAG(O, "all-pairs", all_pairs, CHANGES, "compare all pairs of runs; by default each with the first"),
     .letter = 'a'},
    {CQ_COUNT(O, "samples", n_samples, CHANGES, 100000, 1, 0, "N",
              "random signs to try if there are more than 20 differences")},
    {CQ_COUNT(O, "seed", seed, CHANGES, 0, 0, 0, "N", "seed of the random signs")},
    {CQ_FLAG(O, "double", in_double, CHANGES,
             "compare scores in double precision, as trec_eval 10 does; else in f32, as 9 does")},
};
#undef O

const cq_option_group cq_group_compare = {.name = "compare", CQ_ROWS(cq_compare_options, option_rows)};

/* ---- values ---- */

static double mean_of(const double *x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += x[i];
  return n ? sum / (double)n : 0;
}

cq_status cq_compare_values(cq_comparison *out, const double *a, const double *b, size_t n,
                            const cq_compare_options *options, cq_error *error) {
  cq_compare_options o;
  cq_status status = cq_options_take(&o, &cq_group_compare, options, error);
  if (status) return status;
  double *d = cq_alloc_array(n, sizeof *d);
  if (!d) return cq_fail_memory(error, "differences");
  cq_comparison c = {.n = n, .exact[CQ_TEST_T] = true};
  status = cq_differences(d, a, b, n, error);
  if (!status) status = cq_wilcoxon(&c.p[CQ_TEST_WILCOXON], &c.exact[CQ_TEST_WILCOXON], d, n, error);
  if (!status) {
    const cq_effect effect = cq_effect_of(d, n);
    c.n_wins = effect.n_wins, c.n_losses = effect.n_losses, c.n_ties = effect.n_ties;
    c.mean_a = mean_of(a, n), c.mean_b = mean_of(b, n), c.difference = effect.mean;
    c.p[CQ_TEST_T] = cq_paired_t(d, n);
    c.p[CQ_TEST_RANDOMIZATION] = cq_randomization(&c.exact[CQ_TEST_RANDOMIZATION], d, n, o.n_samples, o.seed);
    memcpy(c.corrected, c.p, sizeof c.p);
    *out = c;
  }
  cq_free(d);
  return status;
}

cq_status cq_compare_corrected(double *corrected, const double *p, size_t m, cq_error *error) {
  return cq_holm(corrected, p, m, error);
}

cq_status cq_topic_group(uint64_t *group, cq_slice topic, uint64_t topics_per_group, cq_error *error) {
  uint64_t number = 0;
  size_t i = 0;
  for (; i < topic.n && topic.data[i] >= '0' && topic.data[i] <= '9'; i++) {
    const uint64_t digit = (uint64_t)(topic.data[i] - '0');
    if (number > (UINT64_MAX - digit) / 10) break;
    number = 10 * number + digit;
  }
  if (i < topic.n || number == 0)
    return cq_fail(error, CQ_ERR_ARGUMENT, "topic '%.*s' is not a number from 1 on, which groups of topics need",
                   (int)cq_min(topic.n, 200), topic.data);
  *group = (number - 1) / topics_per_group;
  return CQ_OK;
}

/* ---- runs ---- */

struct cq_comparisons {
  cq_arena memory;
  size_t n_runs, n_measures, n_judged, n_topics, n_groups, n_pairs;
  const char **measures; /* [n_measures + 1] */
  cq_slice *topics;      /* [n_judged] */
  double *values, *means;
  size_t *first, *second; /* [n_pairs] */
  cq_comparison *results;
};

static double *values_of(const cq_comparisons *c, size_t run, size_t measure) {
  return c->values + (run * (c->n_measures + 1) + measure) * c->n_judged;
}

static double *means_of_run(const cq_comparisons *c, size_t run, size_t measure) {
  return c->means + (run * c->n_measures + measure) * c->n_groups;
}

static cq_status keep_measures(cq_comparisons *c, const cq_compare_options *o, cq_error *error) {
  c->n_measures = o->n_measures ? o->n_measures : 1;
  c->measures = cq_arena_array(&c->memory, c->n_measures + 1, sizeof *c->measures);
  for (size_t m = 0; c->measures && m <= c->n_measures; m++) {
    c->measures[m] = cq_arena_strdup(&c->memory, m == c->n_measures ? "num_ret"
                                                 : o->n_measures    ? o->measures[m]
                                                                    : "map");
    if (!c->measures[m]) return cq_fail_memory(error, "measures");
  }
  return c->measures ? CQ_OK : cq_fail_memory(error, "measures");
}

/* The first run determines the number of topics and their names. */
static cq_status make_comparisons_room(cq_comparisons *c, const cq_retrieval_eval *first, cq_error *error) {
  c->n_judged = cq_retrieval_eval_n_topics(first);
  c->topics = cq_arena_array(&c->memory, c->n_judged, sizeof *c->topics);
  c->values = cq_arena_array(&c->memory, c->n_runs * c->n_judged, (c->n_measures + 1) * sizeof *c->values);
  for (size_t t = 0; c->topics && t < c->n_judged; t++) {
    const cq_slice topic = cq_retrieval_eval_topic(first, t);
    c->topics[t] = (cq_slice){cq_arena_strndup(&c->memory, topic.data, topic.n), topic.n};
    if (!c->topics[t].data) return cq_fail_memory(error, "topics");
  }
  return c->topics && c->values ? CQ_OK : cq_fail_memory(error, "topics");
}

static cq_status keep_run(cq_comparisons *c, size_t run, const char *judgements, const char *path, bool in_double,
                          cq_error *error) {
  cq_retrieval_eval_options options = cq_retrieval_eval_default_options();
  options.measures = c->measures, options.n_measures = c->n_measures + 1;
  options.complete = true, options.in_double = in_double;
  cq_retrieval_eval *r;
  cq_status status = cq_eval_retrieval(&r, judgements, path, &options, error);
  if (status) return status;
  if (cq_retrieval_eval_overall(r, c->n_measures) == 0)
    status = cq_fail(error, CQ_ERR_ARGUMENT, "%s and %s have no topic in common", judgements, path);
  if (!status && run == 0) status = make_comparisons_room(c, r, error);
  if (!status && cq_retrieval_eval_n_topics(r) != c->n_judged)
    status = cq_fail_file(error, CQ_ERR_IO, judgements, "its topics have changed since it was first read");
  for (size_t m = 0; !status && m <= c->n_measures; m++)
    for (size_t t = 0; t < c->n_judged; t++) values_of(c, run, m)[t] = cq_retrieval_eval_value(r, t, m);
  cq_retrieval_eval_free(r);
  return status;
}

/* ---- groups ---- */

typedef struct member {
  uint64_t group;
  size_t topic;
} member;

static int by_group(const void *a, const void *b) {
  const member *x = a, *y = b;
  return x->group != y->group ? (x->group > y->group) - (x->group < y->group)
                              : (x->topic > y->topic) - (x->topic < y->topic);
}

static bool any_run_has(const cq_comparisons *c, size_t topic) {
  for (size_t run = 0; run < c->n_runs; run++)
    if (values_of(c, run, c->n_measures)[topic] > 0) return true;
  return false;
}

/* means [n_groups] of values [n_judged]; members are sorted by group. */
static void average_values(double *means, const double *values, const member *members, size_t n) {
  for (size_t start = 0, end; start < n; start = end) {
    double sum = 0;
    for (end = start; end < n && members[end].group == members[start].group; end++) sum += values[members[end].topic];
    *means++ = sum / (double)(end - start);
  }
}

static cq_status group_topics(cq_comparisons *c, uint64_t topics_per_group, cq_error *error) {
  member *members = cq_arena_array(&c->memory, c->n_judged, sizeof *members);
  if (!members) return cq_fail_memory(error, "groups");
  for (size_t t = 0; t < c->n_judged; t++) {
    if (!any_run_has(c, t)) continue;
    member *of = &members[c->n_topics++];
    *of = (member){t, t};
    cq_status status = topics_per_group ? cq_topic_group(&of->group, c->topics[t], topics_per_group, error) : CQ_OK;
    if (status) return status;
  }
  qsort(members, c->n_topics, sizeof *members, by_group);
  for (size_t i = 0; i < c->n_topics; i++) c->n_groups += i == 0 || members[i].group != members[i - 1].group;
  c->means = cq_arena_array(&c->memory, c->n_runs * c->n_groups, c->n_measures * sizeof *c->means);
  if (!c->means) return cq_fail_memory(error, "groups");
  for (size_t run = 0; run < c->n_runs; run++)
    for (size_t m = 0; m < c->n_measures; m++)
      average_values(means_of_run(c, run, m), values_of(c, run, m), members, c->n_topics);
  return CQ_OK;
}

/* ---- pairs ---- */

static cq_comparison *result_of(const cq_comparisons *c, size_t pair, size_t measure) {
  return c->results + pair * c->n_measures + measure;
}

static cq_status correct_p_values(cq_comparisons *c, size_t measure, cq_test test, cq_error *error) {
  double *p = cq_alloc_array(c->n_pairs, sizeof *p);
  if (!p) return cq_fail_memory(error, "p-values");
  for (size_t pair = 0; pair < c->n_pairs; pair++) p[pair] = result_of(c, pair, measure)->p[test];
  const cq_status status = cq_holm(p, p, c->n_pairs, error);
  for (size_t pair = 0; !status && pair < c->n_pairs; pair++) result_of(c, pair, measure)->corrected[test] = p[pair];
  cq_free(p);
  return status;
}

static cq_status compare_pairs(cq_comparisons *c, const cq_compare_options *o, cq_error *error) {
  const size_t max_pairs = o->all_pairs ? c->n_runs * (c->n_runs - 1) / 2 : c->n_runs - 1;
  cq_status status = CQ_OK;
  c->first = cq_arena_array(&c->memory, max_pairs, sizeof *c->first);
  c->second = cq_arena_array(&c->memory, max_pairs, sizeof *c->second);
  c->results = cq_arena_array(&c->memory, max_pairs, c->n_measures * sizeof *c->results);
  if (!c->first || !c->second || !c->results) return cq_fail_memory(error, "comparisons");
  for (size_t a = 0; a < (o->all_pairs ? c->n_runs : 1); a++)
    for (size_t b = a + 1; !status && b < c->n_runs; b++) {
      const size_t pair = c->n_pairs++;
      c->first[pair] = a, c->second[pair] = b;
      for (size_t m = 0; !status && m < c->n_measures; m++)
        status = cq_compare_values(result_of(c, pair, m), means_of_run(c, a, m), means_of_run(c, b, m), c->n_groups, o,
                                   error);
    }
  for (size_t m = 0; m < c->n_measures; m++)
    for (int test = 0; !status && test < CQ_N_TESTS; test++) status = correct_p_values(c, m, (cq_test)test, error);
  return status;
}

cq_status cq_compare_runs(cq_comparisons **out, const char *judgements, const char *const *runs, size_t n_runs,
                          const cq_compare_options *options, cq_error *error) {
  cq_compare_options o;
  *out = NULL;
  cq_status status = cq_options_take(&o, &cq_group_compare, options, error);
  if (status) return status;
  if (n_runs < 2) return cq_fail(error, CQ_ERR_ARGUMENT, "compare: expected at least 2 runs, got %zu", n_runs);
  cq_comparisons *c = cq_alloc_zeroed(sizeof *c);
  if (!c) return cq_fail_memory(error, "comparisons");
  c->n_runs = n_runs;
  status = keep_measures(c, &o, error);
  for (size_t run = 0; !status && run < n_runs; run++)
    status = keep_run(c, run, judgements, runs[run], o.in_double, error);
  if (!status) status = group_topics(c, o.topics_per_group, error);
  if (!status) status = compare_pairs(c, &o, error);
  if (status)
    cq_comparisons_free(c);
  else
    *out = c;
  return status;
}

void cq_comparisons_free(cq_comparisons *c) {
  if (!c) return;
  cq_arena_free(&c->memory);
  cq_free(c);
}

size_t cq_comparisons_n_measures(const cq_comparisons *c) {
  return c->n_measures;
}

const char *cq_comparisons_measure(const cq_comparisons *c, size_t measure) {
  return c->measures[measure];
}

size_t cq_comparisons_n_topics(const cq_comparisons *c) {
  return c->n_topics;
}

size_t cq_comparisons_n_groups(const cq_comparisons *c) {
  return c->n_groups;
}

size_t cq_comparisons_n_pairs(const cq_comparisons *c) {
  return c->n_pairs;
}

size_t cq_comparisons_first(const cq_comparisons *c, size_t pair) {
  return c->first[pair];
}

size_t cq_comparisons_second(const cq_comparisons *c, size_t pair) {
  return c->second[pair];
}

const cq_comparison *cq_comparisons_result(const cq_comparisons *c, size_t pair, size_t measure) {
  return result_of(c, pair, measure);
}
