/* The bytes of a file, decompressed: the first bytes select the decoder; all readers use the same interface. See
 * input.h. */
#include "base/input.h"

#include "base/byte_source.h"
#include "base/compression.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define RAW_BYTES CQ_BUFFER_BYTES(64 * 1024)

struct cq_input {
  char *path;
  int fd;
  unsigned char *raw;
  size_t raw_begin, raw_end;
  uint64_t raw_start; /* offset in the file of raw[0] */
  bool raw_over;      /* the file has no more bytes */
  bool over;
  const cq_compression *compression; /* NULL: plain */
  void *state;
  char *peeked; /* [peek_begin, peek_end) are returned first */
  size_t peek_begin, peek_end;
  cq_error failure; /* found while peeking: reported once the bytes before it have been read */
};

static const cq_compression *const compressions[] = {&cq_gzip, &cq_zstandard, &cq_zstandard_skippable, &cq_xz};

static const char archive[] = "PK\3\4"; /* the first bytes of a zip archive */
/* Those of bzip2 ('?': a digit from 1); "BZh" alone may be text. */
#define BZIP2_BEGINS "BZh?1AY&SY"
enum { LONGEST_BEGIN = sizeof BZIP2_BEGINS - 1 };

/* Reads at least one byte into p; 0 at the end of the file. */
static cq_status read_some(size_t *got, cq_input *in, void *p, size_t n, cq_error *error) {
  ssize_t step;
  do step = read(in->fd, p, n);
  while (step < 0 && errno == EINTR);
  *got = step > 0 ? (size_t)step : 0;
  in->raw_over = step == 0;
  return step < 0 ? cq_fail_errno(error, in->path, "cannot read") : CQ_OK;
}

/* ---- opening ---- */

/* Whether the bytes so far may be the start of such a compressed file. */
static bool may_begin_with(const cq_input *in, const char *begins, size_t n) {
  for (size_t i = 0; i < n && i < in->raw_end; i++) {
    const unsigned char byte = in->raw[i];
    if (begins[i] == '?' ? byte < '1' || byte > '9' : byte != (unsigned char)begins[i]) return false;
  }
  return true;
}

static bool begins_with(const cq_input *in, const char *begins, size_t n) {
  return in->raw_end >= n && may_begin_with(in, begins, n);
}

/* Text that arrives line by line must not wait for more bytes than are needed to rule out compression. */
static bool may_be_compressed(const cq_input *in) {
  bool may = false;
  for (size_t i = 0; i < sizeof compressions / sizeof *compressions; i++)
    may |= may_begin_with(in, compressions[i]->begins, compressions[i]->n_begins);
  return may || may_begin_with(in, archive, sizeof archive - 1) || may_begin_with(in, BZIP2_BEGINS, LONGEST_BEGIN);
}

static cq_status load_bzip2(cq_input *in, cq_error *error) {
  const void *table;
  cq_error why = {0};
  if (cq_plugin_load(&table, "bzip2", CQ_BZIP2_PLUGIN_VERSION,
                     "bzip2 needs calque's plugin for it (calque-formats; libbz2-dev to build it); or decompress the "
                     "file first (bzip2 -d)",
                     &why))
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, in->path, "%s", why.message);
  in->compression = ((const cq_bzip2_plugin *)table)->bzip2;
  return CQ_OK;
}

/* Looks at the first bytes, which stay in raw. */
static cq_status detect_compression(cq_input *in, cq_error *error) {
  while (in->raw_end < LONGEST_BEGIN && !in->raw_over && may_be_compressed(in)) {
    size_t got;
    const cq_status status = read_some(&got, in, in->raw + in->raw_end, RAW_BYTES - in->raw_end, error);
    if (status) return status;
    in->raw_end += got;
  }
  for (size_t i = 0; i < sizeof compressions / sizeof *compressions; i++)
    if (begins_with(in, compressions[i]->begins, compressions[i]->n_begins)) in->compression = compressions[i];
  if (begins_with(in, BZIP2_BEGINS, LONGEST_BEGIN)) {
    const cq_status status = load_bzip2(in, error);
    if (status) return status;
  }
  if (in->compression && !(in->state = in->compression->open())) return cq_fail_memory(error, in->path);
  return CQ_OK;
}

cq_status cq_input_refuse_archive(cq_input *in, cq_error *error) {
  if (!begins_with(in, archive, sizeof archive - 1)) return CQ_OK;
  return cq_fail_file(error, CQ_ERR_FORMAT, in->path,
                      "is compressed with zip; calque reads gzip, bzip2, xz, Zstandard and plain text: decompress it "
                      "first (unzip)");
}

static cq_status open_input_file(cq_input *in, const char *path, cq_error *error) {
  struct stat info;
  if (!strcmp(path, "-")) {
    in->fd = STDIN_FILENO;
    return CQ_OK;
  }
  in->fd = open(path, O_RDONLY | O_CLOEXEC);
  if (in->fd < 0) return cq_fail_errno(error, path, "cannot open");
  if (fstat(in->fd, &info) != 0) return cq_fail_errno(error, path, "cannot stat");
  if (S_ISDIR(info.st_mode)) return cq_fail_file(error, CQ_ERR_IO, path, "is a directory, expected a file");
  return CQ_OK;
}

cq_status cq_input_open(cq_input **out, const char *path, cq_error *error) {
  cq_status status = cq_input_open_any(out, path, error);
  if (!status && (status = cq_input_refuse_archive(*out, error))) {
    cq_input_close(*out);
    *out = NULL;
  }
  return status;
}

