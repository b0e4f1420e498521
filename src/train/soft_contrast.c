/* The contrastive loss of distillation, with a teacher's similarities as soft labels, and its gradient. See
 * soft_contrast.h. */
#include "train/soft_contrast.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdbool.h>
#include <string.h>

enum { BLOCK_ROWS = 64 };

/* Vectors and candidates truncated to their first `kept` dimensions. There is room for all dimensions. */
typedef struct pass {
  const cq_soft_contrast *c;
  const cq_kernels *kernels;
  const float *vectors; /* [n, dim] */
  float *gradients;     /* [n, dim] */
  size_t n;
  int64_t kept;
  double weight;
  float *units;          /* [m, kept] the candidates, at length 1 and then over the temperature */
  float *columns, *rows; /* packed as the right side of y units^T over the temperature, and of g units */
  float *labels;         /* [n_own, m] */
  double *losses;        /* [n] */
  float *blocks;         /* [workers] of block_floats */
} pass;

/* Some vectors, their logits for all candidates, and the gradients of both; in a worker's room. */
typedef struct block {
  size_t first, n;
  float *units, *lengths, *gradients; /* [n, kept], [n], [n, kept] */
  float *logits;                      /* [n, m] cosines over the temperature */
} block;

static size_t block_floats(const cq_soft_contrast *c) {
  return BLOCK_ROWS * (2 * (size_t)c->dim + 1 + c->n_candidates);
}

/* The item-th block of n vectors: row i of all is list[i] or, if list is NULL, at vectors + i * dim. */
static block logits_of(const pass *p, const float *const *list, const float *vectors, size_t n, size_t item,
                       int worker) {
  const size_t kept = (size_t)p->kept, first = item * BLOCK_ROWS, m = p->c->n_candidates;
  float *room = p->blocks + (size_t)worker * block_floats(p->c);
  block b = {.first = first, .n = n - first < BLOCK_ROWS ? n - first : BLOCK_ROWS, .units = room};
  b.gradients = b.units + BLOCK_ROWS * kept, b.lengths = b.gradients + BLOCK_ROWS * kept;
  b.logits = b.lengths + BLOCK_ROWS;
  for (size_t i = 0; i < b.n; i++)
    memcpy(b.units + i * kept, list ? list[first + i] : vectors + (first + i) * (size_t)p->c->dim,
           kept * sizeof *b.units);
  p->kernels->normalize(b.units, b.lengths, b.units, (int64_t)b.n, p->kept);
  p->kernels->product(b.logits, (int64_t)m, b.units, p->kept, p->columns, (int64_t)b.n, (int64_t)m, p->kept, NULL);
  return b;
}

/* Logits [m] become probabilities; returns the logarithm of their denominator. */
static double softmax(float *row, size_t m, const cq_kernels *kernels) {
  const double first = (double)row[0];
  const double loss = kernels->cross_entropy(row, row, (int64_t)m, &(int32_t){0}, 1, 0, 1, (int64_t)m);
  row[0] += 1; /* the gradient for the logit of the label, 0 */
  return first + loss;
}

static void label_block(void *context, size_t item, int worker) {
  const pass *p = context;
  const size_t m = p->c->n_candidates;
  const block b = logits_of(p, p->c->candidates, NULL, p->c->n_own, item, worker);
  for (size_t i = 0; i < b.n; i++) softmax(b.logits + i * m, m, p->kernels);
  memcpy(p->labels + b.first * m, b.logits, b.n * m * sizeof *p->labels);
}

