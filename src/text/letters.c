/* Keeping only a sentence's letters and digits. See letters.h. */
#include "text/letters.h"

#include "base/utf8.h"
#include "text/unicode.h"

static bool is_kept(uint32_t c, bool marks) {
  return cq_char_is_letter(c) || cq_char_is_number(c) || (marks && cq_char_is_mark(c));
}

/* True if NFKC leaves a character and its folded form unchanged in any text of such characters, or if both the
 * character and its NFKC form are left out: the letters, signs and punctuation of most text in Latin, Greek, Russian,
 * Chinese, Japanese and Korean. */
static bool is_plain(uint32_t c) {
  static const uint16_t ranges[][2] = {
      {0x00, 0xa7},     {0xa9, 0xa9},     {0xab, 0xae},     {0xb0, 0xb1},     {0xb6, 0xb7},     {0xbb, 0xbb},
      {0xbf, 0x131},    {0x134, 0x13e},   {0x141, 0x148},   {0x14a, 0x17e},   {0x386, 0x386},   {0x388, 0x38f},
      {0x391, 0x3af},   {0x3b1, 0x3ce},   {0x400, 0x481},   {0x2010, 0x2016}, {0x2018, 0x2027}, {0x20ac, 0x20ac},
      {0x3001, 0x3002}, {0x3041, 0x3096}, {0x30a1, 0x30fe}, {0x4e00, 0x9fff}, {0xac00, 0xd7a3}, {0xff01, 0xff01},
      {0xff0c, 0xff0c}, {0xff1f, 0xff1f}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges && c >= ranges[i][0]; i++)
    if (c <= ranges[i][1]) return true;
  return false;
}

/* Text of plain characters; false: it is not. */
static bool add_plain_letters(cq_builder *out, cq_slice text, bool marks) {
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
    uint32_t c, folded[3];
    i += cq_utf8_decode(&c, text.data + i, text.n - i);
    if (!is_plain(c)) {
      if (out->data) out->data[before] = '\0';
      out->n = before;
      return false;
    }
    const int n = cq_char_fold(folded, c);
    for (int k = 0; k < n; k++)
      if (is_kept(folded[k], marks)) cq_builder_code(out, folded[k]);
  }
  return true;
}

static void add_any(cq_builder *out, cq_slice text, bool marks) {
  cq_builder folded = {0};
  cq_text_fold(&folded, text);
  for (size_t i = 0; i < folded.n;) {
    uint32_t c;
    const size_t n = cq_utf8_decode(&c, folded.data + i, folded.n - i);
    if (is_kept(c, marks)) cq_builder_bytes(out, folded.data + i, n);
    i += n;
  }
  out->failed |= folded.failed;
  cq_builder_free(&folded);
}

void cq_text_letters(cq_builder *out, cq_slice text, bool marks) {
  if (!add_plain_letters(out, text, marks)) add_any(out, text, marks);
}
