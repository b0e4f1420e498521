/* The recorder: a debugger (ptrace) that sees a command's own system calls, whoever makes them: stdio, a library, any
 * thread. A call that changes files in a way that is not modeled ends the test. */
#define _GNU_SOURCE
#include "crash_disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h> /* after sys/ptrace.h */

node nodes[MAX_NODES];
operation operations[MAX_OPERATIONS];
int n_nodes, n_operations, n_syncs;
static int sync_left_out;

void die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(2);
}

void *more(void *old, size_t n) {
  void *p = realloc(old, n ? n : 1);
  if (!p) die("out of memory");
  return p;
}

static int find_node(ino_t number) { /* the latest of that number: numbers are used again */
  for (int i = n_nodes - 1; i >= 0; i--)
    if (nodes[i].number == number) return i;
  return -1;
}

static int add_node(ino_t number, bool is_directory) {
  if (n_nodes == MAX_NODES) die("too many files");
  nodes[n_nodes] = (node){number, is_directory};
  return n_nodes++;
}

static operation *add_operation(kind what, int of) {
  if (n_operations == MAX_OPERATIONS) die("too many changes");
  operations[n_operations] = (operation){.kind = what, .node = of};
  return &operations[n_operations++];
}

static void add_name(int directory, const char *name, int child) {
  operation *o = add_operation(ADD, directory);
  o->child = child;
  snprintf(o->name, sizeof o->name, "%s", name);
}

/* Everything below a directory, as it is: certain. */
static void record_below(const char *path, int directory) {
  DIR *dir = opendir(path);
  if (!dir) die("%s: %s", path, strerror(errno));
  for (struct dirent *e; (e = readdir(dir));) {
    char inside[PATH_MAX];
    struct stat info;
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
    if (snprintf(inside, sizeof inside, "%s/%s", path, e->d_name) >= (int)sizeof inside) die("%s: too long", path);
    if (lstat(inside, &info) != 0) die("%s: %s", inside, strerror(errno));
    const int child = add_node(info.st_ino, S_ISDIR(info.st_mode));
    add_name(directory, e->d_name, child);
    if (S_ISDIR(info.st_mode)) {
      record_below(inside, child);
      continue;
    }
    operation *o = add_operation(WRITE, child);
    o->n = (size_t)info.st_size, o->data = more(NULL, o->n);
    FILE *file = fopen(inside, "rb");
    if (!file || fread(o->data, 1, o->n, file) != o->n) die("%s: cannot read", inside);
    fclose(file);
    add_operation(SYNC, child);
  }
  closedir(dir);
  add_operation(SYNC, directory);
}

int record_tree(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) die("%s: no directory", path);
  const int directory = add_node(info.st_ino, true);
  record_below(path, directory);
  return directory;
}

/* --- the recorder --- */

typedef struct tracee {
  pid_t pid;
  bool inside; /* a call */
  uint64_t number, args[6];
  bool existed;      /* the name that is opened or made */
  ino_t child, gone; /* what the name stood for before: the file itself; what a rename replaces */
  off_t at;
  int directory, to_directory;
  char name[NAME_MAX + 1], to[NAME_MAX + 1];
} tracee;

static tracee tracees[4096];
static int n_tracees;

static tracee *tracee_of(pid_t pid) {
  for (int i = 0; i < n_tracees; i++)
    if (tracees[i].pid == pid) return &tracees[i];
  if (n_tracees == 4096) die("too many threads");
  tracees[n_tracees] = (tracee){.pid = pid};
  return &tracees[n_tracees++];
}

static void read_text(pid_t pid, uint64_t address, char *out, size_t size) {
  for (size_t i = 0; i < size; i++) {
    struct iovec here = {out + i, 1},
                 there = {(void *)(uintptr_t)(address + i), 1}; // NOLINT: another process's address
    if (process_vm_readv(pid, &here, 1, &there, 1, 0) != 1) die("cannot read a path");
    if (!out[i]) return;
  }
  die("a path is too long");
}

/* The directory that holds a path, as a node, and the last part of it; -1: it is not below DIR. */
static int resolve(const tracee *t, int64_t fd, uint64_t address, char name[NAME_MAX + 1], ino_t *child) {
  char path[PATH_MAX], whole[2 * PATH_MAX], *slash;
  struct stat info;
  read_text(t->pid, address, path, sizeof path);
  for (size_t n = strlen(path); n > 1 && path[n - 1] == '/';) path[--n] = '\0';
  if (path[0] == '/')
    snprintf(whole, sizeof whole, "%s", path);
  else if ((int)fd == AT_FDCWD)
    snprintf(whole, sizeof whole, "/proc/%d/cwd/%s", t->pid, path);
  else
    snprintf(whole, sizeof whole, "/proc/%d/fd/%d/%s", t->pid, (int)fd, path);
  if (child) *child = lstat(whole, &info) == 0 ? info.st_ino : 0;
  slash = strrchr(whole, '/');
  snprintf(name, NAME_MAX + 1, "%s", slash + 1);
  slash[slash == whole] = '\0';
  return stat(whole, &info) == 0 ? find_node(info.st_ino) : -1;
}

