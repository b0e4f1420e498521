/** @file Options: plain structs in C, and options by name for command lines, files and other languages.
 *
 *      cq_distill_options o = cq_distill_default_options();             // C: the fields of calque/distill.h
 *      o.teacher = "all-MiniLM-L6-v2";
 *
 *      cq_options *o;                                                   // by name
 *      cq_options_new(&o, &cq_group_distill, &err);
 *      cq_options_set(o, "teacher", "all-MiniLM-L6-v2", &err);
 *      cq_options_set(o, "lr", "2e-3", &err);
 *      cq_distill(&result, cq_options_struct(o), ctx, &err);
 *      cq_options_free(o);
 *
 * The options of one function are a group: a table with a row for each option. Defaults, checks, help, JSON, names, and
 * whether a resumed run must have the same value all come from that row.
 *
 * Every option struct begins with its size, which its `..._default_options()` sets: a program built with an older
 * header passes a shorter struct, and options that it does not know have their defaults. A struct that was not
 * initialized is CQ_ERR_ARGUMENT; NULL means the defaults. A group within a group is a pointer to its struct.
 *
 * @threads Groups and rows are constants; a cq_options belongs to one thread at a time. */
#ifndef CALQUE_OPTIONS_H
#define CALQUE_OPTIONS_H

#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cq_option_type {
  CQ_OPTION_FLAG,    /**< bool; on a command line without a value */
  CQ_OPTION_YES_NO,  /**< bool, "yes" or "no" */
  CQ_OPTION_INT,     /**< int */
  CQ_OPTION_SIZE,    /**< size_t */
  CQ_OPTION_COUNT,   /**< uint64_t */
  CQ_OPTION_NUMBER,  /**< double */
  CQ_OPTION_CHOICE,  /**< an enum, whose values from 0 on are the choices */
  CQ_OPTION_CHOICES, /**< unsigned: bit i means choice i; text is split at commas */
  CQ_OPTION_TEXT,    /**< const char *; NULL: not set */
  CQ_OPTION_INTS,    /**< const int * and a size_t; may be set repeatedly, like the next two */
  CQ_OPTION_TEXTS,   /**< const char *const * and a size_t */
  CQ_OPTION_ITEMS,   /**< an array of the row's kind of struct, and a size_t */
} cq_option_type;

/** Whether an option changes the result and must therefore be the same when a run is resumed. */
typedef enum cq_option_effect { CQ_KEEPS_RESULT, CQ_CHANGES_RESULT } cq_option_effect;

enum {
  CQ_OPTION_REQUIRED = 1,
  CQ_OPTION_ABOVE_MIN = 2, /**< min itself is out of range */
  CQ_OPTION_BELOW_MAX = 4, /**< max itself is */
  CQ_OPTION_COMMAS = 8,    /**< several values: text is split at commas */
};

struct cq_builder;
/** Reads and writes structs as text, for CQ_OPTION_ITEMS. parse may change the text and keep pointers into it; its
 * messages begin with the option's name. @errors CQ_ERR_ARGUMENT. */
typedef struct cq_option_items {
  size_t size;
  cq_status (*parse)(void *item, const char *option, char *text, cq_error *error);
  void (*print)(struct cq_builder *out, const void *item);
} cq_option_items;

typedef struct cq_option {
  const char *name;     /**< "lr": on command lines, in JSON, in messages */
  const char *argument; /**< the value's name in help, with its unit: "PAIRS" */
  const char *help;
  const char *const *choices; /**< names, NULL-terminated */
  const char *text;           /**< the default of a text */
  const char *otherwise;      /**< text instead of the default in help: "the model's"; "": none */
  double number;              /**< any other default: a choice's index, a bool's 0 or 1 */
  double min, max;            /**< for numbers; both 0: any */
  size_t offset;              /**< of the value in the group's struct */
  size_t count_offset;        /**< of the count, if there are several values */
  cq_option_type type;
  cq_option_effect effect;
  unsigned flags;               /**< CQ_OPTION_REQUIRED ... */
  char letter;                  /**< of the short form; 0: none */
  const cq_option_items *items; /**< of CQ_OPTION_ITEMS */
} cq_option;

