/* Values in the front matter of a model's card, which is YAML. */
#include "hub/card_value.h"

#include <ctype.h>
#include <string.h>

/* Possible values here that YAML reads as something other than text: "no" is Norwegian. */
static bool is_plain(const char *text) {
  static const char *const words[] = {"no", "on", "off", "yes", "true", "false", "null", "y", "n"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!strcmp(text, words[i])) return false;
  if (!isalpha((unsigned char)text[0])) return false;
  for (const char *c = text; *c; c++)
    if (!isalnum((unsigned char)*c) && !strchr("-_./", *c)) return false;
  return true;
}

void cq_hub_card_value(cq_builder *out, const char *text) {
  if (is_plain(text)) {
    cq_builder_text(out, text);
    return;
  }
  cq_builder_char(out, '"');
  for (const char *c = text; *c; c++)
    if ((unsigned char)*c < ' ')
      cq_builder_printf(out, "\\x%02x", (unsigned char)*c);
    else
      cq_builder_printf(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
  cq_builder_char(out, '"');
}
