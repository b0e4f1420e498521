#include "base/error.h"
#include "base/memory.h"
#include "base/multimap.h"
#include "base/random.h"
#include "corpus/rows.h"
#include "text/unicode.h"
#include "text/word_splitter.h"

static const char no_word_known[] = "without a word of the dictionary";
static const char few_words_known[] = "with too few words of the dictionary";

#define O cq_corpus_gloss_options
static const cq_option option_rows[] = {
    CQ_CORPUS_INPUT_ROW(O),
    {CQ_TEXTS(O, "dictionary", dictionaries, n_dictionaries, CHANGES, "FILE", "rows of a word and its translations"),
     .letter = 'd', .flags = CQ_OPTION_REQUIRED},
    {CQ_SIZE(O, "column", column, CHANGES, 1, 1, CQ_ROW_MAX, "N", "the files' column with the sentences")},
    {CQ_NUMBER(O, "min-known", min_known, CHANGES, 0, 0, 1, "SHARE",
               "drop sentences with a smaller share of known words; one must be known in any case")},
    {CQ_COUNT(O, "seed", seed, CHANGES, 1, 0, 0, "N", "of the choice among a word's translations")},
    CQ_CORPUS_OUTPUT_ROWS(O),
};
#undef O
const cq_option_group cq_group_corpus_gloss = {.name = "corpus-gloss", CQ_ROWS(cq_corpus_gloss_options, option_rows)};

typedef struct glosser {
  const cq_corpus_gloss_options *o;
  cq_corpus_flow flow;
  cq_multimap words;      /* by the folded word */
  cq_slice *translations; /* [words.n] */
  size_t capacity;
  cq_arena texts;
  cq_word_splitter splitter;
  cq_builder folded, line;
} glosser;

static cq_slice fold_word(glosser *g, cq_slice word) {
  cq_builder_clear(&g->folded);
  cq_text_fold(&g->folded, word);
  return (cq_slice){g->folded.data ? g->folded.data : "", g->folded.n};
}

/* --- the dictionary --- */

static bool add_translation(glosser *g, cq_slice word, cq_slice text) {
  const size_t n = g->words.n + 1;
  const char *copy = cq_arena_strndup(&g->texts, text.data, text.n);
  if (!copy || !cq_reserve((void **)&g->translations, &g->capacity, n, sizeof *g->translations) ||
      !cq_multimap_add(&g->words, word))
    return false;
  g->translations[n - 1] = (cq_slice){copy, text.n};
  return true;
}

static bool add_gloss(glosser *g, const cq_row *row) {
  const cq_slice word = fold_word(g, cq_slice_trimmed(row->columns[0]));
  if (g->folded.failed || word.n == 0) return !g->folded.failed;
  for (size_t c = 1; c < row->n; c++) {
    const cq_slice text = cq_slice_trimmed(row->columns[c]);
    if (text.n && !add_translation(g, word, text)) return false;
  }
  return true;
}

static cq_status read_dictionary(glosser *g, cq_corpus_counts *counts, cq_error *error) {
  cq_corpus_counts uncounted = {0}; /* words are no rows */
  cq_row row;
  cq_row_reader rows = {.paths = g->o->dictionaries,
                        .n_paths = g->o->n_dictionaries,
                        .min_columns = 2,
                        .flow = &g->flow,
                        .counts = &uncounted};
  cq_status status;
  while (!(status = cq_row_reader_next(&row, &rows, error)) && row.n)
    if (!add_gloss(g, &row)) {
      status = cq_fail_memory(error, "a dictionary");
      break;
    }
  cq_row_reader_close(&rows);
  cq_corpus_add_dropped(counts, &uncounted);
  return status;
}

/* --- sentences --- */

