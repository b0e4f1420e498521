/* Scores the rows of parallel text.
 *
 *   files ──▶ rows ──▶ evidence (evidence.h) ──network────▶ reasons' likelihoods ──▶ probabilities
 *                                                 ▲                               │
 *                                                 └── shares of the reasons ◀─────┘ expectation maximization
 *   cosines with the rows before and after ──▶ runs of shifted rows
 *
 * The network was trained with equal shares of all reasons, so its outputs divided by these are likelihoods. A
 * file's own shares are found by expectation maximization (Saerens, Latinne & Decaestecker 2002), from a prior that
 * counts for SHARES_PRIOR_ROWS rows, with a moderate share of wrong names. */
#include "calque/score.h"

#include "base/error.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "base/number.h"
#include "corpus/format.h"
#include "model/precision.h"
#include "recipe/encode/embedded.h"
#include "recipe/score/score_model.h"
#include "text/identify.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const reason_names[] = {"translation",  "unrelated", "truncated", "language", "numbers", "names",
                                           "untranslated", "order",     "copy",      "repeated", "empty",   NULL};

const char *cq_score_reason_name(cq_score_reason reason) {
  return (unsigned)reason < CQ_N_SCORE_REASONS ? reason_names[reason] : NULL;
}

const char *cq_score_evidence_name(size_t index) {
  return index < CQ_N_EVIDENCE ? cq_evidence_names[index] : NULL;
}

#define O cq_score_options
static const cq_option option_rows[] = {
    CQ_CORPUS_INPUT_ROW(O),
    {CQ_TEXT(O, "model", model, CHANGES, "MODEL",
             "model to compare the sides with: a directory, or a name in the local Hugging Face cache"),
     .letter = 'm', .flags = CQ_OPTION_REQUIRED},
    CQ_PRECISION_ROW(O, precision),
    CQ_COMPOSE_ROW(O),
    {CQ_TEXT(O, "cache", cache_directory, KEEPS, "DIR", "where the rows' vectors are kept for the next run"),
     .otherwise = "~/.cache/calque"},
    {CQ_TEXTS(O, "languages", languages, n_languages, CHANGES, "A,B", "language codes of the two columns"),
     .letter = 'l', .flags = CQ_OPTION_COMMAS, .otherwise = "those of most rows"},
    {CQ_NUMBER(O, "min-precision", min_precision, CHANGES, 0, 0, 1, "SHARE",
               "keep the rows with the highest probabilities, as many as have this mean, for example 0.95; 0: all")},
    CQ_SKIP_BAD_ROW(O, CHANGES),
};
#undef O

static cq_status check_score(const void *options, cq_error *error) {
  const cq_score_options *o = options;
  if (o->n_languages && o->n_languages != 2)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%zu languages, expected 2", o->n_languages);
  for (size_t i = 0; i < o->n_languages; i++)
    if (!cq_language_known_as(o->languages[i]))
      return cq_fail(error, CQ_ERR_ARGUMENT, "'%s' is not a language that calque identifies", o->languages[i]);
  return CQ_OK;
}

const cq_option_group cq_group_score = {
    .name = "score",
    CQ_ROWS(cq_score_options, option_rows),
    .check = check_score,
    CQ_FIELDS(CQ_CALLBACK(cq_score_options, notice), CQ_CALLBACK(cq_score_options, progress))};

typedef struct line {
  cq_slice *columns;
  size_t n, scored; /* scored: its place among the rows with two sides; SIZE_MAX: none */
} line;

struct cq_row_scores {
  cq_arena text;
  line *lines;
  size_t n, capacity, n_scored, sides_capacity[2];
  cq_slice *sides[2];             /* [n_scored] */
  double *evidence, *probability; /* [n_scored, CQ_N_EVIDENCE]; [n_scored] */
  float *shifted;
  unsigned char *reason;
  uint32_t *run;
  bool *is_kept; /* [n] */
  double shares[CQ_N_SCORE_REASONS];
  cq_score_file file;
  cq_score_run *runs;
  size_t n_runs, runs_capacity;
};

/* --- rows --- */

