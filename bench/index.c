/* What an index costs a service: searches of several threads at once, alone and beside a thread that adds and commits,
 * and what a commit and a look for it take.
 *
 *   bench_index TEXT [--documents N] [--callers N] [--seconds S]        TSV on stdout
 *
 * TEXT is .tsv or .txt, plain or gzipped: its first column's sentences, with a number behind each, are the documents of an
 * index that is made in a directory of its own, under a static model trained on TEXT. */
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "calque/calque.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SENTENCES = 1000, MAX_CALLERS = 64, BATCH = 4096, COMMITS = 30 };

static struct {
  cq_index *writer, *reader;
  cq_context *ctx;
  char *sentences[MAX_SENTENCES];
  size_t n_sentences, n_documents;
  int n_callers;
  double seconds, deadline;
  _Atomic uint64_t n_searches, n_commits;
} bench = {.n_documents = 200000, .n_callers = 2, .seconds = 3};

static void must(cq_status status, const cq_error *error) {
  if (!status) return;
  fprintf(stderr, "%s\n", error->message);
  exit(1);
}

static double now(void) {
  return cq_seconds(CLOCK_MONOTONIC);
}

static void report(const char *what, double value, const char *unit) {
  printf("%s\t%zu\t%d\t%.1f\t%s\n", what, bench.n_documents, bench.n_callers, value, unit);
}

static void read_sentences(const char *path) {
  cq_error error = {0};
  cq_lines *lines;
  cq_slice line;
  must(cq_lines_open(&lines, path, &error), &error);
  while (bench.n_sentences < MAX_SENTENCES) {
    must(cq_lines_next(&line, lines, &error), &error);
    if (!line.data) break;
    const char *tab = memchr(line.data, '\t', line.n);
    bench.sentences[bench.n_sentences] = cq_strndup(line.data, tab ? (size_t)(tab - line.data) : line.n);
    if (!bench.sentences[bench.n_sentences++]) abort();
  }
  cq_lines_close(lines);
}

/* Adds documents number first to first + n - 1. */
static void add(size_t first, size_t n) {
  static char text[BATCH][512], id[BATCH][32];
  static cq_document documents[BATCH];
  cq_error error = {0};
  for (size_t i = 0; i < n; i++) {
    const size_t k = first + i;
    snprintf(id[i], sizeof id[i], "d%zu", k);
    snprintf(text[i], sizeof text[i], "%.400s %zu", bench.sentences[k % bench.n_sentences], k);
    documents[i] =
        (cq_document){.id = {id[i], strlen(id[i])}, .language = {"en", 2}, .text = {text[i], strlen(text[i])}};
  }
  must(cq_index_add(bench.writer, documents, n, bench.ctx, &error), &error);
}

static void make_index(const char *directory, const char *text) {
  char model[128], index[128];
  cq_error error = {0};
  cq_student_options o = cq_student_default_options();
  snprintf(model, sizeof model, "%s/model", directory);
  snprintf(index, sizeof index, "%s/index", directory);
  o.kind = CQ_STUDENT_STATIC, o.text = &(cq_training_data){.path = text}, o.n_text = 1, o.vocab_size = 1000,
  o.dim = 384;
  must(cq_student_new(model, &o, NULL, &error), &error);
  cq_index_options made = cq_index_default_options();
  made.model = model, made.writing = true;
  must(cq_index_create(index, &made, &error), &error);
  must(cq_index_open(&bench.writer, index, &made, &error), &error);
  const double start = now();
  for (size_t first = 0; first < bench.n_documents; first += BATCH)
    add(first, bench.n_documents - first < BATCH ? bench.n_documents - first : BATCH);
  must(cq_index_commit(bench.writer, &error), &error);
  report("add and commit all", (double)bench.n_documents / (now() - start), "documents/s");
  must(cq_index_open(&bench.reader, index, NULL, &error), &error);
}

