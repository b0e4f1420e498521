/* Words spelled alike across scripts: learns letters by EM, then makes a table of matching words. See cognates.h. */
#include "lab/clir/cognates.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/utf8.h"
#include "tensor/kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAX_LETTERS = 24,               /* letters of a word that are used */
  MAX_ALPHABET = 1000,            /* different ones of a language */
  MAX_TWO_LETTER_STEPS = 4 << 20, /* entries of p21 or p12; larger alphabets do without */
  SHARDS = 16,                    /* parts of the pairs, counted separately; counts are added in order */
  STAGE_ITERATIONS = 10,
  LAST_ITERATIONS = 4,
  SALIENT = 30,
  MAX_OF_GROUP = 200, /* words of a group in the last stage */
};

static const double share_of_list = 0.5; /* matches a word of the longer list, at most */
static const double prior = 0.25;        /* prior counts of letters */
static const double prior_alike = 50;    /* prior counts of similar letters, in total over all letters of a language */
static const double same_group = 0.2;    /* how alike two letters of a group are */
static const double contrast_at = 10;    /* a pair of this score is half a match */
static const float min_likeness = 0.3f;  /* a pair whose letters have a lower cosine is certainly noise */

typedef struct spellings {
  uint16_t *letters; /* [n, MAX_LETTERS] */
  uint8_t *lengths;
  uint32_t n;
  uint32_t *alphabet; /* [n_letters] ascending */
  int n_letters;
  double *frequency; /* [n_letters] share of each letter, over words */
  double *noise;     /* [n] log probability of the word under it */
} spellings;

/* Probabilities of steps, or their expected counts. */
typedef struct steps {
  double *p11, *p10, *p01, *p21, *p12; /* one block; p21 and p12 NULL: none of two letters */
  size_t n, n_single;                  /* all of the block; its part without p21 and p12 */
} steps;

struct cq_cognates {
  spellings source, target;
  steps p;
  double share;
};

/* --- spellings --- */

static bool collect_alphabet(spellings *s, const cq_slice *words) {
  size_t n = 0, capacity = 0;
  uint32_t *codes = NULL;
  for (uint32_t w = 0; w < s->n; w++) {
    for (size_t i = 0; i < words[w].n;) {
      if (!cq_reserve((void **)&codes, &capacity, n + 1, sizeof *codes)) return cq_free(codes), false;
      i += cq_utf8_decode(&codes[n++], words[w].data + i, words[w].n - i);
    }
    if (n < 1 << 16 && w + 1 < s->n) continue;
    if (n) qsort(codes, n, sizeof *codes, cq_order_u32);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
      if (i == 0 || codes[i] != codes[kept - 1]) codes[kept++] = codes[i];
    n = kept;
  }
  s->alphabet = codes;
  s->n_letters = (int)n;
  return true;
}

static uint16_t letter_of(const spellings *s, uint32_t code) {
  int low = 0, high = s->n_letters - 1;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (s->alphabet[middle] < code)
      low = middle + 1;
    else
      high = middle;
  }
  return (uint16_t)low;
}

static cq_status spell_words(spellings *s, const cq_slice *words, uint32_t n, cq_error *error) {
  s->n = n;
  if (!collect_alphabet(s, words)) return cq_fail_memory(error, "letters");
  if (s->n_letters > MAX_ALPHABET)
    return cq_fail(error, CQ_ERR_UNSUPPORTED, "%d different letters; words are compared in alphabets of at most %d",
                   s->n_letters, MAX_ALPHABET);
  s->letters = cq_alloc_array_zeroed(n, MAX_LETTERS * sizeof *s->letters);
  s->lengths = cq_alloc_array_zeroed(n, sizeof *s->lengths);
  s->frequency = cq_alloc_array((size_t)s->n_letters, sizeof *s->frequency);
  s->noise = cq_alloc_array_zeroed(n, sizeof *s->noise);
  if (!s->letters || !s->lengths || !s->frequency || !s->noise) return cq_fail_memory(error, "letters");
  double sum = s->n_letters;
  for (int c = 0; c < s->n_letters; c++) s->frequency[c] = 1;
  for (uint32_t w = 0; w < n; w++) {
    uint16_t *letters = s->letters + (size_t)w * MAX_LETTERS;
    for (size_t i = 0; i < words[w].n && s->lengths[w] < MAX_LETTERS;) {
      uint32_t code;
      i += cq_utf8_decode(&code, words[w].data + i, words[w].n - i);
      letters[s->lengths[w]] = letter_of(s, code);
      s->frequency[letters[s->lengths[w]++]]++;
      sum++;
    }
  }
  for (int c = 0; c < s->n_letters; c++) s->frequency[c] /= sum;
  for (uint32_t w = 0; w < n; w++)
    for (int i = 0; i < s->lengths[w]; i++)
      s->noise[w] += log(s->frequency[s->letters[(size_t)w * MAX_LETTERS + (size_t)i]]);
  return CQ_OK;
}

