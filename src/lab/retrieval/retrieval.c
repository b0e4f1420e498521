/* Evaluates a run: judgments and run -> topics -> rankings (ranking.h) -> a table of figures. */
#include "calque/lab/retrieval.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/slice.h"
#include "lab/retrieval/ranking.h"
#include "lab/retrieval/trec.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A measure's name, its function, and whether figures are summed or averaged over topics. */
typedef struct kind {
  const char *name; /* with a cutoff: the part before it */
  double (*value)(const cq_ranking *r);
  double (*at)(const cq_ranking *r, size_t cutoff);
  bool is_count;
} kind;

static double n_retrieved(const cq_ranking *r) {
  return (double)r->n;
}
static double n_relevant(const cq_ranking *r) {
  return (double)cq_ranking_n_relevant(r);
}
static double n_relevant_retrieved(const cq_ranking *r) {
  return (double)cq_ranking_n_retrieved(r, SIZE_MAX);
}
static double ranking_ndcg(const cq_ranking *r) {
  return cq_ranking_ndcg(r, 0);
}

static const kind kinds[] = {
    {"num_ret", n_retrieved, NULL, true},
    {"num_rel", n_relevant, NULL, true},
    {"num_rel_ret", n_relevant_retrieved, NULL, true},
    {"map", cq_ranking_average_precision, NULL, false},
    {"Rprec", cq_ranking_r_precision, NULL, false},
    {"bpref", cq_ranking_bpref, NULL, false},
    {"recip_rank", cq_ranking_reciprocal_rank, NULL, false},
    {"ndcg", ranking_ndcg, NULL, false},
    {"P_", NULL, cq_ranking_precision, false},
    {"recall_", NULL, cq_ranking_recall, false},
    {"ndcg_cut_", NULL, cq_ranking_ndcg, false},
};

static const char *const usual[] = {"num_ret",    "num_rel",     "num_rel_ret", "map",        "Rprec",
                                    "bpref",      "recip_rank",  "P_5",         "P_10",       "P_20",
                                    "recall_100", "recall_1000", "ndcg",        "ndcg_cut_10"};

typedef struct measure {
  const kind *kind;
  size_t cutoff;
  char name[32];
} measure;

struct cq_retrieval_eval {
  cq_judgements judgements;
  cq_run run;
  measure *measures;
  size_t n_measures, n_topics;
  cq_slice *topics;            /* [n_topics] */
  double *values;              /* [n_topics, n_measures] */
  size_t n_left_out, n_judged; /* topics that the run lacks; documents of the run with a judgment */
  char notice[160];
};

static cq_status fail_measure(const char *name, cq_error *error) {
  return cq_fail(error, CQ_ERR_ARGUMENT,
                 "there is no measure '%s' (map, recip_rank, bpref ...; with a cutoff: P_10, recall_10, ndcg_cut_10)",
                 name);
}

static cq_status measure_named(measure *out, const char *name, cq_error *error) {
  if (snprintf(out->name, sizeof out->name, "%s", name) >= (int)sizeof out->name) return fail_measure(name, error);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const size_t n = strlen(kinds[i].name);
    out->kind = &kinds[i];
    if (kinds[i].value && !strcmp(kinds[i].name, name)) return CQ_OK;
    const char *digits = name + n;
    if (!kinds[i].at || strncmp(kinds[i].name, name, n) != 0 || strspn(digits, "0123456789") != strlen(digits))
      continue;
    out->cutoff = strtoul(digits, NULL, 10);
    if (out->cutoff >= 1 && strlen(digits) <= 9) return CQ_OK;
  }
  return fail_measure(name, error);
}

static cq_status choose_measures(cq_retrieval_eval *r, const cq_retrieval_eval_options *o, cq_error *error) {
  const char *const *names = o->n_measures ? o->measures : usual;
  cq_status status = CQ_OK;
  r->n_measures = o->n_measures ? o->n_measures : sizeof usual / sizeof *usual;
  r->measures = cq_alloc_array_zeroed(r->n_measures, sizeof *r->measures);
  if (!r->measures) return cq_fail_memory(error, "measures");
  for (size_t i = 0; !status && i < r->n_measures; i++) status = measure_named(&r->measures[i], names[i], error);
  return status;
}

/* One topic: judgments [first, first + n) and the run's documents [from, from + n_ranked). */
static cq_status evaluate_topic(cq_retrieval_eval *r, size_t first, size_t n, size_t from, size_t n_ranked,
                                cq_error *error) {
  int32_t *relevance = cq_alloc_array(n_ranked, sizeof *relevance), *judged = cq_alloc_array(n, sizeof *judged);
  cq_status status = relevance && judged ? CQ_OK : cq_fail_memory(error, "a ranking");
  for (size_t i = 0; !status && i < n_ranked; i++) {
    relevance[i] = cq_judgement_find(&r->judgements, first, n, r->run.items[from + i].document);
    r->n_judged += relevance[i] != CQ_NOT_JUDGED;
  }
  if (!status) {
    const cq_ranking ranking = {relevance, n_ranked, judged,
                                cq_judgements_relevances(judged, &r->judgements, first, n)};
    double *values = r->values + r->n_topics * r->n_measures;
    for (size_t m = 0; m < r->n_measures; m++) {
      const measure *of = &r->measures[m];
      values[m] = of->kind->value ? of->kind->value(&ranking) : of->kind->at(&ranking, of->cutoff);
    }
    r->topics[r->n_topics++] = r->judgements.items[first].topic;
  }
  cq_free(relevance);
  cq_free(judged);
  return status;
}

