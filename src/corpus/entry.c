/* Turns an entry of a bilingual dictionary into rows: each headword with each of its translations. See entry.h. */
#include "corpus/entry.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <string.h>

enum { COMBINING_ACUTE = 0x301, HYPHEN = 0x2010 };

/* Vowel points of Arabic and Hebrew, which are rare in text. */
static bool is_vowel_point(uint32_t code) {
  return (code >= 0x64B && code <= 0x652) || code == 0x670 || (code >= 0x5B0 && code <= 0x5C7 && code != 0x5BE);
}

/* "Beere [bot.]" without the note; an unclosed note extends to the end of the text. */
static void without_notes(cq_builder *out, cq_slice text) {
  size_t depth = 0;
  cq_builder_clear(out);
  for (size_t i = 0; i < text.n; i++) {
    const char c = text.data[i];
    if (c && strchr("([<{", c))
      depth++;
    else if (c && strchr(")]>}", c))
      depth -= depth > 0;
    else if (depth == 0)
      cq_builder_char(out, c);
  }
}

/* The length in bytes of a comma or semicolon of any script at the start of the text, or 0. */
static size_t separator_length(cq_slice text) {
  static const char *const separators[] = {",", ";", "،", "؛", "、", "，", "；"};
  for (size_t i = 0; i < sizeof separators / sizeof *separators; i++) {
    const cq_slice s = cq_slice_of(separators[i]);
    if (cq_slice_begins(text, s)) return s.n;
  }
  return 0;
}

/* A word or phrase as it occurs in text: single blanks (tildes in some dictionaries), no period at the end, plain
 * hyphens, no stress marks on Cyrillic letters, and no vowel points of Arabic and Hebrew. */
static void add_to_list(cq_words_list *list, cq_dictionary_entry *e, cq_slice text) {
  const size_t begin = list->text.n;
  bool blank = false, after_cyrillic = false;
  size_t step;
  text = cq_slice_trimmed(text);
  while (text.n && (text.data[text.n - 1] == '.' || cq_is_blank(text.data[text.n - 1]))) text.n--;
  for (size_t i = 0; i < text.n; i += step) {
    uint32_t code;
    step = cq_utf8_decode(&code, text.data + i, text.n - i);
    if (code == '~' || (code < 0x80 && cq_is_blank((char)code))) {
      blank = true;
      continue;
    }
    if ((code == COMBINING_ACUTE && after_cyrillic) || is_vowel_point(code)) continue;
    if (blank && list->text.n > begin) cq_builder_char(&list->text, ' ');
    blank = false, after_cyrillic = code >= 0x400 && code < 0x530;
    if (code == HYPHEN)
      cq_builder_char(&list->text, '-');
    else
      cq_builder_bytes(&list->text, text.data + i, step);
  }
  if (list->text.n == begin) return;
  if (list->text.failed || !cq_reserve((void **)&list->ends, &list->capacity, list->n + 1, sizeof *list->ends))
    e->failed = true;
  else
    list->ends[list->n++] = list->text.n;
}

static cq_slice word_at(const cq_words_list *list, size_t i) {
  const size_t begin = i ? list->ends[i - 1] : 0;
  return (cq_slice){list->text.data + begin, list->ends[i] - begin};
}

void cq_entry_begin(cq_dictionary_entry *e) {
  cq_builder_clear(&e->heads.text);
  cq_builder_clear(&e->translations.text);
  e->heads.n = e->translations.n = e->next = 0;
}

void cq_entry_add_head(cq_dictionary_entry *e, cq_slice text) {
  add_to_list(&e->heads, e, text);
}

void cq_entry_add_translation(cq_dictionary_entry *e, cq_slice text) {
  add_to_list(&e->translations, e, text);
}

/* The end of the pronunciation that begins at i, as in "/ˈkʌlə/ <n>": after the slash that is followed by a blank, a
 * comma or the end. */
static size_t pronunciation_end(cq_slice text, size_t i) {
  for (i++; i < text.n; i++)
    if (text.data[i] == '/' && (i + 1 == text.n || text.data[i + 1] == ',' || cq_is_blank(text.data[i + 1])))
      return i + 1;
  return text.n;
}

void cq_entry_add_heads(cq_dictionary_entry *e, cq_slice text) {
  without_notes(&e->scratch, text);
  e->failed |= e->scratch.failed;
  const cq_slice all = cq_built(&e->scratch);
  size_t begin = 0;
  while (begin < all.n) {
    size_t end = begin;
    while (end < all.n && !(all.data[end] == '/' && end > begin && cq_is_blank(all.data[end - 1]))) end++;
    add_to_list(&e->heads, e, (cq_slice){all.data + begin, end - begin});
    /* pronunciations of this one, to a comma */
    while (end < all.n && all.data[end] != ',') {
      if (all.data[end] == '/')
        end = pronunciation_end(all, end);
      else
        end++;
    }
    begin = end + (end < all.n);
  }
}

size_t cq_entry_add_translations(cq_dictionary_entry *e, cq_slice text) {
  const size_t before = e->translations.n;
  without_notes(&e->scratch, text);
  e->failed |= e->scratch.failed;
  const cq_slice all = cq_built(&e->scratch);
  size_t begin = 0;
  for (size_t i = 0; i <= all.n;) {
    const size_t n = separator_length((cq_slice){all.data + i, all.n - i});
    if (n > 0 || i == all.n) {
      add_to_list(&e->translations, e, (cq_slice){all.data + begin, i - begin});
      begin = i + n;
    }
    i += n ? n : 1;
  }
  return e->translations.n - before;
}

bool cq_entry_next(cq_row *out, cq_dictionary_entry *e, bool swapped) {
  const size_t n = e->heads.n * e->translations.n;
  out->n = 0;
  if (e->next == n) return false;
  out->columns[swapped] = word_at(&e->heads, e->next / e->translations.n);
  out->columns[!swapped] = word_at(&e->translations, e->next % e->translations.n);
  out->n = 2;
  e->next++;
  return true;
}

static void free_list(cq_words_list *list) {
  cq_builder_free(&list->text);
  cq_free(list->ends);
}

void cq_entry_free(cq_dictionary_entry *e) {
  free_list(&e->heads);
  free_list(&e->translations);
  cq_builder_free(&e->scratch);
}

cq_status cq_entry_order(bool *swapped, const cq_corpus_convert_options *o, cq_error *error) {
  *swapped = o->n_columns == 2 && !strcmp(o->columns[0], "2") && !strcmp(o->columns[1], "1");
  if (o->n_columns == 0 || *swapped || (!strcmp(o->columns[0], "1") && !strcmp(o->columns[1], "2"))) return CQ_OK;
  return cq_fail(error, CQ_ERR_ARGUMENT, "a dictionary's columns are 1,2 (word, translation) or 2,1");
}
