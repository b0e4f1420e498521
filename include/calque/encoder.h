/* A sentence encoder: text in, vectors out.
 *
 *   cq_encoder *encoder;
 *   cq_encoder_open(&encoder, "all-MiniLM-L6-v2", NULL, &err);      // a directory, or a name in the local Hugging Face cache
 *   float *vectors = malloc(n * cq_encoder_dim(encoder) * sizeof(float));
 *   cq_encoder_encode(vectors, NULL, encoder, sentences, n, NULL, ctx, &err);
 *   cq_encoder_free(encoder);
 *
 * A sentence's vector does not depend on the other sentences of the call, their order, or the number of threads: it is
 * bit-identical on one SIMD level.
 *
 * Threads: an open encoder is immutable and may be used by any number of threads at once, with one context for all of
 * them or several. */
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

typedef struct cq_encoder_options { /* group "encoder" */
  size_t size;
  int max_seq_length;     /* tokens, special ones included; 0: what the model says */
  cq_precision precision; /* of products; where the processor lacks it, the next wider, which is noticed */
  cq_notice_fn notice;    /* told what was assumed, e.g. mean pooling for a directory without modules.json, and by what
                        * measures a model how many sentences were truncated; may be NULL */
  void *notice_context;
  bool drop_unknown; /* a StaticEmbedding leaves unknown tokens out, as model2vec's own library does; false: they count,
                      * as in sentence-transformers. CQ_ERR_ARGUMENT for other models */
  const char *task;  /* "query" or "document": the prompt is the model's "query", or the first of its "document",
                      * "passage", "corpus" and "retrieval.passage", where no other is requested; of a model with a Router (Asym), the
                      * task's modules, and of one with a LoRA adapter for each task (jina-embeddings-v3), its weights:
                      * such models may have tasks of other names. NULL: the model's defaults. CQ_ERR_ARGUMENT for a
                      * task that is unknown */
} cq_encoder_options;
CQ_DEFAULT_OPTIONS(cq_encoder_options, cq_encoder_default_options, encoder)

/* Opens a sentence-transformers directory (modules.json), a Hugging Face encoder directory (then mean pooling,
 * noticed), a model that calque ships, or one of the local cache by its name (HF_HUB_CACHE, HF_HOME,
 * ~/.cache/huggingface); nothing is downloaded.
 *   name     directory, "org/model", or "model" (tried as "sentence-transformers/model"); "DIRECTORY/languages/tr" is
 *            the model in DIRECTORY with a tokenizer and word embeddings that are this language's alone
 *   options  NULL for the defaults
 * Errors: CQ_ERR_IO (missing files, named), CQ_ERR_FORMAT (file and byte or line), CQ_ERR_UNSUPPORTED (an unknown
 * module, architecture, activation or tokenizer, named), CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_encoder_open(cq_encoder **out, const char *name, const cq_encoder_options *options,
                                             cq_error *error);
CQ_API void cq_encoder_free(cq_encoder *encoder);

/* The small static multilingual model that calque ships. Commands use it when none is named. It lies beside the
 * library, in share/calque/models, or in the folder that the environment variable CALQUE_MODELS names. */
#define CQ_DEFAULT_MODEL "calque-small"

/* Writes the model in sentence-transformers' layout. The directory appears whole or not at all.
 *   replace  false: an existing directory is CQ_ERR_ARGUMENT; true: it is replaced
 *   card     text of README.md in the directory; NULL for none */
CQ_API CQ_MUST_USE cq_status cq_encoder_save(const cq_encoder *encoder, const char *directory, bool replace,
                                             const char *card, cq_error *error);

/* Dimensions of its vectors: after the truncation that its configuration asks for. */
CQ_API int cq_encoder_dim(const cq_encoder *encoder);
CQ_API int cq_encoder_max_seq_length(const cq_encoder *encoder);
CQ_API int64_t cq_encoder_n_parameters(const cq_encoder *encoder);

/* A description as JSON: modules, shapes, tokenizer, prompts, parameters. Release with cq_free(). */
CQ_API CQ_MUST_USE cq_status cq_encoder_describe(char **out_json, const cq_encoder *encoder, cq_error *error);

/* 16 bytes of identity as 32 hex digits: equal when configuration, vocabulary and weights are. */
CQ_API CQ_MUST_USE cq_status cq_encoder_fingerprint(char out[33], const cq_encoder *encoder, cq_error *error);

/* In what it multiplies: f32, bf16 or int8. */
CQ_API cq_precision cq_encoder_precision(const cq_encoder *encoder);
CQ_API const char *cq_precision_name(cq_precision precision); /* "f32" */

/* The SIMD level the kernels run at: "avx512", "avx2", "neon", "portable", "reference". CALQUE_SIMD in the environment
 * lowers it. */
CQ_API const char *cq_simd_level(void);

