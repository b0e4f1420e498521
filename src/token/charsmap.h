/* SentencePiece's compiled normalization rules ("precompiled_charsmap"), applied like tokenizer.json's Precompiled.
 *
 *   u32 n | double array of n bytes | replacements, each ended by a zero byte
 *
 * A unit of the double array: bit 8 means that a leaf follows, bits 0-7 and 31 are the label, bits 10-30 the offset of
 * the children (shifted by 8 if bit 9 is set); a leaf's low 31 bits are the offset of its replacement. */
#ifndef TOKEN_CHARSMAP_H
#define TOKEN_CHARSMAP_H

#include "base/slice.h"
#include "calque/status.h"

#include <stdbool.h>

typedef struct cq_charsmap cq_charsmap;

/* Copies the rules. Errors: CQ_ERR_FORMAT when the parts do not fit into the bytes, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_charsmap_open(cq_charsmap **out, cq_slice bytes, const char *path, cq_error *error);
void cq_charsmap_free(cq_charsmap *map);

/* Appends the normalized text: clusters of fewer than six bytes are looked up whole, others character by character. */
void cq_charsmap_run(cq_builder *out, const cq_charsmap *map, cq_slice text);

/* Whether the rules fold case: each capital A to Z becomes its small letter. */
bool cq_charsmap_lowers(const cq_charsmap *map);

/* Called for each rule: text, replacement. False stops. Errors: CQ_ERR_MEMORY, even if `each` returns false. */
typedef bool (*cq_charsmap_fn)(void *context, cq_slice from, cq_slice to);
CQ_MUST_USE cq_status cq_charsmap_each(const cq_charsmap *map, cq_charsmap_fn each, void *context, cq_error *error);

#endif
