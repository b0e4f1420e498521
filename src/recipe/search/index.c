/* Search by meaning, put together: texts -> vectors -> store/index_store.h, and back by search/top.h. */
#include "calque/index.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/slice.h"
#include "model/precision.h"
#include "search/approximate.h"
#include "search/top.h"
#include "store/index_store.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An approximation in memory, shared by the searches that use it and by the index, while it is the newest. */
typedef struct approximation {
  cq_approximate *it;
  int64_t generation;
  int n_users; /* with the mutex */
} approximation;

/* What searches open when they first need it, all together once. */
typedef struct shared {
  pthread_mutex_t opening;                      /* held by the one thread that opens the encoder */
  _Atomic(cq_encoder *) encoder, query_encoder; /* the index's own model; the one of queries, when it is another */
  pthread_mutex_t approximating;                /* guards what follows */
  approximation *newest;
  bool has_no_plugin, is_told;
  pthread_mutex_t writing; /* held by the one thread that changes the index */
} shared;

struct cq_index {
  char *directory, *model, *fingerprint; /* fingerprint NULL: an index of calque 0.1 */
  char *query_model;                     /* NULL: queries are encoded by `model` */
  int64_t dim;
  cq_index_store *store;
  bool is_writing;
  shared *shared;
  cq_precision precision;
  cq_notice_fn notice;
  void *notice_context;
  uint64_t n_truncated; /* documents since the last commit; under shared->writing */
};

struct cq_hits {
  cq_index_snapshot *snapshot; /* has the documents */
  size_t n_queries, k;
  cq_hit *all; /* [n_queries, k] */
  size_t *n;   /* [n_queries] */
};

#define O cq_index_options
static const cq_option index_rows[] = {
    {CQ_TEXT(O, "model", model, CHANGES, "MODEL",
             "encodes documents and queries: a directory, or a name in the local Hugging Face cache"),
     .letter = 'm', .otherwise = "the name the index was made with"},
    CQ_PRECISION_ROW(O, precision),
    {CQ_FLAG(O, "writing", writing, KEEPS, "documents are added or removed")},
    {CQ_TEXT(O, "query-model", query_model, CHANGES, "MODEL",
             "encodes the queries: another model in the same space, such as a student of the index's model"),
     .otherwise = "the index's model"},
};
#undef O
const cq_option_group cq_group_index = {.name = "index", CQ_ROWS(cq_index_options, index_rows)};

#define O cq_search_options
static const cq_option search_rows[] = {
    {CQ_SIZE(O, "top", k, CHANGES, 10, 1, 1000000, "N", "documents for each query"), .letter = 'k'},
    {CQ_TEXT(O, "language", language, CHANGES, "CODE", "only documents that were added with this language"),
     .letter = 'l', .otherwise = "all"},
    {CQ_FLAG(O, "exact", exact, CHANGES, "exact nearest neighbours, even where the index has an approximation (ANN)")},
    {CQ_SIZE(O, "effort", effort, CHANGES, 0, 0, 1000000, "N",
             "of approximate search: lists probed (nprobe, ivf) or candidates kept on the way (efSearch, hnsw); more "
             "is slower "
             "and has a higher recall"),
     .otherwise = "the method's"},
};
#undef O
const cq_option_group cq_group_search = {.name = "search", CQ_ROWS(cq_search_options, search_rows)};

static cq_status open_model(cq_encoder **out, char fingerprint[33], const char *model, cq_precision precision,
                            cq_notice_fn notice, void *notice_context, cq_error *error) {
  cq_encoder_options options = cq_encoder_default_options();
  options.precision = precision;
  options.notice = notice, options.notice_context = notice_context;
  cq_status status = cq_encoder_open(out, model, &options, error);
  return status ? status : cq_encoder_fingerprint(fingerprint, *out, error);
}

