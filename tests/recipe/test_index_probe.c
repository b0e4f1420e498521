/* What a probe reports of an index, on texts whose pieces are counted by hand. The vocabulary of bert-uncased has words
 * of the Latin sentences ("piano", "train", "violin", "the"), single letters of Cyrillic, and no Hangul. */
#include "support/files.h"

#include "base/memory.h"
#include "base/random.h"
#include "calque/calque.h"

#include <dlfcn.h>

#define MODEL  CQ_TESTS_DIR "/golden/models/bert-uncased"
#define STATIC CQ_TESTS_DIR "/golden/models/static-mean"
#define BY_BYTE                                                                                                        \
  CQ_TESTS_DIR "/golden/models/mistral-last" /* has bytes for what it does not know, and does not compose */

typedef struct text {
  const char *language, *text;
} text;

static char noticed[4096];
static int n_noticed;

static void notice(void *context, const char *line) {
  (void)context;
  if (!strstr(line, "vocabulary does not cover")) return;
  n_noticed++;
  snprintf(noticed, sizeof noticed, "%s", line);
}

static cq_index *fresh(const char *name, const char *model) {
  cq_index_options o = cq_index_default_options();
  cq_error error = {0};
  cq_index *index = NULL;
  o.model = model, o.writing = true, o.notice = notice, n_noticed = 0;
  if (cq_index_create(test_path(name), &o, &error) || cq_index_open(&index, test_path(name), &o, &error))
    fail_msg("%s", error.message);
  return index;
}

static void add(cq_index *index, const char *id, const char *language, const char *title, const char *body) {
  cq_error error = {0};
  const cq_document d = {.id = {id, strlen(id)},
                         .language = {language, strlen(language)},
                         .title = {title, strlen(title)},
                         .text = {body, strlen(body)}};
  if (cq_index_add(index, &d, 1, NULL, &error)) fail_msg("%s", error.message);
}

static void add_all(cq_index *index, const text *texts, size_t n) {
  cq_error error = {0};
  char id[2] = "a";
  for (size_t i = 0; i < n; i++, id[0]++) add(index, id, texts[i].language, "", texts[i].text);
  if (cq_index_commit(index, &error)) fail_msg("%s", error.message);
}

static cq_index_report *probed(const cq_index *index) {
  cq_index_report *report;
  cq_error error = {0};
  if (cq_index_probe(&report, index, NULL, &error)) fail_msg("%s", error.message);
  return report;
}

static void is_vocabulary(const cq_index_vocabulary *v, const char *script, const char *language, size_t n_passages,
                          double unknown, double bytes, double per_letter, bool is_covered) {
  assert_string_equal(v->script, script);
  assert_string_equal(v->language, language);
  assert_int_equal(v->n_passages, n_passages);
  assert_float_equal(v->unknown, unknown, 1e-12);
  assert_float_equal(v->bytes, bytes, 1e-12);
  assert_float_equal(v->pieces_per_letter, per_letter, 1e-12);
  assert_int_equal(v->is_covered, is_covered);
}

