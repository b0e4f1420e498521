/* OpenAI's interface: /v1/embeddings and /v1/models. Unknown fields are ignored. Our additions: the field "on_long",
 * and {"calque": {"truncated": n}} in responses; NVIDIA's are "truncate" with a side and "input_type". */
#include "base/base64.h"
#include "serve/request_body.h"
#include "serve/request_input.h"
#include "serve/route.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void prepare_embeddings(serve_request *r) {
  static const char *const formats[] = {"float", "base64", NULL};
  serve_input_options o = {.takes_ids = true, .is_openai = true};
  serve_embedding *e;
  json_t *body = serve_begin_embedding(&e, &o, r, "dimensions");
  if (body && serve_get_choice(&e->format, r, body, "encoding_format", formats) &&
      serve_get_text(&o.ids_model, r, body, "model"))
    serve_take_inputs(r, json_object_get(body, "input"), "input", &o);
  json_decref(body);
}

static void answer_embeddings(serve_request *r) {
  const serve_embedding *e = r->state;
  cq_builder *b = &r->answer;
  const size_t dim = serve_finish_vectors(r, (size_t)e->dimensions, true);
  const serve_work *w = r->work;
  cq_builder_text(b, "{\"object\":\"list\",\"data\":[");
  for (size_t i = 0; i < w->n_texts; i++) {
    cq_builder_text(b, i ? ",{\"object\":\"embedding\",\"index\":" : "{\"object\":\"embedding\",\"index\":");
    cq_builder_printf(b, "%zu,\"embedding\":", i);
    const float *vector = w->vectors + i * dim;
    if (e->format) {
      cq_builder_text(b, "\"");
      cq_base64_encode(b, (cq_slice){(const char *)(vector), dim * sizeof *vector});
      cq_builder_text(b, "\"}");
    } else {
      cq_json_floats(b, vector, dim);
      cq_builder_text(b, "}");
    }
  }
  cq_json_member(b, "],\"model\":", cq_slice_of(r->model->name));
  cq_builder_printf(b, ",\"usage\":{\"prompt_tokens\":%zu,\"total_tokens\":%zu},\"calque\":{\"truncated\":%zu}}",
                    serve_work_n_tokens(w), serve_work_n_tokens(w), w->n_truncated);
  serve_answer(r);
}

static void put_model(serve_request *r) {
  const serve_model *m = r->model;
  cq_json_member(&r->answer, "{\"id\":", cq_slice_of(m->name));
  /* LM Studio's clients list models of this type, and cut texts to this length. */
  cq_builder_printf(&r->answer,
                    ",\"object\":\"model\",\"created\":0,\"owned_by\":\"calque\",\"type\":\"embeddings\","
                    "\"max_context_length\":%zu,\"calque\":{\"dim\":%zu,\"max_tokens\":%zu,\"fingerprint\":\"%s\"}}",
                    m->max_tokens ? m->max_tokens : r->shared->limits.max_tokens, m->dim, m->max_tokens,
                    m->fingerprint);
}

static void prepare_models(serve_request *r) {
  cq_builder_text(&r->answer, "{\"object\":\"list\",\"data\":[");
  put_model(r);
  cq_builder_text(&r->answer, "]}");
  serve_answer(r);
}

static void prepare_model(serve_request *r) {
  if (strcmp(r->rest, r->model->name) != 0) {
    serve_fail(r, SERVE_NOT_FOUND, "model", "there is no model '%.200s', only '%s'", r->rest, r->model->name);
    return;
  }
  put_model(r);
  serve_answer(r);
}

const serve_route serve_openai_routes[] = {
    {"POST", "/v1/embeddings", SERVE_OPENAI, 0, prepare_embeddings, answer_embeddings,
     .summary = "Vectors of texts, of length 1, as OpenAI's interface gives them",
     .body = "{\"input\":{\"description\":\"a string, a list of strings, or, with --token-ids, token ids or a list of "
             "lists of them\"},"
             "\"model\":{\"type\":\"string\",\"description\":\"ignored: there is one model\"},"
             "\"encoding_format\":{\"enum\":[\"float\",\"base64\"]},"
             "\"dimensions\":{\"type\":\"integer\",\"description\":\"keep only the first ones\"}," SERVE_TEXT_FIELDS
             ",\"input_type\":{\"type\":\"string\"}}",
     .answer_schema = "{\"object\":{\"const\":\"list\"},\"data\":{\"type\":\"array\"},\"model\":{\"type\":\"string\"},"
                      "\"usage\":{\"type\":\"object\"},\"calque\":{\"type\":\"object\"}}"},
    /* Of clients whose base_url lacks /v1, as TEI has it. */
    {"POST", "/embeddings", SERVE_OPENAI, SERVE_HIDDEN, prepare_embeddings, answer_embeddings,
     .summary = "The same as /v1/embeddings"},
    {"GET", "/v1/models", SERVE_OPENAI, SERVE_INLINE, prepare_models, NULL, .summary = "The model that is served",
     .answer_schema = "{\"object\":{\"const\":\"list\"},\"data\":{\"type\":\"array\"}}"},
    {"GET", "/v1/models/", SERVE_OPENAI, SERVE_INLINE, prepare_model, NULL, .summary = "A model by its name",
     .answer_schema = "{\"id\":{\"type\":\"string\"},\"object\":{\"const\":\"model\"}}"},
    {"GET", "/models", SERVE_OPENAI, SERVE_INLINE | SERVE_HIDDEN, prepare_models, NULL,
     .summary = "The same as /v1/models"},
    {"GET", "/models/", SERVE_OPENAI, SERVE_INLINE | SERVE_HIDDEN, prepare_model, NULL,
     .summary = "The same as /v1/models/"},
    /* LM Studio's own paths. */
    {"POST", "/api/v0/embeddings", SERVE_OPENAI, SERVE_HIDDEN, prepare_embeddings, answer_embeddings,
     .summary = "The same as /v1/embeddings"},
    {"GET", "/api/v0/models", SERVE_OPENAI, SERVE_INLINE | SERVE_HIDDEN, prepare_models, NULL,
     .summary = "The same as /v1/models"},
    {0},
};
