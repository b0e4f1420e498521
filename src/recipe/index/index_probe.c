/* Probes an index: what may make its searches poor though nothing is damaged. See calque/index_probe.h.
 *
 *   all vectors ──▶ duplicates
 *   a sample of the passages ──▶ tokens ──▶ coverage of scripts (coverage.h), truncated and decomposed texts
 *                            ──▶ random words of it ──▶ queries of nonsense ──▶ documents that many of them find
 *                            ──▶ vectors ──▶ their neighbors, exact and approximate ──▶ recall */
#include "calque/index_probe.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/key_set.h"
#include "base/memory.h"
#include "base/random.h"
#include "recipe/index/coverage.h"
#include "recipe/index/index.h"
#include "text/script.h"
#include "text/unicode.h"

#include <stdlib.h>

enum { SAMPLE = 4096, N_QUERIES = 128, N_WORDS = 4, WORD_BYTES = 24, TOP = 10, SHOWN_HUBS = 3 };
/* A hub is found by this share of the queries, and by ten times as many as if all documents were found equally often. */
static const double HUB_SHARE = 0.2, HUB_FACTOR = 10, GOOD_RECALL = 0.95;

typedef struct owned_report {
  cq_index_report report; /* first: the pointer to it is the pointer to this */
  cq_arena arena;
} owned_report;

typedef struct probing {
  const cq_index *index;
  const cq_encoder *encoder;
  cq_context *ctx;
  owned_report *out;
  cq_hits *sample;
  const cq_hit *passages; /* [n] */
  size_t n;
  float *vectors; /* [n, dim] */
  cq_coverage coverage;
  const char **findings; /* [report.n_findings], and room */
} probing;

/* text: of the arena; NULL: there was no memory. */
static cq_status add_finding(probing *p, const char *text, cq_error *error) {
  if (!text) return cq_fail_memory(error, "report");
  p->findings[p->out->report.n_findings++] = text;
  return CQ_OK;
}

#define FINDING(p, error, ...) add_finding(p, cq_arena_printf(&(p)->out->arena, __VA_ARGS__), error)

/* --- the sample's text --- */

static cq_status count_prompt(size_t *n, const probing *p, cq_error *error) {
  static const cq_encode_options none = {.size = sizeof none, .prompt = ""};
  cq_token_ids ids = {0};
  cq_status status =
      cq_encoder_token_ids(&ids, NULL, p->encoder, cq_slice_of(""), CQ_LONG_TRUNCATED, NULL, p->ctx, error);
  if (!status)
    status = cq_encoder_token_ids(&ids, NULL, p->encoder, cq_slice_of(""), CQ_LONG_TRUNCATED, &none, p->ctx, error);
  *n = status ? 0 : ids.starts[1] - cq_min(ids.starts[1], ids.starts[2] - ids.starts[1]);
  cq_token_ids_free(&ids);
  return status;
}

/* Whether the composed text has other tokens than those in p->coverage. */
static cq_status is_read_otherwise(bool *out, const probing *p, cq_slice text, cq_error *error) {
  const cq_token_ids *own = &p->coverage.ids;
  cq_builder composed = {0};
  cq_coverage other = {0};
  cq_text_normal_form(&composed, text, CQ_NFC);
  const cq_status status =
      composed.failed ? cq_fail_memory(error, "composed text")
                      : cq_coverage_add(&other, p->encoder, cq_slice_of(""), cq_built(&composed), p->ctx, error);
  *out = !status && (own->n != other.ids.n || own->starts[own->n] != other.ids.starts[own->n] ||
                     memcmp(own->ids, other.ids.ids, own->starts[own->n] * sizeof *own->ids) != 0);
  cq_coverage_free(&other);
  cq_builder_free(&composed);
  return status;
}

/* As it was encoded: with its title. */
static cq_status probe_text(probing *p, cq_builder *text, const cq_document *d, size_t n_prompt, cq_error *error) {
  cq_index_report *r = &p->out->report;
  const size_t max = (size_t)cq_encoder_max_seq_length(p->encoder);
  bool is_decomposed = false;
  cq_builder_clear(text);
  if (d->title.n) cq_builder_slice(text, d->title), cq_builder_char(text, '\n');
  cq_builder_slice(text, d->text);
  if (text->failed) return cq_fail_memory(error, "passages");
  cq_status status = cq_coverage_add(&p->coverage, p->encoder, d->language, cq_built(text), p->ctx, error);
  if (status) return status;
  const cq_token_ids *ids = &p->coverage.ids;
  r->n_truncated += max > 0 && (ids->n > 1 || ids->starts[ids->n] + n_prompt > max);
  if (!cq_text_is_composed(cq_built(text))) status = is_read_otherwise(&is_decomposed, p, cq_built(text), error);
  r->n_decomposed += is_decomposed;
  return status;
}

