/* The pages of a chunk, one after the other. What follows a page's header:
 *
 *   version 1    compressed: length of the levels (4 bytes), levels, values; no levels if nothing may be null
 *   version 2    levels, whose length is in the header; values, compressed or not
 *   dictionary   compressed: PLAIN values; the first page if there is one */
#include "base/error.h"
#include "base/memory.h"
#include "format/parquet_parts.h"
#include "format/thrift.h"

#include <snappy-c.h>
#include <zlib.h>

enum { FIRST_BUFFER = 1 << 16 }; /* initial buffer size in bytes, added to 8 times the compressed size */
/* Pages usually have about 1 MiB; some writers put a whole row group into one. */
#define MAX_PAGE CQ_BUFFER_BYTES((size_t)1 << 30)

enum { DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 };

static const char *const codecs[] = {"no compression", "Snappy", "gzip",      "LZO",
                                     "Brotli",         "LZ4",    "Zstandard", "LZ4_RAW"};
enum { UNCOMPRESSED, SNAPPY, GZIP, ZSTANDARD = 6, N_CODECS = sizeof codecs / sizeof *codecs };

typedef struct page {
  int32_t type, n_unpacked, n_bytes;
  int32_t crc;
  bool has_crc;
  int32_t n_values, encoding, level_encoding;
  int32_t n_levels, n_repetitions; /* version 2: bytes */
  bool is_compressed;
  const unsigned char *bytes; /* [n_bytes] */
} page;

/* --- headers --- */

/* DataPageHeader, DictionaryPageHeader, DataPageHeaderV2. */
static void read_kind_of_page(page *g, cq_thrift *t, int kind) {
  for (cq_thrift_field f = {0}; cq_thrift_next(&f, t);) {
    const int field = f.id + (kind == 8 ? 100 : 0);
    if (field == 1 || field == 101)
      g->n_values = cq_thrift_number32(t, f);
    else if (field == 2 || field == 104)
      g->encoding = cq_thrift_number32(t, f);
    else if (field == 3 && kind == 5)
      g->level_encoding = cq_thrift_number32(t, f);
    else if (field == 105)
      g->n_levels = cq_thrift_number32(t, f);
    else if (field == 106)
      g->n_repetitions = cq_thrift_number32(t, f);
    else if (field == 107)
      g->is_compressed = cq_thrift_boolean(t, f);
    else
      cq_thrift_skip(t, f);
  }
}

static void read_header(page *g, cq_thrift *t) {
  *g = (page){.type = -1, .n_values = -1, .encoding = -1, .level_encoding = CQ_PARQUET_RLE, .is_compressed = true};
  for (cq_thrift_field f = {0}; cq_thrift_next(&f, t);) {
    switch (f.id) {
    case 1: g->type = cq_thrift_number32(t, f); break;
    case 2: g->n_unpacked = cq_thrift_number32(t, f); break;
    case 3: g->n_bytes = cq_thrift_number32(t, f); break;
    case 4:
      g->crc = cq_thrift_number32(t, f);
      g->has_crc = true;
      break;
    case 5:
    case 7:
    case 8:
      if (cq_thrift_struct(t, f)) read_kind_of_page(g, t, f.id);
      break;
    default: cq_thrift_skip(t, f);
    }
  }
}

/* Reads the next page and moves c->p past it. */
static cq_status read_page(page *g, cq_parquet_cursor *c, cq_error *error) {
  cq_thrift t = {.p = c->p, .end = c->end};
  c->page = c->p;
  read_header(g, &t);
  if (t.why) return cq_parquet_fail(c, CQ_ERR_FORMAT, error, "header of a page: %s", t.why);
  const size_t left = (size_t)(c->end - t.p);
  if (g->n_bytes < 0 || g->n_unpacked < 0 || (size_t)g->n_bytes > left)
    return cq_parquet_fail(c, CQ_ERR_FORMAT, error, "a page of %d bytes, the column's chunk has %zu more",
                           (int)g->n_bytes, left);
  g->bytes = t.p;
  c->p = t.p + g->n_bytes;
  if (g->has_crc && (uint32_t)crc32(0, g->bytes, (unsigned)g->n_bytes) != (uint32_t)g->crc)
    return cq_parquet_fail(c, CQ_ERR_FORMAT, error, "the page's checksum (CRC) is wrong: it is damaged");
  return CQ_OK;
}

