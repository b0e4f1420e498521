/* Cross-validation over topics: options are chosen without using the tested topics. */
#include "base/clock.h"
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "calque/lab/compare.h"
#include "lab/clir/clir_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One training run of a fold: for one kappa and window, validated for every tau; or the final one, which is tested. */
typedef struct trial {
  int fold, kappa, window;
  double *maps; /* [n_taus] */
} trial;

typedef struct validation {
  const cq_clir *clir;
  const char *from, *to;
  cq_clir_validation how; /* with a grid that is not empty */
  cq_clir_folds in;
  cq_clir_settings s;
  uint64_t *groups; /* [n_topics] */
  trial *trials;
  size_t n_trials;
  double *maps;
  cq_clir_fold *folds;
  cq_lexical_hit *hits;
} validation;

#define O cq_clir_folds
static const cq_option fold_rows[] = {
    {CQ_INT(O, "folds", n, CHANGES, 5, 2, 1000, "N", "parts that topics are divided into")},
    {CQ_INT(O, "group", group, CHANGES, 1, 1, 1000000, "N",
            "consecutive topic numbers that stay together: those of one article")},
};
#undef O
const cq_option_group cq_group_clir_folds = {.name = "clir-folds", CQ_ROWS(cq_clir_folds, fold_rows)};

#define O cq_clir_validation
static const cq_option validation_rows[] = {
    {CQ_INTS(O, "kappa", kappas, n_kappas, CHANGES, 0, 100000, "N",
             "numbers of pseudo-relevant documents to choose among; by default 5, 10, 20")},
    {CQ_INTS(O, "window", windows, n_windows, CHANGES, 1, 10000, "N", "windows to choose among; by default 10, 25, 50"),
     .letter = 'w'},
    {CQ_INTS(O, "tau", taus, n_taus, CHANGES, 1, 100000, "N",
             "numbers of translations per word to choose among; by default 5, 10, 15")},
    {CQ_NUMBER(O, "share", share, CHANGES, 0, 0, 1, "X",
               "learn from this share of the training groups only, in quarters: for learning curves"),
     .otherwise = "all"},
};
static const cq_option_part validation_parts[] = {{.group = &cq_group_clir_folds, .offset = offsetof(O, folds)}};
#undef O
const cq_option_group cq_group_clir_validation = {
    .name = "clir-validation", CQ_ROWS(cq_clir_validation, validation_rows), .parts = validation_parts, .n_parts = 1};

/* The options of a validation, with the usual grid if there is none. */
static cq_status take_validation(validation *v, const cq_clir_validation *given, cq_error *error) {
  static const int kappas[] = {5, 10, 20}, windows[] = {10, 25, 50}, taus[] = {5, 10, 15};
  cq_clir_validation *how = &v->how;
  cq_status status = cq_options_take(how, &cq_group_clir_validation, given, error);
  if (!status) status = cq_options_take_part(&v->in, validation_parts, how, error);
  if (how->n_kappas == 0) how->kappas = kappas, how->n_kappas = 3;
  if (how->n_windows == 0) how->windows = windows, how->n_windows = 3;
  if (how->n_taus == 0) how->taus = taus, how->n_taus = 3;
  return status;
}

/* The groups of all topics; release with cq_free. Every fold has a topic. */
static cq_status find_groups(uint64_t **out, const cq_clir *clir, const cq_clir_folds *how, cq_error *error) {
  const size_t n = clir->n_topics;
  *out = cq_alloc_array(n, sizeof **out);
  bool *has = cq_alloc_array_zeroed((size_t)how->n, sizeof *has);
  cq_status status = *out && has ? CQ_OK : cq_fail_memory(error, "topics");
  for (size_t t = 0; !status && t < n; t++) {
    (*out)[t] = t;
    if (how->group > 1) status = cq_topic_group(&(*out)[t], clir->topics[t], (uint64_t)how->group, error);
    if (!status) has[(*out)[t] % (uint64_t)how->n] = true;
  }
  for (int f = 0; !status && f < how->n; f++)
    if (!has[f])
      status = cq_fail(error, CQ_ERR_ARGUMENT, "%d folds of groups of %d topics, of %zu in all: fold %d has none",
                       how->n, how->group, n, f + 1);
  cq_free(has);
  if (status) cq_free(*out), *out = NULL;
  return status;
}

static int fold_of(uint64_t group, const cq_clir_folds *how) {
  return (int)(group % (uint64_t)how->n);
}

