/* Searching an autoencoder's values: at random, by successive halving. */
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "recipe/autoencode/options.h"
#include "recipe/autoencode/trials.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* --- what can be searched: by Dore's table 5, but for alpha and beta, which are best beyond its ranges --- */

enum { MOST_WHOLE = 1 << 30 };

typedef struct value {
  const char *name;
  size_t offset; /* in cq_autoencode_options */
  bool is_int, by_logarithm;
  double low, high; /* usual; 0 and 0: only where a range is given */
} value;

/* A value and where it is drawn in this search. */
typedef struct drawn_value {
  const value *of;
  bool in_use;
  double low, high;
} drawn_value;

#define INT(title, field, log, low, high)                                                                              \
  { title, offsetof(cq_autoencode_options, field), true, log, low, high }
#define REAL(title, field, log, low, high)                                                                             \
  { title, offsetof(cq_autoencode_options, field), false, log, low, high }
static const value values[] = {
    INT("batch", batch_pairs, true, 16, 128),
    REAL("lr", learning_rate, true, 1e-4, 1e-1),
    INT("embedding", embedding_dim, true, 50, 150),
    INT("hidden", hidden_dim, true, 64, 256),
    INT("latent", latent_dim, true, 16, 64),
    INT("layers", n_layers, false, 1, 3),
    REAL("encoder-dropout", encoder_dropout, true, 0.1, 0.3),
    REAL("decoder-dropout", decoder_dropout, true, 0.1, 0.3),
    REAL("alpha", contrast, true, 0.5, 2),
    REAL("beta", reconstruction, true, 0.5, 2),
    REAL("distance", distance, false, 0, 0),
    REAL("margin", margin, false, 0, 0),
    REAL("temperature", temperature, true, 0, 0),
    REAL("noise", noise, false, 0, 0),
    REAL("word-dropout", word_dropout, false, 0, 0),
    REAL("encoder-word-dropout", encoder_word_dropout, false, 0, 0),
};
enum { N_VALUES = sizeof values / sizeof *values };

cq_autoencode_search_options cq_autoencode_search_default_options(void) {
  return (cq_autoencode_search_options){.n_trials = 27, .n_rungs = 3, .eta = 3};
}

size_t cq_autoencode_search_values(void) {
  return N_VALUES;
}

cq_autoencode_range cq_autoencode_search_value(size_t index) {
  if (index >= N_VALUES) return (cq_autoencode_range){0};
  return (cq_autoencode_range){values[index].name, values[index].low, values[index].high};
}

static cq_status find_value(size_t *out, const char *name, cq_error *error) {
  for (*out = 0; *out < N_VALUES; ++*out)
    if (!strcmp(values[*out].name, name)) return CQ_OK;
  return cq_fail(error, CQ_ERR_ARGUMENT, "'%s' is no value that can be searched", name);
}

static cq_status set_range(drawn_value *out, const cq_autoencode_range *range, cq_error *error) {
  const double low = range->low, high = range->high;
  if (!(low <= high) || !isfinite(low) || !isfinite(high) || (out->of->by_logarithm && !(low > 0) && low < high))
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s from %g to %g: expected the lower first%s", range->name, low, high,
                   out->of->by_logarithm ? ", above 0" : "");
  if (out->of->is_int && (low != floor(low) || high != floor(high) || low < -MOST_WHOLE || high > MOST_WHOLE))
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s from %g to %g: expected whole numbers of at most %d", range->name, low,
                   high, MOST_WHOLE);
  out->low = low, out->high = high, out->in_use = true;
  return CQ_OK;
}

/* The usual ranges but for what is fixed, under the given ones. */
static cq_status set_ranges(drawn_value out[N_VALUES], const cq_autoencode_search_options *s, cq_error *error) {
  cq_status status = CQ_OK;
  size_t v;
  for (v = 0; v < N_VALUES; v++)
    out[v] = (drawn_value){&values[v], values[v].low < values[v].high, values[v].low, values[v].high};
  for (size_t i = 0; !status && i < s->n_fixed; i++) {
    status = find_value(&v, s->fixed[i], error);
    if (!status) out[v].in_use = false;
  }
  for (size_t i = 0; !status && i < s->n_ranges; i++) {
    status = find_value(&v, s->ranges[i].name, error);
    if (!status) status = set_range(&out[v], &s->ranges[i], error);
  }
  return status;
}

/* --- a trial's values --- */

static void set(cq_autoencode_options *o, const value *v, double x) {
  const int whole = v->is_int ? (int)x : 0;
  if (v->is_int)
    memcpy((char *)o + v->offset, &whole, sizeof whole);
  else
    memcpy((char *)o + v->offset, &x, sizeof x);
}

/* Whether both ends of all ranges can be trained with: what is between can be as well. */
static cq_status check_ends(const cq_autoencode_options *base, const drawn_value ranges[N_VALUES], cq_error *error) {
  cq_status status = CQ_OK;
  for (int high = 0; !status && high < 2; high++) {
    cq_autoencode_options o = *base;
    for (int v = 0; v < N_VALUES; v++)
      if (ranges[v].in_use) set(&o, ranges[v].of, high ? ranges[v].high : ranges[v].low);
    status = cq_autoencode_check(&o, error);
  }
  return status;
}

/* In four digits or, where these do not read as the same number, as few as do. */
static void print_value(char out[32], double x) {
  for (int digits = 4; digits <= 17; digits++) {
    cq_snprintf(out, 32, "%.*g", digits, x);
    if (cq_strtod(out, NULL) == x) return;
  }
}

