/* The HTTP server: a model and an index, through the routes of serve/route.h.
 *
 *   acceptor ──▶ connection threads: read and write with epoll; slow clients do not block a thread
 *     └─ a complete request ──▶ jobs (serve/jobs.h) ──▶ queue (serve/queue.h) ──▶ jobs ──▶ the response
 *
 *   serve_open(&server, &options, &err);
 *   printf("%s\n", serve_address(server));
 *   serve_run(server);                       // until serve_ask(server, SERVE_STOP), from any thread
 *   serve_close(server);
 *
 * Limits of connections: each must deliver a complete request within `receive_s` of its start or its last response. */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include "serve/served_model.h"
#include "serve/token_table.h"

typedef struct serve_server serve_server;

struct serve_route;

typedef struct serve_options {
  const struct serve_route *const *routes; /* tables, NULL-terminated: serve_all_routes */
  serve_model_options model;
  const char *folder; /* whose index model.index is, which is to follow it; NULL: none */
  const char *encoding;
  uint64_t folder_state; /* that the index has: serve_folder_state() */
  const char *host;
  int port;                /* 0: any that is free */
  const char *key_file;    /* NULL: none */
  const char *key;         /* NULL: none */
  bool insecure;           /* any host without a key */
  const char *cors;        /* as in serve_access */
  int token_kind;          /* a serve_token_kind */
  const char *token_table; /* the file of a kind that has a table */
  size_t max_body, max_tokens, queue_tokens;
  size_t max_body_bytes, max_answer_bytes; /* in memory, of all requests together; 0: 512 MiB, 256 MiB */
  unsigned deadline_ms, receive_s;
  unsigned max_connections;
  const char *access_log;         /* "-": standard output; NULL: none */
  void (*note)(const char *text); /* reports events; any thread may call it */
} serve_options;

/* Opens the model and listens, on the socket passed by the system (LISTEN_FDS) if there is one. Errors: those of
 * opening a model; CQ_ERR_ARGUMENT for a host other than loopback without a key; CQ_ERR_IO if the address is not
 * available. */
CQ_MUST_USE cq_status serve_open(serve_server **out, const serve_options *options, cq_context *ctx, cq_error *error);
const char *serve_address(const serve_server *server); /* "http://127.0.0.1:8080" */

typedef enum serve_wish {
  SERVE_STOP = 1,   /* accepts no new connections; finishes requests in progress; then serve_run returns */
  SERVE_RELOAD = 2, /* open the model and the index again, and the log */
} serve_wish;
void serve_ask(serve_server *server, serve_wish wish);
void serve_run(serve_server *server);
void serve_close(serve_server *server);

#endif
