/* The model card of a trained encoder: what it is, how it was made, what it can do. */
#ifndef RECIPE_RUN_MODEL_CARD_H
#define RECIPE_RUN_MODEL_CARD_H

#include "recipe/run/encoder_training.h"

/* Appends Markdown with the front matter that model hubs read, for a finished run; the kept model is that of
 * kept_step. */
void cq_model_card_write(cq_builder *out, const cq_training *run, uint64_t kept_step);

/* For a task's own parts: the rows of its data under a heading, and the last component of a path in backquotes (other
 * directories would be meaningless on other machines). */
void cq_model_card_data_heading(cq_builder *out);
void cq_model_card_data(cq_builder *out, const cq_parallel *data);
void cq_model_card_name(cq_builder *out, const char *path);

#endif
