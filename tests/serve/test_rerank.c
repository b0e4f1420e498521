/* /rerank with a reranker: the sigmoids of its logits, or these, in each interface; searches in its order; bad input. */
#include "serve/direct.h"

#include <math.h>

#define RERANKER CQ_TESTS_DIR "/golden/rerankers/bert"

static const char query[] = "Who opens his shop early?";
static const char *const passages[] = {"The train leaves at seven.", "The baker opens his shop early.", "A violin."};
static float logits[3];
static size_t order[3];

static int open_with_reranker(void **state) {
  cq_slice texts[3];
  if (open_shared(state)) return -1;
  serve_model_leave(model);
  assert_int_equal(
      serve_model_open(
          &model,
          &(serve_model_options){
              .model = MODEL, .index = test_path("index"), .writable = true, .rerank = RERANKER, .rerank_depth = 50},
          NULL),
      CQ_OK);
  shared.limits.deadline_ms = 60000;
  for (int i = 0; i < 3; i++) texts[i] = cq_slice_of(passages[i]);
  assert_int_equal(cq_reranker_score(logits, NULL, model->reranker, cq_slice_of(query), texts, 3, NULL, NULL), CQ_OK);
  cq_reranker_order(order, logits, 3);
  return 0;
}

#define ASKED(documents, more)                                                                                         \
  "{\"query\": \"Who opens his shop early?\", \"" documents "\": [\"The train leaves at seven.\", "                    \
  "\"The baker opens his shop early.\", \"A violin.\"]" more "}"

static json_t *ask(const char *path, const char *sent) {
  json_error_t e;
  is_code(200, "", "POST", path, (body){"application/json", NULL, sent, strlen(sent)});
  json_t *a = json_loads(message, 0, &e);
  if (!a) fail_msg("%s: %s", message, e.text);
  return a;
}

static void is_ranking(const json_t *list, const char *key, bool is_raw) {
  assert_int_equal(json_array_size(list), 3);
  for (size_t i = 0; i < 3; i++) {
    const json_t *row = json_array_get(list, i);
    const double logit = (double)logits[order[i]];
    assert_int_equal(json_integer_value(json_object_get(row, "index")), order[i]);
    assert_true(fabs(json_number_value(json_object_get(row, key)) - (is_raw ? logit : 1 / (1 + exp(-logit)))) < 1e-6);
  }
}

static void scores_are_the_rerankers(void **state) {
  (void)state;
  json_t *a = ask("/rerank", ASKED("texts", ""));
  is_ranking(a, "score", false);
  json_decref(a);
  a = ask("/rerank", ASKED("texts", ", \"raw_scores\": true, \"return_text\": true"));
  is_ranking(a, "score", true);
  assert_string_equal(json_string_value(json_object_get(json_array_get(a, 0), "text")), passages[order[0]]);
  json_decref(a);
  static const char *const paths[] = {"/v1/rerank", "/v2/rerank", "/rerank"};
  for (int p = 0; p < 3; p++) {
    a = ask(paths[p], ASKED("documents", ", \"top_n\": 3"));
    is_ranking(json_object_get(a, "results"), "relevance_score", false);
    const json_t *ours = json_object_get(a, "calque");
    assert_string_equal(json_string_value(json_object_get(ours, "scores")), "sigmoid");
    assert_int_equal(json_integer_value(json_object_get(ours, "truncated")), 0);
    json_decref(a);
  }
}