static void free_spellings(spellings *s) {
  cq_free(s->letters);
  cq_free(s->lengths);
  cq_free(s->alphabet);
  cq_free(s->frequency);
  cq_free(s->noise);
}

/* --- steps --- */

static bool make_steps(steps *s, const cq_cognates *c) {
  const size_t a = (size_t)c->source.n_letters, b = (size_t)c->target.n_letters;
  const bool has_doubles = a * a * b <= MAX_TWO_LETTER_STEPS && a * b * b <= MAX_TWO_LETTER_STEPS;
  s->n_single = a * b + a + b;
  s->n = s->n_single + (has_doubles ? a * a * b + a * b * b : 0);
  s->p11 = cq_alloc_array_zeroed(s->n, sizeof *s->p11);
  if (!s->p11) return false;
  s->p10 = s->p11 + a * b;
  s->p01 = s->p10 + a;
  s->p21 = has_doubles ? s->p01 + b : NULL;
  s->p12 = has_doubles ? s->p21 + a * a * b : NULL;
  return true;
}

cq_status cq_cognates_open(cq_cognates **out, const cq_slice *sources, uint32_t n_sources, const cq_slice *targets,
                           uint32_t n_targets, cq_error *error) {
  *out = NULL;
  cq_cognates *c = cq_alloc_zeroed(sizeof *c);
  if (!c) return cq_fail_memory(error, "letters");
  cq_status status = spell_words(&c->source, sources, n_sources, error);
  if (!status) status = spell_words(&c->target, targets, n_targets, error);
  if (!status && !make_steps(&c->p, c)) status = cq_fail_memory(error, "letters");
  if (status)
    cq_cognates_free(c);
  else
    *out = c;
  return status;
}

void cq_cognates_free(cq_cognates *c) {
  if (!c) return;
  free_spellings(&c->source);
  free_spellings(&c->target);
  cq_free(c->p.p11);
  cq_free(c);
}

/* How similar two letters are before learning: identical, or from one group of Latin letters that often replace each
 * other. Source: Zobel & Dart 1996 (Editex). */
static double likeness(uint32_t a, uint32_t b) {
  static const char *const groups[] = {"aeiouy", "bp", "ckq", "dt", "lr", "mn", "gj", "fpv", "sxz", "csz", "vw", "gk"};
  if (a == b) return 1;
  if (a < 'a' || a > 'z' || b < 'a' || b > 'z') return 0;
  for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
    if (strchr(groups[g], (int)a) && strchr(groups[g], (int)b)) return same_group;
  return 0;
}

/* The prior: letters match by chance, similar letters more often. */
static void begin_learning(cq_cognates *c) {
  const int a = c->source.n_letters, b = c->target.n_letters;
  double sum = 0;
  memset(c->p.p11, 0, c->p.n * sizeof *c->p.p11);
  for (int i = 0; i < a; i++)
    for (int j = 0; j < b; j++) {
      double *p = &c->p.p11[i * b + j];
      *p = c->source.frequency[i] * c->target.frequency[j];
      *p += likeness(c->source.alphabet[i], c->target.alphabet[j]) * c->source.frequency[i];
      sum += *p;
    }
  for (int i = 0; i < a * b; i++) c->p.p11[i] *= 0.6 / sum;
  for (int i = 0; i < a; i++) c->p.p10[i] = 0.2 * c->source.frequency[i];
  for (int j = 0; j < b; j++) c->p.p01[j] = 0.2 * c->target.frequency[j];
}

