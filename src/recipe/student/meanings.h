/* What the pieces of a new vocabulary mean, by word alignment of translations. Each language is aligned by itself:
 * otherwise, a source word's probability would be divided among its translations into all languages, and languages with
 * little text would get almost none. */
#ifndef RECIPE_STUDENT_MEANINGS_H
#define RECIPE_STUDENT_MEANINGS_H

#include "calque/student.h"
#include "token/tokenizer.h"

/* What is aligned: the old pieces of sentences with the new pieces of their translations. */
typedef struct cq_meanings_task {
  const cq_tokenizer *new_tokenizer, *old_tokenizer;
  int64_t n_new, n_old;
  const cq_training_data *pairs; /* files with several columns; those with the same label are aligned together */
  size_t n_pairs;
} cq_meanings_task;

/* Old pieces that a new one translates in one language. */
typedef struct cq_meaning {
  int32_t piece;
  uint32_t first, n; /* links */
  double count;      /* its occurrences in translations */
} cq_meaning;

typedef struct cq_meanings {
  struct cq_language_meanings *languages; /* in the order of their first files */
  size_t n_languages;
  double *source_count; /* [n_new] occurrences of a piece in source sentences */
  uint64_t n_pairs;     /* of sentences aligned */
} cq_meanings;

/* Aligns the languages on the context's threads. The result does not depend on their number. Call cq_meanings_free(m)
 * even if this fails. Errors: CQ_ERR_IO, CQ_ERR_MEMORY; CQ_ERR_STOPPED when progress returns false. */
CQ_MUST_USE cq_status cq_meanings_find(cq_meanings *m, const cq_meanings_task *task, const cq_student_options *tells,
                                       cq_context *ctx, cq_error *error);
void cq_meanings_free(cq_meanings *m);

/* The old id with the same role as a new special id; -1: none. */
int64_t cq_old_role(const cq_tokenizer_info *now, const cq_tokenizer_info *old, int64_t id);

/* Adds to sum [n_new, dim] each piece's meaning, the mean of the rows of old [n_old, dim] that it translates, times its
 * occurrences; and these to target_count [n_new]. */
CQ_MUST_USE cq_status cq_meanings_add(float *sum, double *target_count, const cq_meanings *m, const float *old,
                                      int64_t dim, cq_error *error);

#endif
