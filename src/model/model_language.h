/* Languages with a vocabulary of their own over a model's body:
 *
 *   MODEL/                                 an ordinary model, in which nothing points to what follows
 *   MODEL/languages/tr/tokenizer.json ...  a tokenizer's files
 *   MODEL/languages/tr/model.safetensors   embeddings.word_embeddings.weight [vocabulary, width of MODEL's] alone
 *
 * MODEL/languages/tr is the name of a model: MODEL with that tokenizer and those word embeddings. Since MODEL's files
 * are what they were without it, so are its vectors, and those of its other languages. */
#ifndef MODEL_MODEL_LANGUAGE_H
#define MODEL_MODEL_LANGUAGE_H

#include "model/encoder.h"

#define CQ_LANGUAGE_FOLDER "languages"

/* Whether a directory is a language of a model, whose directory is then *out. A complete model is not a language. */
bool cq_language_model(char *out, size_t out_size, const char *directory);

/* Whether it can be a language's name: letters, digits, - and _. */
bool cq_language_is_name(const char *name);

/* The names in a model's `languages`, sorted; *out NULL: it has none. */
CQ_MUST_USE cq_status cq_language_list(json_t **out, const char *model, cq_error *error);

/* Writes an encoder's tokenizer and word embeddings, of that type, into a language's directory, which exists. Errors:
 * CQ_ERR_UNSUPPORTED if its first module is not a Transformer; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_language_write(const cq_encoder *encoder, cq_dtype weights, const char *directory,
                                        cq_error *error);

/* Writes the languages of an open model, with word embeddings of that type, into a directory of the same body. */
CQ_MUST_USE cq_status cq_languages_write(const cq_encoder *model, cq_dtype weights, const char *directory,
                                         cq_error *error);

#endif
