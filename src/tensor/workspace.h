/* A worker's memory: a stack of tensors that grows while layers run and is released in one step.
 *
 *   cq_mark before = cq_workspace_mark(w);
 *   cq_tensor h = cq_workspace_f32(w, n_tokens, dim);       // .data NULL when out of memory
 *   ...
 *   cq_workspace_release(w, before);
 *
 * Memory is kept for the next round: after the first few blocks, nothing more is allocated. */
#ifndef TENSOR_WORKSPACE_H
#define TENSOR_WORKSPACE_H

#include "tensor/tensor.h"

typedef struct cq_workspace {
  struct cq_workspace_chunk *chunks; /* in order of use */
  size_t n_chunks, capacity;
  size_t current, used; /* the chunk being filled and the bytes taken from it */
} cq_workspace;

typedef struct cq_mark {
  size_t chunk, used;
} cq_mark;

void *cq_workspace_take(cq_workspace *w, size_t n_bytes); /* 64-byte aligned, uninitialized; NULL when out of memory */
cq_tensor cq_workspace_f32(cq_workspace *w, int64_t rows, int64_t cols);
cq_mark cq_workspace_mark(const cq_workspace *w);
void cq_workspace_release(cq_workspace *w, cq_mark mark);
size_t cq_workspace_bytes(const cq_workspace *w); /* that it holds, in use or not */
void cq_workspace_free(cq_workspace *w);

/* A layer's environment: the kernels of its backend and one worker's memory. It belongs to one thread. */
typedef struct cq_worker {
  const cq_kernels *kernels;
  cq_workspace workspace;
} cq_worker;

#endif
