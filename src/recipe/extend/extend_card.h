/* What a model's card says beyond what distillation knows: the text, and what was chosen. */
#ifndef RECIPE_EXTEND_EXTEND_CARD_H
#define RECIPE_EXTEND_EXTEND_CARD_H

#include "recipe/extend/extending.h"

/* Keeps what was told until now in the work directory, for the card that is written when all is done. Errors: CQ_ERR_IO,
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_extend_card_keep(const cq_extending *e, cq_error *error);
/* Adds to the README.md of the model in e->trained. Errors: as above. */
CQ_MUST_USE cq_status cq_extend_card_complete(const cq_extending *e, cq_error *error);

#endif
