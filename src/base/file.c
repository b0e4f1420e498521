/* Reads and writes whole files and directories. Output gets a temporary name, is synced and then renamed. See
 * file.h. */
#include "base/file.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/fs.h>
#include <sys/syscall.h>
#endif

/* ---- reading ---- */

static cq_status open_regular(int *fd, size_t *size, const char *path, cq_error *error) {
  struct stat info;
  *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* refuse a FIFO without a writer instead of waiting for one */
  if (*fd < 0) return cq_fail_errno(error, path, "cannot open");
  if (fstat(*fd, &info) != 0) {
    cq_status status = cq_fail_errno(error, path, "cannot stat");
    close(*fd);
    return status;
  }
  if (!S_ISREG(info.st_mode)) {
    close(*fd);
    return cq_fail_file(error, CQ_ERR_IO, path, "not a regular file");
  }
  *size = (size_t)info.st_size;
  return CQ_OK;
}

cq_status cq_mapping_open(cq_mapping *out, const char *path, cq_error *error) {
  int fd;
  size_t n;
  *out = (cq_mapping){0};
  cq_status status = open_regular(&fd, &n, path, error);
  if (status) return status;
  if (n == 0) {
    close(fd);
    out->data = (const unsigned char *)"";
    return CQ_OK;
  }
  void *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
  if (p == MAP_FAILED)
    status = cq_fail_errno(error, path, "cannot map");
  else
    *out = (cq_mapping){p, n};
  close(fd);
  return status;
}

cq_status cq_mapping_not_pointer(const cq_mapping *mapping, const char *path, cq_error *error) {
  static const char first[] = "version https://git-lfs.github.com/spec/";
  if (mapping->n < sizeof first || memcmp(mapping->data, first, sizeof first - 1) != 0) return CQ_OK;
  return cq_fail_file(error, CQ_ERR_FORMAT, path,
                      "a pointer of Git LFS, not the file itself: run 'git lfs pull' there, or download the file");
}

void cq_mapping_close(cq_mapping *mapping) {
  if (mapping->n) munmap((void *)(uintptr_t)mapping->data, mapping->n);
  *mapping = (cq_mapping){0};
}

void cq_mapping_release_pages(const cq_mapping *mapping) {
  if (mapping->n) (void)madvise((void *)(uintptr_t)mapping->data, mapping->n, MADV_DONTNEED);
}

cq_status cq_file_read(cq_slice *out, const char *path, cq_error *error) {
  int fd;
  size_t n, got = 0;
  *out = (cq_slice){0};
  cq_status status = open_regular(&fd, &n, path, error);
  if (status) return status;
  if (n > CQ_MAX_FILE_READ)
    status = cq_fail_file(error, CQ_ERR_LIMIT, path, "%zu bytes, at most %zu are read", n, CQ_MAX_FILE_READ);
  char *data = status ? NULL : cq_alloc(n + 1);
  if (!status && !data) status = cq_fail_memory(error, path);
  if (status) {
    close(fd);
    return status;
  }
  while (got < n) {
    ssize_t step = read(fd, data + got, n - got);
    if (step < 0 && errno == EINTR) continue;
    if (step < 0) {
      status = cq_fail_errno(error, path, "cannot read");
      break;
    }
    if (step == 0) break; /* the file shrank while being read */
    got += (size_t)step;
  }
  close(fd);
  if (status) {
    cq_free(data);
    return status;
  }
  data[got] = '\0';
  *out = (cq_slice){data, got};
  return CQ_OK;
}

bool cq_file_exists(const char *path) {
  struct stat info;
  return stat(path, &info) == 0;
}

cq_status cq_path_join(char *out, size_t out_size, const char *dir, const char *name, cq_error *error) {
  size_t n = strlen(dir);
  const char *between = n == 0 || dir[n - 1] == '/' || name[0] == '\0' ? "" : "/";
  int written = snprintf(out, out_size, "%s%s%s", dir, between, name);
  if (written < 0 || (size_t)written >= out_size)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, name, "the path is longer than %zu bytes", out_size - 1);
  return CQ_OK;
}