/* Initial steps with two letters: as likely as the corresponding single-letter steps. */
static void add_double_steps(cq_cognates *c) {
  const int a = c->source.n_letters, b = c->target.n_letters;
  steps *p = &c->p;
  if (!p->p21) return;
  double sum21 = 0, sum12 = 0;
  for (int i = 0; i < a; i++)
    for (int k = 0; k < a; k++)
      for (int j = 0; j < b; j++)
        sum21 += p->p21[(i * a + k) * b + j] =
            c->source.frequency[i] * p->p11[k * b + j] + c->source.frequency[k] * p->p11[i * b + j];
  for (int i = 0; i < a; i++)
    for (int j = 0; j < b; j++)
      for (int k = 0; k < b; k++)
        sum12 += p->p12[(i * b + j) * b + k] =
            c->target.frequency[j] * p->p11[i * b + k] + c->target.frequency[k] * p->p11[i * b + j];
  for (int i = 0; i < a * a * b; i++) p->p21[i] *= 0.1 / sum21;
  for (int i = 0; i < a * b * b; i++) p->p12[i] *= 0.1 / sum12;
  for (size_t i = 0; i < p->n_single; i++) p->p11[i] *= 0.8;
}

/* --- one pair: the sums over all alignments of its letters --- */

typedef double table[MAX_LETTERS + 1][MAX_LETTERS + 1];

static double forward_steps(table f, const cq_cognates *c, uint32_t e, uint32_t h, bool doubles) {
  const uint16_t *x = c->source.letters + (size_t)e * MAX_LETTERS, *y = c->target.letters + (size_t)h * MAX_LETTERS;
  const int n = c->source.lengths[e], m = c->target.lengths[h], a = c->source.n_letters, b = c->target.n_letters;
  const steps *p = &c->p;
  for (int i = 0; i <= n; i++)
    for (int j = 0; j <= m; j++) {
      double sum = i == 0 && j == 0;
      if (i > 0) sum += f[i - 1][j] * p->p10[x[i - 1]];
      if (j > 0) sum += f[i][j - 1] * p->p01[y[j - 1]];
      if (i > 0 && j > 0) sum += f[i - 1][j - 1] * p->p11[x[i - 1] * b + y[j - 1]];
      if (doubles && i > 1 && j > 0) sum += f[i - 2][j - 1] * p->p21[(x[i - 2] * a + x[i - 1]) * b + y[j - 1]];
      if (doubles && i > 0 && j > 1) sum += f[i - 1][j - 2] * p->p12[(x[i - 1] * b + y[j - 2]) * b + y[j - 1]];
      f[i][j] = sum;
    }
  return f[n][m];
}

/* Adds `weight` times the expected step counts of a pair with forward sums f. */
static void backward_steps(steps *counts, table f, const cq_cognates *c, uint32_t e, uint32_t h, double weight,
                           bool doubles) {
  const uint16_t *x = c->source.letters + (size_t)e * MAX_LETTERS, *y = c->target.letters + (size_t)h * MAX_LETTERS;
  const int n = c->source.lengths[e], m = c->target.lengths[h], a = c->source.n_letters, b = c->target.n_letters;
  const steps *p = &c->p;
  table g;
  for (int i = n; i >= 0; i--)
    for (int j = m; j >= 0; j--) {
      const double here = f[i][j] * weight;
      double sum = i == n && j == m, part;
      if (i < n) {
        sum += part = p->p10[x[i]] * g[i + 1][j];
        counts->p10[x[i]] += here * part;
      }
      if (j < m) {
        sum += part = p->p01[y[j]] * g[i][j + 1];
        counts->p01[y[j]] += here * part;
      }
      if (i < n && j < m) {
        sum += part = p->p11[x[i] * b + y[j]] * g[i + 1][j + 1];
        counts->p11[x[i] * b + y[j]] += here * part;
      }
      if (doubles && i + 1 < n && j < m) {
        const int at = (x[i] * a + x[i + 1]) * b + y[j];
        sum += part = p->p21[at] * g[i + 2][j + 1];
        counts->p21[at] += here * part;
      }
      if (doubles && i < n && j + 1 < m) {
        const int at = (x[i] * b + y[j]) * b + y[j + 1];
        sum += part = p->p12[at] * g[i + 1][j + 2];
        counts->p12[at] += here * part;
      }
      g[i][j] = sum;
    }
}

double cq_cognates_score(const cq_cognates *c, uint32_t e, uint32_t h) {
  table f;
  const double z = forward_steps(f, c, e, h, c->p.p21 != NULL);
  return (z > 0 ? log(z) : -1e9) - c->source.noise[e] - c->target.noise[h];
}

