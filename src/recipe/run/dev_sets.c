/* Reads held-out files once and evaluates them repeatedly: translation accuracy and MSE of pairs, Spearman's
 * correlation of scored pairs. */
#include "recipe/run/dev_sets.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "calque/embedding.h"
#include "format/json.h"
#include "model/encoder.h"
#include "train/parallel.h"

#include <math.h>
#include <string.h>

/* ---- the sets ---- */

/* Without a difference there is no correlation. */
static cq_status check_scores(const cq_rows *rows, const char *path, cq_error *error) {
  for (size_t i = 1; i < rows->n; i++)
    if (rows->gold[i] != rows->gold[0]) return CQ_OK;
  return cq_fail_file(error, CQ_ERR_ARGUMENT, path, "all scores are equal: nothing correlates with them");
}

static cq_status read_dev_set(cq_dev_set *out, const cq_training_data *data, int n_columns, bool skip_bad,
                              cq_error *error) {
  char label[512];
  cq_eval_options options = cq_eval_default_options();
  options.skip_bad = skip_bad;
  cq_status status = cq_rows_read(&out->rows, data->path, n_columns, &options, error);
  if (!status && n_columns == 3) status = check_scores(&out->rows, data->path, error);
  if (!status && !data->label) status = cq_parallel_label(label, sizeof label, data->path, error);
  if (status) return status;
  out->label = cq_arena_strdup(&out->rows.text, data->label ? data->label : label);
  return out->label ? CQ_OK : cq_fail_memory(error, data->path);
}

cq_status cq_dev_sets_read(cq_dev_sets *out, const cq_training_options *o, cq_error *error) {
  *out = (cq_dev_sets){.n_parallel = o->n_dev, .n_sts = o->n_sts};
  out->parallel = cq_alloc_array_zeroed(o->n_dev, sizeof *out->parallel);
  out->sts = cq_alloc_array_zeroed(o->n_sts, sizeof *out->sts);
  cq_status status = out->parallel && out->sts ? CQ_OK : cq_fail_memory(error, "evaluation sets");
  for (size_t i = 0; !status && i < o->n_dev; i++)
    status = read_dev_set(&out->parallel[i], &o->dev[i], 2, o->skip_bad, error);
  for (size_t i = 0; !status && i < o->n_sts; i++)
    status = read_dev_set(&out->sts[i], &o->sts[i], 3, o->skip_bad, error);
  if (status) cq_dev_sets_free(out);
  return status;
}

void cq_dev_sets_free(cq_dev_sets *sets) {
  for (size_t i = 0; sets->parallel && i < sets->n_parallel; i++) cq_rows_free(&sets->parallel[i].rows);
  for (size_t i = 0; sets->sts && i < sets->n_sts; i++) cq_rows_free(&sets->sts[i].rows);
  cq_free(sets->parallel);
  cq_free(sets->sts);
  *sets = (cq_dev_sets){0};
}

/* ---- figures ---- */

/* The teacher's vectors of a column, truncated to the student's dimension. */
static float *teacher_matrix(const cq_cached_encoder *teacher, const cq_slice *texts, size_t n, size_t dim) {
  float *matrix = cq_alloc_array(n, dim * sizeof *matrix);
  for (size_t i = 0; matrix && i < n; i++)
    memcpy(matrix + i * dim, cq_cached_encoder_vector(teacher, texts[i]), dim * sizeof *matrix);
  return matrix;
}

/* Spearman's correlation of a reranker's logits with others. */
static cq_status logits_spearman(double *out, const float *logits, const float *others, size_t n, cq_error *error) {
  double *x = cq_alloc_array(n, 2 * sizeof *x);
  if (!x) return cq_fail_memory(error, "logits");
  for (size_t i = 0; i < n; i++) x[i] = (double)logits[i], x[n + i] = (double)others[i];
  const cq_status status = cq_spearman(out, x, x + n, n, error);
  cq_free(x);
  return status;
}

/* A reranker has no translations to find: what counts is that it orders pairs as the teacher does. */
static cq_status compare_logits(cq_translation_result *out, const float *wanted, const float *source,
                                const float *target, size_t n, cq_error *error) {
  if (!wanted)
    return cq_fail(error, CQ_ERR_ARGUMENT, "without a teacher, a reranker is measured by scored pairs (sts), not dev");
  *out = (cq_translation_result){.n = n};
  cq_status status = logits_spearman(&out->source_to_target, target, wanted, n, error);
  if (!status) status = logits_spearman(&out->target_to_source, source, wanted, n, error);
  out->mean = out->source_to_target;
  return status;
}

