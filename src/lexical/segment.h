/* A segment of a lexical index: a file that is written once and then mapped.
 *
 *   header      magic, counts, offset of each part
 *   lengths     [n_documents] u32, in terms
 *   id_starts   [n_documents + 1] u64 into ids
 *   ids         the documents' names, end to end
 *   term_starts [n_terms + 1] u64 into terms
 *   terms       in bytewise order, end to end
 *   records     [n_terms] per term: number of documents, total frequency, offset of its postings
 *   postings    see postings.h
 *   check       of everything before the postings, verified on opening; each term's record has a check of its postings,
 *               verified when they are first read
 *
 * Numbers are little-endian; parts begin at multiples of eight. */
#ifndef LEXICAL_SEGMENT_H
#define LEXICAL_SEGMENT_H

#include "base/file.h"
#include "lexical/postings.h"

typedef struct cq_term_record {
  uint64_t n_occurrences, at;  /* at: from the beginning of the postings */
  uint32_t n_documents, check; /* check: of the postings, its lower half */
} cq_term_record;

typedef struct cq_segment {
  cq_mapping file;
  uint32_t n_documents, n_terms;
  uint64_t n_occurrences; /* of all terms: the sum of the lengths */
  const uint32_t *lengths;
  const uint64_t *id_starts, *term_starts;
  const char *ids, *terms;
  const cq_term_record *records; /* [n_terms + 1]: the last one has the end of the postings */
  const unsigned char *postings;
  _Atomic unsigned char *sound; /* [(n_terms + 7) / 8] a bit per term: its postings have been verified */
} cq_segment;

/* Errors: CQ_ERR_FORMAT for another format, a truncated file or impossible parts; CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_segment_open(cq_segment *out, const char *path, cq_error *error);
void cq_segment_close(cq_segment *segment);

cq_slice cq_segment_id(const cq_segment *segment, uint32_t document);
cq_slice cq_segment_term(const cq_segment *segment, uint32_t term);
#define CQ_NO_TERM UINT32_MAX
uint32_t cq_segment_find(const cq_segment *segment, cq_slice term);
/* False: the file is damaged there. */
bool cq_segment_postings(cq_postings *out, const cq_segment *segment, uint32_t term);

/* The input of writing a segment: consecutive parts of postings, each with one thread's terms. */
typedef struct cq_segment_part {
  const char *postings;
  size_t n_bytes;
  const cq_term_record *records; /* [n_terms], `at` relative to the part's postings; `check` is not used */
  size_t n_terms;
} cq_segment_part;

typedef struct cq_segment_source {
  uint32_t n_documents, n_terms;
  const uint32_t *lengths;
  cq_slice (*id)(const void *context, uint32_t document);
  cq_slice (*term)(const void *context, uint32_t term); /* they ascend */
  const void *context;
  const cq_segment_part *parts;
  size_t n_parts;
} cq_segment_source;
CQ_MUST_USE cq_status cq_segment_write(const char *path, const cq_segment_source *source, cq_error *error);

#endif
