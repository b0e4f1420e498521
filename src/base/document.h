/* Copies of documents, whose fields are borrowed: all of them in one block. */
#ifndef BASE_DOCUMENT_H
#define BASE_DOCUMENT_H

#include "calque/document.h"

/* The bytes that its fields take, a zero behind each. */
size_t cq_document_bytes(const cq_document *document);
/* Copies the fields of a document to a block of as many bytes, which it points into afterwards. */
void cq_document_move_fields(cq_document *document, char *block);

#endif