typedef struct cq_option_group cq_option_group;
typedef struct cq_options cq_options;

static inline bool cq_option_is_several(const cq_option *row) {
  return row->type >= CQ_OPTION_INTS || row->type == CQ_OPTION_CHOICES;
}

/** Text instead of a row's default in help. */
typedef struct cq_option_note {
  const char *name, *otherwise;
} cq_option_note;

/** A group within a group: the offset of the pointer to its struct, and the differences from its own defaults. */
typedef struct cq_option_part {
  const cq_option_group *group;
  size_t offset;
  void (*defaults)(void *options); /**< sets what differs; NULL: nothing does */
  /** Rows that are not options of the owner, and groups within the part that are left NULL; NULL-terminated. NULL:
   * none */
  const char *const *left_out;
  const cq_option_note *notes; /**< up to one without a name; NULL: none */
} cq_option_part;

/** A field without a text form, and therefore without a row: a callback or its context. */
typedef struct cq_option_field {
  const char *name; /**< "progress" */
  size_t offset;    /**< of a pointer */
} cq_option_field;

struct cq_option_group {
  const char *name;
  size_t size, row_size; /**< of the struct, of a row */
  const cq_option *rows;
  size_t n_rows;
  const cq_option_part *parts;
  size_t n_parts;
  /** Checks beyond single rows, called when all rows are in range. NULL: none. */
  cq_status (*check)(const void *options, cq_error *error);
  void (*defaults)(void *options); /**< other defaults than the rows'; NULL: none */
  const cq_option_field *fields;
  size_t n_fields;
  /** Sets options that depend on others, or on fields, and were not set by name; called each time an option is set, and
   * before the checks. Such a group must also check its parts itself. NULL: no option depends on others. */
  void (*choose)(void *options, const cq_options *named);
};

/** The library's groups: "distill", "encode", "words", ... NULL for an unknown name, or beyond the last. */
CQ_API const cq_option_group *cq_option_group_find(const char *name);
CQ_API const cq_option_group *cq_option_group_at(size_t i);

/** Sets a struct [size] to its group's defaults or, with an owner, to those of the owner's part. The inline
 * `cq_..._default_options()` of each header call it. */
