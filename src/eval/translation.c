/* Translation accuracy: how often a sentence's translation is its nearest neighbor, in both directions.
 *
 *                     b, in packed chunks of COLUMNS rows
 *                    +-----------+-----------+-------
 *     a, in blocks   |  cosines  |           |
 *     of ROWS rows   |           |           |
 *                    +-----------+-----------+-------
 *
 * The cosines of a block with a chunk are one packed f32 product, scanned at once and never stored. A row of a keeps
 * the candidates for its maximum: those within the product's rounding error of the maximum f32 value so far. At the
 * end, these few are computed again in double precision, and the first maximum wins.
 *
 * So the result is the same as in a plain double-precision loop, including ties, at every SIMD level. A row with more
 * than MAX_CANDIDATES candidates (a collapsed model) is computed entirely in double precision. Source of the measure:
 * Reimers & Gurevych 2020, section 3.3 (bitext accuracy on Tatoeba). */
#include "eval/translation.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "tensor/kernels.h"

#include <math.h>
#include <stdbool.h>

enum { ROWS = 48, COLUMNS = 512, MAX_CANDIDATES = 32 };

typedef struct candidates {
  float max;
  size_t n; /* MAX_CANDIDATES + 1: too many */
  size_t column[MAX_CANDIDATES];
  float score[MAX_CANDIDATES];
} candidates;

typedef struct search {
  size_t *best;
  const float *a, *b;
  size_t n_a, n_b, dim;
  double *square_a, *square_b; /* of the lengths */
  float *packed;               /* one panel a chunk of b */
  size_t packed_floats;        /* of a panel */
  float *scratch;              /* scratch_floats a worker: unit rows, then cosines */
  size_t scratch_floats;
  candidates *kept; /* ROWS a worker */
  float window;     /* how far the true maximum may be below the maximum f32 cosine */
  const cq_kernels *kernels;
} search;

static double dot_vectors(const float *x, const float *y, size_t dim) {
  double sum = 0;
  for (size_t d = 0; d < dim; d++) sum += (double)x[d] * (double)y[d];
  return sum;
}

/* unit [n, dim] = rows of x scaled to length 1; zero rows stay zero. */
static void unit_rows_and_squares(float *unit, double *square, const float *x, size_t n, size_t dim) {
  for (size_t i = 0; i < n; i++) {
    square[i] = dot_vectors(x + i * dim, x + i * dim, dim);
    double scale = square[i] > 0 ? 1 / sqrt(square[i]) : 0;
    for (size_t d = 0; d < dim; d++) unit[i * dim + d] = (float)((double)x[i * dim + d] * scale);
  }
}

static void pack_chunk(void *context, size_t chunk, int worker) {
  search *s = context;
  size_t start = chunk * COLUMNS, n = cq_min(COLUMNS, s->n_b - start);
  float *unit = s->scratch + (size_t)worker * s->scratch_floats;
  unit_rows_and_squares(unit, s->square_b + start, s->b + start * s->dim, n, s->dim);
  s->kernels->pack(s->packed + chunk * s->packed_floats, unit, 1, (int64_t)s->dim, (int64_t)s->dim, (int64_t)n);
}

static void drop_beaten(candidates *c, float window) {
  size_t n = 0;
  for (size_t i = 0; i < c->n; i++)
    if (c->score[i] >= c->max - window) {
      c->score[n] = c->score[i];
      c->column[n++] = c->column[i];
    }
  c->n = n;
}

static void look_through(candidates *c, const float *scores, size_t first_column, size_t n, float window) {
  if (c->n > MAX_CANDIDATES) return;
  for (size_t j = 0; j < n; j++) {
    if (!(scores[j] >= c->max - window)) continue; /* NaN is never a candidate */
    if (scores[j] > c->max) c->max = scores[j];
    if (c->n == MAX_CANDIDATES) drop_beaten(c, window);
    if (c->n == MAX_CANDIDATES) {
      c->n = MAX_CANDIDATES + 1;
      return;
    }
    c->score[c->n] = scores[j];
    c->column[c->n++] = first_column + j;
  }
}

static double exact_cosine(const search *s, size_t i, size_t j) {
  double squares = s->square_a[i] * s->square_b[j];
  return squares == 0 ? 0 : dot_vectors(s->a + i * s->dim, s->b + j * s->dim, s->dim) / sqrt(squares);
}

