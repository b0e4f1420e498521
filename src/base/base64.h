/* Base64 (RFC 4648, section 4). */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/slice.h"

/* Appends the decoded bytes; false for a character outside the alphabet or a truncated group. */
bool cq_base64_decode(cq_builder *out, cq_slice text);
void cq_base64_encode(cq_builder *out, cq_slice bytes);

#endif
