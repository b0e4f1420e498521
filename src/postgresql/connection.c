/* Requests to a server, through libpq. Results are in PostgreSQL's binary format. Functions that return an int
 * return 0, or 1 with a reason in *problem. */
#include "postgresql/connection.h"

#include "base/error.h"
#include "base/memory.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VALUES = 1300, MAX_COPY = 1 << 24 };
enum { STATEMENT = -1 };

/* Not the server's: it was not asked. */
#define NO_MEMORY "CQ001"
#define TOO_MUCH  "CQ002"

/* A result is libpq's. */
static PGresult *unwrap(const cq_pg_result *result) {
  return (PGresult *)(uintptr_t)result;
}

/* Takes the first line without a newline; "ERROR: x" stays unchanged. */
static void take_line(char *out, size_t size, const char *text) {
  snprintf(out, size, "%.*s", (int)strcspn(text, "\n"), text);
}

static int explain(cq_pg *pg, const PGresult *result, cq_pg_problem *problem) {
  const char *code = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
  const char *primary = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
  const char *severity = result ? PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED) : NULL;
  /* after FATAL the server closes the connection, which libpq may not have noticed yet */
  const bool is_fatal = severity && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0);
  *problem = (cq_pg_problem){.is_lost = is_fatal || PQstatus(pg->it) != CONNECTION_OK};
  if (code) snprintf(problem->sqlstate, sizeof problem->sqlstate, "%s", code);
  /* without the detail, which may contain the row: messages go to clients that are not allowed to see the document */
  take_line(problem->message, sizeof problem->message, primary ? primary : PQerrorMessage(pg->it));
  if (!problem->message[0]) snprintf(problem->message, sizeof problem->message, "the connection was lost");
  return 1;
}

static void ignore_notice(void *context, const PGresult *result) {
  (void)context, (void)result;
}

void cq_pg_close(cq_pg *pg) {
  for (int i = 0; i < CQ_PG_MAX_KEPT; i++) cq_free(pg->kept[i]);
  PQfinish(pg->it);
  cq_free(pg);
}

static int say(cq_pg_problem *problem, const char *sqlstate, const char *message) {
  *problem = (cq_pg_problem){0};
  snprintf(problem->message, sizeof problem->message, "%s", message);
  snprintf(problem->sqlstate, sizeof problem->sqlstate, "%s", sqlstate);
  return 1;
}

/* libpq's message about a malformed address contains the address, and so its password. */
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

/* libpq's messages about options quote values, which may be part of an unescaped password. Messages about the network
 * or services, and the server's own, do not. */
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

static int open_connection(cq_pg *pg, const char *address, cq_pg_problem *problem) {
  /* If a name appears twice, the last one counts: the address overrides options before it, and those after it override
   * the address. A server that is cut off from the network is detected within seconds. */
  const char *limit = getenv("PGCONNECT_TIMEOUT");
  const char *const names[] = {"connect_timeout",  "keepalives_idle",  "keepalives_interval",
                               "keepalives_count", "tcp_user_timeout", "fallback_application_name",
                               "dbname",           "client_encoding",  NULL};
  const char *const values[] = {limit ? limit : "5", "10", "5", "3", "20000", "calque", address, "UTF8", NULL};
  if (check_address(address, problem)) return 1;
  if (!(pg->it = PQconnectdbParams(names, values, 1))) return say(problem, NO_MEMORY, "out of memory");
  PQsetNoticeReceiver(pg->it, ignore_notice, NULL);
  if (PQstatus(pg->it) == CONNECTION_OK) return 0;
  explain(pg, NULL, problem);
  if (!may_be_shown(problem->message))
    say(problem, "",
        "libpq cannot connect with the options of the address or of the environment (PGPORT, PGSSLMODE, ...)");
  problem->is_lost = true;
  return 1;
}

/* A server that ends a connection sends a message or closes it, so unexpected data can be read. */
static bool is_alive(cq_pg *pg) {
  struct pollfd p = {.fd = PQsocket(pg->it), .events = POLLIN};
  return PQstatus(pg->it) == CONNECTION_OK && poll(&p, 1, 0) == 0;
}

/* --- statements --- */

void cq_pg_result_free(cq_pg_result *result) {
  PQclear(unwrap(result));
}

static int finish_result(cq_pg_result **out, cq_pg *pg, PGresult *r, cq_pg_problem *problem) {
  const ExecStatusType status = PQresultStatus(r);
  *out = NULL;
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY) {
    *out = (cq_pg_result *)(void *)r;
    return 0;
  }
  explain(pg, r, problem);
  PQclear(r);
  return 1;
}

