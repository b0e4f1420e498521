/* Tokenizes the texts of a request into the sequences of its work, within the limits of one request. */
#include "serve/request_input.h"
#include "serve/request_body.h"
#include "serve/route.h"

#include "base/utf8.h"
#include "calque/embedding.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool begin_work(serve_request *r, const serve_input_options *o) {
  if (r->work) return true;
  r->work = serve_work_new(r->model);
  if (r->work && o->prompt_name && !(r->work->prompt_name = strdup(o->prompt_name)))
    serve_work_free(r->work), r->work = NULL;
  return r->work || serve_fail_memory(r);
}

/* Records which sequences belong to the last text; doubles the array if it is full. */
static bool end_text(serve_request *r, bool has_windows) {
  serve_work *w = r->work;
  const size_t n = ++w->n_texts;
  if (!has_windows) return true;
  if (n == 1 || (n & (n - 1)) == 0) {
    size_t *more = realloc(w->text_starts, (2 * n + 1) * sizeof *more);
    if (!more) return serve_fail_memory(r);
    w->text_starts = more;
  }
  w->text_starts[0] = 0;
  w->text_starts[n] = w->ids.n;
  return true;
}

static bool check_limits(serve_request *r, const char *field) {
  const serve_limits *limits = &r->shared->limits;
  const size_t n_tokens = serve_work_n_tokens(r->work);
  if (n_tokens <= limits->max_tokens) return true;
  return serve_fail(r, SERVE_TOO_LARGE, field, "'%s' has more than %zu tokens, the limit of one request (--max-tokens)",
                    field, limits->max_tokens);
}

bool serve_add_text(serve_request *r, cq_slice text, const char *field, const char *place,
                    const serve_input_options *o) {
  cq_encode_options encode = cq_encode_default_options();
  cq_error error = {0};
  bool is_long = false;
  if (!begin_work(r, o)) return false;
  serve_work *w = r->work;
  if (text.n == 0) return serve_fail(r, SERVE_INVALID, field, "%s is empty", place);
  encode.prompt_name = o->prompt_name;
  if (cq_encoder_token_ids(&w->ids, &is_long, r->model->encoder, text,
                           o->on_long == SERVE_WINDOW ? CQ_LONG_WINDOWS
                           : o->keeps_end             ? CQ_LONG_END
                                                      : CQ_LONG_TRUNCATED,
                           &encode, r->shared->ctx, &error))
    return serve_fail_error(r, &error);
  if (is_long && o->on_long == SERVE_REFUSE)
    return serve_fail(r, SERVE_TOO_LONG, field, "%s is longer than the model's %zu tokens", place,
                      r->model->max_tokens);
  w->n_truncated += is_long && o->on_long == SERVE_TRUNCATE;
  return end_text(r, o->on_long == SERVE_WINDOW) && check_limits(r, field);
}

static bool add_string(serve_request *r, const json_t *value, const char *field, const char *place,
                       const serve_input_options *o) {
  return serve_add_text(r, (cq_slice){json_string_value(value), json_string_length(value)}, field, place, o);
}

bool serve_get_id(size_t *out, serve_request *r, const json_t *list, size_t i, int64_t n_ids, const char *field,
                  const char *place) {
  const json_t *id = json_array_get(list, i);
  *out = (size_t)json_integer_value(id);
  return (json_is_integer(id) && json_integer_value(id) >= 0 && json_integer_value(id) < n_ids) ||
         serve_fail(r, SERVE_INVALID, field, "token %zu of %s is not a whole number from 0 to %" PRId64, i, place,
                    n_ids - 1);
}

/* Appends the text of another tokenizer's ids. A list may end within a character, which becomes U+FFFD. */
static bool add_decoded(serve_request *r, const json_t *list, const char *field, const char *place,
                        const serve_input_options *o) {
  const serve_token_table *t = &r->shared->tokens;
  cq_builder bytes = {0}, text = {0};
  bool is_fine = true;
  for (size_t i = 0, id; is_fine && i < json_array_size(list); i++)
    if ((is_fine = serve_get_id(&id, r, list, i, (int64_t)t->n, field, place)))
      cq_builder_slice(&bytes, serve_token_bytes(t, id));
  uint32_t code;
  for (cq_slice rest = cq_built(&bytes); is_fine && cq_utf8_next(&code, &rest);) {
    char character[4];
    cq_builder_bytes(&text, character, cq_utf8_encode(character, code));
  }
  if (is_fine && (bytes.failed || text.failed)) is_fine = serve_fail_memory(r);
  if (is_fine) is_fine = serve_add_text(r, cq_built(&text), field, place, o);
  cq_builder_free(&bytes);
  cq_builder_free(&text);
  return is_fine;
}

