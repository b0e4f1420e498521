/* Reads a SentencePiece model file (protobuf), with limits for untrusted bytes. See model_proto.h. */
#include "token/model_proto.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"

typedef struct reader {
  cq_slice bytes; /* the whole file */
  size_t at, end; /* the message being read */
  const char *path;
  cq_error *error;
  cq_status status;
} reader;

typedef struct field {
  uint64_t number, wire, varint;
  uint32_t fixed32;
  size_t start, n; /* wire type 2 */
} field;

static bool read_varint(uint64_t *out, reader *r) {
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

/* The next field of the message; false at its end, and after an error, which is r's status. */
static bool read_field(field *out, reader *r) {
  size_t start = r->at;
  uint64_t key, n;
  *out = (field){0};
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
                           "not a SentencePiece model: a field that does not end, or of no known kind");
  return false;
}

/* Passes the fields of the message to f, one by one. */
static cq_status read_message(void *out, const reader *parent, const field *f,
                              void (*take)(void *out, const char *bytes, const field *f)) {
  reader r = *parent;
  r.at = f->start;
  r.end = f->start + f->n;
  field g;
  while (read_field(&g, &r)) take(out, r.bytes.data, &g);
  return r.status;
}

static void take_piece_field(void *out, const char *bytes, const field *f) {
  cq_sp_piece *piece = out;
  if (f->number == 1 && f->wire == 2) piece->text = (cq_slice){bytes + f->start, f->n};
  if (f->number == 2 && f->wire == 5) memcpy(&piece->score, &f->fixed32, 4);
  if (f->number == 3 && f->wire == 0) piece->type = f->varint <= CQ_SP_BYTE ? (int)f->varint : CQ_SP_UNUSED;
}

static cq_status read_sp_piece(cq_sp_model *out, const reader *r, const field *f) {
  cq_sp_piece piece = {{"", 0}, 0, CQ_SP_NORMAL};
  cq_status status = read_message(&piece, r, f, take_piece_field);
  if (status) return status;
  if (cq_utf8_invalid_at(piece.text.data, piece.text.n) != piece.text.n || piece.text.n == 0)
    return cq_fail_byte(r->error, CQ_ERR_FORMAT, r->path, f->start, "piece %zu is empty or not UTF-8", out->n);
  if (!cq_reserve((void **)&out->pieces, &out->capacity, out->n + 1, sizeof *out->pieces))
    return cq_fail_memory(r->error, "SentencePiece model");
  out->pieces[out->n++] = piece;
  return CQ_OK;
}

static void take_trainer_field(void *out, const char *bytes, const field *f) {
  cq_sp_model *model = out;
  (void)bytes;
  if (f->wire != 0) return;
  if (f->number == 3) model->model_type = f->varint < 100 ? (int64_t)f->varint : 100;
  if (f->number == 24) model->whitespace_as_suffix = f->varint != 0;
  if (f->number == 35) model->byte_fallback = f->varint != 0;
  if (f->number == 40) model->unk_id = (int32_t)f->varint;
  if (f->number == 41) model->bos_id = (int32_t)f->varint;
  if (f->number == 42) model->eos_id = (int32_t)f->varint;
}

static void take_normalizer_field(void *out, const char *bytes, const field *f) {
  cq_sp_model *model = out;
  if (f->number == 2 && f->wire == 2) model->charsmap = (cq_slice){bytes + f->start, f->n};
  if (f->number == 3 && f->wire == 0) model->add_dummy_prefix = f->varint != 0;
  if (f->number == 4 && f->wire == 0) model->remove_extra_whitespaces = f->varint != 0;
  if (f->number == 5 && f->wire == 0) model->escape_whitespaces = f->varint != 0;
}

