/* Turns documents into a segment, in memory and by many threads.
 *
 *   batch of documents ──worker──▶ its terms, each with its postings                      (any batch by any thread)
 *   batches of a segment ──▶ terms sorted ──▶ each term's postings, batch after batch, compressed        (ranges of terms)
 *
 * A segment does not depend on the number of threads. */
#ifndef LEXICAL_INVERT_H
#define LEXICAL_INVERT_H

#include "base/context.h"
#include "format/collection.h"
#include "lexical/segment.h"
#include "text/analyzer.h"

/* The terms of all batches, numbered; shared by the workers. */
typedef struct cq_inverter cq_inverter;

CQ_MUST_USE cq_status cq_inverter_open(cq_inverter **out, const cq_analyzer *analyzer, int n_workers, cq_error *error);
void cq_inverter_free(cq_inverter *inverter);

/* Documents as read, and their inverted form. */
typedef struct cq_batch {
  cq_raw_document *raw; /* [n], `bytes` in raw_bytes */
  uint32_t *begins;     /* [n] where in raw_bytes */
  uint32_t n, first;    /* first: the segment's number for the batch's first document */
  cq_builder raw_bytes;
  size_t capacity, begins_capacity;
  /* after cq_batch_invert */
  cq_slice *ids;
  uint32_t *lengths; /* both [n] */
  uint32_t *terms;   /* [n_terms], numbers of the inverter */
  uint32_t *starts;  /* [n_terms + 1] into postings */
  cq_posting *postings;
  uint32_t n_terms;
  cq_arena arena;
} cq_batch;

CQ_MUST_USE cq_status cq_batch_add(cq_batch *batch, const cq_raw_document *raw, cq_error *error);
/* Not for two threads with the same worker at once. Errors: those of cq_document_read; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_batch_invert(cq_batch *batch, cq_inverter *inverter, int worker, const char *const *fields,
                                      size_t n_fields, cq_error *error);
/* The same for n texts in these languages (NULL: unknown), which have empty ids, in a batch with only `first` set. */
CQ_MUST_USE cq_status cq_batch_invert_texts(cq_batch *batch, cq_inverter *inverter, int worker, const cq_slice *texts,
                                            const cq_slice *languages, uint32_t n, cq_error *error);
void cq_batch_free(cq_batch *batch);

/* Writes the segment of batches in order. Errors: CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_inverter_write(const char *path, cq_inverter *inverter, cq_batch *const *batches,
                                        size_t n_batches, cq_context *ctx, cq_error *error);

#endif
