/* Following a folder, and watching it. See folder.h. */
#include "serve/folder.h"

#include "base/clock.h"
#include "base/error.h"
#include "calque/index_folder.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/inotify.h>
#endif
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
  QUIET_MS = 300,    /* without an event, before the folder is looked at: editors write several files for one */
  BUSY_MS = 3000,    /* that it may be delayed */
  LOOK_S = 60,       /* between looks, which also see what inotify misses: other machines' changes */
  LOOK_OFTEN_S = 5,  /* where it misses more: links to files, too many folders */
  RETRY_S = 30,      /* after a failure; twice as long each time */
  MAX_RETRY_S = 960, /* at most */
  NICENESS = 3,      /* more than the requests' threads: on a busy machine, much more would stop it */
  MAX_SAID = 1 << 16
};

/* ---- following ---- */

void serve_folder_say(serve_folder *f, const char *text) {
  if (strstr(cq_built(&f->said).data, text)) return;
  if (f->said.n < MAX_SAID) cq_builder_text(&f->said, text), cq_builder_char(&f->said, '\n');
  if (f->model->notice) f->model->notice(NULL, text);
}

static void say_notice(void *context, const char *text) {
  serve_folder *f = context;
  if (!f->is_watched || strncmp(text, "read as ", 8) != 0) serve_folder_say(f, text);
}

static bool tell_progress(void *context, uint64_t n_read) {
  const serve_folder *f = context;
  return !f->progress || f->progress(f->context, n_read);
}

static void tell_changes(void *context, const cq_index *index, const cq_index_changes *changes) {
  const serve_folder *f = context;
  char text[160];
  if (!changes || !(changes->read.n_added || changes->read.n_removed) || !f->model->notice) return;
  snprintf(text, sizeof text, "documents of the folder added or changed: %llu, removed: %llu, the index has %zu",
           (unsigned long long)changes->read.n_added, (unsigned long long)changes->read.n_removed,
           cq_index_size(index));
  f->model->notice(NULL, text);
}

cq_status serve_folder_follow(serve_folder *f, cq_context *ctx, cq_error *error) {
  cq_index_options making = cq_index_default_options();
  making.model = f->model->model, making.precision = f->model->precision, making.compose = f->model->compose;
  making.notice = say_notice, making.notice_context = f;
  const cq_index_folder_watch watch = {tell_progress, tell_changes, f};
  return cq_index_folder(f->place, sizeof f->place, f->path, f->encoding, &making, &watch, ctx, error);
}

/* ---- looking: as the documents are walked, without names that begin with a dot, links to parents excepted ---- */

typedef struct ancestor {
  dev_t device;
  ino_t inode;
  const struct ancestor *above;
} ancestor;

typedef struct look {
  bool watches;  /* gives the inotify a watch for each folder */
  int inotify;   /* -1: none */
  bool is_blind; /* changes may come without an event */
  uint64_t state;
  int64_t newest_ms; /* when a file was last changed */
} look;

#ifdef __linux__
static void watch_directory(look *l, const char *path) {
  const uint32_t events = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;
  if (l->watches && inotify_add_watch(l->inotify, path, events | IN_ONLYDIR) < 0) l->is_blind = true;
}
#else
static void watch_directory(look *l, const char *path) {
  (void)path;
  l->is_blind = true;
}
#endif

static uint64_t mix(uint64_t hash, uint64_t x) { /* FNV-1a */
  return (hash ^ x) * UINT64_C(0x100000001b3);
}

/* Adds a name, in any order. */
static void count_name(look *l, const char *path, const struct stat *s, int failure) {
  int64_t numbers[] = {failure, s->st_mode, (int64_t)s->st_ino, 0, 0, 0};
  if (S_ISREG(s->st_mode)) {
    numbers[3] = s->st_size;
    numbers[4] = s->st_mtim.tv_sec * INT64_C(1000000000) + s->st_mtim.tv_nsec;
    numbers[5] = s->st_ctim.tv_sec * INT64_C(1000000000) + s->st_ctim.tv_nsec;
    if (numbers[5] / 1000000 > l->newest_ms) l->newest_ms = numbers[5] / 1000000;
  }
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (const char *c = path; *c; c++) hash = mix(hash, (unsigned char)*c);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) hash = mix(hash ^ hash >> 29, (uint64_t)numbers[i]);
  l->state += hash ^ hash >> 29;
}

