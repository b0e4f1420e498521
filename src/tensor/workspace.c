/* A worker's scratch memory: a stack that is released back to a mark. See workspace.h. */
#include "tensor/workspace.h"

#include "base/memory.h"

#define CHUNK_BYTES ((size_t)4 << 20)

struct cq_workspace_chunk {
  char *data;
  size_t size;
};

/* Ensures that chunk number index has at least n_bytes; later chunks are kept. */
static bool provide_chunk(cq_workspace *w, size_t index, size_t n_bytes) {
  if (index < w->n_chunks && w->chunks[index].size >= n_bytes) return true;
  size_t size = n_bytes > CHUNK_BYTES ? n_bytes : CHUNK_BYTES;
  if (index == w->n_chunks) {
    if (!cq_reserve((void **)&w->chunks, &w->capacity, index + 1, sizeof *w->chunks)) return false;
    w->chunks[index] = (struct cq_workspace_chunk){0};
    w->n_chunks++;
  }
  cq_free(w->chunks[index].data);
  w->chunks[index] = (struct cq_workspace_chunk){cq_alloc(size), 0};
  if (!w->chunks[index].data) return false;
  w->chunks[index].size = size;
  return true;
}

void *cq_workspace_take(cq_workspace *w, size_t n_bytes) {
  size_t rounded;
  if (!cq_checked_add(&rounded, n_bytes, CQ_ALIGNMENT - 1)) return NULL;
  rounded &= ~(size_t)(CQ_ALIGNMENT - 1);
  if (w->n_chunks == 0 || w->chunks[w->current].size - w->used < rounded) {
    size_t next = w->n_chunks == 0 || w->used == 0 ? w->current : w->current + 1; /* an unused chunk may be replaced */
    if (!provide_chunk(w, next, rounded)) return NULL;
    w->current = next;
    w->used = 0;
  }
  void *p = w->chunks[w->current].data + w->used;
  w->used += rounded;
  return p;
}

cq_tensor cq_workspace_f32(cq_workspace *w, int64_t rows, int64_t cols) {
  size_t n;
  assert(rows >= 0 && cols >= 0);
  float *data = NULL;
  if (cq_checked_mul(&n, (size_t)rows, (size_t)cols) && cq_checked_mul(&n, n, sizeof(float)))
    data = cq_workspace_take(w, n);
  return cq_tensor_f32(data, rows, cols);
}

cq_mark cq_workspace_mark(const cq_workspace *w) {
  return (cq_mark){w->current, w->used};
}

void cq_workspace_release(cq_workspace *w, cq_mark mark) {
  w->current = mark.chunk;
  w->used = mark.used;
}

size_t cq_workspace_bytes(const cq_workspace *w) {
  size_t n = w->capacity * sizeof *w->chunks;
  for (size_t i = 0; i < w->n_chunks; i++) n += w->chunks[i].size;
  return n;
}

void cq_workspace_free(cq_workspace *w) {
  for (size_t i = 0; i < w->n_chunks; i++) cq_free(w->chunks[i].data);
  cq_free(w->chunks);
  *w = (cq_workspace){0};
}