cq_status cq_index_create(const char *directory, const cq_index_options *options, cq_error *error) {
  char fingerprint[33], place[PATH_MAX];
  cq_index_options o;
  cq_encoder *encoder = NULL;
  cq_status status = cq_options_take(&o, &cq_group_index, options, error);
  if (!status && !o.model) status = cq_fail(error, CQ_ERR_ARGUMENT, "an index is made for a model: there is none");
  if (status) return status;
  const char *model = o.model;
  status = open_model(&encoder, fingerprint, model, o.precision, o.notice, o.notice_context, error);
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
static cq_status accept_old(const cq_index *index, const char *name, const char *fingerprint, cq_error *error) {
  char text[1024];
  if (strcmp(last_component(name), last_component(index->model)) != 0)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, index->directory,
                        "was made by calque 0.1 with '%s': only a model of that name is taken, not %s", index->model,
                        name);
  snprintf(text, sizeof text,
           "calque 0.1 made the index: whether %.400s is its model is told by name and dimensions only", name);
  if (index->notice) index->notice(index->notice_context, text);
  if (!index->is_writing) return CQ_OK;
  pthread_mutex_lock(&index->shared->writing);
  const cq_status status = cq_index_store_set_fingerprint(index->store, fingerprint, error);
  pthread_mutex_unlock(&index->shared->writing);
  return status;
}

static cq_status compare_model(const cq_index *index, const cq_encoder *encoder, const char *name,
                               const char *fingerprint, cq_error *error) {
  const int dim = cq_encoder_dim(encoder);
  if (index->fingerprint && strcmp(fingerprint, index->fingerprint) != 0)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, index->directory,
                        "was made with another model than %s ('%s', of fingerprint %s, not %s)", name, index->model,
                        index->fingerprint, fingerprint);
  if (dim != index->dim)
    return cq_fail_file(error, CQ_ERR_FORMAT, index->directory, "the manifest says %lld dimensions, the model has %d",
                        (long long)index->dim, dim);
  return index->fingerprint ? CQ_OK : accept_old(index, name, fingerprint, error);
}

/* Opens the model, model NULL: by the name it had, and sees that it is the index's. */
static cq_status open_own_model(cq_encoder **out, const cq_index *index, const char *model, cq_error *error) {
  const char *name = model ? model : index->model;
  char fingerprint[33];
  cq_status status = open_model(out, fingerprint, name, index->precision, index->notice, index->notice_context, error);
  if (status && !model && index->notice)
    index->notice(index->notice_context, "the index was made with that model; say where it is now");
  return status ? status : compare_model(index, *out, name, fingerprint, error);
}

/* Opens a model in whose space the index's vectors are taken to lie: of it, only the dimensions can be compared. */
static cq_status open_query_model(cq_encoder **out, const cq_index *index, const char *model, cq_error *error) {
  char text[1024];
  cq_encoder_options options = cq_encoder_default_options();
  options.precision = index->precision;
  options.notice = index->notice, options.notice_context = index->notice_context;
  const cq_status status = cq_encoder_open(out, model, &options, error);
  if (status) return status;
  if (cq_encoder_dim(*out) != index->dim)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, index->directory,
                        "has vectors of %lld dimensions, the query model %s of %d: it is no student of '%s'",
                        (long long)index->dim, model, cq_encoder_dim(*out), index->model);
  snprintf(text, sizeof text, "queries are encoded by %.400s, documents were by %.400s", model, index->model);
  if (index->notice) index->notice(index->notice_context, text);
  return CQ_OK;
}

/* The encoder at `place`, which the first caller opens. */
static cq_status need_encoder(const cq_encoder **out, const cq_index *index, _Atomic(cq_encoder *) *place,
                              cq_status (*open)(cq_encoder **, const cq_index *, const char *, cq_error *),
                              const char *model, cq_error *error) {
  cq_status status = CQ_OK;
  if ((*out = atomic_load(place))) return CQ_OK;
  pthread_mutex_lock(&index->shared->opening);
  if (!(*out = atomic_load(place))) {
    cq_encoder *encoder = NULL;
    status = open(&encoder, index, model, error);
    if (status)
      cq_encoder_free(encoder);
    else
      atomic_store(place, encoder);
    *out = status ? NULL : encoder;
  }
  pthread_mutex_unlock(&index->shared->opening);
  return status;
}

static cq_status need_model(const cq_encoder **out, const cq_index *index, const char *model, cq_error *error) {
  return need_encoder(out, index, &index->shared->encoder, open_own_model, model, error);
}

static cq_status need_query_model(const cq_encoder **out, const cq_index *index, cq_error *error) {
  if (!index->query_model) return need_model(out, index, NULL, error);
  return need_encoder(out, index, &index->shared->query_encoder, open_query_model, index->query_model, error);
}

