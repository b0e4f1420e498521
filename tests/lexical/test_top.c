/* Ranking: pruned, exhaustive and a plain loop over all documents agree, for every model, whatever the query, the
 * number of results, of segments and of threads; and pruning leaves blocks alone that it need not look at. */
#include "support/files.h"
#include "support/segment.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/slice.h"
#include "calque/lab/lexical.h"
#include "calque/lexical.h"
#include "lexical/segment.h"

#include <math.h>

enum { WORDS = 300, MAX_DOCUMENTS = 9000, MAX_TOKENS = 200000, MAX_TERMS = 10, WINDOW = 4096 };

/* A collection of words that are numbers: "w17". */
typedef struct collection {
  uint32_t n_documents, starts[MAX_DOCUMENTS + 1];
  uint16_t tokens[MAX_TOKENS];
} collection;

static void add_token(collection *c, uint32_t *n, uint64_t word) {
  assert_true(*n < MAX_TOKENS);
  c->tokens[(*n)++] = (uint16_t)word;
}

/* Frequent and rare words, documents of no words and of many, some said again word for word (ties), some that say one
 * word over and over. */
static collection *make_collection(uint32_t n_documents, uint64_t seed) {
  collection *c = calloc(1, sizeof *c);
  assert_non_null(c);
  uint32_t n = 0;
  c->n_documents = n_documents;
  for (uint32_t d = 0; d < n_documents; d++) {
    cq_random r = cq_random_seeded(seed, d);
    c->starts[d] = n;
    if (d > 0 && cq_random_below(&r, 6) == 0) {
      const uint32_t other = (uint32_t)cq_random_below(&r, d);
      for (uint32_t i = c->starts[other]; i < c->starts[other + 1]; i++) add_token(c, &n, c->tokens[i]);
    } else {
      const uint64_t length = cq_random_below(&r, 100) == 0 ? 300 : cq_random_below(&r, 25);
      for (uint64_t i = 0; i < length; i++) {
        const double u = cq_random_uniform(&r);
        add_token(c, &n, (uint64_t)(WORDS * u * u * u));
      }
      if (cq_random_below(&r, 50) == 0) {
        const uint64_t word = cq_random_below(&r, WORDS);
        for (int i = 0; i < 45; i++) add_token(c, &n, word);
      }
    }
    c->starts[d + 1] = n;
  }
  return c;
}

static void build(const collection *c, const char *name, uint32_t segment_documents, int n_threads) {
  cq_builder text = {0};
  cq_context *ctx;
  char path[400];
  const cq_lexical_build_options how = {.size = sizeof how, .segment_documents = segment_documents};
  for (uint32_t d = 0; d < c->n_documents; d++) {
    cq_builder_printf(&text, "d%u\t", d);
    for (uint32_t i = c->starts[d]; i < c->starts[d + 1]; i++) cq_builder_printf(&text, "w%u ", c->tokens[i]);
    cq_builder_char(&text, '\n');
  }
  assert_false(text.failed);
  snprintf(path, sizeof path, "%s.tsv", test_path(name));
  write_bytes(path, text.data, text.n);
  const char *const paths[] = {path};
  assert_int_equal(cq_context_open(&ctx, n_threads, NULL), CQ_OK);
  assert_int_equal(cq_lexical_build(test_path(name), paths, 1, &how, ctx, NULL), CQ_OK);
  cq_context_free(ctx);
  cq_builder_free(&text);
}

static cq_lexical *opened(const char *name) {
  cq_lexical *index;
  assert_int_equal(cq_lexical_open(&index, test_path(name), NULL), CQ_OK);
  return index;
}

/* --- queries --- */

typedef struct random_query {
  cq_lexical_term terms[MAX_TERMS];
  char names[MAX_TERMS][8];
  int words[MAX_TERMS]; /* WORDS: not in the collection */
  cq_lexical_query as;
} random_query;

static void add_term(random_query *q, int word, double weight) {
  const size_t i = q->as.n++;
  q->words[i] = word;
  snprintf(q->names[i], sizeof q->names[i], "w%d", word);
  q->terms[i] = (cq_lexical_term){cq_slice_of(q->names[i]), weight, 0};
  q->as.terms = q->terms;
}

