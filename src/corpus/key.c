#include "corpus/key.h"

#include "base/checksum.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/unicode.h"

static bool is_ascii(cq_slice text) {
  unsigned char all = 0;
  for (size_t i = 0; i < text.n; i++) all |= (unsigned char)text.data[i];
  return all < 0x80;
}

static void add_ascii(cq_builder *out, cq_slice text) {
  for (size_t i = 0; i < text.n; i++) {
    const char c = text.data[i];
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      cq_builder_char(out, c);
    else if (c >= 'A' && c <= 'Z')
      cq_builder_char(out, (char)(c - 'A' + 'a'));
  }
}

static void add_any(cq_builder *out, cq_slice text) {
  cq_builder form = {0}, lower = {0};
  cq_text_normal_form(&form, text, CQ_NFKC);
  cq_text_lower(&lower, (cq_slice){form.data, form.n});
  for (size_t i = 0; i < lower.n;) {
    uint32_t c;
    const size_t n = cq_utf8_decode(&c, lower.data + i, lower.n - i);
    if (cq_char_is_letter(c) || cq_char_is_number(c) || cq_char_is_mark(c)) cq_builder_bytes(out, lower.data + i, n);
    i += n;
  }
  out->failed |= form.failed || lower.failed;
  cq_builder_free(&form);
  cq_builder_free(&lower);
}

void cq_key_text(cq_builder *out, cq_slice sentence, cq_corpus_match match) {
  const size_t before = out->n;
  if (match == CQ_CORPUS_NORMALISED) {
    if (is_ascii(sentence))
      add_ascii(out, sentence);
    else
      add_any(out, sentence);
  }
  if (out->n == before) cq_builder_bytes(out, sentence.data, sentence.n);
}

bool cq_key_of(uint64_t *out, cq_slice sentence, cq_corpus_match match, cq_builder *room) {
  if (match == CQ_CORPUS_EXACT) {
    *out = cq_checksum(sentence.data, sentence.n, 0);
    return true;
  }
  cq_builder_clear(room);
  cq_key_text(room, sentence, match);
  *out = cq_checksum(room->data, room->n, 0);
  return !room->failed;
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
