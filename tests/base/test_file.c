/* Files and directories appear whole or not at all: after an error, on a full disk, after a kill. */
#include "support/files.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/temporary.h"
#include "base/text_writer.h"
#include "calque/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void assert_content(const char *path, const char *text) {
  size_t n;
  unsigned char *bytes = read_bytes(&n, path);
  assert_int_equal(n, strlen(text));
  assert_memory_equal(bytes, text, n);
  free(bytes);
}

/* Pieces of all sizes, together many times what the writer holds back. */
static void long_texts_are_written_whole(void **state) {
  enum { N = 1500000 };
  (void)state;
  char *text = malloc(N);
  size_t n, piece = 1;
  for (size_t i = 0; i < N; i++) text[i] = (char)('a' + (i * i + i / 7) % 26);
  cq_text_writer w;
  assert_int_equal(cq_text_writer_open(&w, test_path("long"), NULL), CQ_OK);
  for (size_t i = 0; i < N; i += piece, piece = piece * 3 % 400009) {
    if (piece > N - i) piece = N - i;
    assert_int_equal(cq_text_writer_put(&w, text + i, piece, NULL), CQ_OK);
  }
  assert_int_equal(cq_text_writer_commit(&w, NULL), CQ_OK);
  unsigned char *bytes = read_bytes(&n, test_path("long"));
  assert_int_equal(n, N);
  assert_memory_equal(bytes, text, N);
  free(bytes);
  free(text);
}

static void reading_reports_what_is_wrong(void **state) {
  (void)state;
  cq_mapping m;
  cq_slice s;
  cq_error error = {0};
  assert_int_equal(cq_mapping_open(&m, test_path("none"), &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "none: cannot open: "));
  assert_int_equal(cq_mapping_open(&m, test_directory, &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "not a regular file"));
  assert_int_equal(cq_file_read(&s, test_directory, &error), CQ_ERR_IO);
  write_text(test_path("empty"), "");
  assert_int_equal(cq_mapping_open(&m, test_path("empty"), &error), CQ_OK);
  assert_int_equal(m.n, 0);
  assert_non_null(m.data);
  cq_mapping_close(&m);
  assert_int_equal(cq_file_read(&s, test_path("empty"), &error), CQ_OK);
  assert_string_equal(s.data, "");
  cq_free((void *)(uintptr_t)s.data);
  write_text(test_path("some"), "text");
  assert_int_equal(cq_mapping_open(&m, test_path("some"), &error), CQ_OK);
  assert_memory_equal(m.data, "text", 4);
  cq_mapping_close(&m);
  cq_mapping_close(&m);
}

static void paths_are_joined_and_taken_apart(void **state) {
  (void)state;
  char out[8];
  cq_error error = {0};
  assert_int_equal(cq_path_join(out, sizeof out, "ab", "cd", &error), CQ_OK);
  assert_string_equal(out, "ab/cd");
  assert_int_equal(cq_path_join(out, sizeof out, "ab/", "cd", &error), CQ_OK);
  assert_string_equal(out, "ab/cd");
  assert_int_equal(cq_path_join(out, sizeof out, "", "cd", &error), CQ_OK);
  assert_string_equal(out, "cd");
  assert_int_equal(cq_path_join(out, sizeof out, "ab", "", &error), CQ_OK);
  assert_string_equal(out, "ab");
  assert_int_equal(cq_path_join(out, sizeof out, "abc", "defg", &error), CQ_ERR_ARGUMENT);
  assert_false(cq_path_parent(out, sizeof out, "abc/def/g"));
  static const struct {
    const char *path, *name, *parent;
    size_t n;
  } of[] = {{"a/bc//", "bc", "a/", 4}, {"bc", "bc", ".", 2}, {"/bc", "bc", "/", 3},
            {"/", "", "/", 1},         {"//", "", "/", 1},   {"", "", ".", 0}};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    assert_int_equal(cq_path_length(of[i].path), of[i].n);
    assert_true(cq_slice_equal(cq_path_name(of[i].path), cq_slice_of(of[i].name)));
    assert_true(cq_path_parent(out, sizeof out, of[i].path));
    assert_string_equal(out, of[i].parent);
  }
}

