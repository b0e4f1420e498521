/** @file The cache: sentence vectors by model, kept by training and mining; states of stopped searches; indexes of
 * read-only folders. Everything in it may be deleted at any time and is then recomputed.
 *
 *      cq_cache_check(NULL, print_part, stdout, &err);       // the default cache
 *
 * @threads Calls are independent of one another. A cache may be checked while other processes use it. */
#ifndef CALQUE_CACHE_H
#define CALQUE_CACHE_H

#include "calque/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A part of the cache. */
typedef struct cq_cache_part {
  const char *path;   /**< a directory (a model's vectors, a folder's index) or a file (a search's state) */
  uint64_t n;         /**< vectors; 1 for a state */
  uint64_t n_damaged; /**< those with a wrong checksum */
  uint64_t n_bytes;   /**< on disk */
  int64_t changed;    /**< last addition, in seconds since 1970 */
} cq_cache_part;

typedef void (*cq_cache_part_fn)(void *context, const cq_cache_part *part);

/** Compares the vectors and states of a cache with their checksums and reports each part. Damaged vectors are
 * recomputed when next needed; damaged states are refused. Indexes have their own check, cq_index_check().
 * @param directory  NULL: $XDG_CACHE_HOME/calque or ~/.cache/calque; a missing one is empty
 * @errors CQ_ERR_ARGUMENT for NULL without a home directory; CQ_ERR_IO; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_cache_check(const char *directory, cq_cache_part_fn tell, void *context,
                                            cq_error *error);

/** Reports each part with its size and age. Nothing is verified: n and n_damaged are 0. @errors As above. */
CQ_API CQ_MUST_USE cq_status cq_cache_info(const char *directory, cq_cache_part_fn tell, void *context,
                                           cq_error *error);

/** Removes the parts to which nothing was added for this many days (0: all), and reports each. Processes that use a
 * removed part continue with their open files. @errors As above. */
CQ_API CQ_MUST_USE cq_status cq_cache_clear(const char *directory, double days, cq_cache_part_fn tell, void *context,
                                            cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
