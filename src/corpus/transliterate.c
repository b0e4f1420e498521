/* Writes names in another language's letters, by rules learned from the names in a dictionary:
 *
 *   dictionary ──▶ words and translations that sound alike        Obama, Обама
 *                   ──expectation maximization──▶ letter correspondences, and other pairs that fit them
 *                   ──▶ a joint n-gram model of both spellings
 *   text ──▶ words that never occur in lower case and are not in the dictionary ──▶ their best spelling */
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "corpus/joint_ngrams.h"
#include "corpus/word_counts.h"
#include "text/romanize.h"
#include "text/script.h"
#include "text/unicode.h"

#include <math.h>

static const char no_letters[] = "of which too few names of the dictionary say how they are written";
static const char no_spelling[] = "with letters that no name of the dictionary has";

#define O cq_corpus_transliterate_options
static const cq_option option_rows[] = {
    CQ_CORPUS_INPUT_ROW(O),
    {CQ_TEXTS(O, "text", texts, n_texts, CHANGES, "FILE",
              "text of the dictionary's first language, each row's first column: its names are looked for"),
     .flags = CQ_OPTION_REQUIRED},
    {CQ_COUNT(O, "min-pairs", min_pairs, CHANGES, 100, 1, 0, "N",
              "write nothing where fewer words of the dictionary sound like their translations")},
    CQ_CORPUS_OUTPUT_ROWS(O),
};
#undef O
const cq_option_group cq_group_corpus_transliterate =
    CQ_CORPUS_GROUP("corpus-transliterate", cq_corpus_transliterate_options, NULL);

enum {
  MIN_LETTERS = 3,     /* of a name */
  MIN_PAIRED = 2,      /* minimum letters of a word and of its translation for learning from them */
  MIN_CODES = 3,       /* min consonants that two words must have in common */
  ENOUGH_NAMES = 1000, /* with this many names among the pairs, other words are not used for learning */
  FIRST_ITERATIONS = 6,
  LAST_ITERATIONS = 5,
};
#define MIN_GAIN 0.5 /* per letter: log probability of a pair, minus that of its letters independently */

/* How often letters are in words. */
typedef struct letter_counts {
  cq_map counts;
  double total;
} letter_counts;

typedef struct candidates {
  cq_joint_pair *pairs;
  bool *is_name; /* by its capital, in the first language */
  size_t n, capacities[2];
} candidates;

typedef struct transliterator {
  const cq_corpus_transliterate_options *o;
  cq_corpus_flow flow;
  cq_word_counts words;
  cq_map known; /* folded words of the dictionary */
  cq_map seen;  /* pairs */
  candidates all;
  letter_counts of_source, of_target;
  cq_arena texts;
  cq_builder scratch, codes[2];
  cq_romanizer *romanizer;
  cq_joint_ngrams model;
} transliterator;

/* --- the dictionary --- */

/* The number of letters of a single word; 0: not a single word, or too long for learning. */
static size_t letters_of_word(cq_slice text) {
  size_t n = 0;
  for (uint32_t code; cq_utf8_next(&code, &text); n++)
    if (!cq_char_is_spelled(code)) return 0;
  return n <= CQ_JOINT_LETTERS ? n : 0;
}

typedef enum writing { SMALL, NAME, ABBREVIATION } writing;
static writing writing_of(cq_slice word) {
  uint32_t first, second;
  const size_t n = cq_utf8_decode(&first, word.data, word.n);
  if (!cq_char_is_capital(first)) return SMALL;
  return n < word.n && cq_utf8_decode(&second, word.data + n, word.n - n) && cq_char_is_capital(second) ? ABBREVIATION
                                                                                                        : NAME;
}

static bool count_letters(letter_counts *l, cq_slice word) {
  for (size_t i = 0; i < word.n;) {
    uint32_t code;
    const size_t n = cq_utf8_decode(&code, word.data + i, word.n - i);
    cq_map_entry *entry = cq_map_at(&l->counts, (cq_slice){word.data + i, n});
    if (!entry) return false;
    entry->value = entry->value == CQ_MAP_NONE ? 1 : entry->value + 1;
    l->total++, i += n;
  }
  return true;
}

static bool add_pair(transliterator *t, cq_joint_pair pair, bool is_name) {
  candidates *c = &t->all;
  cq_builder_clear(&t->scratch);
  cq_builder_bytes(&t->scratch, pair.source.data, pair.source.n);
  cq_builder_char(&t->scratch, '\t');
  cq_builder_bytes(&t->scratch, pair.target.data, pair.target.n);
  cq_map_entry *entry = t->scratch.failed ? NULL : cq_map_at(&t->seen, (cq_slice){t->scratch.data, t->scratch.n});
  if (!entry) return false;
  if (entry->value != CQ_MAP_NONE) return true;
  if (!cq_reserve((void **)&c->pairs, &c->capacities[0], c->n + 1, sizeof *c->pairs) ||
      !cq_reserve((void **)&c->is_name, &c->capacities[1], c->n + 1, sizeof *c->is_name) ||
      !count_letters(&t->of_source, pair.source) || !count_letters(&t->of_target, pair.target))
    return false;
  entry->value = c->n;
  c->pairs[c->n] = pair, c->is_name[c->n++] = is_name;
  return true;
}