static bool add_line(cq_row_scores *s, const cq_row *row) {
  if (!cq_reserve((void **)&s->lines, &s->capacity, s->n + 1, sizeof *s->lines)) return false;
  line *l = &s->lines[s->n];
  *l = (line){cq_arena_array(&s->text, row->n, sizeof *l->columns), row->n, SIZE_MAX};
  if (!l->columns) return false;
  for (size_t c = 0; c < row->n; c++) {
    const cq_slice text = cq_slice_trimmed(row->columns[c]);
    l->columns[c] = (cq_slice){cq_arena_strndup(&s->text, text.data, text.n), text.n};
    if (!l->columns[c].data) return false;
  }
  s->n++;
  if (!l->columns[0].n || !l->columns[1].n) return true;
  for (int side = 0; side < 2; side++) {
    if (!cq_reserve((void **)&s->sides[side], &s->sides_capacity[side], s->n_scored + 1, sizeof(cq_slice)))
      return false;
    s->sides[side][s->n_scored] = l->columns[side];
  }
  l->scored = s->n_scored++;
  return true;
}

static cq_status read_score_rows(cq_row_scores *s, const cq_score_options *o, cq_error *error) {
  cq_corpus_counts counts = {0};
  cq_corpus_flow flow = {.skip_bad = o->skip_bad};
  cq_source source = CQ_SOURCE(o->inputs, o->n_inputs, 2, &flow, &counts);
  cq_row row;
  cq_status status = cq_corpus_check_inputs(o->inputs, o->n_inputs, NULL, 0, error);
  while (cq_source_more(&status, &row, &source, error))
    if (!add_line(s, &row)) status = cq_fail_memory(error, "rows");
  cq_source_close(&source);
  for (size_t i = 0; !status && i < counts.n_reasons; i++)
    CQ_NOTIFY(o, "%" PRIu64 " rows left out: %s", counts.dropped[i].n, counts.dropped[i].reason);
  if (!status && !s->n_scored)
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, o->inputs[0], "there is no row with two sides");
  return status;
}

/* --- probabilities --- */

/* Translations are most of a file until it says otherwise. */
#define PRIOR_TRANSLATION 0.8
#define SHARES_PRIOR_ROWS 300.0
enum { N_ROUNDS = 50 };

/* What is usual in one language, such as German nouns, looks like a wrong name in another: the share of wrong names is
 * the mean of what the rows say and of what the other faults have on average. Where that is more, too: a file with one
 * kind of fault would have too many translations, by the prior. */
static void moderate_names(double *sums) {
  double others = 0;
  for (int r = 0; r < CQ_N_SCORED; r++)
    if (r != CQ_SCORE_TRANSLATION && r != CQ_SCORE_NAMES) others += sums[r];
  const double both = sums[CQ_SCORE_TRANSLATION] + sums[CQ_SCORE_NAMES];
  sums[CQ_SCORE_NAMES] = (sums[CQ_SCORE_NAMES] + fmin(others / (CQ_N_SCORED - 2), both)) / 2;
  sums[CQ_SCORE_TRANSLATION] = both - sums[CQ_SCORE_NAMES];
}

static double weigh(const float *weights, const double *values, int n) {
  double sum = (double)weights[n];
  for (int i = 0; i < n; i++) sum += (double)weights[i] * values[i];
  return sum;
}

static void likelihoods_of(double *out, const double *evidence) {
  double max = -INFINITY, hidden[CQ_N_SCORE_HIDDEN];
  for (int h = 0; h < CQ_N_SCORE_HIDDEN; h++) hidden[h] = tanh(weigh(cq_score_hidden[h], evidence, CQ_N_EVIDENCE));
  for (int r = 0; r < CQ_N_SCORED; r++) {
    out[r] = weigh(cq_score_output[r], hidden, CQ_N_SCORE_HIDDEN);
    max = fmax(max, out[r]);
  }
  for (int r = 0; r < CQ_N_SCORED; r++) out[r] = exp(out[r] - max);
}

static void posteriors_of(double *out, const double *likelihoods, const double *shares) {
  double sum = 0;
  for (int r = 0; r < CQ_N_SCORED; r++) sum += out[r] = likelihoods[r] * shares[r];
  for (int r = 0; r < CQ_N_SCORED; r++) out[r] /= sum;
}

