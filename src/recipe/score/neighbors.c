/* Evidence from neighboring words and marks, by the file's own pairs of them: a side in no order, or with no usual end.
 *
 *   text ──▶ words and marks ──▶ classes ──▶ the file's pairs ──▶ log-likelihood ratios, without the own pair */
#include "recipe/score/gathering.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/unicode.h"

#include <math.h>
#include <string.h>

/* Classes of what is no word. */
enum { EDGE, LAST, FIRST_CLASS }; /* a text's beginning and end; what follows its last word, whatever its marks */

typedef struct neighbors {
  cq_map ids, classes, pairs;
  uint32_t *tokens, *class_of, *counts; /* [n_tokens]; of ids */
  cq_slice *texts;                      /* of ids */
  bool *is_mark;                        /* of ids */
  size_t *starts, *last_word;           /* [n + 1]; [n]: the place after it */
  uint64_t *class_counts;
  size_t n_tokens, tokens_capacity, texts_capacity;
  double all;
} neighbors;

/* The next run of letters and digits, or the next mark. */
static bool next_token(cq_slice *out, bool *is_word, cq_slice *rest) {
  *out = (cq_slice){NULL, 0};
  while (rest->n) {
    cq_slice after = *rest;
    uint32_t c = 0;
    cq_utf8_next(&c, &after);
    const bool word = cq_char_is_word(c), blank = cq_char_is_whitespace(c);
    if (out->data && (blank || !word)) break;
    if (!out->data && !blank) out->data = rest->data, *is_word = word;
    if (out->data) out->n += (size_t)(after.data - rest->data);
    *rest = after;
    if (out->data && !*is_word) break;
  }
  return out->data != NULL;
}

static bool read_tokens(neighbors *m, const cq_slice *texts, size_t n) {
  m->starts = cq_alloc_array_zeroed(n + 1, sizeof *m->starts);
  m->last_word = cq_alloc_array_zeroed(n, sizeof *m->last_word);
  bool ok = m->starts && m->last_word, is_word = false;
  for (size_t i = 0; ok && i < n; i++) {
    cq_slice rest = texts[i], text;
    m->last_word[i] = m->n_tokens;
    while (ok && next_token(&text, &is_word, &rest)) {
      uint64_t id = cq_map_get(&m->ids, text);
      if (id == CQ_MAP_NONE) {
        id = m->ids.n;
        ok = cq_map_put_borrowed(&m->ids, text, id) &&
             cq_reserve((void **)&m->texts, &m->texts_capacity, id + 1, sizeof *m->texts);
        if (ok) m->texts[id] = text;
      }
      ok = ok && cq_reserve((void **)&m->tokens, &m->tokens_capacity, m->n_tokens + 1, sizeof *m->tokens);
      if (ok) m->tokens[m->n_tokens++] = (uint32_t)id;
      if (is_word) m->last_word[i] = m->n_tokens;
    }
    m->starts[i + 1] = m->n_tokens;
  }
  return ok;
}

/* A token's class is the token if it is frequent, else its last letters: endings say what may follow. */
static bool class_tokens(neighbors *m) {
  enum { FREQUENT = 5, ENDING = 3 };
  m->counts = cq_alloc_array_zeroed(m->ids.n, sizeof *m->counts);
  m->class_of = cq_alloc_array(m->ids.n, sizeof *m->class_of);
  m->is_mark = cq_alloc_array(m->ids.n, sizeof *m->is_mark);
  bool ok = m->counts && m->class_of && m->is_mark;
  for (size_t a = 0; ok && a < m->n_tokens; a++) m->counts[m->tokens[a]]++;
  for (size_t i = 0; ok && i < m->ids.n; i++) {
    const cq_slice text = m->texts[i];
    char key[1 + 4 * ENDING];
    size_t n = 0, begin = text.n;
    uint32_t first = 0;
    cq_slice rest = text;
    for (int c = 0; c < ENDING && begin > 0; c++) begin = cq_utf8_begin(text.data, begin);
    cq_utf8_next(&first, &rest);
    m->is_mark[i] = !cq_char_is_word(first);
    const bool digit = cq_char_digit(first) >= 0;
    key[n++] = digit ? '0' : cq_char_is_capital(first) ? 'C' : 'c';
    if (!digit) memcpy(key + n, text.data + begin, text.n - begin), n += text.n - begin;
    cq_map_entry *entry = cq_map_at(&m->classes, m->counts[i] >= FREQUENT && !digit ? text : (cq_slice){key, n});
    ok = entry != NULL;
    if (ok && entry->value == CQ_MAP_NONE) entry->value = FIRST_CLASS + m->classes.n - 1;
    if (ok) m->class_of[i] = (uint32_t)entry->value;
  }
  return ok;
}

