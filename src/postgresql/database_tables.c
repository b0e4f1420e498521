/* The tables of an index in a database and their indexes: making them, completing them after a copy, and HNSW. */
#include "postgresql/database.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* Finds pgvector's version and schema; the search path finds its operators. */
cq_status cq_database_find_pgvector(cq_pg *pg, cq_pg_pool *pool, cq_error *error) {
  cq_pg_result *r;
  cq_builder begin = {0};
  int major = 0, minor = 0;
  cq_status status =
      cq_pg_run_all(&r, pg,
                    "SELECT e.extversion, quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n "
                    "ON n.oid = e.extnamespace WHERE e.extname = 'vector'",
                    error);
  if (status) return status;
  const bool is_there = cq_pg_n_rows(r) == 1;
  if (is_there) {
    (void)sscanf(cq_pg_bytes(r, 0, 0).data, "%d.%d", &major, &minor);
    cq_builder_printf(&begin, "SET client_min_messages TO error; SET search_path TO %s, %s", cq_pg_pool_quoted(pool),
                      cq_pg_bytes(r, 0, 1).data);
  }
  cq_pg_result_free(r);
  if (!is_there)
    status = cq_fail_file(error, CQ_ERR_UNSUPPORTED, cq_pg_pool_name(pool),
                          "the database has no pgvector: install it on the server, then CREATE EXTENSION vector");
  else if (major == 0 && minor < 8)
    status = cq_fail_file(error, CQ_ERR_UNSUPPORTED, cq_pg_pool_name(pool),
                          "its pgvector is of version %d.%d, expected 0.8 or later", major, minor);
  else if (begin.failed)
    status = cq_fail_memory(error, "connections");
  if (!status) status = cq_pg_pool_begin_with(pool, begin.data, error);
  if (!status) status = cq_pg_run_all(NULL, pg, begin.data, error);
  cq_builder_free(&begin);
  return status;
}

/* The search path begins with the schema. */
static const char tables[] =
    "CREATE TABLE calque_index (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), name text NOT NULL, "
    "version int NOT NULL, model text NOT NULL, fingerprint text NOT NULL, dim int NOT NULL, tasks boolean NOT NULL, "
    "passage_tokens bigint NOT NULL, passage_overlap bigint NOT NULL, vectors text NOT NULL, "
    "n_documents bigint NOT NULL DEFAULT 0, n_passages bigint NOT NULL DEFAULT 0, "
    "n_occurrences bigint NOT NULL DEFAULT 0, next_document bigint NOT NULL DEFAULT 0, "
    "next_passage bigint NOT NULL DEFAULT 0, copy_source text, copied_until bigint NOT NULL DEFAULT 0, "
    "is_whole boolean NOT NULL DEFAULT false);"
    "CREATE TABLE document (number bigint PRIMARY KEY, id text COLLATE \"C\" NOT NULL UNIQUE, "
    "language text COLLATE \"C\" NOT NULL, title text COLLATE \"C\" NOT NULL, url text COLLATE \"C\" NOT NULL, "
    "text text COLLATE \"C\" NOT NULL, metadata jsonb NOT NULL);"
    "CREATE TABLE passage (number bigint PRIMARY KEY, document bigint NOT NULL, position int NOT NULL, "
    "starts int NOT NULL, ends int NOT NULL, embedding %s(%d) NOT NULL);"
    "CREATE TABLE words (passage bigint PRIMARY KEY, document bigint NOT NULL, length int NOT NULL, "
    "terms bigint[] NOT NULL, forward bytea NOT NULL);"
    "CREATE TABLE term (hash bigint PRIMARY KEY, n_passages bigint NOT NULL, n_occurrences bigint NOT NULL) WITH "
    "(fillfactor = 70);";

/* Terms ascend: only the first of equal terms counts the passage. */
static const char rest[] =
    "INSERT INTO term SELECT h, count(*) FILTER (WHERE terms[i - 1] IS DISTINCT FROM h), count(*) FROM words, "
    "unnest(terms) WITH ORDINALITY AS u(h, i) GROUP BY h;"
    "CREATE INDEX document_language ON document (language);"
    "CREATE INDEX passage_document ON passage (document);"
    "CREATE INDEX words_document ON words (document);"
    "CREATE INDEX words_terms ON words USING gin (terms) WITH (fastupdate = off);"
    "UPDATE calque_index SET is_whole = true;";

cq_status cq_database_make_whole(cq_index *index, cq_error *error) {
  cq_pg *pg;
  cq_pg_result *r;
  cq_error ignored;
  cq_status status = cq_pg_take(&pg, index->database->pool, error);
  if (status) return status;
  status = cq_pg_run_all(&r, pg, "BEGIN; SELECT is_whole FROM calque_index FOR UPDATE", error);
  const bool is_whole = !status && cq_pg_n_rows(r) == 1 && cq_pg_text_number(r, 0, 0);
  if (!status) cq_pg_result_free(r);
  if (!status && !is_whole) status = cq_pg_run_all(NULL, pg, rest, error);
  if (!status) status = cq_pg_run_all(NULL, pg, "COMMIT", error);
  /* without permission, the server does it later (autovacuum) */
  if (!status && !is_whole)
    (void)!cq_pg_run_all(NULL, pg, "ANALYZE document; ANALYZE passage; ANALYZE words; ANALYZE term", &ignored);
  cq_pg_give(pg);
  return status;
}

