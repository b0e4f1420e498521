/* A file of text that is written from its start to its end, compressed when its name ends in .gz or .zst.
 *
 *   cq_text_writer w;
 *   cq_text_writer_open(&w, "pairs.tsv.gz", &err);        // NULL or "-": standard output
 *   cq_text_writer_put(&w, "a\tb\n", 4, &err);
 *   cq_text_writer_commit(&w, &err);                      // it appears whole, or not at all
 *
 * Anything but a regular file (a pipe, a device) is written directly. A link stays a link, and its target is
 * written. */
#ifndef BASE_TEXT_WRITER_H
#define BASE_TEXT_WRITER_H

#include "base/file.h"

typedef struct cq_text_writer {
  cq_writer file; /* a regular file's */
  FILE *stream;
  char *path; /* what errors call it */
  char *text; /* what is not handed on yet */
  size_t n_text;
  struct cq_text_packer *packer; /* NULL: not compressed */
} cq_text_writer;

/* Length of ".gz" or ".zst" at a path's end, which select the compression; 0: neither. */
size_t cq_text_writer_ending(const char *path);
/* CQ_ERR_ARGUMENT for the extension of another compression (.xz). Opening refuses it, too; call this to check before a
 * long computation. NULL is standard output. */
CQ_MUST_USE cq_status cq_text_writer_check(const char *path, cq_error *error);
/* Errors: CQ_ERR_IO, CQ_ERR_MEMORY, CQ_ERR_ARGUMENT. */
CQ_MUST_USE cq_status cq_text_writer_open(cq_text_writer *out, const char *path, cq_error *error);
CQ_MUST_USE cq_status cq_text_writer_put(cq_text_writer *w, const char *bytes, size_t n, cq_error *error);
/* Errors: CQ_ERR_IO; a regular file is then unchanged, and its temporary file is gone. */
CQ_MUST_USE cq_status cq_text_writer_commit(cq_text_writer *w, cq_error *error);
void cq_text_writer_abort(cq_text_writer *w); /* legal after commit and on {0} */

#endif
