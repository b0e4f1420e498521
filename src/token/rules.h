/* SentencePiece's normalization rules as text for its trainer, plus rules that unify spelling variants
 * (text/variants.h).
 *
 *   nmt_nfkc, nmt_nfkc_cf ──a one-line model──▶ compiled rules ──each──▶ from, to ──variants──▶ "from TAB to" */
#ifndef TOKEN_RULES_H
#define TOKEN_RULES_H

#include "base/slice.h"
#include "calque/status.h"

/* base: one of the library's own rule sets. Errors: CQ_ERR_MEMORY, CQ_ERR_FORMAT if its compiled format has changed. */
CQ_MUST_USE cq_status cq_rules_with_variants(cq_builder *out, const char *base, cq_error *error);

#endif
