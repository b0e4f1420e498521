/* Examines paths and removes directories, for files and for temporary names. See file.h. */
#include "base/file.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

bool cq_is_directory(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

size_t cq_path_length(const char *path) {
  size_t n = strlen(path);
  while (n > 1 && path[n - 1] == '/') n--;
  return n;
}

/* Removes an entry of an open directory, and what is in it; never through a link. Without memory from the allocator,
 * because directories are removed when it has none left, too. */
static void remove_entry(int parent, const char *name) { // NOLINT(misc-no-recursion)
  struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t n_bytes;
    uint8_t type;
    char name[];
  };
  _Alignas(struct entry) char buffer[4096];
  const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  for (long n; (n = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0;)
    for (long at = 0; at < n;) {
      const struct entry *e = (const struct entry *)(const void *)(buffer + at);
      at += e->n_bytes;
      if (!strcmp(e->name, ".") || !strcmp(e->name, "..")) continue;
      if (unlinkat(fd, e->name, 0) != 0) remove_entry(fd, e->name);
    }
  close(fd);
  (void)unlinkat(parent, name, AT_REMOVEDIR);
}

void cq_directory_remove(const char *path) {
  remove_entry(AT_FDCWD, path);
}
