/* The internals of an alignment: documents in sentences, and their pairs. */
#ifndef RECIPE_ALIGN_ALIGNMENT_H
#define RECIPE_ALIGN_ALIGNMENT_H

#include "calque/align.h"
#include "calque/sentences.h"
#include "recipe/align/beads.h"
#include "recipe/encode/cached_encoder.h"

typedef struct cq_align_document {
  char *id, *text; /* the sentences, one blank between them where there was any */
  char language[32];
  cq_sentence *sentences;
  uint32_t *numbers; /* from 0: of sentences, or of their lines */
  uint32_t *blocks;  /* of sentences: paragraphs, headings, items of lists */
  size_t n;
  float *mean; /* [dim], of length 1; NULL until documents are paired by it */
} cq_align_document;

typedef struct cq_align_documents {
  cq_align_document *items;
  size_t n, capacity;
} cq_align_documents;

typedef struct cq_aligned {
  size_t documents[2]; /* of each side */
  cq_bead *beads;
  size_t n_beads;
} cq_aligned;

struct cq_alignment {
  cq_align_documents sides[2];
  cq_aligned *pairs;
  size_t n_pairs;
  char languages[2][32]; /* for formats that name them */
};

/* The text of n sentences from the first. */
static inline cq_slice cq_align_text(const cq_align_document *d, size_t first, size_t n) {
  const size_t begin = d->sentences[first].begin;
  return (cq_slice){d->text + begin, d->sentences[first + n - 1].end - begin};
}

/* Reads a side's documents in sentences; those without one are left out. Errors: those of reading documents;
 * CQ_ERR_ARGUMENT for a side without a sentence. Release with cq_align_documents_free, even after an error. */
CQ_MUST_USE cq_status cq_align_documents_read(cq_align_documents *out, const cq_align_options *o, cq_side side,
                                              cq_error *error);
void cq_align_documents_free(cq_align_documents *documents);

/* Pairs the documents of two sides: *out [*n] has their numbers, released with cq_free(). First those whose ids are
 * equal but for a language's code ("de/intro.html" and "en/intro.html"), then by the margin of their mean vectors. */
CQ_MUST_USE cq_status cq_align_pair_documents(cq_aligned **out, size_t *n, cq_alignment *a, size_t dim, cq_context *ctx,
                                              cq_error *error);

/* Words that stand in both documents: fills sides' words, and *weights [words], released with cq_free(). A word's weight
 * is 1 when it is in one sentence of each, and falls with the logarithm of the pairs of sentences that it is in. */
CQ_MUST_USE cq_status cq_align_shared_words(float **weights, cq_align_side sides[2],
                                            const cq_align_document *const documents[2], cq_error *error);

/* What the most similar sentences say about two documents as a whole. */
typedef struct cq_align_verdict {
  size_t n_anchors;  /* pairs of sentences that are each other's nearest */
  size_t n_in_order; /* the longest series of them in order */
  bool is_unrelated; /* as few are in order as by chance; false for a few sentences, which cannot tell */
  bool is_too_short; /* they cannot */
  cq_bead *moved;    /* [n_moved] passages whose translation stands elsewhere */
  size_t n_moved;
} cq_align_verdict;

/* Release out->moved with cq_free(). Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_align_check(cq_align_verdict *out, const cq_align_side sides[2], const cq_bead *beads,
                                     size_t n_beads, cq_context *ctx, cq_error *error);

#endif
