/* Markdown by cmark: the text of all blocks, separated by blank lines. HTML inside it is left out. */
#include "base/error.h"
#include "base/memory.h"
#include "document/reader.h"
#include "document/table_rows.h"
#include "format/json.h"

#include <cmark.h>
#include <string.h>

/* cmark aborts when memory runs out, so enough must be available before it starts: for the shortest inlines, its nodes
 * take about this many bytes per byte of text. */
enum { BYTES_FOR_A_BYTE = 160, SETUP_BYTES = 1 << 20, MOST_BYTES = 8 << 20 };

/* --- front matter: "key: value" lines between two lines of --- at the beginning --- */

static cq_slice next_line(cq_slice *rest) {
  const char *newline = rest->n ? memchr(rest->data, '\n', rest->n) : NULL;
  const cq_slice line = {rest->data, newline ? (size_t)(newline - rest->data) : rest->n};
  const size_t n = line.n + (newline != NULL);
  rest->data += n, rest->n -= n;
  return line;
}

static cq_slice without_quotes(cq_slice value) {
  const bool quoted =
      value.n >= 2 && (*value.data == '"' || *value.data == '\'') && value.data[value.n - 1] == *value.data;
  return quoted ? (cq_slice){value.data + 1, value.n - 2} : value;
}

/* Returns the text after the front matter, or all of it without one. */
static cq_slice take_front_matter(json_t **out, cq_slice text) {
  cq_slice rest = text;
  if (!cq_slice_equal(cq_slice_trimmed(next_line(&rest)), cq_slice_of("---"))) return text;
  for (cq_slice line; rest.n;) {
    line = next_line(&rest);
    if (cq_slice_equal(cq_slice_trimmed(line), cq_slice_of("---"))) return rest;
    const char *colon = line.n ? memchr(line.data, ':', line.n) : NULL;
    if (line.n == 0 || cq_is_blank(*line.data) || *line.data == '#' || *line.data == '-')
      continue;                                                               /* lists, comments */
    if (!colon || memchr(line.data, ' ', (size_t)(colon - line.data))) break; /* a sentence */
    const cq_slice key = cq_slice_trimmed((cq_slice){line.data, (size_t)(colon - line.data)});
    const cq_slice value =
        without_quotes(cq_slice_trimmed((cq_slice){colon + 1, line.n - (size_t)(colon + 1 - line.data)}));
    if (key.n == 0 || value.n == 0) continue;
    char *name = cq_strndup(key.data, key.n);
    cq_json_set(out, name ? name : "", name ? json_stringn(value.data, value.n) : NULL);
    cq_free(name);
  }
  json_decref(*out); /* a line across the page, and text */
  *out = json_object();
  return text;
}

/* --- text --- */

static void end_block(cq_builder *out) {
  while (out->n && cq_is_blank(out->data[out->n - 1])) out->n--;
  if (out->n) cq_builder_text(out, "\n\n");
}

/* --- tables: a line of heads, one of dashes, then rows, each beginning with a bar; CommonMark has them as paragraphs --- */

static bool begins_table(cmark_node *paragraph) {
  const char *literal = cmark_node_get_literal(cmark_node_first_child(paragraph));
  return literal && *literal == '|';
}

static bool is_line_of_dashes(cq_slice line) {
  bool has_dash = false;
  for (size_t i = 0; i < line.n; i++) {
    const char c = line.data[i];
    if (c != '|' && c != ':' && c != '-' && c != ' ' && c != '\t') return false;
    has_dash |= c == '-';
  }
  return has_dash;
}

static bool next_cell(cq_slice *cell, cq_slice *row) {
  if (row->n && *row->data == '|') row->data++, row->n--;
  const char *bar = row->n ? memchr(row->data, '|', row->n) : NULL;
  const size_t n = bar ? (size_t)(bar - row->data) : row->n;
  *cell = cq_slice_trimmed((cq_slice){row->data, n});
  row->data += n, row->n -= n;
  return bar || cell->n > 0;
}

