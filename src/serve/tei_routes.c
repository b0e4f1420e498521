/* The text-embeddings-inference interface: /embed and /, /embed_all, /similarity, /tokenize, /decode, /info, /health, /metrics. Unknown
 * fields are ignored. The header X-Calque-Truncated has the number of truncated texts. */
#include "serve/request_body.h"
#include "serve/request_input.h"
#include "serve/route.h"

#include "calque/embedding.h"
#include "calque/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void prepare_embed(serve_request *r) {
  serve_input_options o = {.takes_ids = true};
  serve_embedding *e;
  json_t *body = serve_begin_embedding(&e, &o, r, "dimensions");
  if (body && serve_get_bool(&e->normalize, r, body, "normalize"))
    serve_take_inputs(r, json_object_get(body, "inputs"), "inputs", &o);
  json_decref(body);
}

static void answer_embed(serve_request *r) {
  const serve_embedding *e = r->state;
  const size_t dim = serve_finish_vectors(r, (size_t)e->dimensions, e->normalize);
  serve_put_vectors(&r->answer, r->work, dim);
  serve_answer(r);
}

static void prepare_similarity(serve_request *r) {
  json_t *body = serve_body_json(r);
  const json_t *inputs = json_object_get(body, "inputs"), *parameters = json_object_get(body, "parameters");
  serve_input_options o = {0};
  if (body && !json_is_object(inputs))
    serve_fail(r, SERVE_INVALID, "inputs", "'inputs' is not an object of 'source_sentence' and 'sentences'");
  else if (body && serve_get_truncation(&o, r, json_is_object(parameters) ? parameters : body) &&
           serve_get_text(&o.prompt_name, r, json_is_object(parameters) ? parameters : body, "prompt_name") &&
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
  if (body && serve_get_bool(&has_special, r, body, "add_special_tokens") && serve_get_truncation(&o, r, body) &&
      serve_get_text(&o.prompt_name, r, body, "prompt_name") &&
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

/* ---- /embed_all: without the queue, since its batches have one vector a text ---- */

static void prepare_embed_all(serve_request *r) {
  enum { MAX_TOKENS = SERVE_MAX_TEXTS }; /* the answer has a vector for each */
  const cq_encoder *encoder = r->model->encoder;
  serve_input_options o = {.takes_ids = true};
  serve_embedding *e;
  cq_error error = {0};
  json_t *body = serve_begin_embedding(&e, &o, r, "dimensions");
  const bool is_fine = body && serve_take_inputs(r, json_object_get(body, "inputs"), "inputs", &o);
  json_decref(body);
  if (!is_fine) return;
  serve_work *w = r->work;
  const size_t dim = (size_t)cq_encoder_token_dim(encoder), n = serve_work_n_tokens(w);
  if (n > MAX_TOKENS) {
    serve_fail(r, SERVE_TOO_LARGE, "inputs", "'inputs' has %zu tokens, the limit of this route is %d", n, MAX_TOKENS);
    return;
  }
  if (!(w->vectors = malloc((n * dim + 1) * sizeof *w->vectors))) {
    serve_fail_memory(r);
    return;
  }
  if (cq_encoder_token_vectors(w->vectors, encoder, w->ids.ids, w->ids.starts, w->ids.n, r->shared->ctx, &error)) {
    serve_fail_error(r, &error);
    return;
  }
  for (size_t i = 0, t = 0; i < w->n_texts; i++) {
    const size_t end = w->ids.starts[w->text_starts ? w->text_starts[i + 1] : i + 1];
    cq_builder_text(&r->answer, i ? ",[" : "[[");
    for (bool is_first = true; t < end; t++, is_first = false) {
      if (!is_first) cq_builder_char(&r->answer, ',');
      cq_json_floats(&r->answer, w->vectors + t * dim, dim);
    }
    cq_builder_char(&r->answer, ']');
  }
  cq_builder_char(&r->answer, ']');
  r->n_tokens = n, r->n_truncated = w->n_truncated, r->is_embedding = true;
  serve_answer(r);
}

/* Appends the text of n ids; special ones, unless they are left out, stand between blanks. */
static cq_status put_text(cq_builder *b, const cq_encoder *encoder, const int32_t *ids, size_t n, bool leaves_out,
                          cq_error *error) {
  for (size_t begin = 0, end; begin < n; begin = end + 1) {
    cq_slice special = {0};
    bool is_special = false;
    for (end = begin; end < n && !is_special; end += !is_special)
      is_special = !leaves_out && cq_encoder_token(&special, &is_special, encoder, ids[end]) && is_special;
    char *text;
    const cq_status status = cq_encoder_decode(&text, encoder, ids + begin, end - begin, error);
    if (status) return status;
    if (b->n && *text) cq_builder_char(b, ' ');
    cq_builder_text(b, text);
    if (is_special && b->n) cq_builder_char(b, ' ');
    if (is_special) cq_builder_slice(b, special);
    cq_free(text);
  }
  return CQ_OK;
}

static bool put_decoded(serve_request *r, const json_t *list, const char *place, bool leaves_out) {
  const size_t n = json_array_size(list);
  if (!n) return serve_fail(r, SERVE_INVALID, "ids", "%s has no ids", place);
  int32_t *ids = malloc(n * sizeof *ids);
  if (!ids) return serve_fail_memory(r);
  bool is_fine = true;
  cq_builder text = {0};
  cq_error error = {0};
  for (size_t i = 0, id; is_fine && i < n; i++)
    if ((is_fine = serve_get_id(&id, r, list, i, cq_encoder_vocab_size(r->model->encoder), "ids", place)))
      ids[i] = (int32_t)id;
  if (is_fine && put_text(&text, r->model->encoder, ids, n, leaves_out, &error)) is_fine = serve_fail_error(r, &error);
  if (is_fine && text.failed) is_fine = serve_fail_memory(r);
  if (is_fine) cq_json_text(&r->answer, cq_built(&text).data, text.n);
  cq_builder_free(&text);
  free(ids);
  return is_fine;
}

static void prepare_decode(serve_request *r) {
  json_t *body = serve_body_json(r);
  const json_t *ids = json_object_get(body, "ids");
  bool leaves_out = true;
  if (body && serve_get_bool(&leaves_out, r, body, "skip_special_tokens")) {
    const bool is_one = json_is_integer(json_array_get(ids, 0));
    const size_t n = is_one ? 1 : json_array_size(ids);
    if (!n) serve_fail(r, SERVE_INVALID, "ids", "'ids' is missing, or no list of token ids or of lists of them");
    for (size_t i = 0; i < n && !r->code; i++) {
      char place[40] = "'ids'";
      if (!is_one) snprintf(place, sizeof place, "'ids[%zu]'", i);
      cq_builder_char(&r->answer, i ? ',' : '[');
      (void)put_decoded(r, is_one ? ids : json_array_get(ids, i), place, leaves_out);
    }
    if (!r->code) {
      cq_builder_char(&r->answer, ']');
      serve_answer(r);
    }
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

#define EMBED_BODY                                                                                                     \
  "{\"inputs\":{\"description\":\"a string, a list of strings, token ids, or a list of lists of them\"},"              \
  "\"normalize\":{\"type\":\"boolean\",\"default\":true},\"dimensions\":{\"type\":\"integer\"}," SERVE_TEXT_FIELDS "}"

const serve_route serve_tei_routes[] = {
    {"POST", "/embed", SERVE_TEI, 0, prepare_embed, answer_embed,
     .summary = "Vectors of texts, as text-embeddings-inference gives them", .body = EMBED_BODY, .answer_schema = "[]"},
    {"POST", "/embed_all", SERVE_TEI, 0, prepare_embed_all, NULL,
     .summary = "A vector for each token of texts, before pooling", .body = EMBED_BODY, .answer_schema = "[]"},
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
             "\"add_special_tokens\":{\"type\":\"boolean\",\"default\":true}," SERVE_TEXT_FIELDS "}",
     .answer_schema = "[]"},
    {"POST", "/decode", SERVE_TEI, 0, prepare_decode, NULL, .summary = "The text of token ids, as the model reads it",
     .body = "{\"ids\":{\"description\":\"token ids, or a list of lists of them\"},"
             "\"skip_special_tokens\":{\"type\":\"boolean\",\"default\":true}}",
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
