/* Options by name and as structs: everything that a group's table of rows describes is done here.
 *
 *   text ──▶ parse, in range ──▶ struct ──▶ check ──▶ the library's function
 *                                  │
 *                                  └──▶ text again: help, JSON, the identity of a run
 *
 * cq_options holds the structs of a group and of the groups within it, and one list of all rows that can be set. The
 * list lacks rows that an owner leaves out; a row with a note is a copy. */
#include "base/options.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/slice.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const yes_no[] = {"no", "yes", NULL};

/* --- values in a struct --- */

static void *row_place(const cq_option *row, void *options) {
  return (char *)options + row->offset;
}

static const void *value_of(const cq_option *row, const void *options) {
  return (const char *)options + row->offset;
}

static size_t n_choices(const cq_option *row) {
  size_t n = 0;
  while (row->choices[n]) n++;
  return n;
}

/* A value that is a number, or the index of a name. */
static double row_number(const cq_option *row, const void *options) {
  const void *value = value_of(row, options);
  switch (row->type) {
  case CQ_OPTION_FLAG:
  case CQ_OPTION_YES_NO: return *(const bool *)value;
  case CQ_OPTION_INT:
  case CQ_OPTION_CHOICE: return *(const int *)value;
  case CQ_OPTION_CHOICES: return *(const unsigned *)value;
  case CQ_OPTION_SIZE: return (double)*(const size_t *)value;
  case CQ_OPTION_COUNT: return (double)*(const uint64_t *)value;
  case CQ_OPTION_NUMBER: return *(const double *)value;
  default: return 0;
  }
}

static void set_number(const cq_option *row, void *options, double x) {
  void *place = row_place(row, options);
  switch (row->type) {
  case CQ_OPTION_FLAG:
  case CQ_OPTION_YES_NO: *(bool *)place = x != 0; break;
  case CQ_OPTION_INT:
  case CQ_OPTION_CHOICE: *(int *)place = (int)x; break;
  case CQ_OPTION_CHOICES: *(unsigned *)place = (unsigned)x; break;
  case CQ_OPTION_SIZE: *(size_t *)place = (size_t)x; break;
  case CQ_OPTION_COUNT: *(uint64_t *)place = (uint64_t)x; break;
  case CQ_OPTION_NUMBER: *(double *)place = x; break;
  default: break;
  }
}

void cq_options_defaults(void *out, const cq_option_group *group) {
  memset(out, 0, group->size);
  *(size_t *)out = group->size;
  for (size_t i = 0; i < group->n_rows; i++) {
    const cq_option *row = cq_group_row(group, i);
    if (row->type == CQ_OPTION_TEXT)
      *(const char **)row_place(row, out) = row->text;
    else
      set_number(row, out, row->number);
  }
  if (group->defaults) group->defaults(out);
}

/* --- checks --- */

static bool in_range(const cq_option *row, double x) {
  const bool below = row->max == 0 || (row->flags & CQ_OPTION_BELOW_MAX ? x < row->max : x <= row->max);
  return below && (row->flags & CQ_OPTION_ABOVE_MIN ? x > row->min : x >= row->min);
}

static cq_status fail_range(const cq_option *row, const char *value, cq_error *error) {
  const char *from = row->flags & CQ_OPTION_ABOVE_MIN ? "more than" : "at least",
             *to = row->flags & CQ_OPTION_BELOW_MAX ? "less than" : "at most";
  if (row->max == 0 || isinf(row->max))
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s is %s, expected %s %.10g", row->name, value, from, row->min);
  if (!(row->flags & (CQ_OPTION_ABOVE_MIN | CQ_OPTION_BELOW_MAX)))
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s is %s, expected %.10g to %.10g", row->name, value, row->min, row->max);
  return cq_fail(error, CQ_ERR_ARGUMENT, "%s is %s, expected %s %.10g and %s %.10g", row->name, value, from, row->min,
                 to, row->max);
}

static cq_status fail_number(const cq_option *row, double x, cq_error *error) {
  char text[32];
  cq_snprintf(text, sizeof text, "%.10g", x);
  return fail_range(row, text, error);
}

