/* Heads of requests that proxies read in several ways, or that are large: one clean answer, in JSON where it is ours. */
#include "serve/service.h"

#include <jansson.h>

#define POST    "POST /embed HTTP/1.1\r\nHost: localhost\r\n"
#define CLOSING "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
#define BODY    "{\"inputs\":\"a\"}"

static service the_service;

/* The code of the only answer to a request, whose body is as long as it says; 0: there is none. */
static int code_of(const char *request, size_t n, bool *is_json) {
  const int fd = connect_to(the_service.port);
  (void)send_bytes(fd, request, n);
  const int code = read_answer(last_answer, sizeof last_answer, fd);
  close(fd);
  const char *body = strstr(last_answer, "\r\n\r\n"), *length = strstr(last_answer, "Content-Length: ");
  if (!code) return 0;
  if (!body || strstr(last_answer + 1, "HTTP/1.1 ")) fail_msg("two answers: %s", last_answer);
  if (code != 204 && strlen(body + 4) != strtoul(length + 16, NULL, 10)) fail_msg("a wrong length: %s", last_answer);
  json_t *json = json_loads(body + 4, 0, NULL);
  *is_json = json_object_get(json, "error") != NULL;
  json_decref(json);
  return code;
}

static void heads_with_two_meanings(void **state) {
  static const struct {
    const char *request;
    size_t n;
    int code;
    const char *part;
  } rows[] = {
#define ROW(request, code, part) {request, sizeof(request) - 1, code, part}
      ROW(POST "Content-Length: 14, 14\r\n\r\n" BODY, 400, "'14, 14'"),
      ROW(POST "Content-Length: +14\r\n\r\n" BODY, 400, "'+14'"),
      ROW(POST "Content-Length: -1\r\n\r\n" BODY, 400, "'-1'"),
      ROW(POST "Content-Length: 0x0e\r\n\r\n" BODY, 400, "'0x0e'"),
      ROW(POST "Content-Length:\r\n\r\n" BODY, 400, "''"),
      ROW(POST "Content-Length: 18446744073709551616\r\n\r\n" BODY, 400, "'18446744073709551616'"),
      ROW(POST "Content-Length: 18446744073709551615\r\n\r\n" BODY, 413, "--max-body"),
      ROW(POST "Content-Length: 14\r\nContent-Length: 14\r\n\r\n" BODY, 400, "'Content-Length' comes twice"),
      ROW(POST "Content-Length: 14\r\nContent-Length: 13\r\n\r\n" BODY, 400, "'Content-Length' comes twice"),
      ROW(POST "Content-Length: 14\r\nContent-Length: a\r\n\r\n" BODY, 400, "'Content-Length' comes twice"),
      ROW(POST "Content-Length: 14\r\nTransfer-Encoding: chunked\r\n\r\n" BODY, 400, "and a Transfer-Encoding"),
      ROW(POST "Transfer-Encoding: chunked\r\nContent-Length: -1\r\n\r\n" BODY, 400, "and a Transfer-Encoding"),
      ROW(POST "Transfer-Encoding: identity\r\n\r\n" BODY, 400, "chunked"),
      ROW(POST "Content-Length : 14\r\n\r\n" BODY, 400, "'Content-Length ' is no name"),
      ROW(POST "Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n", 400, "is no name"),
      ROW(POST "Content-Length: 14\r\n 0\r\n\r\n" BODY, 400, "more than one line"),
      ROW(POST "X: a\r\n\tb\r\nContent-Length: 14\r\n\r\n" BODY, 400, "more than one line"),
      ROW(POST "Content-Length: 1\0"
               "4\r\n\r\n" BODY,
          400, "NUL byte"),
      ROW(POST "Content-Length: 14\0\r\n\r\n" BODY, 400, "NUL byte"),
      ROW(POST "X: a\0b\r\nContent-Length: 14\r\n\r\n" BODY, 400, "NUL byte"),
      ROW(POST "X: a\rContent-Length: 14\r\n\r\n" BODY, 400, "'X' has a control character"),
      ROW("GET /health\0x HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "NUL byte"),
      ROW("GET /health HTTP/1.1\r\nHost: localhost\0.evil\r\n\r\n", 400, "NUL byte"),
      ROW("GET /health HTTP/1.1\r\nHost: localhost\r\n .evil\r\n\r\n", 400, "more than one line"),
      ROW("GET /health HTTP/1.2\r\nConnection: close\r\n\r\n", 400, "no Host"),
      ROW("POST /embed HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\ne\r\n" BODY "\r\n0\r\n\r\n", 400,
          "HTTP/1.0 has none"),
      ROW(CLOSING "Origin: http://localhost\r\nOrigin: http://evil\r\n\r\n", 400, "'Origin' comes twice"),
      ROW(POST "Content-Type: text/html\r\nContent-type: text/csv\r\nContent-Length: 14\r\n\r\n" BODY, 400, "twice"),
      ROW("GET /api/search?k=1&a=&k=2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 422,
          "'k' comes twice"),
      ROW("GET /api/search?k&K=2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 422, "comes twice"),
      /* and what is fine */
      ROW("GET /health HTTP/1.0\r\n\r\n", 200, "ok"),
      ROW("GET /health HTTP/1.1\nHost: localhost\nX: \t a b\t\nConnection: close\n\n", 200, "ok"),
      ROW("\r\nGET /health HTTP/1.1\r\nHost: localhost\r\nX:\r\nY: \xC3\xA9\r\nConnection: close\r\n\r\n", 200, "ok"),
      ROW(CLOSING "Accept: a\r\nAccept: b\r\nCookie: a=b\r\nCookie: c\r\n\r\n", 200, "ok"),
      ROW(POST "Connection: close\r\nContent-Length: 00014\r\n\r\n" BODY, 200, "[["),
      ROW(POST "Connection: close\r\nTransfer-Encoding: Chunked\r\n\r\ne;a=b\r\n" BODY "\r\n0\r\nX: y\r\n\r\n", 200,
          "[["),
  };
  bool is_json = false;
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const int code = code_of(rows[i].request, rows[i].n, &is_json);
    if (code != rows[i].code || !strstr(last_answer, rows[i].part) || is_json != (code != 200))
      fail_msg("'%s': %d %s, expected %d %s", rows[i].request, code, last_answer, rows[i].code, rows[i].part);
  }
}

/* Any size of a header, and any number of headers: accepted, or one 431. Those beyond the library's memory are its own. */
static void headers_of_any_size(void **state) {
  static const struct {
    const char *before, *unit;
    size_t fits, is_ours; /* this many, and so many are refused by us */
  } rows[] = {
      {CLOSING "X: ", "a", 32400, 65000},
      {CLOSING "Cookie: ", "a", 32400, 65000},
      {CLOSING "Cookie: ", "a;", 16200, 32500},
      {CLOSING "X: y\r\nCookie: a=", "b", 32300, 64900},
      {CLOSING, "X:\r\n", 450, 900},
  };
  char *text = malloc(1 << 18);
  size_t n_codes[2] = {0};
  (void)state;
  assert_non_null(text);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const size_t unit = strlen(rows[i].unit), most = 70000 / unit;
    for (size_t n = 1; n<most; n += n> 12 * most / 13 ? 7 / unit + (unit == 4) : most / 23) {
      char *at = text + sprintf(text, "%s", rows[i].before);
      for (size_t k = 0; k < n; k++) at = memcpy(at, rows[i].unit, unit + 1), at += unit;
      strcpy(at, unit == 4 ? "\r\n" : "\r\n\r\n");
      bool is_json = false;
      const int code = code_of(text, strlen(text), &is_json);
      n_codes[code == 200]++;
      if ((code != 200 && code != 431) || (n <= rows[i].fits) > (code == 200) ||
          (code == 431 && n <= rows[i].is_ours && !is_json))
        fail_msg("%s, %zu times '%s': %d %s", rows[i].before, n, rows[i].unit, code, last_answer);
    }
  }
  assert_true(n_codes[0] > 100 && n_codes[1] > 30);
  free(text);
}

