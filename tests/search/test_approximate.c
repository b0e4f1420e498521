/* The plugin for FAISS: how many of the nearest rows it names with little effort and with more. */
#include "support/files.h"

#include "base/memory.h"
#include "base/random.h"
#include "search/approximate.h"
#include "search/faiss_plugin.h"
#include "search/top.h"
#include "tensor/kernels.h"

#include <dirent.h>
#include <dlfcn.h>

enum { N = 6000, DIM = 32, N_QUERIES = 200, K = 8 };

static float rows[N * DIM], queries[N_QUERIES * DIM];
static cq_neighbors nearest;
static void *library;
static const cq_faiss_plugin *faiss; /* NULL where it is not built */

/* Without structure, which makes rows hard to find. */
static int make_rows(void **state) {
  if (make_test_directory(state)) return -1;
  setenv("OMP_NUM_THREADS", "3", 1); /* more than the tests ask for, and than some machines have */
  library = dlopen("libcalque_faiss.so", RTLD_NOW | RTLD_LOCAL);
  faiss = library ? dlsym(library, "cq_faiss_plugin_table") : NULL;
  if (!faiss) print_message("skipped: the plugin for FAISS is not built here\n");
  cq_random r = cq_random_seeded(3, 0);
  for (int i = 0; i < N * DIM; i++) rows[i] = (float)cq_random_normal(&r);
  for (int i = 0; i < N_QUERIES * DIM; i++) queries[i] = (float)cq_random_normal(&r);
  cq_kernels_best()->normalize(rows, NULL, rows, N, DIM);
  cq_kernels_best()->normalize(queries, NULL, queries, N_QUERIES, DIM);
  return cq_top(&nearest, queries, N_QUERIES, rows, N, DIM, K, NULL, NULL, NULL, NULL);
}

static int free_rows(void **state) {
  cq_neighbors_free(&nearest);
  if (library) dlclose(library);
  return remove_test_directory(state);
}

static void *empty_index(int graph, size_t n, size_t dim) {
  char message[512];
  void *index = NULL;
  if (faiss->make(&index, graph, n, dim, message, sizeof message)) fail_msg("%s", message);
  return index;
}

static void *filled_index(int graph, const float *vectors, size_t n, size_t dim) {
  char message[512];
  void *index = empty_index(graph, n, dim);
  if (faiss->train(index, vectors, n, 1, message, sizeof message) ||
      faiss->add(index, vectors, n, 1, message, sizeof message))
    fail_msg("%s", message);
  return index;
}

static void search(int64_t *named, const void *index, size_t n_queries, size_t k, size_t effort, int n_threads) {
  char message[512];
  if (faiss->search(named, index, queries, n_queries, k, effort, n_threads, message, sizeof message))
    fail_msg("%s", message);
}

/* The share of the K nearest rows that are named. */
static double recall_of(const void *index, size_t effort) {
  int64_t named[N_QUERIES * K];
  size_t n_found = 0;
  search(named, index, N_QUERIES, K, effort, 1);
  for (size_t q = 0; q < N_QUERIES; q++)
    for (size_t i = 0; i < K; i++)
      for (size_t j = 0; j < K; j++) n_found += named[q * K + i] == (int64_t)nearest.index[q * K + j];
  return (double)n_found / (N_QUERIES * K);
}

/* FAISS builds the same on one thread each time. Least recalls are below what was measured on rows that are harder than
 * any text's: 0.69 by the graph, and 0.40 by one built with a tenth of the effort; 0.55 by 8 of 93 lists. Eight times
 * the effort finds 0.98 by either. */
static void effort_finds_what_it_should(void **state) {
  static const double least[] = {0.5, 0.6};
  (void)state;
  if (!faiss) return;
  for (int graph = 0; graph < 2; graph++) {
    void *index = filled_index(graph, rows, N, DIM);
    const double little = recall_of(index, 8), much = recall_of(index, 64);
    print_message("%s: %.3f of the nearest %d, with more effort %.3f\n", graph ? "HNSW" : "IVF", little, K, much);
    assert_true(little > least[graph]);
    assert_true(much > 0.96);
    faiss->free(index);
  }
}

