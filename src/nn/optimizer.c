/* AdamW. Rows of sparse tables are updated only when they occur, with the same result as updating them at every step.
 * See optimizer.h. */
#include "nn/optimizer.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>

/* Work is divided into chunks of a fixed size, so that sums do not depend on the number of threads. */
#define CHUNK ((int64_t)1 << 16)

static int64_t chunks_of(int64_t n) {
  return (n + CHUNK - 1) / CHUNK;
}

cq_status cq_optimizer_new(cq_optimizer *out, cq_params *params, const cq_kernels *kernels,
                           const cq_optimizer_options *options, cq_error *error) {
  *out = (cq_optimizer){.options = *options, .params = params, .kernels = kernels};
  assert(params->own);
  out->n_floats = params->n_dense;
  out->table_at = cq_alloc_array((size_t)params->n_tables, sizeof *out->table_at);
  for (size_t i = 0; i < params->n && out->table_at; i++) {
    const cq_param *p = params->items[i];
    if (!p->table || p->frozen) continue;
    out->table_at[p->offset] = (out->n_floats + 15) / 16 * 16;
    out->n_floats = out->table_at[p->offset] + cq_param_floats(p);
  }
  out->m = cq_alloc_array_zeroed((size_t)out->n_floats, sizeof *out->m);
  out->v = cq_alloc_array_zeroed((size_t)out->n_floats, sizeof *out->v);
  out->row_steps = cq_alloc_array_zeroed((size_t)params->n_tables, sizeof *out->row_steps);
  out->partial_sums = cq_alloc_array((size_t)chunks_of(params->n_dense), sizeof *out->partial_sums);
  bool failed = !out->table_at || !out->m || !out->v || !out->row_steps || !out->partial_sums;
  for (size_t i = 0; i < params->n && !failed; i++) {
    const cq_param *p = params->items[i];
    if (!p->table || p->frozen) continue;
    out->row_steps[p->offset] = cq_alloc_array_zeroed((size_t)p->rows, sizeof(uint32_t));
    failed = !out->row_steps[p->offset];
  }
  if (!failed) return CQ_OK;
  cq_optimizer_free(out);
  return cq_fail_memory(error, "optimizer state");
}

void cq_optimizer_free(cq_optimizer *o) {
  for (int i = 0; o->row_steps && i < o->params->n_tables; i++) cq_free(o->row_steps[i]);
  cq_free(o->row_steps);
  cq_free(o->table_at);
  cq_free(o->partial_sums);
  cq_free(o->m);
  cq_free(o->v);
  *o = (cq_optimizer){0};
}

/* The numbers of step t. */
static cq_adamw adamw_of_step(const cq_optimizer *o, uint64_t t, bool table, bool decay, double scale) {
  const cq_optimizer_options *options = &o->options;
  return (cq_adamw){
      .learning_rate = options->learning_rate(options->context, t, table),
      .beta1 = options->beta1,
      .beta2 = options->beta2,
      .eps = options->eps,
      .weight_decay = decay ? options->weight_decay : 0,
      .correction1 = 1 - pow(options->beta1, (double)t),
      .correction2 = 1 - pow(options->beta2, (double)t),
      .gradient_scale = (float)scale,
  };
}

/* ---- tables ---- */

/* A row's pending updates by two optimizers are applied in their original order: the last steps of both form one turn,
 * and so on backwards. The second optimizer's steps count the turns. */
typedef struct catching_up {
  cq_optimizer *o[2]; /* in the order of a turn; the first may be NULL */
  int64_t ahead[2];   /* their steps less turns */
  const cq_param *table;
  const int32_t *ids; /* NULL: n rows from first_row on */
  int64_t first_row, n;
  cq_adamw *steps[2]; /* the numbers of turns first ... last */
  int64_t first, last;
} catching_up;

enum { ROWS_PER_ITEM = 256, STEPS_TO_REST = 16 };

/* The row that is the i-th. */
static int64_t row_at(const catching_up *c, int64_t i) {
  return c->ids ? c->ids[i] : c->first_row + i;
}

static catching_up catching_up_of(cq_optimizer *o, const cq_param *table, const int32_t *ids, int64_t n) {
  catching_up c = {.o = {o->before, o}, .table = table, .ids = ids, .n = n};
  if (o->before && table->offset >= o->before->params->n_tables) c.o[0] = NULL;
  if (c.o[0]) c.ahead[0] = (int64_t)(c.o[0]->step - o->step);
  return c;
}

/* The turn that a row has been brought to. */
static int64_t turn_of_row(const catching_up *c, int64_t row) {
  int64_t turn = (int64_t)c->o[1]->row_steps[c->table->offset][row];
  if (!c->o[0]) return turn;
  const int64_t first = (int64_t)c->o[0]->row_steps[c->table->offset][row] - c->ahead[0];
  return first < turn ? first : turn;
}