static void scripts_are_counted(void **state) {
  (void)state;
  /* One of the Hangul texts is said to be Russian. */
  static const text texts[] = {
      {"en", "the piano, the violin and the train. 1, 2, 1, 2"},     /* 7 pieces, 28 letters */
      {"en", "his violin, his piano, his train and the violin"},     /* 9, 37 */
      {"ru", "дом стоит у реки и мост виден"},                       /* 23, 23 */
      {"ru", "снег лег, потом снова снег"},                          /* 21, 21 */
      {"", "강가에 있는 오래된 집에서 아침마다 커피를 끓여 마신다"}, /* 8 unknown, 23 */
      {"", "기차가 늦게 도착해서 우리는 역에서 오래 기다려야 했다"}, /* 8 unknown, 23 */
      {"ru", "아이들은 눈이 오면 정원에서 하루 종일 뛰어논다"},      /* 7 unknown, 20 */
      {"ru", "поезд опоздал на два часа"},                           /* 21, 21 */
  };
  cq_index *index = fresh("scripts.index", MODEL);
  add_all(index, texts, 8);
  assert_int_equal(n_noticed, 1);
  assert_string_equal(noticed,
                      "the model's vocabulary does not cover Cyrillic (ru): 1.0 pieces per letter, Hangul (ko): "
                      "100 % of the pieces are unknown; searches in such text find little");
  cq_index_report *r = probed(index);
  assert_int_equal(r->n_passages, 8);
  assert_int_equal(r->n_sampled, 8);
  assert_int_equal(r->n_vocabularies, 3);
  is_vocabulary(&r->vocabularies[0], "Cyrillic", "ru", 3, 0, 0, 1, false);
  is_vocabulary(&r->vocabularies[1], "Hangul", "ko", 3, 1, 0, 23.0 / 66, false);
  is_vocabulary(&r->vocabularies[2], "Latin", "en", 2, 0, 0, 16.0 / 65, true);
  /* Both texts of eight unknown words are the same to the model. */
  assert_int_equal(r->n_duplicates, 1);
  assert_int_equal(r->n_truncated, 0);
  assert_int_equal(r->n_decomposed, 0);
  assert_int_equal(r->n_hubs, 0);
  assert_float_equal(r->recall, -1, 0);
  assert_int_equal(r->n_findings, 3);
  assert_string_equal(r->findings[0], "the model's vocabulary does not cover Cyrillic (ru): 1.0 pieces per letter");
  assert_string_equal(r->findings[1],
                      "the model's vocabulary does not cover Hangul (ko): 100 % of the pieces are unknown");
  assert_string_equal(
      r->findings[2],
      "1 of 8 passages have the same vector as an earlier one: duplicates, or text that the model reads "
      "as the same; the first is in 'f'");
  cq_index_report_free(r);
  /* It is told once by a handle; another commit of it adds nothing. */
  add(index, "x", "ru", "", "дом стоит у реки и мост виден");
  assert_int_equal(cq_index_commit(index, NULL), CQ_OK);
  assert_int_equal(n_noticed, 1);
  cq_index_free(index);
}

/* A name or two say nothing of a language. */
static void little_text_says_nothing(void **state) {
  (void)state;
  static const text texts[] = {{"ru", "дом стоит у реки и мост виден"}, {"ru", "снег лег, потом снова снег"}};
  cq_index *index = fresh("little.index", MODEL);
  add_all(index, texts, 2);
  assert_int_equal(n_noticed, 0);
  cq_index_report *r = probed(index);
  assert_int_equal(r->n_vocabularies, 1);
  is_vocabulary(&r->vocabularies[0], "Cyrillic", "ru", 2, 0, 0, 1, true);
  assert_int_equal(r->n_findings, 0);
  cq_index_report_free(r);
  cq_index_free(index);
}

/* Decomposed Hangul has other bytes. A syllable is one letter in both forms. */
static void decomposed_text_is_noticed(void **state) {
  (void)state;
  static const text texts[] = {{"ko", "\u1103\u1161\u110B\u1173\u11B7 \u110B\u1167\u11A8"},
                               {"ko", "\uB2E4\uC74C \uC5ED"}};
  cq_index *index = fresh("decomposed.index", BY_BYTE);
  add_all(index, texts, 2);
  cq_index_report *r = probed(index);
  assert_int_equal(r->n_decomposed, 1);
  assert_int_equal(r->n_duplicates, 0);
  assert_int_equal(r->n_vocabularies, 1);
  /* Three bytes for each of 8 letters and of 3 syllables, which are 3 letters each time. */
  is_vocabulary(&r->vocabularies[0], "Hangul", "ko", 2, 0, 1, 33.0 / 6, true);
  assert_int_equal(r->n_findings, 1);
  assert_non_null(strstr(r->findings[0], "1 of 2 passages are decomposed (NFD)"));
  cq_index_report_free(r);
  cq_index_free(index);
}

