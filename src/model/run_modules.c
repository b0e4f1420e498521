/* Runs a batch through all modules, forward and backward, and packs their weights in the kernels' layout. */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "model/encoder.h"

/* ---- one batch through all modules ---- */

cq_status cq_encoder_forward(cq_worker *worker, const cq_encoder *encoder, const cq_batch *batch, cq_tensor *y,
                             cq_tape *tape, cq_error *error) {
  return cq_encoder_forward_some(worker, encoder, encoder->n_modules, batch, y, tape, error);
}

cq_status cq_encoder_forward_some(cq_worker *worker, const cq_encoder *encoder, size_t n_modules, const cq_batch *batch,
                                  cq_tensor *y, cq_tape *tape, cq_error *error) {
  cq_tensor x = {0};
  for (size_t i = 0; i < n_modules; i++) {
    const cq_module *module = encoder->modules[i];
    if (tape) tape->inputs[i] = x;
    cq_status status = module->type->forward(worker, module, batch, x, y, tape ? &tape->saved[i] : NULL, error);
    if (status) return status;
    x = *y;
  }
  return CQ_OK;
}

/* Signals that the module's gradients are complete. */
static void pass_module(const cq_module *module, const cq_gradients *gradients) {
  for (size_t i = 0; i < module->n_params; i++) { /* in file order: the first has the lowest offset */
    const cq_param *p = &module->params[i];
    if (p->frozen || p->table) continue;
    cq_gradients_pass(gradients, &p, 1);
    return;
  }
}

cq_status cq_encoder_backward(cq_worker *worker, const cq_encoder *encoder, const cq_batch *batch, cq_tensor dy,
                              const cq_tape *tape, cq_gradients *gradients, cq_error *error) {
  for (size_t i = encoder->n_modules; i-- > 0;) {
    const cq_module *module = encoder->modules[i];
    cq_tensor dx = {0};
    if (i > 0) {
      dx = cq_workspace_f32(&worker->workspace, tape->inputs[i].rows, tape->inputs[i].cols);
      if (!dx.data) return cq_fail_memory(error, "gradient of a module's input");
    }
    cq_status status =
        module->type->backward(worker, module, batch, tape->inputs[i], dy, &dx, tape->saved[i], gradients, error);
    if (status) return status;
    pass_module(module, gradients);
    dy = dx;
  }
  return CQ_OK;
}

/* ---- weights ---- */

/* All parts of all modules, numbered consecutively. */
typedef struct packing {
  cq_encoder *encoder;
  cq_packing how;
} packing;

static cq_status pack_part(void *context, size_t item, int worker, cq_error *error) {
  (void)worker;
  packing *p = context;
  size_t part = item, m = 0;
  while (part >= p->encoder->modules[m]->n_pack_parts) part -= p->encoder->modules[m++]->n_pack_parts;
  cq_module *module = p->encoder->modules[m];
  return module->type->pack(module, part, &p->how, error);
}

cq_status cq_encoder_pack(cq_encoder *encoder, cq_context *ctx, bool training, cq_error *error) {
  packing p = {.encoder = encoder,
               .how = {encoder->kernels,
                       training && encoder->precision == CQ_PRECISION_INT8 ? CQ_PRECISION_F32 : encoder->precision,
                       training}};
  size_t n_parts = 0;
  for (size_t i = 0; i < encoder->n_modules; i++) n_parts += encoder->modules[i]->n_pack_parts;
  return cq_context_try(ctx, n_parts, pack_part, &p, error);
}

void cq_encoder_freeze_body(cq_encoder *encoder) {
  assert(!encoder->params.own);
  for (size_t i = 0; i < encoder->params.n; i++) encoder->params.items[i]->frozen = !encoder->params.items[i]->table;
  cq_params_index(&encoder->params);
}

cq_status cq_encoder_make_trainable(cq_encoder *encoder, cq_context *ctx, cq_error *error) {
  for (size_t i = 0; i < encoder->n_modules; i++) {
    const cq_module *m = encoder->modules[i];
    if (m->not_trained || !m->type->backward)
      return cq_fail_file(error, CQ_ERR_UNSUPPORTED, encoder->directory ? encoder->directory : "the model",
                          "training is not supported for %s; encoding is",
                          m->not_trained ? m->not_trained : m->type->name);
  }
  if (encoder->precision == CQ_PRECISION_INT8) encoder->precision = CQ_PRECISION_F32;
  cq_status status = cq_params_own(&encoder->params, error);
  return status ? status : cq_encoder_pack(encoder, ctx, true, error);
}