static int node_of_fd(pid_t pid, uint64_t fd) {
  char path[64];
  struct stat info;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, (int)fd);
  return stat(path, &info) == 0 ? find_node(info.st_ino) : -1;
}

static off_t position_of(pid_t pid, uint64_t fd) {
  char path[64];
  long long at = 0;
  unsigned flags = 0;
  struct stat info;
  snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", pid, (int)fd);
  FILE *file = fopen(path, "r");
  if (!file || fscanf(file, "pos: %lld flags: %o", &at, &flags) != 2) die("%s: cannot read", path);
  fclose(file);
  snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, (int)fd);
  return (flags & O_APPEND) && stat(path, &info) == 0 ? info.st_size : (off_t)at;
}

#define CALL(name) (t->number == SYS_##name)
#ifdef SYS_open
#define OLD_CALL(name) CALL(name)
#else
enum { SYS_open, SYS_creat, SYS_rename, SYS_link, SYS_symlink, SYS_unlink, SYS_rmdir, SYS_mkdir };
#define OLD_CALL(name) false
#endif

static bool is_open(const tracee *t) {
  return OLD_CALL(open) || OLD_CALL(creat) || CALL(openat);
}
static bool is_rename(const tracee *t) {
  return OLD_CALL(rename) || CALL(renameat2)
#ifdef SYS_renameat
         || CALL(renameat)
#endif
      ;
}
static bool is_link(const tracee *t) {
  return OLD_CALL(link) || CALL(linkat);
}
static bool is_make(const tracee *t) {
  return OLD_CALL(mkdir) || CALL(mkdirat);
}
static bool is_remove(const tracee *t) {
  return OLD_CALL(unlink) || OLD_CALL(rmdir) || CALL(unlinkat);
}
static bool is_write(const tracee *t) {
  return CALL(write) || CALL(pwrite64) || CALL(writev);
}

/* Calls that might change a file and that nobody here uses. */
static bool changes_otherwise(const tracee *t) {
  if (CALL(copy_file_range)) return node_of_fd(t->pid, t->args[2]) >= 0;
  if (CALL(pwritev) || CALL(pwritev2) || CALL(fallocate) || CALL(sendfile)) return node_of_fd(t->pid, t->args[0]) >= 0;
  return CALL(truncate) || CALL(symlinkat) || CALL(io_uring_setup) || OLD_CALL(symlink);
}

/* What only the state before the call tells. */
static void enter_call(tracee *t) {
  t->directory = t->to_directory = -1, t->child = 0;
  const bool with_fd = CALL(openat) || CALL(unlinkat) || CALL(mkdirat);
  if (is_open(t) || is_make(t) || is_remove(t)) {
    t->directory = resolve(t, with_fd ? (int64_t)t->args[0] : AT_FDCWD, t->args[with_fd], t->name, &t->child);
    t->existed = t->child != 0;
  } else if (is_rename(t) || is_link(t)) {
    const bool fds = !OLD_CALL(rename) && !OLD_CALL(link);
    t->directory = resolve(t, fds ? (int64_t)t->args[0] : AT_FDCWD, t->args[fds], t->name, &t->child);
    t->to_directory = resolve(t, fds ? (int64_t)t->args[2] : AT_FDCWD, t->args[fds ? 3 : 1], t->to, &t->gone);
  } else if (CALL(write) || CALL(writev)) {
    if (node_of_fd(t->pid, t->args[0]) >= 0) t->at = position_of(t->pid, t->args[0]);
  } else if (CALL(pwrite64)) {
    t->at = (off_t)t->args[3];
  }
}

static void leave_write(tracee *t, int64_t result) {
  const int file = node_of_fd(t->pid, t->args[0]);
  struct iovec there[64] = {{(void *)(uintptr_t)t->args[1], (size_t)result}}; // NOLINT: another process's address
  size_t n_parts = 1;
  if (file < 0 || result == 0) return;
  if (CALL(writev)) {
    struct iovec here = {there, 16 * t->args[2]}, list = {(void *)(uintptr_t)t->args[1], 16 * t->args[2]}; // NOLINT
    n_parts = t->args[2];
    if (n_parts > 64 || process_vm_readv(t->pid, &here, 1, &list, 1, 0) < 0) die("cannot read what is written");
  }
  operation *o = add_operation(WRITE, file);
  o->n = (size_t)result, o->at = (size_t)t->at, o->data = more(NULL, o->n);
  struct iovec here = {o->data, o->n};
  if (process_vm_readv(t->pid, &here, 1, there, n_parts, 0) != result) die("cannot read what is written");
}