static cq_status estimate_probabilities(cq_row_scores *s, cq_error *error) {
  double prior[CQ_N_SCORED], sums[CQ_N_SCORED], p[CQ_N_SCORED];
  double *likelihoods = cq_alloc_array(s->n_scored, CQ_N_SCORED * sizeof *likelihoods);
  if (!likelihoods) return cq_fail_memory(error, "rows");
  for (size_t i = 0; i < s->n_scored; i++)
    likelihoods_of(likelihoods + i * CQ_N_SCORED, s->evidence + i * CQ_N_EVIDENCE);
  for (int r = 0; r < CQ_N_SCORED; r++)
    s->shares[r] = prior[r] =
        r == CQ_SCORE_TRANSLATION ? PRIOR_TRANSLATION : (1 - PRIOR_TRANSLATION) / (CQ_N_SCORED - 1);
  for (int round = 0; round < N_ROUNDS; round++) {
    for (int r = 0; r < CQ_N_SCORED; r++) sums[r] = SHARES_PRIOR_ROWS * prior[r];
    for (size_t i = 0; i < s->n_scored; i++) {
      posteriors_of(p, likelihoods + i * CQ_N_SCORED, s->shares);
      for (int r = 0; r < CQ_N_SCORED; r++) sums[r] += p[r];
    }
    moderate_names(sums);
    for (int r = 0; r < CQ_N_SCORED; r++) s->shares[r] = sums[r] / ((double)s->n_scored + SHARES_PRIOR_ROWS);
  }
  for (size_t i = 0; i < s->n_scored; i++) {
    int best = 1;
    posteriors_of(p, likelihoods + i * CQ_N_SCORED, s->shares);
    for (int r = 2; r < CQ_N_SCORED; r++)
      if (p[r] > p[best]) best = r;
    s->probability[i] = p[0];
    s->reason[i] = (unsigned char)(p[0] >= 0.5 ? CQ_SCORE_TRANSLATION : best);
  }
  cq_free(likelihoods);
  return CQ_OK;
}

/* --- runs of shifted rows --- */

/* A run has the highest sum of how much better its rows fit the targets so many rows later than their own (CUSUM). A
 * row counts for at most GAIN deviations of shifted rows, and less DRIFT, which a chance neighbor rarely exceeds. */
static cq_status find_runs(cq_row_scores *s, cq_error *error) {
  enum { N = 2 * CQ_MAX_SHIFT + 1, MIN_ROWS = 3 };
  const double max_gain = 2, drift = 1, wanted = 4;
  for (int shift = -CQ_MAX_SHIFT; shift <= CQ_MAX_SHIFT; shift++) {
    double sum = 0, best = 0;
    size_t first = 0, last = 0;
    for (size_t i = 0; shift && i <= s->n_scored; i++) {
      double gain = -INFINITY;
      if (i < s->n_scored) {
        const float *row = s->shifted + i * N;
        gain = (double)(row[shift + CQ_MAX_SHIFT] - row[CQ_MAX_SHIFT]) - drift;
        gain = row[shift + CQ_MAX_SHIFT] < 2 && gain > 0 ? -drift : fmin(fmax(gain, -max_gain), max_gain);
      }
      if (sum <= 0) sum = best = 0, first = i;
      sum += gain;
      if (sum > best) best = sum, last = i;
      if ((sum <= 0 || sum < best - 3 * max_gain) && best >= wanted && last + 1 >= first + MIN_ROWS) {
        if (!cq_reserve((void **)&s->runs, &s->runs_capacity, s->n_runs + 1, sizeof *s->runs))
          return cq_fail_memory(error, "runs");
        s->runs[s->n_runs++] = (cq_score_run){first, last + 1 - first, shift};
        for (size_t j = first; j <= last; j++) s->run[j] = (uint32_t)s->n_runs;
        sum = best = 0, i = last;
      }
    }
  }
  return CQ_OK;
}

/* --- choosing --- */

typedef struct ranked {
  double probability;
  size_t line;
} ranked;

static int by_probability(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  return x->probability != y->probability ? (x->probability < y->probability ? 1 : -1)
                                          : (x->line > y->line) - (x->line < y->line);
}

