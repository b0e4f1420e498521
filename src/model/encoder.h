/* The encoder's internals: its modules and parameters, and running them on a batch of ids. The public interface is
 * calque/encoder.h. */
#ifndef MODEL_ENCODER_H
#define MODEL_ENCODER_H

#include "base/random.h"
#include "calque/encoder.h"
#include "model/module.h"

#include <stdatomic.h>

#define CQ_MAX_MODULES 16

struct cq_encoder {
  char *directory; /* of the modules */
  char *language;  /* directory of a language's tokenizer and word embeddings (model/model_language.h); or NULL */
  cq_arena arena;
  cq_module *modules[CQ_MAX_MODULES];
  size_t n_modules;
  const cq_kernels *kernels;
  cq_precision precision; /* of products */
  cq_params params;       /* of all modules, indexed */
  int max_seq_length;     /* 0: no limit */
  int max_positions;      /* max_seq_length is no larger; 0: no limit */
  /* config_sentence_transformers.json */
  json_t *config;  /* the whole file, owns what follows; NULL: none */
  json_t *prompts; /* object name -> text; NULL: none */
  const char *default_prompt_name;
  const char *task_prompt_name; /* the prompt of the task that it was opened for; NULL: the default */
  bool has_routes;              /* and its modules (Router) or weights (LoRA) are specific to that task */
  double good_match;            /* cosine from which a passage is likely to answer a query; 0: unknown */
  const char *similarity;
  int64_t truncate_dim;   /* for the vectors returned by encoding; 0: none */
  bool include_prompt;    /* pooling sees the prompt's tokens */
  bool of_pairs;          /* a reranker, whose classifier follows the pooling */
  bool compose;           /* text to NFC before tokenizing */
  atomic_int *decomposed; /* whether a text was seen that should be: CQ_FORM_; NULL: there is no notice */
  cq_notice_fn notice;    /* cq_encoder_options' */
  void *notice_context;
};

enum { CQ_FORM_NOT_SEEN, CQ_FORM_SEEN, CQ_FORM_TOLD };

/* Dimensions of the last module's output before truncation, as in training. */
static inline int cq_encoder_full_dim(const cq_encoder *e) {
  return (int)e->modules[e->n_modules - 1]->output_dim;
}

static inline bool cq_encoder_is_normalized(const cq_encoder *e) {
  return e->modules[e->n_modules - 1]->type->has_unit_length;
}

/* Whether queries and documents have prompts or modules of their own. */
bool cq_encoder_has_tasks(const cq_encoder *encoder);

/* Reports to notice (if not NULL) that n_truncated of n sentences were truncated. */
void cq_encoder_tell_truncated(const cq_encoder *encoder, uint64_t n_truncated, uint64_t n);
/* The same, once, for a decomposed text that was tokenized and would have other ids if it were composed. */
void cq_encoder_tell_decomposed(const cq_encoder *encoder);

/* The name of a model that calque ships: also for "small" and "base". NULL for other names and for directories. */
const char *cq_model_shipped(const char *name);

/* The directory for a model's name: the name itself if it is a directory, else a model that calque ships, else its
 * snapshot in the local Hugging Face cache. */
CQ_MUST_USE cq_status cq_model_resolve(char *out, size_t out_size, const char *name, cq_error *error);

/* Assembles an encoder, as cq_encoder_open does: call cq_encoder_new, make modules in its arena and append them in
 * order, then call cq_encoder_pack. An appended module belongs to the encoder. Modules may be appended to a complete
 * encoder (a Dense after a student) until its parameters are made trainable. */
CQ_MUST_USE cq_status cq_encoder_new(cq_encoder **out, cq_error *error);
CQ_MUST_USE cq_status cq_encoder_append(cq_encoder *encoder, cq_module *module, cq_error *error);
/* Appends a linear Dense module to dense_dim dimensions, drawn from random (0: none), then a Normalize module. */
CQ_MUST_USE cq_status cq_encoder_append_ending(cq_encoder *encoder, int64_t dense_dim, bool normalize,
                                               cq_random *random, cq_error *error);

