/* Drops rows whose sentences occurred before, identified by 64 bits of each sentence. */
#include "base/error.h"
#include "base/key_set.h"
#include "base/random.h"
#include "corpus/format.h"
#include "corpus/key.h"
#include "corpus/near_duplicates.h"

static const char *const repeats_names[] = {"row", "any", "first", "second", NULL};

#define O cq_corpus_dedup_options
static const cq_option option_rows[] = {
    CQ_CORPUS_INPUT_ROW(O),
    {CQ_TEXTS(O, "against", held_out, n_held_out, CHANGES, "FILE",
              "drop rows that share a sentence with this file in any column: a test set"),
     .letter = 'a'},
    {CQ_CHOICE(O, "by", repeats, CHANGES, CQ_REPEATS_ROW, repeats_names, "WHAT",
               "what must repeat an earlier row: the row as a whole, any of its sides, the first or the second")},
    CQ_CORPUS_MATCH_ROW(O, CQ_CORPUS_NORMALIZED),
    {CQ_NUMBER(O, "near", near, CHANGES, 0, 0, 1, "S",
               "also drop rows that are nearly as an earlier one: of this similarity, the share of common sequences of "
               "four characters (MinHash); 0.8 is usual. Of pairs at S, two of three are found, above nearly all, far "
               "below nearly none; 0: none"),
     .flags = CQ_OPTION_BELOW_MAX},
    CQ_CORPUS_REJECTED_ROW(O),
    CQ_CORPUS_OUTPUT_ROWS(O),
};
#undef O
const cq_option_group cq_group_corpus_dedup = CQ_CORPUS_GROUP("corpus-dedup", cq_corpus_dedup_options, NULL);

typedef struct dedup {
  const cq_corpus_dedup_options *o;
  cq_key_set held_out, seen; /* seen: of rows or of sides */
  cq_near_duplicates near;
  cq_builder room;
  uint64_t keys[CQ_ROW_MAX]; /* of a row's sides */
} dedup;

static cq_status find_keys(dedup *d, const cq_row *row, cq_error *error) {
  for (size_t c = 0; c < row->n; c++)
    if (!cq_key_of(&d->keys[c], row->columns[c], d->o->match, &d->room)) return cq_fail_memory(error, "sentences");
  return CQ_OK;
}

static cq_status read_held_out(dedup *d, cq_error *error) {
  cq_corpus_counts uncounted = {0};
  cq_corpus_flow flow = CQ_CORPUS_FLOW(d->o);
  flow.skip_bad = false; /* what is not read is not held out */
  cq_source rows = CQ_SOURCE(d->o->held_out, d->o->n_held_out, 1, &flow, &uncounted);
  cq_row row;
  cq_status status = CQ_OK;
  while (cq_source_more(&status, &row, &rows, error)) {
    status = find_keys(d, &row, error);
    for (size_t c = 0; !status && c < row.n; c++) {
      bool is_new;
      if (row.columns[c].n > 0 && !cq_key_set_put(&is_new, &d->held_out, d->keys[c]))
        status = cq_fail_memory(error, "held-out sentences");
    }
  }
  cq_source_close(&rows);
  return status;
}

/* One number for all sides; their order counts. */
static uint64_t dedup_key(const dedup *d, size_t n) {
  uint64_t key = n;
  for (size_t c = 0; c < n; c++) key = cq_mix(key + 0x9e3779b97f4a7c15u) ^ d->keys[c];
  return key;
}

/* Records a side's sentence, and whether it is a repetition; ignores empty ones. */
static bool see_side(bool *repeats, dedup *d, const cq_row *row, size_t c) {
  bool is_new = true;
  const bool stored = row->columns[c].n == 0 || cq_key_set_put(&is_new, &d->seen, cq_mix(d->keys[c] + c));
  *repeats |= !is_new;
  return stored;
}

static cq_status check_nearly(const char **why, dedup *d, const cq_row *row, cq_error *error) {
  bool is = false;
  cq_builder_clear(&d->room);
  for (size_t c = 0; c < row->n; c++) cq_key_text(&d->room, row->columns[c], CQ_CORPUS_NORMALIZED);
  if (d->room.failed || !cq_near_duplicates_see(&is, &d->near, cq_built(&d->room)))
    return cq_fail_memory(error, "sentences that were seen");
  if (is) *why = "nearly repeated";
  return CQ_OK;
}

/* Held-out rows are not remembered. */
static cq_status check_repetition(const char **why, void *context, cq_row *row, cq_error *error) {
  dedup *d = context;
  const size_t n = row->n;
  const cq_corpus_repeats by = d->o->repeats;
  bool is_new = true, repeats = false, stored = true;
  *why = NULL;
  const cq_status status = find_keys(d, row, error);
  if (status) return status;
  for (size_t c = 0; c < n; c++)
    if (cq_key_set_has(&d->held_out, d->keys[c])) *why = "held out";
  if (*why) return CQ_OK;
  if (by == CQ_REPEATS_ANY) {
    for (size_t c = 0; c < n && stored; c++) stored = see_side(&repeats, d, row, c);
  } else if (by == CQ_REPEATS_ROW) {
    stored = cq_key_set_put(&is_new, &d->seen, dedup_key(d, n));
    repeats = !is_new;
  } else {
    stored = see_side(&repeats, d, row, by == CQ_REPEATS_SECOND);
  }
  if (!stored) return cq_fail_memory(error, "sentences that were seen");
  if (repeats) *why = "repeated";
  return repeats || d->o->near <= 0 ? CQ_OK : check_nearly(why, d, row, error);
}

cq_status cq_corpus_dedup(cq_corpus_counts *counts, const cq_corpus_dedup_options *options, cq_error *error) {
  cq_corpus_dedup_options o;
  *counts = (cq_corpus_counts){0};
  cq_status status = cq_options_take(&o, &cq_group_corpus_dedup, options, error);
  if (status) return status;
  dedup d = {.o = &o};
  cq_corpus_flow flow = CQ_CORPUS_FLOW(&o);
  flow.rejected = o.rejected;
  if (o.near > 0) d.near = cq_near_duplicates_of(o.near);
  cq_source rows = CQ_SOURCE(o.inputs, o.n_inputs, 2, &flow, counts);
  status = cq_corpus_check_inputs(o.inputs, o.n_inputs, o.held_out, o.n_held_out, error);
  if (!status) status = read_held_out(&d, error);
  if (!status) status = cq_corpus_choose(&rows, check_repetition, &d, error);
  cq_key_set_free(&d.seen);
  cq_key_set_free(&d.held_out);
  cq_key_set_free(&d.near.keys);
  cq_builder_free(&d.room);
  return status;
}
