/* The wire format of protocol buffers, as far as SentencePiece's models and ONNX files need it.
 *
 *   message  field*
 *   field    key (a varint: number << 3 | wire type), value
 *   value    0 varint, 1 eight bytes, 2 length (a varint) and bytes (text, a message), 5 four bytes
 *   varint   7 bits in a byte, the lowest first; the top bit says that more follow
 *
 * Reading checks untrusted bytes; writing appends to a builder, which says at the end whether memory ran out. */
#ifndef FORMAT_PROTOBUF_H
#define FORMAT_PROTOBUF_H

#include "base/slice.h"
#include "calque/status.h"

#include <stdint.h>

typedef struct cq_proto_reader {
  cq_slice bytes;          /* the whole file */
  size_t at, end;          /* the message being read */
  const char *path, *kind; /* for errors: "not KIND: ..." */
  cq_error *error;
  cq_status status;
} cq_proto_reader;

typedef struct cq_proto_field {
  uint64_t number, wire, varint;
  uint32_t fixed32;
  size_t start, n; /* wire type 2 */
} cq_proto_field;

/* A reader of a whole file. */
cq_proto_reader cq_proto_open(cq_slice bytes, const char *path, const char *kind, cq_error *error);
/* A reader of the message in a field. */
cq_proto_reader cq_proto_inside(const cq_proto_reader *parent, const cq_proto_field *field);
/* The next field of the message; false at its end, and after an error, which is r's status: CQ_ERR_FORMAT with the
 * byte. */
bool cq_proto_next(cq_proto_field *out, cq_proto_reader *r);
static inline cq_slice cq_proto_bytes(const cq_proto_reader *r, const cq_proto_field *field) {
  return (cq_slice){r->bytes.data + field->start, field->n};
}

void cq_proto_put_varint(cq_builder *out, uint64_t value);
size_t cq_proto_varint_length(uint64_t value);
void cq_proto_put_int(cq_builder *out, uint32_t number, int64_t value);
void cq_proto_put_float(cq_builder *out, uint32_t number, float value);
/* The key and the length of n bytes, which follow. */
void cq_proto_put_length(cq_builder *out, uint32_t number, uint64_t n);
void cq_proto_put_bytes(cq_builder *out, uint32_t number, cq_slice bytes);
void cq_proto_put_text(cq_builder *out, uint32_t number, const char *text);
/* Appends a message that was built, and empties its builder; one that failed makes `out` fail. */
void cq_proto_put_message(cq_builder *out, uint32_t number, cq_builder *message);

#endif
