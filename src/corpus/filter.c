/* Drops rows that are unlikely to be translations, and counts each under its reason. */
#include "base/error.h"
#include "base/hash.h"
#include "base/key_set.h"
#include "base/utf8.h"
#include "calque/language.h"
#include "corpus/clean.h"
#include "corpus/format.h"
#include "corpus/key.h"
#include "text/identify.h"
#include "text/pair_filter.h"
#include "text/script.h"
#include "text/unicode.h"

#include <string.h>

static const char *const drops[] = {"numbers", "links", "inconsistent", NULL}; /* CQ_FILTER_ */

#define O cq_corpus_filter_options
static const cq_option option_rows[] = {
    CQ_CORPUS_INPUT_ROW(O),
    {CQ_COUNT(O, "min-characters", min_characters, CHANGES, 1, 0, 0, "N", "minimum length of a side")},
    {CQ_COUNT(O, "max-characters", max_characters, CHANGES, 1000, 0, 0, "N", "maximum length of a side; 0: no limit")},
    {CQ_NUMBER(O, "max-ratio", max_ratio, CHANGES, 3, 0, 1e6, "X",
               "maximum ratio of the longer side's characters to the shorter's, after adding ten to both; 0: any")},
    {CQ_TEXTS(O, "languages", languages, n_languages, CHANGES, "A,B,...",
              "language codes of the columns: drop rows in another script"),
     .letter = 'l', .flags = CQ_OPTION_COMMAS, .otherwise = "any"},
    {CQ_FLAG(O, "keep-identical", keep_identical, CHANGES, "keep rows with two sides of the same letters and digits")},
    CQ_CORPUS_FILE_ROWS(O),
    {CQ_NUMBER(O, "other-language", other_language, CHANGES, 0, 0, 1, "P",
               "drop rows if a side is identified, with a probability of P or more, as a language other than in "
               "--languages; 0: none. 0.9 drops 3 of 1,000 correct rows")},
    CQ_CORPUS_REJECTED_ROW(O),
    {CQ_CHOICES(
        O, "clean", clean, CHANGES, cq_cleanings, "KIND,...",
        "first remove from text of user interfaces: markup, accelerators (_File, &File), placeholders (%s, {name}, "
        "$1), ellipses at the end")},
    {CQ_CHOICES(
        O, "drop", drop, CHANGES, drops, "KIND,...",
        "drop rows whose sides have different digits (numbers); a URL or an address on one side only, or little "
        "else (links); a source that was translated otherwise before (inconsistent)")},
    {CQ_NUMBER(O, "min-cosine", min_cosine, CHANGES, -1, -1, 1, "X",
               "with a model: drop rows whose sides have a lower cosine"),
     .otherwise = "any"},
    {CQ_COUNT(O, "max-word", max_word, CHANGES, 0, 0, 0, "N",
              "drop rows with a longer word, in characters, where words have blanks between them; 0: any")},
    {CQ_NUMBER(O, "min-letters", min_letters, CHANGES, 0, 0, 1, "SHARE",
               "drop rows with a side that has fewer letters among its characters other than blanks; 0: any")},
    {CQ_NUMBER(O, "max-repetition", max_repetition, CHANGES, 1, 0, 1, "SHARE",
               "drop rows with a side of ten words or more with more of its three words in a row repeated; 1: any")},
};
#undef O
static cq_status check_filter_options(const void *options, cq_error *error) {
  const cq_corpus_filter_options *o = options;
  if (o->n_languages > CQ_ROW_MAX) return cq_fail(error, CQ_ERR_ARGUMENT, "%zu languages", o->n_languages);
  if (o->min_cosine > -1 && !o->cosines) return cq_fail(error, CQ_ERR_ARGUMENT, "min-cosine needs a model");
  if (o->cosines && o->min_cosine <= -1)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a model has no use without min-cosine");
  if (o->other_language > 0 && !o->n_languages)
    return cq_fail(error, CQ_ERR_ARGUMENT, "other-language needs languages");
  for (size_t i = 0; o->other_language > 0 && i < o->n_languages; i++)
    if (!cq_language_known_as(o->languages[i]))
      return cq_fail(error, CQ_ERR_ARGUMENT, "other-language: '%s' is not a language that calque identifies",
                     o->languages[i]);
  return CQ_OK;
}
const cq_option_group cq_group_corpus_filter = {
    .name = "corpus-filter",
    CQ_ROWS(cq_corpus_filter_options, option_rows),
    .check = check_filter_options,
    CQ_FIELDS(CQ_CALLBACK(cq_corpus_filter_options, progress), CQ_CALLBACK(cq_corpus_filter_options, cosines))};

