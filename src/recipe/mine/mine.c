/* Mining, end to end.
 *
 *   files -> distinct sentences -> vectors, kept on disk by model and text -> neighbors both ways -> margins -> pairs
 *   files of vectors ------------------------------------------------------->
 *
 * Source: Artetxe & Schwenk 2019. */
#include "calque/mine.h"

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "model/precision.h"
#include "ranks/ranks.h"
#include "recipe/encode/embedded.h"
#include "recipe/mine/classify_pairs.h"
#include "recipe/mine/gold_pairs.h"
#include "recipe/mine/mining.h"
#include "recipe/mine/pair_features.h"
#include "search/nearest_approximate.h"
#include "search/search_options.h"
#include "text/pair_filter.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *const filters[] = {"copies", "numbers", "links", NULL}; /* CQ_DROP_ */

#define O cq_mine_options
static const cq_option option_rows[] = {
    {CQ_TEXT(O, "source", source, CHANGES, "FILE", "sentences, or vectors, of one language"),
     .flags = CQ_OPTION_REQUIRED},
    {CQ_TEXT(O, "target", target, CHANGES, "FILE", "those of the other; without, pairs are sought within source")},
    {CQ_TEXT(O, "model", model, CHANGES, "MODEL",
             "model to encode the sentences with: a directory, or a name in the local Hugging Face cache"),
     .letter = 'm', .otherwise = "files hold vectors"},
    CQ_PRECISION_ROW(O, precision),
    CQ_COMPOSE_ROW(O),
    {CQ_TEXT(O, "cache", cache_directory, KEEPS, "DIR",
             "where vectors are kept for the next run, and the state from which a long search resumes"),
     .otherwise = "~/.cache/calque"},
    {CQ_SIZE(O, "dim", raw_dim, CHANGES, 0, 0, 1 << 20, "N",
             "dimension of the vectors in files of raw f32 numbers (as LASER writes them)"),
     .otherwise = "from a .npy file's header"},
    {CQ_SIZE(O, "k", k, CHANGES, 4, 1, 4096, "N", "nearest neighbors to take the margin over"), .letter = 'k'},
    {CQ_CHOICE(O, "first-pass", first_pass, KEEPS, CQ_FIRST_INT8, cq_first_pass_names, "TYPE",
               "number format of the first pass over all cosines; the pairs are the same")},
    {CQ_TEXT(O, "threshold-from", gold, CHANGES, "GOLD",
             "use the threshold with the highest F1 on this gold standard: source id, tab, target id")},
    {CQ_TEXT(O, "learn-from", learn_from, CHANGES, "GOLD",
             "train a classifier (logistic regression) on this gold standard: the score is its probability that a pair "
             "is a translation")},
    {CQ_CHOICES(
        O, "leave-out", leave_out, CHANGES, cq_pair_feature_names, "FEATURE,...",
        "train without these features; if all gold pairs are long, leave out shorter, longer and the weights, or "
        "short pairs get low probabilities")},
    {CQ_TEXT(O, "save-classifier", save_classifier, KEEPS, "FILE", "write the classifier here, as JSON")},
    {CQ_TEXT(O, "classifier", classifier, CHANGES, "FILE",
             "score by a classifier that was saved, for corpora like those it was trained on"),
     .otherwise = "by --margin"},
    {CQ_NUMBER(O, "min-precision", min_precision, CHANGES, 0, 0, 1, "SHARE",
               "choose the threshold by the estimated share of translations among the pairs, for example 0.9"),
     .otherwise = "by --threshold"},
    {CQ_CHOICES(O, "drop", drop, CHANGES, filters, "KIND,...",
                "leave out pairs with the same text on both sides (copies); with different digits (numbers); with "
                "URLs or addresses on one side only, or with little else (links)")},
    CQ_SKIP_BAD_ROW(O, CHANGES),
    {CQ_FLAG(O, "approximate", approximate, CHANGES,
             "for tens of millions of sentences: neighbors within lists of similar sentences (IVF), with exact "
             "cosines; reports the share of a sample's pairs that are found")},
    {CQ_SIZE(O, "effort", effort, CHANGES, 0, 0, 1 << 20, "N",
             "with --approximate: lists that are searched for each sentence; more find more and take longer"),
     .otherwise = "as many as 99 % of a sample of pairs need"},
};
#undef O