static cq_status fail_missing(const cq_option *row, cq_error *error) {
  return cq_fail(error, CQ_ERR_ARGUMENT, "%s is missing", row->name);
}

static size_t n_items(const cq_option *row, const void *options) {
  return *(const size_t *)(const void *)((const char *)options + row->count_offset);
}

static cq_status check_row(const cq_option *row, const void *options, cq_error *error) {
  const double x = row_number(row, options);
  const bool required = row->flags & CQ_OPTION_REQUIRED;
  const int *ints;
  switch (row->type) {
  case CQ_OPTION_CHOICE:
    if (x >= 0 && x < (double)n_choices(row)) return CQ_OK;
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s is %g, expected 0 to %zu", row->name, x, n_choices(row) - 1);
  case CQ_OPTION_INT:
  case CQ_OPTION_SIZE:
  case CQ_OPTION_COUNT:
  case CQ_OPTION_NUMBER: return in_range(row, x) ? CQ_OK : fail_number(row, x, error);
  case CQ_OPTION_INTS:
    ints = *(const int *const *)value_of(row, options);
    for (size_t i = 0; i < n_items(row, options); i++)
      if (!in_range(row, ints[i])) return fail_number(row, ints[i], error);
    return CQ_OK;
  case CQ_OPTION_TEXT:
    return required && !*(const char *const *)value_of(row, options) ? fail_missing(row, error) : CQ_OK;
  case CQ_OPTION_TEXTS: return required && n_items(row, options) == 0 ? fail_missing(row, error) : CQ_OK;
  default: return CQ_OK;
  }
}

cq_status cq_group_check(const cq_option_group *group, const void *options, cq_error *error) {
  for (size_t i = 0; i < group->n_rows; i++) {
    const cq_status status = check_row(cq_group_row(group, i), options, error);
    if (status) return status;
  }
  return group->check ? group->check(options, error) : CQ_OK;
}

cq_status cq_options_copy(void *out, const cq_option_group *group, const void *given, cq_error *error) {
  cq_options_defaults(out, group);
  if (!given) return CQ_OK;
  const size_t size = *(const size_t *)given;
  if (size < sizeof size || size > (size_t)1 << 16)
    return cq_fail(error, CQ_ERR_ARGUMENT, "the %s options were not initialized with their defaults", group->name);
  for (size_t i = group->size; i < size; i++)
    if (((const char *)given)[i])
      return cq_fail(error, CQ_ERR_ARGUMENT,
                     "the %s options are from a later version of calque and use what this version does not have",
                     group->name);
  memcpy(out, given, size < group->size ? size : group->size);
  *(size_t *)out = group->size;
  return CQ_OK;
}

cq_status cq_options_take(void *out, const cq_option_group *group, const void *given, cq_error *error) {
  const cq_status status = cq_options_copy(out, group, given, error);
  return status ? status : cq_group_check(group, out, error); /* required options have no default */
}

cq_status cq_options_take_part(void *out, const cq_option_part *part, const void *owner, cq_error *error) {
  const void *given = *(const void *const *)(const void *)((const char *)owner + part->offset);
  if (given) return cq_options_take(out, part->group, given, error);
  cq_options_defaults(out, part->group);
  if (part->defaults) part->defaults(out);
  return CQ_OK;
}

/* --- text to values --- */

static bool parse_int(int *out, const char *text) {
  uint64_t magnitude;
  const bool negative = text[0] == '-';
  if (!cq_parse_count(&magnitude, text + negative) || magnitude > INT_MAX) return false;
  *out = negative ? -(int)magnitude : (int)magnitude;
  return true;
}

static const char *choice_name(const void *choices, size_t i) {
  return ((const char *const *)choices)[i];
}

