/* The options of training autoencoders: their table, and as text. */
#ifndef RECIPE_AUTOENCODE_OPTIONS_H
#define RECIPE_AUTOENCODE_OPTIONS_H

#include "base/options.h"
#include "base/slice.h"
#include "calque/autoencode.h"

extern const cq_option_group cq_group_autoencode;
/* Errors: CQ_ERR_ARGUMENT. */
CQ_MUST_USE cq_status cq_autoencode_check(const cq_autoencode_options *options, cq_error *error);
/* Appends all that the result depends on, but files. */
void cq_autoencode_describe(cq_builder *out, const cq_autoencode_options *options);

#endif
