/* Requests to the routes without a connection, over an index that takes documents. */
#ifndef SERVE_DIRECT_H
#define SERVE_DIRECT_H

#include "support/files.h"

#include "serve/request_body.h"
#include "serve/route.h"

#define MODEL CQ_TESTS_DIR "/golden/models/bert-uncased"
enum { MAX_BODY = 1 << 16 };

static serve_shared shared;
static serve_model *model;
static const char *name_argument; /* of the query; NULL: none */
static char message[2000];        /* of the last answer */

static inline const char *argument_of(const serve_request *r, const char *name) {
  (void)r;
  return !strcmp(name, "name") ? name_argument : NULL;
}

typedef struct body {
  const char *type, *encoding, *bytes;
  size_t n;
} body;
#define BYTES(text) text, sizeof(text) - 1

/* The code of the answer, which is left in message. */
static inline int code_of(const char *method, const char *path, body b) {
  char allow[SERVE_ALLOW];
  serve_request r = {.shared = &shared,
                     .model = serve_model_use(model),
                     .argument = argument_of,
                     .body_type = b.type,
                     .body_encoding = b.encoding};
  r.route = serve_route_find(serve_all_routes, method, path, &r.rest, allow);
  assert_non_null(r.route);
  cq_builder_bytes(&r.body, b.bytes, b.n);
  r.route->prepare(&r);
  if (!r.code) {
    assert_non_null(r.work);
    const size_t n_floats = r.work->ids.n * model->dim;
    assert_non_null(r.work->vectors = malloc(n_floats * sizeof(float)));
    for (size_t i = 0; i < n_floats; i++) r.work->vectors[i] = 0.5F;
    r.route->answer(&r);
  }
  const int code = r.code;
  snprintf(message, sizeof message, "%.*s", (int)r.answer.n, r.answer.data ? r.answer.data : "");
  serve_request_clear(&r);
  return code;
}

static inline void is_code(int expected, const char *part, const char *method, const char *path, body b) {
  const int code = code_of(method, path, b);
  if (code != expected || !strstr(message, part))
    fail_msg("%s %s as %s: %d %s, expected %d %s", method, path, b.type ? b.type : "none", code, message, expected,
             part);
}

static inline void is_document(const char *id, const char *text) {
  cq_document *d;
  cq_error error = {0};
  assert_int_equal(cq_index_get(&d, model->index, (cq_slice){id, strlen(id)}, &error), CQ_OK);
  if (!d) fail_msg("there is no document '%s'", id);
  if (d->text.n != strlen(text) || memcmp(d->text.data, text, d->text.n) != 0)
    fail_msg("%s: '%.*s'", id, (int)d->text.n, d->text.data);
  cq_free(d);
}

static inline int open_shared(void **state) {
  cq_index_options o = cq_index_default_options();
  if (make_test_directory(state)) return -1;
  setenv("TMPDIR", test_directory, 1);
  o.model = MODEL;
  assert_int_equal(cq_index_create(test_path("index"), &o, NULL), CQ_OK);
  assert_int_equal(
      serve_model_open(&model, &(serve_model_options){.model = MODEL, .index = test_path("index"), .writable = true},
                       NULL),
      CQ_OK);
  shared.routes = serve_all_routes;
  shared.limits = (serve_limits){.max_body = MAX_BODY, .max_tokens = 1000, .max_texts = 64, .deadline_ms = 1000};
  shared.writable = true;
  return 0;
}

static inline int close_shared(void **state) {
  serve_model_leave(model);
  return remove_test_directory(state);
}

#endif
