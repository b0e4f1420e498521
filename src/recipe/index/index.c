/* Search by meaning, put together: an index, its models, and where it is kept (backend.h). */
#include "recipe/index/backend.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/plugin.h"
#include "base/slice.h"
#include "model/encoder.h"
#include "model/precision.h"
#include "model/router.h"
#include "text/analyzer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    {CQ_SIZE(O, "passage-tokens", passage_tokens, CHANGES, 256, 0, 1000000, "N",
             "documents of more tokens are split into passages of whole sentences; 0: what the model takes at most")},
    {CQ_SIZE(O, "passage-overlap", passage_overlap, CHANGES, 32, 0, 1000000, "N",
             "tokens at the end of a passage that the next one may begin with, whole sentences")},
};
#undef O
const cq_option_group cq_group_index = {
    .name = "index", CQ_ROWS(cq_index_options, index_rows), CQ_FIELDS(CQ_CALLBACK(cq_index_options, notice))};

static cq_status open_model(cq_encoder **out, char fingerprint[33], const char *model, const char *task,
                            cq_precision precision, cq_notice_fn notice, void *notice_context, cq_error *error) {
  cq_encoder_options options = cq_encoder_default_options();
  options.precision = precision, options.task = task;
  options.notice = notice, options.notice_context = notice_context;
  cq_status status = cq_encoder_open(out, model, &options, error);
  return status ? status : cq_encoder_fingerprint(fingerprint, *out, error);
}

bool cq_index_is_address(const char *place) {
  return strncmp(place, "postgresql://", 13) == 0 || strncmp(place, "postgres://", 11) == 0;
}

cq_status cq_index_find_backend(const struct cq_index_backend **out, const char *place, cq_error *error) {
  const void *table = &cq_index_files;
  cq_status status = CQ_OK;
  if (cq_index_is_address(place))
    status = cq_plugin_load(&table, "postgresql", CQ_INDEX_BACKEND_VERSION,
                            "an index in PostgreSQL needs calque's plugin for it", error);
  *out = table;
  return status;
}

cq_status cq_index_create(const char *directory, const cq_index_options *options, cq_error *error) {
  char fingerprint[33], place[PATH_MAX];
  const struct cq_index_backend *backend;
  cq_index_options o;
  cq_encoder *encoder = NULL;
  cq_status status = cq_options_take(&o, &cq_group_index, options, error);
  if (!status && !o.model) status = cq_fail(error, CQ_ERR_ARGUMENT, "an index is made for a model: there is none");
  if (status) return status;
  const char *model = o.model;
  status = open_model(&encoder, fingerprint, model, NULL, o.precision, NULL, NULL, error);
  const bool tasks = !status && cq_encoder_has_tasks(encoder);
  if (!status) { /* as documents will be encoded */
    cq_encoder_free(encoder);
    encoder = NULL;
    status = open_model(&encoder, fingerprint, model, tasks ? "document" : NULL, o.precision, o.notice,
                        o.notice_context, error);
  }
  /* A directory is remembered by its whole path: searches start anywhere. Other names are names of the cache. */
  const char *name = cq_is_directory(model) && realpath(model, place) ? place : model;
  const cq_index_making making = {.model = name,
                                  .fingerprint = fingerprint,
                                  .dim = encoder ? cq_encoder_dim(encoder) : 0,
                                  .tasks = tasks,
                                  .passage_tokens = o.passage_tokens,
                                  .passage_overlap = o.passage_overlap};
  if (!status) status = cq_index_find_backend(&backend, directory, error);
  if (!status) status = backend->create(directory, &making, error);
  cq_encoder_free(encoder);
  return status;
}

static cq_status compare_model(const cq_index *index, const cq_encoder *encoder, const char *name,
                               const char *fingerprint, cq_error *error) {
  const int dim = cq_encoder_dim(encoder);
  if (strcmp(fingerprint, index->fingerprint) != 0)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, index->directory,
                        "was made with another model than %s ('%s', of fingerprint %s, not %s)", name, index->model,
                        index->fingerprint, fingerprint);
  if (dim != index->dim)
    return cq_fail_file(error, CQ_ERR_FORMAT, index->directory, "the manifest says %lld dimensions, the model has %d",
                        (long long)index->dim, dim);
  return CQ_OK;
}

