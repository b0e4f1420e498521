/* A Zstandard file is one or more frames, some of which may be skipped. A frame that needs a window of more than 128
 * MiB, the library's own limit, is refused. */
#include "base/compression.h"
#include "base/memory.h"

#include <zstd.h>
#include <zstd_errors.h>

typedef struct zstandard {
  ZSTD_DStream *stream;
  bool in_frame;
} zstandard;

static void *open_zstandard(void) {
  zstandard *z = cq_alloc_zeroed(sizeof *z);
  if (z && !(z->stream = ZSTD_createDStream())) {
    cq_free(z);
    z = NULL;
  }
  return z;
}

static void close_zstandard(void *state) {
  zstandard *z = state;
  if (!z) return;
  ZSTD_freeDStream(z->stream);
  cq_free(z);
}

static cq_decompressed step_zstandard(void *state, cq_decompress_step *s) {
  zstandard *z = state;
  ZSTD_inBuffer in = {s->in, s->n_in, 0};
  ZSTD_outBuffer out = {s->out, s->n_out, 0};
  if (s->n_in == 0 && s->is_last && !z->in_frame) return CQ_DECOMPRESS_END;
  const size_t left = ZSTD_decompressStream(z->stream, &out, &in);
  s->in += in.pos, s->n_in -= in.pos;
  s->out += out.pos, s->n_out -= out.pos;
  if (ZSTD_isError(left)) {
    s->why = ZSTD_getErrorName(left);
    return ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation ? CQ_DECOMPRESS_MEMORY : CQ_DECOMPRESS_BROKEN;
  }
  z->in_frame = left != 0;
  if (in.pos || out.pos || !s->is_last) return CQ_DECOMPRESS_MORE;
  s->why = CQ_ENDS_TOO_EARLY;
  return CQ_DECOMPRESS_BROKEN;
}

const cq_compression cq_zstandard = {"Zstandard",    "\x28\xB5\x2F\xFD", 4,
                                     open_zstandard, step_zstandard,     close_zstandard};
/* A file that begins with a frame to be skipped. */
const cq_compression cq_zstandard_skippable = {"Zstandard",    "\x50\x2A\x4D\x18", 4,
                                               open_zstandard, step_zstandard,     close_zstandard};
