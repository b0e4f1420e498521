/* An .npy file:
 *
 *    0   6  "\x93NUMPY"
 *    6   2  version: 1.0, 2.0 or 3.0
 *    8   .  n, bytes of header: 2 in version 1, 4 in later ones
 *    .   n  {'descr': '<f4', 'fortran_order': False, 'shape': (3, 384), }   a Python literal, spaces, newline
 *    .   .  the elements, row by row
 *
 * The writer leaves room for any row count in a header of 128 bytes and fills the count in at the end. */
#include "calque/npy.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are borrowed from a little-endian file");

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

static const struct {
  const char *descr;
  size_t size;
} types[] = {
    [CQ_NPY_F32] = {"<f4", 4}, [CQ_NPY_F64] = {"<f8", 8}, [CQ_NPY_F16] = {"<f2", 2},
    [CQ_NPY_I8] = {"|i1", 1},  [CQ_NPY_U8] = {"|u1", 1},
};
#define N_TYPES (sizeof types / sizeof *types)

/* ---- reading ---- */

struct cq_npy {
  cq_mapping mapping;
  char *path;
  cq_npy_type dtype;
  int64_t rows, columns;
  const void *data;
  void *aligned; /* a copy of the data if they are not aligned for their type in the file; else NULL */
};

/* A cursor over the header's literal. */
struct reader {
  const char *text;
  size_t at, end; /* offsets in the file */
  const char *path;
  cq_error *error;
};

static cq_status fail_expected(const struct reader *r, const char *what) {
  return cq_fail_byte(r->error, CQ_ERR_FORMAT, r->path, r->at, "expected %s in the header", what);
}

static void skip_spaces(struct reader *r) {
  while (r->at < r->end && strchr(" \t\n\r", r->text[r->at]) && r->text[r->at]) r->at++;
}

/* Takes a character if it comes next. */
static bool npy_take(struct reader *r, char c) {
  skip_spaces(r);
  if (r->at >= r->end || r->text[r->at] != c) return false;
  r->at++;
  return true;
}

static bool take_word(struct reader *r, const char *word) {
  size_t n = strlen(word);
  skip_spaces(r);
  if (r->end - r->at < n || memcmp(r->text + r->at, word, n) != 0) return false;
  r->at += n;
  return true;
}

static cq_status read_string(cq_slice *out, struct reader *r, const char *what) {
  skip_spaces(r);
  if (r->at >= r->end || (r->text[r->at] != '\'' && r->text[r->at] != '"')) return fail_expected(r, what);
  char quote = r->text[r->at];
  size_t begin = r->at + 1, end = begin;
  while (end < r->end && r->text[end] != quote) end++;
  if (end == r->end) return fail_expected(r, "the end of a string");
  *out = (cq_slice){r->text + begin, end - begin};
  r->at = end + 1;
  return CQ_OK;
}

static cq_status read_type(cq_npy *npy, struct reader *r) {
  cq_slice descr;
  skip_spaces(r);
  size_t at = r->at;
  if (at < r->end && r->text[at] == '[')
    return cq_fail_byte(r->error, CQ_ERR_UNSUPPORTED, r->path, at, "elements of several fields are not supported");
  cq_status status = read_string(&descr, r, "an element type");
  if (status) return status;
  for (size_t i = 0; i < N_TYPES; i++) {
    if (!cq_slice_equal(descr, cq_slice_of(types[i].descr))) continue;
    npy->dtype = (cq_npy_type)i;
    return CQ_OK;
  }
  return cq_fail_byte(r->error, CQ_ERR_UNSUPPORTED, r->path, at,
                      "elements of type '%.*s', supported are <f4, <f8, <f2, |i1 and |u1",
                      descr.n < 40 ? (int)descr.n : 40, descr.data);
}

static cq_status read_size(int64_t *out, struct reader *r) {
  skip_spaces(r);
  if (r->at >= r->end || r->text[r->at] < '0' || r->text[r->at] > '9') return fail_expected(r, "a size");
  int64_t n = 0;
  for (; r->at < r->end && r->text[r->at] >= '0' && r->text[r->at] <= '9'; r->at++) {
    if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, r->text[r->at] - '0', &n))
      return cq_fail_byte(r->error, CQ_ERR_FORMAT, r->path, r->at, "a size past 2^63");
  }
  if (r->at < r->end && r->text[r->at] == 'L') r->at++; /* Python 2 wrote its long integers so */
  *out = n;
  return CQ_OK;
}

