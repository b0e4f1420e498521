/* Search by meaning, put together: texts -> vectors -> format/index_store.h, and back by search/top.h. */
#include "calque/index.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/slice.h"
#include "format/index_store.h"
#include "search/top.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cq_index {
  cq_index_store *store;
  cq_encoder *encoder;
};

cq_search_options cq_search_default_options(void) {
  return (cq_search_options){.k = 10};
}

static cq_status open_model(cq_encoder **out, char fingerprint[33], const char *model, cq_notice_fn notice,
                            void *notice_context, cq_error *error) {
  const cq_encoder_options options = {.notice = notice, .notice_context = notice_context};
  cq_status status = cq_encoder_open(out, model, &options, error);
  return status ? status : cq_encoder_fingerprint(fingerprint, *out, error);
}

cq_status cq_index_create(const char *directory, const char *model, cq_notice_fn notice, void *notice_context,
                          cq_error *error) {
  char fingerprint[33];
  cq_encoder *encoder = NULL;
  cq_status status = open_model(&encoder, fingerprint, model, notice, notice_context, error);
  if (!status) status = cq_index_store_create(directory, model, fingerprint, cq_encoder_dim(encoder), error);
  cq_encoder_free(encoder);
  return status;
}

cq_status cq_index_open(cq_index **out, const char *directory, const char *model, bool writing, cq_notice_fn notice,
                        void *notice_context, cq_error *error) {
  char fingerprint[33];
  *out = NULL;
  cq_index *index = cq_alloc_zeroed(sizeof *index);
  if (!index) return cq_fail_memory(error, directory);
  cq_status status = cq_index_store_open(&index->store, directory, writing, error);
  if (!status) {
    const cq_index_info info = cq_index_store_info(index->store);
    const char *name = model ? model : info.model;
    status = open_model(&index->encoder, fingerprint, name, notice, notice_context, error);
    if (!status && strcmp(fingerprint, info.fingerprint) != 0)
      status = cq_fail_file(error, CQ_ERR_ARGUMENT, directory,
                            "was made with another model than %s ('%s', of fingerprint %s, not %s)", name, info.model,
                            info.fingerprint, fingerprint);
  }
  if (status)
    cq_index_free(index);
  else
    *out = index;
  return status;
}

void cq_index_free(cq_index *index) {
  if (!index) return;
  cq_index_store_close(index->store);
  cq_encoder_free(index->encoder);
  cq_free(index);
}

size_t cq_index_size(const cq_index *index) {
  return (size_t)cq_index_store_info(index->store).n_live;
}

int cq_index_dim(const cq_index *index) {
  return (int)cq_index_store_info(index->store).dim;
}

const char *cq_index_model(const cq_index *index) {
  return cq_index_store_info(index->store).model;
}

/* --- changes --- */

static cq_status check_finite(const float *vectors, size_t n, size_t dim, const cq_document *documents,
                              cq_error *error) {
  for (size_t i = 0; i < n * dim; i++)
    if (!isfinite(vectors[i]))
      return cq_fail(error, CQ_ERR_ARGUMENT,
                     "document '%.*s': the model gives a vector with a number that is not finite",
                     (int)documents[i / dim].id.n, documents[i / dim].id.data);
  return CQ_OK;
}

cq_status cq_index_add(cq_index *index, const cq_document *documents, size_t n, cq_pool *pool, cq_error *error) {
  const size_t dim = (size_t)cq_encoder_dim(index->encoder);
  float *vectors = cq_alloc_array(n, dim * sizeof *vectors);
  cq_slice *texts = cq_alloc_array(n, sizeof *texts);
  cq_index_record *records = cq_alloc_array(n, sizeof *records);
  cq_status status = vectors && texts && records ? CQ_OK : cq_fail_memory(error, "documents");
  for (size_t i = 0; !status && i < n; i++) {
    texts[i] = documents[i].text;
    records[i] = (cq_index_record){documents[i].id, documents[i].language, documents[i].text};
  }
  if (!status) status = cq_encoder_encode(vectors, index->encoder, pool, texts, n, NULL, NULL, error);
  if (!status) status = check_finite(vectors, n, dim, documents, error);
  if (!status) status = cq_index_store_append(index->store, records, n, vectors, error);
  cq_free(records);
  cq_free(texts);
  cq_free(vectors);
  return status;
}

cq_status cq_index_remove(cq_index *index, const cq_slice *ids, size_t n, size_t *n_removed, cq_error *error) {
  (void)error; /* nothing fails before the commit */
  *n_removed = 0;
  for (size_t i = 0; i < n; i++) {
    const int64_t record = cq_index_store_find(index->store, ids[i]);
    if (record < 0) continue;
    cq_index_store_delete(index->store, record);
    ++*n_removed;
  }
  return CQ_OK;
}

cq_status cq_index_commit(cq_index *index, cq_error *error) {
  return cq_index_store_commit(index->store, error);
}

/* --- search --- */

typedef struct filter {
  const cq_index_store *store;
  cq_slice language; /* data NULL: all */
} filter;

static bool is_allowed(const void *context, size_t row) {
  const filter *f = context;
  if (!cq_index_store_is_live(f->store, (int64_t)row)) return false;
  return !f->language.data || cq_slice_equal(cq_index_store_record(f->store, (int64_t)row).language, f->language);
}

cq_status cq_index_search(cq_hit **out, const cq_index *index, const cq_slice *queries, size_t n_queries,
                          const cq_search_options *options, cq_pool *pool, cq_error *error) {
  const cq_search_options o = options ? *options : cq_search_default_options();
  const cq_index_info info = cq_index_store_info(index->store);
  filter f = {.store = index->store};
  cq_neighbours found = {0};
  *out = NULL;
  if (o.language) f.language = cq_slice_of(o.language);
  float *vectors = cq_alloc_array(n_queries, (size_t)info.dim * sizeof *vectors);
  if (!vectors) return cq_fail_memory(error, "queries");
  cq_status status = cq_encoder_encode(vectors, index->encoder, pool, queries, n_queries, NULL, NULL, error);
  if (!status)
    status = cq_top(&found, vectors, n_queries, cq_index_store_vectors(index->store), (size_t)info.n, (size_t)info.dim,
                    o.k, is_allowed, &f, pool, error);
  cq_hit *hits = status ? NULL : calloc(n_queries * o.k + 1, sizeof *hits);
  if (!status && !hits) status = cq_fail_memory(error, "results");
  for (size_t i = 0; !status && i < n_queries * o.k; i++) {
    if (found.index[i] == UINT32_MAX) continue;
    const cq_index_record r = cq_index_store_record(index->store, found.index[i]);
    hits[i] = (cq_hit){found.cosine[i], {r.id, r.language, r.text}};
  }
  cq_neighbours_free(&found);
  cq_free(vectors);
  *out = hits;
  return status;
}
