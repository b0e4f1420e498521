/* Rows of a static student: the teacher's vectors of pieces, centered, without the first principal components,
 * weighted by frequency. See static_rows.h. */
#include "recipe/student/static_rows.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "recipe/student/student_text.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* --- what the teacher says of pieces --- */

/* vectors [vocab_size, dim]: the texts of ordinary pieces, encoded; zeros for other pieces. */
static cq_status encode_pieces(float *vectors, const cq_tokenizer *t, const cq_encoder *teacher,
                               const cq_student_options *o, cq_context *ctx, cq_error *error) {
  enum { CHUNK = 1024 };
  const int64_t n = cq_tokenizer_describe(t)->vocab_size;
  const size_t dim = (size_t)cq_encoder_dim(teacher);
  cq_slice texts[CHUNK];
  cq_status status = CQ_OK;
  for (int64_t first = 0; !status && first < n; first += CHUNK) {
    const size_t count = (size_t)(n - first < CHUNK ? n - first : CHUNK);
    bool ordinary[CHUNK];
    for (size_t i = 0; i < count; i++) {
      cq_piece_kind kind = CQ_PIECE_OTHER;
      texts[i] = (cq_slice){"", 0};
      (void)cq_tokenizer_piece(&texts[i], &kind, t, (int32_t)(first + (int64_t)i));
      ordinary[i] = (kind == CQ_PIECE_START || kind == CQ_PIECE_INSIDE) && texts[i].n > 0;
      if (!ordinary[i]) texts[i] = (cq_slice){"", 0};
    }
    float *rows = vectors + (size_t)first * dim;
    status = cq_encoder_encode(rows, NULL, teacher, texts, count, NULL, ctx, error);
    for (size_t i = 0; !status && i < count; i++)
      if (!ordinary[i]) memset(rows + i * dim, 0, dim * sizeof *rows);
    if (!status && !cq_student_tell(o, "pieces", (uint64_t)first + count, (uint64_t)n))
      status = cq_fail(error, CQ_ERR_STOPPED, "stopped while encoding pieces");
  }
  return status;
}

/* --- how frequent they are --- */

typedef struct counting {
  const cq_tokenizer *tokenizer;
  const cq_student_options *o;
  uint64_t **counts; /* [threads] of the vocabulary's pieces */
  atomic_size_t n_done;
  atomic_bool stopped;
} counting;

/* Counts the pieces of a file, and each as often as the file counts. */
static cq_status count_file(void *context, size_t item, int worker, cq_error *error) {
  counting *c = context;
  const cq_training_data *file = &c->o->text[item];
  cq_student_options o = *c->o;
  cq_training_data once = {.path = file->path, .weight = file->weight < 0 ? -1 : 1};
  o.text = &once, o.n_text = 1;
  cq_student_text *text = cq_alloc_zeroed(sizeof *text);
  cq_token_memory *memory = cq_token_memory_new();
  cq_ids ids = {0};
  cq_slice sentence;
  cq_status status = text && memory ? CQ_OK : cq_fail_memory(error, "counts");
  if (text) text->options = &o;
  while (!status && !atomic_load(&c->stopped) && cq_student_text_next(text, &sentence)) {
    ids.n = 0;
    status = cq_tokenizer_encode(&ids, c->tokenizer, memory, sentence, false, 0, NULL, error);
    for (size_t i = 0; i < ids.n; i++) c->counts[worker][ids.ids[i]] += (uint64_t)cq_text_times(file);
  }
  if (text) status = cq_student_text_close(text, status, error);
  cq_free(text);
  cq_token_memory_free(memory);
  cq_free(ids.ids);
  const size_t done = atomic_fetch_add(&c->n_done, 1) + 1;
  if (worker == 0 && !cq_student_tell(c->o, "counts", done, c->o->n_text)) atomic_store(&c->stopped, true);
  return status;
}

