/* The file formats of parallel text: each has a source file and a row of the table in convert.c. Commands that read rows
 * of any format use a cq_source.
 *
 * A format's reader begins with a cq_format_reader, so that the common part is at a known place:
 *
 *   typedef struct moses { cq_format_reader base; cq_lines *lines[2]; } moses; */
#ifndef CORPUS_FORMAT_H
#define CORPUS_FORMAT_H

#include "base/intern.h"
#include "corpus/rows.h"

typedef struct cq_format_reader cq_format_reader;

typedef struct cq_format {
  cq_corpus_format about;
  const char *endings; /* of its files' names, ".po .mo"; NULL: none that other formats do not have, too */
  size_t size;         /* size of the reader, which begins zeroed except for its base */
  cq_status (*open)(cq_format_reader *reader, cq_error *error);
  /* The next row, valid until the next call; n is 0 at the end. Counts the rows that it reads and leaves out. */
  cq_status (*next)(cq_row *out, cq_format_reader *reader, cq_error *error);
  void (*close)(cq_format_reader *reader); /* also after an open that failed */
} cq_format;

/* A format's row: its endings, its name, its files and how many of them, other members of `about` (.has_columns = true),
 * the type of its reader, the reader's functions, and its help. The second has no endings. */
#define CQ_FORMAT_OF(ends, label, files, min, max, also, type, opens, nexts, closes, text)                             \
  {                                                                                                                    \
    .about = {.name = label, .inputs = files, .min_inputs = min, .max_inputs = max, also, .help = text},               \
    .endings = ends, .size = sizeof(type), .open = opens, .next = nexts, .close = closes,                              \
  }
#define CQ_FORMAT(...) CQ_FORMAT_OF(NULL, __VA_ARGS__)
enum { CQ_MANY_FILES = 1024 };

struct cq_format_reader {
  const cq_format *format;
  const cq_corpus_convert_options *o;
  cq_corpus_flow flow;
  cq_corpus_counts *counts;
  const char *const *languages; /* [n_languages], of the columns of the last row, if they were not chosen */
  size_t n_languages;
};

extern const cq_format cq_format_moses, cq_format_europarl, cq_format_tsv, cq_format_ted2020, cq_format_wikimatrix,
    cq_format_muse, cq_format_tmx, cq_format_opus, cq_format_ids, cq_format_tatoeba, cq_format_wikititles,
    cq_format_xquad, cq_format_dictd, cq_format_tei, cq_format_parquet, cq_format_gettext, cq_format_json_messages,
    cq_format_xliff, cq_format_qt_ts, cq_format_csv;
/* All of them, then NULL. */
extern const cq_format *const cq_formats[];

/* Whether a file's name has an ending of the format, also before that of a compression. */
bool cq_format_ends(const cq_format *format, const char *path);
/* Whether the rest of a language's name is parts of a region or script ("_BR", "-Hant-TW"), or an encoding. */
bool cq_is_region(cq_slice rest);
/* Whether a name looks like a language's: two lower letters, perhaps with a region. */
bool cq_is_code(cq_slice name);
/* CQ_ERR_ARGUMENT: no text is of a language; lists those that are there. */
cq_status cq_fail_language(const char *path, const char *wanted, const cq_intern *seen, cq_error *error);
/* Whether a file's language is the one that the user wants: "pt" is also "por", and "pt_BR" and "PT-pt", but those not
 * exactly. */
bool cq_language_matches(bool *is_exact, const char *wanted, cq_slice name);

/* Whether two names of languages begin with the same language: "pt-BR", "por". */
bool cq_is_same_language(const char *a, const char *b);

/* --- rows of files of any format --- */

/* Files one after the other, each in the format of its ending, without one as tab-separated columns. */
typedef struct cq_source {
  cq_row_reader files;      /* which to read; .flow->languages are the columns */
  cq_format_reader *reader; /* from here on private: of the open file; NULL: it has tab-separated columns, or none is */
  cq_corpus_convert_options o;
  char names[2][64]; /* the languages of the first file that names them, if they were not chosen */
  const char *languages[2];
  bool is_named; /* the open file's languages are known, and no others */
} cq_source;
#define CQ_SOURCE(these, n, least, of, counted)                                                                        \
  {                                                                                                                    \
    .files = {.paths = these, .n_paths = n, .min_columns = least, .flow = of, .counts = counted }                      \
  }

/* As cq_row_reader_next() and its relatives. */
CQ_MUST_USE cq_status cq_source_next(cq_row *out, cq_source *source, cq_error *error);
static inline bool cq_source_more(cq_status *status, cq_row *out, cq_source *source, cq_error *error) {
  if (!*status) *status = cq_source_next(out, source, error);
  return !*status && out->n > 0;
}
void cq_source_close(cq_source *source);
/* Gives a writer the languages of a source. */
void cq_source_name(cq_pairs *pairs, const cq_source *source);

/* *why: the reason for dropping a row, a string literal for cq_corpus_drop; NULL: the row is kept. The check may replace
 * the row's columns and its line. */
typedef cq_status (*cq_row_check)(const char **why, void *context, cq_row *row, cq_error *error);

/* Writes the rows of a source that pass a check to the flow's output and counts the others; closes the source. The
 * flow's file of rejected rows gets each with its reason before it. check NULL: all rows are kept; none is an error. */
CQ_MUST_USE cq_status cq_corpus_choose(cq_source *source, cq_row_check check, void *context, cq_error *error);

#endif
