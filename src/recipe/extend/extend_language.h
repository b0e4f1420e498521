/* A language that gets a vocabulary of its own: which it is, and the output that has it (model/model_language.h). */
#ifndef RECIPE_EXTEND_EXTEND_LANGUAGE_H
#define RECIPE_EXTEND_EXTEND_LANGUAGE_H

#include "calque/extend.h"

/* The one language that all files are of. Errors: CQ_ERR_ARGUMENT when there is none, or another, or a static
 * student. */
CQ_MUST_USE cq_status cq_extend_language(const char **out, const cq_extend_options *options, cq_error *error);

/* Checks, before the work, that the model can take the language and the output can be made. work: a directory beside
 * the output. Errors: CQ_ERR_UNSUPPORTED for a model without a body or within another; CQ_ERR_ARGUMENT if it has the
 * language already, or would contain the output. */
CQ_MUST_USE cq_status cq_extend_language_check(const cq_extend_options *options, const char *language, const char *work,
                                               cq_error *error);

/* Writes the output: the model's files, and the trained model's vocabulary, card and log as the language. */
CQ_MUST_USE cq_status cq_extend_language_save(const cq_extend_options *options, const char *language,
                                              const char *trained, bool replace, cq_error *error);

#endif
