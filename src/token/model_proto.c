/* Reads a SentencePiece model file (protobuf), with limits for untrusted bytes. See model_proto.h. */
#include "token/model_proto.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "format/protobuf.h"

static const char kind[] = "a SentencePiece model";

/* Passes the fields of the message to f, one by one. */
static cq_status read_message(void *out, const cq_proto_reader *parent, const cq_proto_field *f,
                              void (*take)(void *out, const char *bytes, const cq_proto_field *f)) {
  cq_proto_reader r = cq_proto_inside(parent, f);
  cq_proto_field g;
  while (cq_proto_next(&g, &r)) take(out, r.bytes.data, &g);
  return r.status;
}

static void take_piece_field(void *out, const char *bytes, const cq_proto_field *f) {
  cq_sp_piece *piece = out;
  if (f->number == 1 && f->wire == 2) piece->text = (cq_slice){bytes + f->start, f->n};
  if (f->number == 2 && f->wire == 5) memcpy(&piece->score, &f->fixed32, 4);
  if (f->number == 3 && f->wire == 0) piece->type = f->varint <= CQ_SP_BYTE ? (int)f->varint : CQ_SP_UNUSED;
}

static cq_status read_sp_piece(cq_sp_model *out, const cq_proto_reader *r, const cq_proto_field *f) {
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

static void take_trainer_field(void *out, const char *bytes, const cq_proto_field *f) {
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

static void take_normalizer_field(void *out, const char *bytes, const cq_proto_field *f) {
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
  cq_proto_reader r = cq_proto_open(bytes, path, kind, error);
  cq_proto_field f;
  while (cq_proto_next(&f, &r)) {
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

void cq_sp_model_append_piece(cq_builder *bytes, cq_slice text, float score) {
  cq_proto_put_length(bytes, 1,
                      1 + cq_proto_varint_length(text.n) + text.n + 5); /* pieces follow wherever they stand */
  cq_proto_put_bytes(bytes, 1, text);
  cq_proto_put_float(bytes, 2, score);
}

cq_status cq_sp_model_drop_piece(char *bytes, size_t *n, cq_slice text, cq_error *error) {
  cq_proto_reader r = cq_proto_open((cq_slice){bytes, *n}, "vocabulary", kind, error);
  cq_proto_field f;
  for (size_t start = 0; cq_proto_next(&f, &r); start = r.at) {
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
static void cut_message(char *bytes, size_t *n, size_t start, const cq_proto_field *message, size_t from, size_t to) {
  size_t key = 1;
  while (bytes[start + key - 1] & 0x80) key++;
  const size_t rest = message->n - (to - from), header = key + cq_proto_varint_length(rest);
  memmove(bytes + from, bytes + to, *n - to);
  *n -= to - from;
  memmove(bytes + start + header, bytes + message->start, *n - message->start);
  *n -= message->start - (start + header);
  for (size_t i = key, left = rest; i < header; i++, left >>= 7)
    bytes[start + i] = (char)((left & 0x7F) | (left >= 0x80 ? 0x80 : 0));
}

cq_status cq_sp_model_drop_rules_name(char *bytes, size_t *n, cq_error *error) {
  cq_proto_reader r = cq_proto_open((cq_slice){bytes, *n}, "vocabulary", kind, error);
  cq_proto_field f, g;
  for (size_t start = 0; cq_proto_next(&f, &r); start = r.at) {
    if (f.wire != 2 || f.number != 3) continue;
    r.at = f.start;
    r.end = f.start + f.n;
    for (size_t from = r.at; cq_proto_next(&g, &r); from = r.at)
      if (g.wire == 2 && g.number == 6) {
        cut_message(bytes, n, start, &f, from, r.at);
        break;
      }
    break;
  }
  return r.status;
}
