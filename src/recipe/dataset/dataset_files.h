/* Finds a data set's files for a config and a split by their names:
 *
 *   de-en/train-00000-of-00002.parquet   data/train-00000-of-00001.parquet   de-en/partial-train/0000.parquet
 *   config split                              split (config "default")       config        split */
#ifndef RECIPE_DATASET_DATASET_FILES_H
#define RECIPE_DATASET_DATASET_FILES_H

#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Moves the matching names of names [*n] to the front, in bytewise order, and sets *n to their number.
 *   repository   its name in errors
 *   config       NULL: the only config
 *   is_there     false: no Parquet files, or none of that config and split, so try the hub's conversion
 * Errors: CQ_ERR_ARGUMENT, which names the available configs or files. */
CQ_MUST_USE cq_status cq_dataset_choose(const char **names, size_t *n, bool *is_there, const char *repository,
                                        const char *config, const char *split, cq_error *error);

#endif
