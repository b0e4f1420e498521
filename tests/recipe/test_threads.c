/* One encoder, one context and one index, used by sixteen threads at once while another adds and commits; and an index
 * that one process writes while another searches it. What is found must be what one thread alone finds. Built with
 * ThreadSanitizer this is the test that there are no data races. */
#include "support/files.h"

#include "base/clock.h"
#include "calque/calque.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define MODEL CQ_TESTS_DIR "/golden/models/bert-uncased"

enum { N = 150, THREADS = 16, K = 5, MAX_DIM = 128, N_QUERIES = 8 };
static const double seconds = 1.5;

/* Options for opening an index of the small model for writing. */
static cq_index_options for_writing(void) {
  cq_index_options o = cq_index_default_options();
  o.model = MODEL, o.writing = true;
  return o;
}

static char text[N][96], name[N][16];
static cq_slice texts[N];
static cq_document documents[N]; /* in the language xx; they stay */
static float vectors[N * MAX_DIM];
static size_t dim;

static cq_encoder *encoder;
static cq_context *ctx;
static cq_index *index_handle, *reader;
static cq_neighbors neighbors;
static cq_hit found[N_QUERIES * K]; /* among the documents that stay */
static cq_hits *found_owner;

/* --- failures in threads --- */

static _Atomic int n_failures;
static char first_failure[512];

__attribute__((format(printf, 1, 2))) static bool failed(const char *format, ...) {
  if (atomic_fetch_add(&n_failures, 1)) return false;
  va_list list;
  va_start(list, format);
  vsnprintf(first_failure, sizeof first_failure, format, list);
  va_end(list);
  return false;
}

static double deadline;
static bool goes_on(void) {
  return !n_failures && cq_seconds(CLOCK_MONOTONIC) < deadline;
}

static void assert_no_failure(void) {
  if (n_failures) fail_msg("%d failures, the first: %s", n_failures, first_failure);
}

/* --- what is compared --- */

static void make_documents(void) {
  static const char *const words[] = {"river", "Garden,", "the", "12", "house", "late", "Train", "cat", "of", "blue"};
  unsigned seed = 1;
  for (int i = 0; i < N; i++) {
    size_t n = 0;
    for (int k = 0; k < 3 + i % 9; k++) {
      seed = seed * 1103515245 + 12345;
      n += (size_t)snprintf(text[i] + n, sizeof text[i] - n, "%s%s", k ? " " : "", words[seed >> 16 & 7]);
    }
    texts[i] = (cq_slice){text[i], n};
    snprintf(name[i], sizeof name[i], "x%d", i);
    documents[i] = (cq_document){.id = {name[i], strlen(name[i])}, .language = {"xx", 2}, .text = texts[i]};
  }
}

static cq_search_options options_for(const char *language) {
  cq_search_options o = cq_search_default_options();
  o.k = K, o.language = language, o.ranking = CQ_RANK_DENSE;
  return o;
}

static void make_index(cq_index **out, const char *directory) {
  cq_error error = {0};
  if (cq_index_create(directory, (const cq_index_options[]){for_writing()}, &error) ||
      cq_index_open(out, directory, (const cq_index_options[]){for_writing()}, &error) ||
      cq_index_add(*out, documents, N, NULL, &error) || cq_index_commit(*out, &error))
    fail_msg("%s", error.message);
}

/* Documents that stay are found as one thread alone found them. */
static bool search_what_stays(cq_index *index) {
  const cq_search_options o = options_for("xx");
  cq_error error = {0};
  cq_hits *hits;
  if (cq_index_search(&hits, index, texts, N_QUERIES, &o, ctx, &error)) return failed("search: %s", error.message);
  bool ok = true;
  for (size_t q = 0; ok && q < N_QUERIES; q++) {
    size_t n;
    const cq_hit *hit = cq_hits_of(hits, q, &n);
    ok = n == K || failed("query %zu has %zu hits", q, n);
    for (size_t i = 0; ok && i < K; i++) {
      const cq_hit *wanted = &found[q * K + i];
      ok = (hit[i].cosine == wanted->cosine && hit[i].document.id.n == wanted->document.id.n &&
            !memcmp(hit[i].document.id.data, wanted->document.id.data, wanted->document.id.n) &&
            !memcmp(hit[i].document.text.data, wanted->document.text.data, wanted->document.text.n)) ||
           failed("query %zu, hit %zu is another", q, i);
    }
  }
  cq_hits_free(hits);
  return ok;
}

