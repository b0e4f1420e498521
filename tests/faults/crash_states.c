/* What a disk may hold after a power cut: runs a command, records how it changes a directory, and makes the states that a
 * crash may leave, at each moment of the run, as far as what was synced allows.
 *
 *   crash_states [-n STATES] [-s SEED] [-x SYNC] DIR CRASHED CHECK COMMAND...
 *
 * The model of the disk:
 *
 *   data   what was written to a file is there for certain only after fsync or fdatasync of the file. Before, each write is
 *          there, is missing, is zeros that only the size tells of, or ends or begins at one of its sectors of 512 bytes;
 *          each truncation is there or is missing.
 *   names  what happened to the names of a directory (create, rename, exchange, link, remove) is there for certain only
 *          after fsync of the directory. Before, each change is there or is missing.
 *
 * None of these waits for another: not data for names, not names for data, not later changes for earlier ones.
 *
 * After each recorded call, all combinations are made if they are at most STATES (default 64). If not: all or none, all but
 * one, one alone, each with the data there, missing and zero, and combinations drawn at random, STATES in all. For each
 * state that has not been seen before, DIR's contents are made in CRASHED. CHECK, a command that is started once, is then
 * sent a line, 0, or 1 once the command has ended and what it did must be there. It answers with a line: ok, or what is
 * wrong.
 *
 * -x leaves out the run's SYNC-th fsync or fdatasync, as if the call were missing: if no check fails then, either the check
 * or the call is good for nothing.
 *
 * Prints the calls, the states, and how many of them differ. Exit 1 if a check failed, 2 if something else did. */
#define _GNU_SOURCE
#include "crash_disk.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECTOR = 512 };

static const char *const kind_names[] = {"write", "truncate", "sync", "add", "remove", "rename", "exchange"};

/* What became of a change. FRONT and BACK: of a write, what is before or from one of its sectors on. */
typedef enum fate { KEPT, LOST, ZEROS, FRONT, BACK } fate;
static const char fate_letters[] = "+-0<>";

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

static content contents[MAX_NODES];
static fate fates[MAX_OPERATIONS];
static int uncertain[MAX_OPERATIONS], n_uncertain; /* the operations that may be lost */

static uint64_t random_state;
static uint64_t draw(uint64_t below) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (random_state >> 33) % below;
}

/* --- one state --- */

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

static void set_size(content *c, size_t n) {
  c->data = more(c->data, n);
  if (c->n < n) memset(c->data + c->n, 0, n - c->n);
  c->n = n;
}

/* A sector's beginning within a write, as an offset in its data; 0: it has none. */
static size_t sector_in(const operation *o) {
  const size_t first = o->at / SECTOR + 1, end = (o->at + o->n - 1) / SECTOR + 1; /* of those that begin in it */
  return o->n == 0 || first >= end ? 0 : (first + (o->n + o->at) % (end - first)) * SECTOR - o->at;
}

static void apply_write(content *c, const operation *o, fate part) {
  const size_t middle = sector_in(o), from = part == BACK ? middle : 0, to = part == FRONT ? middle : o->n;
  if (c->n < o->at + to) set_size(c, o->at + to);
  if (part != ZEROS) memcpy(c->data + o->at + from, o->data + from, to - from);
}

static void apply(content *c, const operation *o, fate part) {
  switch (o->kind) {
  case SYNC: break;
  case WRITE: apply_write(c, o, part); break;
  case TRUNCATE: set_size(c, o->n); break;
  case ADD: put_entry(c, o->name, o->child); break;
  case REMOVE: drop_entry(c, o->name); break;
  case RENAME:
    drop_entry(c, o->name);
    put_entry(c, o->to, o->child);
    break;
  case EXCHANGE:
    put_entry(c, o->to, o->child);
    put_entry(c, o->name, o->other);
    break;
  }
}

/* What every node holds after the first n operations. */
static void make_state(int n) {
  for (int i = 0; i < n_nodes; i++) {
    free(contents[i].data), free(contents[i].entries);
    contents[i] = (content){0};
  }
  for (int i = 0; i < n; i++)
    if (fates[i] != LOST) apply(&contents[operations[i].node], &operations[i], fates[i]);
}