static cq_status report_coverage(probing *p, cq_error *error) {
  cq_index_report *r = &p->out->report;
  cq_coverage *c = &p->coverage;
  cq_index_vocabulary *v = cq_arena_array(&p->out->arena, c->n + 1, sizeof *v);
  cq_status status = v ? CQ_OK : cq_fail_memory(error, "report");
  cq_coverage_sort(c);
  r->vocabularies = v;
  for (size_t i = 0; !status && i < c->n; i++) {
    const cq_coverage_group *g = &c->groups[i];
    v[i] = (cq_index_vocabulary){cq_script_name(g->script),
                                 cq_arena_strdup(&p->out->arena, g->language),
                                 g->n_texts,
                                 cq_coverage_unknown(g),
                                 cq_coverage_bytes(g),
                                 cq_coverage_per_letter(g),
                                 cq_coverage_is_enough(g)};
    if (!v[i].language) status = cq_fail_memory(error, "report");
    r->n_vocabularies = i + 1;
  }
  cq_builder line = {0};
  for (size_t at = 0; !status && cq_coverage_next(&line, &at, c); cq_builder_clear(&line))
    status = FINDING(p, error, CQ_UNCOVERED "%s", cq_built(&line).data);
  if (line.failed && !status) status = cq_fail_memory(error, "report");
  cq_builder_free(&line);
  return status;
}

static cq_status probe_texts(probing *p, cq_error *error) {
  const cq_index_report *r = &p->out->report;
  cq_builder text = {0};
  size_t n_prompt;
  cq_status status = count_prompt(&n_prompt, p, error);
  for (size_t i = 0; !status && i < p->n; i++) status = probe_text(p, &text, &p->passages[i].document, n_prompt, error);
  cq_builder_free(&text);
  /* Each script is one finding at most. */
  p->findings = cq_arena_array(&p->out->arena, p->coverage.n + 8, sizeof *p->findings);
  if (!status && !p->findings) status = cq_fail_memory(error, "report");
  p->out->report.findings = p->findings;
  if (!status) status = report_coverage(p, error);
  if (!status && r->n_truncated)
    status = FINDING(p, error, "%zu of %zu passages are truncated: they are longer than the model's %d tokens",
                     r->n_truncated, p->n, cq_encoder_max_seq_length(p->encoder));
  if (!status && r->n_decomposed)
    status = FINDING(p, error,
                     "%zu of %zu passages are decomposed (NFD), which this model reads as other words: 'calque index "
                     "new --compose' makes an index that composes them",
                     r->n_decomposed, p->n);
  return status;
}

/* --- duplicates --- */

/* *first: the first record with the vector of an earlier one. */
static cq_status count_duplicates(size_t *n, int64_t *first, const cq_index_snapshot *snapshot, cq_error *error) {
  const cq_index_info info = cq_index_snapshot_info(snapshot);
  const size_t dim = (size_t)info.dim;
  const float *vectors = cq_index_snapshot_vectors(snapshot);
  cq_key_set seen = {0};
  cq_status status = CQ_OK;
  *n = 0;
  for (int64_t i = 0; !status && i < info.n; i++) {
    bool is_new;
    if (!cq_index_snapshot_is_live(snapshot, i)) continue;
    if (!cq_key_set_put(&is_new, &seen, cq_hash64(vectors + (size_t)i * dim, dim * sizeof *vectors, 0)))
      status = cq_fail_memory(error, "duplicates");
    else if (!is_new && (*n)++ == 0)
      *first = i;
  }
  cq_key_set_free(&seen);
  return status;
}

static cq_status probe_vectors(probing *p, cq_error *error) {
  cq_index_report *r = &p->out->report;
  cq_index_snapshot *snapshot = cq_index_store_hold(p->index->store);
  cq_arena arena = {0};
  cq_document d;
  int64_t first = 0;
  cq_status status = count_duplicates(&r->n_duplicates, &first, snapshot, error);
  if (!status && r->n_duplicates)
    status = cq_index_snapshot_document(&d, &arena, snapshot, cq_index_snapshot_passage(snapshot, first).first, error);
  if (!status && r->n_duplicates)
    status = FINDING(p, error,
                     "%zu of %zu passages have the same vector as an earlier one: duplicates, or text that the model "
                     "reads as the same; the first is in '%.*s'",
                     r->n_duplicates, r->n_passages, (int)cq_min(d.id.n, (size_t)200), d.id.data);
  cq_arena_free(&arena);
  cq_index_snapshot_release(snapshot);
  return status;
}

