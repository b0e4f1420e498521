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

/* The i-th id of a list, which is named place; false: it is not below n_ids, and the request has failed. */
bool serve_get_id(size_t *out, serve_request *request, const json_t *list, size_t i, int64_t n_ids, const char *field,
                  const char *place);

/* What these functions read of a body, as a schema. */
#define SERVE_TEXT_FIELDS                                                                                              \
  "\"truncate\":{\"type\":[\"boolean\",\"string\"],\"description\":\"or END, START, NONE\"},\"on_long\":{\"enum\":["   \
  "\"truncate\",\"window\",\"error\"]},\"truncation_direction\":{\"enum\":[\"Right\",\"Left\"]},\"prompt_name\":{"     \
  "\"type\":\"string\"}"
/* Reads how long texts are truncated: "on_long"; "truncate", true or false (TEI, Ollama) or a side (Cohere, NVIDIA);
 * "truncation_direction" (TEI). False: the request has failed. */
bool serve_get_truncation(serve_input_options *out, serve_request *request, const json_t *object);

/* A request for vectors, from prepare to answer. */
typedef struct serve_embedding {
  int64_t dimensions; /* 0: all */
  bool normalize;
  int format;    /* the interface's own */
  json_t *texts; /* for the answer; NULL: it has none */
} serve_embedding;

/* Begins one: its body, to be released with json_decref; NULL: the request has failed. Reads truncation, prompt, and the
 * field that the interface calls dimensions. */
json_t *serve_begin_embedding(serve_embedding **out, serve_input_options *options, serve_request *request,
                              const char *dimensions);
/* Keeps the first `keep` dimensions of each vector (0: all), scaled to length 1 if requested; returns their number. */
size_t serve_finish_vectors(serve_request *request, size_t keep, bool normalize);
/* "[[x,...],...]" */
void serve_put_vectors(cq_builder *b, const serve_work *work, size_t dim);

#endif
