/* Documents in the order of their relevance to a query: TEI's /rerank, and Cohere's /v1/rerank (which is Jina's, too)
 * and /v2/rerank, whose fields /rerank takes, too. With a reranker (--rerank), scores are the sigmoids of its logits, or
 * the logits (raw_scores). Without one they are cosines. A header says which (X-Calque-Scores), and, in Cohere's form, a
 * field. Pairs do not go through the queue: a request's are scored on its own thread, CHUNK at a time. */
#include "serve/request_body.h"
#include "serve/request_input.h"
#include "serve/route.h"

#include "calque/embedding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 32 }; /* pairs between two looks at the deadline */

typedef struct rerank {
  json_t *documents;
  cq_slice *passages; /* for a reranker; else NULL */
  size_t n_truncated;
  bool is_cohere, has_texts; /* in the answer */
  bool is_raw;
  int64_t top; /* 0: all */
} rerank;

typedef struct scored {
  double score;
  size_t i;
} scored;

static void free_rerank(void *state) {
  rerank *k = state;
  if (k) {
    json_decref(k->documents);
    free(k->passages);
  }
  free(k);
}

/* A document is a string or, in Cohere's form, an object with a text. */
static const json_t *text_of(const json_t *document) {
  return json_is_object(document) ? json_object_get(document, "text") : document;
}

static bool take_documents(serve_request *r, const rerank *k, const char *field, const serve_input_options *o) {
  const size_t n = json_array_size(k->documents), max = r->shared->limits.max_texts;
  if (!n) return serve_fail(r, SERVE_INVALID, field, "'%s' is missing, or no list of strings", field);
  if (n > max)
    return serve_fail(r, SERVE_TOO_LARGE, field, "'%s' has %zu texts, the limit of one request is %zu", field, n, max);
  for (size_t i = 0; i < n; i++) {
    const json_t *text = text_of(json_array_get(k->documents, i));
    char place[80];
    snprintf(place, sizeof place, "'%s[%zu]'", field, i);
    if (!json_is_string(text)) return serve_fail(r, SERVE_INVALID, field, "%s is not a string", place);
    if (k->passages) {
      k->passages[i] = (cq_slice){json_string_value(text), json_string_length(text)};
      if (!k->passages[i].n) return serve_fail(r, SERVE_INVALID, field, "%s is empty", place);
    } else if (!serve_add_text(r, (cq_slice){json_string_value(text), json_string_length(text)}, field, place, o))
      return false;
  }
  return true;
}

static int by_score(const void *a, const void *b) {
  const scored *x = a, *y = b;
  return x->score != y->score ? (x->score < y->score) - (x->score > y->score) : (x->i > y->i) - (x->i < y->i);
}

static void put_scored(cq_builder *b, const rerank *k, const scored *s) {
  const json_t *text = text_of(json_array_get(k->documents, s->i));
  const cq_slice slice = {json_string_value(text), json_string_length(text)};
  cq_builder_printf(b, "{\"index\":%zu,\"%s\":", s->i, k->is_cohere ? "relevance_score" : "score");
  cq_json_float(b, (float)s->score);
  if (k->has_texts) cq_json_member(b, k->is_cohere ? ",\"document\":{\"text\":" : ",\"text\":", slice);
  cq_builder_text(b, k->has_texts && k->is_cohere ? "}}" : "}");
}

/* Sorts list [n], and answers with its first. */
static void answer_list(serve_request *r, const rerank *k, scored *list, size_t n, const char *scores) {
  const size_t top = k->top && (uint64_t)k->top < n ? (size_t)k->top : n;
  cq_builder *b = &r->answer;
  qsort(list, n, sizeof *list, by_score);
  if (k->is_cohere) cq_builder_printf(b, "{\"id\":\"%016llx\",\"results\":", (unsigned long long)cq_now_us());
  for (size_t i = 0; i < top; i++) {
    cq_builder_char(b, i ? ',' : '[');
    put_scored(b, k, &list[i]);
  }
  cq_builder_char(b, ']');
  if (k->is_cohere)
    cq_builder_printf(b,
                      ",\"meta\":{\"api_version\":{\"version\":\"%s\"},\"billed_units\":{\"search_units\":1}},"
                      "\"calque\":{\"scores\":\"%s\",\"truncated\":%zu}}",
                      !strncmp(r->route->path, "/v1", 3) ? "1" : "2", scores, k->n_truncated);
  r->scores = scores;
  serve_answer(r);
}

/* The logits of all pairs. A pair has at most as many tokens as bytes, and the special ones. */
static bool score_pairs(float *logits, cq_encode_stats *stats, serve_request *r, const rerank *k, cq_slice query,
                        const serve_input_options *o) {
  const cq_reranker *reranker = r->model->reranker;
  const size_t n = json_array_size(k->documents), longest = (size_t)cq_reranker_max_seq_length(reranker);
  const char *field = k->is_cohere ? "documents" : "texts";
  const uint64_t deadline = cq_now_ms() + r->shared->limits.deadline_ms;
  size_t n_tokens = 0;
  cq_error error = {0};
  for (size_t i = 0; i < n; i++) {
    const size_t most = query.n + k->passages[i].n + 4;
    n_tokens += longest && longest < most ? longest : most;
  }
  if (n_tokens > r->shared->limits.max_tokens)
    return serve_fail(r, SERVE_TOO_LARGE, field,
                      "'%s' may have more than %zu tokens, the limit of one request "
                      "(--max-tokens)",
                      field, r->shared->limits.max_tokens);
  for (size_t i = 0; i < n; i += CHUNK) {
    const size_t n_now = n - i < CHUNK ? n - i : CHUNK;
    if (cq_now_ms() >= deadline)
      return serve_fail(r, SERVE_EXPIRED_WORK, NULL, "%zu of %zu pairs were scored before the deadline", i, n);
    if (cq_reranker_score(logits + i, stats, reranker, query, k->passages + i, n_now, r->shared->ctx, &error))
      return serve_fail_error(r, &error);
  }
  return !stats->n_truncated || o->on_long != SERVE_REFUSE ||
         serve_fail(r, SERVE_TOO_LONG, field, "%llu of %zu pairs are longer than the reranker's %zu tokens",
                    (unsigned long long)stats->n_truncated, n, longest);
}

