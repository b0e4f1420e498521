/* An open index: its newest snapshot, and writing behind it. */
#include "store/index_store.h"

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"
#include "store/index_snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

struct cq_index_store {
  char *directory;
  pthread_mutex_t mutex; /* of what follows */
  cq_index_snapshot *newest;
  pthread_mutex_t refreshing; /* held by the one thread that looks for a newer one */
  /* Writing, by one thread at a time. */
  int lock, documents, vectors, checks; /* descriptors; -1: only reading */
  cq_index_snapshot *opened;            /* whose ids `live` borrows */
  cq_map live;                          /* id -> record; one that is not counted yet: it is new */
  unsigned char *deleted;               /* [(n + 7) / 8], of the records that count, with what is not committed */
  bool changed;                         /* it is another than the newest snapshot's */
  int64_t n_new, n_new_bytes;
  int64_t next_approximate, n_approximate; /* as in the manifest to come */
  uint64_t approximate_check;              /* likewise */
  char *fingerprint;                       /* likewise; NULL: it stays */
};

/* What is left behind harms nobody. */
static void remove_generation(const char *directory, const char *what, int64_t generation) {
  char path[PATH_MAX];
  if (generation > 0 && !cq_index_path(path, directory, what, generation, NULL)) unlink(path);
}

cq_status cq_index_store_create(const char *directory, const char *model, const char *fingerprint, int64_t dim,
                                cq_error *error) {
  static const char *const files[] = {"documents", "vectors", "checks"};
  cq_directory_writer w = {0};
  char *owned[2] = {cq_strdup(model), cq_strdup(fingerprint)};
  const cq_index_manifest m = {.model = owned[0], .fingerprint = owned[1], .format = 1, .dim = dim};
  char path[PATH_MAX];
  cq_status status = owned[0] && owned[1] ? CQ_OK : cq_fail_memory(error, directory);
  if (!status) status = cq_directory_writer_open(&w, directory, false, error);
  for (int i = 0; !status && i < 3; i++) {
    status = cq_path_join(path, sizeof path, w.temporary, files[i], error);
    if (!status) status = cq_file_write(path, "", 0, error);
  }
  if (!status) status = cq_index_manifest_save(&m, w.temporary, error);
  if (!status) status = cq_directory_writer_commit(&w, error);
  if (status) cq_directory_writer_abort(&w);
  cq_free(owned[0]);
  cq_free(owned[1]);
  return status;
}

/* --- reading --- */

/* The snapshot of the manifest on disk; *out NULL: it is that of `before`. A list of deleted documents may have been
 * replaced since the manifest was read: then there is a newer manifest. */
static cq_status read_newest(cq_index_snapshot **out, const char *directory, const cq_index_snapshot *before,
                             cq_error *error) {
  cq_index_manifest m, newer;
  cq_error e = {0};
  *out = NULL;
  cq_status status = cq_index_manifest_read(&m, directory, error);
  if (status) return status;
  while (!before || !cq_index_manifest_equal(&m, &before->m)) {
    status = cq_index_snapshot_open(out, directory, &m, NULL, before, &e);
    if (status != CQ_ERR_IO || cq_index_manifest_read(&newer, directory, NULL)) break;
    const bool is_newer = !cq_index_manifest_equal(&m, &newer);
    cq_index_manifest_free(&m);
    m = newer;
    if (!is_newer) break;
    status = CQ_OK;
  }
  cq_index_manifest_free(&m);
  if (status && error) *error = e;
  return status;
}

static void publish_snapshot(cq_index_store *s, cq_index_snapshot *newest) {
  pthread_mutex_lock(&s->mutex);
  cq_index_snapshot *before = s->newest;
  s->newest = newest;
  pthread_mutex_unlock(&s->mutex);
  cq_index_snapshot_release(before);
}

cq_index_snapshot *cq_index_store_hold(cq_index_store *s) {
  pthread_mutex_lock(&s->mutex);
  cq_index_snapshot *newest = s->newest;
  atomic_fetch_add(&newest->n_users, 1);
  pthread_mutex_unlock(&s->mutex);
  return newest;
}