static cq_status keep_best(cq_row_scores *s, const cq_score_options *o, cq_error *error) {
  ranked *order = cq_alloc_array(s->n, sizeof *order);
  double sum = 0;
  size_t n = 0;
  if (!order) return cq_fail_memory(error, "rows");
  for (size_t i = 0; i < s->n; i++)
    order[i] = (ranked){s->lines[i].scored == SIZE_MAX ? 0 : s->probability[s->lines[i].scored], i};
  qsort(order, s->n, sizeof *order, by_probability);
  for (; n < s->n && (o->min_precision == 0 || sum + order[n].probability >= o->min_precision * (double)(n + 1)); n++)
    sum += order[n].probability, s->is_kept[order[n].line] = true;
  if (o->min_precision > 0 && n)
    CQ_NOTIFY(o, "%zu of %zu rows kept, of probability %.2f or more, with an estimated precision of %.3f", n, s->n,
              order[n - 1].probability, sum / (double)n);
  else if (o->min_precision > 0)
    CQ_NOTIFY(o, "no row has a probability of %.2f", o->min_precision);
  cq_free(order);
  return CQ_OK;
}

/* --- what is reported --- */

static void tell_limits(const cq_row_scores *s, const cq_score_options *o) {
  enum { FEW = 100 };
  const size_t n = s->n_scored;
  if (n == 1)
    CQ_NOTIFY(o,
              "1 row: there is nothing to compare it with. Cosines of unrelated text, usual lengths, order of words, "
              "and shares of faults are assumed; its languages are those that it seems to be in; repetitions and "
              "shifts cannot be seen");
  else if (n <= FEW)
    CQ_NOTIFY(o,
              "%zu rows are few: usual lengths, order of words, and above all shares of faults are partly assumed, and "
              "text repeated elsewhere cannot be seen",
              n);
  for (size_t i = 0; i < s->n_runs; i++)
    CQ_NOTIFY(o, "rows %zu to %zu are shifted: their sources are translated %d row%s %s", s->runs[i].first + 1,
              s->runs[i].first + s->runs[i].n, abs(s->runs[i].shift), abs(s->runs[i].shift) == 1 ? "" : "s",
              s->runs[i].shift > 0 ? "later" : "earlier");
}

static cq_status allocate_scores(cq_row_scores *s, cq_error *error) {
  const size_t n = s->n_scored;
  s->evidence = cq_alloc_array(n, CQ_N_EVIDENCE * sizeof *s->evidence);
  s->shifted = cq_alloc_array(n, (2 * CQ_MAX_SHIFT + 1) * sizeof *s->shifted);
  s->probability = cq_alloc_array(n, sizeof *s->probability);
  s->reason = cq_alloc_array(n, sizeof *s->reason);
  s->run = cq_alloc_array_zeroed(n, sizeof *s->run);
  s->is_kept = cq_alloc_array_zeroed(s->n, sizeof *s->is_kept);
  return s->evidence && s->shifted && s->probability && s->reason && s->run && s->is_kept
             ? CQ_OK
             : cq_fail_memory(error, "rows");
}

cq_status cq_score(cq_row_scores **out, const cq_score_options *options, cq_context *ctx, cq_error *error) {
  cq_score_options o;
  cq_cached_encoder store = {0};
  *out = NULL;
  cq_status status = cq_options_take(&o, &cq_group_score, options, error);
  if (status) return status;
  cq_row_scores *s = cq_alloc_zeroed(sizeof *s);
  if (!s) return cq_fail_memory(error, "scores");
  cq_watched w = {o.progress, o.progress_context, "encode"};
  cq_encoder_options opening = cq_encoder_default_options();
  opening.precision = o.precision, opening.compose = o.compose;
  opening.notice = o.notice, opening.notice_context = o.notice_context;
  for (size_t i = 0; i < o.n_languages; i++) s->file.languages[i] = cq_language_known_as(o.languages[i]);
  status = read_score_rows(s, &o, error);
  if (!status) status = allocate_scores(s, error);
  if (!status) status = cq_cached_encoder_open(&store, o.model, &opening, o.cache_directory, error);
  const cq_score_texts texts = {{s->sides[0], s->sides[1]}, s->n_scored};
  if (!status)
    status = cq_score_evidence(s->evidence, s->shifted, &s->file, &texts, &store, cq_watched_tell, &w, ctx, error);
  cq_cached_encoder_close(&store);
  if (!status) status = estimate_probabilities(s, error);
  if (!status) status = find_runs(s, error);
  if (!status) tell_limits(s, &o), status = keep_best(s, &o, error);
  if (status) cq_row_scores_free(s);
  *out = status ? NULL : s;
  return status;
}

void cq_row_scores_free(cq_row_scores *s) {
  if (!s) return;
  cq_free(s->lines), cq_free(s->sides[0]), cq_free(s->sides[1]), cq_free(s->evidence), cq_free(s->shifted);
  cq_free(s->probability), cq_free(s->reason), cq_free(s->run), cq_free(s->is_kept), cq_free(s->runs);
  cq_arena_free(&s->text);
  cq_free(s);
}