static void leave_call(tracee *t, int64_t result) {
  if (result < 0) return;
  const uint64_t flags = CALL(openat) ? t->args[2] : OLD_CALL(creat) ? O_CREAT | O_TRUNC | O_WRONLY : t->args[1];
  if (is_write(t)) {
    leave_write(t, result);
  } else if (CALL(ftruncate)) {
    const int file = node_of_fd(t->pid, t->args[0]);
    if (file >= 0) add_operation(TRUNCATE, file)->n = t->args[1];
  } else if (CALL(fsync) || CALL(fdatasync)) {
    const int any = node_of_fd(t->pid, t->args[0]);
    if (any >= 0 && ++n_syncs != sync_left_out) add_operation(SYNC, any);
  } else if (is_open(t) && t->directory < 0 && !t->existed && (flags & O_CREAT)) {
    const int gone = node_of_fd(t->pid, (uint64_t)result); /* a file elsewhere has the number of one that was removed */
    if (gone >= 0) nodes[gone].number = (ino_t)-1;
  } else if (is_open(t) && t->directory >= 0 && (flags & O_ACCMODE) != O_RDONLY) {
    char path[64];
    struct stat info;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", t->pid, (int)result);
    if (stat(path, &info) != 0) die("%s: %s", path, strerror(errno));
    if (flags & (O_TMPFILE & ~O_DIRECTORY)) die("a file without a name is made: not modeled");
    if (!t->existed)
      add_name(t->directory, t->name, add_node(info.st_ino, false));
    else if (flags & O_TRUNC)
      add_operation(TRUNCATE, find_node(info.st_ino))->n = 0;
  } else if (is_make(t) && t->directory >= 0) {
    ino_t made;
    char name[NAME_MAX + 1];
    resolve(t, CALL(mkdirat) ? (int64_t)t->args[0] : AT_FDCWD, t->args[CALL(mkdirat)], name, &made);
    add_name(t->directory, t->name, add_node(made, true));
  } else if (is_remove(t) && t->directory >= 0) {
    snprintf(add_operation(REMOVE, t->directory)->name, NAME_MAX + 1, "%s", t->name);
  } else if (is_link(t) && t->to_directory >= 0) {
    add_name(t->to_directory, t->to, find_node(t->child));
  } else if (is_rename(t) && (t->directory >= 0 || t->to_directory >= 0)) {
    if (t->directory != t->to_directory) die("%s is renamed into another directory: not modeled", t->name);
    operation *o = add_operation(CALL(renameat2) && (t->args[4] & RENAME_EXCHANGE) ? EXCHANGE : RENAME, t->directory);
    snprintf(o->name, sizeof o->name, "%s", t->name);
    snprintf(o->to, sizeof o->to, "%s", t->to);
    o->child = find_node(t->child);
    if (o->kind == EXCHANGE) o->other = find_node(t->gone);
    if (o->child < 0 || o->other < 0) die("%s: renamed, and nobody knows what it is", t->name);
  } else if (CALL(mmap) && (t->args[2] & 2) && (t->args[3] & 3) == 1 && node_of_fd(t->pid, t->args[4]) >= 0) {
    die("a file is mapped to be written: not modeled"); /* PROT_WRITE, MAP_SHARED */
  } else if (changes_otherwise(t)) {
    die("system call %d: not modeled", (int)t->number);
  }
}

static void on_stop(pid_t pid) {
  tracee *t = tracee_of(pid);
  struct ptrace_syscall_info info;
  if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) <= 0) return;
  if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
    t->inside = true, t->number = info.entry.nr;
    for (int i = 0; i < 6; i++) t->args[i] = info.entry.args[i];
    enter_call(t);
  } else if (info.op == PTRACE_SYSCALL_INFO_EXIT && t->inside) {
    t->inside = false;
    leave_call(t, info.exit.is_error ? -1 : (int64_t)info.exit.rval);
  }
}

void record_command(char **command, int left_out) {
  const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                       PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  const pid_t child = fork();
  int status, code = -1;
  sync_left_out = left_out;
  if (child < 0) die("fork: %s", strerror(errno));
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    execvp(command[0], command);
    _exit(127);
  }
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) die("cannot trace");
  if (ptrace(PTRACE_SETOPTIONS, child, NULL, options) != 0) die("ptrace: %s", strerror(errno));
  ptrace(PTRACE_SYSCALL, child, NULL, NULL);
  for (pid_t pid; (pid = waitpid(-1, &status, __WALL)) > 0;) {
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      if (pid == child) code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      continue;
    }
    int signal = WSTOPSIG(status);
    if (signal == (SIGTRAP | 0x80))
      on_stop(pid), signal = 0;
    else if (signal == SIGTRAP || signal == SIGSTOP)
      signal = 0;
    ptrace(PTRACE_SYSCALL, pid, NULL, (long)signal);
  }
  if (code != 0) die("the command ended with %d", code);
}