cq_status cq_index_store_refresh(cq_index_store *s, bool *changed, cq_error *error) {
  cq_index_snapshot *newer;
  *changed = false;
  if (s->lock >= 0) return CQ_OK;
  pthread_mutex_lock(&s->refreshing);
  const cq_status status = read_newest(&newer, s->directory, s->newest, error); /* which only this thread replaces */
  if (newer) publish_snapshot(s, newer);
  pthread_mutex_unlock(&s->refreshing);
  *changed = newer != NULL;
  return status;
}

cq_status cq_index_store_approximate(char path[PATH_MAX], const cq_index_store *s, int64_t generation,
                                     cq_error *error) {
  return cq_index_path(path, s->directory, "approximate", generation, error);
}

/* --- opening --- */

static cq_status open_descriptor(int *out, const cq_index_store *s, const char *name, cq_error *error) {
  char path[PATH_MAX];
  cq_status status = cq_path_join(path, sizeof path, s->directory, name, error);
  if (!status && (*out = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666)) < 0)
    status = cq_fail_errno(error, path, "cannot open");
  return status;
}

static cq_status take_lock(cq_index_store *s, cq_error *error) {
  cq_status status = open_descriptor(&s->lock, s, "lock", error);
  if (!status && flock(s->lock, LOCK_EX | LOCK_NB) != 0)
    status = errno == EWOULDBLOCK
                 ? cq_fail_file(error, CQ_ERR_ARGUMENT, s->directory, "it is open for writing elsewhere")
                 : cq_fail_errno(error, s->directory, "cannot lock");
  if (!status) status = open_descriptor(&s->documents, s, "documents", error);
  if (!status) status = open_descriptor(&s->vectors, s, "vectors", error);
  if (!status) status = open_descriptor(&s->checks, s, "checks", error);
  return status;
}

/* What was written and never counted: by a killed process, or before the disk was full. */
static cq_status truncate_tail(const cq_index_store *s, cq_error *error) {
  const cq_index_manifest *m = &s->newest->m;
  if (ftruncate(s->vectors, (m->n + s->n_new) * m->dim * (int64_t)sizeof(float)) != 0 ||
      ftruncate(s->documents, m->n_bytes + s->n_new_bytes) != 0 ||
      ftruncate(s->checks, (m->n + s->n_new) * (int64_t)sizeof(cq_index_check)) != 0)
    return cq_fail_errno(error, s->directory, "cannot truncate its files to what counts");
  return CQ_OK;
}

/* Learns which ids are there, and gives back the room of what a killed process left: what it wrote before the manifest,
 * or did not remove after it. */
static cq_status prepare_writing(cq_index_store *s, cq_error *error) {
  const cq_index_manifest *m = &s->newest->m;
  s->opened = cq_index_store_hold(s);
  s->next_approximate = m->approximate, s->n_approximate = m->n_approximate;
  s->approximate_check = m->approximate_check;
  s->deleted = cq_alloc(cq_index_deleted_bytes(m->n));
  if (!s->deleted) return cq_fail_memory(error, s->directory);
  memcpy(s->deleted, s->newest->deleted, cq_index_deleted_bytes(m->n));
  for (int64_t i = 0; i < m->n; i++) {
    if (!cq_index_snapshot_is_sound_document(s->opened, i)) return cq_index_snapshot_fail(s->opened, i, error);
    if (!cq_index_bit(s->deleted, i) &&
        !cq_map_put_borrowed(&s->live, cq_index_snapshot_record(s->opened, i).id, (uint64_t)i))
      return cq_fail_memory(error, s->directory);
  }
  for (int side = -1; side <= 1; side += 2) {
    remove_generation(s->directory, "deleted", m->generation + side);
    remove_generation(s->directory, "approximate", m->approximate + side);
  }
  return truncate_tail(s, error);
}

