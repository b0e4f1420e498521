/* Any bytes as DOCX, ODT or EPUB are an error that names the file, or text that is UTF-8. The first byte chooses the format. If
 * the second one is 0, the rest is an archive; otherwise it is the part of one that has the text. */
#include "fuzz.h"

#include "base/utf8.h"
#include "document/formats_plugin.h"

#include <string.h>

extern const cq_formats_plugin cq_formats_plugin_table;

static void put_number(cq_builder *out, size_t x, int n_bytes) {
  for (int i = 0; i < n_bytes; i++) cq_builder_char(out, (char)(x >> (8 * i) & 0xFF));
}

/* An archive of files that are stored as they are: name, bytes. */
static void make_archive(cq_builder *out, const cq_slice (*files)[2], size_t n) {
  cq_builder directory = {0};
  for (size_t i = 0; i < n; i++) {
    const size_t at = out->n;
    for (int is_directory = 0; is_directory < 2; is_directory++) {
      cq_builder *to = is_directory ? &directory : out;
      cq_builder_bytes(to, is_directory ? "PK\1\2\24\0\24\0" : "PK\3\4\24\0", is_directory ? 8 : 6);
      put_number(to, 0, 8), put_number(to, 0, 4), put_number(to, files[i][1].n, 4), put_number(to, files[i][1].n, 4);
      put_number(to, files[i][0].n, 2), put_number(to, 0, 2);
      if (is_directory) put_number(to, 0, 8), put_number(to, 0, 2), put_number(to, at, 4);
      cq_builder_slice(to, files[i][0]);
    }
    cq_builder_slice(out, files[i][1]);
  }
  const size_t at = out->n, size = directory.n;
  cq_builder_slice(out, cq_built(&directory));
  cq_builder_bytes(out, "PK\5\6\0\0\0\0", 8);
  put_number(out, n, 2), put_number(out, n, 2), put_number(out, size, 4), put_number(out, at, 4), put_number(out, 0, 2);
  cq_builder_free(&directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (n < 2) return 0;
  static const char package[] = "<package><manifest><item id=\"a\" href=\"a\"/></manifest><spine><itemref idref=\"a\"/>"
                                "</spine></package>",
                    container[] = "<c><rootfile full-path=\"p\"/></c>";
  const cq_slice text = {(const char *)data + 2, n - 2};
  const cq_slice files[5][2] = {{cq_slice_of("word/document.xml"), text},
                                {cq_slice_of("content.xml"), text},
                                {cq_slice_of("a"), text},
                                {cq_slice_of("p"), data[1] & 1 ? text : cq_slice_of(package)},
                                {cq_slice_of("META-INF/container.xml"), cq_slice_of(container)}};
  cq_format_read *const formats[] = {cq_formats_plugin_table.docx, cq_formats_plugin_table.odt,
                                     cq_formats_plugin_table.epub};
  cq_builder archive = {0};
  cq_document_room room = {0};
  cq_error error = {0};
  if (data[1] == 0)
    cq_builder_slice(&archive, text);
  else
    make_archive(&archive, files, 5);
  cq_document_file file = {.path = "file", .bytes = cq_built(&archive), .room = &room};
  const cq_status status = formats[data[0] % 3](&file, &error);
  CHECK(status == CQ_OK || status == CQ_ERR_FORMAT || status == CQ_ERR_LIMIT);
  CHECK(status == CQ_OK || (!strcmp(error.file, "file") && *error.message));
  for (int i = 0; i < CQ_ROLES && !status; i++) {
    const cq_slice role = cq_built(&room.role[i]);
    CHECK(cq_utf8_invalid_at(role.data, role.n) == role.n);
  }
  cq_document_room_free(&room);
  cq_builder_free(&archive);
  return 0;
}