static cq_status read_npy_shape(cq_npy *npy, struct reader *r) {
  skip_spaces(r);
  size_t at = r->at;
  int64_t sizes[2] = {0, 1};
  int n = 0;
  if (!npy_take(r, '(')) return fail_expected(r, "'('");
  while (!npy_take(r, ')')) {
    if (n == 2) return cq_fail_byte(r->error, CQ_ERR_UNSUPPORTED, r->path, at, "an array of more than two dimensions");
    cq_status status = read_size(&sizes[n], r);
    if (status) return status;
    n++;
    if (npy_take(r, ',')) continue;
    if (!npy_take(r, ')')) return fail_expected(r, "',' or ')'");
    break;
  }
  if (n == 0) return cq_fail_byte(r->error, CQ_ERR_UNSUPPORTED, r->path, at, "an array without dimensions");
  npy->rows = sizes[0];
  npy->columns = sizes[1];
  return CQ_OK;
}

static cq_status read_order(struct reader *r) {
  skip_spaces(r);
  size_t at = r->at;
  if (take_word(r, "False")) return CQ_OK;
  if (!take_word(r, "True")) return fail_expected(r, "True or False");
  return cq_fail_byte(r->error, CQ_ERR_UNSUPPORTED, r->path, at, "Fortran order (column by column)");
}

static cq_status read_literal(cq_npy *npy, struct reader *r) {
  enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
  unsigned seen = 0, which;
  if (!npy_take(r, '{')) return fail_expected(r, "'{'");
  while (!npy_take(r, '}')) {
    cq_slice key;
    skip_spaces(r);
    size_t at = r->at;
    cq_status status = read_string(&key, r, "a key or '}'");
    if (status) return status;
    if (!npy_take(r, ':')) return fail_expected(r, "':'");
    if (cq_slice_equal(key, cq_slice_of("descr"))) {
      which = DESCR;
      status = read_type(npy, r);
    } else if (cq_slice_equal(key, cq_slice_of("fortran_order"))) {
      which = ORDER;
      status = read_order(r);
    } else if (cq_slice_equal(key, cq_slice_of("shape"))) {
      which = SHAPE;
      status = read_npy_shape(npy, r);
    } else {
      return cq_fail_byte(r->error, CQ_ERR_FORMAT, r->path, at, "an unknown key in the header");
    }
    if (status) return status;
    if (seen & which) return cq_fail_byte(r->error, CQ_ERR_FORMAT, r->path, at, "a key stands twice in the header");
    seen |= which;
    if (npy_take(r, ',')) continue;
    if (!npy_take(r, '}')) return fail_expected(r, "',' or '}'");
    break;
  }
  if (seen != (DESCR | ORDER | SHAPE)) return fail_expected(r, "descr, fortran_order and shape");
  skip_spaces(r);
  return r->at == r->end ? CQ_OK : fail_expected(r, "only spaces after the last '}'");
}

static cq_status place_data(cq_npy *npy, size_t begin, cq_error *error) {
  size_t n_bytes, size = types[npy->dtype].size, there = npy->mapping.n - begin;
  if (!cq_checked_mul(&n_bytes, (size_t)npy->rows, (size_t)npy->columns) || !cq_checked_mul(&n_bytes, n_bytes, size))
    return cq_fail_byte(error, CQ_ERR_FORMAT, npy->path, begin, "a shape of more than 2^64 bytes");
  if (n_bytes != there)
    return cq_fail_byte(error, CQ_ERR_FORMAT, npy->path, n_bytes > there ? npy->mapping.n : begin + n_bytes,
                        "%" PRId64 " rows of %" PRId64 " columns have %zu bytes, the file has %zu after its header",
                        npy->rows, npy->columns, n_bytes, there);
  npy->data = npy->mapping.data + begin;
  if (begin % size == 0) return CQ_OK;
  npy->aligned = cq_alloc(n_bytes);
  if (!npy->aligned) return cq_fail_memory(error, npy->path);
  if (n_bytes) memcpy(npy->aligned, npy->data, n_bytes);
  npy->data = npy->aligned;
  return CQ_OK;
}

static cq_status read_npy_file(cq_npy *npy, cq_error *error) {
  const unsigned char *bytes = npy->mapping.data;
  size_t n = npy->mapping.n;
  if (n < sizeof magic || memcmp(bytes, magic, sizeof magic) != 0)
    return cq_fail_byte(error, CQ_ERR_FORMAT, npy->path, 0, "not an .npy file");
  if (n < 10) return cq_fail_byte(error, CQ_ERR_FORMAT, npy->path, n, "the file ends inside its header");
  if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
    return cq_fail_byte(error, CQ_ERR_UNSUPPORTED, npy->path, 6, ".npy version %d.%d, supported are 1.0 to 3.0",
                        bytes[6], bytes[7]);
  size_t header = bytes[6] == 1 ? 10 : 12, header_n = (size_t)bytes[8] | (size_t)bytes[9] << 8;
  if (n < header) return cq_fail_byte(error, CQ_ERR_FORMAT, npy->path, n, "the file ends inside its header");
  if (header == 12) header_n |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  if (header_n > n - header)
    return cq_fail_byte(error, CQ_ERR_FORMAT, npy->path, 8, "a header of %zu bytes, the file has %zu after its length",
                        header_n, n - header);
  struct reader r = {(const char *)bytes, header, header + header_n, npy->path, error};
  cq_status status = read_literal(npy, &r);
  return status ? status : place_data(npy, header + header_n, error);
}

