/* Files as rows of vectors: text is encoded once, and its vectors kept on disk by model and sentence; files of vectors
 * are mapped in place. */
#ifndef RECIPE_ENCODE_EMBEDDED_H
#define RECIPE_ENCODE_EMBEDDED_H

#include "calque/mine.h"
#include "format/matrix.h"
#include "recipe/encode/cached_encoder.h"
#include "recipe/encode/sentences.h"

typedef struct cq_embedded {
  cq_sentences corpus; /* of text: row i is its sentence i */
  cq_matrix matrix;    /* of vectors */
  uint32_t *rows;      /* [n] the position of row i's vector among `vectors`; NULL: in order */
  const float *vectors;
  size_t n, dim;
} cq_embedded;

/* A caller's progress function together with the phase to report. */
typedef struct cq_watched {
  cq_mine_progress_fn progress; /* NULL: nobody asks */
  void *context;
  const char *what;
} cq_watched;
/* Passes on the progress of encoding and searching: context is a cq_watched. */
bool cq_watched_tell(void *context, uint64_t done, uint64_t n_all);

/* See the fields of the same names in cq_mine_options. */
typedef struct cq_embedding {
  const char *model, *cache_directory;
  size_t raw_dim;
  cq_precision precision;
  bool compose, skip_bad;
  cq_notice_fn notice;
  void *notice_context;
  cq_cached_progress progress;
  void *progress_context;
  cq_ranks *ranks; /* rank 0 receives the rows; the other ranks only encode what rank 0 sends */
} cq_embedding;

/* Opens n files (at most 2) with the same dimensions into out [n]. *store holds the vectors of text until it is closed.
 * Errors: those of reading files, opening the model and encoding; CQ_ERR_ARGUMENT for different dimensions. Release
 * both, even after an error. */
CQ_MUST_USE cq_status cq_embedded_open(cq_embedded *out, cq_cached_encoder *store, const char *const *paths, size_t n,
                                       const cq_embedding *how, cq_context *ctx, cq_error *error);
void cq_embedded_close(cq_embedded *embedded);

#endif
