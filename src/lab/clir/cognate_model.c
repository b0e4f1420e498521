/* Transliteration-based matching: learns which letters of two languages correspond from documents on the same topic,
 * and makes a table of words that are spelled alike. */
#include "lab/clir/cognate_model.h"
#include "base/error.h"
#include "base/memory.h"
#include "calque/nearest.h"
#include "lab/clir/cognate_spelling.h"
#include "lab/clir/cognates.h"
#include "text/script.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  MIN_CHARACTERS = 4, /* characters of salient words */
  MAX_CHARACTERS = 20,
  MAX_JUDGED = 500,       /* among this number of the most salient words, parts of longer ones are left out */
  MAX_GROUPS_OF_WORD = 2, /* a salient word is in at most this many topics */
  CANDIDATES = 50,        /* target words that a source word is compared with */
};

static const double min_entry = 0.03;

/* EM may start badly: these schedules differ in how fast words are added, and unsuccessful ones are dropped. */
static const struct schedule {
  int stages[6];
  size_t n;
} schedules[] = {
    {{2, 4, 8, 16, 32}, 5}, {{3, 10}, 2}, {{3, 6, 12, 24}, 4}, {{2, 6, 18}, 3}, {{1, 2, 4, 8, 16, 32}, 6},
};
enum { N_SCHEDULES = sizeof schedules / sizeof *schedules };
static const double min_over_chance = 1.5; /* a contrast below this multiple of the chance level is meaningless */
static const double near_best = 0.75;      /* a contrast above this share of the best one counts as near it */

#define O cq_cognate_options
static const cq_option option_rows[] = {
    {CQ_NUMBER(O, "at", at, CHANGES, 10, -1e6, 1e6, "X", "log-odds at which a pair of words counts half"),
     .flags = CQ_OPTION_ABOVE_MIN | CQ_OPTION_BELOW_MAX},
    {CQ_NUMBER(O, "sharpness", sharpness, CHANGES, 2, 0, 0, "X", "how slowly worse pairs of a word fall off"),
     .flags = CQ_OPTION_ABOVE_MIN},
    {CQ_NUMBER(O, "mu", mu, CHANGES, 300, 0, 0, "X", "Dirichlet smoothing of translated queries"),
     .flags = CQ_OPTION_ABOVE_MIN},
    {CQ_NUMBER(O, "mu-feedback", mu_feedback, CHANGES, 500, 0, 0, "X", "Dirichlet smoothing within a language"),
     .flags = CQ_OPTION_ABOVE_MIN},
    {CQ_NUMBER(O, "query-share", query_share, CHANGES, 0.3, 0, 1, "X", "weight of the query against source feedback")},
    {CQ_NUMBER(O, "similar-share", similar_share, CHANGES, 0.5, 0, 1e6, "X",
               "weight of documents like the source's, in addition to both"),
     .flags = CQ_OPTION_BELOW_MAX},
    {CQ_NUMBER(O, "first-share", first_share, CHANGES, 0.25, 0, 1, "X", "weight of all that against target feedback")},
    {CQ_INT(O, "source-documents", n_source, CHANGES, 6, 1, 0, "N", "documents of source feedback")},
    {CQ_INT(O, "target-documents", n_target, CHANGES, 10, 1, 0, "N", "documents of target feedback")},
    {CQ_INT(O, "source-words", n_source_words, CHANGES, 100, 1, 0, "N", "words of source feedback")},
    {CQ_INT(O, "target-words", n_target_words, CHANGES, 50, 1, 0, "N", "words of target feedback")},
};
#undef O
const cq_option_group cq_group_clir_cognates = {.name = "clir-cognates", CQ_ROWS(cq_cognate_options, option_rows)};

/* --- two languages, for which a table is learned --- */

typedef struct between {
  const cq_clir *clir;
  const cq_clir_side *from, *to;
  const cq_bags *from_plain, *to_plain;
  const bool *held_out;
  bool of_queries; /* including words that only `from`'s queries have */
  const cq_cognate_options *o;
  cq_word_table table;
  double contrast, chance;
  bool is_learned;
} between;

/* --- groups: topics with known documents in both languages --- */

typedef struct grouping {
  size_t *topics; /* [n] */
  size_t n;
  cq_u32_array words[2];
  size_t *starts[2]; /* [n + 1] into words, of each language */
  cq_cognate_group *groups;
} grouping;

