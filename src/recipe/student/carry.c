/* Derives the rows of a new vocabulary from an old one: shared pieces first, then means over old tokens or word
 * alignments. See carry.h for the rules. */
#include "recipe/student/carry.h"

#include "base/error.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "recipe/student/meanings.h"
#include "text/unicode.h"

#include <math.h>
#include <string.h>

typedef struct carry {
  float *rows;
  unsigned char *origins; /* [n_new] cq_row_origin; NULL: nobody asks */
  const float *old;
  int64_t n_new, n_old, dim;
  const cq_tokenizer *new_tokenizer, *old_tokenizer;
  const cq_tokenizer_info *new_info, *old_info;
  cq_map pieces;           /* kind and text of an old piece -> its id */
  float *mean, *deviation; /* [dim] of the old rows of ordinary pieces */
  cq_random *random;
  cq_carry_stats *stats;
  cq_builder text;
  cq_ids ids;
} carry;

/* --- the old vocabulary --- */

static bool is_ordinary(cq_piece_kind kind) {
  return kind == CQ_PIECE_START || kind == CQ_PIECE_INSIDE;
}

/* The text as written in the old vocabulary, after its kind, in c->text. */
static cq_slice old_piece_key(carry *c, cq_slice text, cq_piece_kind kind, bool lower) {
  cq_builder_clear(&c->text);
  cq_builder_char(&c->text, kind == CQ_PIECE_START ? '_' : '#');
  if (lower)
    cq_text_lower(&c->text, text);
  else
    cq_builder_bytes(&c->text, text.data, text.n);
  return (cq_slice){c->text.data, c->text.n};
}

static cq_status read_old(carry *c, cq_error *error) {
  int64_t n = 0;
  const size_t n_bytes = (size_t)c->dim * sizeof(double);
  double *sum = cq_alloc_zeroed(n_bytes), *squares = cq_alloc_zeroed(n_bytes);
  c->mean = cq_alloc_array((size_t)c->dim, sizeof *c->mean);
  c->deviation = cq_alloc_array((size_t)c->dim, sizeof *c->deviation);
  bool ok = sum && squares && c->mean && c->deviation;
  for (int64_t id = 0; ok && id < c->old_info->vocab_size && id < c->n_old; id++) {
    cq_slice text;
    cq_piece_kind kind;
    if (!cq_tokenizer_piece(&text, &kind, c->old_tokenizer, (int32_t)id) || !is_ordinary(kind)) continue;
    cq_slice key = old_piece_key(c, text, kind, false);
    ok = !c->text.failed && (cq_map_get(&c->pieces, key) != CQ_MAP_NONE || cq_map_put(&c->pieces, key, (uint64_t)id));
    const float *row = c->old + id * c->dim;
    for (int64_t j = 0; j < c->dim; j++) {
      sum[j] += (double)row[j];
      squares[j] += (double)row[j] * (double)row[j];
    }
    n++;
  }
  for (int64_t j = 0; ok && j < c->dim; j++) {
    double mean = n > 0 ? sum[j] / (double)n : 0, variance = n > 0 ? squares[j] / (double)n - mean * mean : 0;
    c->mean[j] = (float)mean;
    c->deviation[j] = (float)sqrt(fmax(variance, 0));
  }
  cq_free(sum);
  cq_free(squares);
  return ok ? CQ_OK : cq_fail_memory(error, "the old vocabulary");
}

/* WordPiece splits text at punctuation and ideographs, so these always begin a "word". */
static bool stands_alone(cq_slice text) {
  uint32_t code;
  return text.n > 0 && cq_utf8_decode(&code, text.data, text.n) == text.n &&
         (cq_char_is_bert_punctuation(code) || cq_char_is_cjk(code));
}

/* The old id of the same piece; -1: none. */
static int64_t shared_id(carry *c, cq_slice text, cq_piece_kind kind) {
  const bool word_piece = strcmp(c->old_info->type, "WordPiece") == 0;
  if (!is_ordinary(kind) || text.n == 0) return -1;
  cq_piece_kind order[2] = {kind, kind == CQ_PIECE_START ? CQ_PIECE_INSIDE : CQ_PIECE_START};
  int n = word_piece ? 1 : 2;
  if (word_piece && stands_alone(text)) order[0] = CQ_PIECE_START;
  for (int i = 0; i < n; i++) {
    uint64_t id = cq_map_get(&c->pieces, old_piece_key(c, text, order[i], c->old_info->lowercase));
    if (id != CQ_MAP_NONE) return (int64_t)id;
  }
  return -1;
}

/* --- one row --- */

static void draw_row(carry *c, float *row) {
  for (int64_t j = 0; j < c->dim; j++) row[j] = c->mean[j] + (float)cq_random_normal(c->random) * c->deviation[j];
}

/* The mean of the old tokens of a piece's text; false if all of them are unknown. */
static bool mean_of_tokens(carry *c, float *row, cq_slice text, cq_error *error, cq_status *status) {
  int n = 0;
  c->ids.n = 0;
  *status = text.n > 0 ? cq_tokenizer_encode(&c->ids, c->old_tokenizer, NULL, text, false, 0, NULL, error) : CQ_OK;
  if (*status) return false;
  memset(row, 0, (size_t)c->dim * sizeof *row);
  for (size_t i = 0; i < c->ids.n; i++) {
    if (c->ids.ids[i] == c->old_info->unk_id || c->ids.ids[i] >= c->n_old) continue;
    const float *old = c->old + c->ids.ids[i] * c->dim;
    for (int64_t j = 0; j < c->dim; j++) row[j] += old[j];
    n++;
  }
  for (int64_t j = 0; j < c->dim && n > 0; j++) row[j] /= (float)n;
  return n > 0;
}

