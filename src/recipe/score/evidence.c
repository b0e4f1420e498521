/* Evidence about rows. See evidence.h.
 *
 *   rows ──▶ sides, the longer one's beginning and rest, distinct words ──encoder──▶ vectors ──▶ cosines
 *   rows ──▶ words and tokens ──embeddings, spelling, rows with both──▶ matches    matches.c, words.c
 *   rows ──▶ neighboring words and marks                                           neighbors.c
 *   rows ──▶ lengths, numbers, languages, copies, repetitions, final marks         surface.c */
#include "recipe/score/gathering.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "calque/embedding.h"
#include "text/script.h"

#include <math.h>

const char *const cq_evidence_names[] = {
    "cosine",
    "length",
    "shortness",
    "numbers_both",
    "numbers_one",
    "language",
    "untranslated",
    "copied",
    "copy",
    "repeated",
    "covered",
    "covered_part",
    "words",
    "words_part",
    "names_source",
    "names_target",
    "names",
    "unmatched_source",
    "unmatched_target",
    "unlinked_source",
    "unlinked_target",
    "unlinked",
    "unlinked_tail",
    "tail",
    "order",
    "adjacent",
    "neighbors",
    "marks",
    "end",
    "mark",
    "cut",
    "rest",
    NULL,
};

#define PRIOR_NULL        0.35 /* mean cosine of unrelated sentences, and its deviation */
#define PRIOR_NULL_SPREAD 0.11
enum { N_SHIFTS = 32 };

/* The longer side's beginning that is as long as the shorter side, and the rest: of truncated text, the shorter side
 * translates the beginning alone. */
static void split_longer_side(cq_gathering *g, size_t i) {
  const double max_share = 0.6, min_share = 0.3;
  const cq_slice text = g->texts->sides[cq_longer_side(g, i)][i];
  const double share = fmin(fmax(exp(-fabs(g->surplus[i])), min_share), max_share);
  const bool spaced = !cq_script_has_no_spaces(cq_script_of(text));
  size_t at = (size_t)(share * (double)text.n);
  while (at < text.n && (spaced ? !cq_is_blank(text.data[at]) : ((unsigned char)text.data[at] & 0xC0) == 0x80)) at++;
  g->pieces[0][i] = cq_slice_trimmed((cq_slice){text.data, at});
  g->pieces[1][i] = cq_slice_trimmed((cq_slice){text.data + at, text.n - at});
}

static cq_status encode_all(cq_gathering *g, cq_cached_encoder *store, cq_cached_progress progress, void *context,
                            cq_context *ctx, cq_error *error) {
  const size_t n = g->texts->n;
  const struct {
    const cq_slice *texts;
    size_t n;
  } lists[5] = {{g->texts->sides[0], n},
                {g->texts->sides[1], n},
                {g->pieces[0], n},
                {g->pieces[1], n},
                {g->distinct, g->n_distinct}};
  cq_status status = CQ_OK;
  for (int l = 0; !status && l < 5; l++)
    status = cq_cached_encoder_prepare(store, lists[l].texts, lists[l].n, ctx, progress, context, error);
  if (!status) status = cq_cached_encoder_map(store, error);
  for (int l = 0; !status && l < 5; l++) {
    g->records[l] = cq_alloc_array(lists[l].n, sizeof *g->records[l]);
    if (!g->records[l]) return cq_fail_memory(error, "vectors");
    for (size_t i = 0; i < lists[l].n; i++) {
      const int64_t record = cq_cached_encoder_record(store, lists[l].texts[i]);
      if (record > UINT32_MAX) return cq_fail(error, CQ_ERR_LIMIT, "the cache holds more than 2^32 vectors");
      g->records[l][i] = (uint32_t)record;
    }
  }
  return status;
}

static double cosine_of(const cq_gathering *g, int list, size_t i, int other, size_t j) {
  const size_t dim = (size_t)g->store->dim;
  return cq_cosine(g->store->vectors + g->records[list][i] * dim, g->store->vectors + g->records[other][j] * dim, dim);
}

