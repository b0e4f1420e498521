/* Text in UTF-16 and UTF-32: recognizing and decoding it. Files of other encodings: text/encoding.h. */
#ifndef BASE_WIDE_H
#define BASE_WIDE_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* The encoding that the first bytes show, "UTF-16LE": by the byte order mark of UTF-16 or UTF-32, or as UTF-16 where an
 * eighth is ASCII or Latin-1; NULL: none. More bytes than CQ_WIDE_LOOKED_AT make no difference. */
enum { CQ_WIDE_LOOKED_AT = 1024 };
const char *cq_encoding_marked(cq_slice bytes);

/* Decodes the first character of text in such an encoding, CQ_WIDE_BAD if it is none or half of one; returns its bytes.
 * 0: there is no text, or unless is_last, more of it is needed. */
#define CQ_WIDE_BAD UINT32_MAX
size_t cq_wide_decode(uint32_t *code, cq_slice text, const char *encoding, bool is_last);

#endif