/* Both files are sorted by topic: one walk. */
static cq_status evaluate_topics(cq_retrieval_eval *r, bool complete, cq_error *error) {
  const cq_judgements *j = &r->judgements;
  const cq_run *run = &r->run;
  cq_status status = CQ_OK;
  for (size_t first = 0, end, from = 0; !status && first < j->n; first = end) {
    const cq_slice topic = j->items[first].topic;
    for (end = first + 1; end < j->n && cq_slice_compare(j->items[end].topic, topic) == 0;) end++;
    while (from < run->n && cq_slice_compare(run->items[from].topic, topic) < 0) from++;
    size_t to = from;
    while (to < run->n && cq_slice_compare(run->items[to].topic, topic) == 0) to++;
    r->n_left_out += to == from && !complete;
    if (to > from || complete) status = evaluate_topic(r, first, end - first, from, to - from, error);
    from = to;
  }
  return status;
}

#define O cq_retrieval_eval_options
static const cq_option option_rows[] = {
    {CQ_TEXTS(O, "measure", measures, n_measures, CHANGES, "NAME",
              "map, Rprec, bpref, recip_rank, ndcg, num_ret, num_rel, num_rel_ret, or with a cutoff P_10, recall_100, "
              "ndcg_cut_10; else the usual ones")},
    {CQ_FLAG(O, "complete", complete, CHANGES,
             "count topics without documents in the run as 0; by default they are left out"),
     .letter = 'c'},
    {CQ_FLAG(O, "double", in_double, CHANGES,
             "compare scores in double precision, as trec_eval 10 does; else in f32, as 9 does")},
};
#undef O

const cq_option_group cq_group_retrieval_eval = {.name = "retrieval-eval",
                                                 CQ_ROWS(cq_retrieval_eval_options, option_rows)};

cq_status cq_eval_retrieval(cq_retrieval_eval **out, const char *judgements, const char *run,
                            const cq_retrieval_eval_options *options, cq_error *error) {
  cq_retrieval_eval_options o;
  *out = NULL;
  cq_status status = cq_options_take(&o, &cq_group_retrieval_eval, options, error);
  if (status) return status;
  cq_retrieval_eval *r = cq_alloc_zeroed(sizeof *r);
  if (!r) return cq_fail_memory(error, "an evaluation");
  status = choose_measures(r, &o, error);
  if (!status) status = cq_judgements_read(&r->judgements, judgements, error);
  if (!status) status = cq_run_read(&r->run, run, !o.in_double, error);
  if (!status) {
    r->topics = cq_alloc_array(r->judgements.n, sizeof *r->topics);
    r->values = cq_alloc_array(r->judgements.n, r->n_measures * sizeof *r->values);
    if (!r->topics || !r->values) status = cq_fail_memory(error, "an evaluation");
  }
  if (!status) status = evaluate_topics(r, o.complete, error);
  if (!status && r->n_topics == 0)
    status = cq_fail(error, CQ_ERR_ARGUMENT, "%s and %s have no topic in common", judgements, run);
  if (r->n_judged == 0)
    snprintf(r->notice, sizeof r->notice, "no document of the run is judged: do both files have the same ids?");
  else if (r->n_left_out)
    snprintf(r->notice, sizeof r->notice,
             "left out: %zu of %zu judged topics, which the run lacks (--complete counts 0)", r->n_left_out,
             r->n_left_out + r->n_topics);
  if (status)
    cq_retrieval_eval_free(r);
  else
    *out = r;
  return status;
}

const char *cq_retrieval_eval_notice(const cq_retrieval_eval *r) {
  return *r->notice ? r->notice : NULL;
}

void cq_retrieval_eval_free(cq_retrieval_eval *r) {
  if (!r) return;
  cq_judgements_free(&r->judgements);
  cq_run_free(&r->run);
  cq_free(r->measures);
  cq_free(r->topics);
  cq_free(r->values);
  cq_free(r);
}

size_t cq_retrieval_eval_n_measures(const cq_retrieval_eval *r) {
  return r->n_measures;
}

const char *cq_retrieval_eval_measure(const cq_retrieval_eval *r, size_t m) {
  return r->measures[m].name;
}

bool cq_retrieval_eval_is_count(const cq_retrieval_eval *r, size_t m) {
  return r->measures[m].kind->is_count;
}

size_t cq_retrieval_eval_n_topics(const cq_retrieval_eval *r) {
  return r->n_topics;
}

cq_slice cq_retrieval_eval_topic(const cq_retrieval_eval *r, size_t topic) {
  return r->topics[topic];
}

double cq_retrieval_eval_value(const cq_retrieval_eval *r, size_t topic, size_t m) {
  return r->values[topic * r->n_measures + m];
}

double cq_retrieval_eval_overall(const cq_retrieval_eval *r, size_t m) {
  double sum = 0;
  for (size_t t = 0; t < r->n_topics; t++) sum += cq_retrieval_eval_value(r, t, m);
  return r->measures[m].kind->is_count ? sum : sum / (double)r->n_topics;
}
