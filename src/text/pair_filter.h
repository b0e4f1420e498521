/* Filters for pairs of sentences that are no translations, although their vectors may be similar. */
#ifndef TEXT_PAIR_FILTER_H
#define TEXT_PAIR_FILTER_H

#include "calque/mine.h"
#include "calque/slice.h"

/* Counts how often each digit occurs: 3.75, 3,75 and ٣٫٧٥ have the same digits, and the order of numbers in a sentence
 * does not matter. Out of memory: *failed is set. */
void cq_count_digits(int counts[10], cq_slice text, bool *failed);

/* The first filter (CQ_DROP_*) that drops a pair of sentences; 0: none.
 *   CQ_DROP_COPIES   the same letters on both sides, case and compatibility forms aside
 *   CQ_DROP_NUMBERS  the two sides have different digits, regardless of script and grouping
 *   CQ_DROP_LINKS    one side has a URL or an e-mail address that the other lacks, or little else
 * Out of memory: *failed is set. */
unsigned cq_filter_pair(cq_slice source, cq_slice target, unsigned filters, bool *failed);

#endif
