/* Evaluates a model on a file by three measures.
 *
 *   file -> rows (text in memory) -> vectors, column by column -> the measure (src/eval/)
 *
 * mse           teacher(source) against student(target), and against student(source)
 * translation   nearest neighbors between the two columns
 * sts           the correlation between cosine(first, second) and the gold scores
 *
 * Sources: Reimers & Gurevych 2020, section 3; repeated sentences are counted as in sentence-transformers. */
#include "recipe/evaluate/evaluate.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/slice.h"
#include "calque/embedding.h"
#include "calque/lines.h"
#include "eval/translation.h"
#include "model/encoder.h"
#include "recipe/evaluate/encoded_once.h"
#include "text/typed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define O cq_eval_options
static const cq_option option_rows[] = {
    {CQ_SIZE(O, "max-rows", max_rows, CHANGES, 0, 0, 0, "N", "use the first N rows of each file"), .otherwise = "all"},
    CQ_PROMPT_ROW(O),
    CQ_SKIP_BAD_ROW(O, CHANGES),
    {CQ_INT(O, "truncate-dim", truncate_dim, CHANGES, 0, 0, 0, "N", "measure the first N dimensions of the vectors"),
     .otherwise = "the model's"},
};
#undef O

const cq_option_group cq_group_eval = {
    .name = "eval", CQ_ROWS(cq_eval_options, option_rows), CQ_FIELDS(CQ_CALLBACK(cq_eval_options, notice))};

/* --- rows --- */

/* Splits a line and checks it. */
static cq_status parse_row(cq_slice columns[3], double *gold, cq_slice line, int n_columns, const cq_lines *lines,
                           cq_error *error) {
  const char *path = cq_lines_path(lines);
  uint64_t number = cq_lines_number(lines);
  size_t n = cq_tsv_split(columns, 3, line);
  if (n < (size_t)n_columns)
    return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "%zu column%s, expected %s", n, n == 1 ? "" : "s",
                        n_columns == 2 ? "source TAB target" : "sentence TAB sentence TAB gold");
  for (int c = 0; c < 2; c++)
    if (columns[c].n == 0)
      return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "column %d is empty, expected a sentence", c + 1);
  if (n_columns == 3 && !cq_slice_number(gold, columns[2]))
    return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "column 3 is '%.*s', expected a number",
                        (int)(columns[2].n < 40 ? columns[2].n : 40), columns[2].data);
  return CQ_OK;
}

static cq_status find_typing(cq_typing *out, const char *name, cq_error *error) {
  size_t i = 0;
  while (cq_typing_names[i] && strcmp(cq_typing_names[i], name) != 0) i++;
  *out = (cq_typing)i;
  if (cq_typing_names[i]) return CQ_OK;
  return cq_fail(error, CQ_ERR_ARGUMENT, "perturb: '%s' is not a way to type", name);
}

/* Rewrites the second column; `typed` holds it until the next row. */
static cq_status perturb_row(cq_slice columns[3], cq_builder *typed, cq_typing how, cq_error *error) {
  cq_builder_clear(typed);
  cq_text_typed(typed, columns[1], how);
  columns[1] = (cq_slice){typed->data, typed->n};
  return typed->failed ? cq_fail_memory(error, "the rows of a file") : CQ_OK;
}

static cq_status append_row(cq_rows *rows, size_t capacity[3], const cq_slice columns[3], double gold, int n_columns,
                            cq_error *error) {
  for (int c = 0; c < 2; c++) {
    char *copy = cq_arena_strndup(&rows->text, columns[c].data, columns[c].n);
    if (!copy || !cq_reserve((void **)&rows->column[c], &capacity[c], rows->n + 1, sizeof *rows->column[c]))
      return cq_fail_memory(error, "the rows of a file");
    rows->column[c][rows->n] = (cq_slice){copy, columns[c].n};
  }
  if (n_columns == 3) {
    if (!cq_reserve((void **)&rows->gold, &capacity[2], rows->n + 1, sizeof *rows->gold))
      return cq_fail_memory(error, "the rows of a file");
    rows->gold[rows->n] = gold;
  }
  rows->n++;
  return CQ_OK;
}