static cq_status parse_choice_name(size_t *out, const char *name, const char *const *choices, const char *text,
                                   cq_error *error) {
  size_t n = 0;
  char names[512] = "";
  for (; choices[n]; n++) {
    if (!strcmp(choices[n], text)) {
      *out = n;
      return CQ_OK;
    }
    cq_list_name(names, sizeof names, choices[n]);
  }
  const char *near = cq_nearest_name(text, choice_name, choices, n);
  if (near)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s is '%s', did you mean '%s'? (one of %s)", name, text, near, names);
  return cq_fail(error, CQ_ERR_ARGUMENT, "%s is '%s', expected one of %s", name, text, names);
}

static cq_status fail_parse(const cq_option *row, const char *text, cq_error *error) {
  return cq_fail(error, CQ_ERR_ARGUMENT, "%s is '%s', expected a %snumber", row->name, text,
                 row->type == CQ_OPTION_NUMBER ? "" : "whole ");
}

/* A row's number from text, in range. */
static cq_status parse_ranged(const cq_option *row, void *options, const char *text, cq_error *error) {
  bool parsed = false;
  double x = 0;
  int whole;
  uint64_t count;
  if (row->type == CQ_OPTION_NUMBER) {
    parsed = cq_slice_number(&x, cq_slice_of(text));
  } else if (row->type == CQ_OPTION_INT) {
    parsed = parse_int(&whole, text);
    if (parsed) x = whole;
  } else {
    parsed = cq_parse_count(&count, text);
    if (parsed) x = (double)count;
  }
  if (!parsed) return fail_parse(row, text, error);
  if (!in_range(row, x)) return fail_range(row, text, error);
  set_number(row, options, x);
  if (row->type == CQ_OPTION_COUNT) *(uint64_t *)row_place(row, options) = count; /* doubles have 53 bits */
  return CQ_OK;
}

char *cq_option_label_end(char *text) {
  char *equals = strchr(text, '=');
  return equals && equals != text && access(text, F_OK) != 0 ? equals : NULL;
}

static size_t item_size(const cq_option *row) {
  return row->type == CQ_OPTION_INTS    ? sizeof(int)
         : row->type == CQ_OPTION_TEXTS ? sizeof(const char *)
                                        : row->items->size;
}

/* Appends a value to a list; the old array stays in the arena. */
static cq_status parse_item(const cq_option *row, void *options, char *text, cq_arena *arena, cq_error *error) {
  size_t *n = (size_t *)(void *)((char *)options + row->count_offset);
  void **items = row_place(row, options);
  const size_t size = item_size(row);
  char *grown = cq_arena_alloc(arena, (*n + 1) * size);
  if (!grown) return cq_fail_memory(error, row->name);
  if (*n) memcpy(grown, *items, *n * size);
  void *last = grown + *n * size;
  cq_status status = CQ_OK;
  if (row->type == CQ_OPTION_INTS && !parse_int(last, text))
    status = fail_parse(row, text, error);
  else if (row->type == CQ_OPTION_INTS)
    status = in_range(row, *(int *)last) ? CQ_OK : fail_range(row, text, error);
  else if (row->type == CQ_OPTION_TEXTS)
    *(const char **)last = text;
  else
    status = row->items->parse(last, row->name, text, error);
  if (status) return status;
  *items = grown;
  ++*n;
  return CQ_OK;
}

static cq_status parse_choices(const cq_option *row, void *options, const char *value, cq_error *error) {
  for (const char *at = value;; at++) {
    char name[64];
    size_t choice;
    const size_t n = strcspn(at, ",");
    const cq_status status =
        parse_choice_name(&choice, row->name, row->choices, cq_slice_copy(name, sizeof name, (cq_slice){at, n}), error);
    if (status) return status;
    *(unsigned *)row_place(row, options) |= 1u << choice;
    at += n;
    if (!*at) return CQ_OK;
  }
}

