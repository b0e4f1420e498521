/* The file, all numbers little-endian, every part padded with zeros to a multiple of 64 bytes:
 *
 *    0   8  "CQSTATE\n"                       head
 *    8   8  version, 2
 *   16  48  zeros
 *
 *    0   8  n, bytes of data                  one record per section
 *    8   8  check of the data: XXH3, 64 bits
 *   16   8  bytes of the name, 1 to 255
 *   24   8  check of the name, seeded with the check of the 24 bytes before
 *   32   .  name, zeros, data, zeros
 *
 *    0   8  number of sections                the last record, at the end of the file
 *    8  16  zeros
 *   24   8  check of the 24 bytes before, in the same way
 *   32  32  zeros
 *
 * A record without a name is the last one, so a file truncated between two records is recognized. Every byte of the
 * file is covered by a check: any changed byte is an error. */
#include "cache/checkpoint.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/memory.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "sections are borrowed from a little-endian file");

#define VERSION  2 /* 1 had checks of another kind */
#define UNIT     ((size_t)64)
#define MAX_NAME ((size_t)255)

static const char magic[8] = {'C', 'Q', 'S', 'T', 'A', 'T', 'E', '\n'};
static const unsigned char zeros[UNIT];

struct record {
  uint64_t n, data_sum, name_n, sum;
};
_Static_assert(sizeof(struct record) == 32, "the record is written as it lies in memory");

struct head {
  char magic[8];
  uint64_t version;
  unsigned char zeros[48];
};
_Static_assert(sizeof(struct head) == UNIT, "the head is written as it lies in memory");

static uint64_t record_sum(const struct record *r, const char *name) {
  return cq_hash64(name, (size_t)r->name_n, cq_hash64(r, offsetof(struct record, sum), 0));
}

/* ---- writing ---- */

struct cq_checkpoint_writer {
  cq_writer writer;
  cq_map names;
  uint64_t n_sections;
};

cq_status cq_checkpoint_writer_open(cq_checkpoint_writer **out, const char *path, cq_error *error) {
  *out = NULL;
  cq_checkpoint_writer *w = cq_alloc_zeroed(sizeof *w);
  if (!w) return cq_fail_memory(error, path);
  struct head head = {.version = VERSION};
  memcpy(head.magic, magic, sizeof magic);
  cq_status status = cq_writer_open(&w->writer, path, error);
  if (!status) status = cq_writer_bytes(&w->writer, &head, sizeof head, error);
  if (status) cq_checkpoint_writer_abort(w);
  *out = status ? NULL : w;
  return status;
}

static cq_status write_checkpoint_record(cq_checkpoint_writer *w, struct record r, const char *name, cq_error *error) {
  r.sum = record_sum(&r, name);
  cq_status status = cq_writer_bytes(&w->writer, &r, sizeof r, error);
  if (!status) status = cq_writer_bytes(&w->writer, name, (size_t)r.name_n, error);
  size_t over = (sizeof r + (size_t)r.name_n) % UNIT;
  return status || !over ? status : cq_writer_bytes(&w->writer, zeros, UNIT - over, error);
}

cq_status cq_checkpoint_writer_section(cq_checkpoint_writer *w, const char *name, const void *bytes, size_t n,
                                       cq_error *error) {
  cq_slice key = cq_slice_of(name);
  if (key.n == 0 || key.n > MAX_NAME)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, w->writer.path, "a section's name has %zu bytes, expected 1 to %zu",
                        key.n, MAX_NAME);
  if (cq_map_get(&w->names, key) != CQ_MAP_NONE)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, w->writer.path, "two sections are named '%s'", name);
  if (!cq_map_put(&w->names, key, 0)) return cq_fail_memory(error, w->writer.path);
  w->n_sections++;
  cq_status status = write_checkpoint_record(w, (struct record){n, cq_hash64(bytes, n, 0), key.n, 0}, name, error);
  if (!status) status = cq_writer_bytes(&w->writer, bytes, n, error);
  return status || n % UNIT == 0 ? status : cq_writer_bytes(&w->writer, zeros, UNIT - n % UNIT, error);
}

