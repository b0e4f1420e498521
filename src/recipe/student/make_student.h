/* Making a student as a part of a larger task. */
#ifndef RECIPE_STUDENT_MAKE_STUDENT_H
#define RECIPE_STUDENT_MAKE_STUDENT_H

#include "calque/student.h"

/* cq_student_new, with a vocabulary of pieces that is read from the directory `vocabulary`, or written there once it is
 * trained. NULL: it is not kept. */
CQ_MUST_USE cq_status cq_student_make(const char *directory, const char *vocabulary, const cq_student_options *options,
                                      cq_context *ctx, cq_error *error);

#endif