static void rerank_pairs(serve_request *r, rerank *k, const json_t *query, const serve_input_options *o) {
  const size_t n = json_array_size(k->documents);
  const cq_slice text = {json_string_value(query), json_string_length(query)};
  cq_encode_stats stats = {0};
  scored *list = calloc(n + 1, sizeof *list);
  float *logits = calloc(n + 1, sizeof *logits);
  k->passages = calloc(n + 1, sizeof *k->passages);
  if (!list || !logits || !k->passages) {
    serve_fail_memory(r);
  } else if (!json_is_string(query) || !text.n) {
    serve_fail(r, SERVE_INVALID, "query",
               !query                   ? "'query' is missing"
               : !json_is_string(query) ? "'query' is not a string"
                                        : "'query' is empty");
  } else if (o->on_long == SERVE_WINDOW || o->keeps_end || o->prompt_name) {
    serve_fail(r, SERVE_INVALID, NULL, "a reranker has no prompts, and truncates the end of the longer text only");
  } else if (take_documents(r, k, k->is_cohere ? "documents" : "texts", o) &&
             score_pairs(logits, &stats, r, k, text, o)) {
    for (size_t i = 0; i < n; i++)
      list[i] = (scored){k->is_raw ? (double)logits[i] : 1 / (1 + exp(-(double)logits[i])), i};
    r->n_tokens = stats.n_tokens, r->n_truncated = k->n_truncated = stats.n_truncated;
    answer_list(r, k, list, n, k->is_raw ? "logits" : "sigmoid");
  }
  free(list);
  free(logits);
}

static void prepare_rerank(serve_request *r) {
  serve_input_options o = {0};
  rerank *k = calloc(1, sizeof *k);
  json_t *body = serve_body_json(r);
  r->state = k, r->state_free = free_rerank;
  if (!k && body) serve_fail_memory(r);
  if (k && body) {
    k->is_cohere = r->route->style == SERVE_COHERE || json_object_get(body, "documents");
    const char *field = k->is_cohere ? "documents" : "texts";
    k->documents = json_incref(json_object_get(body, field));
    if (serve_get_truncation(&o, r, body) && serve_get_text(&o.prompt_name, r, body, "prompt_name") &&
        serve_get_int(&k->top, r, body, "top_n", 1, INT64_MAX) &&
        serve_get_bool(&k->has_texts, r, body, k->is_cohere ? "return_documents" : "return_text") &&
        serve_get_bool(&k->is_raw, r, body, "raw_scores")) {
      const json_t *query = json_object_get(body, "query");
      if (r->model->reranker)
        rerank_pairs(r, k, query, &o);
      else if (serve_take_text(r, query, "query", &o))
        (void)take_documents(r, k, field, &o);
    }
  }
  json_decref(body);
}

static void answer_rerank(serve_request *r) {
  rerank *k = r->state;
  const size_t dim = r->model->dim, n = r->work->n_texts - 1;
  const float *x = r->work->vectors;
  scored *list = calloc(n, sizeof *list);
  if (!list) {
    serve_fail_memory(r);
    return;
  }
  for (size_t i = 0; i < n; i++) list[i] = (scored){cq_cosine(x, x + (i + 1) * dim, dim), i};
  k->n_truncated = r->work->n_truncated;
  answer_list(r, k, list, n, "cosine");
  free(list);
}

#define BODY                                                                                                           \
  "{\"query\":{\"type\":\"string\"},\"model\":{\"type\":\"string\"},\"top_n\":{\"type\":\"integer\"}"                  \
  "," SERVE_TEXT_FIELDS ","
#define COHERE_BODY                                                                                                    \
  BODY "\"documents\":{\"type\":\"array\",\"description\":\"strings, or objects with text\"},"                         \
       "\"return_documents\":{\"type\":\"boolean\"}}"
#define COHERE_ANSWER "{\"id\":{\"type\":\"string\"},\"results\":{\"type\":\"array\"},\"calque\":{\"type\":\"object\"}}"
#define SUMMARY       "Texts by their relevance to a query: by the reranker of --rerank, or by cosine (X-Calque-Scores)"

const serve_route serve_rerank_routes[] = {
    {"POST", "/rerank", SERVE_TEI, 0, prepare_rerank, answer_rerank, .summary = SUMMARY,
     .body = BODY "\"texts\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"documents\":{\"type\":\"array\"},"
                  "\"return_documents\":{\"type\":\"boolean\"},\"raw_scores\":{\"type\":\"boolean\"},"
                  "\"return_text\":{\"type\":\"boolean\"}}",
     .answer_schema = "[]"},
    {"POST", "/v2/rerank", SERVE_COHERE, 0, prepare_rerank, answer_rerank, .summary = SUMMARY, .body = COHERE_BODY,
     .answer_schema = COHERE_ANSWER},
    {"POST", "/v1/rerank", SERVE_COHERE, 0, prepare_rerank, answer_rerank, .summary = SUMMARY, .body = COHERE_BODY,
     .answer_schema = COHERE_ANSWER},
    /* Dify's, beside Ollama's other paths. */
    {"POST", "/api/rerank", SERVE_COHERE, SERVE_HIDDEN, prepare_rerank, answer_rerank,
     .summary = "The same as /v2/rerank"},
    {0},
};
