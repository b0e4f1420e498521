/* Connections that misbehave: requests that are no HTTP, bodies of lying and of huge sizes, clients that are slow, that
 * close one side, that never say anything, that come all at once. After each the server answers as before.
 *
 *   IDLE=10000 test_serve_connections     with so many connections that say nothing (500) */
#include "serve/service.h"

#include <poll.h>
#include <sys/resource.h>
#include <time.h>

static double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static size_t resident_bytes(void) {
  unsigned long pages = 0, resident = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%lu %lu", &pages, &resident) != 2) resident = 0;
  if (f) fclose(f);
  return resident * (size_t)sysconf(_SC_PAGESIZE);
}

#define POST    "POST /embed HTTP/1.1\r\nHost: localhost\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

#define CHUNKED_TWICE POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"

/* Bytes that are no request are an error, or end the connection; nothing else comes of them. */
static void requests_that_are_none(void **state) {
  static const char *const bad[] = {
      "\r\n\r\n\r\n",
      "hello\r\n\r\n",
      "GET\r\n\r\n",
      "GET /health\r\n\r\n",
      "GET /health HTTP/9.9\r\nHost: localhost\r\n\r\n",
      "GET /health HTTP/1.1\r\n\r\n", /* no Host */
      "GET /health HTTP/1.1\r\nHost localhost\r\n\r\n",
      "GET /health HTTP/1.1\r\n: localhost\r\n\r\n",
      POST "Content-Length: -1\r\n\r\n",
      POST "Content-Length: abc\r\n\r\n",
      POST "Content-Length: 99999999999999999999999\r\n\r\n",
      POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\n{\"inp",
      POST "Content-Length: 15\r\nContent-Length: 15\r\n\r\n{\"inputs\": \"a\"}",
      POST "Content-Length: 15, 15\r\n\r\n{\"inputs\": \"a\"}",
      POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nf\r\n{\"inputs\": \"a\"}\r\n0\r\n\r\n",
      CHUNKED_TWICE "f\r\n{\"inputs\": \"a\"}\r\n0\r\n\r\n",
      POST "Host: localhost\r\nContent-Length: 15\r\n\r\n{\"inputs\": \"a\"}",
      "GET http://evil.example/health HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "GET http:///health HTTP/1.1\r\nHost: localhost\r\n\r\n",
      CHUNKED "xyz\r\n",
      CHUNKED "-1\r\n",
      CHUNKED "ffffffffffffffffff\r\n",
      CHUNKED "\r\n\r\n",
      CHUNKED "3\r\n{}{}{}\r\n0\r\n\r\n",
      CHUNKED "1;\r\n{\r\nzz\r\n",
      POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
  };
  const serve_options o = default_service();
  service s;
  (void)state;
  open_service(&s, &o);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const int fd = connect_to(s.port);
    send_text(fd, bad[i]);
    shutdown(fd, SHUT_WR);
    const int code = read_answer(last_answer, sizeof last_answer, fd);
    close(fd);
    if (code < 0 || (code > 0 && code < 400)) fail_msg("'%s': %d", bad[i], code);
  }
  assert_healthy(&s);
  close_service(&s);
}

/* What follows a body whose end is not clear is no other request. */
static void a_request_within_another(void **state) {
  static const char inner[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
  static const char *const heads[] = {
      POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      POST "Content-Length: 1\r\nContent-Length: 0\r\n\r\n",
      POST "Content-Length: 0\r\nContent-Length: 1\r\n\r\n",
  };
  const serve_options o = default_service();
  service s;
  (void)state;
  open_service(&s, &o);
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
    const int fd = connect_to(s.port);
    char text[400];
    snprintf(text, sizeof text, "%s%s%s", heads[i], inner, inner);
    assert_true(send_text(fd, text));
    const int code = read_answer(last_answer, sizeof last_answer, fd); /* until the end of the connection */
    if (code != 400 || strstr(last_answer, "HTTP/1.1 200")) fail_msg("%zu: %s", i, last_answer);
    close(fd);
  }
  close_service(&s);
}

/* A target in absolute form is the path in it, and its host counts instead of the header's. */
static void absolute_targets(void **state) {
  static const char *const fine[] = {"http://localhost/health", "HTTP://127.0.0.1:1/health?x=y", "https://[::1]/health",
                                     "http://localhost"};
  const serve_options o = default_service();
  service s;
  (void)state;
  open_service(&s, &o);
  for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
    char text[200];
    const int fd = connect_to(s.port);
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", fine[i]);
    assert_true(send_text(fd, text));
    if (read_answer(last_answer, sizeof last_answer, fd) != 200) fail_msg("%s: %s", fine[i], last_answer);
    close(fd);
  }
  close_service(&s);
}