static cq_status evaluate_parallel(cq_mse_result *mse, cq_translation_result *translation, double *student_variance,
                                   const cq_dev_set *set, const cq_encoder *encoder, const cq_cached_encoder *teacher,
                                   cq_context *ctx, cq_error *error) {
  const cq_rows *rows = &set->rows;
  const size_t dim = (size_t)cq_encoder_dim(encoder);
  float *source = NULL, *target = NULL;
  float *wanted = teacher ? teacher_matrix(teacher, rows->column[0], rows->n, dim) : NULL;
  cq_status status = wanted || !teacher ? CQ_OK : cq_fail_memory(error, "the teacher's vectors");
  if (!status) status = cq_encode_column(&source, encoder, ctx, rows->column[0], rows->n, NULL, error);
  if (!status) status = cq_encode_column(&target, encoder, ctx, rows->column[1], rows->n, NULL, error);
  if (!status)
    status = encoder->of_pairs ? compare_logits(translation, wanted, source, target, rows->n, error)
                               : cq_rows_translation(translation, rows, source, target, dim, ctx, error);
  *mse = (cq_mse_result){.target = NAN, .source = NAN, .teacher_variance = NAN, .teacher_norm = NAN};
  if (!status) status = cq_vector_spread(student_variance, NULL, target, rows->n, dim, error);
  if (!status && wanted)
    status = cq_vector_spread(&mse->teacher_variance, &mse->teacher_norm, wanted, rows->n, dim, error);
  if (!status && wanted) {
    mse->target = cq_mse_100(wanted, target, rows->n, dim);
    mse->source = cq_mse_100(wanted, source, rows->n, dim);
    mse->n = rows->n;
  }
  cq_free(source);
  cq_free(target);
  cq_free(wanted);
  return status;
}

/* A reranker reads both texts together. */
static cq_status evaluate_scored_pairs(cq_sts_result *out, const cq_rows *rows, const cq_encoder *encoder,
                                       cq_context *ctx, cq_error *error) {
  float *logits = cq_alloc_array(rows->n, sizeof *logits);
  double *x = cq_alloc_array(rows->n, sizeof *x);
  cq_status status = logits && x ? CQ_OK : cq_fail_memory(error, "logits");
  if (!status)
    status = cq_encoder_encode_pairs(logits, NULL, encoder, rows->column[0], 1, rows->column[1], rows->n, ctx, error);
  for (size_t i = 0; !status && i < rows->n; i++) x[i] = (double)logits[i];
  *out = (cq_sts_result){.n = rows->n};
  if (!status) status = cq_spearman(&out->spearman, x, rows->gold, rows->n, error);
  if (!status) out->pearson = cq_pearson(x, rows->gold, rows->n);
  cq_free(logits);
  cq_free(x);
  return status;
}

static cq_status evaluate_sts(cq_sts_result *out, const cq_dev_set *set, const cq_encoder *encoder, cq_context *ctx,
                              cq_error *error) {
  const cq_rows *rows = &set->rows;
  float *first = NULL, *second = NULL;
  if (encoder->of_pairs) return evaluate_scored_pairs(out, rows, encoder, ctx, error);
  cq_status status = cq_encode_column(&first, encoder, ctx, rows->column[0], rows->n, NULL, error);
  if (!status) status = cq_encode_column(&second, encoder, ctx, rows->column[1], rows->n, NULL, error);
  if (!status) status = cq_rows_sts(out, rows, first, second, (size_t)cq_encoder_dim(encoder), error);
  cq_free(first);
  cq_free(second);
  return status;
}

cq_status cq_dev_evaluate(cq_dev_figures *out, const cq_dev_sets *sets, const cq_encoder *encoder,
                          const cq_cached_encoder *teacher, cq_context *ctx, cq_error *error) {
  const double n_parallel = (double)sets->n_parallel, n_sts = (double)sets->n_sts;
  double mse = 0, translation = 0, sts = 0, student_variance = 0, teacher_variance = 0;
  *out = (cq_dev_figures){.has_mse = teacher != NULL, .of_pairs = encoder->of_pairs};
  out->mse = cq_alloc_array_zeroed(sets->n_parallel, sizeof *out->mse);
  out->translation = cq_alloc_array_zeroed(sets->n_parallel, sizeof *out->translation);
  out->sts = cq_alloc_array_zeroed(sets->n_sts, sizeof *out->sts);
  cq_status status = out->mse && out->translation && out->sts ? CQ_OK : cq_fail_memory(error, "figures");
  for (size_t i = 0; !status && i < sets->n_parallel; i++) {
    double variance = 0;
    status = evaluate_parallel(&out->mse[i], &out->translation[i], &variance, &sets->parallel[i], encoder, teacher, ctx,
                               error);
    mse += out->mse[i].target;
    translation += out->translation[i].mean;
    student_variance += variance;
    if (!out->collapsed && variance < 0.05 * out->mse[i].teacher_variance) out->collapsed = sets->parallel[i].label;
    teacher_variance += out->mse[i].teacher_variance;
  }
  for (size_t i = 0; !status && i < sets->n_sts; i++) {
    status = evaluate_sts(&out->sts[i], &sets->sts[i], encoder, ctx, error);
    sts += out->sts[i].spearman;
  }
  /* NaN without sets: no mean. */
  out->mean_mse = mse / n_parallel;
  out->mean_translation = translation / n_parallel;
  out->student_variance = student_variance / n_parallel;
  out->teacher_variance = teacher_variance / n_parallel;
  out->mean_sts = sts / n_sts;
  if (status) cq_dev_figures_free(out);
  return status;
}

