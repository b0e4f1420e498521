/* The text-embeddings-inference interface: /embed and /, /similarity, /tokenize, /info, /health, /metrics. Unknown
 * fields are ignored. The header X-Calque-Truncated has the number of truncated texts. */
#include "serve/request_body.h"
#include "serve/request_input.h"
#include "serve/route.h"

#include "calque/embedding.h"
#include "calque/version.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct embed {
  bool normalize;
  int64_t dimensions; /* 0: all */
} embed;

/* The common part of /embed and /similarity. False: the request has failed. */
static bool get_options(serve_input_options *o, serve_request *r, const json_t *body) {
  static const char *const directions[] = {"Right", "right", "Left", "left", NULL};
  int direction = 0;
  if (!serve_get_choice(&direction, r, body, "truncation_direction", directions)) return false;
  o->keeps_end = direction >= 2;
  return serve_get_on_long(&o->on_long, r, body) && serve_get_text(&o->prompt_name, r, body, "prompt_name");
}

static void prepare_embed(serve_request *r) {
  json_t *body = serve_body_json(r);
  embed *e = calloc(1, sizeof *e);
  serve_input_options o = {.takes_ids = true};
  r->state = e, r->state_free = free;
  if (!e && body) serve_fail_memory(r);
  if (e) e->normalize = true;
  if (e && body && serve_get_bool(&e->normalize, r, body, "normalize") &&
      serve_get_int(&e->dimensions, r, body, "dimensions", 1, (int64_t)r->model->dim) && get_options(&o, r, body))
    serve_take_inputs(r, json_object_get(body, "inputs"), "inputs", &o);
  json_decref(body);
}

static void answer_embed(serve_request *r) {
  const embed *e = r->state;
  const size_t dim = serve_finish_vectors(r, (size_t)e->dimensions, e->normalize);
  cq_builder_text(&r->answer, "[");
  for (size_t i = 0; i < r->work->n_texts; i++) {
    if (i) cq_builder_text(&r->answer, ",");
    cq_json_floats(&r->answer, r->work->vectors + i * dim, dim);
  }
  cq_builder_text(&r->answer, "]");
  serve_answer(r);
}

static void prepare_similarity(serve_request *r) {
  json_t *body = serve_body_json(r);
  const json_t *inputs = json_object_get(body, "inputs"), *parameters = json_object_get(body, "parameters");
  serve_input_options o = {0};
  if (body && !json_is_object(inputs))
    serve_fail(r, SERVE_INVALID, "inputs", "'inputs' is not an object of 'source_sentence' and 'sentences'");
  else if (body && get_options(&o, r, json_is_object(parameters) ? parameters : body) &&
           serve_take_text(r, json_object_get(inputs, "source_sentence"), "source_sentence", &o))
    serve_take_inputs(r, json_object_get(inputs, "sentences"), "sentences", &o);
  json_decref(body);
}

static void answer_similarity(serve_request *r) {
  const size_t dim = r->model->dim;
  cq_builder_text(&r->answer, "[");
  for (size_t i = 1; i < r->work->n_texts; i++) {
    if (i > 1) cq_builder_text(&r->answer, ",");
    cq_json_float(&r->answer, (float)cq_cosine(r->work->vectors, r->work->vectors + i * dim, dim));
  }
  cq_builder_text(&r->answer, "]");
  serve_answer(r);
}

/* ---- /tokenize ---- */

static void put_token(cq_builder *b, const cq_encoder *encoder, int32_t id) {
  cq_slice text = {"", 0};
  bool special = false;
  if (!cq_encoder_token(&text, &special, encoder, id)) text = (cq_slice){"", 0};
  cq_builder_printf(b, "{\"id\":%d", (int)id);
  cq_json_member(b, ",\"text\":", text);
  cq_builder_printf(b, ",\"special\":%s,\"start\":null,\"stop\":null}", special ? "true" : "false");
}

static void put_sequence(serve_request *r, size_t i, bool has_special) {
  const cq_token_ids *ids = &r->work->ids;
  bool is_first = true;
  cq_builder_text(&r->answer, i ? ",[" : "[");
  for (size_t t = ids->starts[i]; t < ids->starts[i + 1]; t++) {
    cq_slice text;
    bool special = false;
    if (!has_special && cq_encoder_token(&text, &special, r->model->encoder, ids->ids[t]) && special) continue;
    if (!is_first) cq_builder_text(&r->answer, ",");
    is_first = false;
    put_token(&r->answer, r->model->encoder, ids->ids[t]);
  }
  cq_builder_text(&r->answer, "]");
}

static void prepare_tokenize(serve_request *r) {
  json_t *body = serve_body_json(r);
  bool has_special = true;
  serve_input_options o = {0};
  if (body && serve_get_bool(&has_special, r, body, "add_special_tokens") && get_options(&o, r, body) &&
      serve_take_inputs(r, json_object_get(body, "inputs"), "inputs", &o)) {
    cq_builder_text(&r->answer, "[");
    for (size_t i = 0; i < r->work->ids.n; i++) put_sequence(r, i, has_special);
    cq_builder_text(&r->answer, "]");
    r->n_truncated = r->work->n_truncated;
    r->is_embedding = true;
    serve_answer(r);
  }
  json_decref(body);
}

/* ---- information and health ---- */

