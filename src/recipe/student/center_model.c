/* Takes out of a model's vectors what they say about the language. See calque/center.h.
 *
 *   pairs ──▶ unit vectors x of sentences, y of their translations
 *   mean of y - x in each language ──▶ their principal axes A ──▶ P = I - AᵀA
 *   covariance of P (y - x) ──▶ axes q with variances s ──▶ W = Σ √(k / (k + s)) q qᵀ P
 *   ⇒ x ↦ W (x - share · mean of x), by a Dense module, and Normalize */
#include "calque/center.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/random.h"
#include "calque/lines.h"
#include "model/encoder.h"
#include "model/model_language.h"
#include "tensor/pca.h"

#include <math.h>
#include <string.h>

#define O cq_center_options
static const cq_option option_rows[] = {
    {CQ_TEXTS(O, "pairs", pair_files, n_pair_files, CHANGES, "FILE",
              "a language's pairs, a sentence and its translation on each line (TSV), which may be compressed"),
     .flags = CQ_OPTION_REQUIRED},
    {CQ_INT(O, "max-pairs", max_pairs, CHANGES, 250, 10, 1 << 20, "N",
            "use N pairs of each file, drawn from all of it")},
    {CQ_INT(O, "axes", axes, CHANGES, 20, 1, 1 << 16, "N",
            "take out the N axes along which the languages differ most; at most one for each file")},
    {CQ_NUMBER(O, "mean", mean, CHANGES, 0.75, 0, 1, "SHARE",
               "also take out this share of the mean vector, so that unrelated sentences are nearer to 0")},
    CQ_SKIP_BAD_ROW(O, CHANGES),
    CQ_REPLACE_ROW(O),
};
#undef O

const cq_option_group cq_group_center = {.name = "center", CQ_ROWS(cq_center_options, option_rows)};

enum { HELD_OUT = 10, MIN_PAIRS = 10 };

/* Variances within a meaning count from here on, in units of the mean variance of a dimension. */
static const double FLOOR = 2;

typedef struct language {
  size_t first, n; /* its pairs */
} language;

typedef struct centering {
  const cq_center_options *o;
  cq_encoder *encoder;
  size_t dim, n;
  cq_slice *texts[2]; /* [n] sentences, translations; in the arena */
  float *vectors[2];  /* [n, dim] of length 1 */
  size_t capacities[2];
  language *languages;   /* [n_pair_files] */
  double *mean;          /* [dim] of the sentences */
  double *offsets;       /* [n_axes, dim] axes of the languages' offsets */
  double *matrix, *axes; /* [dim, dim] */
  double *map;           /* [dim, dim] W */
  size_t n_axes;
  uint64_t n_bad;
  cq_arena arena;
} centering;

/* --- pairs --- */

static cq_status keep_pair(centering *c, language *l, const cq_slice columns[2], uint64_t seen, cq_random *random,
                           cq_error *error) {
  size_t at = l->first + l->n;
  if (l->n == (size_t)c->o->max_pairs) { /* every pair of the file has the same chance to stay */
    const uint64_t drawn = cq_random_below(random, seen + 1);
    if (drawn >= l->n) return CQ_OK;
    at = l->first + (size_t)drawn;
  } else {
    for (int side = 0; side < 2; side++)
      if (!cq_reserve((void **)&c->texts[side], &c->capacities[side], at + 1, sizeof(cq_slice)))
        return cq_fail_memory(error, "pairs");
    c->n = at + 1, l->n++;
  }
  for (int side = 0; side < 2; side++) {
    const char *copy = cq_arena_strndup(&c->arena, columns[side].data, columns[side].n);
    if (!copy) return cq_fail_memory(error, "pairs");
    c->texts[side][at] = (cq_slice){copy, columns[side].n};
  }
  return CQ_OK;
}

