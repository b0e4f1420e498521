/* Files for training or evaluation, as options: "[LABEL=]FILE[:WEIGHT]" <-> cq_training_data. */
#ifndef TRAIN_TRAINING_DATA_H
#define TRAIN_TRAINING_DATA_H

#include "base/options.h"
#include "calque/training.h"

extern const cq_option_items cq_training_data_items;
#define CQ_DATA(owner, ...) CQ_ITEMS(owner, &cq_training_data_items, __VA_ARGS__)

#endif