/* Terms of every frequency, some twice, some unknown, half of the queries with weights. */
static void make_queries(random_query *queries, cq_lexical_query *as, size_t n, uint64_t seed) {
  for (size_t i = 0; i < n; i++) {
    cq_random r = cq_random_seeded(seed, i);
    random_query *q = &queries[i];
    *q = (random_query){.as = {.n = 0}};
    const uint64_t n_terms = i == 0 ? 0 : 1 + cq_random_below(&r, MAX_TERMS - 1);
    for (uint64_t t = 0; t < n_terms; t++) {
      const double u = cq_random_uniform(&r), weight = i % 2 ? 1 : 0.05 + 3 * cq_random_uniform(&r);
      const bool again = t > 0 && cq_random_below(&r, 8) == 0, unknown = cq_random_below(&r, 12) == 0;
      add_term(q, again ? q->words[0] : unknown ? WORDS : (int)(WORDS * u * u), weight);
    }
    as[i] = q->as;
  }
}

/* --- the plain loop --- */

typedef struct plain {
  double score;
  uint32_t document;
} plain;

static double formula(cq_lexical_model model, double mu, double k1, double b, double tf, double dl, double F, double n,
                      double T, double N) {
  const double saturated = tf / (tf + k1 * (1 - b + b * dl / (T / N)));
  switch (model) {
  case CQ_DIRICHLET: return log2(1 + tf / (mu * F / T)) + log2(mu / (dl + mu));
  case CQ_DIRICHLET_LUCENE: return fmax(0, log(1 + tf / (mu * (F + 1) / (T + 1))) + log(mu / (dl + mu)));
  case CQ_BM25: return log(1 + (N - n + .5) / (n + .5)) * saturated;
  default: return log2((N - n + .5) / (n + .5)) * (k1 + 1) * saturated;
  }
}

static int best_first(const void *a, const void *b) {
  const plain *p = a, *q = b;
  if (p->score != q->score) return p->score > q->score ? -1 : 1;
  return (p->document > q->document) - (p->document < q->document);
}

/* All documents that have a term of the query, best first; returns how many. by_document: score or NAN. */
static size_t rank_plainly(plain *out, double *by_document, const collection *c, const random_query *q,
                           const cq_lexical_options *o) {
  const double T = c->starts[c->n_documents], N = c->n_documents;
  const double mu = o->mu != 0 ? o->mu : o->model == CQ_DIRICHLET_LUCENE ? 2000 : 2500;
  const double k1 = o->k1 < 0 ? 1.2 : o->k1, b = o->b < 0 ? 0.75 : o->b;
  size_t n_found = 0;
  for (uint32_t d = 0; d < c->n_documents; d++) by_document[d] = NAN;
  for (size_t t = 0; t < q->as.n; t++) {
    double weight = q->terms[t].weight, F = 0, n = 0;
    bool is_first = true;
    for (size_t i = 0; i < t; i++) is_first &= q->words[i] != q->words[t];
    if (!is_first) continue;
    for (size_t i = t + 1; i < q->as.n && o->model != CQ_DIRICHLET; i++)
      if (q->words[i] == q->words[t]) weight += q->terms[i].weight;
    if (o->model == CQ_BM25_TERRIER) weight = (8 + 1) * weight / (8 + weight);
    static uint32_t tf[MAX_DOCUMENTS];
    for (uint32_t d = 0; d < c->n_documents; d++) {
      tf[d] = 0;
      for (uint32_t i = c->starts[d]; i < c->starts[d + 1]; i++) tf[d] += c->tokens[i] == q->words[t];
      F += tf[d], n += tf[d] > 0;
    }
    for (uint32_t d = 0; d < c->n_documents; d++) {
      if (!tf[d]) continue;
      const double dl = c->starts[d + 1] - c->starts[d];
      by_document[d] =
          (isnan(by_document[d]) ? 0 : by_document[d]) + weight * formula(o->model, mu, k1, b, tf[d], dl, F, n, T, N);
    }
  }
  for (uint32_t d = 0; d < c->n_documents; d++)
    if (!isnan(by_document[d])) out[n_found++] = (plain){by_document[d], d};
  if (n_found) qsort(out, n_found, sizeof *out, best_first);
  return n_found;
}

