/* Translates words of a query into words of another language, by their vectors. */
#ifndef LAB_CLIR_TRANSLATE_H
#define LAB_CLIR_TRANSLATE_H

#include "base/context.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Unit vectors of words, and which of them belong to the target language. */
typedef struct cq_translator {
  float *vectors; /* [n, stride] of length 1; a zero vector stays one */
  uint32_t n;
  int64_t stride;
  uint32_t *targets; /* [n_targets] ascending */
  uint32_t n_targets;
  float *crowding; /* [n] mean cosine to the nearest words of the other side, for hubs; NULL: no correction */
} cq_translator;

typedef struct cq_translation {
  uint32_t from, to; /* words; from: CQ_ALL_WORDS for the whole query */
  float cosine;
  float score; /* the cosine, or corrected: what is ranked by */
} cq_translation;
#define CQ_ALL_WORDS UINT32_MAX

/*   vectors          [n, dim]
 *   is_source, is_target  [n] which words are in which language; a word may be in both
 *   csls             neighbors to correct hubs by, at most 100; 0 and below: none
 * Source: Conneau et al. 2018, eq. 4: 2 cos - r(x) - r(y). Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_translator_open(cq_translator *out, const float *vectors, uint32_t n, int dim,
                                         const bool *is_source, const bool *is_target, int csls, cq_context *ctx,
                                         cq_error *error);
void cq_translator_close(cq_translator *translator);

/* The tau target words nearest to each word of a query (room for n tau) or, with `summed`, the tau nearest to the sum
 * of their original vectors (room for tau); best first, ties to the lower number. Returns their number; SIZE_MAX when
 * out of memory. Source: Niyogi et al. 2018, section 2.2, in its two readings.
 *   raw   [., dim] the vectors before normalization, for the sum; word numbers are row numbers */
size_t cq_translate(cq_translation *out, const cq_translator *translator, const uint32_t *words, size_t n, size_t tau,
                    bool summed, const float *raw, int dim);

#endif
