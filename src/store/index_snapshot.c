/* Reading an index: what its manifest counts, compared with the checks of it. */
#include "store/index_snapshot.h"

#include "base/context.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"

#include <string.h>
#include <sys/stat.h>

cq_status cq_index_path(char out[PATH_MAX], const char *directory, const char *what, int64_t generation,
                        cq_error *error) {
  char name[48];
  snprintf(name, sizeof name, "%s-%lld", what, (long long)generation);
  return cq_path_join(out, PATH_MAX, directory, name, error);
}

/* Maps a file that holds n bytes at least. */
static cq_status map_file(cq_mapping *out, char path[PATH_MAX], const char *directory, const char *name, int64_t n,
                          cq_error *error) {
  cq_status status = cq_path_join(path, PATH_MAX, directory, name, error);
  if (!status) status = cq_mapping_open(out, path, error);
  if (!status && (uint64_t)out->n < (uint64_t)n)
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "%zu bytes, the manifest says %lld", out->n, (long long)n);
  return status;
}

static cq_index_check check_of_record(const cq_index_snapshot *s, size_t record) {
  cq_index_check check;
  memcpy(&check, s->checks.data + record * sizeof check, sizeof check);
  return check;
}

/* Finds the documents' lines: those of an earlier snapshot are where they were. A newline more or less would move what
 * follows to other records: their checks tell. */
static cq_status find_lines(cq_index_snapshot *s, const char *path, const cq_index_snapshot *before, cq_error *error) {
  const char *text = (const char *)s->documents.data;
  const size_t n = (size_t)s->m.n, n_bytes = (size_t)s->m.n_bytes;
  const size_t n_known = before && before->m.n <= s->m.n && before->m.n_bytes <= s->m.n_bytes ? (size_t)before->m.n : 0;
  s->starts = cq_alloc_array(n + 1, sizeof *s->starts);
  if (!s->starts) return cq_fail_memory(error, path);
  s->starts[0] = 0;
  if (n_known) memcpy(s->starts, before->starts, (n_known + 1) * sizeof *s->starts);
  for (size_t i = n_known; i < n; i++) {
    const size_t start = s->starts[i];
    const char *end = start < n_bytes ? memchr(text + start, '\n', n_bytes - start) : NULL;
    const char *first = end ? memchr(text + start, '\t', (size_t)(end - text) - start) : NULL;
    if (!first || !memchr(first + 1, '\t', (size_t)(end - first - 1)))
      return cq_fail_line(error, CQ_ERR_FORMAT, path, (uint64_t)i + 1,
                          "expected id, language and text separated by tabs");
    s->starts[i + 1] = (uint64_t)(end - text) + 1;
  }
  return s->starts[n] == n_bytes
             ? CQ_OK
             : cq_fail_file(error, CQ_ERR_FORMAT, path, "more text than %lld documents", (long long)s->m.n);
}

static cq_status read_deleted(cq_index_snapshot *s, const char *directory, const unsigned char *deleted,
                              cq_error *error) {
  char path[PATH_MAX];
  cq_mapping mapping = {0};
  cq_status status = CQ_OK;
  s->deleted = cq_alloc_zeroed(cq_index_deleted_bytes(s->m.n));
  if (!s->deleted) return cq_fail_memory(error, "deleted documents");
  if (deleted) {
    memcpy(s->deleted, deleted, cq_index_deleted_bytes(s->m.n));
  } else if (s->m.generation > 0) {
    status = cq_index_path(path, directory, "deleted", s->m.generation, error);
    if (!status) status = cq_mapping_open(&mapping, path, error);
    if (!status && mapping.n != (size_t)s->m.n_deleted_bytes)
      status = cq_fail_file(error, CQ_ERR_FORMAT, path, "%zu bytes, the manifest says %lld", mapping.n,
                            (long long)s->m.n_deleted_bytes);
    if (!status && s->m.format > 0 && cq_check64(mapping.data, mapping.n, 0) != s->m.deleted_check)
      status = cq_fail_file(error, CQ_ERR_FORMAT, path, "it is damaged: it does not fit its check");
    if (!status) memcpy(s->deleted, mapping.data, mapping.n); /* what was added since is not deleted */
    cq_mapping_close(&mapping);
  }
  for (int64_t i = 0; !status && i < s->m.n / 8; i++) s->n_deleted += __builtin_popcount(s->deleted[i]);
  for (int64_t i = s->m.n / 8 * 8; !status && i < s->m.n; i++) s->n_deleted += cq_index_bit(s->deleted, i);
  return status;
}