/* The steps of a row without momentum, up to the last: what adamw computes with m = 0. */
static void decay_row(const catching_up *c, int64_t row, int64_t turn) {
  const cq_optimizer *o = c->o[1];
  const int64_t n = c->table->cols;
  float *p = c->table->value + row * n, *v = o->v + o->table_at[c->table->offset] + row * n;
  for (int64_t t = turn; t <= c->last; t++) {
    const cq_adamw *step = &c->steps[1][t - c->first];
    o->kernels->scale(p, p, (float)(1.0 - step->learning_rate * step->weight_decay), n);
    o->kernels->scale(v, v, (float)step->beta2, n);
  }
  o->row_steps[c->table->offset][row] = (uint32_t)c->last;
}

static bool is_at_rest(const catching_up *c, int64_t row) {
  const int64_t n = c->table->cols;
  const float *m = c->o[1]->m + c->o[1]->table_at[c->table->offset] + row * n;
  for (int64_t i = 0; i < n; i++)
    if (m[i] != 0) return false;
  return true;
}

static void catch_up_rows(void *context, size_t item, int worker) {
  const catching_up *c = context;
  const cq_param *p = c->table;
  const int64_t first = (int64_t)item * ROWS_PER_ITEM,
                end = first + ROWS_PER_ITEM < c->n ? first + ROWS_PER_ITEM : c->n;
  (void)worker;
  for (int64_t i = first; i < end; i++) {
    const int64_t row = row_at(c, i), turn = turn_of_row(c, row);
    for (int64_t t = turn < c->first ? c->first : turn + 1; t <= c->last; t++) {
      if (!c->o[0] && t % STEPS_TO_REST == 0 && is_at_rest(c, row)) {
        decay_row(c, row, t);
        break;
      }
      for (int k = 0; k < 2; k++) {
        cq_optimizer *o = c->o[k];
        uint32_t *at_step = o ? &o->row_steps[p->offset][row] : NULL;
        if (!o || (int64_t)*at_step >= t + c->ahead[k]) continue;
        const int64_t at = o->table_at[p->offset] + row * p->cols;
        o->kernels->adamw(p->value + row * p->cols, o->m + at, o->v + at, NULL, p->cols, &c->steps[k][t - c->first]);
        *at_step = (uint32_t)(t + c->ahead[k]);
      }
    }
  }
}

/* Brings distinct rows up, in parallel. */
static void catch_up_distinct(catching_up *c, cq_context *ctx) {
  const int64_t present = (int64_t)c->o[1]->step;
  int64_t oldest = present;
  for (int64_t i = 0; i < c->n; i++) {
    const int64_t turn = turn_of_row(c, row_at(c, i));
    if (turn < oldest) oldest = turn;
  }
  /* A few hundred steps at a time, so that rows catch up in stages of bounded memory. */
  enum { STAGE = 512 };
  cq_adamw steps[2][STAGE];
  c->steps[0] = steps[0], c->steps[1] = steps[1];
  while (oldest < present) {
    c->first = oldest + 1;
    c->last = oldest + STAGE < present ? oldest + STAGE : present;
    for (int k = 0; k < 2; k++)
      for (int64_t t = c->first; t <= c->last && c->o[k]; t++)
        if (t + c->ahead[k] > 0)
          steps[k][t - c->first] = adamw_of_step(c->o[k], (uint64_t)(t + c->ahead[k]), true, c->table->decay, 0);
    cq_context_run(ctx, (size_t)((c->n + ROWS_PER_ITEM - 1) / ROWS_PER_ITEM), catch_up_rows, c);
    oldest = c->last;
  }
  c->steps[0] = c->steps[1] = NULL; /* they end here */
}

cq_status cq_optimizer_catch_up(cq_optimizer *o, const cq_param *table, const int32_t *ids, int64_t n, cq_context *ctx,
                                cq_error *error) {
  catching_up c = catching_up_of(o, table, NULL, 0);
  uint32_t *row_steps = o->row_steps[table->offset];
  int32_t *behind = cq_alloc_array((size_t)n, sizeof *behind);
  uint32_t *kept = cq_alloc_array((size_t)n, sizeof *kept);
  int64_t n_behind = 0, first, end;
  cq_table_part(&first, &end, table, o->options.part, o->options.n_parts);
  if (!behind || !kept) {
    cq_free(behind);
    cq_free(kept);
    return cq_fail_memory(error, "rows of a table");
  }
  /* Keeps each row once, since two workers must not share one: a listed row is marked by a future step. */
  for (int64_t i = 0; i < n; i++) {
    if (ids[i] < first || ids[i] >= end) continue;
    if (row_steps[ids[i]] > o->step || turn_of_row(&c, ids[i]) >= (int64_t)o->step) continue;
    kept[n_behind] = row_steps[ids[i]];
    behind[n_behind++] = ids[i];
    row_steps[ids[i]] = UINT32_MAX;
  }
  for (int64_t i = 0; i < n_behind; i++) row_steps[behind[i]] = kept[i];
  c.ids = behind, c.n = n_behind;
  catch_up_distinct(&c, ctx);
  cq_free(behind);
  cq_free(kept);
  return CQ_OK;
}

