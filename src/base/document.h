/* Copies documents, whose fields are borrowed: the fields of all of them go into one block. */
#ifndef BASE_DOCUMENT_H
#define BASE_DOCUMENT_H

#include "calque/document.h"

/* The bytes that its fields take, each followed by a zero. */
size_t cq_document_bytes(const cq_document *document);
/* Copies a document's fields into a block of cq_document_bytes(); the document then points into the block. */
void cq_document_move_fields(cq_document *document, char *block);

#endif
