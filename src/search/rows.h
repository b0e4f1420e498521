/* Rows of f32 numbers, not copied: all rows of a matrix, or some of them. */
#ifndef SEARCH_ROWS_H
#define SEARCH_ROWS_H

#include <stddef.h>
#include <stdint.h>

typedef struct cq_row_set {
  const float *data;
  const uint32_t *at; /* [n] row i is data's row at[i]; NULL: row i */
  size_t n, dim;
  size_t first; /* of a block of more rows: which of them is row 0 */
} cq_row_set;

static inline const float *cq_row(const cq_row_set *rows, size_t i) {
  return rows->data + (rows->at ? rows->at[i] : i) * rows->dim;
}

#endif