/* --- decompression --- */

/* Its first n_kept bytes stay. */
static bool grow(cq_parquet_buffer *buffer, size_t n, size_t n_kept) {
  if (n <= buffer->capacity) return true;
  unsigned char *grown = cq_alloc(n);
  if (!grown) return false;
  if (n_kept) memcpy(grown, buffer->bytes, n_kept);
  cq_free(buffer->bytes);
  *buffer = (cq_parquet_buffer){grown, n};
  return true;
}

/* Uses base/compression.h; NULL: no error. The buffer grows with the actual data, not with the size in a header. */
static const char *decompress(cq_parquet_cursor *c, cq_parquet_buffer *buffer, size_t n_out, const unsigned char *in,
                              size_t n_in, bool *no_memory) {
  cq_decompress_step s = {.in = in, .n_in = n_in, .is_last = true};
  if (!c->decompressor) c->decompressor = c->compression->open();
  *no_memory = !c->decompressor;
  if (*no_memory) return "out of memory";
  for (size_t n_given = 0;;) {
    if (s.n_out == 0 && n_given < n_out) {
      const size_t n = cq_min(n_out, n_given ? 2 * n_given : 8 * n_in + FIRST_BUFFER);
      if (!grow(buffer, n, n_given)) {
        *no_memory = true;
        return "out of memory";
      }
      s.out = buffer->bytes + n_given, s.n_out = n - n_given, n_given = n;
    }
    const size_t before = s.n_in + s.n_out;
    switch (c->compression->step(c->decompressor, &s)) {
    case CQ_DECOMPRESS_END: return s.n_out || n_given < n_out ? "fewer bytes than the header says" : NULL;
    case CQ_DECOMPRESS_BROKEN: return s.why;
    case CQ_DECOMPRESS_MEMORY: *no_memory = true; return "out of memory";
    case CQ_DECOMPRESS_MORE: break;
    }
    if (s.n_in + s.n_out == before && s.n_out == 0 && n_given == n_out) return "more bytes than the header says";
  }
}

/* In Snappy, 3 bytes give at most 64, so a header that promises more is refused without allocating. */
static const char *decompress_snappy(unsigned char *out, size_t n_out, const unsigned char *in, size_t n_in) {
  size_t n;
  if (snappy_uncompressed_length((const char *)in, n_in, &n) != SNAPPY_OK || n != n_out)
    return "another length than the header says";
  return snappy_uncompress((const char *)in, n_in, (char *)out, &n) == SNAPPY_OK ? NULL : "broken Snappy data";
}

static cq_status unpack(const unsigned char **out, cq_parquet_buffer *buffer, size_t n_out, cq_parquet_cursor *c,
                        const unsigned char *in, size_t n_in, cq_error *error) {
  bool no_memory = false;
  *out = in;
  if (c->codec == UNCOMPRESSED)
    return n_in == n_out
               ? CQ_OK
               : cq_parquet_fail(c, CQ_ERR_FORMAT, error, "%zu bytes without compression, expected %zu", n_in, n_out);
  if (n_out == 0) return CQ_OK;
  if (n_out > MAX_PAGE)
    return cq_parquet_fail(c, CQ_ERR_LIMIT, error, "a page of %zu bytes, at most %zu are read", n_out, MAX_PAGE);
  const size_t most = c->codec == SNAPPY ? n_in * 22 + 64 : c->codec == GZIP ? n_in * 1032 + 64 : MAX_PAGE;
  if (n_out > most)
    return cq_parquet_fail(c, CQ_ERR_FORMAT, error, "%zu bytes cannot become %zu with %s", n_in, n_out,
                           codecs[c->codec]);
  if (c->codec == SNAPPY && !grow(buffer, n_out, 0)) return cq_fail_memory(error, c->file->path);
  const char *why = c->codec == SNAPPY ? decompress_snappy(buffer->bytes, n_out, in, n_in)
                                       : decompress(c, buffer, n_out, in, n_in, &no_memory);
  *out = buffer->bytes;
  if (no_memory) return cq_fail_memory(error, c->file->path);
  return why ? cq_parquet_fail(c, CQ_ERR_FORMAT, error, "%s: %s", codecs[c->codec], why) : CQ_OK;
}

