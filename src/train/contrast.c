/* In-batch contrastive loss (InfoNCE) and its gradient, in both directions. See contrast.h. */
#include "train/contrast.h"

#include "base/error.h"

#include <math.h>

enum { BLOCK_ROWS = 64 };

typedef struct search {
  const cq_contrast *c;
  const cq_kernels *kernels;
  int64_t n_blocks[2];
  double scale;        /* factor for the gradient of a similarity divided by the temperature */
  float *units[2];     /* [n, dim] the vectors, at length 1 */
  float *lengths[2];   /* [n] that they had */
  float *columns[2];   /* the same, packed as the right side of units units^T */
  float *rows[2];      /* and of weights units */
  double *log_sums[2]; /* [n] log of the softmax's denominator, for rows with a positive */
  double *own;         /* [n[0]] a pair's similarity over the temperature */
  float *blocks;       /* [workers][BLOCK_ROWS, n[1] + dim] */
} search;

static void make_units(void *context, size_t side, int worker) {
  const search *b = context;
  const cq_contrast *c = b->c;
  (void)worker;
  b->kernels->normalize(b->units[side], b->lengths[side], c->vectors[side], c->n[side], c->dim);
  b->kernels->pack(b->columns[side], b->units[side], 1, c->dim, c->dim, c->n[side]);
  b->kernels->pack(b->rows[side], b->units[side], c->dim, 1, c->n[side], c->dim);
}

/* Some rows of one side's cosines, in the worker's block. */
typedef struct block {
  int side;
  int64_t first, m; /* rows */
  int64_t n;        /* columns: rows of the other side */
  float *cosines;   /* [m, n] */
  float *gradient;  /* [m, dim], room only */
} block;

/* Whether row j of the second side is a false negative for row i of the first: the same text, or a partner of it. */
static bool is_no_answer(const cq_contrast *c, int64_t i, int64_t j) {
  if (!c->ids[0] || i == j) return false;
  return c->ids[1][i] == c->ids[1][j] || (j < c->n[0] && c->ids[0][i] == c->ids[0][j]);
}

/* Removes false negatives from the softmax: cosine -INFINITY. */
static void drop_no_answers(const cq_contrast *c, const block *k) {
  for (int64_t r = 0; c->ids[0] && r < k->m; r++)
    for (int64_t j = 0; j < k->n; j++)
      if (k->side == 0 ? is_no_answer(c, k->first + r, j) : is_no_answer(c, j, k->first + r))
        k->cosines[r * k->n + j] = -INFINITY;
}

static block similarities(const search *b, size_t item, int worker) {
  const cq_contrast *c = b->c;
  const int side = (int64_t)item >= b->n_blocks[0];
  const int64_t first = ((int64_t)item - (side ? b->n_blocks[0] : 0)) * BLOCK_ROWS, left = c->n[side] - first;
  block out = {.side = side,
               .first = first,
               .m = left < BLOCK_ROWS ? left : BLOCK_ROWS,
               .n = c->n[1 - side],
               .cosines = b->blocks + worker * BLOCK_ROWS * (c->n[1] + c->dim)};
  out.gradient = out.cosines + BLOCK_ROWS * out.n;
  b->kernels->product(out.cosines, out.n, b->units[side] + first * c->dim, c->dim, b->columns[1 - side], out.m, out.n,
                      c->dim, NULL);
  drop_no_answers(c, &out);
  return out;
}

static bool is_seeking(const cq_contrast *c, int side, int64_t row) {
  return side == 0 || (c->symmetric && row < c->n[0]);
}

static void sum_rows(void *context, size_t item, int worker) {
  const search *b = context;
  const double temperature = b->c->temperature;
  const block k = similarities(b, item, worker);
  for (int64_t r = 0; r < k.m && is_seeking(b->c, k.side, k.first + r); r++) {
    const float *row = k.cosines + r * k.n;
    float max = -INFINITY;
    double sum = 0;
    for (int64_t j = 0; j < k.n; j++) max = row[j] > max ? row[j] : max;
    for (int64_t j = 0; j < k.n; j++) sum += exp(((double)row[j] - (double)max) / temperature);
    b->log_sums[k.side][k.first + r] = (double)max / temperature + log(sum);
    if (k.side == 0) b->own[k.first + r] = (double)row[k.first + r] / temperature;
  }
}

