#include "store/vector_store.h"

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_PATH 4096

struct cq_vector_store {
  char keys_path[MAX_PATH], vectors_path[MAX_PATH];
  int keys, vectors; /* file descriptors */
  int64_t dim, n;
  cq_map records; /* key -> record */
  void *mapped;
  size_t mapped_bytes;
};

static cq_slice bytes_of(const cq_identity *key) {
  return (cq_slice){(const char *)key, sizeof *key};
}

static cq_status open_file(int *fd, const char *path, cq_error *error) {
  *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  return *fd < 0 ? cq_fail_errno(error, path, "cannot open") : CQ_OK;
}

static cq_status size_of(int64_t *size, int fd, const char *path, cq_error *error) {
  struct stat info;
  if (fstat(fd, &info) != 0) return cq_fail_errno(error, path, "cannot stat");
  *size = (int64_t)info.st_size;
  return CQ_OK;
}

static cq_status load_keys(cq_vector_store *s, cq_error *error) {
  cq_identity block[256];
  for (int64_t first = 0; first < s->n;) {
    const size_t want = (size_t)(s->n - first < 256 ? s->n - first : 256) * sizeof *block;
    const ssize_t got = pread(s->keys, block, want, (off_t)first * (off_t)sizeof *block);
    if (got != (ssize_t)want) return cq_fail_errno(error, s->keys_path, "cannot read");
    for (size_t i = 0; i < want / sizeof *block; i++) {
      if (!cq_map_put(&s->records, bytes_of(&block[i]), (uint64_t)(first + (int64_t)i)))
        return cq_fail_memory(error, s->keys_path);
    }
    first += (int64_t)(want / sizeof *block);
  }
  return CQ_OK;
}

cq_status cq_vector_store_open(cq_vector_store **out, const char *directory, int64_t dim, cq_error *error) {
  int64_t keys_size = 0, vectors_size = 0;
  *out = NULL;
  cq_vector_store *s = cq_alloc_zeroed(sizeof *s);
  if (!s) return cq_fail_memory(error, directory);
  s->keys = s->vectors = -1;
  s->dim = dim;
  cq_status status = cq_directory_make(directory, error);
  if (!status) status = cq_path_join(s->keys_path, MAX_PATH, directory, "keys", error);
  if (!status) status = cq_path_join(s->vectors_path, MAX_PATH, directory, "vectors", error);
  if (!status) status = open_file(&s->keys, s->keys_path, error);
  while (!status && flock(s->keys, LOCK_EX) != 0)
    if (errno != EINTR) status = cq_fail_errno(error, s->keys_path, "cannot lock");
  if (!status) status = open_file(&s->vectors, s->vectors_path, error);
  /* Only now that nobody else writes: a size from before the lock would cut off what was added since. */
  if (!status) status = size_of(&keys_size, s->keys, s->keys_path, error);
  if (!status) status = size_of(&vectors_size, s->vectors, s->vectors_path, error);
  if (!status) {
    const int64_t row = dim * (int64_t)sizeof(float), n_keys = keys_size / (int64_t)sizeof(cq_identity),
                  n_vectors = vectors_size / row;
    s->n = n_keys < n_vectors ? n_keys : n_vectors;
    if (ftruncate(s->keys, (off_t)(s->n * (int64_t)sizeof(cq_identity))) != 0 ||
        ftruncate(s->vectors, (off_t)(s->n * row)) != 0)
      status = cq_fail_errno(error, directory, "cannot cut to whole records");
  }
  if (!status) status = load_keys(s, error);
  if (status)
    cq_vector_store_close(s);
  else
    *out = s;
  return status;
}

void cq_vector_store_close(cq_vector_store *s) {
  if (!s) return;
  if (s->mapped) munmap(s->mapped, s->mapped_bytes);
  if (s->vectors >= 0) close(s->vectors);
  if (s->keys >= 0) close(s->keys); /* releases the lock */
  cq_map_free(&s->records);
  cq_free(s);
}

int64_t cq_vector_store_find(const cq_vector_store *s, cq_slice text) {
  const cq_identity key = cq_hash128(text.data, text.n);
  const uint64_t record = cq_map_get(&s->records, bytes_of(&key));
  return record == CQ_MAP_NONE ? -1 : (int64_t)record;
}

cq_status cq_vector_store_append(cq_vector_store *s, const cq_slice *texts, size_t n, const float *vectors,
                                 cq_error *error) {
  const int64_t row = s->dim * (int64_t)sizeof(float);
  assert(!s->mapped);
  /* Vectors first, and down to the disk: keys without vectors would be lies. */
  cq_status status = cq_write_at(s->vectors, vectors, n * (size_t)row, s->n * row, s->vectors_path, error);
  if (!status && fdatasync(s->vectors) != 0) status = cq_fail_errno(error, s->vectors_path, "cannot write");
  for (size_t i = 0; !status && i < n; i++) {
    const cq_identity key = cq_hash128(texts[i].data, texts[i].n);
    status = cq_write_at(s->keys, &key, sizeof key, s->n * (int64_t)sizeof key, s->keys_path, error);
    if (!status && !cq_map_put(&s->records, bytes_of(&key), (uint64_t)s->n))
      status = cq_fail_memory(error, s->keys_path);
    if (!status) s->n++;
  }
  return status;
}

cq_status cq_vector_store_map(const float **out, cq_vector_store *s, cq_error *error) {
  *out = NULL;
  if (s->n > 0 && !s->mapped) {
    s->mapped_bytes = (size_t)(s->n * s->dim) * sizeof(float);
    void *p = mmap(NULL, s->mapped_bytes, PROT_READ, MAP_SHARED, s->vectors, 0);
    if (p == MAP_FAILED) return cq_fail_errno(error, s->vectors_path, "cannot map");
    s->mapped = p;
  }
  flock(s->keys, LOCK_UN); /* records are never changed, so others may grow the files behind the mapping */
  *out = s->mapped;
  return CQ_OK;
}
