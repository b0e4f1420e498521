/* A folder's index, for commands that take either. Documents' ids are their paths within the folder. */
#include "cli/frame/report.h"
#include "cli/index/index_command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_PATH = 4096 };

bool cli_is_document_folder(const char *path) {
  char manifest[MAX_PATH];
  struct stat s;
  if (stat(path, &s) != 0 || !S_ISDIR(s.st_mode)) return false;
  return snprintf(manifest, sizeof manifest, "%s/manifest.json", path) < (int)sizeof manifest &&
         access(manifest, F_OK) != 0;
}

/* Makes a path's missing directories. */
static bool make_directories(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    const bool is_there = mkdir(path, 0777) == 0 || errno == EEXIST;
    *slash = '/';
    if (!is_there) return false;
  }
  return true;
}

/* FOLDER/.calque; for a read-only folder, a directory in the cache, named by its path with % for each slash. */
static bool find_place(char *out, size_t size, const char *folder) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int n;
  if (access(folder, W_OK) == 0) return snprintf(out, size, "%s/.calque", folder) < (int)size;
  if (cache && *cache)
    n = snprintf(out, size, "%s/calque/folders/", cache);
  else
    n = snprintf(out, size, "%s/.cache/calque/folders/", home ? home : "");
  if (n >= (int)size || snprintf(out + n, size - (size_t)n, "%s", folder) >= (int)size - n) return false;
  for (char *c = out + n; *c; c++)
    if (*c == '/') *c = '%';
  return make_directories(out);
}

static cq_status open_folder(cq_index **index, cq_documents **in, const char *place, const char *folder,
                             const cq_index_options *o, cq_error *error) {
  cq_documents_options reading = cq_documents_default_options();
  cq_index_options creating = *o;
  reading.skip_bad = true, reading.relative = true, reading.notice = cli_notice;
  if (!creating.model) creating.model = CQ_DEFAULT_MODEL;
  cq_status status = cq_documents_open(in, &folder, 1, &reading, error);
  if (!status && access(place, F_OK) != 0) status = cq_index_create(place, &creating, error);
  return status ? status : cq_index_open(index, place, o, error);
}

int cli_index_folder(char *out, size_t size, const char *folder, const char *model, cq_precision precision,
                     bool compose, cq_context *ctx) {
  cq_index_options o = cq_index_default_options();
  cq_index_read_options mirroring = cq_index_read_default_options();
  cq_documents *in = NULL;
  cq_index *index = NULL;
  cq_error error = {0};
  int code = CLI_OK;
  o.model = model, o.precision = precision, o.compose = compose, o.writing = true, o.notice = cli_notice;
  mirroring.mirror = true;
  char *whole = realpath(folder, NULL);
  if (!whole)
    code = cli_fail("%s: cannot be opened", folder);
  else if (!find_place(out, size, whole))
    code = cli_fail("%s: there is no place for its index: neither the folder nor ~/.cache can be written to", folder);
  if (code == CLI_OK && open_folder(&index, &in, out, whole, &o, &error)) code = cli_fail_error(&error);
  if (code == CLI_OK) code = cli_index_read(index, in, &mirroring, ctx);
  cq_documents_close(in);
  cq_index_free(index);
  free(whole);
  return code;
}
