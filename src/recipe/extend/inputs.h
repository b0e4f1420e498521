/* The input files of an extension, each of which is read several times. */
#ifndef RECIPE_EXTEND_INPUTS_H
#define RECIPE_EXTEND_INPUTS_H

#include "recipe/extend/extend_options.h"

typedef struct cq_extend_inputs {
  cq_training_data *files; /* of to, dictionaries, text, dev, sts and source_text in turn */
  char **paths;            /* [n] in the work directory, of those that are pipes; NULL: it is a file */
  char **labels;           /* [n] made from the path, for translations and dev sets without a label; NULL: it has one */
  size_t n;
} cq_extend_inputs;

/* Replaces pipes and standard input ("-") in the options by files WORK/input-N, written if missing; and gives
 * translations and dev sets labels. `in` counts as open from here on, even on an error. Errors: CQ_ERR_IO,
 * CQ_ERR_FORMAT, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_extend_inputs_open(cq_extend_inputs *in, cq_extend_options *o, cq_extend_parts *parts,
                                            const char *work, cq_error *error);
void cq_extend_inputs_close(cq_extend_inputs *in); /* legal on {0} */

#endif
