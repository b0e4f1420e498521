/* Text as word numbers, the most frequent first. See words_corpus.h. */
#include "words/words_corpus.h"

#include "base/error.h"
#include "base/memory.h"
#include "calque/lines.h"

#include <stdlib.h>

cq_status cq_word_corpus_add(cq_word_corpus *c, const uint32_t *words, size_t n, cq_error *error) {
  if (!cq_reserve((void **)&c->starts, &c->starts_capacity, c->n_documents + 2, sizeof *c->starts) ||
      !cq_u32_array_append(&c->tokens, words, n))
    return cq_fail_memory(error, "a corpus");
  c->starts[0] = 0;
  c->starts[++c->n_documents] = c->tokens.n;
  return CQ_OK;
}

cq_status cq_word_corpus_read(cq_word_corpus *c, const char *path, cq_error *error) {
  cq_lines *lines;
  cq_slice line;
  cq_u32_array ids = {0};
  cq_status status = cq_lines_open(&lines, path, error);
  if (status) return status;
  while (!(status = cq_lines_next(&line, lines, error)) && line.data) {
    ids.n = 0;
    for (size_t i = 0, end; !status && i < line.n; i = end + 1) {
      for (end = i; end < line.n && !cq_is_blank(line.data[end]);) end++;
      if (end == i) continue;
      const uint32_t id = cq_intern_put(&c->words, (cq_slice){line.data + i, end - i});
      if (id == CQ_INTERN_NONE || !cq_u32_array_append(&ids, &id, 1)) status = cq_fail_memory(error, path);
    }
    if (!status) status = cq_word_corpus_add(c, ids.items, ids.n, error);
    if (status) break;
  }
  cq_u32_array_free(&ids);
  cq_lines_close(lines);
  return status;
}

typedef struct counted {
  uint64_t count;
  uint32_t word;
} counted;

static int most_frequent_first(const void *a, const void *b) {
  const counted *p = a, *q = b;
  if (p->count != q->count) return p->count > q->count ? -1 : 1;
  return (p->word > q->word) - (p->word < q->word);
}

/* Removes tokens of dropped words and gives the others their new numbers. */
static void renumber(cq_word_corpus *c, const uint32_t *to) {
  size_t n = 0, from = 0;
  for (size_t d = 0; d < c->n_documents; d++) {
    for (; from < c->starts[d + 1]; from++)
      if (to[c->tokens.items[from]] != CQ_INTERN_NONE) c->tokens.items[n++] = to[c->tokens.items[from]];
    c->starts[d + 1] = n;
  }
  c->tokens.n = n;
}

cq_status cq_word_corpus_finish(cq_word_corpus *c, uint64_t min_count, cq_error *error) {
  const uint32_t n = c->words.n;
  counted *words = cq_alloc_array(n, sizeof *words);
  uint32_t *to = cq_alloc_array(n, sizeof *to);
  cq_intern sorted = {0};
  cq_status status = words && to ? CQ_OK : cq_fail_memory(error, "a vocabulary");
  if (!status) {
    for (uint32_t w = 0; w < n; w++) words[w] = (counted){0, w};
    for (size_t i = 0; i < c->tokens.n; i++) words[c->tokens.items[i]].count++;
    if (n) qsort(words, n, sizeof *words, most_frequent_first);
    cq_free(c->counts);
    c->counts = cq_alloc_array(n, sizeof *c->counts);
    if (!c->counts) status = cq_fail_memory(error, "a vocabulary");
  }
  for (uint32_t i = 0; !status && i < n; i++) {
    const uint32_t word = words[i].word;
    to[word] = CQ_INTERN_NONE;
    if (words[i].count == 0 || words[i].count < min_count) continue;
    c->counts[sorted.n] = words[i].count;
    to[word] = cq_intern_put(&sorted, c->words.items[word]);
    if (to[word] == CQ_INTERN_NONE) status = cq_fail_memory(error, "a vocabulary");
  }
  if (!status) {
    renumber(c, to);
    const cq_intern before = c->words;
    c->words = sorted;
    sorted = before;
  }
  cq_intern_free(&sorted);
  cq_free(words);
  cq_free(to);
  return status;
}

void cq_word_corpus_free(cq_word_corpus *c) {
  cq_intern_free(&c->words);
  cq_free(c->counts);
  cq_u32_array_free(&c->tokens);
  cq_free(c->starts);
  *c = (cq_word_corpus){0};
}
