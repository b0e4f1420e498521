/* Turns a request's texts into work for the queue. */
#ifndef SERVE_REQUEST_INPUT_H
#define SERVE_REQUEST_INPUT_H

#include "serve/request.h"

typedef enum serve_on_long { SERVE_TRUNCATE, SERVE_WINDOW, SERVE_REFUSE } serve_on_long;
extern const char *const serve_on_long_words[]; /* by serve_on_long */

typedef struct serve_input_options {
  serve_on_long on_long;
  const char *prompt_name;
  bool takes_ids; /* lists of numbers are token ids, used as they are */
} serve_input_options;

/* Appends a field's contents to request->work: a string, a list of strings or, with takes_ids, of token ids, or of
 * lists of them. False: the request has failed, with the place of the error. */
bool serve_take_inputs(serve_request *request, const json_t *value, const char *field,
                       const serve_input_options *options);
/* The same with a single string. */
bool serve_take_text(serve_request *request, const json_t *value, const char *field,
                     const serve_input_options *options);
/* The same, with a name for the place and the current text. */
bool serve_add_text(serve_request *request, cq_slice text, const char *field, const char *place,
                    const serve_input_options *options);

/* A request's options for truncation: "truncate" (TEI's) and "on_long". False: the request has failed. */
bool serve_get_on_long(serve_on_long *out, serve_request *request, const json_t *object);
/* The first `keep` dimensions of each vector (0: all), scaled to length 1 if wanted; returns how many there are. */
size_t serve_finish_vectors(serve_request *request, size_t keep, bool normalize);

#endif