cq_status cq_clir_fold_topics(bool **out, const cq_clir *clir, const cq_clir_folds *folds, int fold, cq_error *error) {
  cq_clir_folds how;
  uint64_t *groups;
  *out = NULL;
  cq_status status = cq_options_take(&how, &cq_group_clir_folds, folds, error);
  if (status) return status;
  status = find_groups(&groups, clir, &how, error);
  if (!status && !(*out = cq_alloc(clir->n_topics))) status = cq_fail_memory(error, "topics");
  for (size_t t = 0; !status && t < clir->n_topics; t++) (*out)[t] = fold_of(groups[t], &how) == fold;
  cq_free(groups);
  return status;
}

/* Topics of two folds (or of one, given twice); `learning`: also those that the share leaves out. */
static bool *topics_of(const validation *v, int fold, int other, bool learning) {
  bool *topics = cq_alloc_array(v->clir->n_topics, sizeof *topics);
  for (size_t t = 0; topics && t < v->clir->n_topics; t++) {
    const int its = fold_of(v->groups[t], &v->in);
    const double quarter = (double)(v->groups[t] / (uint64_t)v->in.n % 4) / 4;
    topics[t] = its == fold || its == other || (learning && v->how.share > 0 && quarter >= v->how.share);
  }
  return topics;
}

/* The options with one point of the grid. */
static void set_point(cq_clir_settings *out, const validation *v, int kappa, int window, int tau) {
  *out = v->s;
  out->o.words = &out->words, out->o.ranking = &out->ranking;
  out->o.kappa = kappa, out->words.window = window, out->o.tau = tau;
}

static cq_status run_trial(void *context, size_t item, int worker, cq_error *error) {
  (void)worker;
  validation *v = context;
  trial *t = &v->trials[item];
  const int inner = (t->fold + 1) % v->in.n;
  bool *held_out = topics_of(v, t->fold, inner, true), *asked = topics_of(v, inner, inner, false);
  cq_clir_model *model = NULL;
  cq_clir_settings s;
  set_point(&s, v, t->kappa, t->window, v->how.taus[0]);
  cq_status status = held_out && asked ? CQ_OK : cq_fail_memory(error, "topics");
  if (!status) status = cq_clir_train(&model, v->clir, held_out, v->from, &s.o, NULL, error);
  for (size_t i = 0; !status && i < v->how.n_taus; i++) {
    cq_lexical_hit *hits = NULL;
    s.o.tau = v->how.taus[i];
    status = cq_clir_search(&hits, v->clir, model, v->from, v->to, asked, &s.o, NULL, error);
    if (!status) t->maps[i] = cq_clir_map(v->clir, v->to, hits, s.ranking.k, asked);
    cq_free(hits);
  }
  cq_clir_model_free(model);
  cq_free(held_out);
  cq_free(asked);
  return status;
}

/* Chooses the fold's best trial; on a tie, or if nothing was measured, the first. */
static void choose_point(const validation *v, int fold) {
  cq_clir_fold *f = &v->folds[fold];
  bool is_chosen = false;
  for (size_t i = 0; i < v->n_trials; i++) {
    const trial *t = &v->trials[i];
    for (size_t k = 0; t->fold == fold && k < v->how.n_taus; k++) {
      if (is_chosen && !(t->maps[k] > f->map_chosen)) continue;
      f->kappa = t->kappa, f->window = t->window, f->tau = v->how.taus[k], f->map_chosen = t->maps[k];
      is_chosen = true;
    }
  }
}

static cq_status test_fold(void *context, size_t item, int worker, cq_error *error) {
  (void)worker;
  validation *v = context;
  const int fold = (int)item;
  cq_clir_fold *f = &v->folds[fold];
  cq_clir_settings s;
  set_point(&s, v, f->kappa, f->window, f->tau);
  const size_t k = s.ranking.k;
  bool *asked = topics_of(v, fold, fold, false), *held_out = topics_of(v, fold, fold, true);
  cq_clir_model *model = NULL;
  cq_lexical_hit *hits = NULL;
  cq_status status = asked && held_out ? CQ_OK : cq_fail_memory(error, "topics");
  double begin = cq_seconds(CLOCK_MONOTONIC);
  if (!status) status = cq_clir_train(&model, v->clir, held_out, v->from, &s.o, NULL, error);
  f->seconds_before = cq_seconds(CLOCK_MONOTONIC) - begin;
  begin = cq_seconds(CLOCK_MONOTONIC);
  if (!status) status = cq_clir_search(&hits, v->clir, model, v->from, v->to, asked, &s.o, NULL, error);
  f->seconds_retrieval = cq_seconds(CLOCK_MONOTONIC) - begin;
  if (!status) f->map_tested = cq_clir_map(v->clir, v->to, hits, k, asked);
  for (size_t t = 0; !status && t < v->clir->n_topics; t++)
    if (asked[t]) memcpy(v->hits + t * k, hits + t * k, k * sizeof *hits);
  cq_free(hits);
  cq_clir_model_free(model);
  cq_free(asked);
  cq_free(held_out);
  return status;
}

