/* A teacher's vectors for the training text, the targets for all languages. See teacher.h. */
#include "lab/autoencode/teacher.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

/* The side of a group that the teacher reads; -1: none. */
static int teacher_side(const cq_autoencode_teacher *t, const int language[2]) {
  return language[0] == t->language ? 0 : language[1] == t->language ? 1 : -1;
}

cq_status cq_autoencode_teacher_open(cq_autoencode_teacher *out, const cq_autoencode_options *o,
                                     const cq_autoencode_data *data, const char *const *codes, size_t n_codes,
                                     int64_t latent_dim, cq_error *error) {
  *out = (cq_autoencode_teacher){.language = cq_name_index(codes, n_codes, o->teacher_language)};
  if (out->language < 0)
    return cq_fail(error, CQ_ERR_ARGUMENT, "there is no text of the teacher's language, '%s'", o->teacher_language);
  const cq_encoder_options opening = cq_encoder_default_options();
  cq_status status = cq_cached_encoder_open(&out->encoder, o->teacher, &opening, o->cache_directory, error);
  if (!status && out->encoder.dim != latent_dim)
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, o->teacher, "vectors of %lld dimensions, the autoencoders' have %lld",
                          (long long)out->encoder.dim, (long long)latent_dim);
  bool has_text = false;
  for (size_t i = 0; i < data->train.n; i++) has_text |= teacher_side(out, data->train.items[i].language) >= 0;
  if (!status && !has_text) status = cq_fail(error, CQ_ERR_ARGUMENT, "there is no text of the teacher's language");
  out->targets = status ? NULL : cq_alloc_array((size_t)o->batch_pairs, (size_t)latent_dim * sizeof *out->targets);
  if (!status && !out->targets) status = cq_fail_memory(error, "a teacher's vectors");
  return status;
}

cq_status cq_autoencode_teacher_prepare(cq_autoencode_teacher *t, const cq_autoencode_data *data, cq_context *ctx,
                                        cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < data->train.n; i++) {
    const cq_text_group *g = &data->train.items[i];
    const int side = teacher_side(t, g->language);
    if (side < 0) continue;
    status = cq_cached_encoder_prepare(&t->encoder, side ? g->text.targets : g->text.sources,
                                       side ? g->text.n_targets : g->text.n_sources, ctx, NULL, NULL, error);
  }
  if (!status) status = cq_cached_encoder_map(&t->encoder, error);
  if (!status) cq_cached_encoder_dismiss(&t->encoder);
  t->is_ready = !status;
  return status;
}

void cq_autoencode_teacher_close(cq_autoencode_teacher *t) {
  if (t->encoder.encoder || t->encoder.store) cq_cached_encoder_close(&t->encoder);
  cq_free(t->targets);
  *t = (cq_autoencode_teacher){0};
}

void cq_autoencode_teacher_set(cq_autoencoder_batch *batch, cq_autoencode_teacher *t) {
  const int side = t->targets ? teacher_side(t, batch->side) : -1;
  if (side < 0) return;
  for (size_t i = 0; i < batch->n; i++)
    memcpy(t->targets + i * (size_t)t->encoder.dim, cq_cached_encoder_vector(&t->encoder, batch->sentences[side][i]),
           (size_t)t->encoder.dim * sizeof(float));
  batch->targets = t->targets;
}
