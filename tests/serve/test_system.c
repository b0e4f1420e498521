/* What the system hands over and is told: a socket as descriptor 3 (LISTEN_FDS), and messages to NOTIFY_SOCKET. */
#include "serve/service.h"

#include "serve/listen.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/un.h>

/* A listening socket as descriptor 3, as systemd passes it; returns its port. */
static int hand_over(void) {
  struct sockaddr_in a = {.sin_family = AF_INET};
  socklen_t n = sizeof a;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_true(fd >= 0);
  assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof a), 0);
  assert_int_equal(listen(fd, 16), 0);
  assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
  if (fd != 3) {
    assert_int_equal(dup2(fd, 3), 3);
    close(fd);
  }
  return ntohs(a.sin_port);
}

static void set_variables(long pid, const char *n) {
  char text[32];
  snprintf(text, sizeof text, "%ld", pid);
  setenv("LISTEN_PID", text, 1);
  setenv("LISTEN_FDS", n, 1);
}

/* First: nothing else may have descriptor 3. */
static void a_socket_that_is_handed_over(void **state) {
  serve_options o = default_service();
  serve_server *server;
  cq_error error = {0};
  service s;
  (void)state;
  const int had = fcntl(3, F_GETFD) >= 0 ? fcntl(3, F_DUPFD_CLOEXEC, 10) : -1; /* the test program's own */
  (void)hand_over();
  o.port = 1; /* nobody may listen there but root; it is not looked at */
  o.insecure = true;
  set_variables((long)getpid() + 1, "1"); /* another process's */
  assert_int_equal(serve_listen_inherited(), -1);
  set_variables((long)getpid(), "0");
  assert_int_equal(serve_listen_inherited(), -1);
  set_variables((long)getpid(), "1");
  o.insecure = false; /* it cannot know who reaches the socket */
  assert_int_equal(serve_open(&server, &o, NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "--insecure"));
  o.insecure = true;
  const int port = hand_over(); /* the other one was closed with the server */
  open_service(&s, &o);
  assert_int_equal(s.port, port);
  assert_true(fcntl(3, F_GETFD) & FD_CLOEXEC);
  assert_healthy(&s);
  close_service(&s);
  unsetenv("LISTEN_FDS");
  unsetenv("LISTEN_PID");
  if (had >= 0) {
    dup2(had, 3);
    close(had);
  }
}

static const char *next_message(int fd) {
  static char text[256];
  const ssize_t n = recv(fd, text, sizeof text - 1, 0);
  text[n < 0 ? 0 : n] = '\0';
  return text;
}

/* To a socket with a path and to one in the abstract space: ready, reloading, ready again, stopping. */
static void what_the_system_is_told(void **state) {
  const struct timeval limit = {.tv_sec = 30};
  const serve_options o = default_service();
  (void)state;
  for (int is_abstract = 0; is_abstract < 2; is_abstract++) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    service s;
    char name[90];
    if (is_abstract)
      snprintf(name, sizeof name, "@calque-test-%ld", (long)getpid());
    else
      snprintf(name, sizeof name, "%.80s", test_path("notify"));
    memcpy(a.sun_path, name, strlen(name));
    if (is_abstract) a.sun_path[0] = '\0';
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(
        bind(fd, (const struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setenv("NOTIFY_SOCKET", name, 1);
    open_service(&s, &o);
    assert_string_equal(next_message(fd), "READY=1");
    serve_ask(s.server, SERVE_RELOAD);
    const char *text = next_message(fd);
    if (strncmp(text, "RELOADING=1\nMONOTONIC_USEC=", 27) != 0 || !strtoull(text + 27, NULL, 10)) fail_msg("%s", text);
    assert_string_equal(next_message(fd), "READY=1");
    close_service(&s);
    assert_string_equal(next_message(fd), "STOPPING=1");
    close(fd);
  }
  /* Where nobody listens, nothing happens. */
  static const char *const names[] = {"", "@", "relative", "/nowhere/at/all"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    setenv("NOTIFY_SOCKET", names[i], 1);
    serve_notify("READY=1");
  }
  unsetenv("NOTIFY_SOCKET");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_socket_that_is_handed_over),
      cmocka_unit_test(what_the_system_is_told),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