static cq_status make_trials(validation *v, cq_error *error) {
  const cq_clir_validation *g = &v->how;
  const size_t n_cells = g->n_kappas * g->n_windows;
  v->n_trials = (size_t)v->in.n * n_cells;
  v->trials = cq_alloc_array_zeroed(v->n_trials, sizeof *v->trials);
  v->maps = cq_alloc_array_zeroed(v->n_trials, g->n_taus * sizeof *v->maps);
  v->hits = cq_clir_hits(v->clir, v->s.ranking.k);
  if (!v->trials || !v->maps || !v->hits) return cq_fail_memory(error, "a validation");
  for (size_t i = 0; i < v->n_trials; i++) {
    const size_t cell = i % n_cells;
    v->trials[i] = (trial){.fold = (int)(i / n_cells),
                           .kappa = g->kappas[cell / g->n_windows],
                           .window = g->windows[cell % g->n_windows],
                           .maps = v->maps + i * g->n_taus};
  }
  for (size_t i = 0; i < v->n_trials * g->n_taus; i++) v->maps[i] = NAN;
  return CQ_OK;
}

cq_status cq_clir_validate(cq_lexical_hit **hits, cq_clir_fold *folds, const cq_clir *clir, const char *from,
                           const char *to, const cq_clir_validation *how, const cq_clir_options *options,
                           cq_context *ctx, cq_error *error) {
  validation v = {.clir = clir, .from = from, .to = to};
  *hits = NULL;
  cq_status status = take_validation(&v, how, error);
  if (!status) status = cq_clir_take(&v.s, options, error);
  if (!status) status = find_groups(&v.groups, clir, &v.in, error);
  if (status) return status;
  const int n_folds = v.in.n;
  v.folds = cq_alloc_array_zeroed((size_t)n_folds, sizeof *v.folds);
  status = v.folds ? make_trials(&v, error) : cq_fail_memory(error, "folds");
  /* A grid of one needs no validation. */
  if (!status && v.how.n_kappas * v.how.n_windows * v.how.n_taus > 1)
    status = cq_context_try(ctx, v.n_trials, run_trial, &v, error);
  for (int f = 0; !status && f < n_folds; f++) choose_point(&v, f);
  if (!status) status = cq_context_try(ctx, (size_t)n_folds, test_fold, &v, error);
  if (!status && folds) memcpy(folds, v.folds, (size_t)n_folds * sizeof *folds);
  cq_free(v.groups);
  cq_free(v.trials);
  cq_free(v.maps);
  cq_free(v.folds);
  if (status)
    cq_free(v.hits);
  else
    *hits = v.hits;
  return status;
}

/* --- by cognates --- */

/* How much what weighs, to choose among. */
static const double query_shares[] = {0.15, 0.3, 0.5, 0.7}, similar_shares[] = {0.25, 0.5, 1, 2},
                    first_shares[] = {0.15, 0.25, 0.5};
enum { N_QUERY = 4, N_SIMILAR = 4, N_FIRST = 3, N_VARIANTS = N_QUERY * N_SIMILAR * N_FIRST };

static cq_cognate_options variant_weights(int variant) {
  cq_cognate_options o;
  cq_options_defaults(&o, &cq_group_clir_cognates);
  o.query_share = query_shares[variant / (N_SIMILAR * N_FIRST)];
  o.similar_share = similar_shares[variant / N_FIRST % N_SIMILAR];
  o.first_share = first_shares[variant % N_FIRST];
  return o;
}

/* Adds the mean average precision of every variant on a fold. */
static cq_status add_maps(double maps[N_VARIANTS], cq_clir_cognates *cognates, const validation *v, int fold, size_t k,
                          cq_context *ctx, cq_error *error) {
  bool *asked = topics_of(v, fold, fold, false);
  cq_status status = asked ? CQ_OK : cq_fail_memory(error, "topics");
  for (int i = 0; !status && i < N_VARIANTS; i++) {
    cq_lexical_hit *hits = NULL;
    const cq_cognate_options o = variant_weights(i);
    status = cq_clir_cognates_set(cognates, &o, error);
    if (!status) status = cq_clir_search_cognates(&hits, cognates, asked, k, ctx, error);
    const double map = status ? NAN : cq_clir_map(v->clir, v->to, hits, k, asked);
    if (!isnan(map)) maps[i] += map / (v->in.n - 1);
    cq_free(hits);
  }
  cq_free(asked);
  return status;
}

