/* A module is one stage of a sentence encoder, as listed in modules.json: Transformer, WordEmbeddings, LSTM, CNN,
 * StaticEmbedding, WeightedLayerPooling, Pooling, Dense, LayerNorm, Dropout, Normalize. Each type is one file and one
 * row in module.c's table.
 *
 *   ids -> [Transformer | WordEmbeddings | StaticEmbedding] -> x [n_tokens or n_seqs, dim] -> ... -> y [n_seqs, dim]
 *
 * A module is immutable while it runs. Many workers call forward and backward at once, each with its own batch (a range
 * of whole sequences). Backward is directly below forward in each type's file. */
#ifndef MODEL_MODULE_H
#define MODEL_MODULE_H

#include "base/arena.h"
#include "nn/batch.h"
#include "nn/linear.h"
#include "nn/param.h"
#include "token/tokenizer.h"

#include <jansson.h>

typedef struct cq_module cq_module;
typedef struct cq_module_type cq_module_type;

/* The source that a module is opened from. */
typedef struct cq_module_source {
  const char *root;      /* the model's directory */
  const char *directory; /* the module's own: root, or root/path */
  const char *language;  /* directory of a language's word embeddings (model/model_language.h); NULL: none */
  const char *task;      /* chooses the weights in a model with weights per task; NULL: none */
  cq_arena *arena;       /* lives as long as the encoder */
  cq_notice_fn notice;
  void *notice_context;
  cq_module *before;      /* NULL for the first */
  int64_t input_dim;      /* the previous module's output; 0 for the first */
  bool input_is_sentence; /* it gives one row a sequence */
  bool lowercase;         /* lower-case the text before tokenizing (do_lower_case); first module only */
  bool drop_unknown;      /* a StaticEmbedding leaves unknown tokens out */
} cq_module_source;

/* The common part of all modules; each type's struct begins with it and is allocated in the arena. */
struct cq_module {
  const cq_module_type *type;
  const char *path; /* as in modules.json: "", "1_Pooling" */
  int64_t output_dim;
  bool output_is_sentence; /* rows of the output are sequences, not tokens */
  bool leaves_out_prompt;  /* a Pooling with include_prompt false: the batch's `skip` must be filled in */
  cq_param *params;        /* [n_params], in the order in which they are written to model.safetensors */
  size_t n_params;
  size_t n_pack_parts;     /* what pack can do side by side */
  const char *not_trained; /* the part without a backward pass, for error messages; NULL: trainable */
  /* Only for the module that owns the text side: */
  cq_tokenizer *tokenizer; /* NULL elsewhere */
  int64_t n_ids;           /* number of ids with a vector, if it differs from the table's rows; else 0 */
  int32_t *row_of;         /* [n_ids] an id's row in the table, if ids share rows; NULL: row = id */
  bool add_special;        /* special tokens are put around each sentence */
  int max_seq_length;      /* 0: no limit */
  bool lowercase;          /* sentence_bert_config.json's do_lower_case */
};

struct cq_module_type {
  const char *name;      /* last component of modules.json's "type": "Transformer" */
  const char *type_name; /* the name that we write there: "sentence_transformers.models.Transformer" */
  bool takes_text;       /* a module with a tokenizer, which can only come first */
  bool has_body;         /* layers over word embeddings, as required by languages, adapters and layer-wise pooling */
  bool is_static;        /* a token's vector is its row in the table; unknown tokens may be left out */
  bool has_unit_length;  /* its vectors have length 1 */
  bool has_states;       /* its last states can start a decoder's */
  bool is_projection;    /* a linear map of vectors, which several encoders may share */
  /* On failure *out is NULL or an incomplete module for the caller to free. A module that takes text and does not open
   * a tokenizer itself gets that of its directory. */
  CQ_MUST_USE cq_status (*open)(cq_module **out, const cq_module_source *source, cq_error *error);
  /* Appends a sentence's ids, at most max_length (0: no limit); NULL: uses module->tokenizer with add_special. A type
   * has its own if sentence-transformers truncates or splits differently. The sentence is well-formed UTF-8. */
  CQ_MUST_USE cq_status (*tokenize)(cq_ids *out, const cq_module *module, cq_token_memory *memory, cq_slice sentence,
                                    size_t max_length, bool *truncated, cq_error *error);
  /* Writes config, weights (see cq_weights_save) and tokenizer files into the module's existing directory. NULL: there
   * are no such files. */
  CQ_MUST_USE cq_status (*save)(const cq_module *module, cq_dtype weights, const char *directory, cq_error *error);
  /* Adds what `calque model info` shows, with cq_json_set: sizes, modes, activation. NULL: nothing to add. */
  void (*describe)(const cq_module *module, json_t **object);
  /* Packs one of n_pack_parts weights from its parameter, after opening and after every update. Several threads pack
   * different parts at the same time. May be NULL. */
  CQ_MUST_USE cq_status (*pack)(cq_module *module, size_t part, const cq_packing *packing, cq_error *error);
  void (*set_dropout)(cq_module *module, double rate); /* for training; NULL: the type has no dropout */
  /* *y is taken from the worker's workspace. saved NULL: not training; otherwise *saved receives the data for backward,
   * also in the workspace, so do not release that before backward. x has no data for a first module. */
  CQ_MUST_USE cq_status (*forward)(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                                   cq_tensor *y, void **saved, cq_error *error);
  /* NULL: models with such a module cannot be trained. dx->data NULL on entry: not needed (first module); otherwise dx
   * [x.rows, x.cols], dense, is written. dy may be overwritten. x is forward's input. */
  CQ_MUST_USE cq_status (*backward)(cq_worker *worker, const cq_module *module, const cq_batch *batch, cq_tensor x,
                                    cq_tensor dy, cq_tensor *dx, const void *saved, cq_gradients *gradients,
                                    cq_error *error); /* NULL: cannot be trained */
  void (*free)(cq_module *module);                    /* what is not in the arena; may be NULL */
};

