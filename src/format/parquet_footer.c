/* The footer, parquet.thrift's FileMetaData. The schema is a list of its nodes, each before its children:
 *
 *   schema (2)  >  translation (2), may be null  >  en: bytes, UTF-8      the leaf "translation.en"
 *                                                >  de: bytes, UTF-8
 *
 * Each row group has a chunk for each leaf, in their order. */
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "format/parquet_parts.h"
#include "format/thrift.h"

enum { MAX_DEPTH = 32, TAIL = 8 };
enum { REQUIRED, OPTIONAL, REPEATED };

/* ConvertedType, and the fields of the union LogicalType. */
enum {
  CONVERTED_UTF8 = 0,
  CONVERTED_MAP = 1,
  CONVERTED_ENUM = 4,
  CONVERTED_DECIMAL = 5,
  CONVERTED_TIMESTAMP_MICROS = 10,
  CONVERTED_UINT_8 = 11,
  CONVERTED_UINT_64 = 14,
  CONVERTED_JSON = 19,
  CONVERTED_BSON = 20
};
enum { LOGICAL_STRING = 1, LOGICAL_DECIMAL = 5, LOGICAL_TIMESTAMP = 8, LOGICAL_INTEGER = 10, LOGICAL_BSON = 13 };

typedef struct node {
  cq_slice name;
  int32_t type, repetition, n_children, converted, logical;
  bool is_unsigned;
} node;

typedef struct footer {
  cq_parquet *file;
  cq_thrift t;
  node *nodes;
  size_t n_nodes, next_node;
  size_t chunks_capacity, groups_capacity, leaves_capacity;
  int64_t n_rows;
} footer;

/* LogicalType: the union's member, and whether an integer is unsigned. */
static void read_logical(node *n, cq_thrift *t) {
  cq_thrift_field kind = {0};
  while (cq_thrift_next(&kind, t)) {
    n->logical = kind.id;
    if (kind.id != LOGICAL_INTEGER) {
      cq_thrift_skip(t, kind);
      continue;
    }
    cq_thrift_field f = {0};
    if (!cq_thrift_struct(t, kind)) return;
    while (cq_thrift_next(&f, t)) {
      if (f.id == 2)
        n->is_unsigned = !cq_thrift_boolean(t, f);
      else
        cq_thrift_skip(t, f);
    }
  }
}

static void read_node(node *n, cq_thrift *t) {
  *n = (node){.name = {"", 0}, .type = -1, .converted = -1};
  for (cq_thrift_field f = {0}; cq_thrift_next(&f, t);) {
    switch (f.id) {
    case 1: n->type = cq_thrift_number32(t, f); break;
    case 3: n->repetition = cq_thrift_number32(t, f); break;
    case 4: n->name = cq_thrift_bytes(t, f); break;
    case 5: n->n_children = cq_thrift_number32(t, f); break;
    case 6: n->converted = cq_thrift_number32(t, f); break;
    case 10:
      if (cq_thrift_struct(t, f)) read_logical(n, t);
      break;
    default: cq_thrift_skip(t, f);
    }
  }
  n->is_unsigned |= n->converted >= CONVERTED_UINT_8 && n->converted <= CONVERTED_UINT_64;
}

static void read_chunk_meta(cq_parquet_chunk *c, cq_thrift *t) {
  for (cq_thrift_field f = {0}; cq_thrift_next(&f, t);) {
    switch (f.id) {
    case 1: c->type = cq_thrift_number32(t, f); break;
    case 4: c->codec = cq_thrift_number32(t, f); break;
    case 5: c->n_values = cq_thrift_number(t, f); break;
    case 7: c->n_bytes = cq_thrift_number(t, f); break;
    case 9: c->data_at = cq_thrift_number(t, f); break;
    case 11: c->dictionary_at = cq_thrift_number(t, f); break;
    default: cq_thrift_skip(t, f);
    }
  }
}

static void read_chunk(cq_parquet_chunk *c, cq_thrift *t) {
  *c = (cq_parquet_chunk){.type = -1};
  for (cq_thrift_field f = {0}; cq_thrift_next(&f, t);) {
    if (f.id == 3 && cq_thrift_struct(t, f)) {
      read_chunk_meta(c, t);
      continue;
    }
    c->is_elsewhere |= f.id == 1;
    c->is_encrypted |= f.id == 8 || f.id == 9;
    cq_thrift_skip(t, f);
  }
}

static cq_status fail_footer(const footer *f, const unsigned char *at, cq_error *error, const char *why) {
  return cq_fail_byte(error, CQ_ERR_FORMAT, f->file->path, (uint64_t)(at - f->file->mapping.data), "footer: %s", why);
}

/* --- the schema --- */

static cq_status read_nodes(footer *f, cq_thrift_field field, cq_error *error) {
  const size_t n = cq_thrift_structs(&f->t, field);
  if (f->nodes) return fail_footer(f, f->t.p, error, "a second schema");
  f->nodes = cq_alloc_array(n + 1, sizeof *f->nodes);
  if (!f->nodes) return cq_fail_memory(error, f->file->path);
  for (; f->n_nodes < n && !f->t.why; f->n_nodes++) read_node(&f->nodes[f->n_nodes], &f->t);
  return CQ_OK;
}