cq_status cq_index_store_open(cq_index_store **out, const char *directory, bool writing, cq_error *error) {
  char path[PATH_MAX];
  *out = NULL;
  cq_status status = cq_path_join(path, sizeof path, directory, "manifest.json", error);
  if (status) return status;
  if (!cq_file_exists(path)) return cq_fail_file(error, CQ_ERR_IO, directory, "no index is there");
  cq_index_store *s = cq_alloc_zeroed(sizeof *s);
  if (!s) return cq_fail_memory(error, directory);
  pthread_mutex_init(&s->mutex, NULL);
  pthread_mutex_init(&s->refreshing, NULL);
  s->lock = s->documents = s->vectors = s->checks = -1;
  s->directory = cq_strdup(directory);
  status = s->directory ? CQ_OK : cq_fail_memory(error, directory);
  if (!status && writing) status = take_lock(s, error);
  if (!status) status = read_newest(&s->newest, directory, NULL, error);
  if (!status && writing) status = prepare_writing(s, error);
  if (status)
    cq_index_store_close(s);
  else
    *out = s;
  return status;
}

void cq_index_store_close(cq_index_store *s) {
  if (!s) return;
  cq_index_snapshot_release(s->newest);
  cq_index_snapshot_release(s->opened);
  cq_map_free(&s->live);
  cq_free(s->deleted);
  cq_free(s->fingerprint);
  if (s->documents >= 0) close(s->documents);
  if (s->vectors >= 0) close(s->vectors);
  if (s->checks >= 0) close(s->checks);
  if (s->lock >= 0) close(s->lock); /* releases it */
  pthread_mutex_destroy(&s->mutex);
  pthread_mutex_destroy(&s->refreshing);
  cq_free(s->directory);
  cq_free(s);
}

/* --- writing --- */

cq_status cq_index_store_check_writing(const cq_index_store *s, cq_error *error) {
  return s->lock >= 0 ? CQ_OK : cq_fail_file(error, CQ_ERR_ARGUMENT, s->directory, "it is open for reading only");
}

static bool has_char(cq_slice text, char c) {
  return text.n > 0 && memchr(text.data, c, text.n) != NULL;
}

/* Adds a document's line; *before is the record that had its id, or CQ_MAP_NONE. */
static cq_status add_document_line(cq_index_store *s, cq_builder *lines, const cq_index_record *r, uint64_t record,
                                   uint64_t *before, cq_error *error) {
  if (r->id.n == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "a document's id is empty");
  if (has_char(r->id, '\t') || has_char(r->language, '\t') || has_char(r->id, '\n') || has_char(r->language, '\n') ||
      has_char(r->text, '\n'))
    return cq_fail(error, CQ_ERR_ARGUMENT, "document '%.*s': a tab or a newline where there may be none", (int)r->id.n,
                   r->id.data);
  *before = cq_map_get(&s->live, r->id);
  if (*before != CQ_MAP_NONE && *before >= (uint64_t)s->newest->m.n)
    return cq_fail(error, CQ_ERR_ARGUMENT, "document '%.*s' comes twice", (int)r->id.n, r->id.data);
  if (!cq_map_put(&s->live, r->id, record)) return cq_fail_memory(error, "ids");
  cq_builder_bytes(lines, r->id.data, r->id.n);
  cq_builder_char(lines, '\t');
  cq_builder_bytes(lines, r->language.data, r->language.n);
  cq_builder_char(lines, '\t');
  cq_builder_bytes(lines, r->text.data, r->text.n);
  cq_builder_char(lines, '\n');
  return CQ_OK;
}

/* Marks a record that counts as deleted; false: it is already. */
static bool delete_record(cq_index_store *s, uint64_t record) {
  if (record >= (uint64_t)s->newest->m.n || cq_index_bit(s->deleted, (int64_t)record)) return false;
  s->deleted[record / 8] |= (unsigned char)(1u << (record % 8));
  return s->changed = true;
}