CQ_API void cq_options_init(void *options, size_t size, const cq_option_group *group, const cq_option_group *owner);
#define CQ_DEFAULT_OPTIONS(type, function, group)                                                                      \
  CQ_API extern const cq_option_group cq_group_##group;                                                                \
  static inline type function(void) {                                                                                  \
    type options;                                                                                                      \
    cq_options_init(&options, sizeof options, &cq_group_##group, NULL);                                                \
    return options;                                                                                                    \
  }
#define CQ_DEFAULT_PART(type, function, owner, group)                                                                  \
  CQ_API extern const cq_option_group cq_group_##owner, cq_group_##group;                                              \
  static inline type function(void) {                                                                                  \
    type options;                                                                                                      \
    cq_options_init(&options, sizeof options, &cq_group_##group, &cq_group_##owner);                                   \
    return options;                                                                                                    \
  }

/** @name By name */

/** A struct of the group, and of the groups within it, with their defaults. @errors CQ_ERR_ARGUMENT for NULL as a
 * group; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_options_new(cq_options **out, const cq_option_group *group, cq_error *error);
CQ_API void cq_options_free(cq_options *options);

/** Sets an option from text, which is copied; a list gets one more value, or several separated by commas. @errors
 * CQ_ERR_ARGUMENT for an unknown name (the message has the closest one), and for a value of the wrong type or out of
 * range; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_options_set(cq_options *options, const char *name, const char *value, cq_error *error);
/** Whether it was set, whatever its value. */
CQ_API bool cq_options_is_set(const cq_options *options, const char *name);
/** An option's value as text, in the format of cq_options_set(): the i-th value of a list; NULL beyond the last one,
 * and for a text that is not set. `*out` is released with cq_free(). @errors CQ_ERR_ARGUMENT for an unknown name;
 * CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_options_get(char **out, const cq_options *options, const char *name, size_t i,
                                            cq_error *error);
/** Checks the options like the function that takes the struct; first, what depends on fields is chosen. @errors
 * CQ_ERR_ARGUMENT. */
CQ_API CQ_MUST_USE cq_status cq_options_check(const cq_options *options, cq_error *error);
/** All values as a JSON object, released with cq_free(). @errors CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_options_json(char **out, const cq_options *options, cq_error *error);

/** The struct for the function that takes it, valid as long as the options. Changes to it also affect access by
 * name. */
CQ_API void *cq_options_struct(cq_options *options);

/** The address of a field without a row (a pointer), in the struct or in that of a group within it; NULL: no field has
 * that name. For bindings that do not know the struct. */
CQ_API void *cq_options_field(cq_options *options, const char *name);

/** All rows, with those of groups within the group after its own; NULL beyond the last. */
CQ_API const cq_option *cq_options_row(const cq_options *options, size_t i);

/** The closest of n names to a misspelled word; NULL if none is close. */
CQ_API const char *cq_nearest_name(const char *word, const char *(*name)(const void *context, size_t i),
                                   const void *context, size_t n);

/** @name Writing tables
 *
 *      static const cq_option rows[] = {
 *          {CQ_TEXT(struct args, "output", output, KEEPS, "DIR", "the trained model"), .letter = 'o'},
 *          {CQ_NUMBER(struct args, "lr", learning_rate, CHANGES, 2e-5, 0, 1, "RATE", "peak learning rate")},
 *      };
 *      const cq_option_group group = {.name = "thing", CQ_ROWS(struct args, rows)}; */

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
  CQ_ROW(owner, CQ_OPTION_CHOICES, title, field, changes, unit, help), .choices = (names), .flags = CQ_OPTION_COMMAS
#define CQ_TEXT(owner, title, field, changes, unit, help)                                                              \
  CQ_ROW(owner, CQ_OPTION_TEXT, title, field, changes, unit, help)
#define CQ_SEVERAL(owner, kind, title, field, n, changes, unit, help)                                                  \
  CQ_ROW(owner, kind, title, field, changes, unit, help), .count_offset = offsetof(owner, n)
#define CQ_INTS(owner, title, field, n, changes, low, high, unit, help)                                                \
  CQ_SEVERAL(owner, CQ_OPTION_INTS, title, field, n, changes, unit, help), .min = (low), .max = (high)
#define CQ_TEXTS(owner, ...) CQ_SEVERAL(owner, CQ_OPTION_TEXTS, __VA_ARGS__)
#define CQ_ITEMS(owner, kind, title, field, n, changes, unit, help)                                                    \
  CQ_SEVERAL(owner, CQ_OPTION_ITEMS, title, field, n, changes, unit, help), .items = (kind)

/** A group's fields without rows: CQ_FIELDS(CQ_FIELD(struct args, model), CQ_CALLBACK(struct args, progress)). */
#define CQ_FIELD(owner, field)                                                                                         \
  { #field, offsetof(owner, field) }
#define CQ_FIELDS(...)                                                                                                 \
  .fields = (const cq_option_field[]){__VA_ARGS__},                                                                    \
  .n_fields = sizeof((const cq_option_field[]){__VA_ARGS__}) / sizeof(cq_option_field)
/** A callback and its context. */
#define CQ_CALLBACK(owner, field) CQ_FIELD(owner, field), CQ_FIELD(owner, field##_context)

#define CQ_ROWS(owner, table)                                                                                          \
  .size = sizeof(owner), .row_size = sizeof *(table), .rows = (table), .n_rows = sizeof(table) / sizeof *(table)

#ifdef __cplusplus
}
#endif
#endif
