/* Cohere's interface to vectors: /v1/embed and /v2/embed, whose "inputs" may have parts. Unknown fields are ignored. "input_type" chooses the model's
 * prompt for queries or documents.
 *
 *   float, base64    length 1
 *   int8             scaled so that the largest component is 127 or -127: for cosines; uint8: 128 more
 *   ubinary, binary  a bit for each component, 1 above 0, as cq_quantize_ubinary() and cq_quantize_binary() */
#include "base/base64.h"
#include "serve/request_body.h"
#include "serve/request_input.h"
#include "serve/route.h"

#include "calque/embedding.h"

#include <math.h>
#include <string.h>

enum { FLOAT, INT8, UINT8, BINARY, UBINARY, BASE64, N_TYPES, PLAIN = 1 << N_TYPES /* v1's, without types */ };
static const char *const type_names[] = {"float", "int8", "uint8", "binary", "ubinary", "base64", NULL};

/* A set of types. False: the request has failed. */
static bool get_types(int *out, serve_request *r, const json_t *object) {
  const json_t *list = json_object_get(object, "embedding_types");
  if (!list || json_is_null(list)) return true;
  if (!json_is_array(list) || !json_array_size(list))
    return serve_fail(r, SERVE_INVALID, "embedding_types", "'embedding_types' is not a list of strings");
  *out = 0;
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char *name = json_string_value(json_array_get(list, i));
    int type = 0;
    while (type < N_TYPES && (!name || strcmp(name, type_names[type]) != 0)) type++;
    if (type == N_TYPES)
      return serve_fail(r, SERVE_INVALID, "embedding_types",
                        "'embedding_types[%zu]' is %s%.50s%s, expected float, int8, uint8, binary, ubinary or base64",
                        i, name ? "'" : "", name ? name : "not a string", name ? "'" : "");
    *out |= 1 << type;
  }
  return true;
}

static bool is_first_version(const serve_request *r) {
  return !strncmp(r->route->path, "/v1", 3);
}

/* The text of an input's parts, a line each: [{"type": "text", "text": "A river."}]. */
static bool put_input(cq_builder *b, serve_request *r, const json_t *input, size_t i) {
  const json_t *parts = json_object_get(input, "content"), *part;
  size_t k;
  if (!json_array_size(parts))
    return serve_fail(r, SERVE_INVALID, "inputs", "'inputs[%zu].content' is not a list of parts", i);
  json_array_foreach((json_t *)(size_t)parts, k, part) {
    const char *type = json_string_value(json_object_get(part, "type"));
    const json_t *text = json_object_get(part, "text");
    if (type && (!strcmp(type, "image_url") || !strcmp(type, "image")))
      return serve_fail(r, SERVE_UNSUPPORTED, "inputs",
                        "'inputs[%zu].content[%zu]' is an image: only text has vectors here", i, k);
    if (!type || strcmp(type, "text") != 0 || !json_is_string(text))
      return serve_fail(r, SERVE_INVALID, "inputs",
                        "'inputs[%zu].content[%zu]' is not of type 'text' with a string 'text'", i, k);
    if (k) cq_builder_char(b, '\n');
    cq_builder_bytes(b, json_string_value(text), json_string_length(text));
  }
  return true;
}

/* v2's "inputs" as a list of strings; NULL: the request has failed. */
static json_t *texts_of_inputs(serve_request *r, const json_t *inputs) {
  json_t *texts = json_is_array(inputs) ? json_array() : NULL;
  const json_t *input;
  size_t i;
  if (!texts) serve_fail(r, SERVE_INVALID, "inputs", "'inputs' is not a list of objects with 'content'");
  json_array_foreach((json_t *)(size_t)inputs, i, input) {
    cq_builder b = {0};
    if (!r->code && put_input(&b, r, input, i) &&
        (b.failed || json_array_append_new(texts, json_stringn(cq_built(&b).data, b.n))))
      serve_fail_memory(r);
    cq_builder_free(&b);
  }
  if (!r->code) return texts;
  json_decref(texts);
  return NULL;
}

static void prepare_embed(serve_request *r) {
  serve_input_options o = {0};
  serve_embedding *e;
  json_t *body = serve_begin_embedding(&e, &o, r, "output_dimension"), *texts = json_object_get(body, "texts");
  const json_t *inputs = is_first_version(r) ? NULL : json_object_get(body, "inputs");
  const bool has_inputs = inputs && !json_is_null(inputs);
  if (body && has_inputs && texts && !json_is_null(texts))
    serve_fail(r, SERVE_INVALID, "inputs", "'texts' and 'inputs' are both given");
  else if (has_inputs)
    texts = texts_of_inputs(r, inputs);
  if (body && !r->code && json_object_get(body, "images"))
    serve_fail(r, SERVE_UNSUPPORTED, "images", "'images' have no vectors here: send 'texts'");
  else if (body && !r->code && !json_is_array(texts))
    serve_fail(r, SERVE_INVALID, "texts", texts ? "'texts' is not a list of strings" : "'texts' is missing");
  else if (body && !r->code && serve_take_inputs(r, texts, has_inputs ? "inputs" : "texts", &o)) {
    e->format = is_first_version(r) ? PLAIN : 1 << FLOAT;
    e->texts = json_incref(texts);
    (void)get_types(&e->format, r, body);
  }
  if (has_inputs && texts != json_object_get(body, "texts")) json_decref(texts);
  json_decref(body);
}

