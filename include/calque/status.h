/** @file Status codes, and the error record that every fallible function of calque fills.
 *
 *      cq_error err = {0};
 *      if (cq_encoder_open(&encoder, "model-dir", NULL, &err) != CQ_OK)
 *        fprintf(stderr, "%s\n", err.message);
 *
 * The caller owns the record; a function that returns CQ_OK does not change it, and passing NULL is legal.
 *
 * @threads A record belongs to one call at a time, so each thread needs its own. A notice is called on the thread that
 * makes the call. */
#ifndef CALQUE_STATUS_H
#define CALQUE_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CQ_API                         __attribute__((visibility("default")))
#define CQ_MUST_USE                    __attribute__((warn_unused_result))
#define CQ_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define CQ_API
#define CQ_MUST_USE
#define CQ_PRINTF(format_index, first)
#endif

typedef enum cq_status {
  CQ_OK = 0,
  CQ_ERR_ARGUMENT,    /**< an option or argument is out of range or contradicts another */
  CQ_ERR_IO,          /**< the operating system refused: not found, no space, no permission */
  CQ_ERR_FORMAT,      /**< a file's content violates its format */
  CQ_ERR_UNSUPPORTED, /**< well-formed, but not implemented in calque; the message names it */
  CQ_ERR_MEMORY,      /**< an allocation failed */
  CQ_ERR_LIMIT,       /**< a limit that the caller requested was exceeded */
  CQ_ERR_STOPPED,     /**< a callback stopped the call */
  CQ_ERR_UNAVAILABLE, /**< a server does not answer in time; it may later */
} cq_status;

/** What went wrong, where and why. `message` is one complete line that names the file and place. */
typedef struct cq_error {
  cq_status status;
  uint64_t line;  /**< 1-based line of `file`; 0: none */
  uint64_t byte;  /**< 0-based offset in `file`; valid when line is 0 and the message has "byte" */
  char file[512]; /**< path, or "" */
  char message[1024];
} cq_error;

/** A status code as text: "ok", "argument", "io", ... Never NULL. */
CQ_API const char *cq_status_name(cq_status status);

/** Releases an array or text that a function of calque returned; handles have their own functions. NULL is legal. */
CQ_API void cq_free(void *memory);

/** Receives remarks that are not errors ("no modules.json: mean pooling"), one line each, without newline. */
typedef void (*cq_notice_fn)(void *context, const char *text);

#ifdef __cplusplus
}
#endif
#endif
