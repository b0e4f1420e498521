/* Quantizes a model: saves it under a temporary name, opens it again as a user would, compares it with the original,
 * and only then moves it into place. */
#include "calque/quantize.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "calque/embedding.h"
#include "calque/eval.h"
#include "calque/lines.h"
#include "model/encoder.h"
#include "model/model_language.h"

#include <math.h>
#include <string.h>

static const char *const precisions[] = {"bf16", "f16", "int8", "int4", NULL};

#define O cq_quantize_options
static const cq_option option_rows[] = {
    {CQ_CHOICE(O, "precision", precision, CHANGES, CQ_STORED_INT8, precisions, "TYPE",
               "store weights in this type: bf16, f16 (sentence-transformers reads both), int8, or int8 with the "
               "embeddings of the vocabulary in int4")},
    {CQ_TEXTS(O, "text", text_files, n_text_files, CHANGES, "FILE",
              "sentences, one per line (the first column): report the cosines between old and new vectors")},
    {CQ_TEXTS(O, "translation", translation_files, n_translation_files, CHANGES, "FILE",
              "pairs of sentences: report translation accuracy before and after")},
    {CQ_TEXTS(O, "sts", sts_files, n_sts_files, CHANGES, "FILE",
              "pairs of sentences with gold scores: report Spearman's rank correlation before and after")},
    {CQ_NUMBER(O, "max-loss", max_loss, CHANGES, INFINITY, 0, INFINITY, "POINTS",
               "refuse if a measure falls by more than this, in points of 100"),
     .otherwise = "any"},
    CQ_REPLACE_ROW(O),
};
#undef O

static cq_status check_quantize(const void *options, cq_error *error) {
  const cq_quantize_options *o = options;
  if (isinf(o->max_loss) || o->n_text_files + o->n_translation_files + o->n_sts_files > 0) return CQ_OK;
  return cq_fail(error, CQ_ERR_ARGUMENT, "max-loss needs something to measure: text, translation or sts");
}

const cq_option_group cq_group_quantize = {
    .name = "quantize", CQ_ROWS(cq_quantize_options, option_rows), .check = check_quantize};

/* --- measuring --- */

typedef struct measuring {
  const cq_quantize_options *o;
  cq_context *ctx;
  const cq_encoder *models[2]; /* before, after */
  double worst;                /* points lost */
} measuring;

static void tell_measure(const measuring *m, const char *measure, const char *file, double before, double after) {
  if (m->o->measured) m->o->measured(m->o->measured_context, measure, file, before, after, before - after);
}

static void count_measure(measuring *m, const char *measure, const char *file, double before, double after) {
  tell_measure(m, measure, file, before, after);
  if (!(before - after <= m->worst)) m->worst = before - after; /* NaN counts */
}

enum { CHUNK = 1024 };

/* Copies the first columns of the file's next lines; *n is 0 at the end. */
static cq_status read_sentences(cq_builder *text, cq_slice sentences[CHUNK], size_t *n, cq_lines *lines,
                                cq_error *error) {
  size_t starts[CHUNK + 1] = {0};
  cq_builder_clear(text);
  for (*n = 0; *n < CHUNK; ++*n) {
    cq_slice line, first;
    const cq_status status = cq_lines_next(&line, lines, error);
    if (status) return status;
    if (!line.data) break;
    cq_tsv_split(&first, 1, line);
    cq_builder_bytes(text, first.data, first.n);
    if (text->failed) return cq_fail_memory(error, "sentences");
    starts[*n + 1] = text->n;
  }
  for (size_t i = 0; i < *n; i++) sentences[i] = (cq_slice){text->data + starts[i], starts[i + 1] - starts[i]};
  return CQ_OK;
}

typedef struct cosines {
  double sum, min;
  size_t n;
} cosines;

static cq_status add_cosines(cosines *c, const measuring *m, float *vectors[2], const cq_slice *sentences, size_t n,
                             cq_error *error) {
  const size_t dim = (size_t)cq_encoder_dim(m->models[0]);
  for (int i = 0; i < 2; i++) {
    const cq_status status = cq_encoder_encode(vectors[i], NULL, m->models[i], sentences, n, NULL, m->ctx, error);
    if (status) return status;
  }
  for (size_t i = 0; i < n; i++) {
    const float *a = vectors[0] + i * dim, *b = vectors[1] + i * dim;
    const double cosine = memcmp(a, b, dim * sizeof *a) ? cq_cosine(a, b, dim) : 1; /* two of zeros agree */
    c->sum += cosine, c->n++;
    if (!(cosine >= c->min)) c->min = cosine;
  }
  return CQ_OK;
}