/* The hits have the plain scores, in the plain order; exactly equal ones in the order of reading. Returns the number
 * of ties. */
static size_t check_hits(const cq_lexical_hit *hits, size_t k, const collection *c, const random_query *q,
                         const cq_lexical_options *o) {
  static plain ranked[MAX_DOCUMENTS];
  static double by_document[MAX_DOCUMENTS];
  const double close = 1e-9 * (double)(1 + q->as.n);
  const size_t n_found = rank_plainly(ranked, by_document, c, q, o), n = k < n_found ? k : n_found;
  size_t n_ties = 0;
  for (size_t i = 0; i < n; i++) {
    char id[16];
    assert_non_null(hits[i].id.data);
    assert_true(hits[i].document < c->n_documents);
    snprintf(id, sizeof id, "d%u", (unsigned)hits[i].document);
    assert_true(cq_slice_equal(hits[i].id, cq_slice_of(id)));
    assert_true(fabs(hits[i].score - by_document[hits[i].document]) <= close);
    assert_true(fabs(hits[i].score - ranked[i].score) <= close);
    by_document[hits[i].document] = NAN; /* none appears twice */
    if (i == 0) continue;
    assert_true(hits[i - 1].score >= hits[i].score);
    if (hits[i - 1].score > hits[i].score) continue;
    assert_true(hits[i - 1].document < hits[i].document);
    n_ties++;
  }
  for (size_t i = n; i < k; i++) assert_null(hits[i].id.data);
  /* Who is as good as the last and not there was read later. */
  for (uint32_t d = 0; n == k && d < c->n_documents; d++)
    if (!isnan(by_document[d]) && by_document[d] > hits[k - 1].score - close) {
      assert_true(by_document[d] <= hits[k - 1].score + close && d > hits[k - 1].document);
      n_ties++;
    }
  return n_ties;
}

static cq_lexical_hit *search(const cq_lexical *index, const cq_lexical_query *queries, size_t n,
                              const cq_lexical_options *o, int n_threads) {
  cq_lexical_hit *hits;
  cq_context *ctx = NULL;
  if (n_threads) assert_int_equal(cq_context_open(&ctx, n_threads, NULL), CQ_OK);
  assert_int_equal(cq_lexical_search(&hits, index, queries, n, o, ctx, NULL), CQ_OK);
  cq_context_free(ctx);
  return hits;
}

static void same_hits(const cq_lexical_hit *a, const cq_lexical_hit *b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    assert_memory_equal(&a[i].score, &b[i].score, sizeof a[i].score);
    assert_int_equal(a[i].document, b[i].document);
    assert_true(cq_slice_equal(a[i].id, b[i].id) && !a[i].id.data == !b[i].id.data);
  }
}

/* --- tests --- */

static void check_model(const collection *c, const cq_lexical *index, cq_lexical_options o, const random_query *queries,
                        const cq_lexical_query *as, size_t n, size_t *n_ties, size_t *n_negative) {
  const size_t ks[] = {1, 10, c->n_documents + 5};
  for (size_t i = 0; i < 3; i++) {
    o.k = ks[i];
    o.exhaustive = false;
    cq_lexical_hit *pruned = search(index, as, n, &o, 0);
    o.exhaustive = true;
    cq_lexical_hit *all = search(index, as, n, &o, 0);
    same_hits(pruned, all, n * o.k);
    for (size_t q = 0; q < n; q++) {
      *n_ties += check_hits(pruned + q * o.k, o.k, c, &queries[q], &o);
      for (size_t rank = 0; rank < o.k && pruned[q * o.k + rank].id.data; rank++)
        *n_negative += pruned[q * o.k + rank].score < 0;
    }
    cq_free(pruned);
    cq_free(all);
  }
}

