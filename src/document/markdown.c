/* Markdown by cmark: the text of all blocks, separated by blank lines. HTML inside it is left out. Front matter by
 * libyaml. */
#include "base/error.h"
#include "base/memory.h"
#include "document/reader.h"
#include "document/table_rows.h"
#include "format/json.h"

#include <cmark.h>
#include <string.h>
#include <yaml.h>

/* cmark aborts when memory runs out, so enough must be available before it starts: for the shortest inlines, its nodes
 * take about this many bytes per byte of text. */
enum { BYTES_FOR_A_BYTE = 160, SETUP_BYTES = 1 << 20, MOST_BYTES = 8 << 20, MAX_DEPTH = 50 };

/* --- front matter at the beginning: YAML between a line of --- and one of --- or ..., or TOML between two of +++: tables
 * and "name = value", with strings on one line, numbers, dates and lists --- */

static cq_slice next_line(cq_slice *rest) {
  const char *newline = rest->n ? memchr(rest->data, '\n', rest->n) : NULL;
  const cq_slice line = {rest->data, newline ? (size_t)(newline - rest->data) : rest->n};
  const size_t n = line.n + (newline != NULL);
  rest->data += n, rest->n -= n;
  return line;
}

typedef struct yaml_reading {
  yaml_document_t document;
  size_t n_left, line; /* bounds what aliases may repeat; the line of the document's first, then of the problem */
  const char *problem; /* NULL: none */
} yaml_reading;

static json_t *fail_yaml(yaml_reading *r, const yaml_node_t *node, const char *problem) {
  if (!r->problem) r->problem = problem, r->line += node->start_mark.line;
  return json_null();
}

static void add_missing(json_t **object, json_t *from) {
  const char *key;
  json_t *value;
  json_object_foreach(from, key, value) {
    if (*object && !json_object_get(*object, key)) cq_json_set(object, key, json_incref(value));
  }
}

/* Replaces "<<" by the members of its mapping or mappings that have no value of their own. */
static void merge_keys(json_t **object) {
  json_t *from = json_incref(json_object_get(*object, "<<")), *item;
  size_t i;
  if (json_is_object(from) || json_is_array(from)) json_object_del(*object, "<<");
  add_missing(object, from);
  json_array_foreach(from, i, item) add_missing(object, item);
  json_decref(from);
}

static json_t *json_of_yaml(yaml_reading *r, const yaml_node_t *node, int depth) { // NOLINT(misc-no-recursion)
  json_t *out = NULL;
  if (!node) return json_null();
  if (depth > MAX_DEPTH || r->n_left == 0) return fail_yaml(r, node, "nested too deep, or repeated too often");
  --r->n_left;
  if (node->type == YAML_SEQUENCE_NODE) {
    out = json_array();
    for (yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top; i++)
      cq_json_push(&out, json_of_yaml(r, yaml_document_get_node(&r->document, *i), depth + 1));
  } else if (node->type == YAML_MAPPING_NODE) {
    out = json_object();
    for (yaml_node_pair_t *i = node->data.mapping.pairs.start; i < node->data.mapping.pairs.top; i++) {
      const yaml_node_t *key = yaml_document_get_node(&r->document, i->key);
      const char *name = key && key->type == YAML_SCALAR_NODE ? (const char *)key->data.scalar.value : NULL;
      if (!name || strlen(name) != key->data.scalar.length)
        json_decref(fail_yaml(r, node, "a name that is not text"));
      else if (json_object_get(out, name))
        json_decref(fail_yaml(r, key, "a name that comes twice"));
      else
        cq_json_set(&out, name, json_of_yaml(r, yaml_document_get_node(&r->document, i->value), depth + 1));
    }
    merge_keys(&out);
  } else {
    const cq_slice text = cq_slice_trimmed((cq_slice){(const char *)node->data.scalar.value, node->data.scalar.length});
    const bool is_plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    const bool is_null =
        text.n == 0 || cq_slice_equal(text, cq_slice_of("~")) || cq_slice_equal(text, cq_slice_of("null"));
    out = is_plain && is_null ? json_null() : json_stringn(text.data, text.n);
  }
  return out;
}

/* *out: NULL when out of memory, unchanged when it is no YAML, which `why` then explains. line: of its first. */
static void read_yaml(json_t **out, char *why, size_t n_why, cq_slice text, size_t line) {
  yaml_parser_t parser;
  yaml_reading r = {.n_left = 1000 + 16 * text.n, .line = line};
  json_t *json = NULL;
  if (yaml_parser_initialize(&parser)) {
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.data, text.n);
    if (yaml_parser_load(&parser, &r.document)) {
      json = json_of_yaml(&r, yaml_document_get_root_node(&r.document), 0);
      yaml_document_delete(&r.document);
    } else if (parser.error != YAML_MEMORY_ERROR) {
      r.line += parser.problem_mark.line, r.problem = parser.problem ? parser.problem : "no YAML";
    }
    if (r.problem) snprintf(why, n_why, "line %zu: %s", r.line, r.problem);
    yaml_parser_delete(&parser);
  }
  json_decref(r.problem ? json : *out);
  if (!r.problem) *out = json;
}

