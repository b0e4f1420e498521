/* Reads and writes a segment. All numbers in a file are checked against its size before they are used, so any bytes are
 * safe to open. See segment.h for the parts. */
#include "lexical/segment.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"

#include <stdatomic.h>

static const char magic[8] = "calqlex2";

enum part { LENGTHS, ID_STARTS, IDS, TERM_STARTS, TERMS, RECORDS, POSTINGS, N_PARTS };

typedef struct header {
  char magic[8];
  uint64_t n_documents, n_terms, n_occurrences;
  uint64_t begin[N_PARTS], size[N_PARTS];
} header;

/* --- reading --- */

static bool starts_ascend(const uint64_t *starts, size_t n, uint64_t end) {
  for (size_t i = 0; i < n; i++)
    if (starts[i] > starts[i + 1]) return false;
  return starts[0] == 0 && starts[n] == end;
}

static bool records_ascend(const cq_term_record *records, size_t n, uint64_t end) {
  for (size_t i = 0; i < n; i++)
    if (records[i].at > records[i + 1].at) return false;
  return records[n].at == end;
}

static const char no_memory[] = "out of memory";

/* Describes an inconsistency; NULL: the segment is safe to read. */
static const char *check_segment(cq_segment *s, const header *h) {
  if (memcmp(h->magic, "calqlex1", sizeof magic) == 0)
    return "a segment of version 1, but this calque reads version 2: build the index again";
  if (memcmp(h->magic, magic, sizeof magic) != 0) return "not a segment of a lexical index";
  if (h->n_documents > UINT32_MAX - 1 || h->n_terms > UINT32_MAX - 1) return "the header counts too many";
  const uint64_t sizes[N_PARTS] = {[LENGTHS] = h->n_documents * sizeof(uint32_t),
                                   [ID_STARTS] = (h->n_documents + 1) * sizeof(uint64_t),
                                   [IDS] = h->size[IDS],
                                   [TERM_STARTS] = (h->n_terms + 1) * sizeof(uint64_t),
                                   [TERMS] = h->size[TERMS],
                                   [RECORDS] = (h->n_terms + 1) * sizeof(cq_term_record),
                                   [POSTINGS] = h->size[POSTINGS]};
  for (int i = 0; i < N_PARTS; i++)
    if (h->size[i] != sizes[i] || h->begin[i] % 8 || h->begin[i] > s->file.n || h->size[i] > s->file.n - h->begin[i])
      return "a part is not where the header says";
  const unsigned char *const base = s->file.data;
  const uint64_t end = h->begin[POSTINGS] + ((h->size[POSTINGS] + 7) & ~(uint64_t)7);
  uint64_t check;
  if (s->file.n < sizeof check || s->file.n - sizeof check != end) return "it does not end where the header says";
  memcpy(&check, base + end, sizeof check);
  if (check != cq_check64(base, (size_t)h->begin[POSTINGS], 0)) return "it is damaged: it does not fit its check";
  s->sound = cq_alloc_zeroed(h->n_terms / 8 + 1);
  if (!s->sound) return no_memory;
  s->n_documents = (uint32_t)h->n_documents, s->n_terms = (uint32_t)h->n_terms, s->n_occurrences = h->n_occurrences;
  s->lengths = (const uint32_t *)(const void *)(base + h->begin[LENGTHS]);
  s->id_starts = (const uint64_t *)(const void *)(base + h->begin[ID_STARTS]);
  s->ids = (const char *)base + h->begin[IDS];
  s->term_starts = (const uint64_t *)(const void *)(base + h->begin[TERM_STARTS]);
  s->terms = (const char *)base + h->begin[TERMS];
  s->records = (const cq_term_record *)(const void *)(base + h->begin[RECORDS]);
  s->postings = base + h->begin[POSTINGS];
  uint64_t n_occurrences = 0;
  for (uint32_t d = 0; d < s->n_documents; d++) n_occurrences += s->lengths[d];
  if (n_occurrences != s->n_occurrences) return "the lengths do not add up";
  if (!starts_ascend(s->id_starts, s->n_documents, h->size[IDS])) return "the ids' places do not ascend";
  if (!starts_ascend(s->term_starts, s->n_terms, h->size[TERMS])) return "the terms' places do not ascend";
  if (!records_ascend(s->records, s->n_terms, h->size[POSTINGS])) return "the postings' places do not ascend";
  return NULL;
}

