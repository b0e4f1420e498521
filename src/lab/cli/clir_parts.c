/* The options shared by the commands of `calque clir`. */
#include "cli/frame/report.h"
#include "lab/cli/clir_command.h"

#include <string.h>

const char *const cli_clir_methods[] = {"terms", "sum", "documents", "cognates", NULL};

int cli_clir_open(cq_clir **out, const cli_clir_args *args, cq_context *ctx) {
  cq_error error = {0};
  if (cq_clir_open(out, args->sources, ctx, &error)) return cli_fail_error(&error);
  const size_t n_unknown = cq_clir_about(*out)->n_unknown;
  if (n_unknown) cli_note("%zu judgments are of documents that are not in the collection", n_unknown);
  return CLI_OK;
}

void cli_clir_note_letters(const cq_clir_cognates *cognates) {
  if (!cq_clir_cognates_are_learned(cognates))
    cli_note(
        "letters are matched hardly better than by chance (contrast %.1f, %.1f by chance): words match by how they "
        "are spelled in Latin letters",
        cq_clir_cognates_contrast(cognates), cq_clir_cognates_chance(cognates));
}

int cli_clir_check_tag(const char *tag) {
  return *tag && !strpbrk(tag, " \t\r\n\v\f") ? CLI_OK : cli_fail("the tag '%s' is empty or has blanks", tag);
}

static bool is_about_vectors(const char *name) {
  static const cq_option_group *const groups[] = {&cq_group_clir, &cq_group_words, &cq_group_lexical};
  if (!strcmp(name, "method") || !strcmp(name, "top")) return false;
  for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
    for (size_t i = 0; i < groups[g]->n_rows; i++)
      if (!strcmp(groups[g]->rows[i].name, name)) return true;
  }
  return false;
}

int cli_clir_check_no_vectors(const cli_call *call) {
  const cq_option *row;
  const cq_options *from = call->values->options;
  for (size_t i = 0; (row = cq_options_row(from, i)); i++)
    if (cq_options_is_set(from, row->name) && is_about_vectors(row->name))
      return cli_usage(call->path, "--%s is about word vectors, which --method cognates does without", row->name);
  if (call->n_arguments == 0) return CLI_OK;
  return cli_usage(call->path, "--method cognates takes no VECTORS, but there is '%s'", call->arguments[0]);
}
