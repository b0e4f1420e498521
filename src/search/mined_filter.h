/* Filters for pairs that margins get wrong: high scores without being translations. */
#ifndef SEARCH_MINED_FILTER_H
#define SEARCH_MINED_FILTER_H

#include "calque/mine.h"
#include "calque/slice.h"

/* How often each digit occurs: 3.75, 3,75 and ٣٫٧٥ have the same digits, and so have 10 and its neighbors in another
 * order of words. Out of memory: *failed is set. */
void cq_count_digits(int counts[10], cq_slice text, bool *failed);

/* The first filter (CQ_DROP_*) that drops a pair of sentences; 0: none.
 *   CQ_DROP_COPIES   the same letters on both sides, case and compatibility forms aside
 *   CQ_DROP_NUMBERS  the digits of one are not those of the other, whatever script they are in and however grouped
 *   CQ_DROP_LINKS    one side has a URL or an e-mail address that the other lacks, or is little else
 * Out of memory: *failed is set. */
unsigned cq_filter_pair(cq_slice source, cq_slice target, unsigned filters, bool *failed);

#endif