typedef struct filter {
  const cq_corpus_filter_options *o;
  cq_scripts scripts[CQ_ROW_MAX]; /* of the languages */
  const char *known[CQ_ROW_MAX];  /* their codes for identification */
  uint64_t characters[CQ_ROW_MAX];
  cq_builder keys;
  cq_builder line, room[2];
  cq_key_set sources, pairs; /* that are kept */
  cq_key_set seen;           /* words of a side */
} filter;

/* Cleans a row's columns, and makes its line of them. */
static bool clean_row(filter *f, cq_row *row) {
  size_t ends[CQ_ROW_MAX];
  cq_builder_clear(&f->line);
  for (size_t c = 0; c < row->n; c++) {
    if (c > 0) cq_builder_char(&f->line, '\t');
    cq_clean(&f->line, row->columns[c], f->o->clean, f->room);
    ends[c] = f->line.n;
  }
  if (f->line.failed) return false;
  row->line = (cq_slice){f->line.data ? f->line.data : "", f->line.n};
  for (size_t c = 0; c < row->n; c++) {
    const size_t begin = c > 0 ? ends[c - 1] + 1 : 0;
    row->columns[c] = (cq_slice){row->line.data + begin, ends[c] - begin};
  }
  return true;
}

/* The share of a side's sequences of three words that stood in it before. */
static double repetition_of(filter *f, cq_slice side) {
  uint64_t words[3] = {0, 0, 0};
  size_t n_words = 0, n_repeated = 0;
  cq_key_set_free(&f->seen);
  for (size_t begin = 0, end; begin < side.n; begin = end + 1) {
    for (end = begin; end < side.n && !cq_is_blank(side.data[end]);) end++;
    if (end == begin) continue;
    words[0] = words[1], words[1] = words[2], words[2] = cq_hash64(side.data + begin, end - begin, 0);
    bool is_new = true;
    if (++n_words >= 3 && cq_key_set_put(&is_new, &f->seen, cq_hash64((const char *)words, sizeof words, 0)))
      n_repeated += !is_new;
  }
  return n_words < 10 ? 0 : (double)n_repeated / (double)(n_words - 2);
}

/* Why a side alone is no sentence; NULL: nothing is wrong. */
static const char *fault_of(filter *f, cq_slice side) {
  const cq_corpus_filter_options *o = f->o;
  size_t n_letters = 0, n_characters = 0, n_word = 0, longest = 0;
  if (!o->max_word && o->min_letters <= 0 && o->max_repetition >= 1) return NULL;
  const bool has_blanks = !cq_script_has_no_spaces(cq_script_of(side));
  cq_slice rest = side;
  for (uint32_t c; cq_utf8_next(&c, &rest);) {
    const bool is_blank = cq_char_is_whitespace(c);
    n_word = is_blank || !has_blanks ? 0 : n_word + 1;
    if (n_word > longest) longest = n_word;
    n_characters += !is_blank, n_letters += cq_char_is_letter(c) || cq_char_is_mark(c);
  }
  if (o->max_word && longest > o->max_word) return "a long word";
  if (side.n && (double)n_letters < o->min_letters * (double)n_characters) return "few letters";
  return o->max_repetition < 1 && repetition_of(f, side) > o->max_repetition ? "repetitions" : NULL;
}

/* Small differences mean nothing in short sentences, so ten characters are added to both lengths. */
static bool is_lopsided(const filter *f, size_t n) {
  enum { SMOOTHING = 10 };
  uint64_t min = UINT64_MAX, max = 0;
  for (size_t c = 0; c < n; c++) {
    if (f->characters[c] == 0) continue;
    if (f->characters[c] < min) min = f->characters[c];
    if (f->characters[c] > max) max = f->characters[c];
  }
  return (double)(max + SMOOTHING) > f->o->max_ratio * (double)(min + SMOOTHING);
}

static bool is_foreign(const filter *f, const cq_row *row) {
  for (size_t c = 0; c < row->n && c < f->o->n_languages; c++) {
    const int script = cq_script_of(row->columns[c]);
    if (script != CQ_SCRIPT_NONE && !cq_scripts_have(&f->scripts[c], script)) return true;
  }
  return false;
}

static bool is_other_language(const filter *f, const cq_row *row) {
  for (size_t c = 0; c < row->n && c < f->o->n_languages; c++) {
    const cq_language_guess guess = cq_language_identify(row->columns[c]);
    if (guess.probability >= f->o->other_language && strcmp(guess.code, f->known[c]) != 0) return true;
  }
  return false;
}

