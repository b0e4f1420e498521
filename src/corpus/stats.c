/* Statistics of parallel text, counted in one pass over its rows. */
#include "base/error.h"
#include "base/hash.h"
#include "base/key_set.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "corpus/format.h"
#include "corpus/key.h"
#include "corpus/rows.h"
#include "text/script.h"

#include <stdlib.h>

#define O cq_corpus_stats_options
static const cq_option option_rows[] = {CQ_CORPUS_INPUT_ROW(O), CQ_CORPUS_SKIP_BAD_ROW(O)};
#undef O
const cq_option_group cq_group_corpus_stats = CQ_CORPUS_GROUP("corpus-stats", cq_corpus_stats_options, NULL);

enum { SHORT = 4096 }; /* lengths below this are counted in an array, the few others kept individually */

/* A column's counts. */
typedef struct tally {
  uint64_t n, n_empty, n_characters, n_words, max;
  uint64_t lengths[SHORT];
  uint64_t *long_ones; /* [n_long] */
  size_t n_long, capacity;
  uint64_t scripts[CQ_N_SCRIPTS];
  cq_key_set distinct;
} tally;

typedef struct stats {
  tally *columns[CQ_ROW_MAX]; /* [n] */
  size_t n;
  cq_key_set rows;
  cq_builder room;
} stats;

static uint64_t count_text_words(cq_slice text) {
  uint64_t n = 0;
  for (size_t i = 0; i < text.n; i++) n += !cq_is_blank(text.data[i]) && (i == 0 || cq_is_blank(text.data[i - 1]));
  return n;
}

static bool add_side(tally *t, cq_slice text) {
  bool is_new;
  text = cq_slice_trimmed(text);
  t->n++;
  if (text.n == 0) {
    t->n_empty++;
    return true;
  }
  const uint64_t length = cq_utf8_length(text.data, text.n);
  t->n_characters += length, t->n_words += count_text_words(text);
  t->max = length > t->max ? length : t->max;
  if (length < SHORT)
    t->lengths[length]++;
  else if (cq_reserve((void **)&t->long_ones, &t->capacity, t->n_long + 1, sizeof *t->long_ones))
    t->long_ones[t->n_long++] = length;
  else
    return false;
  t->scripts[cq_script_of(text)]++;
  return cq_key_set_put(&is_new, &t->distinct, cq_hash64(text.data, text.n, 0));
}

static cq_status add_row_figures(cq_corpus_figures *out, stats *s, const cq_row *row, cq_error *error) {
  bool is_new, identical, fine = true;
  for (size_t c = 0; c < row->n && fine; c++) {
    tally *t = c < s->n ? s->columns[c] : cq_alloc_zeroed(sizeof *t);
    if (!t) return cq_fail_memory(error, "figures of columns");
    if (c == s->n) s->columns[s->n++] = t;
    fine = add_side(t, row->columns[c]);
  }
  uint64_t hash = 0;
  for (size_t c = 0; c < row->n; c++) hash = cq_hash64(row->columns[c].data, row->columns[c].n, hash + 1);
  fine =
      fine && cq_key_set_put(&is_new, &s->rows, hash) && cq_key_some_equal(&identical, row->columns, row->n, &s->room);
  if (!fine) return cq_fail_memory(error, "sentences that were seen");
  out->n_rows++, out->n_distinct += is_new, out->n_identical += identical;
  return CQ_OK;
}

/* The smallest length that a given share of the sentences does not exceed; the long ones must be sorted. */
static uint64_t length_of_share(const tally *t, double share) {
  const double wanted = share * (double)(t->n - t->n_empty);
  uint64_t n = 0;
  for (uint64_t length = 0; length < SHORT; length++)
    if ((double)(n += t->lengths[length]) >= wanted) return length;
  size_t i = 0;
  while (i + 1 < t->n_long && (double)(n + i + 1) < wanted) i++;
  return t->long_ones[i];
}

static int shorter_first(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void sum_up_column(cq_corpus_column *out, tally *t) {
  const uint64_t n = t->n - t->n_empty;
  *out = (cq_corpus_column){.n = t->n, .n_empty = t->n_empty};
  if (n == 0) return;
  if (t->n_long) qsort(t->long_ones, t->n_long, sizeof *t->long_ones, shorter_first);
  out->n_distinct = t->distinct.n;
  out->mean_characters = (double)t->n_characters / (double)n, out->mean_words = (double)t->n_words / (double)n;
  out->median_characters = length_of_share(t, 0.5), out->characters_95 = length_of_share(t, 0.95);
  out->max_characters = t->max;
  uint64_t before = UINT64_MAX;
  int last = -1;
  for (int i = 0; i < CQ_CORPUS_MAX_SCRIPTS; i++) { /* the next most frequent script; on a tie, the lower number */
    int best = -1;
    for (int s = 0; s < CQ_N_SCRIPTS; s++)
      if (t->scripts[s] > 0 && (t->scripts[s] < before || (t->scripts[s] == before && s > last)) &&
          (best < 0 || t->scripts[s] > t->scripts[best]))
        best = s;
    if (best < 0) break;
    before = t->scripts[best], last = best;
    snprintf(out->scripts[i].name, sizeof out->scripts[i].name, "%s", cq_script_name(best));
    out->scripts[i].share = (double)t->scripts[best] / (double)n;
  }
}

cq_status cq_corpus_stats(cq_corpus_figures *out, const cq_corpus_stats_options *options, cq_error *error) {
  cq_corpus_stats_options o;
  *out = (cq_corpus_figures){0};
  cq_status status = cq_options_take(&o, &cq_group_corpus_stats, options, error);
  if (status) return status;
  stats s = {0};
  cq_corpus_counts counts = {0};
  cq_row row;
  const cq_corpus_flow flow = {.skip_bad = o.skip_bad, .progress = o.progress, .progress_context = o.progress_context};
  cq_source rows = CQ_SOURCE(o.inputs, o.n_inputs, 1, &flow, &counts);
  status = cq_corpus_check_inputs(o.inputs, o.n_inputs, NULL, 0, error);
  while (cq_source_more(&status, &row, &rows, error)) status = add_row_figures(out, &s, &row, error);
  cq_source_close(&rows);
  if (!status && !(out->columns = cq_alloc_array(s.n, sizeof *out->columns)))
    status = cq_fail_memory(error, "figures of columns");
  for (size_t c = 0; c < s.n; c++) {
    if (!status) sum_up_column(&out->columns[c], s.columns[c]);
    cq_key_set_free(&s.columns[c]->distinct);
    cq_free(s.columns[c]->long_ones);
    cq_free(s.columns[c]);
  }
  cq_key_set_free(&s.rows);
  cq_builder_free(&s.room);
  out->n_columns = s.n;
  for (size_t i = 0; i < counts.n_reasons; i++) out->n_dropped += counts.dropped[i].n;
  if (status) cq_corpus_figures_free(out);
  return status;
}

void cq_corpus_figures_free(cq_corpus_figures *figures) {
  cq_free(figures->columns);
  *figures = (cq_corpus_figures){0};
}
