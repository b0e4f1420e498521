/* What the files of this folder share.
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
#ifndef TOKEN_INTERNAL_H
#define TOKEN_INTERNAL_H

#include "base/arena.h"
#include "base/file.h"
#include "base/slice.h"
#include "calque/status.h"
#include "format/json.h"
#include "token/tokenizer.h"
#include "token/trie.h"

/* --- vocabulary: id <-> piece --- */

typedef struct cq_piece_text {
  size_t start;
  uint32_t n;
  bool present; /* false: a hole in the numbering */
} cq_piece_text;

typedef struct cq_vocab {
  cq_builder text; /* all pieces' bytes, one after another */
  cq_piece_text *pieces;
  size_t n, capacity;
  cq_trie index; /* what the model may find: not the added tokens, */
  cq_trie added; /* which stand here */
} cq_vocab;

typedef enum cq_vocab_result { CQ_VOCAB_OK, CQ_VOCAB_TAKEN, CQ_VOCAB_MEMORY } cq_vocab_result;

/* Room for n pieces; false: out of memory. */
bool cq_vocab_reserve(cq_vocab *vocab, size_t n);
/* Gives id a piece; CQ_VOCAB_TAKEN when the id has one. A piece that stands twice is found under the later id. */
cq_vocab_result cq_vocab_put(cq_vocab *vocab, cq_slice piece, int32_t id);
cq_vocab_result cq_vocab_put_added(cq_vocab *vocab, cq_slice piece, int32_t id);
/* The same as cq_vocab_put, but nothing is found before cq_vocab_index, which is several times as fast for all pieces
 * as each by itself (false: out of memory). */
cq_vocab_result cq_vocab_put_later(cq_vocab *vocab, cq_slice piece, int32_t id);
bool cq_vocab_index(cq_vocab *vocab);
cq_slice cq_vocab_piece(const cq_vocab *vocab, int32_t id); /* data NULL: no such id */
int32_t cq_vocab_id(const cq_vocab *vocab, cq_slice piece); /* -1: no such piece */
void cq_vocab_free(cq_vocab *vocab);

/* --- words: what pre-tokenizers split text into --- */

typedef struct cq_word {
  size_t start, n;
  bool at_start; /* begins where the sentence begins */
} cq_word;

typedef struct cq_words {
  cq_builder text;
  cq_word *words;
  size_t n, capacity;
  bool is_stopped; /* a regular expression took too long */
} cq_words;

bool cq_words_put(cq_words *words, size_t start, size_t n, bool at_start);
static inline cq_slice cq_words_text(const cq_words *words, const cq_word *word) {
  return (cq_slice){words->text.data + word->start, word->n};
}

/* --- the stages: a table row each, made from their JSON --- */

/* Where a component stands, for error messages. */
typedef struct cq_place {
  const char *path;  /* file */
  const char *where; /* "normalizer", "pre_tokenizer" */
} cq_place;

/* One step's JSON, and what parsing it needs. */
typedef struct cq_step_parser {
  cq_arena *arena; /* the step's strings go there */
  const json_t *json;
  const cq_place *place;
  cq_error *error;
} cq_step_parser;
typedef cq_status (*cq_step_parse_fn)(void *out, const char *type, const cq_step_parser *step);
/* Calls parse for each step of a component in their order; list_key: where a Sequence has its steps. JSON NULL or null:
 * no step. */
cq_status cq_steps_parse(void *out, const cq_step_parser *component, const char *list_key, cq_step_parse_fn parse);
cq_status cq_step_text(cq_slice *out, const cq_step_parser *step, const char *text, size_t n); /* a copy */
cq_status cq_step_bool(bool *out, const cq_step_parser *step, const char *key);

typedef struct cq_charsmap cq_charsmap;
typedef struct cq_normalizer cq_normalizer;
struct cq_normalizer {
  bool (*run)(cq_builder *out, const cq_normalizer *step, cq_slice text); /* false: out of memory */
  bool flags[4];
  int form;          /* a cq_normal_form */
  int min_chars;     /* of a run that is replaced */
  cq_slice from, to; /* in the tokenizer's arena */
  cq_charsmap *charsmap;
};
typedef struct cq_normalizers {
  cq_normalizer *steps;
  size_t n, capacity;
} cq_normalizers;
cq_status cq_normalizers_parse(cq_normalizers *out, cq_arena *arena, const json_t *json, const cq_place *place,
                               cq_error *error);
void cq_normalizers_free(cq_normalizers *normalizers);
/* Whether the step lower-cases. */
bool cq_normalizer_lowers(const cq_normalizer *step);
/* What may become of a text of n bytes, in bytes: a normalizer that makes more of it is a hostile one. Unicode's forms make
 * 11 bytes of one at most. */
