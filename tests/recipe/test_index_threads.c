/* Every ranking by eight threads, on the handle that writes and on one that only reads, while another thread replaces
 * documents, commits and compacts. Built with ThreadSanitizer this is the test that there are no data races.
 *
 * The documents that stay have equally many words, and each has the searched word a different number of times:
 * their order by words is the same whatever the others do to the statistics. So is that of a hybrid ranking in which the
 * words have all the weight. */
#include "support/files.h"

#include "base/clock.h"
#include "calque/calque.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>

#define MODEL CQ_TESTS_DIR "/golden/models/bert-uncased"

enum { N = 12, LENGTH = 12, K = 6, THREADS = 8, N_WAYS = 4, EACH_COMPACTION = 5 };
static const double seconds = 1.5;
static const cq_slice query = {"river", 5};

static char text[N][128], name[N][8];
static cq_document documents[N];
static cq_context *ctx;
static cq_index *writer, *reader;
static cq_hits *expected[N_WAYS];

static _Atomic int n_failures;
static char first_failure[512];
static _Atomic long n_searches, committed, n_compactions;
static double deadline;

__attribute__((format(printf, 1, 2))) static bool failed(const char *format, ...) {
  if (atomic_fetch_add(&n_failures, 1)) return false;
  va_list list;
  va_start(list, format);
  vsnprintf(first_failure, sizeof first_failure, format, list);
  va_end(list);
  return false;
}

static bool goes_on(void) {
  return !n_failures && cq_seconds(CLOCK_MONOTONIC) < deadline;
}

/* By vectors, by vectors corrected for hubness, by words, by both. */
static cq_search_options options_of(int way, const char *language) {
  static const cq_ranking rankings[N_WAYS] = {CQ_RANK_DENSE, CQ_RANK_DENSE, CQ_RANK_WORDS, CQ_RANK_HYBRID};
  cq_search_options o = cq_search_default_options();
  o.k = K, o.language = language, o.ranking = rankings[way], o.csls = way % 2 == 1;
  o.words_weight = 1;
  o.snippet = way == 0 ? CQ_SNIPPET_NONE : CQ_SNIPPET_WORDS;
  return o;
}

static bool search_what_stays(cq_index *index, int way) {
  const cq_search_options o = options_of(way, "xx");
  cq_error error = {0};
  cq_hits *hits;
  size_t n, n_expected;
  if (cq_index_search(&hits, index, &query, 1, &o, ctx, &error)) return failed("search %d: %s", way, error.message);
  const cq_hit *hit = cq_hits_of(hits, 0, &n), *wanted = cq_hits_of(expected[way], 0, &n_expected);
  bool ok = n == n_expected || failed("way %d: %zu hits", way, n);
  for (size_t i = 0; ok && i < n; i++)
    ok = (hit[i].cosine == wanted[i].cosine && hit[i].document.id.n == wanted[i].document.id.n &&
          !memcmp(hit[i].document.id.data, wanted[i].document.id.data, wanted[i].document.id.n) &&
          (o.ranking == CQ_RANK_DENSE ? hit[i].score == wanted[i].score : hit[i].score > 0)) ||
         failed("way %d, hit %zu is another", way, i);
  cq_hits_free(hits);
  return ok;
}

/* Two documents are replaced together: both are of one commit, however they are found. Returns its number, -1 on a
 * failure. */
static long search_what_changes(cq_index *index, int way, long least) {
  const cq_search_options o = options_of(way, "zz");
  cq_error error = {0};
  cq_hits *hits;
  long number[2] = {-1, -1};
  size_t n;
  if (cq_index_search(&hits, index, &query, 1, &o, ctx, &error)) return failed("search: %s", error.message) - 1;
  const cq_hit *hit = cq_hits_of(hits, 0, &n);
  for (size_t i = 0; i < n && i < 2; i++) {
    char copy[128];
    snprintf(copy, sizeof copy, "%.*s", (int)hit[i].document.text.n, hit[i].document.text.data);
    sscanf(copy, "version %ld", &number[i]);
  }
  cq_hits_free(hits);
  if (n != 2 || number[0] != number[1] || number[0] < least)
    return failed("way %d: %zu hits, versions %ld and %ld, after %ld", way, n, number[0], number[1], least) - 1;
  return number[0];
}

