/* The access log: one line of JSON per request, without texts, queries or keys. Threads: any thread may write. */
#ifndef SERVE_LOG_H
#define SERVE_LOG_H

#include "calque/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct serve_log serve_log;

typedef struct serve_log_line {
  const char *client, *method, *path;
  int code;
  uint64_t took_us, n_tokens, n_truncated;
  size_t n_in, n_out; /* bytes of the bodies */
} serve_log_line;

/* path "-": standard output; NULL: no log, and *out is NULL. Errors: CQ_ERR_IO; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status serve_log_open(serve_log **out, const char *path, cq_error *error);
void serve_log_reopen(serve_log *log); /* reopens the path after the file was moved; on failure, keeps the old file */
void serve_log_write(serve_log *log, const serve_log_line *line);
void serve_log_close(serve_log *log);

#endif
