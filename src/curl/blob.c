/*   HEAD ──▶ ETag, size ──▶ lock ──▶ GET, from where ETAG.incomplete ends ──▶ hash ──▶ sync, rename to ETAG */
#include "curl/blob.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/sha.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* A connection that is lost after more than this many bytes does not count as a failed attempt. */
enum { PROGRESS_BYTES = 1 << 20, READ_BYTES = 1 << 16 };

uint64_t cq_hub_max_unsized = (uint64_t)4 << 30;

void cq_hub_file_url(cq_builder *out, const cq_hub_store *store, const char *name) {
  const bool is_model = !strcmp(store->kind, "models");
  cq_builder_printf(out, "%s/%s%s/resolve/%s/", store->session->endpoint, is_model ? "" : "datasets/",
                    store->repository, store->commit);
  cq_hub_escape(out, name, true);
}

cq_status cq_hub_blob_path(char out[CQ_HUB_PATH], const cq_hub_store *store, const cq_hub_file *file, cq_error *error) {
  if (snprintf(out, CQ_HUB_PATH, "%s/blobs/%s", store->directory, file->etag) < CQ_HUB_PATH) return CQ_OK;
  return cq_fail_file(error, CQ_ERR_ARGUMENT, store->directory, "the path is longer than %d bytes", CQ_HUB_PATH - 1);
}

bool cq_hub_blob_is_there(const cq_hub_store *store, const cq_hub_file *file) {
  char path[CQ_HUB_PATH];
  struct stat info;
  return cq_hub_blob_path(path, store, file, NULL) == CQ_OK && stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
         (!file->has_size || (uint64_t)info.st_size == file->n_bytes);
}

/* --- what the hub says of it --- */

static bool is_hash(const char *etag, size_t n) {
  return strlen(etag) == n && strspn(etag, "0123456789abcdef") == n;
}

static cq_status take_head(cq_hub_file *file, const cq_hub_answer *a, const cq_hub_store *store, const char *url,
                           cq_error *error) {
  const char *etag = a->linked_etag[0] ? a->linked_etag : a->etag;
  const bool has_size = a->has_linked_size || (a->code == 200 && a->has_length);
  const uint64_t n_bytes = a->has_linked_size ? a->linked_size : a->length;
  if (!a->commit[0] || !etag[0])
    return cq_fail_file(error, CQ_ERR_FORMAT, url, "the answer has no %s: is this a hub, or a proxy in front of it?",
                        a->commit[0] ? "ETag that can be used" : "X-Repo-Commit");
  if (strcmp(a->commit, store->commit) != 0)
    return cq_fail_file(error, CQ_ERR_FORMAT, url, "is of commit %s", a->commit);
  if (file->sha256 && is_hash(etag, 64) && strcmp(etag, file->sha256) != 0)
    return cq_fail_file(error, CQ_ERR_FORMAT, url, "has SHA-256 %s, the list of files says %s", etag, file->sha256);
  if (!file->sha256 && file->git_hash && is_hash(etag, 40) && strcmp(etag, file->git_hash) != 0)
    return cq_fail_file(error, CQ_ERR_FORMAT, url, "has git's hash %s, the list of files says %s", etag,
                        file->git_hash);
  if (has_size && file->has_size && n_bytes != file->n_bytes)
    return cq_fail_file(error, CQ_ERR_FORMAT, url, "has %llu bytes, the list of files says %llu",
                        (unsigned long long)n_bytes, (unsigned long long)file->n_bytes);
  if (has_size) file->has_size = true, file->n_bytes = n_bytes;
  snprintf(file->etag, sizeof file->etag, "%s", etag);
  return CQ_OK;
}

