#include "base/text_writer.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/zlib_memory.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

enum { TEXT_BYTES = CQ_BUFFER_BYTES(256 * 1024), PACKED_BYTES = CQ_BUFFER_BYTES(64 * 1024) };

struct cq_text_packer {
  z_stream stream;
  unsigned char packed[PACKED_BYTES];
};

static cq_status start_packer(cq_text_writer *w, cq_error *error) {
  struct cq_text_packer *p = cq_alloc_zeroed(sizeof *p);
  if (!p) return cq_fail_memory(error, w->path);
  p->stream.zalloc = cq_zlib_alloc, p->stream.zfree = cq_zlib_free;
  const int code = deflateInit2(&p->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  if (code == Z_OK) {
    w->packer = p;
    return CQ_OK;
  }
  cq_free(p);
  return code == Z_MEM_ERROR ? cq_fail_memory(error, w->path)
                             : cq_fail_file(error, CQ_ERR_UNSUPPORTED, w->path, "zlib does not start");
}

cq_status cq_text_writer_open(cq_text_writer *out, const char *path, cq_error *error) {
  const bool standard = !path || !strcmp(path, "-");
  struct stat info;
  char resolved[PATH_MAX];
  *out = (cq_text_writer){.path = cq_strdup(standard ? "<stdout>" : path), .text = cq_alloc(TEXT_BYTES)};
  cq_status status = out->path && out->text ? CQ_OK : cq_fail_memory(error, standard ? "<stdout>" : path);
  const size_t n = out->path ? strlen(out->path) : 0;
  if (!status && !standard && n > 3 && !strcmp(out->path + n - 3, ".gz")) status = start_packer(out, error);
  if (!status && standard) {
    out->stream = stdout;
  } else if (!status && stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
    if (!(out->stream = fopen(path, "wb"))) status = cq_fail_errno(error, path, "cannot create");
  } else if (!status) {
    status = cq_writer_open(&out->file, realpath(path, resolved) ? resolved : path, error);
    out->stream = out->file.stream;
  }
  if (status) cq_text_writer_abort(out);
  return status;
}

static cq_status hand_on(cq_text_writer *w, const void *bytes, size_t n, cq_error *error) {
  if (fwrite(bytes, 1, n, w->stream) == n) return CQ_OK;
  const cq_status status = cq_fail_errno(error, w->path, "cannot write");
  if (w->stream == stdout) clearerr(stdout); /* it is said */
  return status;
}

/* Hands on what text holds; `flush` is zlib's. */
static cq_status drain_text(cq_text_writer *w, int flush, cq_error *error) {
  cq_status status = CQ_OK;
  const size_t n = w->n_text;
  w->n_text = 0;
  if (!w->packer) return hand_on(w, w->text, n, error);
  z_stream *z = &w->packer->stream;
  z->next_in = (unsigned char *)w->text, z->avail_in = (unsigned)n;
  do { /* room is left when zlib has taken all */
    z->next_out = w->packer->packed, z->avail_out = PACKED_BYTES;
    deflate(z, flush);
    status = hand_on(w, w->packer->packed, PACKED_BYTES - z->avail_out, error);
  } while (!status && z->avail_out == 0);
  return status;
}

cq_status cq_text_writer_put(cq_text_writer *w, const char *bytes, size_t n, cq_error *error) {
  while (n > TEXT_BYTES - w->n_text) {
    const size_t part = TEXT_BYTES - w->n_text;
    memcpy(w->text + w->n_text, bytes, part);
    w->n_text += part, bytes += part, n -= part;
    const cq_status status = drain_text(w, Z_NO_FLUSH, error);
    if (status) return status;
  }
  if (n) memcpy(w->text + w->n_text, bytes, n);
  w->n_text += n;
  return CQ_OK;
}

cq_status cq_text_writer_commit(cq_text_writer *w, cq_error *error) {
  cq_status status = drain_text(w, Z_FINISH, error);
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
  if (w->packer) deflateEnd(&w->packer->stream);
  cq_free(w->packer);
  cq_free(w->text);
  cq_free(w->path);
  *w = (cq_text_writer){0};
}
