/* The number of matches of each kind is easy to count, but the chunks depend on which occurrence of "the" matches
 * which. This is searched from left to right over the hypothesis, with a set of states:
 *
 *   state   which reference words are taken, the position of the last match, the chunks so far
 *
 *   word i ──▶ each state ──▶ leave the word out, or match it with any free reference word of its group
 *          ──▶ drop states that can no longer reach the maximum number of matches
 *          ──▶ among states with the same references taken, drop the dominated ones
 *
 * A group is all words that could match each other. After the group's last hypothesis word, the state forgets which of
 * its reference words were taken, so that few states differ. Matches are a number with three digits, (exact, stem,
 * synonym), in a base K greater than each of them. A group's potential is an upper bound on the matches of its free
 * words: exact if only words and stems match, possibly too high if a word is in several sets of synonyms. `slack` is
 * the total excess allowed; it is raised until an alignment is found.
 *
 * The problem is as hard as the shortest common partition of strings. A first pass keeps the FEW_STATES with the
 * fewest chunks; if it dropped any, a second pass with MAX_STATES looks for a better alignment. If that also drops any,
 * or if MAX_BRANCHES of one state were not enough, the alignment counts as approximate. Source: Banerjee & Lavie 2005
 * for the stages, Denkowski & Lavie 2011 for the fewest chunks. */
#include "lab/measures/meteor_align.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
  FEW_STATES = 32,
  MAX_STATES = 2048,
  MAX_BRANCHES = 32,
  WORK = 1 << 28, /* approximate steps per sentence; fewer states are kept if each is expensive */
};

#define NOWHERE UINT32_MAX

/* A word at its position, in the order of groups, stems and words. */
typedef struct member {
  uint64_t key; /* stem, word */
  uint32_t group, at;
} member;

typedef struct group {
  size_t h, h_end, r, r_end; /* among the members of each side */
  uint32_t last;             /* word of the hypothesis */
} group;

typedef struct state {
  uint64_t lost;         /* of the potential */
  uint32_t chunks, next; /* next: the reference position after the last word's; NOWHERE: the word was left out */
  size_t n_taken;        /* words of taken */
  uint64_t taken[];      /* a bit a member of the reference */
} state;

typedef struct search {
  member *h, *r;
  size_t n_h, n_r;
  group *groups;
  size_t n_groups;
  uint32_t *group_of; /* [n_h] by place; NOWHERE: the word matches nothing */
  cq_meteor_synonyms_fn synonyms;
  const void *context;
  uint64_t k, slack;
  uint32_t enough; /* chunks: states must have less */
  size_t max_states;
  size_t stride; /* bytes of a state */
  char *now, *then;
  state **order; /* of those in then */
  size_t n_now, n_then, now_capacity, then_capacity, order_capacity;
  bool approximate;
} search;

/* --- groups --- */

