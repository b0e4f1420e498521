/* The parts of a tokenizer: one per stage, each with its own header.
 *
 *   text
 *    | added.c            takes some added tokens out of the original text
 *    | normalizer.c       rewrites the text between them
 *    | added.c            takes the other added tokens out of the rewritten text
 *    | pre_tokenizer.c    splits the rest into words
 *    v wordpiece.c, unigram.c, bpe.c, word_level.c
 *   ids, special tokens around them
 *
 * The stages and their names are those of the tokenizer.json format. Every other format (vocab.txt, a SentencePiece
 * model, vocab.json + merges.txt) is first converted to such a document and assembled by the same code, so a directory
 * gives the same tokenizer whichever of its files is read. */
#ifndef TOKEN_TOKENIZER_PARTS_H
#define TOKEN_TOKENIZER_PARTS_H

#include "base/file.h"
#include "token/added.h"
#include "token/normalizer.h"
#include "token/pre_tokenizer.h"
#include "token/word_model.h"

/* A file of the tokenizer, saved unchanged: mapped if it came from a directory (so it takes no memory, and stays valid
 * if the directory is replaced), owned if it was made here. */
typedef struct cq_origin_file {
  char *name;
  cq_slice bytes;
  cq_mapping mapping; /* data NULL: bytes are owned */
} cq_origin_file;

/* Special tokens at one place of a template. */
typedef struct cq_special_ids {
  int32_t *ids;
  size_t n, capacity;
} cq_special_ids;

struct cq_tokenizer {
  cq_tokenizer_info info;
  bool lowercase_first;
  cq_vocab vocab;
  cq_added added;
  cq_normalizers normalizers;
  cq_pre_tokenizers pre_tokenizers;
  cq_model model;
  size_t n_model_pieces;   /* ids below this are the model's own, all others were added */
  size_t n_past_table;     /* ids from vocab.n on that no text may use */
  int32_t *before, *after; /* special tokens around a sentence; in the arena */
  size_t n_before, n_after;
  cq_special_ids pair[3];   /* the same before, between and after two texts; in the arena */
  int32_t second_type;      /* token type of the second text and what follows it, 0 or 1; -1: no template for pairs */
  json_t *document;         /* the tokenizer.json (or its equivalent) without model.vocab and merges: for saving */
  json_t *added_list;       /* the added tokens, as in the document */
  const char *config_class; /* tokenizer_class for a new tokenizer_config.json */
  int class_kind;           /* a cq_class_kind, whose steps replace those of a tokenizer.json */
  cq_builder decoded;       /* byte-level pieces as text, concatenated, and the end of each */
  size_t *decoded_ends, decoded_capacity;
  cq_origin_file *files; /* what the tokenizer was opened from */
  size_t n_files, file_capacity;
  cq_arena arena;
};

cq_tokenizer *cq_tokenizer_new(void); /* NULL: out of memory */
/* Fills t->info after assembly; config may be NULL. */
cq_status cq_tokenizer_finish(cq_tokenizer *t, const json_t *config, const char *config_path, cq_error *error);

/* Limits ids: a few may be left to added tokens, but large gaps are refused. */
int64_t cq_id_limit(size_t n_pieces);

/* A special token's text ("x" or {"content": "x"}) from config, or fallback; NULL if config has null. */
const char *cq_special_text(const json_t *config, const char *key, const char *fallback);

/* Prepares cq_tokenizer_piece; false: out of memory. */
bool cq_pieces_decode(cq_tokenizer *t);

#endif