/* Describes the type of an unsupported leaf; NULL: it is supported. See cq_parquet_column. */
static const char *what_is_not_read(const node *n, bool is_repeated) {
  if (is_repeated) return "a list or map (REPEATED)";
  switch (n->type) {
  case CQ_PARQUET_INT96: return "a time stamp of 96 bits (INT96)";
  case CQ_PARQUET_FIXED_BYTES: return "binary numbers (FIXED_LEN_BYTE_ARRAY)";
  default: break;
  }
  if (n->converted == CONVERTED_BSON || n->logical == LOGICAL_BSON) return "BSON";
  if (n->converted == CONVERTED_DECIMAL || n->logical == LOGICAL_DECIMAL) return "a decimal number";
  if ((n->converted > CONVERTED_DECIMAL && n->converted <= CONVERTED_TIMESTAMP_MICROS) ||
      (n->logical > LOGICAL_DECIMAL && n->logical <= LOGICAL_TIMESTAMP))
    return "a date or time";
  return NULL;
}

static cq_parquet_kind kind_of(cq_parquet_type type) {
  static const cq_parquet_kind kinds[CQ_PARQUET_TYPES] = {
      [CQ_PARQUET_BIT] = CQ_PARQUET_BOOLEAN,   [CQ_PARQUET_INT32] = CQ_PARQUET_INTEGER,
      [CQ_PARQUET_INT64] = CQ_PARQUET_INTEGER, [CQ_PARQUET_FLOAT] = CQ_PARQUET_REAL,
      [CQ_PARQUET_DOUBLE] = CQ_PARQUET_REAL,   [CQ_PARQUET_BYTES] = CQ_PARQUET_TEXT};
  return kinds[type];
}

static cq_status add_leaf(footer *f, const node *n, const cq_builder *path, bool is_repeated, uint32_t level,
                          cq_error *error) {
  cq_parquet *file = f->file;
  if (n->type < 0 || n->type >= CQ_PARQUET_TYPES)
    return cq_fail_byte(error, CQ_ERR_FORMAT, file->path, file->end, "footer: column '%.80s' is of unknown type %d",
                        path->data, (int)n->type);
  const char *what = what_is_not_read(n, is_repeated);
  char *name = cq_arena_strndup(&file->arena, path->data, path->n);
  if (!name || !cq_reserve((void **)&file->leaves, &f->leaves_capacity, file->n_leaves + 1, sizeof *file->leaves))
    return cq_fail_memory(error, file->path);
  file->leaves[file->n_leaves++] = (cq_parquet_leaf){
      .about = {.name = name, .kind = what ? CQ_PARQUET_OTHER : kind_of((cq_parquet_type)n->type), .what = what},
      .type = (cq_parquet_type)n->type,
      .is_unsigned = n->is_unsigned,
      .max_level = level};
  return CQ_OK;
}

/* A node and all below it. */
static cq_status walk_schema(footer *f, cq_builder *path, bool is_repeated, uint32_t level, int depth,
                             cq_error *error) {
  const node *n = f->next_node < f->n_nodes ? &f->nodes[f->next_node++] : NULL;
  const unsigned char *at = f->file->mapping.data + f->file->end;
  if (!n) return fail_footer(f, at, error, "the schema has fewer nodes than it says");
  if (depth > MAX_DEPTH) return fail_footer(f, at, error, "the schema is nested too deeply");
  if (n->n_children < 0 || n->repetition < REQUIRED || n->repetition > REPEATED)
    return fail_footer(f, at, error, "a node of the schema is malformed");
  if (cq_utf8_invalid_at(n->name.data, n->name.n) < n->name.n || memchr(n->name.data, '\0', n->name.n))
    return fail_footer(f, at, error, "a column's name is not UTF-8");
  const size_t before = path->n;
  if (depth > 0) { /* the root has no part in paths */
    if (depth > 1) cq_builder_char(path, '.');
    cq_builder_bytes(path, n->name.data, n->name.n);
    if (path->failed) return cq_fail_memory(error, f->file->path);
    is_repeated |= n->repetition == REPEATED;
    level += n->repetition == OPTIONAL;
  }
  cq_status status = CQ_OK;
  if (n->n_children == 0 && depth > 0)
    status = add_leaf(f, n, path, is_repeated, level, error);
  else
    for (int32_t i = 0; !status && i < n->n_children; i++)
      status = walk_schema(f, path, is_repeated, level, depth + 1, error);
  path->n = before;
  return status;
}

static cq_status find_leaves(footer *f, cq_error *error) {
  cq_builder path = {0};
  cq_status status = walk_schema(f, &path, false, 0, 0, error);
  if (!status && f->next_node < f->n_nodes)
    status = fail_footer(f, f->file->mapping.data + f->file->end, error, "the schema has more nodes than it says");
  cq_builder_free(&path);
  return status;
}

/* --- row groups --- */

