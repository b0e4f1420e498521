/* A request from its first header to its response, independent of the HTTP library: handlers use it, and tests and fuzz
 * targets make it directly.
 *
 *   prepare: body ──▶ a response, or work for the queue          any thread
 *   answer:  vectors ──▶ a response                               any thread, once the work is done
 *
 * Errors are JSON in the format of the route's interface:
 *   OpenAI's     {"error": {"message", "type", "param", "code"}}
 *   Cohere's     {"message": "message", "error_type": "validation"}
 *   all others   {"error": "message", "error_type": "validation"}        TEI's, and Ollama's */
#ifndef SERVE_REQUEST_H
#define SERVE_REQUEST_H

#include "base/json_writer.h"
#include "serve/metrics.h"
#include "serve/queue.h"
#include "serve/token_table.h"

#include <jansson.h>

typedef struct serve_request serve_request;
typedef struct serve_route serve_route;
typedef struct serve_field serve_field;

typedef struct serve_limits {
  size_t max_body;   /* bytes */
  size_t max_tokens; /* of all texts of a request */
  size_t max_texts;
  size_t queue_tokens;
  uint64_t deadline_ms;
} serve_limits;

enum { SERVE_MAX_TEXTS = 16384, SERVE_HEALTH_MS = 5000 };

/* Shared by all requests. */
typedef struct serve_shared {
  serve_limits limits;
  const serve_route *const *routes; /* tables, NULL-terminated */
  cq_context *ctx;
  serve_queue *queue; /* NULL: works are not submitted (a fuzz target) */
  serve_metrics *metrics;
  bool writable;
  const char *folder;          /* that the index is of; NULL: none */
  serve_token_kind token_kind; /* what OpenAI's routes take token ids for */
  serve_token_table tokens;
  atomic_uint_fast64_t healthy_ms; /* when a health check last succeeded; 0: never */
} serve_shared;

struct serve_request {
  serve_shared *shared;
  serve_model *model; /* used by the request */
  const serve_route *route;
  const char *rest; /* of the path, after a route that ends in a slash */
  const char *(*argument)(const serve_request *request, const char *name); /* of the query; NULL: none */
  const char *if_none_match, *accept_encoding, *body_type, *body_encoding; /* headers; the last: Content-Type and
                                                                             -Encoding; NULL: missing */
  cq_builder body;
  uint64_t begun_ms;

  serve_work *work; /* to encode, if prepare leaves some */
  void *state;      /* the handler's own, from prepare to answer */
  void (*state_free)(void *state);

  int code; /* HTTP's; 0: no answer yet */
  cq_builder answer;
  const void *constant; /* instead of answer: bytes that stay */
  size_t n_constant;
  const char *content_type;     /* NULL: JSON */
  char *disposition;            /* of a document's file, whose content is not the page's; NULL: another answer */
  const char *etag;             /* of a file of the page */
  const char *content_encoding; /* NULL: as it is */
  unsigned retry_after_s;       /* 0: no such header */
  uint64_t n_tokens, n_truncated;
  bool is_embedding;  /* n_truncated is sent in a header */
  const char *scores; /* what the answer's are, for a header; NULL: it has none */
};

void serve_request_clear(serve_request *request); /* all but the struct */
void serve_request_keep_answer(
    serve_request *request); /* releases the body, the work, and the state; the model stays */

/* What the functions below set as the request's response, instead of any other. */
typedef enum serve_mistake {
  SERVE_INVALID,          /* 400; of TEI's and ours 422 */
  SERVE_MALFORMED,        /* 400: no JSON */
  SERVE_TOO_LARGE,        /* 413 */
  SERVE_TOO_LONG,         /* 413 (400 for OpenAI): a text longer than the model's maximum */
  SERVE_UNAUTHORIZED,     /* 401 */
  SERVE_FORBIDDEN,        /* 403 */
  SERVE_NOT_FOUND,        /* 404 */
  SERVE_NO_METHOD,        /* 405 */
  SERVE_TOO_SLOW,         /* 408 */
  SERVE_ADDRESS_TOO_LONG, /* 414 */
  SERVE_MEDIA_TYPE,       /* 415 */
  SERVE_HEAD_TOO_LARGE,   /* 431 */
  SERVE_OVERLOADED,       /* 429 */
  SERVE_INTERNAL,         /* 500 */
  SERVE_UNSUPPORTED,      /* 501 */
  SERVE_UNHEALTHY,        /* 503 */
  SERVE_BUSY,             /* 503: come again */
  SERVE_EXPIRED_WORK,     /* 504 */
} serve_mistake;

/* All return false. param: the field, or NULL. */
bool serve_fail(serve_request *request, serve_mistake mistake, const char *param, const char *format, ...)
    CQ_PRINTF(4, 5);
/* Fails with an error of the library. */
bool serve_fail_error(serve_request *request, const cq_error *error);
bool serve_fail_memory(serve_request *request);
/* Fails without an index or, for writing, with one that is read-only. */
bool serve_has_index(serve_request *request, bool writing);
/* Ends an answer that was written to request->answer. */
void serve_answer(serve_request *request);

/* False: the field has another type, and the request has failed. A null counts as missing. */
bool serve_get_bool(bool *out, serve_request *request, const json_t *object, const char *field);
bool serve_get_int(int64_t *out, serve_request *request, const json_t *object, const char *field, int64_t min,
                   int64_t max);
/* *out: the index of the word, unchanged if the field is missing. words: NULL-terminated. */
bool serve_get_choice(int *out, serve_request *request, const json_t *object, const char *field,
                      const char *const *words);
bool serve_get_text(const char **out, serve_request *request, const json_t *object, const char *field);
/* False: there is a field besides these (NULL-terminated), and the request has failed. */
bool serve_check_fields(serve_request *request, const json_t *object, const char *const *known);

#endif
