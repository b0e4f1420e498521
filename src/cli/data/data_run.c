/* A run of a `calque data` command: draws progress, stops at the user's request, and reports at the end. */
#include "cli/data/data_command.h"

#include "cli/frame/stop.h"

#include <inttypes.h>
#include <stdlib.h>

const char *const cli_data_standard_input[1] = {"-"}, *const cli_data_inputs_taken[] = {"input", NULL};

bool cli_data_watch(void *context, uint64_t n_read) {
  cli_data_run *run = context;
  cli_progress_draw(&run->progress, "row", n_read, 0, NULL, false);
  return !cli_stop_asked();
}

cli_data_run cli_data_start(const char *read, const char *written) {
  cli_stop_catch();
  return (cli_data_run){.progress = cli_progress_start(), .read = read, .written = written};
}

int cli_data_report(cli_data_run *run, cq_status status) {
  const cq_corpus_counts *counts = &run->counts;
  char *reasons = NULL;
  size_t n;
  cli_progress_clear(&run->progress);
  if (status) return cli_fail_error(&run->error);
  FILE *out = open_memstream(&reasons, &n);
  for (size_t i = 0; out && i < counts->n_reasons; i++)
    fprintf(out, "%s %" PRIu64 " %s", i ? "," : ";", counts->dropped[i].n, counts->dropped[i].reason);
  if (!out || fclose(out) != 0) return cli_fail("out of memory");
  cli_note("%" PRIu64 " %s, %" PRIu64 " %s%s", counts->n_read, run->read, counts->n_written, run->written, reasons);
  if (counts->n_quoted)
    cli_note("%" PRIu64 " rows have fields quoted as in CSV; the quotation marks are kept", counts->n_quoted);
  free(reasons);
  return CLI_OK;
}
