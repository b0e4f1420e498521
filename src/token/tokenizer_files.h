/* Tokenizers from files and documents, and back. */
#ifndef TOKEN_TOKENIZER_FILES_H
#define TOKEN_TOKENIZER_FILES_H

#include "token/tokenizer_parts.h"

/* Reads a tokenizer.json. If the fast reader succeeds, it fills t->vocab and the scores, and the document lacks
 * them. */
cq_status cq_tokenizer_read_json(json_t **out, cq_tokenizer *t, cq_slice text, const char *path, cq_error *error);

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
  CQ_CLASS_GEMMA,
} cq_class_kind;

/* What the files beside a vocabulary say of its special tokens. */
typedef struct cq_naming {
  const json_t *config; /* cq_naming_json */
  const json_t *older;  /* added_tokens.json, {"text": id}; NULL: none */
  cq_class_kind kind;
  bool makes_ends; /* the class, not the document, decides which tokens are around a text */
} cq_naming;

/* Builds a tokenizer from a tokenizer.json document. If document.model has no vocab, t->vocab (and the model's scores
 * or merges) must be filled already. path names the file in errors.
 *   naming  completes the document (cq_tokenizer_put_named); NULL: it is complete */
cq_status cq_tokenizer_assemble(cq_tokenizer *t, json_t *document, const cq_naming *naming, const char *path,
                                cq_error *error);

/* special_tokens_map.json on top of tokenizer_config.json, unless that has an added_tokens_decoder, as transformers reads
 * them; either may be NULL. The result's lists of additional tokens are one, extra_special_tokens. NULL: out of memory. */
json_t *cq_naming_json(const json_t *config, const json_t *specials);
/* Adds to the document's added tokens those that the files number or name, in transformers' order: those with ids, the
 * roles of cq_named_tokens, other keys in "_token", and the additional ones. t->vocab has the model's pieces. */
cq_status cq_tokenizer_put_named(json_t *document, const cq_tokenizer *t, const cq_naming *naming, const char *path,
                                 cq_error *error);

typedef enum cq_named_token { CQ_BOS, CQ_EOS, CQ_UNK, CQ_SEP, CQ_PAD, CQ_CLS, CQ_MASK, CQ_N_NAMED } cq_named_token;
extern const char *const cq_named_tokens[CQ_N_NAMED]; /* their keys */
/* A special token's text, by config or else by the class; NULL: it has none. */
const char *cq_class_token(const json_t *config, cq_class_kind kind, cq_named_token which);

/* The rules for a directory without tokenizer.json whose tokenizer_config.json is config (NULL: none).
 *   first, last  the rules that belong to the file path
 * Errors: CQ_ERR_UNSUPPORTED for a class with other rules (the message has the class and a remedy). */
cq_status cq_tokenizer_class(cq_class_kind *out, const char *directory, const json_t *config, cq_class_kind first,
                             cq_class_kind last, const char *path, cq_error *error);

/* The same for the tokenizer.json of a directory, whose steps some classes replace; CQ_CLASS_NONE: it is read as it is. */
cq_status cq_tokenizer_class_beside_json(cq_class_kind *out, const char *directory, const json_t *config,
                                         cq_error *error);
/* Replaces the steps of a tokenizer.json by those of its class (class_steps.c), which becomes CQ_CLASS_NONE if it is for
 * another kind of model. */
cq_status cq_tokenizer_apply_class(json_t *document, const cq_tokenizer *t, cq_naming *naming, cq_error *error);
/* {"normalizer", "pre_tokenizer"} of a class; rules: the SentencePiece model's, NULL: none. NULL: out of memory. */
json_t *cq_class_steps_json(const json_t *config, cq_class_kind kind, json_t *rules);
json_t *cq_metaspace_json(const char *scheme, bool splits);
/* Sets the document's post_processor: the special tokens around a text. */
cq_status cq_class_put_ends(json_t *document, const cq_tokenizer *t, const json_t *config, cq_class_kind kind,
                            const char *path, cq_error *error);

/* The readers of the other formats: each fills t->vocab and t->document, and assembles the tokenizer. */
cq_status cq_open_vocab_txt(cq_tokenizer *t, const char *directory, const char *path, cq_naming *naming,
                            cq_error *error);
cq_status cq_open_vocab_json(cq_tokenizer *t, const char *directory, const char *path, cq_naming *naming,
                             cq_error *error);
cq_status cq_open_sentencepiece(cq_tokenizer *t, const char *directory, const char *path, cq_naming *naming,
                                cq_error *error);
/* The normalizer and the pre-tokenizer of a BertJapaneseTokenizer's document; specials: its added tokens. Errors:
 * CQ_ERR_UNSUPPORTED for another word tokenizer than MeCab. */
cq_status cq_japanese_step(json_t **out, const json_t *config, const json_t *specials, cq_error *error);
/* A tokenizer from a SentencePiece model's bytes, with the ids and the special tokens of a class. */
cq_status cq_sentencepiece_assemble(cq_tokenizer *t, cq_slice bytes, const cq_naming *naming, const char *path,
                                    cq_error *error);

/* The original file with that name; NULL: the tokenizer was not opened from such a file. */
const cq_origin_file *cq_origin_of_file(const cq_tokenizer *t, const char *name);
/* t->document including the model's vocabulary and merges; NULL: out of memory. */
json_t *cq_complete_document(const cq_tokenizer *t);
/* The merges in order, as pairs of pieces; new_ids: only merges of pieces whose new id is not -1 (NULL: all). Returns
 * NULL when out of memory. */
json_t *cq_merges_json(const cq_tokenizer *t, const int32_t *new_ids);

#endif
