/* A model's files on their way to the hub. */
#ifndef CURL_UPLOAD_H
#define CURL_UPLOAD_H

#include "base/sha.h"
#include "base/walk.h"
#include "curl/listing.h"
#include "hub/name.h"

typedef struct cq_hub_upload {
  const char *path; /* on this disk; NULL: text instead */
  const char *name; /* in the repository */
  cq_slice text;
  uint64_t n_bytes;
  char sha256[CQ_SHA_HEX], git_hash[CQ_SHA_HEX];
  bool is_large;     /* sent beforehand, and named by its SHA-256 */
  bool is_unchanged; /* the repository has it */
} cq_hub_upload;

typedef struct cq_hub_uploads {
  cq_walk walk; /* owns the paths */
  cq_builder card;
  cq_hub_upload *files;
  size_t n;
  uint64_t n_bytes;
} cq_hub_uploads;

/* The files of a model's directory with the published card; hashes only if with_hashes is set. Errors: CQ_ERR_ARGUMENT
 * for a directory without a model; those of reading, and of the card. */
CQ_MUST_USE cq_status cq_hub_uploads_collect(cq_hub_uploads *out, const char *directory, const char *repository,
                                             const cq_hub_put_options *options, bool with_hashes, cq_error *error);
void cq_hub_uploads_free(cq_hub_uploads *u);

/* Sends the contents of large files that the hub lacks. Errors: those of the request. */
CQ_MUST_USE cq_status cq_hub_uploads_send(cq_hub_session *s, cq_hub_uploads *u, const char *repository,
                                          cq_error *error);

/* For cq_hub_put and cq_hub_put_preview, whose options were checked. */
CQ_MUST_USE cq_status cq_hub_publish(char **url, const char *directory, const cq_hub_name *name,
                                     const cq_hub_put_options *o, cq_error *error);
CQ_MUST_USE cq_status cq_hub_publish_preview(char **text, const char *directory, const cq_hub_name *name,
                                             const cq_hub_put_options *o, cq_error *error);

/* POSTs a JSON object, which is released, and reads another (*out may not be NULL). */
CQ_MUST_USE cq_status cq_hub_post_json(json_t **out, int *code, cq_hub_session *s, const char *url, json_t *body,
                                       const char *type, cq_error *error);

#endif
