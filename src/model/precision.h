/* The option row for a model's precision. */
#ifndef MODEL_PRECISION_H
#define MODEL_PRECISION_H

#include "base/options.h"
#include "calque/precision.h"

extern const char *const cq_precision_names[]; /* NULL-terminated, by cq_precision */

#define CQ_PRECISION_ROW(owner, field)                                                                                 \
  {                                                                                                                    \
    CQ_CHOICE(owner, "precision", field, CHANGES, CQ_PRECISION_DEFAULT, cq_precision_names, "TYPE",                    \
              "multiply in this precision"),                                                                           \
        .otherwise = "CALQUE_PRECISION, else the model's"                                                              \
  }

#endif