static bool same_documents(const cq_clir_side *s, size_t a, size_t b) {
  return s->n_relevant[a] == s->n_relevant[b] &&
         (s->n_relevant[a] == 0 || !memcmp(s->relevant[a], s->relevant[b], s->n_relevant[a] * sizeof **s->relevant));
}

/* Topics of one article share their documents, so one topic represents the article. */
static cq_status choose_group_topics(grouping *g, const between *c, cq_error *error) {
  g->topics = cq_alloc_array(c->clir->n_topics, sizeof *g->topics);
  if (!g->topics) return cq_fail_memory(error, "topics");
  for (size_t t = 0; t < c->clir->n_topics; t++) {
    bool is_new = !(c->held_out && c->held_out[t]) && c->from->n_relevant[t] && c->to->n_relevant[t];
    for (size_t i = 0; is_new && i < g->n; i++)
      is_new = !same_documents(c->from, t, g->topics[i]) || !same_documents(c->to, t, g->topics[i]);
    if (is_new) g->topics[g->n++] = t;
  }
  return CQ_OK;
}

typedef struct salient {
  double score;
  uint32_t word;
} salient;

static int most_salient_first(const void *a, const void *b) {
  const salient *p = a, *q = b;
  if (p->score != q->score) return p->score > q->score ? -1 : 1;
  return (p->word > q->word) - (p->word < q->word);
}

typedef struct tally {
  uint32_t count, documents, groups;
} tally;

/* Counts each plain word in a group's documents, and the documents that have it; `touched`: these words. */
static bool count_group(tally *tallies, cq_u32_array *touched, const cq_clir_side *side, const cq_bags *bags,
                        size_t topic) {
  bool ok = true;
  touched->n = 0;
  for (size_t i = 0; ok && i < side->n_relevant[topic]; i++) {
    const uint32_t d = side->relevant[topic][i];
    for (size_t k = bags->starts[d]; ok && k < bags->starts[d + 1]; k++) {
      tally *t = &tallies[bags->items[k].word];
      if (t->documents == 0) ok = cq_u32_array_append(touched, &bags->items[k].word, 1);
      t->count += (uint32_t)bags->items[k].weight;
      t->documents++;
    }
  }
  return ok;
}

static void clear_tallies(tally *tallies, const cq_u32_array *touched) {
  for (size_t i = 0; i < touched->n; i++) tallies[touched->items[i]].count = tallies[touched->items[i]].documents = 0;
}

static bool has_part(cq_slice text, cq_slice part) {
  for (size_t i = 0; i + part.n <= text.n; i++)
    if (!memcmp(text.data + i, part.data, part.n)) return true;
  return false;
}

/* Leaves out words that occur only inside a longer word of the list: fragments of a name. */
static size_t drop_parts(salient *found, size_t n, const tally *tallies, const cq_spelled *s,
                         const cq_clir_side *side) {
  if (!cq_script_has_no_spaces(side->script)) return n;
  size_t kept = 0;
  n = cq_min(n, MAX_JUDGED);
  for (size_t i = 0; i < n; i++) {
    const uint32_t part = s->plain[found[i].word];
    const cq_slice text = side->plain_words.items[part];
    bool is_part = false;
    for (size_t k = 0; !is_part && k < n; k++) {
      const uint32_t whole = s->plain[found[k].word];
      const cq_slice longer = side->plain_words.items[whole];
      is_part = longer.n > text.n && tallies[whole].count == tallies[part].count && has_part(longer, text);
    }
    if (!is_part) found[kept++] = found[i];
  }
  return kept;
}

/* One language's salient words of every group: they are in few groups, frequent and in many documents there, and rare
 * elsewhere. */