/* --- EM --- */

typedef struct pair {
  uint32_t source, target;
} pair;

typedef struct iteration {
  const cq_cognates *c;
  const pair *pairs;
  size_t n, n_all; /* number of evaluated pairs; the same including noise */
  bool doubles;
  steps counts[SHARDS];
  double matches[SHARDS];
} iteration;

static size_t steps_in_use(const iteration *it) {
  return it->doubles ? it->c->p.n : it->c->p.n_single;
}

static void count_shard(void *context, size_t shard, int worker) {
  (void)worker;
  iteration *it = context;
  const cq_cognates *c = it->c;
  const size_t first = it->n * shard / SHARDS, end = it->n * (shard + 1) / SHARDS;
  memset(it->counts[shard].p11, 0, steps_in_use(it) * sizeof(double));
  double matches = 0;
  for (size_t i = first; i < end; i++) {
    const pair p = it->pairs[i];
    table f;
    const double z = forward_steps(f, c, p.source, p.target, it->doubles);
    const double match = c->share * z;
    const double noise = (1 - c->share) * exp(c->source.noise[p.source] + c->target.noise[p.target]);
    if (!(match + noise > 0)) continue;
    const double posterior = match / (match + noise);
    matches += posterior;
    if (posterior >= 1e-4) backward_steps(&it->counts[shard], f, c, p.source, p.target, posterior / z, it->doubles);
  }
  it->matches[shard] = matches;
}

/* Probabilities in proportion to what was counted. */
static void maximize_likelihood(cq_cognates *c, const iteration *it, double max) {
  const int a = c->source.n_letters, b = c->target.n_letters;
  const size_t n = steps_in_use(it);
  double *p = c->p.p11, sum = 0, matches = 0;
  memset(p, 0, n * sizeof *p);
  for (int s = 0; s < SHARDS; s++) {
    for (size_t i = 0; i < n; i++) p[i] += it->counts[s].p11[i];
    matches += it->matches[s];
  }
  for (int i = 0; i < a; i++) {
    c->p.p10[i] += prior * c->source.frequency[i];
    for (int j = 0; j < b; j++)
      c->p.p11[i * b + j] +=
          c->source.frequency[i] *
          (prior * c->target.frequency[j] + prior_alike * likeness(c->source.alphabet[i], c->target.alphabet[j]));
  }
  for (int j = 0; j < b; j++) c->p.p01[j] += prior * c->target.frequency[j];
  for (size_t i = 0; i < n; i++) sum += p[i];
  for (size_t i = 0; i < n; i++) p[i] /= sum;
  c->share = fmin(fmax(matches / (double)it->n_all, 1e-5), max);
}

static int by_words(const void *a, const void *b) {
  const pair *p = a, *q = b;
  if (p->source != q->source) return p->source < q->source ? -1 : 1;
  return (p->target > q->target) - (p->target < q->target);
}

static void shape_of_groups(size_t *n_pairs, size_t *longer, const cq_cognate_group *groups, size_t n_groups,
                            size_t max) {
  *n_pairs = *longer = 0;
  for (size_t g = 0; g < n_groups; g++) {
    const size_t a = cq_min(groups[g].n_sources, max), b = cq_min(groups[g].n_targets, max);
    *n_pairs += a * b;
    *longer += a > b ? a : b;
  }
}

static size_t drop_repeated_pairs(pair *pairs, size_t n) {
  size_t kept = 0;
  if (n) qsort(pairs, n, sizeof *pairs, by_words);
  for (size_t i = 0; i < n; i++)
    if (i == 0 || by_words(&pairs[i], &pairs[kept - 1])) pairs[kept++] = pairs[i];
  return kept;
}

/* All pairs within groups of their first `max` words, each pair once. */
static cq_status pairs_of(pair **out, size_t *n, const cq_cognate_group *groups, size_t n_groups, size_t max,
                          cq_error *error) {
  size_t n_all, longer;
  shape_of_groups(&n_all, &longer, groups, n_groups, max);
  *out = cq_alloc_array(n_all, sizeof **out);
  if (!*out) return cq_fail_memory(error, "pairs of words");
  *n = 0;
  for (size_t g = 0; g < n_groups; g++)
    for (size_t i = 0; i < cq_min(groups[g].n_sources, max); i++)
      for (size_t j = 0; j < cq_min(groups[g].n_targets, max); j++)
        (*out)[(*n)++] = (pair){groups[g].sources[i], groups[g].targets[j]};
  *n = drop_repeated_pairs(*out, *n);
  return CQ_OK;
}

