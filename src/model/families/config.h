/* Values of config.json that all transformers share. */
#ifndef MODEL_FAMILIES_CONFIG_H
#define MODEL_FAMILIES_CONFIG_H

#include "calque/status.h"
#include "tensor/kernels.h"

#include <jansson.h>

/* The activation named by `key`; if the key is missing, `otherwise`. Errors: CQ_ERR_UNSUPPORTED for an unknown one. */
CQ_MUST_USE cq_status cq_config_activation(cq_activation *out, const json_t *config, const char *key,
                                           const char *otherwise, const char *path, cq_error *error);
/* A whole number of config.json, in [min, max]. */
typedef struct cq_config_integer {
  int64_t *value;
  const char *key; /* NULL: unchanged */
  int64_t min, max;
  bool required;
} cq_config_integer;
/* Errors: CQ_ERR_FORMAT for a number out of range, and for a required one that is missing. */
CQ_MUST_USE cq_status cq_config_integers(const cq_config_integer *wanted, size_t n, const json_t *config,
                                         const char *path, cq_error *error);
/* A dropout rate, from 0 to less than 1; key NULL: unchanged. */
CQ_MUST_USE cq_status cq_config_rate(double *out, const json_t *config, const char *key, const char *path,
                                     cq_error *error);

#endif
