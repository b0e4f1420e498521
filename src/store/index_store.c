#include "store/index_store.h"

#include "base/error.h"
#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"
#include "format/json.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The first knew models by fingerprints of another kind; all else was the same. */
static const char *const formats[] = {"calque index 1", "calque index 2"};

/* What the manifest says. */
typedef struct manifest {
  char *model, *fingerprint;
  int format; /* of formats */
  int64_t dim, n, n_bytes, generation;
  int64_t n_deleted_bytes;            /* of deleted-G */
  int64_t approximate, n_approximate; /* its generation, and how many records it covers */
} manifest;

struct cq_index_store {
  char *directory;
  int lock, documents, vectors; /* descriptors; -1: only reading */
  manifest m;
  cq_mapping documents_map, vectors_map;
  cq_index_record *records; /* [n] */
  unsigned char *deleted;   /* [(n + 7) / 8] */
  int64_t n_deleted;
  cq_map live; /* id -> record, when writing */
  /* what is not committed */
  int64_t n_new, n_new_bytes;
  bool changed;                            /* records were deleted */
  int64_t next_approximate, n_approximate; /* as in the manifest to come */
  cq_map added;                            /* ids of new records */
};

static cq_status path_of(char out[PATH_MAX], const char *directory, const char *name, cq_error *error) {
  return cq_path_join(out, PATH_MAX, directory, name, error);
}

/* DIR/WHAT-GENERATION */
static cq_status path_of_generation(char out[PATH_MAX], const char *directory, const char *what, int64_t generation,
                                    cq_error *error) {
  char name[48];
  snprintf(name, sizeof name, "%s-%lld", what, (long long)generation);
  return path_of(out, directory, name, error);
}

/* What is left behind harms nobody. */
static void remove_generation(const char *directory, const char *what, int64_t generation) {
  char path[PATH_MAX];
  if (generation > 0 && !path_of_generation(path, directory, what, generation, NULL)) unlink(path);
}

static bool bit(const unsigned char *bits, int64_t i) {
  return bits[i / 8] >> (i % 8) & 1;
}

/* --- the manifest --- */

static void manifest_free(manifest *m) {
  cq_free(m->model);
  cq_free(m->fingerprint);
  *m = (manifest){0};
}

static cq_status manifest_save(const char *directory, const manifest *m, cq_error *error) {
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

static cq_status manifest_read(manifest *out, const char *directory, cq_error *error) {
  char path[PATH_MAX];
  json_t *json = NULL;
  const char *format = NULL;
  *out = (manifest){0};
  cq_status status = path_of(path, directory, "manifest.json", error);
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
  if (status) manifest_free(out);
  return status;
}

cq_status cq_index_store_create(const char *directory, const char *model, const char *fingerprint, int64_t dim,
                                cq_error *error) {
  cq_directory_writer w = {0};
  char *owned[2] = {cq_strdup(model), cq_strdup(fingerprint)};
  const manifest m = {.model = owned[0], .fingerprint = owned[1], .format = 1, .dim = dim};
  char path[PATH_MAX];
  cq_status status = owned[0] && owned[1] ? CQ_OK : cq_fail_memory(error, directory);
  if (!status) status = cq_directory_writer_open(&w, directory, false, error);
  for (int i = 0; !status && i < 2; i++) {
    status = path_of(path, w.temporary, i ? "vectors" : "documents", error);
    if (!status) status = cq_file_write(path, "", 0, error);
  }
  if (!status) status = manifest_save(w.temporary, &m, error);
  if (!status) status = cq_directory_writer_commit(&w, error);
  if (status) cq_directory_writer_abort(&w);
  cq_free(owned[0]);
  cq_free(owned[1]);
  return status;
}

/* --- reading --- */

static cq_status split_documents(cq_index_store *s, const char *path, cq_error *error) {
  const char *at = (const char *)s->documents_map.data, *end = at + s->m.n_bytes;
  s->records = cq_alloc_array((size_t)s->m.n, sizeof *s->records);
  if (!s->records) return cq_fail_memory(error, path);
  for (int64_t i = 0; i < s->m.n; i++) {
    const char *line_end = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    const char *first = line_end ? memchr(at, '\t', (size_t)(line_end - at)) : NULL;
    const char *second = first ? memchr(first + 1, '\t', (size_t)(line_end - first - 1)) : NULL;
    if (!second)
      return cq_fail_line(error, CQ_ERR_FORMAT, path, (uint64_t)i + 1,
                          "expected id, language and text separated by tabs");
    s->records[i] = (cq_index_record){{at, (size_t)(first - at)},
                                      {first + 1, (size_t)(second - first - 1)},
                                      {second + 1, (size_t)(line_end - second - 1)}};
    at = line_end + 1;
    if (s->lock >= 0 && !bit(s->deleted, i) && !cq_map_put_borrowed(&s->live, s->records[i].id, (uint64_t)i))
      return cq_fail_memory(error, path);
  }
  return at == end ? CQ_OK
                   : cq_fail_file(error, CQ_ERR_FORMAT, path, "more text than %lld documents", (long long)s->m.n);
}

static cq_status read_deleted(cq_index_store *s, cq_error *error) {
  const size_t n_bytes = ((size_t)s->m.n + 7) / 8;
  char path[PATH_MAX];
  cq_mapping mapping = {0};
  s->deleted = cq_alloc_zeroed(n_bytes);
  if (!s->deleted) return cq_fail_memory(error, "deleted documents");
  if (s->m.generation == 0) return CQ_OK;
  cq_status status = path_of_generation(path, s->directory, "deleted", s->m.generation, error);
  if (!status) status = cq_mapping_open(&mapping, path, error);
  if (!status && mapping.n != (size_t)s->m.n_deleted_bytes)
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "%zu bytes, the manifest says %lld", mapping.n,
                          (long long)s->m.n_deleted_bytes);
  if (!status) memcpy(s->deleted, mapping.data, mapping.n); /* what was added since is not deleted */
  for (int64_t i = 0; !status && i < s->m.n; i++) s->n_deleted += bit(s->deleted, i);
  cq_mapping_close(&mapping);
  return status;
}

