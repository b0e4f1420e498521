/* The bytes' path:
 *
 *   file -- read --> raw (compressed bytes, gzip only) -- inflate --> text [begin, end) -- memchr --> a line
 *
 * `text` grows until it holds a whole line. What was decoded before an error is still handed out line by line, so that
 * how many lines a broken file gives does not depend on the sizes of the buffers. */
#include "calque/lines.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "base/zlib_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define RAW_BYTES  CQ_BUFFER_BYTES(64 * 1024)
#define TEXT_BYTES CQ_BUFFER_BYTES(256 * 1024)
#define MAX_LINE   ((size_t)16 * 1024 * 1024)

enum gzip_state { PLAIN, BETWEEN_MEMBERS, IN_MEMBER, PADDING };

struct cq_lines {
  char *path;
  int fd;
  unsigned char *raw;
  size_t raw_begin, raw_end;
  uint64_t raw_start; /* offset in the file of raw[0] */
  bool raw_over;      /* the file has no more bytes */
  enum gzip_state gzip;
  bool inflating; /* stream is initialised */
  z_stream stream;
  char *text;
  size_t begin, scanned, end, capacity; /* [begin, end) is unread, [begin, scanned) holds no newline */
  bool text_over;                       /* nothing more will be put into text: the file ended or failed */
  cq_error failure; /* why, reported when the lines before it are out; status CQ_OK: it ended well */
  bool broken;
  uint64_t number;
};

/* Reads at least one byte into p unless the file is over; 0 then. */
static cq_status read_some(size_t *got, cq_lines *l, void *p, size_t n) {
  ssize_t step;
  do step = read(l->fd, p, n);
  while (step < 0 && errno == EINTR);
  *got = step > 0 ? (size_t)step : 0;
  return step < 0 ? cq_fail_errno(&l->failure, l->path, "cannot read") : CQ_OK;
}

static cq_status refill_raw(cq_lines *l) {
  size_t got;
  l->raw_start += l->raw_end;
  l->raw_begin = l->raw_end = 0;
  cq_status status = read_some(&got, l, l->raw, RAW_BYTES);
  if (status) return status;
  l->raw_end = got;
  l->raw_over = got == 0;
  return CQ_OK;
}

/* ---- opening ---- */

/* How files of other compressions begin, and what makes text of them. */
static const struct {
  const char *name, *begin, *tool;
  size_t n;
} compressions[] = {
    {"bzip2", "BZh", "bzip2 -d", 3},
    {"xz", "\xFD\x37zXZ\0", "xz -d", 6},
    {"Zstandard", "\x28\xB5\x2F\xFD", "zstd -d", 4},
    {"zip", "PK\3\4", "unzip", 4},
};
enum { LONGEST_BEGIN = 10 }; /* bzip2's: "BZh", a digit, six bytes that begin a block */

static cq_status refuse_compression(cq_lines *l) {
  for (size_t i = 0; i < sizeof compressions / sizeof *compressions; i++) {
    if (l->raw_end < compressions[i].n || memcmp(l->raw, compressions[i].begin, compressions[i].n) != 0) continue;
    if (i == 0 && (l->raw_end < LONGEST_BEGIN || memcmp(l->raw + 4, "1AY&SY", 6) != 0)) continue; /* may be text */
    return cq_fail_file(&l->failure, CQ_ERR_FORMAT, l->path,
                        "is compressed with %s; calque reads gzip and plain text: decompress it first (%s)",
                        compressions[i].name, compressions[i].tool);
  }
  return CQ_OK;
}

/* Looks at the first bytes, which stay in raw. */
static cq_status detect_compression(cq_lines *l) {
  while (l->raw_end < LONGEST_BEGIN) {
    size_t got;
    cq_status status = read_some(&got, l, l->raw + l->raw_end, RAW_BYTES - l->raw_end);
    if (status) return status;
    if (got == 0) {
      l->raw_over = true;
      break;
    }
    l->raw_end += got;
  }
  l->gzip = l->raw_end >= 2 && l->raw[0] == 0x1F && l->raw[1] == 0x8B ? BETWEEN_MEMBERS : PLAIN;
  if (l->gzip == PLAIN) return refuse_compression(l);
  l->stream.zalloc = cq_zlib_alloc;
  l->stream.zfree = cq_zlib_free;
  int code = inflateInit2(&l->stream, 15 + 16); /* 16: a gzip wrapper and nothing else */
  if (code == Z_MEM_ERROR) return cq_fail_memory(&l->failure, l->path);
  if (code != Z_OK) return cq_fail_file(&l->failure, CQ_ERR_UNSUPPORTED, l->path, "zlib does not start");
  l->inflating = true;
  return CQ_OK;
}

