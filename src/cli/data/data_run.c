/* What the data commands share of a run: progress, a signal's stop, and the line of counts at its end. */
#include "cli/data/data_command.h"
#include "cli/frame/stop.h"

#include <inttypes.h>

const char *const cli_data_standard_input[1] = {"-"}, *const cli_data_inputs_taken[] = {"input", NULL};

bool cli_data_watch(void *context, uint64_t n_read) {
  cli_data_run *run = context;
  cli_progress_draw(&run->progress, "row", n_read, 0, NULL, false);
  return !cli_stop_asked();
}

cli_data_run cli_data_start(void) {
  cli_stop_catch();
  return (cli_data_run){.progress = cli_progress_start(), .read = "rows read", .written = "written"};
}

int cli_data_report(cli_data_run *run, cq_status status) {
  const cq_corpus_counts *counts = &run->counts;
  char text[1024];
  cli_progress_clear(&run->progress);
  if (status) return cli_fail_error(&run->error);
  size_t n = (size_t)snprintf(text, sizeof text, "%" PRIu64 " %s, %" PRIu64 " %s", counts->n_read, run->read,
                              counts->n_written, run->written);
  for (size_t i = 0; i < counts->n_reasons && n < sizeof text; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "%s %" PRIu64 " %s", i ? "," : ";", counts->dropped[i].n,
                          counts->dropped[i].reason);
  cli_note("%s", text);
  return CLI_OK;
}
