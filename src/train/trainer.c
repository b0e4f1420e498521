#include "train/trainer.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "train/optimizer_state.h"

#include <stdio.h>
#include <string.h>

/* A block of a shard whose vectors have losses of their own: its activations are kept from forward to backward, so it
 * bounds memory; a weight's gradient is touched once a block, so it should not be small. */
#define BLOCK_TOKENS 1024

/* A range of the batch's sentences. */
typedef struct shard {
  size_t first, n;
  double loss;
  cq_lane lane; /* of a joint step, as what follows: from forward to backward, whoever computes them */
  cq_batch batch;
  cq_tape tape;
  cq_status status;
  cq_error error;
} shard;

struct cq_trainer {
  cq_encoder *encoder;
  cq_context *ctx;
  cq_trainer_options options;
  cq_optimizer optimizer;
  cq_gradients *gradients; /* [n_shards] */
  shard *shards;           /* [n_shards] */
  cq_lane *lanes;          /* [n_workers] */
  int n_workers;
  uint64_t n_batches;
  cq_slice prompt; /* the student's default prompt: trained as it will be used */
  int32_t n_left_out;
  cq_builder with_prompt;

  /* The batch at hand. */
  const cq_example *examples; /* NULL: joint */
  const cq_slice *texts;      /* joint */
  size_t n, capacity;
  cq_ids ids;
  int64_t *starts; /* [n + 1] */
  int32_t *skip;   /* [n] all n_left_out */
  uint64_t *keys;  /* [n] */
  /* A joint step's. */
  float *vectors, *vector_gradients; /* [n, dim] */
  size_t vector_capacity;
};

cq_status cq_trainer_new(cq_trainer **out, cq_encoder *encoder, cq_context *ctx, const cq_trainer_options *options,
                         cq_error *error) {
  *out = NULL;
  if (options->n_shards < 1 || options->n_shards > CQ_MAX_SHARDS)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%d shards, expected 1 to %d", options->n_shards, CQ_MAX_SHARDS);
  if (options->accumulate < 1)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%d batches to accumulate, expected at least 1", options->accumulate);
  cq_trainer *t = cq_alloc_zeroed(sizeof *t);
  if (!t) return cq_fail_memory(error, "trainer");
  t->encoder = encoder;
  t->ctx = ctx;
  t->options = *options;
  const size_t n_shards = (size_t)options->n_shards;
  t->gradients = cq_alloc_array_zeroed(n_shards, sizeof *t->gradients);
  t->shards = cq_alloc_array_zeroed(n_shards, sizeof *t->shards);
  t->n_workers = cq_context_n_threads(ctx);
  t->lanes = cq_alloc_array_zeroed((size_t)t->n_workers, sizeof *t->lanes);
  cq_status status = t->gradients && t->shards && t->lanes ? CQ_OK : cq_fail_memory(error, "trainer");
  const cq_encode_options defaults = cq_encode_default_options();
  if (!status) status = cq_encoder_prompt(&t->prompt, &t->n_left_out, encoder, &defaults, error);
  if (!status) status = cq_encoder_make_trainable(encoder, ctx, error);
  for (size_t i = 0; !status && i < n_shards; i++) status = cq_gradients_new(&t->gradients[i], &encoder->params, error);
  if (!status) status = cq_optimizer_new(&t->optimizer, &encoder->params, encoder->kernels, &options->optimizer, error);
  if (status) {
    cq_trainer_free(t);
    return status;
  }
  for (size_t i = 0; i < n_shards; i++) t->shards[i].lane.kernels = encoder->kernels;
  for (int w = 0; w < t->n_workers; w++) t->lanes[w].kernels = encoder->kernels;
  *out = t;
  return CQ_OK;
}

void cq_trainer_free(cq_trainer *t) {
  if (!t) return;
  if (t->optimizer.params) cq_optimizer_free(&t->optimizer);
  for (int i = 0; t->gradients && i < t->options.n_shards; i++) cq_gradients_free(&t->gradients[i]);
  for (int i = 0; t->shards && i < t->options.n_shards; i++) cq_workspace_free(&t->shards[i].lane.workspace);
  for (int w = 0; t->lanes && w < t->n_workers; w++) cq_workspace_free(&t->lanes[w].workspace);
  cq_free(t->gradients);
  cq_free(t->shards);
  cq_free(t->lanes);
  cq_free(t->ids.ids);
  cq_free(t->starts);
  cq_free(t->keys);
  cq_free(t->skip);
  cq_builder_free(&t->with_prompt);
  cq_free(t->vectors);
  cq_free(t->vector_gradients);
  cq_free(t);
}