static cq_status fill_rows(carry *c, cq_carry_over how, cq_error *error) {
  for (int64_t id = 0; id < c->n_new; id++) {
    float *row = c->rows + id * c->dim;
    cq_slice text = {"", 0};
    cq_piece_kind kind = CQ_PIECE_OTHER;
    cq_status status = CQ_OK;
    (void)cq_tokenizer_piece(&text, &kind, c->new_tokenizer, (int32_t)id);
    int64_t from = cq_old_role(c->new_info, c->old_info, id), *count = &c->stats->n_special;
    c->origins[id] = is_ordinary(kind) ? CQ_ROW_UNALIGNED : CQ_ROW_OTHER;
    if (from < 0) {
      from = shared_id(c, text, kind);
      count = &c->stats->n_shared;
      if (c->text.failed) return cq_fail_memory(error, "a piece");
    }
    if (from >= 0 && from < c->n_old) {
      memcpy(row, c->old + from * c->dim, (size_t)c->dim * sizeof *row);
      c->origins[id] = count == &c->stats->n_shared ? CQ_ROW_KNOWN : CQ_ROW_OTHER;
    } else if (how != CQ_CARRY_SHARED && is_ordinary(kind) && mean_of_tokens(c, row, text, error, &status)) {
      count = &c->stats->n_mean;
    } else {
      if (status) return status;
      draw_row(c, row);
      count = &c->stats->n_drawn;
    }
    ++*count;
  }
  return CQ_OK;
}

/* --- meanings in translations --- */

/* A piece's row: its meaning in translations and its meaning in the source, mixed by its counts. */
static void mix_meanings(carry *c, const float *meaning, const double *target_count, const double *source_count) {
  for (int64_t id = 0; id < c->n_new; id++) {
    const double there = target_count[id], both = there + source_count[id];
    if (there <= 0) {
      if (c->origins && c->origins[id] == CQ_ROW_UNALIGNED && both > 0) c->origins[id] = CQ_ROW_OTHER;
      continue;
    }
    if (c->origins) c->origins[id] = CQ_ROW_KNOWN;
    const float share = (float)(there / both), *sum = meaning + id * c->dim;
    float *row = c->rows + id * c->dim;
    for (int64_t j = 0; j < c->dim; j++) row[j] = sum[j] / (float)both + (1 - share) * row[j];
    c->stats->n_aligned++;
  }
}

static cq_status align_languages(carry *c, const cq_student_options *o, cq_context *ctx, cq_error *error) {
  const size_t n = (size_t)c->n_new, dim = (size_t)c->dim;
  const cq_meanings_task task = {.new_tokenizer = c->new_tokenizer,
                                 .old_tokenizer = c->old_tokenizer,
                                 .n_new = c->n_new,
                                 .n_old = c->n_old,
                                 .pairs = o->text,
                                 .n_pairs = o->n_text};
  cq_meanings m;
  float *meaning = cq_alloc_array_zeroed(n * dim, sizeof *meaning);
  double *target_count = cq_alloc_array_zeroed(n, sizeof *target_count);
  cq_status status = cq_meanings_find(&m, &task, o, ctx, error);
  if (!status && (!meaning || !target_count)) status = cq_fail_memory(error, "alignment");
  if (!status) status = cq_meanings_add(meaning, target_count, &m, c->old, c->dim, error);
  if (!status) mix_meanings(c, meaning, target_count, m.source_count);
  c->stats->n_pairs = m.n_pairs;
  cq_meanings_free(&m);
  cq_free(meaning), cq_free(target_count);
  return status;
}

static carry carry_between(float *rows, const cq_tokenizer *new_tokenizer, const float *old, int64_t n_old, int64_t dim,
                           const cq_tokenizer *old_tokenizer, cq_carry_stats *stats) {
  carry c = {.rows = rows,
             .old = old,
             .n_old = n_old,
             .dim = dim,
             .new_tokenizer = new_tokenizer,
             .old_tokenizer = old_tokenizer,
             .new_info = cq_tokenizer_describe(new_tokenizer),
             .old_info = cq_tokenizer_describe(old_tokenizer),
             .stats = stats};
  c.n_new = c.new_info->vocab_size;
  *stats = (cq_carry_stats){0};
  return c;
}

cq_status cq_carry_over_rows(float *rows, unsigned char *origins, const cq_tokenizer *new_tokenizer, const float *old,
                             int64_t n_old, int64_t dim, const cq_tokenizer *old_tokenizer, const cq_student_options *o,
                             cq_random *random, cq_carry_stats *stats, cq_context *ctx, cq_error *error) {
  carry c = carry_between(rows, new_tokenizer, old, n_old, dim, old_tokenizer, stats);
  c.random = random, c.origins = origins;
  cq_status status = read_old(&c, error);
  if (!status) status = fill_rows(&c, o->carry_over, error);
  if (!status && (o->carry_over == CQ_CARRY_ALIGN || o->carry_over == CQ_CARRY_FOCUS))
    status = align_languages(&c, o, ctx, error);
  cq_map_free(&c.pieces);
  cq_free(c.mean);
  cq_free(c.deviation);
  cq_builder_free(&c.text);
  cq_free(c.ids.ids);
  return status;
}

cq_status cq_carry_over_meanings(float *rows, const cq_tokenizer *new_tokenizer, const float *old, int64_t n_old,
                                 int64_t dim, const cq_tokenizer *old_tokenizer, const cq_student_options *o,
                                 cq_carry_stats *stats, cq_context *ctx, cq_error *error) {
  carry c = carry_between(rows, new_tokenizer, old, n_old, dim, old_tokenizer, stats);
  return align_languages(&c, o, ctx, error);
}
