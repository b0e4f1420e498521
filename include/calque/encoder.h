/** @file A sentence encoder: text in, vectors out.
 *
 *      cq_encoder *encoder;
 *      cq_encoder_open(&encoder, "all-MiniLM-L6-v2", NULL, &err); // a directory, or a name in the cache
 *      float *vectors = malloc(n * cq_encoder_dim(encoder) * sizeof(float));
 *      cq_encoder_encode(vectors, NULL, encoder, sentences, n, NULL, ctx, &err);
 *      cq_encoder_free(encoder);
 *
 * A sentence's vector does not depend on the other sentences of the call, their order, or the number of threads; it is
 * bit-identical on one SIMD level.
 *
 * @threads An open encoder is immutable and may be used by any number of threads at once, with one context or
 * several. */
#ifndef CALQUE_ENCODER_H
#define CALQUE_ENCODER_H

#include "calque/context.h"
#include "calque/options.h"
#include "calque/precision.h"
#include "calque/slice.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_encoder cq_encoder;

typedef struct cq_encoder_options {
  size_t size;
  int max_seq_length;     /**< maximum tokens, including special ones; 0: the model's own maximum */
  cq_precision precision; /**< precision of products; if the processor lacks it, the next wider one, with a notice */
  cq_notice_fn notice;    /**< receives assumptions, such as mean pooling without modules.json; may be NULL */
  void *notice_context;
  /** A StaticEmbedding ignores unknown tokens, as in model2vec; false: it does not, as in sentence-transformers.
   * CQ_ERR_ARGUMENT for other models */
  bool drop_unknown;
  /** "query" or "document": selects the prompt "query", or the first of "document", "passage", "corpus" and
   * "retrieval.passage", unless another is requested; the modules of a model with a Router (Asym); the weights of a
   * model with a LoRA adapter per task (jina-embeddings-v3). Such models may have other tasks. NULL: the model's
   * defaults. CQ_ERR_ARGUMENT for an unknown task */
  const char *task;
  /** Composes text (Unicode NFC) before the model's own tokenizer reads it, so that decomposed text (NFD, as in file
   * names from a Mac) has the same vectors. false: as the model's authors do, with a notice, once, if a text's tokens
   * depend on it. Nothing changes for tokenizers that normalize text themselves, such as those that calque trains */
  bool compose;
} cq_encoder_options;
/** The row for compose, for the tables of functions and commands that open a model. */
#define CQ_COMPOSE_ROW(owner)                                                                                          \
  {                                                                                                                    \
    CQ_FLAG(owner, "compose", compose, CHANGES,                                                                        \
            "compose text (Unicode NFC) for a tokenizer that does not: text from a Mac is often decomposed (NFD)")     \
  }
CQ_DEFAULT_OPTIONS(cq_encoder_options, cq_encoder_default_options, encoder) /**< group "encoder" */

/** Opens a sentence-transformers directory (modules.json), a Hugging Face encoder directory (with mean pooling and a
 * notice), a model that calque ships, or a model of the local cache by its name (HF_HUB_CACHE, HF_HOME,
 * ~/.cache/huggingface). Nothing is downloaded.
 * @param name     directory, "org/model", or "model" (tried as "sentence-transformers/model"); "DIRECTORY/languages/tr"
 *                 is the model in DIRECTORY with the tokenizer and word embeddings of this language
 * @param options  NULL for the defaults
 * @errors CQ_ERR_IO (missing files, named), CQ_ERR_FORMAT (file and byte or line), CQ_ERR_UNSUPPORTED (a reranker; an
 * unknown module, architecture, activation or tokenizer, named), CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_encoder_open(cq_encoder **out, const char *name, const cq_encoder_options *options,
                                             cq_error *error);
CQ_API void cq_encoder_free(cq_encoder *encoder);

/** The multilingual model that commands use by default. It is in share/calque/models next to the library, or in the
 * folder named by the environment variable CALQUE_MODELS; so is calque-small, which is static. */
