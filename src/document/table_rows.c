/* Rows of tables as lines of text. See table_rows.h. */
#include "document/table_rows.h"

#include <string.h>

enum { LONG_CELL = 150 }; /* bytes of a cell with several lines: a table of such cells is layout */

void cq_table_put(cq_builder *out, size_t line, cq_slice head, cq_slice cell) {
  if (cell.n == 0) return;
  if (out->n > line) cq_builder_text(out, ", ");
  while (head.n && head.data[head.n - 1] == ':') head.n--;
  cq_builder_bytes(out, head.data, head.n);
  if (head.n) cq_builder_text(out, ": ");
  cq_builder_bytes(out, cell.data, cell.n);
}

void cq_table_clear(cq_table *t) {
  for (int i = 0; i < CQ_TABLE_COLUMNS; i++) {
    cq_builder_clear(&t->columns[i].head);
    cq_builder_clear(&t->columns[i].above);
    t->columns[i].rows_left = 0;
  }
  t->has_heads = t->has_rows = t->in_head = false;
  t->n_cells = 0;
}

void cq_table_free(cq_table *t) {
  for (int i = 0; i < CQ_TABLE_COLUMNS; i++) {
    cq_builder_free(&t->columns[i].head);
    cq_builder_free(&t->columns[i].above);
  }
}

void cq_table_begin_cell(cq_table *t, const cq_builder *text, cq_table_cell cell) {
  cell.begin = text->n;
  if (t->n_cells < CQ_TABLE_COLUMNS) t->cells[t->n_cells++] = cell; /* else the last one becomes longer */
}

static cq_slice cell_text(const cq_table *t, size_t i, cq_slice row) {
  const size_t begin = t->cells[i].begin - t->cells[0].begin;
  const size_t end = i + 1 < t->n_cells ? t->cells[i + 1].begin - t->cells[0].begin : row.n;
  return cq_slice_trimmed((cq_slice){row.data + begin, end - begin});
}

static bool is_layout(const cq_table *t, cq_slice row) {
  bool is = false;
  for (size_t i = 0; i < t->n_cells; i++) {
    const cq_slice cell = cell_text(t, i, row);
    is |= cell.n > LONG_CELL && memchr(cell.data, '\n', cell.n);
  }
  return is;
}

/* The row of heads is the first one, if all its cells are <th>, and every row in <thead>. */
static bool is_row_of_heads(const cq_table *t, cq_slice row) {
  bool is = t->in_head || (!t->has_heads && !t->has_rows && t->n_cells > 1);
  for (size_t i = 0; i < t->n_cells; i++)
    is &= (t->in_head || t->cells[i].is_head) && cell_text(t, i, row).n <= CQ_MOST_HEAD;
  return is;
}

/* A second row of heads says more about the columns of the first. */
static void take_head(cq_table_column *column, cq_slice head) {
  if (column->head.n + head.n >= CQ_MOST_HEAD) return;
  if (column->head.n && head.n) cq_builder_char(&column->head, ' ');
  cq_builder_bytes(&column->head, head.data, head.n);
}

/* Columns from *at on that a cell of an earlier row takes. */
static void put_spanning(cq_table *t, int *at, cq_builder *text, size_t line, bool heads) {
  for (; *at < CQ_TABLE_COLUMNS && t->columns[*at].rows_left > 0; ++*at) {
    cq_table_column *c = &t->columns[*at];
    if (!heads) cq_table_put(text, line, cq_built(&c->head), cq_built(&c->above));
    c->rows_left--;
  }
}

static void put_cell(cq_table *t, int *at, cq_builder *text, size_t line, const cq_table_cell *cell, cq_slice shown,
                     bool heads) {
  const bool is_one = cell->n_columns <= 1 && *at < CQ_TABLE_COLUMNS;
  if (!heads) cq_table_put(text, line, is_one ? cq_built(&t->columns[*at].head) : cq_slice_of(""), shown);
  for (int k = 0; k < cell->n_columns && *at < CQ_TABLE_COLUMNS; k++, ++*at) {
    cq_table_column *c = &t->columns[*at];
    if (heads) take_head(c, shown);
    if (cell->n_rows <= 1) continue;
    c->rows_left = cell->n_rows - 1;
    cq_builder_clear(&c->above);
    if (k == 0 && !heads && shown.n <= CQ_MOST_HEAD) cq_builder_bytes(&c->above, shown.data, shown.n);
  }
}

void cq_table_end_row(cq_table *t, cq_builder *text) {
  if (t->n_cells == 0) return;
  const size_t line = t->cells[0].begin;
  cq_builder copy = {0};
  int at = 0;
  cq_builder_bytes(&copy, text->data ? text->data + line : "", text->n - line);
  const cq_slice row = cq_built(&copy);
  text->failed |= copy.failed;
  if (!copy.failed && !is_layout(t, row)) {
    const bool heads = is_row_of_heads(t, row);
    const bool is_pair = t->n_cells == 2 && !t->has_heads && t->cells[0].is_head; /* <th>Height</th><td>3 m</td> */
    text->n = line;
    for (size_t i = 0; i < copy.n; i++)
      if (copy.data[i] == '\n') copy.data[i] = ' ';
    if (is_pair && !heads) cq_table_put(text, line, cell_text(t, 0, row), cell_text(t, 1, row));
    for (size_t i = 0; (heads || !is_pair) && i < t->n_cells; i++) {
      put_spanning(t, &at, text, line, heads);
      put_cell(t, &at, text, line, &t->cells[i], cell_text(t, i, row), heads);
    }
    put_spanning(t, &at, text, line, heads);
    if (text->n > line) cq_builder_char(text, '\n');
    t->has_heads |= heads, t->has_rows |= !heads;
  }
  cq_builder_free(&copy);
  t->n_cells = 0;
}

void cq_table_end(cq_table *t, cq_builder *text) {
  cq_table_end_row(t, text);
  const size_t line = text->n;
  const bool has_heads_only = t->has_heads && !t->has_rows;
  for (int i = 0; i < CQ_TABLE_COLUMNS; i++) {
    if (has_heads_only) cq_table_put(text, line, cq_slice_of(""), cq_built(&t->columns[i].head));
    text->failed |= t->columns[i].head.failed || t->columns[i].above.failed;
  }
  if (text->n > line) cq_builder_char(text, '\n');
}