void cq_optimizer_flush(cq_optimizer *o, cq_context *ctx) {
  for (size_t i = 0; i < o->params->n; i++) {
    const cq_param *p = o->params->items[i];
    if (!p->table || p->frozen) continue;
    int64_t first, end;
    cq_table_part(&first, &end, p, o->options.part, o->options.n_parts);
    catching_up c = catching_up_of(o, p, NULL, end - first);
    c.first_row = first;
    catch_up_distinct(&c, ctx);
  }
}

/* ---- reduction ---- */

typedef struct reduction {
  cq_gradients *shards;
  int n_shards;
  const cq_kernels *kernels;
} reduction;

void cq_gradients_reduce_dense(cq_gradients *shards, int n_shards, int64_t first, int64_t n,
                               const cq_kernels *kernels) {
  for (int step = 1; step < n_shards; step *= 2)
    for (int i = 0; i + step < n_shards; i += 2 * step)
      kernels->add(shards[i].dense + first, shards[i + step].dense + first, n);
}

cq_status cq_gradients_reduce_tables(cq_gradients *shards, int n_shards, const cq_kernels *kernels, cq_error *error) {
  for (int step = 1; step < n_shards; step *= 2)
    for (int i = 0; i + step < n_shards; i += 2 * step) {
      cq_status status = cq_gradients_add_tables(&shards[i], &shards[i + step], kernels, error);
      if (status) return status;
    }
  return CQ_OK;
}

static void reduce_chunk(void *context, size_t item, int worker) {
  const reduction *r = context;
  const int64_t first = (int64_t)item * CHUNK, left = r->shards[0].n_dense - first;
  (void)worker;
  cq_gradients_reduce_dense(r->shards, r->n_shards, first, left < CHUNK ? left : CHUNK, r->kernels);
}

cq_status cq_gradients_reduce(cq_gradients *shards, int n_shards, const cq_kernels *kernels, cq_context *ctx,
                              cq_error *error) {
  reduction r = {shards, n_shards, kernels};
  cq_context_run(ctx, (size_t)chunks_of(shards[0].n_dense), reduce_chunk, &r);
  return cq_gradients_reduce_tables(shards, n_shards, kernels, error);
}

/* ---- update ---- */

typedef struct updating {
  cq_optimizer *o;
  const cq_gradients *gradients;
  double scale;
} updating;

static void square_chunk(void *context, size_t item, int worker) {
  const updating *u = context;
  const int64_t first = (int64_t)item * CHUNK, left = u->gradients->n_dense - first;
  (void)worker;
  u->o->partial_sums[item] = u->o->kernels->sum_squares(u->gradients->dense + first, left < CHUNK ? left : CHUNK);
}

static double gradient_norm(updating *u, cq_context *ctx) {
  const size_t n_chunks = (size_t)chunks_of(u->gradients->n_dense);
  double sum = 0;
  cq_context_run(ctx, n_chunks, square_chunk, u);
  for (size_t i = 0; i < n_chunks; i++) sum += u->o->partial_sums[i];
  for (int i = 0; i < u->gradients->n_tables; i++) {
    const cq_table_gradient *t = &u->gradients->tables[i];
    for (size_t s = 0; s < t->n; s++) sum += u->o->kernels->sum_squares(t->rows + (int64_t)s * t->dim, t->dim);
  }
  return sqrt(sum) * u->scale;
}

static void update_param(void *context, size_t item, int worker) {
  const updating *u = context;
  cq_optimizer *o = u->o;
  const cq_param *p = o->params->items[item];
  if (p->frozen) return;
  const cq_adamw step = adamw_of_step(o, o->step, p->table, p->decay, u->scale);
  (void)worker;
  if (!p->table) {
    const int64_t at = p->offset;
    o->kernels->adamw(p->value, o->m + at, o->v + at, u->gradients->dense + at, cq_param_floats(p), &step);
    return;
  }
  const cq_table_gradient *t = &u->gradients->tables[p->offset];
  int64_t first, end;
  cq_table_part(&first, &end, p, o->options.part, o->options.n_parts);
  for (size_t s = 0; s < t->n; s++) {
    if (t->row_of[s] < first || t->row_of[s] >= end) continue;
    float *value = p->value + (int64_t)t->row_of[s] * p->cols;
    const int64_t at = o->table_at[p->offset] + t->row_of[s] * p->cols;
    o->kernels->adamw(value, o->m + at, o->v + at, t->rows + (int64_t)s * t->dim, p->cols, &step);
    o->row_steps[p->offset][t->row_of[s]] = (uint32_t)o->step;
  }
}

void cq_optimizer_update(cq_optimizer *o, const cq_gradients *gradients, double scale, cq_context *ctx, double *norm) {
  updating u = {.o = o, .gradients = gradients, .scale = scale};
  const double length = gradient_norm(&u, ctx);
  if (norm) *norm = length;
  /* As torch.nn.utils.clip_grad_norm_ has it. */
  if (o->options.clip_norm > 0) {
    const double factor = o->options.clip_norm / (length + 1e-6);
    if (factor < 1) u.scale *= factor;
  }
  o->step++;
  cq_context_run(ctx, o->params->n, update_param, &u);
}
