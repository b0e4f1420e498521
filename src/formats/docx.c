/* DOCX, the format of Word since 2007 (ECMA-376): a zip archive of XML.
 *
 *   _rels/.rels ──▶ word/document.xml     <w:p> <w:r> <w:t>text</w:t> ...   a line per paragraph
 *                   word/footnotes.xml, word/endnotes.xml                   at the end
 *                   word/styles.xml       the names of styles, which are the same in all languages
 *   docProps/core.xml                                                       title, author, language
 *
 * Left out: what was deleted, comments, field codes, tables of contents, heads and feet of pages. Without a title in the
 * properties, the first paragraph of the style "Title" or "heading 1" is the title. */
#include "base/error.h"
#include "base/memory.h"
#include "document/table_rows.h"
#include "formats/archive.h"
#include "formats/formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PART = 256 };

typedef struct docx {
  cq_builder *text;
  cq_builder styles, style;                    /* those of headings, between blanks; the one that is read */
  cq_builder title;                            /* of the first heading */
  size_t level, left_out_at, run_at, table_at; /* depth of elements; 0: in none of them. run_at: in one of text */
  size_t begin;                                /* of the paragraph */
  bool is_heading, is_contents;
  char part[PART]; /* the document's, without its first / */
  cq_table table;
} docx;

static void open_docx_table(docx *d, const char *name, const char *value) {
  if (!strcmp(name, "tbl")) {
    cq_end_prose(d->text);
    cq_table_clear(&d->table);
    d->table_at = d->level;
  } else if (d->table_at && !strcmp(name, "tr")) {
    cq_table_end_row(&d->table, d->text);
    d->table.in_head = false;
  } else if (d->table_at && !strcmp(name, "tblHeader")) {
    d->table.in_head = true;
  } else if (d->table_at && !strcmp(name, "tc")) {
    cq_end_prose(d->text);
    cq_table_begin_cell(&d->table, d->text, (cq_table_cell){0, false, 1, 1});
  } else if (d->table_at && d->table.n_cells && !strcmp(name, "gridSpan") && value) {
    const long n = strtol(value, NULL, 10);
    d->table.cells[d->table.n_cells - 1].n_columns = n < 1 ? 1 : n > 1000 ? 1000 : (int)n;
  }
}

static void open_docx(void *context, const char *name, const char **attributes) {
  docx *d = context;
  const char *value = cq_xml_events_value(attributes, "val"), *type = cq_xml_events_value(attributes, "type");
  d->level++;
  if (!strcmp(name, "pStyle") && value && d->styles.n) d->is_heading = cq_name_is(d->styles.data, value);
  if (!strcmp(name, "docPartGallery") && value && !strcmp(value, "Table of Contents")) d->is_contents = true;
  if (d->left_out_at) return;
  const bool is_separator = cq_name_is(" footnote endnote ", name) && type && strcmp(type, "normal") != 0;
  if (cq_name_is(" pPr instrText del moveFrom Fallback ", name) || is_separator ||
      (d->is_contents && !strcmp(name, "sdtContent"))) {
    d->left_out_at = d->level;
    d->is_contents &= strcmp(name, "sdtContent") != 0;
  } else if (!strcmp(name, "p")) {
    cq_end_prose(d->text);
    d->begin = d->text->n, d->is_heading = false;
  } else if (!strcmp(name, "t")) {
    d->run_at = d->level;
  } else if (!strcmp(name, "tab")) {
    cq_put_prose(d->text, " ", 1);
  } else if (cq_name_is(" br cr ", name)) {
    cq_end_prose(d->text);
  } else if (!strcmp(name, "noBreakHyphen")) {
    cq_builder_char(d->text, '-');
  } else {
    open_docx_table(d, name, value);
  }
}

static void close_docx(void *context, const char *name) {
  docx *d = context;
  if (d->left_out_at == d->level) {
    d->left_out_at = 0;
  } else if (!d->left_out_at && !strcmp(name, "p")) {
    cq_end_prose(d->text);
    if (d->is_heading && !d->title.n && d->text->n > d->begin && !d->text->failed)
      cq_put_prose(&d->title, d->text->data + d->begin, d->text->n - d->begin);
  } else if (!d->left_out_at && d->table_at && !strcmp(name, "tr")) {
    cq_table_end_row(&d->table, d->text);
  } else if (d->table_at == d->level) {
    cq_table_end(&d->table, d->text);
    d->table_at = 0;
  }
  if (d->run_at == d->level) d->run_at = 0;
  d->level--;
}