/* The type with that name (only the last component counts); NULL when unknown. */
const cq_module_type *cq_module_type_find(const char *type);
/* CQ_ERR_UNSUPPORTED for a type that cq_module_type_find does not find: lists the supported ones and the closest
 * name. */
CQ_MUST_USE cq_status cq_module_type_unknown(const char *type, const char *path, cq_error *error);

/* CQ_ERR_UNSUPPORTED for a key in a file with a value that would change the vectors. */
CQ_MUST_USE cq_status cq_unsupported_key(const char *path, const char *key, const json_t *value, cq_error *error);

extern const cq_module_type cq_transformer_type, cq_pooling_type, cq_dense_type, cq_normalize_type, cq_static_type,
    cq_word_embeddings_type, cq_lstm_type, cq_cnn_type, cq_weighted_layers_type, cq_dropout_type, cq_layer_norm_type,
    cq_head_type;
/* A Hugging Face directory. */
static inline bool cq_is_transformer(const cq_module *module) {
  return module->type->has_body;
}

/* --- reading and writing weights, for use by module types --- */

typedef struct cq_weights cq_weights; /* an open model.safetensors, with a record of the requested tensors */

/* Opens directory/model.safetensors, or pytorch_model.bin if there is none. */
CQ_MUST_USE cq_status cq_weights_open(cq_weights **out, const char *directory, cq_error *error);
void cq_weights_close(cq_weights *w); /* parameters borrowed from it become invalid */

/* Looks up a tensor by any of the alternative names (NULL-terminated list; the first one found is used), checks its
 * shape (cols 0: a vector of `rows` elements; a size of -1 is taken from the file) and fills *p: value is borrowed from
 * the file if it is aligned f32, otherwise converted into the arena. p->name is the first alternative. Errors:
 * CQ_ERR_FORMAT naming file, tensor, shape found and shape expected, or what is missing. */
CQ_MUST_USE cq_status cq_weights_take(cq_param *p, cq_weights *w, const char *const *names, int64_t rows, int64_t cols,
                                      cq_arena *arena, cq_error *error);
/* The same, but a matrix that is not f32 keeps its format (p->narrow). 8 bits are also accepted; "NAME_scale" [rows]
 * then has the rows' scales. */
CQ_MUST_USE cq_status cq_weights_take_narrow(cq_param *p, cq_weights *w, const char *const *names, int64_t rows,
                                             int64_t cols, cq_arena *arena, cq_error *error);
/* A convolution's weight, [rows, cols, width] in the file and when saved, as a matrix [rows, cols * width]. */
CQ_MUST_USE cq_status cq_weights_take_windows(cq_param *p, cq_weights *w, const char *name, int64_t rows, int64_t cols,
                                              int64_t width, cq_arena *arena, cq_error *error);
/* A matrix of 8-bit integers without scales; narrow. */
CQ_MUST_USE cq_status cq_weights_take_numbers(cq_param *p, cq_weights *w, const char *name, cq_arena *arena,
                                              cq_error *error);
/* A vector of integers (int32 or int64), each in [0, n_values), copied into the arena. */
CQ_MUST_USE cq_status cq_weights_take_integers(int32_t **out, int64_t *n, cq_weights *w, const char *name,
                                               int64_t n_values, cq_arena *arena, cq_error *error);
/* Releases the memory pages filled by reading; they are read again when needed. */
void cq_weights_release_pages(const cq_weights *w);
bool cq_weights_has(const cq_weights *w, const char *name);
bool cq_weights_has_numbers(const cq_weights *w, const char *name); /* a matrix for cq_weights_take_numbers */

/* Takes the heads of other tasks (classification, question answering), which do not affect the sentence vector, so that
 * cq_weights_all_taken finds them known. One notice names the first. */
void cq_weights_leave_heads(cq_weights *w, const cq_module_source *source);
/* Call after taking all tensors: an unused one gives CQ_ERR_UNSUPPORTED, which names it, unless its name starts with
 * one of `ignored` (NULL-terminated: heads and buffers that do not affect the sentence vector). */
CQ_MUST_USE cq_status cq_weights_all_taken(const cq_weights *w, const char *const *ignored, cq_error *error);

/* Writes parameters as directory/model.safetensors (model-int8.safetensors in 8 bits):
 *   CQ_F32, CQ_BF16, CQ_F16   all parameters in this type, rounded to nearest
 *   CQ_I8                     parameters that may be narrow, row by row: q = x / scale, scale = max |x| / 127; the
 *                             others in f32. quantization.json has the version of this format
 *   CQ_I4                     the same with tables of embeddings in 4 bits
 * Errors: CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_weights_save(const cq_param *params, size_t n, cq_dtype weights, const char *directory,
                                      cq_error *error);
/* The same, plus one vector of integers [n_integers]. */
CQ_MUST_USE cq_status cq_weights_save_with(const cq_param *params, size_t n, const char *integers_name,
                                           const int32_t *integers, int64_t n_integers, cq_dtype weights,
                                           const char *directory, cq_error *error);

#endif
