/* A file that is one document of plain text. */
#include "document/reader.h"

static cq_status read_text(bool *found, void *state, cq_document_file *file, cq_error *error) {
  (void)state, (void)error;
  *found = true;
  const cq_slice text = file->is_whole ? file->bytes : cq_slice_trimmed(file->bytes);
  cq_builder_bytes(&file->room->role[CQ_ROLE_TEXT], text.data, text.n);
  return CQ_OK;
}

const cq_document_type cq_document_type_text = {
    .name = "text", .endings = " .txt .text ", .is_one = true, .most_bytes = CQ_WHOLE_FILE, .read = read_text};
