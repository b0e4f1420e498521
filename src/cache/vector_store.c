/* Vectors by text. The texts' hashes are in memory, and the vectors are mapped: a cache of millions of texts needs
 * memory only for the hashes. See vector_store.h for the files. */
#include "cache/vector_store.h"

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_PATH 4096

static const char magic[8] = "CQVECTS\n";

typedef struct header {
  char magic[8];
  uint64_t version, dim, zeros[4];
  uint64_t check; /* of the bytes before */
} header;

typedef struct key {
  cq_identity text;
  uint64_t vector_check; /* its number is text.low */
  uint64_t check;        /* of the 24 bytes before, its number the record's */
} key;

struct cq_vector_store {
  char keys_path[MAX_PATH], vectors_path[MAX_PATH];
  int keys, vectors; /* file descriptors */
  bool is_locked;    /* nobody else writes */
  int64_t dim, n;
  cq_map records;          /* text -> record */
  uint64_t *checks;        /* [n_read] the vectors' */
  unsigned char *is_sound; /* [n_read] what has been compared with its check */
  int64_t n_read;          /* records that were there when the store was opened */
  uint64_t n_damaged;
  void *mapped;
  size_t mapped_bytes;
};

_Static_assert(sizeof(header) % sizeof(key) == 0 && 512 % sizeof(key) == 0, "a key never crosses a sector's end");

static cq_slice bytes_of(const cq_identity *text) {
  return (cq_slice){(const char *)text, sizeof *text};
}

static size_t row_bytes(const cq_vector_store *s) {
  return (size_t)s->dim * sizeof(float);
}

static uint64_t check_header(const header *h) {
  return cq_check64(h, offsetof(header, check), 0);
}

static uint64_t check_key(const key *k, int64_t record) {
  return cq_check64(k, offsetof(key, check), (uint64_t)record);
}

static uint64_t check_vector(const cq_vector_store *s, const cq_identity *text, const void *vector) {
  return cq_check64(vector, row_bytes(s), text->low);
}

/* --- opening --- */

static cq_status open_store_file(int *fd, const char *path, cq_error *error) {
  *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  return *fd < 0 ? cq_fail_errno(error, path, "cannot open") : CQ_OK;
}

static cq_status store_file_size(int64_t *size, int fd, const char *path, cq_error *error) {
  struct stat info;
  if (fstat(fd, &info) != 0) return cq_fail_errno(error, path, "cannot stat");
  *size = (int64_t)info.st_size;
  return CQ_OK;
}

static cq_status sync_store_file(int fd, const char *path, cq_error *error) {
  return fdatasync(fd) != 0 ? cq_fail_errno(error, path, "cannot write") : CQ_OK;
}

static cq_status resize_files(const cq_vector_store *s, cq_error *error) {
  return ftruncate(s->keys, (off_t)(sizeof(header) + (size_t)s->n * sizeof(key))) != 0 ||
                 ftruncate(s->vectors, (off_t)((size_t)s->n * row_bytes(s))) != 0
             ? cq_fail_errno(error, s->keys_path, "cannot truncate it and vectors to whole records")
             : CQ_OK;
}

/* After a crash the file may have grown while some or all of the new data is missing and reads as zeros. Such a record
 * is unused, not damaged. */
static bool is_unwritten(const key *k) {
  static const key zeros;
  return !memcmp(k, &zeros, sizeof zeros);
}

/* A damaged header leaves nothing usable: all vectors are computed again. */
static cq_status read_keys_header(cq_vector_store *s, int64_t keys_size, bool *is_there, cq_error *error) {
  header h;
  *is_there = false;
  if (keys_size < (int64_t)sizeof h) return CQ_OK;
  if (pread(s->keys, &h, sizeof h, 0) != (ssize_t)sizeof h) return cq_fail_errno(error, s->keys_path, "cannot read");
  *is_there = h.check == check_header(&h) && !memcmp(h.magic, magic, sizeof magic) && h.version == 1 &&
              h.dim == (uint64_t)s->dim;
  if (!*is_there) s->n_damaged += (uint64_t)(keys_size - (int64_t)sizeof h) / sizeof(key);
  return CQ_OK;
}

static cq_status write_keys_header(cq_vector_store *s, cq_error *error) {
  header h = {.version = 1, .dim = (uint64_t)s->dim};
  memcpy(h.magic, magic, sizeof magic);
  h.check = check_header(&h);
  cq_status status = cq_sync_name(s->keys_path, error); /* both names: they are in one directory */
  if (!status) status = resize_files(s, error);
  if (!status) status = cq_write_at(s->keys, &h, sizeof h, 0, s->keys_path, error);
  return status ? status : sync_store_file(s->keys, s->keys_path, error);
}