/* A title that alone has more than the model's 40 tokens leaves the text out. */
static void truncated_passages_are_counted(void **state) {
  (void)state;
  char title[400] = "the piano";
  for (int i = 0; i < 40; i++) strcat(title, " train");
  cq_index *index = fresh("truncated.index", MODEL);
  add(index, "a", "en", title, "the violin");
  add(index, "b", "en", "the train", "his violin");
  add(index, "c", "en", "the piano", "his train");
  add(index, "d", "en", "the piano", "his train");
  assert_int_equal(cq_index_commit(index, NULL), CQ_OK);
  cq_index_report *r = probed(index);
  assert_int_equal(r->n_truncated, 1);
  assert_int_equal(r->n_duplicates, 1);
  assert_int_equal(r->n_findings, 2);
  assert_string_equal(r->findings[0], "1 of 4 passages are truncated: they are longer than the model's 40 tokens");
  assert_non_null(strstr(r->findings[1], "1 of 4 passages have the same vector"));
  cq_index_report_free(r);
  /* A removed document is not counted any more. */
  size_t n_removed;
  assert_int_equal(cq_index_remove_commit(index, &(cq_slice){"c", 1}, 1, &n_removed, NULL), CQ_OK);
  r = probed(index);
  assert_int_equal(r->n_passages, 3);
  assert_int_equal(r->n_duplicates, 0);
  cq_index_report_free(r);
  cq_index_free(index);
}

static void an_empty_index_has_an_empty_report(void **state) {
  (void)state;
  cq_index *index = fresh("empty.index", MODEL);
  cq_index_report *r = probed(index);
  assert_int_equal(r->n_passages, 0);
  assert_int_equal(r->n_sampled, 0);
  assert_int_equal(r->n_vocabularies, 0);
  assert_int_equal(r->n_findings, 0);
  assert_float_equal(r->recall, -1, 0);
  cq_index_report_free(r);
  cq_index_report_free(NULL);
  cq_index_free(index);
}

/* Documents in which most words are "the", and one of this word alone, which is near to whatever has it. The
 * model's vectors are means of its words' vectors. */
enum { N_LONG = 500, N_OTHERS = 8 };

static void add_hubs(cq_index *index) {
  static const char others[] =
      "七上两个之了二人们作做到前包升古在天太子孩屋师店开往我报新日旧早昇条河沿海火点用直着纸聞舟船走起车边開阳面黑";
  static char body[N_LONG + 1][256], id[N_LONG + 1][8];
  cq_document documents[N_LONG + 1];
  for (size_t i = 0; i <= N_LONG; i++) {
    cq_random random = cq_random_seeded(7, i);
    char *at = body[i] + sprintf(body[i], "the");
    for (size_t w = 0; i < N_LONG && w < N_OTHERS; w++)
      at += sprintf(at, " %.3s the the the", others + 3 * cq_random_below(&random, (sizeof others - 1) / 3));
    snprintf(id[i], sizeof id[i], i == N_LONG ? "hub" : "d%zu", i);
    documents[i] =
        (cq_document){.id = {id[i], strlen(id[i])}, .language = {"en", 2}, .text = {body[i], strlen(body[i])}};
  }
  assert_int_equal(cq_index_add_commit(index, documents, N_LONG + 1, NULL, NULL), CQ_OK);
}

static bool has_hub(const cq_index_report *r, const char *id) {
  for (size_t i = 0; i < r->n_hubs; i++)
    if (!strcmp(r->hubs[i].id, id)) return true;
  return false;
}