cq_slice cq_path_name(const char *path) {
  const size_t end = cq_path_length(path);
  size_t start = end;
  while (start > 0 && path[start - 1] != '/') start--;
  return (cq_slice){path + start, end - start};
}

bool cq_path_parent(char *out, size_t out_size, const char *path) {
  const size_t n = (size_t)(cq_path_name(path).data - path);
  const int written = snprintf(out, out_size, "%.*s", n ? (int)n : 1, n ? path : ".");
  return written >= 0 && (size_t)written < out_size;
}

/* ---- writing ---- */

/* Opens path's directory, to sync it after a rename. It is opened before, so that afterwards only the sync itself can
 * fail. -1 with CQ_OK: the directory is writable but not readable. */
static cq_status open_parent(int *fd, const char *path, cq_error *error) {
  char parent[PATH_MAX];
  errno = ENAMETOOLONG;
  *fd = cq_path_parent(parent, sizeof parent, path) ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  return *fd < 0 && errno != EACCES ? cq_fail_errno(error, path, "cannot open the directory of") : CQ_OK;
}

static cq_status sync_parent(int fd, const char *path, cq_error *error) {
  if (fd < 0 || fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP) return CQ_OK; /* not every file system can */
  return cq_fail_errno(error, path, "cannot sync the directory of");
}

cq_status cq_sync_name(const char *path, cq_error *error) {
  int parent;
  cq_status status = open_parent(&parent, path, error);
  if (status) return status;
  status = sync_parent(parent, path, error);
  if (parent >= 0) close(parent);
  return status;
}

void cq_remove_leftovers(const char *path) {
  char directory[PATH_MAX], name[PATH_MAX];
  const cq_slice base = cq_path_name(path);
  if (!cq_path_parent(directory, sizeof directory, path)) return;
  DIR *dir = opendir(directory);
  if (!dir) return;
  for (struct dirent *entry; (entry = readdir(dir));) {
    long pid;
    char end;
    unsigned count;
    if (strncmp(entry->d_name, base.data, base.n) != 0) continue;
    if (sscanf(entry->d_name + base.n, ".tmp-%ld-%u%c", &pid, &count, &end) != 2 || pid <= 0) continue;
    if (pid == getpid() ? cq_temporary_is_open(entry->d_name) : kill((pid_t)pid, 0) == 0 || errno != ESRCH) continue;
    if (snprintf(name, sizeof name, "%s/%s", directory, entry->d_name) >= (int)sizeof name) continue;
    int fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    struct stat info;
    if (fstat(fd, &info) == 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
      if (S_ISREG(info.st_mode))
        unlink(name);
      else if (S_ISDIR(info.st_mode) && info.st_uid == geteuid()) /* others could change it meanwhile */
        cq_directory_remove(name);
    }
    close(fd);
  }
  closedir(dir);
}

cq_status cq_writer_open(cq_writer *out, const char *path, cq_error *error) {
  *out = (cq_writer){.path = cq_strdup(path), .temporary = cq_temporary_name(path)};
  if (!out->path || !out->temporary) {
    cq_writer_abort(out);
    return cq_fail_memory(error, path);
  }
  cq_remove_leftovers(path);
  out->stream = fopen(out->temporary, "wbe");
  if (!out->stream) {
    cq_status status = cq_fail_errno(error, path, "cannot create");
    cq_writer_abort(out);
    return status;
  }
  (void)flock(fileno(out->stream), LOCK_EX | LOCK_NB); /* protects it from other processes' cq_remove_leftovers */
  return CQ_OK;
}

cq_status cq_writer_open_output(cq_writer *out, const char *path, cq_error *error) {
  struct stat info;
  char target[PATH_MAX];
  *out = (cq_writer){0};
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
    return cq_fail_file(error, CQ_ERR_IO, path, "cannot create: it exists and is not a regular file");
  return cq_writer_open(out, realpath(path, target) ? target : path, error);
}

cq_status cq_writer_bytes(cq_writer *w, const void *bytes, size_t n, cq_error *error) {
  if (n && fwrite(bytes, 1, n, w->stream) != n) return cq_fail_errno(error, w->path, "cannot write");
  return CQ_OK;
}

