#include "store/postgresql_plugin.h"

#include <libpq-fe.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KEPT = 64, MAX_VALUES = 1300, MAX_COPY = 1 << 24 };
enum { STATEMENT = -1 };

struct cq_pg_link {
  PGconn *it;
  char *kept[MAX_KEPT]; /* texts of the statements that are prepared as "s0", "s1", ...; NULL: free */
  /* What was sent and not received yet, in order: a statement, or the preparation of kept[]. */
  int sent[2 * CQ_PG_MAX_STATEMENTS];
  int n_sent, n_received;
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
  for (int i = 0; i < MAX_KEPT; i++) free(link->kept[i]);
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

/* --- statements --- */

static void free_result(cq_pg_result *result) {
  PQclear(unwrap(result));
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

/* What the next of what was sent gave at last. */
static PGresult *take_result(cq_pg_link *link) {
  PGresult *last = NULL;
  for (PGresult *r; (r = PQgetResult(link->it)); last = r) {
    PQclear(last);
    if (PQstatus(link->it) != CONNECTION_OK) return r;
  }
  return last;
}

/* The result of the next statement; preparations before it are no results. */
static int receive_one(cq_pg_result **out, cq_pg_link *link, cq_pg_problem *problem) {
  int code = 0;
  for (*out = NULL; link->n_received < link->n_sent;) {
    const int slot = link->sent[link->n_received++];
    cq_pg_problem ignored; /* of a statement that was not done, since its preparation failed */
    const int failed = finish_result(out, link, take_result(link), code ? &ignored : problem);
    code |= failed;
    if (slot == STATEMENT) break;
    if (failed) {
      free(link->kept[slot]);
      link->kept[slot] = NULL;
    }
    free_result(*out);
    *out = NULL;
  }
  return code;
}

/* All that is left; then other functions may be called. */
static void drop_sent(cq_pg_link *link) {
  cq_pg_problem ignored;
  cq_pg_result *result;
  if (PQpipelineStatus(link->it) == PQ_PIPELINE_OFF) return;
  while (link->n_received < link->n_sent) {
    (void)receive_one(&result, link, &ignored);
    free_result(result);
  }
  link->n_sent = link->n_received = 0;
  if (PQstatus(link->it) == CONNECTION_OK) PQclear(take_result(link)); /* the end of the message */
  (void)PQexitPipelineMode(link->it);
}

static int receive(cq_pg_result **results, cq_pg_link *link, size_t n, cq_pg_problem *problem) {
  int code = 0;
  size_t i = 0;
  for (; !code && i < n; i++) code = receive_one(&results[i], link, problem);
  if (code || link->n_received == link->n_sent) drop_sent(link);
  while (code && i > 0) free_result(results[--i]);
  for (; code && i < n; i++) results[i] = NULL;
  return code;
}

/* *slot: which kept statement it is, prepared if need be; -1: there is no room for it. */
static int keep(int *slot, cq_pg_link *link, const cq_pg_statement *s, cq_pg_problem *problem) {
  char name[16];
  int i = 0, unused = -1;
  for (; i < MAX_KEPT && !(link->kept[i] && strcmp(link->kept[i], s->sql) == 0); i++)
    if (!link->kept[i] && unused < 0) unused = i;
  *slot = i < MAX_KEPT ? i : unused;
  if (i < MAX_KEPT || unused < 0) return 0;
  if (!(link->kept[unused] = strdup(s->sql))) return say(problem, CQ_PG_NO_MEMORY, "out of memory");
  link->sent[link->n_sent++] = unused;
  snprintf(name, sizeof name, "s%d", unused);
  return PQsendPrepare(link->it, name, s->sql, (int)s->n_values, NULL) ? 0 : explain(link, NULL, problem);
}

static int send_statement(cq_pg_link *link, const cq_pg_statement *s, cq_pg_problem *problem) {
  static const char empty[1];
  const char *data[MAX_VALUES];
  int lengths[MAX_VALUES], formats[MAX_VALUES], slot = -1;
  char name[16];
  if (s->n_values > MAX_VALUES) return say(problem, CQ_PG_TOO_MUCH, "too many values");
  for (size_t i = 0; i < s->n_values; i++) {
    const cq_pg_value *v = &s->values[i];
    if (v->n > INT32_MAX / 2) return say(problem, CQ_PG_TOO_MUCH, "a value has more than 1 GB");
    data[i] = v->data ? v->data : v->n ? NULL : empty;
    lengths[i] = (int)v->n, formats[i] = 1;
  }
  if (s->is_kept && keep(&slot, link, s, problem)) return 1;
  snprintf(name, sizeof name, "s%d", slot);
  const int is_sent = slot >= 0
                          ? PQsendQueryPrepared(link->it, name, (int)s->n_values, data, lengths, formats, 1)
                          : PQsendQueryParams(link->it, s->sql, (int)s->n_values, NULL, data, lengths, formats, 1);
  if (!is_sent || (s->is_needed && !PQsendFlushRequest(link->it))) return explain(link, NULL, problem);
  link->sent[link->n_sent++] = STATEMENT;
  return 0;
}

static int send_statements(cq_pg_link *link, const cq_pg_statement *statements, size_t n, cq_pg_problem *problem) {
  drop_sent(link);
  if (n > CQ_PG_MAX_STATEMENTS) return say(problem, CQ_PG_TOO_MUCH, "too many statements");
  int code = PQenterPipelineMode(link->it) ? 0 : explain(link, NULL, problem);
  for (size_t i = 0; !code && i < n; i++) code = send_statement(link, &statements[i], problem);
  /* in any case: what was sent is received up to here; without it, it might be waited for in vain */
  if (!PQpipelineSync(link->it)) {
    if (!code) code = explain(link, NULL, problem);
    problem->is_lost = true;
  } else if (code) {
    drop_sent(link);
  }
  return code;
}

static int run_all(cq_pg_result **out, cq_pg_link *link, const char *sql, cq_pg_problem *problem) {
  drop_sent(link);
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

/* --- COPY --- */

static int copy_begin(cq_pg_link *link, const char *sql, cq_pg_problem *problem) {
  drop_sent(link);
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
    .send = send_statements,
    .receive = receive,
    .run_all = run_all,
    .n_rows = n_rows,
    .value = value,
    .free_result = free_result,
    .copy_begin = copy_begin,
    .copy_put = copy_put,
    .copy_end = copy_end,
};
