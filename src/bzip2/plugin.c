/* A bzip2 file is one or more streams, one after the other. "Multistream" dumps of MediaWiki have thousands of them. */
#include "base/compression.h"

#include <bzlib.h>
#include <stdlib.h>

typedef struct bzip2 {
  bz_stream stream;
  bool in_stream;
} bzip2;

static void *open_bzip2(void) {
  return calloc(1, sizeof(bzip2));
}

static void close_bzip2(void *state) {
  bzip2 *b = state;
  if (b && b->in_stream) BZ2_bzDecompressEnd(&b->stream);
  free(b);
}

static cq_decompressed fail_bzip2(cq_decompress_step *s, const char *why) {
  s->why = why;
  return CQ_DECOMPRESS_BROKEN;
}

static cq_decompressed step_bzip2(void *state, cq_decompress_step *s) {
  bzip2 *b = state;
  bz_stream *z = &b->stream;
  if (!b->in_stream) {
    if (s->n_in == 0) return s->is_last ? CQ_DECOMPRESS_END : CQ_DECOMPRESS_MORE;
    *z = (bz_stream){0};
    if (BZ2_bzDecompressInit(z, 0, 0) != BZ_OK) return CQ_DECOMPRESS_MEMORY;
    b->in_stream = true;
  }
  const size_t n_in = s->n_in, n_out = s->n_out;
  z->next_in = (char *)(size_t)s->in, z->avail_in = (unsigned)n_in; /* libbz2 only reads it */
  z->next_out = (char *)s->out, z->avail_out = (unsigned)n_out;
  const int code = BZ2_bzDecompress(z);
  s->in = (const unsigned char *)z->next_in, s->n_in = z->avail_in;
  s->out = (unsigned char *)z->next_out, s->n_out = z->avail_out;
  switch (code) {
  case BZ_STREAM_END:
    BZ2_bzDecompressEnd(z);
    b->in_stream = false;
    return CQ_DECOMPRESS_MORE;
  case BZ_OK:
    return s->is_last && n_in == s->n_in && n_out == s->n_out ? fail_bzip2(s, CQ_ENDS_TOO_EARLY) : CQ_DECOMPRESS_MORE;
  case BZ_MEM_ERROR: return CQ_DECOMPRESS_MEMORY;
  case BZ_DATA_ERROR_MAGIC: return fail_bzip2(s, "unknown bytes after it");
  default: return fail_bzip2(s, "damaged");
  }
}

static const cq_compression bzip2_format = {"bzip2", "BZh", 3, open_bzip2, step_bzip2, close_bzip2};

__attribute__((visibility("default"))) extern const cq_bzip2_plugin cq_bzip2_plugin_table;
const cq_bzip2_plugin cq_bzip2_plugin_table = {CQ_BZIP2_PLUGIN_VERSION, &bzip2_format};
