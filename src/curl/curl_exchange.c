/* Exchanges over HTTP by libcurl. See curl_exchange.h. */
#include "curl/curl_exchange.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOW_BYTES_PER_S = 100 };

typedef struct run {
  const cq_curl_exchange *exchange;
  bool stopped;
} run;

static size_t take_header(char *line, size_t size, size_t n, void *context) {
  run *r = context;
  if (r->exchange->header(r->exchange->context, line, size * n)) return size * n;
  r->stopped = true;
  return 0;
}

static size_t take_body(char *bytes, size_t size, size_t n, void *context) {
  run *r = context;
  if (r->exchange->body(r->exchange->context, bytes, size * n)) return size * n;
  r->stopped = true;
  return 0;
}

static size_t give_body(char *bytes, size_t size, size_t n, void *context) {
  run *r = context;
  const size_t got = r->exchange->read ? r->exchange->read(r->exchange->context, bytes, size * n) : 0;
  if (got != SIZE_MAX) return got;
  r->stopped = true;
  return CURL_READFUNC_ABORT;
}

static int rewind_body(void *context, curl_off_t offset, int origin) {
  run *r = context;
  const bool done =
      offset == 0 && origin == SEEK_SET && r->exchange->rewind && r->exchange->rewind(r->exchange->context);
  return done ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

static int tick(void *context, curl_off_t down_all, curl_off_t down, curl_off_t up_all, curl_off_t up) {
  run *r = context;
  (void)down_all, (void)down, (void)up_all, (void)up;
  if (!r->exchange->tick || r->exchange->tick(r->exchange->context)) return 0;
  r->stopped = true;
  return 1;
}

void *cq_curl_open(void) {
  if (curl_global_init(CURL_GLOBAL_DEFAULT)) return NULL;
  return curl_easy_init();
}

static cq_curl_result kind_of(CURLcode code) {
  switch (code) {
  case CURLE_OK: return CQ_CURL_OK;
  case CURLE_COULDNT_RESOLVE_PROXY:
  case CURLE_COULDNT_RESOLVE_HOST:
  case CURLE_COULDNT_CONNECT:
  case CURLE_PARTIAL_FILE:
  case CURLE_OPERATION_TIMEDOUT:
  case CURLE_GOT_NOTHING:
  case CURLE_SEND_ERROR:
  case CURLE_RECV_ERROR:
  case CURLE_SSL_CONNECT_ERROR:
  case CURLE_HTTP2:
  case CURLE_HTTP2_STREAM: return CQ_CURL_LOST;
  default: return CQ_CURL_REFUSED;
  }
}

static const char *trusted_file(void) {
  static const char *const names[] = {"CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = getenv(names[i]);
    if (value && *value) return value;
  }
  return NULL;
}

/* A request without a body is GET, HEAD, or the given method. */
static void set_method(CURL *curl, const cq_curl_exchange *x) {
  if (!strcmp(x->method, "HEAD")) {
    curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  } else if (!strcmp(x->method, "PUT")) {
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)x->n_body);
  } else if (!strcmp(x->method, "POST")) {
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->n_body);
  } else {
    curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
  }
}

cq_curl_result cq_curl_perform(void *session, const cq_curl_exchange *x, int *code, long *retry_after_s, char *redirect,
                               size_t redirect_size, char *message, size_t message_size) {
  CURL *curl = session;
  run r = {.exchange = x};
  struct curl_slist *headers = NULL;
  char reason[CURL_ERROR_SIZE] = "";
  const char *where = NULL;
  long answered = 0;
  curl_off_t wait = 0;
  *code = 0, *retry_after_s = 0, redirect[0] = message[0] = '\0';
  curl_easy_reset(curl);
  for (size_t i = 0; i < x->n_headers; i++) {
    struct curl_slist *longer = curl_slist_append(headers, x->headers[i]);
    if (!longer) {
      curl_slist_free_all(headers);
      snprintf(message, message_size, "out of memory");
      return CQ_CURL_REFUSED;
    }
    headers = longer;
  }
  curl_easy_setopt(curl, CURLOPT_URL, x->url);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, x->connect_s);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, (long)SLOW_BYTES_PER_S);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, x->stall_s);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &r);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &r);
  curl_easy_setopt(curl, CURLOPT_READFUNCTION, give_body);
  curl_easy_setopt(curl, CURLOPT_READDATA, &r);
  curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, rewind_body);
  curl_easy_setopt(curl, CURLOPT_SEEKDATA, &r);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, tick);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &r);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  if (trusted_file()) curl_easy_setopt(curl, CURLOPT_CAINFO, trusted_file());
  set_method(curl, x);
  const CURLcode result = curl_easy_perform(curl);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answered);
  curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &wait);
  curl_easy_getinfo(curl, CURLINFO_REDIRECT_URL, &where);
  *code = (int)answered, *retry_after_s = (long)wait;
  if (where && snprintf(redirect, redirect_size, "%s", where) >= (int)redirect_size) redirect[0] = '\0';
  if (result) snprintf(message, message_size, "%s", reason[0] ? reason : curl_easy_strerror(result));
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, NULL);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, NULL);
  curl_slist_free_all(headers);
  return r.stopped ? CQ_CURL_STOPPED : kind_of(result);
}

void cq_curl_close(void *session) {
  curl_easy_cleanup(session);
}
