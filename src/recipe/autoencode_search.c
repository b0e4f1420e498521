/* Searching an autoencoder's values: at random, by successive halving. */
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "recipe/autoencode_trials.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* --- what can be searched: the usual ranges are those of Dore's table 5, whose alpha and beta are best beyond theirs --- */

typedef struct value {
  const char *name;
  size_t offset; /* in cq_autoencode_options */
  bool is_int, by_logarithm, usual;
  double low, high;
} value;

#define INT(title, field, log, low, high)                                                                              \
  { title, offsetof(cq_autoencode_options, field), true, log, true, low, high }
#define REAL(title, field, log, usual, low, high)                                                                      \
  { title, offsetof(cq_autoencode_options, field), false, log, usual, low, high }
static const value values[] = {
    INT("batch", batch_pairs, true, 16, 128),
    REAL("lr", learning_rate, true, true, 1e-4, 1e-1),
    INT("embedding", embedding_dim, true, 50, 150),
    INT("hidden", hidden_dim, true, 64, 256),
    INT("latent", latent_dim, true, 16, 64),
    INT("layers", n_layers, false, 1, 3),
    REAL("encoder-dropout", encoder_dropout, true, true, 0.1, 0.3),
    REAL("decoder-dropout", decoder_dropout, true, true, 0.1, 0.3),
    REAL("alpha", contrast, true, true, 0.5, 2),
    REAL("beta", reconstruction, true, true, 0.5, 2),
    REAL("distance", distance, false, false, 0, 2),
    REAL("margin", margin, false, false, 0.5, 2),
    REAL("temperature", temperature, true, false, 0.02, 0.5),
    REAL("noise", noise, false, false, 0, 0.5),
    REAL("word-dropout", word_dropout, false, false, 0, 0.3),
};
enum { N_VALUES = sizeof values / sizeof *values };

cq_autoencode_search_options cq_autoencode_search_default_options(void) {
  return (cq_autoencode_search_options){.n_trials = 27, .n_rungs = 3, .eta = 3};
}

/* The usual ranges under the given ones; low == high: not searched. */
static cq_status set_ranges(value out[N_VALUES], const cq_autoencode_search_options *s, cq_error *error) {
  memcpy(out, values, sizeof values);
  for (int v = 0; v < N_VALUES; v++)
    if (!out[v].usual) out[v].low = out[v].high = 0;
  for (size_t i = 0; i < s->n_ranges; i++) {
    const cq_autoencode_range *range = &s->ranges[i];
    int v = 0;
    while (v < N_VALUES && strcmp(values[v].name, range->name) != 0) v++;
    if (v == N_VALUES) return cq_fail(error, CQ_ERR_ARGUMENT, "'%s' is no value that can be searched", range->name);
    if (!(range->low <= range->high) || !isfinite(range->low) || !isfinite(range->high) ||
        (out[v].by_logarithm && !(range->low > 0) && range->low < range->high))
      return cq_fail(error, CQ_ERR_ARGUMENT, "%s from %g to %g: expected the lower first%s", range->name, range->low,
                     range->high, out[v].by_logarithm ? ", above 0" : "");
    out[v].low = range->low, out[v].high = range->high;
  }
  return CQ_OK;
}

/* --- a trial's values --- */

/* Draws for every value, searched or not, so that one value's range does not change another's draws. Writes "lr 0.001,
 * batch 32". */
static void draw(cq_autoencode_options *o, char text[512], const value ranges[N_VALUES], uint64_t seed, size_t trial) {
  cq_random random = cq_random_seeded(seed ^ cq_mix(0x736561726368), trial);
  text[0] = '\0';
  for (int v = 0; v < N_VALUES; v++) {
    const double u = cq_random_uniform(&random);
    const value *r = &ranges[v];
    if (!(r->low < r->high)) continue;
    double x = r->by_logarithm ? exp(log(r->low) + u * log(r->high / r->low)) : r->low + u * (r->high - r->low);
    if (r->is_int && !r->by_logarithm) x = r->low + floor(u * (r->high - r->low + 1));
    if (r->is_int) {
      const int whole = (int)fmin(r->high, fmax(r->low, round(x)));
      memcpy((char *)o + r->offset, &whole, sizeof whole);
      x = whole;
    } else {
      memcpy((char *)o + r->offset, &x, sizeof x);
    }
    const size_t n = strlen(text);
    cq_snprintf(text + n, 512 - n, "%s%s %.4g", n ? ", " : "", r->name, x);
  }
}