uint64_t cq_trainer_batches(const cq_trainer *t) {
  return t->n_batches;
}

uint64_t cq_trainer_updates(const cq_trainer *t) {
  return t->optimizer.step;
}

/* ---- laying out a batch ---- */

static cq_status tokenize(cq_trainer *t, cq_step_report *report, cq_error *error) {
  if (t->n + 1 > t->capacity) {
    cq_free(t->starts);
    cq_free(t->keys);
    cq_free(t->skip);
    t->capacity = t->n + 1;
    t->starts = cq_alloc_array(t->capacity, sizeof *t->starts);
    t->keys = cq_alloc_array(t->capacity, sizeof *t->keys);
    t->skip = cq_alloc_array(t->capacity, sizeof *t->skip);
    if (!t->starts || !t->keys || !t->skip) {
      t->capacity = 0;
      return cq_fail_memory(error, "batch");
    }
  }
  t->ids.n = 0;
  t->starts[0] = 0;
  for (size_t i = 0; i < t->n; i++) {
    bool truncated = false;
    cq_slice text = t->examples ? t->examples[i].text : t->texts[i];
    if (t->prompt.n) {
      cq_builder_clear(&t->with_prompt);
      cq_builder_bytes(&t->with_prompt, t->prompt.data, t->prompt.n);
      cq_builder_bytes(&t->with_prompt, text.data, text.n);
      if (t->with_prompt.failed) return cq_fail_memory(error, "prompt");
      text = (cq_slice){t->with_prompt.data, t->with_prompt.n};
    }
    cq_status status = cq_encoder_tokenize(&t->ids, t->encoder, text, &truncated, error);
    if (status) return status;
    t->skip[i] = t->n_left_out;
    t->starts[i + 1] = (int64_t)t->ids.n;
    t->keys[i] = cq_mix(cq_mix(t->options.seed + 1) ^ cq_mix(t->n_batches + 1)) + i;
    report->n_truncated += truncated;
  }
  report->n_sentences += t->n;
  report->n_tokens += t->ids.n;
  return CQ_OK;
}

/* Shard k begins at the first sentence at or behind k / n_shards of the tokens. */
static void cut_into_shards(cq_trainer *t) {
  const int64_t n_tokens = (int64_t)t->ids.n, n_shards = t->options.n_shards;
  size_t at = 0;
  for (int64_t k = 0; k < n_shards; k++) {
    shard *s = &t->shards[k];
    s->first = at;
    while (at < t->n && (k + 1 == n_shards || t->starts[at] < n_tokens * (k + 1) / n_shards)) at++;
    s->n = at - s->first;
    s->loss = 0, s->status = CQ_OK;
  }
}

/* n sentences as a batch, whose starts lie in the lane's workspace. */
static cq_status take(cq_batch *out, const cq_trainer *t, cq_lane *lane, size_t first, size_t n, cq_error *error) {
  int64_t *starts = cq_workspace_take(&lane->workspace, (n + 1) * sizeof *starts);
  if (!starts) return cq_fail_memory(error, "batch");
  for (size_t i = 0; i <= n; i++) starts[i] = t->starts[first + i] - t->starts[first];
  *out = (cq_batch){.ids = t->ids.ids + t->starts[first],
                    .starts = starts,
                    .n_seqs = (int64_t)n,
                    .skip = t->n_left_out ? t->skip + first : NULL,
                    .keys = t->options.dropout ? t->keys + first : NULL};
  return CQ_OK;
}

/* ---- vectors by themselves: forward and backward block by block ---- */

static cq_status compute_block(cq_trainer *t, cq_lane *lane, shard *s, cq_gradients *gradients, size_t first,
                               size_t n) {
  const cq_mark mark = cq_workspace_mark(&lane->workspace);
  cq_batch batch;
  cq_tape tape;
  cq_tensor y;
  cq_status status = take(&batch, t, lane, first, n, &s->error);
  if (!status) status = cq_encoder_forward(lane, t->encoder, &batch, &y, &tape, &s->error);
  if (!status) {
    cq_tensor dy = cq_workspace_f32(&lane->workspace, y.rows, y.cols);
    if (!dy.data) return cq_fail_memory(&s->error, "gradient of the sentence vectors");
    /* The loss is the mean over the whole batch, so its gradient is 2 / (sentences * dim) times the difference. */
    const float factor = (float)(2.0 / ((double)t->n * (double)y.cols));
    for (size_t i = 0; i < n; i++)
      s->loss += lane->kernels->squared_error(cq_f32(cq_tensor_rows(dy, (int64_t)i, 1)),
                                              cq_f32(cq_tensor_rows(y, (int64_t)i, 1)), t->examples[first + i].target,
                                              factor, y.cols);
    status = cq_encoder_backward(lane, t->encoder, &batch, dy, &tape, gradients, &s->error);
  }
  cq_workspace_release(&lane->workspace, mark);
  return status;
}

