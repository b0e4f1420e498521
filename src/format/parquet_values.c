/* Values of a page in any encoding, converted to PLAIN:
 *
 *   booleans a bit, the lowest first; numbers 4 or 8 bytes, little-endian; byte arrays a length of 4 bytes, bytes
 *
 *   RLE_DICTIONARY            width in bits (1 byte), runs of indices into the dictionary
 *   RLE                       booleans: length (4 bytes), runs of width 1
 *   DELTA_BINARY_PACKED       integers: parquet_delta.h
 *   DELTA_LENGTH_BYTE_ARRAY   byte arrays: their lengths as DELTA_BINARY_PACKED, then all bytes
 *   DELTA_BYTE_ARRAY          lengths of prefixes shared with the previous value, then suffixes, encoded as above
 *   BYTE_STREAM_SPLIT         numbers: all their first bytes, all their second bytes, ... */
#include "base/error.h"
#include "base/memory.h"
#include "format/parquet_parts.h"

#include <stdarg.h>
#include <stdio.h>

cq_status cq_parquet_fail(const cq_parquet_cursor *c, cq_status status, cq_error *error, const char *format, ...) {
  char text[300];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  const uint64_t byte = c->page ? (uint64_t)(c->page - c->file->mapping.data) : c->file->end;
  return cq_fail_byte(error, status, c->file->path, byte, "column '%.80s', row group %zu, row %llu: %s",
                      c->leaf->about.name, c->group, (unsigned long long)c->row, text);
}

/* The size of a value in bytes; 0: the value has a length prefix, or takes less than a byte. */
static size_t type_size(cq_parquet_type type) {
  static const size_t sizes[CQ_PARQUET_TYPES] = {
      [CQ_PARQUET_INT32] = 4, [CQ_PARQUET_INT64] = 8, [CQ_PARQUET_FLOAT] = 4, [CQ_PARQUET_DOUBLE] = 8};
  return sizes[type];
}

static cq_status fail_values(const cq_parquet_cursor *c, cq_error *error) {
  return cq_parquet_fail(c, CQ_ERR_FORMAT, error, "the page ends before its values");
}

static cq_status fail_memory(const cq_parquet_cursor *c, cq_error *error) {
  return cq_parquet_fail(c, CQ_ERR_MEMORY, error, "out of memory");
}

/* The next PLAIN value of a type that takes whole bytes; false: truncated. */
static inline bool next_plain(cq_slice *out, const unsigned char **p, const unsigned char *end, size_t size) {
  size_t left = (size_t)(end - *p), n = size;
  if (size == 0) {
    if (left < 4) return false;
    n = cq_parquet_u32(*p);
    *p += 4, left -= 4;
  }
  if (left < n) return false;
  *out = (cq_slice){(const char *)*p, n};
  *p += n;
  return true;
}

/* Writers give up a dictionary long before this size; here, empty values take four times their size in the file. */
enum { MAX_DICTIONARY = 1 << 24 };

/* A value has at least 4 bytes, which limits the number of values; booleans have no dictionary. */
cq_status cq_parquet_take_dictionary(cq_parquet_cursor *c, size_t n_values, const unsigned char *bytes, size_t n,
                                     cq_error *error) {
  const unsigned char *p = bytes, *end = bytes + n;
  const size_t size = type_size(c->leaf->type);
  if (n_values > MAX_DICTIONARY)
    return cq_parquet_fail(c, CQ_ERR_LIMIT, error, "a dictionary of %zu values, at most %d are read", n_values,
                           MAX_DICTIONARY);
  if (c->leaf->type == CQ_PARQUET_BIT || n_values > n / 4)
    return cq_parquet_fail(c, CQ_ERR_FORMAT, error, "a dictionary of %zu values in %zu bytes", n_values, n);
  if (!cq_reserve((void **)&c->dictionary, &c->dictionary_capacity, n_values + 1, sizeof *c->dictionary))
    return fail_memory(c, error);
  for (; c->n_dictionary < n_values; c->n_dictionary++)
    if (!next_plain(&c->dictionary[c->n_dictionary], &p, end, size)) return fail_values(c, error);
  return CQ_OK;
}

static cq_status start_dictionary_places(cq_parquet_cursor *c, size_t n, cq_error *error) {
  if (!c->has_dictionary)
    return cq_parquet_fail(c, CQ_ERR_FORMAT, error, "a page refers to a dictionary that is not there");
  const unsigned width = n > 0 ? c->value[0] : 0;
  if (width > 32) return cq_parquet_fail(c, CQ_ERR_FORMAT, error, "indices of %u bits", width);
  cq_runs_start(&c->indices, c->value + (n > 0), n > 0 ? n - 1 : 0, width);
  return CQ_OK;
}

static cq_status start_runs_of_bits(cq_parquet_cursor *c, size_t n, cq_error *error) {
  const size_t length = n >= 4 ? cq_parquet_u32(c->value) : 0;
  if (n > 0 && (n < 4 || length > n - 4)) return fail_values(c, error);
  cq_runs_start(&c->indices, c->value + (n > 0 ? 4 : 0), length, 1);
  return CQ_OK;
}

/* Moves c->value to the bytes after the lengths. */
static bool start_lengths(cq_delta *d, cq_parquet_cursor *c) {
  const unsigned char *after = cq_delta_start(d, c->value, (size_t)(c->values_end - c->value)) ? cq_delta_end(d) : NULL;
  if (after) c->value = after;
  return after;
}