/* --- pages --- */

static unsigned bits_for(uint32_t max) {
  unsigned n = 0;
  for (; max; max >>= 1) n++;
  return n;
}

static cq_status start_page_v1(cq_parquet_cursor *c, const page *g, cq_error *error) {
  const unsigned char *bytes;
  size_t n = (size_t)g->n_unpacked;
  const cq_status status = unpack(&bytes, &c->unpacked, n, c, g->bytes, (size_t)g->n_bytes, error);
  if (status) return status;
  if (c->leaf->max_level > 0) {
    if (g->level_encoding != CQ_PARQUET_RLE)
      return cq_parquet_fail(c, CQ_ERR_UNSUPPORTED, error, "levels of encoding %d, only RLE is read",
                             (int)g->level_encoding);
    const size_t n_levels = n >= 4 ? cq_parquet_u32(bytes) : 0;
    if (n < 4 || n_levels > n - 4) return cq_parquet_fail(c, CQ_ERR_FORMAT, error, "the levels are truncated");
    cq_runs_start(&c->levels, bytes + 4, n_levels, bits_for(c->leaf->max_level));
    bytes += 4 + n_levels, n -= 4 + n_levels;
  }
  return cq_parquet_values_start(c, g->encoding, bytes, n, error);
}

static cq_status start_page_v2(cq_parquet_cursor *c, const page *g, cq_error *error) {
  if (g->n_levels < 0 || g->n_repetitions < 0 || g->n_levels > g->n_bytes - g->n_repetitions ||
      g->n_unpacked < g->n_levels + g->n_repetitions)
    return cq_parquet_fail(c, CQ_ERR_FORMAT, error, "the levels do not fit into the page");
  const unsigned char *levels = g->bytes + g->n_repetitions, *bytes = levels + g->n_levels;
  size_t n = (size_t)(g->n_bytes - g->n_repetitions - g->n_levels);
  const size_t n_unpacked = (size_t)(g->n_unpacked - g->n_repetitions - g->n_levels);
  if (c->leaf->max_level > 0) cq_runs_start(&c->levels, levels, (size_t)g->n_levels, bits_for(c->leaf->max_level));
  cq_status status = CQ_OK;
  if (g->is_compressed) {
    status = unpack(&bytes, &c->unpacked, n_unpacked, c, bytes, n, error);
    n = n_unpacked;
  }
  return status ? status : cq_parquet_values_start(c, g->encoding, bytes, n, error);
}

static cq_status start_dictionary(cq_parquet_cursor *c, const page *g, cq_error *error) {
  const unsigned char *bytes;
  if (c->has_dictionary) return cq_parquet_fail(c, CQ_ERR_FORMAT, error, "a second dictionary");
  if (g->n_values < 0 || (g->encoding != CQ_PARQUET_PLAIN && g->encoding != CQ_PARQUET_PLAIN_DICTIONARY))
    return cq_parquet_fail(c, CQ_ERR_FORMAT, error, "a dictionary of %d values of encoding %d", (int)g->n_values,
                           (int)g->encoding);
  c->has_dictionary = true;
  const cq_status status =
      unpack(&bytes, &c->unpacked_dictionary, (size_t)g->n_unpacked, c, g->bytes, (size_t)g->n_bytes, error);
  return status ? status : cq_parquet_take_dictionary(c, (size_t)g->n_values, bytes, (size_t)g->n_unpacked, error);
}

/* The next page with values. */
static cq_status next_page(cq_parquet_cursor *c, cq_error *error) {
  page g;
  while (c->n_left == 0) {
    if (c->p == c->end)
      return cq_parquet_fail(c, CQ_ERR_FORMAT, error, "the pages end, %lld values are missing", (long long)c->n_behind);
    cq_status status = read_page(&g, c, error);
    if (status) return status;
    if (g.type == DICTIONARY_PAGE) {
      status = start_dictionary(c, &g, error);
    } else if (g.type == DATA_PAGE || g.type == DATA_PAGE_V2) {
      if (g.n_values < 0 || g.n_values > c->n_behind)
        return cq_parquet_fail(c, CQ_ERR_FORMAT, error, "a page of %d values, the column has %lld more",
                               (int)g.n_values, (long long)c->n_behind);
      status = (g.type == DATA_PAGE ? start_page_v1 : start_page_v2)(c, &g, error);
      c->n_left = g.n_values;
      c->n_behind -= g.n_values;
    } else if (g.type != INDEX_PAGE) {
      status = cq_parquet_fail(c, CQ_ERR_UNSUPPORTED, error, "a page of unknown type %d", (int)g.type);
    }
    if (status) return status;
  }
  return CQ_OK;
}

