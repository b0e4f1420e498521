/* search is /api/search with pages; read is a document, or a part; similarity compares all texts of one list. */
#include "serve/mcp_tools.h"

#include "calque/embedding.h"
#include "serve/option_fields.h"
#include "serve/request_body.h"
#include "serve/request_input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 10, MAX_PAGE = 100, MAX_OFFSET = 800, MAX_READ = 32768 };

/* ---- running ---- */

static bool encode_work(serve_request *r) {
  serve_work *w = r->work;
  const size_t dim = r->model->dim;
  cq_encode_options o = cq_encode_default_options();
  cq_error error = {0};
  o.prompt_name = w->prompt_name;
  if (!(w->vectors = calloc(w->ids.n, dim * sizeof *w->vectors))) return serve_fail_memory(r);
  if (cq_encoder_encode_ids(w->vectors, r->model->encoder, w->ids.ids, w->ids.starts, w->ids.n, &o, r->shared->ctx,
                            &error))
    return serve_fail_error(r, &error);
  for (size_t i = 0; i < w->ids.n * dim; i++)
    if (!isfinite(w->vectors[i]))
      return serve_fail(r, SERVE_INTERNAL, NULL, "the model gives a vector with a number that is not finite");
  serve_work_join_windows(w);
  r->n_truncated = w->n_truncated;
  return true;
}

void serve_mcp_run_tool(serve_request *r) {
  r->route->prepare(r);
  if (!r->code && r->work && encode_work(r)) r->route->answer(r);
}

/* ---- search ---- */

static const serve_route *search_route(void) {
  const char *rest;
  char allow[SERVE_ALLOW];
  return serve_route_find(serve_all_routes, "POST", "/api/search", &rest, allow);
}

/* Leaves one page of an answer's hits. */
static void cut_page(json_t *answer, size_t offset, size_t k) {
  json_t *hits = json_object_get(answer, "hits"), *page = json_array();
  const size_t n = json_array_size(hits), end = offset + k;
  for (size_t i = offset; i < n && i < end; i++) json_array_append(page, json_array_get(hits, i));
  json_object_set_new(answer, "offset", json_integer((json_int_t)offset));
  if (n > end && end <= MAX_OFFSET) json_object_set_new(answer, "next_offset", json_integer((json_int_t)end));
  json_object_set_new(answer, "hits", page);
}

