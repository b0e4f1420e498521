#include "base/arena.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Blocks form a list, newest first; the header takes one alignment unit so that data stay aligned. */
struct cq_arena_block {
  struct cq_arena_block *before;
  size_t used, size;
};

#define HEADER ((sizeof(struct cq_arena_block) + CQ_ALIGNMENT - 1) / CQ_ALIGNMENT * CQ_ALIGNMENT)
#define BLOCK_BYTES ((size_t)64 * 1024)

void *cq_arena_alloc(cq_arena *arena, size_t n_bytes) {
  size_t rounded;
  if (!cq_checked_add(&rounded, n_bytes, CQ_ALIGNMENT - 1)) return NULL;
  rounded &= ~(size_t)(CQ_ALIGNMENT - 1);
  struct cq_arena_block *block = arena->last;
  if (!block || block->size - block->used < rounded) {
    size_t size = rounded > BLOCK_BYTES ? rounded : BLOCK_BYTES, total;
    if (!cq_checked_add(&total, size, HEADER) || !(block = cq_alloc(total))) return NULL;
    *block = (struct cq_arena_block){.before = arena->last, .used = 0, .size = size};
    arena->last = block;
  }
  void *p = (char *)block + HEADER + block->used;
  block->used += rounded;
  return p;
}

void *cq_arena_array(cq_arena *arena, size_t n, size_t size) {
  size_t n_bytes;
  return cq_checked_mul(&n_bytes, n, size) ? cq_arena_alloc(arena, n_bytes) : NULL;
}

char *cq_arena_strndup(cq_arena *arena, const char *text, size_t n) {
  size_t n_bytes;
  char *copy = cq_checked_add(&n_bytes, n, 1) ? cq_arena_alloc(arena, n_bytes) : NULL;
  if (!copy) return NULL;
  if (n) memcpy(copy, text, n);
  copy[n] = '\0';
  return copy;
}

char *cq_arena_strdup(cq_arena *arena, const char *text) {
  return cq_arena_strndup(arena, text, strlen(text));
}

char *cq_arena_printf(cq_arena *arena, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (n < 0) return NULL;
  char *text = cq_arena_alloc(arena, (size_t)n + 1);
  if (!text) return NULL;
  va_start(args, format);
  vsnprintf(text, (size_t)n + 1, format, args);
  va_end(args);
  return text;
}

void cq_arena_free(cq_arena *arena) {
  for (struct cq_arena_block *block = arena->last, *before; block; block = before) {
    before = block->before;
    cq_free(block);
  }
  arena->last = NULL;
}
