/* Hits as a TREC run. */
#ifndef LAB_RETRIEVAL_TREC_RUN_H
#define LAB_RETRIEVAL_TREC_RUN_H

#include "calque/lexical.h"

/* Writes [n, k] hits of n topics; run NULL or "-": standard output. Errors: CQ_ERR_ARGUMENT for an empty tag or one
 * with blanks; CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_hits_write_run(const char *run, const cq_slice *topics, size_t n, const cq_lexical_hit *hits,
                                        size_t k, const char *tag, cq_error *error);

#endif