cq_status cq_rows_read(cq_rows *out, const char *file, int n_columns, const cq_eval_options *options, cq_error *error) {
  cq_eval_options o;
  cq_lines *lines = NULL;
  size_t capacity[3] = {0};
  cq_builder typed = {0};
  cq_typing how = CQ_TYPED_LOWER;
  *out = (cq_rows){0};
  cq_status status = cq_options_take(&o, &cq_group_eval, options, error);
  if (!status && o.perturb) status = find_typing(&how, o.perturb, error);
  if (!status) status = cq_lines_open(&lines, file, error);
  if (status != CQ_OK) return status;
  while (o.max_rows == 0 || out->n < o.max_rows) {
    cq_slice line, columns[3];
    double gold = 0;
    cq_error fault = {0};
    status = cq_lines_next(&line, lines, &fault);
    if (status == CQ_OK && !line.data) break;
    if (status == CQ_OK) status = parse_row(columns, &gold, line, n_columns, lines, &fault);
    if (status == CQ_ERR_FORMAT && o.skip_bad && !cq_lines_broken(lines)) {
      out->n_skipped++;
      continue;
    }
    if (status == CQ_OK && o.perturb) status = perturb_row(columns, &typed, how, &fault);
    if (status == CQ_OK) status = append_row(out, capacity, columns, gold, n_columns, &fault);
    if (status != CQ_OK) {
      if (error) *error = fault;
      goto done;
    }
  }
  status = CQ_OK;
  if (out->n == 0 && out->n_skipped > 0)
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, file, "no rows are left: %zu of them malformed", out->n_skipped);
  else if (out->n == 0)
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, file, "the file is empty");
done:
  cq_lines_close(lines);
  cq_builder_free(&typed);
  return status;
}

void cq_rows_free(cq_rows *rows) {
  cq_arena_free(&rows->text);
  cq_free(rows->column[0]);
  cq_free(rows->column[1]);
  cq_free(rows->gold);
  *rows = (cq_rows){0};
}

/* --- the measures --- */

bool cq_is_right(const size_t *best, const cq_slice *text, size_t n, size_t i) {
  return best[i] < n && (best[i] == i || cq_slice_equal(text[best[i]], text[i]));
}

double cq_share_right(const size_t *best, const cq_slice *text, size_t n) {
  size_t right = 0;
  for (size_t i = 0; i < n; i++) right += cq_is_right(best, text, n, i);
  return (double)right / (double)n;
}

cq_status cq_rows_translation(cq_translation_result *out, const cq_rows *rows, const float *source, const float *target,
                              size_t dim, cq_context *ctx, cq_error *error) {
  cq_status status;
  size_t n = rows->n, *best = cq_alloc_array(n, sizeof *best);
  if (!best) return cq_fail_memory(error, "matches");
  cq_translation_result r = {.n = n, .n_skipped = rows->n_skipped};
  if ((status = cq_best_matches(best, source, n, target, n, dim, ctx, error)) != CQ_OK) goto done;
  r.source_to_target = cq_share_right(best, rows->column[1], n);
  if ((status = cq_best_matches(best, target, n, source, n, dim, ctx, error)) != CQ_OK) goto done;
  r.target_to_source = cq_share_right(best, rows->column[0], n);
  r.mean = (r.source_to_target + r.target_to_source) / 2;
  *out = r;
done:
  cq_free(best);
  return status;
}

static cq_status correlate(cq_sts_result *out, const cq_rows *rows, const double *scores, cq_error *error) {
  *out =
      (cq_sts_result){.n = rows->n, .n_skipped = rows->n_skipped, .pearson = cq_pearson(scores, rows->gold, rows->n)};
  return cq_spearman(&out->spearman, scores, rows->gold, rows->n, error);
}

cq_status cq_rows_sts(cq_sts_result *out, const cq_rows *rows, const float *first, const float *second, size_t dim,
                      cq_error *error) {
  double *cosines = cq_alloc_array(rows->n, sizeof *cosines);
  if (!cosines) return cq_fail_memory(error, "cosines");
  for (size_t i = 0; i < rows->n; i++) cosines[i] = cq_cosine(first + i * dim, second + i * dim, dim);
  const cq_status status = correlate(out, rows, cosines, error);
  cq_free(cosines);
  return status;
}

cq_status cq_rows_logits(double *logits, const cq_rows *rows, const cq_reranker *reranker,
                         const cq_eval_options *options, cq_context *ctx, cq_error *error) {
  if (options->prompt || options->truncate_dim)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a reranker has neither prompts nor dimensions (prompt, truncate-dim)");
  float *values = cq_alloc_array(rows->n, sizeof *values);
  if (!values) return cq_fail_memory(error, "logits");
  const cq_status status =
      cq_reranker_score_pairs(values, NULL, reranker, rows->column[0], rows->column[1], rows->n, ctx, error);
  for (size_t i = 0; i < rows->n && !status; i++) logits[i] = (double)values[i];
  cq_free(values);
  return status;
}

