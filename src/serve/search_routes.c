/* Routes of the index. */
#include "calque/version.h"
#include "serve/option_fields.h"
#include "serve/plane.h"
#include "serve/request_body.h"
#include "serve/request_input.h"
#include "serve/route.h"

#include <stdlib.h>
#include <string.h>

static void put_hit(cq_builder *b, const cq_hit *hit, cq_ranking mode) {
  const cq_document *d = &hit->document;
  cq_json_member(b, "{\"id\":", d->id);
  cq_json_member(b, ",\"title\":", d->title);
  cq_json_member(b, ",\"url\":", d->url);
  cq_json_member(b, ",\"language\":", d->language);
  const size_t before = (size_t)(hit->best.data - d->text.data), after = before + hit->best.n;
  cq_builder_printf(b, ",\"score\":%.9g,\"cosine\":", hit->score);
  cq_builder_printf(b, mode == CQ_RANK_WORDS ? "null" : "%.9g", hit->cosine);
  cq_builder_printf(b, hit->by_words ? ",\"words\":%.9g" : ",\"words\":null", hit->words);
  cq_builder_printf(b, ",\"reason\":\"%s\",\"passage\":{\"number\":%zu,\"begin\":%zu,\"end\":%zu}",
                    hit->by_vector && hit->by_words ? "both"
                    : hit->by_words                 ? "words"
                                                    : "dense",
                    hit->passage, hit->begin, hit->end);
  cq_builder_printf(b, ",\"good\":%s", hit->is_good ? "true" : "false");
  cq_json_member(b, ",\"snippet\":{\"before\":", (cq_slice){d->text.data, before});
  cq_json_member(b, ",\"best\":", hit->best);
  cq_json_member(b, ",\"after\":", (cq_slice){d->text.data + after, d->text.n - after});
  cq_builder_text(b, "},\"metadata\":");
  if (d->metadata.n)
    cq_builder_bytes(b, d->metadata.data, d->metadata.n);
  else
    cq_builder_text(b, "{}");
  cq_builder_text(b, "}");
}

static const serve_field search_fields[] = {
    {.name = "k", .row = "top", .group = &cq_group_search, .min = 1, .max = 1000},
    {.name = "mode", .row = "ranking", .group = &cq_group_search},
    {.name = "filter", .row = "filter", .group = &cq_group_search},
    {.name = "lang", .row = "language", .group = &cq_group_search},
    {.name = "exact", .row = "exact", .group = &cq_group_search},
    {.name = "effort", .row = "effort", .group = &cq_group_search, .min = 1, .max = 1000000},
    {.name = "csls", .row = "csls", .group = &cq_group_search},
    {0},
};

/* A search, from prepare to answer. */
typedef struct asked {
  char *query;
  size_t n_query;
  cq_options *options; /* of the group `search` */
  uint64_t begun_us;
} asked;

static void free_asked(void *state) {
  asked *a = state;
  cq_options_free(a->options);
  free(a->query);
  free(a);
}

/* NULL: the request has failed. */
static asked *begin_search(serve_request *r) {
  asked *a = calloc(1, sizeof *a);
  if (a) r->state = a, r->state_free = free_asked;
  if (a && !cq_options_new(&a->options, &cq_group_search, NULL)) {
    a->begun_us = cq_now_us();
    return a;
  }
  serve_fail_memory(r);
  return NULL;
}

/* The queue has already encoded the query, except for searches by words and models with a separate query route. */
static void answer_search(serve_request *r) {
  const asked *a = r->state;
  const cq_slice query = {a->query, a->n_query};
  cq_search_options o = *(const cq_search_options *)cq_options_struct(a->options);
  cq_hits *hits;
  char *mode;
  cq_error error = {0};
  size_t n;
  const size_t k = o.k;
  const cq_reranker *reranker = r->model->reranker;
  if (reranker && k < r->model->rerank_depth) o.k = r->model->rerank_depth;
  o.snippet = CQ_SNIPPET_WORDS;
  o.query_vectors = r->work ? r->work->vectors : NULL;
  if (serve_model_refresh(r->model, &error) || cq_options_get(&mode, a->options, "ranking", 0, &error)) {
    serve_fail_error(r, &error);
    return;
  }
  if (cq_index_search(&hits, r->model->index, &query, 1, &o, r->shared->ctx, &error)) {
    serve_fail_error(r, &error);
    cq_free(mode);
    return;
  }
  if (reranker && cq_hits_rerank(hits, NULL, reranker, &query, o.k, k, r->shared->ctx, &error)) {
    serve_fail_error(r, &error);
    cq_hits_free(hits);
    cq_free(mode);
    return;
  }
  r->scores = reranker ? "logits" : NULL;
  const cq_hit *hit = cq_hits_of(hits, 0, &n);
  r->is_embedding = true;
  cq_json_member(&r->answer, "{\"query\":", query);
  cq_builder_printf(&r->answer, ",\"mode\":\"%s\",\"took_ms\":%.3f,\"truncated\":%s,\"hits\":[", mode,
                    (double)(cq_now_us() - a->begun_us) * 1e-3, r->n_truncated ? "true" : "false");
  for (size_t i = 0; i < n; i++) {
    if (i) cq_builder_text(&r->answer, ",");
    put_hit(&r->answer, &hit[i], o.ranking);
  }
  cq_builder_text(&r->answer, "]}");
  cq_hits_free(hits);
  cq_free(mode);
  serve_answer(r);
}

