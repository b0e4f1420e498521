/* Contents of the hub's cache: one file fetched whole and verified, or not at all. */
#ifndef CURL_BLOB_H
#define CURL_BLOB_H

#include "curl/listing.h"
#include "hub/hub_cache.h"

typedef struct cq_hub_store {
  cq_hub_session *session;
  const char *kind, *repository, *commit;
  char directory[CQ_HUB_PATH]; /* CACHE/models--ORG--NAME */
  char locks[CQ_HUB_PATH];     /* CACHE/.locks/models--ORG--NAME */
} cq_hub_store;

/* The hub's address of a file at the commit. */
void cq_hub_file_url(cq_builder *out, const cq_hub_store *store, const char *name);

/* Requests the file's ETag and size and stores them in it. Errors: CQ_ERR_FORMAT for a response without a hub's headers
 * or one that contradicts the list of files; those of the request. */
CQ_MUST_USE cq_status cq_hub_blob_ask(const cq_hub_store *store, cq_hub_file *file, cq_error *error);

/* Whether the store has the file's contents. */
bool cq_hub_blob_is_there(const cq_hub_store *store, const cq_hub_file *file);

/* Fetches the missing part, under the lock of its ETag; a partial file is kept in ETAG.incomplete. Adds to the
 * session's `done`. Errors: CQ_ERR_FORMAT for a hash or size other than the hub's; CQ_ERR_IO; CQ_ERR_STOPPED. */
CQ_MUST_USE cq_status cq_hub_blob_fetch(const cq_hub_store *store, const cq_hub_file *file, cq_error *error);

/* Where the contents lie. */
CQ_MUST_USE cq_status cq_hub_blob_path(char out[CQ_HUB_PATH], const cq_hub_store *store, const cq_hub_file *file,
                                       cq_error *error);

/* The bytes that all files of one call may have whose size neither the list nor a header names. */
extern uint64_t cq_hub_max_unsized;

#endif
