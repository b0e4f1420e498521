/* DeBERTa's settings in config.json for the distances between tokens. */
#ifndef MODEL_DISTANCES_H
#define MODEL_DISTANCES_H

#include "calque/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct cq_distance_sizes {
  bool positions_in_input; /* position embeddings are added to the word embeddings, as in BERT */
  bool relative;           /* the distances have vectors */
  bool c2p, p2c;           /* the terms of a score, see nn/disentangled.h */
  bool shared;             /* the projections of contents serve for distances too */
  bool normed;             /* a norm is put on the distances' vectors */
  int64_t span, max;       /* as cq_distances' */
} cq_distance_sizes;

/* Errors: CQ_ERR_UNSUPPORTED, CQ_ERR_FORMAT. */
CQ_MUST_USE cq_status cq_distance_sizes_read(cq_distance_sizes *out, const json_t *config, int64_t dim,
                                             int64_t n_positions, const char *path, cq_error *error);

#endif
