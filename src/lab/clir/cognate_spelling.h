/* The words of a language whose letters are matched, and their spelling. */
#ifndef LAB_CLIR_COGNATE_SPELLING_H
#define LAB_CLIR_COGNATE_SPELLING_H

#include "lab/clir/bags.h"
#include "lab/clir/clir_collections.h"

/* Words written in the language's own script. */
typedef struct cq_spelled {
  cq_slice *words;       /* [n] borrowed from the side */
  uint32_t *plain;       /* [n] their numbers among plain words */
  uint32_t *number;      /* [plain words] the reverse; UINT32_MAX: has digits, is in another script, or is no name */
  uint8_t *n_characters; /* [n] */
  uint32_t n;
} cq_spelled;

/* bags: the side's documents; only_of_bags: use only their words, so that topics' titles do not leak. *out must be
 * closed even after an error. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_spelled_open(cq_spelled *out, const cq_clir_side *side, const cq_bags *bags, bool only_of_bags,
                                      cq_error *error);
void cq_spelled_close(cq_spelled *spelled);

#endif
