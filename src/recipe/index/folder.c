/* The index of a folder, or of a file, which is in the cache. Documents' ids are their paths within the folder.
 *
 *   compare   the index, open for reading, with its checks and the folder: usually nothing has changed
 *   lock      one process changes an index; others use its last complete state, or wait if there is none
 *   update    or make it, or rebuild it from the folder if it is damaged or of another model or version: the new index
 *             takes the old one's place when it is complete */
#include "calque/index_folder.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/slice.h"
#include "recipe/encode/cached_encoder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_PATH = 4096, PLACE = MAX_PATH + 8, WAIT_NS = 100000000, BATCH = 128 /* between looks at progress() */ };
/* Endings of an index's place while it is rebuilt, which no folder's place in the cache has. */
#define FRESH    "%%new"
#define OLD      "%%old"
#define REPORTED "reported" /* the file of an index with the notices of the last reading */

typedef struct indexed_folder {
  const char *path, *place; /* absolute; the index's */
  const char *encoding;     /* of its documents; NULL: UTF-8 */
  bool is_elsewhere;        /* the place is in the cache */
  const cq_index_options *options;
  const cq_index_folder_watch *watch;
  cq_context *ctx;
} indexed_folder;

bool cq_index_is_folder(const char *path) {
  char manifest[MAX_PATH];
  struct stat s;
  if (stat(path, &s) != 0) return false;
  if (!S_ISDIR(s.st_mode)) return S_ISREG(s.st_mode);
  return snprintf(manifest, sizeof manifest, "%s/manifest.json", path) < (int)sizeof manifest &&
         access(manifest, F_OK) != 0;
}

/* FOLDER/.calque; for a read-only folder or a file, a directory in the cache, named by its path with % for each slash. */
static bool find_place(char *out, size_t size, const char *folder, bool is_elsewhere) {
  if (!is_elsewhere) return snprintf(out, size, "%s/.calque", folder) < (int)size;
  if (cq_cache_path(out, size, NULL, "folders", NULL) || cq_directory_make(out, NULL)) return false;
  const size_t n = strlen(out);
  if (snprintf(out + n, size - n, "/%s", folder) >= (int)(size - n)) return false;
  for (char *c = out + n + 1; *c; c++)
    if (*c == '/') *c = '%';
  return true;
}

static const char *beside(char out[PLACE], const char *place, const char *ending) {
  snprintf(out, PLACE, "%s%s", place, ending);
  return out;
}

static bool is_of_index(const char *name) {
  static const char *const names[] = {
      "manifest.json", "lock",     "documents-", "passages-", "vectors-", "checks-", "deleted-",
      "approximate-",  "hubness-", "queries-",   "words-",    REPORTED,   ".",       NULL};
  const char *const *known = names;
  while (*known && strncmp(name, *known, strlen(*known)) != 0) known++;
  return *known && (**known != '.' || !strcmp(name, ".") || !strcmp(name, ".."));
}

/* Moves what a user may have put in an index to the one in its place. */
static void keep_others(const char *place, const char *old) {
  char from[2 * MAX_PATH], to[2 * MAX_PATH];
  DIR *directory = opendir(old);
  for (const struct dirent *entry; directory && (entry = readdir(directory));) {
    snprintf(from, sizeof from, "%s/%s", old, entry->d_name), snprintf(to, sizeof to, "%s/%s", place, entry->d_name);
    if (!is_of_index(entry->d_name)) (void)!rename(from, to);
  }
  if (directory) closedir(directory);
}

static void remove_index(const char *place, const char *ending) {
  char path[PLACE];
  beside(path, place, ending);
  if (!strcmp(ending, OLD)) keep_others(place, path);
  cq_directory_remove(path);
}

/* What a killed process has left, or another one is making; to be removed only with the lock. */
static bool has_left(const indexed_folder *f) {
  char path[PLACE];
  return access(beside(path, f->place, FRESH), F_OK) == 0 || access(beside(path, f->place, OLD), F_OK) == 0;
}

static void remove_left(const indexed_folder *f) {
  remove_index(f->place, FRESH), remove_index(f->place, OLD);
}

