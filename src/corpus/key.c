/* The key that determines whether two sentences count as the same. See key.h. */
#include "corpus/key.h"

#include "base/hash.h"
#include "corpus/rows.h"
#include "text/letters.h"

void cq_key_text(cq_builder *out, cq_slice sentence, cq_corpus_match match) {
  const size_t before = out->n;
  if (match == CQ_CORPUS_NORMALIZED) cq_text_letters(out, sentence, true);
  if (out->n == before) cq_builder_bytes(out, sentence.data, sentence.n);
}

bool cq_key_of(uint64_t *out, cq_slice sentence, cq_corpus_match match, cq_builder *room) {
  if (match == CQ_CORPUS_EXACT) {
    *out = cq_hash64(sentence.data, sentence.n, 0);
    return true;
  }
  cq_builder_clear(room);
  cq_key_text(room, sentence, match);
  *out = cq_hash64(room->data, room->n, 0);
  return !room->failed;
}

bool cq_key_some_equal(bool *out, const cq_slice *sentences, size_t n, cq_builder *room) {
  size_t ends[CQ_ROW_MAX];
  *out = false;
  cq_builder_clear(room);
  for (size_t i = 0; i < n; i++) {
    cq_key_text(room, sentences[i], CQ_CORPUS_NORMALIZED);
    ends[i] = room->n;
  }
  if (room->failed) return false;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < i && !*out; k++) {
      const size_t begins[2] = {i ? ends[i - 1] : 0, k ? ends[k - 1] : 0};
      const cq_slice a = {room->data + begins[0], ends[i] - begins[0]},
                     b = {room->data + begins[1], ends[k] - begins[1]};
      *out = a.n > 0 && cq_slice_equal(a, b);
    }
  return true;
}
