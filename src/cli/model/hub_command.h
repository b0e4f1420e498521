/* Shared by the commands that use the Hugging Face hub. */
#ifndef CLI_MODEL_HUB_COMMAND_H
#define CLI_MODEL_HUB_COMMAND_H

#include "cli/frame/report.h"

typedef struct cli_hub_watch {
  cli_progress line;
  double started_s; /* when bytes began to come, and how many were there */
  uint64_t from;
} cli_hub_watch;

/* A cq_hub_progress_fn on a cli_hub_watch: the file, megabytes, rate and time left. Never stops. */
bool cli_hub_progress(void *watch, const char *file, uint64_t done, uint64_t n_all);

#endif
