/* Any bytes as documents of every format are an error with a place, or documents that are well-formed. The first byte
 * chooses the format and the encoding. */
#include "fuzz.h"

#include "base/utf8.h"
#include "calque/document.h"

#include <string.h>

static void check_text(cq_slice text) {
  CHECK(text.data || text.n == 0);
  CHECK(cq_utf8_invalid_at(text.data, text.n) == text.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (n == 0) return 0;
  const char *path = input_file(data + 1, n - 1);
  cq_documents_options o = cq_documents_default_options();
  /* not those of plugins; the last two are 0xA0 and 0xA1 */
  o.format = (data[0] & 0xF0) == 0xA0 ? (data[0] & 1 ? CQ_DOCUMENTS_MEDIAWIKI : CQ_DOCUMENTS_SUBTITLES)
                                      : (cq_document_format)(data[0] % (CQ_DOCUMENTS_PARQUET + 1));
  o.encoding = data[0] >= 0xC0 ? "windows-1252" : NULL;
  cq_documents *in;
  cq_document d;
  cq_error error = {0};
  CHECK(cq_documents_open(&in, &path, 1, &o, &error) == CQ_OK);
  cq_status status;
  while (!(status = cq_documents_next(&d, in, &error)) && d.id.data) {
    const cq_slice parts[] = {d.id, d.title, d.text, d.url, d.language, d.metadata};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) check_text(parts[i]);
    CHECK(d.id.n > 0);
    char *json;
    CHECK(cq_document_json(&json, &d, &error) == CQ_OK);
    cq_free(json);
  }
  CHECK(status == CQ_OK || (error.message[0] && !strcmp(error.file, path)));
  CHECK(status == CQ_OK || status == CQ_ERR_FORMAT || status == CQ_ERR_UNSUPPORTED || status == CQ_ERR_LIMIT);
  cq_documents_close(in);
  return 0;
}
