/* Text as people type it. The functions that change case are Unicode's, for no language in particular. */
#include "text/typed.h"

#include "base/utf8.h"
#include "text/unicode.h"

const char *const cq_typing_names[] = {"lower", "upper", "accents", "punctuation", "nfd", "hyphen", NULL};

static void strip_accents(cq_builder *out, cq_slice text) {
  cq_builder parts = {0}, plain = {0};
  cq_text_normal_form(&parts, text, CQ_NFD);
  cq_slice rest = cq_built(&parts);
  for (uint32_t c; cq_utf8_next(&c, &rest);)
    if (c < 0x300 || c > 0x36F) cq_builder_code(&plain, c);
  cq_text_normal_form(out, cq_built(&plain), CQ_NFC);
  out->failed |= parts.failed || plain.failed;
  cq_builder_free(&parts);
  cq_builder_free(&plain);
}

static void strip_end(cq_builder *out, cq_slice text) {
  size_t end = 0;
  cq_slice rest = text;
  for (uint32_t c; cq_utf8_next(&c, &rest);)
    if (!cq_char_is_punctuation(c) && !cq_char_is_whitespace(c)) end = text.n - rest.n;
  cq_builder_bytes(out, text.data, end ? end : text.n);
}

/* After the third letter of each word of six or more. */
static void put_hyphens(cq_builder *out, cq_slice text) {
  for (size_t i = 0; i < text.n;) {
    size_t n_letters = 0, middle = 0, end = i;
    uint32_t c;
    while (end < text.n) {
      const size_t n = cq_utf8_decode(&c, text.data + end, text.n - end);
      if (!cq_char_is_letter(c) && !cq_char_is_mark(c)) break;
      end += n;
      if (cq_char_is_letter(c) && ++n_letters == 3) middle = end;
    }
    if (end == i) end += cq_utf8_decode(&c, text.data + i, text.n - i);
    if (n_letters < 6) middle = i;
    cq_builder_bytes(out, text.data + i, middle - i);
    if (middle > i) cq_builder_code(out, 0xAD);
    cq_builder_bytes(out, text.data + middle, end - middle);
    i = end;
  }
}

void cq_text_typed(cq_builder *out, cq_slice text, cq_typing how) {
  switch (how) {
  case CQ_TYPED_LOWER: cq_text_lower_in_context(out, text); return;
  case CQ_TYPED_UPPER: cq_text_upper(out, text); return;
  case CQ_TYPED_ACCENTS: strip_accents(out, text); return;
  case CQ_TYPED_PUNCTUATION: strip_end(out, text); return;
  case CQ_TYPED_NFD: cq_text_normal_form(out, text, CQ_NFD); return;
  case CQ_TYPED_HYPHEN: put_hyphens(out, text); return;
  }
}
