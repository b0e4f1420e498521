/* A command that mpirun has started several of (calque/ranks.h): rank 0 tells what happens and writes, an error of any
 * ends all. */
#ifndef CLI_FRAME_RANKS_H
#define CLI_FRAME_RANKS_H

#include "cli/frame/command.h"

/* Where mpirun has started several: opens them, after which errors name rank and machine, and ranks but the first say
 * nothing else. Else *out is NULL. Returns an exit code. */
int cli_ranks_open(cq_ranks **out);
/* Before the end of the command: a code that is no success, after the reason was said, ends all ranks. */
void cli_ranks_close(cq_ranks *ranks, int code);

#endif