/* --- rungs --- */

typedef struct survivor {
  size_t trial;
  size_t at; /* in the trials made */
} survivor;

static void tell(const cq_autoencode_options *base, int rung, int n_rungs, size_t i, size_t n, const char *text) {
  char line[640];
  const cq_autoencode_progress news = {.phase = "search", .text = line};
  snprintf(line, sizeof line, "rung %d of %d, trial %zu of %zu: %s", rung + 1, n_rungs, i + 1, n, text);
  if (base->progress) base->progress(base->progress_context, &news);
}

static cq_status run_rung(cq_trials *t, survivor *in, size_t n, int rung, const value ranges[N_VALUES],
                          const cq_autoencode_search_options *s, cq_pool *pool, cq_error *error) {
  cq_status status = CQ_OK;
  const double share = pow(s->eta, rung + 1 - s->n_rungs);
  for (size_t i = 0; !status && i < n; i++) {
    char name[CQ_TRIAL_NAME], text[512];
    const cq_trial *trial;
    cq_autoencode_options o = *t->base;
    draw(&o, text, ranges, o.seed, in[i].trial);
    o.together_epochs *= share, o.encoder_epochs *= share, o.decoder_epochs *= share;
    snprintf(name, sizeof name, "trial-%02zu-rung-%d", in[i].trial + 1, rung + 1);
    tell(t->base, rung, s->n_rungs, i, n, text);
    status = cq_trials_run(&trial, t, name, text, &o, pool, error);
    if (!status) in[i].at = (size_t)(trial - t->items);
  }
  return status;
}

/* The best first. Few enough for the plain way. */
static void sort(survivor *in, size_t n, const cq_trials *t) {
  for (size_t i = 1; i < n; i++)
    for (size_t k = i; k > 0 && cq_trial_is_better(t, &t->items[in[k].at], &t->items[in[k - 1].at]); k--) {
      const survivor swapped = in[k];
      in[k] = in[k - 1];
      in[k - 1] = swapped;
    }
}

static cq_status climb(cq_trials *t, survivor *in, const value ranges[N_VALUES], const cq_autoencode_search_options *s,
                       cq_pool *pool, cq_error *error) {
  cq_status status = CQ_OK;
  size_t n = (size_t)s->n_trials;
  for (int rung = 0; !status && rung < s->n_rungs; rung++) {
    const bool is_last = rung + 1 == s->n_rungs;
    status = run_rung(t, in, n, rung, ranges, s, pool, error);
    if (status) break;
    sort(in, n, t);
    for (size_t i = is_last ? 1 : 0; i < n && !(is_last && s->keep_models); i++)
      cq_trials_drop_model(t, t->items[in[i].at].name);
    n = (size_t)fmax(1, floor((double)n / s->eta));
  }
  return status;
}

cq_status cq_autoencode_search(const cq_autoencode_options *base, const cq_autoencode_search_options *s, cq_pool *pool,
                               cq_error *error) {
  value ranges[N_VALUES];
  cq_trials trials = {0};
  if (s->n_trials < 1 || s->n_trials > 10000 || s->n_rungs < 1 || s->n_rungs > 20 || !(s->eta > 1 && s->eta <= 100))
    return cq_fail(error, CQ_ERR_ARGUMENT, "%d trials, %d rungs, eta %g: expected 1 to 10000, 1 to 20, above 1 to 100",
                   s->n_trials, s->n_rungs, s->eta);
  cq_status status = set_ranges(ranges, s, error);
  if (!status) status = cq_trials_begin(&trials, base, error);
  survivor *in = status ? NULL : cq_alloc_array((size_t)s->n_trials, sizeof *in);
  if (!status && !in) status = cq_fail_memory(error, "trials");
  for (int i = 0; !status && i < s->n_trials; i++) in[i] = (survivor){.trial = (size_t)i};
  if (!status) status = climb(&trials, in, ranges, s, pool, error);
  cq_free(in);
  cq_trials_free(&trials);
  return status;
}
