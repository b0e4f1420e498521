/* Word alignment: IBM model 1 with a diagonal prior, trained by EM in both directions. See align.h. */
#include "train/align.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define MAX_TOKENS 128
#define HEAD       3    /* of a pair in `tokens` */
#define TENSION    4.0  /* how fast the prior falls with the distance from the diagonal */
#define P_NULL     0.08 /* prior of a token without a counterpart on the other side */
#define STEPS      256  /* the prior's table */
#define FEW        9    /* max pairs of tokens of a short, conclusive pair, such as a dictionary's entry */

/* A source id and a target id that occur together. */
typedef struct entry {
  uint32_t source, target;     /* target + 1; 0: free */
  float forward, backward;     /* p(source | target), p(target | source) */
  float n_forward, n_backward; /* expected counts of this round */
} entry;

struct cq_aligner {
  int64_t n_source, n_target;
  int32_t *tokens; /* n, m, weight, source ids, target ids; pair after pair */
  size_t n_tokens, token_capacity;
  entry *table;
  size_t capacity, n_entries;
  uint64_t *target_count;            /* [n_target] */
  double *source_null, *target_null; /* p(source | nothing), p(target | nothing) */
  size_t *first;                     /* [n_target + 1] into links, after run */
  cq_link *links;                    /* heaviest first */
  float prior[STEPS + 1];
  entry *found[MAX_TOKENS * MAX_TOKENS]; /* one pair of sentences at a time */
  float pair_prior[MAX_TOKENS * MAX_TOKENS];
};

cq_status cq_aligner_new(cq_aligner **out, int64_t n_source, int64_t n_target, cq_error *error) {
  cq_aligner *a = cq_alloc_zeroed(sizeof *a);
  *out = a;
  if (!a) return cq_fail_memory(error, "an aligner");
  a->n_source = n_source;
  a->n_target = n_target;
  for (int i = 0; i <= STEPS; i++) a->prior[i] = (float)exp(-TENSION * i / STEPS);
  a->target_count = cq_alloc_array_zeroed((size_t)n_target, sizeof *a->target_count);
  if (a->target_count) return CQ_OK;
  cq_aligner_free(a);
  *out = NULL;
  return cq_fail_memory(error, "an aligner");
}

void cq_aligner_free(cq_aligner *a) {
  if (!a) return;
  cq_free(a->tokens);
  cq_free(a->table);
  cq_free(a->target_count);
  cq_free(a->source_null);
  cq_free(a->target_null);
  cq_free(a->first);
  cq_free(a->links);
  cq_free(a);
}

cq_status cq_aligner_add(cq_aligner *a, const int32_t *source, size_t n, const int32_t *target, size_t m, int weight,
                         cq_error *error) {
  if (n == 0 || m == 0 || n > MAX_TOKENS || m > MAX_TOKENS) return CQ_OK;
  if (!cq_reserve((void **)&a->tokens, &a->token_capacity, a->n_tokens + n + m + HEAD, sizeof *a->tokens))
    return cq_fail_memory(error, "sentences to align");
  int32_t *to = a->tokens + a->n_tokens;
  to[0] = (int32_t)n, to[1] = (int32_t)m, to[2] = weight;
  memcpy(to + HEAD, source, n * sizeof *source);
  memcpy(to + HEAD + n, target, m * sizeof *target);
  a->n_tokens += n + m + HEAD;
  for (size_t j = 0; j < m; j++) a->target_count[target[j]] += (uint64_t)weight;
  return CQ_OK;
}

uint64_t cq_aligner_count(const cq_aligner *a, int32_t target) {
  return a->target_count[target];
}

/* --- the table of pairs --- */

static uint64_t hash_pair(int32_t source, int32_t target) {
  uint64_t x = ((uint64_t)(uint32_t)source << 32 | (uint32_t)target) * UINT64_C(0x9e3779b97f4a7c15);
  x ^= x >> 29;
  x *= UINT64_C(0xbf58476d1ce4e5b9);
  return x ^ x >> 32;
}

static bool is_entry_of(const void *slot, const void *sought) {
  const entry *a = slot, *b = sought;
  return a->target == 0 || (a->source == b->source && a->target == b->target);
}

/* The pair's entry, or the free one where it would go. */
static entry *entry_of_pair(const cq_aligner *a, int32_t source, int32_t target, uint64_t hash) {
  const entry sought = {.source = (uint32_t)source, .target = (uint32_t)target + 1};
  return cq_table_find(a->table, a->capacity, sizeof sought, hash, is_entry_of, &sought);
}

/* Two passes over the text: find pairs seen twice, or in short sentences (two hashed bit tables; a rare collision
 * admits a pair seen once), then make them entries. */
