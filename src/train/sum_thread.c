/* A thread that sums arrays over all ranks, one after another. See sum_thread.h. */
#include "train/sum_thread.h"

#include "base/error.h"
#include "base/memory.h"

#include <pthread.h>

typedef struct begun {
  float *values;
  int64_t n;
} begun;

struct cq_sum_thread {
  cq_sum_fn sum;
  void *context;
  pthread_mutex_t lock;
  pthread_cond_t changed; /* sums, done, ending or status */
  begun *sums;            /* [n], of which the first `done` are done */
  size_t n, done, capacity;
  pthread_t thread;
  bool has_thread, ending;
  cq_status status; /* of the first that has failed */
  cq_error error;
};

static void *sum_all(void *context) {
  cq_sum_thread *t = context;
  pthread_mutex_lock(&t->lock);
  for (;;) {
    while (!t->ending && t->done == t->n) pthread_cond_wait(&t->changed, &t->lock);
    if (t->ending) break;
    const begun next = t->sums[t->done];
    if (!t->status) {
      pthread_mutex_unlock(&t->lock);
      cq_error error = {0};
      const cq_status status = t->sum(t->context, next.values, next.n, &error);
      pthread_mutex_lock(&t->lock);
      if (status) t->status = status, t->error = error;
    }
    t->done++;
    pthread_cond_broadcast(&t->changed);
  }
  pthread_mutex_unlock(&t->lock);
  return NULL;
}

cq_status cq_sum_thread_new(cq_sum_thread **out, cq_sum_fn sum, void *context, cq_error *error) {
  *out = cq_alloc_zeroed(sizeof **out);
  if (!*out) return cq_fail_memory(error, "a thread for sums");
  (*out)->sum = sum, (*out)->context = context;
  pthread_mutex_init(&(*out)->lock, NULL);
  pthread_cond_init(&(*out)->changed, NULL);
  return CQ_OK;
}

void cq_sum_thread_free(cq_sum_thread *t) {
  if (!t) return;
  pthread_mutex_lock(&t->lock);
  t->ending = true;
  pthread_cond_broadcast(&t->changed);
  pthread_mutex_unlock(&t->lock);
  if (t->has_thread) pthread_join(t->thread, NULL);
  pthread_cond_destroy(&t->changed);
  pthread_mutex_destroy(&t->lock);
  cq_free(t->sums);
  cq_free(t);
}

static cq_status take_sum(cq_sum_thread *t, begun s, cq_error *error) {
  if (t->done == t->n) t->done = t->n = 0;
  if (!cq_reserve((void **)&t->sums, &t->capacity, t->n + 1, sizeof *t->sums))
    return cq_fail_memory(error, "a sum over all ranks");
  if (!t->has_thread && pthread_create(&t->thread, NULL, sum_all, t) != 0)
    return cq_fail(error, CQ_ERR_MEMORY, "no thread can be made for sums over all ranks");
  t->has_thread = true;
  t->sums[t->n++] = s;
  return CQ_OK;
}

void cq_sum_thread_begin(cq_sum_thread *t, float *values, int64_t n) {
  pthread_mutex_lock(&t->lock);
  if (!t->status) t->status = take_sum(t, (begun){values, n}, &t->error);
  pthread_cond_broadcast(&t->changed);
  pthread_mutex_unlock(&t->lock);
}

cq_status cq_sum_thread_finish(cq_sum_thread *t, cq_error *error) {
  pthread_mutex_lock(&t->lock);
  while (t->done < t->n) pthread_cond_wait(&t->changed, &t->lock);
  const cq_status status = t->status;
  if (status && error) *error = t->error;
  pthread_mutex_unlock(&t->lock);
  return status;
}
