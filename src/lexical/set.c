/* Segments that are searched as one collection: documents are numbered consecutively, and a term's counts cover all
 * segments. */
#include "lexical/set.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

/* --- segments --- */

static void release_segment(cq_open_segment *s) {
  if (atomic_fetch_sub(&s->n_sets, 1) > 1) return;
  cq_segment_close(&s->file);
  cq_free(s->path);
  cq_free(s);
}

static cq_status open_segment(cq_open_segment **out, const char *path, cq_error *error) {
  cq_open_segment *s = *out = cq_alloc_zeroed(sizeof *s);
  if (!s) return cq_fail_memory(error, path);
  atomic_init(&s->n_sets, 1);
  s->path = cq_strdup(path);
  const cq_status status = s->path ? cq_segment_open(&s->file, path, error) : cq_fail_memory(error, path);
  if (status) {
    release_segment(s);
    return status;
  }
  for (uint32_t d = 0; d < s->file.n_documents; d++)
    if (s->file.lengths[d] > s->max_length) s->max_length = s->file.lengths[d];
  return CQ_OK;
}

/* A set's segment for a path, shared with one more set; NULL: none. A commit appends, so a path is usually near its old
 * position: the search begins at *at and wraps around. */
static cq_open_segment *share_segment(const cq_lexical_set *set, const char *path, size_t *at) {
  const size_t n = set ? set->n_segments : 0;
  for (size_t i = 0; i < n; i++) {
    const size_t k = (*at + i) % n;
    cq_open_segment *s = set->segments[k];
    if (strcmp(s->path, path) != 0) continue;
    atomic_fetch_add(&s->n_sets, 1);
    *at = k + 1;
    return s;
  }
  return NULL;
}

/* --- sets --- */

cq_status cq_lexical_set_open(cq_lexical_set **out, const cq_analyzer *analyzer, const char *const *paths, size_t n,
                              const cq_lexical_set *shared, cq_error *error) {
  *out = NULL;
  cq_lexical_set *set = cq_alloc_zeroed(sizeof *set);
  if (!set) return cq_fail_memory(error, "an index");
  cq_status status = CQ_OK;
  size_t at = 0;
  set->analyzer = analyzer;
  set->segments = cq_alloc_array_zeroed(n, sizeof *set->segments);
  set->first = cq_alloc_array_zeroed(n + 1, sizeof *set->first);
  if (!set->segments || !set->first) status = cq_fail_memory(error, "an index");
  for (size_t i = 0; !status && i < n; i++) {
    cq_open_segment *s = share_segment(shared, paths[i], &at);
    if (!s) status = open_segment(&s, paths[i], error);
    if (status) break;
    set->segments[set->n_segments++] = s;
    set->first[i + 1] = set->first[i] + s->file.n_documents;
    set->n_occurrences += s->file.n_occurrences;
    set->n_terms += s->file.n_terms;
    if (s->max_length > set->max_length) set->max_length = s->max_length;
  }
  if (status) cq_lexical_set_free(set);
  *out = status ? NULL : set;
  return status;
}

void cq_lexical_set_free(cq_lexical_set *set) {
  if (!set) return;
  for (size_t i = 0; set->segments && i < set->n_segments; i++) release_segment(set->segments[i]);
  cq_free(set->segments);
  cq_free(set->first);
  cq_free(set);
}

cq_status cq_lexical_set_verify(const cq_lexical_set *set, cq_error *error) {
  cq_postings postings;
  for (size_t i = 0; i < set->n_segments; i++) {
    const cq_open_segment *s = set->segments[i];
    for (uint32_t t = 0; t < s->file.n_terms; t++)
      if (!cq_segment_postings(&postings, &s->file, t))
        return cq_fail_file(error, CQ_ERR_FORMAT, s->path, CQ_DAMAGED_POSTINGS);
  }
  return CQ_OK;
}

uint64_t cq_lexical_set_n_documents(const cq_lexical_set *set) {
  return set->first[set->n_segments];
}

size_t cq_lexical_set_n_segments(const cq_lexical_set *set) {
  return set->n_segments;
}

uint64_t cq_lexical_set_first(const cq_lexical_set *set, size_t segment) {
  return set->first[segment];
}

static size_t segment_of(const cq_lexical_set *set, uint64_t document) {
  size_t low = 0, high = set->n_segments;
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    if (set->first[middle] <= document)
      low = middle;
    else
      high = middle;
  }
  return low;
}

cq_slice cq_lexical_set_id(const cq_lexical_set *set, uint64_t document) {
  const size_t s = segment_of(set, document);
  return cq_segment_id(&set->segments[s]->file, (uint32_t)(document - set->first[s]));
}

void cq_lexical_set_count(uint64_t *n_documents, uint64_t *n_occurrences, const cq_lexical_set *set, cq_slice term) {
  *n_documents = *n_occurrences = 0;
  for (size_t i = 0; i < set->n_segments; i++) {
    const cq_segment *s = &set->segments[i]->file;
    const uint32_t t = cq_segment_find(s, term);
    if (t == CQ_NO_TERM) continue;
    *n_documents += s->records[t].n_documents;
    *n_occurrences += s->records[t].n_occurrences;
  }
}

/* --- queries --- */

cq_status cq_lexical_query_parse(cq_lexical_query *out, cq_analysis *analysis, cq_slice text, cq_error *error) {
  const cq_query_form *forms;
  size_t n = 0, n_bytes = 0;
  *out = (cq_lexical_query){0};
  cq_status status = cq_analysis_run_query(&forms, &n, analysis, text, error);
  if (status) return status;
  const cq_slice *terms = cq_analysis_terms(analysis)->items;
  for (size_t i = 0; i < n; i++) n_bytes += terms[forms[i].id].n;
  out->terms = cq_alloc(n * sizeof *out->terms + n_bytes + 1);
  if (!out->terms) return cq_fail_memory(error, "a query");
  char *bytes = (char *)(out->terms + n);
  for (; out->n < n; out->n++) {
    const cq_slice term = terms[forms[out->n].id];
    memcpy(bytes, term.data, term.n);
    out->terms[out->n] = (cq_lexical_term){{bytes, term.n}, forms[out->n].share, forms[out->n].word};
    bytes += term.n;
  }
  return CQ_OK;
}

void cq_lexical_query_free(cq_lexical_query *query) {
  cq_free(query->terms);
  *query = (cq_lexical_query){0};
}