static cq_status find_cooccurrences(cq_aligner *a, cq_error *error) {
  uint64_t events = 0;
  for (size_t at = 0; at < a->n_tokens; at += HEAD + (size_t)a->tokens[at] + (size_t)a->tokens[at + 1])
    events += (uint64_t)a->tokens[at] * (uint64_t)a->tokens[at + 1];
  size_t n_bits = 1 << 16;
  while (n_bits < 4 * events && n_bits < (size_t)1 << 31) n_bits *= 2;
  uint64_t *once = cq_alloc_array_zeroed(n_bits / 64, sizeof *once);
  uint64_t *twice = cq_alloc_array_zeroed(n_bits / 64, sizeof *twice);
  bool failed = !once || !twice;
  size_t n_kept = 0;
  for (int round = 0; round < 2 && !failed; round++) {
    if (round == 1) {
      for (size_t i = 0; i < n_bits / 64; i++) n_kept += (size_t)__builtin_popcountll(twice[i]);
      for (a->capacity = 1024; a->capacity < n_kept + n_kept / 2 + 512;) a->capacity *= 2;
      cq_free(once);
      once = NULL;
      if (!(a->table = cq_alloc_array_zeroed(a->capacity, sizeof *a->table))) {
        failed = true;
        break;
      }
    }
    for (size_t at = 0; at < a->n_tokens; at += HEAD + (size_t)a->tokens[at] + (size_t)a->tokens[at + 1]) {
      const int32_t n = a->tokens[at], m = a->tokens[at + 1], *source = a->tokens + at + HEAD, *target = source + n;
      for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < m; j++) {
          const uint64_t hash = hash_pair(source[i], target[j]), bit = hash >> 20 & (n_bits - 1);
          const uint64_t mask = UINT64_C(1) << (bit & 63);
          if (round == 0) {
            twice[bit / 64] |= n * m <= FEW ? mask : once[bit / 64] & mask;
            once[bit / 64] |= mask;
          } else if (twice[bit / 64] & mask) {
            entry *e = entry_of_pair(a, source[i], target[j], hash);
            if (e->target) continue;
            if (4 * (a->n_entries + 1) > 3 * a->capacity) continue; /* collisions in the bits hid more than a third */
            *e = (entry){.source = (uint32_t)source[i], .target = (uint32_t)target[j] + 1, .forward = 1, .backward = 1};
            a->n_entries++;
          }
        }
    }
  }
  cq_free(once);
  cq_free(twice);
  return failed ? cq_fail_memory(error, "pairs of tokens") : CQ_OK;
}

/* --- expectation and maximization --- */

typedef struct sums {
  double *by_target, *by_source;     /* of n_forward, n_backward */
  double *source_null, *target_null; /* expected counts of nothing */
} sums;

/* Distributes one sentence's tokens over those of the other side. `outer`: the tokens to distribute. */
static void expect_side(const cq_aligner *a, double *null, entry **found, const float *prior, const int32_t *outer,
                        int32_t n_outer, int32_t n_inner, int32_t outer_step, int32_t inner_step, bool backward,
                        double weight) {
  const double *p_nothing = backward ? a->target_null : a->source_null;
  for (int32_t o = 0; o < n_outer; o++) {
    double total = 0, z = 0;
    for (int32_t i = 0; i < n_inner; i++) {
      const int32_t at = o * outer_step + i * inner_step;
      z += (double)prior[at];
      if (found[at]) total += (double)(prior[at] * (backward ? found[at]->backward : found[at]->forward));
    }
    const double scale = (1 - P_NULL) / z, p_null = P_NULL * p_nothing[outer[o]];
    total = total * scale + p_null;
    if (!(total > 0)) continue;
    null[outer[o]] += weight * p_null / total;
    for (int32_t i = 0; i < n_inner; i++) {
      const int32_t at = o * outer_step + i * inner_step;
      if (!found[at]) continue;
      float *p = backward ? &found[at]->backward : &found[at]->forward,
            *n = backward ? &found[at]->n_backward : &found[at]->n_forward;
      *n += (float)(weight * ((double)(prior[at] * *p) * scale / total));
    }
  }
}

static void expect_pair(cq_aligner *a, sums *s, const int32_t *source, int32_t n, const int32_t *target, int32_t m,
                        double weight) {
  entry **found = a->found;
  for (int32_t i = 0; i < n; i++)
    for (int32_t j = 0; j < m; j++) {
      entry *e = entry_of_pair(a, source[i], target[j], hash_pair(source[i], target[j]));
      found[i * m + j] = e->target ? e : NULL;
      const double distance = fabs((i + 0.5) / n - (j + 0.5) / m);
      a->pair_prior[i * m + j] = a->prior[(int)(distance * STEPS)];
    }
  expect_side(a, s->source_null, found, a->pair_prior, source, n, m, m, 1, false, weight);
  expect_side(a, s->target_null, found, a->pair_prior, target, m, n, 1, m, true, weight);
}