static uint64_t hash_bytes(uint64_t h, const void *bytes, size_t n) {
  uint64_t word;
  for (const unsigned char *p = bytes; n > 0; p += sizeof word, n -= n < sizeof word ? n : sizeof word) {
    word = n;
    memcpy(&word, p, n < sizeof word ? n : sizeof word);
    h = (h ^ word) * 0x9E3779B97F4A7C15u;
    h ^= h >> 32;
  }
  return h;
}

static int compare_entries(const void *a, const void *b) {
  return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

static uint64_t hash_tree(int at, uint64_t h) {
  content *c = &contents[at];
  if (!nodes[at].is_directory) return hash_bytes(hash_bytes(h, &c->n, sizeof c->n), c->data, c->n);
  if (c->n_entries) qsort(c->entries, (size_t)c->n_entries, sizeof *c->entries, compare_entries);
  for (int i = 0; i < c->n_entries; i++)
    h = hash_tree(c->entries[i].node, hash_bytes(h, c->entries[i].name, strlen(c->entries[i].name) + 1));
  return hash_bytes(h, "/", 1);
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where) {
  (void)info, (void)where;
  return type == FTW_DP ? rmdir(path) : unlink(path);
}

static void write_tree(int at, const char *path) {
  const content *c = &contents[at];
  if (!nodes[at].is_directory) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(c->data, 1, c->n, file) != c->n || fclose(file) != 0) die("%s: cannot write", path);
    return;
  }
  if (mkdir(path, 0777) != 0) die("%s: %s", path, strerror(errno));
  for (int i = 0; i < c->n_entries; i++) {
    char inside[PATH_MAX];
    if (snprintf(inside, sizeof inside, "%s/%s", path, c->entries[i].name) >= (int)sizeof inside)
      die("%s: too long", path);
    write_tree(c->entries[i].node, inside);
  }
}

/* --- checking --- */

static struct {
  const char *crashed;
  FILE *to, *from; /* the checker */
  pid_t pid;
  uint64_t *seen;
  size_t n_seen, n_states, n_failed;
  int n_first, n; /* operations before the command, and before the crash */
} run;

static void start_checker(const char *command) {
  int to[2], from[2];
  if (pipe(to) != 0 || pipe(from) != 0 || (run.pid = fork()) < 0) die("%s: %s", command, strerror(errno));
  if (run.pid == 0) {
    dup2(to[0], STDIN_FILENO), dup2(from[1], STDOUT_FILENO);
    close(to[0]), close(to[1]), close(from[0]), close(from[1]);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
  }
  close(to[0]), close(from[1]);
  run.to = fdopen(to[1], "w"), run.from = fdopen(from[0], "r");
}

/* Prints the run's calls and what became of each, for whoever looks for the cause. */
static void print_operations(void) {
  for (int i = run.n_first; i < run.n; i++) {
    const operation *o = &operations[i];
    bool is_uncertain = false;
    for (int u = 0; u < n_uncertain; u++) is_uncertain |= uncertain[u] == i;
    fprintf(stderr, "  %4d %c %s node %d %s %s %zu bytes at %zu\n", i - run.n_first + 1,
            o->kind == SYNC ? ' '
            : is_uncertain  ? fate_letters[fates[i]]
                            : '=',
            kind_names[o->kind], o->node, o->name, o->to, o->n, o->at);
  }
}

