/* JSON files through jansson, with errors that name the file and the place. */
#ifndef FORMAT_JSON_H
#define FORMAT_JSON_H

#include "base/slice.h"
#include "calque/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Reads a file whose root is an object or array. Integers past 64 bits come as real numbers; strings may hold NUL.
 * Errors: CQ_ERR_IO; CQ_ERR_FORMAT with the line. Release with json_decref. */
CQ_MUST_USE cq_status cq_json_read(json_t **out, const char *path, cq_error *error);
/* The same from memory; path is what errors call it. */
CQ_MUST_USE cq_status cq_json_parse(json_t **out, cq_slice text, const char *path, cq_error *error);

/* Writes indented by two, keys in insertion order, real numbers as short as exactness allows, atomically. */
CQ_MUST_USE cq_status cq_json_write(const json_t *json, const char *path, cq_error *error);
/* The same to directory/name, and the end of json: it is released. NULL is the CQ_ERR_MEMORY of whoever made it. */
CQ_MUST_USE cq_status cq_json_save(json_t *json, const char *directory, const char *name, cq_error *error);
/* The same text appended to a builder, without a newline at the end; indent < 0: all on one line. */
void cq_json_append(cq_builder *out, const json_t *json, int indent);

/* Typed members of an object. A missing key or null leaves *out alone and is CQ_OK; a value of another type, or a
 * number outside [min, max], is CQ_ERR_FORMAT naming file, key and what was expected. */
CQ_MUST_USE cq_status cq_json_get_int(int64_t *out, const json_t *object, const char *key, int64_t min, int64_t max,
                                      const char *path, cq_error *error);
CQ_MUST_USE cq_status cq_json_get_number(double *out, const json_t *object, const char *key, const char *path,
                                         cq_error *error);
CQ_MUST_USE cq_status cq_json_get_bool(bool *out, const json_t *object, const char *key, const char *path,
                                       cq_error *error);
/* The string is borrowed from the object; one that holds a NUL character is CQ_ERR_FORMAT. */
CQ_MUST_USE cq_status cq_json_get_string(const char **out, const json_t *object, const char *key, const char *path,
                                         cq_error *error);

#endif
