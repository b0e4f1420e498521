/* Tokenizers from files and documents, and back. */
#ifndef TOKEN_TOKENIZER_FILES_H
#define TOKEN_TOKENIZER_FILES_H

#include "token/tokenizer_parts.h"

/* Reads a tokenizer.json. If the fast reader succeeds, it fills t->vocab and the scores, and the document lacks
 * them. */
cq_status cq_tokenizer_read_json(json_t **out, cq_tokenizer *t, cq_slice text, const char *path, cq_error *error);

/* Builds a tokenizer from a tokenizer.json document. If document.model has no vocab, t->vocab (and the model's scores
 * or merges) must be filled already. path names the file in errors. */
cq_status cq_tokenizer_assemble(cq_tokenizer *t, const json_t *document, const char *path, cq_error *error);

/* The same from t->document, plus the added tokens of added_tokens.json and of config's added_tokens_decoder.
 *   naming  [2] tokenizer_config.json and special_tokens_map.json, whose lists of additional special tokens are added,
 *           too; NULL: they are not */
cq_status cq_tokenizer_assemble_document(cq_tokenizer *t, const json_t *config, const json_t *const *naming,
                                         const char *path, cq_error *error);

/* A token for the document's list of added tokens, and the entry of the list with a given text; NULL: none. */
json_t *cq_added_token_json(int64_t id, cq_slice content, bool special, bool lstrip, bool normalized);
const json_t *cq_find_added_json(const json_t *list, const char *content);

/* Fills t->vocab from {"piece": id, ...}. */
cq_status cq_vocab_parse(cq_tokenizer *t, const json_t *vocab, const char *path, cq_error *error);

/* The rules of a tokenizer_class, in the order of the files that they belong to. */
typedef enum cq_class_kind {
  CQ_CLASS_REFUSED,
  CQ_CLASS_NONE, /* no class is known: the file's usual rules */
  CQ_CLASS_BERT, /* vocab.txt */
  CQ_CLASS_DPR,
  CQ_CLASS_MPNET,
  CQ_CLASS_FUNNEL,
  CQ_CLASS_JAPANESE,
  CQ_CLASS_ROBERTA, /* vocab.json and merges.txt */
  CQ_CLASS_HERBERT,
  CQ_CLASS_XLMR, /* SentencePiece */
  CQ_CLASS_CAMEMBERT,
  CQ_CLASS_T5,
  CQ_CLASS_ALBERT,
  CQ_CLASS_DEBERTA_V2,
  CQ_CLASS_LLAMA,
} cq_class_kind;

/* The rules for a directory without tokenizer.json whose tokenizer_config.json is config (NULL: none).
 *   first, last  the rules that belong to the file path
 * Errors: CQ_ERR_UNSUPPORTED for a class with other rules (the message has the class and a remedy). */
cq_status cq_tokenizer_class(cq_class_kind *out, const char *directory, const json_t *config, cq_class_kind first,
                             cq_class_kind last, const char *path, cq_error *error);

/* The same for the tokenizer.json of a directory, whose steps some classes replace; CQ_CLASS_NONE: it is read as it is. */
cq_status cq_tokenizer_class_beside_json(cq_class_kind *out, const char *directory, const json_t *config,
                                         cq_error *error);
/* Replaces the steps of a tokenizer.json by those of its class (class_steps.c); config: tokenizer_config.json. */
cq_status cq_tokenizer_apply_class(json_t *document, const json_t *config, cq_class_kind kind, cq_error *error);
/* {"normalizer", "pre_tokenizer"} of BERT's classes. NULL: out of memory. */
json_t *cq_bert_steps_json(const json_t *config, cq_class_kind kind);
/* ALBERT's normalizer; old: the one with the rules of the SentencePiece model. NULL: out of memory. */
json_t *cq_albert_normalizer_json(const json_t *config, json_t *old);

/* The readers of the other formats: each fills t->vocab and t->document, and assembles the tokenizer. */
cq_status cq_open_vocab_txt(cq_tokenizer *t, const char *directory, const char *path, const json_t *config,
                            const json_t *specials, cq_error *error);
cq_status cq_open_vocab_json(cq_tokenizer *t, const char *directory, const char *path, const json_t *config,
                             const json_t *specials, cq_error *error);
cq_status cq_open_sentencepiece(cq_tokenizer *t, const char *directory, const char *path, const json_t *config,
                                cq_error *error);
/* The normalizer and the pre-tokenizer of a BertJapaneseTokenizer's document; specials: its added tokens. Errors:
 * CQ_ERR_UNSUPPORTED for another word tokenizer than MeCab. */
cq_status cq_japanese_step(json_t **out, const json_t *config, const json_t *specials, cq_error *error);
/* A tokenizer from a SentencePiece model's bytes, with the ids and the special tokens of a class. */
cq_status cq_sentencepiece_assemble(cq_tokenizer *t, cq_slice bytes, cq_class_kind kind, const json_t *config,
                                    const char *path, cq_error *error);

/* The original file with that name; NULL: the tokenizer was not opened from such a file. */
const cq_origin_file *cq_origin_of_file(const cq_tokenizer *t, const char *name);
/* t->document including the model's vocabulary and merges; NULL: out of memory. */
json_t *cq_complete_document(const cq_tokenizer *t);
/* The merges in order, as pairs of pieces; new_ids: only merges of pieces whose new id is not -1 (NULL: all). Returns
 * NULL when out of memory. */
json_t *cq_merges_json(const cq_tokenizer *t, const int32_t *new_ids);

#endif