/* Two documents are replaced together, again and again: a search sees both of one commit. Returns its number, -1 on a
 * failure; it is never below `least`. */
static long search_what_changes(cq_index *index, long least) {
  const cq_search_options o = options_for("zz");
  cq_error error = {0};
  cq_hits *hits;
  long number[2] = {-1, -1};
  size_t n;
  if (cq_index_search(&hits, index, texts, 1, &o, ctx, &error)) return failed("search: %s", error.message) - 1;
  const cq_hit *hit = cq_hits_of(hits, 0, &n);
  for (size_t i = 0; i < n && i < 2; i++) {
    char copy[64];
    snprintf(copy, sizeof copy, "%.*s", (int)hit[i].document.text.n, hit[i].document.text.data);
    sscanf(copy, "version %ld", &number[i]);
  }
  cq_hits_free(hits);
  if (n != 2 || number[0] != number[1] || number[0] < least)
    return failed("%zu hits, versions %ld and %ld, after %ld", n, number[0], number[1], least) - 1;
  return number[0];
}

static cq_status commit_version(cq_index *index, long version, cq_context *context, cq_error *error) {
  char line[64];
  snprintf(line, sizeof line, "version %ld of the river", version);
  const cq_slice both = {line, strlen(line)};
  const cq_document changed[2] = {{.id = {"z1", 2}, .language = {"zz", 2}, .text = both},
                                  {.id = {"z2", 2}, .language = {"zz", 2}, .text = both}};
  const cq_status status = cq_index_add(index, changed, 2, context, error);
  return status ? status : cq_index_commit(index, error);
}

/* --- threads of one process --- */

static bool encode_all(void) {
  float *own = malloc(N * dim * sizeof *own);
  cq_error error = {0};
  bool ok = own != NULL;
  if (ok && cq_encoder_encode(own, NULL, encoder, texts, N, NULL, ctx, &error)) ok = failed("%s", error.message);
  ok = ok && (!memcmp(own, vectors, N * dim * sizeof *own) || failed("other vectors"));
  free(own);
  return ok;
}

static bool encode_some(size_t first) {
  float own[MAX_DIM];
  cq_error error = {0};
  for (size_t i = first % N; i < N; i += 37) {
    if (cq_encoder_encode(own, NULL, encoder, &texts[i], 1, NULL, ctx, &error)) return failed("%s", error.message);
    if (memcmp(own, vectors + i * dim, dim * sizeof *own)) return failed("another vector");
  }
  return true;
}

static bool find_neighbors(void) {
  cq_neighbors own;
  cq_error error = {0};
  if (cq_nearest_within(&own, vectors, N, dim, NULL, ctx, &error)) return failed("%s", error.message);
  const bool ok = (!memcmp(own.index, neighbors.index, N * own.k * sizeof *own.index) &&
                   !memcmp(own.cosine, neighbors.cosine, N * own.k * sizeof *own.cosine)) ||
                  failed("other neighbors");
  cq_neighbors_free(&own);
  return ok;
}

static _Atomic long n_rounds, committed;

static void *use_all(void *argument) {
  const size_t number = (size_t)(uintptr_t)argument;
  long newest[2] = {0, 0};
  cq_error error = {0};
  for (size_t round = number; goes_on(); round++) {
    const long before = committed;
    bool ok = true;
    switch (round % 6) {
    case 0: ok = encode_all(); break;
    case 1: ok = encode_some(round); break;
    case 2: ok = search_what_stays(index_handle); break;
    case 3: ok = (newest[0] = search_what_changes(index_handle, before)) >= 0; break;
    case 4: ok = find_neighbors(); break;
    default:
      if (cq_index_refresh(reader, NULL, &error)) ok = failed("refresh: %s", error.message);
      ok = ok && (newest[1] = search_what_changes(reader, newest[1] > before ? newest[1] : before)) >= 0;
    }
    if (cq_index_size(index_handle) != N + 2) ok = failed("%zu documents", cq_index_size(index_handle));
    if (!ok) break;
    atomic_fetch_add(&n_rounds, 1);
  }
  return NULL;
}

