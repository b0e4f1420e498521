/* An index that grows: its segments are those of cq_lexical_build, sets of them find what one index finds, a filter
 * leaves out and changes no score, merged segments are those written at once, and commits merge into few segments. */
#include "support/files.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/slice.h"
#include "calque/lab/lexical.h"
#include "lexical/growing.h"
#include "lexical/segment.h"

#include <pthread.h>

enum { N = 3000, WORDS = 400, MAX_SEGMENTS = 24, N_QUERIES = 12, K = 25 };

static char bytes_of[N][400];
static cq_slice texts[N];
static cq_analyzer *analyzer;

/* Words that are numbers, few of them frequent; some documents are empty. */
static void make_texts(void) {
  for (uint32_t d = 0; d < N; d++) {
    cq_random r = cq_random_seeded(7, d);
    const uint64_t n = cq_random_below(&r, 10) ? cq_random_below(&r, 40) : 0;
    size_t at = 0;
    for (uint64_t i = 0; i < n; i++) {
      const double u = cq_random_uniform(&r);
      at += (size_t)snprintf(bytes_of[d] + at, sizeof bytes_of[d] - at, "w%d ", (int)(WORDS * u * u * u));
    }
    texts[d] = (cq_slice){bytes_of[d], at};
  }
}

static const char *path_of(int i) {
  static char paths[MAX_SEGMENTS][400];
  char name[32];
  snprintf(name, sizeof name, "words-%d", i);
  snprintf(paths[i], sizeof paths[i], "%s", test_path(name));
  return paths[i];
}

/* Segments of n texts each, from number `from` on; returns how many. */
static size_t write_segments(const char **paths, int from, const cq_slice *of, size_t n_texts, size_t n) {
  size_t n_segments = 0;
  for (size_t at = 0; at < n_texts; at += n, n_segments++) {
    paths[n_segments] = path_of(from + (int)n_segments);
    assert_int_equal(
        cq_lexical_segment_of_texts(paths[n_segments], analyzer, of + at, NULL, cq_min(n, n_texts - at), NULL, NULL),
        CQ_OK);
  }
  return n_segments;
}

static cq_lexical_set *opened(const char *const *paths, size_t n, const cq_lexical_set *shared) {
  cq_lexical_set *set;
  assert_int_equal(cq_lexical_set_open(&set, analyzer, paths, n, shared, NULL), CQ_OK);
  return set;
}

static void same_files(const char *a, const char *b) {
  size_t n_a, n_b;
  unsigned char *bytes_a = read_bytes(&n_a, a), *bytes_b = read_bytes(&n_b, b);
  assert_int_equal(n_a, n_b);
  assert_memory_equal(bytes_a, bytes_b, n_a);
  free(bytes_a);
  free(bytes_b);
}

static char query_bytes[N_QUERIES][200];
static cq_slice queries[N_QUERIES];

static void make_queries(void) {
  for (uint32_t q = 0; q < N_QUERIES; q++) {
    cq_random r = cq_random_seeded(8, q);
    size_t at = 0;
    for (uint32_t i = 0; i < q; i++) {
      const double u = cq_random_uniform(&r);
      at += (size_t)snprintf(query_bytes[q] + at, sizeof query_bytes[q] - at, "W%d ", (int)(1.02 * WORDS * u * u));
    }
    queries[q] = (cq_slice){query_bytes[q], at};
  }
}

static cq_lexical_options options_of(int model, size_t k) {
  cq_lexical_options o = cq_lexical_default_options();
  o.model = (cq_lexical_model)model, o.k = k;
  return o;
}

/* An index of the same texts, with their numbers as ids. */
static cq_lexical *built_index(void) {
  cq_lexical *index;
  cq_builder tsv = {0};
  for (uint32_t d = 0; d < N; d++) cq_builder_printf(&tsv, "%u\t%.*s\n", d, (int)texts[d].n, texts[d].data);
  assert_false(tsv.failed);
  write_bytes(test_path("texts.tsv"), tsv.data, tsv.n);
  cq_builder_free(&tsv);
  char path[400];
  snprintf(path, sizeof path, "%s", test_path("texts.tsv"));
  const char *const paths[] = {path};
  if (!cq_is_directory(test_path("index")))
    assert_int_equal(cq_lexical_build(test_path("index"), paths, 1, NULL, NULL, NULL), CQ_OK);
  assert_int_equal(cq_lexical_open(&index, test_path("index"), NULL), CQ_OK);
  return index;
}