cq_status cq_sp_model_read(cq_sp_model *out, cq_slice bytes, const char *path, cq_error *error) {
  *out = (cq_sp_model){.model_type = CQ_SP_UNIGRAM,
                       .bos_id = 1,
                       .eos_id = 2,
                       .add_dummy_prefix = true,
                       .remove_extra_whitespaces = true,
                       .escape_whitespaces = true};
  reader r = {bytes, 0, bytes.n, path, error, CQ_OK};
  field f;
  while (read_field(&f, &r)) {
    if (f.wire == 2 && f.number == 1) r.status = read_sp_piece(out, &r, &f);
    if (f.wire == 2 && f.number == 2) r.status = read_message(out, &r, &f, take_trainer_field);
    if (f.wire == 2 && f.number == 3) r.status = read_message(out, &r, &f, take_normalizer_field);
  }
  if (!r.status && out->n == 0)
    r.status = cq_fail_file(error, CQ_ERR_FORMAT, path, "not a SentencePiece model: no pieces");
  if (r.status) cq_sp_model_free(out);
  return r.status;
}

void cq_sp_model_free(cq_sp_model *model) {
  cq_free(model->pieces);
  *model = (cq_sp_model){0};
}

static void append_varint(cq_builder *out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) cq_builder_char(out, (char)(0x80 | (value & 0x7F)));
  cq_builder_char(out, (char)value);
}

static size_t varint_length(uint64_t value) {
  size_t n = 1;
  for (; value >= 0x80; value >>= 7) n++;
  return n;
}

void cq_sp_model_append_piece(cq_builder *bytes, cq_slice text, float score) {
  uint32_t bits;
  memcpy(&bits, &score, sizeof bits);
  append_varint(bytes, 1 << 3 | 2); /* pieces, which follow wherever they stand */
  append_varint(bytes, 1 + varint_length(text.n) + text.n + 5);
  append_varint(bytes, 1 << 3 | 2);
  append_varint(bytes, text.n);
  cq_builder_bytes(bytes, text.data, text.n);
  append_varint(bytes, 2 << 3 | 5);
  for (int i = 0; i < 4; i++) cq_builder_char(bytes, (char)(bits >> 8 * i));
}

cq_status cq_sp_model_drop_piece(char *bytes, size_t *n, cq_slice text, cq_error *error) {
  reader r = {{bytes, *n}, 0, *n, "vocabulary", error, CQ_OK};
  field f;
  for (size_t start = 0; read_field(&f, &r); start = r.at) {
    if (f.wire != 2 || f.number != 1) continue;
    cq_sp_piece piece = {{"", 0}, 0, CQ_SP_NORMAL};
    r.status = read_message(&piece, &r, &f, take_piece_field);
    if (r.status || !cq_slice_equal(piece.text, text)) continue;
    memmove(bytes + start, bytes + r.at, *n - r.at);
    *n -= r.at - start;
    break;
  }
  return r.status;
}

/* Removes the bytes [from, to) of a message, whose key begins at start, and updates its length. */
static void cut_message(char *bytes, size_t *n, size_t start, const field *message, size_t from, size_t to) {
  size_t key = 1;
  while (bytes[start + key - 1] & 0x80) key++;
  const size_t rest = message->n - (to - from), header = key + varint_length(rest);
  memmove(bytes + from, bytes + to, *n - to);
  *n -= to - from;
  memmove(bytes + start + header, bytes + message->start, *n - message->start);
  *n -= message->start - (start + header);
  for (size_t i = key, left = rest; i < header; i++, left >>= 7)
    bytes[start + i] = (char)((left & 0x7F) | (left >= 0x80 ? 0x80 : 0));
}

cq_status cq_sp_model_drop_rules_name(char *bytes, size_t *n, cq_error *error) {
  reader r = {{bytes, *n}, 0, *n, "vocabulary", error, CQ_OK};
  field f, g;
  for (size_t start = 0; read_field(&f, &r); start = r.at) {
    if (f.wire != 2 || f.number != 3) continue;
    r.at = f.start;
    r.end = f.start + f.n;
    for (size_t from = r.at; read_field(&g, &r); from = r.at)
      if (g.wire == 2 && g.number == 6) {
        cut_message(bytes, n, start, &f, from, r.at);
        break;
      }
    break;
  }
  return r.status;
}
