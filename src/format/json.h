/* JSON files through Jansson, with errors that name the file and the place. */
#ifndef FORMAT_JSON_H
#define FORMAT_JSON_H

#include "base/slice.h"
#include "calque/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Reads a file whose root is an object or array. Integers beyond 64 bits become real numbers; strings may contain NUL.
 * Errors: CQ_ERR_IO; CQ_ERR_FORMAT with the line. Release with json_decref. */
CQ_MUST_USE cq_status cq_json_read(json_t **out, const char *path, cq_error *error);
/* The same for a root that must be an object, of directory/name; path [size] receives its path, for later errors. */
CQ_MUST_USE cq_status cq_json_open(json_t **out, char *path, size_t size, const char *directory, const char *name,
                                   cq_error *error);
/* The same from memory; path is its name in errors. */
CQ_MUST_USE cq_status cq_json_parse(json_t **out, cq_slice text, const char *path, cq_error *error);

/* The same from memory with Jansson's flags, for callers that word their errors themselves: CQ_ERR_MEMORY, or
 * CQ_ERR_FORMAT described by *problem. Do not use Jansson's own loaders: they do not survive exhausted memory. */
#define CQ_JSON_LENIENT ((size_t)1 << 30) /* a flag of ours: see cq_json_mend, as_text */
CQ_MUST_USE cq_status cq_json_load(json_t **out, cq_slice text, size_t flags, json_error_t *problem);

/* Writes the file atomically, indented by two, keys in insertion order, real numbers in their shortest exact form. */
CQ_MUST_USE cq_status cq_json_write(const json_t *json, const char *path, cq_error *error);
/* The same to directory/name; releases json. json NULL: CQ_ERR_MEMORY, because building it failed. */
CQ_MUST_USE cq_status cq_json_save(json_t *json, const char *directory, const char *name, cq_error *error);
/* Jansson's json_dumps, to be released with cq_free; NULL: out of memory (Jansson's own may then be incomplete). */
char *cq_json_dump(const json_t *json, size_t flags);
/* The text of cq_json_write appended to a builder, without a newline at the end; indent < 0: all on one line. */
void cq_json_append(cq_builder *out, const json_t *json, int indent);

/* --- building: when out of memory, a value is NULL, and so is any container that it is put into, so nothing is
 * silently left out. Only the final result needs a check: by cq_json_save, or by a caller that finds NULL. Do not use
 * Jansson's own functions for this: their errors are easily overlooked. --- */

/* Puts value into an object, or at the end of a list, and takes ownership of it. When either is NULL or memory runs
 * out, *object is released and set to NULL. */
void cq_json_set(json_t **object, const char *key, json_t *value);
void cq_json_push(json_t **list, json_t *value);
/* Puts all members of another object into it, in the same way. */
void cq_json_update(json_t **object, json_t *more);
/* A shallow and a deep copy. (Jansson's own copies may lack members when memory is short.) */
json_t *cq_json_copy(const json_t *json);
json_t *cq_json_deep_copy(const json_t *json);

/* Whether an object has a member that is not null. */
bool cq_json_has(const json_t *object, const char *key);
/* Typed members of an object. A missing key or null leaves *out unchanged and is CQ_OK; a value of another type, or a
 * number outside [min, max], is CQ_ERR_FORMAT naming file, key and what was expected. */
CQ_MUST_USE cq_status cq_json_get_int(int64_t *out, const json_t *object, const char *key, int64_t min, int64_t max,
                                      const char *path, cq_error *error);
CQ_MUST_USE cq_status cq_json_get_number(double *out, const json_t *object, const char *key, const char *path,
                                         cq_error *error);
CQ_MUST_USE cq_status cq_json_get_bool(bool *out, const json_t *object, const char *key, const char *path,
                                       cq_error *error);
/* The string is borrowed from the object; a string with a NUL character is CQ_ERR_FORMAT. */
CQ_MUST_USE cq_status cq_json_get_string(const char **out, const json_t *object, const char *key, const char *path,
                                         cq_error *error);

#endif
