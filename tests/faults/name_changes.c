/* Records, or ends, what a process does to names in directories: to be preloaded.
 *
 *   LD_PRELOAD=name_changes.so CHANGES=FILE PROGRAM ...   FILE gets a line for each: sync PATH, rename PATH TO, ...
 *   LD_PRELOAD=name_changes.so KILL_AT=12 PROGRAM ...     killed (SIGKILL) before the 12th, syncs not counted */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long n_changes;

static void note(const char *what, const char *path, const char *to) {
  const char *record = getenv("CHANGES"), *kill_at = getenv("KILL_AT");
  if (kill_at && strcmp(what, "sync") != 0 && atomic_fetch_add(&n_changes, 1) + 1 == atol(kill_at)) raise(SIGKILL);
  if (!record) return;
  char line[9000];
  const int n = snprintf(line, sizeof line, "%s %s%s%s\n", what, path, to ? " " : "", to ? to : "");
  const int fd = open(record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0 || write(fd, line, (size_t)n) != n) _exit(99);
  close(fd);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int rename(const char *from, const char *to) {
  note("rename", from, to);
  return NEXT(rename)(from, to);
}

int link(const char *from, const char *to) {
  note("link", from, to);
  return NEXT(link)(from, to);
}

int unlink(const char *path) {
  note("unlink", path, NULL);
  return NEXT(unlink)(path);
}

int unlinkat(int directory, const char *path, int flags) {
  note("unlink", path, NULL);
  return NEXT(unlinkat)(directory, path, flags);
}

int rmdir(const char *path) {
  note("rmdir", path, NULL);
  return NEXT(rmdir)(path);
}

int remove(const char *path) {
  note("unlink", path, NULL);
  return NEXT(remove)(path);
}

int mkdir(const char *path, mode_t mode) {
  note("mkdir", path, NULL);
  return NEXT(mkdir)(path, mode);
}

static void note_sync(int fd) {
  char name[64], path[4096];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(name, path, sizeof path - 1);
  if (n < 0) return;
  path[n] = '\0';
  note("sync", path, NULL);
}

int fsync(int fd) {
  note_sync(fd);
  return NEXT(fsync)(fd);
}

int fdatasync(int fd) {
  note_sync(fd);
  return NEXT(fdatasync)(fd);
}

long syscall(long number, ...) {
  long a[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
  va_end(list);
  if (number == SYS_renameat2) note("rename", (const char *)a[1], (const char *)a[3]);
  return NEXT(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