static cq_status find_salient(grouping *g, int which, const cq_clir_side *side, const cq_bags *bags,
                              const cq_spelled *s, cq_error *error) {
  tally *tallies = cq_alloc_array_zeroed(bags->n_words, sizeof *tallies);
  salient *found = cq_alloc_array(bags->n_words, sizeof *found);
  cq_u32_array touched = {0};
  g->starts[which] = cq_alloc_array_zeroed(g->n + 1, sizeof *g->starts[which]);
  bool ok = tallies && found && g->starts[which];
  for (size_t i = 0; ok && i < g->n; i++) {
    ok = count_group(tallies, &touched, side, bags, g->topics[i]);
    for (size_t k = 0; k < touched.n; k++) tallies[touched.items[k]].groups++;
    clear_tallies(tallies, &touched);
  }
  for (size_t i = 0; ok && i < g->n; i++) {
    size_t n = 0;
    ok = count_group(tallies, &touched, side, bags, g->topics[i]);
    for (size_t k = 0; k < touched.n; k++) {
      const uint32_t word = touched.items[k], number = s->number[word];
      const tally *t = &tallies[word];
      if (number == UINT32_MAX || t->groups > MAX_GROUPS_OF_WORD || s->n_characters[number] < MIN_CHARACTERS ||
          s->n_characters[number] > MAX_CHARACTERS)
        continue;
      found[n++] = (salient){(double)t->count * t->documents * bags->idf[word] + 1e-6 * bags->idf[word], number};
    }
    if (n) qsort(found, n, sizeof *found, most_salient_first);
    n = drop_parts(found, n, tallies, s, side);
    clear_tallies(tallies, &touched);
    for (size_t k = 0; ok && k < n; k++) ok = cq_u32_array_append(&g->words[which], &found[k].word, 1);
    g->starts[which][i + 1] = g->words[which].n;
  }
  cq_free(tallies);
  cq_free(found);
  cq_u32_array_free(&touched);
  return ok ? CQ_OK : cq_fail_memory(error, "salient words");
}

static cq_status make_groups(grouping *g, const between *c, const cq_spelled *from, const cq_spelled *to,
                             cq_error *error) {
  cq_status status = choose_group_topics(g, c, error);
  if (!status && g->n < 3)
    status = cq_fail(error, CQ_ERR_ARGUMENT, "%zu topics have documents in both languages, expected at least 3", g->n);
  if (!status) status = find_salient(g, 0, c->from, c->from_plain, from, error);
  if (!status) status = find_salient(g, 1, c->to, c->to_plain, to, error);
  if (!status && !(g->groups = cq_alloc_array(g->n, sizeof *g->groups))) status = cq_fail_memory(error, "topics");
  for (size_t i = 0; !status && i < g->n; i++)
    g->groups[i] = (cq_cognate_group){g->words[0].items + g->starts[0][i], g->words[1].items + g->starts[1][i],
                                      g->starts[0][i + 1] - g->starts[0][i], g->starts[1][i + 1] - g->starts[1][i]};
  return status;
}

static void free_grouping(grouping *g) {
  cq_free(g->topics);
  cq_free(g->groups);
  for (int i = 0; i < 2; i++) {
    cq_u32_array_free(&g->words[i]);
    cq_free(g->starts[i]);
  }
}

/* --- the table --- */

/* Target words whose letters are nearest to the expected letters of each source word. */
static cq_status find_spelled_alike(cq_neighbors *out, const cq_cognates *letters, uint32_t n_from, uint32_t n_to,
                                    cq_context *ctx, cq_error *error) {
  const size_t dim = (size_t)cq_cognates_n_letters(letters);
  float *expected = cq_alloc_array(n_from, dim * sizeof *expected),
        *spelled = cq_alloc_array(n_to, dim * sizeof *spelled);
  cq_nearest_options o = cq_nearest_default_options();
  o.k = cq_min(CANDIDATES, n_to);
  cq_status status = expected && spelled ? CQ_OK : cq_fail_memory(error, "letters");
  if (!status) {
    status = cq_cognates_expected(expected, letters, error);
    cq_cognates_letters(spelled, letters);
  }
  if (!status) status = cq_nearest(out, NULL, expected, n_from, spelled, n_to, dim, &o, ctx, error);
  cq_free(expected);
  cq_free(spelled);
  return status;
}

typedef struct scoring {
  const cq_cognates *letters;
  const cq_neighbors *candidates;
  double *scores; /* [n, k] */
} scoring;

static void score_row(void *context, size_t row, int worker) {
  (void)worker;
  const scoring *s = context;
  for (size_t i = row * s->candidates->k; i < (row + 1) * s->candidates->k; i++)
    s->scores[i] = s->candidates->index[i] == UINT32_MAX || !(s->candidates->cosine[i] > 0)
                       ? -INFINITY
                       : cq_cognates_score(s->letters, (uint32_t)row, s->candidates->index[i]);
}

/* The entries: a pair's odds, reduced by the distance to the best pair of either word. Words with the same spelling
 * have 1. */
