/* The tables behind calque/options.h: how rows are written, and what is derived from them.
 *
 *   static const cq_option rows[] = {
 *       {TEXT(OWNER, "output", output, KEEPS, "DIR", "the trained model"), .letter = 'o', .flags = CQ_OPTION_REQUIRED},
 *       {NUMBER(OWNER, "lr", learning_rate, CHANGES, 2e-5, 0, 1, "X", "peak learning rate"), .flags = CQ_OPTION_ABOVE_MIN},
 *   };
 *   const cq_option_group cq_group_training = {.name = "training", CQ_ROWS(cq_training_options, rows), .check = check};
 *
 * A function that is given a struct begins with cq_options_take: a whole struct of this library's, in range. */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include "calque/options.h"

#define CQ_ROW(owner, kind, title, field, changes, value, text_of_help)                                                \
  .name = (title), .type = (kind), .offset = offsetof(owner, field), .effect = CQ_##changes##_RESULT,                  \
  .argument = (value), .help = (text_of_help)
#define CQ_FLAG(owner, title, field, changes, help) CQ_ROW(owner, CQ_OPTION_FLAG, title, field, changes, NULL, help)
#define CQ_YES_NO(owner, title, field, changes, value, help)                                                           \
  CQ_ROW(owner, CQ_OPTION_YES_NO, title, field, changes, "yes|no", help), .number = (value)
#define CQ_RANGED(owner, kind, title, field, changes, value, low, high, unit, help)                                    \
  CQ_ROW(owner, kind, title, field, changes, unit, help), .number = (value), .min = (low), .max = (high)
#define CQ_INT(owner, ...)    CQ_RANGED(owner, CQ_OPTION_INT, __VA_ARGS__)
#define CQ_SIZE(owner, ...)   CQ_RANGED(owner, CQ_OPTION_SIZE, __VA_ARGS__)
#define CQ_COUNT(owner, ...)  CQ_RANGED(owner, CQ_OPTION_COUNT, __VA_ARGS__)
#define CQ_NUMBER(owner, ...) CQ_RANGED(owner, CQ_OPTION_NUMBER, __VA_ARGS__)
#define CQ_CHOICE(owner, title, field, changes, value, names, unit, help)                                              \
  CQ_ROW(owner, CQ_OPTION_CHOICE, title, field, changes, unit, help), .number = (value), .choices = (names)
#define CQ_CHOICES(owner, title, field, changes, names, unit, help)                                                    \
  CQ_ROW(owner, CQ_OPTION_CHOICES, title, field, changes, unit, help), .choices = (names)
#define CQ_TEXT(owner, title, field, changes, unit, help)                                                              \
  CQ_ROW(owner, CQ_OPTION_TEXT, title, field, changes, unit, help)
#define CQ_SEVERAL(owner, kind, title, field, n, changes, unit, help)                                                  \
  CQ_ROW(owner, kind, title, field, changes, unit, help), .count_offset = offsetof(owner, n)
#define CQ_TEXTS(owner, ...)     CQ_SEVERAL(owner, CQ_OPTION_TEXTS, __VA_ARGS__)
#define CQ_DATA(owner, ...)      CQ_SEVERAL(owner, CQ_OPTION_DATA, __VA_ARGS__)
#define CQ_LANGUAGES(owner, ...) CQ_SEVERAL(owner, CQ_OPTION_LANGUAGES, __VA_ARGS__)

#define CQ_ROWS(owner, table)                                                                                          \
  .size = sizeof(owner), .row_size = sizeof *(table), .rows = (table), .n_rows = sizeof(table) / sizeof *(table)

/* The i-th of a group's own rows. */
static inline const cq_option *cq_group_row(const cq_option_group *group, size_t i) {
  return (const cq_option *)(const void *)((const char *)group->rows + i * group->row_size);
}

/* Sets a struct of the group to the defaults, and its pointers to groups within it to NULL. */
void cq_options_defaults(void *out, const cq_option_group *group);
/* *out, a struct of the group, receives what the caller gave (NULL: the defaults), checked. Errors: CQ_ERR_ARGUMENT for a
 * struct that was not initialised, that a newer library's caller uses options of which this one does not know, or that
 * has a value out of range. */
CQ_MUST_USE cq_status cq_options_take(void *out, const cq_option_group *group, const void *given, cq_error *error);
CQ_MUST_USE cq_status cq_options_check(const cq_option_group *group, const void *options, cq_error *error);

/* Told the name and the value as text; the value NULL: not set. False stops. */
typedef bool (*cq_option_fn)(void *context, const cq_option *row, const char *value);
/* Every value of a struct, those that are several one by one. Returns false when out of memory or stopped. */
bool cq_options_each(const cq_option_group *group, const void *options, cq_option_fn with, void *context);

#endif
