/* What transformations of text and normal forms both need: appending a character, and whether text is ASCII. */
#include "base/utf8.h"
#include "text/unicode.h"

#include <string.h>

void cq_builder_code(cq_builder *b, uint32_t c) {
  char bytes[4];
  cq_builder_bytes(b, bytes, cq_utf8_encode(bytes, c));
}

bool cq_text_is_ascii(cq_slice text) {
  uint64_t any = 0, eight;
  size_t i = 0;
  for (; text.n - i >= sizeof eight; i += sizeof eight) memcpy(&eight, text.data + i, sizeof eight), any |= eight;
  for (; i < text.n; i++) any |= (unsigned char)text.data[i];
  return (any & 0x8080808080808080u) == 0;
}