static cq_status fill_table(cq_word_table *table, const between *c, const scoring *s, const cq_spelled *from,
                            const cq_spelled *to, cq_error *error) {
  const size_t k = s->candidates->k;
  size_t n = 0, capacity = 0;
  double *best = cq_alloc_array_zeroed(to->n, sizeof *best);
  table->n_sources = c->from->plain_words.n, table->n_targets = c->to->plain_words.n;
  table->starts = cq_alloc_array_zeroed((size_t)table->n_sources + 1, sizeof *table->starts);
  if (!best || !table->starts) {
    cq_free(best);
    return cq_fail_memory(error, "a table of words");
  }
  for (size_t i = 0; i < s->candidates->n * k; i++)
    if (s->scores[i] > -INFINITY) best[s->candidates->index[i]] = fmax(best[s->candidates->index[i]], s->scores[i]);
  bool ok = true;
  for (uint32_t w = 0; ok && w < table->n_sources; w++) {
    const uint32_t same = cq_intern_find(&c->to->plain_words, c->from->plain_words.items[w]), row = from->number[w];
    double row_best = 0;
    for (size_t i = 0; row != UINT32_MAX && i < k; i++) row_best = fmax(row_best, s->scores[row * k + i]);
    for (size_t i = 0; ok && row != UINT32_MAX && i < k; i++) {
      const double score = s->scores[row * k + i];
      if (!(score > 0)) continue;
      const uint32_t column = s->candidates->index[row * k + i];
      const double lack = fmin(row_best - score, best[column] - score);
      const double entry = exp(-lack / c->o->sharpness) / (1 + exp(c->o->at - score));
      if (entry <= min_entry || to->plain[column] == same) continue;
      ok = cq_reserve((void **)&table->items, &capacity, n + 1, sizeof *table->items);
      if (ok) table->items[n++] = (cq_weighted_word){to->plain[column], (float)entry};
    }
    if (ok && same != CQ_INTERN_NONE) {
      ok = cq_reserve((void **)&table->items, &capacity, n + 1, sizeof *table->items);
      if (ok) table->items[n++] = (cq_weighted_word){same, 1};
    }
    table->starts[w + 1] = n;
  }
  cq_free(best);
  return ok ? CQ_OK : cq_fail_memory(error, "a table of words");
}

/* The table from the letters finally learned by one schedule. */
static cq_status table_of(cq_word_table *out, const between *c, const cq_cognates *letters, const cq_spelled *from,
                          const cq_spelled *to, cq_context *ctx, cq_error *error) {
  cq_neighbors candidates = {0};
  scoring s = {.letters = letters, .candidates = &candidates};
  cq_status status = find_spelled_alike(&candidates, letters, from->n, to->n, ctx, error);
  if (!status && !(s.scores = cq_alloc_array(candidates.n, candidates.k * sizeof *s.scores)))
    status = cq_fail_memory(error, "a table of words");
  if (!status) {
    cq_context_run(ctx, candidates.n, score_row, &s);
    status = fill_table(out, c, &s, from, to, error);
  }
  cq_free(s.scores);
  cq_neighbors_free(&candidates);
  return status;
}

static bool is_near_best(double contrast, double best) {
  return contrast == best || contrast >= best * near_best;
}

/* The mean of the tables of all successful schedules: those with a contrast near the best one. */
static cq_status learn_schedules(between *c, size_t *best, cq_cognates *letters, const grouping *g,
                                 const cq_spelled *from, const cq_spelled *to, cq_context *ctx, cq_error *error) {
  cq_word_table tables[N_SCHEDULES] = {{0}}, good[N_SCHEDULES];
  double contrasts[N_SCHEDULES];
  size_t n = 0;
  cq_status status = CQ_OK;
  c->contrast = -INFINITY;
  for (size_t i = 0; !status && i < N_SCHEDULES; i++) {
    status = cq_cognates_learn(letters, g->groups, g->n, schedules[i].stages, schedules[i].n, ctx, error);
    if (!status) status = cq_cognates_contrast(&contrasts[i], letters, g->groups, g->n, ctx, error);
    if (status) break;
    if (contrasts[i] > c->contrast) *best = i, c->contrast = contrasts[i];
    if (!is_near_best(contrasts[i], c->contrast)) continue;
    status = cq_cognates_finish(letters, g->groups, g->n, ctx, error);
    if (!status) status = table_of(&tables[i], c, letters, from, to, ctx, error);
  }
  for (size_t i = 0; !status && i < N_SCHEDULES; i++)
    if (is_near_best(contrasts[i], c->contrast)) good[n++] = tables[i];
  if (!status) status = cq_word_table_mean(&c->table, good, n, error);
  for (size_t i = 0; i < N_SCHEDULES; i++) cq_word_table_free(&tables[i]);
  return status;
}