static int by_key(const void *a, const void *b) {
  const member *x = a, *y = b;
  if (x->group != y->group) return x->group < y->group ? -1 : 1;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

static void set_members(member *out, const cq_meteor_word *words, size_t n) {
  for (size_t i = 0; i < n; i++)
    out[i] = (member){(uint64_t)words[i].stem << 32 | words[i].word, words[i].group, (uint32_t)i};
  qsort(out, n, sizeof *out, by_key);
}

/* The groups that both sides have. */
static void set_groups(search *s) {
  for (size_t i = 0; i < s->n_h; i++) s->group_of[i] = NOWHERE;
  for (size_t h = 0, r = 0; h < s->n_h && r < s->n_r;) {
    const uint32_t id = s->h[h].group;
    if (s->r[r].group < id) {
      r++;
      continue;
    }
    group g = {.h = h, .r = r, .h_end = h, .r_end = r};
    while (g.h_end < s->n_h && s->h[g.h_end].group == id) g.h_end++;
    while (g.r_end < s->n_r && s->r[g.r_end].group == id) g.r_end++;
    for (size_t i = h; i < g.h_end && g.r_end > r; i++) {
      s->group_of[s->h[i].at] = (uint32_t)s->n_groups;
      if (s->h[i].at > g.last) g.last = s->h[i].at;
    }
    if (g.r_end > r) s->groups[s->n_groups++] = g;
    h = g.h_end, r = g.r_end;
  }
}

static bool member_is_taken(const uint64_t *taken, size_t r) {
  return taken[r / 64] >> (r % 64) & 1;
}

/* The maximum of matches for a group's words from position i on with the free reference words. */
static uint64_t group_potential(const search *s, const group *g, size_t i, const uint64_t *taken) {
  size_t exact = 0, stem = 0, all_h = 0, all_r = 0, stem_h = 0, stem_r = 0;
  uint64_t last = UINT64_MAX;
  for (size_t h = g->h, r = g->r; h < g->h_end || r < g->r_end;) {
    const uint64_t key = r == g->r_end || (h < g->h_end && s->h[h].key < s->r[r].key) ? s->h[h].key : s->r[r].key;
    if (key >> 32 != last >> 32) {
      stem += cq_min(stem_h, stem_r);
      stem_h = stem_r = 0;
    }
    size_t word_h = 0, word_r = 0;
    for (; h < g->h_end && s->h[h].key == key; h++) word_h += s->h[h].at >= i;
    for (; r < g->r_end && s->r[r].key == key; r++) word_r += !member_is_taken(taken, r);
    exact += cq_min(word_h, word_r);
    stem_h += word_h, stem_r += word_r;
    all_h += word_h, all_r += word_r;
    last = key;
  }
  stem += cq_min(stem_h, stem_r);
  const size_t all = s->synonyms ? cq_min(all_h, all_r) : stem;
  return (exact * s->k + (stem - exact)) * s->k + (all - stem);
}

/* The weight of a match between two words of a group; 0: they do not match. */
static uint64_t match_worth(const search *s, uint64_t key_h, uint64_t key_r) {
  if (key_h == key_r) return s->k * s->k;
  if (key_h >> 32 == key_r >> 32) return s->k;
  return s->synonyms && s->synonyms(s->context, (uint32_t)(key_h >> 32), (uint32_t)(key_r >> 32));
}

/* --- states --- */

static state *state_at(char *states, size_t stride, size_t i) {
  return (state *)(void *)(states + i * stride);
}

static bool push_state(search *s, const state *from, uint64_t lost, uint32_t chunks, uint32_t next, size_t taken) {
  if (chunks >= s->enough) return true;
  if (!cq_reserve((void **)&s->then, &s->then_capacity, (s->n_then + 1) * s->stride, 1)) return false;
  state *to = state_at(s->then, s->stride, s->n_then++);
  memcpy(to, from, s->stride);
  to->lost = lost, to->chunks = chunks, to->next = next;
  if (taken != SIZE_MAX) to->taken[taken / 64] |= (uint64_t)1 << (taken % 64);
  return true;
}

/* The successors of a state by matching the word with this key at position i. */
static bool branch_state(search *s, state *from, const group *g, size_t i, uint64_t key, size_t max_branches) {
  const uint64_t before = group_potential(s, g, i, from->taken);
  uint64_t lost = from->lost + before - group_potential(s, g, i + 1, from->taken);
  if (lost <= s->slack && !push_state(s, from, lost, from->chunks, NOWHERE, SIZE_MAX)) return false;
  size_t first = g->r, n_branches = 0;
  for (size_t r = g->r; r < g->r_end; r++)
    if (s->r[r].at == from->next) first = r;
  for (size_t n = 0, r = first; n < g->r_end - g->r; n++, r = r + 1 < g->r_end ? r + 1 : g->r) {
    const uint64_t gain = member_is_taken(from->taken, r) ? 0 : match_worth(s, key, s->r[r].key);
    if (!gain) continue;
    const uint64_t bit = (uint64_t)1 << (r % 64);
    from->taken[r / 64] |= bit;
    lost = from->lost + before - gain - group_potential(s, g, i + 1, from->taken);
    from->taken[r / 64] &= ~bit;
    if (lost > s->slack) continue;
    if (n_branches++ == max_branches) {
      s->approximate = true;
      break;
    }
    const uint32_t at = s->r[r].at;
    if (!push_state(s, from, lost, from->chunks + (at != from->next), at + 1, r)) return false;
  }
  return true;
}

static int by_taken(const state *x, const state *y) {
  for (size_t i = 0; i < x->n_taken; i++)
    if (x->taken[i] != y->taken[i]) return x->taken[i] < y->taken[i] ? -1 : 1;
  return 0;
}

static int state_by_place(const state *x, const state *y) {
  if (x->lost != y->lost) return x->lost < y->lost ? -1 : 1;
  if (x->chunks != y->chunks) return x->chunks < y->chunks ? -1 : 1;
  return (x->next > y->next) - (x->next < y->next);
}

static int by_taken_then_place(const void *a, const void *b) {
  const state *x = *(state *const *)a, *y = *(state *const *)b;
  const int difference = by_taken(x, y);
  return difference ? difference : state_by_place(x, y);
}

static int by_chunks(const void *a, const void *b) {
  const state *x = *(state *const *)a, *y = *(state *const *)b;
  if (x->chunks != y->chunks) return x->chunks < y->chunks ? -1 : 1;
  const int difference = state_by_place(x, y);
  return difference ? difference : by_taken(x, y);
}

/* Whether x ends with at most as many chunks as y in any case: the next word may extend the last chunk of only one of
 * them. */
static bool is_no_worse(const state *x, const state *y) {
  return x->lost <= y->lost && x->chunks + (x->next != y->next) <= y->chunks;
}

/* now = the states in `then` that are worth extending, at most max_states. */
static bool keep_states(search *s, size_t max_states) {
  size_t n = 0, same = 0; /* order[same .. n) have the same words taken as the current state */
  if (!cq_reserve((void **)&s->order, &s->order_capacity, s->n_then, sizeof *s->order) ||
      !cq_reserve((void **)&s->now, &s->now_capacity, s->n_then * s->stride, 1))
    return false;
  for (size_t i = 0; i < s->n_then; i++) s->order[i] = state_at(s->then, s->stride, i);
  if (s->n_then > 1) qsort(s->order, s->n_then, sizeof(state *), by_taken_then_place);
  for (size_t i = 0; i < s->n_then; i++) {
    state *x = s->order[i];
    bool worse = false;
    if (n && by_taken(s->order[n - 1], x) != 0) same = n;
    for (size_t j = same; j < n && !worse; j++) worse = is_no_worse(s->order[j], x);
    if (!worse) s->order[n++] = x;
  }
  if (n > max_states) {
    qsort(s->order, n, sizeof(state *), by_chunks);
    s->approximate = true;
    n = max_states;
  }
  for (size_t i = 0; i < n; i++) memcpy(state_at(s->now, s->stride, i), s->order[i], s->stride);
  s->n_now = n;
  s->n_then = 0;
  return true;
}

/* --- the search --- */

static bool word_at(search *s, size_t i, uint64_t key) {
  const group *g = s->group_of[i] == NOWHERE ? NULL : &s->groups[s->group_of[i]];
  const size_t cost = s->stride / 8 + (g ? g->h_end - g->h + g->r_end - g->r : 0);
  const size_t max_pushed = WORK / s->n_h / cost;
  const size_t max_branches = max_pushed > MAX_BRANCHES ? MAX_BRANCHES : max_pushed > 1 ? max_pushed - 1 : 1;
  const size_t max_states = cq_min(s->max_states, max_pushed / (max_branches + 1) + 1);
  for (size_t n = 0; n < s->n_now; n++) {
    state *from = state_at(s->now, s->stride, n);
    if (!(g ? branch_state(s, from, g, i, key, max_branches)
            : push_state(s, from, from->lost, from->chunks, NOWHERE, SIZE_MAX)))
      return false;
  }
  for (size_t n = 0; g && g->last == i && n < s->n_then; n++)
    for (size_t r = g->r; r < g->r_end; r++)
      state_at(s->then, s->stride, n)->taken[r / 64] &= ~((uint64_t)1 << (r % 64));
  return keep_states(s, max_states);
}

/* The states that remain with the current slack; none if it is too small. At the end, no words count as taken, so the
 * states differ only in loss and in the last word. */
static bool run_alignment(search *s, const uint64_t *keys) {
  s->n_now = 1;
  memset(s->now, 0, s->stride);
  state *start = state_at(s->now, s->stride, 0);
  start->next = NOWHERE;
  start->n_taken = (s->stride - sizeof(state)) / sizeof(uint64_t);
  for (size_t i = 0; i < s->n_h && s->n_now; i++)
    if (!word_at(s, i, keys[i])) return false;
  return true;
}

typedef struct result {
  uint64_t lost;
  uint32_t chunks;
} result;

/* Raises the slack from 0 to that of *best until a better state is found, which replaces *best. */
static bool improve_alignment(result *best, search *s, const uint64_t *keys) {
  const result limit = *best;
  s->approximate = false;
  for (s->slack = 0; s->slack <= limit.lost; s->slack = s->approximate ? 2 * s->slack + 1 : s->slack + 1) {
    s->enough = s->slack == limit.lost ? limit.chunks : UINT32_MAX;
    if (!run_alignment(s, keys)) return false;
    for (size_t i = 0; i < s->n_now; i++) {
      const state *x = state_at(s->now, s->stride, i);
      if (x->lost < best->lost || (x->lost == best->lost && x->chunks < best->chunks))
        *best = (result){x->lost, x->chunks};
    }
    if (s->n_now) break;
  }
  return true;
}

cq_status cq_meteor_align(cq_meteor_alignment *out, const cq_meteor_word *hypothesis, size_t n_hypothesis,
                          const cq_meteor_word *reference, size_t n_reference, cq_meteor_synonyms_fn synonyms,
                          const void *context, cq_error *error) {
  const size_t n_groups = cq_min(n_hypothesis, n_reference), n_masks = n_reference / 64 + 1;
  search s = {.n_h = n_hypothesis, .n_r = n_reference, .synonyms = synonyms, .context = context, .k = n_groups + 1};
  uint64_t all = 0;
  *out = (cq_meteor_alignment){0};
  s.stride = sizeof(state) + n_masks * sizeof(uint64_t);
  s.h = cq_alloc_array(n_hypothesis, sizeof *s.h);
  s.r = cq_alloc_array(n_reference, sizeof *s.r);
  s.groups = cq_alloc_array(n_groups, sizeof *s.groups);
  s.group_of = cq_alloc_array(n_hypothesis, sizeof *s.group_of);
  uint64_t *keys = cq_alloc_array(n_hypothesis, sizeof *keys);
  bool ok = s.h && s.r && s.groups && s.group_of && keys && cq_reserve((void **)&s.now, &s.now_capacity, s.stride, 1);
  if (ok) {
    set_members(s.h, hypothesis, n_hypothesis);
    set_members(s.r, reference, n_reference);
    set_groups(&s);
    for (size_t i = 0; i < n_hypothesis; i++) keys[i] = (uint64_t)hypothesis[i].stem << 32 | hypothesis[i].word;
    memset(s.now, 0, s.stride);
    for (size_t g = 0; g < s.n_groups; g++)
      all += group_potential(&s, &s.groups[g], 0, state_at(s.now, s.stride, 0)->taken);
  }
  result best = {UINT64_MAX, UINT32_MAX};
  s.max_states = FEW_STATES;
  ok = ok && improve_alignment(&best, &s, keys);
  s.max_states = MAX_STATES;
  if (best.lost == 0 && best.chunks <= 1) s.approximate = false; /* there can be nothing better */
  if (ok && s.approximate) ok = improve_alignment(&best, &s, keys);
  if (ok) {
    const uint64_t got = all - best.lost;
    *out = (cq_meteor_alignment){got / s.k / s.k, got / s.k % s.k, got % s.k, best.chunks, s.approximate};
  }
  cq_free(keys);
  cq_free(s.group_of);
  cq_free(s.groups);
  cq_free(s.r);
  cq_free(s.h);
  cq_free(s.order);
  cq_free(s.then);
  cq_free(s.now);
  return ok ? CQ_OK : cq_fail_memory(error, "an alignment");
}
