/* Commands that mpirun may start several of (cli_command's takes_ranks). */
#ifndef CLI_FRAME_RANKS_H
#define CLI_FRAME_RANKS_H

#include "calque/ranks.h"

/* *out: NULL where mpirun has not started several of this process. */
int cli_ranks_open(cq_ranks **out);
/* A message; where there are other ranks, one that names this one, after which all end: they would wait for ever. */
int cli_ranks_fail(cq_ranks *ranks, const cq_error *error);

#endif