static cq_status remember_shape(cq_index *index, cq_error *error) {
  cq_index_snapshot *snapshot = cq_index_store_hold(index->store);
  const cq_index_info info = cq_index_snapshot_info(snapshot);
  index->dim = info.dim;
  index->model = cq_strdup(info.model);
  bool ok = index->model != NULL;
  if (info.fingerprint) ok = (index->fingerprint = cq_strdup(info.fingerprint)) && ok;
  cq_index_snapshot_release(snapshot);
  return ok ? CQ_OK : cq_fail_memory(error, index->directory);
}

cq_status cq_index_open(cq_index **out, const char *directory, const cq_index_options *options, cq_error *error) {
  const cq_encoder *encoder;
  cq_index_options o;
  *out = NULL;
  cq_status status = cq_options_take(&o, &cq_group_index, options, error);
  if (status) return status;
  cq_index *index = cq_alloc_zeroed(sizeof *index);
  if (!index) return cq_fail_memory(error, directory);
  index->is_writing = o.writing, index->precision = o.precision;
  index->notice = o.notice, index->notice_context = o.notice_context;
  index->directory = cq_strdup(directory);
  index->query_model = o.query_model ? cq_strdup(o.query_model) : NULL;
  index->shared = cq_alloc_zeroed(sizeof *index->shared);
  status = index->directory && index->shared && (!o.query_model || index->query_model)
               ? CQ_OK
               : cq_fail_memory(error, directory);
  if (index->shared) {
    pthread_mutex_init(&index->shared->opening, NULL);
    pthread_mutex_init(&index->shared->approximating, NULL);
    pthread_mutex_init(&index->shared->writing, NULL);
  }
  if (!status) status = cq_index_store_open(&index->store, directory, o.writing, error);
  if (!status) status = remember_shape(index, error);
  if (!status && o.model) status = need_model(&encoder, index, o.model, error);
  if (!status && o.query_model) status = need_query_model(&encoder, index, error);
  if (status)
    cq_index_free(index);
  else
    *out = index;
  return status;
}

static void approximation_free(approximation *a) {
  if (!a) return;
  cq_approximate_free(a->it);
  cq_free(a);
}

void cq_index_free(cq_index *index) {
  if (!index) return;
  if (index->shared) {
    approximation_free(index->shared->newest);
    cq_encoder_free(atomic_load(&index->shared->encoder));
    cq_encoder_free(atomic_load(&index->shared->query_encoder));
    pthread_mutex_destroy(&index->shared->opening);
    pthread_mutex_destroy(&index->shared->approximating);
    pthread_mutex_destroy(&index->shared->writing);
  }
  cq_free(index->shared);
  cq_index_store_close(index->store);
  cq_free(index->fingerprint);
  cq_free(index->model);
  cq_free(index->query_model);
  cq_free(index->directory);
  cq_free(index);
}

cq_status cq_index_refresh(cq_index *index, bool *changed, cq_error *error) {
  bool is_newer;
  const cq_status status = cq_index_store_refresh(index->store, &is_newer, error);
  if (changed) *changed = is_newer;
  return status;
}

cq_status cq_index_check(const cq_index *index, cq_context *ctx, cq_error *error) {
  cq_index_snapshot *snapshot = cq_index_store_hold(index->store); /* its deletions have been compared */
  const cq_index_info info = cq_index_snapshot_info(snapshot);
  char path[PATH_MAX];
  cq_status status = cq_index_snapshot_verify(snapshot, ctx, error);
  if (!status && info.n_approximate > 0) {
    status = cq_index_store_approximate(path, index->store, info.approximate, error);
    if (!status) status = cq_index_snapshot_verify_approximate(snapshot, path, error);
  }
  cq_index_snapshot_release(snapshot);
  return status;
}

/* Numbers of the newest snapshot. */
static cq_index_info newest_info(const cq_index *index) {
  cq_index_snapshot *snapshot = cq_index_store_hold(index->store);
  cq_index_info info = cq_index_snapshot_info(snapshot);
  info.model = index->model, info.fingerprint = index->fingerprint;
  cq_index_snapshot_release(snapshot);
  return info;
}

size_t cq_index_size(const cq_index *index) {
  return (size_t)newest_info(index).n_live;
}

int cq_index_dim(const cq_index *index) {
  return (int)index->dim;
}

const char *cq_index_model(const cq_index *index) {
  return index->model;
}

size_t cq_index_approximated(const cq_index *index) {
  return (size_t)newest_info(index).n_approximate;
}