static bool add_translation(transliterator *t, cq_slice source, bool is_name, cq_slice translation) {
  const cq_slice folded = cq_word_counts_fold(&t->words, translation);
  const char *copy = folded.data ? cq_arena_strndup(&t->texts, folded.data, folded.n) : NULL;
  return copy && add_pair(t, (cq_joint_pair){source, {copy, folded.n}}, is_name);
}

static bool add_entry(void *context, const cq_row *row) {
  transliterator *t = context;
  const cq_slice word = cq_slice_trimmed(row->columns[0]);
  const cq_slice folded = cq_word_counts_fold(&t->words, word);
  cq_map_entry *known = folded.data ? cq_map_at(&t->known, folded) : NULL;
  if (!known) return false;
  known->value = 1;
  const cq_slice source = {known->key, known->n};
  if (letters_of_word(word) < MIN_PAIRED || writing_of(word) == ABBREVIATION) return true;
  const int script = cq_script_of(word);
  for (size_t c = 1; c < row->n; c++) {
    const cq_slice translation = cq_slice_trimmed(row->columns[c]);
    if (letters_of_word(translation) < MIN_PAIRED || cq_script_of(translation) == script) continue;
    if (!add_translation(t, source, writing_of(word) == NAME, translation)) return false;
  }
  return true;
}

/* --- pairs to learn from --- */

/* The consonants of a word, one symbol per group of similar ones, as in Soundex (Russell 1918), but including the first
 * letter and of any length. */
static bool sound_codes(cq_builder *out, transliterator *t, cq_slice word) {
  static const char codes[] = "01230120022455012623010202"; /* of a to z; 0: none */
  cq_builder_clear(&t->scratch);
  cq_romanize(&t->scratch, t->romanizer, word);
  cq_builder_clear(out);
  for (size_t i = 0; i < t->scratch.n; i++) {
    const char letter = t->scratch.data[i];
    const char code = letter >= 'a' && letter <= 'z' ? codes[letter - 'a'] : '0';
    if (code != '0' && !(out->n && out->data[out->n - 1] == code)) cq_builder_char(out, code);
  }
  return !t->scratch.failed && !out->failed;
}

static bool sounds_alike(bool *out, transliterator *t, cq_joint_pair pair) {
  const cq_builder *a = &t->codes[0], *b = &t->codes[1];
  if (!sound_codes(&t->codes[0], t, pair.source) || !sound_codes(&t->codes[1], t, pair.target)) return false;
  *out = a->n >= MIN_CODES && cq_slice_equal((cq_slice){a->data, a->n}, (cq_slice){b->data, b->n});
  return true;
}

/* Log probability of a word's letters under the unigram distribution. */
static double of_letters(const letter_counts *l, cq_slice word, size_t *n) {
  double sum = 0;
  *n = 0;
  for (size_t i = 0; i < word.n; ++*n) {
    uint32_t code;
    const size_t length = cq_utf8_decode(&code, word.data + i, word.n - i);
    sum += log((double)cq_map_get(&l->counts, (cq_slice){word.data + i, length}) / l->total);
    i += length;
  }
  return sum;
}

/* Whether the model gives a pair a higher probability than two unrelated words. */
static bool is_spelled_alike(bool *out, transliterator *t, cq_joint_pair pair) {
  size_t n_source, n_target;
  const double by_chance =
      of_letters(&t->of_source, pair.source, &n_source) + of_letters(&t->of_target, pair.target, &n_target);
  const double letters = (double)(n_source > n_target ? n_source : n_target);
  *out = cq_joint_score(&t->model, pair) - by_chance > MIN_GAIN * letters;
  return true;
}

static void swap_candidates(candidates *c, size_t i, size_t j) {
  const cq_joint_pair pair = c->pairs[i];
  const bool is_name = c->is_name[i];
  c->pairs[i] = c->pairs[j], c->is_name[i] = c->is_name[j];
  c->pairs[j] = pair, c->is_name[j] = is_name;
}

/* False when out of memory. */
typedef bool (*pair_check)(bool *out, transliterator *t, cq_joint_pair pair);
/* Moves the *n candidates that pass a check to the front. */
static cq_status choose_pairs(size_t *n, transliterator *t, pair_check check, const cq_corpus_counts *counts,
                              cq_error *error) {
  candidates *c = &t->all;
  cq_status status = CQ_OK;
  *n = 0;
  for (size_t i = 0; !status && i < c->n; i++) {
    bool is_chosen = false;
    if (!check(&is_chosen, t, c->pairs[i])) return cq_fail_memory(error, "words that sound alike");
    if (i % CQ_CORPUS_EVERY == 0) status = cq_corpus_ask(counts, &t->flow, error);
    if (is_chosen) swap_candidates(c, i, (*n)++);
  }
  return status;
}

