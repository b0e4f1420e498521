/* Compares two models on files.
 *
 *   file ──▶ rows ──▶ each model's value of each row ──cq_bootstrap──▶ samples of the difference ──▶ interval, p
 *                                                                         └── their sums over files ──▶ the mean's
 *
 * The values are 1 or 0 for a right or wrong match or hit, 1 / rank, or a cosine or a reranker's logit, whose figure is
 * the correlation with the gold scores. */
#include "calque/lab/compare_models.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "calque/embedding.h"
#include "eval/translation.h"
#include "lab/measures/bootstrap.h"
#include "recipe/evaluate/encoded_once.h"
#include "recipe/evaluate/evaluate.h"

#include <math.h>
#include <string.h>

static const char *const measures[] = {"translation", "sts", "search", NULL};

#define O cq_compare_models_options
static const cq_option option_rows[] = {
    {CQ_CHOICE(O, "measure", measure, CHANGES, CQ_MEASURE_TRANSLATION, measures, "MEASURE",
               "what to compare: translation accuracy, Spearman's correlation (STS), or hits and MRR of a search")},
    {CQ_COUNT(O, "samples", n_samples, CHANGES, 10000, 1, 10000000, "N", "samples of rows, drawn with replacement")},
    {CQ_COUNT(O, "seed", seed, CHANGES, 0, 0, 0, "N", "seed of the samples")},
};
#undef O

const cq_option_group cq_group_compare_models = {.name = "compare-models",
                                                 CQ_ROWS(cq_compare_models_options, option_rows)};

static const char *const figures[][CQ_MAX_FIGURES] = {
    [CQ_MEASURE_TRANSLATION] = {"source_to_target", "target_to_source", "mean"},
    [CQ_MEASURE_STS] = {"spearman"},
    [CQ_MEASURE_SEARCH] = {"hits_at_1", "hits_at_10", "mrr"},
};

enum { BASELINE, MODEL, N_MODELS };

struct cq_model_comparison {
  const cq_encoder *models[N_MODELS], *documents;
  const cq_reranker *rerankers[N_MODELS]; /* NULL: the encoder */
  cq_eval_memory *memory[N_MODELS];
  cq_eval_options eval;
  cq_compare_models_options o;
  size_t n_figures, n_files;
  cq_model_difference sums[CQ_MAX_FIGURES];
  double *samples, *sample_sums; /* [n_samples], [n_figures, n_samples] */
};

cq_status cq_model_comparison_new(cq_model_comparison **out, const cq_encoder *baseline, const cq_encoder *model,
                                  const cq_encoder *documents, const cq_eval_options *eval,
                                  const cq_compare_models_options *options, cq_error *error) {
  cq_model_comparison *c = cq_alloc_zeroed(sizeof *c);
  *out = NULL;
  if (!c) return cq_fail_memory(error, "a comparison");
  c->models[BASELINE] = baseline, c->models[MODEL] = model, c->documents = documents;
  cq_status status = cq_options_take(&c->o, &cq_group_compare_models, options, error);
  if (!status) status = cq_options_take(&c->eval, &cq_group_eval, eval, error);
  for (size_t m = 0; m < N_MODELS && !status; m++) status = cq_eval_memory_new(&c->memory[m], error);
  if (!status) {
    while (c->n_figures < CQ_MAX_FIGURES && figures[c->o.measure][c->n_figures]) c->n_figures++;
    c->samples = cq_alloc_array(c->o.n_samples, sizeof *c->samples);
    c->sample_sums = cq_alloc_array_zeroed(c->n_figures * c->o.n_samples, sizeof *c->sample_sums);
    if (!c->samples || !c->sample_sums) status = cq_fail_memory(error, "samples of rows");
  }
  if (status)
    cq_model_comparison_free(c);
  else
    *out = c;
  return status;
}

cq_status cq_model_comparison_rerankers(cq_model_comparison *c, const cq_reranker *baseline, const cq_reranker *model,
                                        cq_error *error) {
  if (c->o.measure != CQ_MEASURE_STS)
    return cq_fail(error, CQ_ERR_ARGUMENT, "rerankers have no vectors: compare them on scored pairs (measure sts)");
  c->rerankers[BASELINE] = baseline, c->rerankers[MODEL] = model;
  return CQ_OK;
}

void cq_model_comparison_free(cq_model_comparison *c) {
  if (!c) return;
  for (size_t m = 0; m < N_MODELS; m++) cq_eval_memory_free(c->memory[m]);
  cq_free(c->samples);
  cq_free(c->sample_sums);
  cq_free(c);
}

/* ---- the values of rows: [n_figures, n] ---- */

static cq_status match_values(double *values, const cq_rows *rows, float *const v[2], size_t dim, cq_context *ctx,
                              cq_error *error) {
  const size_t n = rows->n;
  size_t *best = cq_alloc_array(n, sizeof *best);
  cq_status status = best ? CQ_OK : cq_fail_memory(error, "matches");
  for (size_t from = 0; from < 2 && !status; from++) {
    status = cq_best_matches(best, v[from], n, v[1 - from], n, dim, ctx, error);
    for (size_t i = 0; i < n && !status; i++) values[from * n + i] = cq_is_right(best, rows->column[1 - from], n, i);
  }
  for (size_t i = 0; i < n && !status; i++) values[2 * n + i] = (values[i] + values[n + i]) / 2;
  cq_free(best);
  return status;
}