/* Asks for one hit more than the page has: whether there is a next page. */
static void search_page(serve_request *r, json_t *arguments) {
  int64_t k = PAGE, offset = 0;
  if (!serve_get_int(&k, r, arguments, "k", 1, MAX_PAGE) ||
      !serve_get_int(&offset, r, arguments, "offset", 0, MAX_OFFSET))
    return;
  serve_request inner = {.shared = r->shared, .model = serve_model_use(r->model), .route = search_route()};
  json_object_del(arguments, "offset");
  json_object_set_new(arguments, "k", json_integer(offset + k + 1));
  char *body = json_dumps(arguments, JSON_COMPACT);
  if (body) cq_builder_text(&inner.body, body);
  if (!body || inner.body.failed)
    serve_fail_memory(&inner);
  else
    serve_mcp_run_tool(&inner);
  free(body);
  json_t *answer = inner.code == 200 ? json_loadb(inner.answer.data, inner.answer.n, JSON_ALLOW_NUL, NULL) : NULL;
  if (answer) {
    cut_page(answer, (size_t)offset, (size_t)k);
    char *page = json_dumps(answer, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (page)
      cq_builder_text(&r->answer, page), serve_answer(r);
    else
      serve_fail_memory(r);
    free(page);
  } else if (inner.code == 200) {
    serve_fail_memory(r);
  } else {
    cq_builder_bytes(&r->answer, inner.answer.data, inner.answer.n);
    r->code = inner.code;
  }
  json_decref(answer);
  serve_request_clear(&inner);
}

static void prepare_search(serve_request *r) {
  json_t *arguments = serve_body_json(r);
  if (arguments) search_page(r, arguments);
  json_decref(arguments);
}

/* ---- read ---- */

/* The last place at or before `at` where a character begins, or the text ends. */
static size_t character_at(cq_slice text, size_t at) {
  while (at < text.n && at > 0 && ((unsigned char)text.data[at] & 0xc0) == 0x80) at--;
  return at;
}

static void put_part(serve_request *r, const cq_document *d, size_t begin, size_t end) {
  cq_builder *b = &r->answer;
  if (end > d->text.n) end = d->text.n;
  if (end - begin > MAX_READ) end = begin + MAX_READ;
  const size_t from = character_at(d->text, begin);
  size_t to = character_at(d->text, end);
  if (to <= from) to = end;
  cq_json_member(b, "{\"id\":", d->id);
  cq_json_member(b, ",\"title\":", d->title);
  cq_json_member(b, ",\"url\":", d->url);
  cq_json_member(b, ",\"language\":", d->language);
  cq_builder_text(b, ",\"metadata\":");
  if (d->metadata.n)
    cq_builder_slice(b, d->metadata);
  else
    cq_builder_text(b, "{}");
  cq_json_member(b, ",\"text\":", (cq_slice){d->text.data + from, to - from});
  cq_builder_printf(b, ",\"begin\":%zu,\"end\":%zu,\"bytes\":%zu", from, to, d->text.n);
  if (to < d->text.n) cq_builder_printf(b, ",\"next_begin\":%zu", to);
  cq_builder_text(b, "}");
  serve_answer(r);
}

static void read_document(serve_request *r, const json_t *arguments) {
  static const char *const known[] = {"id", "begin", "end", NULL};
  const char *id = NULL;
  int64_t begin = 0, end = INT64_MAX;
  cq_document *d = NULL;
  cq_error error = {0};
  if (!serve_check_fields(r, arguments, known) || !serve_get_text(&id, r, arguments, "id") ||
      !serve_get_int(&begin, r, arguments, "begin", 0, INT64_MAX) ||
      !serve_get_int(&end, r, arguments, "end", 1, INT64_MAX))
    return;
  if (!id || !*id)
    serve_fail(r, SERVE_INVALID, "id", "'id' is missing");
  else if (end <= begin)
    serve_fail(r, SERVE_INVALID, "end", "'end' is %lld, which is not after 'begin', %lld", (long long)end,
               (long long)begin);
  else if (cq_index_refresh(r->model->index, NULL, &error) ||
           cq_index_get(&d, r->model->index, cq_slice_of(id), &error))
    serve_fail_error(r, &error);
  else if (!d)
    serve_fail(r, SERVE_NOT_FOUND, "id", "there is no document '%.200s'", id);
  else if ((uint64_t)begin > d->text.n || (d->text.n && (uint64_t)begin == d->text.n))
    serve_fail(r, SERVE_INVALID, "begin", "'begin' is %lld, but the text has %zu bytes", (long long)begin, d->text.n);
  else
    put_part(r, d, (size_t)begin, (size_t)end);
  cq_free(d);
}

static void prepare_read(serve_request *r) {
  json_t *arguments = serve_body_json(r);
  if (arguments) read_document(r, arguments);
  json_decref(arguments);
}

/* ---- similarity ---- */

static void prepare_similarity(serve_request *r) {
  static const char *const known[] = {"texts", NULL};
  json_t *arguments = serve_body_json(r);
  if (arguments && serve_check_fields(r, arguments, known))
    (void)serve_take_inputs(r, json_object_get(arguments, "texts"), "texts", &(serve_input_options){0});
  json_decref(arguments);
}

static void answer_similarity(serve_request *r) {
  const size_t n = r->work->n_texts, dim = r->model->dim;
  const float *x = r->work->vectors;
  cq_builder_text(&r->answer, "{\"similarity\":[");
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < n; k++)
      cq_builder_printf(&r->answer, "%s%.6f%s",
                        k   ? ","
                        : i ? ",["
                            : "[",
                        cq_cosine(x + i * dim, x + k * dim, dim), k + 1 < n ? "" : "]");
  cq_builder_printf(&r->answer, "],\"truncated\":%zu}", r->work->n_truncated);
  serve_answer(r);
}

