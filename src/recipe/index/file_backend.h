/* Searches of an index of files (file_search.c), for its table of functions (file_backend.c). */
#ifndef RECIPE_INDEX_FILE_BACKEND_H
#define RECIPE_INDEX_FILE_BACKEND_H

#include "recipe/index/backend.h"

CQ_MUST_USE cq_status cq_index_files_begin(cq_index_searching *s, cq_error *error);
CQ_MUST_USE cq_status cq_index_files_by_vectors(cq_index_candidates *lists, cq_index_searching *s, size_t k,
                                                cq_error *error);
CQ_MUST_USE cq_status cq_index_files_by_words(cq_index_candidates *lists, cq_index_searching *s, size_t k,
                                              cq_error *error);
CQ_MUST_USE cq_status cq_index_files_fill(cq_hits *hits, const cq_index_searching *s, const cq_index_candidates *lists,
                                          cq_error *error);
CQ_MUST_USE cq_status cq_index_files_weigh(double *weights, const cq_index_searching *s, cq_slice query,
                                           const cq_slice *texts, size_t n, cq_error *error);
CQ_MUST_USE cq_status cq_index_files_sample(cq_index_candidates *list, float **vectors, cq_index_searching *s, size_t n,
                                            cq_error *error);
void cq_index_files_end(cq_index_searching *s);

#endif
