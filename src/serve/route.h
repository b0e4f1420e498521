/* The routes: one row each, used for dispatching requests, naming metrics and writing /openapi.json. */
#ifndef SERVE_ROUTE_H
#define SERVE_ROUTE_H

#include "serve/request.h"

typedef enum serve_style { SERVE_OURS, SERVE_TEI, SERVE_OPENAI, SERVE_OLLAMA, SERVE_COHERE } serve_style;

enum {
  SERVE_OPEN = 1,         /* needs no key */
  SERVE_INLINE = 2,       /* so fast that the connection's thread runs it */
  SERVE_HIDDEN = 4,       /* not in the description */
  SERVE_FILE = 8,         /* its body is a file of documents */
  SERVE_LONG_ANSWER = 16, /* the response would block a connection's thread or the queue's */
};

struct serve_route {
  const char *method; /* "GET"; HEAD goes to it, too */
  const char *path;   /* a path that ends in a slash matches everything below it; the route reads the rest */
  serve_style style;
  unsigned flags;
  void (*prepare)(serve_request *request);
  void (*answer)(serve_request *request); /* for encoded work; NULL: never any */
  const char *summary;
  const serve_field *fields; /* library options in the query or the body, besides the next two; NULL: none */
  const char *arguments;     /* names of query arguments, separated by blanks, "*" after a required one; NULL: none */
  const char *body;          /* JSON schema of the request's properties, in braces; NULL: no body */
  const char *answer_schema; /* of the answer; NULL: not JSON */
};

enum { SERVE_MAX_ROUTES = 80, SERVE_ALLOW = 64 /* bytes of a list of methods */ };

extern const serve_route serve_openai_routes[], serve_tei_routes[], serve_ollama_routes[], serve_cohere_routes[],
    serve_rerank_routes[], serve_api_routes[], serve_search_routes[], serve_document_routes[], serve_file_routes[],
    serve_page_routes[]; /* each ends with a row without a method */

/* A server's tables in search order, NULL-terminated. */
extern const serve_route *const serve_all_routes[];

/* The i-th route of tables; NULL beyond the last. */
const serve_route *serve_route_at(const serve_route *const *tables, size_t i);
size_t serve_route_number(const serve_route *const *tables, const serve_route *route);
/* The matching route. If it is NULL, allow lists the path's methods ("GET, HEAD, OPTIONS"), otherwise nothing. *rest: the
 * path after a route that ends in a slash. */
const serve_route *serve_route_find(const serve_route *const *tables, const char *method, const char *path,
                                    const char **rest, char allow[SERVE_ALLOW]);

/* The description of all routes (OpenAPI 3.1), for /openapi.json. */
void serve_put_openapi(cq_builder *b, const serve_route *const *tables);

#endif
