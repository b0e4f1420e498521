/* A command run by several ranks under mpirun (calque/ranks.h): rank 0 prints and writes; any rank's error ends all. */
#ifndef CLI_FRAME_COMMAND_RANKS_H
#define CLI_FRAME_COMMAND_RANKS_H

#include "cli/frame/command.h"

/* Under mpirun with several ranks: opens them; after that, errors name rank and machine, and only the first rank prints
 * anything else. Otherwise *out is NULL. Returns an exit code. */
int cli_ranks_open(cq_ranks **out);
/* Call before the command ends: after a failure, which has already been reported, it ends all ranks. */
void cli_ranks_close(cq_ranks *ranks, int code);
/* The values that must agree on all ranks, for cq_ranks_agree: the options, except threads and similar ones, and the
 * SIMD level. The model is compared by its contents, not its name. The caller frees it; NULL: out of memory. */
char *cli_ranks_lines(const cli_call *call);
/* All ranks' values, [ranks, n], from each rank's values [n]; the caller frees them. NULL after printing the error. */
double *cli_ranks_gather(const double *values, size_t n, cq_ranks *ranks);

#endif
