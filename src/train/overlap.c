/* Summing gradients over all ranks while backward still computes earlier layers. See overlap.h. */
#include "train/overlap.h"

#include "base/error.h"
#include "base/memory.h"

cq_status cq_overlap_new(cq_overlap *out, cq_gradients *gradients, int n_shards, const cq_kernels *kernels,
                         const cq_exchange *exchange, cq_error *error) {
  *out = (cq_overlap){.exchange = exchange, .kernels = kernels, .gradients = gradients, .n_shards = n_shards};
  out->shards = cq_alloc_array_zeroed((size_t)n_shards, sizeof *out->shards);
  if (!out->shards) return cq_fail_memory(error, "gradients");
  for (int i = 0; i < n_shards; i++) out->shards[i].of = out;
  pthread_mutex_init(&out->lock, NULL);
  return CQ_OK;
}

void cq_overlap_free(cq_overlap *o) {
  if (o->shards) pthread_mutex_destroy(&o->lock);
  cq_free(o->shards);
  *o = (cq_overlap){0};
}

void cq_overlap_start(cq_overlap *o) {
  o->is_on = true;
  o->begun = o->gradients[0].n_dense;
  for (int i = 0; i < o->n_shards; i++) o->shards[i].passed = o->begun;
}

/* Begins the sums of the chunks that all shards have finished. */
static void begin_chunks(cq_overlap *o) {
  int64_t passed = o->shards[0].passed;
  for (int i = 1; i < o->n_shards; i++)
    if (o->shards[i].passed > passed) passed = o->shards[i].passed;
  while (o->begun > 0) {
    const int64_t first = o->begun > o->exchange->chunk ? o->begun - o->exchange->chunk : 0;
    if (passed > first) break;
    cq_gradients_reduce_dense(o->gradients, o->n_shards, first, o->begun - first, o->kernels);
    o->exchange->begin_dense(o->exchange->context, o->gradients[0].dense + first, o->begun - first);
    o->begun = first;
  }
}

static void pass_to(void *context, int64_t offset) {
  cq_overlap_shard *s = context;
  pthread_mutex_lock(&s->of->lock);
  if (offset < s->passed) s->passed = offset;
  begin_chunks(s->of);
  pthread_mutex_unlock(&s->of->lock);
}

void cq_overlap_watch(cq_overlap *o, int shard) {
  if (!o->is_on) return;
  o->gradients[shard].passed = pass_to;
  o->gradients[shard].context = &o->shards[shard];
}

void cq_overlap_pass(cq_overlap *o, int shard) {
  if (!o->is_on) return;
  o->gradients[shard].passed = NULL;
  pass_to(&o->shards[shard], 0);
}

void cq_overlap_pass_all(cq_overlap *o) {
  for (int i = 0; i < o->n_shards; i++) cq_overlap_pass(o, i);
}

cq_status cq_overlap_finish(cq_overlap *o, cq_error *error) {
  assert(o->begun == 0);
  o->is_on = false;
  return o->exchange->finish_dense(o->exchange->context, error);
}

void cq_overlap_abandon(cq_overlap *o) {
  if (!o->is_on) return;
  o->is_on = false;
  for (int i = 0; i < o->n_shards; i++) o->gradients[i].passed = NULL;
  o->exchange->abandon(o->exchange->context);
}
