/* The identity of a run as lines of text; a comparison names the first difference. */
#include "recipe/run/identity.h"

#include "base/error.h"
#include "base/number.h"
#include "model/encoder.h"
#include "tensor/products.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- filling --- */

/* Tabs and line ends would be read as separators. */
static void add_plain_text(cq_builder *out, const char *text) {
  for (; *text; text++) cq_builder_char(out, (unsigned char)*text < ' ' ? '?' : *text);
}

void cq_run_identity_text(cq_run_identity *id, const char *name, const char *value) {
  add_plain_text(&id->lines, name);
  cq_builder_char(&id->lines, '\t');
  add_plain_text(&id->lines, value ? value : "");
  cq_builder_char(&id->lines, '\n');
}

/* As short as it can be and read back the same. */
void cq_run_identity_number(cq_run_identity *id, const char *name, double value) {
  char text[40];
  for (int digits = 6; digits <= 17; digits++) {
    cq_snprintf(text, sizeof text, "%.*g", digits, value);
    if (cq_strtod(text, NULL) == value) break;
  }
  cq_run_identity_text(id, name, text);
}

void cq_run_identity_count(cq_run_identity *id, const char *name, uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "%" PRIu64, value);
  cq_run_identity_text(id, name, text);
}

void cq_run_identity_contents(cq_run_identity *id, const char *name, cq_identity contents) {
  char hex[CQ_IDENTITY_HEX];
  cq_identity_hex(hex, contents);
  cq_run_identity_fingerprint(id, name, hex);
}

void cq_run_identity_file(cq_run_identity *id, const char *path, cq_identity contents) {
  char name[512];
  snprintf(name, sizeof name, "text in %s", path);
  cq_run_identity_contents(id, name, contents);
}

void cq_run_identity_fingerprint(cq_run_identity *id, const char *name, const char *fingerprint) {
  char text[64];
  snprintf(text, sizeof text, "#%s", fingerprint);
  cq_run_identity_text(id, name, text);
}

void cq_run_identity_precision(cq_run_identity *id, const char *name, const cq_encoder *encoder) {
  const cq_products *products = cq_products_of(encoder->kernels, encoder->precision);
  char text[64];
  if (products->precision == CQ_PRECISION_F32) return;
  snprintf(text, sizeof text, "%s by %s", cq_precision_name(products->precision), products->name);
  cq_run_identity_text(id, name, text);
}

static bool add_option_row(void *id, const cq_option *row, const char *value) {
  if (row->effect == CQ_CHANGES_RESULT && row->type < CQ_OPTION_TEXTS) cq_run_identity_text(id, row->name, value);
  return true;
}

void cq_run_identity_options(cq_run_identity *id, const cq_option_group *group, const void *options) {
  if (!cq_options_each(group, options, add_option_row, id)) id->lines.failed = true;
}

void cq_run_identity_begin(cq_run_identity *id, const char *command, const cq_option_group *group,
                           const void *options) {
  cq_run_identity_text(id, "command", command);
  cq_run_identity_text(id, "SIMD level", cq_simd_level()); /* another one gives other bits */
  cq_run_identity_options(id, group, options);
}

void cq_run_identity_free(cq_run_identity *id) {
  cq_builder_free(&id->lines);
}

/* --- comparing --- */

typedef struct line {
  cq_slice name, value;
} line;

/* Removes the first line from the text; name.data is NULL if there is none. */
static line next_identity_line(cq_slice *text) {
  line l = {{NULL, 0}, {NULL, 0}};
  if (text->n == 0) return l;
  const char *end = memchr(text->data, '\n', text->n);
  const size_t n = end ? (size_t)(end - text->data) : text->n;
  const char *tab = memchr(text->data, '\t', n);
  const size_t n_name = tab ? (size_t)(tab - text->data) : n;
  l.name = (cq_slice){text->data, n_name};
  l.value = tab ? (cq_slice){tab + 1, n - n_name - 1} : (cq_slice){text->data + n, 0};
  const size_t taken = end ? n + 1 : n;
  text->data += taken, text->n -= taken;
  return l;
}

static bool is_sum(line l) {
  return l.value.n > 0 && l.value.data[0] == '#';
}

static bool is_same_line(line a, line b, const char *free) {
  const bool same = cq_slice_equal(a.name, b.name);
  return cq_slice_equal(a.value, b.value) ? same || is_sum(a)
                                          : same && free && cq_slice_equal(a.name, cq_slice_of(free));
}

/* A value as people read it: "nothing" and the like for an empty one. */
static cq_slice shown(cq_slice value) {
  return value.n ? value : cq_slice_of("nothing");
}

cq_status cq_run_identity_compare(const cq_run_identity *now, const char *then, size_t n, const char *work,
                                  cq_error *error) {
  cq_slice texts[2] = {{now->lines.data, now->lines.n}, {then, n}};
  line a, b;
  if (now->lines.failed) return cq_fail_memory(error, "a run's options");
  do {
    a = next_identity_line(&texts[0]), b = next_identity_line(&texts[1]);
    if (!a.name.data && !b.name.data) return CQ_OK;
  } while (a.name.data && b.name.data && is_same_line(a, b, now->free));
#define SHOW(slice) (int)(slice).n, (slice).data
  if (a.name.data && b.name.data && is_sum(a) && is_sum(b))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, work, "the run under way has another %.*s", SHOW(a.name));
  if (a.name.data && b.name.data && cq_slice_equal(a.name, b.name))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, work, "the run under way has %.*s %.*s, not %.*s", SHOW(a.name),
                        SHOW(shown(b.value)), SHOW(shown(a.value)));
  if (!b.name.data) return cq_fail_file(error, CQ_ERR_ARGUMENT, work, "the run under way has no %.*s", SHOW(a.name));
  return cq_fail_file(error, CQ_ERR_ARGUMENT, work, "the run under way has %.*s, this one does not", SHOW(b.name));
#undef SHOW
}
