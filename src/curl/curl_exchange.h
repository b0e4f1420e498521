/* One request and its answer, by libcurl; redirections are the caller's. Proxies are those of libcurl's own variables
 * (https_proxy, all_proxy, no_proxy); trusted certificates the system's, or the file of CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE
 * or SSL_CERT_FILE. */
#ifndef CURL_CURL_EXCHANGE_H
#define CURL_CURL_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Connections that are kept from exchange to exchange; NULL: out of memory. */
void *cq_curl_open(void);
void cq_curl_close(void *session);
/* *code: the answer's status. redirect [redirect_size]: the redirection's full URL; "": none. *retry_after_s: the
 * answer's Retry-After; 0: none. message [message_size]: why there is no answer. */
cq_curl_result cq_curl_perform(void *session, const cq_curl_exchange *x, int *code, long *retry_after_s, char *redirect,
                               size_t redirect_size, char *message, size_t message_size);

#endif
