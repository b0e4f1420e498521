/* What a disk may hold after a power cut: runs a command, records how it changes a directory, and makes every state that
 * a crash may leave, at each moment of the run, as far as what was synced allows.
 *
 *   crash_states [-n RANDOM] [-s SEED] DIR CRASHED CHECK COMMAND...
 *
 * The recorder is a debugger (ptrace): it sees the command's own system calls, whoever makes them. The model of the disk:
 *
 *   data       what was written is there for certain only after fsync or fdatasync of the file; before, each write is
 *              there, is missing, or is zeros that only the size tells of
 *   names      what happened to the names of a directory (create, rename, exchange, link, remove) is there for certain
 *              only after fsync of the directory; before, the first so many of its changes are there
 *   data and names, and the names of different directories, do not wait for one another
 *
 * After each recorded call, five states are made (all names or only the certain ones, with all data, only the certain
 * data, or zeros) and RANDOM ones (default 4) that draw for each directory and each write. For each that has not been
 * seen before, DIR's contents are made in CRASHED and CHECK, a line for the shell, must end with 0.
 *
 * Prints the calls, the states, and how many of them differ. Exit 1 if a check failed, 2 if something else did. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <limits.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <linux/ptrace.h> /* after sys/ptrace.h */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(2);
}

static void *more(void *old, size_t n) {
  void *p = realloc(old, n ? n : 1);
  if (!p) die("out of memory");
  return p;
}

/* --- what was recorded --- */

enum { MAX_NODES = 65536, MAX_OPS = 65536 };

typedef struct node { /* a file or a directory */
  ino_t number;
  bool is_directory;
} node;

typedef enum kind { WRITE, TRUNCATE, SYNC, ADD, REMOVE, RENAME, EXCHANGE } kind;
static const char *const kind_names[] = {"write", "truncate", "sync", "add", "remove", "rename", "exchange"};

typedef struct operation {
  kind kind;
  int node;            /* the file, or the directory whose names change */
  int child;           /* ADD: what gets the name */
  char name[NAME_MAX + 1], to[NAME_MAX + 1];
  unsigned char *data; /* WRITE */
  size_t n;            /* its bytes; TRUNCATE: the size */
  size_t at;
} operation;

static node nodes[MAX_NODES];
static operation ops[MAX_OPS];
static int n_nodes, n_ops, n_first_ops; /* the first ones: what was there before */

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

static operation *add_operation(kind kind, int node) {
  if (n_ops == MAX_OPS) die("too many changes");
  ops[n_ops] = (operation){.kind = kind, .node = node};
  return &ops[n_ops++];
}

static void add_name(int directory, const char *name, int child) {
  operation *o = add_operation(ADD, directory);
  o->child = child;
  snprintf(o->name, sizeof o->name, "%s", name);
}

