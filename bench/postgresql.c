/* What an index in PostgreSQL costs: an index of made-up documents to be copied, and searches of the copy beside
 * pgvector's own query, in turn.
 *
 *   bench_postgresql make DIRECTORY N DIM       an index of files: N documents of 20 words and a vector of DIM each
 *   bench_postgresql copy DIRECTORY ADDRESS     copies it: seconds until the last row was committed, and until the end
 *   bench_postgresql search ADDRESS [QUERIES]   milliseconds, median and 95th percentile, as Markdown
 *
 * Words are Zipf's; vectors are 1,000 centers with noise as large as they are. Document d depends on d alone. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/slice.h"
#include "calque/index_copy.h"
#include "postgresql/database.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 10000, N_WORDS = 50000, TEXT_WORDS = 20, N_CENTERS = 1000, MAX_DIM = 4096, MAX_TEXT = 400 };

static void must(cq_status status, const cq_error *error) {
  if (!status) return;
  fprintf(stderr, "bench_postgresql: %s\n", error->message);
  exit(1);
}

static void make_vector(float *out, size_t dim, uint64_t d) {
  cq_random center = cq_random_seeded(1, d * 7919 % N_CENTERS), noise = cq_random_seeded(2, d);
  for (size_t i = 0; i < dim; i++)
    out[i] = (float)(cq_random_uniform(&center) - 0.5 + (cq_random_uniform(&noise) - 0.5));
}

static size_t make_text(char *out, uint64_t d, int n_words) {
  cq_random r = cq_random_seeded(3, d);
  size_t n = 0;
  for (int i = 0; i < n_words; i++)
    n += (size_t)snprintf(out + n, MAX_TEXT - n, "%sw%d", i ? " " : "", (int)exp(cq_random_uniform(&r) * log(N_WORDS)));
  return n;
}

static void make(const char *directory, uint64_t n, size_t dim) {
  static char texts[BATCH][MAX_TEXT], ids[BATCH][24];
  static cq_document documents[BATCH];
  static cq_index_passage passages[BATCH];
  static cq_index_addition additions[BATCH];
  cq_index *index;
  cq_error error = {0};
  cq_index_options o = cq_index_default_options();
  float *vectors = cq_alloc_array(BATCH, dim * sizeof *vectors);
  o.writing = true;
  must(cq_index_store_create(directory, "made-up", "00000000000000000000000000000000", (int)dim, false, &error),
       &error);
  must(cq_index_open(&index, directory, &o, &error), &error);
  for (uint64_t d = 0; d < n;) {
    size_t k = 0;
    for (; k < BATCH && d < n; k++, d++) {
      const size_t n_text = make_text(texts[k], d, TEXT_WORDS);
      snprintf(ids[k], sizeof ids[k], "d%llu", (unsigned long long)d);
      make_vector(vectors + k * dim, dim, d);
      documents[k] = (cq_document){.id = cq_slice_of(ids[k]),
                                   .text = {texts[k], n_text},
                                   .language = cq_slice_of(d % 3 ? "de" : "en"),
                                   .metadata = cq_slice_of(d % 2 ? "{\"year\":2020}" : "{\"year\":2021}")};
      passages[k] = (cq_index_passage){.end = (uint32_t)n_text};
      additions[k] = (cq_index_addition){&documents[k], &passages[k], 1};
    }
    must(index->backend->append(index, additions, k, vectors, &error), &error);
  }
  must(cq_index_commit(index, &error), &error);
  cq_index_free(index);
  cq_free(vectors);
}

/* --- copying --- */

static double rows_done;

static bool note_rows(void *context, uint64_t n_done, uint64_t n_all) {
  (void)context, (void)n_done, (void)n_all;
  rows_done = cq_seconds(CLOCK_MONOTONIC);
  return true;
}

static void copy(const char *directory, const char *address) {
  cq_index *index;
  cq_error error = {0};
  cq_index_copy_options o = cq_index_copy_default_options();
  cq_index_copy_result r;
  o.halfvec = true, o.hnsw = false, o.progress = note_rows;
  must(cq_index_open(&index, directory, NULL, &error), &error);
  const double begin = cq_seconds(CLOCK_MONOTONIC);
  must(cq_index_copy(index, address, &r, &o, &error), &error);
  printf("%.2f %.2f\n", rows_done - begin, cq_seconds(CLOCK_MONOTONIC) - begin);
  cq_index_free(index);
}

