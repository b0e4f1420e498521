/* Fills the caller's error record. Every function returns the status it was given, so the usual line is
 *   return cq_fail(error, CQ_ERR_ARGUMENT, "dim is %d, expected at least 1", dim); */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "calque/status.h"

#include <stddef.h>

/* An error without a place. */
cq_status cq_fail(cq_error *error, cq_status status, const char *format, ...) CQ_PRINTF(3, 4);

/* An error in a file: the message becomes "FILE: ...". */
cq_status cq_fail_file(cq_error *error, cq_status status, const char *file, const char *format, ...) CQ_PRINTF(4, 5);

/* An error on a line (1-based): "FILE:LINE: ...". */
cq_status cq_fail_line(cq_error *error, cq_status status, const char *file, uint64_t line, const char *format, ...)
    CQ_PRINTF(5, 6);

/* An error at a byte (0-based): "FILE: byte N: ...". */
cq_status cq_fail_byte(cq_error *error, cq_status status, const char *file, uint64_t byte, const char *format, ...)
    CQ_PRINTF(5, 6);

/* An error of a system call: "FILE: VERB: strerror(errno)"; reads errno before anything else. */
cq_status cq_fail_errno(cq_error *error, const char *file, const char *verb);

/* An allocation that failed: "out of memory (WHAT)". */
cq_status cq_fail_memory(cq_error *error, const char *what);
/* Appends a name to a message's list of them, with ", " between; what exceeds the size is left out. */
void cq_list_name(char *list, size_t size, const char *name);

/* Formats a remark and passes it on, unless nobody listens; CQ_NOTIFY: to the notice of a struct that has one. Up to
 * 4,500 bytes; no newline. */
void cq_notify(cq_notice_fn notice, void *context, const char *format, ...) CQ_PRINTF(3, 4);
#define CQ_NOTIFY(of, ...) cq_notify((of)->notice, (of)->notice_context, __VA_ARGS__)

/* The static analyzer sees one source file at a time; this tells it that a failure is never CQ_OK. */
#ifdef __clang_analyzer__
#define CQ_NOT_OK(call, status)                                                                                        \
  __extension__({                                                                                                      \
    (void)(call);                                                                                                      \
    (cq_status)(status);                                                                                               \
  })
#define cq_fail(error, status, ...)            CQ_NOT_OK((cq_fail)(error, status, __VA_ARGS__), status)
#define cq_fail_file(error, status, file, ...) CQ_NOT_OK((cq_fail_file)(error, status, file, __VA_ARGS__), status)
#define cq_fail_line(error, status, file, line, ...)                                                                   \
  CQ_NOT_OK((cq_fail_line)(error, status, file, line, __VA_ARGS__), status)
#define cq_fail_byte(error, status, file, byte, ...)                                                                   \
  CQ_NOT_OK((cq_fail_byte)(error, status, file, byte, __VA_ARGS__), status)
#define cq_fail_errno(error, file, verb) CQ_NOT_OK((cq_fail_errno)(error, file, verb), CQ_ERR_IO)
#define cq_fail_memory(error, what)      CQ_NOT_OK((cq_fail_memory)(error, what), CQ_ERR_MEMORY)
#endif

#endif