static cq_status parse_option_value(const cq_option *row, void *options, const char *value, cq_arena *arena,
                                    cq_error *error) {
  size_t choice = 0;
  cq_status status = CQ_OK;
  char *copy = NULL;
  switch (row->type) {
  case CQ_OPTION_INT:
  case CQ_OPTION_SIZE:
  case CQ_OPTION_COUNT:
  case CQ_OPTION_NUMBER: return parse_ranged(row, options, value, error);
  case CQ_OPTION_FLAG:
  case CQ_OPTION_YES_NO:
    status = parse_choice_name(&choice, row->name, yes_no, value, error);
    if (!status) set_number(row, options, (double)choice);
    return status;
  case CQ_OPTION_CHOICE:
    status = parse_choice_name(&choice, row->name, row->choices, value, error);
    if (!status) *(int *)row_place(row, options) = (int)choice;
    return status;
  case CQ_OPTION_CHOICES: return parse_choices(row, options, value, error);
  default:
    copy = cq_arena_strdup(arena, value);
    if (!copy) return cq_fail_memory(error, row->name);
    if (row->type == CQ_OPTION_TEXT)
      *(const char **)row_place(row, options) = copy;
    else if (row->flags & CQ_OPTION_COMMAS)
      for (char *item; !status && (item = strsep(&copy, ","));) status = parse_item(row, options, item, arena, error);
    else
      status = parse_item(row, options, copy, arena, error);
    return status;
  }
}

cq_status cq_group_set(const cq_option_group *group, void *options, const char *name, const char *value,
                       cq_error *error) {
  for (size_t i = 0; i < group->n_rows; i++) {
    const cq_option *row = cq_group_row(group, i);
    if (strcmp(row->name, name) != 0) continue;
    assert(row->type < CQ_OPTION_TEXT); /* nothing here owns a text */
    return parse_option_value(row, options, value, NULL, error);
  }
  return cq_fail(error, CQ_ERR_ARGUMENT, "unknown option %s", name);
}

/* --- values to text --- */

/* Prints the fewest digits that read back as the same number. */
void cq_print_number(char out[32], double x) {
  for (int digits = 6; digits <= 17; digits++) {
    cq_snprintf(out, 32, "%.*g", digits, x);
    if (cq_strtod(out, NULL) == x) return;
  }
}

static void add_item(cq_builder *b, const cq_option *row, const void *options, size_t i) {
  const void *items = *(const void *const *)value_of(row, options);
  if (row->type == CQ_OPTION_INTS) {
    cq_builder_printf(b, "%d", ((const int *)items)[i]);
  } else if (row->type == CQ_OPTION_TEXTS) {
    cq_builder_text(b, ((const char *const *)items)[i]);
  } else {
    row->items->print(b, (const char *)items + i * row->items->size);
  }
}

/* The i-th value as text, counted from 0; false when there is none. */
static bool print_option_value(cq_builder *b, const cq_option *row, const void *options, size_t i) {
  const void *value = value_of(row, options);
  char number[32];
  switch (row->type) {
  case CQ_OPTION_TEXT:
    if (i || !*(const char *const *)value) return false;
    cq_builder_text(b, *(const char *const *)value);
    return true;
  case CQ_OPTION_INTS:
  case CQ_OPTION_TEXTS:
  case CQ_OPTION_ITEMS:
    if (i >= n_items(row, options)) return false;
    add_item(b, row, options, i);
    return true;
  case CQ_OPTION_CHOICES:
    for (size_t c = 0; row->choices[c]; c++)
      if (*(const unsigned *)value & 1u << c && i-- == 0) {
        cq_builder_text(b, row->choices[c]);
        return true;
      }
    return false;
  default: break;
  }
  if (i) return false;
  if (row->type == CQ_OPTION_CHOICE) {
    const int choice = *(const int *)value;
    cq_builder_text(b, choice >= 0 && (size_t)choice < n_choices(row) ? row->choices[choice] : "?");
  } else if (row->type == CQ_OPTION_FLAG || row->type == CQ_OPTION_YES_NO) {
    cq_builder_text(b, yes_no[*(const bool *)value]);
  } else if (row->type == CQ_OPTION_COUNT) {
    cq_builder_printf(b, "%llu", (unsigned long long)*(const uint64_t *)value);
  } else if (row->type != CQ_OPTION_NUMBER) {
    cq_builder_printf(b, "%.0f", row_number(row, options));
  } else {
    cq_print_number(number, row_number(row, options));
    cq_builder_text(b, number);
  }
  return true;
}

