#include "base/error.h"
#include "base/utf8.h"
#include "corpus/key.h"
#include "corpus/rows.h"
#include "text/script.h"

typedef struct filter {
  const cq_corpus_filter_options *o;
  cq_scripts scripts[CQ_ROW_MOST]; /* of the languages */
  uint64_t characters[CQ_ROW_MOST];
  cq_builder keys;
} filter;

/* Lengths a little apart mean nothing in short sentences: ten characters are added to both. */
static bool is_lopsided(const filter *f, size_t n) {
  enum { SMOOTHING = 10 };
  uint64_t least = UINT64_MAX, most = 0;
  for (size_t c = 0; c < n; c++) {
    if (f->characters[c] == 0) continue;
    if (f->characters[c] < least) least = f->characters[c];
    if (f->characters[c] > most) most = f->characters[c];
  }
  return (double)(most + SMOOTHING) > f->o->most_ratio * (double)(least + SMOOTHING);
}

static bool is_foreign(const filter *f, const cq_row *row) {
  for (size_t c = 0; c < row->n && c < f->o->n_languages; c++) {
    const int script = cq_script_of(row->columns[c]);
    if (script != CQ_SCRIPT_NONE && !cq_scripts_have(&f->scripts[c], script)) return true;
  }
  return false;
}

/* Why a row is left out; NULL: it is not. */
static cq_status judge(const char **why, void *context, const cq_row *row, cq_error *error) {
  filter *f = context;
  const cq_corpus_filter_options *o = f->o;
  bool identical = false;
  *why = NULL;
  for (size_t c = 0; c < row->n; c++) {
    const cq_slice side = cq_slice_trimmed(row->columns[c]);
    f->characters[c] = cq_utf8_length(side.data, side.n);
    if (side.n == 0) { /* of several translations some may be missing */
      if (c == 0 || row->n == 2) *why = "empty";
      continue;
    }
    if (f->characters[c] < o->least_characters) *why = *why ? *why : "too short";
    if (o->most_characters && f->characters[c] > o->most_characters) *why = *why ? *why : "too long";
  }
  if (!*why && o->most_ratio > 0 && is_lopsided(f, row->n)) *why = "lengths too different";
  if (!*why && is_foreign(f, row)) *why = "another script";
  if (*why || o->keep_identical) return CQ_OK;
  if (!cq_key_some_equal(&identical, row->columns, row->n, &f->keys)) return cq_fail_memory(error, "sentences");
  if (identical) *why = "identical sides";
  return CQ_OK;
}

cq_status cq_corpus_filter(cq_corpus_counts *counts, const cq_corpus_filter_options *o, cq_error *error) {
  *counts = (cq_corpus_counts){0};
  if (o->n_languages > CQ_ROW_MOST) return cq_fail(error, CQ_ERR_ARGUMENT, "%zu languages", o->n_languages);
  filter f = {.o = o};
  for (size_t i = 0; i < o->n_languages; i++)
    if (!o->languages[i][0] || !cq_scripts_of_language(&f.scripts[i], o->languages[i]))
      return cq_fail(error, CQ_ERR_ARGUMENT, "what language '%s' is written in is not known", o->languages[i]);
  cq_row_reader rows = {.paths = o->inputs,
                        .n_paths = o->n_inputs,
                        .least = o->n_languages > 2 ? o->n_languages : 2,
                        .flow = &o->flow,
                        .counts = counts};
  cq_status status = cq_corpus_check_inputs(o->inputs, o->n_inputs, NULL, 0, error);
  if (!status) status = cq_corpus_choose(&rows, judge, &f, error);
  cq_builder_free(&f.keys);
  return status;
}