void cq_dev_figures_free(cq_dev_figures *figures) {
  cq_free(figures->mse);
  cq_free(figures->translation);
  cq_free(figures->sts);
  *figures = (cq_dev_figures){0};
}

/* ---- showing them ---- */

static void dev_cell(cq_builder *out, bool markdown, const char *format, double before, double now, bool has_before) {
  char text[64];
  int n = 0;
  if (has_before) {
    n = cq_snprintf(text, sizeof text, format, before);
    n += snprintf(text + n, sizeof text - (size_t)n, " -> ");
  }
  cq_snprintf(text + n, sizeof text - (size_t)n, format, now);
  if (markdown)
    cq_builder_printf(out, " %s |", text);
  else
    cq_builder_printf(out, "  %11s", text);
}

static void dev_heading(cq_builder *out, bool markdown, const char *const *names, size_t n) {
  cq_builder_printf(out, markdown ? "| %s |" : "%-28s", names[0]);
  for (size_t i = 1; i < n; i++) {
    if (markdown)
      cq_builder_printf(out, " %s |", names[i]);
    else
      cq_builder_printf(out, "  %11s", names[i]);
  }
  cq_builder_char(out, '\n');
  if (!markdown) return;
  cq_builder_text(out, "|---|");
  for (size_t i = 1; i < n; i++) cq_builder_text(out, "---:|");
  cq_builder_char(out, '\n');
}

void cq_dev_table(cq_builder *out, const cq_dev_sets *sets, const cq_dev_figures *before, const cq_dev_figures *figures,
                  bool markdown) {
  static const char *const parallel_names[] = {"parallel text", "src>trg %", "trg>src %",  "chance %",
                                               "MSE trg",       "MSE src",   "teacher var"};
  static const char *const pair_names[] = {"pairs",   "Spearman trg", "Spearman src", "chance",
                                           "MSE trg", "MSE src",      "teacher var"};
  static const char *const sts_names[] = {"similarity", "Spearman", "Pearson"};
  const bool two = before != NULL;
  if (sets->n_parallel)
    dev_heading(out, markdown, figures->of_pairs ? pair_names : parallel_names, figures->has_mse ? 7 : 4);
  for (size_t i = 0; i < sets->n_parallel; i++) {
    const cq_translation_result *t = &figures->translation[i], *tb = two ? &before->translation[i] : t;
    const cq_mse_result *m = &figures->mse[i], *mb = two ? &before->mse[i] : m;
    cq_builder_printf(out, markdown ? "| %s |" : "%-28s", sets->parallel[i].label);
    dev_cell(out, markdown, "%.1f", 100 * tb->source_to_target, 100 * t->source_to_target, two);
    dev_cell(out, markdown, "%.1f", 100 * tb->target_to_source, 100 * t->target_to_source, two);
    dev_cell(out, markdown, "%.1f", 0, figures->of_pairs ? 0 : 100.0 / (double)t->n, false);
    if (figures->has_mse) {
      dev_cell(out, markdown, "%.4f", mb->target, m->target, two);
      dev_cell(out, markdown, "%.4f", mb->source, m->source, two);
      dev_cell(out, markdown, "%.4f", 0, m->teacher_variance, false);
    }
    cq_builder_char(out, '\n');
  }
  if (sets->n_parallel > 1) {
    cq_builder_printf(out, markdown ? "| %s |" : "%-28s", "mean");
    const double now = 100 * figures->mean_translation, then = two ? 100 * before->mean_translation : 0;
    dev_cell(out, markdown, "%.1f", then, now, two);
    if (markdown) cq_builder_text(out, figures->has_mse ? " | | | | |" : " | |");
    cq_builder_char(out, '\n');
  }
  if (sets->n_sts && sets->n_parallel) cq_builder_char(out, '\n');
  if (sets->n_sts) dev_heading(out, markdown, sts_names, 3);
  for (size_t i = 0; i < sets->n_sts; i++) {
    const cq_sts_result *s = &figures->sts[i], *sb = two ? &before->sts[i] : s;
    cq_builder_printf(out, markdown ? "| %s |" : "%-28s", sets->sts[i].label);
    dev_cell(out, markdown, "%.2f", 100 * sb->spearman, 100 * s->spearman, two);
    dev_cell(out, markdown, "%.2f", 100 * sb->pearson, 100 * s->pearson, two);
    cq_builder_char(out, '\n');
  }
}