cq_status cq_parquet_values_start(cq_parquet_cursor *c, int32_t encoding, const unsigned char *bytes, size_t n,
                                  cq_error *error) {
  const bool is_text = c->leaf->type == CQ_PARQUET_BYTES, is_bit = c->leaf->type == CQ_PARQUET_BIT;
  const size_t size = type_size(c->leaf->type);
  const bool is_whole = c->leaf->type == CQ_PARQUET_INT32 || c->leaf->type == CQ_PARQUET_INT64;
  bool ok = true;
  c->encoding = (cq_parquet_encoding)encoding;
  c->value = bytes, c->values_end = bytes + n;
  c->bit = 0;
  switch (encoding) {
  case CQ_PARQUET_PLAIN: return CQ_OK;
  case CQ_PARQUET_PLAIN_DICTIONARY:
  case CQ_PARQUET_RLE_DICTIONARY: return start_dictionary_places(c, n, error);
  case CQ_PARQUET_RLE:
    if (is_bit) return start_runs_of_bits(c, n, error);
    break;
  case CQ_PARQUET_DELTA_BINARY_PACKED:
    if (!is_whole) break;
    if (n > 0) ok = cq_delta_start(&c->lengths, bytes, n);
    return ok ? CQ_OK : fail_values(c, error);
  case CQ_PARQUET_DELTA_BYTE_ARRAY:
    if (!is_text) break;
    ok = n == 0 || (start_lengths(&c->prefixes, c) && start_lengths(&c->lengths, c));
    cq_builder_clear(&c->text);
    return ok ? CQ_OK : fail_values(c, error);
  case CQ_PARQUET_DELTA_LENGTH_BYTE_ARRAY:
    if (!is_text) break;
    ok = n == 0 || start_lengths(&c->lengths, c);
    return ok ? CQ_OK : fail_values(c, error);
  case CQ_PARQUET_BYTE_STREAM_SPLIT:
    if (size == 0) break;
    c->n_streams = n / size, c->at = 0;
    return CQ_OK;
  default: break;
  }
  return cq_parquet_fail(c, CQ_ERR_UNSUPPORTED, error, "a page of encoding %d for this type of column", (int)encoding);
}

static cq_slice plain_number(cq_parquet_cursor *c, uint64_t x, size_t size) {
  for (size_t i = 0; i < size; i++) c->plain[i] = (unsigned char)(x >> 8 * i);
  return (cq_slice){(const char *)c->plain, size};
}

/* Bytes of a length that DELTA says. */
static bool next_of_length(cq_slice *out, cq_parquet_cursor *c) {
  int64_t n;
  if (!cq_delta_next(&n, &c->lengths) || n < 0 || n > c->values_end - c->value) return false;
  *out = (cq_slice){(const char *)c->value, (size_t)n};
  c->value += n;
  return true;
}

static cq_status next_with_prefix(cq_slice *out, cq_parquet_cursor *c, cq_error *error) {
  int64_t n;
  cq_slice rest;
  if (!cq_delta_next(&n, &c->prefixes) || n < 0 || (uint64_t)n > c->text.n || !next_of_length(&rest, c))
    return fail_values(c, error);
  c->text.n = (size_t)n;
  cq_builder_bytes(&c->text, rest.data, rest.n);
  if (c->text.failed) return fail_memory(c, error);
  *out = (cq_slice){c->text.n ? c->text.data : "", c->text.n};
  return CQ_OK;
}

static bool next_bit(uint32_t *out, cq_parquet_cursor *c) {
  if (c->value == c->values_end) return false;
  *out = *c->value >> c->bit & 1;
  c->bit = (c->bit + 1) % 8;
  c->value += c->bit == 0;
  return true;
}

/* A byte of each stream. */
static bool next_of_streams(cq_slice *out, cq_parquet_cursor *c, size_t size) {
  if (c->at == c->n_streams) return false;
  for (size_t i = 0; i < size; i++) c->plain[i] = c->value[i * c->n_streams + c->at];
  c->at++;
  *out = (cq_slice){(const char *)c->plain, size};
  return true;
}

cq_status cq_parquet_value_next(cq_slice *out, cq_parquet_cursor *c, cq_error *error) {
  const size_t size = type_size(c->leaf->type);
  uint32_t x = 0;
  int64_t number = 0;
  bool ok;
  switch (c->encoding) {
  case CQ_PARQUET_PLAIN_DICTIONARY:
  case CQ_PARQUET_RLE_DICTIONARY:
    if (!cq_runs_next(&x, &c->indices)) return fail_values(c, error);
    if (x >= c->n_dictionary)
      return cq_parquet_fail(c, CQ_ERR_FORMAT, error, "place %u of a dictionary of %zu", (unsigned)x, c->n_dictionary);
    *out = c->dictionary[x];
    return CQ_OK;
  case CQ_PARQUET_RLE:
    ok = cq_runs_next(&x, &c->indices);
    *out = plain_number(c, x, 1);
    break;
  case CQ_PARQUET_DELTA_BINARY_PACKED:
    ok = cq_delta_next(&number, &c->lengths);
    *out = plain_number(c, (uint64_t)number, size);
    break;
  case CQ_PARQUET_DELTA_LENGTH_BYTE_ARRAY: ok = next_of_length(out, c); break;
  case CQ_PARQUET_DELTA_BYTE_ARRAY: return next_with_prefix(out, c, error);
  case CQ_PARQUET_BYTE_STREAM_SPLIT: ok = next_of_streams(out, c, size); break;
  default:
    if (c->leaf->type == CQ_PARQUET_BIT) {
      ok = next_bit(&x, c);
      *out = plain_number(c, x, 1);
    } else {
      ok = next_plain(out, &c->value, c->values_end, size);
    }
  }
  return ok ? CQ_OK : fail_values(c, error);
}
