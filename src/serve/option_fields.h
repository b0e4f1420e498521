/* Fields of a request that are options of the library: what type they have, and what they mean, their rows say. */
#ifndef SERVE_OPTION_FIELDS_H
#define SERVE_OPTION_FIELDS_H

#include "serve/request.h"

#include "calque/options.h"

struct serve_field {
  const char *name, *row; /* in a request; in the group. A name of NULL ends a list */
  const cq_option_group *group;
  long min, max;            /* for a number: the part of the row's range that is served */
  const char *const *words; /* other names of the row's choices, in their order; NULL: none */
  const char *initial;      /* a default other than the row's; NULL: none */
};

/* Sets options from the query's arguments or the members of object; null and empty texts are ignored. False: the
 * request has failed. */
bool serve_set_fields(cq_options *out, serve_request *request, const serve_field *fields, const json_t *object);
/* "name":{schema}, from the row. */
void serve_put_field_schema(cq_builder *b, const serve_field *field);

#endif