cq_status cq_hub_blob_ask(const cq_hub_store *store, cq_hub_file *file, cq_error *error) {
  cq_builder url = {0};
  cq_hub_answer a = {0};
  cq_hub_file_url(&url, store, file->name);
  if (url.failed) return cq_fail_memory(error, file->name);
  cq_status status =
      cq_hub_ask(&a, store->session,
                 &(cq_hub_request){
                     .method = "HEAD", .url = url.data, .headers = {"Accept-Encoding: identity"}, .is_metadata = true},
                 error);
  if (!status) status = take_head(file, &a, store, url.data, error);
  cq_hub_answer_free(&a);
  cq_builder_free(&url);
  return status;
}

/* --- the lock, which huggingface_hub uses, too --- */

static cq_status take_lock(int *lock, const cq_hub_store *store, const cq_hub_file *file, cq_error *error) {
  char path[CQ_HUB_PATH];
  struct stat opened, named;
  if (snprintf(path, sizeof path, "%s/%s.lock", store->locks, file->etag) >= (int)sizeof path)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, store->locks, "the path is longer than %d bytes", CQ_HUB_PATH - 1);
  for (;;) {
    *lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (*lock < 0) return cq_fail_errno(error, path, "cannot create");
    while (flock(*lock, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) return CQ_OK; /* a file system without locks: no warning */
      if (!cq_hub_tell(store->session)) {
        close(*lock);
        *lock = -1;
        return cq_fail(error, CQ_ERR_STOPPED, "stopped while another process fetches %s", file->name);
      }
      nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    /* Some programs remove the lock file later; the lock is then on a file that no other process can find. */
    if (fstat(*lock, &opened) == 0 && stat(path, &named) == 0 && opened.st_ino == named.st_ino) return CQ_OK;
    close(*lock);
  }
}

/* --- contents --- */

typedef struct fetching {
  const cq_hub_store *store;
  const cq_hub_file *file;
  const char *url;
  char path[CQ_HUB_PATH], incomplete[CQ_HUB_PATH + 16];
  int fd;
  uint64_t n;         /* bytes in the incomplete file, all hashed */
  bool is_resumed;    /* some of them are of an earlier call */
  const char *wanted; /* the expected hash; NULL: unknown */
  cq_sha sha;
  uint64_t n_done_before; /* of the session */
  cq_status failure;
  cq_error failed;
} fetching;

/* Starts SHA-256 for large files, git's hash (which begins with the length) for small ones; the expected value is the
 * ETag if that is a hash, otherwise from the list of files. */
static void begin_hash(fetching *f) {
  const cq_hub_file *file = f->file;
  char head[40];
  const char *small = is_hash(file->etag, 40) ? file->etag : file->git_hash;
  const bool is_large = is_hash(file->etag, 64) || file->sha256;
  f->wanted = is_hash(file->etag, 64) ? file->etag : file->sha256;
  if (!is_large && file->has_size) f->wanted = small;
  cq_sha_begin(&f->sha, is_large ? CQ_SHA256 : CQ_SHA1);
  if (!is_large)
    cq_sha_add(&f->sha, head, 1 + (size_t)snprintf(head, sizeof head, "blob %llu", (unsigned long long)file->n_bytes));
}

static cq_status start_over(fetching *f, cq_error *error) {
  if (ftruncate(f->fd, 0) != 0) return cq_fail_errno(error, f->incomplete, "cannot truncate");
  f->n = 0, f->is_resumed = false;
  begin_hash(f);
  f->store->session->done = f->n_done_before;
  return CQ_OK;
}

/* Hashes the data that an earlier call left, unless it is too long. */
static cq_status take_up(fetching *f, cq_error *error) {
  struct stat info;
  char *buffer = cq_alloc(READ_BYTES);
  if (!buffer) return cq_fail_memory(error, f->incomplete);
  begin_hash(f);
  cq_status status = fstat(f->fd, &info) == 0 ? CQ_OK : cq_fail_errno(error, f->incomplete, "cannot stat");
  if (!status && f->file->has_size && (uint64_t)info.st_size > f->file->n_bytes)
    status = start_over(f, error);
  else if (!status)
    for (;;) {
      const ssize_t got = pread(f->fd, buffer, READ_BYTES, (off_t)f->n);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) status = cq_fail_errno(error, f->incomplete, "cannot read");
      if (got <= 0) break;
      cq_sha_add(&f->sha, buffer, (size_t)got);
      f->n += (uint64_t)got, f->is_resumed = true;
    }
  f->store->session->done = f->n_done_before + f->n;
  cq_free(buffer);
  return status;
}

