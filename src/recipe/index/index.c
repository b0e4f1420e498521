/* Semantic search: an index, its models, and its storage (backend.h). */
#include "recipe/index/backend.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/plugin.h"
#include "base/slice.h"
#include "model/encoder.h"
#include "model/precision.h"
#include "text/analyzer.h"

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
    CQ_PASSAGE_ROWS(O),
    CQ_COMPOSE_ROW(O),
};
#undef O
const cq_option_group cq_group_index = {
    .name = "index", CQ_ROWS(cq_index_options, index_rows), CQ_FIELDS(CQ_CALLBACK(cq_index_options, notice))};

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
  if (!status && !o.model) status = cq_fail(error, CQ_ERR_ARGUMENT, "an index needs a model: none is named");
  if (status) return status;
  const char *model = o.model;
  cq_encoder_options opening = cq_encoder_default_options();
  opening.precision = o.precision, opening.compose = o.compose;
  status = cq_index_open_model(&encoder, fingerprint, model, &opening, error);
  const bool tasks = !status && cq_encoder_has_tasks(encoder);
  if (!status) { /* as documents will be encoded */
    cq_encoder_free(encoder);
    encoder = NULL;
    opening.notice = o.notice, opening.notice_context = o.notice_context;
    if (tasks) opening.task = "document";
    status = cq_index_open_model(&encoder, fingerprint, model, &opening, error);
  }
  /* A directory is recorded by its absolute path, since searches may start anywhere. Other names refer to the cache, or
   * to a model that calque ships, recorded by its whole name. */
  const char *shipped = cq_model_shipped(model);
  const char *name = cq_is_directory(model) && realpath(model, place) ? place : shipped ? shipped : model;
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
  index->is_writing = o.writing, index->precision = o.precision, index->compose = o.compose;
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
  if (status) cq_index_free(index);
  *out = status ? NULL : index;
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
  cq_coverage_free(&index->coverage);
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

/* Counts by language, in a block of memory that ends with the language codes. */
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
