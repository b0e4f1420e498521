/** @file The process: removes unfinished files when a signal ends it, and reports its path and memory.
 *
 *      static void *wait_for_signals(void *set) {                  // a thread; all others block these signals
 *        int number;
 *        sigwait(set, &number);
 *        cq_remove_temporaries();
 *        _exit(128 + number);
 *      }
 *
 * calque writes files and directories atomically: as PATH.tmp-PID-N, which is then renamed. A killed process leaves
 * that file, and the next writer of PATH removes it; cq_remove_temporaries() removes it at once.
 *
 * @threads All may be called from any thread, but not from a signal handler. */
#ifndef CALQUE_PROCESS_H
#define CALQUE_PROCESS_H

#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Removes the temporary files and directories of all calls in progress. Those calls block forever when they begin or
 * finish a file, so the process must end now. */
CQ_API void cq_remove_temporaries(void);

/** The path of the running program, with links resolved. False if the system does not provide it, or it does not fit
 * into size bytes; out is then undefined. */
CQ_API bool cq_process_path(char *out, size_t size);

/** The resident set size of the process in bytes; 0 if the system does not report it. */
CQ_API double cq_process_memory(void);

#ifdef __cplusplus
}
#endif
#endif