static cq_status check_mine(const void *options, cq_error *error) {
  const cq_mine_options *o = options;
  if (!o->target && o->gold)
    return cq_fail(error, CQ_ERR_ARGUMENT, "threshold-from is for pairs between two files, a source and a target");
  if (o->min_precision > 0 && (!o->target || o->gold))
    return cq_fail(error, CQ_ERR_ARGUMENT, "min-precision is for pairs between two files, without threshold-from");
  if (!o->model && (o->drop || o->gold))
    return cq_fail(error, CQ_ERR_ARGUMENT, "threshold-from and drop need sentences, and a model to encode them");
  if ((o->learn_from || o->classifier) && (!o->model || !o->target))
    return cq_fail(error, CQ_ERR_ARGUMENT,
                   "a classifier of pairs needs sentences of two files, and a model to encode them");
  if (o->approximate && (!o->target || o->ranks))
    return cq_fail(error, CQ_ERR_ARGUMENT, "approximate is for pairs between two files, in one process");
  if (o->effort && !o->approximate) return cq_fail(error, CQ_ERR_ARGUMENT, "effort is for an approximate search");
  if (o->learn_from && o->classifier)
    return cq_fail(error, CQ_ERR_ARGUMENT, "learn-from and classifier exclude each other");
  if ((o->save_classifier || o->leave_out) && !o->learn_from)
    return cq_fail(error, CQ_ERR_ARGUMENT, "save-classifier and leave-out need something to learn-from");
  if (o->model && o->raw_dim) return cq_fail(error, CQ_ERR_ARGUMENT, "dim is for files of vectors, without a model");
  return CQ_OK;
}

static const cq_option_part parts[] = {{.group = &cq_group_margin, .offset = offsetof(cq_mine_options, margin)}};
const cq_option_group cq_group_mine = {.name = "mine",
                                       CQ_ROWS(cq_mine_options, option_rows),
                                       .parts = parts,
                                       .n_parts = 1,
                                       .check = check_mine,
                                       CQ_FIELDS(CQ_CALLBACK(cq_mine_options, notice),
                                                 CQ_CALLBACK(cq_mine_options, progress),
                                                 CQ_FIELD(cq_mine_options, ranks))};

/* --- sides --- */

static cq_status open_sides(cq_mining *m, const cq_mine_options *o, cq_context *ctx, cq_error *error) {
  cq_watched w = {o->progress, o->progress_context, "encode"};
  const cq_embedding how = {o->model,  o->cache_directory, o->raw_dim,      o->precision, o->compose, o->skip_bad,
                            o->notice, o->notice_context,  cq_watched_tell, &w,           o->ranks};
  return cq_embedded_open(m->sides, &m->store, (const char *const[]){o->source, o->target}, m->n_sides, &how, ctx,
                          error);
}

/* --- gold --- */

/* The number of pairs of ids that a pair of rows represents. */
static size_t n_id_pairs(const cq_mining *m, const cq_mined_pair *p) {
  return cq_mining_n_lines(m, CQ_SOURCE, p->source) * cq_mining_n_lines(m, CQ_TARGET, p->target);
}

/* Finds the threshold of maximum F1, counting pairs of ids as they are printed, and drops the pairs below it. */
static cq_status tune_threshold(cq_mining *m, const cq_gold_pairs *g, cq_error *error) {
  cq_f1_point *curve = NULL;
  size_t n = 0, at = 0, n_points = 0;
  for (size_t i = 0; i < m->n_pairs; i++) n += n_id_pairs(m, &m->pairs[i]);
  double *scores = cq_alloc_array(n, sizeof *scores);
  bool *correct = cq_alloc_array(n, sizeof *correct);
  cq_status status = scores && correct ? CQ_OK : cq_fail_memory(error, "gold");
  for (size_t i = 0; !status && i < m->n_pairs; i++) {
    const cq_mined_pair *p = &m->pairs[i];
    const size_t n_pairs = n_id_pairs(m, p), n_correct = cq_gold_pairs_count(g, p->source, p->target);
    for (size_t j = 0; j < n_pairs; j++, at++) scores[at] = p->score, correct[at] = j < n_correct;
  }
  if (!status) status = cq_f1_curve(&curve, &n_points, scores, correct, n, g->ids.n, error);
  if (!status) {
    cq_f1_best(&m->tuned, curve, n_points);
    while (m->n_pairs > 0 && m->pairs[m->n_pairs - 1].score < m->tuned.threshold) m->n_pairs--;
  }
  cq_free(curve);
  cq_free(scores);
  cq_free(correct);
  return status;
}