static cq_status create_tables(cq_pg *pg, const cq_pg_pool *pool, const cq_index_making *m, cq_error *error) {
  cq_builder sql = {0};
  cq_pg_result *r = NULL;
  const char *type = m->is_half ? "halfvec" : "vector";
  cq_builder_printf(&sql, "CREATE SCHEMA IF NOT EXISTS %s;", cq_pg_pool_quoted(pool));
  cq_builder_printf(&sql, tables, type, m->dim);
  cq_status status = sql.failed ? cq_fail_memory(error, "index") : cq_pg_run_all(NULL, pg, sql.data, error);
  if (status && strcmp(cq_pg_sqlstate(pg), "42P07") == 0)
    status =
        cq_fail_file(error, CQ_ERR_ARGUMENT, cq_pg_pool_name(pool),
                     "the schema '%s' has such tables already; another name: ?schema=NAME", cq_pg_pool_schema(pool));
  cq_builder_clear(&sql);
  cq_builder_printf(&sql,
                    "INSERT INTO calque_index (name, version, model, fingerprint, dim, tasks, passage_tokens, "
                    "passage_overlap, vectors) VALUES ('calque index', %d, $1::text, $2::text, %d, %s, %zu, %zu, '%s')",
                    CQ_DATABASE_VERSION, m->dim, m->tasks ? "true" : "false", m->passage_tokens, m->passage_overlap,
                    type);
  const cq_pg_value values[] = {{m->model, strlen(m->model)}, {m->fingerprint, strlen(m->fingerprint)}};
  if (!status && sql.failed) status = cq_fail_memory(error, "index");
  if (!status) status = cq_pg_run(&r, pg, sql.data, values, 2, error);
  if (!status && !m->for_copy) status = cq_pg_run_all(NULL, pg, rest, error);
  cq_pg_result_free(r);
  cq_builder_free(&sql);
  return status;
}

cq_status cq_database_create(const char *address, const cq_index_making *making, cq_error *error) {
  cq_pg_pool *pool;
  cq_pg *pg = NULL;
  cq_error ignored = {0};
  cq_status status = cq_pg_pool_open(&pool, address, 1, error);
  if (status) return status;
  status = cq_pg_take(&pg, pool, error);
  /* without permission, it must already exist: find_pgvector reports that */
  if (!status) (void)!cq_pg_run_all(NULL, pg, "CREATE EXTENSION IF NOT EXISTS vector", &ignored);
  if (!status) status = cq_database_find_pgvector(pg, pool, error);
  if (!status) status = cq_pg_run_all(NULL, pg, "BEGIN", error);
  if (!status) status = create_tables(pg, pool, making, error);
  if (!status) status = cq_pg_run_all(NULL, pg, "COMMIT", error);
  cq_pg_give(pg);
  cq_pg_pool_close(pool);
  return status;
}

static cq_status drop_hnsw(cq_pg *pg, const cq_pg_pool *pool, cq_error *error) {
  cq_builder sql = {0};
  cq_builder_printf(&sql, "DROP INDEX %s.passage_embedding", cq_pg_pool_quoted(pool));
  const cq_status status = sql.failed ? cq_fail_memory(error, "index") : cq_pg_run_all(NULL, pg, sql.data, error);
  cq_builder_free(&sql);
  return status;
}

/* Holds the writers' lock, since writers must wait for the index anyway: of two processes, the second finds it already
 * made. The first may have been killed while the server still executes its statement. */
cq_status cq_database_approximate(cq_index *index, bool is_wanted, bool only_missing, cq_error *error) {
  cq_index_database *db = index->database;
  cq_pg *pg;
  cq_status status = cq_pg_take(&pg, db->pool, error);
  if (status) return status;
  status = cq_pg_run_all(NULL, pg, "BEGIN; SELECT 1 FROM calque_index FOR UPDATE", error);
  if (!status) status = cq_database_read_counts(index, pg, error);
  const bool is_there = !status && atomic_load(&db->has_hnsw);
  if (!status && is_there && !only_missing) status = drop_hnsw(pg, db->pool, error);
  if (!status && is_wanted && !(is_there && only_missing))
    status =
        cq_pg_run_all(NULL, pg,
                      db->is_half ? "CREATE INDEX passage_embedding ON passage USING hnsw (embedding halfvec_ip_ops)"
                                  : "CREATE INDEX passage_embedding ON passage USING hnsw (embedding vector_ip_ops)",
                      error);
  if (!status) status = cq_pg_run_all(NULL, pg, "COMMIT", error);
  if (!status) status = cq_database_read_counts(index, pg, error);
  cq_pg_give(pg);
  return status;
}
