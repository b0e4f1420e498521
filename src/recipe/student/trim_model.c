/* Makes a model smaller: without the pieces that a text does not need and, if it is static, with fewer dimensions.
 * Needed pieces are marked, the tokenizer and the embedding rows are renumbered, and both tokenizers are compared on
 * the text.
 *
 *   text ──old tokenizer──▶ needed pieces ──▶ new tokenizer, new ids ──▶ rows
 *   text ──both──▶ ids, which must mean the same pieces                      └──▶ directory
 *   sentences of the text ──▶ vectors ──▶ principal axes; rows ──▶ their coordinates on the first axes */
#include "calque/trim.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "calque/extra/pca.h"
#include "format/half.h"
#include "format/safetensors.h"
#include "model/encoder.h"
#include "model/model_language.h"
#include "model/reshape.h"
#include "model/transformer_module.h"
#include "recipe/student/student_text.h"

#include <stdlib.h>
#include <string.h>

#define O cq_trim_options
static const cq_option option_rows[] = {
    {CQ_TEXTS(O, "text", text_files, n_text_files, CHANGES, "FILE",
              "text whose vocabulary is kept: .txt or .tsv, which may be compressed, every column of it"),
     .flags = CQ_OPTION_REQUIRED},
    {CQ_INT(O, "keep", keep, CHANGES, 0, 0, 1 << 24, "N",
            "keep the first N pieces of the vocabulary as well; in most vocabularies the most frequent come first")},
    {CQ_INT(O, "vocab-size", vocab_size, CHANGES, 0, 0, 1 << 24, "N",
            "keep the N pieces without which the text, and what the vocabulary was trained on, would be split worst; "
            "files count alike"),
     .otherwise = "all that the text needs"},
    {CQ_FLAG(O, "fold-case", fold_case, CHANGES,
             "read text in lower case, composed (NFC) and without invisible characters: pieces that differ in case "
             "become one (Unigram vocabularies)")},
    {CQ_INTS(O, "layers", layers, n_layers, CHANGES, 0, 1 << 10, "N,...",
             "keep these layers, counted from 0; the model is to be trained again"),
     .flags = CQ_OPTION_COMMAS, .otherwise = "all"},
    CQ_EMBEDDING_DIM_ROW(O),
    {CQ_FLAG(O, "replace", replace, KEEPS, "overwrite an existing directory")},
    {CQ_INT(O, "dimensions", dimensions, CHANGES, 0, 0, 1 << 20, "N",
            "static models: rotate the vectors to the text's principal axes (PCA), and keep the first N dimensions"),
     .otherwise = "all"},
};
#undef O

const cq_option_group cq_group_trim = {.name = "trim", CQ_ROWS(cq_trim_options, option_rows)};

/* The purpose of a pass over the text. */
typedef enum reading { READ_PIECES, READ_SPLITS, READ_SAMPLE, READ_SHARES } reading;
enum { MAX_SAMPLE = 20000 };

typedef struct trimming {
  const cq_trim_options *o;
  cq_student_options text; /* of which the files are read */
  cq_encoder *encoder;
  const cq_tokenizer *old;
  cq_tokenizer *trimmed;
  reading pass;
  bool *needed;     /* [old vocab_size] */
  int32_t *new_ids; /* [old vocab_size] */
  double *shares;   /* [old vocab_size] of each piece in the text: the sum of its shares in the files */
  uint32_t *counts; /* [old vocab_size] in the file that is being read */
  uint64_t n_counted;
  cq_token_memory *memory;
  cq_ids ids, again;
  cq_builder prompted;
  uint64_t n_sentences;
  cq_slice *sample; /* [MAX_SAMPLE] sentences from the whole text, in the arena */
  size_t n_sample;
  cq_arena arena;
} trimming;

/* --- the text --- */