static void sets_find_what_an_index_finds(void **state) {
  (void)state;
  cq_lexical *index = built_index();
  cq_context *ctx;
  assert_int_equal(cq_context_open(&ctx, 3, NULL), CQ_OK);
  cq_lexical_query parsed[N_QUERIES];
  for (int q = 0; q < N_QUERIES; q++) assert_int_equal(cq_lexical_parse(&parsed[q], index, queries[q], NULL), CQ_OK);
  static const size_t sizes[] = {N, 1000, 150};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const char *paths[MAX_SEGMENTS];
    const size_t n = write_segments(paths, 0, texts, N, sizes[s]);
    cq_lexical_set *set = opened(paths, n, NULL);
    assert_int_equal(cq_lexical_set_n_documents(set), N);
    assert_int_equal(cq_lexical_set_n_segments(set), n);
    assert_int_equal(cq_lexical_set_first(set, n - 1), (n - 1) * sizes[s]);
    uint64_t a, b, c, d;
    cq_lexical_count(&a, &b, index, cq_slice_of("w3"));
    cq_lexical_set_count(&c, &d, set, cq_slice_of("w3"));
    assert_true(a == c && b == d && a > 0);
    for (int m = 0; m < CQ_N_LEXICAL_MODELS; m++) {
      const cq_lexical_options o = options_of(m, K);
      cq_lexical_hit *one, *other;
      assert_int_equal(cq_lexical_search(&one, index, parsed, N_QUERIES, &o, NULL, NULL), CQ_OK);
      assert_int_equal(cq_lexical_set_search_texts(&other, set, queries, N_QUERIES, &o, NULL, ctx, NULL), CQ_OK);
      size_t n_hits = 0;
      for (size_t i = 0; i < N_QUERIES * K; i++) {
        assert_int_equal(one[i].id.data != NULL, other[i].id.data != NULL);
        assert_int_equal(one[i].document, other[i].document);
        assert_true(one[i].score == other[i].score);
        assert_int_equal(other[i].id.n, 0);
        n_hits += one[i].id.data != NULL;
      }
      assert_true(n_hits > 100);
      cq_free(one);
      cq_free(other);
    }
    cq_lexical_set_free(set);
  }
  for (int q = 0; q < N_QUERIES; q++) cq_lexical_query_free(&parsed[q]);
  cq_context_free(ctx);
  cq_lexical_free(index);
}

static bool has_remainder(const void *context, uint64_t document) {
  const uint64_t *of = context;
  return document % of[0] == of[1];
}

static bool counts_calls(const void *context, uint64_t document) {
  size_t *n = *(size_t *const *)context;
  (void)document;
  ++*n;
  return true;
}

