/* The text of a vocabulary: the columns of its files, sentence by sentence, each file repeated by its weight. */
#ifndef RECIPE_STUDENT_STUDENT_TEXT_H
#define RECIPE_STUDENT_STUDENT_TEXT_H

#include "calque/lines.h"
#include "calque/student.h"

enum { CQ_STUDENT_COLUMNS = 64 };

typedef struct cq_student_text {
  const cq_student_options *options;
  size_t file; /* the next file, except for `again` more passes over the previous one */
  int again;
  cq_lines *lines;
  cq_slice columns[CQ_STUDENT_COLUMNS];
  size_t n_columns, column;
  uint64_t n_bad;
  cq_status status; /* of the read that ended it; error has its words */
  cq_error error;
} cq_student_text;

/* How often a file counts: its weight, rounded. */
int cq_text_times(const cq_training_data *file);
/* Calls the options' progress; false: stop. */
bool cq_student_tell(const cq_student_options *o, const char *part, uint64_t done, uint64_t n);
/* The next sentence, for `trim` and the vocabulary trainers: context is a cq_student_text, initially its options and
 * zeros. False at the end or after a failed read. */
bool cq_student_text_next(void *context, cq_slice *sentence);
/* Returns `status` or, if that is CQ_OK, the status that ended the reading: CQ_OK at the end of the text. */
CQ_MUST_USE cq_status cq_student_text_close(cq_student_text *text, cq_status status, cq_error *error);

#endif
