/* Makes students. The kinds without a base model:
 *
 *   TRANSFORMER  BERT [dim, n_layers, n_heads, feed_forward_dim] -> mean        [-> Dense] [-> Normalize]
 *   BILSTM       word embeddings [dim] -> LSTM, dim / 2 each way -> max     [-> Dense] [-> Normalize]
 *   STATIC       mean of word embeddings [dim]                                  [-> Dense] [-> Normalize]
 *
 * All have a vocabulary of pieces or whole words, trained on the text. NEW_VOCABULARY gives an existing model a new
 * one: see carry.h. */
#include "calque/student.h"
#include "train/training_data.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "format/json.h"
#include "model/encoder.h"
#include "model/modules.h"
#include "model/reshape.h"
#include "recipe/student/carry.h"
#include "recipe/student/focus.h"
#include "recipe/student/make_student.h"
#include "recipe/student/static_rows.h"
#include "recipe/student/student_text.h"
#include "tensor/products.h"

#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {"copy", "new-vocabulary", "transformer", "bilstm", "static", "reranker", NULL};
static const char *const vocabularies[] = {"unigram", "bpe", "words", NULL};
static const char *const carry_overs[] = {"shared", "mean", "align", "focus", NULL};

#define O cq_student_options
static const cq_option option_rows[] = {
    {CQ_CHOICE(O, "kind", kind, CHANGES, CQ_STUDENT_NEW_VOCABULARY, kinds, "KIND",
               "new-vocabulary: an existing model's layers under a vocabulary trained on the text; copy: an "
               "existing model as it is; transformer, bilstm: a fresh model; static: the mean of word vectors, fresh "
               "or from a teacher (--from); reranker: an embedding model's layers under a fresh classifier with one "
               "logit, for 'calque finetune'"),
     .letter = 'k'},
    {CQ_TEXT(
         O, "from", from, CHANGES, "MODEL",
         "copy, new-vocabulary, reranker: model to start from, a directory or a name in the local Hugging Face cache; "
         "static: the teacher; each row starts as the teacher's vector of that piece alone"),
     .letter = 'f'},
    {CQ_DATA(O, "text", text, n_text, CHANGES, "[LANGUAGE=]FILE[:WEIGHT]",
             "text to train the vocabulary on: .txt or .tsv, which may be compressed, every column of it; files of one "
             "language, dictionaries included, are aligned together; a file of weight 4 counts four times")},
    {CQ_CHOICE(O, "vocabulary", vocabulary, CHANGES, CQ_VOCABULARY_UNIGRAM, vocabularies, "UNITS",
               "type of the vocabulary: SentencePiece pieces by a unigram model or byte-pair encoding (BPE), or "
               "the most frequent whole words")},
    {CQ_INT(O, "vocab-size", vocab_size, CHANGES, 32000, 8, 1 << 24, "N",
            "size of the vocabulary; smaller if the text yields fewer pieces")},
    {CQ_NUMBER(O, "coverage", character_coverage, CHANGES, 0.9995, 0.5, 1, "SHARE",
               "character coverage: share of the text's characters that pieces must cover")},
    {CQ_FLAG(O, "keep-case", keep_case, CHANGES, "keep capital letters; by default the vocabulary folds case")},
    {CQ_FLAG(O, "keep-words", keep_words, CHANGES,
             "keep the words of --from's vocabulary, in addition to --vocab-size pieces, so that text of its language "
             "is split as "
             "it was (new-vocabulary, unigram)")},
    {CQ_FLAG(O, "fold-variants", fold_variants, CHANGES,
             "read spelling variants as one: Arabic alefs, vowel points, traditional and simplified Chinese, Cyrillic "
             "io, typographic quotation marks and dashes (unigram, bpe)")},
    {CQ_CHOICE(
        O, "carry-over", carry_over, CHANGES, CQ_CARRY_ALIGN, carry_overs, "METHOD",
        "a new vocabulary's initial embeddings of pieces that the old one lacks: random (shared), the mean of the "
        "piece's old tokens (mean), or the mean of the old pieces that it translates by word alignment "
        "(align), and, for pieces without a translation, of pieces with similar contexts (focus)")},
    {CQ_INT(O, "dim", dim, CHANGES, 384, 1, 1 << 16, "N", "fresh kinds: hidden size")},
    {CQ_INT(O, "layers", n_layers, CHANGES, 6, 1, 1024, "N", "transformer, bilstm: layers")},
    {CQ_INT(O, "heads", n_heads, CHANGES, 12, 1, 1024, "N", "transformer: attention heads")},
    {CQ_INT(O, "feed-forward", feed_forward_dim, CHANGES, 1536, 1, 1 << 20, "N",
            "transformer: size of the feed-forward layer")},
    {CQ_INT(O, "max-length", max_seq_length, CHANGES, 0, 0, 1 << 16, "TOKENS", "maximum sequence length"),
     .otherwise = "fresh kinds: 128"},
    {CQ_NUMBER(O, "dropout", dropout, CHANGES, 0.1, 0, 1, "P", "transformer, bilstm: dropout while training"),
     .flags = CQ_OPTION_BELOW_MAX},
    {CQ_INT(O, "output-dim", output_dim, CHANGES, 0, 0, 1 << 16, "N", "end with a linear layer to N dimensions"),
     .otherwise = "the size before it"},
    {CQ_NUMBER(O, "smoothing", smoothing, CHANGES, 5e-4, 0, 1e6, "A",
               "static, from a teacher: a piece that makes up the share P of the text gets the weight A / (A + P); 0: "
               "equal weights")},
    {CQ_INT(O, "remove-components", n_components, CHANGES, 40, 0, 1 << 16, "N",
            "static, from a teacher: principal components to remove, at most an eighth of the dimensions")},
    CQ_EMBEDDING_DIM_ROW(O),
    {CQ_FLAG(O, "normalize", normalize, CHANGES,
             "fresh kinds: end with vectors of length 1, as a static student of such a teacher does by itself")},
    CQ_SKIP_BAD_ROW(O, CHANGES),
    CQ_SEED_ROW(O, 42),
    CQ_REPLACE_ROW(O),
};
#undef O

