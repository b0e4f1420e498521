/* Counting the distinct words of text. See word_counts.h. */
#include "corpus/word_counts.h"

#include "base/memory.h"
#include "text/unicode.h"

cq_status cq_word_counts_open(cq_word_counts *out, cq_error *error) {
  *out = (cq_word_counts){0};
  return cq_splitter_open(&out->splitter, CQ_SPLIT_WORDS, error);
}

void cq_word_counts_close(cq_word_counts *words) {
  cq_free(words->items);
  cq_map_free(&words->numbers);
  cq_arena_free(&words->texts);
  cq_splitter_close(&words->splitter);
  cq_builder_free(&words->folded);
}

bool cq_char_is_spelled(uint32_t code) {
  return (cq_char_is_letter(code) || cq_char_is_mark(code)) && !cq_char_is_cjk(code);
}

cq_slice cq_word_counts_fold(cq_word_counts *words, cq_slice text) {
  cq_builder *b = &words->folded;
  cq_builder_clear(b);
  cq_text_fold(b, text);
  return b->failed ? (cq_slice){0} : cq_built(b);
}

uint64_t cq_word_counts_of(const cq_word_counts *words, cq_slice folded) {
  const uint64_t number = cq_map_get(&words->numbers, folded);
  return number == CQ_MAP_NONE ? 0 : words->items[number].n;
}

static bool add_word(cq_word_counts *words, cq_slice text) {
  const cq_slice folded = cq_word_counts_fold(words, text);
  cq_map_entry *entry = folded.data ? cq_map_at(&words->numbers, folded) : NULL;
  if (!entry) return false;
  const bool is_folded = cq_slice_equal(text, folded);
  if (entry->value == CQ_MAP_NONE) {
    if (!cq_reserve((void **)&words->items, &words->capacity, words->n + 1, sizeof *words->items)) return false;
    const cq_slice key = {entry->key, entry->n};
    const char *copy = is_folded ? key.data : cq_arena_strndup(&words->texts, text.data, text.n);
    if (!copy) return false;
    entry->value = words->n++;
    words->items[entry->value] = (cq_word){.folded = key, .text = {copy, text.n}};
  }
  cq_word *word = &words->items[entry->value];
  if (is_folded) word->text = word->folded;
  word->n++;
  return true;
}

static bool add_text(cq_word_counts *words, cq_slice text) {
  if (!cq_splitter_run(&words->splitter, text)) return false;
  for (size_t i = 0; i < words->splitter.n; i++)
    if (!add_word(words, words->splitter.items[i])) return false;
  return true;
}

static bool add_columns(void *context, const cq_row *row) {
  for (size_t c = 0; c < row->n; c++)
    if (!add_text(context, row->columns[c])) return false;
  return true;
}
static bool add_first_column(void *context, const cq_row *row) {
  return add_text(context, row->columns[0]);
}
static bool add_last_column(void *context, const cq_row *row) {
  return add_text(context, row->columns[row->n - 1]);
}

cq_status cq_word_counts_read(cq_word_counts *words, const char *const *paths, size_t n_paths, cq_word_columns columns,
                              const cq_corpus_flow *flow, cq_corpus_counts *counts, cq_error *error) {
  static const cq_row_visit visits[] = {add_columns, add_first_column, add_last_column};
  return cq_corpus_visit_rows(paths, n_paths, 1, visits[columns], words, "words of text", flow, counts, error);
}
