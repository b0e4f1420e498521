/* Transformations of text. Most characters of most text stay the same: runs of these are copied, ASCII without a
 * look-up in the property tables. */
#include "text/unicode.h"

#include <unicode/uchar.h>

/* cq_builder_bytes with the common case inline. */
static inline void put_bytes(cq_builder *b, const char *bytes, size_t n) {
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
  put_bytes(b, bytes, cq_utf8_encode(bytes, c));
}

/* --- character by character --- */

/* Maps a character to *n_out characters, at most 3; out begins as the character itself. Returns false if it stays. */
typedef bool (*change_fn)(uint32_t out[3], int *n_out, uint32_t c, const void *context);

/* ASCII's capitals become small letters, eight bytes at a time; bytes of other characters stay. */
static inline void lower_ascii(char *text, size_t n) {
  const uint64_t ones = 0x0101010101010101u;
  size_t i = 0;
  for (uint64_t eight; n - i >= sizeof eight; i += sizeof eight) {
    memcpy(&eight, text + i, sizeof eight);
    const uint64_t low = eight & 0x7F * ones, from_a = low + (0x80 - 'A') * ones, past_z = low + (0x7F - 'Z') * ones;
    eight |= (~eight & (from_a ^ past_z) & 0x80 * ones) >> 2;
    memcpy(text + i, &eight, sizeof eight);
  }
  for (; i < n; i++)
    if (text[i] >= 'A' && text[i] <= 'Z') text[i] = (char)(text[i] + 32);
}

static inline void put_run(cq_builder *out, const char *run, size_t n, bool lowercase) {
  const size_t at = out->n;
  if (n == 0) return;
  put_bytes(out, run, n);
  if (lowercase && !out->failed) lower_ascii(out->data + at, out->n - at);
}

/* The number of printable ASCII characters at the start of text; tests eight bytes at a time (none below a blank, none
 * 0x7F or above). */
static inline size_t n_printable(const char *text, size_t n) {
  const uint64_t ones = 0x0101010101010101u;
  size_t i = 0;
  for (uint64_t eight; n - i >= sizeof eight; i += sizeof eight) {
    memcpy(&eight, text + i, sizeof eight);
    if (((eight - ' ' * ones) | (eight + ones) | eight) & 0x80 * ones) break;
  }
  while (i < n && text[i] >= ' ' && text[i] < 0x7F) i++;
  return i;
}

/* Appends the changed text. Printable ASCII is not passed to the change function, only lower-cased if requested. */
static inline __attribute__((always_inline)) void put_changed(cq_builder *out, cq_slice text, bool lowercase,
                                                              change_fn change, const void *context) {
  size_t kept = 0; /* [kept, i) waits to be copied */
  if (text.n == 0) return;
  for (size_t i = 0; (i += n_printable(text.data + i, text.n - i)) < text.n;) {
    uint32_t c, other[3];
    int n_other = 1;
    const size_t n = cq_utf8_decode(&c, text.data + i, text.n - i);
    other[0] = c;
    if (change(other, &n_other, c, context) || c == 0xFFFD) { /* malformed bytes are replaced */
      put_run(out, text.data + kept, i - kept, lowercase);
      for (int k = 0; k < n_other; k++) put_code(out, other[k]);
      kept = i + n;
    }
    i += n;
  }
  put_run(out, text.data + kept, text.n - kept, lowercase);
}

static inline bool lower_char(uint32_t out[3], int *n_out, uint32_t c, const void *context) {
  (void)context;
  *n_out = cq_char_lower(out, c);
  return *n_out > 1 || out[0] != c;
}

void cq_text_lower(cq_builder *out, cq_slice text) {
  put_changed(out, text, true, lower_char, NULL);
}

static inline bool fold_char(uint32_t out[3], int *n_out, uint32_t c, const void *context) {
  (void)context;
  *n_out = cq_char_fold(out, c);
  return *n_out > 1 || out[0] != c;
}

void cq_text_fold(cq_builder *out, cq_slice text) {
  if (cq_text_is_ascii(text)) {
    cq_text_lower(out, text);
    return;
  }
  cq_builder form = {0}, folded = {0};
  cq_text_normal_form(&form, text, CQ_NFKC);
  put_changed(&folded, (cq_slice){form.data, form.n}, true, fold_char, NULL);
  cq_text_normal_form(out, (cq_slice){folded.data, folded.n}, CQ_NFKC);
  out->failed |= form.failed || folded.failed;
  cq_builder_free(&form);
  cq_builder_free(&folded);
}

static inline bool strip_char(uint32_t out[3], int *n_out, uint32_t c, const void *context) {
  (void)out, (void)context;
  return cq_char_is_mark(c) && (*n_out = 0, true);
}

void cq_text_strip_marks(cq_builder *out, cq_slice text) {
  put_changed(out, text, false, strip_char, NULL);
}

/* --- lower case in context --- */

static bool is_cased(uint32_t c) {
  return (U_GET_GC_MASK((UChar32)c) & U_GC_LC_MASK) != 0;
}

/* Characters that the final-sigma test skips when it looks at the neighbors. */
static bool is_case_ignorable(uint32_t c) {
  return (U_GET_GC_MASK((UChar32)c) & (U_GC_MN_MASK | U_GC_ME_MASK | U_GC_CF_MASK | U_GC_LM_MASK | U_GC_SK_MASK)) !=
             0 ||
         c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x387 || c == 0x2018 || c == 0x2019 || c == 0x2024 ||
         c == 0x2027;
}

