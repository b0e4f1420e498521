/* EPUB 2 and 3: a zip archive of XHTML pages.
 *
 *   META-INF/container.xml ──▶ content.opf   <manifest> <item id href>, <spine> <itemref idref>   which pages, in which order
 *                              <metadata>                                                          title, author, language
 *   META-INF/encryption.xml                  <CipherReference URI>                                 files that cannot be read
 *
 * The pages are read as HTML is, one after the other. Left out: those outside of the linear order, and navigation. */
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "formats/archive.h"
#include "formats/formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PATH = 1024 };

typedef struct item {
  const char *id, *path; /* in the arena */
} item;

typedef struct epub {
  cq_archive archive;
  char package[MOST_PATH];
  item *items;
  const char **pages; /* ids, in their order */
  size_t n_items, n_pages, item_capacity, page_capacity;
  cq_builder encrypted; /* paths, a line each */
  bool failed;          /* out of memory */
} epub;

static void open_container(void *context, const char *name, const char **attributes) {
  epub *e = context;
  const char *path = cq_xml_events_value(attributes, "full-path");
  if (!strcmp(name, "rootfile") && path && !*e->package && strlen(path) < MOST_PATH)
    memcpy(e->package, path, strlen(path) + 1);
}

static void open_encryption(void *context, const char *name, const char **attributes) {
  epub *e = context;
  const char *path = cq_xml_events_value(attributes, "URI");
  if (!strcmp(name, "CipherReference") && path) cq_builder_printf(&e->encrypted, "\n%s\n", path);
}

/* A path relative to the package's folder, with % escapes and ".." resolved, in the arena. */
static const char *resolve(epub *e, const char *href) {
  char path[2 * MOST_PATH];
  const char *slash = strrchr(e->package, '/');
  size_t n = slash ? (size_t)(slash + 1 - e->package) : 0;
  memcpy(path, e->package, n);
  for (; *href && *href != '#' && n < sizeof path - 1; href++) {
    unsigned code;
    if (*href == '%' && sscanf(href + 1, "%2x", &code) == 1 && code)
      path[n++] = (char)code, href += href[2] != '\0' ? 2 : 1;
    else
      path[n++] = *href;
    if (n >= 3 && !memcmp(path + n - 3, "../", 3) && (n == 3 || path[n - 4] == '/')) { /* to the folder above */
      n -= n > 3 ? 4 : 3;
      while (n && path[n - 1] != '/') n--;
    }
  }
  return cq_arena_strndup(&e->archive.arena, path, n);
}

static void open_package(void *context, const char *name, const char **attributes) {
  epub *e = context;
  const char *id = cq_xml_events_value(attributes, "id"), *href = cq_xml_events_value(attributes, "href"),
             *idref = cq_xml_events_value(attributes, "idref"), *linear = cq_xml_events_value(attributes, "linear");
  if (!strcmp(name, "item") && id && href) {
    if (!cq_reserve((void **)&e->items, &e->item_capacity, e->n_items + 1, sizeof *e->items)) e->failed = true;
    if (e->failed) return;
    const item new = {cq_arena_strdup(&e->archive.arena, id), resolve(e, href)};
    e->failed = !new.id || !new.path;
    e->items[e->n_items++] = new;
  } else if (!strcmp(name, "itemref") && idref && !(linear && !strcmp(linear, "no"))) {
    if (!cq_reserve((void **)&e->pages, &e->page_capacity, e->n_pages + 1, sizeof *e->pages)) e->failed = true;
    if (e->failed) return;
    e->pages[e->n_pages] = cq_arena_strdup(&e->archive.arena, idref);
    e->failed = !e->pages[e->n_pages++];
  }
}

static int by_id(const void *a, const void *b) {
  return strcmp(((const item *)a)->id, ((const item *)b)->id);
}

static bool is_encrypted(const epub *e, const char *path) {
  const size_t n = strlen(path);
  for (const char *at = e->encrypted.data; n && at && (at = strstr(at, path)); at++)
    if (at > e->encrypted.data && at[-1] == '\n' && at[n] == '\n') return true;
  return false;
}