typedef struct cq_encode_options { /* group "encode" */
  size_t size;
  const char *prompt; /* put before every sentence; NULL: the one prompt_name says, else the model's default prompt */
  const char *prompt_name; /* a key of the model's prompts; an unknown one is CQ_ERR_ARGUMENT */
  bool normalize;          /* scale each vector to length 1 (after truncate_dim) */
  int truncate_dim;        /* keep only this many leading dimensions (Matryoshka models); 0: what the model's
                            * configuration says (truncate_dim), else all */
  bool strict; /* a sentence longer than the model's maximum sequence length is CQ_ERR_LIMIT instead of truncated */
} cq_encode_options;
CQ_DEFAULT_OPTIONS(cq_encode_options, cq_encode_default_options, encode)

/* Dimensions of the vectors that encoding with these options gives: out's columns. NULL: cq_encoder_dim. */
CQ_API int cq_encoder_encode_dim(const cq_encoder *encoder, const cq_encode_options *options);

typedef struct cq_encode_stats {
  uint64_t n_sentences, n_tokens; /* tokens after truncation, special ones included */
  uint64_t n_truncated;           /* sentences that were truncated */
  uint64_t first_truncated;       /* index of the first of them in this call; kept when this call truncated none */
} cq_encode_stats;

/* Encodes n sentences.
 *   out      [n, dim] f32, dim = cq_encoder_encode_dim
 *   options  NULL for the defaults
 *   stats    added to, not reset; may be NULL
 * Errors: CQ_ERR_FORMAT (a sentence is not UTF-8, its index in error->line, 1-based), CQ_ERR_LIMIT, CQ_ERR_ARGUMENT,
 * CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_encoder_encode(float *out, cq_encode_stats *stats, const cq_encoder *encoder,
                                               const cq_slice *sentences, size_t n, const cq_encode_options *options,
                                               cq_context *ctx, cq_error *error);

/* --- token ids --- */

/* Texts as a model reads them: sequence i is ids[starts[i] .. starts[i + 1]), with prompt and special tokens. Start from
 * {0}; release with cq_token_ids_free. */
typedef struct cq_token_ids {
  int32_t *ids;
  size_t *starts; /* [n + 1]; NULL while n is 0 */
  size_t n, ids_capacity, starts_capacity;
} cq_token_ids;
CQ_API void cq_token_ids_free(cq_token_ids *ids);
/* Appends n sequences of ids that somebody has; starts as above. A failed call appends nothing. Errors: CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_token_ids_append(cq_token_ids *out, const int32_t *ids, const size_t *starts, size_t n,
                                                 cq_error *error);

/* What becomes of a text longer than the model's maximum sequence length. */
typedef enum cq_long_text {
  CQ_LONG_TRUNCATED, /* its end is left out */
  CQ_LONG_WINDOWS,   /* it becomes several sequences, in order, each with prompt and special tokens, none empty, which
                        share out all of it; the last is the shortest */
} cq_long_text;

/* Appends a text's sequence, or its windows, to *out.
 *   is_long  receives whether the text was longer than the maximum; may be NULL
 *   options  prompt and prompt_name count; NULL for the defaults
 * A failed call appends nothing. Errors: CQ_ERR_FORMAT for a text that is not UTF-8; CQ_ERR_ARGUMENT for an unknown
 * prompt name, and for windows when the prompt leaves no room; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_encoder_token_ids(cq_token_ids *out, bool *is_long, const cq_encoder *encoder,
                                                  cq_slice text, cq_long_text long_text,
                                                  const cq_encode_options *options, cq_context *ctx, cq_error *error);

/* Encodes n sequences of ids: bit by bit what cq_encoder_encode makes of the texts that they come from.
 *   ids, starts  as in cq_token_ids; starts may begin anywhere
 *   options      those that the ids were made with; of a prompt that pooling leaves out, each sequence has its tokens
 * Nothing is truncated. Errors: CQ_ERR_ARGUMENT for an id outside the vocabulary, and for a sequence that is empty,
 * where the model has special tokens, or no longer than such a prompt; CQ_ERR_LIMIT for one longer than the maximum
 * sequence length, whatever strict says; both with the sequence's number in error->line, 1-based; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_encoder_encode_ids(float *out, const cq_encoder *encoder, const int32_t *ids,
                                                   const size_t *starts, size_t n, const cq_encode_options *options,
                                                   cq_context *ctx, cq_error *error);

/* A token's text, without the marker of a word's start or inside; borrowed. special: whether it is a special token; may
 * be NULL. False: there is no such id. */
CQ_API bool cq_encoder_token(cq_slice *text, bool *special, const cq_encoder *encoder, int32_t id);
CQ_API int64_t cq_encoder_vocab_size(const cq_encoder *encoder); /* ids are in [0, vocab_size) */

#ifdef __cplusplus
}
#endif
#endif