/* Lists for n vectors: four times the root of n, of 64 vectors or more, at most what can be trained; FAISS's file says
 * how many, after 37 bytes of what all its indexes have. */
static void lists_are_as_many_as_their_vectors_allow(void **state) {
  static const struct {
    size_t n;
    uint64_t n_lists;
  } cases[] = {{10, 1}, {128, 2}, {6400, 100}, {40000, 625}, {90000, 1200}, {(size_t)1 << 22, 4096}};
  (void)state;
  if (!faiss) return;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char message[512], *bytes = NULL;
    size_t n_bytes;
    uint64_t n_lists;
    void *index = empty_index(0, cases[i].n, 4);
    FILE *file = open_memstream(&bytes, &n_bytes);
    assert_int_equal(faiss->write(file, index, message, sizeof message), 0);
    fclose(file);
    assert_memory_equal(bytes, "IwSq", 4);
    memcpy(&n_lists, bytes + 37, sizeof n_lists);
    assert_int_equal(n_lists, cases[i].n_lists);
    free(bytes);
    faiss->free(index);
  }
}

/* How many vectors a search that wants all of them finds: those of the lists that it looks into. */
static size_t n_seen(const void *index, size_t n, size_t effort) {
  int64_t *named = malloc(n * sizeof *named);
  size_t count = 0;
  search(named, index, 1, n, effort, 1);
  for (size_t i = 0; i < n; i++) count += named[i] >= 0;
  free(named);
  return count;
}

static void effort_is_a_number_of_lists(void **state) {
  enum { N_MANY = 5 * N }; /* the same numbers, as vectors of four */
  (void)state;
  if (!faiss) return;
  void *few = filled_index(0, rows, N, DIM); /* 93 lists */
  assert_true(n_seen(few, N, 7) < n_seen(few, N, 8));
  assert_true(n_seen(few, N, 8) < n_seen(few, N, 9));
  assert_int_equal(n_seen(few, N, 0), n_seen(few, N, 8)); /* eight at least */
  assert_int_equal(n_seen(few, N, 93), N);
  assert_int_equal(n_seen(few, N, 10000), N);
  faiss->free(few);
  void *many = filled_index(0, rows, N_MANY, 4);
  assert_int_equal(n_seen(many, N_MANY, 0), n_seen(many, N_MANY, 14)); /* of 468, a thirty-second */
  assert_true(n_seen(many, N_MANY, 14) < n_seen(many, N_MANY, 15));
  faiss->free(many);
}

/* A graph keeps 128 candidates unless told otherwise, and always as many as are wanted. */
static void effort_is_a_number_of_candidates(void **state) {
  static int64_t by_default[N_QUERIES * K], by_128[N_QUERIES * K], by_8[N_QUERIES * K];
  (void)state;
  if (!faiss) return;
  void *index = filled_index(1, rows, N, DIM);
  search(by_default, index, N_QUERIES, K, 0, 1);
  search(by_128, index, N_QUERIES, K, 128, 1);
  search(by_8, index, N_QUERIES, K, 8, 1);
  assert_memory_equal(by_default, by_128, sizeof by_default);
  assert_memory_not_equal(by_default, by_8, sizeof by_default);
  assert_true(n_seen(index, 1000, 8) == 1000);
  faiss->free(index);
}

/* Many queries with many candidates are handed to FAISS in parts, each of which gets its own answers. */
static void parts_of_the_queries_get_their_own(void **state) {
  enum { N_PARTED = 100, N_KEPT = 4000 }; /* 65 at a time */
  (void)state;
  if (!faiss) return;
  char message[512];
  int64_t *together = malloc(N_PARTED * N_KEPT * sizeof *together), *alone = malloc(N_KEPT * sizeof *alone);
  void *index = filled_index(0, rows, N, DIM);
  search(together, index, N_PARTED, N_KEPT, 93, 1);
  for (size_t q = 0; q < N_PARTED; q += 33) {
    assert_int_equal(faiss->search(alone, index, queries + q * DIM, 1, N_KEPT, 93, 1, message, sizeof message), 0);
    assert_memory_equal(together + q * N_KEPT, alone, N_KEPT * sizeof *alone);
  }
  faiss->free(index);
  free(together);
  free(alone);
}

