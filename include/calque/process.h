/** @file The process: removing unfinished files when it ends by a signal, and what the system knows of it.
 *
 *      static void *wait_for_signals(void *set) {                  // a thread; all others block these signals
 *        int number;
 *        sigwait(set, &number);
 *        cq_remove_temporaries();
 *        _exit(128 + number);
 *      }
 *
 * Files and directories that calque writes appear whole or not at all: they are written as PATH.tmp-PID-N and renamed.
 * A process that is killed in between leaves that file, and the next writer of PATH removes it; cq_remove_temporaries()
 * removes it at once.
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

/** The path of the running program, links resolved. False when the system has none, or it does not fit into size bytes;
 * out is undefined then. */
CQ_API bool cq_process_path(char *out, size_t size);

/** The resident set of the process in bytes; 0 when the system has no figure. */
CQ_API double cq_process_memory(void);

#ifdef __cplusplus
}
#endif
#endif
