/* The cache: vectors of sentences by model, which training and mining keep so that a model is asked once; the states of
 * searches that were stopped; indexes of folders of documents that cannot be written to. All of it may be deleted at any
 * time and is computed again.
 *
 *   cq_cache_check(NULL, print_part, stdout, &err);       // of the default cache
 *
 * Threads: calls are independent of one another. A cache may be checked while other processes use it. */
#ifndef CALQUE_CACHE_H
#define CALQUE_CACHE_H

#include "calque/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What was found at a path of the cache. */
typedef struct cq_cache_part {
  const char *path;   /* a model's vectors or a folder's index, directories; or a state of a search, a file */
  uint64_t n;         /* vectors; of a state: 1 */
  uint64_t n_damaged; /* those of them that do not fit their checksums */
  uint64_t n_bytes;   /* on disk */
  int64_t changed;    /* when something was last added, in seconds since 1970 */
} cq_cache_part;

typedef void (*cq_cache_part_fn)(void *context, const cq_cache_part *part);

/* Compares the vectors and states of a cache with their checksums and tells of each part. Damaged vectors are computed
 * again by whoever needs them next, damaged states are refused. Indexes have a check of their own, cq_index_check.
 *   directory  NULL: $XDG_CACHE_HOME/calque or ~/.cache/calque; one that does not exist is empty
 * Errors: CQ_ERR_ARGUMENT when there is neither a directory nor a home; CQ_ERR_IO; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_cache_check(const char *directory, cq_cache_part_fn tell, void *context,
                                            cq_error *error);

/* Tells of each part with its size and age; nothing is verified, n and n_damaged are 0. Errors: as above. */
CQ_API CQ_MUST_USE cq_status cq_cache_info(const char *directory, cq_cache_part_fn tell, void *context,
                                           cq_error *error);

/* Removes the parts to which nothing was added for so many days, 0: all, and tells of each afterwards. Whoever uses one
 * at the same time continues with what it has open. Errors: as above. */
CQ_API CQ_MUST_USE cq_status cq_cache_clear(const char *directory, double days, cq_cache_part_fn tell, void *context,
                                            cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
