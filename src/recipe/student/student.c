/* Making students. The fresh kinds:
 *
 *   TRANSFORMER  BERT [dim, n_layers, n_heads, feed_forward_dim] -> mean        [-> Dense] [-> Normalize]
 *   BILSTM       word embeddings [dim] -> LSTM, dim / 2 each way -> maximum     [-> Dense] [-> Normalize]
 *   STATIC       mean of word embeddings [dim]                                  [-> Dense] [-> Normalize]
 *
 * all over a vocabulary of pieces or whole words, trained on the text. NEW_VOCABULARY puts one under an existing model: see
 * carry.h. */
#include "calque/student.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "calque/lines.h"
#include "format/json.h"
#include "model/encoder.h"
#include "model/modules.h"
#include "model/transformer.h"
#include "recipe/student/carry.h"

#include <stdio.h>
#include <string.h>

#define MAX_COLUMNS 64

cq_student_options cq_student_default_options(void) {
  return (cq_student_options){.kind = CQ_STUDENT_NEW_VOCABULARY,
                              .vocab_size = 32000,
                              .character_coverage = 0.9995,
                              .carry_over = CQ_CARRY_ALIGN,
                              .dim = 384,
                              .n_layers = 6,
                              .n_heads = 12,
                              .feed_forward_dim = 1536,
                              .dropout = 0.1,
                              .seed = 42};
}

static void notice(const cq_student_options *o, const char *text) {
  if (o->notice) o->notice(o->notice_context, text);
}

/* --- the text, column after column --- */

typedef struct text {
  const cq_student_options *options;
  size_t file;
  cq_lines *lines;
  cq_slice columns[MAX_COLUMNS];
  size_t n_columns, column;
  uint64_t n_bad;
  cq_status status;
  cq_error error;
} text;

/* The columns of the next line; at the end of a file, none and no file. */
static cq_status next_line(text *t) {
  cq_slice line;
  t->column = t->n_columns = 0;
  cq_status status = cq_lines_next(&line, t->lines, &t->error);
  if (status) return status;
  if (!line.data) {
    cq_lines_close(t->lines);
    t->lines = NULL;
    return CQ_OK;
  }
  const size_t n = cq_tsv_split(t->columns, MAX_COLUMNS, line);
  if (n > MAX_COLUMNS)
    return cq_fail_line(&t->error, CQ_ERR_FORMAT, cq_lines_path(t->lines), cq_lines_number(t->lines),
                        "%zu columns, expected at most %d", n, MAX_COLUMNS);
  t->n_columns = n;
  return CQ_OK;
}

static bool next_sentence(void *context, cq_slice *sentence) {
  text *t = context;
  for (;;) {
    while (t->column < t->n_columns) {
      *sentence = t->columns[t->column++];
      if (sentence->n > 0) return true;
    }
    if (t->status) return false;
    if (!t->lines) {
      if (t->file == t->options->n_text_files) return false;
      t->status = cq_lines_open(&t->lines, t->options->text_files[t->file++], &t->error);
      if (t->status) return false;
    }
    t->status = next_line(t);
    if (t->status == CQ_ERR_FORMAT && t->options->skip_bad && !cq_lines_broken(t->lines)) {
      t->status = CQ_OK;
      t->n_bad++;
    }
    if (t->status) return false;
  }
}