static cq_status check_student(const void *options, cq_error *error) {
  const cq_student_options *o = options;
  const bool has_text = o->kind != CQ_STUDENT_COPY && o->kind != CQ_STUDENT_RERANKER;
  const bool is_fresh = has_text && o->kind != CQ_STUDENT_NEW_VOCABULARY;
  if (!is_fresh && !o->from)
    return cq_fail(error, CQ_ERR_ARGUMENT, "kind %s needs 'from', a model to start with", kinds[o->kind]);
  if (is_fresh && o->from && o->kind != CQ_STUDENT_STATIC)
    return cq_fail(error, CQ_ERR_ARGUMENT, "kind %s starts from nothing: it takes no 'from'", kinds[o->kind]);
  if (has_text && o->n_text == 0)
    return cq_fail(error, CQ_ERR_ARGUMENT, "kind %s needs 'text' for its vocabulary", kinds[o->kind]);
  if (o->kind == CQ_STUDENT_BILSTM && o->dim % 2 != 0)
    return cq_fail(error, CQ_ERR_ARGUMENT, "dim is %d, a BiLSTM's is even", o->dim);
  if (o->kind == CQ_STUDENT_TRANSFORMER && o->dim % o->n_heads != 0)
    return cq_fail(error, CQ_ERR_ARGUMENT, "dim %d does not divide into %d heads", o->dim, o->n_heads);
  if (o->keep_words && (o->kind != CQ_STUDENT_NEW_VOCABULARY || o->vocabulary != CQ_VOCABULARY_UNIGRAM))
    return cq_fail(error, CQ_ERR_ARGUMENT, "keep_words is for the kind new-vocabulary and a unigram vocabulary");
  if (o->fold_variants && o->vocabulary == CQ_VOCABULARY_WORDS)
    return cq_fail(error, CQ_ERR_ARGUMENT, "fold_variants is for unigram and bpe vocabularies");
  return CQ_OK;
}

const cq_option_group cq_group_student = {
    .name = "student",
    CQ_ROWS(cq_student_options, option_rows),
    .check = check_student,
    CQ_FIELDS(CQ_CALLBACK(cq_student_options, notice), CQ_CALLBACK(cq_student_options, progress))};

static void tell_notice(const cq_student_options *o, const char *text) {
  if (o->notice) o->notice(o->notice_context, text);
}

/* A longer text is sampled: SentencePiece's trainer needs tens of bytes for each byte of text, and a vocabulary gains
 * little from more text. */
enum { MAX_VOCABULARY_SENTENCES = 3000000 };