static cq_status map_file(cq_mapping *out, const cq_index_store *s, const char *name, int64_t least, cq_error *error) {
  char path[PATH_MAX];
  cq_status status = path_of(path, s->directory, name, error);
  if (!status) status = cq_mapping_open(out, path, error);
  if (!status && (uint64_t)out->n < (uint64_t)least)
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "%zu bytes, the manifest says %lld", out->n, (long long)least);
  return status;
}

static void unload(cq_index_store *s) {
  cq_mapping_close(&s->documents_map);
  cq_mapping_close(&s->vectors_map);
  cq_map_free(&s->live);
  cq_map_free(&s->added);
  cq_free(s->records);
  cq_free(s->deleted);
  manifest_free(&s->m);
  s->records = NULL, s->deleted = NULL;
  s->n_deleted = s->n_new = s->n_new_bytes = 0;
  s->changed = false;
}

static cq_status load(cq_index_store *s, cq_error *error) {
  char path[PATH_MAX];
  cq_status status = manifest_read(&s->m, s->directory, error);
  if (!status) status = map_file(&s->vectors_map, s, "vectors", s->m.n * s->m.dim * (int64_t)sizeof(float), error);
  if (!status) status = map_file(&s->documents_map, s, "documents", s->m.n_bytes, error);
  if (!status) status = read_deleted(s, error);
  s->next_approximate = s->m.approximate, s->n_approximate = s->m.n_approximate;
  if (!status) status = path_of(path, s->directory, "documents", error);
  return status ? status : split_documents(s, path, error);
}

static cq_status open_descriptor(int *out, const cq_index_store *s, const char *name, cq_error *error) {
  char path[PATH_MAX];
  cq_status status = path_of(path, s->directory, name, error);
  if (!status && (*out = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666)) < 0)
    status = cq_fail_errno(error, path, "cannot open");
  return status;
}

static cq_status open_for_writing(cq_index_store *s, cq_error *error) {
  cq_status status = open_descriptor(&s->lock, s, "lock", error);
  if (!status && flock(s->lock, LOCK_EX | LOCK_NB) != 0)
    status = errno == EWOULDBLOCK
                 ? cq_fail_file(error, CQ_ERR_ARGUMENT, s->directory, "it is open for writing elsewhere")
                 : cq_fail_errno(error, s->directory, "cannot lock");
  if (!status) status = open_descriptor(&s->documents, s, "documents", error);
  if (!status) status = open_descriptor(&s->vectors, s, "vectors", error);
  return status;
}

