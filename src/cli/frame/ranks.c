#include "cli/frame/ranks.h"

#include "cli/frame/command.h"
#include "cli/frame/report.h"

int cli_ranks_open(cq_ranks **out) {
  cq_error error = {0};
  *out = NULL;
  if (!cq_ranks_are_started()) return CLI_OK;
  return cq_ranks_open(out, &error) ? cli_fail_error(&error) : CLI_OK;
}

int cli_ranks_fail(cq_ranks *ranks, const cq_error *error) {
  if (!ranks) return cli_fail_error(error);
  fprintf(stderr, "calque: rank %d of %d on %s:\n", cq_ranks_rank(ranks), cq_ranks_count(ranks), cq_ranks_host(ranks));
  const int code = cli_fail_error(error);
  fflush(NULL);
  cq_ranks_end_all(ranks, code);
  return code;
}