/* --- hubs --- */

/* A word at a random place, or a part of one: some scripts have no blanks. */
static void draw_word(cq_builder *out, cq_random *random, cq_slice text) {
  if (text.n == 0) return;
  const size_t at = (size_t)cq_random_below(random, text.n);
  size_t begin = at, end = at;
  while (begin > 0 && at - begin < WORD_BYTES / 2 && !cq_is_blank(text.data[begin - 1])) begin--;
  begin = cq_utf8_begin(text.data, begin + 1);
  while (end < text.n && end - begin < WORD_BYTES && !cq_is_blank(text.data[end])) end++;
  if (end < text.n) end = cq_utf8_begin(text.data, end + 1);
  cq_builder_bytes(out, text.data + begin, end - begin);
}

static int by_share(const void *a, const void *b) {
  const cq_index_often_found *x = a, *y = b;
  return x->share != y->share ? (x->share > y->share ? -1 : 1) : strcmp(x->id, y->id);
}

static cq_status count_found(cq_map *counts, const cq_hits *hits, cq_error *error) {
  for (size_t q = 0, n; q < N_QUERIES; q++) {
    const cq_hit *hit = cq_hits_of(hits, q, &n);
    for (size_t i = 0; i < n; i++) {
      cq_map_entry *e = cq_map_at(counts, hit[i].document.id);
      if (!e) return cq_fail_memory(error, "hubs");
      e->value = e->value == CQ_MAP_NONE ? 1 : e->value + 1;
    }
  }
  return CQ_OK;
}

static cq_status report_hubs(probing *p, const cq_map *counts, double least, cq_error *error) {
  cq_index_report *r = &p->out->report;
  cq_index_often_found *hubs = cq_arena_array(&p->out->arena, counts->n + 1, sizeof *hubs);
  if (!hubs) return cq_fail_memory(error, "hubs");
  for (size_t i = 0; i < counts->capacity; i++) {
    const cq_map_entry *e = &counts->entries[i];
    const double share = e->key ? (double)e->value / N_QUERIES : 0;
    if (share < least) continue;
    hubs[r->n_hubs].share = share;
    if (!(hubs[r->n_hubs++].id = cq_arena_strndup(&p->out->arena, e->key, e->n))) return cq_fail_memory(error, "hubs");
  }
  qsort(hubs, r->n_hubs, sizeof *hubs, by_share);
  r->hubs = hubs;
  if (r->n_hubs == 0) return CQ_OK;
  cq_builder list = {0};
  for (size_t i = 0; i < r->n_hubs && i < SHOWN_HUBS; i++)
    cq_builder_printf(&list, "%s'%.200s' (%.0f %%)", i ? ", " : "", hubs[i].id, 100 * hubs[i].share);
  const cq_status status =
      list.failed
          ? cq_fail_memory(error, "hubs")
          : FINDING(p, error,
                    "%zu %s among the ten nearest to many queries of random words: %s; 'calque index hubness' "
                    "and 'calque search --csls' correct for that",
                    r->n_hubs, r->n_hubs == 1 ? "document is a hub," : "documents are hubs,", cq_built(&list).data);
  cq_builder_free(&list);
  return status;
}

static cq_status probe_hubs(probing *p, cq_error *error) {
  cq_search_options o = cq_search_default_options();
  cq_slice queries[N_QUERIES];
  cq_hits *hits = NULL;
  cq_map counts = {0};
  const double expected = TOP / (double)cq_index_size(p->index);
  const double least = HUB_FACTOR * expected > HUB_SHARE ? HUB_FACTOR * expected : HUB_SHARE;
  cq_status status = CQ_OK;
  if (least > 1) return CQ_OK; /* too few documents */
  for (uint64_t q = 0; !status && q < N_QUERIES; q++) {
    cq_random random = cq_random_seeded(0, q);
    cq_builder query = {0};
    for (int i = 0; i < N_WORDS; i++) {
      if (i) cq_builder_char(&query, ' ');
      draw_word(&query, &random, p->passages[cq_random_below(&random, p->n)].document.text);
    }
    queries[q] = (cq_slice){cq_arena_strndup(&p->out->arena, cq_built(&query).data, query.n), query.n};
    if (query.failed || !queries[q].data) status = cq_fail_memory(error, "queries");
    cq_builder_free(&query);
  }
  o.k = TOP, o.ranking = CQ_RANK_DENSE;
  if (!status) status = cq_index_search(&hits, p->index, queries, N_QUERIES, &o, p->ctx, error);
  if (!status) status = count_found(&counts, hits, error);
  if (!status) status = report_hubs(p, &counts, least, error);
  cq_map_free(&counts);
  cq_hits_free(hits);
  return status;
}

