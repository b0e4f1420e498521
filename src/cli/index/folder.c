/* A folder's index, for commands that take either. Documents' ids are their paths within the folder.
 *
 *   compare   the index, open for reading, with the folder: usually nothing has changed
 *   lock      one process changes an index; others use its last complete state, or wait if there is none
 *   update    or make it, or rebuild it when another model has made it, or when it is damaged */
#include "base/file.h"
#include "cli/frame/report.h"
#include "cli/index/index_command.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_PATH = 4096, PLACE = MAX_PATH + 8, WAIT_NS = 100000000 };
/* Endings of an index's place while it is rebuilt, which no folder's place in the cache has. */
#define FRESH "%%new"
#define OLD   "%%old"

typedef struct indexed_folder {
  const char *path, *place; /* absolute; the index's */
  const char *encoding;     /* of its documents; NULL: UTF-8 */
  bool is_elsewhere;        /* the place is in the cache */
  const cq_index_options *options;
  cq_context *ctx;
} indexed_folder;

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
static bool find_place(char *out, size_t size, const char *folder, bool is_elsewhere) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int n;
  if (!is_elsewhere) return snprintf(out, size, "%s/.calque", folder) < (int)size;
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

/* What a killed process has left, or another one is making; to be removed only with the lock. */
static bool has_left(const indexed_folder *f) {
  char path[PLACE];
  return access(beside(path, f->place, FRESH), F_OK) == 0 || access(beside(path, f->place, OLD), F_OK) == 0;
}

static void remove_left(const indexed_folder *f) {
  remove_index(f->place, FRESH), remove_index(f->place, OLD);
}

/* --- comparing and reading --- */

