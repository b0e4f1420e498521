/* Search by meaning, put together: texts -> vectors -> store/index_store.h, and back by search/top.h. */
#include "calque/index.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/slice.h"
#include "search/approximate.h"
#include "search/top.h"
#include "store/index_store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct cq_index {
  char *directory;
  bool writing;
  cq_index_store *store;
  cq_encoder *encoder;         /* NULL: not needed yet */
  cq_approximate *approximate; /* NULL: likewise, or there is none */
  cq_notice_fn notice;
  void *notice_context;
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
  char fingerprint[33], place[PATH_MAX];
  cq_encoder *encoder = NULL;
  cq_status status = open_model(&encoder, fingerprint, model, notice, notice_context, error);
  /* A directory is remembered by its whole path: searches start anywhere. Other names are names of the cache. */
  const char *name = cq_is_directory(model) && realpath(model, place) ? place : model;
  if (!status) status = cq_index_store_create(directory, name, fingerprint, cq_encoder_dim(encoder), error);
  cq_encoder_free(encoder);
  return status;
}

static const char *last_component(const char *name) {
  const char *slash = strrchr(name, '/');
  return slash ? slash + 1 : name;
}

/* An index of calque 0.1 has a fingerprint that cannot be compared: the name has to do. What is written gets the new one. */
static cq_status accept_old(cq_index *index, const char *name, const char *fingerprint, cq_error *error) {
  const char *had = cq_index_store_info(index->store).model;
  char text[1024];
  if (strcmp(last_component(name), last_component(had)) != 0)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, index->directory,
                        "was made by calque 0.1 with '%s': only a model of that name is taken, not %s", had, name);
  snprintf(text, sizeof text,
           "calque 0.1 made the index: whether %.400s is its model is told by name and dimensions only", name);
  if (index->notice) index->notice(index->notice_context, text);
  return index->writing ? cq_index_store_set_fingerprint(index->store, fingerprint, error) : CQ_OK;
}

static cq_status compare_model(cq_index *index, const char *name, const char *fingerprint, cq_error *error) {
  const cq_index_info info = cq_index_store_info(index->store);
  const int dim = cq_encoder_dim(index->encoder);
  if (info.fingerprint && strcmp(fingerprint, info.fingerprint) != 0)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, index->directory,
                        "was made with another model than %s ('%s', of fingerprint %s, not %s)", name, info.model,
                        info.fingerprint, fingerprint);
  if (dim != info.dim)
    return cq_fail_file(error, CQ_ERR_FORMAT, index->directory, "the manifest says %lld dimensions, the model has %d",
                        (long long)info.dim, dim);
  return info.fingerprint ? CQ_OK : accept_old(index, name, fingerprint, error);
}

/* Opens the model, model NULL: by the name it had, and sees that it is the index's. */
static cq_status need_model(cq_index *index, const char *model, cq_error *error) {
  const char *name = model ? model : cq_index_store_info(index->store).model;
  char fingerprint[33];
  if (index->encoder) return CQ_OK;
  cq_status status = open_model(&index->encoder, fingerprint, name, index->notice, index->notice_context, error);
  if (status && !model && index->notice)
    index->notice(index->notice_context, "the index was made with that model; say where it is now");
  if (!status) status = compare_model(index, name, fingerprint, error);
  if (status) {
    cq_encoder_free(index->encoder);
    index->encoder = NULL;
  }
  return status;
}

cq_status cq_index_open(cq_index **out, const char *directory, const char *model, bool writing, cq_notice_fn notice,
                        void *notice_context, cq_error *error) {
  *out = NULL;
  cq_index *index = cq_alloc_zeroed(sizeof *index);
  if (!index) return cq_fail_memory(error, directory);
  index->notice = notice, index->notice_context = notice_context;
  index->directory = cq_strdup(directory), index->writing = writing;
  cq_status status = index->directory ? cq_index_store_open(&index->store, directory, writing, error)
                                      : cq_fail_memory(error, directory);
  if (!status && model) status = need_model(index, model, error);
  if (status)
    cq_index_free(index);
  else
    *out = index;
  return status;
}

