/* The text of a vocabulary: the columns of its files, sentence by sentence, each file as often as its weight
 * says. */
#ifndef RECIPE_STUDENT_STUDENT_TEXT_H
#define RECIPE_STUDENT_STUDENT_TEXT_H

#include "calque/lines.h"
#include "calque/student.h"

enum { CQ_STUDENT_COLUMNS = 64 };

typedef struct cq_student_text {
  const cq_student_options *options;
  size_t file; /* the next one, except for `again` more times of the one before */
  int again;
  cq_lines *lines;
  cq_slice columns[CQ_STUDENT_COLUMNS];
  size_t n_columns, column;
  uint64_t n_bad;
  cq_status status; /* of the read that ended it; error has its words */
  cq_error error;
} cq_student_text;

/* The next sentence, for `trim` and the trainers of vocabularies: context is a cq_student_text that began with its
 * options and zeros. False at the end, or where reading failed. */
bool cq_student_text_next(void *context, cq_slice *sentence);
/* Returns the status, or where that is CQ_OK what ended the reading: CQ_OK at the end of the text. */
CQ_MUST_USE cq_status cq_student_text_close(cq_student_text *text, cq_status status, cq_error *error);

#endif
