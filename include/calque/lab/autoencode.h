/** @file Autoencoders for two or more languages with a common space of sentence vectors: one language's encoder reads,
 * and another's decoder writes. A language's encoder is a regular sentence encoder.
 *
 *      const cq_autoencode_text train[] = {{"fr-it.tsv.gz", {"fr", "it"}}, {"more.it.txt", {"it"}}};
 *      cq_autoencode_options o = cq_autoencode_translating();
 *      o.output = "fr-it", o.train = train, o.n_train = 2;
 *      cq_autoencode(NULL, &o, ctx, &err);
 *
 *      cq_autoencoder *a;
 *      cq_autoencoder_open(&a, "fr-it", &err);
 *      cq_autoencoder_translate(out, NULL, a, "fr", "it", sentences, n, NULL, ctx, &err);
 *
 * A model is a directory: autoencoder.json, and encoder-XX (sentence-transformers' layout) and decoder-XX for each
 * language. @source Dore's dual autoencoders for the system as described; Sutskever et al. 2014, Cho et al. 2014 for
 * decoders that start from a fixed vector.
 *
 * @threads An open cq_autoencoder may be used by any number of threads at once. Several trainings may run at once, each
 * with its own output directory. */
#ifndef CALQUE_LAB_AUTOENCODE_H
#define CALQUE_LAB_AUTOENCODE_H

#include "calque/context.h"
#include "calque/encoder.h"
#include "calque/options.h"
#include "calque/ranks.h"
#include "calque/schedule.h"
#include "calque/slice.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_autoencoder cq_autoencoder;

/** Opens a model. @errors CQ_ERR_IO; CQ_ERR_FORMAT, naming the file, for vocabularies, dimensions or weights that do
 * not match. */
CQ_API CQ_MUST_USE cq_status cq_autoencoder_open(cq_autoencoder **out, const char *directory, cq_error *error);
CQ_API void cq_autoencoder_free(cq_autoencoder *autoencoder);
CQ_API size_t cq_autoencoder_count(const cq_autoencoder *autoencoder); /**< languages */
CQ_API const char *cq_autoencoder_language(const cq_autoencoder *autoencoder, size_t index);
/** A language's encoder, borrowed; NULL if there is none for that code. */
CQ_API const cq_encoder *cq_autoencoder_encoder(const cq_autoencoder *autoencoder, const char *language);

typedef struct cq_translate_options {
  size_t size;
  int beam;              /**< 1: greedy */
  int max_tokens;        /**< of a translation */
  double length_penalty; /**< a translation's score is its log probability / length^this */
} cq_translate_options;
/** A beam of 5, 100 tokens, a length penalty of 1: group "translate". */
CQ_DEFAULT_OPTIONS(cq_translate_options, cq_translate_default_options, translate)

/** Translates sentences, with the same result for any number of threads: out [n], each released with cq_free(); NULLs
 * after an error. Empty sentences are translated like any other text; long ones are truncated to the encoder's maximum
 * sequence length. stats: as for cq_encoder_encode(); may be NULL. @errors CQ_ERR_ARGUMENT for an unknown language or
 * options out of range; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_autoencoder_translate(char **out, cq_encode_stats *stats,
                                                      const cq_autoencoder *autoencoder, const char *from,
                                                      const char *to, const cq_slice *sentences, size_t n,
                                                      const cq_translate_options *options, cq_context *ctx,
                                                      cq_error *error);

/** @name Training */

/** SentencePiece's pieces, or the most frequent words and punctuation. */
typedef enum cq_autoencode_vocabulary { CQ_AUTOENCODE_PIECES, CQ_AUTOENCODE_WORDS } cq_autoencode_vocabulary;
typedef enum cq_autoencode_pooling { CQ_AUTOENCODE_LAST, CQ_AUTOENCODE_MAX, CQ_AUTOENCODE_MEAN } cq_autoencode_pooling;
typedef enum cq_autoencode_contrast { CQ_AUTOENCODE_PAIRS, CQ_AUTOENCODE_IN_BATCH } cq_autoencode_contrast;
/** Measures of greedy translations of dev, with the default options of calque/lab/mt.h, averaged over all
 * directions. */
