/* A training step of an encoder: shards forward, loss, backward, sum over ranks, update. See trainer.h. */
#include "train/trainer.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "train/shards.h"
#include "train/table_parts.h"
#include "train/update.h"

#include <math.h>
#include <string.h>

/* A block of a shard, for losses per vector: its activations are kept from forward to backward, so its size bounds
 * memory; a weight's gradient is accessed once per block, so it should not be small. */
#define BLOCK_TOKENS 1024

struct cq_trainer {
  cq_encoder *encoder;
  cq_context *ctx;
  cq_trainer_options options;
  cq_update update;
  cq_table_parts tables;
  cq_shards shards;
  cq_worker *workers; /* [n_workers] for blocks; a joint step's activations are in the shards' own workers */
  int n_workers;
  uint64_t n_batches;
  cq_sequences batch;          /* the current one */
  const float *const *targets; /* [n] */
};

static cq_status pack_encoder(void *owner, cq_context *ctx, cq_error *error) {
  return cq_encoder_pack(owner, ctx, true, error);
}

cq_status cq_trainer_new(cq_trainer **out, cq_encoder *encoder, cq_context *ctx, const cq_trainer_options *options,
                         cq_error *error) {
  *out = NULL;
  if (options->accumulate < 1)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%d batches to accumulate, expected at least 1", options->accumulate);
  const bool shares_tables = options->shard_tables && options->exchange && options->exchange->share;
  if (shares_tables && options->exchange->n_ranks > CQ_MAX_TABLE_PARTS)
    return cq_fail(error, CQ_ERR_ARGUMENT, "tables can be divided among %d ranks, not %d", CQ_MAX_TABLE_PARTS,
                   options->exchange->n_ranks);
  cq_trainer *t = cq_alloc_zeroed(sizeof *t);
  if (!t) return cq_fail_memory(error, "trainer");
  t->encoder = encoder;
  t->ctx = ctx;
  t->options = *options;
  t->n_workers = cq_context_n_threads(ctx);
  t->workers = cq_alloc_array_zeroed((size_t)t->n_workers, sizeof *t->workers);
  const cq_encode_options defaults = cq_encode_default_options();
  cq_status status = t->workers ? CQ_OK : cq_fail_memory(error, "trainer");
  if (!status) status = cq_shards_new(&t->shards, options->n_shards, 1, encoder->kernels, options->exchange, error);
  /* The student's default prompt: it is trained in the way it will be used. */
  cq_text_memory memory = {0};
  if (!status)
    status = cq_encoder_prompt(&t->batch.prompt, &t->batch.n_prompt_skip, encoder, &defaults, &memory, error);
  cq_free(memory.ids.ids);
  if (!status) status = cq_encoder_make_trainable(encoder, ctx, error);
  cq_optimizer_options optimizer = options->optimizer;
  if (shares_tables) optimizer.part = options->exchange->rank, optimizer.n_parts = options->exchange->n_ranks;
  if (!status)
    status = cq_update_new(&t->update, "", &encoder->params, encoder->kernels, options->n_shards, options->exchange,
                           &optimizer, pack_encoder, encoder, error);
  if (!status && shares_tables) {
    t->tables = (cq_table_parts){.optimizer = &t->update.optimizer, .exchange = options->exchange};
    cq_table_parts_give_up(&t->tables, true);
  }
  if (!status) status = cq_update_overlap(&t->update, error);
  if (status) {
    cq_trainer_free(t);
    return status;
  }
  for (int w = 0; w < t->n_workers; w++) t->workers[w].kernels = encoder->kernels;
  *out = t;
  return CQ_OK;
}

void cq_trainer_free(cq_trainer *t) {
  if (!t) return;
  cq_table_parts_free(&t->tables);
  cq_update_free(&t->update);
  cq_shards_free(&t->shards);
  for (int w = 0; t->workers && w < t->n_workers; w++) cq_workspace_free(&t->workers[w].workspace);
  cq_free(t->workers);
  cq_sequences_free(&t->batch);
  cq_free(t);
}

void cq_trainer_drop_pieces(cq_trainer *t, double share, size_t n) {
  t->batch.piece_dropout = share, t->batch.n_dropout = n;
}

uint64_t cq_trainer_batches(const cq_trainer *t) {
  return t->n_batches;
}

uint64_t cq_trainer_updates(const cq_trainer *t) {
  return t->update.optimizer.step;
}

/* Takes some of the batch's sentences; with dropout, each has a key for its position in the run. */
static cq_status take_block(cq_batch *out, const cq_trainer *t, cq_worker *worker, size_t first, size_t n,
                            cq_error *error) {
  const uint64_t of_batch = cq_mix(cq_mix(t->options.seed + 1) ^ cq_mix(t->n_batches + 1));
  uint64_t *keys = NULL;
  cq_status status = cq_sequences_batch(out, t->options.dropout ? &keys : NULL, &t->batch, first, n, worker, error);
  for (size_t i = 0; !status && keys && i < n; i++) keys[i] = of_batch + first + i;
  return status;
}