/* --- the mine --- */

static cq_status drop_filtered(cq_mining *m, const cq_mine_options *o, cq_error *error) {
  size_t n = 0;
  bool failed = false;
  for (size_t i = 0; i < m->n_pairs; i++) {
    const cq_mined_pair p = m->pairs[i];
    if (!cq_filter_pair(cq_mining_sentence(m, CQ_SOURCE, p.source), cq_mining_sentence(m, CQ_TARGET, p.target), o->drop,
                        &failed))
      m->pairs[n++] = p;
  }
  if (n < m->n_pairs) CQ_NOTIFY(o, "%zu of %zu pairs were dropped by the filters", m->n_pairs - n, m->n_pairs);
  m->n_pairs = n;
  return failed ? cq_fail_memory(error, "filters") : CQ_OK;
}

static cq_identity add_path_to_key(cq_identity key, const char *path) {
  char whole[PATH_MAX];
  const char *name = realpath(path, whole) ? whole : path;
  return cq_hash128_add(key, name, strlen(name));
}

/* The path of the search's saved state, which identifies the files, the model and the relevant options. */
static cq_status checkpoint_path(char out[PATH_MAX], const cq_mine_options *o, cq_error *error) {
  char name[CQ_IDENTITY_HEX], directory[PATH_MAX];
  cq_identity key = add_path_to_key(cq_hash128(&o->k, sizeof o->k), o->source);
  if (o->target) key = add_path_to_key(key, o->target);
  if (o->model) key = add_path_to_key(key, o->model);
  cq_identity_hex(name, key);
  cq_status status = cq_cache_path(directory, sizeof directory, o->cache_directory, "searches", error);
  if (!status) status = cq_directory_make(directory, error);
  return status ? status : cq_path_join(out, PATH_MAX, directory, name, error);
}

static void tell_precision(const cq_mining *m, const double *precision, const cq_mine_options *o) {
  if (m->n_pairs == 0)
    CQ_NOTIFY(o, "no pair: no threshold has an estimated precision of %.2f", o->min_precision);
  else
    CQ_NOTIFY(o, "%zu pair%s of score %.4g or more, with an estimated precision of %.2f", m->n_pairs,
              m->n_pairs == 1 ? "" : "s", m->pairs[m->n_pairs - 1].score, precision[m->n_pairs - 1]);
}

/* Estimates the pairs' precision; drops the pairs below the point where it becomes too low. */
static cq_status estimate_precision(cq_mining *m, const cq_mine_options *o, cq_nearest_options *nearest,
                                    cq_context *ctx, cq_error *error) {
  const bool leads = cq_ranks_rank(o->ranks) == 0;
  cq_margin_options margin = *o->margin;
  cq_decoys decoys[2] = {{0}};
  cq_mined_pair *found[2] = {NULL, NULL};
  double *precision = cq_alloc_array(m->n_pairs, sizeof *precision);
  cq_status status = precision || m->n_pairs == 0 ? CQ_OK : cq_fail_memory(error, "precision");
  margin.threshold = m->n_pairs ? m->pairs[m->n_pairs - 1].score : margin.threshold;
  if (margin.retrieval == CQ_RETRIEVE_FORWARD || margin.retrieval == CQ_RETRIEVE_BACKWARD)
    margin.retrieval = CQ_RETRIEVE_MAX; /* of which no row is in two */
  nearest->checkpoint = NULL;
  for (int side = 0; !status && side < 2; side++) {
    const cq_embedded *s = &m->sides[side];
    cq_neighbors within = {0};
    nearest->x_rows = s->rows, nearest->y_rows = NULL;
    status = cq_nearest_within(&within, s->vectors, s->n, s->dim, nearest, ctx, error);
    if (!status && leads) status = cq_margin_pairs_within(&found[side], &decoys[side].n, &within, &margin, error);
    decoys[side].pairs = found[side], decoys[side].n_rows = s->n;
    cq_neighbors_free(&within);
  }
  if (!status && leads) {
    cq_margin_precision(precision, m->pairs, m->n_pairs, decoys);
    while (m->n_pairs > 0 && precision[m->n_pairs - 1] < o->min_precision) m->n_pairs--;
    tell_precision(m, precision, o);
  }
  cq_free(found[0]), cq_free(found[1]), cq_free(precision);
  return status;
}

