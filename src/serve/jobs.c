/* A first-in, first-out list of jobs; several threads take jobs until it is closed and empty. */
#include "serve/jobs.h"

#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct serve_jobs {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  serve_job *first, *last;
  bool is_ending;
  int n_threads;
  pthread_t threads[];
};

static void *run_jobs(void *context) {
  serve_jobs *j = context;
  for (;;) {
    pthread_mutex_lock(&j->mutex);
    while (!j->first && !j->is_ending) pthread_cond_wait(&j->changed, &j->mutex);
    serve_job *job = j->first;
    if (job && !(j->first = job->next)) j->last = NULL;
    pthread_mutex_unlock(&j->mutex);
    if (!job) return NULL;
    job->run(job->context);
  }
}

cq_status serve_jobs_open(serve_jobs **out, int n_threads, cq_error *error) {
  serve_jobs *j = calloc(1, sizeof *j + (size_t)n_threads * sizeof *j->threads);
  if (j) {
    pthread_mutex_init(&j->mutex, NULL);
    pthread_cond_init(&j->changed, NULL);
    while (j->n_threads < n_threads && pthread_create(&j->threads[j->n_threads], NULL, run_jobs, j) == 0)
      j->n_threads++;
    if (j->n_threads == n_threads) {
      *out = j;
      return CQ_OK;
    }
    serve_jobs_free(j);
  }
  return cq_fail(error, CQ_ERR_MEMORY, "threads for requests cannot be started");
}

void serve_jobs_push(serve_jobs *j, serve_job *job) {
  job->next = NULL;
  pthread_mutex_lock(&j->mutex);
  if (j->last)
    j->last->next = job;
  else
    j->first = job;
  j->last = job;
  pthread_cond_signal(&j->changed);
  pthread_mutex_unlock(&j->mutex);
}

void serve_jobs_free(serve_jobs *j) {
  if (!j) return;
  pthread_mutex_lock(&j->mutex);
  j->is_ending = true;
  pthread_cond_broadcast(&j->changed);
  pthread_mutex_unlock(&j->mutex);
  for (int i = 0; i < j->n_threads; i++) pthread_join(j->threads[i], NULL);
  pthread_cond_destroy(&j->changed);
  pthread_mutex_destroy(&j->mutex);
  free(j);
}
