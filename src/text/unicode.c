/* Transformations of text. Every one walks the characters once and appends to the output; runs of ASCII, most of most
 * texts, never reach the property tables. */
#include "text/unicode.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <utf8proc.h>

/* Characters instead of bytes, for what needs to look back. */
typedef struct codes {
  int32_t *data;
  size_t n, capacity;
  bool failed;
} codes;

static void codes_put(codes *c, int32_t code) {
  if (!cq_reserve((void **)&c->data, &c->capacity, c->n + 1, sizeof *c->data)) {
    c->failed = true;
    return;
  }
  c->data[c->n++] = code;
}

/* cq_builder_bytes with the common case inline. */
static inline void put(cq_builder *b, const char *bytes, size_t n) {
  if (n < b->capacity && b->n < b->capacity - n) {
    memcpy(b->data + b->n, bytes, n);
    b->n += n;
    b->data[b->n] = 0;
  } else {
    cq_builder_bytes(b, bytes, n);
  }
}

static inline void put_code(cq_builder *b, uint32_t c) {
  char bytes[4];
  put(b, bytes, cq_utf8_encode(bytes, c));
}

void cq_builder_code(cq_builder *b, uint32_t c) {
  put_code(b, c);
}

static bool is_ascii(cq_slice text) {
  unsigned char any = 0;
  for (size_t i = 0; i < text.n; i++) any |= (unsigned char)text.data[i];
  return any < 0x80;
}

/* The full decomposition of one character; at most 18 characters (U+FDFA). */
static size_t decompose(int32_t out[32], uint32_t c, bool compatible) {
  int last = 0;
  utf8proc_option_t options = UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
  utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)c, out, 32, options, &last);
  if (n > 0 && n <= 32) return (size_t)n;
  out[0] = (int32_t)c;
  return 1;
}

static int combining_class(int32_t c) {
  return c < 0x300 ? 0 : utf8proc_get_property(c)->combining_class;
}

/* Appends a decomposed character in canonical order: a mark moves left past marks of a higher class. */
static void put_ordered(codes *out, int32_t c) {
  codes_put(out, c);
  int class = combining_class(c);
  if (class == 0 || out->failed) return;
  size_t i = out->n - 1;
  while (i > 0 && combining_class(out->data[i - 1]) > class) {
    out->data[i] = out->data[i - 1];
    i--;
  }
  out->data[i] = c;
}

