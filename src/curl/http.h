/* Requests to the hub: its address, the user's token, redirections, and retries if they may help.
 *
 * HF_ENDPOINT (https://huggingface.co) is the hub; HF_TOKEN, or the file that `hf auth login` leaves, the token; it is
 * sent to the hub's own scheme, host and port only, never to where a redirection leads. */
#ifndef CURL_HTTP_H
#define CURL_HTTP_H

#include "base/slice.h"
#include "calque/hub.h"
#include "curl/curl_exchange.h"

enum { CQ_HUB_URL = 8192, CQ_HUB_ETAG = 129, CQ_HUB_TRIES = 5 };

typedef struct cq_hub_session {
  void *curl;
  char endpoint[1024];        /* without a slash at the end */
  char *token;                /* NULL: none */
  const char *token_from;     /* for errors: "HF_TOKEN", "the token file"; NULL */
  long request_s, download_s; /* how long nothing may come */
  /* For progress; see calque/hub.h. */
  cq_hub_progress_fn progress;
  void *progress_context;
  const char *what; /* the file at work */
  uint64_t done, n_all;
  uint64_t n_unsized; /* bytes of complete files whose size nobody names */
} cq_hub_session;

/* Errors: CQ_ERR_UNSUPPORTED without the plugin; CQ_ERR_ARGUMENT for an endpoint that is not a URL; CQ_ERR_IO when
 * HF_HUB_OFFLINE forbids `purpose`; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_hub_session_open(cq_hub_session *out, const cq_hub_options *options, const char *purpose,
                                          cq_error *error);
void cq_hub_session_close(cq_hub_session *s);
/* False: the caller's progress asked to stop. */
bool cq_hub_tell(cq_hub_session *s);

typedef struct cq_hub_answer {
  int code;
  long retry_after_s;
  char etag[CQ_HUB_ETAG], linked_etag[CQ_HUB_ETAG]; /* without quotes; "" if missing or unusable as a file name */
  char commit[65], type[64], error_code[64], error_message[256];
  bool has_length, has_linked_size, has_range;
  uint64_t length, linked_size, range_first, range_all; /* of Content-Range: bytes FIRST-LAST/ALL */
  bool lost;                                            /* the attempt failed, but another may succeed */
  cq_builder text; /* the body, unless a sink took it; for an error, its beginning */
} cq_hub_answer;
void cq_hub_answer_free(cq_hub_answer *a);

typedef struct cq_hub_request {
  const char *method, *url;
  const char *headers[6]; /* NULL-terminated */
  bool is_foreign;        /* to a host other than the hub: sends no token, and headers unchanged */
  bool is_metadata;       /* HEAD of a file: a redirection with the file's headers is the response */
  /* A body in memory, or from a function. */
  const char *body;
  uint64_t n_body;
  size_t (*read)(void *context, void *bytes, size_t n);
  bool (*rewind)(void *context);
  /* Receives the body of 200 and 206; returns false on failure, with the reason in the request's *failure. */
  bool (*sink)(void *context, const cq_hub_answer *head, const void *bytes, size_t n);
  void *context;
  long stall_s;             /* 0: the session's for requests */
  const cq_status *failure; /* what the functions failed with */
  cq_error *failed;         /* whose text that is */
} cq_hub_request;

/* One attempt, following redirections. CQ_OK: there is a response, with any code; an error with a->lost: try again. */
CQ_MUST_USE cq_status cq_hub_exchange(cq_hub_answer *a, cq_hub_session *s, const cq_hub_request *r, cq_error *error);
/* Waits before the next attempt, after *tries attempts. False: no more attempts; *status CQ_ERR_STOPPED: the caller's
 * progress function stopped. */
bool cq_hub_try_again(int *tries, const cq_hub_answer *a, cq_hub_session *s, cq_status *status, cq_error *error);
/* Up to five attempts; a response other than success is an error with the hub's message. */
CQ_MUST_USE cq_status cq_hub_ask(cq_hub_answer *a, cq_hub_session *s, const cq_hub_request *r, cq_error *error);
/* The error for an unsuccessful answer. */
cq_status cq_hub_refused(const cq_hub_answer *a, const cq_hub_session *s, const char *url, cq_error *error);

/* Appends text, escaping everything except letters, digits and -._~ (and slashes with keep_slashes). */
void cq_hub_escape(cq_builder *out, const char *text, bool keep_slashes);
/* Whether two URLs have one scheme, host and port. */
bool cq_hub_same_origin(const char *a, const char *b);

/* Whether a redirection to another address is allowed. url: the first one, for errors. Errors: CQ_ERR_FORMAT. */
CQ_MUST_USE cq_status cq_hub_check_redirection(const char *from, const char *to, const char *url, cq_error *error);

/* For tests: waiting between attempts takes this many milliseconds per second. */
extern int cq_hub_ms_per_second;

#endif
