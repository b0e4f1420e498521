/* The models of an index: its own, for documents, and the one for queries. The first search that needs one opens it for
 * all. */
#include "recipe/index/index.h"

#include "base/error.h"
#include "model/encoder.h"
#include "model/router.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

cq_status cq_index_open_model(cq_encoder **out, char fingerprint[33], const char *model,
                              const cq_encoder_options *options, cq_error *error) {
  cq_status status = cq_encoder_open(out, model, options, error);
  return status ? status : cq_encoder_fingerprint(fingerprint, *out, error);
}

static cq_encoder_options opening_options(const cq_index *index, const char *task) {
  cq_encoder_options o = cq_encoder_default_options();
  o.precision = index->precision, o.compose = index->compose, o.task = index->tasks ? task : NULL;
  o.notice = index->notice, o.notice_context = index->notice_context;
  return o;
}

static cq_status compare_model(const cq_index *index, const cq_encoder *encoder, const char *name,
                               const char *fingerprint, cq_error *error) {
  const int dim = cq_encoder_dim(encoder);
  if (strcmp(fingerprint, index->fingerprint) != 0)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, index->directory,
                        "was made with another model than %s%s ('%s', of fingerprint %s, not %s); to rebuild it from "
                        "its documents: calque index new NEW --model %s && calque index add NEW FILE...",
                        name, index->compose ? ", or without 'compose'" : "", index->model, index->fingerprint,
                        fingerprint, name);
  if (dim != index->dim)
    return cq_fail_file(error, CQ_ERR_FORMAT, index->directory, "the manifest says %lld dimensions, the model has %d",
                        (long long)index->dim, dim);
  return CQ_OK;
}

/* Opens the model (NULL: the recorded name) and checks that it is the index's model. An index made with 'compose' has
 * the fingerprint of a model that composes. */
static cq_status open_own_model(cq_encoder **out, const cq_index *index, const char *model, cq_error *error) {
  const char *name = model ? model : index->model;
  const cq_encoder_options options = opening_options(index, "document");
  char fingerprint[33];
  cq_status status = cq_index_open_model(out, fingerprint, name, &options, error);
  if (!status && strcmp(fingerprint, index->fingerprint) != 0 && cq_encoder_start_composing(*out))
    status = cq_encoder_fingerprint(fingerprint, *out, error);
  if (status && !model && !cq_model_shipped(name))
    CQ_NOTIFY(index, "the index was made with that model; say where it is now");
  return status ? status : compare_model(index, *out, name, fingerprint, error);
}

/* Opens a model that is assumed to share the index's space: only the dimensions can be checked. */
static cq_status open_query_model(cq_encoder **out, const cq_index *index, const char *model, cq_error *error) {
  const cq_encoder_options options = opening_options(index, "query");
  const cq_status status = cq_encoder_open(out, model, &options, error);
  if (status) return status;
  if (cq_encoder_dim(*out) != index->dim)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, index->directory,
                        "has vectors of %lld dimensions, the query model %s of %d: it is not a student of '%s'",
                        (long long)index->dim, model, cq_encoder_dim(*out), index->model);
  CQ_NOTIFY(index, "queries are encoded by %.400s, documents were by %.400s", model, index->model);
  return CQ_OK;
}

/* Opens the index's model a second time, for models with a separate query route. */
static cq_status open_query_route(cq_encoder **out, const cq_index *index, const char *model, cq_error *error) {
  cq_encoder_options options = opening_options(index, "query");
  options.compose = atomic_load(&index->shared->encoder)->compose;
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

/* The encoder at `place`, opened by the first caller. */
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

void cq_index_tell_truncated(const cq_index *index, uint64_t n, const char *what, const cq_encoder *encoder) {
  if (n > 0)
    CQ_NOTIFY(index, "%" PRIu64 " %s longer than %d tokens %s truncated", n, what, cq_encoder_max_seq_length(encoder),
              n == 1 ? "was" : "were");
}