/* A length that is no number, on one of several connections whose headers are not complete. */
static void a_bad_length_among_others(void **state) {
  enum { N = 12 };
  int fds[N];
  (void)state;
  for (int i = 0; i < N; i++) {
    assert_true(send_text(fds[i] = connect_to(the_service.port), POST "Connection: close\r\nContent-Length: 14\r\n"));
    usleep(5000);
  }
  for (int i = 0; i < N; i += 3) assert_true(send_text(fds[i], "X: y\r\nContent-Length: 14\r\n\r\n"));
  const int bad = connect_to(the_service.port);
  assert_true(send_text(bad, POST "Content-Length: 14.0\r\n\r\n"));
  assert_int_equal(read_answer(last_answer, sizeof last_answer, bad), 400);
  close(bad);
  for (int i = 0; i < N; i++) {
    if (i % 3) assert_true(send_text(fds[i], "\r\n" BODY));
    assert_int_equal(read_answer(last_answer, sizeof last_answer, fds[i]), i % 3 ? 200 : 400);
    close(fds[i]);
  }
}

static void methods_of_a_path(void **state) {
  static const struct {
    const char *method, *path, *allow;
    int code;
  } rows[] = {
      {"DELETE", "/health", "GET, HEAD, OPTIONS", 405},
      {"GET", "/embed", "POST, OPTIONS", 405},
      {"HEAD", "/v1/embeddings", "POST, OPTIONS", 405},
      {"PATCH", "/api/documents/a", "GET, HEAD, PUT, DELETE, OPTIONS", 405},
      {"PUT", "/", "POST, GET, HEAD, OPTIONS", 405},
      {"options", "/health", "GET, HEAD, OPTIONS", 405},
      {"GET", "*", "POST, GET, HEAD, PUT, DELETE, OPTIONS", 405},
      {"OPTIONS", "*", "POST, GET, HEAD, PUT, DELETE, OPTIONS", 204},
      {"OPTIONS", "/health", "GET, HEAD, OPTIONS", 204},
      {"OPTIONS", "/embed", "POST, OPTIONS", 204},
      {"OPTIONS", "/nothing", NULL, 404},
      {"DELETE", "/nothing", NULL, 404},
      {"GET", "/health", NULL, 200},
      {"HEAD", "/health", NULL, 200},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const int code = ask(&the_service, rows[i].method, rows[i].path, "");
    char *allow = strstr(last_answer, "\r\nAllow: ");
    if (allow) allow[9 + strcspn(allow + 9, "\r")] = '\0';
    if (code != rows[i].code || !allow != !rows[i].allow || (allow && strcmp(allow + 9, rows[i].allow) != 0))
      fail_msg("%s %s: %d %s", rows[i].method, rows[i].path, code, allow ? allow : last_answer);
  }
}

static int open_the_service(void **state) {
  const serve_options o = default_service();
  (void)state;
  open_service(&the_service, &o);
  return 0;
}

static int close_the_service(void **state) {
  (void)state;
  assert_healthy(&the_service);
  close_service(&the_service);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(heads_with_two_meanings),
      cmocka_unit_test(headers_of_any_size),
      cmocka_unit_test(a_bad_length_among_others),
      cmocka_unit_test(methods_of_a_path),
  };
  return cmocka_run_group_tests(tests, open_the_service, close_the_service);
}
