#include "cli/frame/ranks.h"

#include "cli/frame/report.h"

#include <stdio.h>

int cli_ranks_open(cq_ranks **out) {
  char origin[320];
  cq_error error = {0};
  *out = NULL;
  if (!cq_ranks_are_started()) return CLI_OK;
  if (cq_ranks_open(out, &error)) return cli_fail_error(&error);
  snprintf(origin, sizeof origin, "rank %d of %d on %s: ", cq_ranks_rank(*out), cq_ranks_count(*out),
           cq_ranks_host(*out));
  cli_report_origin(origin);
  if (cq_ranks_rank(*out) > 0) cli_be_quiet();
  return CLI_OK;
}

void cli_ranks_close(cq_ranks *ranks, int code) {
  if (ranks && code != CLI_OK) {
    fflush(NULL);
    cq_ranks_end_all(ranks, code); /* the others would wait for ever */
  }
  cq_ranks_close(ranks);
}
