/* The state of a neighbor search on disk, so that a killed search resumes. */
#ifndef SEARCH_RESUME_H
#define SEARCH_RESUME_H

#include "base/hash.h"
#include "calque/nearest.h"
#include "search/rows.h"

/* The identity of a search: a hash of its kind, its sizes and every byte of its vectors. */
cq_identity cq_search_identity(const cq_row_set *x, const cq_row_set *y, size_t k, bool within);

/* Writes the lists after `done` rows of y, replacing earlier ones. of_y may be NULL. */
CQ_MUST_USE cq_status cq_search_save(const char *path, cq_identity key, size_t done, const cq_neighbors *of_x,
                                     const cq_neighbors *of_y, cq_error *error);
/* Reads the lists back if their row numbers are below n_x and n_y. If the file is missing or belongs to another search,
 * *done is 0 and the lists are unchanged. Errors: CQ_ERR_FORMAT for a broken file (remove it to start over);
 * CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_search_load(size_t *done, const char *path, cq_identity key, size_t n_x, size_t n_y,
                                     cq_neighbors *of_x, cq_neighbors *of_y, cq_error *error);
/* Whether a file exists and belongs to this search. */
bool cq_search_is_of(const char *path, cq_identity key);

#endif
