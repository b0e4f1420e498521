#include "corpus/key.h"

#include "base/hash.h"
#include "base/memory.h"
#include "corpus/rows.h"
#include "text/letters.h"

void cq_key_text(cq_builder *out, cq_slice sentence, cq_corpus_match match) {
  const size_t before = out->n;
  if (match == CQ_CORPUS_NORMALISED) cq_text_letters(out, sentence, true);
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
  size_t ends[CQ_ROW_MOST];
  *out = false;
  cq_builder_clear(room);
  for (size_t i = 0; i < n; i++) {
    cq_key_text(room, sentences[i], CQ_CORPUS_NORMALISED);
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

/* --- sets --- */

static size_t place_of(const uint64_t *slots, size_t capacity, uint64_t key) {
  size_t i = (size_t)(key & (capacity - 1));
  while (slots[i] != 0 && slots[i] != key) i = (i + 1) & (capacity - 1);
  return i;
}

static bool grow(cq_key_set *s) {
  const size_t capacity = s->capacity ? 2 * s->capacity : 1024;
  uint64_t *slots = cq_alloc_array_zeroed(capacity, sizeof *slots);
  if (!slots) return false;
  for (size_t i = 0; i < s->capacity; i++)
    if (s->slots[i] != 0) slots[place_of(slots, capacity, s->slots[i])] = s->slots[i];
  cq_free(s->slots);
  s->slots = slots, s->capacity = capacity;
  return true;
}

bool cq_key_set_put(bool *is_new, cq_key_set *s, uint64_t key) {
  if (key == 0) {
    *is_new = !s->has_zero;
    s->has_zero = true;
    return true;
  }
  if (4 * (s->n + 1) > 3 * s->capacity && !grow(s)) return false;
  const size_t i = place_of(s->slots, s->capacity, key);
  *is_new = s->slots[i] == 0;
  s->slots[i] = key;
  s->n += *is_new;
  return true;
}

bool cq_key_set_has(const cq_key_set *s, uint64_t key) {
  if (key == 0) return s->has_zero;
  return s->capacity > 0 && s->slots[place_of(s->slots, s->capacity, key)] == key;
}

void cq_key_set_free(cq_key_set *s) {
  cq_free(s->slots);
  *s = (cq_key_set){0};
}