cq_status cq_segment_open(cq_segment *out, const char *path, cq_error *error) {
  *out = (cq_segment){0};
  header h;
  cq_status status = cq_mapping_open(&out->file, path, error);
  if (status) return status;
  const char *wrong = "shorter than its header";
  if (out->file.n >= sizeof h) {
    memcpy(&h, out->file.data, sizeof h);
    wrong = check_segment(out, &h);
  }
  if (!wrong) return CQ_OK;
  cq_segment_close(out);
  if (wrong == no_memory) return cq_fail_memory(error, path);
  return cq_fail_file(error, CQ_ERR_FORMAT, path, "%s", wrong);
}

void cq_segment_close(cq_segment *s) {
  if (s->file.data) cq_mapping_close(&s->file);
  cq_free((void *)s->sound);
  *s = (cq_segment){0};
}

cq_slice cq_segment_id(const cq_segment *s, uint32_t d) {
  return (cq_slice){s->ids + s->id_starts[d], (size_t)(s->id_starts[d + 1] - s->id_starts[d])};
}

cq_slice cq_segment_term(const cq_segment *s, uint32_t t) {
  return (cq_slice){s->terms + s->term_starts[t], (size_t)(s->term_starts[t + 1] - s->term_starts[t])};
}

uint32_t cq_segment_find(const cq_segment *s, cq_slice term) {
  uint32_t low = 0, high = s->n_terms;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const int order = cq_slice_compare(cq_segment_term(s, middle), term);
    if (order == 0) return middle;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return CQ_NO_TERM;
}

static uint32_t check_of_postings(const void *postings, size_t n, uint32_t term) {
  return (uint32_t)cq_check64(postings, n, term);
}

static bool are_sound(const cq_segment *s, uint32_t t) {
  const unsigned char bit = (unsigned char)(1u << (t % 8));
  const cq_term_record *r = &s->records[t];
  if (atomic_load_explicit(&s->sound[t / 8], memory_order_relaxed) & bit) return true;
  if (check_of_postings(s->postings + r->at, (size_t)(r[1].at - r->at), t) != r->check) return false;
  atomic_fetch_or_explicit(&s->sound[t / 8], bit, memory_order_relaxed);
  return true;
}

bool cq_segment_postings(cq_postings *out, const cq_segment *s, uint32_t t) {
  const cq_term_record *r = &s->records[t];
  return are_sound(s, t) && cq_postings_open(out, s->postings + r->at, (size_t)(r[1].at - r->at), r->n_documents);
}

/* --- writing --- */

/* The n ids or terms of a source. */
typedef struct strings {
  cq_slice (*at)(const void *context, uint32_t i);
  const void *context;
  uint32_t n;
} strings;

static uint64_t total_bytes(strings s) {
  uint64_t n_bytes = 0;
  for (uint32_t i = 0; i < s.n; i++) n_bytes += s.at(s.context, i).n;
  return n_bytes;
}

static cq_status pad_segment(cq_writer *w, uint64_t written, cq_error *error) {
  static const char zeros[8];
  return cq_writer_bytes(w, zeros, (size_t)(-written & 7), error);
}

static cq_status write_strings(cq_writer *w, strings s, cq_error *error) {
  uint64_t at = 0;
  cq_status status = cq_writer_bytes(w, &at, sizeof at, error);
  for (uint32_t i = 0; !status && i < s.n; i++) {
    at += s.at(s.context, i).n;
    status = cq_writer_bytes(w, &at, sizeof at, error);
  }
  for (uint32_t i = 0; !status && i < s.n; i++) {
    const cq_slice item = s.at(s.context, i);
    if (item.n) status = cq_writer_bytes(w, item.data, item.n, error);
  }
  return status ? status : pad_segment(w, at, error);
}

