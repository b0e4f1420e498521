/* Zip archives, each entry a range of bytes of the file: uncompressed, or deflated where the caller takes that. */
#ifndef FORMAT_ZIP_H
#define FORMAT_ZIP_H

#include "base/arena.h"
#include "base/slice.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct cq_zip_entry {
  cq_slice name;             /* borrowed from the archive */
  const unsigned char *data; /* likewise */
  size_t n, n_unpacked;
  bool is_deflated;
} cq_zip_entry;

/* Reads the directory of an archive in memory, checking every offset.
 *   entries         in the arena
 *   takes_deflated  compressed entries are not refused
 *   path            the archive's name in errors
 * Errors: CQ_ERR_FORMAT with the byte; CQ_ERR_UNSUPPORTED for a compressed or encrypted entry (named); CQ_ERR_MEMORY.
 */
CQ_MUST_USE cq_status cq_zip_read(cq_zip_entry **entries, size_t *n_entries, cq_arena *arena,
                                  const unsigned char *bytes, size_t n, bool takes_deflated, const char *path,
                                  cq_error *error);

#endif