/* Everything below a directory, as it is: certain. */
static void record_tree(const char *path, int directory) {
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
      record_tree(inside, child);
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
    struct iovec here = {out + i, 1}, there = {(void *)(uintptr_t)(address + i), 1}; // NOLINT: another process's address
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
enum { SYS_open, SYS_creat, SYS_rename, SYS_link, SYS_unlink, SYS_rmdir, SYS_mkdir };
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
    if (any >= 0) add_operation(SYNC, any);
  } else if (is_open(t) && t->directory >= 0 && (flags & O_ACCMODE) != O_RDONLY) {
    char path[64];
    struct stat info;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", t->pid, (int)result);
    if (stat(path, &info) != 0) die("%s: %s", path, strerror(errno));
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
    if (t->directory != t->to_directory) die("%s is renamed into another directory: not modelled", t->name);
    operation *o = add_operation(CALL(renameat2) && (t->args[4] & RENAME_EXCHANGE) ? EXCHANGE : RENAME, t->directory);
    snprintf(o->name, sizeof o->name, "%s", t->name);
    snprintf(o->to, sizeof o->to, "%s", t->to);
  } else if (CALL(mmap) && (t->args[2] & 2) && (t->args[3] & 3) == 1 && node_of_fd(t->pid, t->args[4]) >= 0) {
    die("a file is mapped to be written: not modelled"); /* PROT_WRITE, MAP_SHARED */
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

static void record(char **command) {
  const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                       PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  const pid_t child = fork();
  int status, code = -1;
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

/* --- states --- */

typedef struct entry {
  char name[NAME_MAX + 1];
  int node;
} entry;

typedef struct content { /* of a node */
  unsigned char *data;
  size_t n;
  entry *entries;
  int n_entries;
} content;

typedef enum fate { LOST, KEPT, ZEROS } fate;
typedef enum manner { ALL_ALL, ALL_CERTAIN, CERTAIN_CERTAIN, CERTAIN_ALL, ALL_ZEROS, DRAWN } manner;
static const char *const manner_names[] = {"all names, all data",         "all names, only synced data",
                                           "only synced names and data",  "only synced names, all data",
                                           "all names, zeros for data",   "drawn"};

static uint64_t random_state;
static uint64_t draw(uint64_t below) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (random_state >> 33) % below;
}

static int entry_at(const content *c, const char *name) {
  for (int i = 0; i < c->n_entries; i++)
    if (!strcmp(c->entries[i].name, name)) return i;
  return -1;
}

static void put_entry(content *c, const char *name, int child) {
  int at = entry_at(c, name);
  if (at < 0) {
    at = c->n_entries++;
    c->entries = more(c->entries, (size_t)c->n_entries * sizeof *c->entries);
    snprintf(c->entries[at].name, sizeof c->entries[at].name, "%s", name);
  }
  c->entries[at].node = child;
}

static void drop_entry(content *c, const char *name) {
  const int at = entry_at(c, name);
  if (at >= 0) c->entries[at] = c->entries[--c->n_entries];
}

static void apply(content *c, const operation *o, fate fate) {
  int a, b;
  switch (o->kind) {
  case SYNC: break;
  case WRITE:
    if (c->n < o->at + o->n) {
      c->data = more(c->data, o->at + o->n);
      memset(c->data + c->n, 0, o->at + o->n - c->n);
      c->n = o->at + o->n;
    }
    if (fate == KEPT) memcpy(c->data + o->at, o->data, o->n);
    break;
  case TRUNCATE:
    c->data = more(c->data, o->n);
    if (c->n < o->n) memset(c->data + c->n, 0, o->n - c->n);
    c->n = o->n;
    break;
  case ADD: put_entry(c, o->name, o->child); break;
  case REMOVE: drop_entry(c, o->name); break;
  case RENAME:
    if ((a = entry_at(c, o->name)) < 0) break;
    a = c->entries[a].node;
    drop_entry(c, o->name);
    put_entry(c, o->to, a);
    break;
  case EXCHANGE:
    a = entry_at(c, o->name), b = entry_at(c, o->to);
    if (a < 0 || b < 0) break;
    const int child = c->entries[a].node;
    c->entries[a].node = c->entries[b].node, c->entries[b].node = child;
    break;
  }
}

/* What every node holds if the crash comes after the first n operations. */
static void make_state(content *contents, int n, manner manner) {
  static int last_sync[MAX_NODES], names_left[MAX_NODES];
  for (int i = 0; i < n_nodes; i++) contents[i] = (content){0}, last_sync[i] = -1, names_left[i] = 0;
  for (int i = 0; i < n; i++)
    if (ops[i].kind == SYNC) last_sync[ops[i].node] = i;
  for (int i = 0; i < n; i++) names_left[ops[i].node] += i > last_sync[ops[i].node];
  for (int i = 0; i < n_nodes; i++) /* of a directory's uncertain changes the first so many */
    if (manner == DRAWN) names_left[i] = (int)draw((uint64_t)names_left[i] + 1);
  for (int i = 0; i < n; i++) {
    const operation *o = &ops[i];
    const bool is_certain = i < last_sync[o->node], is_name = nodes[o->node].is_directory;
    fate fate = KEPT;
    if (!is_certain && is_name)
      fate = manner == CERTAIN_CERTAIN || manner == CERTAIN_ALL || (manner == DRAWN && names_left[o->node]-- <= 0) ? LOST
                                                                                                                 : KEPT;
    else if (!is_certain)
      fate = manner == DRAWN                                         ? (enum fate)draw(3)
             : manner == ALL_CERTAIN || manner == CERTAIN_CERTAIN ? LOST
             : manner == ALL_ZEROS                                  ? ZEROS
                                                                    : KEPT;
    if (fate != LOST) apply(&contents[o->node], o, fate);
  }
}

static uint64_t hash_bytes(uint64_t h, const void *bytes, size_t n) {
  for (size_t i = 0; i < n; i++) h = (h ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
  return h;
}

static int compare_entries(const void *a, const void *b) {
  return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

static uint64_t hash_tree(content *contents, int at, uint64_t h) {
  content *c = &contents[at];
  if (!nodes[at].is_directory) return hash_bytes(hash_bytes(h, &c->n, sizeof c->n), c->data, c->n);
  if (c->n_entries) qsort(c->entries, (size_t)c->n_entries, sizeof *c->entries, compare_entries);
  for (int i = 0; i < c->n_entries; i++)
    h = hash_tree(contents, c->entries[i].node, hash_bytes(h, c->entries[i].name, strlen(c->entries[i].name) + 1));
  return hash_bytes(h, "/", 1);
}

static void write_tree(const content *contents, int at, const char *path) {
  const content *c = &contents[at];
  if (!nodes[at].is_directory) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(c->data, 1, c->n, file) != c->n || fclose(file) != 0) die("%s: cannot write", path);
    return;
  }
  if (mkdir(path, 0777) != 0) die("%s: %s", path, strerror(errno));
  for (int i = 0; i < c->n_entries; i++) {
    char inside[PATH_MAX];
    if (snprintf(inside, sizeof inside, "%s/%s", path, c->entries[i].name) >= (int)sizeof inside) die("%s: too long", path);
    write_tree(contents, c->entries[i].node, inside);
  }
}

/* Prints the run's calls, for whoever looks for the cause. */
static void print_operations(int n) {
  for (int i = n_first_ops; i < n; i++)
    fprintf(stderr, "  %4d %s node %d %s %s %zu bytes at %zu\n", i - n_first_ops + 1, kind_names[ops[i].kind], ops[i].node,
            ops[i].name, ops[i].to, ops[i].n, ops[i].at);
}

int main(int argc, char **argv) {
  static content contents[MAX_NODES];
  uint64_t *seen = NULL;
  size_t n_seen = 0, n_states = 0, n_failed = 0;
  int n_random = 4, option;
  unsigned long long seed = 1;
  struct stat info;
  while ((option = getopt(argc, argv, "+n:s:")) != -1) {
    if (option == 'n') n_random = atoi(optarg);
    else if (option == 's') seed = strtoull(optarg, NULL, 10);
    else return 2;
  }
  if (argc - optind < 4) die("crash_states [-n RANDOM] [-s SEED] DIR CRASHED CHECK COMMAND...");
  char **words = argv + optind, remove[PATH_MAX + 16];
  random_state = seed * 0x9E3779B97F4A7C15u;
  if (stat(words[0], &info) != 0 || !S_ISDIR(info.st_mode)) die("%s: no directory", words[0]);
  record_tree(words[0], add_node(info.st_ino, true));
  n_first_ops = n_ops;
  record(words + 3);
  snprintf(remove, sizeof remove, "rm -rf '%s'", words[1]);
  for (int n = n_first_ops; n <= n_ops; n++) {
    for (int way = 0; way < DRAWN + n_random; way++) {
      const manner manner = way < DRAWN ? (enum manner)way : DRAWN;
      make_state(contents, n, manner);
      const uint64_t hash = hash_tree(contents, 0, 0xcbf29ce484222325u);
      bool is_new = true;
      for (size_t i = 0; i < n_seen && is_new; i++) is_new = seen[i] != hash;
      n_states++;
      if (is_new) {
        seen = more(seen, (n_seen + 1) * sizeof *seen);
        seen[n_seen++] = hash;
        if (system(remove) != 0) die("%s: cannot remove", words[1]);
        write_tree(contents, 0, words[1]);
        if (system(words[2]) != 0) {
          fprintf(stderr, "a crash after change %d of %d, %s\n", n - n_first_ops, n_ops - n_first_ops, manner_names[manner]);
          if (n_failed++ == 0) print_operations(n);
        }
      }
      for (int i = 0; i < n_nodes; i++) free(contents[i].data), free(contents[i].entries);
    }
  }
  printf("%d changes, %zu states after a crash, %zu of them different, %zu refused\n", n_ops - n_first_ops, n_states, n_seen,
         n_failed);
  return n_failed > 0;
}
