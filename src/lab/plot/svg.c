/* Writes SVG elements to a builder, with escaped text. See svg.h. */
#include "lab/plot/svg.h"

#include "base/utf8.h"

/* XML 1.0, production 2; the decoder does not return surrogates. */
static bool is_xml(uint32_t c) {
  return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c != 0xFFFE && c != 0xFFFF);
}

void cq_svg_text(cq_builder *b, const char *text) {
  const size_t n = strlen(text);
  for (size_t i = 0; i < n;) {
    uint32_t code;
    char bytes[4];
    i += cq_utf8_decode(&code, text + i, n - i);
    switch (code) {
    case '<': cq_builder_text(b, "&lt;"); break;
    case '>': cq_builder_text(b, "&gt;"); break;
    case '&': cq_builder_text(b, "&amp;"); break;
    default: cq_builder_bytes(b, bytes, cq_utf8_encode(bytes, is_xml(code) ? code : 0xFFFD));
    }
  }
}

void cq_svg_label(cq_builder *b, double x, double y, const char *anchor, const char *more, const char *text) {
  cq_builder_printf(b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>", x, y, anchor, more);
  cq_svg_text(b, text);
  cq_builder_text(b, "</text>\n");
}

double cq_svg_width(const char *text, double font_size) {
  const size_t n = strlen(text);
  double ems = 0;
  for (size_t i = 0; i < n;) {
    uint32_t code;
    i += cq_utf8_decode(&code, text + i, n - i);
    ems += code < 0x1100 ? 0.6 : 1; /* from there on: mostly square */
  }
  return ems * font_size;
}
