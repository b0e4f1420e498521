/* The wire format of protocol buffers: reading with limits for untrusted bytes, and writing. See protobuf.h. */
#include "format/protobuf.h"

#include "base/error.h"

cq_proto_reader cq_proto_open(cq_slice bytes, const char *path, const char *kind, cq_error *error) {
  return (cq_proto_reader){bytes, 0, bytes.n, path, kind, error, CQ_OK};
}

cq_proto_reader cq_proto_inside(const cq_proto_reader *parent, const cq_proto_field *field) {
  cq_proto_reader r = *parent;
  r.at = field->start;
  r.end = field->start + field->n;
  return r;
}

static bool read_varint(uint64_t *out, cq_proto_reader *r) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (r->at >= r->end) return false;
    unsigned char byte = (unsigned char)r->bytes.data[r->at++];
    value |= (uint64_t)(byte & 0x7F) << shift;
    if (byte < 0x80) {
      *out = value;
      return true;
    }
  }
  return false;
}

bool cq_proto_next(cq_proto_field *out, cq_proto_reader *r) {
  size_t start = r->at;
  uint64_t key, n;
  *out = (cq_proto_field){0};
  if (r->status || r->at >= r->end) return false;
  bool ok = read_varint(&key, r);
  if (ok) {
    out->number = key >> 3;
    out->wire = key & 7;
    switch (out->wire) {
    case 0: ok = read_varint(&out->varint, r); break;
    case 1:
      ok = r->end - r->at >= 8;
      if (ok) r->at += 8;
      break;
    case 2:
      ok = read_varint(&n, r) && n <= r->end - r->at;
      if (ok) {
        out->start = r->at;
        out->n = (size_t)n;
        r->at += out->n;
      }
      break;
    case 5:
      ok = r->end - r->at >= 4;
      if (ok) {
        const unsigned char *p = (const unsigned char *)r->bytes.data + r->at;
        out->fixed32 = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        r->at += 4;
      }
      break;
    default: ok = false;
    }
  }
  if (ok && out->number) return true;
  r->status = cq_fail_byte(r->error, CQ_ERR_FORMAT, r->path, start,
                           "not %s: a field that does not end, or of no known kind", r->kind);
  return false;
}

void cq_proto_put_varint(cq_builder *out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) cq_builder_char(out, (char)(0x80 | (value & 0x7F)));
  cq_builder_char(out, (char)value);
}

size_t cq_proto_varint_length(uint64_t value) {
  size_t n = 1;
  for (; value >= 0x80; value >>= 7) n++;
  return n;
}

void cq_proto_put_int(cq_builder *out, uint32_t number, int64_t value) {
  cq_proto_put_varint(out, (uint64_t)number << 3);
  cq_proto_put_varint(out, (uint64_t)value);
}

void cq_proto_put_float(cq_builder *out, uint32_t number, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  cq_proto_put_varint(out, (uint64_t)number << 3 | 5);
  for (int i = 0; i < 4; i++) cq_builder_char(out, (char)(bits >> 8 * i));
}

void cq_proto_put_length(cq_builder *out, uint32_t number, uint64_t n) {
  cq_proto_put_varint(out, (uint64_t)number << 3 | 2);
  cq_proto_put_varint(out, n);
}

void cq_proto_put_bytes(cq_builder *out, uint32_t number, cq_slice bytes) {
  cq_proto_put_length(out, number, bytes.n);
  cq_builder_slice(out, bytes);
}

void cq_proto_put_text(cq_builder *out, uint32_t number, const char *text) {
  cq_proto_put_bytes(out, number, cq_slice_of(text));
}

void cq_proto_put_message(cq_builder *out, uint32_t number, cq_builder *message) {
  cq_proto_put_bytes(out, number, cq_built(message));
  out->failed = out->failed || message->failed;
  cq_builder_free(message);
}
