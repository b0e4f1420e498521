/* Joint n-grams of letters (pair language model), trained by EM over alignments of words and their spellings. See
 * joint_ngrams.h. */
#include "corpus/joint_ngrams.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "text/unicode.h"

#include <math.h>
#include <string.h>

enum { N = CQ_JOINT_LETTERS + 1, HISTORY = CQ_JOINT_ORDER - 1, BEAM = 8 };

/* The number of source letters and target letters in a unit, and its initial probability. */
typedef struct shape {
  size_t source, target;
  double p;
} shape;
enum { N_SHAPES = 5 };
static const shape shapes[N_SHAPES] = {{1, 1, 1e-2}, {1, 0, 1e-3}, {0, 1, 1e-3}, {2, 1, 1e-3}, {1, 2, 1e-3}};

#define P_UNSEEN        1e-8 /* of a unit that no pair has had */
#define COUNT_OF_UNSEEN 0.1  /* of a unit, where n-grams are counted */
#define MIN_ADDED       3    /* minimum count of a unit that adds target letters without a source letter */

typedef struct letters {
  uint32_t items[CQ_JOINT_LETTERS];
  size_t n;
} letters;

/* A spelling of a word's first letters. */
typedef struct hypothesis {
  uint32_t history[HISTORY]; /* the last units, the latest first */
  double score;
  size_t before; /* the hypothesis that it continues from */
} hypothesis;

/* The best hypotheses at a letter. */
typedef struct cell {
  size_t items[BEAM], n;
} cell;

typedef struct cq_joint_scratch {
  letters source, target;
  double forward[N][N], backward[N][N];
  uint32_t units[N][N][N_SHAPES]; /* that end at a place; CQ_MULTIMAP_NONE: none */
  cell cells[N];
  hypothesis *hypotheses;
  size_t n_hypotheses, capacity;
} scratch;

bool cq_joint_open(cq_joint_ngrams *m) {
  *m = (cq_joint_ngrams){0};
  m->memory = cq_alloc_zeroed(sizeof *m->memory);
  return m->memory != NULL;
}

void cq_joint_close(cq_joint_ngrams *m) {
  cq_multimap_free(&m->by_source);
  cq_map_free(&m->numbers);
  cq_free(m->units);
  cq_map_free(&m->grams);
  cq_map_free(&m->contexts);
  if (m->memory) cq_free(m->memory->hypotheses);
  cq_free(m->memory);
}

/* False for no letters, and too many. */
static bool read_letters(letters *out, cq_slice word) {
  out->n = 0;
  while (out->n < CQ_JOINT_LETTERS && cq_utf8_next(&out->items[out->n], &word)) out->n++;
  return out->n > 0 && word.n == 0;
}

static bool read_pair(scratch *s, cq_joint_pair pair) {
  return read_letters(&s->source, pair.source) && read_letters(&s->target, pair.target);
}

/* --- units --- */

/* A unit's number; a new unit gets the next number. CQ_MULTIMAP_NONE when out of memory. */
static uint32_t number_unit(cq_joint_ngrams *m, const uint32_t four[4], double p) {
  cq_map_entry *entry = cq_map_at(&m->numbers, (cq_slice){(const char *)four, 4 * sizeof *four});
  if (!entry) return CQ_MULTIMAP_NONE;
  if (entry->value != CQ_MAP_NONE) return (uint32_t)entry->value;
  if (!cq_reserve((void **)&m->units, &m->capacity, m->n_units + 1, sizeof *m->units) ||
      !cq_multimap_add(&m->by_source, (cq_slice){(const char *)four, 2 * sizeof *four}))
    return CQ_MULTIMAP_NONE;
  m->units[m->n_units] = (cq_joint_unit){.p = p};
  memcpy(m->units[m->n_units].letters, four, 4 * sizeof *four);
  return (uint32_t)(entry->value = m->n_units++);
}

