/* Functions derived from the tables of calque/options.h.
 *
 * A function with a struct of options begins with cq_options_take, which gives it a complete struct of this library's
 * size, with all values in range. A group is defined beside its function as `const cq_option_group cq_group_NAME`, and
 * declared by its public header. */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include "calque/options.h"

/* The i-th of a group's own rows. */
static inline const cq_option *cq_group_row(const cq_option_group *group, size_t i) {
  return (const cq_option *)(const void *)((const char *)group->rows + i * group->row_size);
}

/* Sets a struct of the group to the defaults, and its pointers to groups within it to NULL. */
void cq_options_defaults(void *out, const cq_option_group *group);
/* Copies the caller's struct (NULL: the defaults) to *out and checks it. Errors: CQ_ERR_ARGUMENT if the struct is not
 * initialized, sets options of a newer library that this one does not know, or has a value out of range. */
CQ_MUST_USE cq_status cq_options_take(void *out, const cq_option_group *group, const void *given, cq_error *error);
/* The same without checks, for owners that fill in the rest. */
CQ_MUST_USE cq_status cq_options_copy(void *out, const cq_option_group *group, const void *given, cq_error *error);
/* Sets an option that has a single value other than text. Errors: CQ_ERR_ARGUMENT as cq_options_set. */
CQ_MUST_USE cq_status cq_group_set(const cq_option_group *group, void *options, const char *name, const char *value,
                                   cq_error *error);
/* The same for a group within a group, from its owner's struct: a NULL pointer there means the part's defaults. */
CQ_MUST_USE cq_status cq_options_take_part(void *out, const cq_option_part *part, const void *owner, cq_error *error);
CQ_MUST_USE cq_status cq_group_check(const cq_option_group *group, const void *options, cq_error *error);

/* The '=' after the label of "[LABEL=]FILE"; NULL: no label, or a file with the whole name exists. */
char *cq_option_label_end(char *text);
/* As few digits as read back as the same number. */
void cq_print_number(char out[32], double x);

/* Rows that several groups have. */
#define CQ_SKIP_BAD_ROW(owner, effect)                                                                                 \
  {                                                                                                                    \
    CQ_FLAG(owner, "skip-bad", skip_bad, effect,                                                                       \
            "count malformed lines and continue, instead of failing at the first")                                     \
  }
#define CQ_REPLACE_ROW(owner)                                                                                          \
  { CQ_FLAG(owner, "replace", replace, KEEPS, "overwrite an existing directory") }
#define CQ_SEED_ROW(owner, value)                                                                                      \
  { CQ_COUNT(owner, "seed", seed, CHANGES, value, 0, 0, "N", "seed of the random numbers") }
#define CQ_TOP_ROW(owner, max)                                                                                         \
  { CQ_SIZE(owner, "top", k, CHANGES, 10, 1, max, "N", "documents for each query"), .letter = 'k' }
#define CQ_PROMPT_ROW(owner)                                                                                           \
  { CQ_TEXT(owner, "prompt", prompt, CHANGES, "TEXT", "put this before every sentence"), .otherwise = "the model's" }

/* Called with an option and its value as text (NULL: not set). Returning false stops. */
typedef bool (*cq_option_fn)(void *context, const cq_option *row, const char *value);
/* Calls `with` for every value of a struct, once per element of a list. Returns false when out of memory or stopped. */
bool cq_options_each(const cq_option_group *group, const void *options, cq_option_fn with, void *context);

#endif