/* ---- the table ---- */

#define WHOLE "{\"type\":\"integer\",\"minimum\":"

static const serve_route tools[] = {
    {NULL, "search", SERVE_OURS, 0, prepare_search, NULL,
     .summary = "Search the documents by meaning and by words; the query and the documents may be in different "
                "languages. Each hit has a document's id, its best passage (snippet), and where that is in the text "
                "(passage: begin and end, in bytes) for 'read'. 'good' is false for a hit that is unlikely to answer "
                "the query. If there are more hits, next_offset is the offset of the next page.",
     .arguments = "query",
     .body = "{\"query\":{\"type\":\"string\",\"description\":\"a question or some words, in any language\"},"
             "\"k\":" WHOLE "1,\"maximum\":100,\"default\":10,\"description\":\"hits of a page\"},"
             "\"offset\":" WHOLE "0,\"maximum\":800,\"default\":0,\"description\":\"hits before this page\"}}"},
    {NULL, "read", SERVE_OURS, 0, prepare_read, NULL,
     .summary = "Read a document, or its text from begin to end. At most 32768 bytes of text come at once; if there is "
                "more, next_begin is where it goes on.",
     .arguments = "id",
     .body = "{\"id\":{\"type\":\"string\",\"description\":\"of a document, as 'search' has it\"},"
             "\"begin\":" WHOLE "0,\"default\":0,\"description\":\"first byte of the text\"},"
             "\"end\":" WHOLE "1,\"description\":\"byte after the last one; the text's end if missing\"}}"},
    {NULL, "similarity", SERVE_OURS, 0, prepare_similarity, answer_similarity,
     .summary =
         "Compare the meaning of texts in any languages: the cosine similarity of each with each, 1 for the same "
         "meaning and near 0 for unrelated texts. A row of the answer belongs to a text.",
     .arguments = "texts",
     .body = "{\"texts\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":1,\"maxItems\":100}}"},
};
enum { N_TOOLS = sizeof tools / sizeof *tools };

static bool is_listed(const serve_route *tool, bool has_index) {
  return has_index || tool->prepare == prepare_similarity;
}

const serve_route *serve_mcp_tool(const char *name, bool has_index) {
  for (size_t i = 0; i < N_TOOLS; i++)
    if (!strcmp(tools[i].path, name) && is_listed(&tools[i], has_index)) return &tools[i];
  return NULL;
}

void serve_mcp_put_tools(cq_builder *b, bool has_index) {
  const char *before = "[";
  for (size_t i = 0; i < N_TOOLS; i++) {
    const serve_route *t = &tools[i];
    if (!is_listed(t, has_index)) continue;
    cq_builder_printf(b, "%s{\"name\":\"%s\",\"description\":", before, t->path);
    cq_json_text(b, t->summary, strlen(t->summary));
    cq_builder_text(b, ",\"inputSchema\":{\"type\":\"object\",\"properties\":");
    cq_builder_bytes(b, t->body, strlen(t->body) - 1);
    for (const serve_field *f = t->prepare == prepare_search ? search_route()->fields : NULL; f && f->name; f++) {
      if (!strcmp(f->name, "k")) continue;
      cq_builder_printf(b, ",\"%s\":", f->name);
      serve_put_field_schema(b, f);
    }
    cq_builder_printf(b, "},\"required\":[\"%s\"]},\"annotations\":{\"readOnlyHint\":true}}", t->arguments);
    before = ",";
  }
  cq_builder_text(b, "]");
}