/* The top of what is left of all hits. */
static void a_filter_leaves_out(void **state) {
  (void)state;
  const char *paths[MAX_SEGMENTS];
  cq_lexical_set *set = opened(paths, write_segments(paths, 0, texts, N, 700), NULL);
  static const uint64_t remainders[][2] = {{2, 1}, {97, 5}, {N, 17}, {N, N}};
  for (size_t f = 0; f < sizeof remainders / sizeof *remainders; f++) {
    const cq_lexical_filter filter = {has_remainder, remainders[f]};
    for (int m = 0; m < CQ_N_LEXICAL_MODELS; m++) {
      cq_lexical_options o = options_of(m, N);
      cq_lexical_hit *all, *some;
      assert_int_equal(cq_lexical_set_search_texts(&all, set, queries, N_QUERIES, &o, NULL, NULL, NULL), CQ_OK);
      o.k = 5;
      assert_int_equal(cq_lexical_set_search_texts(&some, set, queries, N_QUERIES, &o, &filter, NULL, NULL), CQ_OK);
      for (size_t q = 0; q < N_QUERIES; q++) {
        const cq_lexical_hit *hit = all + q * N, *found = some + q * o.k;
        size_t rank = 0;
        for (size_t i = 0; i < N && hit[i].id.data && rank < o.k; i++) {
          if (!has_remainder(remainders[f], hit[i].document)) continue;
          assert_non_null(found[rank].id.data);
          assert_int_equal(found[rank].document, hit[i].document);
          assert_true(found[rank].score == hit[i].score);
          rank++;
        }
        for (; rank < o.k; rank++) assert_null(found[rank].id.data);
      }
      cq_free(all);
      cq_free(some);
    }
  }
  /* It is asked about documents that would be among the hits, not about all that are met. */
  size_t n_calls = 0, *const counter = &n_calls;
  const cq_lexical_filter counting = {counts_calls, &counter};
  const cq_lexical_options o = options_of(CQ_BM25, 3);
  const cq_slice frequent = cq_slice_of("w0");
  cq_lexical_hit *hits;
  uint64_t n_documents, n_occurrences;
  cq_lexical_set_count(&n_documents, &n_occurrences, set, frequent);
  assert_int_equal(cq_lexical_set_search_texts(&hits, set, &frequent, 1, &o, &counting, NULL, NULL), CQ_OK);
  assert_true(n_calls >= 3 && n_calls < n_documents / 10);
  cq_free(hits);
  cq_lexical_set_free(set);
}

static void segments_do_not_depend_on_threads(void **state) {
  (void)state;
  /* Enough text for several batches. */
  cq_slice *many = calloc(10 * N, sizeof *many);
  assert_non_null(many);
  for (size_t i = 0; i < 10 * N; i++) many[i] = texts[(i * 7) % N];
  cq_context *ctx;
  assert_int_equal(cq_context_open(&ctx, 4, NULL), CQ_OK);
  assert_int_equal(cq_lexical_segment_of_texts(path_of(0), analyzer, many, NULL, 10 * N, NULL, NULL), CQ_OK);
  assert_int_equal(cq_lexical_segment_of_texts(path_of(1), analyzer, many, NULL, 10 * N, ctx, NULL), CQ_OK);
  same_files(path_of(0), path_of(1));
  cq_context_free(ctx);
  free(many);
  /* Of no texts at all. */
  const char *const paths[] = {path_of(2), path_of(2)};
  assert_int_equal(cq_lexical_segment_of_texts(paths[0], analyzer, NULL, NULL, 0, NULL, NULL), CQ_OK);
  cq_lexical_hit *hits;
  for (size_t n = 0; n <= 2; n++) {
    cq_lexical_set *set = opened(paths, n, NULL);
    assert_int_equal(cq_lexical_set_n_documents(set), 0);
    for (int m = 0; m < CQ_N_LEXICAL_MODELS; m++) {
      const cq_lexical_options o = options_of(m, 2);
      assert_int_equal(cq_lexical_set_search_texts(&hits, set, queries, N_QUERIES, &o, NULL, NULL, NULL), CQ_OK);
      assert_null(hits[2].id.data);
      cq_free(hits);
    }
    assert_int_equal(cq_lexical_segments_merge(path_of(3), set, 0, n, NULL, NULL), CQ_OK);
    same_files(path_of(3), path_of(2));
    cq_lexical_set_free(set);
  }
}

