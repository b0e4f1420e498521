/* Bytes of other encodings as UTF-8, without a file. Stateless: the service uses it, too. */
#ifndef TEXT_DECODE_H
#define TEXT_DECODE_H

#include "base/slice.h"
#include "base/wide.h"
#include "calque/slice.h"
#include "calque/status.h"

#include <stdbool.h>

/* Whether ICU knows the name: "windows-1252", "Shift_JIS", "UTF-16LE". */
bool cq_encoding_is_known(const char *encoding);

/* Appends the bytes as UTF-8. The encoding must be a known one; bytes that are invalid in it become U+FFFD. Errors:
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_decode_all(cq_builder *out, cq_slice bytes, const char *encoding, cq_error *error);

#endif
