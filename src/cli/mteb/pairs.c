/* Tasks on pairs of sentences: bitext mining and semantic textual similarity. */
#include "calque/nearest.h"
#include "cli/mteb/mteb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- bitext mining ---- */

/* Precision, recall and F1 of each row as a class of its own, averaged over rows: a target that several sources find is
 * a false positive of all but one. Of the row i that n_found sources find, the right one (found 1) or not (0):
 * precision found / n_found, recall found, F1 2 found / (1 + n_found). */
int mteb_bitext(json_t *scores, const mteb_bench *b, const char *file) {
  mteb_rows r = {0};
  float *x = NULL, *y = NULL;
  cq_neighbours of_x = {0};
  cq_error error = {0};
  cq_nearest_options options = cq_nearest_default_options();
  options.k = 1;
  int code = mteb_rows_read(&r, file, 2, b->args->eval);
  if (code == CLI_OK) code = mteb_encode(&x, b, r.column[0], r.n);
  if (code == CLI_OK) code = mteb_encode(&y, b, r.column[1], r.n);
  if (code == CLI_OK && cq_nearest(&of_x, NULL, x, r.n, y, r.n, b->dim, &options, b->ctx, &error))
    code = cli_fail_error(&error);
  size_t *n_found = code == CLI_OK ? calloc(r.n, sizeof *n_found) : NULL;
  if (code == CLI_OK && !n_found) code = cli_fail("out of memory");
  if (code == CLI_OK) {
    double precision = 0, recall = 0, f1 = 0;
    for (size_t i = 0; i < r.n; i++) n_found[of_x.index[i]]++;
    for (size_t i = 0; i < r.n; i++) {
      if (of_x.index[i] != i) continue;
      precision += 1 / (double)n_found[i], recall += 1, f1 += 2 / (1 + (double)n_found[i]);
    }
    const double n = (double)r.n;
    if (mteb_put_figure(scores, "precision", precision / n) | mteb_put_figure(scores, "recall", recall / n) |
        mteb_put_figure(scores, "f1", f1 / n) | mteb_put_figure(scores, "accuracy", recall / n) |
        mteb_put_figure(scores, "main_score", f1 / n))
      code = cli_fail("out of memory");
  }
  free(n_found);
  cq_neighbours_free(&of_x);
  free(x), free(y);
  mteb_rows_free(&r);
  return code;
}

/* ---- STS ---- */

static int put_correlations(json_t *scores, const char *name, const double *x, const double *gold, size_t n) {
  char key[48];
  double spearman;
  cq_error error = {0};
  if (cq_spearman(&spearman, x, gold, n, &error)) return cli_fail_error(&error);
  snprintf(key, sizeof key, "%spearson", name);
  int failed = mteb_put_figure(scores, key, cq_pearson(x, gold, n));
  snprintf(key, sizeof key, "%sspearman", name);
  failed |= mteb_put_figure(scores, key, spearman);
  if (strcmp(name, "cosine_") == 0) failed |= mteb_put_figure(scores, "main_score", spearman);
  return failed ? cli_fail("out of memory") : CLI_OK;
}

int mteb_sts(json_t *scores, const mteb_bench *b, const char *file) {
  mteb_rows r = {0};
  float *x = NULL, *y = NULL;
  int code = mteb_rows_read(&r, file, 3, b->args->eval);
  if (code == CLI_OK) code = mteb_encode(&x, b, r.column[0], r.n);
  if (code == CLI_OK) code = mteb_encode(&y, b, r.column[1], r.n);
  double *figures = code == CLI_OK ? calloc(r.n, 4 * sizeof *figures) : NULL;
  if (code == CLI_OK && !figures) code = cli_fail("out of memory");
  if (code == CLI_OK) {
    double *gold = figures, *cosine = gold + r.n, *manhattan = cosine + r.n, *euclidean = manhattan + r.n;
    for (size_t i = 0; i < r.n; i++) {
      const float *u = x + i * b->dim, *v = y + i * b->dim;
      gold[i] = strtod(r.column[2][i].data, NULL); /* the last of its allocation, zero behind it */
      cosine[i] = cq_cosine(u, v, b->dim);
      double squares = 0;
      for (size_t d = 0; d < b->dim; d++) {
        const double difference = (double)u[d] - (double)v[d];
        manhattan[i] -= fabs(difference), squares += difference * difference;
      }
      euclidean[i] = -sqrt(squares);
    }
    const struct {
      const char *name;
      const double *figures;
    } similarities[] = {{"", cosine}, {"cosine_", cosine}, {"manhattan_", manhattan}, {"euclidean_", euclidean}};
    for (size_t i = 0; i < 4 && code == CLI_OK; i++)
      code = put_correlations(scores, similarities[i].name, similarities[i].figures, gold, r.n);
  }
  free(figures);
  free(x), free(y);
  mteb_rows_free(&r);
  return code;
}
