/* SentencePiece's rules of normalization, written as text for its trainer, with those that make spelling variants one
 * (text/variants.h).
 *
 *   nmt_nfkc, nmt_nfkc_cf ──a model of one line──▶ compiled rules ──each──▶ from, to ──variants──▶ "from TAB to" */
#ifndef TOKEN_RULES_H
#define TOKEN_RULES_H

#include "base/slice.h"
#include "calque/status.h"

/* base: one of the library's own sets. Errors: CQ_ERR_MEMORY, CQ_ERR_FORMAT if its compiled form has changed. */
CQ_MUST_USE cq_status cq_rules_with_variants(cq_builder *out, const char *base, cq_error *error);

#endif