/* The last result of the next item sent. */
static PGresult *take_result(cq_pg *pg) {
  PGresult *last = NULL;
  for (PGresult *r; (r = PQgetResult(pg->it)); last = r) {
    PQclear(last);
    if (PQstatus(pg->it) != CONNECTION_OK) return r;
  }
  return last;
}

/* The result of the next statement; skips the results of preparations before it. */
static int receive_one(cq_pg_result **out, cq_pg *pg, cq_pg_problem *problem) {
  int code = 0;
  for (*out = NULL; pg->n_received < pg->n_sent;) {
    const int slot = pg->sent[pg->n_received++];
    cq_pg_problem ignored; /* for a statement that was skipped because its preparation failed */
    const int failed = finish_result(out, pg, take_result(pg), code ? &ignored : problem);
    code |= failed;
    if (slot == STATEMENT) break;
    if (failed) {
      cq_free(pg->kept[slot]);
      pg->kept[slot] = NULL;
    }
    cq_pg_result_free(*out);
    *out = NULL;
  }
  return code;
}

/* Receives all remaining results; after that, other functions may be called. */
static void drop_sent(cq_pg *pg) {
  cq_pg_problem ignored;
  cq_pg_result *result;
  if (PQpipelineStatus(pg->it) == PQ_PIPELINE_OFF) return;
  while (pg->n_received < pg->n_sent) {
    (void)receive_one(&result, pg, &ignored);
    cq_pg_result_free(result);
  }
  pg->n_sent = pg->n_received = 0;
  if (PQstatus(pg->it) == CONNECTION_OK) PQclear(take_result(pg)); /* the end of the message */
  (void)PQexitPipelineMode(pg->it);
}

static int receive(cq_pg_result **results, cq_pg *pg, size_t n, cq_pg_problem *problem) {
  int code = 0;
  size_t i = 0;
  for (; !code && i < n; i++) code = receive_one(&results[i], pg, problem);
  if (code || pg->n_received == pg->n_sent) drop_sent(pg);
  while (code && i > 0) cq_pg_result_free(results[--i]);
  for (; code && i < n; i++) results[i] = NULL;
  return code;
}

/* *slot: the number of the kept statement, which is prepared if necessary; -1: no free slot. */
static int keep(int *slot, cq_pg *pg, const cq_pg_statement *s, cq_pg_problem *problem) {
  char name[16];
  int i = 0, unused = -1;
  for (; i < CQ_PG_MAX_KEPT && !(pg->kept[i] && strcmp(pg->kept[i], s->sql) == 0); i++)
    if (!pg->kept[i] && unused < 0) unused = i;
  *slot = i < CQ_PG_MAX_KEPT ? i : unused;
  if (i < CQ_PG_MAX_KEPT || unused < 0) return 0;
  if (!(pg->kept[unused] = cq_strdup(s->sql))) return say(problem, NO_MEMORY, "out of memory");
  pg->sent[pg->n_sent++] = unused;
  snprintf(name, sizeof name, "s%d", unused);
  return PQsendPrepare(pg->it, name, s->sql, (int)s->n_values, NULL) ? 0 : explain(pg, NULL, problem);
}

static int send_statement(cq_pg *pg, const cq_pg_statement *s, cq_pg_problem *problem) {
  static const char empty[1];
  const char *data[MAX_VALUES];
  int lengths[MAX_VALUES], formats[MAX_VALUES], slot = -1;
  char name[16];
  if (s->n_values > MAX_VALUES) return say(problem, TOO_MUCH, "too many values");
  for (size_t i = 0; i < s->n_values; i++) {
    const cq_pg_value *v = &s->values[i];
    if (v->n > INT32_MAX / 2) return say(problem, TOO_MUCH, "a value has more than 1 GB");
    data[i] = v->data ? v->data : v->n ? NULL : empty;
    lengths[i] = (int)v->n, formats[i] = 1;
  }
  if (s->is_kept && keep(&slot, pg, s, problem)) return 1;
  snprintf(name, sizeof name, "s%d", slot);
  const int is_sent = slot >= 0 ? PQsendQueryPrepared(pg->it, name, (int)s->n_values, data, lengths, formats, 1)
                                : PQsendQueryParams(pg->it, s->sql, (int)s->n_values, NULL, data, lengths, formats, 1);
  if (!is_sent || (s->is_needed && !PQsendFlushRequest(pg->it))) return explain(pg, NULL, problem);
  pg->sent[pg->n_sent++] = STATEMENT;
  return 0;
}