static void a_file_appears_on_commit_only(void **state) {
  (void)state;
  cq_writer w;
  cq_error error = {0};
  const char *path = test_path("file");
  assert_int_equal(cq_writer_open(&w, path, &error), CQ_OK);
  assert_int_equal(cq_writer_bytes(&w, "new", 3, &error), CQ_OK);
  assert_int_equal(access(path, F_OK), -1);
  cq_writer_abort(&w);
  cq_writer_abort(&w);
  assert_int_equal(count_files("file"), 0);

  assert_int_equal(cq_file_write(path, "old", 3, &error), CQ_OK);
  assert_int_equal(cq_writer_open(&w, path, &error), CQ_OK);
  assert_int_equal(cq_writer_bytes(&w, "new", 3, &error), CQ_OK);
  assert_content(path, "old");
  assert_int_equal(cq_writer_commit(&w, &error), CQ_OK);
  assert_content(path, "new");
  assert_int_equal(count_files(".tmp"), 0);
  assert_int_equal(cq_file_write(test_path("no/such/directory"), "x", 1, &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "no/such/directory: cannot create: "));
}

/* A limit on file sizes stands for a full disk: writes come up short, and the error comes at write, flush or close. */
static void a_full_disk_leaves_nothing(void **state) {
  (void)state;
  static char bytes[100000];
  static const size_t sizes[] = {1, 4095, 4096, 4097, 50000, 100000};
  struct rlimit before, small;
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(cq_file_write(test_path("kept"), "old", 3, NULL), CQ_OK);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    cq_error error = {0};
    small = before;
    small.rlim_cur = sizes[i] - 1;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    cq_status status = cq_file_write(test_path("kept"), bytes, sizes[i], &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, CQ_ERR_IO);
    assert_non_null(strstr(error.message, "kept: cannot write: "));
    assert_content(test_path("kept"), "old");
    assert_int_equal(count_files("kept"), 1);
  }
}

/* Of long text the failure is told when it is put, packed or not: nobody goes on for hours. */
static void a_full_disk_stops_long_texts(void **state) {
  (void)state;
  static char bytes[1 << 20];
  uint32_t x = 1;
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = (char)((x = x * 1664525 + 1013904223) >> 24); /* not to be packed */
  for (int zipped = 0; zipped < 2; zipped++) {
    struct rlimit before, small;
    cq_text_writer w;
    cq_error error = {0};
    const char *path = test_path(zipped ? "long.gz" : "long.txt");
    assert_int_equal(cq_text_writer_open(&w, path, NULL), CQ_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 100000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    cq_status status = CQ_OK;
    for (int i = 0; i < 4 && !status; i++) status = cq_text_writer_put(&w, bytes, sizeof bytes, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    cq_text_writer_abort(&w);
    assert_int_equal(status, CQ_ERR_IO);
    assert_int_equal(count_files(zipped ? "long.gz" : "long.txt"), 0);
  }
}

static void the_full_device_is_reported(void **state) {
  (void)state;
  if (access("/dev/full", W_OK) != 0) {
    print_message("skipped: no /dev/full here\n");
    skip();
  }
  cq_error error = {0};
  cq_writer w;
  assert_int_equal(cq_writer_open(&w, test_path("device"), &error), CQ_OK);
  fclose(w.stream);
  w.stream = fopen("/dev/full", "wb");
  assert_non_null(w.stream);
  assert_int_equal(cq_writer_bytes(&w, "x", 1, &error), CQ_OK); /* still in stdio's buffer */
  assert_int_equal(cq_writer_commit(&w, &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "No space left"));
  assert_int_equal(count_files("device"), 0);
}

/* Kills a child at random moments while it replaces a file over and over: the file is always one of the whole ones. */
static void a_kill_leaves_a_whole_file(void **state) {
  (void)state;
  enum { N = 300000 };
  static char bytes[N];
  memset(bytes, 'a', N);
  assert_int_equal(cq_file_write(test_path("whole"), bytes, N, NULL), CQ_OK);
  for (int round = 0; round < 20; round++) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      for (int i = 1;; i++) {
        memset(bytes, 'a' + i % 26, N);
        if (cq_file_write(test_path("whole"), bytes, N, NULL)) _exit(1);
      }
    }
    usleep((useconds_t)(1000 + 700 * round));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    size_t n;
    unsigned char *got = read_bytes(&n, test_path("whole"));
    assert_int_equal(n, N);
    for (size_t i = 1; i < n; i++) assert_int_equal(got[i], got[0]);
    free(got);
  }
  assert_true(count_files("whole") <= 2); /* the last child's temporary file at most */
  assert_int_equal(cq_file_write(test_path("whole"), "x", 1, NULL), CQ_OK);
  assert_int_equal(count_files("whole"), 1);
}

