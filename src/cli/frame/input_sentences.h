/* Sentences for a command, from files or standard input: one per line, or from columns of a TSV. They are read in
 * chunks, so that memory use does not depend on the input's length.
 *
 *   cli_sentences in = {.paths = paths, .n_paths = n, .n_columns = 1, .rows = 1024};
 *   while (!(status = cli_sentences_next(&in, &err)) && in.n) use(in.slices, in.n);
 *   cli_sentences_close(&in);
 */
#ifndef CLI_FRAME_INPUT_SENTENCES_H
#define CLI_FRAME_INPUT_SENTENCES_H

#include "base/slice.h"
#include "calque/calque.h"
#include "calque/extra/divided.h"

#include <stdbool.h>

typedef struct cli_place {
  const char *path;
  uint64_t line;
} cli_place;

typedef struct cli_sentences {
  /* set by the caller */
  const char *const *paths; /* "-" is standard input; none at all as well */
  size_t n_paths;
  int columns[2];                /* 1-based TSV columns; 0: the whole line */
  int n_columns;                 /* sentences taken from each line, 1 or 2 */
  size_t rows;                   /* lines in a chunk */
  bool skip_bad;                 /* skip and count lines that are not UTF-8 or lack a column */
  const cq_divided_range *range; /* read only these lines of the one path, possibly none; NULL: all */
  /* the chunk, valid until the next call */
  cq_slice *slices;  /* [n, n_columns] */
  cli_place *places; /* [n] */
  size_t n;
  /* counted over all chunks */
  uint64_t n_read, n_skipped;
  /* private */
  cq_lines *lines;
  size_t next_path;
  uint64_t n_in_file;
  cq_error failure; /* the error of the line after the chunk, reported with the next chunk */
  cq_builder text;
} cli_sentences;

/* Reads the next chunk; n is 0 at the end. Errors: those of reading; CQ_ERR_FORMAT for a missing column (with file and
 * line) and for an empty file. */
CQ_MUST_USE cq_status cli_sentences_next(cli_sentences *in, cq_error *error);
void cli_sentences_close(cli_sentences *in);

/* Whether the input can be read again from its start: true only for regular files. */
bool cli_sentences_can_repeat(const cli_sentences *in);
/* Closes and goes back to the start. */
void cli_sentences_rewind(cli_sentences *in);

/* Rewords an error of cq_encoder_encode on the current chunk: file and line instead of the index in the chunk. */
int cli_sentences_fail(const cli_sentences *in, const cq_error *error);

#endif
