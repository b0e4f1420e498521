/* Chooses the segments to merge. A segment's level is the logarithm of its size; a smaller one before a larger one
 * counts as having the larger one's level, so that levels only fall. Each level keeps fewer than MERGED segments, O(log
 * n) in all. Eight segments of a level make one of the next, so a document is written about once per level; more often
 * at the lowest level, of small commits, but these are quick to write.
 * Source: Lucene's LogMergePolicy. */
#include "lexical/growing.h"

enum { MERGED = 8, SMALLEST = 256 };

static int level_of(uint64_t size) {
  int level = 0;
  for (; size >= SMALLEST; size /= MERGED) level++;
  return level;
}

static uint64_t sum_of(const uint64_t *sizes, size_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; i++) sum += sizes[i];
  return sum;
}

bool cq_lexical_choose_merge(size_t *first, size_t *n, const uint64_t *sizes, size_t n_segments) {
  /* From the end: runs of one level, the lowest first. */
  for (size_t end = n_segments, begin; end > 0; end = begin) {
    const int level = level_of(sizes[end - 1]);
    for (begin = end; begin > 0 && level_of(sizes[begin - 1]) <= level;) begin--;
    if (end - begin < MERGED) continue;
    uint64_t least = UINT64_MAX;
    for (size_t i = begin; i + MERGED <= end; i++) {
      const uint64_t sum = sum_of(sizes + i, MERGED);
      if (sum < least) least = sum, *first = i;
    }
    *n = MERGED;
    return true;
  }
  return false;
}