/* The chance level of the contrast: the mean over trainings on mismatched topics, each paired with the topic a quarter,
 * half and three quarters of the list later, so that EM learns from unrelated words. */
static cq_status contrast_by_chance(double *chance, size_t schedule, cq_cognates *letters, const grouping *g,
                                    cq_context *ctx, cq_error *error) {
  cq_cognate_group *wrong = cq_alloc_array(g->n, sizeof *wrong);
  cq_status status = wrong ? CQ_OK : cq_fail_memory(error, "topics");
  *chance = 0;
  for (size_t quarter = 1; !status && quarter < 4; quarter++) {
    double contrast;
    const size_t shift = g->n * quarter / 4 ? g->n * quarter / 4 : 1;
    for (size_t i = 0; i < g->n; i++) {
      const cq_cognate_group *a = &g->groups[i], *b = &g->groups[(i + shift) % g->n];
      wrong[i] = (cq_cognate_group){a->sources, b->targets, a->n_sources, b->n_targets};
    }
    status = cq_cognates_learn(letters, wrong, g->n, schedules[schedule].stages, schedules[schedule].n, ctx, error);
    if (!status) status = cq_cognates_contrast(&contrast, letters, wrong, g->n, ctx, error);
    if (!status) *chance += contrast / 3;
  }
  cq_free(wrong);
  return status;
}

/* A model that is hardly better than chance is not used: words then match by their Latin spelling. */
static cq_status learn_table(between *c, cq_cognates *letters, const grouping *g, const cq_spelled *from,
                             const cq_spelled *to, cq_context *ctx, cq_error *error) {
  size_t best = 0;
  cq_status status = learn_schedules(c, &best, letters, g, from, to, ctx, error);
  if (!status) status = contrast_by_chance(&c->chance, best, letters, g, ctx, error);
  c->is_learned = c->contrast >= min_over_chance * c->chance && c->contrast > 0;
  if (status || c->is_learned) return status;
  cq_word_table_free(&c->table);
  status = cq_cognates_learn(letters, NULL, 0, NULL, 0, ctx, error);
  return status ? status : table_of(&c->table, c, letters, from, to, ctx, error);
}

static cq_status learn_between(between *c, cq_context *ctx, cq_error *error) {
  cq_spelled from = {0}, to = {0};
  grouping g = {0};
  cq_cognates *letters = NULL;
  cq_status status = cq_spelled_open(&from, c->from, c->from_plain, !c->of_queries, error);
  if (!status) status = cq_spelled_open(&to, c->to, c->to_plain, true, error);
  if (!status) status = make_groups(&g, c, &from, &to, error);
  if (!status) status = cq_cognates_open(&letters, from.words, from.n, to.words, to.n, error);
  if (!status) status = learn_table(c, letters, &g, &from, &to, ctx, error);
  cq_cognates_free(letters);
  free_grouping(&g);
  cq_spelled_close(&from);
  cq_spelled_close(&to);
  return status;
}

/* The table by way of a third language. */
static cq_status learn_through(cq_word_table *out, const between *direct, const cq_clir_side *third, cq_context *ctx,
                               cq_error *error) {
  cq_bags bags = {0};
  between first = *direct, second = *direct;
  first.table = second.table = (cq_word_table){0};
  first.to = second.from = third;
  first.to_plain = second.from_plain = &bags;
  second.of_queries = false;
  cq_status status = cq_bags_open(&bags, third->plain_documents, third->n_documents, third->plain_words.n, error);
  if (!status) status = learn_between(&first, ctx, error);
  if (!status) status = learn_between(&second, ctx, error);
  if (!status) status = cq_word_table_through(out, &first.table, &second.table, (float)min_entry, error);
  cq_word_table_free(&first.table);
  cq_word_table_free(&second.table);
  cq_bags_close(&bags);
  return status;
}

/* The mean of the direct table and of the tables through every other language. */
static cq_status make_table(cq_clir_cognates *c, const bool *held_out, const cq_bags *to_plain, cq_context *ctx,
                            cq_error *error) {
  between direct = {c->clir, c->from, c->to, &c->from_plain, to_plain, held_out, true, &c->o, {0}, 0, 0, false};
  cq_word_table *tables = cq_alloc_array_zeroed(c->clir->n, sizeof *tables);
  size_t n = 1;
  cq_status status = tables ? learn_between(&direct, ctx, error) : cq_fail_memory(error, "a table of words");
  for (size_t i = 0; !status && i < c->clir->n; i++)
    if (&c->clir->sides[i] != c->from && &c->clir->sides[i] != c->to)
      status = learn_through(&tables[n++], &direct, &c->clir->sides[i], ctx, error);
  if (tables) tables[0] = direct.table;
  if (!status) status = cq_word_table_mean(&c->table, tables, n, error);
  for (size_t i = 0; tables && i < n; i++) cq_word_table_free(&tables[i]);
  cq_free(tables);
  c->contrast = direct.contrast, c->chance = direct.chance, c->is_learned = direct.is_learned;
  return status;
}