static void tell_truncated(const cq_index *index, uint64_t n, const char *what, const cq_encoder *encoder) {
  char text[128];
  if (n == 0 || !index->notice) return;
  snprintf(text, sizeof text, "%" PRIu64 " %s longer than %d tokens %s truncated", n, what,
           cq_encoder_max_seq_length(encoder), n == 1 ? "was" : "were");
  index->notice(index->notice_context, text);
}

/* --- changes --- */

static cq_status check_documents_finite(const float *vectors, size_t n, size_t dim, const cq_document *documents,
                                        cq_error *error) {
  for (size_t i = 0; i < n * dim; i++)
    if (!isfinite(vectors[i]))
      return cq_fail(error, CQ_ERR_ARGUMENT,
                     "document '%.*s': the model gives a vector with a number that is not finite",
                     (int)documents[i / dim].id.n, documents[i / dim].id.data);
  return CQ_OK;
}

cq_status cq_index_add(cq_index *index, const cq_document *documents, size_t n, cq_context *ctx, cq_error *error) {
  const cq_encoder *encoder;
  cq_status status = need_model(&encoder, index, NULL, error);
  if (status) return status;
  const size_t dim = (size_t)index->dim;
  float *vectors = cq_alloc_array(n, dim * sizeof *vectors);
  cq_slice *texts = cq_alloc_array(n, sizeof *texts);
  cq_index_record *records = cq_alloc_array(n, sizeof *records);
  if (!vectors || !texts || !records) status = cq_fail_memory(error, "documents");
  for (size_t i = 0; !status && i < n; i++) {
    texts[i] = documents[i].text;
    records[i] = (cq_index_record){documents[i].id, documents[i].language, documents[i].text};
  }
  cq_encode_stats stats = {0};
  if (!status) status = cq_encoder_encode(vectors, &stats, encoder, texts, n, NULL, ctx, error);
  if (!status) status = check_documents_finite(vectors, n, dim, documents, error);
  if (!status) {
    pthread_mutex_lock(&index->shared->writing);
    status = cq_index_store_append(index->store, records, n, vectors, error);
    if (!status) index->n_truncated += stats.n_truncated;
    pthread_mutex_unlock(&index->shared->writing);
  }
  cq_free(records);
  cq_free(texts);
  cq_free(vectors);
  return status;
}

cq_status cq_index_remove(cq_index *index, const cq_slice *ids, size_t n, size_t *n_removed, cq_error *error) {
  pthread_mutex_lock(&index->shared->writing);
  const cq_status status = cq_index_store_remove(index->store, ids, n, n_removed, error);
  pthread_mutex_unlock(&index->shared->writing);
  return status;
}

static cq_status approximate(cq_index *index, bool graph, cq_context *ctx, cq_error *error) {
  cq_index_snapshot *snapshot = cq_index_store_hold(index->store); /* stays the newest: this thread is the writer */
  const cq_index_info info = cq_index_snapshot_info(snapshot);
  char path[PATH_MAX];
  cq_status status = info.n ? cq_index_store_approximate(path, index->store, info.approximate + 1, error)
                            : cq_fail(error, CQ_ERR_ARGUMENT, "an index without documents cannot be approximated");
  if (!status) status = cq_index_snapshot_verify(snapshot, ctx, error);
  if (!status)
    status = cq_approximate_build(path, graph, cq_index_snapshot_vectors(snapshot), (size_t)info.n, (size_t)info.dim,
                                  ctx, error);
  cq_index_snapshot_release(snapshot);
  return status;
}

cq_status cq_index_approximate(cq_index *index, cq_approximation method, cq_context *ctx, cq_error *error) {
  pthread_mutex_lock(&index->shared->writing);
  cq_status status = cq_index_store_check_writing(index->store, error);
  if (!status && method != CQ_APPROXIMATE_NONE) status = approximate(index, method == CQ_APPROXIMATE_HNSW, ctx, error);
  if (!status) status = cq_index_store_set_approximate(index->store, method != CQ_APPROXIMATE_NONE, error);
  pthread_mutex_unlock(&index->shared->writing);
  return status;
}

cq_status cq_index_commit(cq_index *index, cq_error *error) {
  pthread_mutex_lock(&index->shared->writing);
  const cq_status status = cq_index_store_commit(index->store, error);
  const uint64_t n_truncated = index->n_truncated;
  if (!status) index->n_truncated = 0;
  pthread_mutex_unlock(&index->shared->writing);
  const cq_encoder *encoder;
  cq_error ignored;
  if (!status && n_truncated && !need_model(&encoder, index, NULL, &ignored))
    tell_truncated(index, n_truncated, n_truncated == 1 ? "document" : "documents", encoder);
  return status;
}

