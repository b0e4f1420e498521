/* Decodes the parts of Thrift's compact protocol that Parquet uses. See thrift.h. */
#include "format/thrift.h"

enum { T_STOP, T_TRUE, T_FALSE, T_I8, T_I16, T_I32, T_I64, T_DOUBLE, T_BINARY, T_LIST, T_SET, T_MAP, T_STRUCT };
enum { MAX_DEPTH = 32 };

static void fail_thrift(cq_thrift *t, const char *why) {
  if (t->why) return;
  t->why = why;
  t->at = t->p;
  t->p = t->end;
}

static unsigned read_byte(cq_thrift *t) {
  if (t->p < t->end) return *t->p++;
  fail_thrift(t, "truncated");
  return 0;
}

static uint64_t read_varint(cq_thrift *t) {
  uint64_t x = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const unsigned byte = read_byte(t);
    x |= (uint64_t)(byte & 0x7F) << shift;
    if (byte < 0x80) return t->why ? 0 : x;
  }
  fail_thrift(t, "a number of more than 64 bits");
  return 0;
}

static int64_t read_zigzag(cq_thrift *t) {
  const uint64_t x = read_varint(t);
  return (int64_t)(x >> 1 ^ (~(x & 1) + 1));
}

static void pass(cq_thrift *t, uint64_t n) {
  if (n > (uint64_t)(t->end - t->p))
    fail_thrift(t, "truncated");
  else
    t->p += n;
}

bool cq_thrift_next(cq_thrift_field *field, cq_thrift *t) {
  const unsigned byte = read_byte(t);
  if (t->why || byte == T_STOP) return false;
  const int64_t id = byte >> 4 ? field->id + (int64_t)(byte >> 4) : read_zigzag(t);
  if (id < -32768 || id > 32767) fail_thrift(t, "a field's number is out of range");
  *field = (cq_thrift_field){(int)id, (int)(byte & 15)};
  return !t->why;
}

static bool has_type(cq_thrift *t, bool ok) {
  if (!ok) fail_thrift(t, "a field has another type than expected");
  return ok;
}

int64_t cq_thrift_number(cq_thrift *t, cq_thrift_field field) {
  if (!has_type(t, field.type >= T_I8 && field.type <= T_I64)) return 0;
  return field.type == T_I8 ? (int8_t)read_byte(t) : read_zigzag(t);
}

int32_t cq_thrift_number32(cq_thrift *t, cq_thrift_field field) {
  const int64_t x = cq_thrift_number(t, field);
  if (x == (int32_t)x) return (int32_t)x;
  fail_thrift(t, "a number of more than 32 bits");
  return 0;
}

bool cq_thrift_boolean(cq_thrift *t, cq_thrift_field field) {
  return has_type(t, field.type == T_TRUE || field.type == T_FALSE) && field.type == T_TRUE;
}

cq_slice cq_thrift_bytes(cq_thrift *t, cq_thrift_field field) {
  if (!has_type(t, field.type == T_BINARY)) return (cq_slice){"", 0};
  const uint64_t n = read_varint(t);
  const unsigned char *bytes = t->p;
  pass(t, n);
  return t->why ? (cq_slice){"", 0} : (cq_slice){(const char *)bytes, (size_t)n};
}

bool cq_thrift_struct(cq_thrift *t, cq_thrift_field field) {
  return has_type(t, field.type == T_STRUCT);
}

static uint64_t read_list(int *type, cq_thrift *t) {
  const unsigned byte = read_byte(t);
  *type = (int)(byte & 15);
  return byte >> 4 == 15 ? read_varint(t) : byte >> 4;
}

size_t cq_thrift_structs(cq_thrift *t, cq_thrift_field field) {
  int type = T_STRUCT;
  const uint64_t n = has_type(t, field.type == T_LIST) ? read_list(&type, t) : 0;
  if (n > 0) has_type(t, type == T_STRUCT);
  if (n > (uint64_t)(t->end - t->p)) fail_thrift(t, "a list of more elements than bytes");
  return t->why ? 0 : (size_t)n;
}

static void skip_value(cq_thrift *t, int type, bool is_in_field, int depth);

static void skip_elements(cq_thrift *t, uint64_t n, const int types[2], int n_types, int depth) {
  for (; n > 0 && !t->why; n--)
    for (int i = 0; i < n_types; i++) skip_value(t, types[i], false, depth);
}

/* Every element has at least one byte, so a list with a false length stops at the end of the bytes. */
static void skip_value(cq_thrift *t, int type, bool is_in_field, int depth) {
  cq_thrift_field field = {0};
  int types[2] = {type, 0};
  uint64_t n;
  if (depth > MAX_DEPTH) {
    fail_thrift(t, "nested too deeply");
    return;
  }
  switch (type) {
  case T_TRUE:
  case T_FALSE: pass(t, !is_in_field); return;
  case T_I8: pass(t, 1); return;
  case T_I16:
  case T_I32:
  case T_I64: read_varint(t); return;
  case T_DOUBLE: pass(t, 8); return;
  case T_BINARY: pass(t, read_varint(t)); return;
  case T_LIST:
  case T_SET:
    n = read_list(types, t);
    skip_elements(t, n, types, 1, depth + 1);
    return;
  case T_MAP:
    n = read_varint(t);
    if (n == 0) return;
    types[0] = (int)read_byte(t);
    types[1] = types[0] & 15, types[0] >>= 4;
    skip_elements(t, n, types, 2, depth + 1);
    return;
  case T_STRUCT:
    while (cq_thrift_next(&field, t)) skip_value(t, field.type, true, depth + 1);
    return;
  default: fail_thrift(t, "a value of unknown type");
  }
}

void cq_thrift_skip(cq_thrift *t, cq_thrift_field field) {
  skip_value(t, field.type, true, 0);
}