/* What was written and never counted: by a killed process, or before the disk was full. */
static cq_status cut_tail(const cq_index_store *s, cq_error *error) {
  const int64_t row = s->m.dim * (int64_t)sizeof(float);
  if (ftruncate(s->vectors, (s->m.n + s->n_new) * row) != 0 ||
      ftruncate(s->documents, s->m.n_bytes + s->n_new_bytes) != 0)
    return cq_fail_errno(error, s->directory, "cannot cut its files to what counts");
  return CQ_OK;
}

/* Gives back the room of what a killed process left: what it wrote before the manifest, or did not remove after it. */
static cq_status clear_up(const cq_index_store *s, cq_error *error) {
  for (int side = -1; side <= 1; side += 2) {
    remove_generation(s->directory, "deleted", s->m.generation + side);
    remove_generation(s->directory, "approximate", s->m.approximate + side);
  }
  return cut_tail(s, error);
}

cq_status cq_index_store_open(cq_index_store **out, const char *directory, bool writing, cq_error *error) {
  enum { TRIES = 3 }; /* a reader may meet a manifest whose list of deleted documents has just been replaced */
  char path[PATH_MAX];
  *out = NULL;
  cq_status status = path_of(path, directory, "manifest.json", error);
  if (status) return status;
  if (!cq_file_exists(path)) return cq_fail_file(error, CQ_ERR_IO, directory, "no index is there");
  cq_index_store *s = cq_alloc_zeroed(sizeof *s);
  if (!s) return cq_fail_memory(error, directory);
  s->lock = s->documents = s->vectors = -1;
  s->directory = cq_strdup(directory);
  status = s->directory ? CQ_OK : cq_fail_memory(error, directory);
  if (!status && writing) status = open_for_writing(s, error);
  for (int i = 0; !status && i < TRIES; i++) {
    status = load(s, error);
    if (status != CQ_ERR_IO || i + 1 == TRIES) break;
    unload(s);
    status = CQ_OK;
  }
  if (!status && writing) status = clear_up(s, error);
  if (status)
    cq_index_store_close(s);
  else
    *out = s;
  return status;
}

void cq_index_store_close(cq_index_store *s) {
  if (!s) return;
  unload(s);
  if (s->documents >= 0) close(s->documents);
  if (s->vectors >= 0) close(s->vectors);
  if (s->lock >= 0) close(s->lock); /* releases it */
  cq_free(s->directory);
  cq_free(s);
}

cq_index_info cq_index_store_info(const cq_index_store *s) {
  return (cq_index_info){
      s->m.model, s->m.format ? s->m.fingerprint : NULL, s->m.dim, s->m.n, s->m.n - s->n_deleted, s->m.n_approximate};
}

const float *cq_index_store_vectors(const cq_index_store *s) {
  return (const float *)(const void *)s->vectors_map.data;
}

cq_index_record cq_index_store_record(const cq_index_store *s, int64_t record) {
  return s->records[record];
}

bool cq_index_store_is_live(const cq_index_store *s, int64_t record) {
  return !bit(s->deleted, record);
}

int64_t cq_index_store_find(const cq_index_store *s, cq_slice id) {
  const uint64_t record = cq_map_get(&s->live, id);
  return record == CQ_MAP_NONE || bit(s->deleted, (int64_t)record) ? -1 : (int64_t)record;
}

/* --- writing --- */

static bool has(cq_slice text, char c) {
  return text.n > 0 && memchr(text.data, c, text.n) != NULL;
}

static cq_status add_line(cq_index_store *s, cq_builder *lines, const cq_index_record *r, cq_error *error) {
  if (r->id.n == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "a document's id is empty");
  if (has(r->id, '\t') || has(r->language, '\t') || has(r->id, '\n') || has(r->language, '\n') || has(r->text, '\n'))
    return cq_fail(error, CQ_ERR_ARGUMENT, "document '%.*s': a tab or a newline where there may be none", (int)r->id.n,
                   r->id.data);
  if (cq_map_get(&s->added, r->id) != CQ_MAP_NONE)
    return cq_fail(error, CQ_ERR_ARGUMENT, "document '%.*s' comes twice", (int)r->id.n, r->id.data);
  if (!cq_map_put(&s->added, r->id, 1)) return cq_fail_memory(error, "ids");
  cq_builder_bytes(lines, r->id.data, r->id.n);
  cq_builder_char(lines, '\t');
  cq_builder_bytes(lines, r->language.data, r->language.n);
  cq_builder_char(lines, '\t');
  cq_builder_bytes(lines, r->text.data, r->text.n);
  cq_builder_char(lines, '\n');
  return CQ_OK;
}