static cq_status open_lines_file(cq_lines *l, const char *path) {
  struct stat info;
  if (!strcmp(path, "-")) {
    l->fd = STDIN_FILENO;
    return CQ_OK;
  }
  l->fd = open(path, O_RDONLY | O_CLOEXEC);
  if (l->fd < 0) return cq_fail_errno(&l->failure, path, "cannot open");
  if (fstat(l->fd, &info) != 0) return cq_fail_errno(&l->failure, path, "cannot stat");
  if (S_ISDIR(info.st_mode)) return cq_fail_file(&l->failure, CQ_ERR_IO, path, "is a directory, expected a file");
  return CQ_OK;
}

cq_status cq_lines_open(cq_lines **out, const char *path, cq_error *error) {
  *out = NULL;
  cq_lines *l = cq_alloc_zeroed(sizeof *l);
  if (!l) return cq_fail_memory(error, path);
  l->fd = -1;
  l->path = cq_strdup(strcmp(path, "-") != 0 ? path : "<stdin>");
  l->raw = cq_alloc(RAW_BYTES);
  l->text = cq_alloc(TEXT_BYTES);
  l->capacity = TEXT_BYTES;
  cq_status status = l->path && l->raw && l->text ? CQ_OK : cq_fail_memory(&l->failure, path);
  if (!status) status = open_lines_file(l, path);
  if (!status) status = detect_compression(l);
  if (status) {
    if (error) *error = l->failure;
    cq_lines_close(l);
  } else {
    *out = l;
  }
  return status;
}

void cq_lines_close(cq_lines *l) {
  if (!l) return;
  if (l->inflating) inflateEnd(&l->stream);
  if (l->fd >= 0 && l->fd != STDIN_FILENO) close(l->fd);
  cq_free(l->text);
  cq_free(l->raw);
  cq_free(l->path);
  cq_free(l);
}

/* ---- reading ---- */

static uint64_t raw_offset(const cq_lines *l) {
  return l->raw_start + l->raw_begin;
}

static cq_status inflate_some(cq_lines *l) {
  z_stream *z = &l->stream;
  z->next_in = l->raw + l->raw_begin;
  z->avail_in = (unsigned)(l->raw_end - l->raw_begin);
  z->next_out = (unsigned char *)l->text + l->end;
  z->avail_out = (unsigned)(l->capacity - l->end);
  int code = inflate(z, Z_NO_FLUSH);
  l->raw_begin = l->raw_end - z->avail_in;
  l->end = l->capacity - z->avail_out;
  switch (code) {
  case Z_OK:
  case Z_BUF_ERROR: return CQ_OK; /* the latter: all input was used and more is needed */
  case Z_STREAM_END: l->gzip = BETWEEN_MEMBERS; return CQ_OK;
  case Z_MEM_ERROR: return cq_fail_memory(&l->failure, l->path);
  default:
    return cq_fail_byte(&l->failure, CQ_ERR_FORMAT, l->path, raw_offset(l), "broken gzip stream: %s",
                        z->msg ? z->msg : "unknown block");
  }
}

/* Decodes until some text came out or the file is over. A gzip file is one or more members, and zeros may fill it up.
 */
static cq_status decode_block(cq_lines *l) {
  size_t end = l->end;
  while (l->end == end) {
    if (l->raw_begin == l->raw_end && !l->raw_over) {
      cq_status status = refill_raw(l);
      if (status) return status;
    }
    if (l->raw_begin == l->raw_end) {
      if (l->gzip == IN_MEMBER)
        return cq_fail_byte(&l->failure, CQ_ERR_FORMAT, l->path, raw_offset(l), "the gzip stream ends too early");
      l->text_over = true;
      return CQ_OK;
    }
    if (l->gzip == PADDING || (l->gzip == BETWEEN_MEMBERS && l->raw[l->raw_begin] == 0)) {
      l->gzip = PADDING;
      if (l->raw[l->raw_begin] != 0)
        return cq_fail_byte(&l->failure, CQ_ERR_FORMAT, l->path, raw_offset(l), "unknown bytes after the gzip stream");
      l->raw_begin++;
      continue;
    }
    if (l->gzip == BETWEEN_MEMBERS) {
      if (inflateReset(&l->stream) != Z_OK)
        return cq_fail_file(&l->failure, CQ_ERR_FORMAT, l->path, "zlib does not start again");
      l->gzip = IN_MEMBER;
    }
    cq_status status = inflate_some(l);
    if (status) return status;
  }
  return CQ_OK;
}

