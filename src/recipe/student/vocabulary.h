/* The vocabulary of an open model, to be replaced. */
#ifndef RECIPE_STUDENT_VOCABULARY_H
#define RECIPE_STUDENT_VOCABULARY_H

#include "model/encoder.h"

/* The parameter that holds the word embeddings of a model's first module; NULL: it has none. */
cq_param *cq_student_word_table(cq_module *module);

/* Puts another tokenizer and its rows [vocab_size, width of the table], which are copied, under the model. The tokenizer
 * becomes the model's on success only. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_student_put_vocabulary(cq_encoder *encoder, cq_tokenizer *tokenizer, const float *rows,
                                                cq_error *error);

#endif
