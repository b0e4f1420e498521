/* The interface to libcurl: a table of functions in a library of its own (src/curl/), loaded when something is fetched
 * or sent, so that offline use needs neither libcurl nor its TLS library.
 *
 * One exchange is one request and its answer; redirections are the caller's. */
#ifndef HUB_CURL_PLUGIN_H
#define HUB_CURL_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CQ_CURL_PLUGIN_VERSION = 1 };

typedef enum cq_curl_result {
  CQ_CURL_OK,      /* there was an answer, whatever its code */
  CQ_CURL_LOST,    /* no connection, or it was lost, or too slow: another try may help */
  CQ_CURL_REFUSED, /* retrying is pointless: unknown protocol, untrusted certificate */
  CQ_CURL_STOPPED, /* one of the functions said so */
} cq_curl_result;

typedef struct cq_curl_exchange {
  const char *method, *url;
  const char *const *headers; /* "Name: value" */
  size_t n_headers;
  /* The request's body: n_body bytes that read hands over. POST and PUT always have one. */
  uint64_t n_body;
  size_t (*read)(void *context, void *bytes, size_t n);      /* how many; SIZE_MAX: it cannot */
  bool (*rewind)(void *context);                             /* back to its start */
  bool (*header)(void *context, const char *line, size_t n); /* each of the answer's, including the status line */
  bool (*body)(void *context, const void *bytes, size_t n);
  bool (*tick)(void *context); /* called at least about once a second; false stops */
  void *context;
  long connect_s, stall_s; /* give up connecting; give up after this long with less than 100 bytes a second */
} cq_curl_exchange;

typedef struct cq_curl_plugin {
  int version; /* CQ_CURL_PLUGIN_VERSION */
  /* Connections that are kept from exchange to exchange; NULL: out of memory. */
  void *(*open)(void);
  /* *code: the answer's status. redirect [redirect_size]: the redirection's full URL; "": none. *retry_after_s: the
   * answer's Retry-After; 0: none. message [message_size]: why there is no answer. */
  cq_curl_result (*perform)(void *session, const cq_curl_exchange *exchange, int *code, long *retry_after_s,
                            char *redirect, size_t redirect_size, char *message, size_t message_size);
  void (*close)(void *session);
} cq_curl_plugin;

#endif