static void check_all_models(const char *name, uint32_t n_documents, size_t n_queries, uint64_t seed) {
  static random_query queries[40];
  cq_lexical_query as[40];
  collection *c = make_collection(n_documents, seed);
  build(c, name, 0, 1);
  cq_lexical *index = opened(name);
  make_queries(queries, as, n_queries, seed);
  size_t n_ties = 0, n_negative[CQ_N_LEXICAL_MODELS] = {0};
  for (int m = 0; m < CQ_N_LEXICAL_MODELS; m++) {
    cq_lexical_options o = cq_lexical_default_options();
    o.model = (cq_lexical_model)m;
    check_model(c, index, o, queries, as, n_queries, &n_ties, &n_negative[m]);
    o.mu = 20, o.k1 = 0.9, o.b = 0.4;
    check_model(c, index, o, queries, as, n_queries, &n_ties, &n_negative[m]);
  }
  assert_true(n_ties > 100);
  assert_true(n_negative[CQ_DIRICHLET] > 0);
  assert_int_equal(n_negative[CQ_DIRICHLET_LUCENE] + n_negative[CQ_BM25], 0);
  cq_lexical_free(index);
  free(c);
}

static void few_documents_are_ranked_as_by_a_plain_loop(void **state) {
  (void)state;
  check_all_models("few", 150, 40, 1);
}

static void many_documents_are_ranked_as_by_a_plain_loop(void **state) {
  (void)state;
  check_all_models("many", MAX_DOCUMENTS, 6, 2);
}

/* A word in more than half of the documents counts against them under Terrier's BM25. */
static void words_of_most_documents_count_against_them(void **state) {
  (void)state;
  cq_builder text = {0};
  for (int d = 0; d < 300; d++)
    cq_builder_printf(&text, "d%d\tthe%s%s\n", d, d % 3 ? " house" : "", d % 100 ? "" : " rare");
  write_bytes(test_path("half.tsv"), text.data, text.n);
  cq_builder_free(&text);
  const char *const paths[] = {test_path("half.tsv")};
  assert_int_equal(cq_lexical_build(test_path("half"), paths, 1, NULL, NULL, NULL), CQ_OK);
  cq_lexical *index = opened("half");
  cq_lexical_query query;
  assert_int_equal(cq_lexical_parse(&query, index, cq_slice_of("The house: rare"), NULL), CQ_OK);
  assert_int_equal(query.n, 3);
  cq_lexical_options o = cq_lexical_default_options();
  o.model = CQ_BM25_TERRIER;
  for (size_t k = 1; k <= 301; k += 20) {
    o.k = k;
    o.exhaustive = false;
    cq_lexical_hit *pruned = search(index, &query, 1, &o, 0);
    o.exhaustive = true;
    cq_lexical_hit *all = search(index, &query, 1, &o, 0);
    same_hits(pruned, all, k);
    assert_int_equal(pruned[0].document, 0); /* rare, no house */
    if (k > 10) assert_true(pruned[10].score < 0);
    if (k == 301) {
      assert_non_null(pruned[299].id.data);
      assert_null(pruned[300].id.data);
    }
    cq_free(pruned);
    cq_free(all);
  }
  cq_lexical_query_free(&query);
  cq_lexical_free(index);
}

static void segments_and_threads_change_nothing(void **state) {
  (void)state;
  enum { N = 30, K = 10 };
  static random_query queries[N];
  cq_lexical_query as[N];
  collection *c = make_collection(MAX_DOCUMENTS, 3);
  make_queries(queries, as, N, 3);
  build(c, "one", 0, 2);
  build(c, "several", 2500, 1);
  build(c, "dozens", 190, 3);
  cq_lexical *one = opened("one");
  assert_int_equal(cq_lexical_about(one)->n_segments, 1);
  static const char *const others[] = {"several", "dozens"};
  for (int m = 0; m < CQ_N_LEXICAL_MODELS; m++) {
    cq_lexical_options o = cq_lexical_default_options();
    o.model = (cq_lexical_model)m, o.k = K;
    cq_lexical_hit *expected = search(one, as, N, &o, 0);
    for (int n_threads = 1; n_threads <= 3; n_threads++) {
      cq_lexical_hit *hits = search(one, as, N, &o, n_threads);
      same_hits(hits, expected, N * K);
      cq_free(hits);
    }
    for (size_t i = 0; i < 2; i++) {
      cq_lexical *index = opened(others[i]);
      assert_int_equal(cq_lexical_about(index)->n_segments, i ? (MAX_DOCUMENTS + 189) / 190 : 4);
      for (int exhaustive = 0; exhaustive < 2; exhaustive++) {
        o.exhaustive = exhaustive;
        cq_lexical_hit *hits = search(index, as, N, &o, 2);
        same_hits(hits, expected, N * K);
        cq_free(hits);
      }
      o.exhaustive = false;
      cq_lexical_free(index);
    }
    cq_free(expected);
  }
  cq_lexical_free(one);
  free(c);
}