static cq_status count_pieces(uint64_t *counts, const cq_tokenizer *tokenizer, const cq_student_options *o,
                              cq_context *ctx, cq_error *error) {
  const size_t n_threads = (size_t)cq_context_n_threads(ctx), n = (size_t)cq_tokenizer_describe(tokenizer)->vocab_size;
  counting c = {.tokenizer = tokenizer, .o = o, .counts = cq_alloc_array_zeroed(n_threads, sizeof *c.counts)};
  bool ok = c.counts;
  for (size_t i = 0; ok && i < n_threads; i++) ok = (c.counts[i] = cq_alloc_array_zeroed(n, sizeof **c.counts)) != NULL;
  cq_status status = ok ? CQ_OK : cq_fail_memory(error, "counts");
  if (!status) status = cq_context_try(ctx, o->n_text, count_file, &c, error);
  if (!status && atomic_load(&c.stopped)) status = cq_fail(error, CQ_ERR_STOPPED, "stopped while counting pieces");
  for (size_t i = 0; c.counts && i < n_threads; i++) {
    for (size_t id = 0; !status && id < n; id++) counts[id] += c.counts[i][id];
    cq_free(c.counts[i]);
  }
  cq_free(c.counts);
  return status;
}

/* --- their shape --- */

typedef struct shape {
  float *rows; /* [n, dim] */
  size_t n, dim;
  uint64_t *counts;           /* [n] in the text */
  double *weights;            /* [n] a / (a + p) */
  double *mean;               /* [dim] */
  double *covariance;         /* [dim, dim], symmetric */
  double *direction, *turned; /* [dim] */
} shape;

static cq_status shape_make(shape *s, cq_error *error) {
  s->counts = cq_alloc_array_zeroed(s->n, sizeof *s->counts);
  s->weights = cq_alloc_array(s->n, sizeof *s->weights);
  s->mean = cq_alloc_array_zeroed(s->dim, sizeof *s->mean);
  s->covariance = cq_alloc_array_zeroed(s->dim * s->dim, sizeof *s->covariance);
  s->direction = cq_alloc_array(s->dim, sizeof *s->direction);
  s->turned = cq_alloc_array(s->dim, sizeof *s->turned);
  const bool ok = s->counts && s->weights && s->mean && s->covariance && s->direction && s->turned;
  return ok ? CQ_OK : cq_fail_memory(error, "a static student's rows");
}

static void shape_free(shape *s) {
  cq_free(s->counts), cq_free(s->weights), cq_free(s->mean);
  cq_free(s->covariance), cq_free(s->direction), cq_free(s->turned);
}

static void weigh_pieces(shape *s, double a) {
  double total = 0;
  for (size_t i = 0; i < s->n; i++) total += (double)s->counts[i];
  for (size_t i = 0; i < s->n; i++) s->weights[i] = a > 0 && total > 0 ? a / (a + (double)s->counts[i] / total) : 1;
}

static bool is_zero(const float *row, size_t dim) {
  for (size_t j = 0; j < dim; j++)
    if (row[j] != 0) return false;
  return true;
}

/* Subtracts the sentences' mean: the mean of the weighted rows, each counted as often as it occurs. */
static void subtract_mean(shape *s) {
  double sum = 0;
  for (size_t i = 0; i < s->n; i++) {
    const double weight = (double)s->counts[i] * s->weights[i];
    for (size_t j = 0; j < s->dim; j++) s->mean[j] += weight * (double)s->rows[i * s->dim + j];
    sum += weight;
  }
  for (size_t i = 0; i < s->n && sum > 0; i++) {
    float *row = s->rows + i * s->dim;
    if (is_zero(row, s->dim)) continue; /* special tokens, which no sentence has */
    for (size_t j = 0; j < s->dim; j++) row[j] -= (float)(s->mean[j] / sum);
  }
}

static void add_covariances(shape *s) {
  for (size_t i = 0; i < s->n; i++) {
    const float *row = s->rows + i * s->dim;
    const double weight = (double)s->counts[i] * s->weights[i] * s->weights[i];
    for (size_t j = 0; weight > 0 && j < s->dim; j++) {
      const double scaled = weight * (double)row[j];
      for (size_t k = 0; k <= j; k++) s->covariance[j * s->dim + k] += scaled * (double)row[k];
    }
  }
  for (size_t j = 0; j < s->dim; j++)
    for (size_t k = 0; k < j; k++) s->covariance[k * s->dim + j] = s->covariance[j * s->dim + k];
}

/* The direction of largest variance, by power iteration; false: no variance is left. */
static bool find_component(shape *s, cq_random *random) {
  enum { N_TURNS = 60 };
  double length = 0;
  for (size_t j = 0; j < s->dim; j++) s->direction[j] = cq_random_normal(random);
  for (int turn = 0; turn < N_TURNS; turn++) {
    length = 0;
    for (size_t j = 0; j < s->dim; j++) {
      double sum = 0;
      for (size_t k = 0; k < s->dim; k++) sum += s->covariance[j * s->dim + k] * s->direction[k];
      s->turned[j] = sum;
      length += sum * sum;
    }
    length = sqrt(length);
    if (!(length > 0)) return false;
    for (size_t j = 0; j < s->dim; j++) s->direction[j] = s->turned[j] / length;
  }
  return true;
}

