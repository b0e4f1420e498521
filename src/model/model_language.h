/* Languages with their own vocabulary on a shared model:
 *
 *   MODEL/                                 an ordinary model, without references to the files below
 *   MODEL/languages/tr/tokenizer.json ...  a tokenizer's files
 *   MODEL/languages/tr/model.safetensors   only embeddings.word_embeddings.weight [vocabulary, MODEL's width]
 *
 * MODEL/languages/tr is the name of a model: MODEL with that tokenizer and those word embeddings. A language does not
 * change MODEL's files, so MODEL's vectors stay the same, and so do those of its other languages. */
#ifndef MODEL_MODEL_LANGUAGE_H
#define MODEL_MODEL_LANGUAGE_H

#include "model/encoder.h"

#define CQ_LANGUAGE_FOLDER "languages"

/* Whether a directory is a language of a model; *out: the model's directory. A complete model is not a language. */
bool cq_language_model(char *out, size_t out_size, const char *directory);

/* Whether the text is valid as a language's name: letters, digits, - and _. */
bool cq_language_is_name(const char *name);

/* The names in a model's `languages`, sorted; *out NULL: it has none. */
CQ_MUST_USE cq_status cq_language_list(json_t **out, const char *model, cq_error *error);

/* Writes an encoder's tokenizer, and its word embeddings in that type, into a language's existing directory. Errors:
 * CQ_ERR_UNSUPPORTED if its first module is not a Transformer; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_language_write(const cq_encoder *encoder, cq_dtype weights, const char *directory,
                                        cq_error *error);

/* Writes the languages of an open model, with word embeddings in that type, into a directory of the same model. */
CQ_MUST_USE cq_status cq_languages_write(const cq_encoder *model, cq_dtype weights, const char *directory,
                                         cq_error *error);

#endif