/* maps [folds][variants]: the mean over all other folds, each searched with a model trained without both folds. Each
 * pair of folds needs only one training. */
static cq_status validate_weights(double (*maps)[N_VARIANTS], const validation *v, size_t k, cq_context *ctx,
                                  cq_error *error) {
  cq_status status = CQ_OK;
  for (int a = 0; !status && a < v->in.n; a++)
    for (int b = a + 1; !status && b < v->in.n; b++) {
      bool *held_out = topics_of(v, a, b, true);
      cq_clir_cognates *cognates = NULL;
      if (!held_out) status = cq_fail_memory(error, "topics");
      if (!status) status = cq_clir_learn_cognates(&cognates, v->clir, held_out, v->from, v->to, NULL, ctx, error);
      if (!status) status = add_maps(maps[a], cognates, v, b, k, ctx, error);
      if (!status) status = add_maps(maps[b], cognates, v, a, k, ctx, error);
      cq_clir_cognates_free(cognates);
      cq_free(held_out);
    }
  return status;
}

static int best_of(const double maps[N_VARIANTS]) {
  int best = 0;
  for (int i = 1; i < N_VARIANTS; i++)
    if (maps[i] > maps[best]) best = i;
  return best;
}

/* Trains without one fold's topics, searches for them, and adds their hits to all. */
static cq_status test_cognates(cq_lexical_hit *all, cq_clir_fold *fold, const validation *v, int number,
                               const cq_cognate_options *o, size_t k, cq_context *ctx, cq_error *error) {
  bool *asked = topics_of(v, number, number, false), *held_out = topics_of(v, number, number, true);
  cq_clir_cognates *cognates = NULL;
  cq_lexical_hit *hits = NULL;
  cq_status status = asked && held_out ? CQ_OK : cq_fail_memory(error, "topics");
  double begin = cq_seconds(CLOCK_MONOTONIC);
  if (!status) status = cq_clir_learn_cognates(&cognates, v->clir, held_out, v->from, v->to, o, ctx, error);
  fold->seconds_before = cq_seconds(CLOCK_MONOTONIC) - begin;
  begin = cq_seconds(CLOCK_MONOTONIC);
  if (!status) status = cq_clir_search_cognates(&hits, cognates, asked, k, ctx, error);
  fold->seconds_retrieval = cq_seconds(CLOCK_MONOTONIC) - begin;
  fold->query_share = o->query_share, fold->similar_share = o->similar_share, fold->first_share = o->first_share;
  if (!status) {
    fold->contrast = cq_clir_cognates_contrast(cognates), fold->chance = cq_clir_cognates_chance(cognates);
    fold->is_learned = cq_clir_cognates_are_learned(cognates);
    fold->map_tested = cq_clir_map(v->clir, v->to, hits, k, asked);
  }
  for (size_t t = 0; !status && t < v->clir->n_topics; t++)
    if (asked[t]) memcpy(all + t * k, hits + t * k, k * sizeof *hits);
  cq_free(hits);
  cq_free(asked);
  cq_free(held_out);
  cq_clir_cognates_free(cognates);
  return status;
}

cq_status cq_clir_validate_cognates(cq_lexical_hit **out, cq_clir_fold *folds, const cq_clir *clir, const char *from,
                                    const char *to, const cq_clir_validation *how, const cq_cognate_options *options,
                                    size_t k, cq_context *ctx, cq_error *error) {
  validation v = {.clir = clir, .from = from, .to = to};
  cq_cognate_options given;
  *out = NULL;
  cq_status status = take_validation(&v, how, error);
  if (!status) status = cq_options_take(&given, &cq_group_clir_cognates, options, error);
  if (!status) status = find_groups(&v.groups, clir, &v.in, error);
  if (status) return status;
  const bool choose = !options && v.in.n > 2;
  cq_lexical_hit *all = cq_clir_hits(clir, k);
  double(*maps)[N_VARIANTS] = cq_alloc_array_zeroed((size_t)v.in.n, sizeof *maps);
  if (!all || !maps) status = cq_fail_memory(error, "a validation");
  if (!status && choose) status = validate_weights(maps, &v, k, ctx, error);
  for (int f = 0; !status && f < v.in.n; f++) {
    cq_clir_fold fold = {.map_chosen = NAN};
    cq_cognate_options o = given;
    if (choose) o = variant_weights(best_of(maps[f])), fold.map_chosen = maps[f][best_of(maps[f])];
    status = test_cognates(all, &fold, &v, f, &o, k, ctx, error);
    if (!status && folds) folds[f] = fold;
  }
  cq_free(maps);
  cq_free(v.groups);
  if (status)
    cq_free(all);
  else
    *out = all;
  return status;
}