bool cq_options_each(const cq_option_group *group, const void *options, cq_option_fn with, void *context) {
  cq_builder b = {0};
  bool going = true;
  for (size_t r = 0; going && r < group->n_rows; r++) {
    const cq_option *row = cq_group_row(group, r);
    size_t i = 0;
    for (;; i++) {
      cq_builder_clear(&b);
      cq_builder_text(&b, "");
      if (!print_option_value(&b, row, options, i)) break;
      going = !b.failed && with(context, row, b.data);
      if (!going) break;
    }
    if (going && i == 0) going = with(context, row, NULL);
  }
  cq_builder_free(&b);
  return going;
}

/* --- by name --- */

/* A group's struct. */
typedef struct level {
  const cq_option_group *group;
  void *options;
  bool by_owner; /* who checks it */
} level;

/* An option: its row, which may be a changed copy, and the owner of its value. */
typedef struct named_row {
  const cq_option *row;
  void *options;
  bool set;
} named_row;

enum { MAX_LEVELS = 16, MAX_ROWS = 256 };

struct cq_options {
  cq_arena arena; /* structs and the text in them */
  level levels[MAX_LEVELS];
  size_t n_levels, n_rows;
  named_row rows[MAX_ROWS];
};

/* A part, and those that it lies in. */
typedef struct place {
  const cq_option_part *part;
  const struct place *above;
} place;

static bool is_left_out(const place *p, const char *name) {
  for (; p; p = p->above)
    for (const char *const *n = p->part->left_out; n && *n; n++)
      if (!strcmp(*n, name)) return true;
  return false;
}

static const char *find_note(const place *p, const char *name) {
  for (; p; p = p->above)
    for (const cq_option_note *note = p->part->notes; note && note->name; note++)
      if (!strcmp(note->name, name)) return note->otherwise;
  return NULL;
}

static size_t find_option_row(const cq_options *o, const char *name) {
  size_t i = 0;
  while (i < o->n_rows && strcmp(o->rows[i].row->name, name) != 0) i++;
  return i;
}

static cq_status add_rows(cq_options *o, const level *l, const place *at, cq_error *error) {
  for (size_t i = 0; i < l->group->n_rows; i++) {
    const cq_option *row = cq_group_row(l->group, i);
    const char *note = find_note(at, row->name);
    if (is_left_out(at, row->name)) continue;
    if (note) {
      cq_option *copy = cq_arena_alloc(&o->arena, sizeof *copy);
      if (!copy) return cq_fail_memory(error, row->name);
      *copy = *row, copy->otherwise = note;
      row = copy;
    }
    assert(o->n_rows < MAX_ROWS && find_option_row(o, row->name) == o->n_rows); /* groups are the program's own */
    o->rows[o->n_rows++] = (named_row){row, l->options, false};
  }
  return CQ_OK;
}

static cq_status add_level(cq_options *o, void **out, const cq_option_group *group, const place *at, bool by_owner,
                           cq_error *error) {
  void *options = cq_arena_alloc(&o->arena, group->size);
  if (!options) return cq_fail_memory(error, group->name);
  assert(o->n_levels < MAX_LEVELS);
  level *l = &o->levels[o->n_levels++];
  *l = (level){group, options, by_owner};
  cq_options_defaults(options, group);
  *out = options;
  cq_status status = add_rows(o, l, at, error);
  for (size_t i = 0; !status && i < group->n_parts; i++) {
    const cq_option_part *part = &group->parts[i];
    const place below = {part, at};
    void **pointer = (void **)(void *)((char *)options + part->offset);
    if (is_left_out(&below, part->group->name)) continue;
    status = add_level(o, pointer, part->group, &below, by_owner || group->choose, error);
    if (!status && part->defaults) part->defaults(*pointer);
  }
  return status;
}

static void choose_dependent(const cq_options *o) {
  for (const level *l = o->levels; l < o->levels + o->n_levels; l++)
    if (l->group->choose) l->group->choose(l->options, o);
}

