/* Turns a request's texts into work for the queue. */
#ifndef SERVE_REQUEST_INPUT_H
#define SERVE_REQUEST_INPUT_H

#include "serve/request.h"

typedef enum serve_on_long { SERVE_TRUNCATE, SERVE_WINDOW, SERVE_REFUSE } serve_on_long;

typedef struct serve_input_options {
  serve_on_long on_long;
  const char *prompt_name;
  bool keeps_end;        /* of a text that is truncated, instead of its beginning */
  bool takes_ids;        /* lists of numbers are token ids */
  bool is_openai;        /* they are what --token-ids says; otherwise the model's own, used as they are */
  const char *ids_model; /* the model that own ids are of, as the client names it; NULL: the served one */
} serve_input_options;

/* Appends a field's contents to request->work: a string, a list of strings or, with takes_ids, a list of token ids or
 * of such lists. False: the request has failed; the error names the position. */
bool serve_take_inputs(serve_request *request, const json_t *value, const char *field,
                       const serve_input_options *options);
/* The same with a single string. */
bool serve_take_text(serve_request *request, const json_t *value, const char *field,
                     const serve_input_options *options);
/* The same for one text, with a name for its position. */
bool serve_add_text(serve_request *request, cq_slice text, const char *field, const char *place,
                    const serve_input_options *options);

/* Reads a request's truncation options: "truncate" (TEI's) and "on_long". False: the request has failed. */
bool serve_get_on_long(serve_on_long *out, serve_request *request, const json_t *object);
/* Keeps the first `keep` dimensions of each vector (0: all), scaled to length 1 if requested; returns their number. */
size_t serve_finish_vectors(serve_request *request, size_t keep, bool normalize);

#endif