/* Within one language, only feedback applies, and joined words are not needed. */
static cq_status same_words(cq_word_table *table, const cq_clir_side *side, cq_error *error) {
  const uint32_t n = side->plain_words.n;
  size_t next = 0; /* in side->joined, by rising word */
  table->n_sources = table->n_targets = n;
  table->starts = cq_alloc_array_zeroed((size_t)n + 1, sizeof *table->starts);
  table->items = cq_alloc_array(n, sizeof *table->items);
  if (!table->starts || !table->items) return cq_fail_memory(error, "a table of words");
  for (uint32_t w = 0; w < n; w++) {
    const bool is_joined = next < side->joined.n && side->joined.items[next] == w;
    size_t at = table->starts[w];
    if (is_joined)
      next += 3;
    else
      table->items[at++] = (cq_weighted_word){w, 1};
    table->starts[w + 1] = at;
  }
  return CQ_OK;
}

cq_status cq_clir_learn_cognates(cq_clir_cognates **out, const cq_clir *clir, const bool *held_out, const char *from,
                                 const char *to, const cq_cognate_options *options, cq_context *ctx, cq_error *error) {
  *out = NULL;
  cq_clir_cognates *c = cq_alloc_zeroed(sizeof *c);
  if (!c) return cq_fail_memory(error, "cognates");
  c->clir = clir;
  cq_bags to_plain = {0};
  cq_status status = cq_options_take(&c->o, &cq_group_clir_cognates, options, error);
  if (!status) status = cq_clir_side_of(&c->from, clir, from, error);
  if (!status) status = cq_clir_side_of(&c->to, clir, to, error);
  if (!status)
    status =
        cq_bags_open(&c->from_plain, c->from->plain_documents, c->from->n_documents, c->from->plain_words.n, error);
  if (!status)
    status = cq_bags_open(&to_plain, c->to->plain_documents, c->to->n_documents, c->to->plain_words.n, error);
  if (!status) status = cq_bags_open(&c->from_stems, c->from->documents, c->from->n_documents, clir->words.n, error);
  if (!status) status = cq_bags_open(&c->to_stems, c->to->documents, c->to->n_documents, clir->words.n, error);
  if (!status)
    status = c->from == c->to ? same_words(&c->table, c->from, error) : make_table(c, held_out, &to_plain, ctx, error);
  if (!status) status = cq_bags_project(&c->projected, &to_plain, &c->table, error);
  if (!status && !(c->idf = cq_alloc_array(c->from->plain_words.n, sizeof *c->idf)))
    status = cq_fail_memory(error, "cognates");
  for (uint32_t w = 0; !status && w < c->from->plain_words.n; w++)
    c->idf[w] = c->projected.masses[w] > 0 ? fmin(c->projected.idf[w], c->from_plain.idf[w]) : 0;
  cq_bags_close(&to_plain);
  if (status)
    cq_clir_cognates_free(c);
  else
    *out = c;
  return status;
}

void cq_clir_cognates_free(cq_clir_cognates *c) {
  if (!c) return;
  cq_word_table_free(&c->table);
  cq_bags_close(&c->from_plain);
  cq_bags_close(&c->from_stems);
  cq_bags_close(&c->to_stems);
  cq_bags_close(&c->projected);
  cq_free(c->idf);
  cq_free(c);
}

cq_status cq_clir_cognates_set(cq_clir_cognates *c, const cq_cognate_options *options, cq_error *error) {
  cq_cognate_options o;
  cq_status status = cq_options_take(&o, &cq_group_clir_cognates, options, error);
  if (status) return status;
  o.at = c->o.at, o.sharpness = c->o.sharpness;
  c->o = o;
  return CQ_OK;
}

double cq_clir_cognates_contrast(const cq_clir_cognates *c) {
  return c->contrast;
}

double cq_clir_cognates_chance(const cq_clir_cognates *c) {
  return c->chance;
}

bool cq_clir_cognates_are_learned(const cq_clir_cognates *c) {
  return c->is_learned || c->from == c->to;
}