/* What a signal's last act removes: temporaries that are still held, and no file of a name that was let go of. Nothing
 * new is begun then: whoever asks for a name waits until the process ends. */
static void temporaries_are_forgotten_when_let_go(void **state) {
  (void)state;
  int child_status;
  char kept[500];
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    for (int i = 0; i < 100; i++) { /* more than are remembered at a time */
      char *name = cq_temporary_name(test_path("let-go"));
      if (!name || close(open(name, O_CREAT | O_WRONLY, 0600)) != 0) _exit(1);
      snprintf(kept, sizeof kept, "%s", name);
      cq_temporary_release(name);
    }
    char *name = cq_temporary_name(test_path("held"));
    if (!name || close(open(name, O_CREAT | O_WRONLY, 0600)) != 0) _exit(2);
    cq_remove_temporaries();
    if (access(kept, F_OK) != 0) _exit(3);
    if (access(name, F_OK) == 0) _exit(4);
    alarm(1); /* its default ends the process */
    cq_temporary_name(test_path("later"));
    _exit(5);
  }
  assert_int_equal(waitpid(child, &child_status, 0), child);
  if (!WIFSIGNALED(child_status) || WTERMSIG(child_status) != SIGALRM) fail_msg("status %x", (unsigned)child_status);
  assert_int_equal(count_files("held"), 0);
  assert_int_equal(count_files("let-go"), 100);
}