static void compute_shard(void *context, size_t k, int worker) {
  cq_trainer *t = context;
  shard *s = &t->shards[k];
  for (size_t i = s->first, end = s->first + s->n; !s->status && i < end;) {
    size_t n = 1;
    while (i + n < end && t->starts[i + n + 1] - t->starts[i] <= BLOCK_TOKENS) n++;
    s->status = compute_block(t, &t->lanes[worker], s, &t->gradients[k], i, n);
    i += n;
  }
}

/* ---- vectors together: all forward, the loss, all backward ---- */

static void forward_shard(void *context, size_t k, int worker) {
  cq_trainer *t = context;
  shard *s = &t->shards[k];
  const size_t dim = (size_t)cq_encoder_dim(t->encoder);
  cq_tensor y;
  (void)worker;
  if (s->n == 0) return;
  s->status = take(&s->batch, t, &s->lane, s->first, s->n, &s->error);
  if (!s->status) s->status = cq_encoder_forward(&s->lane, t->encoder, &s->batch, &y, &s->tape, &s->error);
  for (size_t i = 0; !s->status && i < s->n; i++)
    memcpy(t->vectors + (s->first + i) * dim, cq_f32(cq_tensor_rows(y, (int64_t)i, 1)), dim * sizeof(float));
}

static void backward_shard(void *context, size_t k, int worker) {
  cq_trainer *t = context;
  shard *s = &t->shards[k];
  const int64_t dim = cq_encoder_dim(t->encoder);
  (void)worker;
  if (s->n == 0) return;
  const cq_tensor dy = cq_tensor_f32(t->vector_gradients + (int64_t)s->first * dim, (int64_t)s->n, dim);
  s->status = cq_encoder_backward(&s->lane, t->encoder, &s->batch, dy, &s->tape, &t->gradients[k], &s->error);
}

static cq_status make_vector_room(cq_trainer *t, cq_error *error) {
  const size_t floats = t->n * (size_t)cq_encoder_dim(t->encoder);
  if (floats > t->vector_capacity) {
    cq_free(t->vectors);
    cq_free(t->vector_gradients);
    t->vectors = cq_alloc_array(floats, sizeof *t->vectors);
    t->vector_gradients = cq_alloc_array(floats, sizeof *t->vector_gradients);
    t->vector_capacity = t->vectors && t->vector_gradients ? floats : 0;
    if (!t->vector_capacity) return cq_fail_memory(error, "sentence vectors");
  }
  memset(t->vector_gradients, 0, floats * sizeof *t->vector_gradients);
  return CQ_OK;
}

/* ---- a step ---- */

static cq_status catch_up_tables(cq_trainer *t, cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < t->encoder->params.n; i++) {
    const cq_param *p = t->encoder->params.items[i];
    if (p->table) status = cq_optimizer_catch_up(&t->optimizer, p, t->ids.ids, (int64_t)t->ids.n, t->ctx, error);
  }
  return status;
}

static cq_status update(cq_trainer *t, cq_step_report *report, cq_error *error) {
  cq_status status = cq_gradients_reduce(t->gradients, t->options.n_shards, t->encoder->kernels, t->ctx, error);
  if (status) return status;
  cq_optimizer_update(&t->optimizer, &t->gradients[0], 1.0 / t->options.accumulate, t->ctx, &report->gradient_norm);
  for (int i = 0; i < t->options.n_shards; i++) cq_gradients_clear(&t->gradients[i]);
  report->updated = true;
  return cq_encoder_pack(t->encoder, t->ctx, true, error);
}

static cq_status first_failure(const cq_trainer *t, cq_error *error) {
  for (int k = 0; k < t->options.n_shards; k++)
    if (t->shards[k].status) {
      if (error) *error = t->shards[k].error;
      return t->shards[k].status;
    }
  return CQ_OK;
}