static void prepare_info(serve_request *r) {
  const serve_model *m = r->model;
  const serve_limits *limits = &r->shared->limits;
  cq_builder *b = &r->answer;
  cq_json_member(b, "{\"model_id\":", cq_slice_of(m->name));
  cq_builder_printf(
      b, ",\"model_sha\":\"%s\",\"model_dtype\":\"%s\",\"model_type\":{\"embedding\":{\"pooling\":\"model\"}}",
      m->fingerprint, m->precision);
  /* A number in any case, which clients expect: without a maximum of the model, that of a request. */
  cq_builder_printf(b, ",\"max_input_length\":%zu", m->max_tokens ? m->max_tokens : limits->max_tokens);
  cq_builder_printf(
      b,
      ",\"max_batch_tokens\":%zu,\"max_client_batch_size\":%zu,\"max_body_bytes\":%zu,\"auto_truncate\":true,"
      "\"tokenization_workers\":%d,\"version\":\"%s\",\"sha\":null,\"docker_label\":null}",
      limits->max_tokens, limits->max_texts, limits->max_body, cq_context_n_threads(r->shared->ctx), cq_version());
  serve_answer(r);
}

/* A health check encodes a text and, for an index in a database, queries it. A recent success is reused, so that many
 * checks cost no more than one. */
static void prepare_health(serve_request *r) {
  const uint64_t last = atomic_load(&r->shared->healthy_ms), now = cq_now_ms();
  if (last && now - last < 1000) {
    cq_builder_text(&r->answer, "{\"status\":\"ok\"}");
    serve_answer(r);
    return;
  }
  cq_error error;
  if (r->model->is_shared && cq_index_refresh(r->model->index, NULL, &error)) {
    serve_fail(r, SERVE_UNHEALTHY, NULL, "%s", error.message);
    return;
  }
  if (!serve_add_text(r, (cq_slice){"health", 6}, "inputs", "a text", &(serve_input_options){0})) return;
  r->work->is_exempt = true; /* a busy server is well */
  r->work->deadline_ms = now + SERVE_HEALTH_MS;
}

static void answer_health(serve_request *r) {
  atomic_store(&r->shared->healthy_ms, cq_now_ms());
  cq_builder_text(&r->answer, "{\"status\":\"ok\"}");
  serve_answer(r);
}

static void prepare_metrics(serve_request *r) {
  serve_put_metrics(&r->answer, r->shared);
  r->content_type = "text/plain; version=0.0.4; charset=utf-8";
  serve_answer(r);
}

#define ON_LONG                                                                                                        \
  "\"truncate\":{\"type\":\"boolean\"},\"on_long\":{\"enum\":[\"truncate\",\"window\",\"error\"]},"                    \
  "\"truncation_direction\":{\"enum\":[\"Right\",\"Left\"]},\"prompt_name\":{\"type\":\"string\"}"

#define EMBED_BODY                                                                                                     \
  "{\"inputs\":{\"description\":\"a string, a list of strings, token ids, or a list of lists of them\"},"              \
  "\"normalize\":{\"type\":\"boolean\",\"default\":true},\"dimensions\":{\"type\":\"integer\"}," ON_LONG "}"

const serve_route serve_tei_routes[] = {
    {"POST", "/embed", SERVE_TEI, 0, prepare_embed, answer_embed,
     .summary = "Vectors of texts, as text-embeddings-inference gives them", .body = EMBED_BODY, .answer_schema = "[]"},
    /* huggingface_hub's client sends requests here if it has only the server's address. */
    {"POST", "/", SERVE_TEI, SERVE_HIDDEN, prepare_embed, answer_embed, .summary = "The same as /embed",
     .body = EMBED_BODY},
    {"POST", "/similarity", SERVE_TEI, 0, prepare_similarity, answer_similarity,
     .summary = "Cosines of one sentence with others",
     .body = "{\"inputs\":{\"type\":\"object\",\"properties\":{\"source_sentence\":{\"type\":\"string\"},\"sentences\":"
             "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}}},\"parameters\":{\"type\":\"object\"}}",
     .answer_schema = "[]"},
    {"POST", "/tokenize", SERVE_TEI, 0, prepare_tokenize, NULL,
     .summary = "Token ids of texts, as the model reads them",
     .body = "{\"inputs\":{\"description\":\"a string or a list of strings\"},"
             "\"add_special_tokens\":{\"type\":\"boolean\",\"default\":true}," ON_LONG "}",
     .answer_schema = "[]"},
    {"GET", "/info", SERVE_TEI, SERVE_INLINE, prepare_info, NULL, .summary = "The model and the limits",
     .answer_schema = "{\"model_id\":{\"type\":\"string\"},\"max_input_length\":{},\"version\":{\"type\":\"string\"}}"},
    {"GET", "/health", SERVE_TEI, SERVE_INLINE | SERVE_OPEN, prepare_health, answer_health,
     .summary = "Whether a text can be encoded now", .answer_schema = "{\"status\":{\"const\":\"ok\"}}"},
    {"GET", "/ping", SERVE_TEI, SERVE_INLINE | SERVE_OPEN | SERVE_HIDDEN, prepare_health, answer_health,
     .summary = "The same as /health"},
    {"GET", "/metrics", SERVE_TEI, SERVE_INLINE, prepare_metrics, NULL, .summary = "Counters for Prometheus"},
    {0},
};