/* Whether the sigma at [at, at + 2) follows a letter and does not precede one. */
static bool is_final_sigma(cq_slice text, size_t at) {
  bool behind = false;
  for (size_t i = at; i > 0;) {
    uint32_t c;
    i = cq_utf8_begin(text.data, i);
    cq_utf8_decode(&c, text.data + i, text.n - i);
    if (is_case_ignorable(c)) continue;
    behind = is_cased(c);
    break;
  }
  if (!behind) return false;
  cq_slice rest = {text.data + at + 2, text.n - at - 2};
  for (uint32_t c; cq_utf8_next(&c, &rest);)
    if (!is_case_ignorable(c)) return !is_cased(c);
  return true;
}

void cq_text_lower_in_context(cq_builder *out, cq_slice text) {
  size_t done = 0;
  for (size_t i = 0; i + 1 < text.n; i++) {
    if (memcmp(text.data + i, "\xCE\xA3", 2) != 0) continue;
    cq_text_lower(out, (cq_slice){text.data + done, i - done});
    put_code(out, is_final_sigma(text, i) ? 0x3C2 : 0x3C3);
    done = i + 2;
  }
  cq_text_lower(out, (cq_slice){text.data + done, text.n - done});
}

/* --- BERT --- */

/* BERT's cleaning: drops characters, adds spaces and, where accents stay, lower-cases. */
static inline bool clean_char(uint32_t out[3], int *n_out, uint32_t c, const void *context) {
  const cq_bert_rules *rules = context;
  const bool blank = c == '\t' || c == '\n' || c == '\r';
  if (rules->clean && !blank && (c == 0xFFFD || cq_char_is_bert_control(c))) return *n_out = 0, true;
  if (rules->clean && cq_char_is_whitespace(c)) return out[0] = ' ', true;
  if (rules->space_cjk && cq_char_is_cjk(c)) return out[0] = out[2] = ' ', out[1] = c, *n_out = 3, true;
  return rules->lowercase && !rules->strip_accents && lower_char(out, n_out, c, NULL);
}

static inline bool strip_accent(uint32_t out[3], int *n_out, uint32_t c, const void *context) {
  if (cq_char_is_bert_accent(c)) return *n_out = 0, true;
  return ((const cq_bert_rules *)context)->lowercase && lower_char(out, n_out, c, NULL);
}

void cq_text_bert_clean(cq_builder *out, cq_slice text, const cq_bert_rules *rules) {
  put_changed(out, text, rules->lowercase, clean_char, rules);
}

void cq_text_bert_strip(cq_builder *out, cq_slice text, const cq_bert_rules *rules) {
  put_changed(out, text, rules->lowercase, strip_accent, rules);
}

/* --- grapheme clusters: UAX 29, rules GB3 to GB13 --- */

static int cluster_class(uint32_t c) {
  return u_getIntPropertyValue((UChar32)c, UCHAR_GRAPHEME_CLUSTER_BREAK);
}

static bool is_picture(uint32_t c) {
  return u_hasBinaryProperty((UChar32)c, UCHAR_EXTENDED_PICTOGRAPHIC);
}

static bool is_control(int class) {
  return class == U_GCB_CONTROL || class == U_GCB_CR || class == U_GCB_LF;
}

static bool stay_together(int a, int b) {
  if (a == U_GCB_CR) return b == U_GCB_LF;
  if (is_control(a) || is_control(b)) return false;
  if (a == U_GCB_L && (b == U_GCB_L || b == U_GCB_V || b == U_GCB_LV || b == U_GCB_LVT)) return true;
  if ((a == U_GCB_LV || a == U_GCB_V) && (b == U_GCB_V || b == U_GCB_T)) return true;
  if ((a == U_GCB_LVT || a == U_GCB_T) && b == U_GCB_T) return true;
  return b == U_GCB_EXTEND || b == U_GCB_ZWJ || b == U_GCB_SPACING_MARK || a == U_GCB_PREPEND;
}

/* Most letters of Latin, Greek, Cyrillic, Hebrew, Arabic, Chinese and Japanese: a cluster ends between any two. */
static inline bool is_apart(uint32_t c) {
  return c < 0x300 || (c >= 0x370 && c < 0x483) || (c >= 0x5D0 && c < 0x600) || (c >= 0x61D && c < 0x64B) ||
         (c >= 0x3041 && c < 0x3097) || (c >= 0x30A1 && c < 0x3100) || (c >= 0x4E00 && c < 0xA000);
}

/* Continues from c, which ends at `length`, and the character after it. */
static __attribute__((noinline)) size_t cluster_length(const char *text, size_t n, size_t length, uint32_t c,
                                                       uint32_t next) {
  int class = cluster_class(c);
  bool behind_picture = false, paired = false;
  for (;;) {
    const int next_class = cluster_class(next);
    if (!stay_together(class, next_class)) {
      const bool flag = !paired && class == U_GCB_REGIONAL_INDICATOR && next_class == class;
      if (!flag && !(behind_picture && class == U_GCB_ZWJ && is_picture(next))) return length;
      paired |= flag;
    }
    if (class != U_GCB_EXTEND) behind_picture = class == U_GCB_OTHER && is_picture(c);
    c = next, class = next_class;
    length += cq_utf8_decode(&next, text + length, n - length);
    if (length == n) return n;
    cq_utf8_decode(&next, text + length, n - length);
  }
}

size_t cq_grapheme_length(const char *text, size_t n) {
  uint32_t c, next;
  const size_t length = cq_utf8_decode(&c, text, n);
  if (length == n) return n;
  cq_utf8_decode(&next, text + length, n - length);
  return c != '\r' && is_apart(c) && is_apart(next) ? length : cluster_length(text, n, length, c, next);
}
