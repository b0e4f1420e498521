/* How well autoencoders translate held-out text. */
#ifndef LAB_AUTOENCODE_TRANSLATE_DEV_H
#define LAB_AUTOENCODE_TRANSLATE_DEV_H

#include "lab/autoencode/groups.h"

/* The measures' names in files, indexed by cq_autoencode_measure. */
extern const char *const cq_autoencode_measures[CQ_AUTOENCODE_N_MEASURES + 1]; /* NULL-terminated */

/* Greedily translates a group's first language into its second, or in the other direction; the first of a sentence's
 * translations is the reference. codes: of all languages. Errors: cq_autoencoder_translate's. */
CQ_MUST_USE cq_status cq_autoencode_measure_direction(double scores[CQ_AUTOENCODE_N_MEASURES],
                                                      const cq_autoencoder *model, const char *const *codes,
                                                      const cq_text_group *group, bool back, int max_tokens,
                                                      cq_context *ctx, cq_error *error);

#endif
