/* Documents that are added over HTTP: a process that is killed while it adds loses nothing that was acknowledged; a
 * full disk is an error and changes nothing; SIGHUP keeps an index that is being written; a model that is gone.
 *
 *   KILLS=1000 test_serve_adding     kills so often (20) */
#include "serve/service.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void make_index(const char *name, const char *model) {
  cq_index_options o = cq_index_default_options();
  o.model = model;
  assert_int_equal(cq_index_create(test_path(name), &o, NULL), CQ_OK);
}

static serve_options for_writing(const char *index) {
  serve_options o = default_service();
  o.model = (serve_model_options){.index = index, .writable = true};
  return o;
}

static int put(const service *s, unsigned id) {
  char path[64], body[128];
  snprintf(path, sizeof path, "/api/documents/d%u", id);
  snprintf(body, sizeof body, "{\"text\": \"The river in house %u is long.\", \"n\": %u}", id, id);
  return ask(s, "PUT", path, body);
}

static void assert_sound(const char *path, size_t n_documents, size_t or_more) {
  cq_index *index;
  cq_error error = {0};
  if (cq_index_open(&index, path, NULL, &error) || cq_index_check(index, NULL, &error)) fail_msg("%s", error.message);
  assert_in_range(cq_index_size(index), n_documents, n_documents + or_more);
  for (unsigned i = 0; i < n_documents; i++) {
    char id[16];
    cq_document *d;
    snprintf(id, sizeof id, "d%u", i);
    assert_int_equal(cq_index_get(&d, index, (cq_slice){id, strlen(id)}, &error), CQ_OK);
    if (!d) fail_msg("document %s of %zu is lost", id, n_documents);
    cq_free(d);
  }
  cq_index_free(index);
}

/* A process of its own, which writes its port to the pipe. */
static pid_t fork_server(int *port, const char *index) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  const pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    const serve_options o = for_writing(index);
    serve_server *server;
    cq_error error = {0};
    int p = 0;
    close(ends[0]);
    if (serve_open(&server, &o, NULL, &error)) {
      fprintf(stderr, "%s\n", error.message);
      _exit(1);
    }
    p = atoi(strrchr(serve_address(server), ':') + 1);
    if (write(ends[1], &p, sizeof p) != sizeof p) _exit(1);
    close(ends[1]);
    serve_run(server);
    _exit(0);
  }
  close(ends[1]);
  assert_int_equal(read(ends[0], port, sizeof *port), sizeof *port);
  close(ends[0]);
  return pid;
}

/* First, since the child of a process with threads may do little. */
static void killed_at_any_moment(void **state) {
  const int n_kills = getenv("KILLS") ? atoi(getenv("KILLS")) : 20;
  char index[400];
  unsigned n_acknowledged = 0, moment = 0;
  (void)state;
  make_index("killed", MODEL);
  snprintf(index, sizeof index, "%s", test_path("killed"));
  for (int k = 0; k < n_kills; k++) {
    service s = {0};
    const pid_t pid = fork_server(&s.port, index);
    moment = (moment * 7919 + 104729) % 60000; /* us after the begin of an addition */
    for (int i = 0; i < k % 5; i++) {
      assert_int_equal(put(&s, n_acknowledged), 200);
      n_acknowledged++;
    }
    const pid_t killer = fork();
    assert_true(killer >= 0);
    if (killer == 0) {
      usleep(moment);
      kill(pid, SIGKILL);
      _exit(0);
    }
    for (;;) { /* until it is dead; what it has acknowledged counts */
      char path[64], head[400], answer[4096];
      struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)s.port)};
      a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      const int fd = socket(AF_INET, SOCK_STREAM, 0);
      if (connect(fd, (const struct sockaddr *)&a, sizeof a)) {
        close(fd);
        break;
      }
      snprintf(path, sizeof path, "/api/documents/d%u", n_acknowledged);
      snprintf(head, sizeof head, "{\"text\": \"The late train %u.\"}", n_acknowledged);
      const bool sent = send_request(fd, "PUT", path, head, strlen(head));
      const int code = sent ? read_answer(answer, sizeof answer, fd) : 0;
      close(fd);
      if (code != 200) break;
      n_acknowledged++;
    }
    int status;
    assert_int_equal(waitpid(killer, NULL, 0), killer);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_sound(index, n_acknowledged, 1); /* one more may have come to the disk */
  }
  printf("%d kills, %u documents acknowledged, none lost\n", n_kills, n_acknowledged);
}

