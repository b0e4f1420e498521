/* Merges segments without their text.
 *
 *   segments' terms, sorted ──heap──▶ each distinct term, in order ──▶ its live postings of every segment, renumbered
 *   ──▶ compressed
 *
 * The output waits in three temporary files (postings, records, and where each term can be read) until the counts that
 * come before it in the segment are known. Only one term's postings and the documents' lengths are in memory. */
#include "base/error.h"
#include "base/heap.h"
#include "base/memory.h"
#include "lexical/set.h"

/* --- a file of what waits --- */

typedef struct waiting_file {
  cq_writer writer;
  cq_mapping mapped;
} waiting_file;

static cq_status map_waiting(waiting_file *f, cq_error *error) {
  if (fflush(f->writer.stream) != 0) return cq_fail_errno(error, f->writer.path, "cannot write");
  return cq_mapping_open(&f->mapped, f->writer.temporary, error);
}

static void drop_waiting(waiting_file *f) {
  if (f->mapped.data) cq_mapping_close(&f->mapped);
  cq_writer_abort(&f->writer);
}

/* --- merging --- */

/* The next term of a segment. */
typedef struct next_term {
  cq_slice term;
  uint32_t segment, number;
} next_term;

/* Where a term of the merged segment can be read. */
typedef struct term_place {
  uint32_t segment, number;
} term_place;

typedef struct merging {
  const cq_lexical_set *set;
  cq_open_segment *const *segments; /* those to merge, [n] */
  const uint64_t *first;            /* [n + 1] */
  size_t n;
  const unsigned char *dead;
  uint32_t n_documents, n_terms;
  uint32_t *lengths;
  next_term *heap;
  size_t n_heap;
  cq_posting *postings; /* of the current term */
  size_t n_postings, capacity;
  cq_builder bytes;
  uint64_t n_bytes; /* of all postings so far */
  waiting_file packed, records, places;
} merging;

static bool is_dead(const merging *m, uint64_t document) {
  return m->dead && m->dead[document / 8] >> (document % 8) & 1;
}

static bool comes_before(const void *a, const void *b) {
  const next_term *p = a, *q = b;
  const int order = cq_slice_compare(p->term, q->term);
  return order < 0 || (order == 0 && p->segment < q->segment);
}

static cq_status prepare_merge(merging *m, const char *path, cq_error *error) {
  m->lengths = cq_alloc_array(m->n_documents, sizeof *m->lengths);
  m->heap = cq_alloc_array(m->n, sizeof *m->heap);
  if (!m->lengths || !m->heap) return cq_fail_memory(error, path);
  for (size_t i = 0; i < m->n; i++) {
    const cq_segment *s = &m->segments[i]->file;
    uint32_t *lengths = m->lengths + (m->first[i] - m->first[0]);
    for (uint32_t d = 0; d < s->n_documents; d++) lengths[d] = is_dead(m, m->first[i] + d) ? 0 : s->lengths[d];
    if (!s->n_terms) continue;
    const next_term first = {cq_segment_term(s, 0), (uint32_t)i, 0};
    cq_heap_push(m->heap, m->n_heap++, sizeof first, &first, comes_before);
  }
  cq_status status = cq_writer_open(&m->packed.writer, path, error);
  if (!status) status = cq_writer_open(&m->records.writer, path, error);
  if (!status) status = cq_writer_open(&m->places.writer, path, error);
  return status;
}

/* Appends the live postings of a segment's term to those of earlier segments. */
static cq_status add_postings(merging *m, const next_term *t, cq_error *error) {
  const cq_open_segment *segment = m->segments[t->segment];
  const cq_segment *s = &segment->file;
  const uint64_t first = m->first[t->segment];
  uint32_t documents[CQ_BLOCK], frequencies[CQ_BLOCK], n = 0;
  cq_postings p;
  uint64_t next = 0;
  bool ok = cq_segment_postings(&p, s, t->number);
  if (ok && !cq_reserve((void **)&m->postings, &m->capacity, m->n_postings + p.n, sizeof *m->postings))
    return cq_fail_memory(error, segment->path);
  for (uint32_t block = 0; ok && n < p.n; block++) {
    const uint32_t n_block = cq_postings_block(documents, frequencies, &p, block);
    ok = n_block > 0 && n_block <= p.n - n;
    for (uint32_t i = 0; ok && i < n_block; i++, n++) {
      ok = documents[i] >= next && documents[i] < s->n_documents && frequencies[i] > 0;
      next = (uint64_t)documents[i] + 1;
      if (ok && !is_dead(m, first + documents[i]))
        m->postings[m->n_postings++] = (cq_posting){(uint32_t)(first - m->first[0]) + documents[i], frequencies[i]};
    }
  }
  return ok ? CQ_OK : cq_fail_file(error, CQ_ERR_FORMAT, segment->path, CQ_DAMAGED_POSTINGS);
}

