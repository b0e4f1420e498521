/* Commands under mpirun: opens the ranks, lists the options that all must share, and gathers figures. */
#include "cli/frame/command_ranks.h"

#include "cli/frame/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* If several ranks have an error, the first of them prints it. */
static int wait_before_errors_ms(int rank) {
  enum { FIRST_MS = 500, EACH_MS = 100, MAX_RANKS = 20 };
  return rank == 0 ? 0 : FIRST_MS + EACH_MS * (rank < MAX_RANKS ? rank : MAX_RANKS);
}

int cli_ranks_open(cq_ranks **out) {
  char origin[320];
  cq_error error = {0};
  *out = NULL;
  if (!cq_ranks_are_started()) return CLI_OK;
  if (cq_ranks_open(out, &error)) return cli_fail_error(&error);
  snprintf(origin, sizeof origin, "rank %d of %d on %s: ", cq_ranks_rank(*out), cq_ranks_count(*out),
           cq_ranks_host(*out));
  cli_report_origin(origin, wait_before_errors_ms(cq_ranks_rank(*out)));
  if (cq_ranks_rank(*out) > 0) cli_be_quiet();
  return CLI_OK;
}

static bool matters(const char *name) {
  static const char *const not_these[] = {"threads", "batch", "cache", "model", "replace", NULL};
  for (const char *const *n = not_these; *n; n++)
    if (!strcmp(*n, name)) return false;
  return true;
}

char *cli_ranks_lines(const cli_call *call) {
  char *text = NULL;
  size_t size = 0;
  const cq_options *from = call->values->options;
  const cq_option *row;
  FILE *out = open_memstream(&text, &size);
  bool failed = !out;
  for (size_t i = 0; !failed && (row = cq_options_row(from, i)); i++) {
    char *value = NULL;
    for (size_t j = 0; !failed && matters(row->name); j++) {
      failed = cq_options_get(&value, from, row->name, j, NULL) != CQ_OK;
      if (!value) break;
      fprintf(out, "%s\t", row->name);
      for (const char *c = value; *c; c++) fputc((unsigned char)*c < ' ' ? ' ' : *c, out);
      fputc('\n', out);
      cq_free(value);
      if (row->type < CQ_OPTION_TEXTS) break;
    }
  }
  if (out) fprintf(out, "SIMD level\t%s\n", cq_simd_level());
  if (out && fclose(out) != 0) failed = true;
  if (!failed) return text;
  free(text);
  return NULL;
}

double *cli_ranks_gather(const double *values, size_t n, cq_ranks *ranks) {
  cq_error error = {0};
  const size_t n_ranks = (size_t)cq_ranks_count(ranks);
  double *all = calloc(n_ranks * n, sizeof *all);
  if (!all) {
    cli_fail("out of memory");
    return NULL;
  }
  memcpy(all + (size_t)cq_ranks_rank(ranks) * n, values, n * sizeof *all);
  if (!cq_ranks_sum(ranks, all, n_ranks * n, &error)) return all;
  cli_fail_error(&error);
  free(all);
  return NULL;
}

void cli_ranks_close(cq_ranks *ranks, int code) {
  if (ranks && code != CLI_OK) {
    fflush(NULL);
    cq_ranks_end_all(ranks, code); /* the others would wait forever */
  }
  cq_ranks_close(ranks);
}
