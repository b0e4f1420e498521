/* Threads that prepare and answer requests in order of arrival, so that long work does not block the threads of
 * connections. There are never more jobs than connections. */
#ifndef SERVE_JOBS_H
#define SERVE_JOBS_H

#include "calque/status.h"

typedef struct serve_jobs serve_jobs;
typedef struct serve_job serve_job;
struct serve_job {
  void (*run)(void *context);
  void *context;
  serve_job *next;
};

CQ_MUST_USE cq_status serve_jobs_open(serve_jobs **out, int n_threads, cq_error *error);
void serve_jobs_push(serve_jobs *jobs, serve_job *job); /* job stays until it is run */
void serve_jobs_free(serve_jobs *jobs);                 /* after all that were pushed */

#endif