/* Sees that the documents are a continuation of those before. */
static cq_status know_again(cq_index_snapshot *s, const char *directory, const char *path,
                            const cq_index_snapshot *before, cq_error *error) {
  struct stat file;
  if (stat(path, &file) != 0) return cq_fail_errno(error, path, "cannot open");
  s->device = file.st_dev, s->inode = file.st_ino;
  if (before && (s->device != before->device || s->inode != before->inode || s->m.dim != before->m.dim ||
                 (s->m.format == before->m.format && strcmp(s->m.fingerprint, before->m.fingerprint) != 0)))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, directory, "another index is in its place: open it anew");
  return CQ_OK;
}

/* What an earlier snapshot has compared need not be compared again. */
static cq_status remember_sound(cq_index_snapshot *s, const cq_index_snapshot *before, cq_error *error) {
  s->sound = cq_alloc_zeroed(cq_index_deleted_bytes(s->m.n));
  if (!s->sound) return cq_fail_memory(error, s->vectors_path);
  for (int64_t i = 0; before && i < before->m.n / 8 && i < s->m.n / 8; i++) /* whole bytes: later bits are of others */
    atomic_init(&s->sound[i], atomic_load_explicit(&before->sound[i], memory_order_relaxed));
  return CQ_OK;
}

cq_status cq_index_snapshot_open(cq_index_snapshot **out, const char *directory, const cq_index_manifest *m,
                                 const unsigned char *deleted, const cq_index_snapshot *before, cq_error *error) {
  char path[PATH_MAX];
  *out = NULL;
  cq_index_snapshot *s = cq_alloc_zeroed(sizeof *s);
  if (!s) return cq_fail_memory(error, directory);
  atomic_init(&s->n_users, 1);
  cq_status status = cq_index_manifest_copy(&s->m, m, error);
  if (!status)
    status = map_file(&s->vectors, path, directory, "vectors", m->n * m->dim * (int64_t)sizeof(float), error);
  if (!status && !(s->vectors_path = cq_strdup(path))) status = cq_fail_memory(error, path);
  if (!status && m->format > 0)
    status = map_file(&s->checks, path, directory, "checks", m->n * (int64_t)sizeof(cq_index_check), error);
  if (!status) status = map_file(&s->documents, path, directory, "documents", m->n_bytes, error);
  if (!status && !(s->documents_path = cq_strdup(path))) status = cq_fail_memory(error, path);
  if (!status) status = know_again(s, directory, path, before, error);
  if (!status) status = find_lines(s, path, before, error);
  if (!status) status = read_deleted(s, directory, deleted, error);
  if (!status) status = remember_sound(s, before, error);
  if (status)
    cq_index_snapshot_release(s);
  else
    *out = s;
  return status;
}

void cq_index_snapshot_release(cq_index_snapshot *s) {
  if (!s || atomic_fetch_sub(&s->n_users, 1) > 1) return;
  cq_mapping_close(&s->documents);
  cq_mapping_close(&s->vectors);
  cq_mapping_close(&s->checks);
  cq_free((void *)s->sound);
  cq_free(s->vectors_path);
  cq_free(s->documents_path);
  cq_free(s->starts);
  cq_free(s->deleted);
  cq_index_manifest_free(&s->m);
  cq_free(s);
}

cq_index_info cq_index_snapshot_info(const cq_index_snapshot *s) {
  return (cq_index_info){.model = s->m.model,
                         .fingerprint = s->m.format ? s->m.fingerprint : NULL,
                         .dim = s->m.dim,
                         .n = s->m.n,
                         .n_live = s->m.n - s->n_deleted,
                         .n_approximate = s->m.n_approximate,
                         .approximate = s->m.approximate};
}

const float *cq_index_snapshot_vectors(const cq_index_snapshot *s) {
  return (const float *)(const void *)s->vectors.data;
}

cq_index_record cq_index_snapshot_record(const cq_index_snapshot *s, int64_t record) {
  const char *line = (const char *)s->documents.data + s->starts[record];
  const char *end = (const char *)s->documents.data + s->starts[record + 1] - 1;
  const char *first = memchr(line, '\t', (size_t)(end - line)); /* both are there: find_lines has looked */
  const char *second = memchr(first + 1, '\t', (size_t)(end - first - 1));
  return (cq_index_record){{line, (size_t)(first - line)},
                           {first + 1, (size_t)(second - first - 1)},
                           {second + 1, (size_t)(end - second - 1)}};
}

