/* Warns about the columns of parallel text before training: swapped columns, or text in another language than its label
 * states. */
#ifndef RECIPE_TRAIN_COLUMNS_H
#define RECIPE_TRAIN_COLUMNS_H

#include "calque/encoder.h"
#include "token/tokenizer.h"
#include "train/parallel.h"

/* The teacher's tokenizer may be NULL: then only the languages are checked. */
CQ_MUST_USE cq_status cq_check_columns(const cq_parallel *data, const cq_tokenizer *teachers, cq_notice_fn notice,
                                       void *notice_context, cq_error *error);

#endif