/* Like cq_encoder_save, but into an existing directory, with weights in CQ_F32, CQ_BF16, CQ_F16 or CQ_I8; see
 * cq_weights_save. */
CQ_MUST_USE cq_status cq_encoder_write(const cq_encoder *encoder, cq_dtype weights, const char *directory,
                                       const char *card, cq_error *error);

/* As if it had been opened with 'compose'. False: it composes already, or its tokenizer does. Not while others use it. */
bool cq_encoder_start_composing(cq_encoder *encoder);

/* Sets the max number of tokens, special ones included. Errors: CQ_ERR_ARGUMENT if the model has fewer positions. */
CQ_MUST_USE cq_status cq_encoder_limit(cq_encoder *encoder, int length, cq_error *error);

/* Freezes all parameters except the tables of word embeddings; call before they are made trainable. */
void cq_encoder_freeze_body(cq_encoder *encoder);

/* --- encoders of pairs: rerankers --- */

/* Stands between the query and the passage of a pair in one text, which such an encoder encodes and trains on. */
#define CQ_PAIR_MARK '\x1F'

/* cq_encoder_open, which refuses a reranker, or cq_encoder_open_pairs for one. */
CQ_MUST_USE cq_status cq_encoder_open_any(cq_encoder **out, const char *name, const cq_encoder_options *options,
                                          cq_error *error);
/* An encoder of pairs with an embedding model's transformer and a new classifier. */
CQ_MUST_USE cq_status cq_encoder_new_pairs(cq_encoder **out, const char *name, const cq_encoder_options *options,
                                           cq_random *random, cq_error *error);
/* A pair's two texts. Errors: CQ_ERR_FORMAT without a mark between them. */
CQ_MUST_USE cq_status cq_pair_split(cq_slice pair[2], cq_slice text, cq_error *error);
/* Appends their ids; *second: number of ids of token type 0. */
CQ_MUST_USE cq_status cq_encoder_tokenize_pair(cq_ids *out, int32_t *second, const cq_encoder *encoder,
                                               cq_token_memory *memory, const cq_slice pair[2], bool *truncated,
                                               cq_error *error);

/* The module that owns the tokenizer: the first. */
static inline const cq_module *cq_encoder_text_module(const cq_encoder *e) {
  return e->modules[0];
}

/* The table of word embeddings, the module's first: id i has row row_of[i], or row i if *row_of is NULL. With row_of
 * NULL, only a table where id i has row i is returned. NULL: none. */
cq_param *cq_encoder_word_table(const int32_t **row_of, const cq_encoder *encoder);

/* Replaces the model's tokenizer and word embeddings; the rows [vocab_size, width of the table] are copied. The model
 * takes ownership of the tokenizer only on success. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_encoder_put_vocabulary(cq_encoder *encoder, cq_tokenizer *tokenizer, const float *rows,
                                                cq_error *error);

/* --- text to ids: token_ids.c --- */

/* A thread's memory for tokenizing, kept with the context from call to call. */
typedef struct cq_text_memory {
  cq_token_memory *tokens;
  cq_builder with_prompt;
  cq_ids ids;
} cq_text_memory;
cq_text_memory *cq_text_memory_take(cq_context *ctx); /* NULL: out of memory */
void cq_text_memory_put(cq_context *ctx, cq_text_memory *memory);

/* The options, or the defaults if NULL, validated for this encoder. */
CQ_MUST_USE cq_status cq_encoder_take_options(cq_encode_options *taken, const cq_encoder *encoder,
                                              const cq_encode_options *options, cq_error *error);
/* Errors: CQ_ERR_FORMAT for a sentence that is not UTF-8; its number is in error->line. */
CQ_MUST_USE cq_status cq_check_sentences(const cq_slice *sentences, size_t n, cq_error *error);

