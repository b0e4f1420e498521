/* The options for training autoencoders: their table, and their text form. */
#ifndef LAB_AUTOENCODE_AUTOENCODE_OPTIONS_H
#define LAB_AUTOENCODE_AUTOENCODE_OPTIONS_H

#include "base/options.h"
#include "base/slice.h"
#include "calque/lab/autoencode.h"

extern const cq_option_group cq_group_autoencode;
/* Errors: CQ_ERR_ARGUMENT. */
CQ_MUST_USE cq_status cq_autoencode_check(const cq_autoencode_options *options, cq_error *error);
/* Appends everything that the result depends on, except files. */
void cq_autoencode_describe(cq_builder *out, const cq_autoencode_options *options);

#endif
