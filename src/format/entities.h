/* Characters by their HTML names: "eacute" is U+00E9. */
#ifndef FORMAT_ENTITIES_H
#define FORMAT_ENTITIES_H

#include "base/slice.h"

#include <stdint.h>

/* A named character's code; 0: no such name. Case matters: "Eacute" is a different character. */
uint32_t cq_html_entity(cq_slice name);
/* The character that a page means by a code: from 0x80 to 0x9f windows-1252's, as in browsers (&#146; is an apostrophe). */
uint32_t cq_html_character(uint32_t code);

#endif
