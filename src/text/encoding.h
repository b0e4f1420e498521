/* Files of other encodings as UTF-8, by ICU's converters. */
#ifndef TEXT_ENCODING_H
#define TEXT_ENCODING_H

#include "base/byte_source.h"
#include "base/input.h"
#include "text/decode.h"

/* Guesses the encoding of bytes that are not UTF-8; false: no guess. */
enum { CQ_ENCODING_NAME = 64 };
bool cq_encoding_guess(char name[CQ_ENCODING_NAME], cq_slice bytes);

/* The encoding that a page's charset=... or an XML declaration's encoding="..." names, as it stands there; false: none.
 * UTF-16 and UTF-32 do not count: the declaration would not be readable. */
bool cq_encoding_declared(char name[CQ_ENCODING_NAME], cq_slice bytes);

/* A file's bytes as UTF-8. Takes ownership of the input, even if this fails. The encoding is that of a byte order mark
 * or of cq_encoding_marked, else the given one, which must be known; NULL: UTF-8, whose bytes are not checked here.
 * Reading from the source gives CQ_ERR_FORMAT, with the byte (of the decompressed file), for bytes that are invalid in
 * the encoding. Errors: CQ_ERR_MEMORY; those of reading. */
CQ_MUST_USE cq_status cq_text_source(cq_byte_source *out, cq_input *input, const char *encoding, cq_error *error);

#endif