/* The gradient for a row's similarity x to another: its probability, minus 1 for the positive. */
static double similarity_gradient(const search *b, int side, int64_t row, double x, bool is_own) {
  return is_seeking(b->c, side, row) ? exp(x - b->log_sums[side][row]) - is_own : 0;
}

static void add_gradients(void *context, size_t item, int worker) {
  const search *b = context;
  const cq_contrast *c = b->c;
  const block k = similarities(b, item, worker);
  for (int64_t r = 0; r < k.m; r++) {
    float *row = k.cosines + r * k.n;
    const int64_t i = k.first + r;
    for (int64_t j = 0; j < k.n; j++) {
      const double x = (double)row[j] / c->temperature;
      row[j] = (float)(b->scale * (similarity_gradient(b, k.side, i, x, i == j) +
                                   similarity_gradient(b, 1 - k.side, j, x, i == j)));
    }
  }
  b->kernels->product(k.gradient, c->dim, k.cosines, k.n, b->rows[1 - k.side], k.m, c->dim, k.n, NULL);
  b->kernels->normalize_backward(k.gradient, k.gradient, b->units[k.side] + k.first * c->dim,
                                 b->lengths[k.side] + k.first, k.m, c->dim);
  for (int64_t r = 0; r < k.m; r++)
    if (b->lengths[k.side][k.first + r] > CQ_NORMALIZE_MIN)
      b->kernels->add(c->gradients[k.side] + (k.first + r) * c->dim, k.gradient + r * c->dim, c->dim);
}

static bool make_contrast_room(search *b, cq_workspace *w, int n_workers) {
  const cq_contrast *c = b->c;
  bool ok = true;
  for (int s = 0; s < 2; s++) {
    const int64_t n = c->n[s], dim = c->dim;
    b->n_blocks[s] = (n + BLOCK_ROWS - 1) / BLOCK_ROWS;
    b->units[s] = cq_workspace_take(w, (size_t)(n * dim) * sizeof(float));
    b->lengths[s] = cq_workspace_take(w, (size_t)n * sizeof(float));
    b->columns[s] = cq_workspace_take(w, (size_t)b->kernels->packed_floats(dim, n) * sizeof(float));
    b->rows[s] = cq_workspace_take(w, (size_t)b->kernels->packed_floats(n, dim) * sizeof(float));
    b->log_sums[s] = cq_workspace_take(w, (size_t)n * sizeof(double));
    ok = ok && b->units[s] && b->lengths[s] && b->columns[s] && b->rows[s] && b->log_sums[s];
  }
  b->own = cq_workspace_take(w, (size_t)c->n[0] * sizeof(double));
  b->blocks = cq_workspace_take(w, (size_t)(n_workers * BLOCK_ROWS * (c->n[1] + c->dim)) * sizeof(float));
  return ok && b->own && b->blocks;
}

cq_status cq_contrast_loss(double *loss, const cq_contrast *c, double weight, cq_worker *worker, cq_context *ctx,
                           cq_error *error) {
  const cq_mark mark = cq_workspace_mark(&worker->workspace);
  const double n_seeking = (c->symmetric ? 2 : 1) * (double)c->n[0];
  search b = {.c = c, .kernels = worker->kernels, .scale = weight / (n_seeking * c->temperature)};
  const bool ok = make_contrast_room(&b, &worker->workspace, cq_context_n_threads(ctx));
  double sum = 0;
  if (ok) {
    cq_context_run(ctx, 2, make_units, &b);
    cq_context_run(ctx, (size_t)(b.n_blocks[0] + (c->symmetric ? b.n_blocks[1] : 0)), sum_rows, &b);
    cq_context_run(ctx, (size_t)(b.n_blocks[0] + b.n_blocks[1]), add_gradients, &b);
    for (int64_t i = 0; i < c->n[0]; i++) {
      sum += b.log_sums[0][i] - b.own[i];
      if (c->symmetric) sum += b.log_sums[1][i] - b.own[i];
    }
  }
  cq_workspace_release(&worker->workspace, mark);
  *loss = sum / n_seeking;
  return ok ? CQ_OK : cq_fail_memory(error, "similarities of a batch");
}