/* Trains a vocabulary of vocab_size pieces; *largest: the maximum size if the text has too few, otherwise 0. */
static cq_status train_vocabulary_of(cq_tokenizer **out, int *largest, const cq_student_options *o, int vocab_size,
                                     bool lowercase, const cq_tokenizer *old, cq_error *error) {
  cq_student_text *t = cq_alloc_zeroed(sizeof *t);
  if (!t) return cq_fail_memory(error, "text");
  t->options = o;
  *largest = 0;
  const cq_sentencepiece_training training = {.vocab_size = vocab_size,
                                              .bpe = o->vocabulary == CQ_VOCABULARY_BPE,
                                              .character_coverage = o->character_coverage,
                                              .max_sentences = MAX_VOCABULARY_SENTENCES,
                                              .lowercase = lowercase,
                                              .fold_variants = o->fold_variants,
                                              .keep = o->keep_words ? old : NULL};
  const cq_words_training words = {.vocab_size = vocab_size, .lowercase = lowercase};
  cq_status status = o->vocabulary == CQ_VOCABULARY_WORDS
                         ? cq_tokenizer_train_words(out, cq_student_text_next, t, &words, error)
                         : cq_tokenizer_train_sentencepiece(out, largest, cq_student_text_next, t, &training, error);
  if (t->status) { /* what was read is not the whole text */
    if (!status) cq_tokenizer_free(*out);
    *out = NULL;
    if (error) *error = t->error;
    status = t->status;
  }
  if (!status && t->n_bad) {
    char told[64];
    snprintf(told, sizeof told, "%llu malformed lines were skipped", (unsigned long long)t->n_bad);
    tell_notice(o, told);
  }
  status = cq_student_text_close(t, status, error);
  cq_free(t);
  return status;
}

/* Keeps a vocabulary in a directory of its own. */
static cq_status keep_vocabulary(const cq_tokenizer *tokenizer, const char *directory, cq_error *error) {
  cq_directory_writer w;
  cq_status status = cq_directory_writer_open(&w, directory, true, error);
  if (status) return status;
  status = cq_tokenizer_save(tokenizer, w.temporary, 0, error);
  if (!status) return cq_directory_writer_commit(&w, error);
  cq_directory_writer_abort(&w);
  return status;
}

/* Trains the largest vocabulary that the text allows, if that is smaller than vocab_size. */
static cq_status train_vocabulary(cq_tokenizer **out, const cq_student_options *o, bool lowercase,
                                  const cq_tokenizer *old, cq_error *error) {
  int size = o->vocab_size, largest;
  if (!cq_student_tell(o, "vocabulary", 0, (uint64_t)size)) return cq_fail(error, CQ_ERR_STOPPED, "stopped");
  cq_status status = train_vocabulary_of(out, &largest, o, size, lowercase, old, error);
  while (status == CQ_ERR_ARGUMENT && largest > 0 && largest < size) {
    size = largest;
    status = train_vocabulary_of(out, &largest, o, size, lowercase, old, error);
  }
  if (!status && size < o->vocab_size) {
    char told[96];
    snprintf(told, sizeof told, "the text makes a vocabulary of %d pieces, not %d", size, o->vocab_size);
    tell_notice(o, told);
  }
  return status;
}

/* The vocabulary that is kept there, or else a new one. */
static cq_status make_vocabulary(cq_tokenizer **out, const char *kept, const cq_student_options *o, bool lowercase,
                                 const cq_tokenizer *old, cq_error *error) {
  if (!kept || o->vocabulary == CQ_VOCABULARY_WORDS) return train_vocabulary(out, o, lowercase, old, error);
  if (cq_file_exists(kept)) return cq_tokenizer_open(out, kept, false, error);
  cq_status status = train_vocabulary(out, o, lowercase, old, error);
  if (status || !(status = keep_vocabulary(*out, kept, error))) return status;
  cq_tokenizer_free(*out);
  *out = NULL;
  return status;
}

/* --- a new vocabulary under an old body --- */

static void tell_aligned(const cq_student_options *o, const cq_carry_stats *s) {
  char line[256];
  snprintf(line, sizeof line, "%lld of them carried over by word alignment of %llu sentence pairs",
           (long long)s->n_aligned, (unsigned long long)s->n_pairs);
  tell_notice(o, line);
}

static void tell_carried(const cq_student_options *o, const cq_carry_stats *s, int64_t n) {
  char line[256];
  snprintf(line, sizeof line, "vocabulary of %lld pieces: %lld special, %lld shared, %lld from old tokens, %lld random",
           (long long)n, (long long)s->n_special, (long long)s->n_shared, (long long)s->n_mean, (long long)s->n_drawn);
  tell_notice(o, line);
  if (o->carry_over == CQ_CARRY_ALIGN || o->carry_over == CQ_CARRY_FOCUS) tell_aligned(o, s);
  if (o->carry_over == CQ_CARRY_FOCUS) {
    snprintf(line, sizeof line, "%lld of the others by neighbors", (long long)s->n_focus);
    tell_notice(o, line);
  }
}