/* One answer that sends bytes of the file. */
typedef struct receiving {
  fetching *f;
  uint64_t asked_from;
  bool has_begun;
} receiving;

/* Whether a response continues at the requested byte: a server may send the whole file instead. */
static cq_status check_start(const receiving *r, const cq_hub_answer *head, cq_error *error) {
  fetching *f = r->f;
  if (head->code == 200) return r->asked_from ? start_over(f, error) : CQ_OK;
  if (head->code == 206 && head->has_range && head->range_first == r->asked_from &&
      (!f->file->has_size || head->range_all == f->file->n_bytes))
    return CQ_OK;
  return cq_fail_file(error, CQ_ERR_FORMAT, f->url, "bytes from %llu on were requested, it sends another range",
                      (unsigned long long)r->asked_from);
}

static bool take_bytes(void *context, const cq_hub_answer *head, const void *bytes, size_t n) {
  receiving *r = context;
  fetching *f = r->f;
  f->failure = r->has_begun ? CQ_OK : check_start(r, head, &f->failed);
  r->has_begun = true;
  if (!f->failure && f->file->has_size && n > f->file->n_bytes - f->n)
    f->failure = cq_fail_file(&f->failed, CQ_ERR_FORMAT, f->url, "sends more than the %llu bytes that the hub names",
                              (unsigned long long)f->file->n_bytes);
  if (!f->failure && !f->file->has_size && f->n + n > cq_hub_max_unsized - f->store->session->n_unsized)
    f->failure = cq_fail_file(&f->failed, CQ_ERR_FORMAT, f->url,
                              "nobody names its size, and files of unknown size have more than %llu bytes",
                              (unsigned long long)cq_hub_max_unsized);
  if (!f->failure) f->failure = cq_write_at(f->fd, bytes, n, (int64_t)f->n, f->incomplete, &f->failed);
  if (f->failure) return false;
  cq_sha_add(&f->sha, bytes, n);
  f->n += n;
  f->store->session->done = f->n_done_before + f->n;
  return true;
}

static bool is_whole(const fetching *f) {
  return f->file->has_size && f->n == f->file->n_bytes;
}

/* Repeats until the file is complete: lost connections are tolerated if each makes progress. */
static cq_status receive(fetching *f, cq_error *error) {
  cq_hub_session *s = f->store->session;
  int tries = 0;
  cq_status status = CQ_OK;
  while (!status && !is_whole(f)) {
    char range[64];
    cq_hub_answer a = {0};
    receiving r = {.f = f, .asked_from = f->n};
    const uint64_t before = f->n;
    snprintf(range, sizeof range, "Range: bytes=%llu-", (unsigned long long)f->n);
    const cq_hub_request request = {.method = "GET",
                                    .url = f->url,
                                    .headers = {"Accept-Encoding: identity", f->n ? range : NULL},
                                    .sink = take_bytes,
                                    .context = &r,
                                    .stall_s = s->download_s,
                                    .failure = &f->failure,
                                    .failed = &f->failed};
    status = cq_hub_exchange(&a, s, &request, error);
    const bool is_success = !status && (a.code == 200 || a.code == 206);
    const bool is_short = is_success && f->file->has_size && !is_whole(f);
    if (!status && a.code == 416 && before) {
      status = start_over(f, error);
    } else if (is_success && !is_short) {
      cq_hub_answer_free(&a);
      break;
    } else if (!status || a.lost) {
      cq_status stopped = CQ_OK;
      a.lost = a.lost || is_short;
      if (f->n >= before + PROGRESS_BYTES) tries = 0;
      if (cq_hub_try_again(&tries, &a, s, &stopped, error))
        status = CQ_OK;
      else if (stopped)
        status = stopped;
      else if (is_short)
        status = cq_fail_file(error, CQ_ERR_FORMAT, f->url, "ends after %llu bytes, the hub names %llu",
                              (unsigned long long)f->n, (unsigned long long)f->file->n_bytes);
      else if (!status)
        status = cq_hub_refused(&a, s, f->url, error);
    }
    cq_hub_answer_free(&a);
  }
  return status;
}