/* Opens the model, model NULL: by the name it had, and sees that it is the index's. */
static cq_status open_own_model(cq_encoder **out, const cq_index *index, const char *model, cq_error *error) {
  const char *name = model ? model : index->model;
  char fingerprint[33];
  cq_status status = open_model(out, fingerprint, name, index->tasks ? "document" : NULL, index->precision,
                                index->notice, index->notice_context, error);
  if (status && !model && index->notice)
    index->notice(index->notice_context, "the index was made with that model; say where it is now");
  return status ? status : compare_model(index, *out, name, fingerprint, error);
}

/* Opens a model in whose space the index's vectors are taken to lie: of it, only the dimensions can be compared. */
static cq_status open_query_model(cq_encoder **out, const cq_index *index, const char *model, cq_error *error) {
  char text[1024];
  cq_encoder_options options = cq_encoder_default_options();
  options.precision = index->precision, options.task = index->tasks ? "query" : NULL;
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

/* The own model once more, for queries, where those have modules of their own. */
static cq_status open_query_route(cq_encoder **out, const cq_index *index, const char *model, cq_error *error) {
  cq_encoder_options options = cq_encoder_default_options();
  options.precision = index->precision, options.task = "query";
  options.notice = index->notice, options.notice_context = index->notice_context;
  const cq_status status = cq_encoder_open(out, model, &options, error);
  if (status || cq_encoder_dim(*out) == index->dim) return status;
  return cq_fail_file(error, CQ_ERR_ARGUMENT, index->directory,
                      "has vectors of %lld dimensions, the modules for queries of %s give %d", (long long)index->dim,
                      model, cq_encoder_dim(*out));
}

cq_encode_options cq_index_encoding(const cq_index *index, const cq_encoder *query_model, bool as_document) {
  cq_encode_options o = cq_encode_default_options();
  if (!index->tasks) return o;
  const char *name = cq_task_prompt(query_model->prompts, as_document ? "document" : "query");
  o.prompt_name = name ? name : query_model->default_prompt_name;
  if (!o.prompt_name) o.prompt = "";
  return o;
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

cq_status cq_index_need_model(const cq_encoder **out, const cq_index *index, const char *model, cq_error *error) {
  return need_encoder(out, index, &index->shared->encoder, open_own_model, model, error);
}

cq_status cq_index_encoder(const cq_encoder **out, const cq_index *index, cq_error *error) {
  return cq_index_need_model(out, index, NULL, error);
}

cq_status cq_index_need_query_model(const cq_encoder **out, const cq_index *index, cq_error *error) {
  if (!index->query_model) {
    const cq_status status = cq_index_need_model(out, index, NULL, error);
    if (status || !index->tasks || !(*out)->has_routes) return status;
    return need_encoder(out, index, &index->shared->query_encoder, open_query_route, (*out)->directory, error);
  }
  return need_encoder(out, index, &index->shared->query_encoder, open_query_model, index->query_model, error);
}

bool cq_index_query_prompt(const char **name, const cq_index *index) {
  const cq_encoder *encoder;
  *name = NULL;
  if (index->query_model) return false;
  if (!index->tasks) return true;
  if (cq_index_need_model(&encoder, index, NULL, NULL) || encoder->has_routes) return false;
  *name = cq_index_encoding(index, encoder, false).prompt_name;
  return *name || !encoder->task_prompt_name;
}

cq_status cq_index_open(cq_index **out, const char *directory, const cq_index_options *options, cq_error *error) {
  const struct cq_index_backend *backend;
  const cq_encoder *encoder;
  cq_index_options o;
  *out = NULL;
  cq_status status = cq_options_take(&o, &cq_group_index, options, error);
  if (!status) status = cq_index_find_backend(&backend, directory, error);
  if (status) return status;
  cq_index *index = cq_alloc_zeroed(sizeof *index);
  if (!index) return cq_fail_memory(error, "index");
  index->backend = backend;
  index->is_writing = o.writing, index->precision = o.precision;
  index->passage_tokens = o.passage_tokens, index->passage_overlap = o.passage_overlap;
  index->notice = o.notice, index->notice_context = o.notice_context;
  index->query_model = o.query_model ? cq_strdup(o.query_model) : NULL;
  index->shared = cq_alloc_zeroed(sizeof *index->shared);
  status = index->shared && (!o.query_model || index->query_model) ? CQ_OK : cq_fail_memory(error, "index");
  if (index->shared) {
    pthread_mutex_init(&index->shared->opening, NULL);
    pthread_mutex_init(&index->shared->holding, NULL);
    pthread_mutex_init(&index->shared->writing, NULL);
  }
  if (!status) status = index->backend->open(index, directory, error);
  if (!status && o.model) status = cq_index_need_model(&encoder, index, o.model, error);
  if (!status && o.query_model) status = cq_index_need_query_model(&encoder, index, error);
  if (status)
    cq_index_free(index);
  else
    *out = index;
  return status;
}

void cq_index_free(cq_index *index) {
  if (!index) return;
  if (index->shared) {
    cq_index_approximation_free(index->shared->approximation);
    cq_index_word_set_free(index->shared->words);
    cq_encoder_free(atomic_load(&index->shared->encoder));
    cq_encoder_free(atomic_load(&index->shared->query_encoder));
    pthread_mutex_destroy(&index->shared->opening);
    cq_analyzer_free(atomic_load(&index->shared->analyzer));
    pthread_mutex_destroy(&index->shared->holding);
    pthread_mutex_destroy(&index->shared->writing);
  }
  cq_free(index->shared);
  index->backend->close(index);
  cq_free(index->fingerprint);
  cq_free(index->model);
  cq_free(index->query_model);
  cq_free(index->directory);
  cq_free(index);
}

cq_status cq_index_refresh(cq_index *index, bool *changed, cq_error *error) {
  bool is_newer;
  const cq_status status = index->backend->refresh(index, &is_newer, error);
  if (changed) *changed = is_newer;
  return status;
}

cq_status cq_index_check(const cq_index *index, cq_context *ctx, cq_error *error) {
  return index->backend->check(index, ctx, error);
}

size_t cq_index_size(const cq_index *index) {
  return index->backend->count(index).n_documents;
}

int cq_index_dim(const cq_index *index) {
  return (int)index->dim;
}

const char *cq_index_model(const cq_index *index) {
  return index->model;
}

size_t cq_index_n_passages(const cq_index *index) {
  return index->backend->count(index).n_passages;
}

/* Languages counted, in a block of memory that ends with their codes. */
typedef struct language_counts {
  cq_index_language *items;
  size_t n, capacity;
  cq_arena codes;
  bool failed;
} language_counts;

static void count_language(void *context, cq_slice code, size_t n) {
  language_counts *c = context;
  if (c->failed) return;
  if (c->n == 0 || !cq_slice_equal(c->items[c->n - 1].code, code)) { /* codes come one after the other */
    const char *copy = cq_arena_strndup(&c->codes, code.data, code.n);
    c->failed = !copy || !cq_reserve((void **)&c->items, &c->capacity, c->n + 1, sizeof *c->items);
    if (c->failed) return;
    c->items[c->n++] = (cq_index_language){{copy, code.n}, 0};
  }
  c->items[c->n - 1].n_documents += n;
}

cq_status cq_index_languages(cq_index_language **out, size_t *n, const cq_index *index, cq_error *error) {
  language_counts counts = {0};
  size_t n_bytes = 0;
  *out = NULL, *n = 0;
  cq_status status = index->backend->languages(index, count_language, &counts, error);
  for (size_t i = 0; i < counts.n; i++) n_bytes += counts.items[i].code.n;
  if (!status && !counts.failed) *out = cq_alloc(counts.n * sizeof **out + n_bytes + 1);
  if (!status && !*out) status = cq_fail_memory(error, "languages");
  char *codes = *out ? (char *)(*out + counts.n) : NULL;
  for (size_t i = 0; *out && i < counts.n; i++) {
    (*out)[i] = (cq_index_language){{codes, counts.items[i].code.n}, counts.items[i].n_documents};
    memcpy(codes, counts.items[i].code.data, counts.items[i].code.n);
    codes += counts.items[i].code.n;
  }
  if (*out) *n = counts.n;
  cq_arena_free(&counts.codes);
  cq_free(counts.items);
  return status;
}

size_t cq_index_approximated(const cq_index *index) {
  return index->backend->count(index).n_approximate;
}

size_t cq_index_n_hubness_queries(const cq_index *index) {
  return index->backend->count(index).n_queries;
}

void cq_index_tell_truncated(const cq_index *index, uint64_t n, const char *what, const cq_encoder *encoder) {
  char text[128];
  if (n == 0 || !index->notice) return;
  snprintf(text, sizeof text, "%" PRIu64 " %s longer than %d tokens %s truncated", n, what,
           cq_encoder_max_seq_length(encoder), n == 1 ? "was" : "were");
  index->notice(index->notice_context, text);
}
