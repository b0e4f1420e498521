/* Rows of parallel text, written in the format that a file's name has, and read back to the same rows by corpus/:
 *
 *   .csv         "en,de" in the first line; fields with a comma or a quotation mark are quoted (RFC 4180)
 *   .tmx         <tu><tuv xml:lang="en"><seg>It rains.</seg></tuv> <tuv xml:lang="de"> ...
 *   .xlf .xliff  XLIFF 1.2: <trans-unit id="1"><source>It rains.</source><target>Es regnet.</target></trans-unit>
 *   .po          msgid "It rains."  msgstr "Es regnet."; a repeated msgid has a number as its msgctxt
 *   others       tab-separated columns
 *
 * Text is trimmed; tabs and line breaks within become blanks, as do characters that XML cannot carry. */
#ifndef FORMAT_PAIRS_H
#define FORMAT_PAIRS_H

#include "base/map.h"
#include "base/text_writer.h"

typedef enum cq_pairs_kind {
  CQ_PAIRS_AS_TSV,
  CQ_PAIRS_AS_CSV,
  CQ_PAIRS_AS_TMX,
  CQ_PAIRS_AS_XLIFF,
  CQ_PAIRS_AS_PO
} cq_pairs_kind;
#define CQ_PAIRS_ENDINGS ".tsv, .csv, .tmx, .xlf, .xliff, .po, each also with .gz or .zst"

/* A unit of a translation memory as its file has it: written again with all that it says besides the texts. */
typedef struct cq_pairs_variant {
  cq_slice whole, text; /* "<tuv ...>...</tuv>"; the text that was read from it */
  size_t begin, end;    /* of the segment in it */
} cq_pairs_variant;
typedef struct cq_pairs_unit {
  cq_slice head;                    /* "<tu ...>" and what precedes the variants */
  const cq_pairs_variant *variants; /* of the columns */
} cq_pairs_unit;

typedef struct cq_pairs {
  cq_text_writer text;
  cq_pairs_kind kind;
  const char *path;             /* borrowed; what errors call it */
  const char *const *languages; /* of the columns, borrowed; may be set until the first row */
  size_t n_languages;
  const char *remark; /* what the remark of each row is called: "score"; NULL: rows have none */
  bool has_begun;
  uint64_t n; /* rows */
  cq_map sources;
  cq_builder room, row;
} cq_pairs;

/* By a path's ending; NULL and endings of no known format: TSV. CQ_ERR_ARGUMENT: the ending of a format that is not
 * written; the error lists those that are. */
CQ_MUST_USE cq_status cq_pairs_kind_of(cq_pairs_kind *out, const char *path, cq_error *error);
/* TMX and XLIFF name the languages; it is an error not to have them when the first row is written, or at the end. */
CQ_MUST_USE cq_status cq_pairs_open(cq_pairs *out, cq_pairs_kind kind, const char *path, const char *remark,
                                    cq_error *error);
/* Appends a row as it will be written. unit: NULL, or the unit of the row. Errors: CQ_ERR_ARGUMENT for more columns than
 * languages, or than two in XLIFF and .po; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_pairs_render(cq_builder *out, cq_pairs *w, cq_slice remark, const cq_slice *columns, size_t n,
                                      const cq_pairs_unit *unit, cq_error *error);
/* Writes what was rendered. */
CQ_MUST_USE cq_status cq_pairs_put_rendered(cq_pairs *w, cq_slice rendered, cq_error *error);
/* Both. */
CQ_MUST_USE cq_status cq_pairs_put(cq_pairs *w, cq_slice remark, const cq_slice *columns, size_t n,
                                   const cq_pairs_unit *unit, cq_error *error);
/* Commits unless `status` is an error; always closes. Returns the first error. */
CQ_MUST_USE cq_status cq_pairs_finish(cq_pairs *w, cq_status status, cq_error *error);

/* Appends text for XML; in an attribute, quotation marks are escaped, too. */
void cq_put_xml(cq_builder *out, cq_slice text, bool is_attribute);

#endif
