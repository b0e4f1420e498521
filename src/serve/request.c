/* A request's errors, each in its interface's format, and reading JSON fields with messages that name them. */
#include "serve/request.h"
#include "base/error.h"
#include "serve/route.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void serve_request_keep_answer(serve_request *r) {
  if (r->state_free) r->state_free(r->state);
  serve_work_free(r->work);
  cq_builder_free(&r->body);
  r->state = NULL, r->state_free = NULL, r->work = NULL;
  char *fitting = r->answer.n ? realloc(r->answer.data, r->answer.n + 1) : NULL;
  if (fitting) r->answer.data = fitting, r->answer.capacity = r->answer.n + 1;
}

void serve_request_clear(serve_request *r) {
  serve_request_keep_answer(r);
  serve_model_leave(r->model);
  cq_builder_free(&r->answer);
  free(r->disposition);
}

/* ---- answers ---- */

static const struct {
  int code, openai_code;
  const char *type, *openai_type, *openai_word;
} mistakes[] = {
    [SERVE_INVALID] = {422, 400, "validation", "invalid_request_error", NULL},
    [SERVE_MALFORMED] = {400, 400, "validation", "invalid_request_error", NULL},
    [SERVE_TOO_LARGE] = {413, 413, "too_large", "invalid_request_error", "request_too_large"},
    [SERVE_TOO_LONG] = {413, 400, "too_large", "invalid_request_error", "context_length_exceeded"},
    [SERVE_UNAUTHORIZED] = {401, 401, "validation", "invalid_request_error", "invalid_api_key"},
    [SERVE_FORBIDDEN] = {403, 403, "validation", "invalid_request_error", "forbidden"},
    [SERVE_NOT_FOUND] = {404, 404, "not_found", "invalid_request_error", "not_found"},
    [SERVE_NO_METHOD] = {405, 405, "validation", "invalid_request_error", "method_not_allowed"},
    [SERVE_TOO_SLOW] = {408, 408, "validation", "invalid_request_error", "timeout"},
    [SERVE_ADDRESS_TOO_LONG] = {414, 414, "too_large", "invalid_request_error", "request_too_large"},
    [SERVE_MEDIA_TYPE] = {415, 415, "validation", "invalid_request_error", "unsupported_media_type"},
    [SERVE_HEAD_TOO_LARGE] = {431, 431, "too_large", "invalid_request_error", "request_too_large"},
    [SERVE_OVERLOADED] = {429, 429, "overloaded", "rate_limit_error", "overloaded"},
    [SERVE_INTERNAL] = {500, 500, "internal", "server_error", NULL},
    [SERVE_UNSUPPORTED] = {501, 501, "unsupported", "invalid_request_error", "unsupported"},
    [SERVE_UNHEALTHY] = {503, 503, "internal", "server_error", NULL},
    [SERVE_BUSY] = {503, 503, "overloaded", "server_error", "overloaded"},
    [SERVE_EXPIRED_WORK] = {504, 504, "overloaded", "server_error", "timeout"},
};

bool serve_fail(serve_request *r, serve_mistake mistake, const char *param, const char *format, ...) {
  char message[1536];
  va_list list;
  va_start(list, format);
  vsnprintf(message, sizeof message, format, list);
  va_end(list);
  const serve_style style = r->route ? r->route->style : SERVE_OURS;
  const bool is_openai = style == SERVE_OPENAI;
  cq_builder *b = &r->answer;
  cq_builder_free(b);
  r->code = style >= SERVE_OPENAI ? mistakes[mistake].openai_code : mistakes[mistake].code;
  free(r->disposition);
  r->content_type = NULL, r->constant = NULL, r->disposition = NULL;
  cq_builder_text(b, is_openai ? "{\"error\":{\"message\":" : style == SERVE_COHERE ? "{\"message\":" : "{\"error\":");
  cq_json_text(b, message, strlen(message));
  if (is_openai) {
    const char *word = mistakes[mistake].openai_word;
    cq_builder_printf(b, ",\"type\":\"%s\",\"param\":", mistakes[mistake].openai_type);
    if (param)
      cq_json_text(b, param, strlen(param));
    else
      cq_builder_text(b, "null");
    cq_builder_printf(b, word ? ",\"code\":\"%s\"}}" : ",\"code\":null}}", word);
  } else {
    cq_builder_printf(b, ",\"error_type\":\"%s\"}", mistakes[mistake].type);
  }
  return false;
}