static void look_into(look *l, cq_builder *path, const struct stat *info, const ancestor *above) {
  const ancestor here = {info->st_dev, info->st_ino, above};
  const size_t n_path = path->n;
  while (above && (above->device != info->st_dev || above->inode != info->st_ino)) above = above->above;
  if (above || path->failed) return;
  watch_directory(l, path->data); /* before it is read: what comes after is an event */
  DIR *directory = opendir(path->data);
  if (!directory) count_name(l, path->data, info, errno), l->is_blind = true;
  for (const struct dirent *entry; directory && (entry = readdir(directory));) {
    struct stat s = {0}, link = {0};
    if (entry->d_name[0] == '.') continue;
    cq_builder_printf(path, "/%s", entry->d_name);
    const int failure = path->failed ? ENOMEM : stat(path->data, &s) ? errno : 0;
    if (!path->failed) count_name(l, path->data, &s, failure);
    if (!S_ISDIR(s.st_mode) && !path->failed && (lstat(path->data, &link) || S_ISLNK(link.st_mode))) l->is_blind = true;
    if (S_ISDIR(s.st_mode)) look_into(l, path, &s, &here);
    path->n = n_path;
    if (path->data) path->data[n_path] = '\0';
  }
  if (directory) closedir(directory);
}

static void look_at(look *l, const char *folder) {
  struct stat info;
  cq_builder path = {0};
  cq_builder_text(&path, folder);
  if (path.failed || stat(folder, &info)) {
    l->state = 1, l->is_blind = true;
  } else if (S_ISDIR(info.st_mode)) {
    l->state = 2; /* an empty folder's: neither 0 nor that of none */
    look_into(l, &path, &info, NULL);
  } else { /* editors put another file in its place, which its folder sees */
    char *slash = strrchr(path.data, '/');
    count_name(l, folder, &info, 0);
    l->is_blind |= lstat(folder, &info) || S_ISLNK(info.st_mode);
    if (slash) slash[slash == path.data] = '\0';
    watch_directory(l, slash ? path.data : ".");
  }
  cq_builder_free(&path);
}

uint64_t serve_folder_state(const char *path) {
  look l = {0};
  look_at(&l, path);
  return l.state;
}

/* ---- the watch ---- */

struct serve_folder_watch {
  serve_folder folder;
  int n_threads, inotify, stop[2];
  bool is_stale; /* the watches are no longer those of all folders */
  look last;
  uint64_t indexed, failed; /* states; failed: that could not be indexed, 0 if none */
  uint64_t retry_ms;
  unsigned retry_s;
  cq_error why; /* the failure */
  atomic_bool is_stopping;
  void (*followed)(void *context);
  void *context;
  pthread_t thread;
};

static bool is_needed(void *context, uint64_t n_read) {
  serve_folder_watch *w = context;
  (void)n_read;
  return !atomic_load(&w->is_stopping);
}

static void look_again(serve_folder_watch *w) {
  look l = {.watches = w->is_stale};
#ifdef __linux__
  if (w->is_stale) {
    if (w->inotify >= 0) close(w->inotify);
    w->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  }
#endif
  l.inotify = w->inotify, l.is_blind = !w->is_stale && w->last.is_blind;
  w->is_stale = false;
  look_at(&l, w->folder.path);
  w->last = l;
}

/* Whether a file was changed just now: it may be incomplete. */
static bool is_fresh(const look *l) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t age_ms = now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000 - l->newest_ms;
  return age_ms >= 0 && age_ms < QUIET_MS;
}

static void follow_state(serve_folder_watch *w, cq_context *ctx) {
  cq_error error = {0};
  const uint64_t state = w->last.state;
  if (!serve_folder_follow(&w->folder, ctx, &error)) {
    w->indexed = state, w->failed = 0, w->retry_s = RETRY_S, w->why.message[0] = '\0';
    w->followed(w->context);
    return;
  }
  if (atomic_load(&w->is_stopping)) return;
  if (state == w->failed && w->retry_s < MAX_RETRY_S) w->retry_s *= 2;
  if (state != w->failed) w->retry_s = RETRY_S;
  w->failed = state, w->retry_ms = cq_now_ms() + (uint64_t)w->retry_s * 1000;
  w->is_stale = true; /* the folder may have gone, with its watches */
  if (!strcmp(w->why.message, error.message) || !w->folder.model->notice) return;
  w->why = error;
  char text[sizeof error.message + 80];
  snprintf(text, sizeof text, "%s; answers go on from the last complete index", error.message);
  w->folder.model->notice(NULL, text);
}