/* *is: the source has another translation already, which is the one that counts. */
static bool find_inconsistent(bool *is, filter *f, cq_slice source, cq_slice target) {
  uint64_t key = cq_hash64(source.data, source.n, 0);
  bool is_new;
  if (!cq_key_set_put(&is_new, &f->sources, key)) return false;
  key = cq_hash64(target.data, target.n, key);
  *is = !is_new && !cq_key_set_has(&f->pairs, key);
  return *is || cq_key_set_put(&is_new, &f->pairs, key);
}

static cq_status check_translation(const char **why, void *context, cq_row *row, cq_error *error) {
  filter *f = context;
  const cq_corpus_filter_options *o = f->o;
  bool identical = false, failed = false;
  *why = NULL;
  if (f->o->clean && !clean_row(f, row)) return cq_fail_memory(error, "sentences");
  for (size_t c = 0; c < row->n; c++) {
    const cq_slice side = cq_slice_trimmed(row->columns[c]);
    f->characters[c] = cq_utf8_length(side.data, side.n);
    if (side.n == 0) { /* some translations of a row may be missing */
      if (c == 0 || row->n == 2) *why = "empty";
      continue;
    }
    if (f->characters[c] < o->min_characters) *why = *why ? *why : "too short";
    if (o->max_characters && f->characters[c] > o->max_characters) *why = *why ? *why : "too long";
  }
  if (!*why && o->max_ratio > 0 && is_lopsided(f, row->n)) *why = "lengths too different";
  for (size_t c = 0; c < row->n && !*why; c++) *why = fault_of(f, cq_slice_trimmed(row->columns[c]));
  if (!*why && is_foreign(f, row)) *why = "another script";
  if (!*why && o->other_language > 0 && is_other_language(f, row)) *why = "another language";
  if (!*why && !o->keep_identical) failed = !cq_key_some_equal(&identical, row->columns, row->n, &f->keys);
  if (identical) *why = "identical sides";
  const cq_slice source = cq_slice_trimmed(row->columns[0]), target = cq_slice_trimmed(row->columns[1]);
  if (!*why && (o->drop & CQ_FILTER_NUMBERS) && cq_filter_pair(source, target, CQ_DROP_NUMBERS, &failed))
    *why = "different numbers";
  if (!*why && (o->drop & CQ_FILTER_LINKS) && cq_filter_pair(source, target, CQ_DROP_LINKS, &failed)) *why = "links";
  if (!*why && (o->drop & CQ_FILTER_INCONSISTENT)) failed |= !find_inconsistent(&identical, f, source, target);
  if (!*why && (o->drop & CQ_FILTER_INCONSISTENT) && identical) *why = "another translation of the source";
  return failed ? cq_fail_memory(error, "sentences") : CQ_OK;
}

cq_status cq_corpus_filter(cq_corpus_counts *counts, const cq_corpus_filter_options *options, cq_error *error) {
  cq_corpus_filter_options o;
  *counts = (cq_corpus_counts){0};
  cq_status status = cq_options_take(&o, &cq_group_corpus_filter, options, error);
  if (status) return status;
  filter f = {.o = &o};
  for (size_t i = 0; i < o.n_languages; i++)
    if (!o.languages[i][0] || !cq_scripts_of_language(&f.scripts[i], o.languages[i]))
      return cq_fail(error, CQ_ERR_ARGUMENT, "the script of the language '%s' is not known", o.languages[i]);
  for (size_t i = 0; o.other_language > 0 && i < o.n_languages; i++) f.known[i] = cq_language_known_as(o.languages[i]);
  cq_corpus_flow flow = CQ_CORPUS_FLOW(&o);
  flow.rejected = o.rejected;
  flow.min_cosine = o.min_cosine, flow.cosines = o.cosines, flow.cosines_context = o.cosines_context;
  cq_source rows = CQ_SOURCE(o.inputs, o.n_inputs, o.n_languages > 2 ? o.n_languages : 2, &flow, counts);
  status = cq_corpus_check_inputs(o.inputs, o.n_inputs, NULL, 0, error);
  if (!status) status = cq_corpus_choose(&rows, check_translation, &f, error);
  cq_builder_free(&f.keys);
  cq_builder_free(&f.line);
  cq_key_set_free(&f.sources);
  cq_key_set_free(&f.pairs);
  cq_key_set_free(&f.seen);
  for (size_t i = 0; i < 2; i++) cq_builder_free(&f.room[i]);
  return status;
}