cq_status cq_checkpoint_writer_commit(cq_checkpoint_writer *w, cq_error *error) {
  cq_status status = write_checkpoint_record(w, (struct record){w->n_sections, 0, 0, 0}, "", error);
  if (!status) status = cq_writer_commit(&w->writer, error);
  cq_checkpoint_writer_abort(w);
  return status;
}

void cq_checkpoint_writer_abort(cq_checkpoint_writer *w) {
  if (!w) return;
  cq_writer_abort(&w->writer);
  cq_map_free(&w->names);
  cq_free(w);
}

/* ---- reading ---- */

struct section {
  const char *name;
  const unsigned char *data;
  size_t n;
};

struct cq_checkpoint {
  cq_mapping mapping;
  cq_arena arena; /* path, names */
  cq_map by_name;
  const char *path;
  struct section *sections;
  size_t n, capacity;
};

/* Skips the zeros between `at` and the next unit. */
static cq_status skip_zeros(size_t *at, const cq_checkpoint *c, cq_error *error) {
  for (; *at % UNIT; ++*at) {
    if (*at >= c->mapping.n) return cq_fail_byte(error, CQ_ERR_FORMAT, c->path, *at, "the file ends too early");
    if (c->mapping.data[*at]) return cq_fail_byte(error, CQ_ERR_FORMAT, c->path, *at, "expected a zero");
  }
  return CQ_OK;
}

static cq_status add_section(cq_checkpoint *c, struct section section, uint64_t at, cq_error *error) {
  cq_slice key = cq_slice_of(section.name);
  if (cq_map_get(&c->by_name, key) != CQ_MAP_NONE)
    return cq_fail_byte(error, CQ_ERR_FORMAT, c->path, at, "a second section '%s'", section.name);
  if (!cq_map_put_borrowed(&c->by_name, key, c->n) ||
      !cq_reserve((void **)&c->sections, &c->capacity, c->n + 1, sizeof *c->sections))
    return cq_fail_memory(error, c->path);
  c->sections[c->n++] = section;
  return CQ_OK;
}

/* Reads the record at *at, which is a multiple of the unit, and moves *at past it. */
static cq_status read_checkpoint_record(bool *last, size_t *at, cq_checkpoint *c, cq_error *error) {
  size_t start = *at, n = c->mapping.n;
  struct record r;
  if (n - start < sizeof r) return cq_fail_byte(error, CQ_ERR_FORMAT, c->path, n, "the file ends too early");
  memcpy(&r, c->mapping.data + start, sizeof r);
  if (r.name_n > MAX_NAME)
    return cq_fail_byte(error, CQ_ERR_FORMAT, c->path, start + 16,
                        "a section's name of %llu bytes, expected at most %zu", (unsigned long long)r.name_n, MAX_NAME);
  *at = start + sizeof r;
  if (n - *at < r.name_n) return cq_fail_byte(error, CQ_ERR_FORMAT, c->path, n, "the file ends too early");
  const char *name = (const char *)c->mapping.data + *at;
  if (record_sum(&r, name) != r.sum)
    return cq_fail_byte(error, CQ_ERR_FORMAT, c->path, start, "a record does not agree with its checksum");
  *at += (size_t)r.name_n;
  cq_status status = skip_zeros(at, c, error);
  *last = r.name_n == 0;
  if (status) return status;
  if (*last) {
    if (r.n != c->n)
      return cq_fail_byte(error, CQ_ERR_FORMAT, c->path, start, "expected %llu sections, there are %zu",
                          (unsigned long long)r.n, c->n);
    return CQ_OK;
  }
  struct section section = {cq_arena_strndup(&c->arena, name, (size_t)r.name_n), c->mapping.data + *at, (size_t)r.n};
  if (!section.name) return cq_fail_memory(error, c->path);
  if (r.n > n - *at)
    return cq_fail_byte(error, CQ_ERR_FORMAT, c->path, n, "the file ends in section '%s', which has %llu bytes",
                        section.name, (unsigned long long)r.n);
  if (cq_hash64(section.data, section.n, 0) != r.data_sum)
    return cq_fail_byte(error, CQ_ERR_FORMAT, c->path, *at, "section '%s' does not agree with its checksum",
                        section.name);
  *at += section.n;
  status = skip_zeros(at, c, error);
  return status ? status : add_section(c, section, start, error);
}

