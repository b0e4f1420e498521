/* Values of config.json that all transformers share. */
#ifndef MODEL_FAMILIES_CONFIG_H
#define MODEL_FAMILIES_CONFIG_H

#include "calque/status.h"
#include "tensor/kernels.h"

#include <jansson.h>

/* The activation that `key` names; if there is none, `otherwise`. Errors: CQ_ERR_UNSUPPORTED for another. */
CQ_MUST_USE cq_status cq_config_activation(cq_activation *out, const json_t *config, const char *key,
                                           const char *otherwise, const char *path, cq_error *error);
/* A rate of dropout, 0 to less than 1; key NULL: unchanged. */
CQ_MUST_USE cq_status cq_config_rate(double *out, const json_t *config, const char *key, const char *path,
                                     cq_error *error);

#endif
