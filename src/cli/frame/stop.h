/* Stopping a long run: the first SIGINT or SIGTERM asks it to, a second one ends the program at once. */
#ifndef CLI_FRAME_STOP_H
#define CLI_FRAME_STOP_H

#include "cli/frame/command.h"

#include <stdbool.h>

void cli_stop_catch(void);
bool cli_stop_asked(void);
/* Says on standard error how the program was started, with --resume. resuming: it was there already. */
void cli_stop_tell_resume(const cli_call *call, bool resuming);

#endif