/* The same for pairs whose letters may match; all others are certainly noise. */
static cq_status likely_pairs_of(pair **out, size_t *n, const cq_cognates *c, const cq_cognate_group *groups,
                                 size_t n_groups, size_t max, cq_error *error) {
  const size_t b = (size_t)c->target.n_letters;
  const cq_kernels *kernels = cq_kernels_best();
  float *expected = cq_alloc_array(c->source.n, b * sizeof *expected);
  float *spelled = cq_alloc_array(c->target.n, b * sizeof *spelled);
  size_t capacity = 0;
  cq_status status = expected && spelled ? CQ_OK : cq_fail_memory(error, "letters");
  if (!status) {
    status = cq_cognates_expected(expected, c, error);
    cq_cognates_letters(spelled, c);
  }
  for (size_t g = 0; !status && g < n_groups; g++)
    for (size_t i = 0; !status && i < cq_min(groups[g].n_sources, max); i++)
      for (size_t j = 0; !status && j < cq_min(groups[g].n_targets, max); j++) {
        const pair p = {groups[g].sources[i], groups[g].targets[j]};
        if (kernels->dot(expected + p.source * b, spelled + p.target * b, (int64_t)b) < min_likeness) continue;
        if (!cq_reserve((void **)out, &capacity, *n + 1, sizeof **out))
          status = cq_fail_memory(error, "pairs of words");
        if (!status) (*out)[(*n)++] = p;
      }
  if (*out) *n = drop_repeated_pairs(*out, *n);
  cq_free(expected);
  cq_free(spelled);
  return status;
}

static double max_matches(const cq_cognate_group *groups, size_t n_groups, size_t max) {
  size_t n_pairs, longer;
  shape_of_groups(&n_pairs, &longer, groups, n_groups, max);
  return longer ? share_of_list * (double)n_groups / (double)longer : share_of_list;
}

static cq_status open_iteration(iteration *it, const cq_cognates *c, cq_error *error) {
  bool ok = true;
  *it = (iteration){.c = c};
  for (int s = 0; ok && s < SHARDS; s++) ok = make_steps(&it->counts[s], c);
  return ok ? CQ_OK : cq_fail_memory(error, "counts of letters");
}

static void close_iteration(iteration *it) {
  for (int s = 0; s < SHARDS; s++) cq_free(it->counts[s].p11);
}

static void iterate_em(cq_cognates *c, iteration *it, int n, double max, cq_context *ctx) {
  for (int i = 0; i < n; i++) {
    cq_context_run(ctx, SHARDS, count_shard, it);
    maximize_likelihood(c, it, max);
  }
}

cq_status cq_cognates_learn(cq_cognates *c, const cq_cognate_group *groups, size_t n_groups, const int *schedule,
                            size_t n_schedule, cq_context *ctx, cq_error *error) {
  iteration it;
  cq_status status = open_iteration(&it, c, error);
  begin_learning(c);
  for (size_t stage = 0; !status && stage < n_schedule; stage++) {
    const size_t max = (size_t)schedule[stage];
    pair *pairs = NULL;
    status = pairs_of(&pairs, &it.n, groups, n_groups, max, error);
    it.pairs = pairs, it.n_all = it.n;
    c->share = max_matches(groups, n_groups, max);
    if (!status && it.n) iterate_em(c, &it, STAGE_ITERATIONS, c->share, ctx);
    cq_free(pairs);
  }
  close_iteration(&it);
  return status;
}

cq_status cq_cognates_finish(cq_cognates *c, const cq_cognate_group *groups, size_t n_groups, cq_context *ctx,
                             cq_error *error) {
  const double max = max_matches(groups, n_groups, MAX_OF_GROUP);
  iteration it;
  pair *pairs = NULL;
  size_t longer;
  cq_status status = open_iteration(&it, c, error);
  if (!status) status = likely_pairs_of(&pairs, &it.n, c, groups, n_groups, MAX_OF_GROUP, error);
  shape_of_groups(&it.n_all, &longer, groups, n_groups, MAX_OF_GROUP);
  it.pairs = pairs;
  c->share = max;
  if (!status && it.n) {
    iterate_em(c, &it, LAST_ITERATIONS, max, ctx);
    it.doubles = c->p.p21;
    if (it.doubles) {
      add_double_steps(c);
      iterate_em(c, &it, 1, max, ctx);
    }
  }
  cq_free(pairs);
  close_iteration(&it);
  return status;
}

