/* From gradients to weights: the tree of sums, clipping, AdamW, and the state that a checkpoint keeps. See update.h. */
#include "train/update.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>

/* --- making --- */

cq_status cq_update_new(cq_update *out, const char *name, cq_params *params, const cq_kernels *kernels, int n_shards,
                        const cq_exchange *exchange, const cq_optimizer_options *options, cq_pack pack, void *owner,
                        cq_error *error) {
  int first;
  *out = (cq_update){.name = name,
                     .exchange = exchange ? exchange : &cq_exchange_local,
                     .pack = pack,
                     .owner = owner,
                     .n_gradients = 1};
  const int n_own = cq_exchange_shards(&first, out->exchange, n_shards);
  if (n_own > 1) out->n_gradients = n_own; /* a rank without a shard adds nothing to the sum */
  out->gradients = cq_alloc_array_zeroed((size_t)out->n_gradients, sizeof *out->gradients);
  cq_status status = out->gradients ? CQ_OK : cq_fail_memory(error, "gradients");
  for (int i = 0; !status && i < out->n_gradients; i++) status = cq_gradients_new(&out->gradients[i], params, error);
  return status ? status : cq_optimizer_new(&out->optimizer, params, kernels, options, error);
}

cq_status cq_update_new_before(cq_update *out, const char *name, cq_update *of, cq_params *first,
                               const cq_optimizer_options *options, cq_pack pack, void *owner, cq_error *error) {
  *out = (cq_update){.name = name,
                     .n_gradients = of->n_gradients,
                     .is_view = true,
                     .exchange = of->exchange,
                     .pack = pack,
                     .owner = owner};
  out->gradients = cq_alloc_array((size_t)out->n_gradients, sizeof *out->gradients);
  if (!out->gradients) return cq_fail_memory(error, "gradients");
  for (int i = 0; i < out->n_gradients; i++) out->gradients[i] = cq_gradients_first(&of->gradients[i], first);
  cq_status status = cq_optimizer_new(&out->optimizer, first, of->optimizer.kernels, options, error);
  if (!status) of->optimizer.before = &out->optimizer;
  return status;
}

void cq_update_free(cq_update *u) {
  if (u->optimizer.params) cq_optimizer_free(&u->optimizer);
  for (int i = 0; u->gradients && !u->is_view && i < u->n_gradients; i++) cq_gradients_free(&u->gradients[i]);
  cq_free(u->gradients);
  cq_overlap_free(&u->overlap);
  *u = (cq_update){0};
}

cq_status cq_update_overlap(cq_update *u, cq_error *error) {
  assert(!u->is_view && !u->optimizer.before);
  if (!u->exchange->begin_dense) return CQ_OK;
  return cq_overlap_new(&u->overlap, u->gradients, u->n_gradients, u->optimizer.kernels, u->exchange, error);
}

/* --- updating --- */

static void clear_gradients(void *context, size_t item, int worker) {
  cq_gradients *gradients = context;
  (void)worker;
  cq_gradients_clear(&gradients[item]);
}

void cq_update_clear(cq_update *u, cq_context *ctx) {
  cq_overlap_abandon(&u->overlap);
  cq_context_run(ctx, (size_t)u->n_gradients, clear_gradients, u->gradients);
}

static cq_status sum_gradients(cq_update *u, cq_context *ctx, cq_error *error) {
  const cq_exchange *e = u->exchange;
  const cq_kernels *kernels = u->optimizer.kernels;
  cq_gradients *sum = &u->gradients[0];
  cq_status status;
  if (u->overlap.is_on) {
    status = cq_overlap_finish(&u->overlap, error);
    if (!status) status = cq_gradients_reduce_tables(u->gradients, u->n_gradients, kernels, error);
  } else {
    status = cq_gradients_reduce(u->gradients, u->n_gradients, kernels, ctx, error);
    if (!status) status = e->sum_dense(e->context, sum->dense, sum->n_dense, error);
  }
  if (!status) status = e->sum_rows(e->context, sum, error);
  u->n_floats = sum->n_dense;
  for (int i = 0; i < sum->n_tables; i++) u->n_floats += (int64_t)sum->tables[i].n * sum->tables[i].dim;
  return status;
}

cq_status cq_update_apply(double *norm, cq_update *u, double scale, cq_context *ctx, cq_error *error) {
  *norm = 0;
  cq_status status = sum_gradients(u, ctx, error);
  if (!status) cq_optimizer_update(&u->optimizer, &u->gradients[0], scale, ctx, norm);
  cq_update_clear(u, ctx);
  if (!status && !isfinite(*norm))
    status =
        cq_fail(error, CQ_ERR_LIMIT, "the length of the %s%sgradient is %g", u->name, *u->name ? "'s " : "", *norm);
  return status ? status : u->pack(u->owner, ctx, error);
}

/* --- state --- */

/* Writes all sections to w or, if w is NULL, reads them from c. The last sections have the step up to which each table
 * row is updated. */
static cq_status pass_sections(const cq_update *u, uint64_t *step, cq_checkpoint_writer *w, const cq_checkpoint *c,
                               cq_error *error) {
  const cq_optimizer *o = &u->optimizer;
  const size_t n_bytes = (size_t)o->n_floats * sizeof(float);
  const struct {
    const char *name;
    void *bytes;
    size_t n;
  } sections[] = {{"parameters", o->params->own, n_bytes},
                  {"adam.m", o->m, n_bytes},
                  {"adam.v", o->v, n_bytes},
                  {"step", step, sizeof *step}};
  const char *dot = *u->name ? "." : "";
  cq_status status = CQ_OK;
  char name[64];
  for (size_t i = u->is_view ? 1 : 0; !status && i < sizeof sections / sizeof *sections; i++) {
    snprintf(name, sizeof name, "%s%s%s", u->name, dot, sections[i].name);
    status = cq_checkpoint_pass(w, c, name, sections[i].bytes, sections[i].n, error);
  }
  for (size_t i = 0; !status && i < o->params->n; i++) {
    const cq_param *p = o->params->items[i];
    if (!p->table || p->frozen) continue;
    snprintf(name, sizeof name, "%s%stable.steps.%lld", u->name, dot, (long long)p->offset);
    status = cq_checkpoint_pass(w, c, name, o->row_steps[p->offset], (size_t)p->rows * sizeof(uint32_t), error);
  }
  return status;
}

cq_status cq_update_save(const cq_update *u, cq_checkpoint_writer *w, cq_error *error) {
  uint64_t step = u->optimizer.step;
  return pass_sections(u, &step, w, NULL, error);
}

cq_status cq_update_restore(cq_update *u, const cq_checkpoint *c, cq_context *ctx, cq_error *error) {
  cq_status status = pass_sections(u, &u->optimizer.step, NULL, c, error);
  return status ? status : u->pack(u->owner, ctx, error);
}
