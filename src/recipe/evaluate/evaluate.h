/* The steps of evaluation on files, for recipes that evaluate during training: read the rows once, encode a column, and
 * compute measures as often as needed. */
#ifndef RECIPE_EVALUATE_EVALUATE_H
#define RECIPE_EVALUATE_EVALUATE_H

#include "base/arena.h"
#include "base/options.h"
#include "calque/eval.h"

extern const cq_option_group cq_group_eval;

/* The rows of a file in memory: two columns of text, and the gold scores if a third was requested. */
typedef struct cq_rows {
  cq_arena text;
  cq_slice *column[2]; /* [n] each; the text lives in the arena */
  double *gold;        /* [n]; NULL when two columns were read */
  size_t n, n_skipped;
} cq_rows;

/* Reads a file of n_columns (2 or 3) columns; further columns are ignored. Release with cq_rows_free, even after an
 * error. Errors: CQ_ERR_FORMAT with the line for fewer columns, an empty sentence, a gold score that is not a number or
 * invalid UTF-8 (with options->skip_bad these are counted instead); CQ_ERR_ARGUMENT when no rows are left; CQ_ERR_IO,
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_rows_read(cq_rows *out, const char *file, int n_columns, const cq_eval_options *options,
                                   cq_error *error);
void cq_rows_free(cq_rows *rows);

/* The number of dimensions that are evaluated: all the model's, or the first of them. options NULL: the defaults. */
size_t cq_eval_dim(const cq_encoder *encoder, const cq_eval_options *options);
/* Encodes n sentences into a new array [n, cq_eval_dim], *out, to be released with cq_free. Only the options that
 * affect vectors are used. */
CQ_MUST_USE cq_status cq_encode_column(float **out, const cq_encoder *encoder, cq_context *ctx,
                                       const cq_slice *sentences, size_t n, const cq_eval_options *options,
                                       cq_error *error);

/* Reads a file and encodes its two columns into new arrays [rows->n, dim]; release both, even after an error. */
CQ_MUST_USE cq_status cq_rows_encode(cq_rows *rows, float *vectors[2], size_t *dim, const cq_encoder *encoder,
                                     cq_context *ctx, const char *file, int n_columns, const cq_eval_options *options,
                                     cq_error *error);
/* Whether the best match of row i, of n, has the text of the correct one, the row's own. */
bool cq_is_right(const size_t *best, const cq_slice *text, size_t n, size_t i);
/* The share of n rows whose best match has the text of the correct one, the row's own. */
double cq_share_right(const size_t *best, const cq_slice *text, size_t n);

/* The measures on vectors of the rows' columns; these also fill out->n and out->n_skipped. */
CQ_MUST_USE cq_status cq_rows_translation(cq_translation_result *out, const cq_rows *rows, const float *source,
                                          const float *target, size_t dim, cq_context *ctx, cq_error *error);
CQ_MUST_USE cq_status cq_rows_sts(cq_sts_result *out, const cq_rows *rows, const float *first, const float *second,
                                  size_t dim, cq_error *error);
/* logits [rows->n] of the rows' pairs. Errors: as cq_eval_sts_reranker's. */
CQ_MUST_USE cq_status cq_rows_logits(double *logits, const cq_rows *rows, const cq_reranker *reranker,
                                     const cq_eval_options *options, cq_context *ctx, cq_error *error);
/* ranks [rows->n]: the rank of each second sentence's own document among the first column, as in cq_eval_search. Errors:
 * CQ_ERR_ARGUMENT when the queries' vectors have more dimensions than the documents'; those of encoding. */
CQ_MUST_USE cq_status cq_rows_ranks(size_t *ranks, const cq_rows *rows, const cq_encoder *documents,
                                    const cq_encoder *queries, const cq_eval_options *options, cq_context *ctx,
                                    cq_error *error);
/* How far n vectors [n, dim] spread: the mean over dimensions of their variance, times 100 like the MSE, and their mean
 * length (NULL: not needed). Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_vector_spread(double *variance_100, double *norm, const float *vectors, size_t n, size_t dim,
                                       cq_error *error);

#endif
