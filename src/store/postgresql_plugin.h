/* What calque asks of libpq: a table of functions in a library of its own (src/postgresql/), loaded when an address of
 * a database is opened.
 *
 * Functions return 0, or 1 with a reason in *problem. Values go both ways as PostgreSQL's binary format has them. A
 * connection is for one thread at a time. */
#ifndef STORE_POSTGRESQL_PLUGIN_H
#define STORE_POSTGRESQL_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

enum { CQ_PG_PLUGIN_VERSION = 2, CQ_PG_PROBLEM = 512, CQ_PG_MAX_STATEMENTS = 4 };

typedef struct cq_pg_link cq_pg_link;
typedef struct cq_pg_result cq_pg_result;

/* Not the server's: it was not asked. */
#define CQ_PG_NO_MEMORY "CQ001"
#define CQ_PG_TOO_MUCH  "CQ002"

typedef struct cq_pg_problem {
  char message[CQ_PG_PROBLEM]; /* the server's first line; never a password */
  char sqlstate[6];            /* "" where the server gave none; or one of these: */
  bool is_lost;                /* the connection is gone */
} cq_pg_problem;

typedef struct cq_pg_value {
  const void *data; /* NULL: SQL's null */
  size_t n;
} cq_pg_value;

typedef struct cq_pg_statement {
  const char *sql;
  const cq_pg_value *values; /* $1, $2, ... */
  size_t n_values;
  bool is_kept;   /* it comes again, with the same text: it is prepared once for each connection */
  bool is_needed; /* its result is sent at once, without waiting for the statements after it */
} cq_pg_statement;

typedef struct cq_pg_plugin {
  int version; /* CQ_PG_PLUGIN_VERSION */
  int (*connect)(cq_pg_link **out, const char *address, cq_pg_problem *problem);
  bool (*is_alive)(cq_pg_link *link); /* nothing says that the server has gone: asks nobody */
  void (*close)(cq_pg_link *link);

  /* Statements in one message, whose results, in binary format, are received next, some or all at a time; whatever is
   * asked before drops the rest. Those behind one that fails are not done. */
  int (*send)(cq_pg_link *link, const cq_pg_statement *statements, size_t n, cq_pg_problem *problem);
  int (*receive)(cq_pg_result **results, cq_pg_link *link, size_t n, cq_pg_problem *problem); /* all n, or none */
  /* Several statements, without values; the last one's result, as text. */
  int (*run_all)(cq_pg_result **out, cq_pg_link *link, const char *sql, cq_pg_problem *problem);
  size_t (*n_rows)(const cq_pg_result *result);
  const void *(*value)(const cq_pg_result *result, size_t row, size_t column, size_t *n); /* NULL: null */
  void (*free_result)(cq_pg_result *result);

  /* COPY ... FROM STDIN; `reason` to the end: not NULL gives it up, which is no problem of its own. */
  int (*copy_begin)(cq_pg_link *link, const char *sql, cq_pg_problem *problem);
  int (*copy_put)(cq_pg_link *link, const void *bytes, size_t n, cq_pg_problem *problem);
  int (*copy_end)(cq_pg_link *link, const char *reason, cq_pg_problem *problem);
} cq_pg_plugin;

/* The one symbol of the library. */
#define CQ_PG_PLUGIN_SYMBOL "cq_pg_plugin_table"

#endif