/* The letters of the unit of a shape that ends at position (i, j). */
static void letters_of_unit(uint32_t four[4], const scratch *s, size_t i, size_t j, const shape *has) {
  memset(four, 0, 4 * sizeof *four);
  for (size_t k = 0; k < has->source; k++) four[k] = s->source.items[i - has->source + k];
  for (size_t k = 0; k < has->target; k++) four[2 + k] = s->target.items[j - has->target + k];
}

/* Finds the units of all segmentations of the current pair; with add, makes new units. */
static bool find_units(cq_joint_ngrams *m, bool add) {
  scratch *s = m->memory;
  const uint32_t none[4] = {0};
  if (add && m->n_units == 0 && number_unit(m, none, 0) == CQ_MULTIMAP_NONE) return false;
  for (size_t i = 0; i <= s->source.n; i++)
    for (size_t j = 0; j <= s->target.n; j++)
      for (int k = 0; k < N_SHAPES; k++) {
        uint32_t four[4], *unit = &s->units[i][j][k];
        *unit = CQ_MULTIMAP_NONE;
        if (i < shapes[k].source || j < shapes[k].target) continue;
        letters_of_unit(four, s, i, j, &shapes[k]);
        if (add) {
          *unit = number_unit(m, four, shapes[k].p);
          if (*unit == CQ_MULTIMAP_NONE) return false;
        } else {
          const uint64_t found = cq_map_get(&m->numbers, (cq_slice){(const char *)four, sizeof four});
          if (found != CQ_MAP_NONE) *unit = (uint32_t)found;
        }
      }
  return true;
}

static double p_of_unit(const cq_joint_ngrams *m, uint32_t unit) {
  return unit == CQ_MULTIMAP_NONE ? P_UNSEEN : fmax(m->units[unit].p, P_UNSEEN);
}

/* --- probabilities of units --- */

/* The pair's probability: the sum over all divisions. */
static double run_forward(cq_joint_ngrams *m) {
  scratch *s = m->memory;
  for (size_t i = 0; i <= s->source.n; i++)
    for (size_t j = 0; j <= s->target.n; j++) {
      double sum = i == 0 && j == 0;
      for (int k = 0; k < N_SHAPES; k++)
        if (i >= shapes[k].source && j >= shapes[k].target)
          sum += s->forward[i - shapes[k].source][j - shapes[k].target] * p_of_unit(m, s->units[i][j][k]);
      s->forward[i][j] = sum;
    }
  return s->forward[s->source.n][s->target.n];
}

/* Adds how often each unit is expected in the pair. */
static void run_backward(cq_joint_ngrams *m, double p_pair) {
  scratch *s = m->memory;
  memset(s->backward, 0, sizeof s->backward);
  s->backward[s->source.n][s->target.n] = 1;
  for (size_t i = s->source.n + 1; i-- > 0;)
    for (size_t j = s->target.n + 1; j-- > 0;)
      for (int k = 0; k < N_SHAPES; k++) {
        if (i < shapes[k].source || j < shapes[k].target) continue;
        const size_t i0 = i - shapes[k].source, j0 = j - shapes[k].target;
        const double through = p_of_unit(m, s->units[i][j][k]) * s->backward[i][j];
        s->backward[i0][j0] += through;
        m->units[s->units[i][j][k]].expected += s->forward[i0][j0] * through / p_pair;
      }
}

bool cq_joint_learn(cq_joint_ngrams *m, const cq_joint_pair *pairs, size_t n, int n_iterations) {
  for (int iteration = 0; iteration < n_iterations; iteration++) {
    double total = 0;
    for (size_t u = 0; u < m->n_units; u++) m->units[u].expected = 0;
    for (size_t i = 0; i < n; i++) {
      if (!read_pair(m->memory, pairs[i])) continue;
      if (!find_units(m, true)) return false;
      const double p = run_forward(m);
      if (p > 0) run_backward(m, p);
    }
    for (size_t u = 0; u < m->n_units; u++) total += m->units[u].expected;
    for (size_t u = 0; u < m->n_units; u++) m->units[u].p = total > 0 ? m->units[u].expected / total : 0;
  }
  return true;
}

double cq_joint_score(cq_joint_ngrams *m, cq_joint_pair pair) {
  if (!read_pair(m->memory, pair)) return -HUGE_VAL;
  (void)find_units(m, false); /* which needs no memory */
  return log(run_forward(m));
}