static cq_status train_vocabulary(cq_tokenizer **out, const cq_student_options *o, bool lowercase, cq_error *error) {
  if (o->n_text_files == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "no text to train a vocabulary on");
  if (o->vocab_size < 8 || o->vocab_size > 1 << 24)
    return cq_fail(error, CQ_ERR_ARGUMENT, "vocab_size is %d, expected 8 or more", o->vocab_size);
  text *t = cq_alloc_zeroed(sizeof *t);
  if (!t) return cq_fail_memory(error, "text");
  t->options = o;
  const cq_sentencepiece_training training = {.vocab_size = o->vocab_size,
                                              .bpe = o->vocab_bpe,
                                              .character_coverage = o->character_coverage,
                                              .lowercase = lowercase};
  const cq_words_training words = {.vocab_size = o->vocab_size, .lowercase = lowercase};
  cq_status status = o->vocab_words ? cq_tokenizer_train_words(out, next_sentence, t, &words, error)
                                    : cq_tokenizer_train_sentencepiece(out, next_sentence, t, &training, error);
  if (t->status) { /* what was read is not the whole text */
    if (!status) cq_tokenizer_free(*out);
    *out = NULL;
    if (error) *error = t->error;
    status = t->status;
  }
  if (!status && t->n_bad) {
    char told[64];
    snprintf(told, sizeof told, "%llu malformed lines were skipped", (unsigned long long)t->n_bad);
    notice(o, told);
  }
  cq_lines_close(t->lines);
  cq_free(t);
  return status;
}

/* --- the stages behind the first --- */

static cq_status append_ending(cq_encoder *e, const cq_student_options *o, bool normalize, cq_random *random,
                               cq_error *error) {
  cq_module *module;
  cq_status status = CQ_OK;
  if (o->output_dim > 0) {
    const char *path = cq_arena_printf(&e->arena, "%zu_Dense", e->n_modules);
    if (!path) return cq_fail_memory(error, "a student");
    status = cq_dense_new(&module, cq_encoder_dim(e), o->output_dim, CQ_IDENTITY, path, random, &e->arena, error);
    if (!status) status = cq_encoder_append(e, module, error);
  }
  if (!status && normalize) {
    const char *path = cq_arena_printf(&e->arena, "%zu_Normalize", e->n_modules);
    if (!path) return cq_fail_memory(error, "a student");
    status = cq_normalize_new(&module, cq_encoder_dim(e), path, &e->arena, error);
    if (!status) status = cq_encoder_append(e, module, error);
  }
  return status;
}

/* --- a new vocabulary under an old body --- */

/* The parameter that holds the word embeddings of a model's first module. */
static cq_param *word_table(cq_module *module) {
  for (size_t i = 0; i < module->n_params; i++)
    if (module->params[i].table) return &module->params[i];
  return NULL;
}

static cq_status put_vocabulary(cq_encoder *e, cq_tokenizer *tokenizer, float *rows, cq_error *error) {
  cq_module *m = e->modules[0];
  cq_param *table = word_table(m);
  if (m->type == &cq_transformer_type)
    return cq_transformer_set_vocabulary((cq_transformer *)m, tokenizer, rows, &e->arena, error);
  const size_t n = (size_t)cq_tokenizer_describe(tokenizer)->vocab_size * (size_t)table->cols;
  float *copy = cq_arena_array(&e->arena, n, sizeof *copy);
  if (!copy) return cq_fail_memory(error, "word embeddings");
  memcpy(copy, rows, n * sizeof *copy);
  table->value = copy;
  table->rows = cq_tokenizer_describe(tokenizer)->vocab_size;
  cq_tokenizer_free(m->tokenizer);
  m->tokenizer = tokenizer;
  return CQ_OK;
}

static void tell_carried(const cq_student_options *o, const cq_carry_stats *s, int64_t n) {
  char line[256];
  snprintf(line, sizeof line, "vocabulary of %lld pieces: %lld special, %lld shared, %lld from their parts, %lld drawn",
           (long long)n, (long long)s->n_special, (long long)s->n_shared, (long long)s->n_mean, (long long)s->n_drawn);
  notice(o, line);
  if (o->carry_over != CQ_CARRY_ALIGN) return;
  snprintf(line, sizeof line, "%lld pieces placed by what they translate, from %llu pairs of sentences",
           (long long)s->n_aligned, (unsigned long long)s->n_pairs);
  notice(o, line);
}