cq_status cq_vector_spread(double *variance_100, double *norm, const float *vectors, size_t n, size_t dim,
                           cq_error *error) {
  double *mean = cq_alloc_array_zeroed(dim, sizeof *mean), variance = 0, lengths = 0;
  if (!mean) return cq_fail_memory(error, "the mean vector");
  for (size_t i = 0; i < n; i++)
    for (size_t d = 0; d < dim; d++) mean[d] += (double)vectors[i * dim + d] / (double)n;
  for (size_t i = 0; i < n; i++) {
    double squares = 0;
    for (size_t d = 0; d < dim; d++) {
      double x = (double)vectors[i * dim + d];
      squares += x * x;
      variance += (x - mean[d]) * (x - mean[d]);
    }
    lengths += sqrt(squares);
  }
  *variance_100 = 100 * variance / ((double)n * (double)dim);
  if (norm) *norm = lengths / (double)n;
  cq_free(mean);
  return CQ_OK;
}

/* --- on files --- */

/* A student with fewer dimensions was trained on the teacher's first ones, so both are evaluated on these. */
static size_t common_dim(cq_eval_options *o, const cq_encoder *student) {
  if (!o->truncate_dim) o->truncate_dim = cq_encoder_dim(student);
  return cq_eval_dim(student, o);
}

cq_status cq_eval_mse(cq_mse_result *out, const cq_encoder *teacher, const cq_encoder *student, const char *file,
                      const cq_eval_options *options, cq_context *ctx, cq_error *error) {
  cq_eval_options o;
  const size_t teacher_dim = (size_t)cq_encoder_dim(teacher);
  float *wanted = NULL, *target = NULL, *source = NULL;
  cq_rows rows = {0};
  cq_status status = cq_options_take(&o, &cq_group_eval, options, error);
  if (status) return status;
  const size_t dim = common_dim(&o, student);
  if (dim > teacher_dim)
    return cq_fail(error, CQ_ERR_ARGUMENT, "mse: the student's vectors have %zu dimensions, the teacher's %zu", dim,
                   teacher_dim);
  if ((status = cq_rows_read(&rows, file, 2, &o, error)) != CQ_OK) goto done;
  if ((status = cq_encode_first_column(&wanted, teacher, ctx, rows.column[0], rows.n, &o, error)) != CQ_OK ||
      (status = cq_encode_column(&target, student, ctx, rows.column[1], rows.n, &o, error)) != CQ_OK ||
      (status = cq_encode_first_column(&source, student, ctx, rows.column[0], rows.n, &o, error)) != CQ_OK)
    goto done;
  cq_mse_result r = {.n = rows.n, .n_skipped = rows.n_skipped};
  if ((status = cq_vector_spread(&r.teacher_variance, &r.teacher_norm, wanted, rows.n, dim, error)) != CQ_OK) goto done;
  r.target = cq_mse_100(wanted, target, rows.n, dim);
  r.source = cq_mse_100(wanted, source, rows.n, dim);
  *out = r;
done:
  cq_free(source);
  cq_free(target);
  cq_free(wanted);
  cq_rows_free(&rows);
  return status;
}

/* The rank of a query's own document; documents at the same distance, or with the same text, do not count as nearer. */
static size_t rank_of_own(const cq_rows *rows, const float *documents, const float *query, size_t own, size_t dim) {
  const double cosine = cq_cosine(documents + own * dim, query, dim);
  size_t rank = 1;
  for (size_t i = 0; i < rows->n; i++)
    rank += cq_cosine(documents + i * dim, query, dim) > cosine &&
            !cq_slice_equal(rows->column[0][i], rows->column[0][own]);
  return rank;
}

typedef struct ranking {
  const cq_rows *rows;
  const float *documents, *queries;
  size_t dim, *ranks; /* [rows->n] */
} ranking;

static void rank_query(void *context, size_t i, int thread) {
  const ranking *r = context;
  (void)thread;
  r->ranks[i] = rank_of_own(r->rows, r->documents, r->queries + i * r->dim, i, r->dim);
}

cq_status cq_rows_ranks(size_t *ranks, const cq_rows *rows, const cq_encoder *documents, const cq_encoder *queries,
                        const cq_eval_options *options, cq_context *ctx, cq_error *error) {
  cq_eval_options o = *options;
  const size_t documents_dim = (size_t)cq_encoder_dim(documents), dim = common_dim(&o, queries);
  float *vectors[2] = {NULL, NULL};
  if (dim > documents_dim)
    return cq_fail(error, CQ_ERR_ARGUMENT, "the queries' vectors have %zu dimensions, the documents' %zu", dim,
                   documents_dim);
  cq_status status = cq_encode_first_column(&vectors[0], documents, ctx, rows->column[0], rows->n, &o, error);
  if (!status) status = cq_encode_column(&vectors[1], queries, ctx, rows->column[1], rows->n, &o, error);
  ranking work = {rows, vectors[0], vectors[1], dim, ranks};
  if (!status) cq_context_run(ctx, rows->n, rank_query, &work);
  cq_free(vectors[0]), cq_free(vectors[1]);
  return status;
}