void cq_text_normal_form(cq_builder *out, cq_slice text, cq_normal_form form) {
  if (is_ascii(text)) {
    put(out, text.data, text.n);
    return;
  }
  bool compatible = form == CQ_NFKC || form == CQ_NFKD;
  codes buffer = {0};
  for (size_t i = 0; i < text.n && !buffer.failed;) {
    uint32_t c;
    i += cq_utf8_decode(&c, text.data + i, text.n - i);
    if (c < 0x80) {
      codes_put(&buffer, (int32_t)c);
      continue;
    }
    int32_t parts[32];
    size_t n = decompose(parts, c, compatible);
    for (size_t k = 0; k < n; k++) put_ordered(&buffer, parts[k]);
  }
  utf8proc_ssize_t n = (utf8proc_ssize_t)buffer.n;
  if (!buffer.failed && (form == CQ_NFC || form == CQ_NFKC))
    n = utf8proc_normalize_utf32(buffer.data, n, UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  if (buffer.failed || n < 0) {
    out->failed = true;
  } else if (buffer.data) {
    for (utf8proc_ssize_t i = 0; i < n; i++) put_code(out, (uint32_t)buffer.data[i]);
  }
  cq_free(buffer.data);
}

static inline void put_lower(cq_builder *out, uint32_t c) {
  uint32_t lower[2];
  int n = cq_char_lower(lower, c);
  for (int k = 0; k < n; k++) put_code(out, lower[k]);
}

void cq_text_lower(cq_builder *out, cq_slice text) {
  for (size_t i = 0; i < text.n;) {
    uint32_t c;
    i += cq_utf8_decode(&c, text.data + i, text.n - i);
    put_lower(out, c);
  }
}

void cq_text_fold(cq_builder *out, cq_slice text) {
  size_t n_ascii = 0;
  while (n_ascii < text.n && (unsigned char)text.data[n_ascii] < 0x80) n_ascii++;
  if (n_ascii == text.n) {
    cq_text_lower(out, text);
    return;
  }
  cq_builder form = {0}, folded = {0};
  cq_text_normal_form(&form, text, CQ_NFKC);
  for (size_t i = 0; i < form.n;) {
    uint32_t c, other[3];
    i += cq_utf8_decode(&c, form.data + i, form.n - i);
    const int n = cq_char_fold(other, c);
    for (int k = 0; k < n; k++) put_code(&folded, other[k]);
  }
  cq_text_normal_form(out, (cq_slice){folded.data, folded.n}, CQ_NFKC);
  out->failed |= form.failed || folded.failed;
  cq_builder_free(&form);
  cq_builder_free(&folded);
}

static bool is_cased(uint32_t c) {
  utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
  return k == UTF8PROC_CATEGORY_LU || k == UTF8PROC_CATEGORY_LL || k == UTF8PROC_CATEGORY_LT;
}

/* Characters that do not end a word when the case of its neighbours is looked at. */
static bool is_case_ignorable(uint32_t c) {
  switch (utf8proc_category((utf8proc_int32_t)c)) {
  case UTF8PROC_CATEGORY_MN:
  case UTF8PROC_CATEGORY_ME:
  case UTF8PROC_CATEGORY_CF:
  case UTF8PROC_CATEGORY_LM:
  case UTF8PROC_CATEGORY_SK: return true;
  default:
    return c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x387 || c == 0x2018 || c == 0x2019 || c == 0x2024 ||
           c == 0x2027;
  }
}

/* Whether the sigma at [at, at + 2) stands behind a letter and before none. */
static bool is_final_sigma(cq_slice text, size_t at) {
  bool behind = false;
  for (size_t i = at; i > 0;) {
    i--;
    while (i > 0 && ((unsigned char)text.data[i] & 0xC0) == 0x80) i--;
    uint32_t c;
    cq_utf8_decode(&c, text.data + i, text.n - i);
    if (is_case_ignorable(c)) continue;
    behind = is_cased(c);
    break;
  }
  if (!behind) return false;
  for (size_t i = at + 2; i < text.n;) {
    uint32_t c;
    i += cq_utf8_decode(&c, text.data + i, text.n - i);
    if (!is_case_ignorable(c)) return !is_cased(c);
  }
  return true;
}

void cq_text_lower_in_context(cq_builder *out, cq_slice text) {
  for (size_t i = 0; i < text.n;) {
    uint32_t c;
    size_t n = cq_utf8_decode(&c, text.data + i, text.n - i);
    if (c == 0x3A3)
      put_code(out, is_final_sigma(text, i) ? 0x3C2 : 0x3C3);
    else
      put_lower(out, c);
    i += n;
  }
}

void cq_text_strip_marks(cq_builder *out, cq_slice text) {
  for (size_t i = 0; i < text.n;) {
    uint32_t c;
    size_t n = cq_utf8_decode(&c, text.data + i, text.n - i);
    if (!cq_char_is_mark(c)) put(out, text.data + i, n);
    i += n;
  }
}

/* One cleaned character: decomposed, without nonspacing marks, lower-cased. Marks that stay (spacing ones) wait in
 * `marks` until the next starter, so that they come out in canonical order. */
static void bert_put(cq_builder *out, codes *marks, uint32_t c, const cq_bert_rules *rules) {
  int32_t parts[32];
  size_t n = decompose(parts, c, false);
  for (size_t k = 0; k < n; k++) {
    if (combining_class(parts[k]) == 0) {
      for (size_t m = 0; m < marks->n; m++) put_code(out, (uint32_t)marks->data[m]);
      marks->n = 0;
      if (cq_char_is_bert_accent((uint32_t)parts[k])) continue;
      if (rules->lowercase)
        put_lower(out, (uint32_t)parts[k]);
      else
        put_code(out, (uint32_t)parts[k]);
    } else if (!cq_char_is_bert_accent((uint32_t)parts[k])) {
      put_ordered(marks, parts[k]);
    }
  }
}

void cq_text_bert(cq_builder *out, cq_slice text, const cq_bert_rules *rules) {
  codes marks = {0};
  for (size_t i = 0; i < text.n;) {
    unsigned char byte = (unsigned char)text.data[i];
    if (byte < 0x80) {
      i++;
      if (marks.n) {
        for (size_t m = 0; m < marks.n; m++) put_code(out, (uint32_t)marks.data[m]);
        marks.n = 0;
      }
      if (rules->clean && (byte < 0x20 || byte == 0x7F)) {
        if (byte != '\t' && byte != '\n' && byte != '\r') continue;
        byte = ' ';
      }
      if (rules->lowercase && byte >= 'A' && byte <= 'Z') byte = (unsigned char)(byte + 32);
      char c = (char)byte;
      put(out, &c, 1);
      continue;
    }
    uint32_t c;
    i += cq_utf8_decode(&c, text.data + i, text.n - i);
    if (rules->clean) {
      if (c == 0xFFFD || cq_char_is_bert_control(c)) continue;
      if (cq_char_is_whitespace(c)) c = ' ';
    }
    bool spaced = rules->space_cjk && cq_char_is_cjk(c);
    if (spaced) {
      for (size_t m = 0; m < marks.n; m++) put_code(out, (uint32_t)marks.data[m]);
      marks.n = 0;
      put(out, " ", 1);
    }
    if (rules->strip_accents)
      bert_put(out, &marks, c, rules);
    else if (rules->lowercase)
      put_lower(out, c);
    else
      put_code(out, c);
    if (spaced) put(out, " ", 1);
  }
  for (size_t m = 0; m < marks.n; m++) put_code(out, (uint32_t)marks.data[m]);
  if (marks.failed) out->failed = true;
  cq_free(marks.data);
}

size_t cq_grapheme_length(const char *text, size_t n) {
  uint32_t c, next;
  size_t length = cq_utf8_decode(&c, text, n);
  utf8proc_int32_t state = 0;
  while (length < n) {
    size_t step = cq_utf8_decode(&next, text + length, n - length);
    if (c < 0x80 && next < 0x80 && !(c == '\r' && next == '\n')) break;
    if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)c, (utf8proc_int32_t)next, &state)) break;
    c = next;
    length += step;
  }
  return length;
}
