/* Embeddings for a new vocabulary's pieces, derived from an old vocabulary's.
 *
 *   piece is special                          the old row of the same role: <s> from [CLS], </s> from [SEP], ...
 *   both vocabularies have it                 the old row: WordPiece "x" at a word's start is "\u2581x", "##x" is "x"
 *   SHARED otherwise                          drawn from the old rows' mean and variance
 *   MEAN otherwise                            mean of the rows of the old tokens that the piece's text splits into
 *   ALIGN                                     in translations: mean of the rows of the aligned old tokens in the source
 *                                             (train/align.h, each language separately); in the source: as MEAN; mixed
 *                                             by the piece's counts in each language and on each side
 *   FOCUS                                     ALIGN; pieces that occur in no sentence pair by focus.h */
#ifndef RECIPE_STUDENT_CARRY_H
#define RECIPE_STUDENT_CARRY_H

#include "base/random.h"
#include "calque/student.h"
#include "token/tokenizer.h"

typedef struct cq_carry_stats {
  int64_t n_special, n_shared, n_mean, n_drawn, n_aligned; /* aligned pieces are counted twice */
  int64_t n_focus;                                         /* by neighbors: so are these */
  uint64_t n_pairs;                                        /* pairs of sentences aligned */
} cq_carry_stats;

/* The evidence for a piece's row. */
typedef enum cq_row_origin {
  CQ_ROW_OTHER,     /* a special piece or a byte; or a piece that occurs only in the source, from its old tokens */
  CQ_ROW_KNOWN,     /* both vocabularies have it, or translations place it */
  CQ_ROW_UNALIGNED, /* neither: focus.h */
} cq_row_origin;

/* rows [new vocab_size, dim] from old [n_old, dim], as o->carry_over says, with the alignment of o->text. origins [new vocab_size]: a cq_row_origin per row. */
CQ_MUST_USE cq_status cq_carry_over_rows(float *rows, unsigned char *origins, const cq_tokenizer *new_tokenizer,
                                         const float *old, int64_t n_old, int64_t dim,
                                         const cq_tokenizer *old_tokenizer, const cq_student_options *o,
                                         cq_random *random, cq_carry_stats *stats, cq_context *ctx, cq_error *error);

/* ALIGN on top of rows that already have the pieces' source meaning: mixes it with their meaning in translations. old
 * [n_old, dim] is any embedding of the old pieces. */
CQ_MUST_USE cq_status cq_carry_over_meanings(float *rows, const cq_tokenizer *new_tokenizer, const float *old,
                                             int64_t n_old, int64_t dim, const cq_tokenizer *old_tokenizer,
                                             const cq_student_options *o, cq_carry_stats *stats, cq_context *ctx,
                                             cq_error *error);

#endif
