/* Shared by the commands of `calque data`: inputs, progress, and the summary of the rows. */
#ifndef CLI_DATA_DATA_COMMAND_H
#define CLI_DATA_DATA_COMMAND_H

#include "cli/frame/command.h"
#include "cli/frame/report.h"

/* One run: the progress line is drawn as rows are read, and the run stops at the user's request. */
typedef struct cli_data_run {
  cli_progress progress;
  cq_corpus_counts counts;
  cq_error error;
  const char *read, *written; /* what is counted: "rows read", "written" */
} cli_data_run;
cli_data_run cli_data_start(const char *read, const char *written);
/* "20613 rows read, 19615 written; 998 too long", or the error. */
int cli_data_report(cli_data_run *run, cq_status status);

/* Reports the progress of a struct of options to a run. */
bool cli_data_watch(void *run, uint64_t n_read);
#define CLI_DATA_WATCH(o, run) ((o)->progress = cli_data_watch, (o)->progress_context = (run))

/* A struct's inputs are the call's arguments, or standard input if there are none. */
extern const char *const cli_data_standard_input[1], *const cli_data_inputs_taken[];
#define CLI_DATA_INPUTS(o, call)                                                                                       \
  ((o)->inputs = (call)->n_arguments ? (call)->arguments : cli_data_standard_input,                                    \
   (o)->n_inputs = (call)->n_arguments ? (call)->n_arguments : 1)

/* run_WHAT, the function of a command that calls cq_corpus_WHAT on its inputs; what is counted, as in cli_data_run. */
#define CLI_DATA_RUN(what, counted_read, counted_written)                                                              \
  static int run_##what(const cli_call *call) {                                                                        \
    cq_corpus_##what##_options *o = call->library;                                                                     \
    cli_data_run run = cli_data_start(counted_read, counted_written);                                                  \
    CLI_DATA_INPUTS(o, call);                                                                                          \
    CLI_DATA_WATCH(o, &run);                                                                                           \
    const int code = cli_check_options(call);                                                                          \
    return code ? code : cli_data_report(&run, cq_corpus_##what(&run.counts, o, &run.error));                          \
  }

extern const cli_command cli_data_get, cli_data_convert, cli_data_pivot, cli_data_sample, cli_data_dedup,
    cli_data_filter, cli_data_gloss, cli_data_inflect, cli_data_stats, cli_data_transliterate, cli_data_documents,
    cli_data_language, cli_data_sentences, cli_data_corpus, cli_data_score;

#endif
