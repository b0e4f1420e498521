/* Embeddings for pieces without an alignment: combinations of the rows of placed pieces with similar contexts.
 *
 *   text ──new tokenizer──▶ ids ──skip-gram──▶ a vector for each piece
 *   cosines to all placed pieces ──sparsemax──▶ weights, most of them 0 ──▶ mean of their rows
 *
 * Source: Dobler & de Melo 2023 (FOCUS), where the placed pieces are those in both vocabularies; here, pieces placed by
 * translations count, too. */
#ifndef RECIPE_STUDENT_FOCUS_H
#define RECIPE_STUDENT_FOCUS_H

#include "calque/student.h"
#include "recipe/student/carry.h"
#include "token/tokenizer.h"

/* Replaces the rows [vocab_size, dim] of pieces that are CQ_ROW_UNALIGNED in origins [vocab_size] and occur in o->text;
 * *n is their number. The bits do not depend on the number of threads. Errors: those of reading the text;
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_focus_rows(int64_t *n, float *rows, int64_t dim, const unsigned char *origins,
                                    const cq_tokenizer *tokenizer, const cq_student_options *o, cq_context *ctx,
                                    cq_error *error);

/* Sparsemax: replaces z [n] by the nearest point of the simplex. Returns the number of weights above 0; these are in
 * z[0 .. result), and their former indices in at [n].
 * Source: Martins & Astudillo 2016; the threshold by Michelot 1986. */
size_t cq_sparsemax(float *z, uint32_t *at, size_t n);

#endif
