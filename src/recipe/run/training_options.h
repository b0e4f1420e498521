/* The table of options shared by all trainings of an encoder. */
#ifndef RECIPE_RUN_TRAINING_OPTIONS_H
#define RECIPE_RUN_TRAINING_OPTIONS_H

#include "base/options.h"

extern const cq_option_group cq_group_training;

#endif
