/* Times an index by words that grows: bench_growing PASSAGES DIRECTORY COMMIT K THREADS. A file's lines are added,
 * COMMIT at a time, each followed by the merges that it asks for; then some of the lines are searched for, one call
 * each, among all documents and among a hundredth of them. */
#include "lexical/growing.h"
#include "base/clock.h"
#include "base/memory.h"
#include "calque/calque.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXTS = 10000000, MAX_OPEN = 1000, N_QUERIES = 1000 };

static char *paths[MAX_OPEN];
static uint64_t sizes[MAX_OPEN];
static size_t n_open;

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static bool is_of_hundredth(const void *context, uint64_t document) {
  (void)context;
  return document % 100 == 0;
}

static char *new_path(const char *directory) {
  static int n;
  char *path = malloc(strlen(directory) + 32);
  sprintf(path, "%s/words-%d", directory, n++);
  return path;
}

static cq_status merge(cq_lexical_set **set, const cq_analyzer *analyzer, const char *directory, cq_error *error) {
  size_t first, n;
  cq_status status = CQ_OK;
  while (!status && cq_lexical_choose_merge(&first, &n, sizes, n_open)) {
    char *path = new_path(directory);
    status = cq_lexical_segments_merge(path, *set, first, n, NULL, error);
    for (size_t i = 1; i < n; i++) sizes[first] += sizes[first + i];
    for (size_t i = 0; i < n; i++) remove(paths[first + i]);
    paths[first] = path;
    memmove(paths + first + 1, paths + first + n, (n_open - first - n) * sizeof *paths);
    memmove(sizes + first + 1, sizes + first + n, (n_open - first - n) * sizeof *sizes);
    n_open -= n - 1;
    cq_lexical_set *before = *set;
    if (!status) status = cq_lexical_set_open(set, analyzer, (const char *const *)paths, n_open, before, error);
    cq_lexical_set_free(before);
  }
  return status;
}

static cq_status search(const cq_lexical_set *set, const cq_slice *texts, size_t n, size_t k, const char *name,
                        const cq_lexical_filter *filter, cq_context *ctx, cq_error *error) {
  static double seconds[N_QUERIES];
  cq_lexical_options o = cq_lexical_default_options();
  o.k = k, o.model = CQ_BM25;
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < 2 * N_QUERIES; i++) { /* the first half warms up */
    cq_lexical_hit *hits;
    const double before = cq_seconds(CLOCK_MONOTONIC);
    status =
        cq_lexical_set_search_texts(&hits, set, &texts[i % N_QUERIES * (n / N_QUERIES)], 1, &o, filter, ctx, error);
    seconds[i % N_QUERIES] = cq_seconds(CLOCK_MONOTONIC) - before;
    if (!status) cq_free(hits);
  }
  qsort(seconds, N_QUERIES, sizeof *seconds, ascending);
  if (!status)
    printf("search %s\tmedian %.3f ms\t99th of 100 %.3f ms\n", name, 1e3 * seconds[N_QUERIES / 2],
           1e3 * seconds[N_QUERIES / 100 * 99]);
  return status;
}

int main(int argc, char **argv) {
  if (argc < 6) return fprintf(stderr, "usage: bench_growing PASSAGES DIRECTORY COMMIT K THREADS\n"), 2;
  cq_error error = {0};
  cq_lines *lines;
  cq_slice line, *texts = calloc(MAX_TEXTS, sizeof *texts);
  cq_context *ctx;
  cq_analyzer *analyzer;
  cq_lexical_set *set;
  const size_t n_commit = strtoul(argv[3], NULL, 10);
  size_t n = 0;
  cq_status status = cq_lines_open(&lines, argv[1], &error);
  while (!status && n < MAX_TEXTS && !(status = cq_lines_next(&line, lines, &error)) && line.data)
    texts[n++] = (cq_slice){strndup(line.data, line.n), line.n};
  if (!status) status = cq_context_open(&ctx, atoi(argv[5]), &error);
  if (!status) status = cq_analyzer_open_with(&analyzer, "mul", true, NULL, 0, &error);
  if (!status) status = cq_lexical_set_open(&set, analyzer, NULL, 0, NULL, &error);
  const double wall = cq_seconds(CLOCK_MONOTONIC), cpu = cq_seconds(CLOCK_PROCESS_CPUTIME_ID);
  double longest = 0, in_merges = 0;
  for (size_t at = 0; !status && at < n; at += n_commit) {
    const double before = cq_seconds(CLOCK_MONOTONIC);
    paths[n_open] = new_path(argv[2]);
    sizes[n_open] = cq_min(n_commit, n - at);
    status = cq_lexical_segment_of_texts(paths[n_open], analyzer, texts + at, NULL, sizes[n_open], ctx, &error);
    n_open++;
    cq_lexical_set *old = set;
    if (!status) status = cq_lexical_set_open(&set, analyzer, (const char *const *)paths, n_open, old, &error);
    cq_lexical_set_free(old);
    const double merging = cq_seconds(CLOCK_MONOTONIC);
    if (!status) status = merge(&set, analyzer, argv[2], &error);
    const double now = cq_seconds(CLOCK_MONOTONIC);
    in_merges += now - merging;
    if (now - before > longest) longest = now - before;
  }
  if (!status)
    printf("add %zu by %zu\t%.2f s, %.2f of the processor\tmerging %.2f s\tlongest commit %.3f s\t%zu segments\n", n,
           n_commit, cq_seconds(CLOCK_MONOTONIC) - wall, cq_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu, in_merges, longest,
           n_open);
  const cq_lexical_filter hundredth = {is_of_hundredth, NULL};
  const size_t k = strtoul(argv[4], NULL, 10);
  if (!status && n >= N_QUERIES) status = search(set, texts, n, k, "all", NULL, ctx, &error);
  if (!status && n >= N_QUERIES) status = search(set, texts, n, k, "a hundredth", &hundredth, ctx, &error);
  if (status) return fprintf(stderr, "%s\n", error.message), 1;
  const double before = cq_seconds(CLOCK_MONOTONIC);
  cq_analysis *analysis;
  for (int i = 0; i < 100; i++) {
    status = cq_analysis_open(&analysis, analyzer, &error);
    cq_analysis_free(analysis);
  }
  if (!status) printf("opening an analysis\t%.3f ms\n", 10 * (cq_seconds(CLOCK_MONOTONIC) - before));
  return status != CQ_OK;
}