/* The first maximum among the candidates, or among all rows if there are too many candidates. */
static size_t decide_best(const search *s, size_t i, const candidates *c) {
  bool all = c->n > MAX_CANDIDATES;
  size_t n = all ? s->n_b : c->n, best = s->n_b;
  double max = -INFINITY;
  for (size_t k = 0; k < n; k++) {
    size_t j = all ? k : c->column[k];
    double score = exact_cosine(s, i, j);
    if (score > max) max = score, best = j;
  }
  return best;
}

static void match_translations(void *context, size_t block, int worker) {
  search *s = context;
  size_t start = block * ROWS, n = cq_min(ROWS, s->n_a - start);
  float *unit = s->scratch + (size_t)worker * s->scratch_floats, *scores = unit + ROWS * s->dim;
  candidates *kept = s->kept + (size_t)worker * ROWS;
  unit_rows_and_squares(unit, s->square_a + start, s->a + start * s->dim, n, s->dim);
  for (size_t i = 0; i < n; i++) kept[i].max = -INFINITY, kept[i].n = 0;
  for (size_t chunk = 0, first = 0; first < s->n_b; chunk++, first += COLUMNS) {
    size_t width = cq_min(COLUMNS, s->n_b - first);
    s->kernels->product(scores, COLUMNS, unit, (int64_t)s->dim, s->packed + chunk * s->packed_floats, (int64_t)n,
                        (int64_t)width, (int64_t)s->dim, &(cq_epilogue){0});
    for (size_t i = 0; i < n; i++) look_through(&kept[i], scores + i * COLUMNS, first, width, s->window);
  }
  for (size_t i = 0; i < n; i++) s->best[start + i] = decide_best(s, start + i, &kept[i]);
}

cq_status cq_best_matches(size_t *best, const float *a, size_t n_a, const float *b, size_t n_b, size_t dim,
                          cq_context *ctx, cq_error *error) {
  cq_status status = CQ_OK;
  size_t workers = ctx ? (size_t)cq_context_n_threads(ctx) : 1, chunks = (n_b + COLUMNS - 1) / COLUMNS;
  search s = {.best = best, .a = a, .b = b, .n_a = n_a, .n_b = n_b, .dim = dim, .kernels = cq_kernels_best()};
  /* Two unit vectors rounded to f32 and a sum of dim products, each with a relative error of 2^-24: the error of a
   * cosine is below (dim + 4) 2^-24, and two cosines are compared. */
  s.window = 2 * (float)(dim + 4) * 0x1p-24f;
  s.packed_floats = ((size_t)s.kernels->packed_floats((int64_t)dim, COLUMNS) + 15) & ~(size_t)15;
  s.scratch_floats = (COLUMNS * dim + ROWS * COLUMNS + 15) & ~(size_t)15;
  s.square_a = cq_alloc_array(n_a, sizeof *s.square_a);
  s.square_b = cq_alloc_array(n_b, sizeof *s.square_b);
  s.packed = cq_alloc_array(chunks, s.packed_floats * sizeof *s.packed);
  s.scratch = cq_alloc_array(workers, s.scratch_floats * sizeof *s.scratch);
  s.kept = cq_alloc_array(workers, ROWS * sizeof *s.kept);
  if (!s.square_a || !s.square_b || !s.packed || !s.scratch || !s.kept) {
    status = cq_fail_memory(error, "nearest neighbors");
    goto done;
  }
  cq_context_run(ctx, chunks, pack_chunk, &s);
  cq_context_run(ctx, (n_a + ROWS - 1) / ROWS, match_translations, &s);
done:
  cq_free(s.kept);
  cq_free(s.scratch);
  cq_free(s.packed);
  cq_free(s.square_b);
  cq_free(s.square_a);
  return status;
}

cq_status cq_translation_accuracy(cq_translation_result *out, const float *a, const float *b, size_t n, size_t dim,
                                  cq_context *ctx, cq_error *error) {
  cq_status status;
  if (n == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "translation accuracy: there are no pairs");
  size_t *best = cq_alloc_array(n, sizeof *best), right_b = 0, right_a = 0;
  if (!best) return cq_fail_memory(error, "matches");
  if ((status = cq_best_matches(best, a, n, b, n, dim, ctx, error)) != CQ_OK) goto done;
  for (size_t i = 0; i < n; i++) right_b += best[i] == i;
  if ((status = cq_best_matches(best, b, n, a, n, dim, ctx, error)) != CQ_OK) goto done;
  for (size_t i = 0; i < n; i++) right_a += best[i] == i;
  *out = (cq_translation_result){(double)right_b / (double)n, (double)right_a / (double)n,
                                 (double)(right_a + right_b) / (2 * (double)n), n, 0};
done:
  cq_free(best);
  return status;
}
