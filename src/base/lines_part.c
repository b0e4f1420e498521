/* A part of a file, by bytes:
 *
 *        begin                         end
 *          v                            v
 *   ...ne 7|\n line 8 \n line 9 \n lin|e 10 \n line 11      the part has lines 8, 9 and 10
 *
 * It begins after the first newline at or after begin - 1, and ends with the first newline at or after end - 1. */
#include "base/byte_source.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/wide.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct part {
  int fd;
  char *path;
  uint64_t at, end;
  bool over;
} part;

static cq_status read_part_bytes(size_t *got, const part *p, void *bytes, size_t n, cq_error *error) {
  ssize_t step;
  do step = pread(p->fd, bytes, n, (off_t)p->at);
  while (step < 0 && errno == EINTR);
  *got = step > 0 ? (size_t)step : 0;
  return step < 0 ? cq_fail_errno(error, p->path, "cannot read") : CQ_OK;
}

/* Skips to the start of the first line that begins at `begin` or later. */
static cq_status find_first_line(part *p, uint64_t begin, cq_error *error) {
  char bytes[4096];
  if (begin == 0) return CQ_OK;
  for (p->at = begin - 1; p->at + 1 < p->end;) { /* a line that begins after the end belongs to another part */
    size_t got;
    const cq_status status = read_part_bytes(&got, p, bytes, sizeof bytes, error);
    const char *newline = status || got == 0 ? NULL : memchr(bytes, '\n', got);
    if (status) return status;
    p->at += newline ? (uint64_t)(newline - bytes) + 1 : got;
    if (newline && p->at < p->end) return CQ_OK;
    if (newline || got == 0) break;
  }
  p->over = true;
  return CQ_OK;
}

static cq_status read_part(size_t *got, void *context, void *bytes, size_t n, cq_error *error) {
  part *p = context;
  *got = 0;
  if (p->over) return CQ_OK;
  const cq_status status = read_part_bytes(got, p, bytes, n, error);
  p->over = status || *got == 0;
  if (*got && p->at + *got >= p->end) { /* the last line is near */
    const size_t from = p->at >= p->end ? 0 : (size_t)(p->end - 1 - p->at);
    const char *newline = memchr((const char *)bytes + from, '\n', *got - from);
    if (newline) *got = (size_t)(newline - (const char *)bytes) + 1, p->over = true;
  }
  p->at += *got;
  return status;
}

static void close_part(void *context) {
  part *p = context;
  if (p->fd >= 0) close(p->fd);
  cq_free(p->path);
  cq_free(p);
}

/* Only in plain files do byte offsets locate lines. */
static cq_status check_plain(const char *path, cq_error *error) {
  struct stat info;
  cq_input *in;
  if (strcmp(path, "-") == 0 || (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)))
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "cannot be divided: it is not a file on disk");
  cq_status status = cq_input_open(&in, path, error);
  if (status) return status;
  if (cq_input_compression(in))
    status = cq_fail_file(error, CQ_ERR_UNSUPPORTED, path,
                          "cannot be divided: it is compressed (%s): decompress it first", cq_input_compression(in));
  cq_slice bytes = {0};
  if (!status) status = cq_input_peek(&bytes, in, error);
  const char *encoding = status ? NULL : cq_encoding_marked(bytes);
  if (encoding)
    status = cq_fail_file(error, CQ_ERR_UNSUPPORTED, path,
                          "cannot be divided: it is %s: convert it first (iconv -f %s -t UTF-8)", encoding, encoding);
  cq_input_close(in);
  return status;
}

cq_status cq_lines_open_part(cq_lines **out, const char *path, uint64_t begin, uint64_t end, uint64_t lines_before,
                             cq_error *error) {
  *out = NULL;
  cq_status status = check_plain(path, error);
  if (status) return status;
  part *p = cq_alloc_zeroed(sizeof *p);
  if (!p) return cq_fail_memory(error, path);
  p->end = end, p->over = begin >= end, p->fd = open(path, O_RDONLY | O_CLOEXEC), p->path = cq_strdup(path);
  if (p->fd < 0) status = cq_fail_errno(error, path, "cannot open");
  if (!status && !p->path) status = cq_fail_memory(error, path);
  if (!status && !p->over) status = find_first_line(p, begin, error);
  if (status) {
    close_part(p);
    return status;
  }
  const cq_byte_source source = {read_part, close_part, p->path, p};
  status = cq_lines_of(out, &source, error);
  if (!status && begin > 0) cq_lines_begin_inside(*out, lines_before);
  return status;
}
