/* The vocabulary: id <-> piece. */
#ifndef TOKEN_VOCAB_H
#define TOKEN_VOCAB_H

#include "token/trie.h"

typedef struct cq_piece_text {
  size_t start;
  uint32_t n;
  bool present; /* false: a hole in the numbering */
} cq_piece_text;

typedef struct cq_vocab {
  cq_builder text; /* all pieces' bytes, one after another */
  cq_piece_text *pieces;
  size_t n, capacity;
  cq_trie index; /* pieces that the model may match, without added tokens */
  cq_trie added; /* the added tokens */
} cq_vocab;

typedef enum cq_vocab_result { CQ_VOCAB_OK, CQ_VOCAB_TAKEN, CQ_VOCAB_MEMORY } cq_vocab_result;

/* Room for n pieces; false: out of memory. */
bool cq_vocab_reserve(cq_vocab *vocab, size_t n);
/* Sets id's piece; CQ_VOCAB_TAKEN if the id already has one. index: the vocabulary's index or added, where a repeated
 * piece is found under its later id; NULL: found only after cq_vocab_index. */
cq_vocab_result cq_vocab_put(cq_vocab *vocab, cq_trie *index, cq_slice piece, int32_t id);
/* Indexes all pieces, several times faster than one by one; false: out of memory. */
bool cq_vocab_index(cq_vocab *vocab);
cq_slice cq_vocab_piece(const cq_vocab *vocab, int32_t id); /* data NULL: no such id */
int32_t cq_vocab_id(const cq_vocab *vocab, cq_slice piece); /* -1: no such piece */
void cq_vocab_free(cq_vocab *vocab);

#endif
