/* Word embeddings whose rows are divided among ranks, with their gradients and optimizer state. See table_parts.h. */
#include "train/table_parts.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void cq_table_parts_free(cq_table_parts *t) {
  cq_free(t->ids);
  cq_free(t->rows);
  *t = (cq_table_parts){0};
}

static int by_value(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* t->ids becomes the distinct ones, ascending. */
static cq_status sort_ids(size_t *n_distinct, cq_table_parts *t, const int32_t *ids, size_t n, cq_error *error) {
  *n_distinct = 0;
  if (!cq_reserve((void **)&t->ids, &t->id_capacity, n, sizeof *t->ids))
    return cq_fail_memory(error, "rows of a table");
  memcpy(t->ids, ids, n * sizeof *ids);
  qsort(t->ids, n, sizeof *t->ids, by_value);
  for (size_t i = 0; i < n; i++)
    if (i == 0 || t->ids[i] != t->ids[*n_distinct - 1]) t->ids[(*n_distinct)++] = t->ids[i];
  return CQ_OK;
}

cq_status cq_table_parts_fetch(cq_table_parts *t, const cq_param *table, const int32_t *ids, size_t n,
                               cq_error *error) {
  const size_t dim = (size_t)table->cols;
  size_t ends[CQ_MAX_TABLE_PARTS], n_distinct;
  int64_t first, end;
  if (!t->exchange || n == 0) return CQ_OK;
  cq_status status = sort_ids(&n_distinct, t, ids, n, error);
  if (status) return status;
  if (!cq_reserve((void **)&t->rows, &t->row_capacity, n_distinct * dim, sizeof *t->rows))
    return cq_fail_memory(error, "rows of a table");
  size_t at = 0, own = 0, own_end = 0;
  for (int i = 0; i < t->exchange->n_ranks; i++) {
    cq_table_part(&first, &end, table, i, t->exchange->n_ranks);
    if (i == t->exchange->rank) own = at;
    while (at < n_distinct && t->ids[at] < end) at++;
    if (i == t->exchange->rank) own_end = at;
    ends[i] = at * dim * sizeof *t->rows;
  }
  for (size_t i = own; i < own_end; i++)
    memcpy(t->rows + i * dim, table->value + (size_t)t->ids[i] * dim, dim * sizeof *t->rows);
  status = t->exchange->share(t->exchange->context, t->rows, ends, error);
  for (size_t i = 0; !status && i < n_distinct; i++)
    if (i < own || i >= own_end)
      memcpy(table->value + (size_t)t->ids[i] * dim, t->rows + i * dim, dim * sizeof *t->rows);
  t->n_fetched += (int64_t)(n_distinct - (own_end - own));
  return status;
}

typedef cq_status (*pass_parts)(void *context, void *bytes, const size_t *ends, cq_error *error);

/* Data for every row of a table, row_bytes each. */
static cq_status pass_rows(const cq_table_parts *t, pass_parts pass, const cq_param *table, void *bytes,
                           size_t row_bytes, cq_error *error) {
  size_t ends[CQ_MAX_TABLE_PARTS];
  for (int i = 0; i < t->exchange->n_ranks; i++) {
    int64_t first, end;
    cq_table_part(&first, &end, table, i, t->exchange->n_ranks);
    ends[i] = (size_t)end * row_bytes;
  }
  return pass(t->exchange->context, bytes, ends, error);
}

static bool is_trained_table(const cq_param *p) {
  return p->table && !p->frozen;
}

cq_status cq_table_parts_fetch_all(cq_table_parts *t, cq_error *error) {
  cq_status status = CQ_OK;
  if (!t->exchange) return CQ_OK;
  const cq_params *params = t->optimizer->params;
  for (size_t i = 0; !status && i < params->n; i++) {
    const cq_param *p = params->items[i];
    if (!is_trained_table(p)) continue;
    status = pass_rows(t, t->exchange->share, p, p->value, (size_t)p->cols * sizeof *p->value, error);
    t->n_fetched += p->rows;
  }
  return status;
}

cq_status cq_table_parts_collect(cq_table_parts *t, cq_error *error) {
  cq_optimizer *o = t->optimizer;
  cq_status status = CQ_OK;
  if (!t->exchange) return CQ_OK;
  for (size_t i = 0; !status && i < o->params->n; i++) {
    const cq_param *p = o->params->items[i];
    if (!is_trained_table(p)) continue;
    const int64_t at = o->table_at[p->offset];
    const size_t n = (size_t)p->cols * sizeof *p->value;
    status = pass_rows(t, t->exchange->collect, p, p->value, n, error);
    if (!status) status = pass_rows(t, t->exchange->collect, p, o->m + at, n, error);
    if (!status) status = pass_rows(t, t->exchange->collect, p, o->v + at, n, error);
    if (!status) status = pass_rows(t, t->exchange->collect, p, o->row_steps[p->offset], sizeof(uint32_t), error);
    t->n_fetched += p->rows;
  }
  return status;
}

static void give_up_rows(float *values, const cq_param *table, int64_t first, int64_t end) {
  if (first < end)
    cq_release_pages(values + first * table->cols, (size_t)((end - first) * table->cols) * sizeof *values);
}

void cq_table_parts_give_up(cq_table_parts *t, bool always) {
  const cq_optimizer *o = t->optimizer;
  int64_t n_own = 0, first, end;
  if (!t->exchange) return;
  for (size_t i = 0; i < o->params->n; i++) {
    const cq_param *p = o->params->items[i];
    if (!is_trained_table(p)) continue;
    cq_table_part(&first, &end, p, o->options.part, o->options.n_parts);
    n_own += end - first;
  }
  if (!always && t->n_fetched <= n_own / 4) return;
  for (size_t i = 0; i < o->params->n; i++) {
    const cq_param *p = o->params->items[i];
    if (!is_trained_table(p)) continue;
    cq_table_part(&first, &end, p, o->options.part, o->options.n_parts);
    float *const all[] = {p->value, o->m + o->table_at[p->offset], o->v + o->table_at[p->offset]};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
      give_up_rows(all[k], p, 0, first);
      give_up_rows(all[k], p, end, p->rows);
    }
  }
  t->n_fetched = 0;
}