void cq_dev_change(cq_builder *out, const cq_dev_sets *sets, const cq_dev_figures *before, const cq_dev_figures *now) {
  for (size_t i = 0; i < sets->n_parallel; i++) {
    const cq_translation_result *b = &before->translation[i], *n = &now->translation[i];
    cq_builder_printf(out,
                      now->of_pairs ? "%-28s  Spearman trg %5.1f -> %5.1f  src %5.1f -> %5.1f"
                                    : "%-28s  src>trg %5.1f -> %5.1f %%  trg>src %5.1f -> %5.1f %%",
                      sets->parallel[i].label, 100 * b->source_to_target, 100 * n->source_to_target,
                      100 * b->target_to_source, 100 * n->target_to_source);
    if (now->has_mse) cq_builder_printf(out, "  MSE trg %.4f -> %.4f", before->mse[i].target, now->mse[i].target);
    cq_builder_char(out, '\n');
  }
  if (sets->n_parallel > 1)
    cq_builder_printf(out, "%-28s  %13.1f -> %5.1f%s\n", "mean", 100 * before->mean_translation,
                      100 * now->mean_translation, now->of_pairs ? "" : " %");
  for (size_t i = 0; i < sets->n_sts; i++)
    cq_builder_printf(out, "%-28s  Spearman %.2f -> %.2f\n", sets->sts[i].label, 100 * before->sts[i].spearman,
                      100 * now->sts[i].spearman);
}

static bool put_risen(cq_builder *out, const char *label, const char *what, double before, double now, bool is_first) {
  if (!(now > 1.01 * before)) return false;
  if (is_first) cq_builder_text(out, "The MSE to the teacher's vectors has risen: ");
  cq_builder_printf(out, "%s%s, %s %.4f -> %.4f", is_first ? "" : "; ", label, what, before, now);
  return true;
}

void cq_dev_risen(cq_builder *out, const cq_dev_sets *sets, const cq_dev_figures *before, const cq_dev_figures *now) {
  bool any = false;
  for (size_t i = 0; now->has_mse && i < sets->n_parallel; i++) {
    const cq_mse_result *b = &before->mse[i], *n = &now->mse[i];
    any |= put_risen(out, sets->parallel[i].label, "translations", b->target, n->target, !any);
    any |= put_risen(out, sets->parallel[i].label, "sources", b->source, n->source, !any);
  }
  if (any) cq_builder_text(out, "\n");
}

/* NaN has no place in JSON. */
static json_t *json_number(double x) {
  return isfinite(x) ? json_real(x) : json_null();
}

json_t *cq_dev_json(const cq_dev_sets *sets, const cq_dev_figures *figures) {
  json_t *parallel = json_array(), *sts = json_array();
  for (size_t i = 0; i < sets->n_parallel; i++) {
    const cq_translation_result *t = &figures->translation[i];
    const cq_mse_result *m = &figures->mse[i];
    cq_json_push(&parallel,
                 json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "label", sets->parallel[i].label,
                           "source_to_target", json_number(t->source_to_target), "target_to_source",
                           json_number(t->target_to_source), "mse_target", json_number(m->target), "mse_source",
                           json_number(m->source), "teacher_variance", json_number(m->teacher_variance), "teacher_norm",
                           json_number(m->teacher_norm), "n", (json_int_t)t->n));
  }
  for (size_t i = 0; i < sets->n_sts; i++)
    cq_json_push(&sts, json_pack("{s:s, s:o, s:o, s:I}", "label", sets->sts[i].label, "spearman",
                                 json_number(figures->sts[i].spearman), "pearson", json_number(figures->sts[i].pearson),
                                 "n", (json_int_t)figures->sts[i].n));
  return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o*}", "parallel", parallel, "sts", sts, "mean_translation",
                   json_number(figures->mean_translation), "mean_mse", json_number(figures->mean_mse), "mean_sts",
                   json_number(figures->mean_sts), "student_variance", json_number(figures->student_variance),
                   "teacher_variance", json_number(figures->teacher_variance), "reranker",
                   figures->of_pairs ? json_true() : NULL);
}
