/* Reads rows of CSV, whose quoted fields may span lines. See csv_rows.h. */
#include "format/csv_rows.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

cq_slice cq_csv_field(const cq_builder *row, const size_t *end, size_t i) {
  const size_t begin = i ? end[i - 1] : 0;
  return (cq_slice){row->data ? row->data + begin : "", end[i] - begin};
}

void cq_csv_add(cq_csv *c, const void *bytes, size_t n) {
  if (c->n < CQ_CSV_COLUMNS) {
    cq_builder_bytes(&c->row, bytes ? bytes : "", n);
    c->end[c->n] = c->row.n;
  }
  c->n++;
}

static void take_field(void *bytes, size_t n, void *context) {
  cq_csv_add(context, bytes, n);
}

static void end_row(int last, void *context) {
  (void)last;
  ((cq_csv *)context)->is_complete = true;
}

static int is_never(unsigned char c) {
  (void)c;
  return 0;
}

cq_status cq_csv_init(cq_csv *out, const char *path, cq_error *error) {
  *out = (cq_csv){.n = 0};
  if (csv_init(&out->parser, CSV_STRICT)) return cq_fail_memory(error, path);
  csv_set_space_func(&out->parser, is_never);
  csv_set_realloc_func(&out->parser, cq_realloc_small);
  csv_set_free_func(&out->parser, cq_free);
  return CQ_OK;
}

void cq_csv_free(cq_csv *c) {
  csv_free(&c->parser);
  cq_builder_free(&c->kept);
  cq_builder_free(&c->row);
}

void cq_csv_clear(cq_csv *c) {
  csv_fini(&c->parser, NULL, NULL, NULL);
  c->n = 0, c->is_complete = false;
  cq_builder_clear(&c->row);
}

cq_status cq_csv_parse_line(cq_csv *c, cq_slice line, const char *path, cq_error *error) {
  if (csv_parse(&c->parser, line.data, line.n, take_field, end_row, c) == line.n &&
      csv_parse(&c->parser, "\n", 1, take_field, end_row, c) == 1)
    return CQ_OK;
  if (csv_error(&c->parser) == CSV_ENOMEM) return cq_fail_memory(error, path);
  return cq_fail_line(error, CQ_ERR_FORMAT, path, c->first,
                      "a quotation mark inside a field, or after its closing quotation mark");
}

cq_status cq_csv_line(cq_slice *out, cq_csv *c, cq_lines *lines, cq_error *error) {
  if (c->next_kept < c->kept.n) {
    const char *begin = c->kept.data + c->next_kept;
    *out = (cq_slice){begin, (size_t)((const char *)memchr(begin, '\n', c->kept.n - c->next_kept) - begin)};
    c->next_kept += out->n + 1, c->number++;
    return CQ_OK;
  }
  const cq_status status = cq_lines_next(out, lines, error);
  c->number = cq_lines_number(lines);
  return status;
}

void cq_csv_keep(cq_csv *c, cq_slice line) {
  cq_builder_bytes(&c->kept, line.data, line.n);
  cq_builder_char(&c->kept, '\n');
}

cq_status cq_csv_parse(cq_csv *c, cq_lines *lines, cq_slice line, cq_error *error) {
  const size_t second = c->next_kept;
  const char *path = cq_lines_path(lines);
  size_t n_bytes = line.n;
  cq_status status = cq_csv_parse_line(c, line, path, error);
  while (!status && !c->is_complete) {
    const bool is_new = c->next_kept == c->kept.n;
    status = cq_csv_line(&line, c, lines, error);
    if (status) break;
    if (!line.data) {
      status = cq_fail_line(error, CQ_ERR_FORMAT, path, c->first, "a quotation mark that is not closed");
      break;
    }
    if (is_new) cq_csv_keep(c, line), c->next_kept = c->kept.n;
    n_bytes += line.n;
    if (n_bytes > (size_t)64 << 20)
      status = cq_fail_line(error, CQ_ERR_LIMIT, path, c->first, "a row of more than 64 MiB");
    else
      status = cq_csv_parse_line(c, line, path, error);
  }
  if (c->row.failed || c->kept.failed) return cq_fail_memory(error, path);
  if (status) c->next_kept = second, c->number = c->first, cq_csv_clear(c);
  return status;
}
