/* The bytes of a file, decompressed: plain, gzip, Zstandard, xz or (by a plugin) bzip2, recognized by their first bytes. Memory use is
 * constant.
 *
 *   cq_input_open(&in, "news.tsv.zst", &error);                 // "-" is standard input
 *   while (!(status = cq_input_read(&n, in, buffer, sizeof buffer, &error)) && n) use(buffer, n);
 *   cq_input_close(in); */
#ifndef BASE_INPUT_H
#define BASE_INPUT_H

#include "base/slice.h"
#include "calque/status.h"

typedef struct cq_input cq_input;

/* Errors: CQ_ERR_IO (not found, is a directory); CQ_ERR_FORMAT for a zip archive; CQ_ERR_UNSUPPORTED
 * without the plugin for bzip2. */
CQ_MUST_USE cq_status cq_input_open(cq_input **out, const char *path, cq_error *error);
/* A zip archive, which is no error here, is its bytes. */
CQ_MUST_USE cq_status cq_input_open_any(cq_input **out, const char *path, cq_error *error);
/* Refuses what begins like a zip archive, as cq_input_open does. */
CQ_MUST_USE cq_status cq_input_refuse_archive(cq_input *input, cq_error *error);
void cq_input_close(cq_input *input);

/* Reads up to n bytes; *got: how many, 0 at the end. After an error nothing more is read.
 * Errors: CQ_ERR_FORMAT with the byte of the file for a broken or truncated stream; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_input_read(size_t *got, cq_input *input, void *bytes, size_t n, cq_error *error);

/* Returns the next bytes without consuming them: CQ_PEEK, or fewer near the end; valid until the next read. Before the
 * first read, they are the start of the file. Errors: those of reading, if there are no bytes before them. */
#define CQ_PEEK ((size_t)4096)
CQ_MUST_USE cq_status cq_input_peek(cq_slice *out, cq_input *input, cq_error *error);

/* Length of the extension ".gz", ".xz", ".zst" or ".bz2" of a path, ignoring case; 0: no such extension. */
size_t cq_compression_ending(const char *path);

/* Whether it is compressed; NULL: it is plain. */
const char *cq_input_compression(const cq_input *input);
const char *cq_input_path(const cq_input *input); /* "<stdin>" for "-" */

#endif
