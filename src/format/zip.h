/* Zip archives with uncompressed entries, so that each entry is a range of bytes of the file. */
#ifndef FORMAT_ZIP_H
#define FORMAT_ZIP_H

#include "base/arena.h"
#include "base/slice.h"
#include "calque/status.h"

#include <stdint.h>

typedef struct cq_zip_entry {
  cq_slice name;             /* borrowed from the archive */
  const unsigned char *data; /* likewise */
  size_t n;
} cq_zip_entry;

/* Reads the directory of an archive in memory, checking every offset.
 *   entries  in the arena
 *   path     the archive's name in errors
 * Errors: CQ_ERR_FORMAT with the byte; CQ_ERR_UNSUPPORTED for a compressed or encrypted entry (named); CQ_ERR_MEMORY.
 */
CQ_MUST_USE cq_status cq_zip_read(cq_zip_entry **entries, size_t *n_entries, cq_arena *arena,
                                  const unsigned char *bytes, size_t n, const char *path, cq_error *error);

#endif