cq_status cq_writer_commit(cq_writer *w, cq_error *error) {
  int parent;
  cq_status status = open_parent(&parent, w->path, error);
  if (!status && (fflush(w->stream) != 0 || ferror(w->stream) || fsync(fileno(w->stream)) != 0))
    status = cq_fail_errno(error, w->path, "cannot write");
  if (fclose(w->stream) != 0 && !status) status = cq_fail_errno(error, w->path, "cannot write");
  w->stream = NULL;
  if (!status && rename(w->temporary, w->path) != 0) status = cq_fail_errno(error, w->path, "cannot put in place");
  if (!status) {
    cq_temporary_release(w->temporary);
    w->temporary = NULL;
    status = sync_parent(parent, w->path, error);
  }
  if (parent >= 0) close(parent);
  cq_writer_abort(w);
  return status;
}

void cq_writer_abort(cq_writer *w) {
  if (w->stream) fclose(w->stream);
  if (w->temporary) unlink(w->temporary);
  cq_temporary_release(w->temporary);
  cq_free(w->path);
  *w = (cq_writer){0};
}

cq_status cq_file_write(const char *path, const void *bytes, size_t n, cq_error *error) {
  cq_writer w;
  cq_status status = cq_writer_open(&w, path, error);
  if (!status) status = cq_writer_bytes(&w, bytes, n, error);
  if (!status) status = cq_writer_commit(&w, error);
  cq_writer_abort(&w);
  return status;
}

cq_status cq_write_at(int fd, const void *bytes, size_t n, int64_t at, const char *path, cq_error *error) {
  for (size_t done = 0; done < n;) {
    const ssize_t step = pwrite(fd, (const char *)bytes + done, n - done, (off_t)(at + (int64_t)done));
    if (step < 0 && errno == EINTR) continue;
    if (step <= 0) return cq_fail_errno(error, path, "cannot write");
    done += (size_t)step;
  }
  return CQ_OK;
}

/* ---- directories ---- */

cq_status cq_directory_make(const char *path, cq_error *error) {
  char *copy = cq_strdup(path);
  if (!copy) return cq_fail_memory(error, path);
  cq_status status = CQ_OK;
  for (char *p = copy + 1;; p++) {
    if (*p != '/' && *p != '\0') continue;
    char kept = *p;
    *p = '\0';
    if (mkdir(copy, 0777) == 0)
      status = cq_sync_name(copy, error);
    else if (errno != EEXIST)
      status = cq_fail_errno(error, copy, "cannot create the directory");
    *p = kept;
    if (status || kept == '\0') break;
  }
  if (!status && !cq_is_directory(path)) status = cq_fail_file(error, CQ_ERR_IO, path, "exists and is not a directory");
  cq_free(copy);
  return status;
}

cq_status cq_directory_lock(int *lock, const char *path, cq_error *error) {
  const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return cq_fail_errno(error, path, "cannot open");
  *lock = fd;
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, path, "another process is at work here");
  return CQ_OK;
}

cq_status cq_directory_retire(const char *path, cq_error *error) {
  int parent;
  char *aside = cq_temporary_name(path);
  cq_status status = aside ? open_parent(&parent, path, error) : cq_fail_memory(error, path);
  if (status) {
    cq_temporary_release(aside);
    return status;
  }
  if (rename(path, aside) != 0) status = cq_fail_errno(error, path, "cannot remove");
  if (!status) status = sync_parent(parent, path, error); /* a crash leaves the whole directory or nothing */
  if (!status) cq_directory_remove(aside);
  if (parent >= 0) close(parent);
  cq_temporary_release(aside);
  return status;
}