static void docx_text(void *context, const char *bytes, size_t n) {
  const docx *d = context;
  if (d->run_at && !d->left_out_at) cq_put_prose(d->text, bytes, n);
}

/* --- the other parts --- */

static void open_style(void *context, const char *name, const char **attributes) {
  docx *d = context;
  const char *id = cq_xml_events_value(attributes, "styleId"), *value = cq_xml_events_value(attributes, "val");
  if (!strcmp(name, "style")) cq_builder_clear(&d->style), cq_builder_text(&d->style, id ? id : "");
  if (strcmp(name, "name") != 0 || !value || !d->style.n) return;
  if (strcasecmp(value, "title") != 0 && strcasecmp(value, "heading 1") != 0) return;
  cq_builder_printf(&d->styles, " %s ", d->style.data);
}

static void open_relationship(void *context, const char *name, const char **attributes) {
  docx *d = context;
  const char *type = cq_xml_events_value(attributes, "Type"), *target = cq_xml_events_value(attributes, "Target");
  const char *last = type ? strrchr(type, '/') : NULL;
  if (strcmp(name, "Relationship") != 0 || !last || strcmp(last, "/officeDocument") != 0 || !target) return;
  snprintf(d->part, sizeof d->part, "%s", target + (*target == '/'));
}

/* Reads the part of this name in the document's folder, if it is there. */
static cq_status read_beside(docx *d, cq_archive *archive, const char *name, const cq_xml_events *events,
                             cq_error *error) {
  char path[PART + 32];
  const char *slash = strrchr(d->part, '/');
  cq_slice xml;
  snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - d->part) : 0, d->part, name);
  const cq_status status = cq_archive_read(&xml, archive, path, error);
  return status || !xml.data ? status : cq_xml_events_read(xml, events, d, archive->path, path, error);
}

static cq_status read_docx(docx *d, cq_document_file *file, cq_archive *archive, cq_error *error) {
  static const cq_xml_events relationships = {.open = open_relationship}, styles = {.open = open_style},
                             text = {open_docx, close_docx, docx_text};
  cq_slice xml;
  snprintf(d->part, sizeof d->part, "word/document.xml");
  cq_status status = cq_archive_read(&xml, archive, "_rels/.rels", error);
  if (!status && xml.data) status = cq_xml_events_read(xml, &relationships, d, file->path, "_rels/.rels", error);
  if (!status) status = cq_archive_read(&xml, archive, "docProps/core.xml", error);
  if (!status && xml.data) status = cq_take_properties(file, xml, "docProps/core.xml", error);
  if (!status) status = read_beside(d, archive, "styles.xml", &styles, error);
  if (!status) status = cq_archive_need(&xml, archive, d->part, error);
  if (!status) status = cq_xml_events_read(xml, &text, d, file->path, d->part, error);
  if (!status) status = read_beside(d, archive, "footnotes.xml", &text, error);
  if (!status) status = read_beside(d, archive, "endnotes.xml", &text, error);
  return status;
}

cq_status cq_formats_docx(cq_document_file *file, cq_error *error) {
  cq_archive archive;
  cq_status status = cq_archive_open(&archive, file, error);
  if (status) return status;
  docx *d = cq_alloc_zeroed(sizeof *d);
  if (!d) status = cq_fail_memory(error, file->path);
  if (d) {
    d->text = &file->room->role[CQ_ROLE_TEXT];
    status = read_docx(d, file, &archive, error);
    cq_finish_prose(file, cq_built(&d->title));
    if (!status && (d->styles.failed || d->style.failed || d->title.failed)) status = cq_fail_memory(error, file->path);
    cq_builder_free(&d->styles);
    cq_builder_free(&d->style);
    cq_builder_free(&d->title);
    cq_table_free(&d->table);
  }
  cq_free(d);
  cq_archive_close(&archive);
  return status;
}
