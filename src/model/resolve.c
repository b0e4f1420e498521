/* Which directory a model's name means: itself, one that calque ships, or one in the cache of Hugging Face.
 *
 *   share/calque/models/NAME                          beside the library's lib/; CALQUE_MODELS, where it is set
 *   models/NAME                                       beside a static program
 *
 *   CACHE/models--ORG--NAME/refs/main                 the revision, a hash
 *   CACHE/models--ORG--NAME/snapshots/REVISION/...    the files, links into blobs/
 *
 * CACHE is HF_HUB_CACHE, else HF_HOME/hub, else XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/plugin.h"
#include "model/encoder.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PATH 4096

static const char *environment(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : NULL;
}

/* False when there is no home to look in, or the path is too long. */
static bool cache_directory(char out[MAX_PATH]) {
  const char *value;
  int n;
  if ((value = environment("HF_HUB_CACHE")) || (value = environment("HUGGINGFACE_HUB_CACHE")))
    n = snprintf(out, MAX_PATH, "%s", value);
  else if ((value = environment("HF_HOME")))
    n = snprintf(out, MAX_PATH, "%s/hub", value);
  else if ((value = environment("XDG_CACHE_HOME")))
    n = snprintf(out, MAX_PATH, "%s/huggingface/hub", value);
  else if ((value = environment("HOME")))
    n = snprintf(out, MAX_PATH, "%s/.cache/huggingface/hub", value);
  else
    return false;
  return n > 0 && n < MAX_PATH;
}

/* "org/model" as the cache's folder is called; false for what cannot be a name there. */
static bool repository_folder(char *out, size_t size, const char *organisation, const char *name) {
  const char *parts[] = {organisation, name};
  const char *slash = strchr(name, '/');
  if (*name == '\0' || *name == '/' || *name == '.' || (slash && (strchr(slash + 1, '/') || slash[1] == '\0')))
    return false;
  size_t n = (size_t)snprintf(out, size, "models");
  for (size_t p = 0; p < 2 && n < size; p++) {
    if (!parts[p]) continue;
    n += (size_t)snprintf(out + n, size - n, "--");
    for (const char *c = parts[p]; *c && n + 2 < size; c++) {
      if (*c == '/') out[n++] = '-';
      out[n++] = *c == '/' ? '-' : *c;
    }
    if (n < size) out[n] = '\0';
  }
  return n + 2 < size;
}

/* The one folder in snapshots/, when refs/main does not say. */
static bool only_entry(char *out, size_t size, const char *directory) {
  DIR *d = opendir(directory);
  int found = 0;
  if (!d) return false;
  for (struct dirent *e; (e = readdir(d));) {
    if (e->d_name[0] == '.') continue;
    if (found++ == 0 && snprintf(out, size, "%s", e->d_name) >= (int)size) found = 2;
  }
  closedir(d);
  return found == 1;
}

static bool read_revision(char *out, size_t size, const char *path) {
  cq_slice text;
  if (!cq_file_exists(path) || cq_file_read(&text, path, NULL) != CQ_OK) return false;
  size_t n = 0;
  while (n < text.n && n + 1 < size && text.data[n] > ' ' && text.data[n] != '/') n++;
  memcpy(out, text.data, n);
  out[n] = '\0';
  cq_free((void *)(uintptr_t)text.data);
  return n > 0 && out[0] != '.';
}

/* The snapshot of a repository in the cache. *looked: the place it would be in, for the error. */
static bool find_snapshot(char *out, size_t size, char looked[MAX_PATH], const char *cache, const char *organisation,
                          const char *name) {
  char folder[512], path[MAX_PATH], revision[256];
  looked[0] = '\0';
  if (!repository_folder(folder, sizeof folder, organisation, name)) return false;
  if (snprintf(looked, MAX_PATH, "%s/%s", cache, folder) >= MAX_PATH || !cq_is_directory(looked)) return false;
  if (snprintf(path, sizeof path, "%s/%s/refs/main", cache, folder) >= (int)sizeof path) return false;
  if (!read_revision(revision, sizeof revision, path)) {
    if (snprintf(path, sizeof path, "%s/%s/snapshots", cache, folder) >= (int)sizeof path) return false;
    if (!only_entry(revision, sizeof revision, path)) return false;
  }
  if (snprintf(out, size, "%s/%s/snapshots/%s", cache, folder, revision) >= (int)size) return false;
  return cq_is_directory(out);
}

static bool has_modules(char *out, size_t size, const char *models, const char *name) {
  char path[MAX_PATH];
  if (snprintf(out, size, "%s/%s", models, name) >= (int)size) return false;
  return snprintf(path, sizeof path, "%s/modules.json", out) < (int)sizeof path && cq_file_exists(path);
}

/* A model that is installed with the library, wherever both were moved to. */
static bool find_shipped(char *out, size_t size, const char *name) {
  static const char *const beside[] = {
      "../share/calque/models",
      "../../share/calque/models",
#ifdef CQ_STATIC /* as its archive has them, side by side */
      "models",
#endif
  };
  const char *models = environment("CALQUE_MODELS");
  char library[MAX_PATH], path[2 * MAX_PATH];
  if (strchr(name, '/') || name[0] == '.') return false;
  if (models) return has_modules(out, size, models, name);
  if (!cq_library_directory(library, sizeof library)) return false;
  for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
    snprintf(path, sizeof path, "%s/%s", library, beside[i]);
    if (has_modules(out, size, path, name)) return true;
  }
  return false;
}

cq_status cq_model_resolve(char *out, size_t out_size, const char *name, cq_error *error) {
  char cache[MAX_PATH], looked[2][MAX_PATH] = {"", ""};
  if (cq_is_directory(name)) {
    if (snprintf(out, out_size, "%s", name) >= (int)out_size)
      return cq_fail_file(error, CQ_ERR_ARGUMENT, name, "the path is too long");
    return CQ_OK;
  }
  if (cq_file_exists(name)) return cq_fail_file(error, CQ_ERR_ARGUMENT, name, "a model is a directory, this is a file");
  if (find_shipped(out, out_size, name)) return CQ_OK;
  if (!cache_directory(cache))
    return cq_fail_file(error, CQ_ERR_IO, name, "no such directory, and no cache to look in (HOME is not set)");
  if (!strchr(name, '/') && find_snapshot(out, out_size, looked[0], cache, "sentence-transformers", name)) return CQ_OK;
  if (find_snapshot(out, out_size, looked[1], cache, NULL, name)) return CQ_OK;
  if (!looked[0][0] && !looked[1][0]) return cq_fail_file(error, CQ_ERR_IO, name, "no such directory");
  return cq_fail_file(
      error, CQ_ERR_IO, name,
      "no such directory, and no snapshot of that name in the cache ('hf download' fetches one): looked "
      "for %.300s%s%.300s",
      looked[0], looked[0][0] && looked[1][0] ? " and " : "", looked[1]);
}