/* --- searching --- */

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* pgvector's own query for ten documents, as a program without calque would ask it. */
static void ask_pgvector(cq_pg *pg, const cq_index *index, const float *query) {
  static unsigned char bytes[4 + 4 * MAX_DIM];
  cq_error error = {0};
  cq_pg_result *r;
  const bool is_half = index->database->is_half;
  const cq_pg_value value = {bytes, cq_database_put_vector(bytes, query, (size_t)index->dim, is_half)};
  must(cq_pg_run_kept(&r, pg,
                      is_half ? "SELECT d.id, d.text FROM passage p JOIN document d ON d.number = p.document ORDER BY "
                                "p.embedding <#> $1::halfvec LIMIT 10"
                              : "SELECT d.id, d.text FROM passage p JOIN document d ON d.number = p.document ORDER BY "
                                "p.embedding <#> $1::vector LIMIT 10",
                      &value, 1, &error),
       &error);
  cq_pg_result_free(r);
}

/* Both lists by the database alone, fused by reciprocal ranks, as a program without calque would: 100 of each. */
static void ask_hybrid(cq_pg *pg, const cq_index *index, const float *query, cq_slice words) {
  static unsigned char bytes[4 + 4 * MAX_DIM];
  static char any[MAX_TEXT * 2];
  cq_error error = {0};
  cq_pg_result *r;
  size_t n = 0;
  for (size_t i = 0; i < words.n; i++) /* any of the words */
    n += (size_t)snprintf(any + n, sizeof any - n, words.data[i] == ' ' ? " | " : "%c", words.data[i]);
  const cq_pg_value values[] = {
      {bytes, cq_database_put_vector(bytes, query, (size_t)index->dim, index->database->is_half)}, {any, n}};
  cq_builder sql = {0};
  cq_builder_printf(
      &sql,
      "WITH v AS (SELECT document, rank() OVER (ORDER BY e) AS r FROM (SELECT document, embedding <#> $1::%s AS e "
      "FROM passage ORDER BY embedding <#> $1::%s LIMIT 100) x), "
      "w AS (SELECT number AS document, rank() OVER (ORDER BY s DESC) AS r FROM (SELECT number, ts_rank_cd(t, q) "
      "AS s FROM tsv, to_tsquery('simple', $2::text) q WHERE t @@ q ORDER BY s DESC LIMIT 100) y) "
      "SELECT d.id, d.text, coalesce(0.5 / (60 + v.r), 0) + coalesce(0.5 / (60 + w.r), 0) AS score FROM v FULL "
      "JOIN w USING (document) JOIN document d ON d.number = document ORDER BY score DESC LIMIT 10",
      index->database->is_half ? "halfvec" : "vector", index->database->is_half ? "halfvec" : "vector");
  must(cq_pg_run_kept(&r, pg, sql.data, values, 2, &error), &error);
  cq_pg_result_free(r);
  cq_builder_free(&sql);
}

static size_t in_both(const cq_hits *a, const cq_hits *b) {
  size_t n_a, n_b, n = 0;
  const cq_hit *x = cq_hits_of(a, 0, &n_a), *y = cq_hits_of(b, 0, &n_b);
  for (size_t i = 0; i < n_a; i++)
    for (size_t k = 0; k < n_b; k++) n += cq_slice_equal(x[i].document.id, y[k].document.id);
  return n;
}

enum kind { PGVECTOR, PGVECTOR_100, PGVECTOR_HYBRID, DENSE, WORDS, HYBRID, FILTERED, N_KINDS };

typedef struct searches {
  cq_index *index;
  cq_pg *pg[2]; /* with ef_search 40 and 100 */
  float *query;
  double *ms[N_KINDS];
  size_t found[N_KINDS], all[N_KINDS]; /* of the exact results, by calque's own searches */
} searches;

static void open_searches(searches *s, const char *address, size_t n) {
  static const char *const settings[] = {"SET hnsw.ef_search = 40", "SET hnsw.ef_search = 100"};
  cq_error error = {0};
  must(cq_index_open(&s->index, address, NULL, &error), &error);
  s->query = cq_alloc_array((size_t)s->index->dim, sizeof *s->query);
  for (int k = 0; k < N_KINDS; k++) s->ms[k] = cq_alloc_array(n, sizeof **s->ms);
  for (int i = 0; i < 2; i++) {
    must(cq_pg_take(&s->pg[i], s->index->database->pool, &error), &error);
    must(cq_pg_run_all(NULL, s->pg[i], settings[i], &error), &error);
  }
  must(cq_pg_run_all(NULL, s->pg[0],
                     "CREATE TABLE IF NOT EXISTS tsv AS SELECT number, to_tsvector('simple', text) AS t FROM document; "
                     "CREATE INDEX IF NOT EXISTS tsv_t ON tsv USING gin (t); ANALYZE tsv",
                     &error),
       &error);
}

