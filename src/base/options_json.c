/* Options as JSON. */
#include "base/error.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/slice.h"

#include <string.h>

static void add_value(cq_builder *b, const cq_option *row, const char *value) {
  const bool is_number = (row->type >= CQ_OPTION_INT && row->type <= CQ_OPTION_NUMBER) || row->type == CQ_OPTION_INTS;
  if (row->type == CQ_OPTION_FLAG || row->type == CQ_OPTION_YES_NO)
    cq_builder_text(b, strcmp(value, "yes") ? "false" : "true");
  else if (is_number && !strstr(value, "inf"))
    cq_builder_text(b, value);
  else
    cq_json_string(b, value, strlen(value), "");
}

cq_status cq_options_json(char **out, const cq_options *options, cq_error *error) {
  cq_builder b = {0};
  const cq_option *row;
  cq_status status = CQ_OK;
  *out = NULL;
  cq_builder_char(&b, '{');
  for (size_t i = 0; !status && (row = cq_options_row(options, i)); i++) {
    const bool several = cq_option_is_several(row);
    size_t n = 0;
    cq_builder_printf(&b, "%s\"%s\": %s", i ? ", " : "", row->name, several ? "[" : "");
    for (char *value; !(status = cq_options_get(&value, options, row->name, n, error)) && value; n++) {
      if (n) cq_builder_text(&b, ", ");
      add_value(&b, row, value);
      cq_free(value);
    }
    cq_builder_text(&b, several ? "]" : n ? "" : "null");
  }
  cq_builder_char(&b, '}');
  if (!status && (b.failed || !(*out = cq_strdup(b.data)))) status = cq_fail_memory(error, "options");
  cq_builder_free(&b);
  return status;
}
