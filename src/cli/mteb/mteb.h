/* calque eval mteb: each kind of task measures a file as MTEB does. */
#ifndef CLI_MTEB_MTEB_H
#define CLI_MTEB_MTEB_H

#include "calque/classify.h"
#include "calque/embedding.h"
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <jansson.h>

typedef struct mteb_args {
  size_t size;
  const char *model, *output, *name, *split, *dataset_revision, *model_name, *revision;
  const char *train, *documents, *topics;
  int type, threads, n_samples, n_experiments;
  const cq_eval_options *eval;
  const cq_encoder_options *encoder;
  const cq_logistic_options *logistic;
} mteb_args;

typedef struct mteb_bench {
  const mteb_args *args;
  cq_encoder *model;
  cq_context *ctx;
  size_t dim;
  char *directory; /* of the results */
} mteb_bench;

/* Lines of a file, split at tabs. */
typedef struct mteb_rows {
  cq_slice *column[3]; /* [n]; the text of a row is one allocation, which the first column's slice begins */
  uint64_t *line;      /* [n] of the file, from 1 */
  size_t n, capacity, n_skipped;
} mteb_rows;

/* Reads lines of n_columns columns, the third of them a number. All functions here return the exit status, and have
 * said what is wrong. */
int mteb_rows_read(mteb_rows *r, const char *file, size_t n_columns, const cq_eval_options *options);
void mteb_rows_free(mteb_rows *r);
/* *out: a new array [n, b->dim]. */
int mteb_encode(float **out, const mteb_bench *b, const cq_slice *sentences, size_t n);

/* Each adds its figures to scores, main_score among them. */
int mteb_bitext(json_t *scores, const mteb_bench *b, const char *file);
int mteb_sts(json_t *scores, const mteb_bench *b, const char *file);
int mteb_classification(json_t *scores, const mteb_bench *b, const char *file);
int mteb_retrieval(json_t *scores, const mteb_bench *b, const char *file);

/* NaN, which JSON has not, becomes null. Returns 0, or not for lack of memory. */
int mteb_put_figure(json_t *object, const char *name, double value);
/* To be freed; NULL: out of memory. */
char *mteb_path(const char *directory, const char *between, const char *name, const char *end);

#endif
