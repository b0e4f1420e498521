/* calque data language: identifies the language of each line. */
#include "cli/data/data_command.h"

struct language_args {
  size_t size;
  bool list, skip_bad;
};

static const cq_option language_options[] = {
    {CQ_FLAG(struct language_args, "list", list, KEEPS, "print the codes of the languages that are identified")},
    CLI_SKIP_BAD(struct language_args, skip_bad),
};

static int identify_lines(cq_lines *lines, bool skip_bad, size_t *n_bad) {
  cq_error error = {0};
  cq_slice line;
  for (;;) {
    const cq_status status = cq_lines_next(&line, lines, &error);
    if (status && (!skip_bad || cq_lines_broken(lines))) return cli_fail_error(&error);
    if (!status && !line.data) return CLI_OK;
    *n_bad += status != CQ_OK;
    const cq_language_guess guess = status ? (cq_language_guess){"und", 0} : cq_language_identify(line);
    printf("%s\t%.4f\n", guess.code, guess.probability);
    if (!cli_flush_output()) return CLI_FAILED;
  }
}

static int run_language(const cli_call *call) {
  const struct language_args *args = call->options;
  if (args->list && call->n_arguments) return cli_usage(call->path, "--list takes no files");
  for (size_t i = 0; args->list && cq_language_known(i); i++) puts(cq_language_known(i));
  if (args->list) return CLI_OK;
  const size_t n = call->n_arguments ? call->n_arguments : 1;
  const char *const *paths = call->n_arguments ? call->arguments : cli_data_standard_input;
  int code = CLI_OK;
  size_t n_bad = 0;
  for (size_t i = 0; code == CLI_OK && i < n; i++) {
    cq_lines *lines;
    cq_error error = {0};
    if (cq_lines_open(&lines, paths[i], &error)) return cli_fail_error(&error);
    code = identify_lines(lines, args->skip_bad, &n_bad);
    cq_lines_close(lines);
  }
  if (n_bad) cli_note("%zu malformed line%s", n_bad, n_bad == 1 ? "" : "s");
  return code;
}

const cli_command cli_data_language = {
    .name = "language",
    .summary = "language identification: which language each line is in, and how probable it is",
    CLI_ARGUMENTS("[FILE...]", 0, -1),
    .description = "For each line, prints a code, a tab and a probability; \"und\" and 0 for a line without letters, "
                   "or one whose language is undetermined. Letters in a script other than that of most of the line do "
                   "not count. A language that is not in --list is identified as the most similar one.",
    .example = "calque data language sentences.txt | paste - sentences.txt",
    CLI_OPTIONS(struct language_args, language_options),
    .run = run_language,
};