/* Appends ids as one sequence; longer ones are treated like texts, but have no special tokens to keep. */
static bool add_ids(serve_request *r, const json_t *list, const char *field, const char *place,
                    const serve_input_options *o) {
  const size_t n = json_array_size(list), max = r->model->max_tokens;
  const serve_token_kind kind = o->is_openai ? r->shared->token_kind : SERVE_TOKENS_OWN;
  if (kind == SERVE_TOKENS_REFUSED)
    return serve_fail(r, SERVE_INVALID, field,
                      "%s has token ids, of a tokenizer that the server does not know: send texts (LangChain: "
                      "check_embedding_ctx_length=False), or start the server with --token-ids",
                      place);
  if (kind != SERVE_TOKENS_OWN) return add_decoded(r, list, field, place, o);
  const int64_t n_ids = cq_encoder_vocab_size(r->model->encoder);
  if (!begin_work(r, o)) return false;
  serve_work *w = r->work;
  if (n == 0) return serve_fail(r, SERVE_INVALID, field, "%s is empty", place);
  if (o->ids_model && strcmp(o->ids_model, r->model->name) != 0)
    return serve_fail(r, SERVE_INVALID, field,
                      "%s has token ids of '%.100s', but the model is '%s': send texts (LangChain: "
                      "check_embedding_ctx_length=False)",
                      place, o->ids_model, r->model->name);
  if (max && n > max && o->on_long == SERVE_REFUSE)
    return serve_fail(r, SERVE_TOO_LONG, field, "%s has %zu tokens, the model takes %zu", place, n, max);
  const bool is_long = max && n > max, windows = o->on_long == SERVE_WINDOW;
  const size_t room = is_long ? max : n, kept = is_long && !windows ? max : n, n_sequences = (kept - 1) / room + 1;
  const size_t first = o->keeps_end ? n - kept : 0;
  int32_t *ids = malloc(kept * sizeof *ids);
  size_t *starts = malloc((n_sequences + 1) * sizeof *starts);
  bool is_fine = ids && starts;
  if (!is_fine) serve_fail_memory(r);
  for (size_t i = 0; is_fine && i < kept; i++) {
    size_t id;
    is_fine = serve_get_id(&id, r, list, first + i, n_ids, field, place);
    ids[i] = (int32_t)id;
  }
  for (size_t s = 0; is_fine && s <= n_sequences; s++) starts[s] = s * room < kept ? s * room : kept;
  cq_error error = {0};
  if (is_fine && cq_token_ids_append(&w->ids, ids, starts, n_sequences, &error)) is_fine = serve_fail_error(r, &error);
  free(ids);
  free(starts);
  if (is_fine) w->n_truncated += is_long && !windows;
  return is_fine && end_text(r, windows) && check_limits(r, field);
}

bool serve_take_text(serve_request *r, const json_t *value, const char *field, const serve_input_options *o) {
  char place[80];
  if (!json_is_string(value))
    return serve_fail(r, SERVE_INVALID, field, value ? "'%s' is not a string" : "'%s' is missing", field);
  snprintf(place, sizeof place, "'%s'", field);
  return add_string(r, value, field, place, o);
}

