/* Autoencoders on disk, and translating with them. */
#include "lab/autoencode/autoencoder.h"

#include "base/context.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/utf8.h"
#include "format/json.h"
#include "lab/autoencode/beam.h"
#include "lab/autoencode/states.h"

#include <stdlib.h>
#include <string.h>

/* --- the directory --- */

enum { MAX_CODE = 48 };

bool cq_autoencoder_is_code(const char *code) {
  const size_t n = strlen(code);
  return n > 0 && n <= MAX_CODE && !strchr(code, '/') && cq_utf8_invalid_at(code, n) == n;
}

static cq_status language_path(char out[4096], const char *directory, const char *kind, const char *code,
                               cq_error *error) {
  char name[MAX_CODE + 16];
  snprintf(name, sizeof name, "%s-%s", kind, code);
  return cq_path_join(out, 4096, directory, name, error);
}

static cq_status save_language(const cq_language *l, const char *directory, cq_error *error) {
  char path[4096];
  cq_status status = language_path(path, directory, "encoder", l->code, error);
  if (!status) status = cq_encoder_save(l->encoder, path, false, NULL, error);
  if (!status) status = language_path(path, directory, "decoder", l->code, error);
  if (!status) status = cq_directory_make(path, error);
  return status ? status : cq_decoder_save(l->decoder, path, error);
}

cq_status cq_autoencoder_save(const cq_autoencoder *a, const char *directory, bool replace, cq_error *error) {
  cq_directory_writer w = {0};
  json_t *codes = json_array();
  bool ok = codes != NULL;
  for (size_t i = 0; ok && i < a->n; i++) ok = !json_array_append_new(codes, json_string(a->languages[i].code));
  cq_status status =
      ok ? cq_directory_writer_open(&w, directory, replace, error) : cq_fail_memory(error, "autoencoders");
  if (status) {
    json_decref(codes);
    return status;
  }
  status = cq_json_save(json_pack("{s:s, s:o}", "type", "calque.autoencoder", "languages", codes), w.temporary,
                        "autoencoder.json", error);
  for (size_t i = 0; !status && i < a->n; i++) status = save_language(&a->languages[i], w.temporary, error);
  if (!status) return cq_directory_writer_commit(&w, error);
  cq_directory_writer_abort(&w);
  return status;
}

static bool is_same_vocabulary(const cq_tokenizer *a, const cq_tokenizer *b) {
  const int64_t n = cq_tokenizer_describe(a)->vocab_size;
  bool same = n == cq_tokenizer_describe(b)->vocab_size;
  for (int32_t id = 0; same && (int64_t)id < n; id++) {
    cq_slice text[2] = {{NULL, 0}, {NULL, 0}};
    cq_piece_kind kind[2] = {0, 0};
    const bool is[2] = {cq_tokenizer_piece(&text[0], &kind[0], a, id), cq_tokenizer_piece(&text[1], &kind[1], b, id)};
    same = is[0] == is[1] && (!is[0] || (kind[0] == kind[1] && cq_slice_equal(text[0], text[1])));
  }
  return same;
}

cq_identity cq_autoencoder_vocabularies(cq_identity before, const cq_autoencoder *a) {
  cq_identity sum = before;
  for (size_t i = 0; i < a->n; i++) {
    const cq_tokenizer *t = cq_decoder_tokenizer(a->languages[i].decoder);
    for (int32_t id = 0; (int64_t)id < cq_tokenizer_describe(t)->vocab_size; id++) {
      cq_slice text;
      cq_piece_kind kind;
      if (!cq_tokenizer_piece(&text, &kind, t, id)) continue;
      sum = cq_hash128_add(sum, &(char){(char)kind}, 1);
      sum = cq_hash128_add(sum, text.data, text.n);
    }
  }
  return sum;
}

cq_status cq_autoencoder_check(const cq_autoencoder *a, cq_error *error) {
  for (size_t i = 0; i < a->n; i++)
    for (size_t from = 0; from < a->n; from++) {
      cq_error why = {0};
      if (cq_states_check(a->languages[i].decoder, a->languages[from].encoder, &why))
        return cq_fail(error, CQ_ERR_ARGUMENT, "from '%s' into '%s': %s", a->languages[from].code, a->languages[i].code,
                       why.message);
    }
  return CQ_OK;
}