static cq_status change_vocabulary(cq_encoder *e, const cq_student_options *o, cq_random *random, cq_error *error) {
  const cq_module *m = e->modules[0];
  const cq_param *table = word_table(e->modules[0]);
  cq_tokenizer *tokenizer = NULL;
  cq_carry_stats stats;
  if (!m->tokenizer || !table)
    return cq_fail(error, CQ_ERR_UNSUPPORTED, "%s: a %s has no vocabulary that could be replaced", o->from,
                   m->type->name);
  const bool folds = cq_tokenizer_describe(m->tokenizer)->lowercase || m->lowercase;
  if (folds && !o->lowercase) notice(o, "the model knows lower-case text only: the new vocabulary folds case");
  cq_status status = train_vocabulary(&tokenizer, o, o->lowercase || folds, error);
  if (status) return status;
  const int64_t n = cq_tokenizer_describe(tokenizer)->vocab_size;
  float *rows = cq_alloc_array((size_t)n, (size_t)table->cols * sizeof *rows);
  status = rows ? CQ_OK : cq_fail_memory(error, "word embeddings");
  if (!status)
    status = cq_carry_over_rows(rows, tokenizer, table->value, table->rows, table->cols, m->tokenizer, o->carry_over,
                                o->text_files, o->n_text_files, random, &stats, error);
  if (!status) status = put_vocabulary(e, tokenizer, rows, error);
  if (status)
    cq_tokenizer_free(tokenizer);
  else
    tell_carried(o, &stats, n);
  cq_free(rows);
  return status;
}

/* --- a fresh transformer: written as a plain Hugging Face directory, which is then opened like any other --- */

typedef struct fresh {
  cq_param *params;
  size_t n;
  cq_arena *arena;
  cq_random *random;
  cq_status status;
  cq_error *error;
} fresh;

/* BERT's start: matrices from N(0, 0.02^2), biases 0, gains 1. cols 0: a vector. */
static cq_param *add_param(fresh *f, const char *prefix, const char *name, int64_t rows, int64_t cols, double deviation,
                           float constant) {
  if (f->status) return NULL;
  cq_param *p = &f->params[f->n++];
  *p = (cq_param){.name = cq_arena_printf(f->arena, "%s%s", prefix, name),
                  .rows = cols ? rows : 1,
                  .cols = cols ? cols : rows,
                  .n_dims = cols ? 2 : 1};
  if (!p->name)
    f->status = cq_fail_memory(f->error, "a student");
  else
    f->status = deviation > 0 ? cq_param_normal(p, deviation, f->random, f->arena, f->error)
                              : cq_param_constant(p, constant, f->arena, f->error);
  return p;
}

static void add_linear(fresh *f, const char *prefix, const char *name, int64_t out, int64_t in) {
  char full[128];
  snprintf(full, sizeof full, "%s%s.", prefix, name);
  add_param(f, full, "weight", out, in, 0.02, 0);
  add_param(f, full, "bias", out, 0, 0, 0);
}

static void add_norm(fresh *f, const char *prefix, const char *name, int64_t dim) {
  char full[128];
  snprintf(full, sizeof full, "%s%s.", prefix, name);
  add_param(f, full, "weight", dim, 0, 0, 1);
  add_param(f, full, "bias", dim, 0, 0, 0);
}