/* --- approximations --- */

/* The approximation of a snapshot, to be let go of; opened when it is not the one at hand. Errors: CQ_ERR_IO where it
 * is no longer there, CQ_ERR_UNSUPPORTED without the plugin. */
static cq_status hold_approximation(approximation **out, const cq_index *index, const cq_index_snapshot *snapshot,
                                    cq_error *error) {
  const cq_index_info info = cq_index_snapshot_info(snapshot);
  shared *s = index->shared;
  approximation *mine = NULL, *gone = NULL;
  char path[PATH_MAX];
  cq_status status = CQ_OK;
  pthread_mutex_lock(&s->approximating);
  if (s->newest && s->newest->generation == info.approximate) {
    mine = s->newest;
    mine->n_users++;
  } else if (s->has_no_plugin) {
    status = CQ_ERR_UNSUPPORTED;
  } else {
    mine = cq_alloc_zeroed(sizeof *mine);
    status = mine ? cq_index_store_approximate(path, index->store, info.approximate, error)
                  : cq_fail_memory(error, index->directory);
    if (!status) status = cq_index_snapshot_verify_approximate(snapshot, path, error);
    if (!status) status = cq_approximate_open(&mine->it, path, (size_t)info.n_approximate, (size_t)info.dim, error);
    s->has_no_plugin = status == CQ_ERR_UNSUPPORTED;
    if (status) {
      cq_free(mine);
      mine = NULL;
    } else {
      mine->generation = info.approximate, mine->n_users = 1;
      if (!s->newest || s->newest->generation < mine->generation) {
        if (s->newest && --s->newest->n_users == 0) gone = s->newest;
        s->newest = mine;
        mine->n_users++;
      }
    }
  }
  pthread_mutex_unlock(&s->approximating);
  approximation_free(gone);
  *out = mine;
  return status;
}

static void release_approximation(const cq_index *index, approximation *a) {
  if (!a) return;
  pthread_mutex_lock(&index->shared->approximating);
  const bool is_last = --a->n_users == 0;
  pthread_mutex_unlock(&index->shared->approximating);
  if (is_last) approximation_free(a);
}

static void tell_once(const cq_index *index, const char *reason) {
  char text[1200];
  pthread_mutex_lock(&index->shared->approximating);
  const bool is_told = index->shared->is_told;
  index->shared->is_told = true;
  pthread_mutex_unlock(&index->shared->approximating);
  if (is_told || !index->notice) return;
  snprintf(text, sizeof text, "the approximation cannot be used, searching exactly: %s", reason);
  index->notice(index->notice_context, text);
}

/* --- search --- */

typedef struct filter {
  const cq_index_snapshot *snapshot;
  cq_slice language;        /* data NULL: all */
  _Atomic int64_t *damaged; /* the first record seen that is; as many as there are records: none */
} filter;

static bool is_row_allowed(const void *context, size_t row) {
  const filter *f = context;
  const int64_t record = (int64_t)row;
  if (!cq_index_snapshot_is_live(f->snapshot, record)) return false;
  if (!cq_index_snapshot_is_sound(f->snapshot, record) ||
      (f->language.data && !cq_index_snapshot_is_sound_document(f->snapshot, record))) {
    int64_t first = atomic_load(f->damaged);
    while (record < first && !atomic_compare_exchange_weak(f->damaged, &first, record)) {
    }
  }
  return !f->language.data || cq_slice_equal(cq_index_snapshot_record(f->snapshot, record).language, f->language);
}

/* A snapshot and, unless `exact`, its approximation (NULL: it has none, or none can be used). An approximation that
 * another process has replaced is gone: then there is a newer snapshot. */
static cq_status hold_newest(cq_index_snapshot **snapshot, approximation **out, const cq_index *index, bool exact,
                             cq_error *error) {
  *snapshot = cq_index_store_hold(index->store);
  *out = NULL;
  for (;;) {
    const cq_index_info info = cq_index_snapshot_info(*snapshot);
    cq_error e = {0};
    bool changed;
    if (exact || info.n_approximate == 0) return CQ_OK;
    const cq_status status = hold_approximation(out, index, *snapshot, &e);
    if (status != CQ_ERR_IO && status != CQ_ERR_UNSUPPORTED) {
      if (status && error) *error = e;
      return status;
    }
    if (status == CQ_ERR_IO && !cq_index_store_refresh(index->store, &changed, NULL)) {
      cq_index_snapshot_release(*snapshot);
      *snapshot = cq_index_store_hold(index->store);
      if (cq_index_snapshot_info(*snapshot).approximate != info.approximate) continue;
    }
    tell_once(index, e.message);
    return CQ_OK;
  }
}