/* Writes the checks of n records from `first` on: of their vectors [n, dim] and of their lines, one after the other. */
static cq_status write_checks(const cq_index_store *s, int64_t first, int64_t n, const void *vectors, cq_slice lines,
                              cq_error *error) {
  const size_t row = (size_t)s->newest->m.dim * sizeof(float);
  const char *vector = vectors, *line = lines.data;
  cq_index_check part[256];
  cq_status status = CQ_OK;
  for (int64_t done = 0; !status && done < n; done += 256) {
    const size_t m = (size_t)(n - done < 256 ? n - done : 256);
    for (size_t i = 0; i < m; i++, vector += row) {
      const char *end = memchr(line, '\n', (size_t)(lines.data + lines.n - line)); /* each has one */
      part[i].vector = cq_check64(vector, row, (uint64_t)(first + done) + i);
      part[i].document = cq_check64(line, (size_t)(end + 1 - line), (uint64_t)(first + done) + i);
      line = end + 1;
    }
    status =
        cq_write_at(s->checks, part, m * sizeof *part, (first + done) * (int64_t)sizeof *part, s->directory, error);
  }
  return status;
}

cq_status cq_index_store_append(cq_index_store *s, const cq_index_record *records, size_t n, const float *vectors,
                                cq_error *error) {
  cq_builder lines = {0};
  cq_status status = cq_index_store_check_writing(s, error);
  if (status) return status;
  const cq_index_manifest *m = &s->newest->m;
  const int64_t row = m->dim * (int64_t)sizeof(float), first = m->n + s->n_new;
  if ((uint64_t)first + n >= UINT32_MAX)
    return cq_fail(error, CQ_ERR_LIMIT, "an index holds fewer than 2^32 documents");
  uint64_t *before = cq_alloc_array(n, sizeof *before);
  if (!before) return cq_fail_memory(error, "documents");
  size_t n_added = 0;
  while (!status && n_added < n) {
    status = add_document_line(s, &lines, &records[n_added], (uint64_t)first + n_added, &before[n_added], error);
    n_added += !status;
  }
  if (!status && lines.failed) status = cq_fail_memory(error, "documents");
  if (!status) status = cq_write_at(s->vectors, vectors, n * (size_t)row, first * row, s->directory, error);
  if (!status)
    status = cq_write_at(s->documents, lines.data, lines.n, m->n_bytes + s->n_new_bytes, s->directory, error);
  if (!status) status = write_checks(s, first, (int64_t)n, vectors, (cq_slice){lines.data, lines.n}, error);
  if (status) {
    for (size_t i = 0; i < n_added; i++) (void)!cq_map_put(&s->live, records[i].id, before[i]); /* it has a place */
    (void)!truncate_tail(s, NULL);
  } else {
    for (size_t i = 0; i < n; i++) delete_record(s, before[i]);
    s->n_new += (int64_t)n, s->n_new_bytes += (int64_t)lines.n;
  }
  cq_free(before);
  cq_builder_free(&lines);
  return status;
}

cq_status cq_index_store_remove(cq_index_store *s, const cq_slice *ids, size_t n, size_t *n_removed, cq_error *error) {
  *n_removed = 0;
  const cq_status status = cq_index_store_check_writing(s, error);
  for (size_t i = 0; !status && i < n; i++) *n_removed += delete_record(s, cq_map_get(&s->live, ids[i]));
  return status;
}

cq_status cq_index_store_set_approximate(cq_index_store *s, bool is_there, cq_error *error) {
  char path[PATH_MAX];
  uint64_t check = 0;
  cq_status status = cq_index_store_check_writing(s, error);
  if (!status && is_there) status = cq_index_store_approximate(path, s, s->newest->m.approximate + 1, error);
  if (!status && is_there) status = cq_index_file_check(&check, path, error);
  if (status) return status;
  s->approximate_check = check;
  s->next_approximate = s->newest->m.approximate + 1;
  s->n_approximate = is_there ? s->newest->m.n : 0;
  return CQ_OK;
}