static cq_status compare_splits(trimming *t, cq_slice sentence, const cq_lines *lines, cq_error *error) {
  const cq_module *m = cq_encoder_text_module(t->encoder);
  t->ids.n = t->again.n = 0;
  cq_status status = cq_tokenizer_encode(&t->ids, t->old, t->memory, sentence, m->add_special, 0, NULL, error);
  if (!status) status = cq_tokenizer_encode(&t->again, t->trimmed, t->memory, sentence, m->add_special, 0, NULL, error);
  if (status) return status;
  bool same = t->ids.n == t->again.n;
  for (size_t i = 0; same && i < t->ids.n; i++) same = t->new_ids[t->ids.ids[i]] == t->again.ids[i];
  if (same) return CQ_OK;
  return cq_fail_line(
      error, CQ_ERR_UNSUPPORTED, cq_lines_path(lines), cq_lines_number(lines),
      "without the other pieces the %s tokenizer would split this otherwise: the model cannot be trimmed",
      cq_tokenizer_describe(t->old)->type);
}

static cq_status read_sentence(trimming *t, cq_slice sentence, const cq_lines *lines, cq_error *error) {
  if (t->pass == READ_SPLITS) return compare_splits(t, sentence, lines, error);
  return cq_tokenizer_mark(t->needed, t->old, t->memory, sentence, cq_encoder_text_module(t->encoder)->add_special,
                           error);
}

/* The file's counts join the shares. */
static void add_file(trimming *t) {
  const int64_t n = cq_tokenizer_describe(t->old)->vocab_size;
  for (int64_t id = 0; t->n_counted && id < n; id++) t->shares[id] += t->counts[id] / (double)t->n_counted;
  memset(t->counts, 0, (size_t)n * sizeof *t->counts);
  t->n_counted = 0;
}

static cq_status count_sentence(trimming *t, cq_slice sentence, cq_error *error) {
  t->ids.n = 0;
  const cq_status status = cq_tokenizer_encode(&t->ids, t->old, t->memory, sentence, false, 0, NULL, error);
  for (size_t i = 0; !status && i < t->ids.n; i++) t->counts[t->ids.ids[i]]++;
  t->n_counted += t->ids.n;
  return status;
}

/* By itself and after each prompt: what is encoded is one of these. */
static cq_status read_with_prompts(trimming *t, cq_slice sentence, const cq_lines *lines, cq_error *error) {
  const char *name;
  json_t *prompt;
  cq_status status = read_sentence(t, sentence, lines, error);
  json_object_foreach(t->encoder->prompts, name, prompt) {
    if (status || !json_is_string(prompt)) continue;
    cq_builder_clear(&t->prompted);
    cq_builder_bytes(&t->prompted, json_string_value(prompt), json_string_length(prompt));
    cq_builder_bytes(&t->prompted, sentence.data, sentence.n);
    if (t->prompted.failed) return cq_fail_memory(error, "a sentence");
    status = read_sentence(t, (cq_slice){t->prompted.data, t->prompted.n}, lines, error);
  }
  return status;
}

/* Takes every n-th sentence, so that the sample covers the whole text. */
static cq_status take_sample(trimming *t, uint64_t i, uint64_t n, cq_slice sentence, cq_error *error) {
  if (t->n_sample == MAX_SAMPLE || i % (n / MAX_SAMPLE + 1) != 0) return CQ_OK;
  const char *copy = cq_arena_strndup(&t->arena, sentence.data, sentence.n);
  if (!copy) return cq_fail_memory(error, "a sentence");
  t->sample[t->n_sample++] = (cq_slice){copy, sentence.n};
  return CQ_OK;
}

