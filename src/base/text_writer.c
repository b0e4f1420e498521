/* Writing text to a file or standard output, compressed when the name ends in .gz or .zst. See text_writer.h. */
#include "base/text_writer.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "base/zlib_memory.h"

#include <string.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { TEXT_BYTES = CQ_BUFFER_BYTES(256 * 1024), PACKED_BYTES = CQ_BUFFER_BYTES(64 * 1024) };

struct cq_text_packer {
  z_stream stream;    /* gzip */
  ZSTD_CStream *zstd; /* NULL: gzip */
  unsigned char packed[PACKED_BYTES];
};

static bool ends_in(const char *text, const char *ending) {
  const size_t n = strlen(text), m = strlen(ending);
  return n > m && strcmp(text + n - m, ending) == 0;
}

static cq_status start_gzip(cq_text_writer *w, cq_error *error) {
  z_stream *z = &w->packer->stream;
  z->zalloc = cq_zlib_alloc, z->zfree = cq_zlib_free;
  const int code = deflateInit2(z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  if (code == Z_OK) return CQ_OK;
  cq_free(w->packer);
  w->packer = NULL;
  return code == Z_MEM_ERROR ? cq_fail_memory(error, w->path)
                             : cq_fail_file(error, CQ_ERR_UNSUPPORTED, w->path, "zlib does not start");
}

size_t cq_text_writer_ending(const char *path) {
  return ends_in(path, ".gz") ? 3 : ends_in(path, ".zst") ? 4 : 0;
}

cq_status cq_text_writer_check(const char *path, cq_error *error) {
  static const char *const unsupported[] = {".xz", ".bz2", ".zip", ".lz4"};
  for (size_t i = 0; path && i < sizeof unsupported / sizeof *unsupported; i++)
    if (ends_in(path, unsupported[i]))
      return cq_fail_file(error, CQ_ERR_ARGUMENT, path, "files are not compressed as %s, but as .gz or .zst",
                          unsupported[i]);
  return CQ_OK;
}

static cq_status fail_zstd(const cq_text_writer *w, size_t code, cq_error *error) {
  if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation) return cq_fail_memory(error, w->path);
  return cq_fail_file(error, CQ_ERR_UNSUPPORTED, w->path, "Zstandard: %s", ZSTD_getErrorName(code));
}

static cq_status start_packer(cq_text_writer *w, cq_error *error) {
  if (!cq_text_writer_ending(w->path)) return CQ_OK;
  if (!(w->packer = cq_alloc_zeroed(sizeof *w->packer))) return cq_fail_memory(error, w->path);
  if (ends_in(w->path, ".gz")) return start_gzip(w, error);
  w->packer->zstd = ZSTD_createCStream(); /* its memory is malloc's */
  if (!w->packer->zstd) return cq_fail_memory(error, w->path);
  const size_t code = ZSTD_CCtx_setParameter(w->packer->zstd, ZSTD_c_checksumFlag, 1);
  return ZSTD_isError(code) ? fail_zstd(w, code, error) : CQ_OK;
}

static void stop_packer(cq_text_writer *w) {
  if (w->packer && w->packer->zstd)
    ZSTD_freeCStream(w->packer->zstd);
  else if (w->packer)
    deflateEnd(&w->packer->stream);
  cq_free(w->packer);
  w->packer = NULL;
}

cq_status cq_text_writer_open(cq_text_writer *out, const char *path, cq_error *error) {
  const bool standard = !path || !strcmp(path, "-");
  struct stat info;
  *out = (cq_text_writer){.path = cq_strdup(standard ? "<stdout>" : path), .text = cq_alloc(TEXT_BYTES)};
  cq_status status = out->path && out->text ? CQ_OK : cq_fail_memory(error, standard ? "<stdout>" : path);
  if (!status && !standard) status = cq_text_writer_check(path, error);
  if (!status && !standard) status = start_packer(out, error);
  if (!status && standard) {
    out->stream = stdout;
  } else if (!status && stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
    if (!(out->stream = fopen(path, "wb"))) status = cq_fail_errno(error, path, "cannot create");
  } else if (!status) {
    status = cq_writer_open_output(&out->file, path, error);
    out->stream = out->file.stream;
  }
  if (status) cq_text_writer_abort(out);
  return status;
}

