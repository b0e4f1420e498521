/* A gzip file is one or more members, possibly padded with zeros. HTTP's deflate is one stream. */
#include "base/compression.h"
#include "base/memory.h"
#include "base/zlib_memory.h"

#include <zlib.h>

typedef struct gzip {
  enum { BETWEEN_MEMBERS, IN_MEMBER, PADDING } where;
  z_stream stream;
} gzip;

static void *open_inflate(int window_bits) {
  gzip *g = cq_alloc_zeroed(sizeof *g);
  if (!g) return NULL;
  g->stream.zalloc = cq_zlib_alloc;
  g->stream.zfree = cq_zlib_free;
  if (inflateInit2(&g->stream, window_bits) == Z_OK) return g;
  cq_free(g);
  return NULL;
}

static void *open_gzip(void) {
  return open_inflate(15 + 16); /* 16: a gzip wrapper and nothing else */
}

static void *open_deflate(void) {
  return open_inflate(15);
}

static void close_gzip(void *state) {
  gzip *g = state;
  if (!g) return;
  inflateEnd(&g->stream);
  cq_free(g);
}

static cq_decompressed inflate_some(gzip *g, cq_decompress_step *s) {
  z_stream *z = &g->stream;
  z->next_in = (unsigned char *)(size_t)s->in; /* zlib only reads it */
  z->avail_in = (unsigned)s->n_in;
  z->next_out = s->out;
  z->avail_out = (unsigned)s->n_out;
  const int code = inflate(z, Z_NO_FLUSH);
  s->in = z->next_in, s->n_in = z->avail_in;
  s->out = z->next_out, s->n_out = z->avail_out;
  switch (code) {
  case Z_STREAM_END: g->where = BETWEEN_MEMBERS; break;
  case Z_OK:
  case Z_BUF_ERROR: break; /* Z_BUF_ERROR: all input was used and more is needed */
  case Z_MEM_ERROR: return CQ_DECOMPRESS_MEMORY;
  default: s->why = z->msg ? z->msg : "unknown block"; return CQ_DECOMPRESS_BROKEN;
  }
  return CQ_DECOMPRESS_MORE;
}

static cq_decompressed step_gzip(void *state, cq_decompress_step *s) {
  gzip *g = state;
  if (s->n_in == 0 && s->is_last) {
    if (g->where != IN_MEMBER) return CQ_DECOMPRESS_END;
    s->why = CQ_ENDS_TOO_EARLY;
    return CQ_DECOMPRESS_BROKEN;
  }
  if (g->where == BETWEEN_MEMBERS) {
    g->where = *s->in == 0 ? PADDING : IN_MEMBER;
    if (g->where == IN_MEMBER && inflateReset(&g->stream) != Z_OK) return CQ_DECOMPRESS_MEMORY;
  }
  if (g->where == IN_MEMBER) return inflate_some(g, s);
  for (; s->n_in && *s->in == 0; s->n_in--) s->in++;
  s->why = "unknown bytes after it";
  return s->n_in ? CQ_DECOMPRESS_BROKEN : CQ_DECOMPRESS_MORE;
}

const cq_compression cq_gzip = {"gzip", "\x1F\x8B", 2, open_gzip, step_gzip, close_gzip};

/* Servers and clients disagree whether zlib's two bytes come first, which no stream without them begins with. */
static cq_decompressed step_deflate(void *state, cq_decompress_step *s) {
  gzip *g = state;
  const unsigned char *const in = s->in, *const out = s->out;
  if (g->where == BETWEEN_MEMBERS && s->n_in) {
    g->where = IN_MEMBER;
    const bool has_wrapper = (in[0] & 15) == 8 && (s->n_in == 1 || (in[0] << 8 | in[1]) % 31 == 0);
    if (!has_wrapper && inflateReset2(&g->stream, -15) != Z_OK) return CQ_DECOMPRESS_MEMORY;
  }
  if (g->where == IN_MEMBER) {
    const cq_decompressed did = inflate_some(g, s);
    if (g->where == BETWEEN_MEMBERS) g->where = PADDING;
    if (did != CQ_DECOMPRESS_MORE || s->in != in || s->out != out) return did;
  }
  if (g->where == PADDING ? s->n_in == 0 : !s->is_last)
    return g->where == PADDING && s->is_last ? CQ_DECOMPRESS_END : CQ_DECOMPRESS_MORE;
  s->why = g->where == PADDING ? "unknown bytes after it" : CQ_ENDS_TOO_EARLY;
  return CQ_DECOMPRESS_BROKEN;
}

const cq_compression cq_deflate = {"deflate", "", 0, open_deflate, step_deflate, close_gzip};