static cq_status change_vocabulary(cq_encoder *e, const char *kept, const cq_student_options *o, cq_random *random,
                                   cq_context *ctx, cq_error *error) {
  const cq_module *m = e->modules[0];
  const cq_param *table = cq_encoder_word_table(NULL, e);
  cq_tokenizer *tokenizer = NULL;
  cq_carry_stats stats;
  if (!m->tokenizer || !table)
    return cq_fail(error, CQ_ERR_UNSUPPORTED, "%s: a %s has no vocabulary that could be replaced", o->from,
                   m->type->name);
  const bool folds = cq_tokenizer_describe(m->tokenizer)->lowercase || m->lowercase;
  if (folds && o->keep_case) tell_notice(o, "the model knows lower-case text only: the new vocabulary folds case");
  cq_status status = make_vocabulary(&tokenizer, kept, o, !o->keep_case || folds, m->tokenizer, error);
  if (status) return status;
  const int64_t n = cq_tokenizer_describe(tokenizer)->vocab_size;
  float *made, *rows = cq_alloc_array((size_t)n, (size_t)table->cols * sizeof *rows);
  const float *old_rows = cq_param_f32(&made, table);
  unsigned char *origins = cq_alloc((size_t)n);
  status = rows && origins ? CQ_OK : cq_fail_memory(error, "word embeddings");
  if (!status) status = old_rows ? CQ_OK : cq_fail_memory(error, "word embeddings");
  if (!status)
    status = cq_carry_over_rows(rows, origins, tokenizer, old_rows, table->rows, table->cols, m->tokenizer, o, random,
                                &stats, ctx, error);
  if (!status && o->carry_over == CQ_CARRY_FOCUS)
    status = cq_focus_rows(&stats.n_focus, rows, table->cols, origins, tokenizer, o, ctx, error);
  if (!status) status = cq_encoder_put_vocabulary(e, tokenizer, rows, error);
  if (status)
    cq_tokenizer_free(tokenizer);
  else
    tell_carried(o, &stats, n);
  cq_free(made);
  cq_free(rows);
  cq_free(origins);
  return status;
}

/* --- a new transformer: written as a plain Hugging Face directory, which is then opened like any other --- */

typedef struct fresh {
  cq_param *params;
  size_t n;
  cq_arena *arena;
  cq_random *random;
  cq_status status;
  cq_error *error;
} fresh;

/* BERT's initialization: matrices from N(0, 0.02^2), biases 0, gains 1. cols 0: a vector. */
static cq_param *add_fresh_param(fresh *f, const char *prefix, const char *name, int64_t rows, int64_t cols,
                                 double deviation, float constant) {
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
  add_fresh_param(f, full, "weight", out, in, 0.02, 0);
  add_fresh_param(f, full, "bias", out, 0, 0, 0);
}

