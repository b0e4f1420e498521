/* Finds a request's route: the rows of all tables form one list, which is searched from the beginning. */
#include "serve/route.h"

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
  if (r->path[n - 1] == '/') {
    if (strncmp(path, r->path, n) != 0 || (n > 1 && !path[n])) return false;
    *rest = path + n;
    return true;
  }
  *rest = "";
  return !strcmp(path, r->path);
}

const serve_route *serve_route_find(const serve_route *const *tables, const char *method, const char *path,
                                    const char **rest, bool *other_method) {
  if (!strcmp(method, "HEAD")) method = "GET";
  *other_method = false;
  for (size_t i = 0; serve_route_at(tables, i); i++) {
    const serve_route *r = serve_route_at(tables, i);
    if (!is_on_route(r, path, rest)) continue;
    /* A path that matches no other route is a file of the page. */
    const bool is_below_root = !r->path[1] && **rest;
    if (is_below_root && (*other_method || strcmp(r->method, "GET") != 0 || strcmp(method, "GET") != 0)) continue;
    if (!strcmp(method, r->method)) return r;
    *other_method = true;
  }
  return NULL;
}