static void merged_is_written_at_once(void **state) {
  (void)state;
  static const size_t sizes[] = {N, 1000, 333, 128, 150};
  const char *paths[MAX_SEGMENTS];
  assert_int_equal(cq_lexical_segment_of_texts(test_path("whole"), analyzer, texts, NULL, N, NULL, NULL), CQ_OK);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const size_t n = write_segments(paths, 0, texts, N, sizes[s]);
    cq_lexical_set *set = opened(paths, n, NULL);
    assert_int_equal(cq_lexical_segments_merge(path_of(MAX_SEGMENTS - 1), set, 0, n, NULL, NULL), CQ_OK);
    same_files(path_of(MAX_SEGMENTS - 1), test_path("whole"));
    cq_lexical_set_free(set);
  }
  /* Some of the segments, and dead documents: as though these had been empty. */
  const size_t first = 3, n_merged = 7, begin = first * 150, n_texts = n_merged * 150;
  cq_lexical_set *set = opened(paths, write_segments(paths, 0, texts, N, 150), NULL);
  unsigned char dead[(N + 7) / 8];
  cq_slice left[N];
  for (int how = 0; how < 3; how++) {
    memset(dead, 0, sizeof dead);
    for (size_t d = 0; d < N; d++) {
      const bool is_dead = how == 2 || (how == 1 && d % 3 == 1) || (how == 0 && d == begin + 5);
      dead[d / 8] |= (unsigned char)(is_dead << d % 8);
      left[d] = is_dead ? (cq_slice){NULL, 0} : texts[d];
    }
    assert_int_equal(cq_lexical_segments_merge(path_of(MAX_SEGMENTS - 1), set, first, n_merged, dead, NULL), CQ_OK);
    assert_int_equal(cq_lexical_segment_of_texts(test_path("left"), analyzer, left + begin, NULL, n_texts, NULL, NULL),
                     CQ_OK);
    same_files(path_of(MAX_SEGMENTS - 1), test_path("left"));
  }
  cq_lexical_set_free(set);
  assert_int_equal(count_files("words-23"), 1); /* nothing waits beside it any more */
}

/* Ids stay, the dead ones' too. */
static void merged_has_the_ids(void **state) {
  (void)state;
  cq_lexical_free(built_index());
  char path[400];
  snprintf(path, sizeof path, "%s", test_path("index/segment-1"));
  const char *const paths[] = {path, path};
  cq_lexical_set *set = opened(paths, 2, NULL);
  unsigned char dead[(2 * N + 7) / 8];
  memset(dead, 0xff, sizeof dead);
  assert_int_equal(cq_lexical_segments_merge(test_path("twice"), set, 0, 2, dead, NULL), CQ_OK);
  cq_segment s;
  assert_int_equal(cq_segment_open(&s, test_path("twice"), NULL), CQ_OK);
  assert_int_equal(s.n_documents, 2 * N);
  assert_int_equal(s.n_terms, 0);
  assert_int_equal(s.n_occurrences, 0);
  assert_true(cq_slice_equal(cq_segment_id(&s, N - 1), cq_slice_of("2999")));
  assert_true(cq_slice_equal(cq_segment_id(&s, N + 12), cq_slice_of("12")));
  cq_segment_close(&s);
  cq_lexical_set_free(set);
}

/* What is open stays open, whoever frees first, and is not opened again. */
static void sets_share_segments(void **state) {
  (void)state;
  const char *paths[MAX_SEGMENTS];
  const size_t n = write_segments(paths, 0, texts, N, 600);
  cq_lexical_set *first = opened(paths, n - 1, NULL);
  for (size_t i = 0; i + 1 < n; i++) assert_int_equal(unlink(paths[i]), 0);
  cq_lexical_set *second = opened(paths, n, first);
  const char *const some[] = {paths[3], paths[0], paths[4]};
  cq_lexical_set *third = opened(some, 3, second);
  cq_error error = {0};
  cq_lexical_set *none;
  assert_int_equal(cq_lexical_set_open(&none, analyzer, paths, n, NULL, &error), CQ_ERR_IO);
  assert_string_equal(error.file, paths[0]);
  assert_null(none);
  cq_lexical_set_free(first);
  cq_lexical_set_free(second);
  assert_int_equal(cq_lexical_set_n_documents(third), 1800);
  const cq_lexical_options o = options_of(CQ_DIRICHLET, 5);
  cq_lexical_hit *hits;
  assert_int_equal(cq_lexical_set_search_texts(&hits, third, queries, N_QUERIES, &o, NULL, NULL, NULL), CQ_OK);
  assert_non_null(hits[5 * (N_QUERIES - 1)].id.data);
  cq_free(hits);
  cq_lexical_set_free(third);
}

