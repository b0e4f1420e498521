/* The interface to libcurl: a table of functions in a separate library (src/curl/), which is loaded when something is
 * fetched or sent. Offline use needs neither libcurl nor its TLS library.
 *
 * One exchange is one request and its response; the caller follows redirections. */
#ifndef HUB_CURL_PLUGIN_H
#define HUB_CURL_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CQ_CURL_PLUGIN_VERSION = 1 };

typedef enum cq_curl_result {
  CQ_CURL_OK,      /* there was an answer, whatever its code */
  CQ_CURL_LOST,    /* no connection, or it was lost or too slow: another attempt may help */
  CQ_CURL_REFUSED, /* retrying is pointless: unknown protocol, untrusted certificate */
  CQ_CURL_STOPPED, /* one of the functions said so */
} cq_curl_result;

typedef struct cq_curl_exchange {
  const char *method, *url;
  const char *const *headers; /* "Name: value" */
  size_t n_headers;
  /* The request's body: n_body bytes supplied by read. POST and PUT always have one. */
  uint64_t n_body;
  size_t (*read)(void *context, void *bytes, size_t n);      /* how many; SIZE_MAX: it cannot */
  bool (*rewind)(void *context);                             /* back to its start */
  bool (*header)(void *context, const char *line, size_t n); /* each of the answer's, including the status line */
  bool (*body)(void *context, const void *bytes, size_t n);
  bool (*tick)(void *context); /* called at least about once a second; false stops */
  void *context;
  long connect_s, stall_s; /* connect timeout; maximum time with less than 100 bytes per second */
} cq_curl_exchange;

typedef struct cq_curl_plugin {
  int version; /* CQ_CURL_PLUGIN_VERSION */
  /* Connections that are reused between exchanges; NULL: out of memory. */
  void *(*open)(void);
  /* *code: the response's status. redirect [redirect_size]: the redirection's full URL; "": none. *retry_after_s: the
   * response's Retry-After; 0: none. message [message_size]: why there is no response. */
  cq_curl_result (*perform)(void *session, const cq_curl_exchange *exchange, int *code, long *retry_after_s,
                            char *redirect, size_t redirect_size, char *message, size_t message_size);
  void (*close)(void *session);
} cq_curl_plugin;

#endif
