/* PostgreSQL's binary format: values big-endian, each with its length before it. */
#include "postgresql/postgresql.h"

#include <string.h>

void cq_pg_put_16(cq_builder *b, uint16_t value) {
  const char bytes[2] = {(char)(value >> 8), (char)value};
  cq_builder_bytes(b, bytes, sizeof bytes);
}

void cq_pg_put_32(cq_builder *b, uint32_t value) {
  const uint32_t big = __builtin_bswap32(value); /* calque is built for little-endian machines only */
  cq_builder_bytes(b, (const char *)&big, sizeof big);
}

void cq_pg_put_64(cq_builder *b, uint64_t value) {
  const uint64_t big = __builtin_bswap64(value);
  cq_builder_bytes(b, (const char *)&big, sizeof big);
}

/* One dimension, no nulls, indices from 1; an empty array has no dimensions. */
void cq_pg_put_array(cq_builder *b, uint32_t type, size_t n) {
  cq_pg_put_32(b, n ? 1 : 0);
  cq_pg_put_32(b, 0);
  cq_pg_put_32(b, type);
  if (n == 0) return;
  cq_pg_put_32(b, (uint32_t)n);
  cq_pg_put_32(b, 1);
}

void cq_pg_put_int8s(cq_builder *b, const int64_t *values, size_t n) {
  cq_pg_put_array(b, CQ_PG_INT8, n);
  for (size_t i = 0; i < n; i++) cq_pg_put_field_64(b, (uint64_t)values[i]);
}

void cq_pg_put_field(cq_builder *b, const void *bytes, size_t n) {
  cq_pg_put_32(b, (uint32_t)n);
  if (n) cq_builder_bytes(b, bytes, n);
}

void cq_pg_put_field_32(cq_builder *b, uint32_t value) {
  cq_pg_put_32(b, 4);
  cq_pg_put_32(b, value);
}

void cq_pg_put_field_64(cq_builder *b, uint64_t value) {
  cq_pg_put_32(b, 8);
  cq_pg_put_64(b, value);
}

uint16_t cq_pg_get_16(const void *at) {
  uint16_t big;
  memcpy(&big, at, sizeof big);
  return __builtin_bswap16(big);
}

uint32_t cq_pg_get_32(const void *at) {
  uint32_t big;
  memcpy(&big, at, sizeof big);
  return __builtin_bswap32(big);
}

uint64_t cq_pg_get_64(const void *at) {
  uint64_t big;
  memcpy(&big, at, sizeof big);
  return __builtin_bswap64(big);
}
