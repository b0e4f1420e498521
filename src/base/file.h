/* Files: read-only mappings, and files and directories that appear whole or not at all. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/slice.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* --- reading --- */

/* A whole file mapped read-only. For an empty file, n is 0 and data is not NULL. */
typedef struct cq_mapping {
  const unsigned char *data;
  size_t n;
} cq_mapping;

CQ_MUST_USE cq_status cq_mapping_open(cq_mapping *out, const char *path, cq_error *error);
/* CQ_ERR_FORMAT if the file is a pointer of Git LFS, which stands where the file itself was not downloaded. */
CQ_MUST_USE cq_status cq_mapping_not_pointer(const cq_mapping *mapping, const char *path, cq_error *error);
void cq_mapping_close(cq_mapping *mapping);
/* Releases the pages filled by reading; they are read from the file again when needed. */
void cq_mapping_release_pages(const cq_mapping *mapping);

/* A whole file in memory, zero-terminated after n bytes; release out->data with cq_free((void *)out->data). For
 * configurations and vocabularies: a file of more than CQ_MAX_FILE_READ bytes is CQ_ERR_LIMIT. */
#define CQ_MAX_FILE_READ ((size_t)64 << 20)
CQ_MUST_USE cq_status cq_file_read(cq_slice *out, const char *path, cq_error *error);
bool cq_file_exists(const char *path);
bool cq_is_directory(const char *path);

/* "DIR/NAME" into the caller's buffer; CQ_ERR_ARGUMENT when it does not fit. DIR "" gives NAME. */
CQ_MUST_USE cq_status cq_path_join(char *out, size_t out_size, const char *dir, const char *name, cq_error *error);

/* The length of a path without the slashes at its end ("/" keeps its one), and its last part, which is "" for "/". */
size_t cq_path_length(const char *path);
cq_slice cq_path_name(const char *path);
/* The parent directory of a path, with a slash at its end; "." for a name alone. False when it does not fit. */
bool cq_path_parent(char *out, size_t out_size, const char *path);

/* --- writing: a temporary file next to the target, synced and renamed over it on commit; opening removes the temporary
 * files of killed processes --- */

typedef struct cq_writer {
  FILE *stream; /* write here with stdio, or with cq_writer_bytes */
  char *path, *temporary;
} cq_writer;

CQ_MUST_USE cq_status cq_writer_open(cq_writer *out, const char *path, cq_error *error);
/* The same for an output that a user names: what a symbolic link points to is replaced, not the link. Fails if the path
 * is something else than a regular file, such as a pipe or a directory. */
CQ_MUST_USE cq_status cq_writer_open_output(cq_writer *out, const char *path, cq_error *error);
CQ_MUST_USE cq_status cq_writer_bytes(cq_writer *w, const void *bytes, size_t n, cq_error *error);
/* Flushes, syncs, renames. On failure (a full disk, say) the target is untouched and the temporary file is gone. */
CQ_MUST_USE cq_status cq_writer_commit(cq_writer *w, cq_error *error);
void cq_writer_abort(cq_writer *w); /* legal after commit and on {0}: does nothing */

/* Writes a whole file atomically. */
CQ_MUST_USE cq_status cq_file_write(const char *path, const void *bytes, size_t n, cq_error *error);

/* The same with another file's bytes. */
CQ_MUST_USE cq_status cq_file_copy(const char *from, const char *to, cq_error *error);

/* Syncs the directory that path is in: after a crash the name still exists. For names that no writer above has made. */
CQ_MUST_USE cq_status cq_sync_name(const char *path, cq_error *error);

/* Removes the temporary files that killed processes left while writing path: PATH.tmp-PID-N. A file or directory is a
 * leftover if the process in its name has ended, or is this one and not at work on it, and nobody holds its writer's
 * lock. Errors are ignored. */
void cq_remove_leftovers(const char *path);

/* Writes all n bytes at an offset of an open file; errors name the file as path. */
CQ_MUST_USE cq_status cq_write_at(int fd, const void *bytes, size_t n, int64_t at, const char *path, cq_error *error);

/* --- directories --- */

/* Creates path and its missing parents, and syncs their names. */
CQ_MUST_USE cq_status cq_directory_make(const char *path, cq_error *error);

/* Locks a directory for this process until the caller closes *lock (only if it is above 0). Succeeds on a file system
 * without locks, too. Errors: CQ_ERR_ARGUMENT when another process has it; CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_directory_lock(int *lock, const char *path, cq_error *error);

/* Copies everything in a directory, byte by byte, into an existing one; follows links. Errors: CQ_ERR_IO;
 * CQ_ERR_ARGUMENT if the copy is inside the source; CQ_ERR_UNSUPPORTED for anything but files and directories. */
CQ_MUST_USE cq_status cq_directory_copy(const char *from, const char *to, cq_error *error);

/* A directory under construction: fill `temporary`, then commit renames it to the target. With replace, an existing
 * target is exchanged for the new one, atomically if the system can, and removed. Without replace, opening fails with
 * CQ_ERR_ARGUMENT if the target exists. */
typedef struct cq_directory_writer {
  char *path, *temporary;
  bool replace;
  int lock; /* an open, locked file that shows other processes that this writer is active; 0: none */
} cq_directory_writer;

CQ_MUST_USE cq_status cq_directory_writer_open(cq_directory_writer *out, const char *path, bool replace,
                                               cq_error *error);
CQ_MUST_USE cq_status cq_directory_writer_commit(cq_directory_writer *w, cq_error *error);
void cq_directory_writer_abort(cq_directory_writer *w);

/* An empty directory of this user alone, TMPDIR/NAME.tmp-PID-N, in out->temporary; removes those that killed processes
 * left. Abort removes it. */
CQ_MUST_USE cq_status cq_directory_writer_temporary(cq_directory_writer *out, const char *name, cq_error *error);

/* Removes a directory and everything in it; errors are ignored. */
void cq_directory_remove(const char *path);
/* The same, atomically: after a crash the directory is complete or gone. */
CQ_MUST_USE cq_status cq_directory_retire(const char *path, cq_error *error);

#endif