static void damage_is_named(void **state) {
  (void)state;
  const char *paths[MAX_SEGMENTS];
  const size_t n = write_segments(paths, 0, texts, N, 1000);
  size_t n_bytes;
  unsigned char *bytes = read_bytes(&n_bytes, paths[1]);
  const cq_slice query = cq_slice_of("w0");
  cq_error error = {0};
  cq_lexical_set *set;
  cq_lexical_hit *hits;
  bytes[n_bytes - 12] ^= 1; /* the last bytes of the postings, or zeros behind them, of some term */
  for (size_t at = n_bytes - 12; at > n_bytes - 4000; at -= 40) bytes[at] ^= 1;
  write_bytes(paths[1], bytes, n_bytes);
  set = opened(paths, n, NULL);
  assert_int_equal(cq_lexical_segments_merge(test_path("merged"), set, 0, n, NULL, &error), CQ_ERR_FORMAT);
  assert_string_equal(error.file, paths[1]);
  assert_non_null(strstr(error.message, "it is damaged: postings do not fit their check"));
  assert_int_equal(count_files("merged"), 0);
  cq_lexical_set_free(set);
  bytes[200] ^= 1; /* of the lengths */
  write_bytes(paths[1], bytes, n_bytes);
  assert_int_equal(cq_lexical_set_open(&set, analyzer, paths, n, NULL, &error), CQ_ERR_FORMAT);
  assert_string_equal(error.file, paths[1]);
  assert_null(set);
  write_bytes(paths[1], bytes, 100);
  assert_int_equal(cq_lexical_set_open(&set, analyzer, paths, n, NULL, &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "shorter than its header"));
  free(bytes);
  /* Every term's postings damaged. */
  bytes = read_bytes(&n_bytes, paths[0]);
  cq_segment s;
  assert_int_equal(cq_segment_open(&s, paths[0], NULL), CQ_OK);
  const size_t begin = (size_t)(s.postings - s.file.data);
  cq_segment_close(&s);
  for (size_t i = begin; i < n_bytes - 8; i++) bytes[i] ^= 0x55;
  write_bytes(paths[0], bytes, n_bytes);
  set = opened(paths, 1, NULL);
  assert_int_equal(cq_lexical_set_search_texts(&hits, set, &query, 1, NULL, NULL, NULL, &error), CQ_ERR_FORMAT);
  assert_string_equal(error.file, paths[0]);
  assert_null(hits);
  cq_lexical_set_free(set);
  free(bytes);
}

static void what_cannot_be_written_is_named(void **state) {
  (void)state;
  const char *paths[MAX_SEGMENTS];
  cq_error error = {0};
  cq_lexical_set *set = opened(paths, write_segments(paths, 0, texts, 20, 10), NULL);
  assert_int_equal(cq_lexical_segment_of_texts(test_path("no/words"), analyzer, texts, NULL, 5, NULL, &error),
                   CQ_ERR_IO);
  assert_non_null(strstr(error.message, "no/words"));
  error = (cq_error){0};
  assert_int_equal(cq_lexical_segments_merge(test_path("no/words"), set, 0, 2, NULL, &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "no/words"));
  const size_t too_many = (size_t)CQ_MAX_SEGMENT_TEXTS + 1;
  assert_int_equal(cq_lexical_segment_of_texts(path_of(3), analyzer, NULL, NULL, too_many, NULL, &error),
                   CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "2147483648 texts in a segment, expected at most 2147483647");
  cq_lexical_set_free(set);
  cq_lexical_set_free(NULL);
}

/* Searches go on with the set that they began with, while commits open the next and free the one before. */
typedef struct turning {
  cq_lexical_set *set;
  cq_lexical_hit *hits;
  cq_status status;
} turning;

static void *search_and_free(void *context) {
  turning *t = context;
  for (int i = 0; !t->status && i < 20; i++) {
    cq_free(t->hits);
    t->status = cq_lexical_set_search_texts(&t->hits, t->set, queries, N_QUERIES, NULL, NULL, NULL, NULL);
  }
  cq_lexical_set_free(t->set);
  return NULL;
}