static cq_status write_records(cq_writer *w, const cq_segment_source *s, cq_error *error) {
  uint64_t before = 0;
  uint32_t term = 0;
  cq_status status = CQ_OK;
  for (size_t p = 0; !status && p < s->n_parts; p++) {
    const cq_segment_part *part = &s->parts[p];
    for (size_t i = 0; !status && i < part->n_terms; i++) {
      cq_term_record record = part->records[i];
      const size_t end = i + 1 < part->n_terms ? (size_t)part->records[i + 1].at : part->n_bytes;
      record.check = check_of_postings(part->postings + record.at, end - (size_t)record.at, term++);
      record.at += before;
      status = cq_writer_bytes(w, &record, sizeof record, error);
    }
    before += part->n_bytes;
  }
  const cq_term_record end = {.at = before};
  return status ? status : cq_writer_bytes(w, &end, sizeof end, error);
}

/* The check of the file's first n bytes. */
static cq_status write_check(cq_writer *w, size_t n, cq_error *error) {
  cq_mapping written = {0};
  if (fflush(w->stream) != 0) return cq_fail_errno(error, w->path, "cannot write");
  cq_status status = cq_mapping_open(&written, w->temporary, error);
  if (status) return status;
  const uint64_t check = cq_check64(written.data, n, 0);
  cq_mapping_close(&written);
  return cq_writer_bytes(w, &check, sizeof check, error);
}

cq_status cq_segment_write(const char *path, const cq_segment_source *s, cq_error *error) {
  header h = {.n_documents = s->n_documents, .n_terms = s->n_terms};
  const strings ids = {s->id, s->context, s->n_documents}, terms = {s->term, s->context, s->n_terms};
  memcpy(h.magic, magic, sizeof magic);
  for (uint32_t d = 0; d < s->n_documents; d++) h.n_occurrences += s->lengths[d];
  h.size[LENGTHS] = s->n_documents * sizeof(uint32_t);
  h.size[ID_STARTS] = ((uint64_t)s->n_documents + 1) * sizeof(uint64_t);
  h.size[IDS] = total_bytes(ids);
  h.size[TERM_STARTS] = ((uint64_t)s->n_terms + 1) * sizeof(uint64_t);
  h.size[TERMS] = total_bytes(terms);
  h.size[RECORDS] = ((uint64_t)s->n_terms + 1) * sizeof(cq_term_record);
  for (size_t p = 0; p < s->n_parts; p++) h.size[POSTINGS] += s->parts[p].n_bytes;
  uint64_t at = sizeof h;
  for (int i = 0; i < N_PARTS; i++) {
    h.begin[i] = at;
    at += (h.size[i] + 7) & ~(uint64_t)7;
  }
  cq_writer w = {0};
  cq_status status = cq_writer_open(&w, path, error);
  if (!status) status = cq_writer_bytes(&w, &h, sizeof h, error);
  if (!status) status = cq_writer_bytes(&w, s->lengths, (size_t)h.size[LENGTHS], error);
  if (!status) status = pad_segment(&w, h.size[LENGTHS], error);
  if (!status) status = write_strings(&w, ids, error);
  if (!status) status = write_strings(&w, terms, error);
  if (!status) status = write_records(&w, s, error);
  for (size_t p = 0; !status && p < s->n_parts; p++)
    status = cq_writer_bytes(&w, s->parts[p].postings, s->parts[p].n_bytes, error);
  if (!status) status = pad_segment(&w, h.size[POSTINGS], error);
  if (!status) status = write_check(&w, (size_t)h.begin[POSTINGS], error);
  if (!status) status = cq_writer_commit(&w, error);
  cq_writer_abort(&w);
  return status;
}
