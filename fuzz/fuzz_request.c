/* Any bytes are a request: the first line is "METHOD PATH?NAME=VALUE&...", the rest is the body. The arguments
 * content-type and content-encoding stand for those headers. Each request gets one
 * answer, of JSON and never a 5xx, or leaves work for the queue; that is then answered with any vectors.
 *
 * The index is open for reading only: what adds documents gets as far as the index, which refuses them. */
#include "fuzz.h"

#include "serve/route.h"

#include <string.h>

enum { MAX_LINE = 256, MAX_SEQUENCES = 4096 };

static serve_shared shared;
static serve_model *model;
static char query[MAX_LINE]; /* "name=value&name=value", the values' ends turned to NUL */
static size_t n_query;

static void remove_index(void) {
  char command[300];
  serve_model_leave(model);
  serve_metrics_free(shared.metrics);
  cq_builder_free(&shared.tokens.bytes);
  snprintf(command, sizeof command, "rm -rf '%s'", fuzz_path("index"));
  CHECK(system(command) == 0);
}

static void open_shared(void) {
  static size_t ends[] = {2, 3, 4};
  static const char text[] = "A garden by the river.", metadata[] = "{\"year\": 2020}";
  const cq_document d = {.id = {"a", 1}, .text = {text, sizeof text - 1}, .metadata = {metadata, sizeof metadata - 1}};
  const char *path = fuzz_path("index");
  cq_index_options o = cq_index_default_options();
  cq_index *index;
  CHECK(setenv("TMPDIR", fuzz_path(""), 1) == 0 && atexit(remove_index) == 0);
  o.model = CQ_FUZZ_MODEL, o.writing = true;
  CHECK(cq_index_create(path, &o, NULL) == CQ_OK && cq_index_open(&index, path, &o, NULL) == CQ_OK);
  CHECK(cq_index_add(index, &d, 1, NULL, NULL) == CQ_OK && cq_index_commit(index, NULL) == CQ_OK);
  cq_index_free(index);
  CHECK(serve_model_open(&model, &(serve_model_options){.model = CQ_FUZZ_MODEL, .index = path}, NULL) == CQ_OK);
  shared.limits =
      (serve_limits){.max_body = 1 << 16, .max_tokens = MAX_SEQUENCES, .max_texts = 64, .deadline_ms = 1000};
  shared.writable = true;
  shared.token_kind = SERVE_TOKENS_CL100K, shared.tokens = (serve_token_table){.ends = ends, .n = 3};
  cq_builder_text(&shared.tokens.bytes, "a \xC3z");
  shared.routes = serve_all_routes;
  CHECK((shared.metrics = serve_metrics_new(serve_all_routes)) != NULL);
}

/* The value behind "name=". */
static const char *argument_of(const serve_request *r, const char *name) {
  const size_t n = strlen(name);
  (void)r;
  for (size_t at = 0; at < n_query; at += strlen(query + at) + 1)
    if (!strncmp(query + at, name, n) && query[at + n] == '=') return query + at + n + 1;
  return NULL;
}

static void check_answer(const serve_request *r) {
  CHECK(r->code == 200 || r->code == 304 || (r->code >= 400 && r->code < 500) || r->code == 501);
  if (r->constant || r->content_type || r->code == 304) return;
  json_t *json = json_loadb(r->answer.data, r->answer.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
  CHECK(json);
  CHECK(r->code == 200 || json_object_get(json, r->route->style == SERVE_COHERE ? "message" : "error"));
  json_decref(json);
}

static void answer_request(serve_request *r) {
  r->route->prepare(r);
  if (!r->code) {
    serve_work *w = r->work;
    CHECK(w && r->route->answer && w->ids.n && w->n_texts && w->n_texts <= w->ids.n);
    CHECK(serve_work_n_tokens(w) <= shared.limits.max_tokens);
    const size_t n = w->ids.n * r->model->dim;
    CHECK((w->vectors = malloc(n * sizeof *w->vectors)) != NULL);
    for (size_t i = 0; i < n; i++) w->vectors[i] = (float)(i * 37 % 61 + 1) / 64;
    r->n_truncated = w->n_truncated;
    r->route->answer(r);
  }
  check_answer(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  char line[MAX_LINE], *path, *arguments;
  char allow[SERVE_ALLOW];
  if (!model) open_shared();
  const uint8_t *end = n ? memchr(data, '\n', n) : NULL;
  const size_t n_line = end ? (size_t)(end - data) : n;
  if (n_line >= sizeof line) return 0;
  memcpy(line, data, n_line);
  line[n_line] = '\0';
  if (!(path = strchr(line, ' '))) return 0;
  *path++ = '\0';
  if ((arguments = strchr(path, '?'))) *arguments++ = '\0';
  n_query = arguments ? strlen(arguments) : 0;
  memcpy(query, arguments ? arguments : "", n_query + 1);
  for (char *c = query; (c = strchr(c, '&'));) *c++ = '\0';
  serve_request r = {.shared = &shared, .model = serve_model_use(model), .argument = argument_of};
  r.body_type = argument_of(&r, "content-type"), r.body_encoding = argument_of(&r, "content-encoding");
  r.route = serve_route_find(shared.routes, line, path, &r.rest, allow);
  if (end) cq_builder_bytes(&r.body, (const char *)end + 1, n - n_line - 1);
  if (r.route) answer_request(&r);
  serve_request_clear(&r);
  return 0;
}
