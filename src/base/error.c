/* Fills the caller's error record: the file, the place and the reason, in one format for all messages. See error.h. */
#include "base/error.h"

#include "base/number.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void start_error(cq_error *error, cq_status status, const char *file, uint64_t line, uint64_t byte) {
  error->status = status;
  error->line = line;
  error->byte = byte;
  snprintf(error->file, sizeof error->file, "%s", file);
  error->message[0] = '\0';
}

static void append_message(cq_error *error, const char *format, va_list args) {
  size_t used = strlen(error->message);
  cq_vsnprintf(error->message + used, sizeof error->message - used, format, args);
}

/* va_start needs the variadic function itself, so the body that all variants share is a macro. */
#define APPEND_ARGUMENTS(error, format)                                                                                \
  do {                                                                                                                 \
    va_list args;                                                                                                      \
    va_start(args, format);                                                                                            \
    append_message(error, format, args);                                                                               \
    va_end(args);                                                                                                      \
  } while (0)

const char *cq_status_name(cq_status status) {
  switch (status) {
  case CQ_OK: return "ok";
  case CQ_ERR_ARGUMENT: return "argument";
  case CQ_ERR_IO: return "io";
  case CQ_ERR_FORMAT: return "format";
  case CQ_ERR_UNSUPPORTED: return "unsupported";
  case CQ_ERR_MEMORY: return "memory";
  case CQ_ERR_LIMIT: return "limit";
  case CQ_ERR_STOPPED: return "stopped";
  case CQ_ERR_UNAVAILABLE: return "unavailable";
  }
  return "unknown";
}

/* Names in parentheses: error.h has macros of the same names for the static analyzer. */
cq_status(cq_fail)(cq_error *error, cq_status status, const char *format, ...) {
  if (!error) return status;
  start_error(error, status, "", 0, 0);
  APPEND_ARGUMENTS(error, format);
  return status;
}

cq_status(cq_fail_file)(cq_error *error, cq_status status, const char *file, const char *format, ...) {
  if (!error) return status;
  start_error(error, status, file, 0, 0);
  snprintf(error->message, sizeof error->message, "%.400s: ", file);
  APPEND_ARGUMENTS(error, format);
  return status;
}

cq_status(cq_fail_line)(cq_error *error, cq_status status, const char *file, uint64_t line, const char *format, ...) {
  if (!error) return status;
  start_error(error, status, file, line, 0);
  snprintf(error->message, sizeof error->message, "%.400s:%llu: ", file, (unsigned long long)line);
  APPEND_ARGUMENTS(error, format);
  return status;
}

cq_status(cq_fail_byte)(cq_error *error, cq_status status, const char *file, uint64_t byte, const char *format, ...) {
  if (!error) return status;
  start_error(error, status, file, 0, byte);
  snprintf(error->message, sizeof error->message, "%.400s: byte %llu: ", file, (unsigned long long)byte);
  APPEND_ARGUMENTS(error, format);
  return status;
}

cq_status(cq_fail_errno)(cq_error *error, const char *file, const char *verb) {
  int code = errno;
  if (!error) return CQ_ERR_IO;
  start_error(error, CQ_ERR_IO, file, 0, 0);
  snprintf(error->message, sizeof error->message, "%.400s: %s: %s", file, verb, strerror(code));
  return CQ_ERR_IO;
}

cq_status(cq_fail_memory)(cq_error *error, const char *what) {
  return cq_fail(error, CQ_ERR_MEMORY, "out of memory (%s)", what);
}

void cq_notify(cq_notice_fn notice, void *context, const char *format, ...) {
  char text[4500];
  va_list values;
  if (!notice) return;
  va_start(values, format);
  cq_vsnprintf(text, sizeof text, format, values);
  va_end(values);
  notice(context, text);
}

void cq_list_name(char *list, size_t size, const char *name) {
  const size_t n = strlen(list);
  snprintf(list + n, size - n, "%s%s", n ? ", " : "", name);
}