cq_status cq_input_open_any(cq_input **out, const char *path, cq_error *error) {
  *out = NULL;
  cq_input *in = cq_alloc_zeroed(sizeof *in);
  if (!in) return cq_fail_memory(error, path);
  in->fd = -1;
  in->path = cq_strdup(strcmp(path, "-") != 0 ? path : "<stdin>");
  in->raw = cq_alloc(RAW_BYTES);
  cq_status status = in->path && in->raw ? CQ_OK : cq_fail_memory(error, path);
  if (!status) status = open_input_file(in, path, error);
  if (!status) status = detect_compression(in, error);
  if (status)
    cq_input_close(in);
  else
    *out = in;
  return status;
}

void cq_input_close(cq_input *in) {
  if (!in) return;
  if (in->compression) in->compression->close(in->state);
  if (in->fd >= 0 && in->fd != STDIN_FILENO) close(in->fd);
  cq_free(in->peeked);
  cq_free(in->raw);
  cq_free(in->path);
  cq_free(in);
}

const char *cq_input_compression(const cq_input *in) {
  return in->compression ? in->compression->name : NULL;
}

const char *cq_input_path(const cq_input *in) {
  return in->path;
}

/* ---- reading ---- */

static cq_status refill_raw(cq_input *in, cq_error *error) {
  in->raw_start += in->raw_end;
  in->raw_begin = in->raw_end = 0;
  return read_some(&in->raw_end, in, in->raw, RAW_BYTES, error);
}

/* Decompresses until there is output or the file ends. */
static cq_status decompress_some(size_t *got, cq_input *in, void *bytes, size_t n, cq_error *error) {
  while (*got == 0 && !in->over) {
    if (in->raw_begin == in->raw_end && !in->raw_over) {
      const cq_status status = refill_raw(in, error);
      if (status) return status;
    }
    cq_decompress_step step = {.in = in->raw + in->raw_begin,
                               .n_in = in->raw_end - in->raw_begin,
                               .out = bytes,
                               .n_out = n,
                               .is_last = in->raw_over && in->raw_begin == in->raw_end};
    const cq_decompressed code = in->compression->step(in->state, &step);
    in->raw_begin = in->raw_end - step.n_in;
    *got = n - step.n_out;
    switch (code) {
    case CQ_DECOMPRESS_MORE: break;
    case CQ_DECOMPRESS_END: in->over = true; break;
    case CQ_DECOMPRESS_MEMORY: return cq_fail_memory(error, in->path);
    case CQ_DECOMPRESS_BROKEN:
      return cq_fail_byte(error, CQ_ERR_FORMAT, in->path, in->raw_start + in->raw_begin, "broken %s stream: %s",
                          in->compression->name, step.why);
    }
  }
  return CQ_OK;
}

/* The bytes already read to detect compression come first. */
static cq_status read_plain(size_t *got, cq_input *in, void *bytes, size_t n, cq_error *error) {
  if (in->raw_begin < in->raw_end) {
    *got = cq_min(n, in->raw_end - in->raw_begin);
    memcpy(bytes, in->raw + in->raw_begin, *got);
    in->raw_begin += *got;
    return CQ_OK;
  }
  const cq_status status = in->raw_over ? CQ_OK : read_some(got, in, bytes, n, error);
  in->over = *got == 0;
  return status;
}

static cq_status read_on(size_t *got, cq_input *in, void *bytes, size_t n, cq_error *error) {
  *got = 0;
  if (in->over || n == 0) return CQ_OK;
  const cq_status status =
      in->compression ? decompress_some(got, in, bytes, n, error) : read_plain(got, in, bytes, n, error);
  if (status) in->over = true;
  return status;
}

static cq_status fail_again(const cq_input *in, cq_error *error) {
  if (error) *error = in->failure;
  return in->failure.status;
}

cq_status cq_input_peek(cq_slice *out, cq_input *in, cq_error *error) {
  cq_status status = in->failure.status;
  if (!in->peeked && !(in->peeked = cq_alloc(CQ_PEEK))) return cq_fail_memory(error, in->path);
  if (in->peek_begin == in->peek_end) in->peek_begin = in->peek_end = 0;
  for (size_t got = 1; !status && got && in->peek_end < CQ_PEEK; in->peek_end += got)
    status = read_on(&got, in, in->peeked + in->peek_end, CQ_PEEK - in->peek_end, &in->failure);
  *out = (cq_slice){in->peeked + in->peek_begin, in->peek_end - in->peek_begin};
  return out->n == 0 ? fail_again(in, error) : CQ_OK;
}

cq_status cq_input_read(size_t *got, cq_input *in, void *bytes, size_t n, cq_error *error) {
  *got = 0;
  if (in->peek_begin == in->peek_end && in->failure.status) return fail_again(in, error);
  if (in->peek_begin == in->peek_end) return read_on(got, in, bytes, n, error);
  *got = cq_min(n, in->peek_end - in->peek_begin);
  memcpy(bytes, in->peeked + in->peek_begin, *got);
  in->peek_begin += *got;
  return CQ_OK;
}

static cq_status read_input(size_t *got, void *input, void *bytes, size_t n, cq_error *error) {
  return cq_input_read(got, input, bytes, n, error);
}

static void close_input(void *input) {
  cq_input_close(input);
}

cq_byte_source cq_input_source(cq_input *input) {
  return (cq_byte_source){read_input, close_input, input->path, input};
}

size_t cq_compression_ending(const char *path) {
  static const char *const endings[] = {".gz", ".xz", ".zst", ".bz2"};
  const size_t n = strlen(path);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    const size_t m = strlen(endings[i]);
    if (n > m && !strncasecmp(path + n - m, endings[i], m)) return m;
  }
  return 0;
}
