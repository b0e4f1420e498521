/* Marks word boundaries in scripts without spaces, only for training a vocabulary. See word_marks.h. */
#include "token/word_marks.h"

#include "base/utf8.h"
#include "text/script.h"

enum { NAME_CHARACTERS = 3 };

cq_status cq_word_marks_open(cq_word_marks *out, cq_error *error) {
  *out = (cq_word_marks){0};
  return cq_splitter_open(&out->splitter, CQ_SPLIT_WORDS, error);
}

void cq_word_marks_close(cq_word_marks *m) {
  cq_splitter_close(&m->splitter);
  cq_builder_free(&m->text);
}

static bool lacks_spaces(cq_slice text) {
  enum { FIRST_LEAD = 0xE0 }; /* lead byte of three-byte characters; Thai is the first of these scripts */
  for (size_t at = 0; at < text.n;) {
    uint32_t code;
    if ((unsigned char)text.data[at] < FIRST_LEAD) {
      at++;
      continue;
    }
    at += cq_utf8_decode(&code, text.data + at, text.n - at);
    if (cq_script_has_no_spaces(cq_char_script(code))) return true;
  }
  return false;
}

static bool is_one_character(cq_slice word) {
  uint32_t code;
  return cq_utf8_decode(&code, word.data, word.n) == word.n;
}

/* How many words from words[0] on stay together: adjacent single characters if there are enough, otherwise one word. */
static size_t together(const cq_slice *words, size_t n) {
  size_t run = 0;
  while (run < n && is_one_character(words[run]) &&
         (run == 0 || words[run - 1].data + words[run - 1].n == words[run].data))
    run++;
  return run >= NAME_CHARACTERS ? run : 1;
}

bool cq_word_marks_set(cq_word_marks *m, cq_slice *text) {
  if (!lacks_spaces(*text)) return true;
  if (!cq_splitter_run(&m->splitter, *text)) return false;
  const cq_slice *words = m->splitter.items;
  const size_t n = m->splitter.n;
  const char *from = text->data; /* what is not yet taken over */
  cq_builder_clear(&m->text);
  for (size_t i = 0; i < n;) {
    const size_t next = i + together(words + i, n - i);
    const char *end = words[next - 1].data + words[next - 1].n;
    if (next < n && words[next].data == end) {
      cq_builder_bytes(&m->text, from, (size_t)(end - from));
      cq_builder_text(&m->text, CQ_WORD_MARK);
      from = end;
    }
    i = next;
  }
  cq_builder_bytes(&m->text, from, (size_t)(text->data + text->n - from));
  if (m->text.failed) return false;
  *text = (cq_slice){m->text.data, m->text.n};
  return true;
}
