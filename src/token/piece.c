/* What a piece represents: its text without the marker, and whether it begins a word. */
#include "token/tokenizer_parts.h"

#include "base/memory.h"
#include "base/utf8.h"

static const char metaspace[] = "\xE2\x96\x81"; /* U+2581 */

/* Byte-level pieces use stand-in characters: decodes them to text once, at opening. */
bool cq_pieces_decode(cq_tokenizer *t) {
  if (!t->model.byte_level) return true;
  for (size_t id = 0; id < t->vocab.n; id++) {
    cq_slice piece = cq_vocab_piece(&t->vocab, (int32_t)id);
    size_t start = t->decoded.n;
    bool ok = true;
    for (size_t i = 0; i < piece.n && ok;) {
      uint32_t c;
      i += cq_utf8_decode(&c, piece.data + i, piece.n - i);
      int byte = cq_byte_level_byte(c);
      ok = byte >= 0;
      if (ok) cq_builder_char(&t->decoded, (char)byte);
    }
    if (!ok) t->decoded.n = start;
    if (t->decoded.failed ||
        !cq_reserve((void **)&t->decoded_ends, &t->decoded_capacity, id + 1, sizeof *t->decoded_ends))
      return false;
    t->decoded_ends[id] = t->decoded.n;
  }
  return true;
}

static bool is_special(const cq_tokenizer *t, int32_t id) {
  for (size_t i = 0; i < t->added.n; i++) {
    if (t->added.tokens[i].id == id) return true;
  }
  for (size_t i = 0; i < t->n_before; i++) {
    if (t->before[i] == id) return true;
  }
  for (size_t i = 0; i < t->n_after; i++) {
    if (t->after[i] == id) return true;
  }
  return id == t->info.unk_id || id == t->info.pad_id || id == t->info.mask_id;
}

static bool starts_with(cq_slice text, cq_slice prefix) {
  return prefix.n && text.n >= prefix.n && !memcmp(text.data, prefix.data, prefix.n);
}

bool cq_tokenizer_piece(cq_slice *text, cq_piece_kind *kind, const cq_tokenizer *tokenizer, int32_t id) {
  cq_slice piece = cq_vocab_piece(&tokenizer->vocab, id), mark = cq_slice_of(metaspace);
  if (!piece.data) return false;
  *text = piece;
  if (is_special(tokenizer, id)) {
    *kind = CQ_PIECE_SPECIAL;
    return true;
  }
  if (tokenizer->model.byte_level) {
    size_t start = id ? tokenizer->decoded_ends[id - 1] : 0, end = tokenizer->decoded_ends[id];
    cq_slice plain = {tokenizer->decoded.data ? tokenizer->decoded.data + start : "", end - start};
    bool spaced = plain.n > 0 && plain.data[0] == ' ';
    if (spaced) plain = (cq_slice){plain.data + 1, plain.n - 1};
    *kind = spaced ? CQ_PIECE_START : CQ_PIECE_INSIDE;
    if ((plain.n == 0 && !spaced) || cq_utf8_invalid_at(plain.data, plain.n) != plain.n)
      *kind = CQ_PIECE_OTHER; /* a part of a character */
    else
      *text = plain;
    return true;
  }
  if (tokenizer->model.kind == &cq_wordpiece_kind) {
    bool inside = starts_with(piece, tokenizer->model.prefix);
    *kind = inside ? CQ_PIECE_INSIDE : CQ_PIECE_START;
    if (inside) *text = (cq_slice){piece.data + tokenizer->model.prefix.n, piece.n - tokenizer->model.prefix.n};
    if (starts_with(piece, cq_slice_of("[unused"))) *kind = CQ_PIECE_OTHER;
    return true;
  }
  if (tokenizer->model.kind == &cq_word_level_kind && !tokenizer->pre_tokenizers.metaspace) {
    *kind = CQ_PIECE_START; /* nothing says which words touch: they are separated */
    return true;
  }
  bool start = starts_with(piece, mark);
  *kind = start ? CQ_PIECE_START : CQ_PIECE_INSIDE;
  if (start) *text = (cq_slice){piece.data + mark.n, piece.n - mark.n};
  if (tokenizer->model.byte_fallback) {
    for (int b = 0; b < 256; b++) {
      if (tokenizer->model.byte_ids[b] == id) *kind = CQ_PIECE_OTHER;
    }
  }
  return true;
}

void cq_tokenizer_text(cq_builder *out, const cq_tokenizer *tokenizer, const int32_t *ids, size_t n) {
  const size_t before = out->n;
  bool apart = false; /* the next text begins a word */
  for (size_t i = 0; i < n; i++) {
    cq_slice text;
    cq_piece_kind kind;
    const bool known = cq_tokenizer_piece(&text, &kind, tokenizer, ids[i]);
    const bool is_unknown = ids[i] == tokenizer->info.unk_id;
    if (!known || (kind == CQ_PIECE_SPECIAL && !is_unknown) || kind == CQ_PIECE_OTHER) continue;
    if (is_unknown) text = cq_slice_of("\xE2\x81\x87");
    apart |= kind == CQ_PIECE_START || is_unknown;
    if (text.n == 0) continue; /* a bare marker */
    if (apart && out->n > before) cq_builder_char(out, ' ');
    cq_builder_bytes(out, text.data, text.n);
    apart = false;
  }
}
