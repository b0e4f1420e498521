/* Limits of a server's memory, each from both sides: a body, all bodies, all answers; and the addresses and headers that
 * fit into a connection's memory. */
#include "serve/service.h"

enum { MAX_BODY = 4096 };

/* A request for /embed with n bytes, announced or in one chunk; without its last `missing` bytes. */
static void send_embed(int fd, size_t n, bool is_chunked, size_t missing) {
  static const char json[] = "{\"inputs\": \"a\"}";
  char head[300], *body = malloc(n + 16);
  assert_non_null(body);
  assert_true(n >= sizeof json);
  memset(body, ' ', n);
  memcpy(body, json, sizeof json - 1);
  snprintf(head, sizeof head, "POST /embed HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
  snprintf(head + strlen(head), 100,
           is_chunked ? "Transfer-Encoding: chunked\r\n\r\n%zx\r\n" : "Content-Length: %zu\r\n\r\n", n);
  assert_true(send_text(fd, head) && send_bytes(fd, body, n - missing));
  if (is_chunked && !missing) assert_true(send_text(fd, "\r\n0\r\n\r\n"));
  free(body);
}

static int code_of_embed(const service *s, size_t n, bool is_chunked) {
  const int fd = connect_to(s->port);
  send_embed(fd, n, is_chunked, 0);
  const int code = read_answer(last_answer, sizeof last_answer, fd);
  close(fd);
  return code;
}

static void a_body_of_the_maximum(void **state) {
  serve_options o = default_service();
  service s;
  (void)state;
  o.max_body = MAX_BODY;
  open_service(&s, &o);
  for (int is_chunked = 0; is_chunked < 2; is_chunked++) {
    assert_int_equal(code_of_embed(&s, MAX_BODY, is_chunked), 200);
    assert_int_equal(code_of_embed(&s, MAX_BODY + 1, is_chunked), 413);
    assert_non_null(strstr(last_answer, "(--max-body)"));
  }
  /* A client that waits gets the error before it sends the body. */
  for (int more = 0; more < 2; more++) {
    char head[200], answer[8] = {0};
    const int fd = connect_to(s.port);
    snprintf(head, sizeof head,
             "POST /embed HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n",
             MAX_BODY + more);
    assert_true(send_text(fd, head));
    char line[13] = {0};
    assert_int_equal(recv(fd, line, 12, MSG_WAITALL), 12);
    snprintf(answer, sizeof answer, "%s", line + 9);
    assert_string_equal(answer, more ? "413" : "100");
    close(fd);
  }
  close_service(&s);
}

/* Bodies that have arrived in part count until their requests end. */
static void bodies_of_all_requests(void **state) {
  enum { N = 4 };
  serve_options o = default_service();
  service s;
  int fds[N];
  (void)state;
  o.max_body = MAX_BODY, o.max_body_bytes = (N + 1) * MAX_BODY - N;
  open_service(&s, &o);
  for (int i = 0; i < 3 * N; i++) assert_int_equal(code_of_embed(&s, MAX_BODY, i % 2), 200); /* given back */
  for (int i = 0; i < N; i++) send_embed(fds[i] = connect_to(s.port), MAX_BODY, false, 1);
  usleep(300000);                                            /* so that they have been read */
  assert_int_equal(code_of_embed(&s, MAX_BODY, false), 200); /* just fits */
  const int fd = connect_to(s.port);
  send_embed(fd, 100, false, 1);
  usleep(300000);
  assert_int_equal(code_of_embed(&s, MAX_BODY, false), 429);
  const char *header = strstr(last_answer, "\r\nRetry-After: ");
  assert_non_null(header);
  assert_in_range(atoi(header + 15), 1, 60);
  assert_int_equal(code_of_embed(&s, 100, false), 200);
  for (int i = 0; i < N; i++) { /* they are not harmed */
    assert_true(send_text(fds[i], " "));
    assert_int_equal(read_answer(last_answer, sizeof last_answer, fds[i]), 200);
    close(fds[i]);
  }
  close(fd);
  assert_int_equal(code_of_embed(&s, MAX_BODY, false), 200);
  close_service(&s);
}

/* Twelve clients that ask for 12 MB each and do not read: answers beyond 32 MB are refused, small ones are not; clients
 * that do not read are dropped, and then there is room again. */
static void answers_that_nobody_reads(void **state) {
  enum { N = 12, TEXTS = 1000, MAX_ANSWERS = 32 << 20 };
  serve_options o = default_service();
  service s;
  int fds[N], n_fine = 0, n_refused = 0;
  size_t n = 0;
  (void)state;
  char *body = malloc(2 * TEXTS * 16 + 100);
  assert_non_null(body);
  for (int side = 0; side < 2; side++) {
    n += (size_t)sprintf(body + n, side ? "], \"b\": [" : "{\"a\": [");
    for (int i = 0; i < TEXTS; i++)
      n += (size_t)sprintf(body + n, i ? ", \"%s\"" : "\"%s\"", side ? "a river" : "garden");
  }
  n += (size_t)sprintf(body + n, "]}");
  o.max_answer_bytes = MAX_ANSWERS, o.receive_s = 5;
  open_service(&s, &o);
  for (int i = 0; i < N; i++) {
    const int size = 4096;
    fds[i] = connect_to(s.port);
    setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    assert_true(send_request(fds[i], "POST", "/api/similarity", body, n));
  }
  for (int i = 0; i < N; i++) {
    char line[13] = {0};
    assert_int_equal(recv(fds[i], line, 12, MSG_PEEK | MSG_WAITALL), 12);
    n_fine += !strcmp(line, "HTTP/1.1 200"), n_refused += !strcmp(line, "HTTP/1.1 503");
    if (strcmp(line, "HTTP/1.1 503") != 0) continue;
    assert_int_equal(read_answer(last_answer, sizeof last_answer, fds[i]), 503);
    assert_non_null(strstr(last_answer, "\r\nRetry-After: 1\r\n"));
    assert_non_null(strstr(last_answer, "\"overloaded\""));
  }
  assert_int_equal(n_fine + n_refused, N);
  assert_in_range(n_fine, 2, N - 1);
  assert_int_equal(ask(&s, "GET", "/health", ""), 200);
  assert_int_equal(ask(&s, "POST", "/embed", "{\"inputs\": \"a\"}"), 200);
  int code = 503;
  const uint64_t begun_ms = cq_now_ms(); /* they are dropped after 5 s without reading, others after 60 s */
  while (code == 503 && cq_now_ms() - begun_ms < 40000) {
    const int fd = connect_to(s.port);
    assert_true(send_request(fd, "POST", "/api/similarity", body, n));
    code = read_answer(last_answer, sizeof last_answer, fd);
    close(fd);
    usleep(100000);
  }
  assert_int_equal(code, 200);
  for (int i = 0; i < N; i++) close(fds[i]);
  /* An answer larger than the limit is sent if it is the only one. */
  close_service(&s);
  o.max_answer_bytes = 1 << 20;
  open_service(&s, &o);
  for (int i = 0; i < 3; i++) {
    char bytes[4096];
    ssize_t m;
    size_t n_answer = 0;
    const int fd = connect_to(s.port);
    assert_true(send_request(fd, "POST", "/api/similarity", body, n));
    while ((m = recv(fd, bytes, sizeof bytes, 0)) > 0) n_answer += (size_t)m;
    assert_true(n_answer > 2 * o.max_answer_bytes);
    close(fd);
  }
  close_service(&s);
  free(body);
}

/* Reads an answer in steps. */
typedef struct reader {
  int fd;
  size_t step, n;
  bool is_over;
} reader;

static void read_step(reader *r) {
  static char bytes[1 << 16];
  for (size_t n = 0; !r->is_over && n < r->step;) {
    const ssize_t m = recv(r->fd, bytes, r->step - n < sizeof bytes ? r->step - n : sizeof bytes, 0);
    if (m > 0) n += (size_t)m, r->n += (size_t)m;
    r->is_over = m <= 0;
  }
}

/* Clients that read an answer of several megabytes at different rates, where they may lag three seconds behind 64 KiB a
 * second: above that rate all of it arrives, however long it takes; below, the connection ends, also after a fast
 * beginning. */
static void answers_that_are_read_slowly(void **state) {
  enum { TEXTS = 700, LAG_S = 3, FAST = 1 << 18, ABOVE = 96 << 10, BELOW = 40 << 10, STEPS = 20 };
  serve_options o = default_service();
  service s;
  (void)state;
  char *body = malloc(TEXTS * 8 + 100);
  assert_non_null(body);
  size_t n = (size_t)sprintf(body, "{\"a\": [\"x\"");
  for (int i = 1; i < TEXTS; i++) n += (size_t)sprintf(body + n, ", \"x\"");
  n += (size_t)sprintf(body + n, "], \"b\": [\"river\"");
  for (int i = 1; i < TEXTS / 4; i++) n += (size_t)sprintf(body + n, ", \"b\"");
  n += (size_t)sprintf(body + n, "]}");
  o.receive_s = LAG_S;
  open_service(&s, &o);
  reader all = {.step = FAST}, above = {.step = ABOVE / STEPS}, below = {.step = BELOW / STEPS},
         begins = {.step = FAST};
  reader *readers[] = {&all, &above, &below, &begins};
  for (size_t i = 0; i < 4; i++) {
    const int size = 1 << 15;
    readers[i]->fd = connect_to(s.port);
    setsockopt(readers[i]->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    assert_true(send_request(readers[i]->fd, "POST", "/api/similarity", body, n));
  }
  while (!all.is_over) read_step(&all);
  assert_true(all.n > (size_t)1 << 20);
  while (begins.n < all.n / 2) read_step(&begins);
  begins.step = below.step;
  const uint64_t begun_ms = cq_now_ms();
  uint64_t n_below_ms = 0;
  for (uint64_t step = 0; !above.is_over; step++) {
    for (size_t i = 1; i < 4; i++) read_step(readers[i]);
    if (below.is_over && begins.is_over && !n_below_ms) n_below_ms = cq_now_ms() - begun_ms;
    const uint64_t next = begun_ms + (step + 1) * 1000 / STEPS, now = cq_now_ms();
    if (now < next) usleep((useconds_t)(next - now) * 1000);
  }
  const uint64_t n_above_ms = cq_now_ms() - begun_ms;
  printf("%zu bytes: above the rate all in %.1f s, below %zu in %.1f s\n", all.n, (double)n_above_ms / 1000, below.n,
         (double)n_below_ms / 1000);
  assert_int_equal(above.n, all.n);
  assert_true(n_above_ms > 4000 * LAG_S); /* no time for the whole */
  assert_true(below.is_over && below.n < all.n && begins.is_over && begins.n < all.n);
  assert_true(n_below_ms && n_below_ms < n_above_ms);
  for (size_t i = 0; i < 4; i++) close(readers[i]->fd);
  assert_int_equal(ask(&s, "GET", "/health", ""), 200);
  close_service(&s);
  free(body);
}

/* A request with something n times: 200 up to a limit, then an error at once, never silence. */
static void addresses_and_headers_of_any_size(void **state) {
  static const struct {
    const char *before, *unit, *after;
    size_t fits; /* this often */
  } rows[] = {
      {"GET /health?a=b", "&", " HTTP/1.1\r\nHost: localhost\r\n", 127}, /* followed by its number */
      {"GET /health?", "&", " HTTP/1.1\r\nHost: localhost\r\n", 127},
      {"GET /health?a=", "b", " HTTP/1.1\r\nHost: localhost\r\n", 16384 - 10},
      {"GET /health?", "a", " HTTP/1.1\r\nHost: localhost\r\n", 16384 - 8},
      {"GET /openapi.json", "?", " HTTP/1.1\r\nHost: localhost\r\n", 1000},
      {"GET /health HTTP/1.1\r\nHost: localhost\r\nCookie: a=b", "; a=b", "\r\n", 100},
      {"GET /health HTTP/1.1\r\nHost: localhost\r\n", "X: y\r\n", "", 100},
      {"GET /health HTTP/1.1\r\nHost: localhost\r\nX: ", "y", "\r\n", 16384},
  };
  const serve_options o = default_service();
  service s;
  char *text = malloc(1 << 20);
  (void)state;
  assert_non_null(text);
  open_service(&s, &o);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const size_t counts[] = {
        rows[i].fits, rows[i].fits + 1, 300, 400, 480, 500, 600, 1000, 2000, 5000, 32600, 32700, 32760, 40000, 100000};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      size_t n = (size_t)sprintf(text, "%s", rows[i].before);
      for (size_t k = 0; k < counts[c]; k++) {
        n += (size_t)sprintf(text + n, "%s", rows[i].unit);
        if (i == 0) n += (size_t)sprintf(text + n, "%zu=b", k);
      }
      sprintf(text + n, "%sConnection: close\r\n\r\n", rows[i].after);
      const int fd = connect_to(s.port);
      (void)send_text(fd, text);
      const int code = read_answer(last_answer, sizeof last_answer, fd);
      close(fd);
      const bool fits = counts[c] <= rows[i].fits, is_address = i < 4;
      if (fits ? code != 200 : code != 414 && code != 431 && (code != 200 || (is_address && c == 1)))
        fail_msg("%s%s... %zu times: %d", rows[i].before, rows[i].unit, counts[c], code);
    }
  }
  free(text);
  assert_healthy(&s);
  close_service(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_body_of_the_maximum),
      cmocka_unit_test(bodies_of_all_requests),
      cmocka_unit_test(answers_that_nobody_reads),
      cmocka_unit_test(answers_that_are_read_slowly),
      cmocka_unit_test(addresses_and_headers_of_any_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
