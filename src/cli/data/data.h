/* What the commands of `calque data` share: where rows go, what became of them. */
#ifndef CLI_DATA_DATA_H
#define CLI_DATA_DATA_H

#include "cli/frame/command.h"
#include "cli/frame/report.h"

/* What commands that write rows have; their structs begin with it. */
typedef struct cli_data_flow {
  size_t size;
  const char *output;
  bool skip_bad;
} cli_data_flow;

enum { CLI_DATA_N_FLOW_OPTIONS = 2 };
extern const cq_option cli_data_flow_options[CLI_DATA_N_FLOW_OPTIONS];
#define CLI_DATA_FLOW_OPTIONS .more_options = cli_data_flow_options, .n_more_options = CLI_DATA_N_FLOW_OPTIONS

/* Draws on progress as rows are read, and stops when the user asks to. */
cq_corpus_flow cli_data_flow_of(const cli_data_flow *args, cli_progress *progress);
/* "20613 rows read, 19615 written; 998 too long", or the error. */
int cli_data_report(cq_status status, const cq_corpus_counts *counts, cli_progress *progress, const cq_error *error);

/* How sentences are compared, as a number of cq_corpus_match. */
extern const char *const cli_data_matches[];
#define CLI_DATA_MATCH(owner, field)                                                                                   \
  {                                                                                                                    \
    .name = "match", .type = CQ_OPTION_CHOICE, .argument = "HOW", .offset = offsetof(owner, field),                    \
    .choices = cli_data_matches,                                                                                       \
    .help = "what makes two sentences the same: every byte, or letters and digits whatever their case"                 \
  }

/* Standard input where no file is named. */
extern const char *const cli_data_standard_input[1];
#define CLI_DATA_INPUTS(call)                                                                                          \
  .inputs = (call)->n_arguments ? (call)->arguments : cli_data_standard_input,                                         \
  .n_inputs = (call)->n_arguments ? (call)->n_arguments : 1

/* "en,de" to its parts, which borrow from *copy, both of malloc and to be freed in any case; none for NULL. */
int cli_data_split(const char ***out, size_t *n, char **copy, const char *text);

extern const cli_command cli_data_convert, cli_data_pivot, cli_data_sample, cli_data_dedup, cli_data_filter,
    cli_data_gloss, cli_data_stats;

#endif