static int send_all(cq_pg *pg, const cq_pg_statement *statements, size_t n, cq_pg_problem *problem) {
  drop_sent(pg);
  if (n > CQ_PG_MAX_STATEMENTS) return say(problem, TOO_MUCH, "too many statements");
  int code = PQenterPipelineMode(pg->it) ? 0 : explain(pg, NULL, problem);
  for (size_t i = 0; !code && i < n; i++) code = send_statement(pg, &statements[i], problem);
  /* always: it makes the server reply to everything sent so far; otherwise, receiving might wait forever */
  if (!PQpipelineSync(pg->it)) {
    if (!code) code = explain(pg, NULL, problem);
    problem->is_lost = true;
  } else if (code) {
    drop_sent(pg);
  }
  return code;
}

static int run_all(cq_pg_result **out, cq_pg *pg, const char *sql, cq_pg_problem *problem) {
  drop_sent(pg);
  return finish_result(out, pg, PQexec(pg->it, sql), problem);
}

/* --- COPY --- */

static int copy_begin(cq_pg *pg, const char *sql, cq_pg_problem *problem) {
  drop_sent(pg);
  PGresult *r = PQexec(pg->it, sql);
  const bool is_fine = PQresultStatus(r) == PGRES_COPY_IN;
  if (!is_fine) explain(pg, r, problem);
  PQclear(r);
  return !is_fine;
}

static int copy_put(cq_pg *pg, const void *bytes, size_t n, cq_pg_problem *problem) {
  for (const char *at = bytes; n > 0;) {
    const int part = n < MAX_COPY ? (int)n : MAX_COPY;
    if (PQputCopyData(pg->it, at, part) != 1) return explain(pg, NULL, problem);
    at += part, n -= (size_t)part;
  }
  return 0;
}

static int copy_end(cq_pg *pg, const char *reason, cq_pg_problem *problem) {
  int code = PQputCopyEnd(pg->it, reason) == 1 ? 0 : explain(pg, NULL, problem);
  for (PGresult *r; (r = PQgetResult(pg->it));) {
    if (PQresultStatus(r) != PGRES_COMMAND_OK && !reason && !code) code = explain(pg, r, problem);
    PQclear(r);
  }
  return code;
}

/* --- what others call --- */

static cq_status status_of(const cq_pg_problem *p) {
  static const struct {
    const char *prefix;
    cq_status status;
  } kinds[] = {
      {NO_MEMORY, CQ_ERR_MEMORY},
      {TOO_MUCH, CQ_ERR_LIMIT},
      {"25006", CQ_ERR_UNAVAILABLE}, /* read-only: a standby, which may be promoted soon */
      {"53100", CQ_ERR_IO},          /* disk_full */
      {"53", CQ_ERR_UNAVAILABLE},    /* too many connections */
      {"57", CQ_ERR_UNAVAILABLE},    /* shutting down, canceled */
      {"55P03", CQ_ERR_UNAVAILABLE}, /* a lock was not available in time */
      {"40", CQ_ERR_UNAVAILABLE},    /* serialization, deadlock */
      {"58", CQ_ERR_IO},
      {"42", CQ_ERR_IO}, /* missing or foreign tables, permissions: not a problem of the document */
      {"0A", CQ_ERR_UNSUPPORTED},
      {"", CQ_ERR_ARGUMENT},
  };
  size_t i = 0;
  while (strncmp(p->sqlstate, kinds[i].prefix, strlen(kinds[i].prefix)) != 0) i++;
  return p->is_lost || !p->sqlstate[0] ? CQ_ERR_UNAVAILABLE : kinds[i].status;
}

static cq_status fail_problem(cq_pg *pg, const cq_pg_problem *p, cq_error *error) {
  snprintf(pg->sqlstate, sizeof pg->sqlstate, "%s", p->sqlstate);
  if (p->is_lost) pg->is_lost = true;
  return cq_fail_file(error, status_of(p), pg->name, "%s", p->message);
}

cq_status cq_pg_connect(cq_pg **out, const char *name, const char *address, const char *begin, cq_pg_problem *problem,
                        cq_error *error) {
  cq_pg_result *result = NULL;
  cq_pg *pg = cq_alloc_zeroed(sizeof *pg);
  *out = NULL;
  if (!pg) return cq_fail_memory(error, name);
  pg->name = name;
  if (open_connection(pg, address, problem) || (begin && run_all(&result, pg, begin, problem))) {
    const cq_status status = fail_problem(pg, problem, error);
    cq_pg_close(pg);
    return status;
  }
  cq_pg_result_free(result);
  *out = pg;
  return CQ_OK;
}

bool cq_pg_send_rollback(cq_pg *pg) {
  static const cq_pg_statement rollback = {.sql = "ROLLBACK"};
  cq_pg_problem problem;
  return !pg->is_lost && !send_all(pg, &rollback, 1, &problem);
}

