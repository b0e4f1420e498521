/* Files that hold the input of a fuzz target, in a directory of this process. See fuzz.h. */
#define _GNU_SOURCE
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_NAMES = 64, MAX_PATH = 200 };

static struct entry {
  char path[MAX_PATH];
  const char *name;   /* the part of path behind the directory */
  int fd;             /* -1: not written, or removed */
} entries[MAX_NAMES]; /* the first is the directory */
static size_t n_entries;
static char directory[MAX_PATH / 2];

static void remove_folder(const char *path) {
  char folder[MAX_PATH];
  const char *slash = strrchr(path, '/');
  snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
  rmdir(folder);
}

static void remove_all(void) {
  for (size_t i = 1; i < n_entries; i++) unlink(entries[i].path);
  for (size_t i = 1; i < n_entries; i++)
    if (strchr(entries[i].name, '/')) remove_folder(entries[i].path);
  rmdir(entries[0].path);
}

static struct entry *find(const char *name) {
  if (n_entries == 0) {
    const char *parent = getenv("TMPDIR");
    if (!parent) parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    CHECK(strlen(parent) < sizeof directory - 50);
    snprintf(directory, sizeof directory, "%s/calque-fuzz-%ld", parent, (long)getpid());
    memcpy(entries[0].path, directory, sizeof directory);
    entries[0].name = "";
    n_entries = 1;
    CHECK(mkdir(directory, 0700) == 0 && atexit(remove_all) == 0);
  }
  for (size_t i = 0; i < n_entries; i++)
    if (!strcmp(entries[i].name, name)) return &entries[i];
  CHECK(n_entries < MAX_NAMES);
  struct entry *e = &entries[n_entries++];
  const int length = snprintf(e->path, MAX_PATH, "%s/%s", directory, name);
  CHECK(length > 0 && length < MAX_PATH);
  e->name = e->path + strlen(directory) + 1;
  e->fd = -1;
  return e;
}

const char *fuzz_path(const char *name) {
  return find(name)->path;
}

static void make_folder(struct entry *e) {
  char *slash = strchr(e->name, '/') ? strrchr(e->path, '/') : NULL;
  if (!slash) return;
  *slash = '\0';
  mkdir(e->path, 0700);
  *slash = '/';
}

const char *fuzz_file(const char *name, const void *data, size_t n) {
  struct entry *e = find(name);
  if (e->fd < 0) {
    make_folder(e);
    e->fd = open(e->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  }
  CHECK(e->fd >= 0 && pwrite(e->fd, data, n, 0) == (ssize_t)n && ftruncate(e->fd, (off_t)n) == 0);
  return e->path;
}

void fuzz_remove(const char *name) {
  struct entry *e = find(name);
  if (e->fd < 0) return;
  close(e->fd);
  e->fd = -1;
  unlink(e->path);
}

fuzz_part fuzz_next_part(const uint8_t **data, size_t *n) {
  const uint8_t *end = *n > 0 ? memmem(*data, *n, "\n=\n", 3) : NULL;
  const fuzz_part part = {*data, end ? (size_t)(end - *data) + 1 : *n};
  const size_t taken = end ? part.n + 2 : *n;
  *data += taken, *n -= taken;
  return part;
}
