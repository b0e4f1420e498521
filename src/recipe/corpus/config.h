/* A configuration: sections of options by name.
 *
 *   # comment
 *   [filter]
 *   max-ratio = 2.5
 *   keep-identical            a flag */
#ifndef RECIPE_CORPUS_CONFIG_H
#define RECIPE_CORPUS_CONFIG_H

#include "base/slice.h"
#include "calque/status.h"

#include <stdint.h>

typedef struct cq_config_line {
  const char *section, *name, *value; /* name NULL: the section's heading; value: "yes" for a flag */
  uint64_t line;
} cq_config_line;

typedef struct cq_config {
  cq_config_line *lines;
  size_t n;
  char *text;
} cq_config;

/* Errors: CQ_ERR_FORMAT with file and line; those of reading. Release with cq_config_free, even after an error. */
CQ_MUST_USE cq_status cq_config_read(cq_config *out, const char *path, cq_error *error);
void cq_config_free(cq_config *config);

#endif