static inline size_t cq_normal_limit(size_t n) {
  return n > SIZE_MAX / 128 ? SIZE_MAX : 64 * n + (64 << 10);
}
enum { CQ_MAX_STEPS = 256 }; /* normalizers, and pre-tokenizers, of a tokenizer */
/* Appends the normalized text; other is scratch. CQ_ERR_MEMORY, or CQ_ERR_LIMIT for more than cq_normal_limit. */
CQ_MUST_USE cq_status cq_normalizers_run(cq_builder *out, cq_builder other[2], const cq_normalizers *normalizers,
                                         cq_slice text);
/* The error of such a status; CQ_ERR_STOPPED becomes CQ_ERR_LIMIT. */
CQ_MUST_USE cq_status cq_fail_encoding(cq_error *error, cq_status status, size_t n);

typedef struct cq_pre_tokenizer cq_pre_tokenizer;
struct cq_pre_tokenizer {
  /* Fills out from in; when `rewrites` is false, out's words refer to in's text. */
  bool (*run)(cq_words *out, const cq_words *in, const cq_pre_tokenizer *step);
  bool rewrites;
  bool flags[4];
  int behavior, scheme;
  cq_slice text;
  struct cq_regex *regex;
};
typedef struct cq_pre_tokenizers {
  cq_pre_tokenizer *steps;
  size_t n, capacity;
  bool byte_level, metaspace; /* has one of them */
} cq_pre_tokenizers;
cq_status cq_pre_tokenizers_parse(cq_pre_tokenizers *out, cq_arena *arena, const json_t *json, const cq_place *place,
                                  cq_error *error);
void cq_pre_tokenizers_free(cq_pre_tokenizers *pre_tokenizers);
/* Splits words[0]; *out is the one of the two that has the result. Errors as of normalizers, and CQ_ERR_STOPPED for a
 * regular expression that takes too long. */
CQ_MUST_USE cq_status cq_pre_tokenizers_run(cq_words **out, cq_words words[2], const cq_pre_tokenizers *pre_tokenizers);

/* A regular expression that our own tokenizers split by: a mark of punctuation or a symbol, with the U+2581 before it. */
#define CQ_SPLIT_PUNCTUATION "\xE2\x96\x81?(?!\xE2\x96\x81)[\\p{P}\\p{S}]"

/* The character that stands for a byte in byte-level vocabularies: itself if printable, else one from U+0100 on. */
uint32_t cq_byte_level_char(unsigned char byte);
/* The byte a character stands for, -1 for none. */
int cq_byte_level_byte(uint32_t c);

/* --- added tokens --- */

typedef struct cq_added_token {
  int32_t id;
  bool special, single_word, lstrip, rstrip, normalized;
} cq_added_token;

typedef struct cq_added {
  cq_added_token *tokens;
  size_t n, capacity;
  cq_trie raw, normalized; /* text -> index in tokens */
  bool first_raw[256], first_normalized[256];
} cq_added;

cq_status cq_added_parse(cq_tokenizer *t, const json_t *list, const char *path, cq_error *error);
/* The next added token in text at or after from: false when there is none. [*start, *end) is what it covers, white
 * space that it swallows included. */
bool cq_added_find(const cq_added_token **token, size_t *start, size_t *end, const cq_added *added, bool normalized,
                   cq_slice text, size_t from);
void cq_added_free(cq_added *added);

/* --- models --- */

typedef struct cq_word_counts cq_word_counts;

typedef struct cq_model {
  const struct cq_model_kind *kind;
  /* all */
  int32_t unk_id;
  /* WordPiece */
  size_t max_word_chars;
  uint32_t continuation; /* the trie's node behind the prefix; CQ_TRIE_NONE: no such pieces */
  cq_slice prefix;
  /* Unigram */
  double *scores;
  double unk_score;
  bool fuse_unk, byte_fallback;
  int32_t byte_ids[256]; /* <0x00> ... */
  /* BPE */
  struct cq_merges *merges;
  bool ignore_merges, byte_level;
  cq_slice suffix;
  /* words in training */
  cq_word_counts *counts;
} cq_model;

/* Which pieces may not be used at which places of a text. {0}: all may. */
typedef struct cq_piece_dropout {
  uint64_t share; /* of 2^53 */
  uint64_t key;
} cq_piece_dropout;

typedef struct cq_model_kind {
  const char *name; /* as in tokenizer.json */
  cq_status (*parse)(cq_tokenizer *t, const json_t *model, const char *path, cq_error *error);
  bool (*encode)(cq_ids *out, const cq_tokenizer *t, cq_slice word, void **scratch, size_t *scratch_size,
                 const cq_piece_dropout *dropout);
  /* The same, but all pieces that bear on how the word is split, in no order; NULL: encode's. */
  bool (*trace)(cq_ids *out, const cq_tokenizer *t, cq_slice word, void **scratch, size_t *scratch_size,
                const cq_piece_dropout *dropout);
} cq_model_kind;

