/* The state of a run on disk: named sections of raw bytes, written atomically, with every byte covered by a checksum.
 *
 *   cq_checkpoint_writer *w;
 *   cq_checkpoint_writer_open(&w, "checkpoint", &err);
 *   cq_checkpoint_writer_section(w, "adam.m", moments, n * sizeof *moments, &err);
 *   cq_checkpoint_writer_commit(w, &err);                 // replaces the old checkpoint only now
 *
 *   cq_checkpoint *c;
 *   cq_checkpoint_open(&c, "checkpoint", &err);           // checks every byte
 *   cq_checkpoint_read(moments, n * sizeof *moments, c, "adam.m", &err);
 *
 * Sections are in the machine's byte order, little-endian. */
#ifndef CACHE_CHECKPOINT_H
#define CACHE_CHECKPOINT_H

#include "calque/status.h"

#include <stddef.h>

/* --- writing --- */

typedef struct cq_checkpoint_writer cq_checkpoint_writer;
CQ_MUST_USE cq_status cq_checkpoint_writer_open(cq_checkpoint_writer **out, const char *path, cq_error *error);
/* Writes a section; borrows nothing. Errors: CQ_ERR_ARGUMENT for an empty, overlong (255 bytes) or repeated name;
 * CQ_ERR_IO; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_checkpoint_writer_section(cq_checkpoint_writer *w, const char *name, const void *bytes,
                                                   size_t n, cq_error *error);
CQ_MUST_USE cq_status cq_checkpoint_writer_commit(cq_checkpoint_writer *w,
                                                  cq_error *error); /* frees w in either case */
void cq_checkpoint_writer_abort(cq_checkpoint_writer *w);           /* frees w and leaves no file; NULL is legal */

/* --- reading: the file is mapped, sections are borrowed from it --- */

typedef struct cq_checkpoint cq_checkpoint;
/* Errors: CQ_ERR_IO; CQ_ERR_FORMAT with the byte (truncated, wrong checksum, extra bytes); CQ_ERR_UNSUPPORTED for
 * another version. */
CQ_MUST_USE cq_status cq_checkpoint_open(cq_checkpoint **out, const char *path, cq_error *error);
void cq_checkpoint_close(cq_checkpoint *c);
size_t cq_checkpoint_count(const cq_checkpoint *c);
const char *cq_checkpoint_name(const cq_checkpoint *c, size_t index); /* in file order */

/* A section's bytes, 64-byte aligned, and their number (n may be NULL); NULL if the section is missing. */
const void *cq_checkpoint_find(size_t *n, const cq_checkpoint *c, const char *name);
/* The same for a required section of n bytes; anything else is CQ_ERR_FORMAT naming the section. */
CQ_MUST_USE cq_status cq_checkpoint_get(const void **out, size_t n, const cq_checkpoint *c, const char *name,
                                        cq_error *error);
/* Copies such a section. */
CQ_MUST_USE cq_status cq_checkpoint_read(void *out, size_t n, const cq_checkpoint *c, const char *name,
                                         cq_error *error);
/* Writes the section to w or, if w is NULL, reads it from c, so that one list of sections serves both. */
CQ_MUST_USE cq_status cq_checkpoint_pass(cq_checkpoint_writer *w, const cq_checkpoint *c, const char *name, void *bytes,
                                         size_t n, cq_error *error);

#endif
