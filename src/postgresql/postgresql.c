#include "store/postgresql_plugin.h"

#include <libpq-fe.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KEPT = 64, MAX_VALUES = 1300, MAX_COPY = 1 << 24 };

struct cq_pg_link {
  PGconn *it;
  char *kept[MAX_KEPT]; /* texts of the statements that are prepared as "s0", "s1", ... */
  int n_kept;
};

/* A result is libpq's. */
static PGresult *unwrap(const cq_pg_result *result) {
  return (PGresult *)(void *)result;
}

/* The first line without a newline; "ERROR:  x" as it is. */
static void take_line(char *out, size_t size, const char *text) {
  snprintf(out, size, "%.*s", (int)strcspn(text, "\n"), text);
}

static int explain(cq_pg_link *link, const PGresult *result, cq_pg_problem *problem) {
  const char *code = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
  const char *primary = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
  const char *severity = result ? PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED) : NULL;
  /* after FATAL the server closes the connection, which libpq may not have noticed yet */
  const bool is_fatal = severity && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0);
  *problem = (cq_pg_problem){.is_lost = is_fatal || PQstatus(link->it) != CONNECTION_OK};
  if (code) snprintf(problem->sqlstate, sizeof problem->sqlstate, "%s", code);
  /* without the detail, which may have the row in it: messages go to clients that may not see the document */
  take_line(problem->message, sizeof problem->message, primary ? primary : PQerrorMessage(link->it));
  if (!problem->message[0]) snprintf(problem->message, sizeof problem->message, "the connection was lost");
  return 1;
}

static void ignore_notice(void *context, const PGresult *result) {
  (void)context, (void)result;
}

static void close_link(cq_pg_link *link) {
  if (!link) return;
  for (int i = 0; i < link->n_kept; i++) free(link->kept[i]);
  PQfinish(link->it);
  free(link);
}

static int say(cq_pg_problem *problem, const char *sqlstate, const char *message) {
  *problem = (cq_pg_problem){0};
  snprintf(problem->message, sizeof problem->message, "%s", message);
  snprintf(problem->sqlstate, sizeof problem->sqlstate, "%s", sqlstate);
  return 1;
}

/* libpq's message about an address that it cannot read has the address in it, and so its password. */
static int check_address(const char *address, cq_pg_problem *problem) {
  char *reason = NULL;
  PQconninfoOption *parsed = PQconninfoParse(address, &reason);
  PQfreemem(reason);
  if (!parsed)
    return say(problem, "",
               "libpq cannot read the address; expected postgresql://USER@HOST:PORT/DATABASE?NAME=VALUE, with "
               "%XX for letters that mean something there");
  PQconninfoFree(parsed);
  return 0;
}

/* libpq's messages about options quote their values, which may be a part of a password that was not escaped. Those about
 * the network, the server's own, and those about services do not. */
static bool may_be_shown(const char *message) {
  static const char *const known[] = {"connection to server",
                                      "could not connect",
                                      "could not translate host name",
                                      "FATAL",
                                      "timeout expired",
                                      "server closed the connection",
                                      "SSL ",
                                      "definition of service",
                                      "service file"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strncmp(message, known[i], strlen(known[i])) == 0) return true;
  return false;
}

static int open_link(cq_pg_link **out, const char *address, cq_pg_problem *problem) {
  /* Of a name that comes twice, the last one counts: the address goes before the first and is overruled by the last. A
   * server that is cut off from the network is noticed within seconds. */
  const char *limit = getenv("PGCONNECT_TIMEOUT");
  const char *const names[] = {"connect_timeout",  "keepalives_idle",  "keepalives_interval",
                               "keepalives_count", "tcp_user_timeout", "fallback_application_name",
                               "dbname",           "client_encoding",  NULL};
  const char *const values[] = {limit ? limit : "5", "10", "5", "3", "20000", "calque", address, "UTF8", NULL};
  *out = NULL;
  if (check_address(address, problem)) return 1;
  cq_pg_link *link = calloc(1, sizeof *link);
  if (!link || !(link->it = PQconnectdbParams(names, values, 1))) {
    free(link);
    return say(problem, CQ_PG_NO_MEMORY, "out of memory");
  }
  PQsetNoticeReceiver(link->it, ignore_notice, NULL);
  if (PQstatus(link->it) == CONNECTION_OK) {
    *out = link;
    return 0;
  }
  explain(link, NULL, problem);
  if (!may_be_shown(problem->message))
    say(problem, "",
        "libpq cannot connect with the options of the address or of the environment (PGPORT, PGSSLMODE, ...)");
  problem->is_lost = true;
  close_link(link);
  return 1;
}

/* A server that ends a connection says so, or closes it: there is something to read where nothing was asked. */
static bool is_alive(cq_pg_link *link) {
  struct pollfd p = {.fd = PQsocket(link->it), .events = POLLIN};
  return PQstatus(link->it) == CONNECTION_OK && poll(&p, 1, 0) == 0;
}