static cq_status choose_codec(cq_parquet_cursor *c, int32_t codec, cq_error *error) {
  const cq_compression *compression = codec == GZIP ? &cq_gzip : codec == ZSTANDARD ? &cq_zstandard : NULL;
  if (codec < 0 || codec >= N_CODECS)
    return cq_parquet_fail(c, CQ_ERR_UNSUPPORTED, error, "compressed in an unknown way (%d)", (int)codec);
  if (codec != UNCOMPRESSED && codec != SNAPPY && !compression)
    return cq_parquet_fail(c, CQ_ERR_UNSUPPORTED, error, "compressed with %s; Snappy, gzip and Zstandard are read",
                           codecs[codec]);
  if (c->compression && c->compression != compression) {
    c->compression->close(c->decompressor);
    c->decompressor = NULL;
  }
  c->codec = codec;
  c->compression = compression;
  return CQ_OK;
}

cq_status cq_parquet_cursor_start(cq_parquet_cursor *c, cq_error *error) {
  const cq_parquet *file = c->file;
  const cq_parquet_chunk *chunk = &file->chunks[c->group * file->n_leaves + (size_t)(c->leaf - file->leaves)];
  c->page = NULL;
  c->n_left = 0, c->n_behind = chunk->n_values;
  c->has_dictionary = false, c->n_dictionary = 0;
  if (chunk->is_encrypted) return cq_parquet_fail(c, CQ_ERR_UNSUPPORTED, error, "encrypted");
  if (chunk->is_elsewhere) return cq_parquet_fail(c, CQ_ERR_UNSUPPORTED, error, "in another file");
  if (chunk->type != (int32_t)c->leaf->type)
    return cq_parquet_fail(c, CQ_ERR_FORMAT, error, "of type %d, in the schema it is of %d", (int)chunk->type,
                           (int)c->leaf->type);
  if (chunk->n_values != file->group_rows[c->group])
    return cq_parquet_fail(c, CQ_ERR_FORMAT, error, "%lld values, the row group has %lld rows",
                           (long long)chunk->n_values, (long long)file->group_rows[c->group]);
  const bool is_first = chunk->dictionary_at > 0 && chunk->dictionary_at < chunk->data_at;
  const int64_t at = is_first ? chunk->dictionary_at : chunk->data_at, end = (int64_t)file->end;
  if (at < 4 || at > end || chunk->n_bytes < 0 || chunk->n_bytes > end - at)
    return cq_parquet_fail(c, CQ_ERR_FORMAT, error, "%lld bytes at byte %lld, the footer begins at byte %lld",
                           (long long)chunk->n_bytes, (long long)at, (long long)end);
  c->p = file->mapping.data + at;
  c->end = c->p + chunk->n_bytes;
  return choose_codec(c, chunk->codec, error);
}

cq_status cq_parquet_cursor_next(cq_slice *out, cq_parquet_cursor *c, cq_error *error) {
  if (c->n_left == 0) {
    const cq_status status = next_page(c, error);
    if (status) return status;
  }
  c->n_left--;
  if (c->leaf->max_level > 0) {
    uint32_t level;
    if (!cq_runs_next(&level, &c->levels) || level > c->leaf->max_level)
      return cq_parquet_fail(c, CQ_ERR_FORMAT, error, "the levels are truncated or damaged");
    if (level < c->leaf->max_level) {
      *out = (cq_slice){0};
      return CQ_OK;
    }
  }
  return cq_parquet_value_next(out, c, error);
}

void cq_parquet_cursor_close(cq_parquet_cursor *c) {
  if (c->compression) c->compression->close(c->decompressor);
  cq_free(c->unpacked.bytes);
  cq_free(c->unpacked_dictionary.bytes);
  cq_free(c->dictionary);
  cq_builder_free(&c->text);
}