/* Replaces the top of the heap by the segment's next term. */
static bool pass_top(merging *m) {
  next_term t = m->heap[0];
  const cq_segment *s = &m->segments[t.segment]->file;
  if (++t.number < s->n_terms) {
    const cq_slice before = t.term;
    t.term = cq_segment_term(s, t.number);
    if (cq_slice_compare(before, t.term) >= 0) return false;
    cq_heap_replace(m->heap, m->n_heap, sizeof t, &t, comes_before);
  } else {
    t = m->heap[--m->n_heap];
    if (m->n_heap) cq_heap_replace(m->heap, m->n_heap, sizeof t, &t, comes_before);
  }
  return true;
}

static cq_status put_term(merging *m, const char *path, const next_term *t, cq_error *error) {
  const term_place place = {t->segment, t->number};
  cq_term_record record = {.at = m->n_bytes, .n_documents = (uint32_t)m->n_postings};
  for (size_t i = 0; i < m->n_postings; i++) record.n_occurrences += m->postings[i].frequency;
  cq_builder_clear(&m->bytes);
  cq_postings_write(&m->bytes, m->postings, m->n_postings, m->lengths);
  if (m->bytes.failed) return cq_fail_memory(error, path);
  m->n_bytes += m->bytes.n;
  m->n_terms++;
  cq_status status = cq_writer_bytes(&m->packed.writer, m->bytes.data, m->bytes.n, error);
  if (!status) status = cq_writer_bytes(&m->records.writer, &record, sizeof record, error);
  if (!status) status = cq_writer_bytes(&m->places.writer, &place, sizeof place, error);
  return status;
}

static cq_status merge_terms(merging *m, const char *path, cq_error *error) {
  cq_status status = CQ_OK;
  while (!status && m->n_heap) {
    const next_term term = m->heap[0];
    m->n_postings = 0;
    while (!status && m->n_heap && cq_slice_equal(m->heap[0].term, term.term)) {
      const next_term top = m->heap[0];
      status = add_postings(m, &top, error);
      if (!status && !pass_top(m))
        status = cq_fail_file(error, CQ_ERR_FORMAT, m->segments[top.segment]->path, "the terms do not ascend");
    }
    if (!status && m->n_postings) status = put_term(m, path, &term, error);
  }
  return status;
}

static cq_slice merged_id(const void *context, uint32_t document) {
  const merging *m = context;
  return cq_lexical_set_id(m->set, m->first[0] + document);
}

static cq_slice merged_term(const void *context, uint32_t term) {
  const merging *m = context;
  term_place place;
  memcpy(&place, m->places.mapped.data + term * sizeof place, sizeof place);
  return cq_segment_term(&m->segments[place.segment]->file, place.number);
}

static cq_status write_merged(merging *m, const char *path, cq_error *error) {
  cq_status status = map_waiting(&m->packed, error);
  if (!status) status = map_waiting(&m->records, error);
  if (!status) status = map_waiting(&m->places, error);
  if (status) return status;
  const cq_segment_part part = {.postings = (const char *)m->packed.mapped.data,
                                .n_bytes = m->packed.mapped.n,
                                .records = (const cq_term_record *)(const void *)m->records.mapped.data,
                                .n_terms = m->n_terms};
  const cq_segment_source source = {.n_documents = m->n_documents,
                                    .n_terms = m->n_terms,
                                    .lengths = m->lengths,
                                    .id = merged_id,
                                    .term = merged_term,
                                    .context = m,
                                    .parts = &part,
                                    .n_parts = 1};
  return cq_segment_write(path, &source, error);
}

cq_status cq_lexical_segments_merge(const char *path, const cq_lexical_set *set, size_t first, size_t n,
                                    const unsigned char *dead, cq_error *error) {
  merging m = {.set = set, .segments = set->segments + first, .first = set->first + first, .n = n, .dead = dead};
  const uint64_t n_documents = m.first[n] - m.first[0];
  if (n_documents > CQ_MAX_SEGMENT_TEXTS)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%llu documents in a segment, expected at most %d",
                   (unsigned long long)n_documents, CQ_MAX_SEGMENT_TEXTS);
  m.n_documents = (uint32_t)n_documents;
  cq_status status = prepare_merge(&m, path, error);
  if (!status) status = merge_terms(&m, path, error);
  if (!status) status = write_merged(&m, path, error);
  drop_waiting(&m.packed);
  drop_waiting(&m.records);
  drop_waiting(&m.places);
  cq_builder_free(&m.bytes);
  cq_free(m.postings);
  cq_free(m.heap);
  cq_free(m.lengths);
  return status;
}