static cq_status load_key(cq_vector_store *s, const key *k, int64_t record, cq_error *error) {
  s->checks[record] = k->vector_check;
  if (is_unwritten(k)) return CQ_OK;
  if (k->check != check_key(k, record)) {
    s->n_damaged++;
    return CQ_OK;
  }
  return cq_map_put(&s->records, bytes_of(&k->text), (uint64_t)record) ? CQ_OK : cq_fail_memory(error, s->keys_path);
}

static cq_status load_keys(cq_vector_store *s, cq_error *error) {
  key block[256];
  cq_status status = CQ_OK;
  s->n_read = s->n;
  s->checks = cq_alloc_array((size_t)s->n, sizeof *s->checks);
  s->is_sound = cq_alloc_array_zeroed((size_t)s->n, sizeof *s->is_sound);
  if (!s->checks || !s->is_sound) return cq_fail_memory(error, s->keys_path);
  for (int64_t first = 0; !status && first < s->n; first += 256) {
    const size_t n = (size_t)(s->n - first < 256 ? s->n - first : 256);
    const off_t at = (off_t)(sizeof(header) + (size_t)first * sizeof *block);
    if (pread(s->keys, block, n * sizeof *block, at) != (ssize_t)(n * sizeof *block))
      return cq_fail_errno(error, s->keys_path, "cannot read");
    for (size_t i = 0; !status && i < n; i++) status = load_key(s, &block[i], first + (int64_t)i, error);
  }
  return status;
}

static cq_status map_vectors(cq_vector_store *s, cq_error *error) {
  if (s->mapped) munmap(s->mapped, s->mapped_bytes);
  s->mapped = NULL;
  s->mapped_bytes = (size_t)s->n * row_bytes(s);
  if (s->n == 0) return CQ_OK;
  void *p = mmap(NULL, s->mapped_bytes, PROT_READ, MAP_SHARED, s->vectors, 0);
  if (p == MAP_FAILED) return cq_fail_errno(error, s->vectors_path, "cannot map");
  s->mapped = p;
  return CQ_OK;
}

static cq_status read_store(cq_vector_store *s, cq_error *error) {
  int64_t keys_size = 0, vectors_size = 0;
  bool is_there = false;
  cq_status status = store_file_size(&keys_size, s->keys, s->keys_path, error);
  if (!status) status = store_file_size(&vectors_size, s->vectors, s->vectors_path, error);
  if (!status) status = read_keys_header(s, keys_size, &is_there, error);
  if (status) return status;
  if (!is_there) return write_keys_header(s, error);
  const int64_t n_keys = (keys_size - (int64_t)sizeof(header)) / (int64_t)sizeof(key),
                n_vectors = vectors_size / (int64_t)row_bytes(s);
  s->n = n_keys < n_vectors ? n_keys : n_vectors;
  status = resize_files(s, error);
  if (!status) status = load_keys(s, error);
  if (!status) status = map_vectors(s, error);
  return status;
}

/* The lock on keys, shared by all processes. */
static cq_status lock_store(cq_vector_store *s, cq_notice_fn notice, void *notice_context, cq_error *error) {
  if (flock(s->keys, LOCK_EX | LOCK_NB) == 0) return CQ_OK;
  if (errno == EWOULDBLOCK)
    cq_notify(notice, notice_context, "%s: waiting for another process that adds vectors", s->keys_path);
  while (flock(s->keys, LOCK_EX) != 0)
    if (errno != EINTR) return cq_fail_errno(error, s->keys_path, "cannot lock");
  return CQ_OK;
}

cq_status cq_vector_store_open(cq_vector_store **out, const char *directory, int64_t dim, cq_notice_fn notice,
                               void *notice_context, cq_error *error) {
  *out = NULL;
  cq_vector_store *s = cq_alloc_zeroed(sizeof *s);
  if (!s) return cq_fail_memory(error, directory);
  s->keys = s->vectors = -1;
  s->dim = dim;
  cq_status status = cq_directory_make(directory, error);
  if (!status) status = cq_path_join(s->keys_path, MAX_PATH, directory, "keys", error);
  if (!status) status = cq_path_join(s->vectors_path, MAX_PATH, directory, "vectors", error);
  if (!status) status = open_store_file(&s->keys, s->keys_path, error);
  if (!status) status = lock_store(s, notice, notice_context, error);
  s->is_locked = !status;
  if (!status) status = open_store_file(&s->vectors, s->vectors_path, error);
  if (!status) status = read_store(s, error);
  if (status) cq_vector_store_close(s);
  *out = status ? NULL : s;
  return status;
}

void cq_vector_store_close(cq_vector_store *s) {
  if (!s) return;
  if (s->mapped) munmap(s->mapped, s->mapped_bytes);
  if (s->vectors >= 0) close(s->vectors);
  if (s->keys >= 0) close(s->keys); /* releases the lock */
  cq_map_free(&s->records);
  cq_free(s->checks);
  cq_free(s->is_sound);
  cq_free(s);
}

