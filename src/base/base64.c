/* Base64 (RFC 4648, section 4), three bytes to four characters. See base64.h. */
#include "base/base64.h"

#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool cq_base64_decode(cq_builder *out, cq_slice text) {
  if (text.n % 4) return false;
  signed char value[256];
  memset(value, -1, sizeof value);
  for (int i = 0; i < 64; i++) value[(unsigned char)alphabet[i]] = (signed char)i;
  for (size_t i = 0; i < text.n; i += 4) {
    size_t pad =
        i + 4 == text.n ? (size_t)(text.data[i + 3] == '=') + (text.data[i + 3] == '=' && text.data[i + 2] == '=') : 0;
    uint32_t bits = 0;
    for (size_t k = 0; k < 4; k++) {
      int v = k < 4 - pad ? value[(unsigned char)text.data[i + k]] : 0;
      if (v < 0) return false;
      bits = bits << 6 | (uint32_t)v;
    }
    char bytes[3] = {(char)(bits >> 16), (char)(bits >> 8), (char)bits};
    cq_builder_bytes(out, bytes, 3 - pad);
  }
  return true;
}

void cq_base64_encode(cq_builder *out, cq_slice bytes) {
  const unsigned char *p = (const unsigned char *)bytes.data;
  for (size_t i = 0; i < bytes.n; i += 3) {
    size_t n = bytes.n - i < 3 ? bytes.n - i : 3;
    uint32_t bits = (uint32_t)p[i] << 16 | (n > 1 ? (uint32_t)p[i + 1] << 8 : 0) | (n > 2 ? p[i + 2] : 0);
    char group[4];
    for (size_t k = 0; k < 4; k++) group[k] = k <= n ? alphabet[bits >> (18 - 6 * k) & 63] : '=';
    cq_builder_bytes(out, group, 4);
  }
}
