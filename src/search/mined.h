/* The order of mined pairs. */
#ifndef SEARCH_MINED_H
#define SEARCH_MINED_H

#include "calque/mine.h"

/* For qsort of cq_mined_pair: best first, then by source, then by target. */
int cq_mined_by_score(const void *a, const void *b);

#endif