typedef enum cq_autoencode_measure {
  CQ_AUTOENCODE_BLEU,
  CQ_AUTOENCODE_CHRF,
  CQ_AUTOENCODE_METEOR
} cq_autoencode_measure;
enum { CQ_AUTOENCODE_N_MEASURES = 3 };
/** How decoders use a sentence's vector. */
typedef enum cq_autoencode_latent {
  CQ_AUTOENCODE_LATENT_BOTH,              /**< the next two */
  CQ_AUTOENCODE_LATENT_STATE,             /**< the initial state */
  CQ_AUTOENCODE_LATENT_EVERY_STEP,        /**< a part of each input */
  CQ_AUTOENCODE_ENCODER_STATES,           /**< the encoder's final states instead; it is then unidirectional */
  CQ_AUTOENCODE_ENCODER_STATES_EVERY_STEP /**< these, and a part of each input */
} cq_autoencode_latent;
typedef enum cq_autoencode_feed { CQ_AUTOENCODE_OWN, CQ_AUTOENCODE_OTHER, CQ_AUTOENCODE_BOTH } cq_autoencode_feed;

/** Text for training or evaluation. */
typedef struct cq_autoencode_text {
  const char *path;         /**< .tsv or .tsv.gz */
  const char *languages[2]; /**< codes of the first and second column; NULL: ignore the column */
} cq_autoencode_text;

/** One line of news from a run. */
typedef struct cq_autoencode_progress {
  const char *phase; /**< "data", "together", "encoders", "decoders" */
  uint64_t step, n_steps;
  size_t n_languages;
  const char *const *languages;
  const double *nll; /**< [n_languages] running means, like the fields below; 0: none yet */
  double contrast, distance, seconds_left;
  const char *text; /**< a table or remark to print unchanged; NULL: none */
} cq_autoencode_progress;
/** Return false to stop the run (CQ_ERR_STOPPED). */
typedef bool (*cq_autoencode_progress_fn)(void *context, const cq_autoencode_progress *progress);

typedef struct cq_autoencode_options {
  size_t size;
  const char *output;
  bool replace;
  bool resume;          /**< resume from OUTPUT.work if it exists; false: an existing one is CQ_ERR_ARGUMENT */
  int checkpoint_every; /**< steps; 0: at the end of a stage and when stopped */
  /** A batch is in one pair of languages, or in one language, drawn in proportion to the text; an epoch has as many
   * batches as the whole text. Each language needs text; text without translations trains only its decoder. */
  const cq_autoencode_text *train;
  size_t n_train;
  const cq_autoencode_text *dev; /**< pairs that are translated in both directions after each epoch of decoder
                                  * training */
  size_t n_dev;                  /**< 0: keep the last model; else the best */
  cq_autoencode_measure best_by;
  const char *joined; /**< a model whose languages are included unchanged; NULL: none */
  bool skip_bad;
  int max_characters; /**< pairs with a longer side are left out; 0: no limit */
  /* sizes */
  cq_autoencode_vocabulary vocabulary;
  int vocab_size; /**< of each new language; of words: at most */
  int embedding_dim, hidden_dim, n_layers;
  int latent_dim; /**< where no model is joined */
  bool bidirectional;
  cq_autoencode_pooling pooling;
  bool relu;          /**< after the linear layer that gives the vector */
  bool unit_length;   /**< vectors of length one */
  bool shared_latent; /**< all languages share the layer that gives the vector */
  cq_autoencode_latent latent_as;
  bool words_hidden; /**< decoders do not read their previous output, only the encoder's vector */
  double encoder_dropout, decoder_dropout;
  int max_tokens; /**< of a sentence */
  /* losses */
  double contrast, reconstruction, distance; /**< Dore's eq. 3: alpha, beta; and the weight of squared distances */
  cq_autoencode_contrast contrast_by;
  double margin, temperature;
  const char *teacher; /**< the target of all vectors: a model's vectors of one language; NULL: none */
  const char *teacher_language;
  double distillation;         /**< weight of the squared distances to them */
  const char *cache_directory; /**< cache of the teacher's vectors; NULL: $XDG_CACHE_HOME/calque or ~/.cache/calque */
  /** Weight of the loss against a discriminator of the vectors' languages: Lample et al. 2018, eq. 3; 0: none */
  double adversary;
  int discriminator_hidden; /**< its hidden layer */
  cq_autoencode_feed feed;
  double noise;                /**< mean length of the noise added to the decoders' input vectors */
  double word_dropout;         /**< share of the decoders' input tokens replaced by `<unk>` */
  double encoder_word_dropout; /**< the same for encoders */
  /* course */
  double together_epochs, encoder_epochs, decoder_epochs; /**< the stages, in this order; the last one with frozen
                                                           * encoders */
  int patience; /**< end a stage after this many decoder epochs without a better dev result; 0: never */
  int batch_pairs;
  double learning_rate, weight_decay, clip_norm;
  bool two_optimizers;  /**< in each step of joint training, one for the losses between vectors, then one for -log p */
  double contrast_rate; /**< with two optimizers: the first one's learning rate, relative to the other's */
  cq_schedule schedule; /**< of each stage */
  double warmup;        /**< share of each stage's steps */
  int n_shards;
  uint64_t seed;
  cq_autoencode_progress_fn progress;
  void *progress_context;
  cq_ranks *ranks; /**< ranks that train together (calque/ranks.h); NULL: only this process */
} cq_autoencode_options;

