/* The commands of their own files that "calque index" lists. */
#ifndef CLI_SEARCH_INDEX_H
#define CLI_SEARCH_INDEX_H

#include "cli/frame/command.h"

extern const cli_command cli_index_add, cli_index_hubness;

#endif