static cq_status read_all_records(cq_checkpoint *c, cq_error *error) {
  struct head head;
  size_t at = sizeof head;
  bool last = false;
  if (c->mapping.n < sizeof magic || memcmp(c->mapping.data, magic, sizeof magic) != 0)
    return cq_fail_byte(error, CQ_ERR_FORMAT, c->path, 0, "not a checkpoint");
  if (c->mapping.n < sizeof head)
    return cq_fail_byte(error, CQ_ERR_FORMAT, c->path, c->mapping.n, "the file ends too early");
  memcpy(&head, c->mapping.data, sizeof head);
  if (head.version != VERSION)
    return cq_fail_byte(error, CQ_ERR_UNSUPPORTED, c->path, 8, "a checkpoint of version %llu, expected %d",
                        (unsigned long long)head.version, VERSION);
  size_t zero_from = offsetof(struct head, zeros);
  cq_status status = skip_zeros(&zero_from, c, error);
  while (!status && !last) status = read_checkpoint_record(&last, &at, c, error);
  if (!status && at != c->mapping.n)
    status = cq_fail_byte(error, CQ_ERR_FORMAT, c->path, at, "%zu bytes after the end", c->mapping.n - at);
  return status;
}

cq_status cq_checkpoint_open(cq_checkpoint **out, const char *path, cq_error *error) {
  *out = NULL;
  cq_checkpoint *c = cq_alloc_zeroed(sizeof *c);
  if (!c) return cq_fail_memory(error, path);
  cq_status status = CQ_OK;
  c->path = cq_arena_strdup(&c->arena, path);
  if (!c->path) status = cq_fail_memory(error, path);
  if (!status) status = cq_mapping_open(&c->mapping, path, error);
  if (!status) status = read_all_records(c, error);
  if (status) cq_checkpoint_close(c);
  *out = status ? NULL : c;
  return status;
}

void cq_checkpoint_close(cq_checkpoint *c) {
  if (!c) return;
  cq_mapping_close(&c->mapping);
  cq_map_free(&c->by_name);
  cq_free(c->sections);
  cq_arena_free(&c->arena);
  cq_free(c);
}

size_t cq_checkpoint_count(const cq_checkpoint *c) {
  return c->n;
}

const char *cq_checkpoint_name(const cq_checkpoint *c, size_t index) {
  return c->sections[index].name;
}

const void *cq_checkpoint_find(size_t *n, const cq_checkpoint *c, const char *name) {
  uint64_t index = cq_map_get(&c->by_name, cq_slice_of(name));
  if (index == CQ_MAP_NONE) return NULL;
  if (n) *n = c->sections[index].n;
  return c->sections[index].data;
}

cq_status cq_checkpoint_get(const void **out, size_t n, const cq_checkpoint *c, const char *name, cq_error *error) {
  size_t found;
  *out = cq_checkpoint_find(&found, c, name);
  if (!*out) return cq_fail_file(error, CQ_ERR_FORMAT, c->path, "no section '%s'", name);
  if (found != n)
    return cq_fail_file(error, CQ_ERR_FORMAT, c->path,
                        "section '%s' has %zu bytes, expected %zu: written by another run, or by another version", name,
                        found, n);
  return CQ_OK;
}

cq_status cq_checkpoint_read(void *out, size_t n, const cq_checkpoint *c, const char *name, cq_error *error) {
  const void *data;
  cq_status status = cq_checkpoint_get(&data, n, c, name, error);
  if (!status && n) memcpy(out, data, n);
  return status;
}

cq_status cq_checkpoint_pass(cq_checkpoint_writer *w, const cq_checkpoint *c, const char *name, void *bytes, size_t n,
                             cq_error *error) {
  return w ? cq_checkpoint_writer_section(w, name, bytes, n, error) : cq_checkpoint_read(bytes, n, c, name, error);
}