static void add_block(void *context, size_t item, int worker) {
  const pass *p = context;
  const double scale = p->weight / (p->c->temperature * (double)p->n);
  const size_t m = p->c->n_candidates, kept = (size_t)p->kept;
  const block b = logits_of(p, NULL, p->vectors, p->n, item, worker);
  for (size_t i = 0; i < b.n; i++) {
    const float *q = p->labels + (b.first + i) % p->c->n_own * m;
    float *row = b.logits + i * m;
    const double expected = p->kernels->exact_dot(q, row, (int64_t)m);
    p->losses[b.first + i] = softmax(row, m, p->kernels) - expected;
    for (size_t j = 0; j < m; j++) row[j] = (float)scale * (row[j] - q[j]); /* a cosine's gradient */
  }
  p->kernels->product(b.gradients, p->kept, b.logits, (int64_t)m, p->rows, (int64_t)b.n, p->kept, (int64_t)m, NULL);
  p->kernels->normalize_backward(b.gradients, b.gradients, b.units, b.lengths, (int64_t)b.n, p->kept);
  for (size_t i = 0; i < b.n; i++)
    if (b.lengths[i] > CQ_NORMALIZE_MIN)
      p->kernels->add(p->gradients + (b.first + i) * (size_t)p->c->dim, b.gradients + i * kept, p->kept);
}

static void truncate_candidates(pass *p, int64_t kept) {
  const size_t m = p->c->n_candidates;
  p->kept = kept;
  for (size_t j = 0; j < m; j++)
    memcpy(p->units + j * (size_t)kept, p->c->candidates[j], (size_t)kept * sizeof *p->units);
  p->kernels->normalize(p->units, NULL, p->units, (int64_t)m, kept);
  p->kernels->pack(p->rows, p->units, kept, 1, (int64_t)m, kept);
  for (size_t i = 0; i < m * (size_t)kept; i++) p->units[i] /= (float)p->c->temperature;
  p->kernels->pack(p->columns, p->units, 1, kept, kept, (int64_t)m);
}

/* The loss at so many dimensions. */
static double loss_of(pass *p, cq_context *ctx) {
  double sum = 0;
  cq_context_run(ctx, (p->n + BLOCK_ROWS - 1) / BLOCK_ROWS, add_block, p);
  for (size_t i = 0; i < p->n; i++) sum += p->losses[i];
  return sum / (double)p->n;
}

cq_status cq_soft_contrast_loss(double *loss, float *gradients, const float *vectors, size_t n,
                                const cq_soft_contrast *c, double weight, const cq_kernels *kernels, cq_context *ctx,
                                cq_error *error) {
  const size_t m = c->n_candidates, dim = (size_t)c->dim;
  *loss = 0;
  if (m == 0 || n == 0 || c->n_own == 0) return CQ_OK;
  pass p = {.c = c, .kernels = kernels, .vectors = vectors, .gradients = gradients, .n = n, .weight = weight};
  p.units = cq_alloc_array(m, dim * sizeof *p.units);
  p.columns = cq_alloc_array((size_t)kernels->packed_floats(c->dim, (int64_t)m), sizeof *p.columns);
  p.rows = cq_alloc_array((size_t)kernels->packed_floats((int64_t)m, c->dim), sizeof *p.rows);
  p.labels = cq_alloc_array(c->n_own, m * sizeof *p.labels);
  p.losses = cq_alloc_array(n, sizeof *p.losses);
  p.blocks = cq_alloc_array((size_t)cq_context_n_threads(ctx), block_floats(c) * sizeof *p.blocks);
  const bool ok = p.units && p.columns && p.rows && p.labels && p.losses && p.blocks;
  if (ok) {
    truncate_candidates(&p, c->dim);
    cq_context_run(ctx, (c->n_own + BLOCK_ROWS - 1) / BLOCK_ROWS, label_block, &p);
    *loss = loss_of(&p, ctx);
    for (size_t i = 0; i < c->n_prefixes; i++) {
      truncate_candidates(&p, c->prefixes[i]);
      *loss += loss_of(&p, ctx);
    }
  }
  cq_free(p.units), cq_free(p.columns), cq_free(p.rows), cq_free(p.labels), cq_free(p.losses), cq_free(p.blocks);
  return ok ? CQ_OK : cq_fail_memory(error, "contrastive loss");
}