/* The common part of both kinds of search request. */
static void prepare_search(serve_request *r, cq_slice query, serve_input_options input) {
  asked *a = r->state;
  const cq_search_options *o = cq_options_struct(a->options);
  if (!serve_has_index(r, false)) return;
  if (query.n == 0) {
    serve_fail(r, SERVE_INVALID, "query", "'query' is empty");
    return;
  }
  if (!(a->query = malloc(query.n))) {
    serve_fail_memory(r);
    return;
  }
  memcpy(a->query, query.data, query.n);
  a->n_query = query.n;
  if (o->ranking == CQ_RANK_WORDS || !cq_index_query_prompt(&input.prompt_name, r->model->index))
    answer_search(r);
  else
    serve_add_text(r, query, "query", "'query'", &input);
}

static void prepare_get_search(serve_request *r) {
  const char *q = r->argument(r, "q");
  const asked *a = begin_search(r);
  if (a && serve_set_fields(a->options, r, search_fields, NULL))
    prepare_search(r, (cq_slice){q ? q : "", q ? strlen(q) : 0}, (serve_input_options){0});
}

static void prepare_post_search(serve_request *r) {
  enum { N_FIELDS = sizeof search_fields / sizeof *search_fields };
  const char *known[N_FIELDS + 3] = {"query", "on_long", "truncate"}; /* the list's end is that of known */
  json_t *body = serve_body_json(r);
  serve_input_options input = {0};
  for (size_t i = 0; i < N_FIELDS; i++) known[3 + i] = search_fields[i].name;
  const asked *a = body && serve_check_fields(r, body, known) ? begin_search(r) : NULL;
  if (a && serve_set_fields(a->options, r, search_fields, body) && serve_get_truncation(&input, r, body)) {
    const json_t *query = json_object_get(body, "query");
    if (json_is_string(query))
      prepare_search(r, (cq_slice){json_string_value(query), json_string_length(query)}, input);
    else
      serve_fail(r, SERVE_INVALID, "query", query ? "'query' is not a string" : "'query' is missing");
  }
  json_decref(body);
}

static void prepare_info(serve_request *r) {
  cq_index_language *languages = NULL;
  cq_error error = {0};
  size_t n = 0;
  cq_index *index = r->model->index;
  if (index && (serve_model_refresh(r->model, &error) || cq_index_languages(&languages, &n, index, &error))) {
    serve_fail_error(r, &error);
    return;
  }
  cq_builder_printf(&r->answer, "{\"version\":\"%s\"", cq_version());
  cq_json_member(&r->answer, ",\"model\":", cq_slice_of(r->model->name));
  cq_builder_printf(&r->answer, ",\"dim\":%zu,\"max_tokens\":%zu,\"writable\":%s,\"index\":", r->model->dim,
                    r->model->max_tokens, index && r->shared->writable ? "true" : "false");
  if (index)
    cq_builder_printf(&r->answer, "{\"documents\":%zu,\"passages\":%zu,\"languages\":{", cq_index_size(index),
                      cq_index_n_passages(index));
  else
    cq_builder_text(&r->answer, "null");
  for (size_t i = 0; i < n; i++) {
    cq_json_member(&r->answer, i ? "," : "", languages[i].code);
    cq_builder_printf(&r->answer, ":%zu", languages[i].n_documents);
  }
  cq_builder_text(&r->answer, index ? "}}}" : "}");
  cq_free(languages);
  serve_answer(r);
}