#ifdef __linux__
/* Whether any event is of what would be indexed. */
static bool take_events(serve_folder_watch *w) {
  _Alignas(struct inotify_event) char bytes[16384];
  bool is_any = false;
  for (ssize_t n; w->inotify >= 0 && (n = read(w->inotify, bytes, sizeof bytes)) > 0;)
    for (const char *at = bytes; at < bytes + n;) {
      const struct inotify_event *e = (const void *)at;
      const bool is_hidden = e->len && e->name[0] == '.';
      const uint32_t of_folders = IN_Q_OVERFLOW | IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT;
      if (!is_hidden && e->mask & (of_folders | IN_ISDIR)) w->is_stale = true;
      is_any |= !is_hidden;
      at += sizeof *e + e->len;
    }
  return is_any;
}
#else
static bool take_events(serve_folder_watch *w) {
  (void)w;
  return false;
}
#endif

/* Waits for an event, at most that long; false: there was none. */
static bool wait_event(serve_folder_watch *w, int timeout_ms) {
  struct pollfd sources[] = {{.fd = w->stop[0], .events = POLLIN}, {.fd = w->inotify, .events = POLLIN}};
  return poll(sources, 2, timeout_ms) > 0 && sources[1].revents && take_events(w);
}

/* Waits until there are no more events, or for too long. */
static void wait_quiet(serve_folder_watch *w) {
  const uint64_t begun = cq_now_ms();
  for (uint64_t quiet = begun + QUIET_MS, now; !atomic_load(&w->is_stopping);) {
    if ((now = cq_now_ms()) >= quiet || now >= begun + BUSY_MS) break;
    if (wait_event(w, (int)(quiet - now))) quiet = cq_now_ms() + QUIET_MS;
  }
}

/* Until the folder should be looked at. */
static void wait_change(serve_folder_watch *w) {
  const uint64_t begun = cq_now_ms();
  uint64_t until = begun + (w->last.is_blind ? LOOK_OFTEN_S : LOOK_S) * UINT64_C(1000);
  if (w->failed && w->retry_ms < until) until = w->retry_ms;
  for (uint64_t now = begun; !atomic_load(&w->is_stopping) && now < until; now = cq_now_ms())
    if (wait_event(w, (int)(until - now))) break;
  if (cq_now_ms() < until) wait_quiet(w);
}

static void *watch_folder(void *context) {
  serve_folder_watch *w = context;
  cq_context *ctx;
  (void)setpriority(PRIO_PROCESS, 0,
                    getpriority(PRIO_PROCESS, 0) + NICENESS); /* on Linux, of this thread and its own */
  if (cq_context_open(&ctx, w->n_threads, NULL)) ctx = NULL;
  for (; !atomic_load(&w->is_stopping); wait_change(w)) {
    look_again(w);
    for (int i = 0; w->last.state != w->indexed && is_fresh(&w->last) && i < BUSY_MS / QUIET_MS; i++)
      wait_quiet(w), look_again(w);
    const bool is_known = w->last.state == w->failed && cq_now_ms() < w->retry_ms;
    if (w->last.state != w->indexed && !is_known) follow_state(w, ctx), cq_context_trim(ctx);
  }
  cq_context_free(ctx);
  return NULL;
}

cq_status serve_folder_watch_open(serve_folder_watch **out, const serve_folder *folder, uint64_t indexed, int n_threads,
                                  void (*followed)(void *context), void *context, cq_error *error) {
  serve_folder_watch *w = calloc(1, sizeof *w);
  if (!w) return cq_fail_memory(error, "a watch");
  w->folder = *folder;
  w->folder.progress = is_needed, w->folder.context = w, w->folder.is_watched = true;
  w->n_threads = n_threads, w->inotify = -1, w->indexed = indexed, w->is_stale = true, w->retry_s = RETRY_S;
  w->followed = followed, w->context = context;
  if (pipe(w->stop)) {
    free(w);
    return cq_fail(error, CQ_ERR_IO, "cannot make a pipe: %s", strerror(errno));
  }
  if (pthread_create(&w->thread, NULL, watch_folder, w)) {
    close(w->stop[0]), close(w->stop[1]);
    free(w);
    return cq_fail(error, CQ_ERR_MEMORY, "cannot start a thread");
  }
  *out = w;
  return CQ_OK;
}

void serve_folder_watch_close(serve_folder_watch *w) {
  if (!w) return;
  atomic_store(&w->is_stopping, true);
  (void)!write(w->stop[1], "", 1);
  pthread_join(w->thread, NULL);
  close(w->stop[0]), close(w->stop[1]);
  if (w->inotify >= 0) close(w->inotify);
  cq_builder_free(&w->folder.said);
  free(w);
}
