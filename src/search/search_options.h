/* Groups of options, and the order of mined pairs, for other folders. */
#ifndef SEARCH_SEARCH_OPTIONS_H
#define SEARCH_SEARCH_OPTIONS_H

#include "base/options.h"

extern const cq_option_group cq_group_nearest, cq_group_margin;
extern const char *const cq_margin_names[]; /* by cq_margin */
extern const char *const cq_first_pass_names[];

/* For qsort of cq_mined_pair: best first, then by source, then by target. */
int cq_mined_by_score(const void *a, const void *b);

#endif