/* One of a word's translations, at random; NULL data: it has none. */
static cq_slice translate_word(glosser *g, cq_slice word, cq_random *random) {
  const uint32_t first = cq_multimap_first(&g->words, fold_word(g, word));
  uint64_t n = 0;
  for (uint32_t i = first; i != CQ_MULTIMAP_NONE; i = cq_multimap_next(&g->words, i)) n++;
  if (n == 0) return (cq_slice){0};
  uint32_t at = first;
  for (uint64_t skip = cq_random_below(random, n); skip > 0; skip--) at = cq_multimap_next(&g->words, at);
  return g->translations[at];
}

/* g->line = the sentence with those words translated that are known. */
static cq_status gloss_sentence(uint64_t *n_known, glosser *g, cq_slice sentence, cq_random *random, cq_error *error) {
  const char *at = sentence.data, *end = sentence.data + sentence.n;
  *n_known = 0;
  cq_builder_clear(&g->line);
  if (!cq_word_splitter_run(&g->splitter, sentence)) return cq_fail_memory(error, "a sentence's words");
  for (size_t i = 0; i < g->splitter.n; i++) {
    const cq_slice word = g->splitter.items[i], other = translate_word(g, word, random);
    if (g->folded.failed) return cq_fail_memory(error, "a word");
    if (!other.data) continue;
    cq_builder_bytes(&g->line, at, (size_t)(word.data - at));
    cq_builder_bytes(&g->line, other.data, other.n);
    at = word.data + word.n;
    ++*n_known;
  }
  cq_builder_bytes(&g->line, at, (size_t)(end - at));
  return g->line.failed ? cq_fail_memory(error, "a sentence") : CQ_OK;
}

static cq_status gloss_rows(glosser *g, cq_row_reader *rows, cq_row_writer *w, cq_error *error) {
  cq_row row;
  cq_status status;
  for (uint64_t number = 0;; number++) {
    status = cq_row_reader_next(&row, rows, error);
    if (status || row.n == 0) return status;
    cq_random random = cq_random_seeded(g->o->seed, number);
    uint64_t n_known;
    const cq_slice sentence = row.columns[rows->min_columns - 1];
    status = gloss_sentence(&n_known, g, sentence, &random, error);
    if (status) return status;
    if (n_known == 0 || (double)n_known / (double)g->splitter.n < g->o->min_known) {
      cq_corpus_drop(rows->counts, n_known ? few_words_known : no_word_known);
      continue;
    }
    const cq_row out = {.columns = {sentence, {g->line.data, g->line.n}}, .n = 2};
    status = cq_row_writer_put(w, &out, error);
    if (status) return status;
  }
}

static void glosser_free(glosser *g) {
  cq_multimap_free(&g->words);
  cq_free(g->translations);
  cq_arena_free(&g->texts);
  cq_word_splitter_close(&g->splitter);
  cq_builder_free(&g->folded);
  cq_builder_free(&g->line);
}

cq_status cq_corpus_gloss(cq_corpus_counts *counts, const cq_corpus_gloss_options *options, cq_error *error) {
  cq_corpus_gloss_options o;
  *counts = (cq_corpus_counts){0};
  cq_status status = cq_options_take(&o, &cq_group_corpus_gloss, options, error);
  if (status) return status;
  glosser g = {.o = &o, .flow = CQ_CORPUS_FLOW(&o)};
  cq_row_reader rows = {
      .paths = o.inputs, .n_paths = o.n_inputs, .min_columns = o.column, .flow = &g.flow, .counts = counts};
  cq_row_writer writer;
  status = cq_corpus_check_inputs(o.inputs, o.n_inputs, o.dictionaries, o.n_dictionaries, error);
  if (!status) status = cq_word_splitter_open(&g.splitter, error);
  if (!status) status = read_dictionary(&g, counts, error);
  if (!status && g.words.n == 0)
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, o.dictionaries[0], "no word with a translation");
  if (!status && !(status = cq_row_writer_open(&writer, &g.flow, counts, error)))
    status = cq_row_writer_finish(&writer, gloss_rows(&g, &rows, &writer, error), error);
  cq_row_reader_close(&rows);
  glosser_free(&g);
  return status;
}