/* --- recall --- */

/* How many of the documents of `exact` the other list has, `own` left out. */
static size_t count_common(size_t *n, const cq_hits *exact, const cq_hits *found, size_t query, cq_slice own) {
  size_t n_exact, n_found, n_common = 0;
  const cq_hit *e = cq_hits_of(exact, query, &n_exact), *f = cq_hits_of(found, query, &n_found);
  for (size_t i = 0, taken = 0; i < n_exact && taken < TOP; i++) {
    if (cq_slice_equal(e[i].document.id, own)) continue;
    taken++, ++*n;
    size_t k = 0;
    while (k < n_found && !cq_slice_equal(f[k].document.id, e[i].document.id)) k++;
    n_common += k < n_found;
  }
  return n_common;
}

static cq_status probe_recall(probing *p, cq_error *error) {
  cq_index_report *r = &p->out->report;
  const size_t n_queries = cq_min(p->n, (size_t)N_QUERIES), dim = (size_t)p->index->dim;
  cq_search_options o = cq_search_default_options();
  cq_slice queries[N_QUERIES];
  cq_hits *exact = NULL, *found = NULL;
  size_t n = 0, n_common = 0;
  if (cq_index_approximated(p->index) == 0) return CQ_OK;
  float *vectors = cq_alloc_array(n_queries, dim * sizeof *vectors);
  cq_status status = vectors ? CQ_OK : cq_fail_memory(error, "queries");
  for (size_t q = 0; !status && q < n_queries; q++) { /* spread evenly */
    queries[q] = p->passages[q * p->n / n_queries].document.text;
    memcpy(vectors + q * dim, p->vectors + q * p->n / n_queries * dim, dim * sizeof *vectors);
  }
  o.k = TOP + 1, o.ranking = CQ_RANK_DENSE, o.query_vectors = vectors;
  if (!status) status = cq_index_search(&found, p->index, queries, n_queries, &o, p->ctx, error);
  o.exact = true;
  if (!status) status = cq_index_search(&exact, p->index, queries, n_queries, &o, p->ctx, error);
  for (size_t q = 0; !status && q < n_queries; q++)
    n_common += count_common(&n, exact, found, q, p->passages[q * p->n / n_queries].document.id);
  if (n && !p->index->shared->has_no_plugin) r->recall = (double)n_common / (double)n;
  if (!status && r->recall >= 0 && r->recall < GOOD_RECALL)
    status = FINDING(p, error,
                     "the approximation (ANN) finds %.0f %% of the ten nearest documents: 'calque search' finds more "
                     "with a higher --effort, and all with --exact",
                     100 * r->recall);
  cq_hits_free(found);
  cq_hits_free(exact);
  cq_free(vectors);
  return status;
}

/* --- the whole --- */

static cq_status probe_all(probing *p, cq_error *error) {
  cq_index_report *r = &p->out->report;
  r->recall = -1;
  r->n_passages = cq_index_n_passages(p->index);
  cq_status status = cq_index_need_model(&p->encoder, p->index, NULL, error);
  if (status || r->n_passages == 0) return status;
  status = cq_index_sample(&p->sample, &p->vectors, p->index, SAMPLE, error);
  if (status) return status;
  p->passages = cq_hits_of(p->sample, 0, &p->n);
  r->n_sampled = p->n;
  if (p->n == 0) return CQ_OK;
  status = probe_texts(p, error);
  if (!status) status = probe_vectors(p, error);
  if (!status) status = probe_hubs(p, error);
  return status ? status : probe_recall(p, error);
}

cq_status cq_index_probe(cq_index_report **out, const cq_index *index, cq_context *ctx, cq_error *error) {
  probing p = {.index = index, .ctx = ctx};
  *out = NULL;
  if (!index->store)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, index->directory, "an index in PostgreSQL cannot be probed");
  p.out = cq_alloc_zeroed(sizeof *p.out);
  const cq_status status = p.out ? probe_all(&p, error) : cq_fail_memory(error, "report");
  if (status)
    cq_index_report_free(p.out ? &p.out->report : NULL);
  else
    *out = &p.out->report;
  cq_coverage_free(&p.coverage);
  cq_hits_free(p.sample);
  cq_free(p.vectors);
  return status;
}

void cq_index_report_free(cq_index_report *report) {
  owned_report *owned = (owned_report *)report;
  if (!owned) return;
  cq_arena_free(&owned->arena);
  cq_free(owned);
}
