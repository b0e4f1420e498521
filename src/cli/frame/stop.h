/* Signals: SIGINT, SIGTERM and SIGHUP end the program with their number (128 + n for a shell), without leaving
 * temporary files. In a long run, the first signal may be a request: the run stops at the next suitable moment, and a
 * second signal ends it. */
#ifndef CLI_FRAME_STOP_H
#define CLI_FRAME_STOP_H

#include "cli/frame/command.h"

#include <stdbool.h>

/* Call once, before there are other threads. */
void cli_stop_begin(void);
/* After this call, the first signal only makes cli_stop_asked true. */
void cli_stop_catch(void);
bool cli_stop_asked(void);
/* After this call, the first SIGINT or SIGTERM, and every SIGHUP, only calls this function on a separate thread; a
 * second SIGINT or SIGTERM ends the program. NULL: restores the previous behavior. */
void cli_stop_call(void (*told)(int signal));
/* The program's exit code: the signal's if the program failed because of a stop request, otherwise `code`. */
int cli_stop_code(int code);
/* Prints on standard error the command line that resumes this run: the current one with --resume (resuming: it already
 * has that). n_ranks above 1: mpirun started the run. */
void cli_stop_tell_resume(const cli_call *call, bool resuming, int n_ranks);

#endif
