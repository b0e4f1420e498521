/* A database: its address, and a handful of connections to it that threads share.
 *
 *   cq_pg_pool_open(&pool, "postgresql://me@host/news?schema=calque", 8, &err);
 *   cq_pg_take(&pg, pool, &err);                     // waits up to 10 s for a connection
 *   cq_pg_run(&result, pg, "SELECT ... WHERE id = $1", values, 1, &err);
 *   cq_pg_result_free(pg, result), cq_pg_give(pg);   // an open transaction is rolled back
 *
 * Passwords: an address is shown without user, password and options (cq_pg_pool_name). If the database becomes
 * unavailable, connecting is retried after pauses of 0.1 to 5 seconds; meanwhile, cq_pg_take fails at once with the
 * reason.
 *
 * Errors of all functions that contact the server: CQ_ERR_UNAVAILABLE if it does not reply in time or is read-only;
 * CQ_ERR_IO if it lacks space, permissions or tables; CQ_ERR_ARGUMENT for data that it does not accept; CQ_ERR_MEMORY
 * and CQ_ERR_LIMIT before anything is sent.
 *
 * Threads: all threads may use a pool; a connection or result belongs to one. */
#ifndef POSTGRESQL_POSTGRESQL_H
#define POSTGRESQL_POSTGRESQL_H

#include "base/slice.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cq_pg_pool cq_pg_pool;
typedef struct cq_pg cq_pg; /* a connection that was taken */
typedef struct cq_pg_result cq_pg_result;

enum { CQ_PG_SCHEMA = 64, CQ_PG_MAX_STATEMENTS = 4 };

typedef struct cq_pg_value {
  const void *data; /* NULL: SQL's null */
  size_t n;
} cq_pg_value;

typedef struct cq_pg_statement {
  const char *sql;
  const cq_pg_value *values; /* $1, $2, ... */
  size_t n_values;
  bool is_kept;   /* repeated with the same text: prepared once per connection */
  bool is_needed; /* its result is sent at once, without waiting for the statements after it */
} cq_pg_statement;

/* Does not connect yet. Errors: CQ_ERR_ARGUMENT for an address whose "schema" is empty, has 64 bytes or more, or
 * contains a NUL. */
CQ_MUST_USE cq_status cq_pg_pool_open(cq_pg_pool **out, const char *address, int max_connections, cq_error *error);
void cq_pg_pool_close(cq_pg_pool *pool);             /* no connection may be in use */
const char *cq_pg_pool_name(const cq_pg_pool *pool); /* for messages: "postgresql://host/news?schema=calque" */
const char *cq_pg_pool_schema(const cq_pg_pool *pool);
/* The schema's name in SQL: in quotation marks. */
const char *cq_pg_pool_quoted(const cq_pg_pool *pool);
/* SQL that new connections run first. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_pg_pool_begin_with(cq_pg_pool *pool, const char *sql, cq_error *error);

CQ_MUST_USE cq_status cq_pg_take(cq_pg **out, cq_pg_pool *pool, cq_error *error);
/* An extra connection, only if one is idle or can be opened and no thread is waiting; NULL otherwise. The connection
 * may turn out to be lost. */
cq_pg *cq_pg_take_idle(cq_pg_pool *pool);
/* A connection on which begin() has begun a transaction. If an idle connection turns out to be lost, begin() is called
 * again with another one. */
typedef cq_status (*cq_pg_begin_fn)(void *context, cq_pg *pg, cq_error *error);
CQ_MUST_USE cq_status cq_pg_begin(cq_pg **out, cq_pg_pool *pool, cq_pg_begin_fn begin, void *context, cq_error *error);
/* Returns a connection to the pool. Sends ROLLBACK without waiting; the next cq_pg_take waits for its reply. Waits only
 * for a statement whose result was not received. NULL is legal. */
void cq_pg_give(cq_pg *pg);

/* --- statements --- */

CQ_MUST_USE cq_status cq_pg_run(cq_pg_result **out, cq_pg *pg, const char *sql, const cq_pg_value *values, size_t n,
                                cq_error *error);
/* The same for repeated statements: prepared once. */
CQ_MUST_USE cq_status cq_pg_run_kept(cq_pg_result **out, cq_pg *pg, const char *sql, const cq_pg_value *values,
                                     size_t n, cq_error *error);
CQ_MUST_USE cq_status cq_pg_run_statement(cq_pg_result **out, cq_pg *pg, const cq_pg_statement *statement,
                                          cq_error *error);
/* Sends at most CQ_PG_MAX_STATEMENTS in one message, and receives their results, some or all at a time; of those
 * received together, either all or none are returned (then results are NULL). The server works in the meantime. A new
 * request drops results not yet received. Statements after a failed one are not run. */
CQ_MUST_USE cq_status cq_pg_send(cq_pg *pg, const cq_pg_statement *statements, size_t n, cq_error *error);
CQ_MUST_USE cq_status cq_pg_receive(cq_pg_result **results, size_t n, cq_pg *pg, cq_error *error);
/* Runs several statements without values; returns the last one's rows as text. out may be NULL. */
CQ_MUST_USE cq_status cq_pg_run_all(cq_pg_result **out, cq_pg *pg, const char *sql, cq_error *error);
CQ_MUST_USE cq_status cq_pg_copy(cq_pg *pg, const char *sql, const cq_builder *rows, cq_error *error);
bool cq_pg_is_lost(const cq_pg *pg); /* the last request may or may not have been carried out */
/* The SQLSTATE of the last failed statement: "42P01". */
const char *cq_pg_sqlstate(const cq_pg *pg);

size_t cq_pg_n_rows(const cq_pg_result *result);
cq_slice cq_pg_bytes(const cq_pg_result *result, size_t row, size_t column);
int64_t cq_pg_number(const cq_pg_result *result, size_t row, size_t column);      /* int2, int4, int8, bool */
double cq_pg_double(const cq_pg_result *result, size_t row, size_t column);       /* float8 */
int64_t cq_pg_text_number(const cq_pg_result *result, size_t row, size_t column); /* of run_all */
void cq_pg_result_free(cq_pg_result *result);                                     /* NULL is legal */

/* --- PostgreSQL's binary format, appended --- */

void cq_pg_put_16(cq_builder *b, uint16_t value);
void cq_pg_put_32(cq_builder *b, uint32_t value);
void cq_pg_put_64(cq_builder *b, uint64_t value);
/* An array of n elements of a type; the elements must follow, each after its length. */
enum { CQ_PG_INT8 = 20, CQ_PG_TEXT = 25 };
void cq_pg_put_array(cq_builder *b, uint32_t type, size_t n);
void cq_pg_put_int8s(cq_builder *b, const int64_t *values, size_t n); /* the whole array */
/* A field of COPY: its length before it. */
void cq_pg_put_field(cq_builder *b, const void *bytes, size_t n);
void cq_pg_put_field_32(cq_builder *b, uint32_t value);
void cq_pg_put_field_64(cq_builder *b, uint64_t value);
uint16_t cq_pg_get_16(const void *at);
uint32_t cq_pg_get_32(const void *at);
uint64_t cq_pg_get_64(const void *at);

static inline cq_pg_value cq_pg_value_of(const cq_builder *b) {
  return (cq_pg_value){b->data, b->n};
}

#endif
