/* The files of a repository at one commit, and which of them are wanted. */
#ifndef CURL_LISTING_H
#define CURL_LISTING_H

#include "curl/http.h"
#include "format/json.h"

typedef struct cq_hub_file {
  const char *name; /* "1_Pooling/config.json": relative, inside its directory */
  bool is_wanted, has_size;
  uint64_t n_bytes;
  const char *sha256;     /* of large files; else NULL */
  const char *git_hash;   /* of small files, if the list has it */
  char etag[CQ_HUB_ETAG]; /* known after a HEAD request */
} cq_hub_file;

typedef struct cq_hub_listing {
  json_t *json; /* owns the names */
  char commit[41];
  cq_hub_file *files;
  size_t n;
} cq_hub_listing;

/* A response of the hub's API as a JSON object; *code (may be NULL) is its HTTP status, 0 without a response. Errors:
 * those of the request; CQ_ERR_FORMAT for any other response. */
CQ_MUST_USE cq_status cq_hub_ask_json(json_t **out, int *code, cq_hub_session *s, const cq_hub_request *r,
                                      cq_error *error);

/* kind: "models" or "datasets". *code as above. Errors: those of the request; CQ_ERR_FORMAT for an incomplete response
 * or a file name that points outside the directory. */
CQ_MUST_USE cq_status cq_hub_list(cq_hub_listing *out, int *code, cq_hub_session *s, const char *kind,
                                  const char *repository, const char *revision, cq_error *error);
/* The same from the hub's response; always takes ownership of it. */
CQ_MUST_USE cq_status cq_hub_listing_read(cq_hub_listing *out, json_t *answer, const char *url, cq_error *error);
void cq_hub_listing_free(cq_hub_listing *l);
cq_hub_file *cq_hub_listing_find(const cq_hub_listing *l, const char *name);

/* Selects the files that match any pattern, or all without patterns. Errors: CQ_ERR_ARGUMENT, which names the first
 * pattern without a match. */
CQ_MUST_USE cq_status cq_hub_want_matching(cq_hub_listing *l, const char *const *patterns, size_t n,
                                           const char *repository, cq_error *error);
/* Selects the files of a model that calque reads; modules: its modules.json, or NULL. */
void cq_hub_want_model(cq_hub_listing *l, const json_t *modules);

#endif