/* Appends the ids of one sentence, truncated to the model's length. memory: as cq_tokenizer_encode's. */
CQ_MUST_USE cq_status cq_encoder_tokenize(cq_ids *out, const cq_encoder *encoder, cq_token_memory *memory,
                                          cq_slice sentence, bool *truncated, cq_error *error);

/* The prompt for every sentence, from the options or the model ("": none), and the number of leading tokens that
 * pooling then leaves out. Errors: CQ_ERR_ARGUMENT for an unknown prompt_name, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_encoder_prompt(cq_slice *out, int32_t *n_left_out, const cq_encoder *encoder,
                                        const cq_encode_options *options, cq_text_memory *memory, cq_error *error);
/* Puts the prompt before the text, in memory. */
CQ_MUST_USE cq_status cq_prepend_prompt(cq_slice *text, cq_text_memory *memory, cq_slice prompt, cq_error *error);

/* --- running the modules --- */

/* Sentence vectors of a batch: *y [n_seqs, dim] in the worker's workspace. saved: [n_modules] tapes for backward, with
 * inputs [n_modules]; NULL outside training. */
typedef struct cq_tape {
  void *saved[CQ_MAX_MODULES];
  cq_tensor inputs[CQ_MAX_MODULES];
} cq_tape;
CQ_MUST_USE cq_status cq_encoder_forward(cq_worker *worker, const cq_encoder *encoder, const cq_batch *batch,
                                         cq_tensor *y, cq_tape *tape, cq_error *error);
/* The same with the first modules alone. */
CQ_MUST_USE cq_status cq_encoder_forward_some(cq_worker *worker, const cq_encoder *encoder, size_t n_modules,
                                              const cq_batch *batch, cq_tensor *y, cq_tape *tape, cq_error *error);
/* Adds the gradients of all parameters, from dy [n_seqs, dim], which may be overwritten. */
CQ_MUST_USE cq_status cq_encoder_backward(cq_worker *worker, const cq_encoder *encoder, const cq_batch *batch,
                                          cq_tensor dy, const cq_tape *tape, cq_gradients *gradients, cq_error *error);

/* CQ_ERR_ARGUMENT, which names the text, if a number of vectors [n, dim] is not finite. */
CQ_MUST_USE cq_status cq_check_vectors(const float *vectors, size_t dim, const cq_slice *texts, size_t n,
                                       cq_error *error);

/* cq_encoder_encode, plus the `states` of each sentence, [n, cq_encoder_states_width] dense (data NULL: not needed);
 * see lab/autoencode/states.h. */
CQ_MUST_USE cq_status cq_encoder_encode_states(float *out, cq_tensor states, cq_encode_stats *stats,
                                               const cq_encoder *encoder, const cq_slice *sentences, size_t n,
                                               const cq_encode_options *options, cq_context *ctx, cq_error *error);

/* Runs n pairs through an encoder of pairs: out [n, dim]. Passage i belongs to query i * query_step. Errors: as
 * cq_encoder_encode's; UTF-8 is checked in passages only. */
CQ_MUST_USE cq_status cq_encoder_encode_pairs(float *out, cq_encode_stats *stats, const cq_encoder *encoder,
                                              const cq_slice *queries, size_t query_step, const cq_slice *passages,
                                              size_t n, cq_context *ctx, cq_error *error);
/* cq_encoder_open for a model with a classifier of one label after the transformer (head.c), whose dim is 1. */
CQ_MUST_USE cq_status cq_encoder_open_pairs(cq_encoder **out, const char *name, const cq_encoder_options *options,
                                            cq_error *error);

/* Makes the parameters writable (copied from the mapped file) and packs the weights for backward, too. An encoder in
 * bf16 is trained with the products of both passes in bf16, and everything else, including parameters, in f32. An
 * encoder in int8 is trained in f32. */
CQ_MUST_USE cq_status cq_encoder_make_trainable(cq_encoder *encoder, cq_context *ctx, cq_error *error);
/* Packs all weights again after an update of the parameters. */
CQ_MUST_USE cq_status cq_encoder_pack(cq_encoder *encoder, cq_context *ctx, bool training, cq_error *error);

#endif
