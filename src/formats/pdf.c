/* PDF: the text of its pages, whose lines end where those on the page do; a hyphen at the end of a line is dropped. A scanned
 * document has pictures of text only. */
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "format/json.h"
#include "formats/archive.h"
#include "formats/formats.h"
#include "formats/poppler.h"

#ifdef HAS_POPPLER

typedef struct pdf {
  cq_document_file *file;
  cq_builder author;
  size_t n_pages;
} pdf;

static int put_part(void *context, cq_pdf_part part, const char *text, size_t n) {
  pdf *p = context;
  cq_builder *out = part == CQ_PDF_TITLE    ? &p->file->room->role[CQ_ROLE_TITLE]
                    : part == CQ_PDF_AUTHOR ? &p->author
                                            : &p->file->room->role[CQ_ROLE_TEXT];
  p->n_pages += part == CQ_PDF_PAGE;
  if (cq_utf8_invalid_at(text, n) < n) n = 0;
  if (part == CQ_PDF_PAGE)
    cq_builder_bytes(out, text, n);
  else
    cq_put_prose(out, text, n);
  return !out->failed && out->n <= CQ_WHOLE_FILE;
}

cq_status cq_formats_pdf(cq_document_file *file, cq_error *error) {
  pdf p = {.file = file};
  char message[256];
  const cq_builder *text = &file->room->role[CQ_ROLE_TEXT];
  cq_status status = CQ_OK;
  if (cq_poppler_read(file->bytes.data, file->bytes.n, put_part, &p, message, sizeof message))
    status = cq_fail_file(error, CQ_ERR_FORMAT, file->path, "%s", message);
  else if (text->n > CQ_WHOLE_FILE)
    status = cq_fail_file(error, CQ_ERR_LIMIT, file->path, "a document of more than %zu MiB", CQ_WHOLE_FILE >> 20);
  cq_finish_prose(file, (cq_slice){"", 0});
  if (!status && text->n == 0 && !text->failed)
    status = cq_fail_file(error, CQ_ERR_FORMAT, file->path,
                          "its %zu page%s no text, only pictures: it may be a scan, whose text has to be recognized "
                          "first (OCR)",
                          p.n_pages, p.n_pages == 1 ? " has" : "s have");
  if (!status) status = cq_put_author(file, &p.author, error);
  cq_builder_free(&p.author);
  return status;
}

#else

cq_status cq_formats_pdf(cq_document_file *file, cq_error *error) {
  return cq_fail_file(error, CQ_ERR_UNSUPPORTED, file->path,
                      "calque's plugin for formats was built without PDF (libpoppler-cpp-dev)");
}

#endif
