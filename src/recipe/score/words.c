/* Words of the rows, their spelling in Latin letters, and how often words of both sides are in one row. */
#include "recipe/score/gathering.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/romanize.h"
#include "text/script.h"
#include "text/unicode.h"

#include <string.h>

/* The next run of letters, marks and digits; *first: its first character. */
static bool next_word(cq_slice *out, uint32_t *first, cq_slice *rest) {
  const char *at = rest->data;
  uint32_t c;
  *out = (cq_slice){NULL, 0};
  *first = 0;
  while (cq_utf8_next(&c, rest)) {
    const bool is_word = cq_char_is_word(c);
    if (is_word && !out->data) out->data = at, *first = c;
    if (!is_word && out->data) break;
    at = rest->data;
  }
  if (out->data) out->n = (size_t)(at - out->data);
  return out->data != NULL;
}

static bool add_word(cq_gathering *g, cq_row_words *w, cq_slice text, bool is_name) {
  uint64_t id = cq_map_get(&g->ids, text);
  if (id == CQ_MAP_NONE) {
    id = g->n_distinct;
    if (!cq_map_put_borrowed(&g->ids, text, id) ||
        !cq_reserve((void **)&g->distinct, &g->distinct_capacity, id + 1, sizeof *g->distinct))
      return false;
    g->distinct[g->n_distinct++] = text;
  }
  if (!cq_reserve((void **)&w->items, &w->capacity, w->n + 1, sizeof *w->items)) return false;
  w->items[w->n++] = (cq_row_word){(uint32_t)id, is_name};
  return true;
}

/* A name is a word with a capital letter that does not begin the text. */
static bool split_words(cq_gathering *g, int side) {
  enum { MAX_WORD = 64 };
  cq_row_words *w = &g->sides[side];
  w->starts = cq_alloc_array_zeroed(g->texts->n + 1, sizeof *w->starts);
  bool ok = w->starts != NULL;
  for (size_t i = 0; ok && i < g->texts->n; i++) {
    cq_slice rest = g->texts->sides[side][i], text;
    const bool spaced = !cq_script_has_no_spaces(cq_script_of(rest));
    uint32_t first;
    bool begins = true;
    while (ok && spaced && next_word(&text, &first, &rest)) {
      if (text.n <= MAX_WORD) ok = add_word(g, w, text, !begins && cq_char_is_capital(first));
      begins = false;
    }
    w->starts[i + 1] = w->n;
  }
  return ok;
}

/* The letters of a word that inflection mostly leaves, in small Latin letters. */
enum { STEM = 5, MAX_SPELLED = 32 };

static cq_status spell_words(cq_gathering *g, cq_error *error) {
  cq_romanizer *romanizer = NULL;
  cq_builder text = {0};
  g->spelled = cq_alloc_array(g->n_distinct, sizeof *g->spelled);
  g->stem_of = cq_alloc_array(g->n_distinct, sizeof *g->stem_of);
  cq_status status = g->spelled && g->stem_of ? cq_romanizer_open(&romanizer, error) : cq_fail_memory(error, "words");
  for (size_t v = 0; !status && v < g->n_distinct; v++) {
    cq_builder_clear(&text);
    cq_romanize(&text, romanizer, g->distinct[v]);
    const cq_slice all = cq_built(&text);
    const size_t n = cq_min(all.n, MAX_SPELLED);
    g->spelled[v] = (cq_slice){cq_arena_strndup(&g->arena, n ? all.data : "", n), n};
    cq_map_entry *entry =
        g->spelled[v].data ? cq_map_at(&g->stems, (cq_slice){g->spelled[v].data, cq_min(n, STEM)}) : NULL;
    if (!entry || text.failed) {
      status = cq_fail_memory(error, "words");
      break;
    }
    if (entry->value == CQ_MAP_NONE) entry->value = g->stems.n - 1;
    g->stem_of[v] = (uint32_t)entry->value;
  }
  cq_builder_free(&text);
  cq_romanizer_free(romanizer);
  return status;
}

/* Counts, then fills: each row once per stem, in order. */
static bool index_stems(cq_gathering *g, int side) {
  const cq_row_words *w = &g->sides[side];
  cq_postings *p = &g->postings[side];
  uint32_t *last = cq_alloc_array_zeroed(g->stems.n, sizeof *last);
  p->starts = cq_alloc_array_zeroed(g->stems.n + 2, sizeof *p->starts);
  p->rows = cq_alloc_array(w->n, sizeof *p->rows);
  const bool ok = last && p->starts && p->rows;
  for (int fill = 0; ok && fill < 2; fill++) {
    memset(last, 0, g->stems.n * sizeof *last);
    for (size_t i = 0; i < g->texts->n; i++)
      for (size_t a = w->starts[i]; a < w->starts[i + 1]; a++) {
        const uint32_t stem = g->stem_of[w->items[a].id];
        if (last[stem] == i + 1) continue;
        last[stem] = (uint32_t)i + 1;
        if (fill)
          p->rows[p->starts[stem + 1]++] = (uint32_t)i;
        else
          p->starts[stem + 2]++;
      }
    for (size_t s = 1; !fill && s < g->stems.n + 2; s++) p->starts[s] += p->starts[s - 1];
  }
  cq_free(last);
  return ok;
}

cq_status cq_gather_words(cq_gathering *g, cq_error *error) {
  for (int side = 0; side < 2; side++)
    if (!split_words(g, side)) return cq_fail_memory(error, "words");
  cq_status status = spell_words(g, error);
  for (int side = 0; !status && side < 2; side++)
    if (!index_stems(g, side)) status = cq_fail_memory(error, "words");
  return status;
}

double cq_linked(const cq_gathering *g, uint32_t source, uint32_t target, size_t row) {
  enum { MAX_ROWS = 1000 }; /* of a frequent word, the first ones say enough */
  const cq_postings *p = g->postings;
  const uint32_t *x = p[0].rows + p[0].starts[source], *y = p[1].rows + p[1].starts[target];
  const size_t n = cq_min(p[0].starts[source + 1] - p[0].starts[source], MAX_ROWS);
  const size_t m = cq_min(p[1].starts[target + 1] - p[1].starts[target], MAX_ROWS);
  size_t i = 0, j = 0, both = 0, seen = 0;
  while (i < n && j < m) {
    const size_t next = cq_min(x[i], y[j]);
    const bool in_source = x[i] == next, in_target = y[j] == next;
    if (next != row) seen += (size_t)in_source + in_target, both += in_source && in_target;
    i += in_source, j += in_target;
  }
  if (i == n && n < MAX_ROWS) seen += m - j;
  if (j == m && m < MAX_ROWS) seen += n - i;
  return 2 * (double)both / ((double)seen + 2);
}

double cq_spelled_alike(const cq_gathering *g, uint32_t a, uint32_t b) {
  const cq_slice x = g->spelled[a], y = g->spelled[b];
  size_t costs[MAX_SPELLED + 1];
  if (!x.n || !y.n || x.data[0] != y.data[0]) return 0;
  for (size_t j = 0; j <= y.n; j++) costs[j] = j;
  for (size_t i = 0; i < x.n; i++) {
    size_t before = costs[0]++;
    for (size_t j = 0; j < y.n; j++) {
      const size_t replaced = before + (x.data[i] != y.data[j]);
      before = costs[j + 1];
      costs[j + 1] = cq_min(replaced, cq_min(costs[j], before) + 1);
    }
  }
  return 1 - (double)costs[y.n] / (double)(x.n > y.n ? x.n : y.n);
}
