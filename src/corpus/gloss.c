/* Translates sentences word by word:
 *
 *   dictionary ──▶ words and phrases ──▶ translations, weighted by their frequency in text
 *   sentence ──the longest phrase at each word──▶ one of its translations, drawn by weight
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/multimap.h"
#include "base/random.h"
#include "corpus/format.h"
#include "corpus/word_counts.h"

#include <math.h>
#include <string.h>

static const char no_word_known[] = "without a word of the dictionary";
static const char few_words_known[] = "with too few words of the dictionary";

#define O cq_corpus_gloss_options
static const cq_option option_rows[] = {
    CQ_CORPUS_INPUT_ROW(O),
    {CQ_TEXTS(O, "dictionary", dictionaries, n_dictionaries, CHANGES, "FILE", "rows of a word and its translations"),
     .letter = 'd', .flags = CQ_OPTION_REQUIRED},
    {CQ_TEXTS(O, "text", texts, n_texts, CHANGES, "FILE",
              "text of the other language, every column of it: translations are drawn in proportion to their frequency "
              "in it"),
     .otherwise = "all translations equally often"},
    {CQ_SIZE(O, "column", column, CHANGES, 1, 1, CQ_ROW_MAX, "N", "the files' column with the sentences")},
    {CQ_NUMBER(O, "min-known", min_known, CHANGES, 0, 0, 1, "SHARE",
               "drop sentences with a smaller share of known words; at least one must be known")},
    {CQ_COUNT(O, "seed", seed, CHANGES, 1, 0, 0, "N", "seed of the choice among a word's translations")},
    CQ_CORPUS_OUTPUT_ROWS(O),
};
#undef O
const cq_option_group cq_group_corpus_gloss = CQ_CORPUS_GROUP("corpus-gloss", cq_corpus_gloss_options, NULL);

enum { MAX_PHRASE = 8 }; /* words of a headword that are looked up together */
/* The weight of a translation that is not in the text, and the factor for each word beyond the first. */
static const double weight_unseen = 0.01, weight_of_another_word = 0.25;

typedef struct translation {
  cq_slice text;
  double weight;
  size_t max_words; /* words of a translation; longer ones are explanations */
} translation;

typedef struct glosser {
  const cq_corpus_gloss_options *o;
  cq_corpus_flow flow;
  cq_multimap words;         /* by the folded word or phrase */
  translation *translations; /* [words.n] */
  size_t capacity;
  size_t longest; /* length in words of the dictionary's longest phrase, at most MAX_PHRASE */
  cq_arena texts;
  cq_word_counts text;
  cq_splitter splitter;
  cq_builder line;
} glosser;

/* --- the dictionary --- */

static bool add_translation(glosser *g, cq_slice word, size_t n_words, cq_slice text) {
  const size_t n = g->words.n + 1;
  const char *copy = cq_arena_strndup(&g->texts, text.data, text.n);
  if (!copy || !cq_reserve((void **)&g->translations, &g->capacity, n, sizeof *g->translations) ||
      !cq_multimap_add(&g->words, word))
    return false;
  g->translations[n - 1] = (translation){{copy, text.n}, 1, 2 * n_words + 1};
  return true;
}

/* Some dictionaries have English verbs as "to go". */
static cq_slice without_to(cq_slice word) {
  return word.n > 3 && !memcmp(word.data, "to ", 3) ? (cq_slice){word.data + 3, word.n - 3} : word;
}

static bool add_gloss(void *context, const cq_row *row) {
  glosser *g = context;
  const cq_slice folded = cq_word_counts_fold(&g->text, cq_slice_trimmed(row->columns[0]));
  if (!folded.data) return false;
  const cq_slice word = without_to(folded);
  if (word.n == 0) return true;
  if (!cq_splitter_run(&g->splitter, word)) return false;
  const size_t n_words = g->splitter.n;
  if (g->splitter.n > g->longest) g->longest = cq_min(g->splitter.n, MAX_PHRASE);
  for (size_t c = 1; c < row->n; c++) {
    const cq_slice text = cq_slice_trimmed(row->columns[c]);
    if (text.n && !add_translation(g, word, n_words, text)) return false;
  }
  return true;
}

/* --- weights --- */

/* A translation's frequency in text: that of its rarest word, reduced for each additional word. Explanations are not
 * counted as translations. */
static cq_status weigh(glosser *g, translation *t, cq_error *error) {
  double rarest = HUGE_VAL, factor = 1;
  if (!cq_splitter_run(&g->splitter, t->text)) return cq_fail_memory(error, "words of a translation");
  for (size_t i = 0; i < g->splitter.n; i++) {
    const cq_slice word = cq_word_counts_fold(&g->text, g->splitter.items[i]);
    if (!word.data) return cq_fail_memory(error, "a word");
    rarest = fmin(rarest, (double)cq_word_counts_of(&g->text, word));
    if (i > 0) factor *= weight_of_another_word;
  }
  if (g->splitter.n > t->max_words)
    t->weight = 0;
  else if (g->o->n_texts)
    t->weight = g->splitter.n && rarest > 0 ? rarest * factor : weight_unseen;
  return CQ_OK;
}

static cq_status weigh_translations(glosser *g, cq_corpus_counts *counts, cq_error *error) {
  cq_status status = cq_word_counts_read(&g->text, g->o->texts, g->o->n_texts, CQ_ALL_COLUMNS, &g->flow, counts, error);
  for (size_t i = 0; !status && i < g->words.n; i++) status = weigh(g, &g->translations[i], error);
  return status;
}