/* Rewrites the text from `start` on, whose lines are those of the source. */
static void end_table(cq_builder *out, size_t start) {
  cq_builder source = {0};
  cq_builder_bytes(&source, out->data + start, out->n - start);
  cq_slice rest = {source.data, source.n}, row, heads, head, cell;
  const cq_slice first = next_line(&rest);
  bool is_table = is_line_of_dashes(next_line(&rest));
  for (heads = first; is_table && next_cell(&head, &heads);) is_table = head.n <= CQ_MOST_HEAD;
  out->failed |= source.failed;
  for (size_t i = start; !is_table && i < out->n; i++)
    if (out->data[i] == '\n') out->data[i] = ' ';
  if (is_table) out->n = start;
  while (is_table && rest.n) {
    const size_t line = out->n;
    row = next_line(&rest), heads = first;
    while (next_cell(&cell, &row)) {
      if (!next_cell(&head, &heads)) head.n = 0;
      cq_table_put(out, line, head, cell);
    }
    if (out->n > line && rest.n) cq_builder_char(out, '\n');
  }
  cq_builder_free(&source);
}

/* table: where the text of a paragraph begins that may be one; SIZE_MAX: no. */
static void put_node(cq_builder *out, size_t *table, cmark_node *node, bool enters) {
  const char *literal = cmark_node_get_literal(node);
  switch (cmark_node_get_type(node)) {
  case CMARK_NODE_TEXT:
  case CMARK_NODE_CODE: cq_builder_text(out, literal ? literal : ""); break;
  case CMARK_NODE_SOFTBREAK: cq_builder_char(out, *table == SIZE_MAX ? ' ' : '\n'); break;
  case CMARK_NODE_LINEBREAK: cq_builder_char(out, '\n'); break;
  case CMARK_NODE_CODE_BLOCK:
    cq_builder_text(out, literal ? literal : "");
    end_block(out);
    break;
  case CMARK_NODE_PARAGRAPH:
    if (enters) *table = begins_table(node) ? out->n : SIZE_MAX;
    if (!enters && *table != SIZE_MAX) end_table(out, *table);
    if (!enters) *table = SIZE_MAX, end_block(out);
    break;
  case CMARK_NODE_HEADING:
    if (!enters) end_block(out);
    break;
  default: break;
  }
}

static cq_status read_markdown(bool *found, void *state, cq_document_file *file, cq_error *error) {
  cq_builder *text = &file->room->role[CQ_ROLE_TEXT], *title = &file->room->role[CQ_ROLE_TITLE];
  json_t *front = json_object();
  const cq_slice body = take_front_matter(&front, file->bytes);
  (void)state;
  *found = true;
  cq_status status = front ? CQ_OK : cq_fail_memory(error, file->path);
  if (!status && json_object_size(front)) status = cq_document_take_object(file, front, false, error);
  json_decref(front);
  if (!status && !cq_has_room(SETUP_BYTES + BYTES_FOR_A_BYTE * body.n)) status = cq_fail_memory(error, file->path);
  if (status) return status;
  cmark_node *root = cmark_parse_document(body.data, body.n, CMARK_OPT_VALIDATE_UTF8), *node;
  cmark_iter *iter = cmark_iter_new(root);
  bool in_title = false, has_title = title->n > 0;
  size_t table = SIZE_MAX;
  for (cmark_event_type event; (event = cmark_iter_next(iter)) != CMARK_EVENT_DONE;) {
    node = cmark_iter_get_node(iter);
    const bool enters = event == CMARK_EVENT_ENTER;
    if (cmark_node_get_type(node) == CMARK_NODE_HEADING) {
      in_title = enters && !has_title;
      has_title = true;
    }
    put_node(text, &table, node, enters);
    if (in_title) put_node(title, &table, node, enters);
  }
  cmark_iter_free(iter);
  cmark_node_free(root);
  end_block(text);
  while (text->n && cq_is_blank(text->data[text->n - 1])) text->n--;
  return CQ_OK;
}

const cq_document_type cq_document_type_markdown = {
    .name = "markdown", .endings = " .md .markdown ", .is_one = true, .most_bytes = MOST_BYTES, .read = read_markdown};