static cq_status read_texts(trimming *t, reading pass, cq_error *error) {
  cq_student_text text = {.options = &t->text};
  cq_slice sentence;
  cq_status status = CQ_OK;
  const uint64_t n_before = t->n_sentences;
  size_t file = 1;
  t->pass = pass;
  for (t->n_sentences = 0; !status && cq_student_text_next(&text, &sentence); t->n_sentences++) {
    if (pass == READ_SHARES && text.file != file) add_file(t), file = text.file;
    status = pass == READ_SAMPLE   ? take_sample(t, t->n_sentences, n_before, sentence, error)
             : pass == READ_SHARES ? count_sentence(t, sentence, error)
                                   : read_with_prompts(t, sentence, text.lines, error);
  }
  if (pass == READ_SHARES) add_file(t);
  status = cq_student_text_close(&text, status, error);
  if (!status && t->n_sentences == 0)
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, t->o->text_files[0], "no text: all pieces would go");
  return status;
}

/* --- the weights --- */

/* Whether all parameters, as read, are exactly representable in this type. */
static bool is_exact_in(const cq_encoder *e, cq_dtype type) {
  for (size_t i = 0; i < e->params.n; i++) {
    const cq_param *p = e->params.items[i];
    if (!p->value && p->narrow.dtype != type) return false;
    for (int64_t k = 0; p->value && k < cq_param_floats(p); k++) {
      const float x = p->value[k];
      const float y = type == CQ_BF16 ? cq_bf16_to_f32(cq_f32_to_bf16(x)) : cq_f16_to_f32(cq_f32_to_f16(x));
      if (!(x == y)) return false;
    }
  }
  return true;
}

static cq_dtype stored_type(const cq_encoder *e, const cq_param *table) {
  return !table->value && is_exact_in(e, table->narrow.dtype) ? table->narrow.dtype : CQ_F32;
}

static int64_t stored_bytes(const cq_encoder *e, cq_dtype type) {
  int64_t n = 0;
  for (size_t i = 0; i < e->n_modules; i++)
    for (size_t k = 0; k < e->modules[i]->n_params; k++) n += cq_param_floats(&e->modules[i]->params[k]);
  return n * (int64_t)cq_dtype_size(type);
}

/* Rows of pieces that stay, in their order. */
static cq_status trim_rows(trimming *t, const cq_param *table, cq_error *error) {
  const int64_t dim = table->cols, n_old = cq_tokenizer_describe(t->old)->vocab_size;
  float *made = NULL,
        *rows = cq_alloc_array((size_t)cq_tokenizer_describe(t->trimmed)->vocab_size, (size_t)dim * sizeof *rows);
  const float *old = rows ? cq_param_f32(&made, table) : NULL;
  cq_status status = old ? CQ_OK : cq_fail_memory(error, "word embeddings");
  for (int64_t id = 0; !status && id < n_old; id++)
    if (t->new_ids[id] >= 0) memcpy(rows + t->new_ids[id] * dim, old + id * dim, (size_t)dim * sizeof *rows);
  if (!status) status = cq_encoder_put_vocabulary(t->encoder, t->trimmed, rows, error);
  if (!status) t->trimmed = NULL; /* the encoder's now */
  cq_free(made);
  cq_free(rows);
  return status;
}

/* --- case --- */

/* Rows of the pieces that became one: their mean, by frequency. */
static cq_status fold_vocabulary(trimming *t, cq_error *error) {
  cq_encoder *e = t->encoder;
  const cq_param *table = cq_encoder_word_table(NULL, e);
  const cq_tokenizer *old = e->modules[0]->tokenizer;
  const int64_t n = cq_tokenizer_describe(old)->vocab_size, dim = table->cols;
  cq_tokenizer *folded = NULL;
  int32_t *ids = cq_alloc_array((size_t)n, sizeof *ids);
  double *weights = cq_alloc_array((size_t)n, sizeof *weights);
  float *made = NULL, *rows = NULL;
  const float *values = cq_param_f32(&made, table);
  cq_status status = ids && weights && values ? cq_tokenizer_fold_case(&folded, ids, weights, old, error)
                                              : cq_fail_memory(error, "vocabulary");
  if (!status &&
      !(rows = cq_alloc_array_zeroed((size_t)cq_tokenizer_describe(folded)->vocab_size, (size_t)dim * sizeof *rows)))
    status = cq_fail_memory(error, "word embeddings");
  for (int64_t id = 0; !status && id < n; id++)
    for (int64_t d = 0; d < dim; d++) rows[ids[id] * dim + d] += (float)weights[id] * values[id * dim + d];
  if (!status) status = cq_encoder_put_vocabulary(e, folded, rows, error);
  if (status) cq_tokenizer_free(folded);
  cq_free(made);
  cq_free(rows);
  cq_free(ids);
  cq_free(weights);
  return status;
}