/* --- contrast --- */

typedef struct contrasting {
  const cq_cognates *c;
  const cq_cognate_group *groups;
  size_t n;
  double *sums; /* [n] */
} contrasting;

/* Matches between one group's sources and another's targets. */
static double matches_between(const cq_cognates *c, const cq_cognate_group *a, const cq_cognate_group *b) {
  double sum = 0;
  for (size_t i = 0; i < cq_min(a->n_sources, SALIENT); i++) {
    double best = -INFINITY;
    for (size_t j = 0; j < cq_min(b->n_targets, SALIENT); j++)
      best = fmax(best, cq_cognates_score(c, a->sources[i], b->targets[j]));
    sum += 1 / (1 + exp(contrast_at - best));
  }
  return sum;
}

static void contrast_group(void *context, size_t g, int worker) {
  (void)worker;
  const contrasting *k = context;
  const cq_cognate_group *groups = k->groups;
  k->sums[g] =
      matches_between(k->c, &groups[g], &groups[g]) - (matches_between(k->c, &groups[g], &groups[(g + 1) % k->n]) +
                                                       matches_between(k->c, &groups[g], &groups[(g + 2) % k->n])) /
                                                          2;
}

cq_status cq_cognates_contrast(double *contrast, const cq_cognates *c, const cq_cognate_group *groups, size_t n_groups,
                               cq_context *ctx, cq_error *error) {
  contrasting k = {c, groups, n_groups, cq_alloc_array(n_groups, sizeof *k.sums)};
  *contrast = 0;
  if (!k.sums) return cq_fail_memory(error, "a contrast");
  cq_context_run(ctx, n_groups, contrast_group, &k);
  for (size_t g = 0; g < n_groups; g++) *contrast += k.sums[g];
  cq_free(k.sums);
  return CQ_OK;
}

/* --- letters as vectors --- */

int cq_cognates_n_letters(const cq_cognates *c) {
  return c->target.n_letters;
}

static void finish_row(float *row, const cq_cognates *c, int length) {
  const int b = c->target.n_letters;
  double squares = 0;
  for (int j = 0; j < b; j++) {
    row[j] = length < 3 ? 0 : (float)(row[j] / sqrt(c->target.frequency[j]));
    squares += (double)row[j] * (double)row[j];
  }
  for (int j = 0; squares > 0 && j < b; j++) row[j] = (float)(row[j] / sqrt(squares));
}

cq_status cq_cognates_expected(float *out, const cq_cognates *c, cq_error *error) {
  const int a = c->source.n_letters, b = c->target.n_letters;
  double *sums = cq_alloc_array((size_t)a, sizeof *sums);
  if (!sums) return cq_fail_memory(error, "letters");
  for (int i = 0; i < a; i++) {
    sums[i] = c->p.p10[i] + 1e-12;
    for (int j = 0; j < b; j++) sums[i] += c->p.p11[i * b + j];
  }
  for (uint32_t e = 0; e < c->source.n; e++) {
    float *row = out + (size_t)e * (size_t)b;
    memset(row, 0, (size_t)b * sizeof *row);
    for (int k = 0; k < c->source.lengths[e]; k++) {
      const int i = c->source.letters[(size_t)e * MAX_LETTERS + (size_t)k];
      for (int j = 0; j < b; j++) row[j] += (float)(c->p.p11[i * b + j] / sums[i]);
    }
    finish_row(row, c, c->source.lengths[e]);
  }
  cq_free(sums);
  return CQ_OK;
}

void cq_cognates_letters(float *out, const cq_cognates *c) {
  const int b = c->target.n_letters;
  for (uint32_t h = 0; h < c->target.n; h++) {
    float *row = out + (size_t)h * (size_t)b;
    memset(row, 0, (size_t)b * sizeof *row);
    for (int k = 0; k < c->target.lengths[h]; k++) row[c->target.letters[(size_t)h * MAX_LETTERS + (size_t)k]]++;
    finish_row(row, c, c->target.lengths[h]);
  }
}