bool serve_fail_error(serve_request *r, const cq_error *error) {
  const serve_mistake mistake = error->status == CQ_ERR_ARGUMENT || error->status == CQ_ERR_FORMAT ? SERVE_INVALID
                                : error->status == CQ_ERR_LIMIT                                    ? SERVE_TOO_LONG
                                : error->status == CQ_ERR_UNSUPPORTED                              ? SERVE_UNSUPPORTED
                                : error->status == CQ_ERR_UNAVAILABLE                              ? SERVE_UNHEALTHY
                                                                                                   : SERVE_INTERNAL;
  return serve_fail(r, mistake, NULL, "%s", error->message);
}

bool serve_fail_memory(serve_request *r) {
  return serve_fail(r, SERVE_INTERNAL, NULL, "out of memory");
}

bool serve_has_index(serve_request *r, bool writing) {
  if (!r->model->index)
    return serve_fail(r, SERVE_NOT_FOUND, NULL, "there is no index: start the server as 'calque serve INDEX'");
  return !writing || r->shared->writable ||
         serve_fail(r, SERVE_FORBIDDEN, NULL, "the index is read-only: start the server with --writable");
}

void serve_answer(serve_request *r) {
  if (r->answer.failed)
    serve_fail_memory(r);
  else
    r->code = 200;
}

/* ---- reading JSON ---- */

static const json_t *field_of(const json_t *object, const char *field) {
  const json_t *value = json_object_get(object, field);
  return json_is_null(value) ? NULL : value;
}

bool serve_get_bool(bool *out, serve_request *r, const json_t *object, const char *field) {
  const json_t *value = field_of(object, field);
  if (!value) return true;
  if (!json_is_boolean(value)) return serve_fail(r, SERVE_INVALID, field, "'%s' is not true or false", field);
  *out = json_is_true(value);
  return true;
}

bool serve_get_int(int64_t *out, serve_request *r, const json_t *object, const char *field, int64_t min, int64_t max) {
  const json_t *value = field_of(object, field);
  if (!value) return true;
  if (!json_is_integer(value) || json_integer_value(value) < min || json_integer_value(value) > max)
    return serve_fail(r, SERVE_INVALID, field, "'%s' is not a whole number from %lld to %lld", field, (long long)min,
                      (long long)max);
  *out = json_integer_value(value);
  return true;
}

bool serve_get_text(const char **out, serve_request *r, const json_t *object, const char *field) {
  const json_t *value = field_of(object, field);
  if (!value) return true;
  if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value))
    return serve_fail(r, SERVE_INVALID, field, "'%s' is not a string", field);
  *out = json_string_value(value);
  return true;
}

bool serve_get_choice(int *out, serve_request *r, const json_t *object, const char *field, const char *const *words) {
  const char *word = NULL;
  char all[256] = "";
  if (!serve_get_text(&word, r, object, field)) return false;
  if (!word) return true;
  for (int i = 0; words[i]; i++) {
    if (!strcmp(word, words[i])) {
      *out = i;
      return true;
    }
    cq_list_name(all, sizeof all, words[i]);
  }
  return serve_fail(r, SERVE_INVALID, field, "'%s' is '%.100s', expected one of %s", field, word, all);
}

bool serve_check_fields(serve_request *r, const json_t *object, const char *const *known) {
  const char *field;
  json_t *value;
  json_object_foreach((json_t *)(size_t)object, field, value) {
    size_t i = 0;
    char all[256] = "";
    for (; known[i] && strcmp(field, known[i]) != 0; i++) cq_list_name(all, sizeof all, known[i]);
    if (known[i]) continue;
    return serve_fail(r, SERVE_INVALID, field, "unknown field '%.100s', expected %s", field, all);
  }
  return true;
}
