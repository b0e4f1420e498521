/* Searches an autoencoder's values: at random, with successive halving. */
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "base/slice.h"
#include "lab/autoencode/autoencode_options.h"
#include "lab/autoencode/trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- searchable options: ranges from Dore's table 5, except for alpha and beta (best outside it) --- */

enum { MAX_WHOLE = 1 << 30 };

/* A value that can be searched, named as its option. */
typedef struct value {
  const char *name;
  bool is_int, by_logarithm;
  double low, high; /* usual; 0 and 0: only with a given range */
} value;

/* A value, and its range in this search. */
typedef struct drawn_value {
  const value *of;
  bool in_use;
  double low, high;
} drawn_value;

static const value values[] = {
    {"batch", true, true, 16, 128},
    {"lr", false, true, 1e-4, 1e-1},
    {"embedding", true, true, 50, 150},
    {"hidden", true, true, 64, 256},
    {"latent", true, true, 16, 64},
    {"layers", true, false, 1, 3},
    {"encoder-dropout", false, true, 0.1, 0.3},
    {"decoder-dropout", false, true, 0.1, 0.3},
    {"alpha", false, true, 0.5, 2},
    {"beta", false, true, 0.5, 2},
    {"distance", false, false, 0, 0},
    {"margin", false, false, 0, 0},
    {"temperature", false, true, 0, 0},
    {"noise", false, false, 0, 0},
    {"word-dropout", false, false, 0, 0},
    {"encoder-word-dropout", false, false, 0, 0},
};
enum { N_VALUES = sizeof values / sizeof *values };

size_t cq_autoencode_search_values(void) {
  return N_VALUES;
}

void cq_autoencode_search_value(cq_autoencode_range *out, size_t index) {
  *out = index < N_VALUES ? (cq_autoencode_range){values[index].name, values[index].low, values[index].high}
                          : (cq_autoencode_range){0};
}

static cq_status find_value(size_t *out, const char *name, cq_error *error) {
  for (*out = 0; *out < N_VALUES; ++*out)
    if (!strcmp(values[*out].name, name)) return CQ_OK;
  return cq_fail(error, CQ_ERR_ARGUMENT, "'%s' is not an option whose values can be searched", name);
}

/* "lr=1e-4:1e-2" */
typedef struct range {
  char name[32];
  double low, high;
} range;

static cq_status read_range(range *out, const char *text, cq_error *error) {
  const char *equals = strchr(text, '='), *colon = equals ? strchr(equals, ':') : NULL;
  memset(out, 0, sizeof *out);
  if (!colon || equals - text >= (int)sizeof out->name ||
      !cq_slice_number(&out->low, (cq_slice){equals + 1, (size_t)(colon - equals - 1)}) ||
      !cq_slice_number(&out->high, cq_slice_of(colon + 1)))
    return cq_fail(error, CQ_ERR_ARGUMENT, "range is '%s', expected an option and two numbers as lr=1e-4:1e-2", text);
  memcpy(out->name, text, (size_t)(equals - text));
  return CQ_OK;
}

static cq_status set_range(drawn_value out[N_VALUES], const range *r, cq_error *error) {
  size_t v;
  cq_status status = find_value(&v, r->name, error);
  if (status) return status;
  const value *of = out[v].of;
  if (r->low > r->high || (of->by_logarithm && !(r->low > 0) && r->low < r->high))
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s from %g to %g: expected the lower first%s", r->name, r->low, r->high,
                   of->by_logarithm ? ", above 0" : "");
  if (of->is_int &&
      (r->low != floor(r->low) || r->high != floor(r->high) || r->low < -MAX_WHOLE || r->high > MAX_WHOLE))
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s from %g to %g: expected whole numbers of at most %d", r->name, r->low,
                   r->high, MAX_WHOLE);
  out[v].low = r->low, out[v].high = r->high, out[v].in_use = true;
  return CQ_OK;
}

static cq_status check_search(const void *options, cq_error *error) {
  const cq_autoencode_search_options *o = options;
  cq_status status = CQ_OK;
  range r;
  for (size_t i = 0; !status && i < o->n_ranges; i++) status = read_range(&r, o->ranges[i], error);
  return status;
}

#define O cq_autoencode_search_options
static const cq_option option_rows[] = {
    {CQ_INT(O, "trials", n_trials, CHANGES, 27, 1, 10000, "N", "how many sets of values are drawn")},
    {CQ_INT(O, "rungs", n_rungs, CHANGES, 3, 1, 20, "N",
            "rounds of training the best again, for longer; 1: plain random search")},
    {CQ_NUMBER(O, "eta", eta, CHANGES, 3, 1, 100, "X",
               "one of N trials goes to the next rung, and is trained N times longer"),
     .flags = CQ_OPTION_ABOVE_MIN},
    {CQ_TEXTS(O, "range", ranges, n_ranges, CHANGES, "OPTION=LOW:HIGH", "range to draw an option's values from"),
     .otherwise = "as --list prints"},
    {CQ_TEXTS(O, "fixed", fixed, n_fixed, CHANGES, "OPTION", "do not search an option's value")},
    {CQ_FLAG(O, "keep", keep_models, KEEPS, "keep all models of the last rung, not only the best")},
};
#undef O
const cq_option_group cq_group_autoencode_search = {
    .name = "autoencode-search", CQ_ROWS(cq_autoencode_search_options, option_rows), .check = check_search};

/* The usual ranges, without fixed values, overridden by the given ones. */
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
    range r;
    status = read_range(&r, s->ranges[i], error);
    if (!status) status = set_range(out, &r, error);
  }
  return status;
}

/* --- a trial's values --- */

