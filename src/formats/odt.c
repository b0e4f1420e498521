/* ODT, the format of LibreOffice (OASIS OpenDocument 1.3): a zip archive of XML.
 *
 *   content.xml             <text:p>, <text:h>      a line per paragraph; notes at the end
 *   meta.xml                                        title, author, language
 *   META-INF/manifest.xml   <encryption-data>       the file needs a password
 *
 * Left out: what was deleted, comments, tables of contents, descriptions of pictures. Without a title in the properties, the
 * first heading is the title. */
#include "base/error.h"
#include "base/memory.h"
#include "document/table_rows.h"
#include "formats/archive.h"
#include "formats/formats.h"

#include <stdlib.h>
#include <string.h>

typedef struct odt {
  cq_builder *text, *now;                                     /* the document's; that or the notes' */
  cq_builder notes, title;                                    /* title: of the first heading */
  size_t level, left_out_at, paragraph_at, note_at, table_at; /* depth of elements; 0: in none of them */
  size_t outer_at;                                            /* paragraph_at around a note */
  size_t begin;                                               /* of the paragraph */
  bool is_encrypted;
  cq_table table;
} odt;

static int span_of(const char **attributes, const char *name) {
  const char *value = cq_xml_events_value(attributes, name);
  const long n = value ? strtol(value, NULL, 10) : 1;
  return n < 1 ? 1 : n > 1000 ? 1000 : (int)n;
}

static void open_odt_table(odt *d, const char *name, const char **attributes) {
  if (!strcmp(name, "table")) {
    cq_end_prose(d->text);
    cq_table_clear(&d->table);
    d->table_at = d->level;
  } else if (!d->table_at || d->note_at) {
    return;
  } else if (!strcmp(name, "table-header-rows")) {
    d->table.in_head = true;
  } else if (!strcmp(name, "table-row")) {
    cq_table_end_row(&d->table, d->text);
  } else if (!strcmp(name, "table-cell")) {
    cq_end_prose(d->text);
    const cq_table_cell cell = {0, false, span_of(attributes, "number-columns-spanned"),
                                span_of(attributes, "number-rows-spanned")};
    cq_table_begin_cell(&d->table, d->text, cell);
  }
}

static void open_odt(void *context, const char *name, const char **attributes) {
  odt *d = context;
  d->level++;
  if (d->left_out_at) return;
  if (cq_name_is(" annotation tracked-changes note-citation table-of-content desc ", name) ||
      (d->paragraph_at && !strcmp(name, "title"))) {
    d->left_out_at = d->level;
  } else if (!strcmp(name, "note-body") && !d->note_at) {
    d->note_at = d->level, d->outer_at = d->paragraph_at, d->now = &d->notes;
  } else if (cq_name_is(" p h ", name)) {
    cq_end_prose(d->now);
    if (!d->note_at) d->begin = d->text->n;
    d->paragraph_at = d->level;
  } else if (d->paragraph_at && cq_name_is(" s tab ", name)) {
    cq_put_prose(d->now, " ", 1);
  } else if (d->paragraph_at && !strcmp(name, "line-break")) {
    cq_end_prose(d->now);
  } else {
    open_odt_table(d, name, attributes);
  }
}

static void close_odt_table(odt *d, const char *name) {
  if (!d->table_at || d->note_at) return;
  if (!strcmp(name, "table-row")) cq_table_end_row(&d->table, d->text);
  if (!strcmp(name, "table-header-rows")) d->table.in_head = false;
  if (d->table_at != d->level) return;
  cq_table_end(&d->table, d->text);
  d->table_at = 0;
}

static void close_odt(void *context, const char *name) {
  odt *d = context;
  if (d->left_out_at == d->level) {
    d->left_out_at = 0;
  } else if (d->note_at == d->level) {
    cq_end_prose(d->now);
    d->note_at = 0, d->paragraph_at = d->outer_at, d->now = d->text;
  } else if (!d->left_out_at && cq_name_is(" p h ", name)) {
    cq_end_prose(d->now);
    if (!strcmp(name, "h") && !d->note_at && !d->title.n && d->text->n > d->begin && !d->text->failed)
      cq_put_prose(&d->title, d->text->data + d->begin, d->text->n - d->begin);
    d->paragraph_at = 0;
  } else if (!d->left_out_at) {
    close_odt_table(d, name);
  }
  d->level--;
}

static void odt_text(void *context, const char *bytes, size_t n) {
  const odt *d = context;
  if (d->paragraph_at && !d->left_out_at) cq_put_prose(d->now, bytes, n);
}

static void open_manifest(void *context, const char *name, const char **attributes) {
  (void)attributes;
  ((odt *)context)->is_encrypted |= !strcmp(name, "encryption-data");
}

static cq_status read_odt(odt *d, cq_document_file *file, cq_archive *archive, cq_error *error) {
  static const cq_xml_events manifest = {.open = open_manifest}, text = {open_odt, close_odt, odt_text};
  cq_slice xml;
  cq_status status = cq_archive_read(&xml, archive, "META-INF/manifest.xml", error);
  if (!status && xml.data) status = cq_xml_events_read(xml, &manifest, d, file->path, "META-INF/manifest.xml", error);
  if (!status && d->is_encrypted)
    return cq_fail_file(error, CQ_ERR_FORMAT, file->path, "is encrypted: save it without a password");
  if (!status) status = cq_archive_read(&xml, archive, "meta.xml", error);
  if (!status && xml.data) status = cq_take_properties(file, xml, "meta.xml", error);
  if (!status) status = cq_archive_need(&xml, archive, "content.xml", error);
  if (!status) status = cq_xml_events_read(xml, &text, d, file->path, "content.xml", error);
  cq_builder_slice(d->text, cq_built(&d->notes));
  return status;
}

cq_status cq_formats_odt(cq_document_file *file, cq_error *error) {
  cq_archive archive;
  cq_status status = cq_archive_open(&archive, file, error);
  if (status) return status;
  odt *d = cq_alloc_zeroed(sizeof *d);
  if (!d) status = cq_fail_memory(error, file->path);
  if (d) {
    d->text = d->now = &file->room->role[CQ_ROLE_TEXT];
    status = read_odt(d, file, &archive, error);
    cq_finish_prose(file, cq_built(&d->title));
    if (!status && (d->notes.failed || d->title.failed)) status = cq_fail_memory(error, file->path);
    cq_builder_free(&d->notes);
    cq_builder_free(&d->title);
    cq_table_free(&d->table);
  }
  cq_free(d);
  cq_archive_close(&archive);
  return status;
}