static cq_status read_pairs(centering *c, language *l, const char *path, cq_error *error) {
  cq_lines *lines;
  cq_slice line, columns[2];
  cq_random random = cq_random_seeded(1, 0);
  *l = (language){.first = c->n};
  cq_status status = cq_lines_open(&lines, path, error);
  for (uint64_t seen = 0; !status;) {
    status = cq_lines_next(&line, lines, error);
    if (!status && !line.data) break;
    if (!status && (cq_tsv_split(columns, 2, line) < 2 || columns[0].n == 0 || columns[1].n == 0))
      status = cq_fail_line(error, CQ_ERR_FORMAT, path, cq_lines_number(lines), "no sentence and translation");
    if (!status) {
      status = keep_pair(c, l, columns, seen++, &random, error);
    } else if (status == CQ_ERR_FORMAT && c->o->skip_bad && !cq_lines_broken(lines)) {
      status = CQ_OK;
      c->n_bad++;
    }
  }
  cq_lines_close(lines);
  if (!status && l->n < MIN_PAIRS)
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, path, "%zu pairs, expected at least %d", l->n, MIN_PAIRS);
  return status;
}

static cq_status encode_pairs(centering *c, cq_context *ctx, cq_error *error) {
  cq_encode_options o = cq_encode_default_options();
  o.normalize = true, o.truncate_dim = (int)c->dim; /* not the model's own prefix: the map is of all */
  for (int side = 0; side < 2; side++) {
    c->vectors[side] = cq_alloc_array(c->n, c->dim * sizeof(float));
    if (!c->vectors[side]) return cq_fail_memory(error, "vectors");
    const cq_status status =
        cq_encoder_encode(c->vectors[side], NULL, c->encoder, c->texts[side], c->n, &o, ctx, error);
    if (status) return status;
  }
  return CQ_OK;
}

/* --- the map --- */

/* matrix += scale · v vᵀ, its lower half. */
static void add_square(double *matrix, const double *v, size_t dim, double scale) {
  for (size_t i = 0; i < dim; i++)
    for (size_t k = 0; k <= i; k++) matrix[i * dim + k] += scale * v[i] * v[k];
}

static void mirror(double *matrix, size_t dim) {
  for (size_t i = 0; i < dim; i++)
    for (size_t k = 0; k < i; k++) matrix[k * dim + i] = matrix[i * dim + k];
}

static double dot(const double *a, const double *b, size_t dim) {
  double sum = 0;
  for (size_t d = 0; d < dim; d++) sum += a[d] * b[d];
  return sum;
}

/* Removes from v its part in the first n axes. */
static void project_out(double *v, const double *axes, size_t n, size_t dim) {
  for (size_t a = 0; a < n; a++) {
    const double part = dot(v, axes + a * dim, dim);
    for (size_t d = 0; d < dim; d++) v[d] -= part * axes[a * dim + d];
  }
}

static bool is_held_out(size_t i) {
  return i % HELD_OUT == HELD_OUT - 1;
}

static void pair_difference(double *out, const centering *c, size_t i) {
  const float *x = c->vectors[0] + i * c->dim, *y = c->vectors[1] + i * c->dim;
  for (size_t d = 0; d < c->dim; d++) out[d] = (double)y[d] - (double)x[d];
}

/* The mean, and the variance of a dimension around it. */
static double find_mean(centering *c) {
  size_t n = 0;
  double squares = 0;
  for (size_t i = 0; i < c->n; i++) {
    if (is_held_out(i)) continue;
    n++;
    for (size_t d = 0; d < c->dim; d++) {
      const double x = (double)c->vectors[0][i * c->dim + d];
      c->mean[d] += x, squares += x * x;
    }
  }
  for (size_t d = 0; d < c->dim; d++) c->mean[d] /= (double)n;
  return (squares / (double)n - dot(c->mean, c->mean, c->dim)) / (double)c->dim;
}

/* offsets: the axes of the languages' mean differences. row: [dim] */
static cq_status find_language_axes(centering *c, double *row, double *offset, cq_context *ctx, cq_error *error) {
  memset(c->matrix, 0, c->dim * c->dim * sizeof *c->matrix);
  for (size_t l = 0; l < c->o->n_pair_files; l++) {
    memset(offset, 0, c->dim * sizeof *offset);
    size_t n = 0;
    for (size_t i = c->languages[l].first; i < c->languages[l].first + c->languages[l].n; i++) {
      if (is_held_out(i)) continue;
      pair_difference(row, c, i);
      for (size_t d = 0; d < c->dim; d++) offset[d] += row[d];
      n++;
    }
    for (size_t d = 0; d < c->dim; d++) offset[d] /= (double)n;
    add_square(c->matrix, offset, c->dim, 1);
  }
  mirror(c->matrix, c->dim);
  return cq_symmetric_axes(c->offsets, c->matrix, c->dim, c->n_axes, ctx, error);
}

