#include "model/families/family.h"

#include <string.h>

/* One line a family. */
static const cq_family *const families[] = {
    &cq_family_modernbert,
    &cq_family_mt5,
    &cq_family_t5,
    &cq_family_xlm_roberta_xl,
};

const cq_family *cq_family_find(const char *model_type) {
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    if (strcmp(families[i]->model_type, model_type) == 0) return families[i];
  return NULL;
}
