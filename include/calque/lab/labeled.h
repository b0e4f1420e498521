/** @file Evaluates mined pairs against a gold standard, as in the BUCC task.
 *
 *      cq_labeled l;
 *      cq_f1_point point;
 *      cq_labeled_read(&l, "gold.tsv", "pairs.tsv", &err);
 *      cq_labeled_at(&point, &l, false, 1.06, &err);
 *      cq_labeled_free(&l);
 *
 * Outside the promise of a stable ABI, like all of calque/lab/. */
#ifndef CALQUE_LAB_LABELED_H
#define CALQUE_LAB_LABELED_H

#include "calque/eval.h"
#include "calque/slice.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_labeled_pair {
  double score, cosine; /**< cosine NaN when the file has none */
  bool correct;
  cq_slice source_id, target_id, source, target; /**< the sentences: data NULL when the file has none */
} cq_labeled_pair;

typedef struct cq_labeled {
  cq_labeled_pair *pairs; /**< [n], best first */
  size_t n, n_gold;
  bool has_cosines; /**< in every line */
  void *memory;     /**< what the slices point into */
} cq_labeled;

/** Reads scored pairs, lines of score, source id, target id and, optionally, cosine and both sentences (the output of
 * `calque mine` for files with ids), and marks those in a gold file, lines of source id and target id. @errors
 * CQ_ERR_FORMAT with the line for a wrong number of columns, a score that is not a number, or a repeated pair;
 * CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_labeled_read(cq_labeled *out, const char *gold, const char *pairs, cq_error *error);
CQ_API void cq_labeled_free(cq_labeled *labeled);

/** cq_f1_curve() and cq_f1_at() over the pairs' scores or, by_cosine, their cosines. */
CQ_API CQ_MUST_USE cq_status cq_labeled_curve(cq_f1_point **out, size_t *n, const cq_labeled *labeled, bool by_cosine,
                                              cq_error *error);
CQ_API CQ_MUST_USE cq_status cq_labeled_at(cq_f1_point *out, const cq_labeled *labeled, bool by_cosine,
                                           double threshold, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
