/* A monolingual corpus for mining and searching: its distinct sentences, and their lines.
 *
 *   Anna sleeps.                      one sentence per line, plain or gzipped; or, if the first line has a tab,
 *   en-000000001 <tab> Anna sleeps.   an id and a sentence per line (BUCC's layout)
 *
 * A repeated sentence is encoded and compared only once; all its lines are kept with it. */
#ifndef RECIPE_ENCODE_SENTENCES_H
#define RECIPE_ENCODE_SENTENCES_H

#include "base/arena.h"
#include "base/map.h"
#include "calque/slice.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct cq_sentences {
  cq_slice *sentences; /* [n], in the order of first sight */
  size_t n;
  uint32_t *lines; /* the lines (from 0, not counting blank ones) of sentence i: lines[starts[i]] .. */
  size_t *starts;  /* [n + 1] */
  cq_slice *ids;   /* [n_lines]; NULL: the lines have none */
  cq_map line_of;  /* id -> line */
  size_t n_lines;
  uint64_t n_blank, n_skipped; /* blank lines, which are left out; malformed lines, with skip_bad */
  cq_arena text;
} cq_sentences;

/* Reads a file ("-": standard input). Errors: CQ_ERR_FORMAT with the line for invalid UTF-8, a line without an id in a
 * file of ids, an id that appears twice (skip_bad: counted instead); CQ_ERR_ARGUMENT for a file without a sentence;
 * CQ_ERR_IO, CQ_ERR_MEMORY. Release with cq_sentences_free, even after an error. */
CQ_MUST_USE cq_status cq_sentences_read(cq_sentences *out, const char *path, bool skip_bad, cq_error *error);
void cq_sentences_free(cq_sentences *corpus);

/* A sentence's text, its number of lines, and the id of its i-th line. Legal for an empty corpus (files of vectors),
 * with the results no text (data NULL), one line, no id. */
cq_slice cq_sentences_text(const cq_sentences *corpus, uint32_t sentence);
size_t cq_sentences_n_lines(const cq_sentences *corpus, uint32_t sentence);
cq_slice cq_sentences_id(const cq_sentences *corpus, uint32_t sentence, size_t i);

#endif