/* Blocks that cannot matter are not unpacked: with all of them damaged, pruned search still gives what it gave, and
 * exhaustive search says that the index is damaged. "common" is everywhere; "rare" only in documents 5 and 9000. */
static void what_cannot_matter_is_not_looked_at(void **state) {
  (void)state;
  enum { N = 5 * WINDOW, SECOND = 9000 };
  static const cq_lexical_model models[] = {CQ_DIRICHLET, CQ_DIRICHLET_LUCENE, CQ_BM25};
  cq_builder text = {0};
  for (int d = 0; d < N; d++)
    cq_builder_printf(&text, "d%d\tcommon%s%s\n", d,
                      d == 5        ? " rare"
                      : d == SECOND ? " rare rare common common"
                                    : "",
                      d % 2 ? " other words" : "");
  write_bytes(test_path("skip.tsv"), text.data, text.n);
  cq_builder_free(&text);
  const char *const paths[] = {test_path("skip.tsv")};
  assert_int_equal(cq_lexical_build(test_path("skip"), paths, 1, NULL, NULL, NULL), CQ_OK);
  cq_lexical_term terms[] = {{cq_slice_of("common"), 1, 0}, {cq_slice_of("rare"), 1, 0}};
  const cq_lexical_query query = {terms, 2};
  double scores[3];
  cq_lexical *index = opened("skip");
  cq_lexical_options o = cq_lexical_default_options();
  o.k = 1;
  for (int m = 0; m < 3; m++) {
    o.model = models[m];
    cq_lexical_hit *hits = search(index, &query, 1, &o, 0);
    assert_int_equal(hits[0].document, SECOND);
    scores[m] = hits[0].score;
    /* Blocks of "common" end where windows do. */
    const double mu = o.model == CQ_DIRICHLET ? 2500 : 2000, T = 2 * N + 5;
    assert_true(fabs(scores[m] - formula(o.model, mu, 1.2, 0.75, 3, 5, N + 2, N, T, N) -
                     formula(o.model, mu, 1.2, 0.75, 2, 5, 3, 2, T, N)) < 1e-9);
    cq_free(hits);
  }
  cq_lexical_free(index);

  cq_segment s;
  cq_postings p;
  size_t n, n_damaged = 0;
  assert_int_equal(cq_segment_open(&s, test_path("skip/segment-1"), NULL), CQ_OK);
  assert_true(cq_segment_postings(&p, &s, cq_segment_find(&s, cq_slice_of("common"))));
  unsigned char *bytes = read_bytes(&n, test_path("skip/segment-1"));
  for (uint32_t b = 0; b < p.n_full; b++) {
    const uint32_t first = b ? cq_postings_entry(&p, b - 1).last + 1 : 0, last = cq_postings_entry(&p, b).last;
    if (last < WINDOW + CQ_BLOCK || (first <= SECOND && SECOND <= last))
      continue; /* up to the first best one, and the best one's own */
    bytes[(size_t)(p.bytes - s.file.data) + cq_postings_entry(&p, b).at] = 0xff;
    n_damaged++;
  }
  assert_int_equal(n_damaged, (N - WINDOW) / CQ_BLOCK - 2);
  put_checks_right(bytes, n); /* they would notice */
  cq_segment_close(&s);
  write_bytes(test_path("skip/segment-1"), bytes, n);
  free(bytes);

  index = opened("skip");
  for (int m = 0; m < 3; m++) {
    cq_error error = {0};
    cq_lexical_hit *hits;
    o.model = models[m];
    o.exhaustive = false;
    assert_int_equal(cq_lexical_search(&hits, index, &query, 1, &o, NULL, &error), CQ_OK);
    assert_int_equal(hits[0].document, SECOND);
    assert_true(hits[0].score == scores[m]);
    cq_free(hits);
    o.exhaustive = true;
    assert_int_equal(cq_lexical_search(&hits, index, &query, 1, &o, NULL, &error), CQ_ERR_FORMAT);
    assert_string_equal(error.file, test_path("skip/segment-1"));
    assert_non_null(strstr(error.message, "it is damaged: postings do not fit their check"));
    assert_null(hits);
  }
  cq_lexical_free(index);
}