static uint32_t class_at(const neighbors *m, size_t i, size_t a) {
  return a < m->starts[i] || a >= m->starts[i + 1] ? EDGE : m->class_of[m->tokens[a]];
}

static bool count_pair(neighbors *m, uint32_t a, uint32_t b) {
  cq_map_entry *entry = cq_map_at(&m->pairs, (cq_slice){(const char *)(uint32_t[]){a, b}, 8});
  if (!entry) return false;
  entry->value = entry->value == CQ_MAP_NONE ? 1 : entry->value + 1, m->class_counts[b]++;
  return true;
}

static uint32_t class_of_last(const neighbors *m, size_t i) {
  return m->last_word[i] > m->starts[i] ? m->class_of[m->tokens[m->last_word[i] - 1]] : EDGE;
}

/* The logarithm of how much more frequent b is after a, without this occurrence. */
static double follows(const neighbors *m, uint32_t a, uint32_t b) {
  const double prior = 4, pair = (double)cq_map_get(&m->pairs, (cq_slice){(char *)(uint32_t[]){a, b}, 8}) - 1;
  const double expected = ((double)m->class_counts[b] - 1 + 0.5) / m->all;
  return log((pair / expected + prior) / ((double)m->class_counts[a] - 1 + prior));
}

static cq_status measure_side(cq_gathering *g, int side, cq_error *error) {
  const size_t n = g->texts->n;
  neighbors m = {0};
  bool ok = read_tokens(&m, g->texts->sides[side], n) && class_tokens(&m);
  if (ok) m.class_counts = cq_alloc_array_zeroed(m.classes.n + FIRST_CLASS, sizeof *m.class_counts);
  ok = ok && m.class_counts;
  m.all = (double)(m.n_tokens + n);
  for (size_t i = 0; ok && i < n; i++) {
    for (size_t a = m.starts[i]; ok && a <= m.starts[i + 1]; a++)
      ok = count_pair(&m, a == m.starts[i] ? EDGE : class_at(&m, i, a - 1), class_at(&m, i, a));
    ok = ok && count_pair(&m, class_of_last(&m, i), LAST);
  }
  for (size_t i = 0; ok && i < n; i++) {
    const double max_sum = 20, max_end = 4;
    double sums[2] = {0}, *e = cq_evidence_row(g, i); /* of two words; of a mark or the beginning and another */
    for (size_t a = m.starts[i]; a < m.starts[i + 1]; a++) {
      const bool first = a == m.starts[i], mark = first || m.is_mark[m.tokens[a]] || m.is_mark[m.tokens[a - 1]];
      sums[mark] += follows(&m, first ? EDGE : class_at(&m, i, a - 1), class_at(&m, i, a));
    }
    const double end = m.last_word[i] > m.starts[i] ? follows(&m, class_of_last(&m, i), LAST) : 0;
    for (int mark = 0; mark < 2; mark++) {
      double *lower = &e[mark ? CQ_E_MARKS : CQ_E_NEIGHBORS];
      *lower = fmin(side ? *lower : max_sum, fmax(sums[mark], -max_sum));
    }
    e[CQ_E_END] = fmin(side ? e[CQ_E_END] : max_end, fmax(end, -max_end));
  }
  cq_map_free(&m.ids), cq_map_free(&m.classes), cq_map_free(&m.pairs);
  cq_free(m.tokens), cq_free(m.class_of), cq_free(m.counts), cq_free(m.texts), cq_free(m.is_mark);
  cq_free(m.starts), cq_free(m.last_word), cq_free(m.class_counts);
  return ok ? CQ_OK : cq_fail_memory(error, "neighboring words");
}

cq_status cq_gather_neighbors(cq_gathering *g, cq_error *error) {
  cq_status status = CQ_OK;
  for (int side = 0; !status && side < 2; side++) status = measure_side(g, side, error);
  return status;
}