static size_t n_tasks(void) {
  size_t n = 0;
  DIR *tasks = opendir("/proc/self/task");
  assert_non_null(tasks);
  for (const struct dirent *t; (t = readdir(tasks));) n += t->d_name[0] != '.';
  closedir(tasks);
  return n;
}

/* FAISS's threads are OpenMP's, which the caller may use itself: one is no more than the caller's own, and what the
 * caller had set stays. Runs first: OpenMP keeps threads that it once made. */
static void threads_are_those_asked_for(void **state) {
  int64_t named[N_QUERIES * K];
  char message[512];
  (void)state;
  if (!faiss) return;
  int (*max_threads)(void) = (int (*)(void))dlsym(library, "omp_get_max_threads");
  assert_non_null(max_threads);
  assert_int_equal(max_threads(), 3);
  void *index = filled_index(0, rows, N, DIM);
  const size_t n_before = n_tasks(); /* a BLAS may have threads of its own */
  search(named, index, N_QUERIES, K, 8, 1);
  search(named, index, 1, K, 8, 3); /* a thread has a query at least */
  assert_int_equal(n_tasks(), n_before);
  assert_int_equal(faiss->search(named, index, queries, 0, K, 8, 3, message, sizeof message), 0);
  assert_int_equal(n_tasks(), n_before);
  search(named, index, N_QUERIES, K, 8, 2);
  assert_int_equal(n_tasks(), n_before + 1);
  assert_int_equal(max_threads(), 3);
  faiss->free(index);
}

static void failures_are_told(void **state) {
  int64_t named[K];
  char message[512] = "";
  (void)state;
  if (!faiss) return;
  assert_int_equal(faiss->search(named, NULL, queries, 1, K, 0, 1, message, sizeof message), 1);
  assert_string_equal(message, "no index");
}

/* With any one allocation failing a search fails, or finds the same. */
static void a_failed_allocation_changes_no_result(void **state) {
  enum { N_FEW = 20, N_COVERED = N - 10 };
  const char *path = test_path("approximation");
  cq_approximate *a;
  cq_neighbors expected, found;
  (void)state;
  if (!faiss) return;
  assert_int_equal(cq_approximate_build(path, false, rows, N_COVERED, DIM, NULL, NULL), CQ_OK);
  a = (cq_approximate *)&nearest; /* anything */
  assert_int_equal(cq_approximate_open(&a, path, N, DIM, NULL), CQ_ERR_FORMAT);
  assert_null(a);
  assert_int_equal(cq_approximate_open(&a, test_path("nowhere"), N, DIM, NULL), CQ_ERR_IO);
  assert_null(a);
  assert_int_equal(cq_approximate_open(&a, path, N_COVERED, DIM, NULL), CQ_OK);
  assert_int_equal(cq_approximate_top(&expected, a, queries, N_FEW, rows, N, DIM, K, 0, NULL, NULL, NULL, NULL, NULL),
                   CQ_OK);
  bool failed = true;
  for (long at = 1; failed; at++) {
    cq_alloc_fail_at(at);
    const cq_status status =
        cq_approximate_top(&found, a, queries, N_FEW, rows, N, DIM, K, 0, NULL, NULL, NULL, NULL, NULL);
    failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (status) {
      assert_int_equal(status, CQ_ERR_MEMORY);
      assert_true(failed);
      continue;
    }
    assert_memory_equal(found.index, expected.index, N_FEW * K * sizeof *found.index);
    assert_memory_equal(found.cosine, expected.cosine, N_FEW * K * sizeof *found.cosine);
    cq_neighbors_free(&found);
  }
  cq_neighbors_free(&expected);
  cq_approximate_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_are_those_asked_for),
      cmocka_unit_test(effort_finds_what_it_should),
      cmocka_unit_test(lists_are_as_many_as_their_vectors_allow),
      cmocka_unit_test(effort_is_a_number_of_lists),
      cmocka_unit_test(effort_is_a_number_of_candidates),
      cmocka_unit_test(failures_are_told),
      cmocka_unit_test(parts_of_the_queries_get_their_own),
      cmocka_unit_test(a_failed_allocation_changes_no_result),
  };
  return cmocka_run_group_tests(tests, make_rows, free_rows);
}
