/* Values in the front matter of a model's card. */
#ifndef HUB_CARD_VALUE_H
#define HUB_CARD_VALUE_H

#include "base/slice.h"

/* A text as YAML reads it back, in quotes where it needs them. */
void cq_hub_card_value(cq_builder *out, const char *text);

#endif