/* Takes the snapshot over. */
static cq_status make_hits(cq_hits **out, cq_index_snapshot *snapshot, const cq_neighbours *found, cq_error *error) {
  cq_status status = CQ_OK;
  cq_hits *hits = cq_alloc_zeroed(sizeof *hits);
  if (hits) {
    *hits = (cq_hits){.snapshot = snapshot, .n_queries = found->n, .k = found->k};
    hits->n = cq_alloc_array_zeroed(found->n, sizeof *hits->n);
    hits->all = cq_alloc_array_zeroed(found->n * found->k, sizeof *hits->all);
  } else {
    cq_index_snapshot_release(snapshot);
  }
  if (!hits || !hits->n || !hits->all) {
    cq_hits_free(hits);
    return cq_fail_memory(error, "results");
  }
  for (size_t i = 0; !status && i < found->n * found->k; i++) {
    const int64_t record = found->index[i];
    if (record == UINT32_MAX) continue;
    if (!cq_index_snapshot_is_sound_document(snapshot, record))
      status = cq_index_snapshot_fail(snapshot, record, error);
    const cq_index_record r = cq_index_snapshot_record(snapshot, record);
    hits->all[i] = (cq_hit){found->cosine[i], {.id = r.id, .language = r.language, .text = r.text}};
    hits->n[i / found->k]++;
  }
  if (status)
    cq_hits_free(hits);
  else
    *out = hits;
  return status;
}

cq_status cq_index_search(cq_hits **out, const cq_index *index, const cq_slice *queries, size_t n_queries,
                          const cq_search_options *options, cq_context *ctx, cq_error *error) {
  cq_search_options o;
  const size_t dim = (size_t)index->dim;
  const cq_encoder *encoder;
  cq_index_snapshot *snapshot = NULL;
  approximation *approximate = NULL;
  cq_neighbours found = {0};
  *out = NULL;
  cq_status status = cq_options_take(&o, &cq_group_search, options, error);
  if (!status) status = need_query_model(&encoder, index, error);
  if (status) return status;
  float *vectors = cq_alloc_array(n_queries, dim * sizeof *vectors);
  if (!vectors) return cq_fail_memory(error, "queries");
  cq_encode_stats stats = {0};
  status = cq_encoder_encode(vectors, &stats, encoder, queries, n_queries, NULL, ctx, error);
  if (!status) tell_truncated(index, stats.n_truncated, stats.n_truncated == 1 ? "query" : "queries", encoder);
  if (!status) status = hold_newest(&snapshot, &approximate, index, o.exact, error);
  if (!status) {
    const size_t n = (size_t)cq_index_snapshot_info(snapshot).n;
    _Atomic int64_t damaged = (int64_t)n;
    const filter f = {snapshot, o.language ? cq_slice_of(o.language) : (cq_slice){0}, &damaged};
    const float *documents = cq_index_snapshot_vectors(snapshot);
    status = approximate ? cq_approximate_top(&found, approximate->it, vectors, n_queries, documents, n, dim, o.k,
                                              o.effort, is_row_allowed, &f, ctx, error)
                         : cq_top(&found, vectors, n_queries, documents, n, dim, o.k, is_row_allowed, &f, ctx, error);
    if (!status && damaged < (int64_t)n) status = cq_index_snapshot_fail(snapshot, damaged, error);
  }
  release_approximation(index, approximate);
  if (status)
    cq_index_snapshot_release(snapshot);
  else
    status = make_hits(out, snapshot, &found, error);
  cq_neighbours_free(&found);
  cq_free(vectors);
  return status;
}

const cq_hit *cq_hits_of(const cq_hits *hits, size_t query, size_t *n) {
  *n = query < hits->n_queries ? hits->n[query] : 0;
  return *n ? hits->all + query * hits->k : NULL;
}

void cq_hits_free(cq_hits *hits) {
  if (!hits) return;
  cq_index_snapshot_release(hits->snapshot);
  cq_free(hits->all);
  cq_free(hits->n);
  cq_free(hits);
}