/* W, from the covariance of what else differs between translations. */
static cq_status find_map(centering *c, double *row, double variance, cq_context *ctx, cq_error *error) {
  const size_t dim = c->dim;
  const double floor = FLOOR * variance;
  size_t n = 0;
  memset(c->matrix, 0, dim * dim * sizeof *c->matrix);
  for (size_t i = 0; i < c->n; i++) {
    if (is_held_out(i)) continue;
    pair_difference(row, c, i);
    project_out(row, c->offsets, c->n_axes, dim);
    add_square(c->matrix, row, dim, 0.5);
    n++;
  }
  mirror(c->matrix, dim);
  for (size_t i = 0; i < dim * dim; i++) c->matrix[i] /= (double)n;
  const cq_status status = cq_symmetric_axes(c->axes, c->matrix, dim, dim, ctx, error);
  for (size_t a = 0; !status && a < dim; a++) {
    double *axis = c->axes + a * dim, s = 0;
    for (size_t d = 0; d < dim; d++) s += axis[d] * dot(c->matrix + d * dim, axis, dim);
    project_out(axis, c->offsets, c->n_axes, dim); /* the axes without variance contain the languages' */
    add_square(c->map, axis, dim, sqrt(floor / (floor + fmax(s, 0))));
  }
  mirror(c->map, dim);
  return status;
}

/* --- the result --- */

/* From the sums of unit vectors: the cosines of all pairs of n vectors add up to (|sum|² - n) / 2. */
static cq_center_cosines measure_cosines(const centering *c, double *sums) {
  cq_center_cosines r = {0};
  double *all = sums, *own = sums + c->dim, within = 0, n_within = 0, n_all = 0;
  memset(all, 0, c->dim * sizeof *all);
  for (size_t l = 0; l < c->o->n_pair_files; l++) {
    double n = 0;
    memset(own, 0, c->dim * sizeof *own);
    for (size_t i = c->languages[l].first; i < c->languages[l].first + c->languages[l].n; i++) {
      if (!is_held_out(i)) continue;
      n++;
      for (size_t d = 0; d < c->dim; d++) {
        const double x = (double)c->vectors[0][i * c->dim + d], y = (double)c->vectors[1][i * c->dim + d];
        r.same_meaning += x * y;
        own[d] += y;
      }
    }
    within += dot(own, own, c->dim) - n, n_within += n * (n - 1), n_all += n;
    for (size_t d = 0; d < c->dim; d++) all[d] += own[d];
  }
  r.same_meaning /= n_all;
  r.same_language = n_within > 0 ? within / n_within : NAN;
  const double n_across = n_all * (n_all - 1) - n_within;
  r.other_language = n_across > 0 ? (dot(all, all, c->dim) - n_all - within) / n_across : NAN;
  return r;
}

/* Applies the module to the held-out pairs. row: [dim] */
static void map_vectors(const centering *c, const float *weight, const float *bias, double *row) {
  for (int side = 0; side < 2; side++)
    for (size_t i = 0; i < c->n; i++) {
      if (!is_held_out(i)) continue;
      float *v = c->vectors[side] + i * c->dim;
      for (size_t d = 0; d < c->dim; d++) {
        row[d] = (double)bias[d];
        for (size_t k = 0; k < c->dim; k++) row[d] += (double)weight[d * c->dim + k] * (double)v[k];
      }
      const double length = sqrt(dot(row, row, c->dim));
      for (size_t d = 0; d < c->dim; d++) v[d] = length > 0 ? (float)(row[d] / length) : 0;
    }
}

/* The Dense module of W and -share · W mean, between two of length 1. */
static cq_status append_map(centering *c, cq_module **out, cq_error *error) {
  cq_encoder *e = c->encoder;
  cq_random random = cq_random_seeded(0, 0);
  const bool is_normalized = cq_encoder_is_normalized(e);
  cq_status status = cq_encoder_append_ending(e, 0, !is_normalized, NULL, error);
  if (!status) status = cq_encoder_append_ending(e, (int64_t)c->dim, true, &random, error);
  if (status) return status;
  *out = e->modules[e->n_modules - 2];
  float *weight = (*out)->params[0].value, *bias = (*out)->params[1].value;
  for (size_t i = 0; i < c->dim * c->dim; i++) weight[i] = (float)c->map[i];
  for (size_t d = 0; d < c->dim; d++) bias[d] = (float)(-c->o->mean * dot(c->map + d * c->dim, c->mean, c->dim));
  if (e->config) json_object_del(e->config, "good_match"); /* of other cosines */
  return CQ_OK;
}

