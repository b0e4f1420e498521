/* A server's internals: the data that its connections, and exchanges of a request and a response, share with the rest
 * of it. Only this header and its two users depend on the HTTP library (GNU libmicrohttpd). */
#ifndef SERVE_HTTP_EXCHANGE_H
#define SERVE_HTTP_EXCHANGE_H

#include "serve/access.h"
#include "serve/jobs.h"
#include "serve/log.h"
#include "serve/server.h"

#include <microhttpd.h>
#include <pthread.h>

enum { SERVE_IDLE_S = 60 }; /* without a byte from the client */

/* A connection, from accept to close. */
typedef struct serve_connection {
  struct serve_connection *next, **link;
  int fd;
  uint64_t until_ms; /* deadline of the client's part; 0: it is our turn */
  bool is_answered;  /* its part is to read */
  int n_closed_looks;
} serve_connection;

struct serve_server {
  serve_options options;
  serve_shared shared;
  serve_access access;
  serve_jobs *jobs;
  serve_log *log;
  struct MHD_Daemon *daemon;
  struct serve_acceptor *acceptor;
  int fd; /* listens */
  bool is_inherited;
  unsigned max_connections;
  char address[128];
  pthread_mutex_t mutex; /* of what follows */
  pthread_cond_t changed;
  serve_model *model;
  serve_connection *connections;
  unsigned n_connections, n_handed_over; /* begun, and accepted but not begun */
  unsigned wishes;
  bool is_closing;            /* no request may become complete: the library must not have suspended connections */
  size_t n_requests, n_whole; /* requests from their headers, and from their last byte, to the end of their responses */
  unsigned n_ticks;           /* serve_run's */
  atomic_size_t body_bytes, answer_bytes; /* in memory; the answers' until they are sent */
  atomic_bool is_draining;
};

/* The library's callbacks; their context is the server. They are called when a connection begins or ends; before a
 * request's headers; for its headers, parts and end, and again when it is resumed; when the response is sent or the
 * connection lost. */
void serve_watch_connection(void *context, struct MHD_Connection *mhd, void **own,
                            enum MHD_ConnectionNotificationCode what);
void *serve_begin_exchange(void *context, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result serve_handle(void *context, struct MHD_Connection *mhd, const char *path, const char *method,
                             const char *version, const char *data, size_t *n_data, void **own);
void serve_end_exchange(void *context, struct MHD_Connection *mhd, void **own, enum MHD_RequestTerminationCode why);

/* Ends connections whose clients exceed their time; with looks, also those whose clients have closed their side. */
void serve_shut_connections(serve_server *s, uint64_t now_ms, bool looks);

#endif
