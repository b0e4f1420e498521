/* What the programs share that time kernels and layers of a level and set them beside the machine's own peak, measured
 * in the same run: TSV on stdout.
 *
 * Columns: machine, level, threads, dtype, kernel, shape, median us, spread (quartiles' distance / median, %), rate,
 * its unit, share of peak (%). One thread is timed by its own processor time, so that other programs disturb it less;
 * several by the wall clock, each on its own data. The peak is measured again before every kernel, because clocks
 * change. */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include "base/clock.h"
#include "base/context.h"
#include "base/memory.h"
#include "base/random.h"
#include "tensor/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double peak_portable(float *sink, int64_t steps);
double peak_avx2(float *sink, int64_t steps);
double peak_avx512(float *sink, int64_t steps);

enum { MAX_THREADS = 64, MAX_RUNS = 2000, MAX_BUFFERS = 10 };

static struct {
  const cq_kernels *k;
  int n_threads;
  const char *only;
  double seconds;
  cq_context *ctx;
  char machine[64];
} bench = {.n_threads = 1, .seconds = 0.15};

/* One kernel at one size. `work` per call in `unit`s; a unit of GF/s is set beside the peak. */
typedef struct bench_case {
  const char *name, *shape, *unit;
  double work;
  void (*prepare)(const struct bench_case *c, float **buffers); /* before the clock starts; NULL: nothing */
  void (*run)(const struct bench_case *c, float **buffers);
  int64_t m, n, k, heads;
  void *object;                /* what else `run` needs; of one thread */
  int64_t floats[MAX_BUFFERS]; /* buffer sizes, one set a thread */
} bench_case;

static inline int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* ---- the peak ---- */

static double peak_flops; /* of one thread's last call */
static void peak_item(void *context, size_t item, int worker) {
  (void)context, (void)item, (void)worker;
  _Alignas(64) float sink[32];
  for (int i = 0; i < 32; i++) sink[i] = 0.5f;
  const int64_t steps = 100000;
#ifdef CQ_X86
  if (strcmp(bench.k->name, "avx512") == 0)
    peak_flops = peak_avx512(sink, steps);
  else if (strcmp(bench.k->name, "avx2") == 0)
    peak_flops = peak_avx2(sink, steps);
  else
#endif
    peak_flops = peak_portable(sink, steps);
}

/* Median GF/s of all threads together. */
static inline double measure_peak(void) {
  enum { RUNS = 9 };
  double rates[RUNS];
  for (int i = 0; i < RUNS; i++) {
    clockid_t clock = bench.n_threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    double start = cq_seconds(clock);
    if (bench.n_threads == 1)
      peak_item(NULL, 0, 0);
    else
      cq_context_run(bench.ctx, (size_t)bench.n_threads, peak_item, NULL);
    rates[i] = 1e-9 * peak_flops * bench.n_threads / (cq_seconds(clock) - start);
  }
  qsort(rates, RUNS, sizeof *rates, by_value);
  return rates[RUNS / 2];
}

/* ---- one case ---- */

typedef struct case_run {
  const bench_case *c;
  float *buffers[MAX_THREADS][MAX_BUFFERS];
} case_run;

static void case_item(void *context, size_t item, int worker) {
  case_run *run = context;
  (void)worker;
  run->c->run(run->c, run->buffers[item]);
}

static inline void run_case(const bench_case *c) {
  if (bench.only && strcmp(bench.only, c->name) != 0) return;
  static case_run run;
  run.c = c;
  for (int t = 0; t < bench.n_threads; t++) {
    cq_random random = cq_random_seeded(1, (uint64_t)t);
    for (int b = 0; b < MAX_BUFFERS; b++) {
      float *x = cq_alloc_array((size_t)c->floats[b] + 16, sizeof *x);
      if (!x) abort();
      for (int64_t i = 0; i < c->floats[b]; i++) x[i] = (float)cq_random_uniform(&random) - 0.5f;
      run.buffers[t][b] = x;
    }
    if (c->prepare) c->prepare(c, run.buffers[t]);
  }
  static double times[MAX_RUNS];
  int n = 0;
  double peak = measure_peak();
  const clockid_t clock = bench.n_threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  for (double spent = 0; n < MAX_RUNS && (n < 6 || spent < bench.seconds); n++) {
    double start = cq_seconds(clock);
    if (bench.n_threads == 1)
      case_item(&run, 0, 0);
    else
      cq_context_run(bench.ctx, (size_t)bench.n_threads, case_item, &run);
    times[n] = cq_seconds(clock) - start;
    spent += times[n];
  }
  memmove(times, times + 1, (size_t)(n - 1) * sizeof *times); /* the first warms the caches */
  n--;
  qsort(times, (size_t)n, sizeof *times, by_value);
  double median = times[n / 2], spread = 100 * (times[3 * n / 4] - times[n / 4]) / median;
  double rate = 1e-9 * c->work * bench.n_threads / median;
  printf("%s\t%s\t%d\tf32\t%s\t%s\t%.2f\t%.1f\t%.2f\t%s\t", bench.machine, bench.k->name, bench.n_threads, c->name,
         c->shape, 1e6 * median, spread, rate, c->unit);
  if (strcmp(c->unit, "GF/s") == 0)
    printf("%.1f\n", 100 * rate / peak);
  else
    printf("-\n");
  fflush(stdout);
  for (int t = 0; t < bench.n_threads; t++)
    for (int b = 0; b < MAX_BUFFERS; b++) cq_free(run.buffers[t][b]);
}

/* ---- the program ---- */

/* The processor's name, for the first column. */
static inline void name_machine(void) {
  snprintf(bench.machine, sizeof bench.machine, "unknown");
  FILE *f = fopen("/proc/cpuinfo", "r");
  char line[256];
  while (f && fgets(line, sizeof line, f)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon) continue;
    snprintf(bench.machine, sizeof bench.machine, "%s", colon + 2);
    bench.machine[strcspn(bench.machine, "\n")] = 0;
    break;
  }
  if (f) fclose(f);
}

/* Reads the options every program has and writes the table's head; false after an error. */
static inline bool open_bench(int argc, char **argv, int max_threads) {
  bench.k = cq_kernels_best();
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
      bench.n_threads = atoi(argv[++i]);
    else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      bench.only = argv[++i];
    else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
      bench.seconds = atof(argv[++i]);
    else
      bench.k = cq_kernels_named(argv[i]);
  }
  if (!bench.k || bench.n_threads < 1 || bench.n_threads > max_threads) {
    fprintf(stderr, "usage: %s [avx512|avx2|portable|reference] [--threads N] [--only NAME] [--seconds S]\n", argv[0]);
    return false;
  }
  name_machine();
  if (cq_context_open(&bench.ctx, bench.n_threads, NULL) != CQ_OK) return false;
  printf("machine\tlevel\tthreads\tdtype\tkernel\tshape\tmedian_us\tspread_%%\trate\tunit\tshare_of_peak_%%\n");
  printf("%s\t%s\t%d\tf32\tpeak\t-\t-\t-\t%.2f\tGF/s\t100.0\n", bench.machine, bench.k->name, bench.n_threads,
         measure_peak());
  return true;
}

#endif