static cq_status verify(fetching *f, cq_error *error) {
  char hex[CQ_SHA_HEX];
  if (!f->wanted) return CQ_OK; /* not Hugging Face's hub: no known hash */
  cq_sha_hex(hex, &f->sha);
  if (!strcmp(hex, f->wanted)) return CQ_OK;
  return cq_fail_file(error, CQ_ERR_FORMAT, f->url, "the download has %s %s, the hub names %s",
                      f->sha.kind == CQ_SHA256 ? "SHA-256" : "git's hash", hex, f->wanted);
}

static cq_status check_disk(const fetching *f, cq_error *error) {
  struct statvfs disk;
  if (!f->file->has_size || f->n >= f->file->n_bytes || fstatvfs(f->fd, &disk) != 0) return CQ_OK;
  const uint64_t missing = f->file->n_bytes - f->n, n_free = (uint64_t)disk.f_bavail * disk.f_frsize;
  if (missing <= n_free) return CQ_OK;
  return cq_fail_file(error, CQ_ERR_IO, f->store->directory, "%s needs %.1f MB, the disk has %.1f MB left",
                      f->file->name, 1e-6 * (double)missing, 1e-6 * (double)n_free);
}

/* With the lock held. */
static cq_status fetch_contents(fetching *f, cq_error *error) {
  f->fd = open(f->incomplete, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (f->fd < 0) return cq_fail_errno(error, f->incomplete, "cannot create");
  cq_status status = take_up(f, error);
  if (!status) status = check_disk(f, error);
  if (!status) status = receive(f, error);
  if (!status && verify(f, error)) {
    /* The data of an earlier call may belong to different contents. */
    const bool was_resumed = f->is_resumed;
    status = start_over(f, error);
    if (!status && was_resumed) status = receive(f, error);
    if (!status) status = was_resumed ? verify(f, error) : CQ_ERR_FORMAT;
    if (status == CQ_ERR_FORMAT) unlink(f->incomplete);
  }
  if (status == CQ_ERR_FORMAT && !f->file->has_size) unlink(f->incomplete);
  if (!status && !f->file->has_size) f->store->session->n_unsized += f->n;
  if (!status && fsync(f->fd) != 0) status = cq_fail_errno(error, f->incomplete, "cannot write");
  if (close(f->fd) != 0 && !status) status = cq_fail_errno(error, f->incomplete, "cannot write");
  if (!status && rename(f->incomplete, f->path) != 0) status = cq_fail_errno(error, f->path, "cannot put in place");
  return status ? status : cq_sync_name(f->path, error);
}

cq_status cq_hub_blob_fetch(const cq_hub_store *store, const cq_hub_file *file, cq_error *error) {
  cq_builder url = {0};
  int lock = -1;
  fetching *f = cq_alloc_zeroed(sizeof *f);
  if (!f) return cq_fail_memory(error, file->name);
  f->store = store, f->file = file, f->n_done_before = store->session->done;
  store->session->what = file->name;
  cq_hub_file_url(&url, store, file->name);
  f->url = url.data;
  cq_status status = url.failed ? cq_fail_memory(error, file->name) : cq_hub_blob_path(f->path, store, file, error);
  snprintf(f->incomplete, sizeof f->incomplete, "%s.incomplete", f->path);
  if (!status) status = take_lock(&lock, store, file, error);
  if (!status && !cq_hub_blob_is_there(store, file)) status = fetch_contents(f, error);
  if (lock >= 0) close(lock);
  if (!status && file->has_size) store->session->done = f->n_done_before + file->n_bytes;
  cq_builder_free(&url);
  cq_free(f);
  return status;
}