/* Estimating precision takes two more searches, one within each text, so it is done only if requested or cheap. It
 * needs at least 20 sentences per side. */
static cq_status wants_precision(bool *wants, const cq_mining *m, const cq_mine_options *o, cq_error *error) {
  enum { FEW = 20 };
  const size_t fewest = cq_min(m->sides[0].n, m->sides[1].n);
  const double n = (double)m->sides[0].n, n2 = (double)m->sides[1].n;
  *wants = !o->gold && !cq_classifies_pairs(o) && (o->min_precision > 0 || n * n + n2 * n2 <= 2e10);
  if (!*wants || fewest >= FEW) return CQ_OK;
  *wants = false;
  return o->min_precision > 0
             ? cq_fail(error, CQ_ERR_ARGUMENT,
                       "min-precision: %zu sentences are too few for an estimate, expected %d or more", fewest, FEW)
             : CQ_OK;
}

/* A margin over all rows compares a pair with no closer neighborhood. */
static void tell_small_sides(const cq_mining *m, const cq_mine_options *o) {
  const size_t n = m->n_sides == 1 ? m->sides[0].n - 1 : cq_min(m->sides[0].n, m->sides[1].n);
  if (o->k < n || o->margin->margin == CQ_MARGIN_ABSOLUTE) return;
  CQ_NOTIFY(o, "k is %zu, of %zu sentences to compare with: the margin is taken over all %zu, and scores mean little",
            o->k, n, n);
}

static cq_status find_approximately(cq_neighbors *of_source, cq_neighbors *of_target, const cq_mining *m,
                                    const cq_mine_options *o, const char *checkpoint, cq_watched *w, cq_context *ctx,
                                    cq_error *error) {
  const cq_embedded *s = &m->sides[0], *t = &m->sides[1];
  char file[PATH_MAX];
  cq_nearest_approximate_report report;
  const cq_nearest_approximate_options how = {.k = o->k,
                                              .effort = o->effort,
                                              .x_rows = s->rows,
                                              .y_rows = t->rows,
                                              .file = file,
                                              .progress = cq_watched_tell,
                                              .progress_context = w};
  cq_status status = checkpoint && cq_snprintf(file, sizeof file, "%s.lists", checkpoint) < (int)sizeof file
                         ? CQ_OK
                         : cq_fail(error, CQ_ERR_IO, "an approximate search needs a cache");
  if (!status)
    status = cq_nearest_approximate(of_source, of_target, &report, s->vectors, s->n, t->vectors, t->n, s->dim, &how,
                                    ctx, error);
  if (!status)
    CQ_NOTIFY(o,
              "approximate search: %zu of %zu lists, %.1f %% of all pairs compared; of a sample of pairs that are each "
              "other's nearest, %.1f %% are found",
              report.effort, report.n_lists, 100 * report.compared, 100 * report.recall);
  return status;
}

static cq_status mine_pairs(cq_mining *m, const cq_mine_options *o, cq_context *ctx, cq_error *error) {
  const cq_embedded *s = &m->sides[0], *t = &m->sides[1];
  const bool leads = cq_ranks_rank(o->ranks) == 0; /* the others help to search */
  cq_neighbors of_source = {0}, of_target = {0};
  cq_watched w = {o->progress, o->progress_context, "search"};
  char checkpoint[PATH_MAX];
  cq_nearest_options nearest = cq_nearest_default_options();
  nearest.k = o->k, nearest.first_pass = o->first_pass, nearest.checkpoint = checkpoint;
  nearest.x_rows = s->rows, nearest.y_rows = t->rows;
  nearest.progress = cq_watched_tell, nearest.progress_context = &w;
  nearest.ranks = o->ranks;
  cq_error no_place = {0};
  cq_status status = CQ_OK;
  if (checkpoint_path(checkpoint, o, &no_place)) {
    nearest.checkpoint = NULL;
    CQ_NOTIFY(o, "%s", no_place.message);
    CQ_NOTIFY(o, "the search cannot be resumed if it is stopped");
  }
  if (leads) tell_small_sides(m, o);
  if (m->n_sides == 1) {
    status = cq_nearest_within(&of_source, s->vectors, s->n, s->dim, &nearest, ctx, error);
    if (!status && leads) status = cq_margin_pairs_within(&m->pairs, &m->n_pairs, &of_source, o->margin, error);
  } else {
    status = o->approximate
                 ? find_approximately(&of_source, &of_target, m, o, nearest.checkpoint, &w, ctx, error)
                 : cq_nearest(&of_source, &of_target, s->vectors, s->n, t->vectors, t->n, s->dim, &nearest, ctx, error);
    cq_margin_options margin = *o->margin;
    if (cq_classifies_pairs(o))
      margin.threshold =
          cq_margin_default_options().threshold; /* the caller's threshold is for probabilities, not margins */
    if (!status && leads) status = cq_margin_pairs(&m->pairs, &m->n_pairs, &of_source, &of_target, &margin, error);
    bool estimated = false;
    if (!status) status = wants_precision(&estimated, m, o, error);
    if (!status) status = cq_ranks_broadcast(o->ranks, &estimated, sizeof estimated, error);
    if (!status && estimated) status = estimate_precision(m, o, &nearest, ctx, error);
  }
  cq_neighbors_free(&of_source);
  cq_neighbors_free(&of_target);
  return status;
}

