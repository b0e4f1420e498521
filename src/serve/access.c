/* Checks API keys in constant time, and the Host and Origin headers of requests from web pages. */
#include "serve/access.h"

#include "base/error.h"
#include "serve/route.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool add_key(serve_access *a, const char *key, size_t n) {
  char **more = realloc(a->keys, (a->n_keys + 1) * sizeof *more);
  if (more) a->keys = more;
  if (!more || !(more[a->n_keys] = strndup(key, n))) return false;
  a->n_keys++;
  return true;
}

/* The key of each line. */
static cq_status add_keys(serve_access *out, FILE *f, const char *path, cq_error *error) {
  char *line = NULL;
  size_t capacity = 0;
  cq_status status = CQ_OK;
  for (ssize_t length; !status && (length = getline(&line, &capacity, f)) >= 0;) {
    size_t n = (size_t)length;
    while (n && strchr(" \r\n", line[n - 1])) n--;
    if (!n || line[0] == '#') continue;
    if (memchr(line, 0, n))
      status = cq_fail_file(error, CQ_ERR_FORMAT, path, "a key has a NUL byte");
    else if (!add_key(out, line, n))
      status = cq_fail_memory(error, "keys");
  }
  if (line) explicit_bzero(line, capacity);
  free(line);
  return !status && ferror(f) ? cq_fail_file(error, CQ_ERR_IO, path, "cannot be read") : status;
}

cq_status serve_access_open(serve_access *out, const char *file, const char *key, cq_error *error) {
  if (key && *key && !add_key(out, key, strlen(key))) return cq_fail_memory(error, "keys");
  if (!file) return CQ_OK;
  FILE *f = fopen(file, "r");
  if (!f) return cq_fail_errno(error, file, "cannot read");
  const size_t n_before = out->n_keys;
  const cq_status status = add_keys(out, f, file, error);
  fclose(f);
  if (status || out->n_keys > n_before) return status;
  return cq_fail_file(error, CQ_ERR_FORMAT, file, "has no key, expected one per line");
}

void serve_access_close(serve_access *a) {
  for (size_t i = 0; i < a->n_keys; i++) {
    explicit_bzero(a->keys[i], strlen(a->keys[i]));
    free(a->keys[i]);
  }
  free(a->keys);
  *a = (serve_access){0};
}

/* In constant time. */
static bool is_same(const char *key, const char *given) {
  const size_t n = strlen(key), m = strlen(given);
  unsigned differ = n != m;
  for (size_t i = 0; i < n; i++) differ |= (unsigned)(unsigned char)key[i] ^ (unsigned char)(m ? given[i % m] : 0);
  return !differ;
}

static bool has_key(const serve_access *a, const char *authorization) {
  bool found = false;
  if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0) return false;
  for (size_t i = 0; i < a->n_keys; i++) found |= is_same(a->keys[i], authorization + 7);
  return found;
}

static bool is_port_or_nothing(const char *text) {
  return !*text || (*text == ':' && strspn(text + 1, "0123456789") == strlen(text + 1));
}

/* "localhost", "127.0.0.1:8080", "[::1]": not names that an attacker's DNS server can resolve (DNS rebinding). */
static bool is_local_host(const char *host) {
  size_t n = strcspn(host, ":");
  bool is_address = n > 0 && strspn(host, "0123456789.") == n;
  if (host[0] == '[') {
    n = strspn(host + 1, "0123456789abcdefABCDEF:.") + 2;
    is_address = host[n - 1] == ']';
  }
  return (is_address || (n == 9 && !strncasecmp(host, "localhost", 9))) && is_port_or_nothing(host + n);
}

/* SCHEME://HOST[:PORT] without a path. */
static bool is_origin(const char *text, size_t n) {
  const char *host = strstr(text, "://");
  if (!host) return false;
  const size_t n_scheme = (size_t)(host - text);
  return n_scheme > 0 && n_scheme + 3 < n && !memchr(host + 3, '/', n - n_scheme - 3) && strcspn(text, " \t") >= n;
}

bool serve_cors_is_list(const char *cors) {
  for (size_t n; strcmp(cors, "*") != 0; cors += n + 1) {
    n = strcspn(cors, ",");
    if (!is_origin(cors, n)) return false;
    if (!cors[n]) break;
  }
  return true;
}

bool serve_cors_has(const char *cors, const char *origin) {
  if (!cors || !origin) return false;
  if (!strcmp(cors, "*")) return true;
  for (size_t n; *cors; cors += n + (cors[n] == ',')) {
    n = strcspn(cors, ",");
    if (strlen(origin) == n && !strncasecmp(cors, origin, n)) return true;
  }
  return false;
}

/* Browsers send Origin with most requests that change something, and Sec-Fetch-Site with all. A page elsewhere may link
 * to this server's: a GET without Origin. */
static bool is_from_elsewhere(const serve_credentials *given) {
  const char *origin = given->origin, *behind = origin ? strstr(origin, "://") : NULL;
  if (origin) return !behind || !given->host || strcasecmp(behind + 3, given->host) != 0;
  return given->site && strcmp(given->method, "GET") != 0 && strcmp(given->method, "HEAD") != 0 &&
         strcasecmp(given->site, "same-origin") != 0 && strcasecmp(given->site, "none") != 0;
}

bool serve_check_access(serve_request *r, const serve_access *a, const serve_credentials *given) {
  const bool is_allowed = serve_cors_has(a->cors, given->origin);
  if (!is_allowed && is_from_elsewhere(given))
    return serve_fail(r, SERVE_FORBIDDEN, NULL, "a page from '%.200s' may not use this server (--cors)",
                      given->origin ? given->origin : "another site");
  if (a->n_keys) {
    const bool is_preflight = is_allowed && !strcmp(given->method, "OPTIONS"); /* a browser's, which has no key yet */
    if (is_preflight || (r->route && r->route->flags & SERVE_OPEN) || has_key(a, given->authorization)) return true;
    return serve_fail(r, SERVE_UNAUTHORIZED, NULL,
                      given->authorization ? "the API key is not one of this server's"
                                           : "an API key is needed: Authorization: Bearer KEY");
  }
  if (a->checks_host && given->host && !is_local_host(given->host))
    return serve_fail(
        r, SERVE_FORBIDDEN, NULL,
        "the Host '%.200s' is neither an address nor localhost: behind a proxy, give the server an API key, or "
        "--insecure",
        given->host);
  return true;
}
