/* A command that mpirun has started several of (calque/ranks.h): rank 0 tells what happens and writes, an error of any
 * ends all. */
#ifndef CLI_FRAME_COMMAND_RANKS_H
#define CLI_FRAME_COMMAND_RANKS_H

#include "cli/frame/command.h"

/* Where mpirun has started several: opens them, after which errors name rank and machine, and ranks but the first say
 * nothing else. Else *out is NULL. Returns an exit code. */
int cli_ranks_open(cq_ranks **out);
/* Before the end of the command: a code that is no success, after the reason was said, ends all ranks. */
void cli_ranks_close(cq_ranks *ranks, int code);
/* What must be the same on all ranks, as cq_ranks_agree takes it: the options, but for threads and the like, and the
 * SIMD level. The model's contents are compared instead of its name. To be freed; NULL: out of memory. */
char *cli_ranks_lines(const cli_call *call);
/* What all ranks have, [ranks, n], of each rank's own values [n]; to be freed. NULL after saying why not. */
double *cli_ranks_gather(const double *values, size_t n, cq_ranks *ranks);

#endif