static cq_status begin(cq_trainer *t, size_t n, cq_step_report *report, cq_error *error) {
  *report = (cq_step_report){0};
  if (n == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "an empty batch");
  t->n = n;
  cq_status status = tokenize(t, report, error);
  if (!status) status = catch_up_tables(t, error);
  if (!status) cut_into_shards(t);
  return status;
}

static cq_status end(cq_trainer *t, cq_step_report *report, cq_error *error) {
  t->n_batches++;
  return t->n_batches % (uint64_t)t->options.accumulate == 0 ? update(t, report, error) : CQ_OK;
}

cq_status cq_trainer_step(cq_trainer *t, const cq_example *examples, size_t n, cq_step_report *report,
                          cq_error *error) {
  t->examples = examples;
  cq_status status = begin(t, n, report, error);
  if (status) return status;
  cq_context_run(t->ctx, (size_t)t->options.n_shards, compute_shard, t);
  status = first_failure(t, error);
  if (status) return status;
  double sum = 0;
  for (int k = 0; k < t->options.n_shards; k++) sum += t->shards[k].loss;
  report->loss = sum / ((double)n * (double)cq_encoder_dim(t->encoder));
  return end(t, report, error);
}

cq_status cq_trainer_step_jointly(cq_trainer *t, const cq_slice *texts, size_t n, cq_joint_loss loss, void *context,
                                  cq_step_report *report, cq_error *error) {
  const size_t n_shards = (size_t)t->options.n_shards;
  t->examples = NULL, t->texts = texts;
  cq_status status = begin(t, n, report, error);
  if (!status) status = make_vector_room(t, error);
  if (status) return status;
  cq_context_run(t->ctx, n_shards, forward_shard, t);
  status = first_failure(t, error);
  if (!status) status = loss(context, &report->loss, t->vector_gradients, t->vectors, n, error);
  if (!status) {
    cq_context_run(t->ctx, n_shards, backward_shard, t);
    status = first_failure(t, error);
  }
  for (size_t k = 0; k < n_shards; k++) cq_workspace_release(&t->shards[k].lane.workspace, (cq_mark){0, 0});
  return status ? status : end(t, report, error);
}

void cq_trainer_settle(cq_trainer *t) {
  cq_optimizer_flush(&t->optimizer, t->ctx);
}

/* ---- state ---- */

/* The numbers that must agree for a checkpoint to be this trainer's. */
typedef struct shape {
  uint64_t n_floats, n_dense, n_params, n_tables, n_shards, accumulate, seed, dropout;
} shape;

static shape shape_of(const cq_trainer *t) {
  const cq_params *p = &t->encoder->params;
  return (shape){(uint64_t)t->optimizer.n_floats,
                 (uint64_t)p->n_dense,
                 p->n,
                 (uint64_t)p->n_tables,
                 (uint64_t)t->options.n_shards,
                 (uint64_t)t->options.accumulate,
                 t->options.seed,
                 t->options.dropout};
}

cq_status cq_trainer_save(cq_trainer *t, cq_checkpoint_writer *w, cq_error *error) {
  const shape s = shape_of(t);
  const uint64_t counts[2] = {t->n_batches, t->optimizer.step};
  assert(t->n_batches % (uint64_t)t->options.accumulate == 0);
  cq_status status = cq_checkpoint_writer_section(w, "shape", &s, sizeof s, error);
  if (!status) status = cq_checkpoint_writer_section(w, "counts", counts, sizeof counts, error);
  return status ? status : cq_optimizer_save(&t->optimizer, "", w, error);
}

cq_status cq_trainer_restore(cq_trainer *t, const cq_checkpoint *c, cq_error *error) {
  const shape expected = shape_of(t);
  shape found;
  uint64_t counts[2];
  cq_status status = cq_checkpoint_read(&found, sizeof found, c, "shape", error);
  if (!status && memcmp(&found, &expected, sizeof found) != 0)
    status = cq_fail(error, CQ_ERR_FORMAT, "the checkpoint is of another model, seed, dropout or number of shards");
  if (!status) status = cq_checkpoint_read(counts, sizeof counts, c, "counts", error);
  if (!status) status = cq_optimizer_restore(&t->optimizer, "", c, error);
  if (status) return status;
  t->n_batches = counts[0];
  t->optimizer.step = counts[1];
  return cq_encoder_pack(t->encoder, t->ctx, true, error);
}
