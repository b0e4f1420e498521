/* Fields of a request that are library options: their rows define type and meaning. */
#ifndef SERVE_OPTION_FIELDS_H
#define SERVE_OPTION_FIELDS_H

#include "serve/request.h"

#include "calque/options.h"

struct serve_field {
  const char *name, *row; /* name in a request; name in the group. A NULL name ends a list */
  const cq_option_group *group;
  long min, max; /* for a number: the allowed part of the row's range */
};

/* Sets options from the query's arguments or the members of object; null and empty texts are ignored. False: the
 * request has failed. */
bool serve_set_fields(cq_options *out, serve_request *request, const serve_field *fields, const json_t *object);
/* "name":{schema}, from the row. */
void serve_put_field_schema(cq_builder *b, const serve_field *field);

#endif
