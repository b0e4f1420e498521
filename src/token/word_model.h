/* The models, which split a word into pieces: one file and one row each. */
#ifndef TOKEN_WORD_MODEL_H
#define TOKEN_WORD_MODEL_H

#include "base/memory.h"
#include "format/json.h"
#include "token/tokenizer.h"
#include "token/vocab.h"

typedef struct cq_word_counts cq_word_counts;

typedef struct cq_model {
  const struct cq_model_kind *kind;
  /* all */
  int32_t unk_id;
  /* WordPiece */
  size_t max_word_chars;
  uint32_t continuation; /* the trie's node after the prefix; CQ_TRIE_NONE: there are no such pieces */
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

/* Which pieces may not be used at which positions of a text. {0}: all may. */
typedef struct cq_piece_dropout {
  uint64_t share; /* of 2^53 */
  uint64_t key;
} cq_piece_dropout;

/* What a thread's calls work in. */
typedef struct cq_model_memory {
  void *scratch;
  size_t scratch_size;
  cq_piece_dropout dropout;
} cq_model_memory;

typedef struct cq_model_kind {
  const char *name; /* as in tokenizer.json */
  cq_status (*parse)(cq_tokenizer *t, const json_t *model, const char *path, cq_error *error);
  bool (*encode)(cq_ids *out, const cq_tokenizer *t, cq_slice word, cq_model_memory *memory);
  /* Like encode, but gives all pieces that affect how the word is split, in any order; NULL: use encode. */
  bool (*trace)(cq_ids *out, const cq_tokenizer *t, cq_slice word, cq_model_memory *memory);
} cq_model_kind;

/* Fills byte_ids with the ids of "<0x00>" to "<0xFF>". */
void cq_find_byte_pieces(cq_model *model, const cq_vocab *vocab);

extern const cq_model_kind cq_wordpiece_kind, cq_unigram_kind, cq_bpe_kind, cq_word_level_kind;

/* BPE's merges, in the order they were learned. */
typedef struct cq_merges cq_merges;
cq_merges *cq_merges_new(size_t n); /* room for n; NULL: out of memory */
void cq_merges_put(cq_merges *merges, int32_t left, int32_t right, int32_t merged);
/* The same with pieces; CQ_VOCAB_TAKEN if one of the three is not in the vocabulary. */
cq_vocab_result cq_merges_add(cq_tokenizer *t, cq_slice left, cq_slice right);
void cq_merges_free(cq_merges *merges);
typedef struct cq_merge_view {
  int32_t left, right, merged;
  uint32_t rank;
} cq_merge_view;
/* All merges, in any order; release with cq_free. NULL: out of memory. */
cq_merge_view *cq_merges_list(const cq_merges *merges, size_t *n);

static inline bool cq_ids_put(cq_ids *ids, int32_t id) {
  if (ids->n >= ids->capacity && !cq_reserve((void **)&ids->ids, &ids->capacity, ids->n + 1, sizeof *ids->ids))
    return false;
  ids->ids[ids->n++] = id;
  return true;
}

#endif