/* Appends lines "name = value" and [tables] of TOML as YAML; or those of YAML with unquoted values, such as a title with
 * a colon, quoted. */
static void put_as_yaml(cq_builder *out, cq_slice text, bool is_toml) {
  bool in_list = false, in_table = false;
  while (text.n) {
    const cq_slice line = next_line(&text), trimmed = cq_slice_trimmed(line);
    const char *sign = line.n ? memchr(line.data, is_toml ? '=' : ':', line.n) : NULL;
    const cq_slice name = {line.data, sign ? (size_t)(sign - line.data) : 0};
    const cq_slice value = sign ? cq_slice_trimmed((cq_slice){sign + 1, line.n - name.n - 1}) : (cq_slice){0};
    const bool is_comment = trimmed.n && *trimmed.data == '#';
    if (is_toml && trimmed.n > 2 && *trimmed.data == '[' && trimmed.data[1] != '[' &&
        trimmed.data[trimmed.n - 1] == ']' && !in_list) {
      cq_builder_bytes(out, trimmed.data + 1, trimmed.n - 2);
      cq_builder_char(out, ':');
      in_table = true;
    } else if (is_comment || !sign || !value.n || in_list ||
               (!is_toml && (cq_is_blank(*line.data) ||
                             (strchr("\"'[{>|#&*!", *value.data) && !(value.n > 1 && !memcmp(value.data, "{{", 2)))))) {
      cq_builder_text(out, in_list || in_table ? "  " : "");
      cq_builder_bytes(out, line.data, line.n);
    } else {
      cq_builder_text(out, in_table ? " " : "");
      cq_builder_bytes(out, name.data, name.n);
      cq_builder_text(out, is_toml ? ": " : ": '");
      for (size_t i = 0; i < value.n; i++) {
        cq_builder_char(out, value.data[i]);
        if (value.data[i] == '\'' && !is_toml) cq_builder_char(out, '\'');
      }
      if (!is_toml) cq_builder_char(out, '\'');
      in_list = is_toml && *value.data == '[';
    }
    in_list &= !memchr(line.data, ']', line.n);
    cq_builder_char(out, '\n');
  }
}

static cq_slice right_trimmed(cq_slice line) {
  while (line.n && cq_is_blank(line.data[line.n - 1])) line.n--;
  return line;
}

/* Returns the text after the front matter, or all of it without one. Its end is a line like its first, not one of a
 * value's indented lines. */
static cq_slice take_front_matter(json_t **out, const cq_document_file *file) {
  cq_slice rest = file->bytes, fence = {0}, line;
  size_t first_line = 1;
  for (; rest.n && fence.n == 0; first_line++) fence = right_trimmed(next_line(&rest));
  const bool is_toml = cq_slice_equal(cq_slice_trimmed(fence), cq_slice_of("+++"));
  cq_slice block = {rest.data, 0};
  char why[200] = "";
  bool is_over = false;
  if (!is_toml && !cq_slice_equal(cq_slice_trimmed(fence), cq_slice_of("---"))) return file->bytes;
  while (rest.n && !is_over) {
    line = right_trimmed(next_line(&rest));
    if (block.n == 0 && line.data == block.data && line.n == 0) return file->bytes; /* a rule */
    is_over = cq_slice_equal(line, fence) || (!is_toml && cq_slice_equal(line, cq_slice_of("...")));
    if (!is_over) block.n = (size_t)(rest.data - block.data);
  }
  if (!is_over) return file->bytes;
  cq_builder yaml = {0};
  if (!is_toml) read_yaml(out, why, sizeof why, block, first_line);
  if (is_toml || *why) {
    char again[sizeof why] = "";
    put_as_yaml(&yaml, block, is_toml);
    read_yaml(out, again, sizeof again, (cq_slice){yaml.data ? yaml.data : "", yaml.n}, first_line);
    if (is_toml || !*again) memcpy(why, again, sizeof why);
  }
  if (yaml.failed) json_decref(*out), *out = NULL;
  cq_builder_free(&yaml);
  if (!*why && json_is_object(*out)) return rest;
  if (*why) CQ_NOTIFY(file, "%.300s: its front matter is read as text: %s", file->path, why);
  if (*out && !json_is_object(*out)) json_decref(*out), *out = json_object();
  return file->bytes;
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
  const cq_slice body = front ? take_front_matter(&front, file) : file->bytes;
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

const cq_document_type cq_document_type_markdown = {.name = "markdown",
                                                    .endings = " .md .markdown .mdown .mkd .mdx .qmd .rmd ",
                                                    .is_one = true,
                                                    .most_bytes = MOST_BYTES,
                                                    .read = read_markdown};
