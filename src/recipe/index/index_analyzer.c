/* The analyzer that splits documents and queries into words: one for all languages, opened when it is first needed. */
#include "recipe/index/index.h"

#include "text/analyzer.h"

/* Documents of many languages are in one index, and a query does not say which it is in. */
cq_status cq_index_need_analyzer(const cq_analyzer **out, const cq_index *index, cq_error *error) {
  cq_analyzer *analyzer = atomic_load(&index->shared->analyzer);
  cq_status status = CQ_OK;
  if (!analyzer) {
    pthread_mutex_lock(&index->shared->opening);
    if (!(analyzer = atomic_load(&index->shared->analyzer))) {
      status = cq_analyzer_open_with(&analyzer, "mul", false, NULL, 0, error);
      if (!status) atomic_store(&index->shared->analyzer, analyzer);
    }
    pthread_mutex_unlock(&index->shared->opening);
  }
  *out = status ? NULL : analyzer;
  return status;
}