static void *write_versions(void *argument) {
  cq_error error = {0};
  (void)argument;
  for (long version = committed + 1; goes_on(); version++) {
    if (commit_version(index_handle, version, ctx, &error)) failed("commit: %s", error.message);
    atomic_store(&committed, version);
  }
  return NULL;
}

static void sixteen_threads_share_all(void **state) {
  (void)state;
  pthread_t threads[THREADS + 1];
  cq_error error = {0};
  n_rounds = committed = 0; /* of this index, which begins with version 0 */
  assert_int_equal(cq_context_open(&ctx, 3, NULL), CQ_OK);
  make_index(&index_handle, test_path("shared.index"));
  assert_int_equal(commit_version(index_handle, 0, NULL, &error), CQ_OK);
  assert_int_equal(cq_index_open(&reader, test_path("shared.index"), NULL, NULL), CQ_OK);
  deadline = cq_seconds(CLOCK_MONOTONIC) + seconds;
  for (size_t i = 0; i <= THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, i ? use_all : write_versions, (void *)(uintptr_t)i), 0);
  for (int i = 0; i <= THREADS; i++) pthread_join(threads[i], NULL);
  assert_no_failure();
  print_message("%ld rounds beside %ld commits\n", n_rounds, committed);
  assert_true(n_rounds >= THREADS && committed > 0);
  assert_int_equal(search_what_changes(index_handle, 0), committed);
  cq_index_free(index_handle);
  cq_index_free(reader);
  cq_context_free(ctx);
  ctx = NULL;
}

/* --- two processes --- */

/* Replaces the two documents, again and again, and makes approximations anew; until it is killed. */
static void write_until_killed(const char *directory, bool approximates) {
  cq_index *index;
  cq_error error = {0};
  cq_status status = cq_index_open(&index, directory, (const cq_index_options[]){for_writing()}, &error);
  for (long version = 1; !status; version++) {
    if (approximates && version % 4 == 0)
      status = cq_index_approximate(index, version % 8 ? CQ_APPROXIMATE_HNSW : CQ_APPROXIMATE_IVF, NULL, &error);
    if (!status) status = commit_version(index, version, NULL, &error);
  }
  fprintf(stderr, "writer: %s\n", error.message);
  _exit(1);
}

static void *search_on(void *argument) {
  long newest = 0;
  const bool refreshes = argument == NULL;
  cq_error error = {0};
  while (goes_on()) {
    if (refreshes && cq_index_refresh(reader, NULL, &error)) failed("refresh: %s", error.message);
    const long before = newest;
    newest = search_what_changes(reader, before);
    if (newest < 0 || !search_what_stays(reader)) break;
    if (refreshes) atomic_store(&committed, newest);
    atomic_fetch_add(&n_rounds, 1);
  }
  return NULL;
}

static void one_process_writes_and_another_searches(void **state) {
  (void)state;
  void *plugin = dlopen("libcalque_faiss.so", RTLD_NOW | RTLD_LOCAL);
  const bool approximates = plugin != NULL;
  const char *directory = test_path("processes.index");
  pthread_t threads[4];
  cq_error error = {0};
  int status;
  if (!approximates) print_message("without approximations: the plugin for FAISS is not built here\n");
  make_index(&index_handle, directory);
  assert_int_equal(commit_version(index_handle, 0, NULL, &error), CQ_OK);
  cq_index_free(index_handle);
  const pid_t writer = fork();
  if (writer == 0) write_until_killed(directory, approximates);
  assert_true(writer > 0);
  assert_int_equal(cq_context_open(&ctx, 2, NULL), CQ_OK);
  assert_int_equal(cq_index_open(&reader, directory, NULL, NULL), CQ_OK);
  n_rounds = committed = 0;
  deadline = cq_seconds(CLOCK_MONOTONIC) + seconds;
  for (size_t i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, search_on, (void *)(uintptr_t)i), 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  assert_int_equal(waitpid(writer, &status, WNOHANG), 0); /* still at work */
  kill(writer, SIGKILL);
  assert_int_equal(waitpid(writer, &status, 0), writer);
  assert_no_failure();
  print_message("%ld rounds, up to commit %ld\n", n_rounds, committed);
  assert_true(n_rounds > 0 && committed > 0);
  /* Wherever it was killed, the index is as before or as after, and goes on. */
  assert_int_equal(cq_index_refresh(reader, NULL, &error), CQ_OK);
  const long version = search_what_changes(reader, committed);
  assert_true(version >= committed);
  assert_int_equal(cq_index_open(&index_handle, directory, (const cq_index_options[]){for_writing()}, &error), CQ_OK);
  assert_int_equal(commit_version(index_handle, version + 1, NULL, &error), CQ_OK);
  assert_int_equal(search_what_changes(index_handle, 0), version + 1);
  assert_true(search_what_stays(index_handle));
  cq_index_free(index_handle);
  cq_index_free(reader);
  cq_context_free(ctx);
  ctx = NULL;
  if (plugin) dlclose(plugin);
}

