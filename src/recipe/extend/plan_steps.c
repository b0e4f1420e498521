/* Plans the number of steps that fit the time budget by timing samples of the work. The run itself follows the clock
 * (recipe/run/run_clock.h); the plan says how many sources the teacher has to encode before it.
 *
 *   pairs drawn ──▶ sources encoded unless cached ──▶ the teacher's time per source
 *               ──▶ a few steps ──▶ time per step
 *   a search of random vectors ──▶ the time of hard-negative search per pair of sources */
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "calque/corpus.h"
#include "calque/nearest.h"
#include "recipe/encode/cached_encoder.h"
#include "recipe/extend/extending.h"
#include "train/parallel.h"

#include <math.h>
#include <string.h>

enum { TRIAL_STEPS = 12, MIN_STEPS = 20, TRIAL_SOURCES = 512, TRIAL_ROWS = 8192 };

#define USEFUL_EPOCHS 0.5

/* ---- costs in seconds ---- */

typedef struct costs {
  double step;   /* of training */
  double source; /* time of the teacher per vector, averaged over cached and new ones */
  double cosine; /* time per cosine of the hard-negative search, which compares all drawn sources; 0: no search */
} costs;

typedef struct trial {
  const cq_extending *e;
  double seconds, last;
  uint64_t n_timed;
} trial;

cq_distill_options cq_extend_distillation(const cq_extending *e, const cq_training_options *run) {
  cq_distill_options d = e->parts.distill;
  d.student = e->student, d.train = e->texts.train, d.n_train = e->texts.n, d.run = run;
  return d;
}

/* The seconds of steps after the first few. */
static bool time_step(void *context, const cq_training_progress *p) {
  trial *t = context;
  if (p->text) return true;
  const double now = cq_seconds(CLOCK_MONOTONIC);
  if (!strcmp(p->phase, "train")) {
    if (p->step > TRIAL_STEPS / 3) t->seconds += now - t->last, t->n_timed++;
    t->last = now;
  }
  return cq_extend_tell(&t->e->news, NULL);
}

static cq_status time_steps(costs *c, const cq_extending *e, const char *drawn, cq_error *error) {
  char path[CQ_EXTEND_PATH];
  trial t = {.e = e};
  const cq_training_data data = {.path = drawn, .weight = 1};
  cq_training_options run = e->parts.run;
  cq_status status = cq_path_join(path, sizeof path, e->work, "trial", error);
  if (status) return status;
  run.output = path, run.replace = true, run.steps = TRIAL_STEPS, run.checkpoint_every = 0;
  run.resume = false, run.ranks = NULL, run.log_path = NULL, run.average = 0;
  run.n_dev = run.n_sts = 0, run.best_by = CQ_BEST_LAST, run.evaluate_every = 0;
  run.progress = time_step, run.progress_context = &t;
  cq_distill_options d = cq_extend_distillation(e, &run);
  d.train = &data, d.n_train = 1;
  status = cq_distill(NULL, &d, e->ctx, error);
  cq_directory_remove(path);
  c->step = t.seconds / (double)(t.n_timed ? t.n_timed : 1);
  return status;
}

/* Writes a sample of all pairs. */
static cq_status draw_pairs(const char *path, const cq_extending *e, cq_error *error) {
  cq_corpus_sample_options s = cq_corpus_sample_default_options();
  cq_corpus_counts counts;
  const char **inputs = cq_alloc_array(e->texts.n, sizeof *inputs);
  if (!inputs) return cq_fail_memory(error, "names of files");
  for (size_t i = 0; i < e->texts.n; i++) inputs[i] = e->texts.train[i].path;
  /* Not those of an earlier call, which are cached. */
  s.seed = (uint64_t)(1e6 * cq_seconds(CLOCK_REALTIME));
  s.inputs = inputs, s.n_inputs = e->texts.n, s.n = TRIAL_SOURCES;
  s.skip_bad = e->o.run->skip_bad, s.output = path;
  const cq_status status = cq_corpus_sample(&counts, &s, error);
  cq_free(inputs);
  return status;
}

static cq_status time_teacher(costs *c, int64_t *dim, const cq_extending *e, const char *path, cq_error *error) {
  const cq_parallel_options only_sources = {.skip_bad = e->o.run->skip_bad, .only_column = 1};
  cq_parallel drawn = {0};
  cq_cached_encoder teacher = {0};
  const cq_encoder_options opening = cq_encoder_default_options();
  cq_status status = cq_parallel_add(&drawn, path, NULL, 1, &only_sources, error);
  if (!status)
    status = cq_cached_teacher_open(&teacher, e->o.model, e->o.run->precision == CQ_TRAINING_BF16, &opening,
                                    e->o.distill->cache_directory, error);
  const double started = cq_seconds(CLOCK_MONOTONIC);
  if (!status) status = cq_cached_encoder_prepare(&teacher, drawn.sources, drawn.n_sources, e->ctx, NULL, NULL, error);
  if (!status) c->source = (cq_seconds(CLOCK_MONOTONIC) - started) / (double)drawn.n_sources;
  *dim = teacher.dim;
  cq_cached_encoder_close(&teacher);
  cq_parallel_free(&drawn);
  return status;
}

