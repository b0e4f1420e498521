/* Reads a gold standard and finds its pairs among the mined rows. See gold_pairs.h. */
#include "recipe/mine/gold_pairs.h"

#include "base/error.h"
#include "base/memory.h"
#include "calque/lines.h"
#include "recipe/mine/mining.h"

/* The row of an id; an unknown one is an error. */
static cq_status row_of_id(uint32_t *out, const cq_embedded *s, const uint32_t *row_of_line, cq_slice id,
                           const char *path, uint64_t number, cq_error *error) {
  const uint64_t line = cq_map_get(&s->corpus.line_of, id);
  if (line == CQ_MAP_NONE)
    return cq_fail_line(error, CQ_ERR_ARGUMENT, path, number, "the id '%.*s' is in no line of the corpus", (int)id.n,
                        id.data);
  *out = row_of_line[line];
  return CQ_OK;
}

static uint32_t *rows_of_lines(const cq_sentences *c) {
  uint32_t *rows = cq_alloc_array(c->n_lines, sizeof *rows);
  for (size_t i = 0; rows && i < c->n; i++)
    for (size_t l = c->starts[i]; l < c->starts[i + 1]; l++) rows[c->lines[l]] = (uint32_t)i;
  return rows;
}

static cq_slice pair_key(const uint32_t pair[2]) {
  return (cq_slice){(const char *)pair, 2 * sizeof *pair};
}

void cq_gold_pairs_free(cq_gold_pairs *g) {
  cq_map_free(&g->rows);
  cq_map_free(&g->ids);
}

uint64_t cq_gold_pairs_count(const cq_gold_pairs *g, uint32_t source, uint32_t target) {
  const uint64_t count = cq_map_get(&g->rows, pair_key((uint32_t[]){source, target}));
  return count == CQ_MAP_NONE ? 0 : count;
}

static cq_status gold_add(cq_gold_pairs *g, const cq_mining *m, uint32_t *const rows[2], cq_slice line,
                          const char *path, uint64_t number, cq_error *error) {
  cq_slice columns[2];
  uint32_t pair[2] = {0};
  cq_status status = CQ_OK;
  if (cq_tsv_split(columns, 2, line) != 2)
    return cq_fail_line(error, CQ_ERR_FORMAT, path, number, "expected two ids separated by a tab");
  for (int i = 0; !status && i < 2; i++)
    status = row_of_id(&pair[i], &m->sides[i], rows[i], columns[i], path, number, error);
  if (status || cq_map_get(&g->ids, line) != CQ_MAP_NONE) return status;
  return cq_map_put(&g->ids, line, 1) &&
                 cq_map_put(&g->rows, pair_key(pair), cq_gold_pairs_count(g, pair[0], pair[1]) + 1)
             ? CQ_OK
             : cq_fail_memory(error, path);
}

cq_status cq_gold_pairs_read(cq_gold_pairs *g, const cq_mining *m, const char *path, cq_error *error) {
  if (!m->sides[0].corpus.ids || !m->sides[1].corpus.ids)
    return cq_fail(error, CQ_ERR_ARGUMENT,
                   "a gold file names ids: source and target must be files of id, tab, sentence");
  uint32_t *const rows[2] = {rows_of_lines(&m->sides[0].corpus), rows_of_lines(&m->sides[1].corpus)};
  cq_lines *lines = NULL;
  cq_slice line = {NULL, 0};
  cq_status status = rows[0] && rows[1] ? cq_lines_open(&lines, path, error) : cq_fail_memory(error, path);
  while (!status && !(status = cq_lines_next(&line, lines, error)) && line.data)
    status = gold_add(g, m, rows, line, path, cq_lines_number(lines), error);
  if (!status && g->ids.n == 0) status = cq_fail_file(error, CQ_ERR_FORMAT, path, "there is no pair in it");
  cq_lines_close(lines);
  cq_free(rows[0]);
  cq_free(rows[1]);
  return status;
}
