/* Derives the rows of a new vocabulary from an old one: shared pieces first, then means over old tokens or word
 * alignments. See carry.h for the rules. */
#include "recipe/student/carry.h"

#include "base/error.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "calque/lines.h"
#include "text/unicode.h"
#include "train/align.h"

#include <math.h>
#include <string.h>

#define MAX_COLUMNS  64
#define MAX_LINKS    16
#define MAX_TIMES    1000
#define N_ITERATIONS 5
/* Each translation is aligned a second time, with piece dropout: this way, rare pieces occur in the text's words, too,
 * and later in words that the text lacks. */
#define PIECE_DROPOUT 0.3

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

/* The old id with the same role as a new special id; -1: none. */
static int64_t role_of(const carry *c, int64_t id) {
  const cq_tokenizer_info *n = c->new_info, *o = c->old_info;
  if (id == n->cls_id) return o->cls_id;
  if (id == n->sep_id) return o->sep_id;
  if (id == n->pad_id) return o->pad_id;
  if (id == n->unk_id) return o->unk_id;
  if (id == n->mask_id) return o->mask_id;
  return -1;
}

static cq_status fill_rows(carry *c, cq_carry_over how, cq_error *error) {
  for (int64_t id = 0; id < c->n_new; id++) {
    float *row = c->rows + id * c->dim;
    cq_slice text = {"", 0};
    cq_piece_kind kind = CQ_PIECE_OTHER;
    cq_status status = CQ_OK;
    (void)cq_tokenizer_piece(&text, &kind, c->new_tokenizer, (int32_t)id);
    int64_t from = role_of(c, id), *count = &c->stats->n_special;
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

/* --- alignment --- */

typedef struct parallel {
  int weight;                 /* of the file's pairs */
  cq_aligner *aligner;        /* of the language being read */
  double *source_count;       /* [n_new] occurrences of a piece in source sentences */
  double *target_count;       /* [n_new] occurrences of a piece in translations that determine its meaning */
  float *meaning;             /* [n_new, dim] its meaning there: the sum over these occurrences */
  float *meaning_of_language; /* [dim] */
  cq_ids source, target;
  cq_token_memory *token; /* for a vocabulary with several possible splits; otherwise NULL */
} parallel;

/* Tokenizes a translation of p->source with piece dropout. */
static cq_status add_translation(const carry *c, parallel *p, cq_slice text, double share, cq_error *error) {
  p->target.n = 0;
  if (p->token) cq_token_memory_drop_pieces(p->token, share, (uint64_t)c->stats->n_pairs);
  const cq_status status = cq_tokenizer_encode(&p->target, c->new_tokenizer, p->token, text, false, 0, NULL, error);
  if (status) return status;
  return cq_aligner_add(p->aligner, p->source.ids, p->source.n, p->target.ids, p->target.n, p->weight, error);
}

static cq_status add_parallel_line(carry *c, parallel *p, cq_slice line, cq_error *error) {
  cq_slice columns[MAX_COLUMNS];
  const size_t n = cq_tsv_split(columns, MAX_COLUMNS, line);
  if (n < 2 || n > MAX_COLUMNS) return CQ_OK; /* no translations; or malformed, see read_parallel */
  p->source.n = p->target.n = 0;
  cq_status status = cq_tokenizer_encode(&p->target, c->new_tokenizer, NULL, columns[0], false, 0, NULL, error);
  for (size_t i = 0; !status && i < p->target.n; i++) p->source_count[p->target.ids[i]] += p->weight;
  if (!status) status = cq_tokenizer_encode(&p->source, c->old_tokenizer, NULL, columns[0], false, 0, NULL, error);
  size_t n_known = 0;
  for (size_t i = 0; i < p->source.n; i++)
    if (p->source.ids[i] != c->old_info->unk_id && p->source.ids[i] < c->n_old)
      p->source.ids[n_known++] = p->source.ids[i];
  p->source.n = n_known;
  for (size_t k = 1; !status && k < n; k++) {
    status = add_translation(c, p, columns[k], 0, error);
    if (!status && p->token) status = add_translation(c, p, columns[k], PIECE_DROPOUT, error);
    c->stats->n_pairs++;
  }
  return status;
}

static cq_status read_parallel(carry *c, parallel *p, const char *file, cq_error *error) {
  cq_lines *lines;
  cq_slice line;
  cq_status status = cq_lines_open(&lines, file, error);
  if (status) return status;
  for (;;) {
    status = cq_lines_next(&line, lines, error);
    /* Malformed lines were already reported while building the vocabulary. */
    if (status == CQ_ERR_FORMAT && !cq_lines_broken(lines)) continue;
    if (status || !line.data || (status = add_parallel_line(c, p, line, error))) break;
  }
  cq_lines_close(lines);
  return status;
}

static double row_length(const float *row, int64_t dim) {
  double sum = 0;
  for (int64_t j = 0; j < dim; j++) sum += (double)row[j] * (double)row[j];
  return sqrt(sum);
}

/* The weighted mean of the linked rows, scaled to their mean length: the mean of rows in different directions is short,
 * but the encoder was trained on rows of full length. */
static void mean_of_links(const carry *c, float *mean, const cq_link *links, size_t n) {
  double length = 0;
  memset(mean, 0, (size_t)c->dim * sizeof *mean);
  for (size_t i = 0; i < n; i++) {
    const float *old = c->old + links[i].source * c->dim;
    for (int64_t j = 0; j < c->dim; j++) mean[j] += links[i].weight * old[j];
    length += (double)links[i].weight * row_length(old, c->dim);
  }
  const double short_length = row_length(mean, c->dim);
  const float scale = short_length > 0 ? (float)(length / short_length) : 1;
  for (int64_t j = 0; j < c->dim; j++) mean[j] *= scale;
}

static void add_meanings(const carry *c, parallel *p) {
  cq_link links[MAX_LINKS];
  for (int64_t id = 0; id < c->n_new; id++) {
    const size_t n = role_of(c, id) < 0 ? cq_aligner_links(p->aligner, (int32_t)id, links, MAX_LINKS) : 0;
    if (n == 0) continue;
    const double count = (double)cq_aligner_count(p->aligner, (int32_t)id) / (p->token ? 2 : 1);
    float *sum = p->meaning + id * c->dim;
    mean_of_links(c, p->meaning_of_language, links, n);
    for (int64_t j = 0; j < c->dim; j++) sum[j] += (float)count * p->meaning_of_language[j];
    p->target_count[id] += count;
  }
}

static bool is_same_language(const cq_training_data *a, const cq_training_data *b) {
  return a == b || (a->label && b->label && strcmp(a->label, b->label) == 0);
}

/* Aligns the language of pairs[first], whose files all come at or after it. */
static cq_status align_language(carry *c, parallel *p, const cq_training_data *pairs, size_t n, size_t first,
                                cq_error *error) {
  cq_status status = cq_aligner_new(&p->aligner, c->n_old, c->n_new, error);
  for (size_t i = first; !status && i < n; i++)
    if (is_same_language(&pairs[first], &pairs[i])) {
      p->weight = cq_text_times(&pairs[i]);
      status = read_parallel(c, p, pairs[i].path, error);
    }
  if (!status) status = cq_aligner_run(p->aligner, N_ITERATIONS, error);
  if (!status) add_meanings(c, p);
  cq_aligner_free(p->aligner);
  return status;
}

/* A piece's row: its meaning in translations and its meaning in the source, mixed by its counts. */
static void mix_meanings(carry *c, const parallel *p) {
  for (int64_t id = 0; id < c->n_new; id++) {
    const double there = p->target_count[id], both = there + p->source_count[id];
    if (there <= 0) {
      if (c->origins && c->origins[id] == CQ_ROW_UNALIGNED && both > 0) c->origins[id] = CQ_ROW_OTHER;
      continue;
    }
    if (c->origins) c->origins[id] = CQ_ROW_KNOWN;
    const float share = (float)(there / both), *sum = p->meaning + id * c->dim;
    float *row = c->rows + id * c->dim;
    for (int64_t j = 0; j < c->dim; j++) row[j] = sum[j] / (float)both + (1 - share) * row[j];
    c->stats->n_aligned++;
  }
}

/* Aligns each language separately: otherwise, a source word's probability would be divided among its translations into
 * all languages, and languages with little text would get almost none. */
static cq_status align_languages(carry *c, const cq_training_data *pairs, size_t n_pairs, cq_error *error) {
  const size_t n = (size_t)c->n_new, dim = (size_t)c->dim;
  parallel p = {.source_count = cq_alloc_array_zeroed(n, sizeof *p.source_count),
                .target_count = cq_alloc_array_zeroed(n, sizeof *p.target_count),
                .meaning = cq_alloc_array_zeroed(n * dim, sizeof *p.meaning),
                .meaning_of_language = cq_alloc_array(dim, sizeof *p.meaning_of_language)};
  const bool ok = p.source_count && p.target_count && p.meaning && p.meaning_of_language;
  cq_status status = ok ? CQ_OK : cq_fail_memory(error, "alignment");
  if (!status && strcmp(c->new_info->type, "Unigram") == 0 && !(p.token = cq_token_memory_new()))
    status = cq_fail_memory(error, "alignment");
  for (size_t i = 0; !status && i < n_pairs; i++) {
    size_t first = 0;
    while (!is_same_language(&pairs[first], &pairs[i])) first++;
    if (first == i) status = align_language(c, &p, pairs, n_pairs, first, error);
  }
  if (!status) mix_meanings(c, &p);
  cq_free(p.source_count), cq_free(p.target_count), cq_free(p.meaning), cq_free(p.meaning_of_language);
  cq_free(p.source.ids), cq_free(p.target.ids);
  cq_token_memory_free(p.token);
  return status;
}

int cq_text_times(const cq_training_data *file) {
  return file->weight > 1 ? (int)lround(fmin(file->weight, MAX_TIMES)) : 1;
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
                             int64_t n_old, int64_t dim, const cq_tokenizer *old_tokenizer, cq_carry_over how,
                             const cq_training_data *pairs, size_t n_pairs, cq_random *random, cq_carry_stats *stats,
                             cq_error *error) {
  carry c = carry_between(rows, new_tokenizer, old, n_old, dim, old_tokenizer, stats);
  c.random = random, c.origins = origins;
  cq_status status = read_old(&c, error);
  if (!status) status = fill_rows(&c, how, error);
  if (!status && (how == CQ_CARRY_ALIGN || how == CQ_CARRY_FOCUS)) status = align_languages(&c, pairs, n_pairs, error);
  cq_map_free(&c.pieces);
  cq_free(c.mean);
  cq_free(c.deviation);
  cq_builder_free(&c.text);
  cq_free(c.ids.ids);
  return status;
}

cq_status cq_carry_over_meanings(float *rows, const cq_tokenizer *new_tokenizer, const float *old, int64_t n_old,
                                 int64_t dim, const cq_tokenizer *old_tokenizer, const cq_training_data *pairs,
                                 size_t n_pairs, cq_carry_stats *stats, cq_error *error) {
  carry c = carry_between(rows, new_tokenizer, old, n_old, dim, old_tokenizer, stats);
  return align_languages(&c, pairs, n_pairs, error);
}