static void bad_options_are_refused(void **state) {
  (void)state;
  collection *c = make_collection(30, 4);
  build(c, "bad", 0, 1);
  free(c);
  cq_lexical *index = opened("bad");
  enum { SIZE = sizeof(cq_lexical_options) };
  static const struct {
    cq_lexical_options options;
    double weight;
    const char *why;
  } cases[] = {
      {{SIZE, .k = 0}, 1, "top is 0, expected at least 1"},
      {{SIZE, .k = 1, .mu = -3}, 1, "mu is -3, expected at least 0 and less than 1e+12"},
      {{SIZE, .k = 1, .mu = NAN}, 1, "mu is nan"},
      {{SIZE, .k = 1, .mu = INFINITY}, 1, "mu is inf"},
      {{SIZE, .model = CQ_BM25, .k = 1, .k1 = 1001, .b = 0.5}, 1, "k1 is 1001, expected 0 to 1000"},
      {{SIZE, .model = CQ_BM25, .k = 1, .k1 = 1, .b = 1.5}, 1, "b is 1.5, expected 0 to 1"},
      {{SIZE, .model = CQ_BM25, .k = 1, .k1 = -1}, 1, "k1 is -1, expected 0 to 1000"},
      {{SIZE, .model = CQ_N_LEXICAL_MODELS, .k = 1}, 1, "model is 4, expected 0 to 3"},
      {{SIZE, .k = 1}, 0, "the weight of 'w0' is 0"},
      {{SIZE, .k = 1}, -1, "the weight of 'w0' is -1"},
      {{SIZE, .k = 1}, NAN, "the weight of 'w0' is nan"},
      {{SIZE, .k = 1}, INFINITY, "the weight of 'w0' is inf"},
      {{SIZE, .k = 1}, 1e6, "the weights are too large"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_error error = {0};
    cq_lexical_hit *hits = (cq_lexical_hit *)&error;
    cq_lexical_term terms[] = {{cq_slice_of("w1"), 1, 0}, {cq_slice_of("w0"), cases[i].weight, 0}};
    const cq_lexical_query query = {terms, 2};
    assert_int_equal(cq_lexical_search(&hits, index, &query, 1, &cases[i].options, NULL, &error), CQ_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, cases[i].why));
    assert_null(hits);
  }
  /* No query at all, one without terms, one of unknown terms only. */
  cq_lexical_term unknown[] = {{cq_slice_of("nobody"), 1, 0}, {cq_slice_of(""), 1, 0}};
  const cq_lexical_query queries[] = {{NULL, 0}, {unknown, 2}};
  for (size_t n = 0; n <= 2; n++) {
    cq_lexical_hit *hits;
    assert_int_equal(cq_lexical_search(&hits, index, queries, n, NULL, NULL, NULL), CQ_OK);
    for (size_t i = 0; i < n * 10; i++) assert_null(hits[i].id.data);
    cq_free(hits);
  }
  cq_lexical_free(index);
}

/* A term that claims more documents than its bytes hold. */
static void a_damaged_term_is_an_error(void **state) {
  (void)state;
  collection *c = make_collection(30, 4);
  build(c, "lies", 0, 1);
  free(c);
  cq_segment s;
  size_t n;
  assert_int_equal(cq_segment_open(&s, test_path("lies/segment-1"), NULL), CQ_OK);
  unsigned char *bytes = read_bytes(&n, test_path("lies/segment-1"));
  const uint32_t term = cq_segment_find(&s, cq_slice_of("w0")), claims = 1 << 20;
  const size_t at = (size_t)((const unsigned char *)&s.records[term].n_documents - s.file.data);
  cq_segment_close(&s);
  memcpy(bytes + at, &claims, sizeof claims);
  put_checks_right(bytes, n);
  write_bytes(test_path("lies/segment-1"), bytes, n);
  free(bytes);
  cq_lexical *index = opened("lies");
  cq_lexical_term terms[] = {{cq_slice_of("w0"), 1, 0}};
  const cq_lexical_query query = {terms, 1};
  cq_lexical_hit *hits;
  cq_error error = {0};
  assert_int_equal(cq_lexical_search(&hits, index, &query, 1, NULL, NULL, &error), CQ_ERR_FORMAT);
  assert_string_equal(error.file, test_path("lies/segment-1"));
  assert_non_null(strstr(error.message, "it is damaged: postings do not fit their check"));
  cq_lexical_free(index);
}

