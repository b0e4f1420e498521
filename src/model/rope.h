/* The frequencies of rotary positions, from config.json:
 *
 *   "rope_theta": 10000, "rope_scaling": {"rope_type": "llama3", "factor": 8, ...}     up to transformers 4
 *   "rope_parameters": {"rope_theta": 10000, "rope_type": "default", ...}              from 5 on, or one such object for
 *                                                                                      each of "layer_types"
 *
 * Kinds: default, linear (Chen et al. 2023), llama3 (Llama Team 2024), yarn (Peng et al. 2023). */
#ifndef MODEL_ROPE_H
#define MODEL_ROPE_H

#include "base/arena.h"
#include "format/json.h"
#include "nn/rotary.h"

/* What is read: layer_type picks among the objects of rope_parameters (NULL: there is one kind of layers); theta is what
 * counts where the configuration has none; scaled false: rope_scaling is of other layers. */
typedef struct cq_rope_wish {
  const char *layer_type, *theta_key;
  double theta;
  bool scaled;
  int64_t head_dim, n_positions;
} cq_rope_wish;

/* Errors: CQ_ERR_UNSUPPORTED for another kind, CQ_ERR_FORMAT, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_rope_read(cq_rotary *out, const json_t *config, const cq_rope_wish *wish, cq_arena *arena,
                                   const char *path, cq_error *error);

#endif
