/* Access control: API keys, and protection against requests from other sites' web pages to a server on this machine. */
#ifndef SERVE_ACCESS_H
#define SERVE_ACCESS_H

#include "serve/request.h"

typedef struct serve_access {
  char **keys;
  size_t n_keys;
  bool checks_host; /* the Host must be an address or localhost: other names may be rebound to this machine */
  const char *cors; /* origins whose pages may use the server, separated by commas; "*": all; NULL: its own alone */
} serve_access;

/* Reads keys from a file, one per line, and from a text; both may be NULL. Errors: CQ_ERR_IO; CQ_ERR_FORMAT for a file
 * without keys; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status serve_access_open(serve_access *out, const char *file, const char *key, cq_error *error);
void serve_access_close(serve_access *access);

typedef struct serve_credentials {
  const char *method;
  const char *authorization, *host, *origin, *site; /* headers, site: Sec-Fetch-Site; NULL: missing */
} serve_credentials;
/* Whether such a list is well-formed, and whether it has an origin (which may be NULL). */
bool serve_cors_is_list(const char *cors);
bool serve_cors_has(const char *cors, const char *origin);
/* False: the request has failed. */
bool serve_check_access(serve_request *request, const serve_access *access, const serve_credentials *given);

#endif