/* --- n-grams --- */

static cq_slice bytes_of(const uint32_t *units, size_t n) {
  return (cq_slice){(const char *)units, n * sizeof *units};
}

/* Counts a unit after its history, the most recent unit first. */
static bool count_unit(cq_joint_ngrams *m, uint32_t unit, const uint32_t history[HISTORY]) {
  uint32_t gram[CQ_JOINT_ORDER] = {unit};
  memcpy(gram + 1, history, HISTORY * sizeof *history);
  for (size_t n = 0; n <= HISTORY; n++) {
    cq_map_entry *found = cq_map_at(&m->grams, bytes_of(gram, n + 1));
    if (!found) return false;
    const bool is_new = found->value == CQ_MAP_NONE;
    found->value = is_new ? 1 : found->value + 1;
    cq_map_entry *context = cq_map_at(&m->contexts, bytes_of(history, n));
    if (!context) return false;
    if (context->value == CQ_MAP_NONE) context->value = 0;
    context->value += (1ULL << 32) + is_new;
  }
  return true;
}

static void shift(uint32_t history[HISTORY], uint32_t unit) {
  memmove(history + 1, history, (HISTORY - 1) * sizeof *history);
  history[0] = unit;
}

/* path: the *n units of the pair's most probable segmentation. */
static void divide(uint32_t path[2 * N], size_t *n, cq_joint_ngrams *m) {
  scratch *s = m->memory;
  int best[N][N] = {0};
  for (size_t i = 0; i <= s->source.n; i++)
    for (size_t j = 0; j <= s->target.n; j++) {
      s->forward[i][j] = i == 0 && j == 0 ? 0 : -HUGE_VAL;
      for (int k = 0; k < N_SHAPES; k++) {
        if (i < shapes[k].source || j < shapes[k].target) continue;
        const double p = s->forward[i - shapes[k].source][j - shapes[k].target] + log(p_of_unit(m, s->units[i][j][k]));
        if (p > s->forward[i][j]) s->forward[i][j] = p, best[i][j] = k;
      }
    }
  *n = 0;
  for (size_t i = s->source.n, j = s->target.n; i > 0 || j > 0; ++*n) {
    const int k = best[i][j];
    path[2 * N - 1 - *n] = s->units[i][j][k];
    i -= shapes[k].source, j -= shapes[k].target;
  }
  memmove(path, path + 2 * N - *n, *n * sizeof *path);
}

bool cq_joint_count(cq_joint_ngrams *m, const cq_joint_pair *pairs, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint32_t path[2 * N], history[HISTORY] = {0};
    size_t n_path;
    if (!read_pair(m->memory, pairs[i])) continue;
    if (!find_units(m, true)) return false;
    divide(path, &n_path, m);
    path[n_path++] = 0;
    for (size_t k = 0; k < n_path; k++) {
      if (!count_unit(m, path[k], history)) return false;
      shift(history, path[k]);
    }
  }
  return true;
}

/* Witten-Bell smoothing: weights the longer history by how often it was seen, and the shorter one by the number of
 * distinct units after the longer one. */
static double p_behind(const cq_joint_ngrams *m, uint32_t unit, const uint32_t history[HISTORY]) {
  uint32_t gram[CQ_JOINT_ORDER] = {unit};
  memcpy(gram + 1, history, HISTORY * sizeof *history);
  double p = 0;
  for (size_t n = 0; n <= HISTORY; n++) {
    const uint64_t context = cq_map_get(&m->contexts, bytes_of(history, n));
    if (context == CQ_MAP_NONE) break;
    const double total = (double)(context >> 32), different = (double)(context & UINT32_MAX);
    const uint64_t found = cq_map_get(&m->grams, bytes_of(gram, n + 1));
    const double count = found == CQ_MAP_NONE ? 0 : (double)found;
    p = n == 0 ? (count + COUNT_OF_UNSEEN) / (total + COUNT_OF_UNSEEN * (double)m->n_units)
               : (count + different * p) / (total + different);
  }
  return p;
}

