/* A language that gets its own vocabulary: its code, and the output model (model/model_language.h). */
#ifndef RECIPE_EXTEND_EXTEND_LANGUAGE_H
#define RECIPE_EXTEND_EXTEND_LANGUAGE_H

#include "calque/extend.h"

/* The one language of all files. Errors: CQ_ERR_ARGUMENT if there is none or more than one, or the student is
 * static. */
CQ_MUST_USE cq_status cq_extend_language(const char **out, const cq_extend_options *options, cq_error *error);

/* Checks in advance that the language can be added to the model and that the output can be made. work: a directory next
 * to the output. Errors: CQ_ERR_UNSUPPORTED for a model without a body or inside another model; CQ_ERR_ARGUMENT if the
 * model already has the language or would contain the output. */
CQ_MUST_USE cq_status cq_extend_language_check(const cq_extend_options *options, const char *language, const char *work,
                                               cq_error *error);

/* Writes the output: the model's files, plus the trained model's vocabulary, card and log as the language. */
CQ_MUST_USE cq_status cq_extend_language_save(const cq_extend_options *options, const char *language,
                                              const char *trained, bool replace, cq_error *error);

#endif
