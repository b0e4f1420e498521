/* A request's body as its headers describe it: Content-Encoding, Content-Type and its charset, and the parts of a form
 * (multipart/form-data, RFC 7578).
 *
 *   serve_expand_body(r)                                    // gzip, deflate, zstd
 *   serve_take_media_type(&type, r, r->body_type)
 *   serve_form_begin(&form, r, &type)
 *   while (serve_form_next(&part, &form, r)) ... */
#ifndef SERVE_REQUEST_BODY_H
#define SERVE_REQUEST_BODY_H

#include "serve/request.h"

enum { SERVE_MEDIA_NAME = 128, SERVE_FILE_NAME = 256 };

typedef struct serve_media_type {
  char type[SERVE_MEDIA_NAME]; /* "text/html", in lower case; "": not given */
  char charset[SERVE_MEDIA_NAME];
  char boundary[SERVE_MEDIA_NAME]; /* of a form */
} serve_media_type;

/* All return false if the request has failed. */

/* Replaces a compressed body by what it contains, up to --max-body. */
bool serve_expand_body(serve_request *request);
/* Reads a Content-Type; NULL: none. A charset that is not known is refused. */
bool serve_take_media_type(serve_media_type *out, serve_request *request, const char *header);
bool serve_fail_media_type(serve_request *request, const char *type, const char *expected);

/* The body, which is released, as a JSON object, to be released with json_decref; NULL: the request has failed. */
json_t *serve_body_json(serve_request *request);

typedef struct serve_part {
  char name[SERVE_FILE_NAME];      /* of the field */
  char file_name[SERVE_FILE_NAME]; /* without folders; "": a field with a value */
  serve_media_type type;
  cq_slice bytes; /* in the body */
} serve_part;

typedef struct serve_form {
  cq_slice rest; /* after the boundary of the next part */
  char delimiter[SERVE_MEDIA_NAME + 4];
  size_t n_parts;
} serve_form;

bool serve_form_begin(serve_form *out, serve_request *request, const serve_media_type *type);
/* False: there is no other part, or the request has failed. */
bool serve_form_next(serve_part *out, serve_form *form, serve_request *request);

#endif
