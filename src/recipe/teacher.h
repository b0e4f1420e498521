/* The teacher's vectors of all the sources a run needs: computed once, kept on disk by model and text. */
#ifndef RECIPE_TEACHER_H
#define RECIPE_TEACHER_H

#include "calque/encoder.h"
#include "format/vector_store.h"

typedef struct cq_teacher {
  cq_encoder *encoder;
  cq_vector_store *store;
  int64_t dim;
  const float *vectors; /* [n_records, dim] once mapped */
} cq_teacher;

/* cache NULL: $XDG_CACHE_HOME/calque or ~/.cache/calque. Errors: those of opening a model and the store;
 * CQ_ERR_ARGUMENT when there is neither a cache directory nor a home. */
CQ_MUST_USE cq_status cq_teacher_open(cq_teacher *out, const char *model, const char *cache, cq_notice_fn notice,
                                      void *notice_context, cq_error *error);
void cq_teacher_close(cq_teacher *t);

/* Makes sure that each text has its vector. progress is told how many of the missing ones are done and may stop. */
typedef bool (*cq_teacher_progress)(void *context, uint64_t done, uint64_t n);
CQ_MUST_USE cq_status cq_teacher_prepare(cq_teacher *t, const cq_slice *texts, size_t n, cq_pool *pool,
                                         cq_teacher_progress progress, void *context, cq_error *error);

/* After all is prepared: maps the vectors, then gives a text's, [dim]. */
CQ_MUST_USE cq_status cq_teacher_map(cq_teacher *t, cq_error *error);
const float *cq_teacher_vector(const cq_teacher *t, cq_slice text);

#endif