static void maximize_alignment(cq_aligner *a, sums *s) {
  memset(s->by_target, 0, (size_t)a->n_target * sizeof(double));
  memset(s->by_source, 0, (size_t)a->n_source * sizeof(double));
  double source_null = 0, target_null = 0;
  for (size_t i = 0; i < a->capacity; i++) {
    const entry *e = &a->table[i];
    if (!e->target) continue;
    s->by_target[e->target - 1] += (double)e->n_forward;
    s->by_source[e->source] += (double)e->n_backward;
  }
  for (size_t i = 0; i < a->capacity; i++) {
    entry *e = &a->table[i];
    if (!e->target) continue;
    const double t = s->by_target[e->target - 1], o = s->by_source[e->source];
    e->forward = t > 0 ? (float)((double)e->n_forward / t) : 0;
    e->backward = o > 0 ? (float)((double)e->n_backward / o) : 0;
    e->n_forward = e->n_backward = 0;
  }
  for (int64_t i = 0; i < a->n_source; i++) source_null += s->source_null[i];
  for (int64_t i = 0; i < a->n_target; i++) target_null += s->target_null[i];
  for (int64_t i = 0; i < a->n_source; i++) a->source_null[i] = source_null > 0 ? s->source_null[i] / source_null : 0;
  for (int64_t i = 0; i < a->n_target; i++) a->target_null[i] = target_null > 0 ? s->target_null[i] / target_null : 0;
}

/* The entries sorted by target; frees the table. */
static cq_status gather_links(cq_aligner *a, cq_error *error) {
  a->first = cq_alloc_array_zeroed((size_t)a->n_target + 1, sizeof *a->first);
  a->links = cq_alloc_array(a->n_entries, sizeof *a->links);
  if (!a->first || !a->links) return cq_fail_memory(error, "links");
  for (size_t i = 0; i < a->capacity; i++)
    if (a->table[i].target) a->first[a->table[i].target]++; /* its number plus one: the end of its run */
  for (int64_t t = 0; t < a->n_target; t++) a->first[t + 1] += a->first[t];
  size_t *next = cq_alloc_array((size_t)a->n_target + 1, sizeof *next);
  if (!next) return cq_fail_memory(error, "links");
  memcpy(next, a->first, ((size_t)a->n_target + 1) * sizeof *next);
  for (size_t i = 0; i < a->capacity; i++) {
    const entry *e = &a->table[i];
    if (e->target) a->links[next[e->target - 1]++] = (cq_link){(int32_t)e->source, e->forward * e->backward};
  }
  cq_free(next);
  cq_free(a->table);
  a->table = NULL;
  return CQ_OK;
}

cq_status cq_aligner_run(cq_aligner *a, int n_iterations, cq_error *error) {
  cq_status status = find_cooccurrences(a, error);
  if (status) return status;
  sums s = {.by_target = cq_alloc_array_zeroed((size_t)a->n_target, sizeof(double)),
            .by_source = cq_alloc_array_zeroed((size_t)a->n_source, sizeof(double)),
            .source_null = cq_alloc_array_zeroed((size_t)a->n_source, sizeof(double)),
            .target_null = cq_alloc_array_zeroed((size_t)a->n_target, sizeof(double))};
  a->source_null = cq_alloc_array((size_t)a->n_source, sizeof(double));
  a->target_null = cq_alloc_array((size_t)a->n_target, sizeof(double));
  if (!s.by_target || !s.by_source || !s.source_null || !s.target_null || !a->source_null || !a->target_null)
    status = cq_fail_memory(error, "alignment");
  for (int64_t i = 0; !status && i < a->n_source; i++) a->source_null[i] = 1;
  for (int64_t i = 0; !status && i < a->n_target; i++) a->target_null[i] = 1;
  for (int round = 0; !status && round < n_iterations; round++) {
    memset(s.source_null, 0, (size_t)a->n_source * sizeof(double));
    memset(s.target_null, 0, (size_t)a->n_target * sizeof(double));
    for (size_t at = 0; at < a->n_tokens; at += HEAD + (size_t)a->tokens[at] + (size_t)a->tokens[at + 1]) {
      const int32_t n = a->tokens[at], m = a->tokens[at + 1], *source = a->tokens + at + HEAD;
      expect_pair(a, &s, source, n, source + n, m, a->tokens[at + 2]);
    }
    maximize_alignment(a, &s);
  }
  cq_free(s.by_target);
  cq_free(s.by_source);
  cq_free(s.source_null);
  cq_free(s.target_null);
  return status ? status : gather_links(a, error);
}

size_t cq_aligner_links(const cq_aligner *a, int32_t target, cq_link *links, size_t max) {
  size_t n = 0;
  double total = 0;
  for (size_t i = a->first[target]; i < a->first[target + 1]; i++) {
    cq_link link = a->links[i];
    size_t at = n;
    while (at > 0 && (links[at - 1].weight < link.weight ||
                      (links[at - 1].weight == link.weight && links[at - 1].source > link.source)))
      at--;
    if (at >= max || !(link.weight > 0)) continue;
    if (n < max) n++;
    memmove(links + at + 1, links + at, (n - at - 1) * sizeof *links);
    links[at] = link;
  }
  for (size_t i = 0; i < n; i++) total += (double)links[i].weight;
  for (size_t i = 0; i < n; i++) links[i].weight = (float)((double)links[i].weight / total);
  return n;
}