static cq_status check_model(const cq_encoder *e, const char *model, cq_error *error) {
  for (size_t i = 0; i < e->params.n; i++)
    if (!e->params.items[i]->value && e->params.items[i]->narrow.scales)
      return cq_fail(error, CQ_ERR_UNSUPPORTED, "%s: is quantized: center the model that it was quantized from", model);
  if (e->n_modules + 3 > CQ_MAX_MODULES)
    return cq_fail(error, CQ_ERR_UNSUPPORTED, "%s: has %zu modules, at most %d fit", model, e->n_modules,
                   CQ_MAX_MODULES - 3);
  return CQ_OK;
}

static cq_status center_encoder(centering *c, const char *directory, cq_center_result *result, cq_context *ctx,
                                cq_error *error) {
  const size_t dim = c->dim, n_files = c->o->n_pair_files;
  cq_module *dense;
  cq_directory_writer w = {0};
  c->languages = cq_alloc_array(n_files, sizeof *c->languages);
  c->n_axes = cq_min(cq_min((size_t)c->o->axes, n_files), dim);
  c->mean = cq_alloc_array_zeroed(3 + c->n_axes, dim * sizeof *c->mean);
  c->matrix = cq_alloc_array_zeroed(3 * dim, dim * sizeof *c->matrix);
  if (!c->languages || !c->mean || !c->matrix) return cq_fail_memory(error, "a map");
  double *row = c->mean + dim;
  c->offsets = c->mean + 3 * dim, c->axes = c->matrix + dim * dim, c->map = c->axes + dim * dim;
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < n_files; i++) status = read_pairs(c, &c->languages[i], c->o->pair_files[i], error);
  if (!status) status = encode_pairs(c, ctx, error);
  if (status) return status;
  cq_center_result r = {.n_pairs = c->n, .n_bad = c->n_bad, .before = measure_cosines(c, row)};
  const double variance = find_mean(c);
  status = find_language_axes(c, row, row + dim, ctx, error);
  if (!status) status = find_map(c, row, variance, ctx, error);
  if (!status) status = append_map(c, &dense, error);
  if (status) return status;
  map_vectors(c, dense->params[0].value, dense->params[1].value, row);
  r.after = measure_cosines(c, row);
  if (!status) status = cq_directory_writer_open(&w, directory, c->o->replace, error);
  if (!status) status = cq_encoder_write(c->encoder, CQ_F32, w.temporary, NULL, error);
  if (!status) status = cq_languages_write(c->encoder, CQ_F32, w.temporary, error);
  if (!status) status = cq_directory_writer_commit(&w, error);
  cq_directory_writer_abort(&w);
  if (!status && result) *result = r;
  return status;
}

cq_status cq_center(const char *directory, const char *model, cq_center_result *result,
                    const cq_center_options *options, cq_context *ctx, cq_error *error) {
  cq_center_options o;
  cq_encoder_options opening = cq_encoder_default_options();
  centering c = {.o = &o};
  cq_status status = cq_options_take(&o, &cq_group_center, options, error);
  if (status) return status;
  if (!o.replace && cq_file_exists(directory))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, directory, "already exists (--replace overwrites it)");
  opening.precision = CQ_PRECISION_F32;
  status = cq_encoder_open(&c.encoder, model, &opening, error);
  if (!status) status = check_model(c.encoder, model, error);
  if (!status) {
    c.dim = (size_t)cq_encoder_full_dim(c.encoder);
    status = center_encoder(&c, directory, result, ctx, error);
  }
  cq_encoder_free(c.encoder);
  for (int side = 0; side < 2; side++) cq_free(c.texts[side]), cq_free(c.vectors[side]);
  cq_free(c.languages), cq_free(c.mean), cq_free(c.matrix);
  cq_arena_free(&c.arena);
  return status;
}