static void searches_are_in_its_order(void **state) {
  cq_document documents[3];
  cq_error error = {0};
  (void)state;
  for (int i = 0; i < 3; i++)
    documents[i] = (cq_document){.id = cq_slice_of(i == 0   ? "0"
                                                   : i == 1 ? "1"
                                                            : "2"),
                                 .text = cq_slice_of(passages[i])};
  if (cq_index_add(model->index, documents, 3, NULL, &error) || cq_index_commit(model->index, &error))
    fail_msg("%s", error.message);
  static const char sent[] = "{\"query\": \"Who opens his shop early?\", \"k\": 2, \"mode\": \"dense\"}";
  is_code(200, "\"hits\":[{\"id\":\"", "POST", "/api/search", (body){"application/json", NULL, sent, sizeof sent - 1});
  json_t *a = json_loads(message, 0, NULL);
  const json_t *hits = json_object_get(a, "hits");
  assert_int_equal(json_array_size(hits), 2);
  for (size_t i = 0; i < 2; i++) {
    const json_t *hit = json_array_get(hits, i);
    assert_int_equal(atoi(json_string_value(json_object_get(hit, "id"))), order[i]);
    assert_true(fabs(json_number_value(json_object_get(hit, "score")) - (double)logits[order[i]]) < 1e-5);
  }
  json_decref(a);
}

static void refused(int code, const char *why, const char *path, const char *sent) {
  is_code(code, why, "POST", path, (body){"application/json", NULL, sent, strlen(sent)});
}

static void bad_requests_are_refused(void **state) {
  (void)state;
  refused(422, "'query' is missing", "/rerank", "{\"texts\": [\"a\"]}");
  refused(422, "'query' is not a string", "/rerank", "{\"query\": 1, \"texts\": [\"a\"]}");
  refused(422, "'query' is empty", "/rerank", "{\"query\": \"\", \"texts\": [\"a\"]}");
  refused(422, "'texts' is missing, or no list of strings", "/rerank", "{\"query\": \"a\", \"texts\": []}");
  refused(422, "'texts[1]' is empty", "/rerank", "{\"query\": \"a\", \"texts\": [\"b\", \"\"]}");
  refused(400, "'documents[0]' is not a string", "/v2/rerank", "{\"query\": \"a\", \"documents\": [1]}");
  refused(422, "'raw_scores'", "/rerank", "{\"query\": \"a\", \"texts\": [\"b\"], \"raw_scores\": 1}");
  refused(422, "truncates the end of the longer text only", "/rerank",
          "{\"query\": \"a\", \"texts\": [\"b\"], \"truncation_direction\": \"Left\"}");
  /* 30 pairs of 40 tokens each, at most, where 1,000 are the limit. */
  char long_text[200], sent[8000] = "{\"query\": \"a\", \"texts\": [";
  memset(long_text, 'x', sizeof long_text);
  for (size_t i = 0; i + 2 < sizeof long_text; i += 2) long_text[i] = ' ';
  long_text[sizeof long_text - 1] = '\0';
  for (int i = 0; i < 30; i++) snprintf(sent + strlen(sent), 240, "%s\"%s\"", i ? "," : "", long_text);
  strcat(sent, "]}");
  refused(413, "'texts' may have more than 1000 tokens", "/rerank", sent);
  snprintf(sent, sizeof sent, "{\"query\": \"a\", \"texts\": [\"%s\"], \"truncate\": false}", long_text);
  refused(413, "1 of 1 pairs are longer than the reranker's 40 tokens", "/rerank", sent);
  shared.limits.deadline_ms = 0;
  refused(504, "0 of 1 pairs were scored before the deadline", "/rerank", "{\"query\": \"a\", \"texts\": [\"b\"]}");
}

static void other_models_are_no_rerankers(void **state) {
  serve_model *m = NULL;
  cq_error error = {0};
  (void)state;
  assert_int_equal(serve_model_open(&m, &(serve_model_options){.model = MODEL, .rerank = MODEL}, &error),
                   CQ_ERR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "expected a reranker"));
  assert_null(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scores_are_the_rerankers),
      cmocka_unit_test(searches_are_in_its_order),
      cmocka_unit_test(bad_requests_are_refused),
      cmocka_unit_test(other_models_are_no_rerankers),
  };
  return cmocka_run_group_tests(tests, open_with_reranker, close_shared);
}