/* --- sentences --- */

/* Draws one of a folded phrase's translations by weight; data NULL: it has none. */
static cq_slice translate_phrase(glosser *g, cq_slice phrase, cq_random *random) {
  const uint32_t first = cq_multimap_first(&g->words, phrase);
  double total = 0;
  for (uint32_t i = first; i != CQ_MULTIMAP_NONE; i = cq_multimap_next(&g->words, i))
    total += g->translations[i].weight;
  if (!(total > 0)) return (cq_slice){0};
  double left = cq_random_uniform(random) * total;
  uint32_t at = first;
  for (uint32_t i = first; i != CQ_MULTIMAP_NONE && left >= 0; i = cq_multimap_next(&g->words, i))
    if (g->translations[i].weight > 0) left -= g->translations[at = i].weight;
  return g->translations[at].text;
}

/* *out: the translation of the longest phrase that begins at word i, data NULL for none; *n: its words. False when out
 * of memory. */
static bool translate_from(cq_slice *out, size_t *n, glosser *g, size_t i, cq_random *random) {
  const cq_slice *words = g->splitter.items;
  for (*n = cq_min(g->longest, g->splitter.n - i); *n > 0; --*n) {
    const cq_slice last = words[i + *n - 1];
    const cq_slice phrase = {words[i].data, (size_t)(last.data + last.n - words[i].data)};
    const cq_slice folded = cq_word_counts_fold(&g->text, phrase);
    if (!folded.data) return false;
    *out = translate_phrase(g, folded, random);
    if (out->data) return true;
  }
  *n = 1;
  *out = (cq_slice){0};
  return true;
}

/* g->line = the sentence with its known words translated. */
static cq_status gloss_sentence(uint64_t *n_known, glosser *g, cq_slice sentence, cq_random *random, cq_error *error) {
  const char *at = sentence.data, *end = sentence.data + sentence.n;
  *n_known = 0;
  cq_builder_clear(&g->line);
  if (!cq_splitter_run(&g->splitter, sentence)) return cq_fail_memory(error, "a sentence's words");
  for (size_t i = 0, n; i < g->splitter.n; i += n) {
    cq_slice other;
    if (!translate_from(&other, &n, g, i, random)) return cq_fail_memory(error, "a word");
    if (!other.data) continue;
    const cq_slice first = g->splitter.items[i], last = g->splitter.items[i + n - 1];
    cq_builder_bytes(&g->line, at, (size_t)(first.data - at));
    cq_builder_bytes(&g->line, other.data, other.n);
    at = last.data + last.n;
    *n_known += n;
  }
  cq_builder_bytes(&g->line, at, (size_t)(end - at));
  return g->line.failed ? cq_fail_memory(error, "a sentence") : CQ_OK;
}

static cq_status gloss_rows(glosser *g, cq_source *rows, cq_row_writer *w, cq_error *error) {
  cq_row row;
  cq_status status = CQ_OK;
  for (uint64_t number = 0; cq_source_more(&status, &row, rows, error); number++) {
    cq_random random = cq_random_seeded(g->o->seed, number);
    uint64_t n_known;
    if (row.n < g->o->column) return cq_fail(error, CQ_ERR_ARGUMENT, "column %zu: rows have %zu", g->o->column, row.n);
    const cq_slice sentence = row.columns[g->o->column - 1];
    status = gloss_sentence(&n_known, g, sentence, &random, error);
    if (status) return status;
    if (n_known == 0 || (double)n_known / (double)g->splitter.n < g->o->min_known) {
      cq_corpus_drop(rows->files.counts, n_known ? few_words_known : no_word_known);
      continue;
    }
    const cq_row out = {.columns = {sentence, {g->line.data, g->line.n}}, .n = 2};
    status = cq_row_writer_put(w, &out, error);
  }
  return status;
}

static void glosser_free(glosser *g) {
  cq_multimap_free(&g->words);
  cq_free(g->translations);
  cq_word_counts_close(&g->text);
  cq_arena_free(&g->texts);
  cq_splitter_close(&g->splitter);
  cq_builder_free(&g->line);
}

cq_status cq_corpus_gloss(cq_corpus_counts *counts, const cq_corpus_gloss_options *options, cq_error *error) {
  cq_corpus_gloss_options o;
  *counts = (cq_corpus_counts){0};
  cq_status status = cq_options_take(&o, &cq_group_corpus_gloss, options, error);
  if (status) return status;
  glosser g = {.o = &o, .flow = CQ_CORPUS_FLOW(&o)};
  cq_source rows = CQ_SOURCE(o.inputs, o.n_inputs, o.column, &g.flow, counts);
  cq_row_writer writer;
  status = cq_corpus_check_inputs(o.inputs, o.n_inputs, o.dictionaries, o.n_dictionaries, error);
  if (!status) status = cq_word_counts_open(&g.text, error);
  if (!status) status = cq_splitter_open(&g.splitter, CQ_SPLIT_WORDS, error);
  if (!status)
    status = cq_corpus_visit_rows(o.dictionaries, o.n_dictionaries, 2, add_gloss, &g, "a dictionary", &g.flow, counts,
                                  error);
  if (!status && g.words.n == 0)
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, o.dictionaries[0], "no word with a translation");
  if (!status) status = weigh_translations(&g, counts, error);
  if (!status && !(status = cq_row_writer_open(&writer, &g.flow, counts, error)))
    status = cq_row_writer_finish(&writer, gloss_rows(&g, &rows, &writer, error), error);
  cq_source_close(&rows);
  glosser_free(&g);
  return status;
}