static void searches_outlive_commits(void **state) {
  (void)state;
  enum { N_SETS = 5 };
  const char *paths[MAX_SEGMENTS];
  turning turns[N_SETS] = {{.set = NULL}};
  pthread_t threads[N_SETS];
  write_segments(paths, 0, texts, N, N / N_SETS);
  for (size_t i = 0; i < N_SETS; i++) turns[i].set = opened(paths, i + 1, i ? turns[i - 1].set : NULL);
  for (size_t i = 0; i < N_SETS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, search_and_free, &turns[i]), 0);
  for (size_t i = 0; i < N_SETS; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(turns[i].status, CQ_OK);
    for (size_t k = 10 * (N_QUERIES - 1); k < 10 * N_QUERIES; k++)
      assert_true(turns[i].hits[k].document < (i + 1) * N / N_SETS);
    cq_free(turns[i].hits);
  }
}

static cq_status grow(const char *const *paths) {
  cq_lexical_set *first = NULL, *second = NULL;
  cq_lexical_hit *hits = NULL;
  cq_status status = cq_lexical_segment_of_texts(paths[0], analyzer, texts, NULL, 40, NULL, NULL);
  if (!status) status = cq_lexical_segment_of_texts(paths[1], analyzer, texts + 40, NULL, 10, NULL, NULL);
  if (!status) status = cq_lexical_set_open(&first, analyzer, paths, 1, NULL, NULL);
  if (!status) status = cq_lexical_set_open(&second, analyzer, paths, 2, first, NULL);
  if (!status) status = cq_lexical_set_search_texts(&hits, second, queries, N_QUERIES, NULL, NULL, NULL, NULL);
  if (!status) status = cq_lexical_segments_merge(test_path("failing"), second, 0, 2, NULL, NULL);
  assert_int_equal(hits != NULL, second != NULL && (status == CQ_OK || hits));
  cq_free(hits);
  cq_lexical_set_free(first);
  cq_lexical_set_free(second);
  return status;
}

static void memory_may_run_out(void **state) {
  (void)state;
  const char *const paths[] = {path_of(0), path_of(1)};
  for (long n = 1;; n++) {
    unlink(test_path("failing"));
    cq_alloc_fail_at(n);
    const cq_status status = grow(paths);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    assert_int_equal(count_files("failing"), failed ? 0 : 1);
    if (!failed) break;
  }
}

static void matches_are(const char *language, const char *query, const char *text, const char *expected) {
  cq_analyzer *rules;
  cq_span *spans;
  size_t n;
  cq_builder got = {0};
  assert_int_equal(cq_analyzer_open_with(&rules, language, true, NULL, 0, NULL), CQ_OK);
  assert_int_equal(cq_lexical_matches(&spans, &n, rules, cq_slice_of(query), cq_slice_of(text), NULL), CQ_OK);
  cq_builder_text(&got, "");
  for (size_t i = 0; i < n; i++)
    cq_builder_printf(&got, "%.*s|", (int)(spans[i].end - spans[i].begin), text + spans[i].begin);
  assert_string_equal(n ? got.data : "", expected);
  cq_builder_free(&got);
  cq_free(spans);
  cq_analyzer_free(rules);
}

