/* A zip archive is read from the end:
 *
 *   ... entry: "PK\3\4" header, name, extra | data ...
 *   directory: "PK\1\2", sizes, name, offset of the entry's header        one record per entry
 *   [zip64 end "PK\6\6", its locator "PK\6\7"]                           when a number exceeds its field
 *   end "PK\5\6": number of entries, offset of the directory, a comment
 *
 * Source: PKWARE's APPNOTE.TXT 6.3, section 4.3. Checksums of entries are not verified: writers may leave them out. */
#include "format/zip.h"

#include "base/error.h"

struct zip {
  const unsigned char *bytes;
  size_t n;
  bool takes_deflated;
  const char *path;
  cq_error *error;
};

static uint64_t read_zip_number(const unsigned char *p, int n_bytes) {
  uint64_t x = 0;
  for (int i = n_bytes - 1; i >= 0; i--) x = x << 8 | p[i];
  return x;
}

/* The record of n bytes at `at`, if it is within the archive and begins with the signature; else NULL. */
static const unsigned char *find_zip_record(const struct zip *z, uint64_t at, size_t n, uint32_t signature) {
  if (at > z->n || z->n - at < n) return NULL;
  const unsigned char *p = z->bytes + at;
  return read_zip_number(p, 4) == signature ? p : NULL;
}

static cq_status fail_zip(const struct zip *z, uint64_t at, const char *problem) {
  return cq_fail_byte(z->error, CQ_ERR_FORMAT, z->path, at < z->n ? at : z->n, "broken zip archive: %s", problem);
}

/* Finds the directory: its offset and number of records. */
static cq_status find_directory(uint64_t *at, uint64_t *n_records, const struct zip *z) {
  const unsigned char *end = NULL;
  size_t place = z->n;
  for (size_t back = 22; back <= z->n && back <= 22 + 65535 && !end; back++) { /* a comment may follow the record */
    place = z->n - back;
    end = find_zip_record(z, place, 22, 0x06054B50);
    if (end && read_zip_number(end + 20, 2) != back - 22) end = NULL;
  }
  if (!end) return fail_zip(z, z->n, "no end of the directory");
  *n_records = read_zip_number(end + 10, 2);
  *at = read_zip_number(end + 16, 4);
  const unsigned char *locator = place >= 20 ? find_zip_record(z, place - 20, 20, 0x07064B50) : NULL;
  if (!locator) return CQ_OK;
  const unsigned char *end64 = find_zip_record(z, read_zip_number(locator + 8, 8), 56, 0x06064B50);
  if (!end64) return fail_zip(z, place - 20, "the locator points nowhere");
  *n_records = read_zip_number(end64 + 32, 8);
  *at = read_zip_number(end64 + 48, 8);
  return CQ_OK;
}

/* Replaces each field that is 0xFFFFFFFF by the next value of the zip64 extra field, in this order. */
static void widen_zip64(uint64_t *fields[3], const unsigned char *extra, size_t n) {
  for (size_t at = 0; n - at >= 4; at += 4 + (size_t)read_zip_number(extra + at + 2, 2)) {
    size_t length = (size_t)read_zip_number(extra + at + 2, 2), used = 0;
    if (length > n - at - 4) return;
    if (read_zip_number(extra + at, 2) != 1) continue;
    for (int i = 0; i < 3; i++) {
      if (*fields[i] != 0xFFFFFFFF || length - used < 8) continue;
      *fields[i] = read_zip_number(extra + at + 4 + used, 8);
      used += 8;
    }
    return;
  }
}

/* Reads the directory's record at *at and advances *at to the next one. */
static cq_status read_zip_entry(cq_zip_entry *out, uint64_t *at, const struct zip *z) {
  const unsigned char *p = find_zip_record(z, *at, 46, 0x02014B50);
  if (!p) return fail_zip(z, *at, "expected an entry of the directory");
  unsigned flags = (unsigned)read_zip_number(p + 8, 2), method = (unsigned)read_zip_number(p + 10, 2);
  uint64_t packed = read_zip_number(p + 20, 4), size = read_zip_number(p + 24, 4), header = read_zip_number(p + 42, 4);
  size_t name_n = (size_t)read_zip_number(p + 28, 2), extra_n = (size_t)read_zip_number(p + 30, 2),
         comment_n = (size_t)read_zip_number(p + 32, 2);
  if (z->n - *at - 46 < name_n + extra_n + comment_n) return fail_zip(z, *at, "an entry of the directory is truncated");
  out->name = (cq_slice){(const char *)p + 46, name_n};
  uint64_t *fields[3] = {&size, &packed, &header};
  widen_zip64(fields, p + 46 + name_n, extra_n);
  int shown = name_n < 200 ? (int)name_n : 200;
  out->is_deflated = method == 8 && z->takes_deflated;
  if ((method != 0 && !out->is_deflated) || flags & 1)
    return cq_fail_byte(z->error, CQ_ERR_UNSUPPORTED, z->path, *at, "entry '%.*s' is %s, expected stored bytes", shown,
                        out->name.data, flags & 1 ? "encrypted" : "compressed");
  const unsigned char *local = find_zip_record(z, header, 30, 0x04034B50);
  if (!local) return fail_zip(z, *at, "an entry's header is not where the directory says");
  uint64_t data = header + 30 + read_zip_number(local + 26, 2) + read_zip_number(local + 28, 2);
  if ((size != packed && !out->is_deflated) || data > z->n || packed > z->n - data)
    return cq_fail_byte(z->error, CQ_ERR_FORMAT, z->path, *at, "entry '%.*s' does not fit into the file", shown,
                        out->name.data);
  out->data = z->bytes + data;
  out->n = (size_t)packed;
  out->n_unpacked = (size_t)size;
  *at += 46 + name_n + extra_n + comment_n;
  return CQ_OK;
}

cq_status cq_zip_read(cq_zip_entry **entries, size_t *n_entries, cq_arena *arena, const unsigned char *bytes, size_t n,
                      bool takes_deflated, const char *path, cq_error *error) {
  struct zip z = {bytes, n, takes_deflated, path, error};
  uint64_t at = 0, n_records = 0;
  cq_status status = find_directory(&at, &n_records, &z);
  if (status) return status;
  if (n_records > n / 46) return fail_zip(&z, n, "more entries than the file has room for");
  *n_entries = (size_t)n_records;
  *entries = cq_arena_array(arena, *n_entries, sizeof **entries);
  if (!*entries) return cq_fail_memory(error, path);
  for (size_t i = 0; i < *n_entries && !status; i++) status = read_zip_entry(&(*entries)[i], &at, &z);
  return status;
}