static cq_status write_transformer(const char *directory, const cq_student_options *o, const cq_tokenizer *tokenizer,
                                   int n_positions, cq_random *random, cq_error *error) {
  const cq_tokenizer_info *info = cq_tokenizer_describe(tokenizer);
  cq_arena arena = {0};
  fresh f = {.params = cq_arena_array(&arena, (size_t)o->n_layers * 16 + 8, sizeof *f.params),
             .arena = &arena,
             .random = random,
             .error = error};
  f.status = f.params ? CQ_OK : cq_fail_memory(error, "a student");
  cq_param *words = add_param(&f, "embeddings.", "word_embeddings.weight", info->vocab_size, o->dim, 0.02, 0);
  if (!f.status && info->pad_id >= 0) memset(words->value + info->pad_id * o->dim, 0, (size_t)o->dim * sizeof(float));
  add_param(&f, "embeddings.", "position_embeddings.weight", n_positions, o->dim, 0.02, 0);
  add_param(&f, "embeddings.", "token_type_embeddings.weight", 2, o->dim, 0.02, 0);
  add_norm(&f, "embeddings.", "LayerNorm", o->dim);
  for (int i = 0; i < o->n_layers; i++) {
    char prefix[64];
    snprintf(prefix, sizeof prefix, "encoder.layer.%d.", i);
    add_linear(&f, prefix, "attention.self.query", o->dim, o->dim);
    add_linear(&f, prefix, "attention.self.key", o->dim, o->dim);
    add_linear(&f, prefix, "attention.self.value", o->dim, o->dim);
    add_linear(&f, prefix, "attention.output.dense", o->dim, o->dim);
    add_norm(&f, prefix, "attention.output.LayerNorm", o->dim);
    add_linear(&f, prefix, "intermediate.dense", o->feed_forward_dim, o->dim);
    add_linear(&f, prefix, "output.dense", o->dim, o->feed_forward_dim);
    add_norm(&f, prefix, "output.LayerNorm", o->dim);
  }
  cq_status status = f.status;
  if (!status) status = cq_weights_save(f.params, f.n, directory, error);
  cq_arena_free(&arena);
  if (status) return status;

  json_t *config = json_pack(
      "{s:[s], s:s, s:I, s:i, s:i, s:i, s:i, s:s, s:i, s:i, s:f, s:f, s:f, s:i, s:i, s:i, s:f}", "architectures",
      "BertModel", "model_type", "bert", "vocab_size", (json_int_t)info->vocab_size, "hidden_size", o->dim,
      "num_hidden_layers", o->n_layers, "num_attention_heads", o->n_heads, "intermediate_size", o->feed_forward_dim,
      "hidden_act", "gelu", "max_position_embeddings", n_positions, "type_vocab_size", 2, "layer_norm_eps", 1e-12,
      "hidden_dropout_prob", o->dropout, "attention_probs_dropout_prob", o->dropout, "pad_token_id", (int)info->pad_id,
      "bos_token_id", (int)info->cls_id, "eos_token_id", (int)info->sep_id, "initializer_range", 0.02);
  status = cq_json_save(config, directory, "config.json", error);
  return status ? status : cq_tokenizer_save(tokenizer, directory, n_positions, error);
}

static cq_status fresh_transformer(cq_encoder **out, const char *directory, const cq_student_options *o, int length,
                                   const cq_tokenizer *tokenizer, cq_random *random, cq_error *error) {
  char work[4096];
  cq_directory_writer w = {0};
  if (snprintf(work, sizeof work, "%s.body", directory) >= (int)sizeof work)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, directory, "the path is too long");
  cq_status status = cq_directory_writer_open(&w, work, true, error);
  if (status) return status;
  status = write_transformer(w.temporary, o, tokenizer, length, random, error);
  if (!status) status = cq_encoder_open(out, w.temporary, NULL, error); /* what is mapped stays when the files go */
  cq_directory_writer_abort(&w);
  return status;
}

/* --- the other fresh kinds --- */

static cq_status fresh_bilstm(cq_encoder *e, const cq_student_options *o, int length, cq_tokenizer **tokenizer,
                              cq_random *random, cq_error *error) {
  cq_module *module;
  cq_status status;
  if ((status =
           cq_word_embeddings_new(&module, *tokenizer, o->dim, length, "0_WordEmbeddings", random, &e->arena, error)))
    return status;
  *tokenizer = NULL;
  if ((status = cq_encoder_append(e, module, error)) ||
      (status = cq_lstm_module_new(&module, o->dim, o->dim / 2, o->n_layers, true, o->n_layers > 1 ? o->dropout : 0,
                                   "1_LSTM", random, &e->arena, error)) ||
      (status = cq_encoder_append(e, module, error)) ||
      (status = cq_pooling_new(&module, o->dim, CQ_POOL_MAX, "2_Pooling", &e->arena, error)))
    return status;
  return cq_encoder_append(e, module, error);
}

