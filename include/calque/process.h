/* The process: what it owes to the files it was writing when it ends by a signal, and what the system knows of it.
 *
 *   static void *wait_for_signals(void *set) {                  // a thread; all others block these signals
 *     int number;
 *     sigwait(set, &number);
 *     cq_remove_temporaries();
 *     _exit(128 + number);
 *   }
 *
 * Files and directories that calque writes appear whole or not at all: they are written under the name PATH.tmp-PID-N and
 * renamed. A process that is ended in between leaves that name behind, and the next writer of PATH removes it; one that
 * calls this leaves nothing.
 *
 * Threads: all may be called from any thread, but not from a signal handler. */
#ifndef CALQUE_PROCESS_H
#define CALQUE_PROCESS_H

#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Removes the temporary files and directories of all calls in progress. Those calls wait forever as soon as they would
 * begin or finish a file: the process is to end now. */
CQ_API void cq_remove_temporaries(void);

/* Where the running program lies, links followed. False when the system does not say, or the path has size bytes or
 * more; then out holds nothing of use. */
CQ_API bool cq_process_path(char *out, size_t size);

/* Bytes of memory that the process holds now (its resident set); 0 when the system does not say. */
CQ_API double cq_process_memory(void);

#ifdef __cplusplus
}
#endif
#endif
