/* The internals of a search in a database, shared by its three files. One transaction sees one snapshot.
 *
 *   database_search.c    beginning and end, documents of the hits
 *   database_nearest.c   passages by their vectors
 *   database_words.c     passages by their words */
#ifndef POSTGRESQL_DATABASE_SEARCH_H
#define POSTGRESQL_DATABASE_SEARCH_H

#include "lexical/score.h"
#include "postgresql/database.h"
#include "postgresql/postgresql_select.h"

enum { CQ_DATABASE_FILTERED = 4 }; /* multiplies the number of candidates if a filter removes some */

/* A term of a query. */
typedef struct cq_database_query_term {
  int64_t hash, n_passages, n_occurrences; /* 0: no passage has it */
  double weight;
  uint32_t word; /* of the query: its forms have one number */
  cq_term_scoring scoring;
} cq_database_query_term;

typedef struct cq_database_query {
  cq_database_query_term *items; /* by hash */
  size_t n;
} cq_database_query;

typedef struct cq_database_search {
  cq_pg *pg;
  int64_t n_documents, n_passages, n_occurrences;
  bool is_whole;            /* terms are counted */
  char effort[24];          /* hnsw.ef_search */
  char snapshot[64];        /* its name, for a second connection; "": none */
  cq_builder condition;     /* on d; empty: none */
  cq_pg_values values;      /* $1, $2, ... of the condition; others follow */
  cq_database_query *terms; /* [n_queries]; NULL: by vectors alone */
  /* A hybrid search for one query requests both lists at once: neighbors at its beginning, words on a second connection
   * if there is one. */
  bool is_asked;           /* neighbors were requested on pg, but not yet received */
  cq_pg_result *neighbors; /* received already; may be NULL */
  cq_pg *second;           /* NULL: words are looked for on pg */
  bool has_begun;          /* second, its transaction */
} cq_database_search;

/* A statement with the text `sql` and the condition's values followed by `more`. It is kept if there is no condition;
 * with one, every statement is different. Valid as long as sql and room are; room has CQ_DATABASE_MAX_VALUES. */
enum { CQ_DATABASE_MAX_VALUES = CQ_PG_MAX_VALUES + 4 };
cq_pg_statement cq_database_statement(cq_pg_value *room, const cq_database_search *s, const cq_builder *sql,
                                      const cq_pg_value *more, size_t n);

#define CQ_DATABASE_BEGIN   "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
#define CQ_DATABASE_TIMEOUT "set_config('statement_timeout', '30s', true)"

/* A statement for the k nearest passages, best first: number, document, and the embedding or, for a hybrid ranking, the
 * negative inner product. Start from {0}; free it after sending the statement. */
typedef struct cq_database_nearest {
  cq_builder sql;
  unsigned char *bytes;
  cq_pg_value vector, room[CQ_DATABASE_MAX_VALUES];
} cq_database_nearest;
CQ_MUST_USE cq_status cq_database_nearest_statement(cq_pg_statement *out, cq_database_nearest *question,
                                                    const cq_index_searching *of, const float *query, size_t k,
                                                    bool exact, cq_error *error);
void cq_database_nearest_free(cq_database_nearest *question);
/* Receives the result of the statement that begin() sent, so that pg is free for the next one. */
CQ_MUST_USE cq_status cq_database_receive_nearest(cq_database_search *s, cq_error *error);

/* The terms of a query, not counted yet. */
CQ_MUST_USE cq_status cq_database_split_query(cq_database_query *out, const cq_index_searching *of, cq_slice query,
                                              cq_error *error);
/* A statement for the counts of all terms of n queries, with its value in `hashes`; and the function for its result. */
CQ_MUST_USE cq_status cq_database_counts_statement(cq_pg_statement *out, cq_pg_value *value, cq_builder *hashes,
                                                   const cq_database_query *queries, size_t n, cq_error *error);
void cq_database_take_counts(cq_database_query *queries, size_t n, const cq_pg_result *result);

#endif