/* All ranks must be about to mine the same. */
static cq_status agree_to_mine(const cq_mine_options *o, cq_error *error) {
  cq_builder lines = {0};
  if (cq_ranks_count(o->ranks) == 1) return CQ_OK;
  cq_agree_options(&lines, &cq_group_mine, o);
  cq_builder_char(&lines, '\0');
  const cq_status status =
      lines.failed ? cq_fail_memory(error, "options") : cq_ranks_agree(o->ranks, lines.data, error);
  cq_builder_free(&lines);
  return status;
}

cq_status cq_mine(cq_mining **out, const cq_mine_options *options, cq_context *ctx, cq_error *error) {
  cq_mine_options taken;
  cq_margin_options margin;
  const cq_mine_options *o = &taken;
  cq_gold_pairs g = {0};
  cq_classifying c = {0};
  *out = NULL;
  cq_status status = cq_options_take(&taken, &cq_group_mine, options, error);
  if (!status) status = cq_options_take_part(&margin, parts, &taken, error); /* before the work */
  if (status) return status;
  taken.margin = &margin;
  cq_mining *m = cq_alloc_zeroed(sizeof *m);
  if (!m) return cq_fail_memory(error, "mining");
  m->n_sides = o->target ? 2 : 1;
  const bool leads = cq_ranks_rank(o->ranks) == 0;
  status = agree_to_mine(o, error);
  if (!status) status = open_sides(m, o, ctx, error);
  if (!status && leads && o->gold)
    status = cq_gold_pairs_read(&g, m, o->gold, error); /* before the search, which takes long */
  if (!status && leads && cq_classifies_pairs(o)) status = cq_classifying_open(&c, m, o, error);
  if (!status) status = mine_pairs(m, o, ctx, error);
  if (!status && leads && cq_classifies_pairs(o)) status = cq_classify_pairs(m, &c, o, ctx, error);
  if (!status && leads && o->drop) status = drop_filtered(m, o, error);
  if (!status && leads && o->gold) status = tune_threshold(m, &g, error);
  cq_gold_pairs_free(&g);
  cq_classifying_close(&c);
  if (status) cq_mining_free(m);
  *out = status ? NULL : m;
  return status;
}

void cq_mining_free(cq_mining *mining) {
  if (!mining) return;
  for (int i = 0; i < 2; i++) cq_embedded_close(&mining->sides[i]);
  cq_cached_encoder_close(&mining->store);
  cq_free(mining->pairs);
  cq_free(mining);
}

const cq_mined_pair *cq_mining_pairs(size_t *n, const cq_mining *mining) {
  *n = mining->n_pairs;
  return mining->pairs;
}

static const cq_sentences *corpus_of(const cq_mining *mining, cq_side which) {
  return &mining->sides[mining->n_sides == 1 ? CQ_SOURCE : which].corpus;
}

cq_slice cq_mining_sentence(const cq_mining *mining, cq_side which, uint32_t row) {
  return cq_sentences_text(corpus_of(mining, which), row);
}

size_t cq_mining_n_lines(const cq_mining *mining, cq_side which, uint32_t row) {
  return cq_sentences_n_lines(corpus_of(mining, which), row);
}

cq_slice cq_mining_id(const cq_mining *mining, cq_side which, uint32_t row, size_t i) {
  return cq_sentences_id(corpus_of(mining, which), row, i);
}

const cq_f1_point *cq_mining_tuned(const cq_mining *mining) {
  return &mining->tuned;
}