/* ---- the answer ---- */

static void put_bytes(cq_builder *b, const float *x, size_t dim, int type) {
  float largest = 0;
  for (size_t i = 0; i < dim; i++) largest = fmaxf(largest, fabsf(x[i]));
  for (size_t i = 0; i < dim; i++) {
    const long value = largest > 0 ? lroundf(x[i] / largest * 127) : 0;
    cq_builder_printf(b, "%s%ld", i ? "," : "[", type == UINT8 ? value + 128 : value);
  }
  cq_builder_char(b, ']');
}

static void put_bits(cq_builder *b, const float *x, size_t dim, int type) {
  for (size_t i = 0; i < dim; i += 8) {
    uint8_t bits;
    cq_quantize_ubinary(&bits, x + i, 1, dim - i < 8 ? dim - i : 8);
    cq_builder_printf(b, "%s%d", i ? "," : "[", type == BINARY ? bits - 128 : bits);
  }
  cq_builder_char(b, ']');
}

static void put_type(cq_builder *b, const serve_work *w, size_t dim, int type) {
  if (type == FLOAT) {
    serve_put_vectors(b, w, dim);
    return;
  }
  for (size_t i = 0; i < w->n_texts; i++) {
    const float *x = w->vectors + i * dim;
    cq_builder_char(b, i ? ',' : '[');
    if (type == BASE64) {
      cq_builder_char(b, '"');
      cq_base64_encode(b, (cq_slice){(const char *)x, dim * sizeof *x});
      cq_builder_char(b, '"');
    } else if (type == INT8 || type == UINT8) {
      put_bytes(b, x, dim, type);
    } else {
      put_bits(b, x, dim, type);
    }
  }
  cq_builder_char(b, ']');
}

static void answer_embed(serve_request *r) {
  const serve_embedding *e = r->state;
  const bool is_plain = e->format == PLAIN;
  cq_builder *b = &r->answer;
  const size_t dim = serve_finish_vectors(r, (size_t)e->dimensions, true), n = json_array_size(e->texts);
  cq_builder_printf(b, "{\"id\":\"%016llx\",\"response_type\":\"embeddings_%s\",\"embeddings\":",
                    (unsigned long long)cq_now_us(), is_plain ? "floats" : "by_type");
  if (is_plain) put_type(b, r->work, dim, FLOAT);
  for (int type = 0, is_first = 1; type < N_TYPES; type++) {
    if (!(e->format & 1 << type)) continue;
    cq_builder_printf(b, "%s\"%s\":", is_first ? "{" : ",", type_names[type]);
    put_type(b, r->work, dim, type);
    is_first = 0;
  }
  cq_builder_text(b, is_plain ? ",\"texts\":[" : "},\"texts\":[");
  for (size_t i = 0; i < n; i++) {
    const json_t *text = json_array_get(e->texts, i);
    cq_json_member(b, i ? "," : "", (cq_slice){json_string_value(text), json_string_length(text)});
  }
  cq_builder_printf(b,
                    "],\"meta\":{\"api_version\":{\"version\":\"%c\"},\"billed_units\":{\"input_tokens\":%zu}},"
                    "\"calque\":{\"truncated\":%zu}}",
                    r->route->path[2], serve_work_n_tokens(r->work), r->work->n_truncated);
  serve_answer(r);
}

#define FIELDS                                                                                                         \
  "\"texts\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"model\":{\"type\":\"string\"},\"input_type\":{"    \
  "\"type\":\"string\"},\"embedding_types\":{\"type\":\"array\",\"items\":{\"enum\":[\"float\",\"int8\",\"uint8\","    \
  "\"binary\",\"ubinary\",\"base64\"]}},\"output_dimension\":{\"type\":\"integer\"}," SERVE_TEXT_FIELDS "}"
#define ANSWER                                                                                                         \
  "{\"id\":{\"type\":\"string\"},\"embeddings\":{},\"texts\":{\"type\":\"array\"},\"meta\":{\"type\":\"object\"}}"

const serve_route serve_cohere_routes[] = {
    {"POST", "/v2/embed", SERVE_COHERE, 0, prepare_embed, answer_embed,
     .summary = "Vectors of texts by type, as Cohere gives them; of texts, or of inputs whose content is text",
     .body = "{\"inputs\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"content\":{\"type\":"
             "\"array\"}}}}," FIELDS,
     .answer_schema = ANSWER},
    {"POST", "/v1/embed", SERVE_COHERE, 0, prepare_embed, answer_embed,
     .summary = "The same; without embedding_types, a list of vectors", .body = "{" FIELDS, .answer_schema = ANSWER},
    {0},
};
