/* The initial rows of a static student, made from a teacher: the complete teacher's vectors of each piece.
 *
 *   old piece's text ──teacher──▶ [n_old, dim] ──alignment (carry.h)──▶ new pieces that occur in translations
 *   new piece's text ──teacher──▶ new pieces that occur in the teacher's language
 *   rows, minus their mean and first principal components, times a / (a + p) ──▶ rows as long as random ones
 *
 * p is a piece's share of the text. Mean and components are those of sentences, so frequent pieces count more. After
 * that, a mean of rows approximates the relevant part of the teacher's sentence vector, and the learning rates for
 * random rows are suitable. Sources: model2vec (Tulkens & van Dongen 2024) for vectors of single pieces; Arora, Liang &
 * Ma 2017 for weights (smooth inverse frequency) and components. */
#ifndef RECIPE_STUDENT_STATIC_ROWS_H
#define RECIPE_STUDENT_STATIC_ROWS_H

#include "model/encoder.h"
#include "recipe/student/carry.h"

/* rows [vocab_size of tokenizer, dim of teacher]. Errors: CQ_ERR_UNSUPPORTED for a teacher without a tokenizer; those of
 * encoding and of reading the options' text. */
CQ_MUST_USE cq_status cq_static_rows(float *rows, const cq_tokenizer *tokenizer, const cq_encoder *teacher,
                                     const cq_student_options *options, cq_random *random, cq_carry_stats *stats,
                                     cq_context *ctx, cq_error *error);

#endif