/* --- which pieces stay --- */

static int by_share(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

/* Marks the vocab_size pieces without which text loses most; of equal ones the first. The text that the vocabulary was
 * trained on counts, too, by its pieces' probabilities: shares, whose sum is the number of files, become those of both. */
static cq_status mark_valuable(trimming *t, size_t n, cq_error *error) {
  const size_t n_kept = cq_min((size_t)t->o->vocab_size, n);
  double *values = cq_alloc_array(3 * n, sizeof *values), *loss = values + n, *sorted = values + 2 * n, n_files = 0;
  if (!values) return cq_fail_memory(error, "vocabulary");
  const cq_status status = cq_tokenizer_piece_values(values, loss, t->old, error);
  for (size_t id = 0; id < n; id++) n_files += t->shares[id];
  for (size_t id = 0; !status && id < n; id++) {
    t->shares[id] += n_files * values[id];
    sorted[id] = values[id] = t->shares[id] * loss[id];
  }
  if (!status) qsort(sorted, n, sizeof *sorted, by_share);
  const double least = status ? 0 : sorted[n_kept - 1];
  size_t n_marked = 0;
  for (size_t id = 0; !status && id < n; id++) n_marked += t->needed[id] = values[id] > least;
  for (size_t id = 0; !status && id < n && n_marked < n_kept; id++)
    if (values[id] == least && least > 0) t->needed[id] = true, n_marked++;
  cq_free(values);
  return status;
}

/* The shares in the order of the new ids. */
static void renumber_shares(trimming *t, int64_t n) {
  for (int64_t id = 0; id < n; id++)
    if (t->new_ids[id] >= 0) t->shares[t->new_ids[id]] = t->shares[id];
}

/* --- fewer dimensions --- */

static cq_status find_axes(double *axes, trimming *t, int dim, cq_context *ctx, cq_error *error) {
  cq_status status = CQ_OK;
  float *vectors = NULL;
  t->sample = cq_alloc_array(MAX_SAMPLE, sizeof *t->sample);
  if (!t->sample) return cq_fail_memory(error, "sentences");
  status = read_texts(t, READ_SAMPLE, error);
  if (!status && !(vectors = cq_alloc_array(t->n_sample, (size_t)dim * sizeof *vectors)))
    status = cq_fail_memory(error, "vectors");
  if (!status) status = cq_encoder_encode(vectors, NULL, t->encoder, t->sample, t->n_sample, NULL, ctx, error);
  if (!status) status = cq_pca_axes(axes, vectors, t->n_sample, dim, t->o->dimensions, ctx, error);
  cq_free(vectors);
  return status;
}

/* Replaces rows by their coordinates on the first axes: a mean of rows is rotated with them, and cosines change little
 * if the other coordinates are small. Only modules without weights can follow a table, and these accept any
 * dimension. */
static cq_status cut_dimensions(trimming *t, const char *model, cq_context *ctx, cq_error *error) {
  cq_encoder *e = t->encoder;
  cq_param *table = cq_encoder_word_table(NULL, e);
  const size_t dim = (size_t)t->o->dimensions, old_dim = (size_t)table->cols;
  bool is_bare = e->modules[0]->type->is_static;
  for (size_t i = 1; i < e->n_modules; i++) is_bare = is_bare && e->modules[i]->n_params == 0;
  if (!is_bare)
    return cq_fail(error, CQ_ERR_UNSUPPORTED,
                   "%s: only a static model without further weights can be cut to fewer dimensions", model);
  if (dim > old_dim)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s has %zu dimensions, %zu were requested", model, old_dim, dim);
  float *made = NULL, *rows = cq_arena_array(&e->arena, (size_t)table->rows * dim, sizeof *rows);
  const float *old = rows ? cq_param_f32(&made, table) : NULL;
  double *axes = cq_alloc_array(dim * old_dim, sizeof *axes);
  cq_status status =
      old && axes ? find_axes(axes, t, (int)old_dim, ctx, error) : cq_fail_memory(error, "word embeddings");
  for (size_t id = 0; !status && id < (size_t)table->rows; id++)
    for (size_t k = 0; k < dim; k++) {
      double sum = 0;
      for (size_t d = 0; d < old_dim; d++) sum += axes[k * old_dim + d] * (double)old[id * old_dim + d];
      rows[id * dim + k] = (float)sum;
    }
  cq_free(made);
  cq_free(axes);
  if (status) return status;
  table->value = rows, table->narrow = (cq_narrow_rows){0};
  table->cols = (int64_t)dim;
  for (size_t i = 0; i < e->n_modules; i++)
    if (e->modules[i]->output_dim == (int64_t)old_dim) e->modules[i]->output_dim = (int64_t)dim;
  return CQ_OK;
}

/* --- the whole --- */

static cq_status check_model(const cq_encoder *e, const char *model, cq_error *error) {
  const cq_module *m = e->modules[0];
  const cq_param *table = cq_encoder_word_table(NULL, e);
  if (!m->tokenizer || !table)
    return cq_fail(error, CQ_ERR_UNSUPPORTED, "%s: a %s without a tokenizer's vocabulary cannot be trimmed", model,
                   m->type->name);
  if (!table->value && table->narrow.scales)
    return cq_fail(error, CQ_ERR_UNSUPPORTED, "%s: is quantized: trim the model that it was quantized from", model);
  const int64_t n = cq_tokenizer_describe(m->tokenizer)->vocab_size;
  if (n > table->rows)
    return cq_fail(error, CQ_ERR_UNSUPPORTED, "%s: the tokenizer has %lld pieces, the embedding %lld rows", model,
                   (long long)n, (long long)table->rows);
  return CQ_OK;
}

/* In RoBERTa models, the token of one id takes no position: the config's padding, which may not be the tokenizer's. It
 * keeps its id if all pieces before it stay. */
static int64_t fixed_pieces(const cq_encoder *e) {
  const cq_module *m = e->modules[0];
  return m->type->has_body ? ((const cq_transformer *)m)->embedding.first_position : 0;
}

static cq_status trim_vocabulary(trimming *t, cq_error *error) {
  const int64_t n = cq_tokenizer_describe(t->old)->vocab_size;
  const bool counts = t->o->vocab_size || t->o->embedding_dim;
  t->needed = cq_alloc_array_zeroed((size_t)n, sizeof *t->needed);
  t->new_ids = cq_alloc_array_zeroed((size_t)n, sizeof *t->new_ids);
  t->shares = counts ? cq_alloc_array_zeroed((size_t)n, sizeof *t->shares) : NULL;
  t->counts = counts ? cq_alloc_array_zeroed((size_t)n, sizeof *t->counts) : NULL;
  t->memory = cq_token_memory_new();
  if (!t->needed || !t->new_ids || !t->memory || (counts && (!t->shares || !t->counts)))
    return cq_fail_memory(error, "vocabulary");
  cq_status status = counts ? read_texts(t, READ_SHARES, error) : CQ_OK;
  if (!status) status = t->o->vocab_size ? mark_valuable(t, (size_t)n, error) : read_texts(t, READ_PIECES, error);
  bool all = true;
  const int64_t n_fixed = fixed_pieces(t->encoder), n_first = t->o->keep > n_fixed ? t->o->keep : n_fixed;
  for (int64_t id = 0; id < n && id < n_first; id++) t->needed[id] = true;
  for (int64_t id = 0; id < n; id++) all = all && t->needed[id];
  if (status || all) return status; /* the tokenizer's files stay as they are */
  status = cq_tokenizer_trim(&t->trimmed, t->new_ids, t->old, t->needed, error);
  if (!status && counts) renumber_shares(t, n);
  return status || t->o->vocab_size ? status : read_texts(t, READ_SPLITS, error);
}

static cq_status trim_encoder(trimming *t, const char *directory, const char *model, cq_trim_result *result,
                              cq_context *ctx, cq_error *error) {
  cq_encoder *e = t->encoder;
  cq_status status = check_model(e, model, error);
  if (status) return status;
  cq_module *m = e->modules[0];
  const cq_param *table = cq_encoder_word_table(NULL, e);
  const cq_dtype type = stored_type(e, table);
  const bool lowercase = m->lowercase;
  cq_directory_writer w = {0};
  cq_trim_result r = {.rows_before = table->rows, .bytes_before = stored_bytes(e, type)};
  if (t->o->fold_case) status = fold_vocabulary(t, error);
  t->old = m->tokenizer;
  if (!status) status = trim_vocabulary(t, error);
  if (!status && t->trimmed) status = trim_rows(t, table, error);
  if (!status && t->o->dimensions) status = cut_dimensions(t, model, ctx, error);
  if (!status && t->o->n_layers) status = cq_encoder_keep_layers(e, t->o->layers, t->o->n_layers, error);
  if (!status && t->o->embedding_dim) status = cq_encoder_factorize(e, t->o->embedding_dim, t->shares, ctx, error);
  m->lowercase = lowercase; /* which a new vocabulary would do without */
  r.n_sentences = t->n_sentences, r.rows_after = table->rows, r.bytes_after = stored_bytes(e, type);
  if (!status) status = cq_directory_writer_open(&w, directory, t->o->replace, error);
  if (!status) status = cq_encoder_write(e, type, w.temporary, NULL, error);
  if (!status) status = cq_languages_write(e, type, w.temporary, error); /* whose vocabularies are their own */
  if (!status) status = cq_directory_writer_commit(&w, error);
  cq_directory_writer_abort(&w);
  if (!status && result) *result = r;
  return status;
}

cq_status cq_trim(const char *directory, const char *model, cq_trim_result *result, const cq_trim_options *options,
                  cq_context *ctx, cq_error *error) {
  cq_trim_options o;
  cq_encoder_options opening = cq_encoder_default_options();
  trimming t = {.o = &o, .text = cq_student_default_options()};
  cq_status status = cq_options_take(&o, &cq_group_trim, options, error);
  if (status) return status;
  if (!o.replace && cq_file_exists(directory))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, directory, "already exists (--replace overwrites it)");
  cq_training_data *files = cq_alloc_array_zeroed(o.n_text_files, sizeof *files);
  if (!files) return cq_fail_memory(error, "text");
  for (size_t i = 0; i < o.n_text_files; i++) files[i].path = o.text_files[i], files[i].weight = 1;
  t.text.text = files, t.text.n_text = o.n_text_files;
  opening.precision = CQ_PRECISION_F32;
  status = cq_encoder_open(&t.encoder, model, &opening, error);
  if (!status) status = trim_encoder(&t, directory, model, result, ctx, error);
  cq_tokenizer_free(t.trimmed);
  cq_encoder_free(t.encoder);
  cq_token_memory_free(t.memory);
  cq_builder_free(&t.prompted);
  cq_free(files);
  cq_arena_free(&t.arena);
  cq_free(t.sample);
  cq_free(t.needed), cq_free(t.new_ids), cq_free(t.shares), cq_free(t.counts);
  cq_free(t.ids.ids), cq_free(t.again.ids);
  return status;
}