void cq_index_free(cq_index *index) {
  if (!index) return;
  cq_approximate_free(index->approximate);
  cq_index_store_close(index->store);
  cq_encoder_free(index->encoder);
  cq_free(index->directory);
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

size_t cq_index_approximated(const cq_index *index) {
  return (size_t)cq_index_store_info(index->store).n_approximate;
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

cq_status cq_index_add(cq_index *index, const cq_document *documents, size_t n, cq_context *ctx, cq_error *error) {
  cq_status status = need_model(index, NULL, error);
  if (status) return status;
  const size_t dim = (size_t)cq_encoder_dim(index->encoder);
  float *vectors = cq_alloc_array(n, dim * sizeof *vectors);
  cq_slice *texts = cq_alloc_array(n, sizeof *texts);
  cq_index_record *records = cq_alloc_array(n, sizeof *records);
  if (!vectors || !texts || !records) status = cq_fail_memory(error, "documents");
  for (size_t i = 0; !status && i < n; i++) {
    texts[i] = documents[i].text;
    records[i] = (cq_index_record){documents[i].id, documents[i].language, documents[i].text};
  }
  if (!status) status = cq_encoder_encode(vectors, NULL, index->encoder, texts, n, NULL, ctx, error);
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

cq_status cq_index_approximate(cq_index *index, cq_approximation method, cq_context *ctx, cq_error *error) {
  const cq_index_info info = cq_index_store_info(index->store);
  char path[PATH_MAX];
  cq_status status = CQ_OK;
  if (method != CQ_APPROXIMATE_NONE) {
    if (info.n == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "an index without documents cannot be approximated");
    status = cq_index_store_approximate(path, index->store, true, error);
    if (!status)
      status = cq_approximate_build(path, method == CQ_APPROXIMATE_HNSW, cq_index_store_vectors(index->store),
                                    (size_t)info.n, (size_t)info.dim, ctx, error);
  }
  if (!status) cq_index_store_set_approximate(index->store, method != CQ_APPROXIMATE_NONE);
  return status;
}

cq_status cq_index_commit(cq_index *index, cq_error *error) {
  cq_approximate_free(index->approximate);
  index->approximate = NULL;
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

/* Opens the approximation when it is first needed. */
static cq_status open_approximate(cq_index *index, cq_error *error) {
  const cq_index_info info = cq_index_store_info(index->store);
  char path[PATH_MAX];
  if (index->approximate) return CQ_OK;
  cq_status status = cq_index_store_approximate(path, index->store, false, error);
  if (!status && !cq_file_exists(path)) status = CQ_ERR_IO;
  return status ? status
                : cq_approximate_open(&index->approximate, path, (size_t)info.n_approximate, (size_t)info.dim, error);
}

cq_status cq_index_search(cq_hit **out, cq_index *index, const cq_slice *queries, size_t n_queries,
                          const cq_search_options *options, cq_context *ctx, cq_error *error) {
  const cq_search_options o = options ? *options : cq_search_default_options();
  const cq_index_info info = cq_index_store_info(index->store);
  filter f = {.store = index->store};
  cq_neighbours found = {0};
  *out = NULL;
  cq_status status = need_model(index, NULL, error);
  if (status) return status;
  if (o.language) f.language = cq_slice_of(o.language);
  float *vectors = cq_alloc_array(n_queries, (size_t)info.dim * sizeof *vectors);
  if (!vectors) return cq_fail_memory(error, "queries");
  status = cq_encoder_encode(vectors, NULL, index->encoder, queries, n_queries, NULL, ctx, error);
  const float *documents = cq_index_store_vectors(index->store);
  const size_t n = (size_t)info.n, dim = (size_t)info.dim;
  bool exact = o.exact || info.n_approximate == 0;
  if (!status && !exact) status = open_approximate(index, error);
  if (status == CQ_ERR_UNSUPPORTED || status == CQ_ERR_IO) { /* no plugin, or another made the approximation anew */
    if (index->notice) index->notice(index->notice_context, "the approximation cannot be used: searching exactly");
    exact = true, status = CQ_OK;
  }
  if (!status)
    status = exact ? cq_top(&found, vectors, n_queries, documents, n, dim, o.k, is_allowed, &f, ctx, error)
                   : cq_approximate_top(&found, index->approximate, vectors, n_queries, documents, n, dim, o.k,
                                        o.effort, is_allowed, &f, ctx, error);
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