static cq_status open_language(cq_language *l, const char *code, const char *directory, cq_error *error) {
  char path[4096];
  l->code = cq_strdup(code);
  if (!l->code) return cq_fail_memory(error, code);
  cq_status status = language_path(path, directory, "encoder", code, error);
  if (!status) status = cq_encoder_open(&l->encoder, path, NULL, error);
  if (!status) status = language_path(path, directory, "decoder", code, error);
  if (!status) status = cq_decoder_open(&l->decoder, path, error);
  if (!status && cq_decoder_shape_of(l->decoder)->latent_dim != cq_encoder_dim(l->encoder))
    status =
        cq_fail_file(error, CQ_ERR_FORMAT, path, "reads vectors of %lld dimensions, the encoder gives %lld",
                     (long long)cq_decoder_shape_of(l->decoder)->latent_dim, (long long)cq_encoder_dim(l->encoder));
  const cq_tokenizer *read = status ? NULL : cq_encoder_text_module(l->encoder)->tokenizer;
  if (!status && (!read || !is_same_vocabulary(read, cq_decoder_tokenizer(l->decoder))))
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "the vocabulary differs from the encoder's");
  return status;
}

static cq_status open_languages(cq_autoencoder *a, const json_t *codes, const char *directory, const char *path,
                                cq_error *error) {
  cq_status status = CQ_OK;
  if (!json_is_array(codes) || json_array_size(codes) < 2)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "key 'languages' is not a list of two or more codes");
  const size_t n = json_array_size(codes);
  a->languages = cq_alloc_array_zeroed(n, sizeof *a->languages);
  if (!a->languages) return cq_fail_memory(error, "autoencoders");
  for (a->n = 0; !status && a->n < n; a->n++) {
    const char *code = json_string_value(json_array_get(codes, a->n));
    status = code && cq_autoencoder_is_code(code) ? open_language(&a->languages[a->n], code, directory, error)
                                                  : cq_fail_file(error, CQ_ERR_FORMAT, path, "a language without code");
    if (!status && cq_encoder_dim(a->languages[a->n].encoder) != cq_encoder_dim(a->languages[0].encoder))
      status = cq_fail_file(error, CQ_ERR_FORMAT, path, "the vectors of '%s' have another dimension", code);
  }
  cq_error why = {0};
  if (!status && cq_autoencoder_check(a, &why)) status = cq_fail_file(error, CQ_ERR_FORMAT, path, "%s", why.message);
  return status;
}

cq_status cq_autoencoder_open(cq_autoencoder **out, const char *directory, cq_error *error) {
  char path[4096];
  json_t *config = NULL;
  *out = NULL;
  cq_status status = cq_path_join(path, sizeof path, directory, "autoencoder.json", error);
  if (!status) status = cq_json_read(&config, path, error);
  if (status) return status;
  cq_autoencoder *a = cq_alloc_zeroed(sizeof *a);
  status = a ? open_languages(a, json_object_get(config, "languages"), directory, path, error)
             : cq_fail_memory(error, "autoencoders");
  json_decref(config);
  if (status)
    cq_autoencoder_free(a);
  else
    *out = a;
  return status;
}

void cq_autoencoder_release(cq_autoencoder *a) {
  for (size_t i = 0; a->languages && i < a->n; i++) {
    cq_free(a->languages[i].code);
    cq_encoder_free(a->languages[i].encoder);
    cq_decoder_free(a->languages[i].decoder);
  }
  cq_free(a->languages);
}

void cq_autoencoder_take(cq_autoencoder *to, cq_autoencoder *from) {
  *to = *from;
  cq_free(from);
}

cq_status cq_autoencoder_reserve(cq_autoencoder *a, size_t n, cq_error *error) {
  cq_language *languages = cq_alloc_array_zeroed(n, sizeof *languages);
  if (!languages) return cq_fail_memory(error, "autoencoders");
  for (size_t i = 0; i < a->n; i++) languages[i] = a->languages[i];
  cq_free(a->languages);
  a->languages = languages;
  return CQ_OK;
}

void cq_autoencoder_free(cq_autoencoder *a) {
  if (a) cq_autoencoder_release(a);
  cq_free(a);
}

size_t cq_autoencoder_count(const cq_autoencoder *a) {
  return a->n;
}

const char *cq_autoencoder_language(const cq_autoencoder *a, size_t index) {
  return a->languages[index].code;
}

static const cq_language *language_named(const cq_autoencoder *a, const char *code) {
  for (size_t i = 0; i < a->n; i++)
    if (!strcmp(a->languages[i].code, code)) return &a->languages[i];
  return NULL;
}

const cq_encoder *cq_autoencoder_encoder(const cq_autoencoder *a, const char *language) {
  const cq_language *l = language_named(a, language);
  return l ? l->encoder : NULL;
}

/* --- translating --- */