static cq_gradients *trainer_gradients(const cq_trainer *t, const cq_shard *s) {
  return cq_update_gradients(&t->update, s->number, t->shards.first_own);
}

/* The number of a shard among this rank's. */
static int own_number(const cq_trainer *t, const cq_shard *s) {
  return s->number - t->shards.first_own;
}

/* ---- each vector by itself: forward and backward block by block ---- */

static cq_status compute_gradients(cq_trainer *t, cq_worker *worker, cq_shard *s, size_t first, size_t n) {
  const cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_batch batch;
  cq_tape tape;
  cq_tensor y;
  cq_status status = take_block(&batch, t, worker, first, n, &s->error);
  if (!status) status = cq_encoder_forward(worker, t->encoder, &batch, &y, &tape, &s->error);
  if (!status) {
    cq_tensor dy = cq_workspace_f32(&worker->workspace, y.rows, y.cols);
    if (!dy.data) status = cq_fail_memory(&s->error, "gradient of the sentence vectors");
    /* The loss is the mean over the whole batch, so its gradient is 2 / (sentences * dim) times the difference. */
    const float factor = (float)(2.0 / ((double)t->batch.n * (double)y.cols));
    for (size_t i = 0; !status && i < n; i++)
      s->sums[0] += worker->kernels->squared_error(cq_f32(cq_tensor_rows(dy, (int64_t)i, 1)),
                                                   cq_f32(cq_tensor_rows(y, (int64_t)i, 1)), t->targets[first + i],
                                                   factor, y.cols);
    if (!status)
      status = cq_encoder_backward(worker, t->encoder, &batch, dy, &tape, trainer_gradients(t, s), &s->error);
  }
  cq_workspace_release(&worker->workspace, mark);
  return status;
}

static cq_status compute_shard(void *context, cq_shard *s, int worker) {
  cq_trainer *t = context;
  const int64_t *starts = t->batch.starts;
  cq_status status = CQ_OK;
  for (size_t i = s->first, end = s->first + s->n; !status && i < end;) {
    size_t n = 1;
    while (i + n < end && starts[i + n + 1] - starts[i] <= BLOCK_TOKENS) n++;
    if (i + n == end) cq_overlap_watch(&t->update.overlap, own_number(t, s));
    status = compute_gradients(t, &t->workers[worker], s, i, n);
    i += n;
  }
  if (!status) cq_overlap_pass(&t->update.overlap, own_number(t, s));
  return status;
}

/* ---- vectors together: all forward, the loss, all backward ---- */

static cq_status joint_forward_shard(void *context, cq_shard *s, int worker) {
  cq_trainer *t = context;
  const size_t dim = (size_t)t->batch.dim;
  cq_tensor y;
  (void)worker;
  cq_status status = take_block(&s->batch, t, &s->worker, s->first, s->n, &s->error);
  if (!status) status = cq_encoder_forward(&s->worker, t->encoder, &s->batch, &y, &s->tape, &s->error);
  for (size_t i = 0; !status && i < s->n; i++)
    memcpy(t->batch.vectors + (s->first + i) * dim, cq_f32(cq_tensor_rows(y, (int64_t)i, 1)), dim * sizeof(float));
  return status;
}

static cq_status joint_backward_shard(void *context, cq_shard *s, int worker) {
  cq_trainer *t = context;
  const int64_t dim = t->batch.dim;
  (void)worker;
  const cq_tensor dy = cq_tensor_f32(t->batch.gradient + (int64_t)s->first * dim, (int64_t)s->n, dim);
  cq_overlap_watch(&t->update.overlap, own_number(t, s));
  const cq_status status =
      cq_encoder_backward(&s->worker, t->encoder, &s->batch, dy, &s->tape, trainer_gradients(t, s), &s->error);
  if (!status) cq_overlap_pass(&t->update.overlap, own_number(t, s));
  return status;
}

/* Before the backward pass that completes an accumulation: after this, sums over all ranks may begin. */
static void begin_sums(cq_trainer *t) {
  cq_overlap *o = &t->update.overlap;
  if (!o->exchange || (t->n_batches + 1) % (uint64_t)t->options.accumulate != 0) return;
  cq_overlap_start(o);
  for (int i = 0; i < t->shards.n_own; i++)
    if (t->shards.items[t->shards.first_own + i].n == 0) cq_overlap_pass(o, i);
}