static void what_was_found_is_shown(void **state) {
  (void)state;
  matches_are("en", "house and boat", "Boats, houses & housing; a boathouse and (BOAT)",
              "Boats|houses|housing|and|BOAT|");
  matches_are("mul", "STRASSE 北京", "Die Straße in 北京大学, Straßen", "Straße|北京|");
  matches_are("mul", "كتاب", "هذا الكِتابُ جديد", "الكِتابُ|");
  matches_are("", "nothing of it", "here", "");
  matches_are("", "", "here", "");
  matches_are("", "here", "", "");
  for (long i = 1;; i++) {
    cq_span *spans;
    size_t n = 7;
    cq_alloc_fail_at(i);
    const cq_status status =
        cq_lexical_matches(&spans, &n, analyzer, cq_slice_of("déjà b"), cq_slice_of("b déjà \u5317 b"), NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    assert_int_equal(n, failed ? 0 : 3);
    assert_int_equal(spans == NULL, failed);
    cq_free(spans);
    if (!failed) break;
  }
}

/* Commits of the sizes that next() says, merged when asked to: how many segments there are at most, and how often a
 * document is written on average. */
static void simulate(size_t *most, double *written, uint64_t n_commits, uint64_t (*next)(uint64_t i)) {
  uint64_t *sizes = calloc(1000, sizeof *sizes), all = 0, writes = 0;
  size_t n = 0, first, n_merged;
  *most = 0;
  for (uint64_t i = 0; i < n_commits; i++) {
    sizes[n] = next(i);
    all += sizes[n], writes += sizes[n];
    n++;
    while (cq_lexical_choose_merge(&first, &n_merged, sizes, n)) {
      assert_true(n_merged > 1 && first + n_merged <= n);
      for (size_t k = 1; k < n_merged; k++) sizes[first] += sizes[first + k];
      writes += sizes[first];
      memmove(sizes + first + 1, sizes + first + n_merged, (n - first - n_merged) * sizeof *sizes);
      n -= n_merged - 1;
    }
    if (n > *most) *most = n;
    assert_true(n < 990);
  }
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++) sum += sizes[i];
  assert_int_equal(sum, all);
  *written = (double)writes / (double)all;
  free(sizes);
}

static uint64_t one(uint64_t i) {
  (void)i;
  return 1;
}
static uint64_t thousand(uint64_t i) {
  (void)i;
  return 1000;
}
static uint64_t one_or_many(uint64_t i) {
  return i % 8 == 7 ? 10000 : 1;
}
static uint64_t any_size(uint64_t i) {
  cq_random r = cq_random_seeded(9, i);
  return (uint64_t)1 << cq_random_below(&r, 18);
}
static uint64_t rising(uint64_t i) {
  return i;
}

static void commits_stay_few(void **state) {
  (void)state;
  size_t first = 99, n = 99, most;
  double written;
  assert_false(cq_lexical_choose_merge(&first, &n, NULL, 0));
  const uint64_t seven[] = {5, 1, 1, 7, 100, 0, 1, 1},
                 falling[] = {1 << 24, 1 << 21, 1 << 18, 1 << 15, 1 << 12, 1 << 9, 100, 100, 100, 100, 100, 100};
  assert_false(cq_lexical_choose_merge(&first, &n, seven, 7));
  assert_true(cq_lexical_choose_merge(&first, &n, seven, 8));
  assert_int_equal(first, 0);
  assert_int_equal(n, 8);
  assert_false(cq_lexical_choose_merge(&first, &n, falling, 12));
  static const struct {
    uint64_t n_commits;
    uint64_t (*next)(uint64_t i);
    size_t most;
    double written;
  } cases[] = {{100000, one, 30, 25},
               {5000, thousand, 30, 5},
               {5000, one_or_many, 40, 6},
               {5000, any_size, 45, 8},
               {5000, rising, 40, 6}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    simulate(&most, &written, cases[i].n_commits, cases[i].next);
    print_message("case %zu: at most %zu segments, written %.1f times\n", i, most, written);
    assert_true(most <= cases[i].most);
    assert_true(written <= cases[i].written);
  }
}

static int start(void **state) {
  const int failed = make_test_directory(state);
  make_texts();
  make_queries();
  return failed || cq_analyzer_open(&analyzer, NULL, NULL);
}

static int stop(void **state) {
  cq_analyzer_free(analyzer);
  return remove_test_directory(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sets_find_what_an_index_finds),
      cmocka_unit_test(a_filter_leaves_out),
      cmocka_unit_test(segments_do_not_depend_on_threads),
      cmocka_unit_test(merged_is_written_at_once),
      cmocka_unit_test(merged_has_the_ids),
      cmocka_unit_test(sets_share_segments),
      cmocka_unit_test(damage_is_named),
      cmocka_unit_test(what_cannot_be_written_is_named),
      cmocka_unit_test(searches_outlive_commits),
      cmocka_unit_test(memory_may_run_out),
      cmocka_unit_test(what_was_found_is_shown),
      cmocka_unit_test(commits_stay_few),
  };
  return cmocka_run_group_tests(tests, start, stop);
}
