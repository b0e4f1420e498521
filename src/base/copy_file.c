/* Copying files and directories. */
#include "base/error.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_COPY_DEPTH = 16, MAX_COPY_PATH = 4200 };

cq_status cq_file_copy(const char *from, const char *to, cq_error *error) {
  cq_mapping bytes;
  cq_status status = cq_mapping_open(&bytes, from, error);
  if (status) return status;
  status = cq_file_write(to, bytes.data, bytes.n, error);
  cq_mapping_close(&bytes);
  return status;
}

/* top: the copy, which must not be inside the source. */
static cq_status copy_level(const char *from, const char *to, const struct stat *top, int depth, cq_error *error) {
  char source[MAX_COPY_PATH], target[MAX_COPY_PATH];
  cq_status status = CQ_OK;
  if (depth > MAX_COPY_DEPTH)
    return cq_fail_file(error, CQ_ERR_LIMIT, from, "more than %d directories in one another", MAX_COPY_DEPTH);
  DIR *dir = opendir(from);
  if (!dir) return cq_fail_errno(error, from, "cannot open");
  for (;;) {
    struct stat info;
    errno = 0;
    const struct dirent *entry = readdir(dir);
    if (!entry && errno) status = cq_fail_errno(error, from, "cannot read");
    if (!entry || status) break;
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    if ((status = cq_path_join(source, sizeof source, from, entry->d_name, error)) ||
        (status = cq_path_join(target, sizeof target, to, entry->d_name, error)))
      break;
    if (stat(source, &info) != 0) /* links are followed: the copy stands alone */
      status = cq_fail_errno(error, source, "cannot read");
    else if (S_ISREG(info.st_mode))
      status = cq_file_copy(source, target, error);
    else if (!S_ISDIR(info.st_mode))
      status = cq_fail_file(error, CQ_ERR_UNSUPPORTED, source, "is neither a file nor a directory");
    else if (info.st_dev == top->st_dev && info.st_ino == top->st_ino)
      status = cq_fail_file(error, CQ_ERR_ARGUMENT, source,
                            "is the copy itself, which lies in the directory that is copied");
    else if (!(status = cq_directory_make(target, error)))
      status = copy_level(source, target, top, depth + 1, error);
    if (status) break;
  }
  closedir(dir);
  return status;
}

cq_status cq_directory_copy(const char *from, const char *to, cq_error *error) {
  struct stat top;
  if (stat(to, &top) != 0) return cq_fail_errno(error, to, "cannot read");
  return copy_level(from, to, &top, 1, error);
}
