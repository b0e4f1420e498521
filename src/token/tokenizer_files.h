/* Tokenizers from files and documents, and back. */
#ifndef TOKEN_TOKENIZER_FILES_H
#define TOKEN_TOKENIZER_FILES_H

#include "token/tokenizer_parts.h"

/* Overrides the switches of a tokenizer.json as its class in tokenizer_config.json does. */
cq_status cq_tokenizer_apply_class(json_t *document, const json_t *config, cq_error *error);

/* Reads a tokenizer.json: t->vocab and the scores are filled where the fast reader has read them, and left out of the
 * document. */
cq_status cq_tokenizer_read_json(json_t **out, cq_tokenizer *t, cq_slice text, const char *path, cq_error *error);

/* Builds a tokenizer from a tokenizer.json document. If document.model has no vocab, t->vocab (and the model's
 * scores or merges) are filled already. path names the file in errors. */
cq_status cq_tokenizer_assemble(cq_tokenizer *t, const json_t *document, const char *path, cq_error *error);

/* The same from t->document, with what added_tokens.json and config's added_tokens_decoder add to its added tokens. */
cq_status cq_tokenizer_assemble_document(cq_tokenizer *t, const json_t *config, const char *path, cq_error *error);

/* A token for the document's list of added tokens, and the one of the list that has a text; NULL: none. */
json_t *cq_added_token_json(int64_t id, cq_slice content, bool special, bool lstrip, bool normalized);
const json_t *cq_find_added_json(const json_t *list, const char *content);

/* Fills t->vocab from {"piece": id, ...}. */
cq_status cq_vocab_parse(cq_tokenizer *t, const json_t *vocab, const char *path, cq_error *error);

/* The readers of the other formats: each fills t->vocab and t->document, and assembles the tokenizer. */
cq_status cq_open_vocab_txt(cq_tokenizer *t, const char *path, const json_t *config, const json_t *specials,
                            cq_error *error);
cq_status cq_open_vocab_json(cq_tokenizer *t, const char *path, const char *merges_path, const json_t *config,
                             const json_t *specials, cq_error *error);
cq_status cq_open_sentencepiece(cq_tokenizer *t, const char *directory, const char *path, const json_t *config,
                                cq_error *error);
/* A tokenizer from a SentencePiece model's bytes. xlmr: XLM-R's ids and special tokens; else class decides the special
 * tokens of a sentence. */
cq_status cq_sentencepiece_assemble(cq_tokenizer *t, cq_slice bytes, bool xlmr, const char *class, const json_t *config,
                                    const char *path, cq_error *error);

/* The file that a tokenizer was opened from; NULL: no file has that name. */
const cq_origin_file *cq_origin_of_file(const cq_tokenizer *t, const char *name);
/* t->document with the model's vocabulary and merges put in; NULL: out of memory. */
json_t *cq_complete_document(const cq_tokenizer *t);
/* The merges in order, as pairs of pieces; new_ids: those between pieces whose new id is not -1 (NULL: all). NULL: out
 * of memory. */
json_t *cq_merges_json(const cq_tokenizer *t, const int32_t *new_ids);

#endif