/* --- reading and adding --- */

int64_t cq_vector_store_find(const cq_vector_store *s, cq_slice text) {
  const cq_identity identity = cq_hash128(text.data, text.n);
  const uint64_t record = cq_map_get(&s->records, bytes_of(&identity));
  return record == CQ_MAP_NONE ? -1 : (int64_t)record;
}

bool cq_vector_store_verify(cq_vector_store *s, cq_slice text) {
  const cq_identity identity = cq_hash128(text.data, text.n);
  const uint64_t record = cq_map_get(&s->records, bytes_of(&identity));
  if (record == CQ_MAP_NONE) return false;
  if ((int64_t)record >= s->n_read || s->is_sound[record]) return true;
  const char *vector = (const char *)s->mapped + record * row_bytes(s);
  if (check_vector(s, &identity, vector) == s->checks[record]) {
    s->is_sound[record] = 1;
    return true;
  }
  cq_map_at(&s->records, bytes_of(&identity))->value = CQ_MAP_NONE; /* it has an entry: nothing is allocated */
  s->n_damaged++;
  return false;
}

const char *cq_vector_store_path(const cq_vector_store *s) {
  return s->vectors_path;
}

uint64_t cq_vector_store_n_damaged(const cq_vector_store *s) {
  return s->n_damaged;
}

cq_status cq_vector_store_append(cq_vector_store *s, const cq_slice *texts, size_t n, const float *vectors,
                                 cq_error *error) {
  const size_t row = row_bytes(s);
  assert(s->is_locked);
  key *keys = cq_alloc_array_zeroed(n, sizeof *keys);
  if (!keys) return cq_fail_memory(error, s->keys_path);
  for (size_t i = 0; i < n; i++) {
    keys[i].text = cq_hash128(texts[i].data, texts[i].n);
    keys[i].vector_check = check_vector(s, &keys[i].text, vectors + i * (size_t)s->dim);
    keys[i].check = check_key(&keys[i], s->n + (int64_t)i);
  }
  /* Vectors are written and synced first: no key may exist without its vector. */
  cq_status status = cq_write_at(s->vectors, vectors, n * row, s->n * (int64_t)row, s->vectors_path, error);
  if (!status) status = sync_store_file(s->vectors, s->vectors_path, error);
  if (!status)
    status = cq_write_at(s->keys, keys, n * sizeof *keys, (int64_t)sizeof(header) + s->n * (int64_t)sizeof *keys,
                         s->keys_path, error);
  if (!status) status = sync_store_file(s->keys, s->keys_path, error);
  for (size_t i = 0; !status && i < n; i++) {
    if (cq_map_put(&s->records, bytes_of(&keys[i].text), (uint64_t)s->n))
      s->n++;
    else
      status = cq_fail_memory(error, s->keys_path);
  }
  cq_free(keys);
  return status;
}

cq_status cq_vector_store_map(const float **out, cq_vector_store *s, cq_error *error) {
  *out = NULL;
  const cq_status status = map_vectors(s, error);
  s->is_locked = false;
  flock(s->keys, LOCK_UN); /* records never change, so other processes may append to the files after the mapping */
  *out = s->mapped;
  return status;
}

/* --- checking --- */

static cq_status map_if_there(cq_mapping *out, const char *directory, const char *name, cq_error *error) {
  char path[MAX_PATH];
  cq_status status = cq_path_join(path, MAX_PATH, directory, name, error);
  return status || !cq_file_exists(path) ? status : cq_mapping_open(out, path, error);
}

cq_status cq_vector_store_check(uint64_t *n, uint64_t *n_damaged, const char *directory, cq_error *error) {
  cq_mapping keys = {0}, vectors = {0};
  header h;
  *n = *n_damaged = 0;
  cq_status status = map_if_there(&keys, directory, "keys", error);
  if (!status) status = map_if_there(&vectors, directory, "vectors", error);
  if (!status && keys.n >= sizeof h) {
    memcpy(&h, keys.data, sizeof h);
    uint64_t n_records = (keys.n - sizeof h) / sizeof(key);
    const bool is_sound = h.check == check_header(&h) && h.dim > 0;
    const size_t row = (size_t)h.dim * sizeof(float);
    if (is_sound && vectors.n / row < n_records) n_records = vectors.n / row; /* the rest is still being written */
    for (uint64_t i = 0; i < n_records; i++) {
      key k;
      memcpy(&k, keys.data + sizeof h + i * sizeof k, sizeof k);
      if (is_unwritten(&k)) continue;
      ++*n;
      *n_damaged += !is_sound || k.check != check_key(&k, (int64_t)i) ||
                    k.vector_check != cq_check64(vectors.data + i * row, row, k.text.low);
    }
  }
  cq_mapping_close(&keys);
  cq_mapping_close(&vectors);
  return status;
}
