/* N-grams of a text's words as hashes, the features of language identification. See ngrams.h. */
#include "text/ngrams.h"

#include "base/utf8.h"
#include "text/script.h"
#include "text/unicode.h"

/* A letter's script; otherwise CQ_SCRIPT_NONE, with *is_mark true for a mark that any script may use. */
static int letter_script(bool *is_mark, uint32_t c) {
  *is_mark = false;
  if (c < 0x80) return cq_char_script(c);
  const bool mark = cq_char_is_mark(c);
  if (!mark && !cq_char_is_letter(c)) return CQ_SCRIPT_NONE;
  const int script = cq_char_script(c);
  *is_mark = mark && script == CQ_SCRIPT_NONE;
  return script;
}

int cq_ngram_script(cq_slice text) {
  size_t n_bytes[CQ_N_SCRIPTS] = {0};
  int best = CQ_SCRIPT_NONE;
  for (size_t i = 0; i < text.n;) {
    uint32_t c;
    bool is_mark;
    const size_t n = cq_utf8_decode(&c, text.data + i, text.n - i);
    n_bytes[letter_script(&is_mark, c)] += n;
    i += n;
  }
  n_bytes[CQ_SCRIPT_NONE] = 0;
  for (int script = 0; script < CQ_N_SCRIPTS; script++)
    if (n_bytes[script] > n_bytes[best]) best = script;
  return best;
}

bool cq_ngram_next(cq_ngram_words *w) {
  w->n = 0;
  w->letters[w->n++] = ' ';
  while (w->text.n && w->n < CQ_NGRAM_WORD - 1) {
    uint32_t c, lower[2];
    bool is_mark;
    const size_t n = cq_utf8_decode(&c, w->text.data, w->text.n);
    w->text.data += n, w->text.n -= n;
    if (letter_script(&is_mark, c) == w->script || is_mark) {
      cq_char_lower(lower, c);
      w->letters[w->n++] = lower[0];
    } else if (w->n > 1) {
      break;
    }
  }
  if (w->n == 1) return false;
  w->letters[w->n++] = ' ';
  return true;
}

static uint32_t mix(uint32_t hash, uint32_t c) {
  hash = (hash ^ c) * 0x9E3779B1u;
  return hash ^ hash >> 15;
}

static uint32_t finish(uint32_t hash) {
  hash *= 0x85EBCA6Bu;
  hash ^= hash >> 13;
  return hash ? hash : 1;
}

size_t cq_ngram_hashes(uint32_t out[CQ_NGRAM_HASHES], const cq_ngram_words *w) {
  size_t n = 0;
  for (size_t begin = 0; begin < w->n; begin++) {
    uint32_t hash = 0x12345;
    for (size_t i = begin; i < w->n && i - begin < CQ_NGRAM_MAX; i++) {
      hash = mix(hash, w->letters[i]);
      if (i == begin && w->letters[i] == ' ') continue;
      out[n++] = finish(hash);
    }
  }
  if (w->n > CQ_NGRAM_MAX) {
    uint32_t hash = 0x777;
    for (size_t i = 0; i < w->n; i++) hash = mix(hash, w->letters[i]);
    out[n++] = finish(hash);
  }
  return n;
}
