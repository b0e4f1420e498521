/* What a tokenizer is made of: a part for each stage, in a header of its own.
 *
 *   text
 *    | added.c            tokens that are cut out of the text as it is
 *    | normalizer.c       the pieces between them, rewritten
 *    | added.c            tokens that are cut out of the rewritten text
 *    | pre_tokenizer.c    what is left, split into words
 *    v wordpiece.c, unigram.c, bpe.c, word_level.c
 *   ids, special tokens around them
 *
 * The stages and their names are those of the tokenizer.json format. Every other format (vocab.txt, a SentencePiece
 * model, vocab.json + merges.txt) is turned into such a document first and assembled by the same code, so that one
 * directory gives one tokenizer whichever of its files is read. */
#ifndef TOKEN_TOKENIZER_PARTS_H
#define TOKEN_TOKENIZER_PARTS_H

#include "base/file.h"
#include "token/added.h"
#include "token/normalizer.h"
#include "token/pre_tokenizer.h"
#include "token/word_model.h"

/* A file of the tokenizer, saved unchanged: mapped if it came from a directory (so it takes no memory, and survives a
 * replacement of the directory), owned if it was made here. */
typedef struct cq_origin_file {
  char *name;
  cq_slice bytes;
  cq_mapping mapping; /* data NULL: bytes are owned */
} cq_origin_file;

struct cq_tokenizer {
  cq_tokenizer_info info;
  bool lowercase_first;
  cq_vocab vocab;
  cq_added added;
  cq_normalizers normalizers;
  cq_pre_tokenizers pre_tokenizers;
  cq_model model;
  size_t n_model_pieces;   /* ids below this are the model's own, the others were added */
  int32_t *before, *after; /* special tokens around a sentence; in the arena */
  size_t n_before, n_after;
  json_t *document;         /* the tokenizer.json without model.vocab and merges, where none was read: for saving */
  json_t *legacy_added;     /* added_tokens.json, {"text": id}; NULL: none */
  const char *config_class; /* tokenizer_class for a new tokenizer_config.json */
  cq_builder decoded;       /* byte-level pieces as text, one after another, and where each ends */
  size_t *decoded_ends, decoded_capacity;
  cq_origin_file *files; /* what the tokenizer was opened from */
  size_t n_files, file_capacity;
  cq_arena arena;
};

cq_tokenizer *cq_tokenizer_new(void); /* NULL: out of memory */
/* Fills t->info once assembled; config and specials may be NULL. */
cq_status cq_tokenizer_finish(cq_tokenizer *t, const json_t *config, const json_t *specials, const char *config_path,
                              cq_error *error);

/* A special token's text ("x" or {"content": "x"}) from tokenizer_config.json, special_tokens_map.json, or fallback. */
const char *cq_special_text(const json_t *config, const json_t *specials, const char *key, const char *fallback);

/* Prepares cq_tokenizer_piece; false: out of memory. */
bool cq_pieces_decode(cq_tokenizer *t);

#endif
