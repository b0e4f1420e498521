/* Groups of options that other files take as well. */
#ifndef SEARCH_SEARCH_OPTIONS_H
#define SEARCH_SEARCH_OPTIONS_H

#include "base/options.h"

extern const cq_option_group cq_group_nearest, cq_group_margin;
extern const char *const cq_margin_names[]; /* by cq_margin */
extern const char *const cq_first_pass_names[];

#endif
