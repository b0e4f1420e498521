/* A folder's index, for commands that take either. Documents' ids are their paths within the folder. */
#include "cli/frame/report.h"
#include "cli/index/index_command.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_PATH = 4096, PLACE = MAX_PATH + 8 };
/* Endings of an index's place while it is rebuilt, which no folder's place in the cache has. */
#define FRESH "%%new"
#define OLD   "%%old"

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

static int remove_entry(const char *path, const struct stat *s, int kind, struct FTW *at) {
  (void)s, (void)kind, (void)at;
  return remove(path);
}

static const char *beside(char out[PLACE], const char *place, const char *ending) {
  snprintf(out, PLACE, "%s%s", place, ending);
  return out;
}

static void remove_index(const char *place, const char *ending) {
  char path[PLACE];
  nftw(beside(path, place, ending), remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The index, made if it is missing, and the documents to mirror in it. */
static cq_status open_folder(cq_index **index, cq_documents **in, const char *place, const char *folder,
                             const cq_index_options *o, cq_error *error) {
  cq_documents_options reading = cq_documents_default_options();
  cq_index_options creating = *o;
  reading.skip_bad = reading.relative = reading.file_ids = true, reading.notice = cli_notice;
  if (!creating.model) creating.model = CQ_DEFAULT_MODEL;
  cq_status status = cq_documents_open(in, &folder, 1, &reading, error);
  if (!status && access(place, F_OK) != 0) status = cq_index_create(place, &creating, error);
  return status ? status : cq_index_open(index, place, o, error);
}

static int read_folder(const char *place, const char *folder, const cq_index_options *o, cq_context *ctx) {
  cq_index_read_options mirroring = cq_index_read_default_options();
  cq_documents *in = NULL;
  cq_index *index = NULL;
  cq_error error = {0};
  int code = CLI_OK;
  mirroring.mirror = true;
  if (open_folder(&index, &in, place, folder, o, &error)) code = cli_fail_error(&error);
  if (code == CLI_OK) code = cli_index_read(index, in, &mirroring, ctx);
  cq_documents_close(in);
  cq_index_free(index);
  return code;
}

/* An index next to the old one takes its place when it is complete. */
static int rebuild(const char *place, const char *model, const char *folder, const cq_index_options *options,
                   cq_context *ctx) {
  char fresh[PLACE], old[PLACE];
  cq_index_options o = *options;
  o.model = model;
  cli_note("%s: the model '%s' has changed since this index was made; rebuilding it", place, model);
  const int code = read_folder(beside(fresh, place, FRESH), folder, &o, ctx);
  if (code == CLI_OK && (rename(place, beside(old, place, OLD)) || rename(fresh, place)))
    return cli_fail("%s: cannot be replaced: %s", place, strerror(errno));
  remove_index(place, code == CLI_OK ? OLD : FRESH);
  return code;
}

/* Whether --model MODEL names the model that an index has recorded. */
static bool is_name_of(const char *model, const char *recorded) {
  char whole[MAX_PATH];
  return !strcmp(model, recorded) ||
         (realpath(model, whole) ? !strcmp(whole, recorded)
                                 : !strncmp(recorded, "calque-", 7) && !strcmp(model, recorded + 7));
}

/* Whether an index was made with an earlier model of the same name. */
static bool is_outdated(const cq_index *index, const char *model) {
  const cq_encoder *encoder;
  return (!model || is_name_of(model, cq_index_model(index))) &&
         cq_index_encoder(&encoder, index, NULL) == CQ_ERR_ARGUMENT;
}

/* Opening the index for writing locks it, also while another is built beside it. */
static int update(const char *place, const char *folder, const cq_index_options *o, cq_context *ctx) {
  cq_index_options opening = *o;
  cq_index *index = NULL;
  char old[PLACE];
  opening.model = NULL, opening.notice = NULL;
  if (access(place, F_OK) != 0) (void)!rename(beside(old, place, OLD), place); /* killed between two renamings */
  if (access(place, F_OK) == 0 && !cq_index_open(&index, place, &opening, NULL)) {
    remove_index(place, FRESH), remove_index(place, OLD);
    if (is_outdated(index, o->model)) {
      const int code = rebuild(place, cq_index_model(index), folder, o, ctx);
      cq_index_free(index);
      return code;
    }
  }
  const bool is_of_other = index && o->model && !is_name_of(o->model, cq_index_model(index));
  cq_index_free(index);
  const int code = read_folder(place, folder, o, ctx);
  if (code != CLI_OK && is_of_other) cli_note("to index the folder with %s, remove %s first", o->model, place);
  return code;
}

int cli_index_folder(char *out, size_t size, const char *folder, const char *model, cq_precision precision,
                     bool compose, cq_context *ctx) {
  cq_index_options o = cq_index_default_options();
  int code;
  o.model = model, o.precision = precision, o.compose = compose, o.writing = true, o.notice = cli_notice;
  char *whole = realpath(folder, NULL);
  if (!whole)
    code = cli_fail("%s: cannot be opened", folder);
  else if (!find_place(out, size, whole))
    code = cli_fail("%s: there is no place for its index: neither the folder nor ~/.cache can be written to", folder);
  else
    code = update(out, whole, &o, ctx);
  free(whole);
  return code;
}
