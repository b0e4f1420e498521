/* The input files of an extension, each of which is read several times. */
#ifndef RECIPE_EXTEND_INPUTS_H
#define RECIPE_EXTEND_INPUTS_H

#include "recipe/extend/extend_options.h"

typedef struct cq_extend_inputs {
  cq_training_data *files; /* the files of to, dictionaries, text, dev, sts and source_text, in this order */
  char **paths;            /* [n] path of the copy in the work directory, for a pipe; NULL: a regular file */
  char **labels;           /* [n] label made from the path, for translations and dev sets; NULL: it has one */
  size_t n;
} cq_extend_inputs;

/* Replaces pipes and standard input ("-") in the options by files WORK/input-N, written if missing, and labels
 * translations and dev sets. `in` must be closed, even after an error. Errors: CQ_ERR_IO, CQ_ERR_FORMAT,
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_extend_inputs_open(cq_extend_inputs *in, cq_extend_options *o, cq_extend_parts *parts,
                                            const char *work, cq_error *error);
void cq_extend_inputs_close(cq_extend_inputs *in); /* legal on {0} */

#endif