static cq_status compute_jointly(cq_trainer *t, cq_joint_loss loss, void *context, double *value, cq_error *error) {
  cq_sequences *b = &t->batch;
  memset(b->gradient, 0, b->n * (size_t)b->dim * sizeof *b->gradient);
  cq_status status = cq_shards_run(&t->shards, 0, joint_forward_shard, t, t->ctx, error);
  if (!status) status = cq_shards_share(&t->shards, 0, b->vectors, b->dim, error);
  if (!status) status = loss(context, value, b->gradient, b->vectors, b->n, error);
  if (!status) begin_sums(t);
  return status ? status : cq_shards_run(&t->shards, 0, joint_backward_shard, t, t->ctx, error);
}

/* ---- a step ---- */

static cq_status begin_batch(cq_trainer *t, const cq_slice *texts, size_t n, cq_step_report *report, cq_error *error) {
  *report = (cq_step_report){0};
  if (n == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "an empty batch");
  t->batch.dropout_key = cq_mix(cq_mix(t->options.seed + 2) ^ cq_mix(t->n_batches + 1));
  cq_status status = cq_sequences_fill(&t->batch, t->encoder, texts, n, 0, &report->n_truncated, error);
  report->n_sentences = n;
  report->n_tokens = t->batch.ids.n;
  for (size_t i = 0; !status && i < t->encoder->params.n; i++) {
    const cq_param *p = t->encoder->params.items[i];
    if (!p->table || p->frozen) continue;
    status = cq_optimizer_catch_up(&t->update.optimizer, p, t->batch.ids.ids, (int64_t)t->batch.ids.n, t->ctx, error);
    if (!status) status = cq_table_parts_fetch(&t->tables, p, t->batch.ids.ids, t->batch.ids.n, error);
  }
  if (!status) cq_shards_cut(&t->shards, 0, &t->batch);
  return status;
}

static cq_status end_batch(cq_trainer *t, cq_status status, cq_step_report *report, cq_error *error) {
  if (!status && !isfinite(report->loss)) status = cq_fail(error, CQ_ERR_LIMIT, "the loss is %g", report->loss);
  if (status) {
    cq_update_clear(&t->update, t->ctx);
    return status;
  }
  t->n_batches++;
  if (t->n_batches % (uint64_t)t->options.accumulate != 0) return CQ_OK;
  report->updated = true;
  status = cq_update_apply(&report->gradient_norm, &t->update, 1.0 / t->options.accumulate, t->ctx, error);
  report->n_gradients = t->update.n_floats;
  cq_table_parts_give_up(&t->tables, false);
  return status;
}

cq_status cq_trainer_step(cq_trainer *t, const cq_slice *texts, const float *const *targets, size_t n,
                          cq_step_report *report, cq_error *error) {
  double sums[CQ_SHARD_SUMS];
  cq_status status = begin_batch(t, texts, n, report, error);
  t->targets = targets;
  if (!status) begin_sums(t);
  if (!status) status = cq_shards_run(&t->shards, 0, compute_shard, t, t->ctx, error);
  if (!status) cq_overlap_pass_all(&t->update.overlap);
  if (!status) status = cq_shards_sum(sums, &t->shards, 0, error);
  if (!status) report->loss = sums[0] / ((double)n * (double)t->batch.dim);
  return end_batch(t, status, report, error);
}

cq_status cq_trainer_step_jointly(cq_trainer *t, const cq_slice *texts, size_t n, cq_joint_loss loss, void *context,
                                  cq_step_report *report, cq_error *error) {
  cq_status status = begin_batch(t, texts, n, report, error);
  if (!status) status = compute_jointly(t, loss, context, &report->loss, error);
  if (!status) cq_overlap_pass_all(&t->update.overlap);
  return end_batch(t, status, report, error);
}

cq_status cq_trainer_settle(cq_trainer *t, cq_error *error) {
  cq_optimizer_flush(&t->update.optimizer, t->ctx);
  return cq_table_parts_fetch_all(&t->tables, error);
}

cq_status cq_trainer_collect(cq_trainer *t, cq_error *error) {
  return cq_table_parts_collect(&t->tables, error);
}

/* ---- state ---- */

cq_status cq_trainer_save(cq_trainer *t, cq_checkpoint_writer *w, cq_error *error) {
  assert(t->n_batches % (uint64_t)t->options.accumulate == 0);
  cq_status status = cq_checkpoint_writer_section(w, "batches", &t->n_batches, sizeof t->n_batches, error);
  return status ? status : cq_update_save(&t->update, w, error);
}

cq_status cq_trainer_restore(cq_trainer *t, const cq_checkpoint *c, cq_error *error) {
  cq_status status = cq_checkpoint_read(&t->n_batches, sizeof t->n_batches, c, "batches", error);
  if (!status) status = cq_update_restore(&t->update, c, t->ctx, error);
  cq_table_parts_give_up(&t->tables, true);
  return status;
}