/* A line and headers of any length, and a path with every byte in it. */
static void long_and_odd_headers(void **state) {
  const serve_options o = default_service();
  service s;
  char *line = malloc(300000);
  (void)state;
  assert_non_null(line);
  open_service(&s, &o);
  for (int in_header = 0; in_header < 2; in_header++) {
    const int fd = connect_to(s.port),
              n = sprintf(line, in_header ? "GET /health HTTP/1.1\r\nHost: localhost\r\nX: " : "GET /");
    memset(line + n, 'a', 200000);
    strcpy(line + n + 200000, in_header ? "\r\n\r\n" : " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    (void)send_text(fd, line);
    const int code = read_answer(last_answer, sizeof last_answer, fd);
    if (code != 0 && code != 431 && code != 414 && code != 413) fail_msg("a long line: %d", code);
    close(fd);
  }
  for (int byte = 1; byte < 256; byte++) {
    char path[32];
    snprintf(path, sizeof path, "/api/%%%02x%c", (unsigned)byte, byte > ' ' && byte != '?' && byte != '#' ? byte : 'x');
    const int code = ask(&s, "GET", path, "");
    if (code != 404 && code != 400) fail_msg("%s: %d", path, code);
  }
  free(line);
  assert_healthy(&s);
  close_service(&s);
}

/* 100 MB, announced or in chunks: 413, and none of it is kept. */
static void a_body_of_100_megabytes(void **state) {
  enum { PIECE = 1 << 16, TOTAL = 100 << 20 };
  const serve_options o = default_service();
  static char piece[PIECE + 16];
  service s;
  (void)state;
  open_service(&s, &o);
  assert_healthy(&s);
  const size_t before = resident_bytes();
  for (int is_chunked = 0; is_chunked < 2; is_chunked++) {
    char head[200];
    const int fd = connect_to(s.port);
    size_t most = 0;
    snprintf(head, sizeof head, is_chunked ? CHUNKED : POST "Connection: close\r\nContent-Length: %d\r\n\r\n", TOTAL);
    const int n = is_chunked ? sprintf(piece, "%x\r\n", PIECE) : 0;
    memset(piece + n, '[', PIECE);
    if (is_chunked) memcpy(piece + n + PIECE, "\r\n", 2);
    assert_true(send_text(fd, head));
    for (size_t sent = 0; sent < TOTAL; sent += PIECE) {
      if (!send_bytes(fd, piece, (size_t)n + PIECE + (is_chunked ? 2 : 0))) fail_msg("cut off after %zu bytes", sent);
      const size_t now = resident_bytes();
      if (now > most) most = now;
    }
    if (is_chunked) assert_true(send_text(fd, "0\r\n\r\n"));
    shutdown(fd, SHUT_WR);
    assert_int_equal(read_answer(last_answer, sizeof last_answer, fd), 413);
    assert_non_null(strstr(last_answer, "(--max-body)"));
    close(fd);
    printf("100 MB %s: at most %zu KiB more in memory\n", is_chunked ? "in chunks" : "announced",
           (most > before ? most - before : 0) >> 10);
    /* In chunks, some is kept until it is too much, and a sanitizer keeps longer. */
    assert_true(most < before + (is_chunked ? 8 : 2) * o.max_body);
  }
  assert_healthy(&s);
  close_service(&s);
}

/* Bytes that come one by one do not prolong the time for a request. */
static void slow_clients(void **state) {
  enum { N = 50 };
  serve_options o = default_service();
  service s;
  int fds[N];
  bool is_open[N];
  (void)state;
  o.receive_s = 1;
  open_service(&s, &o);
  const double begun = seconds_now();
  for (int i = 0; i < N; i++) {
    fds[i] = connect_to(s.port);
    is_open[i] = true;
    if (i % 3 == 1) send_text(fds[i], POST "Content-Length: 1000\r\n\r\n{");
    if (i % 3 == 2) send_text(fds[i], CHUNKED "100\r\n{");
  }
  int n_open = N;
  while (n_open > 0) {
    if (seconds_now() - begun > 20) fail_msg("%d of %d slow connections are open still", n_open, N);
    assert_int_equal(ask(&s, "GET", "/health", ""), 200);
    for (int i = 0; i < N; i++) {
      struct pollfd p = {.fd = fds[i], .events = POLLIN};
      char bytes[1024];
      if (!is_open[i]) continue;
      (void)!send(fds[i], i % 3 ? " " : "G", 1, MSG_NOSIGNAL);
      if (poll(&p, 1, 0) > 0 && recv(fds[i], bytes, sizeof bytes, 0) <= 0) is_open[i] = false, n_open--;
    }
    usleep(50000);
  }
  for (int i = 0; i < N; i++) close(fds[i]);
  assert_healthy(&s);
  close_service(&s);
}

/* Clients that close their side before they have the answer. The HTTP library takes most of them for gone, so they may
 * or may not get one; what counts is that none of them is kept. */
static void half_closed_connections(void **state) {
  static const char body[] = "{\"inputs\": \"The river is long.\"}";
  const serve_options o = default_service();
  service s;
  (void)state;
  open_service(&s, &o);
  enum { N = sizeof body };
  int fds[N];
  for (size_t n = 0; n < N; n++) {
    char head[200];
    fds[n] = connect_to(s.port);
    snprintf(head, sizeof head, POST "Content-Length: %zu\r\n\r\n%.*s", strlen(body), (int)n, body);
    assert_true(send_text(fds[n], head));
    shutdown(fds[n], SHUT_WR);
  }
  for (size_t n = 0; n < N; n++) { /* all end soon, though they asked for no end */
    const int code = read_answer(last_answer, sizeof last_answer, fds[n]);
    if (code != 0 && (code != 200 || n < strlen(body))) fail_msg("closed after %zu bytes of the body: %d", n, code);
    close(fds[n]);
  }
  for (int i = 0; i < 100; i++) { /* gone before the answer */
    const int fd = connect_to(s.port);
    assert_true(send_request(fd, "POST", "/embed", body, strlen(body)));
    const struct linger reset = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(fd);
  }
  assert_healthy(&s);
  close_service(&s);
}

static void idle_connections(void **state) {
  serve_options o = default_service();
  service s;
  (void)state;
  size_t n = getenv("IDLE") ? strtoul(getenv("IDLE"), NULL, 10) : 500;
  struct rlimit files = {.rlim_cur = 2 * n + 300, .rlim_max = 2 * n + 300}, had;
  getrlimit(RLIMIT_NOFILE, &had);
  if (had.rlim_max < files.rlim_max && setrlimit(RLIMIT_NOFILE, &files)) {
    n = had.rlim_max / 2 - 150;
    printf("with %zu connections, since no more than %llu files may be open\n", n, (unsigned long long)had.rlim_max);
  }
  o.max_connections = (unsigned)n + 50;
  open_service(&s, &o); /* it takes what files it may have */
  int *fds = malloc(n * sizeof *fds);
  assert_non_null(fds);
  const size_t before = resident_bytes();
  for (size_t i = 0; i < n; i++) fds[i] = connect_to(s.port);
  const double begun = seconds_now();
  assert_healthy(&s);
  printf("%zu idle connections: %.0f ms for two requests, %zu KiB each\n", n, 1e3 * (seconds_now() - begun),
         ((resident_bytes() - before) >> 10) / n);
  assert_true(seconds_now() - begun < 5);
  for (size_t i = 0; i < n; i++) close(fds[i]);
  free(fds);
  assert_healthy(&s);
  close_service(&s);
}

/* Connections beyond the limit wait for one that ends, and are served then. */
static void more_connections_than_allowed(void **state) {
  enum { LIMIT = 8, N = 20 };
  serve_options o = default_service();
  service s;
  int fds[N];
  (void)state;
  o.max_connections = LIMIT;
  open_service(&s, &o);
  for (int i = 0; i < N; i++) fds[i] = connect_to(s.port);
  for (int i = 0; i < N; i++) {
    assert_true(send_request(fds[i], "GET", "/health", "", 0));
    assert_int_equal(read_answer(last_answer, sizeof last_answer, fds[i]), 200);
    close(fds[i]);
  }
  for (int i = 0; i < LIMIT; i++) { /* each with an answer, so that the server has begun it */
    char bytes[1024];
    fds[i] = connect_to(s.port);
    assert_true(send_text(fds[i], "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    assert_true(recv(fds[i], bytes, sizeof bytes, 0) > 0);
  }
  struct pollfd waits = {.fd = connect_to(s.port), .events = POLLIN};
  assert_true(send_request(waits.fd, "GET", "/health", "", 0));
  assert_int_equal(poll(&waits, 1, 500), 0);
  for (int i = 0; i < LIMIT; i++) close(fds[i]);
  assert_int_equal(read_answer(last_answer, sizeof last_answer, waits.fd), 200);
  close(waits.fd);
  close_service(&s);
}

/* Servers end while clients come: each client is answered or turned away, and no server fails. */
static void ended_while_clients_come(void **state) {
  const serve_options o = default_service();
  (void)state;
  for (int round = 0; round < 20; round++) {
    enum { N = 30 };
    service s;
    int fds[N];
    open_service(&s, &o);
    for (int i = 0; i < N; i++) {
      fds[i] = connect_to(s.port);
      send_request(fds[i], "GET", "/health", "", 0);
    }
    close_service(&s);
    for (int i = 0; i < N; i++) {
      const int code = read_answer(last_answer, sizeof last_answer, fds[i]);
      assert_true(code == 200 || code == 0);
      close(fds[i]);
    }
  }
}

/* With room for one token in the queue: one request is encoded, others are told to come later, and health checks are
 * answered meanwhile. */
static void too_many_at_once(void **state) {
  enum { N = 16, TEXTS = 3000 };
  serve_options o = default_service();
  service s;
  int fds[N], n_fine = 0, n_later = 0;
  (void)state;
  char *body = malloc(TEXTS * 24 + 64);
  assert_non_null(body);
  size_t n = (size_t)sprintf(body, "{\"inputs\": [\"a\"");
  for (int i = 0; i < TEXTS; i++) n += (size_t)sprintf(body + n, ", \"river garden\"");
  n += (size_t)sprintf(body + n, "]}");
  o.queue_tokens = 1;
  open_service(&s, &o);
  for (int i = 0; i < N; i++) {
    fds[i] = connect_to(s.port);
    assert_true(send_request(fds[i], "POST", "/embed", body, n));
  }
  assert_int_equal(ask(&s, "GET", "/health", ""), 200);
  for (int i = 0; i < N; i++) {
    const int code = read_answer(last_answer, sizeof last_answer, fds[i]);
    n_fine += code == 200, n_later += code == 429;
    if (code == 429) {
      const char *header = strstr(last_answer, "\r\nRetry-After: ");
      assert_non_null(header);
      assert_in_range(atoi(header + 15), 1, 60);
      assert_non_null(strstr(last_answer, "--queue-tokens"));
    }
    close(fds[i]);
  }
  assert_int_equal(n_fine + n_later, N);
  assert_true(n_fine > 0 && n_later > 0);
  free(body);
  assert_healthy(&s);
  close_service(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(requests_that_are_none),
      cmocka_unit_test(a_request_within_another),
      cmocka_unit_test(absolute_targets),
      cmocka_unit_test(long_and_odd_headers),
      cmocka_unit_test(a_body_of_100_megabytes),
      cmocka_unit_test(slow_clients),
      cmocka_unit_test(half_closed_connections),
      cmocka_unit_test(idle_connections),
      cmocka_unit_test(more_connections_than_allowed),
      cmocka_unit_test(ended_while_clients_come),
      cmocka_unit_test(too_many_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