static void *search(void *argument) {
  cq_error error = {0};
  for (size_t i = (size_t)(uintptr_t)argument; now() < bench.deadline; i++) {
    cq_hits *hits;
    const char *text = bench.sentences[i % bench.n_sentences];
    const cq_slice query = {text, strlen(text)};
    must(cq_index_search(&hits, bench.reader, &query, 1, NULL, bench.ctx, &error), &error);
    cq_hits_free(hits);
    atomic_fetch_add(&bench.n_searches, 1);
  }
  return NULL;
}

static void *commit(void *argument) {
  cq_error error = {0};
  (void)argument;
  for (size_t k = 0; now() < bench.deadline; k++) {
    add(bench.n_documents + k, 1);
    must(cq_index_commit(bench.writer, &error), &error);
    must(cq_index_refresh(bench.reader, NULL, &error), &error);
    atomic_fetch_add(&bench.n_commits, 1);
  }
  return NULL;
}

static void search_at_once(const char *what, bool commits) {
  pthread_t threads[MAX_CALLERS + 1];
  bench.n_searches = 0;
  bench.deadline = now() + bench.seconds;
  for (int i = 0; i < bench.n_callers + commits; i++)
    if (pthread_create(&threads[i], NULL, i < bench.n_callers ? search : commit, (void *)(uintptr_t)i)) abort();
  for (int i = 0; i < bench.n_callers + commits; i++) pthread_join(threads[i], NULL);
  report(what, (double)bench.n_searches / bench.seconds, "searches/s");
  if (commits) report("commits meanwhile", (double)bench.n_commits / bench.seconds, "commits/s");
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void time_commits(void) {
  double times[3][COMMITS];
  cq_error error = {0};
  bool changed;
  for (int i = 0; i < COMMITS; i++) {
    add(i ? 0 : 1, 1); /* replaces a document */
    double start = now();
    must(cq_index_commit(bench.writer, &error), &error);
    times[0][i] = now() - start, start = now();
    must(cq_index_refresh(bench.reader, &changed, &error), &error);
    times[1][i] = now() - start, start = now();
    if (!changed) abort();
    must(cq_index_refresh(bench.reader, &changed, &error), &error);
    times[2][i] = now() - start;
  }
  static const char *const names[] = {"commit of one document", "refresh after it", "refresh with nothing new"};
  for (int t = 0; t < 3; t++) {
    qsort(times[t], COMMITS, sizeof(double), by_value);
    report(names[t], 1e6 * times[t][COMMITS / 2], "us (median)");
  }
}

int main(int argc, char **argv) {
  const char *text = NULL;
  cq_error error = {0};
  for (int i = 1; i < argc; i++) {
    if (i + 1 < argc && !strcmp(argv[i], "--documents"))
      bench.n_documents = (size_t)atoll(argv[++i]);
    else if (i + 1 < argc && !strcmp(argv[i], "--callers"))
      bench.n_callers = atoi(argv[++i]);
    else if (i + 1 < argc && !strcmp(argv[i], "--seconds"))
      bench.seconds = atof(argv[++i]);
    else
      text = argv[i];
  }
  if (!text || bench.n_callers < 1 || bench.n_callers > MAX_CALLERS || !bench.n_documents)
    return fprintf(stderr, "usage: %s TEXT [--documents N] [--callers N] [--seconds S]\n", argv[0]), 2;
  char directory[] = "/tmp/bench_index.XXXXXX";
  if (!mkdtemp(directory)) abort();
  read_sentences(text);
  must(cq_context_open(&bench.ctx, 1, &error), &error);
  printf("what\tdocuments\tcallers\tvalue\tunit\n");
  make_index(directory, text);
  search_at_once("searches", false);
  search_at_once("searches beside commits", true);
  time_commits();
  cq_index_free(bench.reader);
  cq_index_free(bench.writer);
  cq_context_free(bench.ctx);
  for (size_t i = 0; i < bench.n_sentences; i++) cq_free(bench.sentences[i]);
  cq_directory_remove(directory);
  return 0;
}