static void tell_none(void *context, const char *what) {
  (void)context;
  failed("told: %s", what);
}

/* A reader that has not yet opened an approximation, which another handle has replaced since: it moves on to
 * what was committed with the new one, and need not say that it searches exactly. */
static void a_replaced_approximation_leads_to_the_newest_commit(void **state) {
  (void)state;
  const char *directory = test_path("replaced.index");
  cq_error error = {0};
  void *plugin = dlopen("libcalque_faiss.so", RTLD_NOW | RTLD_LOCAL);
  if (!plugin) {
    print_message("skipped: the plugin for FAISS is not built here\n");
    return;
  }
  make_index(&index_handle, directory);
  assert_int_equal(cq_index_approximate(index_handle, CQ_APPROXIMATE_IVF, NULL, &error), CQ_OK);
  assert_int_equal(commit_version(index_handle, 1, NULL, &error), CQ_OK);
  cq_index_options options = cq_index_default_options();
  options.notice = tell_none;
  assert_int_equal(cq_index_open(&reader, directory, &options, NULL), CQ_OK);
  assert_int_equal(cq_index_approximated(reader), N);
  assert_int_equal(cq_index_approximate(index_handle, CQ_APPROXIMATE_HNSW, NULL, &error), CQ_OK);
  assert_int_equal(commit_version(index_handle, 2, NULL, &error), CQ_OK);
  cq_search_options exact = options_for("zz");
  exact.exact = true;
  cq_hits *before;
  size_t n;
  assert_int_equal(cq_index_search(&before, reader, texts, 1, &exact, NULL, &error), CQ_OK);
  assert_int_equal(search_what_changes(reader, 0), 2);
  assert_true(search_what_stays(reader));
  assert_no_failure();
  assert_int_equal(error.status, CQ_OK);
  const cq_hit *hit = cq_hits_of(before, 0, &n); /* of the snapshot that was the newest then */
  assert_int_equal(n, 2);
  assert_memory_equal(hit->document.text.data, "version 1", 9);
  cq_hits_free(before);
  cq_index_free(index_handle);
  cq_index_free(reader);
  dlclose(plugin);
}

/* --- alone --- */

static int compute_alone(void **state) {
  const cq_search_options o = options_for("xx");
  cq_index *index;
  cq_error error = {0};
  if (make_test_directory(state)) return 1;
  make_documents();
  if (cq_encoder_open(&encoder, MODEL, NULL, &error)) return 1;
  dim = (size_t)cq_encoder_dim(encoder);
  if (dim > MAX_DIM || cq_encoder_encode(vectors, NULL, encoder, texts, N, NULL, NULL, &error) ||
      cq_nearest_within(&neighbors, vectors, N, dim, NULL, NULL, &error))
    return 1;
  make_index(&index, test_path("alone.index"));
  if (cq_index_search(&found_owner, index, texts, N_QUERIES, &o, NULL, &error)) return 1;
  for (size_t q = 0; q < N_QUERIES; q++) {
    size_t n;
    const cq_hit *hits = cq_hits_of(found_owner, q, &n);
    if (n != K) return 1;
    memcpy(found + q * K, hits, sizeof *hits * K);
  }
  cq_index_free(index); /* hits stay */
  return 0;
}

static int free_all(void **state) {
  cq_hits_free(found_owner);
  cq_neighbors_free(&neighbors);
  cq_encoder_free(encoder);
  return remove_test_directory(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_process_writes_and_another_searches),
      cmocka_unit_test(sixteen_threads_share_all),
      cmocka_unit_test(a_replaced_approximation_leads_to_the_newest_commit),
  };
  return cmocka_run_group_tests(tests, compute_alone, free_all);
}