/* Rounded to what is printed, so that a trial can be made again from its record. */
static double at(const drawn_value *r, double u) {
  char text[32];
  if (!(r->low < r->high)) return r->low;
  double x = r->of->by_logarithm ? exp(log(r->low) + u * log(r->high / r->low)) : r->low + u * (r->high - r->low);
  if (r->of->is_int) x = r->of->by_logarithm ? round(x) : r->low + floor(u * (r->high - r->low + 1));
  if (!r->of->is_int) {
    cq_snprintf(text, sizeof text, "%.4g", x);
    x = cq_strtod(text, NULL);
  }
  return fmin(r->high, fmax(r->low, x));
}

/* Draws for every value, searched or not, so that one value's range does not change another's draws. Writes "lr 0.001,
 * batch 32". */
static void draw(cq_autoencode_options *o, char text[CQ_TRIAL_VALUES], const drawn_value ranges[N_VALUES],
                 uint64_t seed, size_t trial) {
  cq_random random = cq_random_seeded(seed ^ cq_mix(0x736561726368), trial);
  text[0] = '\0';
  for (int v = 0; v < N_VALUES; v++) {
    char number[32];
    const double u = cq_random_uniform(&random);
    if (!ranges[v].in_use) continue;
    const double x = at(&ranges[v], u);
    set(o, ranges[v].of, x);
    const size_t n = strlen(text);
    if (ranges[v].of->is_int)
      snprintf(number, sizeof number, "%d", (int)x);
    else
      print_value(number, x);
    snprintf(text + n, CQ_TRIAL_VALUES - n, "%s%s %s", n ? ", " : "", ranges[v].of->name, number);
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

static cq_status run_rung(cq_trials *t, survivor *in, size_t n, int rung, const drawn_value ranges[N_VALUES],
                          const cq_autoencode_search_options *s, cq_context *ctx, cq_error *error) {
  cq_status status = CQ_OK;
  const double share = pow(s->eta, rung + 1 - s->n_rungs);
  for (size_t i = 0; !status && i < n; i++) {
    char name[CQ_TRIAL_NAME], text[CQ_TRIAL_VALUES];
    const cq_trial *trial;
    cq_autoencode_options o = *t->base;
    draw(&o, text, ranges, o.seed, in[i].trial);
    o.together_epochs *= share, o.encoder_epochs *= share, o.decoder_epochs *= share;
    snprintf(name, sizeof name, "trial-%02zu-rung-%d", in[i].trial + 1, rung + 1);
    tell(t->base, rung, s->n_rungs, i, n, text);
    status = cq_trials_run(&trial, t, name, text, &o, ctx, error);
    if (!status) in[i].at = (size_t)(trial - t->items);
  }
  return status;
}

/* The best first, equals in the order they were in. Few enough for the plain way. */
static void sort(survivor *in, size_t n, const cq_trials *t) {
  for (size_t i = 1; i < n; i++)
    for (size_t k = i; k > 0 && cq_trial_is_better(t, &t->items[in[k].at], &t->items[in[k - 1].at]); k--) {
      const survivor swapped = in[k];
      in[k] = in[k - 1];
      in[k - 1] = swapped;
    }
}

static cq_status climb(cq_trials *t, survivor *in, const drawn_value ranges[N_VALUES],
                       const cq_autoencode_search_options *s, cq_context *ctx, cq_error *error) {
  cq_status status = CQ_OK;
  size_t n = (size_t)s->n_trials;
  for (int rung = 0; !status && rung < s->n_rungs; rung++) {
    const bool is_last = rung + 1 == s->n_rungs;
    status = run_rung(t, in, n, rung, ranges, s, ctx, error);
    if (status) break;
    sort(in, n, t);
    for (size_t i = is_last ? 1 : 0; i < n && !(is_last && s->keep_models); i++) {
      const cq_trial *trial = &t->items[in[i].at];
      if (!is_last || trial->is_made)
        cq_trials_drop_model(t, trial); /* an earlier call may have been told to keep it */
    }
    n = (size_t)fmax(1, floor((double)n / s->eta));
  }
  return status;
}

cq_status cq_autoencode_search(const cq_autoencode_options *base, const cq_autoencode_search_options *s,
                               cq_context *ctx, cq_error *error) {
  drawn_value ranges[N_VALUES];
  cq_trials trials = {0};
  if (s->n_trials < 1 || s->n_trials > 10000 || s->n_rungs < 1 || s->n_rungs > 20 || !(s->eta > 1 && s->eta <= 100))
    return cq_fail(error, CQ_ERR_ARGUMENT, "%d trials, %d rungs, eta %g: expected 1 to 10000, 1 to 20, above 1 to 100",
                   s->n_trials, s->n_rungs, s->eta);
  cq_status status = set_ranges(ranges, s, error);
  if (!status) status = check_ends(base, ranges, error);
  if (!status) status = cq_trials_begin(&trials, base, error);
  survivor *in = status ? NULL : cq_alloc_array((size_t)s->n_trials, sizeof *in);
  if (!status && !in) status = cq_fail_memory(error, "trials");
  for (int i = 0; !status && i < s->n_trials; i++) in[i] = (survivor){.trial = (size_t)i};
  if (!status) status = climb(&trials, in, ranges, s, ctx, error);
  cq_free(in);
  cq_trials_free(&trials);
  return status;
}
