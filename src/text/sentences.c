/* Sentences of a text. See calque/sentences.h.
 *
 *   text ──▶ places where one may end (sentence_scan.c) ──▶ a blank line, or a line's end that is not a wrap: yes
 *                                                       └─▶ otherwise what the model says (sentence_model.h)
 *
 * A language that the model does not have gets ICU's root rules. */
#include "calque/sentences.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "calque/language.h"
#include "text/sentence_model.h"
#include "text/splitter.h"

#include <strings.h>

enum {
  MIN_WRAP = 40, /* bytes of the longest line of a wrapped text */
  MAX_WRAP = 160,
  LANGUAGE_BYTES = 1 << 16 /* of a text that identify its language */
};

/* The file's bytes. CMake sets the file's name and recompiles this file when the model changes. */
__asm__(".section .rodata\n"
        ".balign 8\n"
        ".hidden cq_sentence_model_built_in\n"
        ".global cq_sentence_model_built_in\n"
        "cq_sentence_model_built_in:\n"
        ".incbin \"" CQ_SENTENCE_MODEL "\"\n"
        ".previous\n");

struct cq_sentence_splitter {
  cq_splitter icu;
  cq_sentence *items;
  size_t n, capacity;
};

cq_status cq_sentence_splitter_open(cq_sentence_splitter **out, cq_error *error) {
  cq_sentence_splitter *s = *out = cq_alloc_zeroed(sizeof *s);
  if (!s) return cq_fail_memory(error, "sentences");
  const cq_status status = cq_splitter_open(&s->icu, CQ_SPLIT_SENTENCES, error);
  if (status) cq_free(s), *out = NULL;
  return status;
}

void cq_sentence_splitter_free(cq_sentence_splitter *s) {
  if (!s) return;
  cq_splitter_close(&s->icu);
  cq_free(s->items);
  cq_free(s);
}

int cq_sentence_language(const cq_sentence_model *model, const char *language) {
  const size_t n = strcspn(language, "-_");
  for (int i = 0; n && n < sizeof *model->codes && i < CQ_SENTENCE_LANGUAGES && *model->codes[i]; i++)
    if (!strncasecmp(model->codes[i], language, n) && !model->codes[i][n]) return i;
  return -1;
}

bool cq_sentence_splitter_knows(const char *language) {
  return cq_sentence_language(&cq_sentence_model_built_in, language) >= 0;
}

/* Adds the text between two bytes, without the blanks at its ends, if there is any. */
static bool add(cq_sentence_splitter *s, cq_slice text, size_t begin, size_t end) {
  const cq_slice inside = cq_slice_trimmed((cq_slice){text.data + begin, end - begin});
  if (!inside.n) return true;
  if (!cq_reserve((void **)&s->items, &s->capacity, s->n + 1, sizeof *s->items)) return false;
  begin = (size_t)(inside.data - text.data);
  s->items[s->n++] = (cq_sentence){begin, begin + inside.n};
  return true;
}

static bool find_by_icu(cq_sentence_splitter *s, cq_slice text) {
  bool ok = cq_splitter_run(&s->icu, text);
  for (size_t i = 0, at = 0; ok && i < s->icu.n; i++, at += s->icu.items[i - 1].n)
    ok = add(s, text, at, at + s->icu.items[i].n);
  return ok;
}

/* --- lines --- */

/* The lines between two blank ones, or between the text's ends. */
typedef struct block {
  size_t end, width; /* width: bytes of its longest line */
} block;

static size_t line_end(cq_slice text, size_t at) {
  const char *newline = memchr(text.data + at, '\n', text.n - at);
  return newline ? (size_t)(newline - text.data) : text.n;
}

static block block_at(cq_slice text, size_t at) {
  block b = {at, 0};
  while (b.end < text.n) {
    const size_t end = line_end(text, b.end), n = cq_slice_trimmed((cq_slice){text.data + b.end, end - b.end}).n;
    if (!n) break;
    b.width = n > b.width ? n : b.width;
    b.end = end + (end < text.n);
  }
  return b;
}

/* "- ", "* ", "3. ": an item of a list. */
static bool begins_item(cq_slice text) {
  size_t i = 0;
  while (i < text.n && i < 3 && text.data[i] >= '0' && text.data[i] <= '9') i++;
  const bool is_numbered = i && i + 1 < text.n && (text.data[i] == '.' || text.data[i] == ')');
  return text.n > 1 &&
         (is_numbered ? cq_is_blank(text.data[i + 1]) : strchr("-*+", *text.data) && cq_is_blank(text.data[1]));
}

/* Whether a line ends because the next word had no room in it: a wrap. */
static bool is_wrap(const block *b, cq_slice text, const cq_sentence_place *p) {
  size_t begin = p->end, next = p->next;
  while (begin > 0 && text.data[begin - 1] != '\n' && p->end - begin < MAX_WRAP) begin--;
  while (next < text.n && !cq_is_blank(text.data[next]) && next - p->next < MAX_WRAP) {
    if ((unsigned char)text.data[next++] >= 0xE3) break; /* mostly scripts without blanks, where lines end anywhere */
  }
  return b->width >= MIN_WRAP && b->width <= MAX_WRAP && p->end - begin + 1 + (next - p->next) > b->width &&
         !begins_item((cq_slice){text.data + p->next, text.n - p->next});
}

/* --- the model --- */

static bool find_by_model(cq_sentence_splitter *s, cq_slice text, int language) {
  cq_sentence_scan scan = {.text = text, .language = language};
  cq_sentence_place p;
  block b = {0};
  bool ok = true;
  while (ok && cq_sentence_scan_next(&p, &scan)) {
    const char *newline = memchr(text.data + p.end, '\n', p.next - p.end);
    bool ends = p.end == p.next;
    if (newline) {
      if (p.end >= b.end) b = block_at(text, scan.begin);
      ends = memchr(newline + 1, '\n', p.next - (size_t)(newline + 1 - text.data)) || !is_wrap(&b, text, &p);
    }
    if (!ends && !cq_sentence_ends(&cq_sentence_model_built_in, &p)) continue;
    ok = add(s, text, scan.begin, p.end);
    scan.begin = p.next;
  }
  return ok && add(s, text, scan.begin, text.n);
}

cq_status cq_sentence_splitter_run(const cq_sentence **out, size_t *n, cq_sentence_splitter *s, cq_slice text,
                                   const char *language, cq_error *error) {
  const size_t bad = cq_utf8_invalid_at(text.data, text.n);
  *out = NULL, *n = s->n = 0;
  if (bad < text.n) return cq_fail(error, CQ_ERR_FORMAT, "not UTF-8 at byte %zu of a text", bad);
  const int known =
      text.n
          ? cq_sentence_language(
                &cq_sentence_model_built_in,
                language ? language : cq_language_identify((cq_slice){text.data, cq_min(text.n, LANGUAGE_BYTES)}).code)
          : -1;
  if (text.n && !(known >= 0 ? find_by_model(s, text, known) : find_by_icu(s, text)))
    return cq_fail_memory(error, "sentences");
  *out = s->items, *n = s->n;
  return CQ_OK;
}
