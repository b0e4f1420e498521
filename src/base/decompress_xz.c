/* An xz file is one or more streams with zeros between them. A stream that needs more than 512 MiB to decompress is
 * refused; the highest level of the xz program needs 65. */
#include "base/compression.h"
#include "base/memory.h"

#include <lzma.h>

#define MEMORY_LIMIT ((uint64_t)512 << 20)

typedef struct xz {
  lzma_stream stream;
  lzma_allocator allocator;
} xz;

static void *allocate(void *opaque, size_t n, size_t size) {
  (void)opaque;
  return cq_alloc_array(n, size);
}

static void release(void *opaque, void *p) {
  (void)opaque;
  cq_free(p);
}

static void close_xz(void *state) {
  xz *x = state;
  if (!x) return;
  lzma_end(&x->stream);
  cq_free(x);
}

static void *open_xz(void) {
  xz *x = cq_alloc_zeroed(sizeof *x);
  if (!x) return NULL;
  x->allocator = (lzma_allocator){.alloc = allocate, .free = release};
  x->stream.allocator = &x->allocator;
  if (lzma_stream_decoder(&x->stream, MEMORY_LIMIT, LZMA_CONCATENATED) == LZMA_OK) return x;
  close_xz(x);
  return NULL;
}

static cq_decompressed step_xz(void *state, cq_decompress_step *s) {
  lzma_stream *z = &((xz *)state)->stream;
  z->next_in = s->in, z->avail_in = s->n_in;
  z->next_out = s->out, z->avail_out = s->n_out;
  const lzma_ret code = lzma_code(z, s->is_last ? LZMA_FINISH : LZMA_RUN);
  const bool moved = s->n_in != z->avail_in || s->n_out != z->avail_out;
  s->in = z->next_in, s->n_in = z->avail_in;
  s->out = z->next_out, s->n_out = z->avail_out;
  switch (code) {
  case LZMA_OK: return CQ_DECOMPRESS_MORE;
  case LZMA_STREAM_END: return moved ? CQ_DECOMPRESS_MORE : CQ_DECOMPRESS_END;
  case LZMA_BUF_ERROR:
    if (!s->is_last || moved) return CQ_DECOMPRESS_MORE;
    s->why = CQ_ENDS_TOO_EARLY;
    return CQ_DECOMPRESS_BROKEN;
  case LZMA_MEM_ERROR: return CQ_DECOMPRESS_MEMORY;
  case LZMA_MEMLIMIT_ERROR: s->why = "needs more than 512 MiB to be read"; return CQ_DECOMPRESS_BROKEN;
  case LZMA_OPTIONS_ERROR: s->why = "a filter that liblzma does not know"; return CQ_DECOMPRESS_BROKEN;
  default: s->why = "damaged"; return CQ_DECOMPRESS_BROKEN;
  }
}

const cq_compression cq_xz = {"xz", "\xFD\x37zXZ\0", 6, open_xz, step_xz, close_xz};