static cq_status encode_values(double *values, const cq_model_comparison *c, const cq_encoder *encoder,
                               const cq_rows *rows, const cq_eval_options *o, cq_context *ctx, cq_error *error) {
  const size_t dim = cq_eval_dim(encoder, o);
  float *v[2] = {NULL, NULL};
  cq_status status = cq_encode_first_column(&v[0], encoder, ctx, rows->column[0], rows->n, o, error);
  if (!status) status = cq_encode_column(&v[1], encoder, ctx, rows->column[1], rows->n, o, error);
  if (!status && c->o.measure == CQ_MEASURE_TRANSLATION) status = match_values(values, rows, v, dim, ctx, error);
  for (size_t i = 0; i < rows->n && !status && c->o.measure == CQ_MEASURE_STS; i++)
    values[i] = cq_cosine(v[0] + i * dim, v[1] + i * dim, dim);
  cq_free(v[0]), cq_free(v[1]);
  return status;
}

static cq_status rank_values(double *values, const cq_model_comparison *c, const cq_encoder *encoder,
                             const cq_rows *rows, const cq_eval_options *o, cq_context *ctx, cq_error *error) {
  const size_t n = rows->n;
  size_t *ranks = cq_alloc_array(n, sizeof *ranks);
  if (!ranks) return cq_fail_memory(error, "ranks");
  cq_status status = cq_rows_ranks(ranks, rows, c->documents ? c->documents : encoder, encoder, o, ctx, error);
  for (size_t i = 0; i < n && !status; i++)
    values[i] = ranks[i] == 1, values[n + i] = ranks[i] <= 10, values[2 * n + i] = 1 / (double)ranks[i];
  cq_free(ranks);
  return status;
}

/* ---- figures ---- */

static cq_status figure_of(double *out, const double *values, const cq_rows *rows, cq_error *error) {
  if (rows->gold) return cq_spearman(out, values, rows->gold, rows->n, error);
  *out = 0;
  for (size_t i = 0; i < rows->n; i++) *out += values[i];
  *out /= (double)rows->n;
  return CQ_OK;
}

/* What the samples say about a difference, if it is defined. Sorts the samples. */
static void add_interval(cq_model_difference *d, double *samples, size_t n) {
  d->difference = cq_without_rounding(d->model - d->baseline);
  d->low = d->high = d->p = NAN;
  if (!isnan(d->difference)) cq_bootstrap_interval(&d->low, &d->high, &d->p, samples, n);
}

static cq_status compare_figure(cq_model_difference *out, cq_model_comparison *c, size_t figure, const double *a,
                                const double *b, const cq_rows *rows, cq_context *ctx, cq_error *error) {
  const size_t n_samples = c->o.n_samples;
  const cq_paired_values values = {a, b, rows->gold, rows->n};
  double *sums = c->sample_sums + figure * n_samples;
  *out = (cq_model_difference){.figure = figures[c->o.measure][figure], .n = rows->n, .n_skipped = rows->n_skipped};
  cq_status status = figure_of(&out->baseline, a, rows, error);
  if (!status) status = figure_of(&out->model, b, rows, error);
  if (!status) status = cq_bootstrap(c->samples, &values, n_samples, c->o.seed, ctx, error);
  if (status) return status;
  for (size_t i = 0; i < n_samples; i++) sums[i] += c->samples[i];
  add_interval(out, c->samples, n_samples);
  cq_model_difference *sum = &c->sums[figure];
  sum->baseline += out->baseline, sum->model += out->model;
  sum->n += out->n, sum->n_skipped += out->n_skipped;
  return CQ_OK;
}

cq_status cq_model_comparison_file(cq_model_difference out[CQ_MAX_FIGURES], size_t *n, cq_model_comparison *c,
                                   const char *file, cq_context *ctx, cq_error *error) {
  cq_rows rows = {0};
  double *values = NULL;
  cq_status status = cq_rows_read(&rows, file, c->o.measure == CQ_MEASURE_STS ? 3 : 2, &c->eval, error);
  const size_t size = c->n_figures * rows.n;
  if (!status && !(values = cq_alloc_array(N_MODELS * size, sizeof *values)))
    status = cq_fail_memory(error, "the values of rows");
  for (size_t m = 0; m < N_MODELS && !status; m++) {
    cq_eval_options o = c->eval;
    o.memory = c->memory[m];
    status = c->rerankers[m] ? cq_rows_logits(values + m * size, &rows, c->rerankers[m], &o, ctx, error)
                             : (c->o.measure == CQ_MEASURE_SEARCH ? rank_values : encode_values)(
                                   values + m * size, c, c->models[m], &rows, &o, ctx, error);
  }
  for (size_t f = 0; f < c->n_figures && !status; f++)
    status = compare_figure(&out[f], c, f, values + f * rows.n, values + size + f * rows.n, &rows, ctx, error);
  if (!status) c->n_files++, *n = c->n_figures;
  cq_free(values);
  cq_rows_free(&rows);
  return status;
}

cq_status cq_model_comparison_mean(cq_model_difference out[CQ_MAX_FIGURES], size_t *n, cq_model_comparison *c,
                                   cq_error *error) {
  if (c->n_files == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "no file has been compared yet");
  const double n_files = (double)c->n_files;
  for (size_t f = 0; f < c->n_figures; f++) {
    out[f] = c->sums[f];
    out[f].figure = figures[c->o.measure][f];
    out[f].baseline /= n_files, out[f].model /= n_files;
    for (size_t i = 0; i < c->o.n_samples; i++) c->samples[i] = c->sample_sums[f * c->o.n_samples + i] / n_files;
    add_interval(&out[f], c->samples, c->o.n_samples);
  }
  *n = c->n_figures;
  return CQ_OK;
}
