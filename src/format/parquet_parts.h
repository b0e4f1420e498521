/* Shared by the files of the Parquet reader. */
#ifndef FORMAT_PARQUET_PARTS_H
#define FORMAT_PARQUET_PARTS_H

#include "base/arena.h"
#include "base/compression.h"
#include "base/file.h"
#include "format/parquet.h"
#include "format/parquet_delta.h"
#include "format/parquet_runs.h"

/* --- the footer --- */

typedef enum cq_parquet_type {
  CQ_PARQUET_BIT,
  CQ_PARQUET_INT32,
  CQ_PARQUET_INT64,
  CQ_PARQUET_INT96,
  CQ_PARQUET_FLOAT,
  CQ_PARQUET_DOUBLE,
  CQ_PARQUET_BYTES,
  CQ_PARQUET_FIXED_BYTES,
  CQ_PARQUET_TYPES
} cq_parquet_type;

typedef struct cq_parquet_leaf {
  cq_parquet_column about;
  cq_parquet_type type;
  bool is_unsigned;
  uint32_t max_level; /* the number of path parts that may be null: the definition level of a present value */
} cq_parquet_leaf;

/* A column in a row group, as described by the footer; checked when it is read. */
typedef struct cq_parquet_chunk {
  int64_t data_at, dictionary_at; /* bytes in the file; dictionary_at 0: none */
  int64_t n_bytes, n_values;
  int32_t type, codec;
  bool is_elsewhere, is_encrypted;
} cq_parquet_chunk;

struct cq_parquet {
  char *path;
  cq_mapping mapping;
  size_t end; /* of the pages: the footer begins */
  cq_arena arena;
  cq_parquet_leaf *leaves;
  size_t n_leaves;
  cq_parquet_chunk *chunks; /* [n_groups * n_leaves] */
  int64_t *group_rows;      /* [n_groups] */
  size_t n_groups;
  uint64_t n_rows;
};

CQ_MUST_USE cq_status cq_parquet_read_footer(cq_parquet *file, cq_error *error);

/* --- a chunk as it is read: parquet_page.c --- */

typedef enum cq_parquet_encoding {
  CQ_PARQUET_PLAIN,
  CQ_PARQUET_PLAIN_DICTIONARY = 2,
  CQ_PARQUET_RLE,
  CQ_PARQUET_BIT_PACKED,
  CQ_PARQUET_DELTA_BINARY_PACKED,
  CQ_PARQUET_DELTA_LENGTH_BYTE_ARRAY,
  CQ_PARQUET_DELTA_BYTE_ARRAY,
  CQ_PARQUET_RLE_DICTIONARY,
  CQ_PARQUET_BYTE_STREAM_SPLIT
} cq_parquet_encoding;

typedef struct cq_parquet_buffer {
  unsigned char *bytes;
  size_t capacity;
} cq_parquet_buffer;

typedef struct cq_parquet_cursor {
  const cq_parquet *file;
  const cq_parquet_leaf *leaf;
  size_t group;
  uint64_t row;                        /* for messages, from 1 */
  const unsigned char *page, *p, *end; /* the current page's start; the data after it, to the chunk's end */
  int64_t n_behind, n_left;            /* values in later pages; left in the current one */
  int32_t codec;
  const cq_compression *compression;
  void *decompressor;
  cq_parquet_buffer unpacked, unpacked_dictionary;
  cq_slice *dictionary; /* [n_dictionary] PLAIN bytes */
  size_t n_dictionary, dictionary_capacity;
  bool has_dictionary;
  cq_runs levels;
  /* Values: parquet_values.c */
  cq_parquet_encoding encoding;
  const unsigned char *value, *values_end;
  unsigned bit;
  size_t n_streams, at; /* BYTE_STREAM_SPLIT: the length of a stream, and the position in each stream */
  cq_runs indices;
  cq_delta lengths, prefixes;
  cq_builder text;        /* DELTA_BYTE_ARRAY: the previous value */
  unsigned char plain[8]; /* a value that is not in the page in PLAIN form */
} cq_parquet_cursor;

/* "FILE: byte N: column 'x', row group 0, row 12: ..." */
CQ_MUST_USE cq_status cq_parquet_fail(const cq_parquet_cursor *c, cq_status status, cq_error *error, const char *format,
                                      ...) CQ_PRINTF(4, 5);

/* Moves to the chunk of row group c->group. */
CQ_MUST_USE cq_status cq_parquet_cursor_start(cq_parquet_cursor *c, cq_error *error);
/* The next value in PLAIN encoding, without the length of byte arrays; out->data NULL: null. */
CQ_MUST_USE cq_status cq_parquet_cursor_next(cq_slice *out, cq_parquet_cursor *c, cq_error *error);
void cq_parquet_cursor_close(cq_parquet_cursor *c);

/* --- values: parquet_values.c --- */

CQ_MUST_USE cq_status cq_parquet_values_start(cq_parquet_cursor *c, int32_t encoding, const unsigned char *bytes,
                                              size_t n, cq_error *error);
CQ_MUST_USE cq_status cq_parquet_value_next(cq_slice *out, cq_parquet_cursor *c, cq_error *error);
/* For a dictionary page. */
CQ_MUST_USE cq_status cq_parquet_take_dictionary(cq_parquet_cursor *c, size_t n_values, const unsigned char *bytes,
                                                 size_t n, cq_error *error);

static inline uint32_t cq_parquet_u32(const void *bytes) {
  const unsigned char *p = bytes;
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

#endif
