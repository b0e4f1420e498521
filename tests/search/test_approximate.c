/* The plugin for FAISS: how many of the nearest rows it names with little effort and with more. */
#include "support/files.h"

#include "base/random.h"
#include "search/faiss_plugin.h"
#include "search/top.h"
#include "tensor/kernels.h"

#include <dlfcn.h>

enum { N = 6000, DIM = 32, N_QUERIES = 200, K = 8 };

static float rows[N * DIM], queries[N_QUERIES * DIM];
static cq_neighbours nearest;

/* Without structure, which makes rows hard to find. */
static int make_rows(void **state) {
  (void)state;
  cq_random r = cq_random_seeded(3, 0);
  for (int i = 0; i < N * DIM; i++) rows[i] = (float)cq_random_normal(&r);
  for (int i = 0; i < N_QUERIES * DIM; i++) queries[i] = (float)cq_random_normal(&r);
  cq_kernels_best()->normalize(rows, NULL, rows, N, DIM);
  cq_kernels_best()->normalize(queries, NULL, queries, N_QUERIES, DIM);
  return cq_top(&nearest, queries, N_QUERIES, rows, N, DIM, K, NULL, NULL, NULL, NULL);
}

static int free_rows(void **state) {
  (void)state;
  cq_neighbours_free(&nearest);
  return 0;
}

/* The share of the K nearest rows that are named. */
static double recall_of(const cq_faiss_plugin *faiss, const void *index, size_t effort) {
  int64_t named[N_QUERIES * K];
  char message[512];
  size_t n_found = 0;
  if (faiss->search(named, index, queries, N_QUERIES, K, effort, 1, message, sizeof message)) fail_msg("%s", message);
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
  void *library = dlopen("libcalque_faiss.so", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    print_message("skipped: the plugin for FAISS is not built here\n");
    return;
  }
  const cq_faiss_plugin *faiss = dlsym(library, CQ_FAISS_PLUGIN_SYMBOL);
  assert_non_null(faiss);
  for (int graph = 0; graph < 2; graph++) {
    char message[512];
    void *index;
    if (faiss->make(&index, graph, N, DIM, message, sizeof message) ||
        faiss->train(index, rows, N, 1, message, sizeof message) ||
        faiss->add(index, rows, N, 1, message, sizeof message))
      fail_msg("%s", message);
    const double little = recall_of(faiss, index, 8), much = recall_of(faiss, index, 64);
    print_message("%s: %.3f of the nearest %d, with more effort %.3f\n", graph ? "HNSW" : "IVF", little, K, much);
    assert_true(little > least[graph]);
    assert_true(much > 0.96);
    faiss->free(index);
  }
  dlclose(library);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(effort_finds_what_it_should)};
  return cmocka_run_group_tests(tests, make_rows, free_rows);
}