size_t cq_row_scores_n(const cq_row_scores *s) {
  return s->n;
}

cq_score_row cq_row_scores_row(const cq_row_scores *s, size_t i) {
  const line *l = &s->lines[i];
  cq_score_row row = {0, CQ_SCORE_EMPTY, s->is_kept[i], 0, l->columns, l->n, NULL};
  if (l->scored == SIZE_MAX) return row;
  row.probability = s->probability[l->scored], row.reason = (cq_score_reason)s->reason[l->scored];
  row.run = s->run[l->scored], row.evidence = s->evidence + l->scored * CQ_N_EVIDENCE;
  return row;
}

const cq_score_run *cq_row_scores_runs(size_t *n, const cq_row_scores *s) {
  *n = s->n_runs;
  return s->runs;
}

double cq_row_scores_share(const cq_row_scores *s, cq_score_reason reason) {
  return (unsigned)reason < CQ_N_SCORE_REASONS ? s->shares[reason] : 0;
}

/* --- writing --- */

static void put_json_row(cq_builder *b, const cq_score_row *row, size_t i) {
  char number[32];
  cq_builder_printf(b, "{\"line\": %zu, \"score\": ", i + 1);
  cq_snprintf(number, sizeof number, "%.6g", row->probability);
  cq_builder_text(b, number);
  cq_json_member(b, ", \"reason\": ", cq_slice_of(reason_names[row->reason]));
  if (row->run) cq_builder_printf(b, ", \"run\": %" PRIu32, row->run);
  cq_builder_text(b, ", \"columns\": [");
  for (size_t c = 0; c < row->n_columns; c++) cq_json_member(b, c ? ", " : "", row->columns[c]);
  cq_builder_text(b, "], \"evidence\": {");
  for (int e = 0; row->evidence && e < CQ_N_EVIDENCE; e++) {
    cq_snprintf(number, sizeof number, "%.6g", row->evidence[e]);
    cq_builder_printf(b, "%s\"%s\": %s", e ? ", " : "", cq_evidence_names[e], number);
  }
  cq_builder_text(b, "}}\n");
}

static cq_status write_score_json(const cq_row_scores *s, const char *path, cq_error *error) {
  cq_text_writer out = {0};
  cq_builder text = {0};
  cq_status status = cq_text_writer_open(&out, path, error);
  for (size_t i = 0; !status && i < s->n; i++) {
    const cq_score_row row = cq_row_scores_row(s, i);
    if (!row.is_kept) continue;
    cq_builder_clear(&text);
    put_json_row(&text, &row, i);
    status = text.failed ? cq_fail_memory(error, "rows") : cq_text_writer_put(&out, text.data, text.n, error);
  }
  if (!status) status = cq_text_writer_commit(&out, error);
  cq_text_writer_abort(&out);
  cq_builder_free(&text);
  return status;
}

cq_status cq_row_scores_write(const cq_row_scores *s, const char *path, bool json, cq_error *error) {
  const char *names[2] = {s->file.languages[0] ? s->file.languages[0] : "und",
                          s->file.languages[1] ? s->file.languages[1] : "und"};
  cq_pairs_kind kind;
  cq_pairs out = {0};
  if (json) return write_score_json(s, path, error);
  cq_status status = cq_pairs_kind_of(&kind, path, error);
  if (!status) status = cq_pairs_open(&out, kind, path, kind == CQ_PAIRS_AS_CSV ? "score,reason" : "score", error);
  out.languages = names, out.n_languages = 2;
  for (size_t i = 0; !status && i < s->n; i++) {
    const cq_score_row row = cq_row_scores_row(s, i);
    char number[32], remark[64];
    if (!row.is_kept) continue;
    cq_snprintf(number, sizeof number, "%.4f", row.probability);
    cq_snprintf(remark, sizeof remark, "%s%s%s", number,
                kind == CQ_PAIRS_AS_TSV   ? "\t"
                : kind == CQ_PAIRS_AS_CSV ? ","
                                          : " ",
                reason_names[row.reason]);
    status = cq_pairs_put(&out, cq_slice_of(remark), row.columns, row.n_columns, NULL, error);
  }
  return cq_pairs_finish(&out, status, error);
}
