/* Appends a line to the access log in one write, so that lines of several threads are not interleaved. */
#include "base/json_writer.h"

#include "base/error.h"
#include "serve/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct serve_log {
  char *path; /* NULL: standard output */
  int fd;
  pthread_mutex_t mutex;
};

static int open_file(const char *path) {
  return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
}

cq_status serve_log_open(serve_log **out, const char *path, cq_error *error) {
  *out = NULL;
  if (!path) return CQ_OK;
  serve_log *log = calloc(1, sizeof *log);
  const bool is_file = strcmp(path, "-") != 0;
  cq_status status = log && (!is_file || (log->path = strdup(path))) ? CQ_OK : CQ_ERR_MEMORY;
  if (!status && (log->fd = is_file ? open_file(path) : STDOUT_FILENO) < 0) status = CQ_ERR_IO;
  if (status) {
    if (status == CQ_ERR_IO)
      (void)cq_fail_errno(error, path, "cannot open");
    else
      (void)cq_fail_memory(error, path);
    if (log) free(log->path);
    free(log);
    return status;
  }
  pthread_mutex_init(&log->mutex, NULL);
  *out = log;
  return CQ_OK;
}

void serve_log_reopen(serve_log *log) {
  if (!log || !log->path) return;
  const int fd = open_file(log->path);
  if (fd < 0) return;
  pthread_mutex_lock(&log->mutex);
  close(log->fd);
  log->fd = fd;
  pthread_mutex_unlock(&log->mutex);
}

void serve_log_write(serve_log *log, const serve_log_line *line) {
  if (!log) return;
  cq_builder b = {0};
  struct timespec now;
  struct tm day;
  char time_text[32] = "";
  clock_gettime(CLOCK_REALTIME, &now);
  if (gmtime_r(&now.tv_sec, &day)) strftime(time_text, sizeof time_text, "%Y-%m-%dT%H:%M:%S", &day);
  cq_builder_printf(&b, "{\"time\":\"%s.%03ldZ\",\"client\":\"%s\"", time_text, now.tv_nsec / 1000000, line->client);
  cq_json_member(&b, ",\"method\":", cq_slice_of(line->method));
  cq_json_member(&b, ",\"path\":", cq_slice_of(line->path));
  cq_builder_printf(&b,
                    ",\"status\":%d,\"ms\":%.3f,\"bytes_in\":%zu,\"bytes_out\":%zu,\"tokens\":%" PRIu64
                    ",\"truncated\":%" PRIu64 "}\n",
                    line->code, (double)line->took_us * 1e-3, line->n_in, line->n_out, line->n_tokens,
                    line->n_truncated);
  if (!b.failed) {
    pthread_mutex_lock(&log->mutex);
    /* One write per line; if the disk is full, lines are lost, but no request waits. */
    if (write(log->fd, b.data, b.n) < 0) errno = 0;
    pthread_mutex_unlock(&log->mutex);
  }
  cq_builder_free(&b);
}

void serve_log_close(serve_log *log) {
  if (!log) return;
  if (log->path) close(log->fd);
  free(log->path);
  pthread_mutex_destroy(&log->mutex);
  free(log);
}