#define O cq_translate_options
static const cq_option option_rows[] = {
    {CQ_INT(O, "beam", beam, CHANGES, 5, 1, 1024, "N", "beam size: hypotheses kept of each translation; 1: greedy")},
    {CQ_INT(O, "max-tokens", max_tokens, CHANGES, 100, 1, 1 << 16, "N", "maximum length of a translation")},
    {CQ_NUMBER(O, "length-penalty", length_penalty, CHANGES, 1, 0, 100, "X",
               "a translation's score is its log probability / length^X")},
};
#undef O
const cq_option_group cq_group_translate = {.name = "translate", CQ_ROWS(cq_translate_options, option_rows)};

enum { AT_ONCE = 32 }; /* sentences written at the same time */

typedef struct translating {
  const cq_decoder *decoder;
  cq_tensor vectors, states; /* [n, dim]; the decoder's initial states; data NULL if it uses none */
  size_t n;
  cq_beam_options o;
  char **out;
  cq_worker *workers; /* [threads] */
} translating;

static cq_status translate_run(void *context, size_t item, int worker, cq_error *error) {
  translating *t = context;
  const size_t first = item * AT_ONCE, n = cq_min(t->n - first, AT_ONCE);
  cq_ids ids[AT_ONCE] = {{0}};
  const cq_tensor latent = cq_tensor_rows(t->vectors, (int64_t)first, (int64_t)n),
                  states = t->states.data ? cq_tensor_rows(t->states, (int64_t)first, (int64_t)n) : t->states;
  cq_status status = cq_decoder_write(ids, &t->workers[worker], t->decoder, latent, states, &t->o, error);
  for (size_t i = 0; i < n; i++) {
    cq_builder text = {0};
    if (!status) {
      cq_tokenizer_text(&text, cq_decoder_tokenizer(t->decoder), ids[i].ids, ids[i].n);
      t->out[first + i] = text.failed ? NULL : cq_strdup(text.data ? text.data : "");
      if (!t->out[first + i]) status = cq_fail_memory(error, "a translation");
    }
    cq_builder_free(&text);
    cq_free(ids[i].ids);
  }
  return status;
}

static cq_status write_translations(translating *t, cq_context *ctx, cq_error *error) {
  const size_t n_workers = (size_t)cq_context_n_threads(ctx);
  t->workers = cq_alloc_array_zeroed(n_workers, sizeof *t->workers);
  cq_status status = t->workers ? CQ_OK : cq_fail_memory(error, "translations");
  for (size_t i = 0; !status && i < n_workers; i++) t->workers[i].kernels = cq_kernels_best();
  if (!status) status = cq_context_try(ctx, (t->n + AT_ONCE - 1) / AT_ONCE, translate_run, t, error);
  for (size_t i = 0; t->workers && i < n_workers; i++) cq_workspace_free(&t->workers[i].workspace);
  cq_free(t->workers);
  return status;
}

cq_status cq_autoencoder_translate(char **out, cq_encode_stats *stats, const cq_autoencoder *a, const char *from,
                                   const char *to, const cq_slice *sentences, size_t n,
                                   const cq_translate_options *options, cq_context *ctx, cq_error *error) {
  const cq_language *source = language_named(a, from), *target = language_named(a, to);
  cq_translate_options o;
  for (size_t i = 0; i < n; i++) out[i] = NULL;
  cq_status status = cq_options_take(&o, &cq_group_translate, options, error);
  if (status) return status;
  if (!source || !target) return cq_fail(error, CQ_ERR_ARGUMENT, "the model does not know '%s'", source ? to : from);
  if (n == 0) return CQ_OK;
  const int64_t dim = cq_encoder_dim(source->encoder), width = cq_decoder_states_width(target->decoder);
  float *vectors = cq_alloc_array(n, (size_t)dim * sizeof *vectors),
        *states = width > 0 ? cq_alloc_array(n, (size_t)width * sizeof *states) : NULL;
  status = vectors && (states || width == 0) ? CQ_OK : cq_fail_memory(error, "sentence vectors");
  translating t = {.decoder = target->decoder,
                   .vectors = cq_tensor_f32(vectors, (int64_t)n, dim),
                   .states = cq_tensor_f32(states, (int64_t)n, width),
                   .n = n,
                   .o = {o.beam, o.max_tokens, o.length_penalty},
                   .out = out};
  if (!status)
    status = cq_encoder_encode_states(vectors, t.states, stats, source->encoder, sentences, n, NULL, ctx, error);
  if (!status) status = write_translations(&t, ctx, error);
  cq_free(vectors);
  cq_free(states);
  for (size_t i = 0; status && i < n; i++) cq_free(out[i]), out[i] = NULL;
  return status;
}
