/* Checks what libmicrohttpd 0.9.75 reads of a request's head without a word, or answers badly. */
#include "serve/http_exchange.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
  MAX_ARGUMENTS = 128,    /* of a query */
  MAX_ADDRESS = 16 << 10, /* bytes */
  MAX_HEAD = 32 << 10,    /* bytes of address and headers, with ENTRY for each header and argument */
  ENTRY = 64,             /* that the library takes for it */
};

/* The library copies the first Cookie header, and answers twice if it has no memory for that. So it gets this one before
 * the request's, which nobody reads. */
static const char cookie[] = "Cookie";

/* A query that is too long is removed: if arguments do not fit into the connection's memory, the library forgets the
 * error that it wants to send, and waits for headers that it has dropped. */
void serve_head_begin(serve_head *out, struct MHD_Connection *connection, char *address) {
  char *query = strchr(address, '?');
  *out = (serve_head){.connection = connection, .thread = pthread_self(), .address_end = address + strlen(address)};
  out->has_nul = strstr(address, "%00") != NULL;
  for (const char *at = query; at; at = strchr(at + 1, '&')) out->n_arguments++;
  out->is_long = out->n_arguments > MAX_ARGUMENTS || out->address_end - address > MAX_ADDRESS;
  if (out->is_long && query) query[1] = '\0';
  (void)MHD_set_connection_value(connection, MHD_HEADER_KIND, cookie, "-");
}

/* Whether two texts of the request are up to max bytes apart, all of them line ends, which are zero by now. Otherwise
 * libmicrohttpd 0.9.75 has dropped what follows a NUL byte, or added the second line of a value to its name. Other
 * versions may keep a request elsewhere, and read it more strictly. */
static bool is_next(const char *end, const char *next, ptrdiff_t max) {
  if (strcmp(MHD_get_version(), "0.9.75") != 0) return true;
  bool is = next > end && next - end <= max;
  for (ptrdiff_t i = 0; is && i < next - end; i++) is = !end[i];
  return is;
}

enum { HAS_HOST = 1, HAS_LENGTH = 2 };

typedef struct head_check {
  const char *end; /* of the text before */
  unsigned seen;   /* bit i: only_once[i] */
  size_t n;        /* headers */
  const char *why, *name;
} head_check;

static enum MHD_Result check_header(void *context, enum MHD_ValueKind kind, const char *name, const char *value) {
  static const char token[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  static const char *const only_once[] = {"Host",          "Content-Length", "Transfer-Encoding", "Content-Type",
                                          "Authorization", "Origin",         "Content-Encoding",  "Sec-Fetch-Site"};
  head_check *check = context;
  const char *why = NULL;
  (void)kind;
  check->n++;
  if (name == cookie) return MHD_YES;
  for (const char *c = value; *c; c++)
    if (((unsigned char)*c < ' ' && *c != '\t') || *c == 127) why = "has a control character";
  if (!*name || name[strspn(name, token)]) why = "is no name of a header";
  if (!is_next(check->end, name, 2)) why = "or the header before it has a NUL byte, or more than one line";
  for (unsigned i = 0; i < sizeof only_once / sizeof *only_once; i++) {
    if (strcasecmp(name, only_once[i]) != 0) continue;
    if (check->seen & 1U << i) why = "comes twice";
    check->seen |= 1U << i;
  }
  check->end = value + strlen(value);
  if (why && !check->why) check->why = why, check->name = name;
  return MHD_YES;
}

static head_check check_headers(const serve_head *h, const char *before) {
  head_check check = {.end = before};
  (void)MHD_get_connection_values(h->connection, MHD_HEADER_KIND, check_header, &check);
  return check;
}

static bool is_too_large(const serve_head *h, const head_check *check, size_t n_bytes) {
  return n_bytes + ENTRY * (check->n + h->n_arguments) > MAX_HEAD;
}

/* The lookup by name gives the first one. */
static enum MHD_Result check_argument(void *context, enum MHD_ValueKind kind, const char *name, const char *value) {
  serve_head *h = context;
  if (MHD_lookup_connection_value(h->connection, kind, name) != value) h->repeated = name;
  return MHD_YES;
}

static void fail_large(serve_request *r) {
  serve_fail(r, SERVE_HEAD_TOO_LARGE, NULL,
             "the headers have more than %d KiB, with the address and %d bytes for each header and argument",
             MAX_HEAD >> 10, ENTRY);
}

void serve_head_check(serve_head *h, serve_request *r, const char *method, const char *version) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(h->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  const size_t n_head = info ? info->header_size : 0;
  const char *transfer = MHD_lookup_connection_value(h->connection, MHD_HEADER_KIND, "Transfer-Encoding");
  const bool is_old = !strcmp(version, "HTTP/1.0"), may_use = r->code != 401 && r->code != 403;
  const head_check check = check_headers(h, version + strlen(version));
  const char *why = NULL;
  (void)MHD_get_connection_values(h->connection, MHD_GET_ARGUMENT_KIND, check_argument, h);
  if (!is_next(h->address_end, version, 1) || (!check.why && !is_next(check.end, method + n_head, 4)))
    why = "the address or the last header has a NUL byte, or more than one line";
  else if (!check.why && !(check.seen & HAS_HOST) && !is_old)
    why = "there is no Host header";
  else if (transfer && check.seen & HAS_LENGTH)
    why = "there are a Content-Length and a Transfer-Encoding header";
  else if (transfer && (is_old || strcasecmp(transfer, "chunked") != 0))
    why = "the only Transfer-Encoding is chunked, and HTTP/1.0 has none";
  h->is_unframed = why || check.why;
  h->is_large = is_too_large(h, &check, n_head);
  if (why)
    serve_fail(r, SERVE_MALFORMED, NULL, "%s", why);
  else if (check.why)
    serve_fail(r, SERVE_MALFORMED, NULL, "the header '%.100s' %s", check.name, check.why);
  else if (h->is_long && may_use)
    serve_fail(r, SERVE_ADDRESS_TOO_LONG, NULL, "the address has more than %d bytes or %d arguments", MAX_ADDRESS,
               MAX_ARGUMENTS);
  else if (h->is_large)
    fail_large(r);
  else if (h->has_nul && may_use)
    serve_fail(r, SERVE_INVALID, NULL, "the address has a NUL byte (%%00)");
  else if (h->repeated && !r->code)
    serve_fail(r, SERVE_INVALID, h->repeated, "the argument '%.100s' comes twice", h->repeated);
}

bool serve_head_is_refused(const serve_head *h, serve_request *r) {
  if (!pthread_equal(h->thread, pthread_self())) return false;
  const char *length = MHD_lookup_connection_value(h->connection, MHD_HEADER_KIND, "Content-Length");
  const head_check check = check_headers(h, h->address_end);
  const bool is_large = is_too_large(h, &check, (size_t)(check.end - h->address_end));
  errno = 0;
  const bool is_number = !length || (*length && !length[strspn(length, "0123456789")] &&
                                     !(strtoull(length, NULL, 10) == ULLONG_MAX && errno));
  if (r && is_large)
    fail_large(r);
  else if (r)
    serve_fail(r, SERVE_MALFORMED, NULL, "the Content-Length is not a number of bytes: '%.100s'", length);
  return is_large || !is_number;
}