/* A limit of files' sizes is a disk that is full, at each of its places in turn. */
static void a_full_disk(void **state) {
  struct rlimit had, limit;
  char index[400];
  service s;
  unsigned n = 0, n_refused = 0;
  (void)state;
  make_index("full", MODEL);
  snprintf(index, sizeof index, "%s", test_path("full"));
  signal(SIGXFSZ, SIG_IGN);
  const serve_options o = for_writing(index);
  open_service(&s, &o);
  assert_int_equal(put(&s, n++), 200);
  getrlimit(RLIMIT_FSIZE, &had);
  limit = had;
  for (rlim_t size = 0; size < 200000; size += size < 4096 ? 256 : 8192) {
    limit.rlim_cur = size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const int code = put(&s, n);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &had), 0);
    if (code != 200 && code != 500) fail_msg("files of %llu bytes: %d", (unsigned long long)size, code);
    if (code == 500) assert_non_null(strstr(last_answer, "\"error\""));
    n_refused += code == 500;
    if (code == 200) n++;
    assert_sound(index, n, code == 500); /* a document that was refused at its last step may be there */
  }
  assert_true(n_refused > 0);
  assert_int_equal(put(&s, n++), 200); /* there is room again */
  assert_int_equal(ask(&s, "GET", "/api/search?q=river", ""), 200);
  assert_int_equal(ask(&s, "GET", "/api/search?q=river&language=de", ""), 422); /* it is "lang" */
  close_service(&s);
  assert_sound(index, n, 0);
  printf("%u additions refused, %u made\n", n_refused, n);
}

typedef struct adder {
  const service *s;
  unsigned n;
  atomic_bool ends;
} adder;

static void *add_documents(void *context) {
  adder *a = context;
  for (; !a->ends; a->n++) {
    char path[64];
    static const char body[] = "{\"text\": \"A garden.\"}";
    char answer[4096];
    const int fd = connect_to(a->s->port);
    snprintf(path, sizeof path, "/api/documents/d%u", a->n);
    const bool sent = send_request(fd, "PUT", path, body, strlen(body));
    const int code = sent ? read_answer(answer, sizeof answer, fd) : 0;
    close(fd);
    if (code != 200) break;
  }
  return NULL;
}

/* Reopening while documents come: the index stays open, no request is lost; another index in its place is opened, and
 * one that is gone leaves the old one. */
static void reopening_what_is_written(void **state) {
  char index[400], aside[400];
  service s;
  pthread_t thread;
  (void)state;
  make_index("hup", MODEL);
  snprintf(index, sizeof index, "%s", test_path("hup"));
  snprintf(aside, sizeof aside, "%s", test_path("aside"));
  const serve_options o = for_writing(index);
  open_service(&s, &o);
  adder a = {.s = &s};
  assert_int_equal(pthread_create(&thread, NULL, add_documents, &a), 0);
  for (int i = 0; i < 5; i++) {
    serve_ask(s.server, SERVE_RELOAD);
    assert_true(wait_for_note("still open for writing"));
  }
  usleep(50000);
  assert_false(a.ends);
  a.ends = true;
  pthread_join(thread, NULL);
  assert_true(a.n > 0);
  assert_sound(index, a.n, 0);
  assert_int_equal(put(&s, a.n), 200);

  assert_int_equal(rename(index, aside), 0);
  serve_ask(s.server, SERVE_RELOAD);
  assert_true(wait_for_note("not reopened, the old one stays"));
  assert_int_equal(ask(&s, "GET", "/api/documents/d0", ""), 200);
  make_index("hup", MODEL);
  serve_ask(s.server, SERVE_RELOAD);
  assert_true(wait_for_note("reopened"));
  assert_int_equal(ask(&s, "GET", "/api/documents/d0", ""), 404);
  assert_int_equal(put(&s, 0), 200);
  close_service(&s);
  assert_sound(index, 1, 0);
  assert_sound(aside, a.n + 1, 0);
}

/* The encoder is the index's own; without the model's files nothing opens, and what is open goes on. */
static void a_model_that_is_gone(void **state) {
  char index[400], model[400], command[900];
  service s;
  serve_model *m;
  serve_server *server;
  cq_error error = {0};
  (void)state;
  snprintf(model, sizeof model, "%s", test_path("model"));
  snprintf(index, sizeof index, "%s", test_path("gone"));
  snprintf(command, sizeof command, "cp -r '%s' '%s'", MODEL, model);
  assert_int_equal(system(command), 0);
  make_index("gone", model);
  serve_options o = for_writing(index);
  assert_int_equal(serve_model_open(&m, &o.model, &error), CQ_OK);
  const cq_encoder *encoder;
  assert_int_equal(cq_index_encoder(&encoder, m->index, &error), CQ_OK);
  assert_ptr_equal(m->encoder, encoder);
  serve_model_leave(m);
  o.model.writable = false;
  open_service(&s, &o);
  snprintf(command, sizeof command, "rm -rf '%s'", model);
  assert_int_equal(system(command), 0);
  assert_healthy(&s);
  serve_ask(s.server, SERVE_RELOAD);
  assert_true(wait_for_note(model));
  assert_healthy(&s);
  close_service(&s);
  assert_int_equal(serve_open(&server, &o, NULL, &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, model));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(killed_at_any_moment),
      cmocka_unit_test(a_full_disk),
      cmocka_unit_test(reopening_what_is_written),
      cmocka_unit_test(a_model_that_is_gone),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
