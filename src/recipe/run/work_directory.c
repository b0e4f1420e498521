/* Opens, locks and removes a run's work directory, which may contain only the run's own files. */
#include "recipe/run/work_directory.h"

#include "base/error.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* NAME itself or a temporary form of it, NAME.tmp-... */
static bool is_name_or_temporary(const char *entry, const char *name) {
  const size_t n = strlen(name);
  return !strncmp(entry, name, n) && (entry[n] == '\0' || !strncmp(entry + n, ".tmp-", 5));
}

/* The directory may contain only a run's own files. */
static cq_status check_is_ours(const char *path, cq_error *error) {
  static const char *const ours[] = {"checkpoint", "best", "log.jsonl"};
  cq_status status = CQ_OK;
  DIR *dir = opendir(path);
  if (!dir) return errno == ENOENT ? CQ_OK : cq_fail_errno(error, path, "cannot open");
  for (struct dirent *entry; !status && (entry = readdir(dir));) {
    bool known = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) known |= is_name_or_temporary(entry->d_name, ours[i]);
    if (!known)
      status = cq_fail_file(error, CQ_ERR_ARGUMENT, path,
                            "holds '%s', which is not a run's: the directory is in the way", entry->d_name);
  }
  closedir(dir);
  return status;
}

static bool has_model(const char *path) {
  static const char *const markers[] = {"modules.json", "autoencoder.json"};
  char inside[CQ_WORK_PATH];
  bool has = false;
  for (size_t i = 0; i < sizeof markers / sizeof *markers; i++)
    has |= cq_path_join(inside, sizeof inside, path, markers[i], NULL) == CQ_OK && cq_file_exists(inside);
  return has;
}

static bool is_empty_directory(const char *path) {
  size_t n = 0;
  DIR *dir = opendir(path);
  while (dir && readdir(dir)) n++;
  if (dir) closedir(dir);
  return dir && n <= 2;
}

cq_status cq_work_directory_check_output(const char *output, cq_error *error) {
  struct stat info;
  char parent[CQ_WORK_PATH];
  const cq_slice name = cq_path_name(output);
  if (name.n == 0 || cq_slice_equal(name, cq_slice_of(".")) || cq_slice_equal(name, cq_slice_of("..")))
    return cq_fail(error, CQ_ERR_ARGUMENT, "the output '%s' is not a name for a new directory", output);
  if (name.n > 200) return cq_fail_file(error, CQ_ERR_ARGUMENT, output, "the name is too long");
  if (lstat(output, &info) == 0) {
    if (!S_ISDIR(info.st_mode))
      return cq_fail_file(error, CQ_ERR_ARGUMENT, output, "is a %s, expected a directory or nothing",
                          S_ISLNK(info.st_mode) ? "symbolic link" : "file");
    if (!has_model(output) && !is_empty_directory(output))
      return cq_fail_file(error, CQ_ERR_ARGUMENT, output, "already exists, and holds no model");
  }
  if (!cq_path_parent(parent, sizeof parent, output))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, output, "the path is too long");
  if (access(parent, W_OK) != 0 && errno != ENOENT) return cq_fail_errno(error, parent, "cannot write here");
  return CQ_OK;
}

static cq_status name_paths(cq_work_directory *w, const char *output, const char *log_path, cq_error *error) {
  const size_t n = cq_path_length(output);
  if (snprintf(w->path, CQ_WORK_PATH, "%.*s.work", (int)n, output) >= CQ_WORK_PATH)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, output, "the path is too long");
  cq_status status = cq_path_join(w->checkpoint, CQ_WORK_PATH, w->path, "checkpoint", error);
  if (!status) status = cq_path_join(w->best, CQ_WORK_PATH, w->path, "best", error);
  if (!status)
    status = cq_path_join(w->log, CQ_WORK_PATH, log_path ? "" : w->path, log_path ? log_path : "log.jsonl", error);
  return status;
}

cq_status cq_work_directory_open(cq_work_directory *out, const char *output, const char *log_path, bool resume,
                                 bool replace, cq_error *error) {
  *out = (cq_work_directory){0};
  cq_status status = cq_work_directory_check_output(output, error);
  if (!status) status = name_paths(out, output, log_path, error);
  if (status) return status;
  cq_remove_leftovers(out->path);
  out->under_way = cq_file_exists(out->checkpoint);
  if (out->under_way && !resume)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, out->path,
                        "a run is under way here: resume it, or remove the directory");
  if (cq_file_exists(output) && !replace && !out->under_way)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, output,
                        resume ? "already exists, and no run is under way next to it: it is finished"
                               : "already exists (--replace overwrites it)");
  struct stat info;
  if (log_path && !out->under_way && !replace && stat(log_path, &info) == 0 && S_ISREG(info.st_mode) &&
      info.st_size > 0)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, log_path, "already exists");
  return check_is_ours(out->path, error);
}

cq_status cq_work_directory_follow(cq_work_directory *out, const char *output, cq_error *error) {
  *out = (cq_work_directory){0};
  return name_paths(out, output, NULL, error);
}

cq_status cq_work_directory_begin(cq_work_directory *w, cq_error *error) {
  cq_status status = cq_directory_make(w->path, error);
  if (status) return status;
  status = cq_directory_lock(&w->lock, w->path, error);
  /* If the file system has no locks, a new checkpoint still reveals another run. */
  if (!status && cq_file_exists(w->checkpoint) != w->under_way)
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, w->path, "another process is at work here");
  return status;
}

void cq_work_directory_close(cq_work_directory *w) {
  if (w->lock > 0) close(w->lock);
  w->lock = 0;
}

/* Puts the log next to the model by a hard link, so that a resumed run still finds it until the directory is removed.
 * Copies it if the file system has no links. */
static cq_status place_log(const char *log, const char *place, cq_error *error) {
  cq_mapping text;
  if (link(log, place) == 0 || errno == EEXIST) return cq_sync_name(place, error);
  cq_status status = cq_mapping_open(&text, log, error);
  if (status) return status;
  status = cq_file_write(place, text.data, text.n, error);
  cq_mapping_close(&text);
  return status;
}

cq_status cq_work_directory_finish(const cq_work_directory *w, const char *output, bool log_inside, cq_error *error) {
  char place[CQ_WORK_PATH];
  cq_status status = cq_path_join(place, CQ_WORK_PATH, output, "log.jsonl", error);
  if (status) return status;
  if (log_inside && (status = place_log(w->log, place, error))) return status;
  return cq_directory_retire(w->path, error);
}