bool cq_pg_receive_rollback(cq_pg *pg) {
  cq_pg_result *rolled_back = NULL;
  cq_pg_problem problem;
  const bool is_fine = !receive(&rolled_back, pg, 1, &problem);
  cq_pg_result_free(rolled_back);
  return is_fine && is_alive(pg);
}

cq_status cq_pg_send(cq_pg *pg, const cq_pg_statement *statements, size_t n, cq_error *error) {
  cq_pg_problem problem;
  return send_all(pg, statements, n, &problem) ? fail_problem(pg, &problem, error) : CQ_OK;
}

cq_status cq_pg_receive(cq_pg_result **results, size_t n, cq_pg *pg, cq_error *error) {
  cq_pg_problem problem;
  return receive(results, pg, n, &problem) ? fail_problem(pg, &problem, error) : CQ_OK;
}

cq_status cq_pg_run_statement(cq_pg_result **out, cq_pg *pg, const cq_pg_statement *statement, cq_error *error) {
  const cq_status status = cq_pg_send(pg, statement, 1, error);
  *out = NULL;
  return status ? status : cq_pg_receive(out, 1, pg, error);
}

cq_status cq_pg_run(cq_pg_result **out, cq_pg *pg, const char *sql, const cq_pg_value *values, size_t n,
                    cq_error *error) {
  return cq_pg_run_statement(out, pg, &(cq_pg_statement){.sql = sql, .values = values, .n_values = n}, error);
}

cq_status cq_pg_run_kept(cq_pg_result **out, cq_pg *pg, const char *sql, const cq_pg_value *values, size_t n,
                         cq_error *error) {
  return cq_pg_run_statement(out, pg, &(cq_pg_statement){.sql = sql, .values = values, .n_values = n, .is_kept = true},
                             error);
}

cq_status cq_pg_run_all(cq_pg_result **out, cq_pg *pg, const char *sql, cq_error *error) {
  cq_pg_problem problem;
  cq_pg_result *result = NULL;
  if (out) *out = NULL;
  if (run_all(&result, pg, sql, &problem)) return fail_problem(pg, &problem, error);
  if (out)
    *out = result;
  else
    cq_pg_result_free(result);
  return CQ_OK;
}

cq_status cq_pg_copy(cq_pg *pg, const char *sql, const cq_builder *rows, cq_error *error) {
  static const char header[19] = "PGCOPY\n\377\r\n\0", trailer[2] = "\377\377";
  cq_pg_problem problem;
  if (copy_begin(pg, sql, &problem) || copy_put(pg, header, sizeof header, &problem) ||
      copy_put(pg, rows->data, rows->n, &problem) || copy_put(pg, trailer, sizeof trailer, &problem) ||
      copy_end(pg, NULL, &problem))
    return fail_problem(pg, &problem, error);
  return CQ_OK;
}

bool cq_pg_is_lost(const cq_pg *pg) {
  return pg->is_lost;
}

const char *cq_pg_sqlstate(const cq_pg *pg) {
  return pg->sqlstate;
}

/* --- results --- */

size_t cq_pg_n_rows(const cq_pg_result *result) {
  return (size_t)PQntuples(unwrap(result));
}

cq_slice cq_pg_bytes(const cq_pg_result *result, size_t row, size_t column) {
  const PGresult *r = unwrap(result);
  if (PQgetisnull(r, (int)row, (int)column)) return (cq_slice){"", 0};
  return (cq_slice){PQgetvalue(r, (int)row, (int)column), (size_t)PQgetlength(r, (int)row, (int)column)};
}

int64_t cq_pg_number(const cq_pg_result *result, size_t row, size_t column) {
  const cq_slice s = cq_pg_bytes(result, row, column);
  switch (s.n) {
  case 1: return *s.data;
  case 2: return (int16_t)cq_pg_get_16(s.data);
  case 4: return (int32_t)cq_pg_get_32(s.data);
  case 8: return (int64_t)cq_pg_get_64(s.data);
  default: return 0;
  }
}

double cq_pg_double(const cq_pg_result *result, size_t row, size_t column) {
  const cq_slice s = cq_pg_bytes(result, row, column);
  const uint64_t bits = s.n == 8 ? cq_pg_get_64(s.data) : 0;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

int64_t cq_pg_text_number(const cq_pg_result *result, size_t row, size_t column) {
  const cq_slice s = cq_pg_bytes(result, row, column);
  return s.n && *s.data == 't' ? 1 : strtoll(s.data, NULL, 10); /* libpq ends values with a zero */
}