cq_status cq_npy_open(cq_npy **out, const char *path, cq_error *error) {
  *out = NULL;
  cq_npy *npy = cq_alloc_zeroed(sizeof *npy);
  if (!npy) return cq_fail_memory(error, path);
  cq_status status = CQ_OK;
  npy->path = cq_strdup(path);
  if (!npy->path) status = cq_fail_memory(error, path);
  if (!status) status = cq_mapping_open(&npy->mapping, path, error);
  if (!status) status = read_npy_file(npy, error);
  if (status)
    cq_npy_close(npy);
  else
    *out = npy;
  return status;
}

void cq_npy_close(cq_npy *npy) {
  if (!npy) return;
  cq_mapping_close(&npy->mapping);
  cq_free(npy->aligned);
  cq_free(npy->path);
  cq_free(npy);
}

cq_npy_type cq_npy_dtype(const cq_npy *npy) {
  return npy->dtype;
}

int64_t cq_npy_rows(const cq_npy *npy) {
  return npy->rows;
}

int64_t cq_npy_columns(const cq_npy *npy) {
  return npy->columns;
}

const void *cq_npy_data(const cq_npy *npy) {
  return npy->data;
}

/* ---- writing ---- */

struct cq_npy_writer {
  cq_writer writer;
  cq_npy_type dtype;
  int64_t rows, columns;
};

void cq_npy_header(char out[CQ_NPY_HEADER_BYTES], cq_npy_type dtype, int64_t rows, int64_t columns) {
  memset(out, ' ', CQ_NPY_HEADER_BYTES);
  memcpy(out, magic, sizeof magic);
  out[6] = 1;
  out[7] = 0;
  out[8] = CQ_NPY_HEADER_BYTES - 10;
  out[9] = 0;
  /* Two numbers of at most 19 digits always fit. */
  int n = snprintf(out + 10, CQ_NPY_HEADER_BYTES - 10,
                   "{'descr': '%s', 'fortran_order': False, 'shape': (%" PRId64 ", %" PRId64 "), }", types[dtype].descr,
                   rows, columns);
  out[10 + n] = ' ';
  out[CQ_NPY_HEADER_BYTES - 1] = '\n';
}

static cq_status write_npy_header(cq_npy_writer *w, cq_error *error) {
  char text[CQ_NPY_HEADER_BYTES];
  cq_npy_header(text, w->dtype, w->rows, w->columns);
  return cq_writer_bytes(&w->writer, text, sizeof text, error);
}

cq_status cq_npy_writer_open(cq_npy_writer **out, const char *path, cq_npy_type dtype, int64_t columns,
                             cq_error *error) {
  *out = NULL;
  if (columns < 0)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, path, "%" PRId64 " columns, expected at least 0", columns);
  cq_npy_writer *w = cq_alloc_zeroed(sizeof *w);
  if (!w) return cq_fail_memory(error, path);
  w->dtype = dtype;
  w->columns = columns;
  cq_status status = cq_writer_open_output(&w->writer, path, error);
  if (!status) status = write_npy_header(w, error);
  if (status)
    cq_npy_writer_abort(w);
  else
    *out = w;
  return status;
}

cq_status cq_npy_writer_rows(cq_npy_writer *w, const void *rows, size_t n_rows, cq_error *error) {
  size_t n_bytes;
  if (!cq_checked_mul(&n_bytes, n_rows, (size_t)w->columns) || !cq_checked_mul(&n_bytes, n_bytes, types[w->dtype].size))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, w->writer.path, "%zu rows are more than memory holds", n_rows);
  cq_status status = cq_writer_bytes(&w->writer, rows, n_bytes, error);
  if (!status) w->rows += (int64_t)n_rows;
  return status;
}

cq_status cq_npy_writer_commit(cq_npy_writer *w, cq_error *error) {
  cq_status status = CQ_OK;
  if (fseek(w->writer.stream, 0, SEEK_SET) != 0) status = cq_fail_errno(error, w->writer.path, "cannot write");
  if (!status) status = write_npy_header(w, error);
  if (!status) status = cq_writer_commit(&w->writer, error);
  cq_npy_writer_abort(w);
  return status;
}

void cq_npy_writer_abort(cq_npy_writer *w) {
  if (!w) return;
  cq_writer_abort(&w->writer);
  cq_free(w);
}