cq_status cq_options_new(cq_options **out, const cq_option_group *group, cq_error *error) {
  void *ignored;
  *out = NULL;
  if (!group) return cq_fail(error, CQ_ERR_ARGUMENT, "no group of options");
  cq_options *o = cq_alloc_zeroed(sizeof *o);
  if (!o) return cq_fail_memory(error, group->name);
  const cq_status status = add_level(o, &ignored, group, NULL, false, error);
  if (status) {
    cq_options_free(o);
    return status;
  }
  choose_dependent(o);
  *out = o;
  return CQ_OK;
}

void cq_options_free(cq_options *options) {
  if (!options) return;
  cq_arena_free(&options->arena);
  cq_free(options);
}

void *cq_options_struct(cq_options *options) {
  return options->levels[0].options;
}

void *cq_options_field(cq_options *options, const char *name) {
  for (const level *l = options->levels; l < options->levels + options->n_levels; l++)
    for (size_t i = 0; i < l->group->n_fields; i++)
      if (!strcmp(l->group->fields[i].name, name)) return (char *)l->options + l->group->fields[i].offset;
  return NULL;
}

const cq_option *cq_options_row(const cq_options *options, size_t i) {
  return i < options->n_rows ? options->rows[i].row : NULL;
}

static const char *option_row_name(const void *options, size_t i) {
  return cq_options_row(options, i)->name;
}

static cq_status find_known(size_t *out, const cq_options *o, const char *name, cq_error *error) {
  *out = find_option_row(o, name);
  if (*out < o->n_rows) return CQ_OK;
  const char *near = cq_nearest_name(name, option_row_name, o, o->n_rows);
  return cq_fail(error, CQ_ERR_ARGUMENT, "unknown option %s%s%s", name, near ? ", did you mean " : "",
                 near ? near : "");
}

cq_status cq_options_set(cq_options *options, const char *name, const char *value, cq_error *error) {
  size_t i;
  cq_status status = find_known(&i, options, name, error);
  if (status) return status;
  named_row *named = &options->rows[i];
  status = parse_option_value(named->row, named->options, value, &options->arena, error);
  if (status) return status;
  named->set = true;
  choose_dependent(options);
  return CQ_OK;
}

bool cq_options_is_set(const cq_options *options, const char *name) {
  const size_t i = find_option_row(options, name);
  return i < options->n_rows && options->rows[i].set;
}

cq_status cq_options_get(char **out, const cq_options *options, const char *name, size_t i, cq_error *error) {
  size_t at;
  cq_builder b = {0};
  *out = NULL;
  cq_status status = find_known(&at, options, name, error);
  if (status) return status;
  cq_builder_text(&b, "");
  if (print_option_value(&b, options->rows[at].row, options->rows[at].options, i)) {
    *out = b.failed ? NULL : cq_strdup(b.data);
    if (!*out) status = cq_fail_memory(error, name);
  }
  cq_builder_free(&b);
  return status;
}

cq_status cq_options_check(const cq_options *options, cq_error *error) {
  cq_status status = CQ_OK;
  choose_dependent(options);
  for (const level *l = options->levels; !status && l < options->levels + options->n_levels; l++)
    if (!l->by_owner) status = cq_group_check(l->group, l->options, error);
  return status;
}

void cq_options_init(void *options, size_t size, const cq_option_group *group, const cq_option_group *owner) {
  const cq_option_part *part = NULL;
  for (size_t i = 0; owner && i < owner->n_parts; i++)
    if (owner->parts[i].group == group) part = &owner->parts[i];
  union {
    max_align_t aligned;
    char bytes[4096];
  } whole;
  assert(size >= sizeof size && group->size <= sizeof whole);
  cq_options_defaults(&whole, group);
  if (part && part->defaults) part->defaults(&whole);
  /* Structs grow at the end: an older program's is filled up to its size; extra fields of a newer one are zeroed. */
  memset(options, 0, size);
  memcpy(options, &whole, size < group->size ? size : group->size);
  *(size_t *)options = size;
}