/* Adds bytes to text. A failure is kept for later: see the top of the file. */
static void fill_text(cq_lines *l) {
  cq_status status = CQ_OK;
  if (l->begin > 0) {
    memmove(l->text, l->text + l->begin, l->end - l->begin);
    l->end -= l->begin;
    l->scanned -= l->begin;
    l->begin = 0;
  }
  if (l->end == l->capacity && !cq_reserve((void **)&l->text, &l->capacity, l->end + 1, 1)) {
    status = cq_fail_memory(&l->failure, l->path);
  } else if (l->gzip != PLAIN) {
    status = decode_block(l);
  } else if (l->raw_begin < l->raw_end) {
    /* What was looked at to tell gzip from plain text; text is empty and larger than raw. */
    memcpy(l->text + l->end, l->raw, l->raw_end);
    l->end += l->raw_end;
    l->raw_begin = l->raw_end;
  } else {
    size_t got = 0;
    if (!l->raw_over) status = read_some(&got, l, l->text + l->end, l->capacity - l->end);
    l->end += got;
    if (!status && got == 0) l->text_over = true;
  }
  if (status) l->text_over = true;
}

static cq_status give_up(cq_lines *l, cq_error *error) {
  l->broken = true;
  l->text_over = true;
  l->begin = l->scanned = l->end; /* asking again gives the same answer */
  if (error) *error = l->failure;
  return l->failure.status;
}

static cq_status fail_too_long(cq_lines *l, cq_error *error) {
  cq_fail_line(&l->failure, CQ_ERR_FORMAT, l->path, l->number, "the line is longer than 16 MiB");
  return give_up(l, error);
}

static cq_status check_line(const cq_lines *l, cq_slice line, cq_error *error) {
  size_t bad = cq_utf8_invalid_at(line.data, line.n);
  if (bad < line.n)
    return cq_fail_line(error, CQ_ERR_FORMAT, l->path, l->number, "not UTF-8 (byte 0x%02x at position %zu of the line)",
                        (unsigned char)line.data[bad], bad + 1);
  const char *nul = line.n ? memchr(line.data, '\0', line.n) : NULL;
  if (nul)
    return cq_fail_line(error, CQ_ERR_FORMAT, l->path, l->number, "a NUL byte at position %zu of the line",
                        (size_t)(nul - line.data) + 1);
  return CQ_OK;
}

cq_status cq_lines_next(cq_slice *out, cq_lines *l, cq_error *error) {
  *out = (cq_slice){0};
  const char *newline;
  for (;;) {
    newline = l->scanned < l->end ? memchr(l->text + l->scanned, '\n', l->end - l->scanned) : NULL;
    size_t n = newline ? (size_t)(newline - l->text) - l->begin : l->end - l->begin;
    if (n > MAX_LINE + 4) { /* a mark at the start and a carriage return do not count */
      l->number++;
      return fail_too_long(l, error);
    }
    if (newline) break;
    l->scanned = l->end;
    if (l->text_over) break;
    fill_text(l);
  }
  if (!newline) {
    if (l->failure.status) return give_up(l, error);
    if (l->begin == l->end) return CQ_OK;
  }
  cq_slice line = {l->text + l->begin, (size_t)((newline ? newline : l->text + l->end) - l->text) - l->begin};
  l->begin = l->scanned = newline ? l->begin + line.n + 1 : l->end;
  if (l->number == 0 && line.n >= 3 && !memcmp(line.data, "\xEF\xBB\xBF", 3)) {
    line.data += 3;
    line.n -= 3;
    if (line.n == 0 && !newline) return CQ_OK; /* a mark and nothing else: an empty file */
  }
  l->number++;
  if (line.n && line.data[line.n - 1] == '\r') line.n--;
  if (line.n > MAX_LINE) return fail_too_long(l, error);
  cq_status status = check_line(l, line, error);
  if (!status) *out = line;
  return status;
}

uint64_t cq_lines_number(const cq_lines *l) {
  return l->number;
}

const char *cq_lines_path(const cq_lines *l) {
  return l->path;
}

bool cq_lines_broken(const cq_lines *l) {
  return l->broken;
}
