#include "corpus/key.h"

#include "base/checksum.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "corpus/rows.h"
#include "text/unicode.h"

static bool is_key_character(uint32_t c) {
  return cq_char_is_letter(c) || cq_char_is_number(c) || cq_char_is_mark(c);
}

/* Whether NFKC has nothing to do with a character, whatever stands beside it in a text of such, or turns it into what is
 * left out like itself: the letters, signs and punctuation of most text in Latin, Greek, Russian, Chinese, Japanese and
 * Korean. */
static bool is_plain(uint32_t c) {
  static const uint16_t ranges[][2] = {
      {0x00, 0xa7},     {0xa9, 0xa9},     {0xab, 0xae},     {0xb0, 0xb1},     {0xb6, 0xb7},     {0xbb, 0xbb},
      {0xbf, 0x131},    {0x134, 0x13e},   {0x141, 0x148},   {0x14a, 0x17e},   {0x386, 0x386},   {0x388, 0x3ce},
      {0x400, 0x481},   {0x2010, 0x2016}, {0x2018, 0x2027}, {0x20ac, 0x20ac}, {0x3001, 0x3002}, {0x3041, 0x3096},
      {0x30a1, 0x30fe}, {0x4e00, 0x9fff}, {0xac00, 0xd7a3}, {0xff01, 0xff01}, {0xff0c, 0xff0c}, {0xff1f, 0xff1f}};
  if (c < 0xa8) return true;
  for (size_t i = 1; i < sizeof ranges / sizeof *ranges && c >= ranges[i][0]; i++)
    if (c <= ranges[i][1]) return true;
  return false;
}

/* Text of plain characters; false: it is not. */
static bool add_plain(cq_builder *out, cq_slice text) {
  enum { RUN = 256 };
  const size_t before = out->n;
  for (size_t i = 0; i < text.n;) {
    char run[RUN]; /* of ASCII: a builder's append is dear */
    size_t n_run = 0;
    for (; i < text.n && n_run < RUN && (unsigned char)text.data[i] < 0x80; i++) {
      const char c = text.data[i], lower = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
      run[n_run] = lower;
      n_run += (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
    }
    if (n_run) cq_builder_bytes(out, run, n_run);
    if (i == text.n || (unsigned char)text.data[i] < 0x80) continue;
    uint32_t c, lower[2];
    i += cq_utf8_decode(&c, text.data + i, text.n - i);
    if (!is_plain(c)) {
      if (out->data) out->data[before] = '\0';
      out->n = before;
      return false;
    }
    const int n = cq_char_lower(lower, c);
    for (int k = 0; k < n; k++)
      if (is_key_character(lower[k])) cq_builder_code(out, lower[k]);
  }
  return true;
}

static void add_any(cq_builder *out, cq_slice text) {
  cq_builder form = {0}, lower = {0};
  cq_text_normal_form(&form, text, CQ_NFKC);
  cq_text_lower(&lower, (cq_slice){form.data, form.n});
  for (size_t i = 0; i < lower.n;) {
    uint32_t c;
    const size_t n = cq_utf8_decode(&c, lower.data + i, lower.n - i);
    if (is_key_character(c)) cq_builder_bytes(out, lower.data + i, n);
    i += n;
  }
  out->failed |= form.failed || lower.failed;
  cq_builder_free(&form);
  cq_builder_free(&lower);
}

void cq_key_text(cq_builder *out, cq_slice sentence, cq_corpus_match match) {
  const size_t before = out->n;
  if (match == CQ_CORPUS_NORMALISED && !add_plain(out, sentence)) add_any(out, sentence);
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