static cq_status commit_version(long version, cq_error *error) {
  char line[2][128];
  snprintf(line[0], sizeof line[0], "version %ld of the river", version);
  snprintf(line[1], sizeof line[1], "version %ld of the river, the house and the garden", version);
  const cq_document changed[2] = {{.id = {"z1", 2}, .language = {"zz", 2}, .text = {line[0], strlen(line[0])}},
                                  {.id = {"z2", 2}, .language = {"zz", 2}, .text = {line[1], strlen(line[1])}}};
  const cq_status status = cq_index_add(writer, changed, 2, ctx, error);
  return status ? status : cq_index_commit(writer, error);
}

static void *write_versions(void *argument) {
  cq_error error = {0};
  (void)argument;
  for (long version = 1; goes_on(); version++) {
    if (commit_version(version, &error)) failed("commit: %s", error.message);
    atomic_store(&committed, version);
    if (version % EACH_COMPACTION) continue;
    if (cq_index_compact(writer, ctx, &error)) failed("compaction: %s", error.message);
    atomic_fetch_add(&n_compactions, 1);
  }
  return NULL;
}

static void *search_on(void *argument) {
  const size_t number = (size_t)(uintptr_t)argument;
  cq_index *index = number % 2 ? writer : reader;
  cq_error error = {0};
  for (int round = (int)number; goes_on(); round++) {
    const long before = committed;
    if (index == reader && cq_index_refresh(reader, NULL, &error)) failed("refresh: %s", error.message);
    if (!search_what_stays(index, round % N_WAYS) || search_what_changes(index, round / 2 % N_WAYS, before) < 0) break;
    atomic_fetch_add(&n_searches, 1);
  }
  return NULL;
}

static void rankings_stay_while_others_write(void **state) {
  (void)state;
  pthread_t threads[THREADS + 1];
  cq_error error = {0};
  deadline = cq_seconds(CLOCK_MONOTONIC) + seconds;
  for (size_t i = 0; i <= THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, i ? search_on : write_versions, (void *)(uintptr_t)i), 0);
  for (int i = 0; i <= THREADS; i++) pthread_join(threads[i], NULL);
  if (n_failures) fail_msg("%d failures, the first: %s", n_failures, first_failure);
  print_message("%ld searches beside %ld commits and %ld compactions\n", n_searches, committed, n_compactions);
  assert_true(n_searches >= THREADS && n_compactions > 0);
  if (cq_index_check(writer, ctx, &error)) fail_msg("%s", error.message);
  assert_int_equal(cq_index_size(writer), N + 2);
}

static int make_index(void **state) {
  static const char *const words[] = {"garden", "house", "train", "cat", "blue", "late"};
  cq_index_options o = cq_index_default_options();
  cq_error error = {0};
  if (make_test_directory(state)) return 1;
  for (int i = 0; i < N; i++) {
    size_t n = 0;
    for (int k = 0; k < LENGTH; k++)
      n +=
          (size_t)snprintf(text[i] + n, sizeof text[i] - n, "%s%s", k ? " " : "", k < i ? "river" : words[(i + k) % 6]);
    snprintf(name[i], sizeof name[i], "x%d", i);
    documents[i] = (cq_document){.id = {name[i], strlen(name[i])}, .language = {"xx", 2}, .text = {text[i], n}};
  }
  o.model = MODEL, o.writing = true;
  if (cq_context_open(&ctx, 3, &error) || cq_index_create(test_path("an.index"), &o, &error) ||
      cq_index_open(&writer, test_path("an.index"), &o, &error) || cq_index_add(writer, documents, N, ctx, &error) ||
      cq_index_commit(writer, &error) || cq_index_hubness(writer, NULL, N, 3, ctx, &error) ||
      commit_version(0, &error) || cq_index_open(&reader, test_path("an.index"), NULL, &error)) {
    print_message("%s\n", error.message);
    return 1;
  }
  for (int way = 0; way < N_WAYS; way++) {
    const cq_search_options alone = options_of(way, "xx");
    if (cq_index_search(&expected[way], writer, &query, 1, &alone, NULL, &error)) return 1;
  }
  return 0;
}

static int free_all(void **state) {
  for (int way = 0; way < N_WAYS; way++) cq_hits_free(expected[way]);
  cq_index_free(writer);
  cq_index_free(reader);
  cq_context_free(ctx);
  return remove_test_directory(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rankings_stay_while_others_write)};
  return cmocka_run_group_tests(tests, make_index, free_all);
}