/* --- spelling --- */

/* Keeps the best hypothesis for each history, and the best BEAM of these. */
static bool add_hypothesis(scratch *s, cell *c, const hypothesis *h) {
  size_t at = c->n, worst = 0;
  for (size_t i = 0; i < c->n; i++) {
    const hypothesis *other = &s->hypotheses[c->items[i]];
    if (memcmp(other->history, h->history, sizeof h->history) == 0) at = i;
    if (other->score < s->hypotheses[c->items[worst]].score) worst = i;
  }
  if (at == BEAM) at = worst;
  if (at < c->n && h->score <= s->hypotheses[c->items[at]].score) return true;
  if (!cq_reserve((void **)&s->hypotheses, &s->capacity, s->n_hypotheses + 1, sizeof *s->hypotheses)) return false;
  if (at == c->n) c->n++;
  s->hypotheses[c->items[at] = s->n_hypotheses++] = *h;
  return true;
}

/* Extends a hypothesis by every unit with these letters of the word. */
static bool extend(cq_joint_ngrams *m, cell *to, size_t from, const uint32_t source[2]) {
  scratch *s = m->memory;
  const uint64_t min_count = source[0] ? 1 : MIN_ADDED;
  for (uint32_t unit = cq_multimap_first(&m->by_source, bytes_of(source, 2)); unit != CQ_MULTIMAP_NONE;
       unit = cq_multimap_next(&m->by_source, unit)) {
    const uint64_t count = cq_map_get(&m->grams, bytes_of(&unit, 1));
    if (unit == 0 || count == CQ_MAP_NONE || count < min_count) continue;
    hypothesis h = s->hypotheses[from];
    h.score += log(p_behind(m, unit, h.history)), h.before = from;
    shift(h.history, unit);
    if (!add_hypothesis(s, to, &h)) return false;
  }
  return true;
}

static bool extend_cell(cq_joint_ngrams *m, size_t at) {
  scratch *s = m->memory;
  const cell reached = s->cells[at];
  for (size_t i = 0; i < reached.n; i++)
    if (!extend(m, &s->cells[at], reached.items[i], (const uint32_t[2]){0})) return false;
  const cell *c = &s->cells[at];
  for (size_t n = 1; n <= 2 && at + n <= s->source.n; n++) {
    uint32_t source[2] = {0};
    memcpy(source, s->source.items + at, n * sizeof *source);
    for (size_t i = 0; i < c->n; i++)
      if (!extend(m, &s->cells[at + n], c->items[i], source)) return false;
  }
  return true;
}

static void write_spelling(cq_builder *out, const cq_joint_ngrams *m, size_t last) {
  const hypothesis *hypotheses = m->memory->hypotheses;
  uint32_t path[2 * N];
  size_t n = 0;
  for (size_t h = last; h != 0; h = hypotheses[h].before) path[n++] = hypotheses[h].history[0];
  while (n > 0) {
    const uint32_t *target = m->units[path[--n]].letters + 2;
    for (int k = 0; k < 2 && target[k]; k++) cq_builder_code(out, target[k]);
  }
}

bool cq_joint_spell(cq_builder *out, cq_joint_ngrams *m, cq_slice word) {
  scratch *s = m->memory;
  size_t best = 0;
  double best_score = -HUGE_VAL;
  if (!read_letters(&s->source, word)) return true;
  for (size_t i = 0; i <= s->source.n; i++) s->cells[i].n = 0;
  s->n_hypotheses = 0;
  if (!add_hypothesis(s, &s->cells[0], &(hypothesis){0})) return false;
  for (size_t i = 0; i <= s->source.n; i++)
    if (!extend_cell(m, i)) return false;
  const cell *end = &s->cells[s->source.n];
  for (size_t i = 0; i < end->n; i++) {
    const hypothesis *h = &s->hypotheses[end->items[i]];
    const double score = h->score + log(p_behind(m, 0, h->history));
    if (score > best_score) best_score = score, best = end->items[i];
  }
  write_spelling(out, m, best);
  return !out->failed;
}