/* Postings of several windows with any bytes in them: an error, or hits that lie inside the index. */
static void damaged_postings_are_safe(void **state) {
  (void)state;
  enum { N = 4, ROUNDS = 60, K = 10 };
  static random_query queries[N];
  cq_lexical_query as[N];
  collection *c = make_collection(MAX_DOCUMENTS, 6);
  build(c, "damaged", 0, 1);
  free(c);
  make_queries(queries, as, N, 6);
  cq_segment s;
  size_t n, n_errors = 0;
  assert_int_equal(cq_segment_open(&s, test_path("damaged/segment-1"), NULL), CQ_OK);
  unsigned char *whole = read_bytes(&n, test_path("damaged/segment-1")), *bytes = malloc(n);
  assert_non_null(bytes);
  const size_t begin = (size_t)(s.postings - s.file.data);
  cq_segment_close(&s);
  for (uint64_t round = 0; round < ROUNDS; round++) {
    cq_random r = cq_random_seeded(7, round);
    memcpy(bytes, whole, n);
    for (uint64_t i = 0; i < (n - 8 - begin) / 50; i++) {
      const size_t at = begin + (size_t)cq_random_below(&r, n - 8 - begin);
      bytes[at] = (unsigned char)(round % 2 ? bytes[at] ^ 1u << cq_random_below(&r, 8) : cq_random_u64(&r));
    }
    put_checks_right(bytes, n);
    write_bytes(test_path("damaged/segment-1"), bytes, n);
    cq_lexical *index = opened("damaged");
    cq_lexical_options o = cq_lexical_default_options();
    o.model = (cq_lexical_model)(round % CQ_N_LEXICAL_MODELS), o.k = K, o.exhaustive = round / 4 % 2;
    for (size_t q = 0; q < N; q++) {
      cq_lexical_hit *hits;
      const cq_status status = cq_lexical_search(&hits, index, &as[q], 1, &o, NULL, NULL);
      assert_true(status == CQ_OK || status == CQ_ERR_FORMAT);
      n_errors += status != CQ_OK;
      for (size_t rank = 0; !status && rank < K && hits[rank].id.data; rank++)
        assert_true(hits[rank].document < MAX_DOCUMENTS && isfinite(hits[rank].score));
      cq_free(hits);
    }
    cq_lexical_free(index);
  }
  assert_true(n_errors > 0);
  free(bytes);
  free(whole);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  enum { N = 3 };
  static random_query queries[N];
  cq_lexical_query as[N];
  collection *c = make_collection(60, 5);
  build(c, "failing", 25, 1);
  free(c);
  make_queries(queries, as, N, 5);
  for (long n = 1;; n++) {
    cq_lexical *index;
    cq_lexical_hit *hits = NULL;
    cq_lexical_query parsed = {0};
    cq_error error = {0};
    cq_alloc_fail_at(n);
    cq_status status = cq_lexical_open(&index, test_path("failing"), &error);
    if (!status) status = cq_lexical_parse(&parsed, index, cq_slice_of("w1 w2"), &error);
    if (!status) status = cq_lexical_search(&hits, index, as, N, NULL, NULL, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    assert_true(!failed || error.message[0]);
    cq_free(hits);
    cq_lexical_query_free(&parsed);
    cq_lexical_free(index);
    if (!failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(few_documents_are_ranked_as_by_a_plain_loop),
      cmocka_unit_test(many_documents_are_ranked_as_by_a_plain_loop),
      cmocka_unit_test(words_of_most_documents_count_against_them),
      cmocka_unit_test(segments_and_threads_change_nothing),
      cmocka_unit_test(what_cannot_matter_is_not_looked_at),
      cmocka_unit_test(bad_options_are_refused),
      cmocka_unit_test(a_damaged_term_is_an_error),
      cmocka_unit_test(damaged_postings_are_safe),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
