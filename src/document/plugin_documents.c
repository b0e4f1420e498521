/* Formats that a plugin reads: DOCX, ODT, EPUB, PDF. Each file is one document. */
#include "base/error.h"
#include "base/plugin.h"
#include "document/formats_plugin.h"

enum { MOST_PDF = 256 << 20 }; /* bytes: most of a large one are pictures */

static cq_status load_formats(const cq_formats_plugin **out, const cq_document_file *file, cq_error *error) {
  cq_error why = {0};
  const void *table;
  if (cq_plugin_load(&table, "formats", CQ_FORMATS_PLUGIN_VERSION,
                     "needs calque's plugin for formats of documents (calque-formats)", &why))
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, file->path, "%s", why.message);
  *out = table;
  return CQ_OK;
}

#define TYPE(format, file_endings, most)                                                                               \
  static cq_status read_##format(bool *found, void *state, cq_document_file *file, cq_error *error) {                  \
    const cq_formats_plugin *formats;                                                                                  \
    const cq_status status = load_formats(&formats, file, error);                                                      \
    (void)state, *found = true;                                                                                        \
    return status ? status : formats->format(file, error);                                                             \
  }                                                                                                                    \
  const cq_document_type cq_document_type_##format = {.name = #format,                                                 \
                                                      .endings = file_endings,                                         \
                                                      .is_one = true,                                                  \
                                                      .is_binary = true,                                               \
                                                      .most_bytes = (most),                                            \
                                                      .read = read_##format};

TYPE(docx, " .docx ", CQ_WHOLE_FILE)
TYPE(odt, " .odt ", CQ_WHOLE_FILE)
TYPE(epub, " .epub ", CQ_WHOLE_FILE)
TYPE(pdf, " .pdf ", MOST_PDF)