static cq_status measure_text(measuring *m, const char *path, cq_error *error) {
  const size_t dim = (size_t)cq_encoder_dim(m->models[0]);
  cq_lines *lines = NULL;
  cq_builder text = {0};
  cq_slice sentences[CHUNK];
  cosines c = {.min = 1};
  float *vectors[2] = {cq_alloc_array(CHUNK * dim, sizeof(float)), cq_alloc_array(CHUNK * dim, sizeof(float))};
  cq_status status = vectors[0] && vectors[1] ? cq_lines_open(&lines, path, error) : cq_fail_memory(error, "vectors");
  for (size_t n = CHUNK; !status && n == CHUNK;) {
    status = read_sentences(&text, sentences, &n, lines, error);
    if (!status && n) status = add_cosines(&c, m, vectors, sentences, n, error);
  }
  if (!status && c.n == 0) status = cq_fail_file(error, CQ_ERR_ARGUMENT, path, "no sentences");
  if (!status) {
    count_measure(m, "cosine", path, 100, 100 * c.sum / (double)c.n);
    tell_measure(m, "cosine, min", path, 100, 100 * c.min);
  }
  cq_lines_close(lines);
  cq_builder_free(&text);
  cq_free(vectors[0]);
  cq_free(vectors[1]);
  return status;
}

static cq_status measure_translation(measuring *m, const char *path, cq_error *error) {
  cq_translation_result r[2];
  cq_status status = cq_eval_translation(&r[0], m->models[0], path, NULL, m->ctx, error);
  if (!status) status = cq_eval_translation(&r[1], m->models[1], path, NULL, m->ctx, error);
  if (!status) count_measure(m, "translation", path, 100 * r[0].mean, 100 * r[1].mean);
  return status;
}

static cq_status measure_sts(measuring *m, const char *path, cq_error *error) {
  cq_sts_result r[2];
  cq_status status = cq_eval_sts(&r[0], m->models[0], path, NULL, m->ctx, error);
  if (!status) status = cq_eval_sts(&r[1], m->models[1], path, NULL, m->ctx, error);
  if (!status) count_measure(m, "STS", path, 100 * r[0].spearman, 100 * r[1].spearman);
  return status;
}

static cq_status measure_files(measuring *m, cq_error *error) {
  const cq_quantize_options *o = m->o;
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < o->n_text_files; i++) status = measure_text(m, o->text_files[i], error);
  for (size_t i = 0; !status && i < o->n_translation_files; i++)
    status = measure_translation(m, o->translation_files[i], error);
  for (size_t i = 0; !status && i < o->n_sts_files; i++) status = measure_sts(m, o->sts_files[i], error);
  return status;
}

/* --- the whole --- */

static cq_status measure_saved(double *worst, const char *saved, const cq_encoder *original,
                               const cq_quantize_options *o, cq_context *ctx, cq_error *error) {
  cq_encoder_options opening = cq_encoder_default_options();
  cq_encoder *encoder = NULL;
  measuring m = {.o = o, .ctx = ctx, .models = {original}, .worst = -INFINITY};
  opening.precision = o->precision >= CQ_STORED_INT8 ? CQ_PRECISION_INT8 : CQ_PRECISION_F32;
  cq_status status = cq_encoder_open(&encoder, saved, &opening, error);
  m.models[1] = encoder;
  if (!status) status = measure_files(&m, error);
  cq_encoder_free(encoder);
  *worst = m.worst > -INFINITY || isnan(m.worst) ? m.worst : 0;
  if (status || *worst <= o->max_loss) return status;
  return cq_fail(error, CQ_ERR_LIMIT, "%.3f points are lost, more than %g: nothing is written", *worst, o->max_loss);
}

cq_status cq_quantize(const char *directory, const char *model, double *worst, const cq_quantize_options *options,
                      cq_context *ctx, cq_error *error) {
  static const cq_dtype types[] = {CQ_BF16, CQ_F16, CQ_I8, CQ_I4};
  cq_quantize_options o;
  cq_encoder_options opening = cq_encoder_default_options();
  cq_encoder *encoder = NULL;
  cq_directory_writer w = {0};
  double lost = 0;
  cq_status status = cq_options_take(&o, &cq_group_quantize, options, error);
  if (status) return status;
  if (!o.replace && cq_file_exists(directory))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, directory, "already exists (--replace overwrites it)");
  opening.precision = CQ_PRECISION_F32;
  status = cq_encoder_open(&encoder, model, &opening, error);
  if (!status) status = cq_directory_writer_open(&w, directory, o.replace, error);
  if (!status) status = cq_encoder_write(encoder, types[o.precision], w.temporary, NULL, error);
  if (!status) status = cq_languages_write(encoder, types[o.precision], w.temporary, error);
  if (!status) status = measure_saved(&lost, w.temporary, encoder, &o, ctx, error);
  if (!status) status = cq_directory_writer_commit(&w, error);
  cq_directory_writer_abort(&w);
  cq_encoder_free(encoder);
  if (worst) *worst = lost;
  return status;
}
