/* What is wrong with the text that was given is told, or refused, before a vocabulary is made of it. */
#ifndef RECIPE_EXTEND_CHECK_TEXTS_H
#define RECIPE_EXTEND_CHECK_TEXTS_H

#include "recipe/extend/texts.h"
#include "train/parallel.h"

/* Reads the caller's dictionaries and dev sets and tells how many entries a dictionary has; tells of columns of these and
 * of the translations that look wrong, of languages without a code, of translations that look like a dictionary, of dev
 * sets that are trained on. Errors: CQ_ERR_FORMAT with file and line for a line without two columns (skip_bad: left
 * out), and for a file without a line that has them; the model's; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_extend_check_texts(const cq_extend_texts *t, const cq_parallel *translations, cq_error *error);

#endif
