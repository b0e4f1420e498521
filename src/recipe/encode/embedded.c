/* Files of sentences, or of vectors, as rows of vectors in a mapped file. See embedded.h. */
#include "recipe/encode/embedded.h"

#include "base/error.h"
#include "base/memory.h"
#include "recipe/encode/shared_encoder.h"

#include <stdio.h>
#include <string.h>

bool cq_watched_tell(void *context, uint64_t done, uint64_t n_all) {
  const cq_watched *w = context;
  return !w->progress || w->progress(w->context, w->what, done, n_all);
}

static void note_left_out(const cq_embedding *how, const char *path, const cq_sentences *c) {
  char text[512];
  if (!how->notice || (!c->n_blank && !c->n_skipped)) return;
  snprintf(text, sizeof text, "%s: %llu blank and %llu malformed lines were left out", path,
           (unsigned long long)c->n_blank, (unsigned long long)c->n_skipped);
  how->notice(how->notice_context, text);
}

/* Warns about a file of translations, which looks like a file of ids. */
static void note_strange_ids(const cq_embedding *how, const char *path, const cq_sentences *c) {
  char text[512];
  const cq_slice id = c->ids && c->n_lines ? c->ids[0] : (cq_slice){NULL, 0};
  if (!how->notice || !id.n || !memchr(id.data, ' ', id.n)) return;
  snprintf(text, sizeof text, "%s: its lines have a tab: what is before it ('%.*s') is taken as an id", path,
           (int)(id.n < 60 ? id.n : 60), id.data);
  how->notice(how->notice_context, text);
}

static cq_encoder_options opening_options(const cq_embedding *how) {
  cq_encoder_options o = cq_encoder_default_options();
  o.precision = how->precision, o.compose = how->compose;
  o.notice = how->notice, o.notice_context = how->notice_context;
  return o;
}

static cq_status locate_vectors(cq_embedded *e, const cq_cached_encoder *store, cq_error *error) {
  e->n = e->corpus.n, e->dim = (size_t)store->dim, e->vectors = store->vectors;
  e->rows = cq_alloc_array(e->n, sizeof *e->rows);
  if (!e->rows) return cq_fail_memory(error, "the vectors of a corpus");
  for (size_t i = 0; i < e->n; i++) {
    const int64_t record = cq_cached_encoder_record(store, e->corpus.sentences[i]);
    if (record > UINT32_MAX) return cq_fail(error, CQ_ERR_LIMIT, "the cache holds more than 2^32 vectors");
    e->rows[i] = (uint32_t)record;
  }
  return CQ_OK;
}

/* All files are read before the model is opened, so that an error in them is reported at once, not after minutes. */
static cq_status embed_files(cq_embedded *out, cq_cached_encoder *store, const char *const *paths, size_t n,
                             const cq_embedding *how, cq_context *ctx, cq_error *error) {
  const cq_encoder_options opening = opening_options(how);
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < n; i++) {
    status = cq_sentences_read(&out[i].corpus, paths[i], how->skip_bad, error);
    if (status) break;
    note_left_out(how, paths[i], &out[i].corpus);
    note_strange_ids(how, paths[i], &out[i].corpus);
  }
  if (!status) status = cq_cached_encoder_open(store, how->model, &opening, how->cache_directory, error);
  store->ranks = how->ranks;
  if (!status) status = cq_shared_encoder_agree(store->encoder, how->ranks, error);
  for (size_t i = 0; !status && i < n; i++)
    status = cq_cached_encoder_prepare(store, out[i].corpus.sentences, out[i].corpus.n, ctx, how->progress,
                                       how->progress_context, error);
  if (!status) status = cq_shared_encode_end(how->ranks, error);
  if (!status) status = cq_cached_encoder_map(store, error);
  for (size_t i = 0; !status && i < n; i++) status = locate_vectors(&out[i], store, error);
  if (!status) cq_cached_encoder_dismiss(store);
  return status;
}

/* Ranks without files: they encode for rank 0. */
static cq_status help_embedding(const cq_embedding *how, cq_context *ctx, cq_error *error) {
  const cq_encoder_options options = opening_options(how);
  cq_encoder *encoder = NULL;
  cq_status status = cq_encoder_open(&encoder, how->model, &options, error);
  if (!status) status = cq_shared_encoder_agree(encoder, how->ranks, error);
  if (!status) status = cq_shared_encode_serve(encoder, how->ranks, ctx, error);
  cq_encoder_free(encoder);
  return status;
}

static cq_status open_vectors(cq_embedded *e, const char *path, size_t raw_dim, cq_error *error) {
  cq_status status = cq_matrix_open(&e->matrix, path, raw_dim, error);
  e->vectors = e->matrix.data, e->n = e->matrix.n, e->dim = e->matrix.dim;
  if (!status && (e->n == 0 || e->dim == 0))
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, path, "there is no vector in it");
  return status;
}

cq_status cq_embedded_open(cq_embedded *out, cq_cached_encoder *store, const char *const *paths, size_t n,
                           const cq_embedding *how, cq_context *ctx, cq_error *error) {
  cq_status status = CQ_OK;
  if (cq_ranks_rank(how->ranks) > 0) return how->model ? help_embedding(how, ctx, error) : CQ_OK;
  if (how->model) return embed_files(out, store, paths, n, how, ctx, error);
  for (size_t i = 0; !status && i < n; i++) status = open_vectors(&out[i], paths[i], how->raw_dim, error);
  if (!status && n == 2 && out[0].dim != out[1].dim)
    status = cq_fail(error, CQ_ERR_ARGUMENT, "%s has rows of %zu numbers, %s of %zu", paths[0], out[0].dim, paths[1],
                     out[1].dim);
  return status;
}

void cq_embedded_close(cq_embedded *e) {
  cq_sentences_free(&e->corpus);
  cq_matrix_close(&e->matrix);
  cq_free(e->rows);
  *e = (cq_embedded){0};
}