static void hubs_are_found(void **state) {
  (void)state;
  cq_index *index = fresh("hubs.index", STATIC);
  add_hubs(index);
  cq_index_report *r = probed(index);
  assert_true(has_hub(r, "hub"));
  for (size_t i = 0; i < r->n_hubs; i++) {
    assert_true(r->hubs[i].share >= 0.2 && r->hubs[i].share <= 1);
    assert_true(i == 0 || r->hubs[i].share <= r->hubs[i - 1].share);
  }
  assert_non_null(strstr(r->findings[r->n_findings - 1], "among the ten nearest to many queries of random words: 'd"));
  cq_index_report *again = probed(index);
  assert_int_equal(again->n_hubs, r->n_hubs);
  assert_float_equal(again->hubs[0].share, r->hubs[0].share, 0);
  cq_index_report_free(again);
  cq_index_report_free(r);
  size_t n_removed;
  assert_int_equal(cq_index_remove_commit(index, &(cq_slice){"hub", 3}, 1, &n_removed, NULL), CQ_OK);
  r = probed(index);
  assert_false(has_hub(r, "hub"));
  cq_index_report_free(r);
  cq_index_free(index);
}

/* Recall of an approximation that looks into all of this index is 1; without an approximation, it is not measured. */
static void recall_is_measured(void **state) {
  (void)state;
  if (!dlopen("libcalque_faiss.so", RTLD_NOW | RTLD_LOCAL)) {
    print_message("skipped: there is no plugin for FAISS\n");
    skip();
  }
  cq_index *index = fresh("recall.index", STATIC);
  add_hubs(index);
  assert_int_equal(cq_index_approximate(index, CQ_APPROXIMATE_HNSW, NULL, NULL), CQ_OK);
  assert_int_equal(cq_index_commit(index, NULL), CQ_OK);
  cq_index_report *r = probed(index);
  assert_true(r->recall > 0.5 && r->recall <= 1);
  cq_index_report_free(r);
  cq_index_free(index);
}

static void a_model_that_is_gone_is_named(void **state) {
  (void)state;
  char command[2000];
  cq_error error = {0};
  cq_index_report *r;
  cq_index *index;
  snprintf(command, sizeof command, "cp -r '%s' '%s'", MODEL, test_path("model"));
  assert_int_equal(system(command), 0);
  index = fresh("gone.index", test_path("model"));
  add(index, "a", "en", "", "the piano");
  assert_int_equal(cq_index_commit(index, NULL), CQ_OK);
  cq_index_free(index);
  assert_int_equal(rename(test_path("model"), test_path("moved")), 0);
  assert_int_equal(cq_index_open(&index, test_path("gone.index"), NULL, NULL), CQ_OK);
  assert_int_equal(cq_index_probe(&r, index, NULL, &error), CQ_ERR_IO);
  assert_null(r);
  assert_non_null(strstr(error.message, "/model"));
  cq_index_free(index);
}

static void memory_runs_out(void **state) {
  (void)state;
  static const text texts[] = {{"en", "the piano"}, {"", "강가에 집이"}, {"ko", "역에서 오래"}};
  cq_index *index = fresh("memory.index", MODEL);
  cq_index_report *r = NULL;
  add_all(index, texts, 3);
  cq_index_report_free(probed(index)); /* what is opened once is open */
  for (int64_t n = 1;; n++) {
    cq_error error = {0};
    cq_alloc_fail_at(n);
    const cq_status status = cq_index_probe(&r, index, NULL, &error);
    cq_alloc_fail_at(0);
    if (!status) break;
    assert_int_equal(status, CQ_ERR_MEMORY);
    assert_null(r);
    assert_true(n < 10000);
  }
  assert_int_equal(r->n_findings, 1);
  cq_index_report_free(r);
  cq_index_free(index);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scripts_are_counted),
      cmocka_unit_test(little_text_says_nothing),
      cmocka_unit_test(decomposed_text_is_noticed),
      cmocka_unit_test(truncated_passages_are_counted),
      cmocka_unit_test(an_empty_index_has_an_empty_report),
      cmocka_unit_test(hubs_are_found),
      cmocka_unit_test(recall_is_measured),
      cmocka_unit_test(a_model_that_is_gone_is_named),
      cmocka_unit_test(memory_runs_out),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
