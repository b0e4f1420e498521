/* A language's new encoder and decoder, before training. See fresh_autoencoder.h. */
#include "lab/autoencode/fresh_autoencoder.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "model/modules.h"

/* Trains vocab_size pieces or words, or fewer if the language's text does not allow as many. */
static cq_status train_vocabulary(cq_tokenizer **out, const cq_autoencode_data *data, int language,
                                  const cq_autoencode_options *o, cq_error *error) {
  const cq_words_training words = {.vocab_size = o->vocab_size};
  cq_sentencepiece_training pieces = {.vocab_size = o->vocab_size, .character_coverage = 0.9995};
  for (int largest = 0;; pieces.vocab_size = largest) {
    cq_language_text text = {.data = data, .language = language};
    const cq_status status =
        o->vocabulary == CQ_AUTOENCODE_WORDS
            ? cq_tokenizer_train_words(out, cq_language_text_next, &text, &words, error)
            : cq_tokenizer_train_sentencepiece(out, &largest, cq_language_text_next, &text, &pieces, error);
    if (status != CQ_ERR_ARGUMENT || largest == 0 || largest >= pieces.vocab_size) return status;
  }
}

/* Makes the same vocabulary twice: for the encoder and for the decoder. */
static cq_status make_vocabulary(cq_tokenizer *out[2], const cq_autoencode_data *data, int language,
                                 const char *scratch, const cq_autoencode_options *o, cq_error *error) {
  cq_directory_writer w = {0};
  cq_status status = train_vocabulary(&out[0], data, language, o, error);
  if (!status) status = cq_directory_writer_open(&w, scratch, true, error);
  if (status) return status;
  status = cq_tokenizer_save(out[0], w.temporary, 0, error);
  if (!status) status = cq_tokenizer_open(&out[1], w.temporary, false, error);
  cq_directory_writer_abort(&w);
  return status;
}

static cq_status append_module(cq_encoder *e, cq_status status, cq_module *module, cq_error *error) {
  return status ? status : cq_encoder_append(e, module, error);
}

/* words -> LSTM -> pooling -> linear [-> length one] */
static cq_status fill_encoder(cq_encoder *e, cq_tokenizer **tokenizer, int latent_dim, const cq_autoencode_options *o,
                              cq_random *random, cq_error *error) {
  static const cq_pooling_mode modes[] = {CQ_POOL_LAST, CQ_POOL_MAX, CQ_POOL_MEAN};
  const int64_t wide = (o->bidirectional ? 2 : 1) * o->hidden_dim;
  const double dropout = o->n_layers > 1 ? o->encoder_dropout : 0;
  cq_module *m = NULL;
  cq_status status = cq_word_embeddings_new(&m, *tokenizer, o->embedding_dim, o->max_tokens, "0_WordEmbeddings", random,
                                            &e->arena, error);
  if (!status) *tokenizer = NULL;
  status = append_module(e, status, m, error);
  if (!status)
    status = cq_lstm_module_new(&m, o->embedding_dim, o->hidden_dim, o->n_layers, o->bidirectional, dropout, "1_LSTM",
                                random, &e->arena, error);
  status = append_module(e, status, m, error);
  if (!status) status = cq_pooling_new(&m, wide, modes[o->pooling], "2_Pooling", &e->arena, error);
  status = append_module(e, status, m, error);
  if (!status)
    status = cq_dense_new(&m, wide, latent_dim, o->relu ? CQ_RELU : CQ_IDENTITY, "3_Dense", random, &e->arena, error);
  status = append_module(e, status, m, error);
  if (status || !o->unit_length) return status;
  status = cq_normalize_new(&m, latent_dim, "4_Normalize", &e->arena, error);
  return append_module(e, status, m, error);
}

cq_status cq_language_new(cq_language *l, const char *code, const cq_autoencode_data *data, int language,
                          int latent_dim, const char *scratch, const cq_autoencode_options *o, cq_context *ctx,
                          cq_error *error) {
  cq_random random = cq_random_seeded(o->seed, 100 + (uint64_t)language);
  cq_tokenizer *vocabulary[2] = {NULL, NULL};
  const cq_autoencode_latent as = o->latent_as;
  const cq_decoder_shape shape = {
      .embedding_dim = o->embedding_dim,
      .hidden_dim = o->hidden_dim,
      .n_layers = o->n_layers,
      .latent_dim = latent_dim,
      .latent_at_every_step = as == CQ_AUTOENCODE_LATENT_BOTH || as == CQ_AUTOENCODE_LATENT_EVERY_STEP ||
                              as == CQ_AUTOENCODE_ENCODER_STATES_EVERY_STEP,
      .latent_as_state = as == CQ_AUTOENCODE_LATENT_BOTH || as == CQ_AUTOENCODE_LATENT_STATE,
      .states_from_encoder = as >= CQ_AUTOENCODE_ENCODER_STATES,
      .words_hidden = o->words_hidden,
      .dropout = o->decoder_dropout};
  *l = (cq_language){.code = cq_strdup(code)};
  cq_status status =
      l->code ? make_vocabulary(vocabulary, data, language, scratch, o, error) : cq_fail_memory(error, "autoencoders");
  if (!status) status = cq_encoder_new(&l->encoder, error);
  if (!status) status = fill_encoder(l->encoder, &vocabulary[0], latent_dim, o, &random, error);
  if (!status) status = cq_encoder_pack(l->encoder, ctx, false, error);
  if (!status) status = cq_decoder_new(&l->decoder, vocabulary[1], &shape, &random, error);
  if (!status) vocabulary[1] = NULL;
  cq_tokenizer_free(vocabulary[0]);
  cq_tokenizer_free(vocabulary[1]);
  return status;
}