/* Fills byte_ids with the ids of "<0x00>" to "<0xFF>". */
void cq_find_byte_pieces(cq_model *model, const cq_vocab *vocab);

extern const cq_model_kind cq_wordpiece_kind, cq_unigram_kind, cq_bpe_kind, cq_word_level_kind;

/* BPE's merges, in the order they were learned. */
typedef struct cq_merges cq_merges;
cq_merges *cq_merges_new(size_t n); /* room for n; NULL: out of memory */
void cq_merges_put(cq_merges *merges, int32_t left, int32_t right, int32_t merged);
/* The same by pieces; CQ_VOCAB_TAKEN when one of the three is not in the vocabulary. */
cq_vocab_result cq_merges_add(cq_tokenizer *t, cq_slice left, cq_slice right);
void cq_merges_free(cq_merges *merges);
typedef struct cq_merge_view {
  int32_t left, right, merged;
  uint32_t rank;
} cq_merge_view;
/* All of them, in no order; cq_free. NULL: out of memory. */
cq_merge_view *cq_merges_list(const cq_merges *merges, size_t *n);

bool cq_ids_put(cq_ids *ids, int32_t id);

/* --- the tokenizer --- */

/* A file of the tokenizer's, to be saved as it is: mapped where it came from a directory (so that it takes no memory,
 * and stays what it was when the directory is replaced), owned where it was made here. */
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

/* The file that a tokenizer was opened from; NULL: there was none of that name. */
const cq_origin_file *cq_origin_of_file(const cq_tokenizer *t, const char *name);
/* t->document with the model's vocabulary and merges put in; NULL: out of memory. */
json_t *cq_complete_document(const cq_tokenizer *t);
/* The merges in order, as pairs of pieces; new_ids: those between pieces whose new id is not -1 (NULL: all). NULL: out of
 * memory. */
json_t *cq_merges_json(const cq_tokenizer *t, const int32_t *new_ids);

/* Sets those switches of a tokenizer.json that its class in tokenizer_config.json sets anew. */
cq_status cq_tokenizer_apply_class(json_t *document, const json_t *config, cq_error *error);

/* Reads a tokenizer.json: t->vocab and the scores are filled where the fast reader has read them, and left out of the
 * document. */
cq_status cq_tokenizer_read_json(json_t **out, cq_tokenizer *t, cq_slice text, const char *path, cq_error *error);

/* Builds a tokenizer from a tokenizer.json document. Where document.model has no vocab, t->vocab (and the model's
 * scores or merges) are filled already. path names the file in errors. */
cq_status cq_tokenizer_assemble(cq_tokenizer *t, const json_t *document, const char *path, cq_error *error);

/* The same from t->document, with what added_tokens.json and config's added_tokens_decoder add to its added tokens. */
cq_status cq_tokenizer_assemble_document(cq_tokenizer *t, const json_t *config, const char *path, cq_error *error);

cq_tokenizer *cq_tokenizer_new(void); /* NULL: out of memory */
/* Fills t->info once assembled; config and specials may be NULL. */
cq_status cq_tokenizer_finish(cq_tokenizer *t, const json_t *config, const json_t *specials, const char *config_path,
                              cq_error *error);

/* Fills t->vocab from {"piece": id, ...}. */
cq_status cq_vocab_parse(cq_tokenizer *t, const json_t *vocab, const char *path, cq_error *error);

/* Prepares cq_tokenizer_piece; false: out of memory. */
bool cq_pieces_decode(cq_tokenizer *t);

/* The readers of the other formats: each fills t->vocab and t->document and assembles. */
cq_status cq_open_vocab_txt(cq_tokenizer *t, const char *path, const json_t *config, const json_t *specials,
                            cq_error *error);
cq_status cq_open_vocab_json(cq_tokenizer *t, const char *path, const char *merges_path, const json_t *config,
                             const json_t *specials, cq_error *error);
cq_status cq_open_sentencepiece(cq_tokenizer *t, const char *directory, const char *path, const json_t *config,
                                cq_error *error);
/* A tokenizer from a SentencePiece model's bytes. xlmr: XLM-R's ids and special tokens; else class says what stands
 * around a sentence. */
cq_status cq_sentencepiece_assemble(cq_tokenizer *t, cq_slice bytes, bool xlmr, const char *class, const json_t *config,
                                    const char *path, cq_error *error);

/* A special token's text ("x" or {"content": "x"}) from tokenizer_config.json, special_tokens_map.json, or fallback. */
const char *cq_special_text(const json_t *config, const json_t *specials, const char *key, const char *fallback);

#endif
