/* Examines paths and removes directories, for files and for temporary names. See file.h. */
#include "base/file.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
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

void cq_directory_remove(const char *path) {
  struct stat self;
  DIR *dir = lstat(path, &self) == 0 && S_ISDIR(self.st_mode) ? opendir(path) : NULL; /* never through a link */
  if (!dir) return;
  for (struct dirent *entry; (entry = readdir(dir));) {
    char child[PATH_MAX];
    struct stat info;
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    if (snprintf(child, sizeof child, "%s/%s", path, entry->d_name) >= (int)sizeof child) continue;
    if (lstat(child, &info) != 0) continue;
    if (S_ISDIR(info.st_mode))
      cq_directory_remove(child);
    else
      unlink(child);
  }
  closedir(dir);
  rmdir(path);
}