cq_status cq_index_store_append(cq_index_store *s, const cq_index_record *records, size_t n, const float *vectors,
                                cq_error *error) {
  const int64_t row = s->m.dim * (int64_t)sizeof(float);
  cq_builder lines = {0};
  cq_status status = CQ_OK;
  assert(s->lock >= 0);
  if ((uint64_t)(s->m.n + s->n_new) + n >= UINT32_MAX)
    return cq_fail(error, CQ_ERR_LIMIT, "an index holds fewer than 2^32 documents");
  for (size_t i = 0; !status && i < n; i++) status = add_line(s, &lines, &records[i], error);
  if (!status && lines.failed) status = cq_fail_memory(error, "documents");
  if (!status)
    status = cq_write_at(s->vectors, vectors, n * (size_t)row, (s->m.n + s->n_new) * row, s->directory, error);
  if (!status)
    status = cq_write_at(s->documents, lines.data, lines.n, s->m.n_bytes + s->n_new_bytes, s->directory, error);
  for (size_t i = 0; !status && i < n; i++) {
    const int64_t old = cq_index_store_find(s, records[i].id);
    if (old >= 0) cq_index_store_delete(s, old);
  }
  if (!status)
    s->n_new += (int64_t)n, s->n_new_bytes += (int64_t)lines.n;
  else if (cut_tail(s, NULL))
    status = CQ_ERR_IO;
  cq_builder_free(&lines);
  return status;
}

void cq_index_store_delete(cq_index_store *s, int64_t record) {
  if (bit(s->deleted, record)) return;
  s->deleted[record / 8] |= (unsigned char)(1u << (record % 8));
  s->n_deleted++;
  s->changed = true;
}

/* A list of deleted documents for the next generation. */
static cq_status save_deleted(const cq_index_store *s, int64_t generation, cq_error *error) {
  char path[PATH_MAX];
  cq_status status = path_of_generation(path, s->directory, "deleted", generation, error);
  return status ? status : cq_file_write(path, s->deleted, ((size_t)s->m.n + 7) / 8, error);
}

cq_status cq_index_store_approximate(char path[PATH_MAX], const cq_index_store *s, bool next, cq_error *error) {
  return path_of_generation(path, s->directory, "approximate", s->m.approximate + next, error);
}

void cq_index_store_set_approximate(cq_index_store *s, bool is_there) {
  assert(s->lock >= 0);
  s->next_approximate = s->m.approximate + 1;
  s->n_approximate = is_there ? s->m.n : 0;
}

cq_status cq_index_store_set_fingerprint(cq_index_store *s, const char *fingerprint, cq_error *error) {
  char *owned = cq_strdup(fingerprint);
  assert(s->lock >= 0);
  if (!owned) return cq_fail_memory(error, s->directory);
  cq_free(s->m.fingerprint);
  s->m.fingerprint = owned, s->m.format = 1;
  return CQ_OK;
}

cq_status cq_index_store_commit(cq_index_store *s, cq_error *error) {
  const manifest old = s->m;
  manifest next = s->m;
  cq_status status = CQ_OK;
  assert(s->lock >= 0);
  next.approximate = s->next_approximate, next.n_approximate = s->n_approximate;
  if (s->n_new == 0 && !s->changed && next.approximate == old.approximate) return CQ_OK;
  next.n += s->n_new, next.n_bytes += s->n_new_bytes;
  if (s->changed) {
    next.generation++, next.n_deleted_bytes = (s->m.n + 7) / 8;
    status = save_deleted(s, next.generation, error);
  }
  if (!status && s->n_new && (fdatasync(s->documents) != 0 || fdatasync(s->vectors) != 0))
    status = cq_fail_errno(error, s->directory, "cannot write");
  if (!status) status = manifest_save(s->directory, &next, error);
  if (status) return status;
  if (next.generation != old.generation) remove_generation(s->directory, "deleted", old.generation);
  if (next.approximate != old.approximate) remove_generation(s->directory, "approximate", old.approximate);
  unload(s);
  return load(s, error);
}