/* Cleaning up after the dead must spare the living. */
static void a_writer_at_work_is_left_alone(void **state) {
  (void)state;
  int ready[2], go[2], child_status;
  char byte = 0;
  assert_int_equal(pipe(ready) | pipe(go), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    cq_writer w;
    if (cq_writer_open(&w, test_path("busy"), NULL) || write(ready[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1)
      _exit(1);
    if (cq_writer_bytes(&w, "child", 5, NULL) || cq_writer_commit(&w, NULL)) _exit(1);
    _exit(0);
  }
  assert_int_equal(read(ready[0], &byte, 1), 1);
  assert_int_equal(cq_file_write(test_path("busy"), "parent", 6, NULL), CQ_OK);
  assert_int_equal(count_files("busy"), 2);
  assert_content(test_path("busy"), "parent");
  assert_int_equal(write(go[1], &byte, 1), 1);
  assert_int_equal(waitpid(child, &child_status, 0), child);
  assert_int_equal(child_status, 0);
  assert_content(test_path("busy"), "child");
  assert_int_equal(count_files("busy"), 1);
  /* A dead process's number, but the lock is held: as another machine's or container's writer looks. */
  char held[500];
  snprintf(held, sizeof held, "%s.tmp-%ld-0", test_path("busy"), (long)child);
  int fd = open(held, O_CREAT | O_WRONLY, 0600);
  assert_true(fd >= 0);
  assert_int_equal(flock(fd, LOCK_EX), 0);
  assert_int_equal(cq_file_write(test_path("busy"), "again", 5, NULL), CQ_OK);
  assert_int_equal(count_files("busy"), 2);
  close(fd);
  assert_int_equal(cq_file_write(test_path("busy"), "again", 5, NULL), CQ_OK);
  assert_int_equal(count_files("busy"), 1);
  for (int i = 0; i < 2; i++) close(ready[i]), close(go[i]);
}

static void make_directory(cq_directory_writer *w, const char *text) {
  char path[500];
  assert_int_equal(cq_path_join(path, sizeof path, w->temporary, "inside", NULL), CQ_OK);
  assert_int_equal(cq_directory_make(path, NULL), CQ_OK);
  assert_int_equal(cq_path_join(path, sizeof path, w->temporary, "file", NULL), CQ_OK);
  assert_int_equal(cq_file_write(path, text, strlen(text), NULL), CQ_OK);
}

/* A killed process leaves a half-made directory: the next one to make it cleans up, unless somebody still holds it. */
static void a_killed_directory_is_cleaned_up(void **state) {
  (void)state;
  cq_directory_writer w;
  char left[500], old[500];
  const char *path = test_path("killed");
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    if (cq_directory_writer_open(&w, path, false, NULL)) _exit(1);
    make_directory(&w, "half");
    raise(SIGKILL);
  }
  assert_int_equal(waitpid(child, NULL, 0), child);
  assert_int_equal(count_files("killed"), 1);
  snprintf(old, sizeof old, "%s.old-%ld-0", path, (long)child); /* perhaps the only copy of what was there */
  assert_int_equal(cq_directory_make(old, NULL), CQ_OK);
  assert_int_equal(cq_directory_writer_open(&w, path, false, NULL), CQ_OK);
  make_directory(&w, "whole");
  assert_int_equal(cq_directory_writer_commit(&w, NULL), CQ_OK);
  assert_int_equal(count_files("killed"), 2);
  assert_true(cq_is_directory(old));

  snprintf(left, sizeof left, "%s.tmp-%ld-7", path, (long)child);
  assert_int_equal(cq_directory_make(left, NULL), CQ_OK);
  int fd = open(left, O_RDONLY | O_DIRECTORY);
  assert_true(fd >= 0);
  assert_int_equal(flock(fd, LOCK_EX), 0);
  assert_int_equal(cq_directory_writer_open(&w, path, true, NULL), CQ_OK);
  cq_directory_writer_abort(&w);
  assert_true(cq_is_directory(left));
  close(fd);
  assert_int_equal(cq_directory_writer_open(&w, path, true, NULL), CQ_OK);
  cq_directory_writer_abort(&w);
  assert_false(cq_file_exists(left));
  assert_int_equal(count_files("killed"), 2);
}

static void a_directory_appears_on_commit_only(void **state) {
  (void)state;
  cq_directory_writer w;
  cq_error error = {0};
  const char *path = test_path("dir");
  assert_int_equal(cq_directory_writer_open(&w, path, false, &error), CQ_OK);
  make_directory(&w, "one");
  assert_false(cq_file_exists(path));
  cq_directory_writer_abort(&w);
  cq_directory_writer_abort(&w);
  assert_int_equal(count_files("dir"), 0);

  assert_int_equal(cq_directory_writer_open(&w, path, false, &error), CQ_OK);
  make_directory(&w, "one");
  assert_int_equal(cq_directory_writer_commit(&w, &error), CQ_OK);
  assert_content(test_path("dir/file"), "one");
  assert_true(cq_is_directory(test_path("dir/inside")));

  assert_int_equal(cq_directory_writer_open(&w, path, false, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "dir: already exists"));
  assert_int_equal(cq_directory_writer_open(&w, path, true, &error), CQ_OK);
  make_directory(&w, "two");
  assert_content(test_path("dir/file"), "one");
  assert_int_equal(cq_directory_writer_commit(&w, &error), CQ_OK);
  assert_content(test_path("dir/file"), "two");
  assert_int_equal(count_files("dir"), 1);

  write_text(test_path("plain"), "x");
  assert_int_equal(cq_directory_writer_open(&w, test_path("plain"), true, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "is a file"));
  assert_int_equal(cq_directory_make(test_path("plain/below"), &error), CQ_ERR_IO);
  assert_int_equal(cq_directory_make(test_path("a/b/c/"), &error), CQ_OK);
  assert_true(cq_is_directory(test_path("a/b/c")));
  cq_directory_remove(test_path("a"));
  assert_false(cq_file_exists(test_path("a")));
}

/* Removing must not follow links out of the directory. */
static void removing_stays_inside(void **state) {
  (void)state;
  assert_int_equal(cq_directory_make(test_path("victim"), NULL), CQ_OK);
  write_text(test_path("victim/file"), "precious");
  assert_int_equal(cq_directory_make(test_path("doomed/deep"), NULL), CQ_OK);
  char target[400];
  snprintf(target, sizeof target, "%s", test_path("victim"));
  assert_int_equal(symlink(target, test_path("doomed/deep/link")), 0);
  cq_directory_remove(test_path("doomed"));
  assert_false(cq_file_exists(test_path("doomed")));
  assert_content(test_path("victim/file"), "precious");
}

static void allocation_failures_are_reported(void **state) {
  (void)state;
  write_text(test_path("m"), "old");
  for (long n = 1;; n++) {
    cq_error error = {0};
    cq_alloc_fail_at(n);
    cq_status status = cq_file_write(test_path("m"), "new", 3, &error);
    bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (!failed) break;
    assert_int_equal(status, CQ_ERR_MEMORY);
    assert_content(test_path("m"), "old");
    assert_int_equal(count_files(".tmp"), 0);
  }
  assert_content(test_path("m"), "new");
  for (int replace = 0; replace < 2; replace++) {
    for (long n = 1;; n++) {
      cq_directory_writer w;
      cq_error error = {0};
      cq_alloc_fail_at(n);
      cq_status status = cq_directory_writer_open(&w, test_path("md"), replace, &error);
      if (!status) status = cq_directory_writer_commit(&w, &error);
      bool failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      if (!failed) {
        assert_int_equal(status, CQ_OK);
        break;
      }
      assert_int_equal(status, CQ_ERR_MEMORY);
      assert_int_equal(cq_file_exists(test_path("md")), replace);
    }
  }
  assert_int_equal(count_files("md"), 1);
}

/* ---- copying ---- */

static void directories_are_copied(void **state) {
  (void)state;
  cq_error error = {0};
  char bytes[16];
  size_t n;
  assert_int_equal(cq_directory_make(test_path("from/a/b"), NULL), CQ_OK);
  assert_int_equal(cq_directory_make(test_path("to"), NULL), CQ_OK);
  write_bytes(test_path("from/a/b/file"),
              "12\0"
              "4",
              4);
  write_text(test_path("from/empty"), "");
  assert_int_equal(symlink("a/b/file", test_path("from/link")), 0);
  for (long at = 1;; at++) {
    cq_alloc_fail_at(at);
    const cq_status status = cq_directory_copy(test_path("from"), test_path("to"), NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    if (!failed) break;
  }
  static const char *const copies[] = {"to/a/b/file", "to/link"};
  for (int i = 0; i < 2; i++) {
    unsigned char *copy = read_bytes(&n, test_path(copies[i]));
    assert_int_equal(n, 4);
    assert_memory_equal(copy,
                        "12\0"
                        "4",
                        4);
    free(copy);
  }
  assert_int_equal(readlink(test_path("to/link"), bytes, sizeof bytes), -1); /* the copy stands alone */
  free(read_bytes(&n, test_path("to/empty")));
  assert_int_equal(n, 0);

  /* Into itself; what is no file; what is not there; a circle of links. */
  assert_int_equal(cq_directory_make(test_path("from/a/copy"), NULL), CQ_OK);
  assert_int_equal(cq_directory_copy(test_path("from"), test_path("from/a/copy"), &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.file, test_path("from/a/copy"));
  cq_directory_remove(test_path("from/a"));
  unlink(test_path("from/link"));
  assert_int_equal(symlink("nowhere", test_path("from/link")), 0);
  assert_int_equal(cq_directory_copy(test_path("from"), test_path("to"), &error), CQ_ERR_IO);
  assert_string_equal(error.file, test_path("from/link"));
  unlink(test_path("from/link"));
  assert_int_equal(symlink(".", test_path("from/link")), 0);
  unlink(test_path("to/link"));
  assert_int_equal(cq_directory_copy(test_path("from"), test_path("to"), &error), CQ_ERR_LIMIT);
  unlink(test_path("from/link"));
  assert_int_equal(mkfifo(test_path("from/pipe"), 0600), 0);
  assert_int_equal(cq_directory_copy(test_path("from"), test_path("to"), &error), CQ_ERR_UNSUPPORTED);
  assert_string_equal(error.file, test_path("from/pipe"));
  assert_int_equal(cq_directory_copy(test_path("none"), test_path("to"), &error), CQ_ERR_IO);
  assert_string_equal(error.file, test_path("none"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(long_texts_are_written_whole),
      cmocka_unit_test(reading_reports_what_is_wrong),
      cmocka_unit_test(paths_are_joined_and_taken_apart),
      cmocka_unit_test(a_file_appears_on_commit_only),
      cmocka_unit_test(a_full_disk_leaves_nothing),
      cmocka_unit_test(the_full_device_is_reported),
      cmocka_unit_test(a_full_disk_stops_long_texts),
      cmocka_unit_test(a_directory_appears_on_commit_only),
      cmocka_unit_test(removing_stays_inside),
      cmocka_unit_test(allocation_failures_are_reported),
      cmocka_unit_test(a_kill_leaves_a_whole_file),
      cmocka_unit_test(a_writer_at_work_is_left_alone),
      cmocka_unit_test(temporaries_are_forgotten_when_let_go),
      cmocka_unit_test(a_killed_directory_is_cleaned_up),
      cmocka_unit_test(directories_are_copied),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
