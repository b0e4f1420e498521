/* Splits long texts into passages of whole sentences that fit a model's maximum. See passages.h. */
#include "document/passages.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/unicode.h"

/* A sentence, or a part of a long one: [begin, end) of the text, and its number of tokens. */
typedef struct cq_unit {
  size_t begin, end, n_tokens;
} cq_unit;

cq_status cq_passages_open(cq_passages *out, cq_error *error) {
  *out = (cq_passages){0};
  cq_status status = cq_sentence_splitter_open(&out->sentences, error);
  if (!status) status = cq_splitter_open(&out->words, CQ_SPLIT_WORDS, error);
  if (status) cq_passages_close(out);
  return status;
}

void cq_passages_close(cq_passages *p) {
  cq_sentence_splitter_free(p->sentences);
  cq_splitter_close(&p->words);
  cq_free(p->items);
  cq_free(p->units);
  *p = (cq_passages){0};
}

/* --- units --- */

static cq_status add_unit(cq_passages *p, size_t begin, size_t end, size_t n_tokens, cq_error *error) {
  if (!cq_reserve((void **)&p->units, &p->units_capacity, p->n_units + 1, sizeof *p->units))
    return cq_fail_memory(error, "passages");
  p->units[p->n_units++] = (cq_unit){begin, end, n_tokens};
  return CQ_OK;
}

/* Splits a sentence that is too long into runs of words, each with the text after it, that fit. Words are counted
 * separately, so if a token spans two words, a run has fewer tokens than counted. */
static cq_status add_long_sentence(cq_passages *p, cq_slice text, cq_slice sentence, size_t n_in_all,
                                   const cq_passage_options *o, cq_error *error) {
  size_t begin = (size_t)(sentence.data - text.data), n_tokens = 0;
  const size_t end = begin + sentence.n;
  if (!cq_splitter_run(&p->words, sentence)) return cq_fail_memory(error, "passages");
  size_t at = begin;
  for (size_t i = 0; i < p->words.n; i++) {
    const size_t next = i + 1 < p->words.n ? (size_t)(p->words.items[i + 1].data - text.data) : end;
    size_t n;
    cq_status status = o->count(&n, o->context, (cq_slice){text.data + at, next - at}, error);
    if (!status && n_tokens && n_tokens + n > o->max_tokens) {
      status = add_unit(p, begin, at, n_tokens, error);
      begin = at, n_tokens = 0;
    }
    if (status) return status;
    n_tokens += n;
    at = next;
  }
  return add_unit(p, begin, end, p->words.n ? n_tokens : n_in_all, error); /* a run of dashes has no words */
}

static cq_status find_units(cq_passages *p, cq_slice text, const cq_passage_options *o, cq_error *error) {
  const cq_sentence *found;
  size_t n_found;
  cq_status status = cq_sentence_splitter_run(&found, &n_found, p->sentences, text, o->language, error);
  p->n_units = 0;
  for (size_t i = 0; !status && i < n_found; i++) { /* each with the blanks after it */
    const size_t begin = found[i].begin, end = i + 1 < n_found ? found[i + 1].begin : text.n;
    const cq_slice sentence = {text.data + begin, end - begin};
    size_t n;
    status = o->count(&n, o->context, sentence, error);
    if (!status && n > o->max_tokens)
      status = add_long_sentence(p, text, sentence, n, o, error);
    else if (!status)
      status = add_unit(p, begin, end, n, error);
  }
  return status;
}

/* --- passages of units --- */

static cq_status add_passage(cq_passages *p, cq_slice text, size_t first, size_t last, cq_error *error) {
  const size_t begin = p->units[first].begin;
  const cq_slice inside = cq_slice_trimmed((cq_slice){text.data + begin, p->units[last].end - begin});
  if (!cq_reserve((void **)&p->items, &p->capacity, p->n + 1, sizeof *p->items))
    return cq_fail_memory(error, "passages");
  p->items[p->n].begin = (size_t)(inside.data - text.data);
  p->items[p->n].end = p->items[p->n].begin + inside.n;
  p->n++;
  return CQ_OK;
}

/* The start of the passage after [first, end): as early as the overlap allows, but after `first`. The overlap must
 * leave room for the next unit. */
static size_t next_first(const cq_passages *p, size_t first, size_t end, const cq_passage_options *o) {
  size_t next = end, n_tokens = 0;
  while (next - 1 > first && n_tokens + p->units[next - 1].n_tokens <= o->overlap_tokens &&
         n_tokens + p->units[next - 1].n_tokens + p->units[end].n_tokens <= o->max_tokens)
    n_tokens += p->units[--next].n_tokens;
  return next;
}

static cq_slice unit_text(const cq_passages *p, cq_slice text, size_t unit) {
  return cq_slice_trimmed((cq_slice){text.data + p->units[unit].begin, p->units[unit].end - p->units[unit].begin});
}

/* Whether a blank line follows a unit, which is not the last. */
static bool ends_block(const cq_passages *p, cq_slice text, size_t unit) {
  const cq_slice shown = unit_text(p, text, unit);
  int n_lines = 0;
  for (const char *at = shown.data + shown.n; at < text.data + p->units[unit + 1].begin; at++) n_lines += *at == '\n';
  return n_lines >= 2;
}

/* A block of one unit without a final mark, which belongs to what follows. */
static bool is_heading(const cq_passages *p, cq_slice text, size_t unit) {
  const cq_slice shown = unit_text(p, text, unit);
  const size_t last = shown.n ? cq_utf8_begin(shown.data, shown.n) : 0;
  uint32_t c;
  cq_utf8_decode(&c, shown.data + last, shown.n - last);
  return !cq_char_is_punctuation(c) && ends_block(p, text, unit) && (unit == 0 || ends_block(p, text, unit - 1));
}

cq_status cq_passages_find(cq_passages *p, cq_slice text, const cq_passage_options *o, cq_error *error) {
  cq_status status = find_units(p, text, o, error);
  p->n = 0;
  for (size_t first = 0, end = 0; !status && first < p->n_units;) {
    const size_t n_covered = end;
    size_t n_tokens = 0;
    end = first;
    do n_tokens += p->units[end++].n_tokens;
    while (end < p->n_units && n_tokens + p->units[end].n_tokens <= o->max_tokens);
    while (end < p->n_units && end - 1 > n_covered && is_heading(p, text, end - 1)) end--;
    status = add_passage(p, text, first, end - 1, error);
    first = end < p->n_units ? next_first(p, first, end, o) : end;
  }
  return status;
}
