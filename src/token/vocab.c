/* The vocabulary: the pieces' bytes, concatenated, and a trie that finds their ids. */
#include "token/vocab.h"

#include "base/memory.h"

bool cq_vocab_reserve(cq_vocab *vocab, size_t n) {
  return cq_reserve((void **)&vocab->pieces, &vocab->capacity, n, sizeof *vocab->pieces);
}

cq_vocab_result cq_vocab_put(cq_vocab *vocab, cq_trie *index, cq_slice piece, int32_t id) {
  size_t at = (size_t)id;
  if (at >= vocab->n) {
    if (!cq_vocab_reserve(vocab, at + 1)) return CQ_VOCAB_MEMORY;
    memset(vocab->pieces + vocab->n, 0, (at + 1 - vocab->n) * sizeof *vocab->pieces);
    vocab->n = at + 1;
  }
  if (vocab->pieces[at].present) return CQ_VOCAB_TAKEN;
  if (piece.n > UINT32_MAX) return CQ_VOCAB_MEMORY;
  size_t start = vocab->text.n;
  cq_builder_bytes(&vocab->text, piece.data, piece.n);
  if (vocab->text.failed) return CQ_VOCAB_MEMORY;
  if (index && !cq_trie_put(index, piece, id)) return CQ_VOCAB_MEMORY;
  vocab->pieces[at] = (cq_piece_text){start, (uint32_t)piece.n, true};
  return CQ_VOCAB_OK;
}

static cq_slice piece_at(const void *vocab, size_t id) {
  return cq_vocab_piece(vocab, (int32_t)id);
}

bool cq_vocab_index(cq_vocab *vocab) {
  return cq_trie_put_all(&vocab->index, vocab->n, piece_at, vocab);
}

cq_slice cq_vocab_piece(const cq_vocab *vocab, int32_t id) {
  if (id < 0 || (size_t)id >= vocab->n || !vocab->pieces[id].present) return (cq_slice){NULL, 0};
  return (cq_slice){vocab->text.data ? vocab->text.data + vocab->pieces[id].start : "", vocab->pieces[id].n};
}

int32_t cq_vocab_id(const cq_vocab *vocab, cq_slice piece) {
  int32_t id = cq_trie_get(&vocab->index, piece);
  return id >= 0 ? id : cq_trie_get(&vocab->added, piece);
}

void cq_vocab_free(cq_vocab *vocab) {
  cq_builder_free(&vocab->text);
  cq_free(vocab->pieces);
  cq_trie_free(&vocab->index);
  cq_trie_free(&vocab->added);
  *vocab = (cq_vocab){0};
}