#define CQ_DEFAULT_MODEL "calque-base"

/** Writes the model in sentence-transformers' layout. The directory is written atomically.
 * @param replace  false: an existing directory is CQ_ERR_ARGUMENT; true: it is replaced
 * @param card     text of README.md in the directory; NULL for none */
CQ_API CQ_MUST_USE cq_status cq_encoder_save(const cq_encoder *encoder, const char *directory, bool replace,
                                             const char *card, cq_error *error);

/** Dimensions of the model's vectors, after the truncation in its configuration. */
CQ_API int cq_encoder_dim(const cq_encoder *encoder);
CQ_API int cq_encoder_max_seq_length(const cq_encoder *encoder);
CQ_API int64_t cq_encoder_n_parameters(const cq_encoder *encoder);

/** A description as JSON: modules, shapes, tokenizer, prompts, parameters. Release with cq_free(). */
CQ_API CQ_MUST_USE cq_status cq_encoder_describe(char **out_json, const cq_encoder *encoder, cq_error *error);

/** A hash of 16 bytes as 32 hex digits: equal if configuration, vocabulary and weights are equal. */
CQ_API CQ_MUST_USE cq_status cq_encoder_fingerprint(char out[33], const cq_encoder *encoder, cq_error *error);

/** The precision of its products: f32, bf16 or int8. */
CQ_API cq_precision cq_encoder_precision(const cq_encoder *encoder);
CQ_API const char *cq_precision_name(cq_precision precision); /**< such as "f32" */

/** The SIMD level of the kernels: "avx512", "avx2", "neon", "portable", "reference". CALQUE_SIMD in the environment
 * lowers it. */
CQ_API const char *cq_simd_level(void);

typedef struct cq_encode_options {
  size_t size;
  const char *prompt;      /**< put before every sentence; NULL: the prompt of prompt_name, else the model's default */
  const char *prompt_name; /**< a key of the model's prompts; an unknown one is CQ_ERR_ARGUMENT */
  bool normalize;          /**< scale each vector to length 1 (after truncation) */
  int truncate_dim;        /**< keep only the first dimensions, this many (Matryoshka); 0: the model's truncate_dim,
                            * else all */
  bool strict;             /**< a sentence over the maximum sequence length gives CQ_ERR_LIMIT instead of truncation */
} cq_encode_options;
CQ_DEFAULT_OPTIONS(cq_encode_options, cq_encode_default_options, encode) /**< group "encode" */

/** Dimensions of the vectors with these options: the columns of cq_encoder_encode()'s output. NULL:
 * cq_encoder_dim(). */
CQ_API int cq_encoder_encode_dim(const cq_encoder *encoder, const cq_encode_options *options);

typedef struct cq_encode_stats {
  uint64_t n_sentences, n_tokens; /**< tokens after truncation, special ones included */
  uint64_t n_truncated;           /**< sentences that were truncated */
  uint64_t first_truncated;       /**< index of the first truncated sentence in this call; unchanged if there was
                                   * none */
} cq_encode_stats;

/** Encodes n sentences.
 * @param out      [n, dim] f32, where dim is cq_encoder_encode_dim()
 * @param options  NULL for the defaults
 * @param stats    added to, not reset; may be NULL
 * @errors CQ_ERR_FORMAT (a sentence is not UTF-8, its index in error->line, 1-based), CQ_ERR_LIMIT, CQ_ERR_ARGUMENT,
 * CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_encoder_encode(float *out, cq_encode_stats *stats, const cq_encoder *encoder,
                                               const cq_slice *sentences, size_t n, const cq_encode_options *options,
                                               cq_context *ctx, cq_error *error);

/** @name Token ids */

/** Texts as token ids: sequence i has the ids [starts[i], starts[i + 1]), including prompt and special tokens. Start
 * from {0}; release with cq_token_ids_free(). */
