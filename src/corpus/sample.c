/* Draws a uniform sample of rows in one pass (reservoir sampling); keeps the input's order. */
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "corpus/format.h"

#include <stdlib.h>

static const char not_drawn[] = "not drawn";

#define O cq_corpus_sample_options
static const cq_option option_rows[] = {
    CQ_CORPUS_INPUT_ROW(O),
    {CQ_COUNT(O, "rows", n, CHANGES, 0, 0, 0, "N", "this many rows, held in memory; all if there are fewer"),
     .letter = 'n', .otherwise = ""},
    {CQ_NUMBER(O, "share", share, CHANGES, 0, 0, 1, "X", "instead of --rows: keep each row with this probability"),
     .otherwise = ""},
    CQ_SEED_ROW(O, 1),
    CQ_CORPUS_OUTPUT_ROWS(O),
};
#undef O
static cq_status check_sample_options(const void *options, cq_error *error) {
  const cq_corpus_sample_options *o = options;
  return (o->n > 0) != (o->share > 0) ? CQ_OK
                                      : cq_fail(error, CQ_ERR_ARGUMENT, "expected either rows or share, above 0");
}
const cq_option_group cq_group_corpus_sample =
    CQ_CORPUS_GROUP("corpus-sample", cq_corpus_sample_options, check_sample_options);

/* A kept row and its number. */
typedef struct kept {
  uint64_t number;
  char *line; /* owned: as it will be written */
  size_t n;
} kept;

static int by_number(const void *a, const void *b) {
  const uint64_t x = ((const kept *)a)->number, y = ((const kept *)b)->number;
  return (x > y) - (x < y);
}

static cq_status keep_row(kept *place, uint64_t number, cq_slice line, cq_error *error) {
  char *copy = cq_strndup(line.data, line.n);
  if (!copy) return cq_fail_memory(error, "sampled rows");
  cq_free(place->line);
  *place = (kept){number, copy, line.n};
  return CQ_OK;
}

/* Row i replaces a random kept row with probability n / (i + 1). */
static cq_status take_some(cq_row_writer *w, cq_source *rows, const cq_corpus_sample_options *o, cq_error *error) {
  cq_row row;
  kept *items = NULL;
  size_t n = 0, capacity = 0;
  cq_random random = cq_random_seeded(o->seed, 0);
  cq_status status = CQ_OK;
  for (uint64_t number = 0; cq_source_more(&status, &row, rows, error);) {
    uint64_t place = n;
    cq_source_name(&w->pairs, rows);
    cq_builder_clear(&w->pairs.row);
    status = cq_row_writer_render(&w->pairs.row, w, &row, error);
    if (status || w->pairs.row.n == 0) continue;
    number++;
    if (n == o->n) {
      place = cq_random_below(&random, number);
      cq_corpus_drop(w->counts, not_drawn);
      if (place >= n) continue;
    } else if (!cq_reserve((void **)&items, &capacity, n + 1, sizeof *items)) {
      status = cq_fail_memory(error, "sampled rows");
      break;
    } else {
      items[n++] = (kept){0};
    }
    status = keep_row(&items[place], number, cq_built(&w->pairs.row), error);
  }
  if (n) qsort(items, n, sizeof *items, by_number);
  for (size_t i = 0; i < n; i++) {
    if (!status) status = cq_pairs_put_rendered(&w->pairs, (cq_slice){items[i].line, items[i].n}, error);
    cq_free(items[i].line);
  }
  cq_free(items);
  if (!status) w->counts->n_written = n;
  return status;
}

typedef struct coin {
  const cq_corpus_sample_options *o;
  uint64_t n_thrown;
} coin;

static cq_status throw_coin(const char **why, void *context, cq_row *row, cq_error *error) {
  coin *c = context;
  cq_random random = cq_random_seeded(c->o->seed, c->n_thrown++);
  *why = cq_random_uniform(&random) < c->o->share ? NULL : not_drawn;
  (void)row, (void)error;
  return CQ_OK;
}

cq_status cq_corpus_sample(cq_corpus_counts *counts, const cq_corpus_sample_options *options, cq_error *error) {
  cq_corpus_sample_options o;
  *counts = (cq_corpus_counts){0};
  cq_status status = cq_options_take(&o, &cq_group_corpus_sample, options, error);
  if (status) return status;
  coin c = {.o = &o};
  const cq_corpus_flow flow = CQ_CORPUS_FLOW(&o);
  cq_source rows = CQ_SOURCE(o.inputs, o.n_inputs, 1, &flow, counts);
  status = cq_corpus_check_inputs(o.inputs, o.n_inputs, NULL, 0, error);
  if (!status && o.n == 0) return cq_corpus_choose(&rows, throw_coin, &c, error);
  cq_row_writer writer;
  if (!status) status = cq_row_writer_open(&writer, &flow, counts, error);
  if (status) return status;
  status = take_some(&writer, &rows, &o, error);
  cq_source_close(&rows);
  return cq_row_writer_finish(&writer, status, error);
}