cq_status cq_directory_writer_open(cq_directory_writer *out, const char *path, bool replace, cq_error *error) {
  *out = (cq_directory_writer){.replace = replace};
  if (!replace && cq_file_exists(path)) return cq_fail_file(error, CQ_ERR_ARGUMENT, path, "already exists");
  struct stat info;
  if (lstat(path, &info) == 0 && !S_ISDIR(info.st_mode))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, path, "is a %s, expected a directory to replace",
                        S_ISLNK(info.st_mode) ? "symbolic link" : "file");
  out->path = cq_strdup(path);
  out->temporary = cq_temporary_name(path);
  if (!out->path || !out->temporary) {
    cq_directory_writer_abort(out);
    return cq_fail_memory(error, path);
  }
  cq_remove_leftovers(path);
  cq_directory_remove(out->temporary); /* left by a killed process with our process id */
  cq_status status = cq_directory_make(out->temporary, error);
  if (status) {
    cq_directory_writer_abort(out);
    return status;
  }
  out->lock = open(out->temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (out->lock > 0) (void)flock(out->lock, LOCK_EX | LOCK_NB); /* as for files */
  return CQ_OK;
}

cq_status cq_directory_writer_temporary(cq_directory_writer *out, const char *name, cq_error *error) {
  char path[PATH_MAX];
  *out = (cq_directory_writer){0};
  cq_status status = cq_path_join(path, sizeof path, cq_temporary_directory(), name, error);
  if (status) return status;
  cq_remove_leftovers(path);
  for (int tries = 0; !out->temporary && tries < 100; tries++) {
    if (!(out->temporary = cq_temporary_name(path))) return cq_fail_memory(error, path);
    if (mkdir(out->temporary, 0700) == 0) continue;
    const bool exists = errno == EEXIST;
    status = cq_fail_errno(error, out->temporary, "cannot create the directory");
    cq_temporary_release(out->temporary);
    out->temporary = NULL;
    if (!exists) return status;
  }
  if (!out->temporary) return status;
  out->lock = open(out->temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (out->lock > 0) (void)flock(out->lock, LOCK_EX | LOCK_NB); /* as for files */
  return CQ_OK;
}

/* Swaps two directories in one step, so that a kill in between leaves one or the other; false if the system or the file
 * system cannot. */
static bool exchange_paths(const char *a, const char *b) {
#if defined(SYS_renameat2) && defined(RENAME_EXCHANGE)
  return syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0;
#else
  (void)a, (void)b;
  return false;
#endif
}

/* Puts the new directory in the target's place; the old one ends up under *old, to be removed. */
static cq_status put_in_place(char **old, cq_directory_writer *w, cq_error *error) {
  *old = NULL;
  if (!w->replace || !cq_file_exists(w->path))
    return rename(w->temporary, w->path) == 0 ? CQ_OK : cq_fail_errno(error, w->path, "cannot put in place");
  char *aside = cq_name_beside(w->path, "old"); /* never treated as a leftover: after a kill it may be the only copy */
  if (!aside) return cq_fail_memory(error, w->path);
  if (exchange_paths(w->temporary, w->path)) {
    *old = w->temporary;
    w->temporary = NULL;
    cq_free(aside);
    return CQ_OK;
  }
  cq_status status = CQ_OK;
  if (rename(w->path, aside) != 0) {
    status = cq_fail_errno(error, w->path, "cannot move aside");
  } else if (rename(w->temporary, w->path) != 0) {
    status = cq_fail_errno(error, w->path, "cannot put in place");
    if (rename(aside, w->path) != 0) status = cq_fail_file(error, CQ_ERR_IO, w->path, "is now called %s", aside);
  }
  if (status)
    cq_free(aside);
  else
    *old = aside;
  return status;
}

cq_status cq_directory_writer_commit(cq_directory_writer *w, cq_error *error) {
  int parent;
  char *old = NULL;
  cq_status status = open_parent(&parent, w->path, error);
  if (!status) status = put_in_place(&old, w, error);
  if (!status) {
    cq_temporary_release(w->temporary);
    w->temporary = NULL;
    status = sync_parent(parent, w->path, error); /* first: a crash could leave it half removed */
    if (old && !status) cq_directory_remove(old);
  }
  if (parent >= 0) close(parent);
  cq_temporary_release(old);
  cq_directory_writer_abort(w);
  return status;
}

void cq_directory_writer_abort(cq_directory_writer *w) {
  if (w->temporary) cq_directory_remove(w->temporary);
  if (w->lock > 0) close(w->lock);
  cq_temporary_release(w->temporary);
  cq_free(w->path);
  *w = (cq_directory_writer){0};
}
