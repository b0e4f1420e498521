/* TREC's relevance judgments and runs, lines with columns separated by blanks:
 *
 *   judgements   TOPIC ITERATION DOCUMENT RELEVANCE
 *   run          TOPIC Q0 DOCUMENT RANK SCORE TAG
 *
 * The iteration, Q0, rank and tag are ignored. A line that begins with '#' is a comment; blank lines are skipped. */
#ifndef LAB_RETRIEVAL_TREC_H
#define LAB_RETRIEVAL_TREC_H

#include "base/arena.h"
#include "base/text_writer.h"
#include "calque/slice.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct cq_judgement {
  cq_slice topic, document;
  int32_t relevance; /* negative: in the pool, but not judged */
} cq_judgement;

typedef struct cq_judgements {
  cq_judgement *items; /* by topic, then document, bytewise */
  size_t n;
  cq_arena text;
} cq_judgements;

typedef struct cq_ranked {
  cq_slice topic, document;
  double score;
} cq_ranked;

typedef struct cq_run {
  cq_ranked *items; /* by topic; best first, ties in descending order of bytes, as in trec_eval */
  size_t n;
  cq_arena text;
} cq_run;

/* in_f32: scores are rounded to f32 first, as in trec_eval 9, so that the same scores are equal.
 * Errors: CQ_ERR_FORMAT with the line for a wrong number of columns, a relevance or score that is not a number, or
 * invalid UTF-8, and for a document that appears twice under one topic; CQ_ERR_IO, CQ_ERR_MEMORY. Free both, even after
 * an error. */
CQ_MUST_USE cq_status cq_judgements_read(cq_judgements *out, const char *path, cq_error *error);
void cq_judgements_free(cq_judgements *judgements);
CQ_MUST_USE cq_status cq_run_read(cq_run *out, const char *path, bool in_f32, cq_error *error);
void cq_run_free(cq_run *run);

/* CQ_ERR_ARGUMENT for a tag that is empty or has blanks, which would add columns. */
CQ_MUST_USE cq_status cq_run_check_tag(const char *tag, cq_error *error);
/* A line of a run. rank starts at 1; the score has twelve digits. */
CQ_MUST_USE cq_status cq_run_put(cq_text_writer *out, cq_slice topic, cq_slice document, size_t rank, double score,
                                 const char *tag, cq_error *error);

/* A document's relevance among the n judgments from `first` on, all for one topic; CQ_NOT_JUDGED: none. */
#define CQ_NOT_JUDGED INT32_MIN
int cq_judgement_find(const cq_judgements *judgements, size_t first, size_t n, cq_slice document);

/* The relevances of the judged documents among these, highest first: relevance has room for n. Returns their number. */
size_t cq_judgements_relevances(int32_t *relevance, const cq_judgements *judgements, size_t first, size_t n);

#endif