static void try_state(void) {
  char answer[4096];
  make_state(run.n);
  run.n_states++;
  const uint64_t hash = hash_tree(0, run.n == n_operations);
  for (size_t i = 0; i < run.n_seen; i++)
    if (run.seen[i] == hash) return;
  run.seen = more(run.seen, (run.n_seen + 1) * sizeof *run.seen);
  run.seen[run.n_seen++] = hash;
  if (nftw(run.crashed, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
    die("%s: %s", run.crashed, strerror(errno));
  write_tree(0, run.crashed);
  if (fprintf(run.to, "%d\n", run.n == n_operations) < 0 || fflush(run.to) != 0 ||
      !fgets(answer, sizeof answer, run.from))
    die("the check has ended, after change %d of %d", run.n - run.n_first, n_operations - run.n_first);
  if (!strcmp(answer, "ok\n")) return;
  fprintf(stderr, "a crash after change %d of %d: %s", run.n - run.n_first, n_operations - run.n_first, answer);
  if (run.n_failed++ == 0) print_operations();
}

static int n_fates(const operation *o) {
  return o->kind != WRITE ? 2 : sector_in(o) ? 5 : 3;
}

/* What came after the last sync of its file or directory. */
static void find_uncertain(void) {
  static int last_sync[MAX_NODES];
  for (int i = 0; i < n_nodes; i++) last_sync[i] = -1;
  for (int i = 0; i < run.n; i++)
    if (operations[i].kind == SYNC) last_sync[operations[i].node] = i;
  n_uncertain = 0;
  for (int i = 0; i < run.n; i++) {
    fates[i] = KEPT;
    if (operations[i].kind != SYNC && i > last_sync[operations[i].node]) uncertain[n_uncertain++] = i;
  }
}

/* One fate for names, one for data (truncations are lost or kept). */
static void set_all(fate of_names, fate of_data) {
  for (int u = 0; u < n_uncertain; u++) {
    const operation *o = &operations[uncertain[u]];
    fates[uncertain[u]] = o->kind == WRITE ? of_data : o->kind == TRUNCATE ? (of_data == KEPT ? KEPT : LOST) : of_names;
  }
}

static void try_all(void) {
  for (bool is_done = false; !is_done;) {
    int u = 0;
    try_state();
    while (u < n_uncertain && (int)++fates[uncertain[u]] == n_fates(&operations[uncertain[u]]))
      fates[uncertain[u++]] = KEPT;
    is_done = u == n_uncertain;
  }
}

static void try_some(size_t n_states) {
  static const fate some[] = {KEPT, LOST, ZEROS};
  const size_t before = run.n_states;
  for (int names = 0; names < 2; names++)
    for (int data = 0; data < 3; data++) {
      set_all(some[names], some[data]);
      try_state();
    }
  for (int u = 0; u < n_uncertain && run.n_states - before + 2 <= n_states / 2; u++) {
    const int late = n_uncertain - 1 - u;
    set_all(KEPT, KEPT), fates[uncertain[late]] = LOST, try_state();
    set_all(LOST, LOST), fates[uncertain[late]] = KEPT, try_state();
  }
  while (run.n_states - before < n_states) {
    for (int u = 0; u < n_uncertain; u++)
      fates[uncertain[u]] = (fate)draw((uint64_t)n_fates(&operations[uncertain[u]]));
    try_state();
  }
}

int main(int argc, char **argv) {
  int option, left_out = 0, status;
  size_t most = 64;
  unsigned long long seed = 1;
  while ((option = getopt(argc, argv, "+n:s:x:")) != -1) {
    if (option == 'n')
      most = strtoull(optarg, NULL, 10);
    else if (option == 's')
      seed = strtoull(optarg, NULL, 10);
    else if (option == 'x')
      left_out = atoi(optarg);
    else
      return 2;
  }
  if (argc - optind < 4) die("crash_states [-n STATES] [-s SEED] [-x SYNC] DIR CRASHED CHECK COMMAND...");
  char **words = argv + optind;
  random_state = seed * 0x9E3779B97F4A7C15u;
  record_tree(words[0]);
  run.n_first = n_operations, run.crashed = words[1];
  record_command(words + 3, left_out);
  start_checker(words[2]);
  for (run.n = run.n_first; run.n <= n_operations; run.n++) {
    double n_all = 1;
    find_uncertain();
    for (int u = 0; u < n_uncertain; u++) n_all *= n_fates(&operations[uncertain[u]]);
    if (n_all <= (double)most)
      try_all();
    else
      try_some(most);
  }
  fclose(run.to);
  if (waitpid(run.pid, &status, 0) != run.pid || status != 0) die("the check ended with status %d", status);
  printf("%d changes, %d syncs, %zu states after a crash, %zu of them different, %zu refused\n",
         n_operations - run.n_first, n_syncs, run.n_states, run.n_seen, run.n_failed);
  return run.n_failed > 0;
}
