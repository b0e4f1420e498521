/* Deep copies of documents, in one arena each. See document.h. */
#include "base/document.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

enum { N_FIELDS = 6 };

static void list_fields(cq_slice *out[N_FIELDS], cq_document *d) {
  cq_slice *const fields[N_FIELDS] = {&d->id, &d->language, &d->text, &d->title, &d->url, &d->metadata};
  memcpy(out, fields, sizeof fields);
}

size_t cq_document_bytes(const cq_document *d) {
  return d->id.n + d->language.n + d->text.n + d->title.n + d->url.n + d->metadata.n + N_FIELDS;
}

void cq_document_move_fields(cq_document *d, char *block) {
  cq_slice *fields[N_FIELDS];
  list_fields(fields, d);
  for (int i = 0; i < N_FIELDS; i++) {
    if (fields[i]->n) memcpy(block, fields[i]->data, fields[i]->n);
    block[fields[i]->n] = 0;
    fields[i]->data = block;
    block += fields[i]->n + 1;
  }
}

cq_status cq_document_copy(cq_document **out, const cq_document *document, cq_error *error) {
  cq_document *copy = *out = cq_alloc(sizeof *copy + cq_document_bytes(document));
  if (!copy) return cq_fail_memory(error, "a document");
  *copy = *document;
  cq_document_move_fields(copy, (char *)(copy + 1));
  return CQ_OK;
}
