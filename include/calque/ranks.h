/** @file Several processes that work together, on one machine or several, started by Open MPI:
 *
 *      mpirun -n 4 calque distill ...
 *
 *      cq_ranks *ranks;
 *      cq_ranks_open(&ranks, &err);                // every process, once
 *      training_options.ranks = ranks;
 *      if (cq_distill(&result, &o, ctx, &err)) cq_ranks_end_all(ranks, 1);   // the others would wait forever
 *      cq_ranks_close(ranks);
 *
 * Results are bit-identical to those of a single process. Training: each rank holds the whole model and computes some
 * shards of every batch; gradients are summed in a fixed order for any number of ranks. Only rank 0 writes the model,
 * checkpoints and the log. The others must be able to read the same files, including the run's directory. Mining
 * (cq_mine(), cq_nearest()) and adding to an index (cq_index_add()): rank 0 reads and writes, and sends the others the
 * data that they encode and compare. Encoding files: calque/extra/divided.h.
 *
 * @threads All calls that use ranks come from the thread that opened them. */
#ifndef CALQUE_RANKS_H
#define CALQUE_RANKS_H

#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_ranks cq_ranks;

/** Whether mpirun started this process as one of several. */
CQ_API bool cq_ranks_are_started(void);

/** Joins the other ranks. @errors CQ_ERR_UNSUPPORTED without calque's plugin for Open MPI; CQ_ERR_IO with MPI's reason;
 * CQ_ERR_ARGUMENT when they are open already. */
CQ_API CQ_MUST_USE cq_status cq_ranks_open(cq_ranks **out, cq_error *error);
/** Waits for the other ranks to close theirs. */
CQ_API void cq_ranks_close(cq_ranks *ranks);

CQ_API int cq_ranks_rank(const cq_ranks *ranks);         /**< from 0; 0 for NULL */
CQ_API int cq_ranks_count(const cq_ranks *ranks);        /**< 1 for NULL */
CQ_API const char *cq_ranks_host(const cq_ranks *ranks); /**< this machine's name */

/** Bytes that this rank has sent and received so far. */
CQ_API uint64_t cq_ranks_bytes(const cq_ranks *ranks);

/** Sums of n numbers over all ranks, on all ranks, with the same bits. Does nothing for NULL. @errors CQ_ERR_IO,
 * CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_ranks_sum(cq_ranks *ranks, double *values, size_t n, cq_error *error);

/** Checks that all ranks have the same task: lines of a name, a tab and a value. The first line that differs from rank
 * 0's is an error; calque's version is also compared. Does nothing for NULL. @errors CQ_ERR_ARGUMENT: "rank 0 has lr
 * 0.5, not 0.1"; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_ranks_agree(cq_ranks *ranks, const char *lines, cq_error *error);

/** Ends all ranks, including this process, with an exit code. */
CQ_API void cq_ranks_end_all(cq_ranks *ranks, int code);

#ifdef __cplusplus
}
#endif
#endif
