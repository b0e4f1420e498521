/* Filters (store/document_filter.h) as PostgreSQL SQL over the table `document`, called d; values are bound, never
 * inserted into the text. */
#ifndef POSTGRESQL_POSTGRESQL_SELECT_H
#define POSTGRESQL_POSTGRESQL_SELECT_H

#include "base/arena.h"
#include "postgresql/postgresql.h"
#include "store/document_filter.h"

enum { CQ_PG_MAX_VALUES = 1280 };

/* The values of $1, $2, ... Start from {0}. */
typedef struct cq_pg_values {
  cq_pg_value *items;
  size_t n, capacity;
  cq_arena arena; /* has their bytes, if nothing else owns them */
} cq_pg_values;
/* Adds a value, whose bytes are copied, and returns its number. Errors: CQ_ERR_MEMORY; CQ_ERR_LIMIT for more than
 * CQ_PG_MAX_VALUES. */
CQ_MUST_USE cq_status cq_pg_add_value(size_t *number, cq_pg_values *values, const void *data, size_t n,
                                      cq_error *error);
void cq_pg_values_free(cq_pg_values *values);

CQ_MUST_USE cq_status cq_pg_select(cq_builder *sql, cq_pg_values *values, const cq_filter *filter, cq_error *error);

#endif