static cq_status read_chunks(footer *f, cq_thrift_field field, cq_error *error) {
  cq_parquet *file = f->file;
  const unsigned char *at = f->t.p;
  const size_t n = cq_thrift_structs(&f->t, field), first = file->n_groups * file->n_leaves;
  if (!f->t.why && n != file->n_leaves)
    return cq_fail_byte(error, CQ_ERR_FORMAT, file->path, (uint64_t)(at - file->mapping.data),
                        "footer: row group %zu has %zu columns, the schema %zu", file->n_groups, n, file->n_leaves);
  if (!cq_reserve((void **)&file->chunks, &f->chunks_capacity, first + n + 1, sizeof *file->chunks))
    return cq_fail_memory(error, file->path);
  for (size_t i = 0; i < n && !f->t.why; i++) read_chunk(&file->chunks[first + i], &f->t);
  return CQ_OK;
}

static cq_status read_group(footer *f, cq_error *error) {
  cq_parquet *file = f->file;
  const unsigned char *at = f->t.p;
  int64_t n_rows = -1;
  bool has_chunks = false;
  cq_status status = CQ_OK;
  for (cq_thrift_field field = {0}; !status && cq_thrift_next(&field, &f->t);) {
    if (field.id == 1 && !has_chunks) {
      has_chunks = true;
      status = read_chunks(f, field, error);
    } else if (field.id == 3) {
      n_rows = cq_thrift_number(&f->t, field);
    } else {
      cq_thrift_skip(&f->t, field);
    }
  }
  if (status || f->t.why) return status;
  if (!has_chunks || n_rows < 0 || (uint64_t)n_rows > INT64_MAX - file->n_rows)
    return fail_footer(f, at, error, "a row group lacks columns or its number of rows");
  if (!cq_reserve((void **)&file->group_rows, &f->groups_capacity, file->n_groups + 1, sizeof *file->group_rows))
    return cq_fail_memory(error, file->path);
  file->group_rows[file->n_groups++] = n_rows;
  file->n_rows += (uint64_t)n_rows;
  return CQ_OK;
}

static cq_status read_groups(footer *f, cq_thrift_field field, cq_error *error) {
  const unsigned char *at = f->t.p;
  const size_t n = cq_thrift_structs(&f->t, field);
  if (f->t.why) return CQ_OK;
  if (!f->nodes || f->file->n_groups) return fail_footer(f, at, error, "row groups before the schema, or twice");
  cq_status status = find_leaves(f, error);
  for (size_t i = 0; !status && i < n && !f->t.why; i++) status = read_group(f, error);
  return status;
}

static cq_status read_metadata(footer *f, cq_error *error) {
  cq_status status = CQ_OK;
  bool has_groups = false;
  f->n_rows = -1;
  for (cq_thrift_field field = {0}; !status && cq_thrift_next(&field, &f->t);) {
    switch (field.id) {
    case 2: status = read_nodes(f, field, error); break;
    case 3: f->n_rows = cq_thrift_number(&f->t, field); break;
    case 4:
      has_groups = true;
      status = read_groups(f, field, error);
      break;
    case 8: return cq_fail_file(error, CQ_ERR_UNSUPPORTED, f->file->path, "the columns are encrypted");
    default: cq_thrift_skip(&f->t, field);
    }
  }
  if (status) return status;
  if (f->t.why) return fail_footer(f, f->t.at, error, f->t.why);
  if (!has_groups) return fail_footer(f, f->t.p, error, "no row groups");
  if (f->n_rows < 0 || (uint64_t)f->n_rows != f->file->n_rows)
    return cq_fail_byte(error, CQ_ERR_FORMAT, f->file->path, f->file->end,
                        "footer: %lld rows, the row groups have %llu", (long long)f->n_rows,
                        (unsigned long long)f->file->n_rows);
  return CQ_OK;
}

cq_status cq_parquet_read_footer(cq_parquet *file, cq_error *error) {
  const unsigned char *bytes = file->mapping.data;
  const size_t n = file->mapping.n;
  if (n >= 4 && !memcmp(bytes, "PARE", 4))
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, file->path, "the footer is encrypted");
  if (n < 4 + TAIL || memcmp(bytes, "PAR1", 4) != 0)
    return cq_fail_byte(error, CQ_ERR_FORMAT, file->path, 0, "not a Parquet file: no \"PAR1\" at its beginning");
  if (memcmp(bytes + n - 4, "PAR1", 4) != 0)
    return cq_fail_byte(error, CQ_ERR_FORMAT, file->path, n - 4, "truncated: no \"PAR1\" at the end");
  const size_t length = cq_parquet_u32(bytes + n - TAIL);
  if (length > n - 4 - TAIL)
    return cq_fail_byte(error, CQ_ERR_FORMAT, file->path, n - TAIL, "a footer of %zu bytes, the file has %zu before it",
                        length, n - 4 - TAIL);
  file->end = n - TAIL - length;
  footer f = {.file = file, .t = {.p = bytes + file->end, .end = bytes + n - TAIL}};
  const cq_status status = read_metadata(&f, error);
  cq_free(f.nodes);
  return status;
}
