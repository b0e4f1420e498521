/* "ORG/NAME@REVISION", taken apart. */
#ifndef HUB_NAME_H
#define HUB_NAME_H

#include "calque/status.h"
#include "hub/hub_cache.h"

typedef struct cq_hub_name {
  char repository[CQ_HUB_NAME]; /* "ORG/NAME" or "NAME" */
  char revision[256];           /* "main" when there is none */
} cq_hub_name;

/* Whether a repository may have that name: at most one slash, letters, digits and -_. */
bool cq_hub_is_name(const char *name);

/* Errors: CQ_ERR_ARGUMENT for an invalid name or revision. */
CQ_MUST_USE cq_status cq_hub_name_parse(cq_hub_name *out, const char *text, cq_error *error);

#endif