cq_status cq_eval_search(cq_eval_search_result *out, const cq_encoder *documents, const cq_encoder *queries,
                         const char *file, const cq_eval_options *options, cq_context *ctx, cq_error *error) {
  cq_eval_options o;
  cq_rows rows = {0};
  cq_eval_search_result r = {0};
  size_t *ranks = NULL;
  cq_status status = cq_options_take(&o, &cq_group_eval, options, error);
  if (!status) status = cq_rows_read(&rows, file, 2, &o, error);
  if (!status && !(ranks = cq_alloc_array(rows.n, sizeof *ranks))) status = cq_fail_memory(error, "ranks");
  if (!status) status = cq_rows_ranks(ranks, &rows, documents, queries, &o, ctx, error);
  if (!status) {
    for (size_t i = 0; i < rows.n; i++) {
      r.hits_at_1 += ranks[i] == 1, r.hits_at_10 += ranks[i] <= 10;
      r.mrr += 1 / (double)ranks[i];
    }
    r.hits_at_1 /= (double)rows.n, r.hits_at_10 /= (double)rows.n, r.mrr /= (double)rows.n;
    r.n = rows.n, r.n_skipped = rows.n_skipped;
    *out = r;
  }
  cq_free(ranks);
  cq_rows_free(&rows);
  return status;
}

cq_status cq_rows_encode(cq_rows *rows, float *vectors[2], size_t *dim, const cq_encoder *encoder, cq_context *ctx,
                         const char *file, int n_columns, const cq_eval_options *options, cq_error *error) {
  cq_eval_options o;
  cq_status status = cq_options_take(&o, &cq_group_eval, options, error);
  *dim = status ? 0 : cq_eval_dim(encoder, &o);
  if (!status) status = cq_rows_read(rows, file, n_columns, &o, error);
  if (!status) status = cq_encode_first_column(&vectors[0], encoder, ctx, rows->column[0], rows->n, &o, error);
  if (!status) status = cq_encode_column(&vectors[1], encoder, ctx, rows->column[1], rows->n, &o, error);
  return status;
}

cq_status cq_eval_translation(cq_translation_result *out, const cq_encoder *encoder, const char *file,
                              const cq_eval_options *options, cq_context *ctx, cq_error *error) {
  float *vectors[2] = {NULL, NULL};
  size_t dim;
  cq_rows rows = {0};
  cq_status status = cq_rows_encode(&rows, vectors, &dim, encoder, ctx, file, 2, options, error);
  if (status == CQ_OK) status = cq_rows_translation(out, &rows, vectors[0], vectors[1], dim, ctx, error);
  cq_free(vectors[0]);
  cq_free(vectors[1]);
  cq_rows_free(&rows);
  return status;
}

cq_status cq_eval_sts(cq_sts_result *out, const cq_encoder *encoder, const char *file, const cq_eval_options *options,
                      cq_context *ctx, cq_error *error) {
  float *vectors[2] = {NULL, NULL};
  size_t dim;
  cq_rows rows = {0};
  cq_status status = cq_rows_encode(&rows, vectors, &dim, encoder, ctx, file, 3, options, error);
  if (status == CQ_OK) status = cq_rows_sts(out, &rows, vectors[0], vectors[1], dim, error);
  cq_free(vectors[0]);
  cq_free(vectors[1]);
  cq_rows_free(&rows);
  return status;
}

cq_status cq_eval_sts_reranker(cq_sts_result *out, const cq_reranker *reranker, const char *file,
                               const cq_eval_options *options, cq_context *ctx, cq_error *error) {
  cq_eval_options o;
  cq_rows rows = {0};
  double *logits = NULL;
  cq_status status = cq_options_take(&o, &cq_group_eval, options, error);
  if (!status) status = cq_rows_read(&rows, file, 3, &o, error);
  if (!status && !(logits = cq_alloc_array(rows.n, sizeof *logits))) status = cq_fail_memory(error, "logits");
  if (!status) status = cq_rows_logits(logits, &rows, reranker, &o, ctx, error);
  if (!status) status = correlate(out, &rows, logits, error);
  cq_free(logits);
  cq_rows_free(&rows);
  return status;
}