/* Updates the covariance for the removal of that direction from all rows, however accurate it is. */
static void deflate_covariance(shape *s) {
  const size_t dim = s->dim;
  const double *d = s->direction;
  double *v = s->turned, variance = 0;
  for (size_t j = 0; j < dim; j++) {
    v[j] = 0;
    for (size_t k = 0; k < dim; k++) v[j] += s->covariance[j * dim + k] * d[k];
    variance += v[j] * d[j];
  }
  for (size_t j = 0; j < dim; j++)
    for (size_t k = 0; k < dim; k++) s->covariance[j * dim + k] += variance * d[j] * d[k] - d[j] * v[k] - v[j] * d[k];
}

/* The directions of largest variance distinguish sentences the least: they show the kind of text and its length. */
static void subtract_components(shape *s, int n, cq_random *random) {
  const size_t dim = s->dim;
  add_covariances(s);
  for (int c = 0; c < n; c++) {
    if (!find_component(s, random)) return;
    deflate_covariance(s);
    for (size_t i = 0; i < s->n; i++) {
      float *row = s->rows + i * dim;
      double along = 0;
      for (size_t j = 0; j < dim; j++) along += (double)row[j] * s->direction[j];
      for (size_t j = 0; j < dim; j++) row[j] -= (float)(along * s->direction[j]);
    }
  }
}

static void scale_rows(shape *s) {
  double squares = 0, n_rows = 0;
  for (size_t i = 0; i < s->n; i++) {
    float *row = s->rows + i * s->dim;
    n_rows += is_zero(row, s->dim) ? 0 : 1;
    for (size_t j = 0; j < s->dim; j++) {
      row[j] *= (float)s->weights[i];
      squares += (double)row[j] * (double)row[j];
    }
  }
  const float scale = squares > 0 ? (float)sqrt(n_rows * (double)s->dim / squares) : 1;
  for (size_t i = 0; i < s->n * s->dim; i++) s->rows[i] *= scale;
}

static cq_status shape_rows(float *rows, const cq_tokenizer *tokenizer, size_t dim, const cq_student_options *o,
                            cq_random *random, cq_context *ctx, cq_error *error) {
  shape s = {.rows = rows, .n = (size_t)cq_tokenizer_describe(tokenizer)->vocab_size, .dim = dim};
  const int most = (int)(dim / 8);
  cq_status status = shape_make(&s, error);
  if (!status) status = count_pieces(s.counts, tokenizer, o, ctx, error);
  if (!status) {
    weigh_pieces(&s, o->smoothing);
    subtract_mean(&s);
    subtract_components(&s, o->n_components < most ? o->n_components : most, random);
    scale_rows(&s);
  }
  shape_free(&s);
  return status;
}

cq_status cq_static_rows(float *rows, const cq_tokenizer *tokenizer, const cq_encoder *teacher,
                         const cq_student_options *options, cq_random *random, cq_carry_stats *stats, cq_context *ctx,
                         cq_error *error) {
  const cq_tokenizer *old_tokenizer = cq_encoder_text_module(teacher)->tokenizer;
  const size_t dim = (size_t)cq_encoder_dim(teacher);
  if (!old_tokenizer)
    return cq_fail(error, CQ_ERR_UNSUPPORTED, "%s: has no vocabulary whose pieces could be encoded", options->from);
  const int64_t n_old = cq_tokenizer_describe(old_tokenizer)->vocab_size;
  float *old = cq_alloc_array((size_t)n_old, dim * sizeof *old);
  cq_status status = old ? CQ_OK : cq_fail_memory(error, "the teacher's vectors");
  if (!status) status = encode_pieces(old, old_tokenizer, teacher, options, ctx, error);
  if (!status) status = encode_pieces(rows, tokenizer, teacher, options, ctx, error);
  if (!status)
    status =
        cq_carry_over_meanings(rows, tokenizer, old, n_old, (int64_t)dim, old_tokenizer, options, stats, ctx, error);
  if (!status) status = shape_rows(rows, tokenizer, dim, options, random, ctx, error);
  cq_free(old);
  return status;
}
