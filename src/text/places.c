/* Mapping bytes of a normal form back to the bytes of the text they came from. See places.h. */
#include "text/places.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "text/language_rules.h"
#include "text/unicode.h"

/* The Thai and Lao aa, which may form one vowel with the character before it. */
enum { THAI_AA = 0xe32, LAO_AA = 0xeb2 };

static bool begins_piece(uint32_t c) {
  return c < 0x80 || (c != THAI_AA && c != LAO_AA && cq_char_begins_normal_form(c, CQ_NFKC));
}

static size_t piece_length(cq_slice text) {
  uint32_t c;
  size_t n = cq_utf8_decode(&c, text.data, text.n);
  for (size_t next; n < text.n; n += next) {
    next = cq_utf8_decode(&c, text.data + n, text.n - n);
    if (begins_piece(c)) break;
  }
  return n;
}

static bool add_piece(cq_places *p, size_t text, size_t normal) {
  if (!cq_reserve((void **)&p->pieces, &p->capacity, p->n + 1, sizeof *p->pieces)) return false;
  p->pieces[p->n++] = (cq_piece){text, normal};
  return true;
}

bool cq_places_set(cq_places *p, cq_slice text, cq_slice normal, unsigned rules) {
  p->n = 0;
  p->is_same = text.n == normal.n && cq_text_is_ascii(text);
  if (p->is_same) return true;
  size_t at = 0, n_normal = 0;
  while (at < text.n) {
    const cq_slice piece = {text.data + at, piece_length((cq_slice){text.data + at, text.n - at})};
    if (!add_piece(p, at, n_normal)) return false;
    cq_language_normal_form(&p->normal, &p->scratch, piece, rules);
    if (p->normal.failed) return false;
    at += piece.n, n_normal += p->normal.n;
  }
  /* If the pieces do not add up, the whole text becomes one piece: a span is then too long, but never wrong. */
  if (n_normal != normal.n) {
    p->n = 0;
    if (!add_piece(p, 0, 0)) return false;
  }
  return add_piece(p, text.n, normal.n) && p->n-- > 0;
}

/* The first piece that begins at or after a byte of the normal form. */
static size_t piece_from(const cq_places *p, size_t at) {
  size_t low = 0, high = p->n;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (p->pieces[middle].normal < at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

cq_span cq_places_find(const cq_places *p, size_t begin, size_t end) {
  if (p->is_same || end <= begin) return (cq_span){begin, end};
  /* From the piece that contains byte `begin`: the last one that does not begin after it. */
  return (cq_span){p->pieces[piece_from(p, begin + 1) - 1].text, p->pieces[piece_from(p, end)].text};
}

void cq_places_free(cq_places *p) {
  cq_free(p->pieces);
  cq_builder_free(&p->normal);
  cq_builder_free(&p->scratch);
  *p = (cq_places){0};
}