bool serve_take_inputs(serve_request *r, const json_t *value, const char *field, const serve_input_options *o) {
  char place[80];
  if (json_is_string(value)) return serve_take_text(r, value, field, o);
  const char *expected = o->takes_ids ? "a string, a list of strings, or a list of token ids or of lists of them"
                                      : "a string or a list of strings";
  if (!json_is_array(value))
    return serve_fail(r, SERVE_INVALID, field, value ? "'%s' is not %s" : "'%s' is missing, expected %s", field,
                      expected);
  const size_t n = json_array_size(value);
  if (n == 0) return serve_fail(r, SERVE_INVALID, field, "'%s' is an empty list", field);
  snprintf(place, sizeof place, "'%s'", field);
  if (o->takes_ids && json_is_integer(json_array_get(value, 0))) return add_ids(r, value, field, place, o);
  if (n > r->shared->limits.max_texts)
    return serve_fail(r, SERVE_TOO_LARGE, field, "'%s' has %zu texts, the limit of one request is %zu", field, n,
                      r->shared->limits.max_texts);
  for (size_t i = 0; i < n; i++) {
    const json_t *item = json_array_get(value, i);
    snprintf(place, sizeof place, "'%s[%zu]'", field, i);
    if (json_is_string(item)) {
      if (!add_string(r, item, field, place, o)) return false;
    } else if (o->takes_ids && json_is_array(item)) {
      if (!add_ids(r, item, field, place, o)) return false;
    } else {
      return serve_fail(r, SERVE_INVALID, field, "%s is not %s", place,
                        o->takes_ids ? "a string or a list of token ids" : "a string");
    }
  }
  return true;
}

bool serve_get_truncation(serve_input_options *o, serve_request *r, const json_t *object) {
  static const char *const words[] = {"truncate", "window", "error", NULL}; /* by serve_on_long */
  static const char *const sides[] = {"END", "START", "NONE", NULL};
  static const char *const directions[] = {"Right", "right", "Left", "left", NULL};
  int word = -1, side = 0, direction = 0;
  bool is_truncated = true;
  const bool has_side = json_is_string(json_object_get(object, "truncate"));
  if (!(has_side ? serve_get_choice(&side, r, object, "truncate", sides)
                 : serve_get_bool(&is_truncated, r, object, "truncate")) ||
      !serve_get_choice(&word, r, object, "on_long", words) ||
      !serve_get_choice(&direction, r, object, "truncation_direction", directions))
    return false;
  o->on_long = word >= 0 ? (serve_on_long)word : is_truncated && side < 2 ? SERVE_TRUNCATE : SERVE_REFUSE;
  o->keeps_end = direction >= 2 || side == 1;
  return true;
}

/* The prompt: by its name, or the model's for what the texts are (Cohere's and NVIDIA's "input_type"). */
static bool get_prompt(serve_input_options *o, serve_request *r, const json_t *object) {
  static const char *const roles[][2] = {
      {"query", "query"}, {"search_query", "query"}, {"passage", "document"}, {"search_document", "document"}};
  const char *type = NULL;
  if (r->route->style != SERVE_TEI && !serve_get_text(&type, r, object, "input_type")) return false;
  for (size_t i = 0; type && i < 4; i++)
    if (!strcmp(type, roles[i][0])) o->prompt_name = cq_encoder_task_prompt(r->model->encoder, roles[i][1]);
  return serve_get_text(&o->prompt_name, r, object, "prompt_name");
}

static void free_embedding(void *state) {
  serve_embedding *e = state;
  if (e) json_decref(e->texts);
  free(e);
}

json_t *serve_begin_embedding(serve_embedding **out, serve_input_options *o, serve_request *r, const char *dimensions) {
  json_t *body = serve_body_json(r);
  serve_embedding *e = *out = body ? calloc(1, sizeof *e) : NULL;
  if (body && !e) serve_fail_memory(r);
  r->state = e, r->state_free = free_embedding;
  if (e) e->normalize = true;
  if (e && serve_get_int(&e->dimensions, r, body, dimensions, 1, (int64_t)r->model->dim) &&
      serve_get_truncation(o, r, body) && get_prompt(o, r, body))
    return body;
  json_decref(body);
  return NULL;
}

size_t serve_finish_vectors(serve_request *r, size_t keep, bool normalize) {
  serve_work *w = r->work;
  const size_t dim = r->model->dim;
  if (keep && keep < dim)
    for (size_t i = 0; i < w->n_texts; i++) memmove(w->vectors + i * keep, w->vectors + i * dim, keep * sizeof(float));
  else
    keep = dim;
  if (normalize) cq_normalize(w->vectors, w->n_texts, keep);
  return keep;
}

void serve_put_vectors(cq_builder *b, const serve_work *w, size_t dim) {
  for (size_t i = 0; i < w->n_texts; i++) {
    cq_builder_char(b, i ? ',' : '[');
    cq_json_floats(b, w->vectors + i * dim, dim);
  }
  cq_builder_char(b, ']');
}
