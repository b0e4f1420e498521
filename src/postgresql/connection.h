/* The internals of a connection, for the pool. postgresql.h has the functions for its statements. */
#ifndef POSTGRESQL_CONNECTION_H
#define POSTGRESQL_CONNECTION_H

#include "postgresql/postgresql.h"

#include <libpq-fe.h>

enum { CQ_PG_PROBLEM = 512, CQ_PG_MAX_KEPT = 64 };

typedef struct cq_pg_problem {
  char message[CQ_PG_PROBLEM]; /* the server's first line; never a password */
  char sqlstate[6];            /* "" if the server gave none */
  bool is_lost;                /* the connection is gone */
} cq_pg_problem;

struct cq_pg {
  cq_pg_pool *pool;
  const char *name; /* the pool's, for messages */
  cq_pg *next;      /* of those that wait to be taken */
  PGconn *it;
  char *kept[CQ_PG_MAX_KEPT]; /* texts of the statements that are prepared as "s0", "s1", ...; NULL: free */
  /* Sent but not yet received, in order: a statement, or the preparation of kept[]. */
  int sent[2 * CQ_PG_MAX_STATEMENTS];
  int n_sent, n_received;
  bool is_lost;
  char sqlstate[6];
};

/* Connects to the database, called `name` in messages, and runs `begin` (may be NULL). Fills *problem if refused. */
CQ_MUST_USE cq_status cq_pg_connect(cq_pg **out, const char *name, const char *address, const char *begin,
                                    cq_pg_problem *problem, cq_error *error);
void cq_pg_close(cq_pg *pg);
bool cq_pg_send_rollback(cq_pg *pg);    /* sends it, and does not wait for its end */
bool cq_pg_receive_rollback(cq_pg *pg); /* waits for it; false if the connection is lost */

#endif
