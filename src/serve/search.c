/* Routes of the index. */
#include "serve/input.h"
#include "serve/route.h"

#include <stdlib.h>
#include <string.h>

static void put_slice(serve_buffer *b, cq_slice s) {
  serve_put_json(b, s.data ? s.data : "", s.n);
}

static void put_hit(serve_buffer *b, const cq_hit *hit) {
  const cq_document *d = &hit->document;
  serve_put_text(b, "{\"id\":");
  put_slice(b, d->id);
  serve_put_text(b, ",\"title\":");
  put_slice(b, d->title);
  serve_put_text(b, ",\"url\":");
  put_slice(b, d->url);
  serve_put_text(b, ",\"language\":");
  put_slice(b, d->language);
  serve_putf(
      b,
      ",\"score\":%.9g,\"cosine\":%.9g,\"words\":null,\"reason\":\"dense\",\"passage\":{\"number\":0,\"begin\":0,"
      "\"end\":%zu},\"snippet\":{\"before\":\"\",\"best\":",
      hit->cosine, hit->cosine, d->text.n);
  put_slice(b, d->text);
  serve_put_text(b, ",\"after\":\"\"},\"metadata\":");
  if (d->metadata.n)
    serve_put(b, d->metadata.data, d->metadata.n);
  else
    serve_put_text(b, "{}");
  serve_put_text(b, "}");
}

static void search(serve_request *r, cq_slice query, size_t k, const char *language) {
  const uint64_t begun = serve_now_us();
  cq_search_options o = cq_search_default_options();
  cq_hits *hits;
  cq_error error = {0};
  size_t n;
  o.k = k, o.language = language && *language ? language : NULL;
  if (cq_index_search(&hits, r->model->index, &query, 1, &o, r->shared->ctx, &error)) {
    serve_fail_error(r, &error);
    return;
  }
  const cq_hit *hit = cq_hits_of(hits, 0, &n);
  serve_put_text(&r->answer, "{\"query\":");
  put_slice(&r->answer, query);
  serve_putf(&r->answer, ",\"mode\":\"dense\",\"took_ms\":%.3f,\"truncated\":%s,\"hits\":[",
             (double)(serve_now_us() - begun) * 1e-3, r->n_truncated ? "true" : "false");
  for (size_t i = 0; i < n; i++) {
    if (i) serve_put_text(&r->answer, ",");
    put_hit(&r->answer, &hit[i]);
  }
  serve_put_text(&r->answer, "]}");
  cq_hits_free(hits);
  serve_answer(r);
}

/* What both ways to ask have in common. */
static void check_and_search(serve_request *r, cq_slice query, size_t k, const char *mode, const char *filter,
                             const char *language) {
  bool is_long = false;
  cq_token_ids ids = {0};
  cq_error error = {0};
  if (!r->model->index) {
    serve_fail(r, SERVE_NOT_FOUND, NULL, "there is no index: start the server as 'calque serve INDEX'");
  } else if (query.n == 0) {
    serve_fail(r, SERVE_INVALID, "query", "'query' is empty");
  } else if ((mode && *mode && strcmp(mode, "dense") != 0) || (filter && *filter)) {
    serve_fail(r, SERVE_UNSUPPORTED, "mode", "the index knows neither filters nor modes besides 'dense'");
  } else if (cq_encoder_token_ids(&ids, &is_long, r->model->encoder, query, CQ_LONG_TRUNCATED, NULL, r->shared->ctx,
                                  &error)) {
    serve_fail_error(r, &error);
  } else {
    r->n_tokens = ids.starts[ids.n];
    r->n_truncated = is_long;
    search(r, query, k, language);
  }
  cq_token_ids_free(&ids);
}

enum { MAX_K = 1000 };

static void prepare_get_search(serve_request *r) {
  const char *q = r->argument(r, "q"), *k = r->argument(r, "k");
  char *end = NULL;
  const long n = k ? strtol(k, &end, 10) : 10;
  if (k && (!*k || *end || n < 1 || n > MAX_K)) {
    serve_fail(r, SERVE_INVALID, "k", "'k' is '%.50s', expected 1 to %d", k, MAX_K);
    return;
  }
  check_and_search(r, (cq_slice){q ? q : "", q ? strlen(q) : 0}, (size_t)n, r->argument(r, "mode"),
                   r->argument(r, "filter"), r->argument(r, "lang"));
}

static void prepare_post_search(serve_request *r) {
  static const char *const known[] = {"query", "k", "mode", "filter", "lang", NULL};
  json_t *body = serve_body_json(r);
  const char *mode = NULL, *filter = NULL, *language = NULL;
  int64_t k = 10;
  if (body && serve_check_fields(r, body, known) && serve_get_int(&k, r, body, "k", 1, MAX_K) &&
      serve_get_text(&mode, r, body, "mode") && serve_get_text(&filter, r, body, "filter") &&
      serve_get_text(&language, r, body, "lang")) {
    const json_t *query = json_object_get(body, "query");
    if (json_is_string(query))
      check_and_search(r, (cq_slice){json_string_value(query), json_string_length(query)}, (size_t)k, mode, filter,
                       language);
    else
      serve_fail(r, SERVE_INVALID, "query", query ? "'query' is not a string" : "'query' is missing");
  }
  json_decref(body);
}

#define HITS                                                                                                           \
  "{\"query\":{\"type\":\"string\"},\"mode\":{},\"took_ms\":{\"type\":\"number\"},\"hits\":{\"type\":\"array\"}}"

const serve_route serve_search_routes[] = {
    {.method = "GET",
     .path = "/api/search",
     .prepare = prepare_get_search,
     .summary = "Documents near to a query (?q=&k=&lang=)",
     .answer_schema = HITS},
    {.method = "POST",
     .path = "/api/search",
     .prepare = prepare_post_search,
     .summary = "Documents near to a query",
     .body = "{\"query\":{\"type\":\"string\"},\"k\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000},"
             "\"mode\":{\"type\":\"string\"},\"filter\":{\"type\":\"string\"},\"lang\":{\"type\":\"string\"}}",
     .answer_schema = HITS},
    {0},
};
