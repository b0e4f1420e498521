/* Values in the front matter of a model's card. */
#ifndef HUB_CARD_VALUE_H
#define HUB_CARD_VALUE_H

#include "base/slice.h"

/* A text in YAML, quoted if necessary. */
void cq_hub_card_value(cq_builder *out, const char *text);

#endif