/* Prints four digits or, if the number has more, the fewest digits that read back the same. */
static void print_drawn_value(char out[32], const value *v, double x) {
  if (v->is_int) cq_snprintf(out, 32, "%d", (int)x);
  for (int digits = 4; !v->is_int && digits <= 17; digits++) {
    cq_snprintf(out, 32, "%.*g", digits, x);
    if (cq_strtod(out, NULL) == x) return;
  }
}

static cq_status set_value(cq_autoencode_options *o, const value *v, double x, cq_error *error) {
  char text[32];
  print_drawn_value(text, v, x);
  return cq_group_set(&cq_group_autoencode, o, v->name, text, error);
}

/* Whether both ends of all ranges are trainable, so that everything between them is, too. */
static cq_status check_ends(const cq_autoencode_options *base, const drawn_value ranges[N_VALUES], cq_error *error) {
  cq_status status = CQ_OK;
  for (int high = 0; !status && high < 2; high++) {
    cq_autoencode_options o = *base;
    for (int v = 0; v < N_VALUES; v++)
      if (!status && ranges[v].in_use)
        status = set_value(&o, ranges[v].of, high ? ranges[v].high : ranges[v].low, error);
    if (!status) status = cq_autoencode_check(&o, error);
  }
  return status;
}

/* Rounded to its printed value, so that a trial can be repeated from its record. */
static double value_at(const drawn_value *r, double u) {
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

/* Draws a number for every value, searched or not, so that one value's range does not change another's draws. Writes
 * "lr 0.001, batch 32". */
static cq_status draw_values(cq_autoencode_options *o, char text[CQ_TRIAL_VALUES], const drawn_value ranges[N_VALUES],
                             uint64_t seed, size_t trial, cq_error *error) {
  cq_status status = CQ_OK;
  cq_random random = cq_random_seeded(seed ^ cq_mix(0x736561726368), trial);
  text[0] = '\0';
  for (int v = 0; v < N_VALUES; v++) {
    char number[32];
    const double u = cq_random_uniform(&random);
    if (!ranges[v].in_use) continue;
    const double x = value_at(&ranges[v], u);
    if (!status) status = set_value(o, ranges[v].of, x, error);
    const size_t n = strlen(text);
    print_drawn_value(number, ranges[v].of, x);
    snprintf(text + n, CQ_TRIAL_VALUES - n, "%s%s %s", n ? ", " : "", ranges[v].of->name, number);
  }
  return status;
}

/* --- rungs --- */

typedef struct survivor {
  size_t trial;
  size_t at; /* in the trials made */
} survivor;

static void tell_trial(const cq_autoencode_options *base, int rung, int n_rungs, size_t i, size_t n, const char *text) {
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
    status = draw_values(&o, text, ranges, o.seed, in[i].trial, error);
    if (status) return status;
    o.together_epochs *= share, o.encoder_epochs *= share, o.decoder_epochs *= share;
    snprintf(name, sizeof name, "trial-%02zu-rung-%d", in[i].trial + 1, rung + 1);
    tell_trial(t->base, rung, s->n_rungs, i, n, text);
    status = cq_trials_run(&trial, t, name, text, &o, ctx, error);
    if (!status) in[i].at = (size_t)(trial - t->items);
  }
  return status;
}

/* Best first, stable. Insertion sort: there are few. */
static void sort_survivors(survivor *in, size_t n, const cq_trials *t) {
  for (size_t i = 1; i < n; i++)
    for (size_t k = i; k > 0 && cq_trial_is_better(t, &t->items[in[k].at], &t->items[in[k - 1].at]); k--) {
      const survivor swapped = in[k];
      in[k] = in[k - 1];
      in[k - 1] = swapped;
    }
}

static cq_status climb_rungs(cq_trials *t, survivor *in, const drawn_value ranges[N_VALUES],
                             const cq_autoencode_search_options *s, cq_context *ctx, cq_error *error) {
  cq_status status = CQ_OK;
  size_t n = (size_t)s->n_trials;
  for (int rung = 0; !status && rung < s->n_rungs; rung++) {
    const bool is_last = rung + 1 == s->n_rungs;
    status = run_rung(t, in, n, rung, ranges, s, ctx, error);
    if (status) break;
    sort_survivors(in, n, t);
    for (size_t i = is_last ? 1 : 0; i < n && !(is_last && s->keep_models); i++) {
      const cq_trial *trial = &t->items[in[i].at];
      if (!is_last || trial->is_made) cq_trials_drop_model(t, trial); /* an earlier call may have kept it */
    }
    n = (size_t)fmax(1, floor((double)n / s->eta));
  }
  return status;
}

cq_status cq_autoencode_search(const cq_autoencode_options *base, const cq_autoencode_search_options *options,
                               cq_context *ctx, cq_error *error) {
  cq_autoencode_options taken;
  cq_autoencode_search_options o;
  const cq_autoencode_search_options *s = &o;
  drawn_value ranges[N_VALUES];
  cq_trials trials = {0};
  cq_status status = cq_options_take(&taken, &cq_group_autoencode, base, error);
  if (!status) status = cq_options_take(&o, &cq_group_autoencode_search, options, error);
  if (!status) status = set_ranges(ranges, s, error);
  if (!status) status = check_ends(&taken, ranges, error);
  if (!status) status = cq_trials_begin(&trials, &taken, error);
  survivor *in = status ? NULL : cq_alloc_array((size_t)s->n_trials, sizeof *in);
  if (!status && !in) status = cq_fail_memory(error, "trials");
  for (int i = 0; !status && i < s->n_trials; i++) in[i] = (survivor){.trial = (size_t)i};
  if (!status) status = climb_rungs(&trials, in, ranges, s, ctx, error);
  cq_free(in);
  cq_trials_free(&trials);
  return status;
}
