/* A region of memory that is released at once: for load, parse and request lifetimes. Not shared by threads. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

typedef struct cq_arena {
  struct cq_arena_block *last;
} cq_arena;

void *cq_arena_alloc(cq_arena *arena, size_t n_bytes); /* 64-byte aligned, uninitialized; NULL on failure */
void *cq_arena_array(cq_arena *arena, size_t n, size_t size);
void *cq_arena_array_zeroed(cq_arena *arena, size_t n, size_t size);
char *cq_arena_strndup(cq_arena *arena, const char *text, size_t n); /* text is packed, not aligned */
char *cq_arena_strdup(cq_arena *arena, const char *text);
char *cq_arena_printf(cq_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cq_arena_free(cq_arena *arena); /* the arena may be used again afterwards */

#endif
