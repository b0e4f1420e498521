/* The queue's budget of tokens, from both sides, while its dispatcher is held in a callback. */
#include "support/files.h"

#include "serve/queue.h"

#include <pthread.h>

#define MODEL CQ_TESTS_DIR "/golden/models/bert-uncased"
enum { MAX_TOKENS = 10 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_held, may_end;
static int n_done;

static void hold(void *context) {
  (void)context;
  pthread_mutex_lock(&mutex);
  is_held = true;
  pthread_cond_broadcast(&changed);
  while (!may_end) pthread_cond_wait(&changed, &mutex);
  n_done++;
  pthread_mutex_unlock(&mutex);
}

static void count(void *context) {
  (void)context;
  pthread_mutex_lock(&mutex);
  n_done++;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

/* Whether a text of n tokens is admitted; *retry_s as from the queue. */
static bool submit(serve_queue *q, serve_model *model, size_t n, bool is_exempt, void (*done)(void *),
                   double *retry_s) {
  static const int32_t ids[2 * MAX_TOKENS] = {5, 5, 5};
  serve_work *w = serve_work_new(model);
  assert_non_null(w);
  assert_int_equal(cq_token_ids_append(&w->ids, ids, (const size_t[]){0, n}, 1, NULL), CQ_OK);
  w->n_texts = 1, w->done = done, w->is_exempt = is_exempt, w->deadline_ms = cq_now_ms() + 60000;
  assert_non_null(w->vectors = malloc(model->dim * sizeof *w->vectors));
  *retry_s = 0;
  const bool is_admitted = serve_queue_submit(q, w, retry_s);
  serve_work_free(w);
  return is_admitted;
}

static void a_budget_of_tokens(void **state) {
  serve_model *model;
  serve_queue *q;
  cq_context *ctx;
  double retry_s;
  (void)state;
  assert_int_equal(serve_model_open(&model, &(serve_model_options){.model = MODEL}, NULL), CQ_OK);
  assert_int_equal(cq_context_open(&ctx, 1, NULL), CQ_OK);
  assert_int_equal(serve_queue_open(&q, &(serve_queue_options){MAX_TOKENS, 64}, ctx, NULL), CQ_OK);
  assert_true(submit(q, model, MAX_TOKENS + 5, false, hold, &retry_s)); /* alone, even if it is larger */
  pthread_mutex_lock(&mutex);
  while (!is_held) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  assert_true(submit(q, model, 4, false, count, &retry_s));
  assert_false(submit(q, model, MAX_TOKENS - 4 + 1, false, count, &retry_s));
  assert_true(retry_s > 0);
  assert_true(submit(q, model, MAX_TOKENS - 4, false, count, &retry_s));
  assert_false(submit(q, model, 1, false, count, &retry_s));
  assert_true(submit(q, model, 1, true, count, &retry_s)); /* a health check */
  serve_queue_stats stats;
  serve_queue_read_stats(&stats, q);
  assert_int_equal(stats.n_waiting, 3);
  assert_int_equal(stats.n_waiting_tokens, MAX_TOKENS + 1);
  pthread_mutex_lock(&mutex);
  may_end = true;
  pthread_cond_broadcast(&changed);
  while (n_done < 4) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  serve_queue_free(q);
  cq_context_free(ctx);
  serve_model_leave(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_budget_of_tokens)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