/* The folder's documents into its index, so that it has exactly these. */
static cq_status mirror(cli_index_changes *out, const indexed_folder *f, cq_index *index, cq_notice_fn notice, void *to,
                        size_t batch, cq_error *error) {
  cq_documents_options reading = cq_documents_default_options();
  cq_index_read_options mirroring = cq_index_read_default_options();
  cq_documents *in = NULL;
  reading.skip_bad = reading.relative = reading.file_ids = true, reading.encoding = f->encoding;
  reading.notice = notice, reading.notice_context = to;
  mirroring.mirror = true;
  if (batch) mirroring.batch = batch;
  cq_status status = cq_documents_open(&in, &f->path, 1, &reading, error);
  if (!status) status = cli_index_read(out, index, in, &mirroring, f->ctx, error);
  cq_documents_close(in);
  return status;
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

static void keep_notice(void *context, const char *text) {
  FILE *notices = context;
  fprintf(notices, "%s\n", text);
}

typedef enum state {
  CURRENT,
  CHANGED, /* there is an index that can be searched */
  UNUSABLE /* there is none, it is empty, or another model's */
} state;

/* Ends at the first change, which cannot be written to an index that is open for reading. */
static state compare(const indexed_folder *f) {
  cq_index_options opening = cq_index_default_options();
  cli_index_changes changes;
  cq_index *index;
  char *text = NULL;
  size_t n;
  state s = UNUSABLE;
  if (access(f->place, F_OK) != 0 || cq_index_open(&index, f->place, &opening, NULL)) return UNUSABLE;
  const char *model = f->options->model;
  if (!is_outdated(index, model) && (!model || is_name_of(model, cq_index_model(index)))) {
    FILE *notices = open_memstream(&text, &n);
    const cq_status status = notices ? mirror(&changes, f, index, keep_notice, notices, 1, NULL) : CQ_ERR_MEMORY;
    if (notices) fclose(notices);
    s = !status ? CURRENT : status == CQ_ERR_ARGUMENT && cq_index_size(index) ? CHANGED : UNUSABLE;
  }
  if (s == CURRENT) {
    for (char *line = text, *end; line && (end = strchr(line, '\n')); line = end + 1)
      *end = '\0', cli_notice(NULL, line);
    cli_index_note(index, &changes);
  }
  free(text);
  cq_index_free(index);
  return s;
}

/* --- changing --- */

/* The index at a place, made if it is missing. */
static cq_status read_folder(const char *place, const indexed_folder *f, const cq_index_options *o, cq_error *error) {
  cq_index_options creating = *o;
  cli_index_changes changes;
  cq_index *index = NULL;
  if (!creating.model) creating.model = CQ_DEFAULT_MODEL;
  cq_status status = access(place, F_OK) != 0 ? cq_index_create(place, &creating, error) : CQ_OK;
  if (!status) status = cq_index_open(&index, place, o, error);
  if (!status) status = mirror(&changes, f, index, cli_notice, NULL, 0, error);
  if (!status) cli_index_note(index, &changes);
  cq_index_free(index);
  return status;
}

/* An index next to the old one takes its place when it is complete. */
static int rebuild(const indexed_folder *f, const char *model) {
  char fresh[PLACE], old[PLACE];
  cq_error error = {0};
  cq_index_options o = *f->options;
  o.model = model;
  const cq_status status = read_folder(beside(fresh, f->place, FRESH), f, &o, &error);
  if (!status && (rename(f->place, beside(old, f->place, OLD)) || rename(fresh, f->place)))
    return cli_fail("%s: cannot be replaced: %s", f->place, strerror(errno));
  remove_index(f->place, status ? FRESH : OLD);
  return status ? cli_fail_error(&error) : CLI_OK;
}

/* An index in a format of another version, or damaged; not a document that cannot be added. */
static bool is_damaged(const indexed_folder *f, cq_status status, const cq_error *error) {
  const size_t n = strlen(f->place);
  return status == CQ_ERR_FORMAT && !strncmp(error->file, f->place, n) && error->file[n] == '/';
}

/* The model that the manifest of an index names, which may be of another version; NULL: it cannot be read. */
static char *recorded_model(const indexed_folder *f) {
  static const char key[] = "\"model\": \"";
  char path[PLACE + 16], *model = NULL;
  cq_slice text;
  snprintf(path, sizeof path, "%s/manifest.json", f->place);
  if (cq_file_read(&text, path, NULL)) return NULL;
  const char *at = strstr(text.data, key);
  const size_t n = at ? strcspn(at + sizeof key - 1, "\"\\") : 0;
  if (n && at[sizeof key - 1 + n] == '"') model = strndup(at + sizeof key - 1, n);
  cq_free((void *)text.data);
  return model;
}

/* Opening the index for writing locks it, also while another is built next to it. *is_busy: another process has it open
 * for writing. */
static int update(bool *is_busy, const indexed_folder *f) {
  cq_index_options opening = *f->options;
  cq_index *index = NULL;
  cq_error error = {0};
  cq_status status = CQ_OK;
  char old[PLACE];
  int code = CLI_OK;
  opening.model = NULL, opening.notice = NULL, opening.compose = false;
  if (access(f->place, F_OK) != 0)
    (void)!rename(beside(old, f->place, OLD), f->place); /* killed between two renamings */
  remove_left(f);
  if (access(f->place, F_OK) == 0) status = cq_index_open(&index, f->place, &opening, &error);
  *is_busy = status == CQ_ERR_ARGUMENT;
  const char *model = f->options->model, *made = index ? cq_index_model(index) : NULL;
  const bool is_of_other = made && model && !is_name_of(model, made);
  if (index && is_outdated(index, model)) {
    cli_note("%s: the model '%s' has changed since this index was made; rebuilding it", f->place, made);
    code = rebuild(f, made);
    cq_index_free(index);
    return code;
  }
  cq_index_free(index);
  if (!status) status = read_folder(f->place, f, f->options, &error);
  if (is_damaged(f, status, &error)) {
    char *recorded = model ? NULL : recorded_model(f);
    cli_note("%s", error.message);
    cli_note("%s: rebuilding the index", f->place);
    code = rebuild(f, recorded ? recorded : model);
    free(recorded);
    return code;
  }
  if (status && !*is_busy) code = cli_fail_error(&error);
  if (code != CLI_OK && is_of_other) cli_note("to index the folder with %s, remove %s first", model, f->place);
  return code;
}

/* The lock of those who change the index, which may itself be replaced: the folder's, or a hidden file's in the cache. */
static bool is_locked_elsewhere(int *lock, const indexed_folder *f) {
  const char *name = strrchr(f->place, '/') + 1;
  char path[PLACE];
  snprintf(path, sizeof path, "%.*s.%s", (int)(name - f->place), f->place, name);
  *lock = f->is_elsewhere ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : open(f->path, O_RDONLY | O_CLOEXEC);
  return *lock >= 0 && flock(*lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

static int bring_up_to_date(const indexed_folder *f) {
  for (bool waited = false;; waited = true) {
    int lock, code = CLI_OK;
    const state s = compare(f);
    if (s == CURRENT && !has_left(f)) return CLI_OK;
    bool is_busy = is_locked_elsewhere(&lock, f);
    if (s == CURRENT && !is_busy) remove_left(f);
    if (s != CURRENT && !is_busy) code = update(&is_busy, f);
    if (lock >= 0) close(lock);
    if (!is_busy || s == CURRENT) return code;
    if (s == CHANGED) {
      cli_note("%s: another process is indexing its changes; until then, the last complete state is used", f->path);
      return CLI_OK;
    }
    if (!waited) cli_note("%s: waiting for another process, which is indexing it", f->path);
    nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
  }
}

int cli_index_folder(char *out, size_t size, const char *path, const cq_index_options *options, const char *encoding,
                     cq_context *ctx) {
  cq_index_options o = *options;
  int code;
  o.writing = true, o.query_model = NULL;
  cq_documents_options reading = cq_documents_default_options();
  cq_documents *none;
  cq_error error = {0};
  reading.encoding = encoding;
  if (cq_documents_open(&none, NULL, 0, &reading, &error)) return cli_fail_error(&error);
  cq_documents_close(none);
  char *whole = realpath(path, NULL);
  const bool is_elsewhere = whole && access(whole, W_OK) != 0;
  if (!whole)
    code = cli_fail("%s: cannot be opened", path);
  else if (!find_place(out, size, whole, is_elsewhere))
    code = cli_fail("%s: there is no place for its index: neither the folder nor ~/.cache can be written to", path);
  else
    code = bring_up_to_date(&(indexed_folder){whole, out, encoding, is_elsewhere, &o, ctx});
  free(whole);
  return code;
}
