/* A lexical index on disk: a directory of segments and what was done to their text.
 *
 *   DIR/manifest.json   the language, whether words were stemmed, the stop words, how many segments
 *   DIR/segment-1 ...   see segment.h; a document's number is its place in its segment, behind those of the segments before */
#ifndef LEXICAL_INDEX_H
#define LEXICAL_INDEX_H

#include "calque/lexical.h"
#include "lexical/segment.h"
#include "text/analyzer.h"

extern const cq_option_group cq_group_lexical_build;

enum { CQ_MAX_SEGMENTS = 1 << 16 };

struct cq_lexical {
  cq_analyzer *analyzer;
  cq_segment *segments;
  uint64_t *first; /* [n_segments + 1] the number of each one's first document; and of all documents */
  size_t n_segments;
  cq_lexical_info about;
  uint32_t max_length; /* the longest document's, in terms */
};

/* The manifest of an index whose segments are in the directory already. */
CQ_MUST_USE cq_status cq_lexical_write_manifest(const char *directory, const cq_analyzer *analyzer, size_t n_segments,
                                                cq_error *error);
/* "DIR/segment-N", N from 1 on. */
CQ_MUST_USE cq_status cq_lexical_segment_path(char *out, size_t out_size, const char *directory, size_t n,
                                              cq_error *error);

#endif