cq_status cq_index_store_set_fingerprint(cq_index_store *s, const char *fingerprint, cq_error *error) {
  const cq_status status = cq_index_store_check_writing(s, error);
  if (status) return status;
  char *owned = cq_strdup(fingerprint);
  if (!owned) return cq_fail_memory(error, s->directory);
  cq_free(s->fingerprint);
  s->fingerprint = owned;
  return CQ_OK;
}

/* What calque 0.1 has written has no checks: they are made of what is there now. */
static cq_status check_all(const cq_index_store *s, cq_index_manifest *next, cq_error *error) {
  const cq_index_snapshot *old = s->newest;
  char path[PATH_MAX];
  const cq_slice lines = {(const char *)old->documents.data, (size_t)old->m.n_bytes};
  cq_status status = write_checks(s, 0, old->m.n, old->vectors.data, lines, error);
  if (!status && next->generation == old->m.generation && next->generation > 0) {
    status = cq_index_path(path, s->directory, "deleted", next->generation, error);
    if (!status) status = cq_index_file_check(&next->deleted_check, path, error);
  }
  if (!status && next->n_approximate > 0 && next->approximate == old->m.approximate) {
    status = cq_index_store_approximate(path, s, next->approximate, error);
    if (!status) status = cq_index_file_check(&next->approximate_check, path, error);
  }
  return status;
}

/* All that can fail comes before the manifest is replaced. */
cq_status cq_index_store_commit(cq_index_store *s, cq_error *error) {
  char path[PATH_MAX];
  cq_index_snapshot *newer = NULL;
  cq_status status = cq_index_store_check_writing(s, error);
  if (status) return status;
  const cq_index_manifest *old = &s->newest->m;
  cq_index_manifest next = *old;
  next.approximate = s->next_approximate, next.n_approximate = s->n_approximate;
  if (s->n_new == 0 && !s->changed && next.approximate == old->approximate) return CQ_OK;
  next.approximate_check = s->approximate_check;
  if (s->fingerprint) next.fingerprint = s->fingerprint, next.format = 1;
  next.n += s->n_new, next.n_bytes += s->n_new_bytes;
  if (s->changed) next.generation++, next.n_deleted_bytes = (old->n + 7) / 8;
  unsigned char *deleted = cq_alloc_zeroed(cq_index_deleted_bytes(next.n));
  if (!deleted) return cq_fail_memory(error, s->directory);
  memcpy(deleted, s->deleted, cq_index_deleted_bytes(old->n));
  if (s->changed) {
    status = cq_index_path(path, s->directory, "deleted", next.generation, error);
    if (!status) status = cq_file_write(path, deleted, (size_t)next.n_deleted_bytes, error);
    next.deleted_check = cq_check64(deleted, (size_t)next.n_deleted_bytes, 0);
  }
  if (!status && next.format > old->format) status = check_all(s, &next, error);
  if (!status && s->n_new && (fdatasync(s->documents) != 0 || fdatasync(s->vectors) != 0))
    status = cq_fail_errno(error, s->directory, "cannot write");
  if (!status && (s->n_new || next.format > old->format) && fdatasync(s->checks) != 0)
    status = cq_fail_errno(error, s->directory, "cannot write");
  if (!status) status = cq_index_snapshot_open(&newer, s->directory, &next, deleted, s->newest, error);
  if (!status) status = cq_index_manifest_save(&next, s->directory, error);
  if (status) {
    cq_index_snapshot_release(newer);
    cq_free(deleted);
    return status;
  }
  const int64_t generation = old->generation, approximate = old->approximate;
  cq_free(s->deleted);
  s->deleted = deleted;
  s->n_new = s->n_new_bytes = 0;
  s->changed = false;
  publish_snapshot(s, newer);
  if (next.generation != generation) remove_generation(s->directory, "deleted", generation);
  if (next.approximate != approximate) remove_generation(s->directory, "approximate", approximate);
  return CQ_OK;
}