static void add_norm(fresh *f, const char *prefix, const char *name, int64_t dim) {
  char full[128];
  snprintf(full, sizeof full, "%s%s.", prefix, name);
  add_fresh_param(f, full, "weight", dim, 0, 0, 1);
  add_fresh_param(f, full, "bias", dim, 0, 0, 0);
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
  cq_param *words = add_fresh_param(&f, "embeddings.", "word_embeddings.weight", info->vocab_size, o->dim, 0.02, 0);
  if (!f.status && info->pad_id >= 0) memset(words->value + info->pad_id * o->dim, 0, (size_t)o->dim * sizeof(float));
  add_fresh_param(&f, "embeddings.", "position_embeddings.weight", n_positions, o->dim, 0.02, 0);
  add_fresh_param(&f, "embeddings.", "token_type_embeddings.weight", 2, o->dim, 0.02, 0);
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
  if (!status) status = cq_weights_save(f.params, f.n, CQ_F32, directory, error);
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

/* The rows of a teacher's in place of random ones. *is_unit: the teacher's vectors have length 1. A mean of rows is
 * several times as long, and a student that learned to be shorter would first of all shrink its frequent rows. */
static cq_status static_of_teacher(cq_encoder *e, bool *is_unit, const cq_student_options *o, cq_tokenizer **tokenizer,
                                   cq_random *random, cq_context *ctx, cq_error *error) {
  cq_encoder_options opening = cq_encoder_default_options();
  cq_encoder *teacher;
  cq_carry_stats stats;
  opening.notice = o->notice, opening.notice_context = o->notice_context;
  opening.precision = cq_products_of(cq_kernels_best(), CQ_PRECISION_BF16)->precision;
  cq_status status = cq_encoder_open(&teacher, o->from, &opening, error);
  if (status) return status;
  cq_student_options sizes = *o;
  sizes.dim = cq_encoder_dim(teacher);
  status = fresh_static(e, &sizes, tokenizer, random, error);
  if (!status)
    status = cq_static_rows(cq_encoder_word_table(NULL, e)->value, e->modules[0]->tokenizer, teacher, o, random, &stats,
                            ctx, error);
  *is_unit = cq_encoder_is_normalized(teacher) && cq_encoder_dim(teacher) == cq_encoder_full_dim(teacher);
  cq_encoder_free(teacher);
  if (!status) {
    char line[160];
    snprintf(line, sizeof line, "vocabulary of %lld pieces, which begin as the teacher's vectors of each alone",
             (long long)cq_tokenizer_describe(e->modules[0]->tokenizer)->vocab_size);
    tell_notice(o, line);
    tell_aligned(o, &stats);
  }
  return status;
}

static cq_status make_fresh(cq_encoder **out, const char *directory, const char *kept, const cq_student_options *o,
                            cq_random *random, cq_context *ctx, cq_error *error) {
  const int length = o->max_seq_length > 0 ? o->max_seq_length : 128;
  cq_tokenizer *tokenizer = NULL;
  bool is_unit = false;
  cq_status status = make_vocabulary(&tokenizer, kept, o, !o->keep_case, NULL, error);
  if (status) return status;
  if (o->kind == CQ_STUDENT_TRANSFORMER) {
    status = fresh_transformer(out, directory, o, length, tokenizer, random, error);
  } else if (!(status = cq_encoder_new(out, error))) {
    status = o->kind == CQ_STUDENT_BILSTM ? fresh_bilstm(*out, o, length, &tokenizer, random, error)
             : o->from                    ? static_of_teacher(*out, &is_unit, o, &tokenizer, random, ctx, error)
                                          : fresh_static(*out, o, &tokenizer, random, error);
  }
  cq_tokenizer_free(tokenizer);
  return status ? status : cq_encoder_append_ending(*out, o->output_dim, o->normalize || is_unit, random, error);
}

cq_status cq_student_new(const char *directory, const cq_student_options *options, cq_context *ctx, cq_error *error) {
  return cq_student_make(directory, NULL, options, ctx, error);
}

cq_status cq_student_make(const char *directory, const char *vocabulary, const cq_student_options *options,
                          cq_context *ctx, cq_error *error) {
  cq_student_options taken;
  const cq_student_options *o = &taken;
  cq_encoder *e = NULL;
  cq_status status = cq_options_take(&taken, &cq_group_student, options, error);
  if (status) return status;
  if (!o->replace && cq_file_exists(directory))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, directory, "already exists (--replace overwrites it)");
  cq_random random = cq_random_seeded(o->seed, 0);
  if (o->from && o->kind != CQ_STUDENT_STATIC) {
    cq_encoder_options opening = cq_encoder_default_options();
    opening.notice = o->notice, opening.notice_context = o->notice_context;
    status = o->kind == CQ_STUDENT_RERANKER ? cq_encoder_new_pairs(&e, o->from, &opening, &random, error)
                                            : cq_encoder_open_any(&e, o->from, &opening, error);
    if (!status && e->of_pairs && (o->output_dim || o->embedding_dim))
      status = cq_fail(error, CQ_ERR_ARGUMENT, "%s: output_dim and embedding_dim are for embedding models", o->from);
    if (!status && o->kind == CQ_STUDENT_NEW_VOCABULARY)
      status = change_vocabulary(e, vocabulary, o, &random, ctx, error);
    if (!status && o->max_seq_length > 0) status = cq_encoder_limit(e, o->max_seq_length, error);
    if (!status) status = cq_encoder_append_ending(e, o->output_dim, false, &random, error);
  } else {
    status = make_fresh(&e, directory, vocabulary, o, &random, ctx, error);
  }
  if (!status && o->embedding_dim) status = cq_encoder_factorize(e, o->embedding_dim, NULL, ctx, error);
  if (!status) status = cq_encoder_save(e, directory, o->replace, NULL, error);
  cq_encoder_free(e);
  return status;
}
