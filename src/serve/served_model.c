/* A reference-counted model and its index: a reload replaces it, and the last request frees the old one. */
#include "serve/served_model.h"

#include "base/error.h"

#include "serve/plane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* "sentence-transformers/all-MiniLM-L6-v2" for a path with this ending; ignores slashes at the end. */
static char *last_component(const char *path) {
  size_t end = strlen(path);
  while (end > 1 && path[end - 1] == '/') end--;
  size_t begin = end;
  while (begin > 0 && path[begin - 1] != '/') begin--;
  return strndup(path + begin, end - begin);
}

static void free_model(serve_model *m) {
  serve_plane_free(m->plane);
  pthread_mutex_destroy(&m->mapping);
  cq_index_free(m->index);
  cq_encoder_free(m->own);
  cq_reranker_free(m->reranker);
  free(m->name);
  free(m);
}

static cq_status find_directory(uint64_t out[2], const char *path, cq_error *error) {
  struct stat st;
  if (cq_index_is_address(path)) return CQ_OK;
  if (stat(path, &st)) return cq_fail_errno(error, path, "cannot open");
  out[0] = (uint64_t)st.st_dev, out[1] = (uint64_t)st.st_ino;
  return CQ_OK;
}

cq_status serve_model_open(serve_model **out, const serve_model_options *options, cq_error *error) {
  serve_model *m = calloc(1, sizeof *m);
  cq_status status = CQ_OK;
  const char *name = options->model;
  if (!m) return cq_fail_memory(error, "a model");
  atomic_init(&m->n_users, 1);
  pthread_mutex_init(&m->mapping, NULL);
  if (options->index) {
    cq_index_options o = cq_index_default_options();
    o.model = options->model, o.precision = options->precision, o.writing = options->writable;
    o.notice = options->notice, o.compose = options->compose;
    m->is_shared = cq_index_is_address(options->index), m->is_of_folder = options->is_of_folder;
    status = find_directory(m->directory, options->index, error);
    if (!status) status = cq_index_open(&m->index, options->index, &o, error);
    if (!status && !name) name = cq_index_model(m->index);
    if (!status) status = cq_index_encoder(&m->encoder, m->index, error);
  } else {
    cq_encoder_options o = cq_encoder_default_options();
    o.precision = options->precision, o.notice = options->notice, o.task = options->task;
    o.compose = options->compose;
    status = cq_encoder_open(&m->own, name, &o, error);
    m->encoder = m->own;
  }
  if (!status && options->rerank) {
    cq_encoder_options o = cq_encoder_default_options();
    o.precision = options->precision, o.notice = options->notice;
    m->rerank_depth = (size_t)options->rerank_depth;
    status = cq_reranker_open(&m->reranker, options->rerank, &o, error);
  }
  if (!status) status = cq_encoder_fingerprint(m->fingerprint, m->encoder, error);
  if (!status && !(m->name = last_component(name))) status = cq_fail_memory(error, "a model");
  if (!status) {
    m->dim = (size_t)cq_encoder_dim(m->encoder);
    m->max_tokens = (size_t)cq_encoder_max_seq_length(m->encoder);
    m->precision = cq_precision_name(cq_encoder_precision(m->encoder));
    *out = m;
  } else {
    free_model(m);
  }
  return status;
}

cq_status serve_model_reopen(serve_model **out, serve_model *old, const serve_model_options *options, cq_error *error) {
  uint64_t directory[2];
  if (!options->writable || cq_index_is_address(options->index)) return serve_model_open(out, options, error);
  const cq_status status = find_directory(directory, options->index, error);
  if (status) return status;
  if (memcmp(directory, old->directory, sizeof directory) != 0) return serve_model_open(out, options, error);
  *out = serve_model_use(old);
  return CQ_OK;
}

cq_status serve_model_refresh(serve_model *model, cq_error *error) {
  cq_error own = {0};
  const cq_status status = cq_index_refresh(model->index, NULL, &own);
  if (!status || model->is_of_folder) return CQ_OK;
  *error = own;
  return status;
}

serve_model *serve_model_use(serve_model *model) {
  atomic_fetch_add(&model->n_users, 1);
  return model;
}

void serve_model_leave(serve_model *model) {
  if (model && atomic_fetch_sub(&model->n_users, 1) == 1) free_model(model);
}
