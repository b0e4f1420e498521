/* Arenas: blocks that grow, and are released at once. See arena.h. */
#include "base/arena.h"

#include "base/memory.h"
#include "base/number.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Blocks form a list, newest first; the header takes one alignment unit so that data stay aligned. */
struct cq_arena_block {
  struct cq_arena_block *before;
  size_t used, size;
};

#define HEADER      ((sizeof(struct cq_arena_block) + CQ_ALIGNMENT - 1) / CQ_ALIGNMENT * CQ_ALIGNMENT)
#define BLOCK_BYTES CQ_BUFFER_BYTES(64 * 1024)

/* Takes n bytes at a multiple of `alignment`, a power of two: text packs tightly, everything else is aligned. */
static void *arena_take(cq_arena *arena, size_t n_bytes, size_t alignment) {
  struct cq_arena_block *block = arena->last;
  size_t start = block ? (block->used + alignment - 1) & ~(alignment - 1) : 0;
  if (!block || start > block->size || block->size - start < n_bytes) {
    size_t size = n_bytes > BLOCK_BYTES ? n_bytes : BLOCK_BYTES, total;
    if (!cq_checked_add(&total, size, HEADER) || !(block = cq_alloc(total))) return NULL;
    *block = (struct cq_arena_block){.before = arena->last, .used = 0, .size = size};
    arena->last = block;
    start = 0;
  }
  block->used = start + n_bytes;
  return (char *)block + HEADER + start;
}

void *cq_arena_alloc(cq_arena *arena, size_t n_bytes) {
  return arena_take(arena, n_bytes, CQ_ALIGNMENT);
}

void *cq_arena_array(cq_arena *arena, size_t n, size_t size) {
  size_t n_bytes;
  return cq_checked_mul(&n_bytes, n, size) ? cq_arena_alloc(arena, n_bytes) : NULL;
}

void *cq_arena_array_zeroed(cq_arena *arena, size_t n, size_t size) {
  void *array = cq_arena_array(arena, n, size);
  return array ? memset(array, 0, n * size) : NULL;
}

char *cq_arena_strndup(cq_arena *arena, const char *text, size_t n) {
  size_t n_bytes;
  char *copy = cq_checked_add(&n_bytes, n, 1) ? arena_take(arena, n_bytes, 1) : NULL;
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
  int n = cq_vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (n < 0) return NULL;
  char *text = arena_take(arena, (size_t)n + 1, 1);
  if (!text) return NULL;
  va_start(args, format);
  cq_vsnprintf(text, (size_t)n + 1, format, args);
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
