/* The model card that a distilled student carries: what it is, how it was made, what it can do. */
#ifndef RECIPE_DISTILL_CARD_H
#define RECIPE_DISTILL_CARD_H

#include "recipe/distill_eval.h"
#include "train/parallel.h"

typedef struct cq_distill_card {
  const cq_distill_options *options;
  const cq_parallel *data;
  const cq_dev_sets *dev;
  const cq_dev_figures *before, *after; /* before NULL: not measured */
  uint64_t n_steps, kept_step;
  bool by_weight; /* sets were drawn from by weight */
} cq_distill_card;

/* Appends Markdown with the front matter that model hubs read. */
void cq_distill_card_write(cq_builder *out, const cq_distill_card *card);

#endif