/* Moves the names among the first *n to the front; if there are enough, sets *n to their number. */
static void prefer_names(size_t *n, transliterator *t) {
  candidates *c = &t->all;
  size_t n_names = 0;
  for (size_t i = 0; i < *n; i++)
    if (c->is_name[i]) swap_candidates(c, i, n_names++);
  if (n_names >= ENOUGH_NAMES) *n = n_names;
}

/* *learned: whether there were enough pairs. */
static cq_status learn(bool *learned, transliterator *t, const cq_corpus_counts *counts, cq_error *error) {
  size_t n = 0;
  *learned = false;
  cq_status status = choose_pairs(&n, t, sounds_alike, counts, error);
  if (status || n < t->o->min_pairs) return status;
  if (!cq_joint_learn(&t->model, t->all.pairs, n, FIRST_ITERATIONS)) return cq_fail_memory(error, "letters");
  status = choose_pairs(&n, t, is_spelled_alike, counts, error);
  if (status || n < t->o->min_pairs) return status;
  prefer_names(&n, t);
  if (!cq_joint_learn(&t->model, t->all.pairs, n, LAST_ITERATIONS) || !cq_joint_count(&t->model, t->all.pairs, n))
    return cq_fail_memory(error, "letters");
  *learned = true;
  return CQ_OK;
}

/* --- names --- */

static bool is_name(const transliterator *t, const cq_word *word) {
  return writing_of(word->text) == NAME && letters_of_word(word->text) >= MIN_LETTERS &&
         cq_map_get(&t->known, word->folded) == CQ_MAP_NONE;
}

static cq_status write_name(transliterator *t, cq_row_writer *w, const cq_word *word, cq_error *error) {
  cq_builder_clear(&t->scratch);
  if (!cq_joint_spell(&t->scratch, &t->model, word->folded)) return cq_fail_memory(error, "a name's letters");
  if (t->scratch.n == 0) {
    cq_corpus_drop(w->counts, no_spelling);
    return CQ_OK;
  }
  const cq_row row = {.columns = {word->text, {t->scratch.data, t->scratch.n}}, .n = 2};
  return cq_row_writer_put(w, &row, error);
}

static cq_status write_names(transliterator *t, bool learned, cq_row_writer *w, cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < t->words.n; i++) {
    if (!is_name(t, &t->words.items[i])) continue;
    status = cq_corpus_count_row(w->counts, &t->flow, error);
    if (status) break;
    if (learned)
      status = write_name(t, w, &t->words.items[i], error);
    else
      cq_corpus_drop(w->counts, no_letters);
  }
  return status;
}

static void transliterator_free(transliterator *t) {
  cq_word_counts_close(&t->words);
  cq_map_free(&t->known);
  cq_map_free(&t->seen);
  cq_free(t->all.pairs);
  cq_free(t->all.is_name);
  cq_map_free(&t->of_source.counts);
  cq_map_free(&t->of_target.counts);
  cq_arena_free(&t->texts);
  cq_builder_free(&t->scratch);
  for (int i = 0; i < 2; i++) cq_builder_free(&t->codes[i]);
  cq_romanizer_free(t->romanizer);
  cq_joint_close(&t->model);
}

cq_status cq_corpus_transliterate(cq_corpus_counts *counts, const cq_corpus_transliterate_options *options,
                                  cq_error *error) {
  cq_corpus_transliterate_options o;
  *counts = (cq_corpus_counts){0};
  cq_status status = cq_options_take(&o, &cq_group_corpus_transliterate, options, error);
  if (status) return status;
  transliterator t = {.o = &o, .flow = CQ_CORPUS_FLOW(&o)};
  cq_row_writer writer;
  bool learned = false;
  status = cq_corpus_check_inputs(o.inputs, o.n_inputs, o.texts, o.n_texts, error);
  if (!status) status = cq_word_counts_open(&t.words, error);
  if (!status) status = cq_romanizer_open(&t.romanizer, error);
  if (!status && !cq_joint_open(&t.model)) status = cq_fail_memory(error, "letters");
  if (!status)
    status = cq_corpus_visit_rows(o.inputs, o.n_inputs, 2, add_entry, &t, "a dictionary", &t.flow, counts, error);
  if (!status) status = cq_word_counts_read(&t.words, o.texts, o.n_texts, CQ_FIRST_COLUMN, &t.flow, counts, error);
  if (!status) status = learn(&learned, &t, counts, error);
  if (!status && !(status = cq_row_writer_open(&writer, &t.flow, counts, error)))
    status = cq_row_writer_finish(&writer, write_names(&t, learned, &writer, error), error);
  transliterator_free(&t);
  return status;
}
