/* A server's internals: the data that its connections, and exchanges of a request and a response, share with the rest
 * of it. Only this header and its users depend on the HTTP library (GNU libmicrohttpd). */
#ifndef SERVE_HTTP_EXCHANGE_H
#define SERVE_HTTP_EXCHANGE_H

#include "serve/access.h"
#include "serve/folder.h"
#include "serve/jobs.h"
#include "serve/log.h"
#include "serve/server.h"

#include <microhttpd.h>
#include <pthread.h>

enum {
  SERVE_IDLE_S = 60,                 /* without a byte from the client */
  SERVE_CONNECTION_MEMORY = 64 << 10 /* bytes for a request's headers, and then for parts of its body */
};

/* A connection, from accept to close. */
typedef struct serve_connection {
  struct serve_connection *next, **link;
  struct exchange *receiving; /* a request whose headers are incomplete */
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
  serve_folder_watch *watch;
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
/* Called with the library's messages. */
void serve_take_message(void *context, const char *format, va_list list);
void serve_end_exchange(void *context, struct MHD_Connection *mhd, void **own, enum MHD_RequestTerminationCode why);

/* The head of a request: its first line and its headers. */
typedef struct serve_head {
  struct MHD_Connection *connection;
  pthread_t thread;        /* the library's */
  const char *address_end; /* in the library's buffer */
  size_t n_arguments;
  const char *repeated;  /* an argument */
  bool has_nul, is_long; /* the address, which has %00, or is cut */
  bool is_unframed;      /* proxies may disagree where the request ends: the connection should */
  bool is_large;         /* the library may have no memory left for an answer */
} serve_head;

/* Begins with an address that is not parsed yet. */
void serve_head_begin(serve_head *out, struct MHD_Connection *connection, char *address);
/* Checks all headers, with the pointers that the library gives; may fail the request, which may have failed. */
void serve_head_check(serve_head *head, serve_request *request, const char *method, const char *version);
/* Whether the library refuses the headers so far, when it calls for an error, in this thread; then fails the request,
 * unless that is NULL. */
bool serve_head_is_refused(const serve_head *head, serve_request *request);

/* Ends connections whose clients exceed their time; with looks, also those whose clients have closed their side. */
void serve_shut_connections(serve_server *s, uint64_t now_ms, bool looks);

#endif