/* ---- a map of the index ---- */

enum { MAP_LABEL = 160, MAP_LABEL_WORD = 24 };

/* The beginning of a text: whole characters, and whole words if it has blanks. */
static void put_label(cq_builder *b, cq_slice text) {
  static const char ellipsis[] = "\xe2\x80\xa6";
  char label[MAP_LABEL + sizeof ellipsis];
  size_t n = MAP_LABEL;
  if (text.n <= MAP_LABEL) {
    cq_json_text(b, text.data, text.n);
    return;
  }
  while (n > 0 && ((unsigned char)text.data[n] & 0xc0) == 0x80) n--;
  for (size_t i = n; i > n - MAP_LABEL_WORD; i--)
    if (text.data[i] == ' ') {
      n = i;
      break;
    }
  memcpy(label, text.data, n);
  memcpy(label + n, ellipsis, sizeof ellipsis - 1);
  cq_json_text(b, label, n + sizeof ellipsis - 1);
}

static void put_points(cq_builder *b, const cq_hit *hit, const float *vectors, size_t n, const serve_plane *plane) {
  cq_builder_text(b, "{\"points\":[");
  for (size_t i = 0; i < n; i++) {
    double place[2];
    serve_plane_place(place, plane, vectors + i * plane->dim);
    cq_builder_printf(b, "%s{\"x\":%.5f,\"y\":%.5f,\"passage\":%zu", i ? "," : "", place[0], place[1], hit[i].passage);
    cq_json_member(b, ",\"id\":", hit[i].document.id);
    cq_json_member(b, ",\"language\":", hit[i].document.language);
    cq_builder_text(b, ",\"label\":");
    put_label(b, hit[i].document.text);
    cq_builder_text(b, "}");
  }
  cq_builder_text(b, "]}");
}

enum { MAX_POINTS = 20000 };

static void prepare_index_map(serve_request *r) {
  const char *given = r->argument(r, "n");
  char *end = NULL;
  const long wanted = given ? strtol(given, &end, 10) : 2000;
  cq_hits *hits = NULL;
  float *vectors = NULL;
  serve_plane *plane = NULL;
  cq_error error = {0};
  size_t n = 0;
  if (!serve_has_index(r, false)) return;
  if (given && (!*given || *end || wanted < 1 || wanted > MAX_POINTS)) {
    serve_fail(r, SERVE_INVALID, "n", "'n' is '%.50s', expected 1 to %d", given, MAX_POINTS);
  } else if (serve_model_refresh(r->model, &error) || serve_plane_of_index(&plane, r->model, r->shared->ctx, &error) ||
             cq_index_sample(&hits, &vectors, r->model->index, (size_t)wanted, &error)) {
    serve_fail_error(r, &error);
  } else {
    const cq_hit *hit = cq_hits_of(hits, 0, &n);
    put_points(&r->answer, hit, vectors, n, plane);
    serve_answer(r);
  }
  serve_plane_free(plane);
  cq_free(vectors);
  cq_hits_free(hits);
}

#define HITS                                                                                                           \
  "{\"query\":{\"type\":\"string\"},\"mode\":{},\"took_ms\":{\"type\":\"number\"},\"truncated\":{},\"hits\":{"         \
  "\"type\":\"array\"}}"

const serve_route serve_search_routes[] = {
    {"GET", "/api/info", SERVE_OURS, 0, prepare_info, NULL, .summary = "The model, and what is in the index",
     .answer_schema = "{\"version\":{\"type\":\"string\"},\"model\":{\"type\":\"string\"},\"index\":{}}"},
    {"GET", "/api/search", SERVE_OURS, SERVE_LONG_ANSWER, prepare_get_search, answer_search,
     .summary = "Documents near to a query", .fields = search_fields, .arguments = "q*", .answer_schema = HITS},
    {"GET", "/api/map", SERVE_OURS, 0, prepare_index_map, NULL,
     .summary = "Passages of the index in a plane, by principal components, at most n", .arguments = "n",
     .answer_schema = "{\"points\":{\"type\":\"array\"}}"},
    {"POST", "/api/search", SERVE_OURS, SERVE_LONG_ANSWER, prepare_post_search, answer_search,
     .summary = "Documents near to a query", .fields = search_fields,
     .body = "{\"query\":{\"type\":\"string\"},\"on_long\":{\"enum\":[\"truncate\",\"window\",\"error\"]}}",
     .answer_schema = HITS},
    {0},
};
