/* Scored pairs and a gold file: the input of F1. */
#include "calque/lab/labeled.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/slice.h"
#include "calque/lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 6 };

typedef struct reading {
  cq_labeled *out;
  cq_arena *text;
  cq_map gold, seen; /* "source id <tab> target id" */
  size_t capacity;
} reading;

/* The two ids with the tab between them, as in a line. */
static cq_slice key_of_pair(cq_slice source, cq_slice target) {
  return (cq_slice){source.data, (size_t)(target.data + target.n - source.data)};
}

static cq_status add_gold(reading *r, cq_slice line, const cq_lines *lines, cq_error *error) {
  cq_slice columns[2];
  if (cq_tsv_split(columns, 2, line) != 2)
    return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(lines), cq_lines_number(lines),
                        "expected a source id and a target id separated by a tab");
  return cq_map_put(&r->gold, key_of_pair(columns[0], columns[1]), 1) ? CQ_OK : cq_fail_memory(error, "gold");
}

static cq_status add_labeled_pair(reading *r, cq_slice line, const cq_lines *lines, cq_error *error) {
  cq_slice c[MAX_COLUMNS];
  cq_labeled *out = r->out;
  cq_labeled_pair pair = {.cosine = NAN};
  const char *path = cq_lines_path(lines);
  const uint64_t number = cq_lines_number(lines);
  char *copy = cq_arena_strndup(r->text, line.data, line.n);
  if (!copy) return cq_fail_memory(error, path);
  const size_t n = cq_tsv_split(c, MAX_COLUMNS, (cq_slice){copy, line.n});
  if (n != 3 && n != 4 && n != MAX_COLUMNS)
    return cq_fail_line(error, CQ_ERR_FORMAT, path, number,
                        "%zu column%s, expected score, source id, target id and, optionally, cosine and two sentences",
                        n, n == 1 ? "" : "s");
  if (!cq_slice_number(&pair.score, c[0]) || (n > 3 && !cq_slice_number(&pair.cosine, c[3])))
    return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "the %s is not a number",
                        n > 3 ? "score or the cosine" : "score");
  pair.source_id = c[1], pair.target_id = c[2];
  if (n == MAX_COLUMNS) pair.source = c[4], pair.target = c[5];
  const cq_slice key = key_of_pair(c[1], c[2]);
  if (cq_map_get(&r->seen, key) != CQ_MAP_NONE)
    return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "the pair stands in an earlier line, too");
  pair.correct = cq_map_get(&r->gold, key) != CQ_MAP_NONE;
  out->has_cosines = out->has_cosines && n > 3;
  if (!cq_map_put_borrowed(&r->seen, key, 1) ||
      !cq_reserve((void **)&out->pairs, &r->capacity, out->n + 1, sizeof *out->pairs))
    return cq_fail_memory(error, path);
  out->pairs[out->n++] = pair;
  return CQ_OK;
}

static cq_status read_pair_file(reading *r, const char *path,
                                cq_status (*add)(reading *, cq_slice, const cq_lines *, cq_error *), cq_error *error) {
  cq_lines *lines;
  cq_slice line;
  cq_status status = cq_lines_open(&lines, path, error);
  if (status) return status;
  while (!(status = cq_lines_next(&line, lines, error)) && line.data && !(status = add(r, line, lines, error))) {
  }
  cq_lines_close(lines);
  return status;
}

static int best_pair_first(const void *a, const void *b) {
  const double x = ((const cq_labeled_pair *)a)->score, y = ((const cq_labeled_pair *)b)->score;
  return (x < y) - (x > y);
}

cq_status cq_labeled_read(cq_labeled *out, const char *gold, const char *pairs, cq_error *error) {
  *out = (cq_labeled){.has_cosines = true};
  reading r = {.out = out, .text = cq_alloc_zeroed(sizeof *r.text)};
  if (!r.text) return cq_fail_memory(error, "labeled pairs");
  out->memory = r.text;
  cq_status status = read_pair_file(&r, gold, add_gold, error);
  if (!status && r.gold.n == 0) status = cq_fail_file(error, CQ_ERR_FORMAT, gold, "there is no pair in it");
  if (!status) status = read_pair_file(&r, pairs, add_labeled_pair, error);
  out->n_gold = r.gold.n;
  cq_map_free(&r.gold);
  cq_map_free(&r.seen);
  if (status)
    cq_labeled_free(out);
  else if (out->n)
    qsort(out->pairs, out->n, sizeof *out->pairs, best_pair_first);
  return status;
}

void cq_labeled_free(cq_labeled *labeled) {
  if (labeled->memory) cq_arena_free(labeled->memory);
  cq_free(labeled->memory);
  cq_free(labeled->pairs);
  *labeled = (cq_labeled){0};
}

/* The pairs' figures as the arrays that F1 takes. */
static cq_status f1_figures(double **scores, bool **correct, const cq_labeled *l, bool by_cosine, cq_error *error) {
  if (by_cosine && !l->has_cosines) return cq_fail(error, CQ_ERR_ARGUMENT, "the pairs have no cosines");
  *scores = cq_alloc_array(l->n, sizeof **scores);
  *correct = cq_alloc_array(l->n, sizeof **correct);
  if (!*scores || !*correct) return cq_fail_memory(error, "figures");
  for (size_t i = 0; i < l->n; i++) {
    (*scores)[i] = by_cosine ? l->pairs[i].cosine : l->pairs[i].score;
    (*correct)[i] = l->pairs[i].correct;
  }
  return CQ_OK;
}

cq_status cq_labeled_curve(cq_f1_point **out, size_t *n, const cq_labeled *labeled, bool by_cosine, cq_error *error) {
  double *scores = NULL;
  bool *correct = NULL;
  *out = NULL, *n = 0;
  cq_status status = f1_figures(&scores, &correct, labeled, by_cosine, error);
  if (!status) status = cq_f1_curve(out, n, scores, correct, labeled->n, labeled->n_gold, error);
  cq_free(scores);
  cq_free(correct);
  return status;
}

cq_status cq_labeled_at(cq_f1_point *out, const cq_labeled *labeled, bool by_cosine, double threshold,
                        cq_error *error) {
  double *scores = NULL;
  bool *correct = NULL;
  cq_status status = f1_figures(&scores, &correct, labeled, by_cosine, error);
  if (!status) cq_f1_at(out, threshold, scores, correct, labeled->n, labeled->n_gold);
  cq_free(scores);
  cq_free(correct);
  return status;
}
