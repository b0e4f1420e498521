/* Tables as text: each row is a line "head: cell, head: cell", so that a sentence of it can be understood by itself. */
#ifndef DOCUMENT_TABLE_ROWS_H
#define DOCUMENT_TABLE_ROWS_H

#include "base/slice.h"

#include <stdbool.h>

enum { CQ_MOST_HEAD = 120 }; /* bytes of a head, which every row repeats */

/* Appends a cell to the line that begins at `line`; an empty one is left out. */
void cq_table_put(cq_builder *out, size_t line, cq_slice head, cq_slice cell);

/* --- a table of HTML, whose cells are first written as lines of their own --- */

enum { CQ_TABLE_COLUMNS = 64 };

typedef struct cq_table_column {
  cq_builder head, above; /* above: the cell that spans this row and rows_left - 1 further ones */
  int rows_left;
} cq_table_column;

typedef struct cq_table_cell {
  size_t begin; /* in the text; it ends where the next one begins */
  bool is_head;
  int n_columns, n_rows;
} cq_table_cell;

typedef struct cq_table {
  bool has_heads, has_rows; /* rows are of data */
  bool in_head;             /* within <thead> */
  cq_table_column columns[CQ_TABLE_COLUMNS];
  cq_table_cell cells[CQ_TABLE_COLUMNS]; /* of the row */
  size_t n_cells;
} cq_table;

void cq_table_clear(cq_table *table);
/* A cell begins at the end of the text. */
void cq_table_begin_cell(cq_table *table, const cq_builder *text, cq_table_cell cell);
/* Rewrites the cells since the last row, if any. A row whose cells are long blocks of text is layout, and left. */
void cq_table_end_row(cq_table *table, cq_builder *text);
void cq_table_end(cq_table *table, cq_builder *text);
void cq_table_free(cq_table *table);

#endif