typedef struct cq_token_ids {
  int32_t *ids;
  size_t *starts; /**< [n + 1]; NULL while n is 0 */
  size_t n, ids_capacity, starts_capacity;
} cq_token_ids;
CQ_API void cq_token_ids_free(cq_token_ids *ids);
/** Appends n sequences of ids; starts as in cq_token_ids. A failed call appends nothing. @errors CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_token_ids_append(cq_token_ids *out, const int32_t *ids, const size_t *starts, size_t n,
                                                 cq_error *error);

/** How a text longer than the model's maximum sequence length is handled. */
typedef enum cq_long_text {
  CQ_LONG_TRUNCATED, /**< its end is left out */
  CQ_LONG_WINDOWS,   /**< split evenly into several sequences, in order, each with prompt and special tokens */
  CQ_LONG_END,       /**< its beginning is left out, but not prompt and special tokens */
} cq_long_text;

/** Appends a text's sequence, or its windows, to `*out`; a failed call appends nothing.
 * @param is_long  receives whether the text was longer than the maximum; may be NULL
 * @param options  only prompt and prompt_name are used; NULL for the defaults
 * @errors CQ_ERR_FORMAT for a text that is not UTF-8; CQ_ERR_ARGUMENT for an unknown prompt name, and for windows or
 * an end when the prompt leaves no room; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_encoder_token_ids(cq_token_ids *out, bool *is_long, const cq_encoder *encoder,
                                                  cq_slice text, cq_long_text long_text,
                                                  const cq_encode_options *options, cq_context *ctx, cq_error *error);

/** Encodes n sequences of ids, bit-identical to cq_encoder_encode() on their texts. Nothing is truncated.
 * @param ids,starts  as in cq_token_ids; starts may begin anywhere
 * @param options     the same as when the ids were made; each sequence has the tokens of a prompt that pooling leaves
 *                    out
 * @errors CQ_ERR_ARGUMENT for an id outside the vocabulary, for an empty sequence if the model has special tokens, or
 * for one no longer than such a prompt; CQ_ERR_LIMIT for one longer than the maximum sequence length, even if not
 * strict; both with the sequence's number in error->line, 1-based; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_encoder_encode_ids(float *out, const cq_encoder *encoder, const int32_t *ids,
                                                   const size_t *starts, size_t n, const cq_encode_options *options,
                                                   cq_context *ctx, cq_error *error);

/** The dimensions of a token's vector before pooling; 0: the model has none, since it is static. */
CQ_API int cq_encoder_token_dim(const cq_encoder *encoder);
/** The vectors of all tokens of n sequences of ids, before pooling and what follows it.
 * @param out  [starts[n] - starts[0], cq_encoder_token_dim()]
 * @errors those of cq_encoder_encode_ids(); CQ_ERR_UNSUPPORTED without such vectors. */
CQ_API CQ_MUST_USE cq_status cq_encoder_token_vectors(float *out, const cq_encoder *encoder, const int32_t *ids,
                                                      const size_t *starts, size_t n, cq_context *ctx, cq_error *error);

/** A token's text, borrowed, without the marker for its position in a word, and whether it is special (may be NULL).
 * False: unknown id. */
CQ_API bool cq_encoder_token(cq_slice *text, bool *special, const cq_encoder *encoder, int32_t id);
/** The text of ids, words separated by blanks as the tokenizer marks them, without special tokens; other normalized forms
 * than the original's stay. `*out` is released with cq_free().
 * @errors CQ_ERR_ARGUMENT for an id outside the vocabulary; CQ_ERR_UNSUPPORTED without a tokenizer of pieces;
 * CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_encoder_decode(char **out, const cq_encoder *encoder, const int32_t *ids, size_t n,
                                               cq_error *error);
/** The name of the model's prompt for a task, "query" or "document"; borrowed, NULL: it has none. */
CQ_API const char *cq_encoder_task_prompt(const cq_encoder *encoder, const char *task);
CQ_API int64_t cq_encoder_vocab_size(const cq_encoder *encoder); /**< ids are in [0, vocab_size) */

#ifdef __cplusplus
}
#endif
#endif