static cq_status hand_on(cq_text_writer *w, const void *bytes, size_t n, cq_error *error) {
  if (w->stream == stdout) cq_print_text(stdout, (cq_slice){bytes, n});
  if (w->stream == stdout ? !ferror(stdout) : fwrite(bytes, 1, n, w->stream) == n) return CQ_OK;
  const cq_status status = cq_fail_errno(error, w->path, "cannot write");
  if (w->stream == stdout) clearerr(stdout); /* it is said */
  return status;
}

static cq_status pack_gzip(cq_text_writer *w, size_t n, bool is_last, cq_error *error) {
  z_stream *z = &w->packer->stream;
  cq_status status;
  z->next_in = (unsigned char *)w->text, z->avail_in = (unsigned)n;
  do { /* room is left when zlib has taken all */
    z->next_out = w->packer->packed, z->avail_out = PACKED_BYTES;
    deflate(z, is_last ? Z_FINISH : Z_NO_FLUSH);
    status = hand_on(w, w->packer->packed, PACKED_BYTES - z->avail_out, error);
  } while (!status && z->avail_out == 0);
  return status;
}

static cq_status pack_zstd(cq_text_writer *w, size_t n, bool is_last, cq_error *error) {
  ZSTD_inBuffer in = {w->text, n, 0};
  cq_status status = CQ_OK;
  for (bool done = false; !status && !done;) {
    ZSTD_outBuffer out = {w->packer->packed, PACKED_BYTES, 0};
    const size_t left = ZSTD_compressStream2(w->packer->zstd, &out, &in, is_last ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left)) return fail_zstd(w, left, error);
    status = hand_on(w, w->packer->packed, out.pos, error);
    done = is_last ? left == 0 : in.pos == in.size;
  }
  return status;
}

/* Hands on what text holds. */
static cq_status drain_text(cq_text_writer *w, bool is_last, cq_error *error) {
  const size_t n = w->n_text;
  w->n_text = 0;
  if (!w->packer) return hand_on(w, w->text, n, error);
  return w->packer->zstd ? pack_zstd(w, n, is_last, error) : pack_gzip(w, n, is_last, error);
}

cq_status cq_text_writer_put(cq_text_writer *w, const char *bytes, size_t n, cq_error *error) {
  while (n > TEXT_BYTES - w->n_text) {
    const size_t part = TEXT_BYTES - w->n_text;
    memcpy(w->text + w->n_text, bytes, part);
    w->n_text += part, bytes += part, n -= part;
    const cq_status status = drain_text(w, false, error);
    if (status) return status;
  }
  if (n) memcpy(w->text + w->n_text, bytes, n);
  w->n_text += n;
  return CQ_OK;
}

cq_status cq_text_writer_commit(cq_text_writer *w, cq_error *error) {
  cq_status status = drain_text(w, true, error);
  if (w->file.stream) {
    w->stream = NULL;
    if (!status) status = cq_writer_commit(&w->file, error);
  } else if (!status && fflush(w->stream) != 0) {
    status = cq_fail_errno(error, w->path, "cannot write");
    if (w->stream == stdout) clearerr(stdout);
  }
  cq_text_writer_abort(w);
  return status;
}

void cq_text_writer_abort(cq_text_writer *w) {
  if (w->stream && w->stream != stdout && !w->file.stream) fclose(w->stream);
  cq_writer_abort(&w->file);
  stop_packer(w);
  cq_free(w->text);
  cq_free(w->path);
  *w = (cq_text_writer){0};
}