static cq_status time_search(costs *c, int64_t dim, const cq_extending *e, cq_error *error) {
  cq_nearest_options o = cq_nearest_default_options();
  cq_neighbors found = {0};
  cq_random random = cq_random_seeded(e->o.run->seed, 0);
  if (e->o.distill->hard_negatives == 0) return CQ_OK;
  float *vectors = cq_alloc_array((size_t)TRIAL_ROWS, (size_t)dim * sizeof *vectors);
  if (!vectors) return cq_fail_memory(error, "vectors");
  for (int64_t i = 0; i < TRIAL_ROWS * dim; i++) vectors[i] = (float)cq_random_uniform(&random) - 0.5f;
  o.k = e->o.distill->hard_negatives, o.first_pass = CQ_FIRST_INT8;
  const double started = cq_seconds(CLOCK_MONOTONIC);
  const cq_status status = cq_nearest_within(&found, vectors, TRIAL_ROWS, (size_t)dim, &o, e->ctx, error);
  c->cosine = (cq_seconds(CLOCK_MONOTONIC) - started) / ((double)TRIAL_ROWS * TRIAL_ROWS);
  cq_neighbors_free(&found);
  cq_free(vectors);
  return status;
}

/* ---- the choice ---- */

static double pairs_per_step(const cq_extending *e) {
  return (double)e->o.run->batch_pairs * e->o.run->accumulate;
}

/* Cost of `steps` steps and their evaluations. Evaluating a batch costs a third of a step (forward only). */
static double cost_of(const cq_extending *e, const costs *c, double steps) {
  const double batch = pairs_per_step(e), sources = fmin(steps * batch, (double)e->texts.n_sources);
  const double measured = e->o.run->n_dev ? 1000 * (double)e->o.run->n_dev : (double)e->texts.n_measured;
  const int every = e->o.run->evaluate_every; /* below 0: ten times; always the first and the last */
  const double evaluations = 2 + (every < 0 ? 10 : every > 0 ? steps / every : 0);
  return steps * c->step + evaluations * measured / batch * c->step / 3 + (sources + 2 * measured) * c->source +
         sources * sources * c->cosine;
}

/* The most steps that cost no more, by bisection. */
static double steps_for(const cq_extending *e, const costs *c, double seconds, double most) {
  double fits = MIN_STEPS, too_many = most;
  if (cost_of(e, c, most) <= seconds) return most;
  while (too_many - fits > 1) {
    const double middle = (fits + too_many) / 2;
    if (cost_of(e, c, middle) <= seconds)
      fits = middle;
    else
      too_many = middle;
  }
  return fits;
}

cq_status cq_extend_choose_steps(cq_extending *e, cq_error *error) {
  costs c = {0};
  int64_t dim = 0;
  char drawn[CQ_EXTEND_PATH];
  cq_status status = cq_path_join(drawn, sizeof drawn, e->work, "drawn.tsv", error);
  if (!status) status = draw_pairs(drawn, e, error);
  if (!status) status = time_teacher(&c, &dim, e, drawn, error);
  if (!status) status = time_steps(&c, e, drawn, error); /* the teacher's vectors are there */
  if (!status) status = time_search(&c, dim, e, error);
  if (status) return status;
  const double batch = pairs_per_step(e), left = e->budget - (cq_seconds(CLOCK_MONOTONIC) - e->started);
  const double most = fmax(e->o.run->epochs * (double)e->texts.n_pairs / batch, MIN_STEPS);
  const double steps = steps_for(e, &c, left, most), unit = pow(10, floor(log10(steps)) - 1);
  e->steps.planned = (uint64_t)(floor(steps / unit) * unit);
  cq_extend_choose(&e->news,
                   "steps: %llu, %.1f epochs (--steps): %s; a step takes %.3f s, the teacher %.2g s for 1,000 sources",
                   (unsigned long long)e->steps.planned, (double)e->steps.planned * batch / (double)e->texts.n_pairs,
                   steps >= most                       ? "more would not help"
                   : cost_of(e, &c, MIN_STEPS) <= left ? "what fits into the time (--time)"
                                                       : "the fewest, though the time is too short",
                   c.step, 1000 * c.source);
  const double enough = fmin(USEFUL_EPOCHS * (double)e->texts.n_pairs / batch, most);
  if (steps < enough)
    cq_extend_choose(&e->news,
                     "the time is too short for the text: %g epochs need %.3g minutes in all, or give less text",
                     USEFUL_EPOCHS, ceil((e->budget - left + cost_of(e, &c, enough)) / 60));
  return CQ_OK;
}
