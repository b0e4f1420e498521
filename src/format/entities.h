/* Characters by their HTML names: "eacute" is U+00E9. */
#ifndef FORMAT_ENTITIES_H
#define FORMAT_ENTITIES_H

#include "base/slice.h"

#include <stdint.h>

/* A named character's code; 0: no such name. Case matters: "Eacute" is a different character. */
uint32_t cq_html_entity(cq_slice name);

#endif
