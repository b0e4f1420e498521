/* A lexical index on disk: a directory of segments and a description of their text analysis.
 *
 *   DIR/manifest.json   the language, whether words were stemmed, the stop words, the number of segments
 *   DIR/segment-1 ...   see segment.h; a document's number is its position in its segment, plus the sizes of the
 *                       segments before */
#ifndef LEXICAL_LEXICAL_INDEX_H
#define LEXICAL_LEXICAL_INDEX_H

#include "calque/lexical.h"
#include "lexical/growing.h"

extern const cq_option_group cq_group_lexical_build;

enum { CQ_MAX_SEGMENTS = 1 << 16 };

/* A set of segments whose documents have ids. */
struct cq_lexical {
  cq_analyzer *analyzer;
  cq_lexical_set *set;
  cq_lexical_info about;
};

/* Writes the manifest of an index whose segments already are in the directory. */
CQ_MUST_USE cq_status cq_lexical_write_manifest(const char *directory, const cq_analyzer *analyzer, size_t n_segments,
                                                cq_error *error);
/* "DIR/segment-N", N from 1 on. */
CQ_MUST_USE cq_status cq_lexical_segment_path(char *out, size_t out_size, const char *directory, size_t n,
                                              cq_error *error);

#endif