static void count_exact(searches *s, enum kind k, const cq_hits *hits, cq_slice words, cq_search_options o) {
  cq_error error = {0};
  cq_hits *exact;
  size_t n_exact;
  o.exact = true;
  must(cq_index_search(&exact, s->index, &words, 1, &o, NULL, &error), &error);
  (void)cq_hits_of(exact, 0, &n_exact);
  s->found[k] += in_both(hits, exact), s->all[k] += n_exact;
  cq_hits_free(exact);
}

/* The milliseconds of query i; with `counts` its results are compared with the exact ones. */
static double ask(searches *s, enum kind k, uint64_t i, bool counts) {
  char text[MAX_TEXT];
  const cq_slice words = {text, make_text(text, 1000000007 + i, 5)};
  cq_search_options o = cq_search_default_options();
  cq_error error = {0};
  cq_hits *hits = NULL;
  make_vector(s->query, (size_t)s->index->dim, 1000000007 + i);
  o.ranking = k == WORDS ? CQ_RANK_WORDS : k == DENSE ? CQ_RANK_DENSE : CQ_RANK_HYBRID;
  if (k == FILTERED) o.filter = "year = 2020 and lang = en";
  o.query_vectors = s->query;
  const double begin = cq_seconds(CLOCK_MONOTONIC);
  if (k == PGVECTOR_HYBRID)
    ask_hybrid(s->pg[1], s->index, s->query, words);
  else if (k == PGVECTOR || k == PGVECTOR_100)
    ask_pgvector(s->pg[k == PGVECTOR_100], s->index, s->query);
  else
    must(cq_index_search(&hits, s->index, &words, 1, &o, NULL, &error), &error);
  const double ms = (cq_seconds(CLOCK_MONOTONIC) - begin) * 1e3;
  if (hits && counts) count_exact(s, k, hits, words, o);
  cq_hits_free(hits);
  return ms;
}

/* Kinds in turns of some queries each: one that takes long has the processor's caches to itself. The first turn fills
 * the server's. */
static void search(const char *address, size_t n) {
  enum { TURN = 20, N_COUNTED = 20 };
  static const char *const names[] = {"pgvector's own query, ef_search 40",
                                      "the same, ef_search 100",
                                      "pgvector's hybrid query, ef_search 100",
                                      "dense",
                                      "words",
                                      "hybrid",
                                      "hybrid, year = 2020 and lang = en"};
  searches s = {0};
  open_searches(&s, address, n);
  for (enum kind k = 0; k < N_KINDS; k++)
    for (size_t i = 0; i < TURN; i++) (void)ask(&s, k, i, false);
  for (size_t from = 0; from < n; from += TURN)
    for (enum kind k = 0; k < N_KINDS; k++)
      for (size_t i = from; i < n && i < from + TURN; i++) s.ms[k][i] = ask(&s, k, TURN + i, i < N_COUNTED);
  printf("%zu passages, %s(%d), %zu queries of 5 words, top 10, one at a time\n\n| search | p50 ms | p95 ms "
         "| recall of the exact top 10 |\n|---|---:|---:|---:|\n",
         cq_index_n_passages(s.index), s.index->database->is_half ? "halfvec" : "vector", (int)s.index->dim, n);
  for (int k = 0; k < N_KINDS; k++) {
    qsort(s.ms[k], n, sizeof **s.ms, ascending);
    printf("| %s | %.2f | %.2f | ", names[k], s.ms[k][n / 2], s.ms[k][n * 95 / 100]);
    if (s.all[k]) printf("%.3f ", (double)s.found[k] / (double)s.all[k]);
    printf("|\n");
    cq_free(s.ms[k]);
  }
  cq_free(s.query);
  for (int i = 0; i < 2; i++) cq_pg_give(s.pg[i]);
  cq_index_free(s.index);
}

int main(int n_arguments, char **arguments) {
  if (n_arguments == 5 && strcmp(arguments[1], "make") == 0 && strtoul(arguments[4], NULL, 10) <= MAX_DIM) {
    make(arguments[2], strtoull(arguments[3], NULL, 10), strtoul(arguments[4], NULL, 10));
  } else if (n_arguments == 4 && strcmp(arguments[1], "copy") == 0) {
    copy(arguments[2], arguments[3]);
  } else if ((n_arguments == 3 || n_arguments == 4) && strcmp(arguments[1], "search") == 0) {
    search(arguments[2], n_arguments == 4 ? strtoul(arguments[3], NULL, 10) : 500);
  } else {
    fprintf(stderr,
            "usage: bench_postgresql make DIRECTORY N DIM | copy DIRECTORY ADDRESS | search ADDRESS [QUERIES]\n");
    return 2;
  }
  return 0;
}
