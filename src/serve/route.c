/* Finds a request's route: the rows of all tables form one list, which is searched from the beginning. */
#include "serve/route.h"

#include <stdio.h>
#include <string.h>

const serve_route *serve_route_at(const serve_route *const *tables, size_t i) {
  for (; *tables; tables++)
    for (const serve_route *r = *tables; r->method; r++)
      if (i-- == 0) return r;
  return NULL;
}

size_t serve_route_number(const serve_route *const *tables, const serve_route *route) {
  size_t i = 0;
  while (serve_route_at(tables, i) != route) i++;
  return i;
}

static bool is_on_route(const serve_route *r, const char *path, const char **rest) {
  const size_t n = strlen(r->path);
  *rest = "";
  if (!strcmp(path, "*")) return true;
  if (r->path[n - 1] != '/') return !strcmp(path, r->path);
  *rest = path + n;
  return !strncmp(path, r->path, n) && (n == 1 || path[n]);
}

const serve_route *serve_route_find(const serve_route *const *tables, const char *method, const char *path,
                                    const char **rest, char allow[SERVE_ALLOW]) {
  const bool is_head = !strcmp(method, "HEAD"), is_all = !strcmp(path, "*"); /* the server as a whole: OPTIONS only */
  size_t n;
  *allow = '\0';
  for (size_t i = 0; serve_route_at(tables, i); i++) {
    const serve_route *r = serve_route_at(tables, i);
    if (!is_on_route(r, path, rest)) continue;
    const bool is_get = !strcmp(r->method, "GET"), is_same = !strcmp(is_head ? "GET" : method, r->method);
    /* A path that matches no other route is a file of the page. */
    if (!r->path[1] && **rest && (*allow || !is_get || !is_same)) continue;
    if (is_same && !is_all) {
      *allow = '\0';
      return r;
    }
    n = strlen(allow);
    if (!strstr(allow, r->method)) snprintf(allow + n, SERVE_ALLOW - n, "%s, %s", r->method, is_get ? "HEAD, " : "");
  }
  n = strlen(allow);
  if (n) snprintf(allow + n, SERVE_ALLOW - n, "OPTIONS");
  return NULL;
}
