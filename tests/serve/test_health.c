/* Asking a server for its health: whatever it answers, and however slowly, the question ends in time. */
#include "serve/service.h"

#include "serve/health.h"

#include <time.h>

typedef struct answer {
  const char *text;
  bool slowly; /* a byte a second */
  int fd, port;
  pthread_t thread;
} answer;

static void *give_answer(void *context) {
  const answer *a = context;
  char request[1024];
  const int fd = accept(a->fd, NULL, NULL);
  if (recv(fd, request, sizeof request, 0) < 1) fail_msg("no request");
  const size_t step = a->slowly ? 1 : strlen(a->text);
  for (size_t i = 0; i < strlen(a->text); i += step) {
    if (send(fd, a->text + i, step, MSG_NOSIGNAL) < 0) break;
    if (a->slowly) nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
  }
  close(fd);
  return NULL;
}

/* What is said of a server that answers so; NULL: healthy. */
static const char *said(cq_error *error, const char *text, bool slowly) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t n = sizeof address;
  answer a = {.text = text, .slowly = slowly, .fd = socket(AF_INET, SOCK_STREAM, 0)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  *error = (cq_error){0};
  assert_int_equal(bind(a.fd, (const struct sockaddr *)&address, sizeof address), 0);
  assert_int_equal(listen(a.fd, 1), 0);
  assert_int_equal(getsockname(a.fd, (struct sockaddr *)&address, &n), 0);
  assert_int_equal(pthread_create(&a.thread, NULL, give_answer, &a), 0);
  const cq_status status = serve_health("127.0.0.1", ntohs(address.sin_port), error);
  pthread_join(a.thread, NULL);
  close(a.fd);
  assert_int_equal(status, error->message[0] ? CQ_ERR_IO : CQ_OK);
  return status ? strstr(error->message, ": ") : NULL;
}

static void answers(void **state) {
  cq_error error;
  (void)state;
  assert_null(said(&error, "HTTP/1.1 200 OK\r\n\r\n", false));
  assert_string_equal(said(&error, "HTTP/1.1 503 no\r\n\r\n", false), ": not ready; it answers \"HTTP/1.1 503 no\"");
  assert_string_equal(said(&error, "", false), ": not ready; it answers \"\"");
  assert_string_equal(said(&error, "\x1b[31m", false), ": not ready; it answers \"?[31m\"");
}

static void a_slow_answer(void **state) {
  cq_error error;
  (void)state;
  assert_string_equal(said(&error, "HTTP/1.1", true), ": no answer within 5 s");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(answers), cmocka_unit_test(a_slow_answer)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