/* The cosines of a row's sides with those of other rows: their mean, and all their deviations from it. */
static void measure_null(cq_gathering *g) {
  const size_t n = g->texts->n, n_shifts = n < N_SHIFTS + 2 ? (n ? n - 1 : 0) : N_SHIFTS;
  double sum = 0, squares = 0;
  for (size_t i = 0; i < n; i++) g->null_mean[i] = 0;
  for (size_t k = 0; k < n_shifts; k++) {
    const size_t shift = 1 + k * (n - 1) / n_shifts;
    for (size_t i = 0; i < n; i++) {
      const size_t j = (i + shift) % n;
      const double c = cosine_of(g, 0, i, 1, j);
      g->null_mean[i] += c, g->null_mean[j] += c;
      sum += c, squares += c * c;
    }
  }
  const double count = (double)(n * n_shifts), prior = CQ_PRIOR_ROWS * N_SHIFTS;
  const double mean = (sum + prior * PRIOR_NULL) / (count + prior);
  const double own = count > 0 ? squares / count - (sum / count) * (sum / count) : 0;
  g->file->null_mean = mean;
  g->file->null_deviation = sqrt((count * own + prior * PRIOR_NULL_SPREAD * PRIOR_NULL_SPREAD) / (count + prior));
  for (size_t i = 0; i < n; i++) g->null_mean[i] = (g->null_mean[i] + 8 * mean) / ((double)(2 * n_shifts) + 8);
}

static double standing(const cq_gathering *g, size_t i, double cosine) {
  return (cosine - g->null_mean[i]) / g->file->null_deviation;
}

static void compare_vectors(void *context, size_t run, int worker) {
  cq_gathering *g = context;
  (void)worker;
  for (size_t i = run * CQ_ROWS_AT_ONCE; i < cq_min((run + 1) * CQ_ROWS_AT_ONCE, g->texts->n); i++) {
    double *e = cq_evidence_row(g, i);
    const double own = cosine_of(g, 0, i, 1, i);
    e[CQ_E_COSINE] = standing(g, i, own);
    const int shorter = !cq_longer_side(g, i);
    e[CQ_E_CUT] = (cosine_of(g, 2, i, shorter, i) - own) / g->file->null_deviation;
    e[CQ_E_REST] = standing(g, i, cosine_of(g, 3, i, shorter, i));
    for (int shift = -CQ_MAX_SHIFT; shift <= CQ_MAX_SHIFT; shift++) {
      const int64_t j = (int64_t)i + shift;
      g->shifted[i * (2 * CQ_MAX_SHIFT + 1) + (size_t)(shift + CQ_MAX_SHIFT)] =
          j < 0 || j >= (int64_t)g->texts->n ? -100 : (float)standing(g, i, cosine_of(g, 0, i, 1, (size_t)j));
    }
  }
}

cq_status cq_score_evidence(double *out, float *shifted, cq_score_file *file, const cq_score_texts *texts,
                            cq_cached_encoder *store, cq_cached_progress progress, void *context, cq_context *ctx,
                            cq_error *error) {
  const size_t n = texts->n, n_runs = (n + CQ_ROWS_AT_ONCE - 1) / CQ_ROWS_AT_ONCE;
  cq_gathering g = {.texts = texts, .store = store, .file = file, .out = out, .shifted = shifted};
  g.null_mean = cq_alloc_array(n, sizeof *g.null_mean), g.surplus = cq_alloc_array(n, sizeof *g.surplus);
  bool ok = g.null_mean && g.surplus;
  for (int piece = 0; ok && piece < 2; piece++) {
    g.pieces[piece] = cq_alloc_array(n, sizeof *g.pieces[piece]);
    ok = g.pieces[piece] != NULL;
  }
  cq_status status = ok ? cq_gather_words(&g, error) : cq_fail_memory(error, "rows");
  if (!status) status = cq_gather_surface(&g, ctx, error);
  if (!status) status = cq_gather_neighbors(&g, error);
  for (size_t i = 0; !status && i < n; i++) split_longer_side(&g, i);
  if (!status) status = encode_all(&g, store, progress, context, ctx, error);
  if (!status) measure_null(&g), cq_context_run(ctx, n_runs, compare_vectors, &g);
  if (!status) status = cq_gather_matches(&g, ctx, error);
  for (int side = 0; side < 2; side++) {
    cq_free(g.sides[side].items), cq_free(g.sides[side].starts), cq_free(g.pieces[side]);
    cq_free(g.postings[side].starts), cq_free(g.postings[side].rows);
  }
  for (int l = 0; l < 5; l++) cq_free(g.records[l]);
  cq_map_free(&g.ids), cq_map_free(&g.stems), cq_free(g.distinct), cq_free(g.spelled), cq_free(g.stem_of);
  cq_free(g.null_mean), cq_free(g.surplus), cq_arena_free(&g.arena);
  return status;
}