/* Appends a page's text. */
static cq_status read_page(epub *e, cq_document_file *file, const char *path, cq_error *error) {
  cq_document_room room = {0};
  cq_document_file page = *file;
  cq_builder *text = &file->room->role[CQ_ROLE_TEXT];
  bool found;
  if (is_encrypted(e, path))
    return cq_fail_file(error, CQ_ERR_FORMAT, file->path, "is encrypted (DRM): '%.200s' cannot be read", path);
  cq_status status = cq_archive_need(&page.bytes, &e->archive, path, error);
  page.room = &room;
  page.is_utf8 = !status && cq_utf8_invalid_at(page.bytes.data, page.bytes.n) == page.bytes.n;
  if (!status) status = cq_document_type_html.read(&found, NULL, &page, error);
  const cq_builder *read = &room.role[CQ_ROLE_TEXT];
  if (!status && read->n && text->n) cq_builder_char(text, '\n');
  if (!status) cq_builder_slice(text, cq_built(read));
  for (int i = 0; i < CQ_ROLES && !status; i++)
    if (room.role[i].failed) status = cq_fail_memory(error, file->path);
  if (!status && room.metadata.failed) status = cq_fail_memory(error, file->path);
  if (!status && !file->room->role[CQ_ROLE_LANGUAGE].n)
    cq_builder_slice(&file->room->role[CQ_ROLE_LANGUAGE], cq_built(&room.role[CQ_ROLE_LANGUAGE]));
  cq_document_room_free(&room);
  return status;
}

static cq_status read_epub(epub *e, cq_document_file *file, cq_error *error) {
  static const cq_xml_events container = {.open = open_container}, encryption = {.open = open_encryption},
                             package = {.open = open_package};
  static const char container_path[] = "META-INF/container.xml", encryption_path[] = "META-INF/encryption.xml";
  cq_slice xml;
  cq_status status = cq_archive_need(&xml, &e->archive, container_path, error);
  if (!status) status = cq_xml_events_read(xml, &container, e, file->path, container_path, error);
  if (!status) status = cq_archive_read(&xml, &e->archive, encryption_path, error);
  if (!status && xml.data) status = cq_xml_events_read(xml, &encryption, e, file->path, encryption_path, error);
  if (!status) status = cq_archive_need(&xml, &e->archive, e->package, error);
  if (!status) status = cq_take_properties(file, xml, e->package, error);
  if (!status) status = cq_xml_events_read(xml, &package, e, file->path, e->package, error);
  if (!status && (e->failed || e->encrypted.failed)) status = cq_fail_memory(error, file->path);
  if (!status && e->n_pages == 0)
    status = cq_fail_file(error, CQ_ERR_FORMAT, file->path, "'%.200s' names no page", e->package);
  if (!status && e->n_items) qsort(e->items, e->n_items, sizeof *e->items, by_id);
  for (size_t i = 0; i < e->n_pages && !status; i++) {
    const item wanted = {e->pages[i], NULL};
    const item *found = e->n_items ? bsearch(&wanted, e->items, e->n_items, sizeof *e->items, by_id) : NULL;
    status = found ? read_page(e, file, found->path, error)
                   : cq_fail_file(error, CQ_ERR_FORMAT, file->path, "'%.200s' has no item '%.100s'", e->package,
                                  e->pages[i]);
  }
  return status;
}

cq_status cq_formats_epub(cq_document_file *file, cq_error *error) {
  epub e = {.n_items = 0};
  cq_status status = cq_archive_open(&e.archive, file, error);
  if (status) return status;
  status = read_epub(&e, file, error);
  cq_finish_prose(file, (cq_slice){"", 0});
  cq_free(e.items);
  cq_free(e.pages);
  cq_builder_free(&e.encrypted);
  cq_archive_close(&e.archive);
  return status;
}