static cq_status fresh_static(cq_encoder *e, const cq_student_options *o, cq_tokenizer **tokenizer, cq_random *random,
                              cq_error *error) {
  cq_module *module;
  cq_status status = cq_static_new(&module, *tokenizer, o->dim, "0_StaticEmbedding", random, &e->arena, error);
  if (status) return status;
  *tokenizer = NULL;
  return cq_encoder_append(e, module, error);
}

static cq_status check_sizes(const cq_student_options *o, cq_error *error) {
  if (o->dim < 1) return cq_fail(error, CQ_ERR_ARGUMENT, "dim is %d, expected 1 or more", o->dim);
  if (!(o->dropout >= 0 && o->dropout < 1))
    return cq_fail(error, CQ_ERR_ARGUMENT, "dropout is %g, expected 0 or more and less than 1", o->dropout);
  if (o->kind == CQ_STUDENT_STATIC) return CQ_OK;
  if (o->n_layers < 1) return cq_fail(error, CQ_ERR_ARGUMENT, "n_layers is %d, expected 1 or more", o->n_layers);
  if (o->kind == CQ_STUDENT_BILSTM)
    return o->dim % 2 == 0 ? CQ_OK : cq_fail(error, CQ_ERR_ARGUMENT, "dim is %d, a BiLSTM's is even", o->dim);
  if (o->n_heads < 1 || o->dim % o->n_heads != 0)
    return cq_fail(error, CQ_ERR_ARGUMENT, "dim %d does not divide into %d heads", o->dim, o->n_heads);
  if (o->feed_forward_dim < 1)
    return cq_fail(error, CQ_ERR_ARGUMENT, "feed_forward_dim is %d, expected 1 or more", o->feed_forward_dim);
  return CQ_OK;
}

static cq_status make_fresh(cq_encoder **out, const char *directory, const cq_student_options *o, cq_random *random,
                            cq_error *error) {
  const int length = o->max_seq_length > 0 ? o->max_seq_length : 128;
  cq_tokenizer *tokenizer = NULL;
  cq_status status = check_sizes(o, error);
  if (!status) status = train_vocabulary(&tokenizer, o, o->lowercase, error);
  if (status) return status;
  if (o->kind == CQ_STUDENT_TRANSFORMER) {
    status = fresh_transformer(out, directory, o, length, tokenizer, random, error);
  } else if (!(status = cq_encoder_new(out, error))) {
    status = o->kind == CQ_STUDENT_BILSTM ? fresh_bilstm(*out, o, length, &tokenizer, random, error)
                                          : fresh_static(*out, o, &tokenizer, random, error);
  }
  cq_tokenizer_free(tokenizer);
  return status ? status : append_ending(*out, o, o->normalize, random, error);
}

cq_status cq_student_new(const char *directory, const cq_student_options *o, cq_context *ctx, cq_error *error) {
  (void)ctx; /* training a vocabulary and aligning run on threads of their own or on one, so that the result is one */
  cq_encoder *e = NULL;
  cq_random random = cq_random_seeded(o->seed, 0);
  cq_status status = CQ_OK;
  const bool from_model = o->kind == CQ_STUDENT_COPY || o->kind == CQ_STUDENT_NEW_VOCABULARY;
  if (!o->replace && cq_file_exists(directory))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, directory, "exists already");
  if (from_model && !o->from) return cq_fail(error, CQ_ERR_ARGUMENT, "no model to start from");
  if (from_model) {
    const cq_encoder_options options = {.notice = o->notice, .notice_context = o->notice_context};
    status = cq_encoder_open(&e, o->from, &options, error);
    if (!status && o->kind == CQ_STUDENT_NEW_VOCABULARY) status = change_vocabulary(e, o, &random, error);
    if (!status && o->max_seq_length > 0) status = cq_encoder_limit(e, o->max_seq_length, error);
    if (!status) status = append_ending(e, o, false, &random, error);
  } else {
    status = make_fresh(&e, directory, o, &random, error);
  }
  if (!status) status = cq_encoder_save(e, directory, o->replace, NULL, error);
  cq_encoder_free(e);
  return status;
}