/** The defaults for translation: bidirectional, max pooling, unit length; vectors are aligned by contrastive loss
 * (InfoNCE) and distance, while decoders are trained with noise on their own language's vectors: group "autoencode". */
CQ_DEFAULT_OPTIONS(cq_autoencode_options, cq_autoencode_translating, autoencode)
/** The system as described, with its best values (table 5): batch 16, rate 2e-4, embedding 150, hidden 256, latent 16
 * after ReLU, two layers one way, dropout 0.139 and 0.102, alpha 1.039, beta 1.440, everything trained together; a
 * margin of 1.5, 30 epochs, and decoders that do not read words, as in the authors' program: group
 * "autoencode-as-described". */
CQ_DEFAULT_OPTIONS(cq_autoencode_options, cq_autoencode_as_described, autoencode_as_described)

typedef struct cq_autoencode_result {
  uint64_t n_pairs, n_steps;
  double loss;                          /**< weighted sum: running mean at the end of the last stage */
  double dev[CQ_AUTOENCODE_N_MEASURES]; /**< of the model that is kept; NaN without dev */
} cq_autoencode_result;

/** Trains and writes the model. result may be NULL. @errors CQ_ERR_ARGUMENT; CQ_ERR_FORMAT with file and line;
 * CQ_ERR_LIMIT with the stage's step when a loss or a gradient is not finite, with the best model so far in
 * OUTPUT.work/best; CQ_ERR_STOPPED; CQ_ERR_IO; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_autoencode(cq_autoencode_result *result, const cq_autoencode_options *options,
                                           cq_context *ctx, cq_error *error);

/** @name What a run has logged */

typedef struct cq_autoencode_log_step {
  /** Figures of the batch; NaN if not computed: only decoders, text in one language, no teacher, no adversary. */
  double contrast, distance, distillation;
  double discriminator; /**< share of vectors with the right language */
  double gradient_norm;
} cq_autoencode_log_step;

typedef struct cq_autoencode_log_stage {
  char name[24]; /**< "together", "encoders", "decoders" */
  size_t begin;  /**< index of its first step */
} cq_autoencode_log_stage;

typedef struct cq_autoencode_log_dev {
  size_t n_steps; /**< done before this evaluation */
} cq_autoencode_log_dev;

typedef struct cq_autoencode_log {
  char *path;                    /**< of the log itself */
  char **languages;              /**< [n_languages] codes */
  cq_autoencode_log_step *steps; /**< [n_steps] */
  double *nll;                   /**< [n_steps, n_languages] -log p per token; NaN: not in the batch */
  cq_autoencode_log_stage *stages;
  char **ways; /**< [n_ways] directions of dev: "fr-it"; none before the first evaluation */
  cq_autoencode_log_dev *devs;
  double *scores; /**< [n_devs, n_ways, CQ_AUTOENCODE_N_MEASURES] */
  size_t n_languages, n_steps, n_stages, n_ways, n_devs;
} cq_autoencode_log;

/** Reads the log of a run, even while it is running: an incomplete last line is ignored. `*out` is empty after an
 * error.
 * @param path  OUTPUT of cq_autoencode(), whose log is OUTPUT.work/log.jsonl if it exists, else OUTPUT/log.jsonl; or a
 *              log's own path
 * @errors CQ_ERR_IO; CQ_ERR_FORMAT with file and line, and for a log without a step; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_autoencode_log_read(cq_autoencode_log *out, const char *path, cq_error *error);
CQ_API void cq_autoencode_log_free(cq_autoencode_log *log); /**< frees its members; legal on {0} */

#ifdef __cplusplus
}
#endif
#endif