static void tell_folder(const indexed_folder *f, const char *format, ...) CQ_PRINTF(2, 3);
static void tell_folder(const indexed_folder *f, const char *format, ...) {
  char text[2 * MAX_PATH];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (f->options->notice) f->options->notice(f->options->notice_context, text);
}

/* --- comparing and reading --- */

/* The folder's documents into its index, so that it has exactly these. */
static cq_status mirror(cq_index_changes *out, const indexed_folder *f, cq_index *index, cq_notice_fn notice, void *to,
                        size_t batch, cq_error *error) {
  cq_documents_options reading = cq_documents_default_options();
  cq_index_read_options mirroring = cq_index_read_default_options();
  cq_documents *in = NULL;
  reading.skip_bad = reading.relative = reading.file_ids = reading.base_names = true, reading.encoding = f->encoding;
  reading.notice = notice, reading.notice_context = to;
  mirroring.mirror = true;
  mirroring.batch = batch ? batch : BATCH;
  mirroring.progress = f->watch->progress, mirroring.progress_context = f->watch->context;
  cq_status status = cq_documents_open(&in, &f->path, 1, &reading, error);
  if (!status) status = cq_index_read_commit(out, index, in, &mirroring, f->ctx, error);
  if (!status && out->read.n_skipped + out->read.n_blank && !cq_index_size(index) && !cq_is_directory(f->path))
    status = cq_fail_file(error, CQ_ERR_FORMAT, f->path, "no document in it can be read");
  if (f->watch->read) f->watch->read(f->watch->context, index, NULL);
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

/* Opens an index for reading with the requested model. CQ_ERR_ARGUMENT: another one made it. */
static cq_status open_as_asked(cq_index **out, const indexed_folder *f, cq_error *error) {
  cq_index_options o = *f->options;
  const cq_encoder *encoder;
  o.writing = false, o.notice = NULL;
  const cq_status status = cq_index_open(out, f->place, &o, error);
  return status || cq_index_encoder(&encoder, *out, NULL) != CQ_ERR_ARGUMENT ? status : CQ_ERR_ARGUMENT;
}

/* --- notices: each is told once, and those of the last reading are kept in the index --- */

typedef struct notices {
  const indexed_folder *f;
  char path[PLACE + 16];
  cq_slice before; /* told by the last reading, a line each */
  cq_builder now;
} notices;

static notices begin_notices(const indexed_folder *f, const char *place) {
  notices n = {.f = f};
  snprintf(n.path, sizeof n.path, "%s/" REPORTED, place);
  if (cq_file_read(&n.before, n.path, NULL)) n.before = (cq_slice){0};
  return n;
}

static void keep_notice(void *context, const char *text) {
  cq_builder_printf(context, "%s\n", text);
}

/* What the index keeps of files that cannot be read is told each time. */
static void take_notice(void *context, const char *text) {
  notices *n = context;
  const size_t length = strlen(text);
  bool is_new = true;
  keep_notice(&n->now, text);
  for (const char *at = n->before.data; at && is_new && (at = strstr(at, text)); at++)
    is_new = (at > n->before.data && at[-1] != '\n') || at[length] != '\n';
  if (is_new || strstr(text, "; what the index has of it is kept")) tell_folder(n->f, "%s", text);
}

static void end_notices(notices *n, bool is_complete) {
  if (is_complete && !n->now.failed && !cq_slice_equal(n->before, cq_built(&n->now)))
    (void)!cq_file_write(n->path, cq_built(&n->now).data, n->now.n, NULL);
  cq_builder_free(&n->now);
  cq_free((void *)n->before.data);
}

typedef enum state {
  CURRENT,
  CHANGED, /* there is an index that can be searched */
  UNUSABLE /* there is none, it is empty, damaged, or another model's */
} state;

/* Ends at the first change, which cannot be written to an index that is open for reading. */
static state compare(const indexed_folder *f) {
  cq_index_changes changes;
  cq_index *index = NULL;
  cq_builder heard = {0};
  state s = UNUSABLE;
  if (access(f->place, F_OK) == 0 && !open_as_asked(&index, f, NULL) && !cq_index_check(index, f->ctx, NULL)) {
    const cq_status status = mirror(&changes, f, index, keep_notice, &heard, 1, NULL);
    s = !status ? CURRENT : status == CQ_ERR_ARGUMENT && cq_index_size(index) ? CHANGED : UNUSABLE;
  }
  if (s == CURRENT) {
    notices n = begin_notices(f, f->place);
    for (char *line = heard.data, *end; line && (end = strchr(line, '\n')); line = end + 1)
      *end = '\0', take_notice(&n, line);
    end_notices(&n, !heard.failed);
    if (f->watch->read) f->watch->read(f->watch->context, index, &changes);
  }
  cq_builder_free(&heard);
  cq_index_free(index);
  return s;
}

/* --- changing --- */

/* The index at a place, made if it is missing. */
static cq_status read_folder(const char *place, const indexed_folder *f, const cq_index_options *o, cq_error *error) {
  cq_index_options creating = *o;
  cq_index_changes changes;
  cq_index *index = NULL;
  if (!creating.model) creating.model = CQ_DEFAULT_MODEL;
  cq_status status = access(place, F_OK) != 0 ? cq_index_create(place, &creating, error) : CQ_OK;
  if (!status) status = cq_index_open(&index, place, o, error);
  notices n = begin_notices(f, place);
  if (!status) status = mirror(&changes, f, index, take_notice, &n, 0, error);
  end_notices(&n, !status);
  if (!status && f->watch->read) f->watch->read(f->watch->context, index, &changes);
  cq_index_free(index);
  return status;
}

/* An index next to the old one takes its place when it is complete. */
static cq_status rebuild(const indexed_folder *f, const char *model, const char *why, cq_error *error) {
  char fresh[PLACE], old[PLACE];
  cq_index_options o = *f->options;
  o.model = model ? model : CQ_DEFAULT_MODEL;
  tell_folder(f, "%s; rebuilding it with %s", why, o.model);
  const cq_status status = read_folder(beside(fresh, f->place, FRESH), f, &o, error);
  if (!status && (rename(f->place, beside(old, f->place, OLD)) || rename(fresh, f->place)))
    return cq_fail_file(error, CQ_ERR_IO, f->place, "cannot be replaced: %s", strerror(errno));
  remove_index(f->place, status ? FRESH : OLD);
  return status;
}

/* The model that the manifest of an index names, which may be damaged or of another version; NULL: it cannot be read, or
 * there is no such model. */
static char *recorded_model(const indexed_folder *f) {
  static const char key[] = "\"model\": \"";
  char path[PLACE + 16], *model = NULL;
  cq_encoder *encoder = NULL;
  cq_slice text;
  snprintf(path, sizeof path, "%s/manifest.json", f->place);
  if (cq_file_read(&text, path, NULL)) return NULL;
  const char *at = strstr(text.data, key);
  const size_t n = at ? strcspn(at + sizeof key - 1, "\"\\") : 0;
  if (n && at[sizeof key - 1 + n] == '"') model = strndup(at + sizeof key - 1, n);
  cq_free((void *)text.data);
  if (model && cq_encoder_open(&encoder, model, NULL, NULL)) free(model), model = NULL;
  cq_encoder_free(encoder);
  return model;
}

/* Whether an index could be rebuilt to mend this error of opening or checking it. */
static bool is_damage(cq_status status) {
  return status == CQ_ERR_FORMAT || status == CQ_ERR_IO || status == CQ_ERR_LIMIT;
}

static cq_status rebuild_damaged(const indexed_folder *f, const cq_error *why, cq_error *error) {
  char *recorded = f->options->model ? NULL : recorded_model(f);
  const cq_status status = rebuild(f, recorded ? recorded : f->options->model, why->message, error);
  free(recorded);
  return status;
}

static cq_status rebuild_other(const indexed_folder *f, const char *made, cq_error *error) {
  const char *model = f->options->model;
  char why[PLACE + MAX_PATH];
  const bool is_same = !model || is_name_of(model, made);
  snprintf(why, sizeof why,
           !is_same              ? "%s: made with '%s'"
           : f->options->compose ? "%s: made without --compose, or with another '%s'"
                                 : "%s: the model '%s' has changed since this index was made",
           f->place, made);
  return rebuild(f, is_same ? made : model, why, error);
}

/* Opening the index for writing locks it, also while another is built next to it. *is_busy: another process has it open
 * for writing. */
static cq_status update(bool *is_busy, const indexed_folder *f, state s, cq_error *error) {
  cq_index_options opening = *f->options;
  cq_index *index = NULL, *as_asked = NULL;
  cq_error why = {0};
  cq_status status = CQ_OK;
  char old[PLACE];
  opening.model = NULL, opening.notice = NULL, opening.compose = false;
  if (access(f->place, F_OK) != 0)
    (void)!rename(beside(old, f->place, OLD), f->place); /* killed between two renamings */
  remove_left(f);
  if (access(f->place, F_OK) == 0) status = cq_index_open(&index, f->place, &opening, &why);
  *is_busy = status == CQ_ERR_ARGUMENT;
  if (*is_busy) return CQ_OK;
  if (index && s == UNUSABLE) status = cq_index_check(index, f->ctx, &why);
  if (is_damage(status)) {
    status = rebuild_damaged(f, &why, error);
  } else if (status) {
    if (error) *error = why;
  } else if (index && open_as_asked(&as_asked, f, NULL) == CQ_ERR_ARGUMENT) {
    status = rebuild_other(f, cq_index_model(index), error);
  } else {
    cq_index_free(index);
    index = NULL;
    status = read_folder(f->place, f, f->options, error);
  }
  cq_index_free(as_asked);
  cq_index_free(index);
  return status;
}

/* The lock of those who change the index, which may itself be replaced: the folder's, or a hidden file's in the cache. */
static bool is_locked_elsewhere(int *lock, const indexed_folder *f) {
  const char *name = strrchr(f->place, '/') + 1;
  char path[PLACE];
  snprintf(path, sizeof path, "%.*s.%s", (int)(name - f->place), f->place, name);
  *lock = f->is_elsewhere ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : open(f->path, O_RDONLY | O_CLOEXEC);
  return *lock >= 0 && flock(*lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

static cq_status bring_up_to_date(const indexed_folder *f, cq_error *error) {
  for (bool waited = false;; waited = true) {
    int lock;
    cq_status status = CQ_OK;
    const state s = compare(f);
    if (s == CURRENT && !has_left(f)) return CQ_OK;
    bool is_busy = is_locked_elsewhere(&lock, f);
    if (s == CURRENT && !is_busy) remove_left(f);
    if (s != CURRENT && !is_busy) status = update(&is_busy, f, s, error);
    if (lock >= 0) close(lock);
    if (!is_busy || s == CURRENT) return status;
    if (s == CHANGED) {
      tell_folder(f, "%s: another process is indexing its changes; until then, the last complete state is used",
                  f->path);
      return CQ_OK;
    }
    if (!waited) tell_folder(f, "%s: waiting for another process, which is indexing it", f->path);
    nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
  }
}

cq_status cq_index_folder(char *out, size_t size, const char *path, const char *encoding,
                          const cq_index_options *options, const cq_index_folder_watch *watch, cq_context *ctx,
                          cq_error *error) {
  static const cq_index_folder_watch none;
  cq_index_options o = *options;
  o.writing = true, o.query_model = NULL;
  cq_documents_options reading = cq_documents_default_options();
  cq_documents *empty;
  reading.encoding = encoding;
  cq_status status = cq_documents_open(&empty, NULL, 0, &reading, error); /* the encoding may be unknown */
  if (status) return status;
  cq_documents_close(empty);
  char own[MAX_PATH], *whole = realpath(path, NULL);
  indexed_folder f = {whole, own, encoding, false, &o, watch ? watch : &none, ctx};
  if (!whole || !find_place(own, sizeof own, whole, false)) {
    status = cq_fail_file(error, CQ_ERR_IO, path, "cannot be opened");
  } else {
    f.is_elsewhere = access(whole, W_OK) != 0 || !cq_is_directory(whole) ||
                     (access(own, F_OK) == 0 && access(own, R_OK | W_OK | X_OK) != 0);
    const bool is_current = f.is_elsewhere && compare(&f) == CURRENT;
    f.place = out;
    if (!find_place(out, size, whole, f.is_elsewhere && !is_current))
      status = cq_fail_file(error, CQ_ERR_IO, path,
                            "there is no place for its index: neither the folder nor ~/.cache can be written to");
    else if (!is_current)
      status = bring_up_to_date(&f, error);
  }
  free(whole);
  return status;
}
