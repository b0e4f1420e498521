/* Ollama's interface to vectors: /api/embed and the older /api/embeddings, and what its clients ask about models before:
 * /api/tags, /api/ps, /api/show, /api/version. Unknown fields ("options", "keep_alive") are ignored, and so is the
 * model's name, except where a model is described. Vectors have length 1. */
#include "serve/request_body.h"
#include "serve/request_input.h"
#include "serve/route.h"

#include "calque/version.h"

#include <string.h>

static void prepare_embed(serve_request *r) {
  serve_input_options o = {0};
  serve_embedding *e;
  json_t *body = serve_begin_embedding(&e, &o, r, "dimensions");
  if (body) serve_take_inputs(r, json_object_get(body, "input"), "input", &o);
  json_decref(body);
}

static void answer_embed(serve_request *r) {
  const serve_embedding *e = r->state;
  const size_t dim = serve_finish_vectors(r, (size_t)e->dimensions, true);
  cq_json_member(&r->answer, "{\"model\":", cq_slice_of(r->model->name));
  cq_builder_text(&r->answer, ",\"embeddings\":");
  serve_put_vectors(&r->answer, r->work, dim);
  cq_builder_printf(&r->answer, ",\"total_duration\":%llu,\"load_duration\":0,\"prompt_eval_count\":%zu}",
                    (unsigned long long)(cq_now_ms() - r->begun_ms) * 1000000, serve_work_n_tokens(r->work));
  serve_answer(r);
}

static void prepare_prompt(serve_request *r) {
  serve_input_options o = {0};
  serve_embedding *e;
  json_t *body = serve_begin_embedding(&e, &o, r, "dimensions");
  if (body) serve_take_text(r, json_object_get(body, "prompt"), "prompt", &o);
  json_decref(body);
}

static void answer_prompt(serve_request *r) {
  const serve_embedding *e = r->state;
  const size_t dim = serve_finish_vectors(r, (size_t)e->dimensions, true);
  cq_builder_text(&r->answer, "{\"embedding\":");
  cq_json_floats(&r->answer, r->work->vectors, dim);
  cq_builder_text(&r->answer, "}");
  serve_answer(r);
}

/* ---- the model ---- */

static void put_details(cq_builder *b, const serve_model *m) {
  cq_builder_printf(b,
                    ",\"modified_at\":\"1970-01-01T00:00:00Z\",\"details\":{\"parent_model\":\"\",\"format\":"
                    "\"safetensors\",\"family\":\"calque\",\"families\":[\"calque\"],\"parameter_size\":\"%.1fM\","
                    "\"quantization_level\":\"%s\"},\"capabilities\":[\"embedding\"]",
                    (double)cq_encoder_n_parameters(m->encoder) * 1e-6, m->precision);
}

static void prepare_tags(serve_request *r) {
  cq_builder *b = &r->answer;
  cq_json_member(b, "{\"models\":[{\"name\":", cq_slice_of(r->model->name));
  cq_json_member(b, ",\"model\":", cq_slice_of(r->model->name));
  cq_builder_printf(b, ",\"digest\":\"%s\",\"size\":%lld", r->model->fingerprint,
                    (long long)cq_encoder_n_parameters(r->model->encoder) * 4);
  put_details(b, r->model);
  cq_builder_text(b, "}]}");
  serve_answer(r);
}

static bool is_served(const serve_model *m, const char *name) {
  const size_t n = strlen(m->name);
  return !strncmp(name, m->name, n) && (!name[n] || !strcmp(name + n, ":latest"));
}

static void prepare_show(serve_request *r) {
  const serve_model *m = r->model;
  const char *name = NULL;
  json_t *body = serve_body_json(r);
  if (body && serve_get_text(&name, r, body, "name") && serve_get_text(&name, r, body, "model")) {
    if (!name || !*name) {
      serve_fail(r, SERVE_INVALID, "model", "'model' is missing");
    } else if (!is_served(m, name)) {
      serve_fail(r, SERVE_NOT_FOUND, "model", "model '%.200s' not found, only '%s'", name, m->name);
    } else {
      cq_builder_text(&r->answer, "{\"modelfile\":\"\",\"parameters\":\"\",\"template\":\"\"");
      put_details(&r->answer, m);
      cq_builder_printf(&r->answer,
                        ",\"model_info\":{\"general.architecture\":\"calque\",\"general.parameter_count\":%lld,"
                        "\"calque.embedding_length\":%zu,\"calque.context_length\":%zu}}",
                        (long long)cq_encoder_n_parameters(m->encoder), m->dim,
                        m->max_tokens ? m->max_tokens : r->shared->limits.max_tokens);
      serve_answer(r);
    }
  }
  json_decref(body);
}

static void prepare_version(serve_request *r) {
  cq_builder_printf(&r->answer, "{\"version\":\"%s\"}", cq_version());
  serve_answer(r);
}

#define MODEL "\"model\":{\"type\":\"string\"}"

const serve_route serve_ollama_routes[] = {
    {"POST", "/api/embed", SERVE_OLLAMA, 0, prepare_embed, answer_embed,
     .summary = "Vectors of texts, of length 1, as Ollama gives them",
     .body = "{\"input\":{\"description\":\"a string or a list of strings\"},\"dimensions\":{\"type\":\"integer\"},"
             "\"input_type\":{\"type\":\"string\"}," SERVE_TEXT_FIELDS "," MODEL "}",
     .answer_schema = "{" MODEL ",\"embeddings\":{\"type\":\"array\"},\"prompt_eval_count\":{\"type\":\"integer\"}}"},
    {"POST", "/api/embeddings", SERVE_OLLAMA, 0, prepare_prompt, answer_prompt,
     .summary = "The vector of one text, as older clients of Ollama ask for it",
     .body = "{\"prompt\":{\"type\":\"string\"},\"dimensions\":{\"type\":\"integer\"},"
             "\"input_type\":{\"type\":\"string\"}," SERVE_TEXT_FIELDS "," MODEL "}",
     .answer_schema = "{\"embedding\":{\"type\":\"array\"}}"},
    {"GET", "/api/tags", SERVE_OLLAMA, SERVE_INLINE, prepare_tags, NULL, .summary = "The model that is served",
     .answer_schema = "{\"models\":{\"type\":\"array\"}}"},
    {"GET", "/api/ps", SERVE_OLLAMA, SERVE_INLINE | SERVE_HIDDEN, prepare_tags, NULL,
     .summary = "The same as /api/tags"},
    {"POST", "/api/show", SERVE_OLLAMA, 0, prepare_show, NULL, .summary = "The model by its name",
     .body = "{" MODEL ",\"name\":{\"type\":\"string\"}}",
     .answer_schema = "{\"details\":{\"type\":\"object\"},\"model_info\":{\"type\":\"object\"}}"},
    {"GET", "/api/version", SERVE_OLLAMA, SERVE_INLINE, prepare_version, NULL, .summary = "The version of calque",
     .answer_schema = "{\"version\":{\"type\":\"string\"}}"},
    {0},
};