/* The name of a kept statement, prepared if need be; NULL: there is no room. */
static int keep(char name[16], cq_pg_link *link, const char *sql, size_t n, cq_pg_problem *problem) {
  int i = 0;
  while (i < link->n_kept && strcmp(link->kept[i], sql) != 0) i++;
  snprintf(name, 16, "s%d", i);
  if (i < link->n_kept) return 0;
  *name = 0;
  if (i == MAX_KEPT) return 0;
  snprintf(name, 16, "s%d", i);
  PGresult *r = PQprepare(link->it, name, sql, (int)n, NULL);
  const bool is_fine = PQresultStatus(r) == PGRES_COMMAND_OK;
  if (!is_fine) explain(link, r, problem);
  PQclear(r);
  if (!is_fine) return 1;
  if (!(link->kept[link->n_kept] = strdup(sql))) return say(problem, CQ_PG_NO_MEMORY, "out of memory");
  link->n_kept++;
  return 0;
}

static int finish_result(cq_pg_result **out, cq_pg_link *link, PGresult *r, cq_pg_problem *problem) {
  const ExecStatusType status = PQresultStatus(r);
  *out = NULL;
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY) {
    *out = (cq_pg_result *)(void *)r;
    return 0;
  }
  explain(link, r, problem);
  PQclear(r);
  return 1;
}

static int run(cq_pg_result **out, cq_pg_link *link, const char *sql, const cq_pg_value *values, size_t n, bool is_kept,
               cq_pg_problem *problem) {
  static const char empty[1];
  const char *data[MAX_VALUES];
  int lengths[MAX_VALUES], formats[MAX_VALUES];
  char name[16] = "";
  *out = NULL;
  if (n > MAX_VALUES) return say(problem, CQ_PG_TOO_MUCH, "too many values");
  for (size_t i = 0; i < n; i++) {
    if (values[i].n > INT32_MAX / 2) return say(problem, CQ_PG_TOO_MUCH, "a value has more than 1 GB");
    data[i] = values[i].data ? values[i].data : values[i].n ? NULL : empty;
    lengths[i] = (int)values[i].n, formats[i] = 1;
  }
  if (is_kept && keep(name, link, sql, n, problem)) return 1;
  PGresult *r = *name ? PQexecPrepared(link->it, name, (int)n, data, lengths, formats, 1)
                      : PQexecParams(link->it, sql, (int)n, NULL, data, lengths, formats, 1);
  return finish_result(out, link, r, problem);
}

static int run_all(cq_pg_result **out, cq_pg_link *link, const char *sql, cq_pg_problem *problem) {
  return finish_result(out, link, PQexec(link->it, sql), problem);
}

static size_t n_rows(const cq_pg_result *result) {
  return (size_t)PQntuples(unwrap(result));
}

static const void *value(const cq_pg_result *result, size_t row, size_t column, size_t *n) {
  const PGresult *r = unwrap(result);
  *n = 0;
  if (PQgetisnull(r, (int)row, (int)column)) return NULL;
  *n = (size_t)PQgetlength(r, (int)row, (int)column);
  return PQgetvalue(r, (int)row, (int)column);
}

static void free_result(cq_pg_result *result) {
  PQclear(unwrap(result));
}

/* --- COPY --- */

static int copy_begin(cq_pg_link *link, const char *sql, cq_pg_problem *problem) {
  PGresult *r = PQexec(link->it, sql);
  const bool is_fine = PQresultStatus(r) == PGRES_COPY_IN;
  if (!is_fine) explain(link, r, problem);
  PQclear(r);
  return !is_fine;
}

static int copy_put(cq_pg_link *link, const void *bytes, size_t n, cq_pg_problem *problem) {
  for (const char *at = bytes; n > 0;) {
    const int part = n < MAX_COPY ? (int)n : MAX_COPY;
    if (PQputCopyData(link->it, at, part) != 1) return explain(link, NULL, problem);
    at += part, n -= (size_t)part;
  }
  return 0;
}

static int copy_end(cq_pg_link *link, const char *reason, cq_pg_problem *problem) {
  int code = PQputCopyEnd(link->it, reason) == 1 ? 0 : explain(link, NULL, problem);
  for (PGresult *r; (r = PQgetResult(link->it));) {
    if (PQresultStatus(r) != PGRES_COMMAND_OK && !reason && !code) code = explain(link, r, problem);
    PQclear(r);
  }
  return code;
}

extern const cq_pg_plugin cq_pg_plugin_table;
__attribute__((visibility("default"))) const cq_pg_plugin cq_pg_plugin_table = {
    .version = CQ_PG_PLUGIN_VERSION,
    .connect = open_link,
    .is_alive = is_alive,
    .close = close_link,
    .run = run,
    .run_all = run_all,
    .n_rows = n_rows,
    .value = value,
    .free_result = free_result,
    .copy_begin = copy_begin,
    .copy_put = copy_put,
    .copy_end = copy_end,
};
