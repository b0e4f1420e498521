/* Reading an index: the manifest, and what it counts. */
#include "store/index_snapshot.h"

#include "base/error.h"
#include "base/memory.h"
#include "format/json.h"

#include <string.h>
#include <sys/stat.h>

/* The first knew models by fingerprints of another kind; all else was the same. */
static const char *const formats[] = {"calque index 1", "calque index 2"};

cq_status cq_index_path(char out[PATH_MAX], const char *directory, const char *what, int64_t generation,
                        cq_error *error) {
  char name[48];
  snprintf(name, sizeof name, "%s-%lld", what, (long long)generation);
  return cq_path_join(out, PATH_MAX, directory, name, error);
}

/* --- the manifest --- */

void cq_index_manifest_free(cq_index_manifest *m) {
  cq_free(m->model);
  cq_free(m->fingerprint);
  *m = (cq_index_manifest){0};
}

bool cq_index_manifest_equal(const cq_index_manifest *a, const cq_index_manifest *b) {
  return a->format == b->format && a->dim == b->dim && a->n == b->n && a->n_bytes == b->n_bytes &&
         a->generation == b->generation && a->n_deleted_bytes == b->n_deleted_bytes &&
         a->approximate == b->approximate && a->n_approximate == b->n_approximate && !strcmp(a->model, b->model) &&
         !strcmp(a->fingerprint, b->fingerprint);
}

static cq_status manifest_copy(cq_index_manifest *out, const cq_index_manifest *m, cq_error *error) {
  *out = *m;
  out->model = cq_strdup(m->model), out->fingerprint = cq_strdup(m->fingerprint);
  return out->model && out->fingerprint ? CQ_OK : cq_fail_memory(error, "manifest");
}

cq_status cq_index_manifest_save(const cq_index_manifest *m, const char *directory, cq_error *error) {
  return cq_json_save(json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "format", formats[m->format],
                                "model", m->model, "fingerprint", m->fingerprint, "dim", (json_int_t)m->dim,
                                "documents", (json_int_t)m->n, "bytes", (json_int_t)m->n_bytes, "deleted_generation",
                                (json_int_t)m->generation, "deleted_bytes", (json_int_t)m->n_deleted_bytes,
                                "approximate_generation", (json_int_t)m->approximate, "approximate_documents",
                                (json_int_t)m->n_approximate),
                      directory, "manifest.json", error);
}

static cq_status copy_string(char **out, const json_t *object, const char *key, const char *path, cq_error *error) {
  const char *text = NULL;
  cq_status status = cq_json_get_string(&text, object, key, path, error);
  if (!status && !text) status = cq_fail_file(error, CQ_ERR_FORMAT, path, "\"%s\" is missing", key);
  if (!status && !(*out = cq_strdup(text))) status = cq_fail_memory(error, path);
  return status;
}

cq_status cq_index_manifest_read(cq_index_manifest *out, const char *directory, cq_error *error) {
  char path[PATH_MAX];
  json_t *json = NULL;
  const char *format = NULL;
  *out = (cq_index_manifest){0};
  cq_status status = cq_path_join(path, sizeof path, directory, "manifest.json", error);
  if (!status) status = cq_json_read(&json, path, error);
  if (!status) status = cq_json_get_string(&format, json, "format", path, error);
  while (!status && out->format < 2 && (!format || strcmp(format, formats[out->format]) != 0)) out->format++;
  if (!status && out->format == 2)
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "\"format\" is not \"%s\"", formats[1]);
  if (!status) status = copy_string(&out->model, json, "model", path, error);
  if (!status) status = copy_string(&out->fingerprint, json, "fingerprint", path, error);
  if (!status) status = cq_json_get_int(&out->dim, json, "dim", 1, 1 << 20, path, error);
  if (!status) status = cq_json_get_int(&out->n, json, "documents", 0, UINT32_MAX - 1, path, error);
  if (!status) status = cq_json_get_int(&out->n_bytes, json, "bytes", 0, INT64_MAX / 2, path, error);
  if (!status) status = cq_json_get_int(&out->generation, json, "deleted_generation", 0, INT64_MAX - 1, path, error);
  if (!status) status = cq_json_get_int(&out->n_deleted_bytes, json, "deleted_bytes", 0, (out->n + 7) / 8, path, error);
  if (!status)
    status = cq_json_get_int(&out->approximate, json, "approximate_generation", 0, INT64_MAX - 1, path, error);
  if (!status) status = cq_json_get_int(&out->n_approximate, json, "approximate_documents", 0, out->n, path, error);
  if (!status && out->dim == 0) status = cq_fail_file(error, CQ_ERR_FORMAT, path, "\"dim\" is missing");
  json_decref(json);
  if (status) cq_index_manifest_free(out);
  return status;
}

/* --- what it counts --- */

/* Maps a file that holds n bytes at least. */
static cq_status map_file(cq_mapping *out, char path[PATH_MAX], const char *directory, const char *name, int64_t n,
                          cq_error *error) {
  cq_status status = cq_path_join(path, PATH_MAX, directory, name, error);
  if (!status) status = cq_mapping_open(out, path, error);
  if (!status && (uint64_t)out->n < (uint64_t)n)
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "%zu bytes, the manifest says %lld", out->n, (long long)n);
  return status;
}

/* Finds the documents' lines: those of an earlier snapshot are where they were. */
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

cq_status cq_index_snapshot_open(cq_index_snapshot **out, const char *directory, const cq_index_manifest *m,
                                 const unsigned char *deleted, const cq_index_snapshot *before, cq_error *error) {
  char path[PATH_MAX];
  *out = NULL;
  cq_index_snapshot *s = cq_alloc_zeroed(sizeof *s);
  if (!s) return cq_fail_memory(error, directory);
  atomic_init(&s->n_users, 1);
  cq_status status = manifest_copy(&s->m, m, error);
  if (!status)
    status = map_file(&s->vectors, path, directory, "vectors", m->n * m->dim * (int64_t)sizeof(float), error);
  if (!status) status = map_file(&s->documents, path, directory, "documents", m->n_bytes, error);
  if (!status) status = know_again(s, directory, path, before, error);
  if (!status) status = find_lines(s, path, before, error);
  if (!status) status = read_deleted(s, directory, deleted, error);
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