bool cq_index_snapshot_is_live(const cq_index_snapshot *s, int64_t record) {
  return !cq_index_bit(s->deleted, record);
}

/* --- checks --- */

cq_status cq_index_file_check(uint64_t *out, const char *path, cq_error *error) {
  cq_mapping mapping = {0};
  cq_status status = cq_mapping_open(&mapping, path, error);
  if (!status) *out = cq_check64(mapping.data, mapping.n, 0);
  cq_mapping_close(&mapping);
  return status;
}

cq_status cq_index_snapshot_verify_approximate(const cq_index_snapshot *s, const char *path, cq_error *error) {
  uint64_t check;
  if (s->m.format == 0) return cq_file_exists(path) ? CQ_OK : cq_fail_file(error, CQ_ERR_IO, path, "it is gone");
  const cq_status status = cq_index_file_check(&check, path, error);
  if (status || check == s->m.approximate_check) return status;
  return cq_fail_file(error, CQ_ERR_FORMAT, path,
                      "it is damaged: it does not fit its check ('calque index approximate' makes it anew, 'search "
                      "--exact' does without)");
}

bool cq_index_snapshot_is_sound(const cq_index_snapshot *s, int64_t record) {
  const unsigned char bit = (unsigned char)(1u << (record % 8));
  if (!s->checks.n || atomic_load_explicit(&s->sound[record / 8], memory_order_relaxed) & bit) return true;
  const size_t row = (size_t)s->m.dim * sizeof(float);
  if (cq_check64(s->vectors.data + (size_t)record * row, row, (uint64_t)record) !=
      check_of_record(s, (size_t)record).vector)
    return false;
  atomic_fetch_or_explicit(&s->sound[record / 8], bit, memory_order_relaxed);
  return true;
}

bool cq_index_snapshot_is_sound_document(const cq_index_snapshot *s, int64_t record) {
  const uint64_t start = s->starts[record];
  return !s->checks.n || cq_check64(s->documents.data + start, s->starts[record + 1] - start, (uint64_t)record) ==
                             check_of_record(s, (size_t)record).document;
}

cq_status cq_index_snapshot_fail(const cq_index_snapshot *s, int64_t record, cq_error *error) {
  if (!cq_index_snapshot_is_sound_document(s, record))
    return cq_fail_line(error, CQ_ERR_FORMAT, s->documents_path, (uint64_t)record + 1,
                        "the document is damaged: it does not fit its check");
  const long long row = s->m.dim * (long long)sizeof(float);
  return cq_fail_file(error, CQ_ERR_FORMAT, s->vectors_path,
                      "the vector of document %lld (bytes %lld to %lld) is damaged: it does not fit its check",
                      (long long)record + 1, record * row, (record + 1) * row - 1);
}

enum { PART = 2048 }; /* records that a thread compares at a time */

typedef struct comparison {
  const cq_index_snapshot *s;
  _Atomic int64_t damaged; /* the first damaged record, or n */
} comparison;

static void compare_part(void *context, size_t part, int thread) {
  comparison *c = context;
  (void)thread;
  const int64_t first = (int64_t)part * PART, end = first + PART < c->s->m.n ? first + PART : c->s->m.n;
  for (int64_t i = first; i < end; i++) {
    if (cq_index_snapshot_is_sound(c->s, i) && cq_index_snapshot_is_sound_document(c->s, i)) continue;
    int64_t known = atomic_load(&c->damaged);
    while (i < known && !atomic_compare_exchange_weak(&c->damaged, &known, i)) {
    }
    return;
  }
}

cq_status cq_index_snapshot_verify(const cq_index_snapshot *s, cq_context *ctx, cq_error *error) {
  comparison c = {.s = s};
  if (!s->checks.n) return CQ_OK;
  atomic_init(&c.damaged, s->m.n);
  cq_context_run(ctx, ((size_t)s->m.n + PART - 1) / PART, compare_part, &c);
  const int64_t damaged = atomic_load(&c.damaged);
  return damaged < s->m.n ? cq_index_snapshot_fail(s, damaged, error) : CQ_OK;
}
