/* Dictionaries of the DICT server (dictfmt, RFC 2229's dictd), as in Debian's FreeDict packages:
 *
 *   NAME.index     word <tab> offset <tab> length, in digits of base 64; several words may refer to one entry
 *   NAME.dict.dz   the entries' text, concatenated, gzipped (or NAME.dict, plain):
 *
 *     starter /stˈɑːtə/ <n>                  headwords, pronunciation, grammar
 *     Anlasser <masc> [electr.], Starter     translations, notes in brackets
 *        Synonym: {motor starter}
 *     2. Vorspeise                           translation of another sense
 *           "as a starter, soup"             an example
 *     a dish before the main course          a definition, after a sense's translations
 *
 * In each sense, the translations are in the first line that is not only notes. A sense with its number on a separate
 * line has no translations: a definition follows. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "corpus/entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct place {
  uint64_t begin, end; /* bytes of the text */
} place;

typedef struct dictd {
  cq_format_reader base;
  cq_lines *text;
  place *places; /* [n], in order, each once */
  size_t n, capacity, next;
  cq_slice line; /* read and not yet used; data NULL at the end */
  uint64_t line_begin, line_end;
  cq_dictionary_entry entry;
  bool swapped, under_way;
} dictd;

/* --- the index --- */

static bool read_base64(uint64_t *out, cq_slice digits) {
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  *out = 0;
  for (size_t i = 0; i < digits.n; i++) {
    const char *at = digits.data[i] ? strchr(alphabet, digits.data[i]) : NULL;
    if (!at || *out >> 56) return false;
    *out = *out * 64 + (uint64_t)(at - alphabet);
  }
  return digits.n > 0;
}

/* Matches "00-database-info" and the like, even without the hyphens. */
static bool is_about_dictionary(cq_slice word) {
  static const char *const begins[] = {"00-database", "00database"};
  return cq_slice_begins(word, cq_slice_of(begins[0])) || cq_slice_begins(word, cq_slice_of(begins[1]));
}

static int by_begin(const void *a, const void *b) {
  const place *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return (x->end > y->end) - (x->end < y->end);
}

static cq_status add_place(dictd *d, cq_lines *index, cq_slice line, cq_error *error) {
  cq_slice columns[3];
  uint64_t begin, n;
  if (cq_tsv_split(columns, 3, line) < 3 || !read_base64(&begin, columns[1]) || !read_base64(&n, columns[2]))
    return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(index), cq_lines_number(index),
                        "expected a word, an offset and a length between tabs");
  if (is_about_dictionary(columns[0])) return CQ_OK;
  if (!cq_reserve((void **)&d->places, &d->capacity, d->n + 1, sizeof *d->places))
    return cq_fail_memory(error, cq_lines_path(index));
  d->places[d->n++] = (place){begin, begin + n};
  return CQ_OK;
}

static cq_status read_index(dictd *d, const char *path, cq_error *error) {
  cq_lines *index;
  cq_status status = cq_lines_open(&index, path, error);
  while (!status) {
    cq_slice line;
    status = cq_lines_next(&line, index, error);
    if (!status && !line.data) break;
    if (!status) status = add_place(d, index, line, error);
    if (status == CQ_ERR_FORMAT && d->base.flow.skip_bad && !cq_lines_broken(index)) status = CQ_OK;
  }
  cq_lines_close(index);
  if (status) return status;
  if (d->n == 0) return cq_fail_file(error, CQ_ERR_FORMAT, path, "no word in it: is it a dictionary's index?");
  qsort(d->places, d->n, sizeof *d->places, by_begin);
  size_t n = 0;
  for (size_t i = 0; i < d->n; i++)
    if (n == 0 || d->places[i].begin != d->places[n - 1].begin) d->places[n++] = d->places[i];
  d->n = n;
  for (size_t i = 0; i + 1 < n; i++) /* entries are concatenated: a wrong length affects only its own entry */
    if (d->places[i].end > d->places[i + 1].begin) d->places[i].end = d->places[i + 1].begin;
  return CQ_OK;
}

/* NAME.dict.dz or NAME.dict next to NAME.index. */
static cq_status open_text(dictd *d, const char *index, cq_error *error) {
  static const char ending[] = ".index";
  const size_t n = strlen(index), n_name = n - (sizeof ending - 1);
  char path[4200];
  if (n < sizeof ending || strcmp(index + n_name, ending) != 0)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, index, "expected the name of an index, NAME.index");
  if ((size_t)snprintf(path, sizeof path, "%.*s.dict.dz", (int)n_name, index) >= sizeof path)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, index, "the path is too long");
  if (!cq_file_exists(path)) path[strlen(path) - 3] = '\0';
  if (!cq_file_exists(path))
    return cq_fail_file(error, CQ_ERR_IO, index, "there is neither %s.dz nor %s next to it", path, path);
  return cq_lines_open(&d->text, path, error);
}

/* --- the text --- */

static cq_status read_line(dictd *d, cq_error *error) {
  const cq_status status = cq_lines_next(&d->line, d->text, error);
  d->line_begin = d->line_end;
  if (!status && d->line.data) d->line_end += d->line.n + 1;
  return status;
}

static cq_status open_dictd(cq_format_reader *reader, cq_error *error) {
  dictd *d = (dictd *)reader;
  cq_status status = cq_entry_order(&d->swapped, reader->o, error);
  if (!status) status = open_text(d, reader->o->inputs[0], error);
  if (!status) status = read_index(d, reader->o->inputs[0], error);
  return status ? status : read_line(d, error);
}

/* --- an entry --- */

/* Removes the number of a sense ("2. ", "a. ") and the blanks around it from the line. Lettered lines are indented. */
static bool take_number(cq_slice *line) {
  const cq_slice text = cq_slice_trimmed(*line);
  const bool indented = line->n && cq_is_blank(*line->data);
  size_t n = 0;
  while (n < text.n && n < 3 && text.data[n] >= '0' && text.data[n] <= '9') n++;
  if (n == 0 && indented && text.n && text.data[0] >= 'a' && text.data[0] <= 'z') n = 1;
  if (n == 0 || n >= text.n || text.data[n] != '.') return false;
  if (n + 1 < text.n && !cq_is_blank(text.data[n + 1])) return false;
  *line = cq_slice_trimmed((cq_slice){text.data + n + 1, text.n - n - 1});
  return true;
}

/* Removes the next sense's number from the end of a line: an error made by programs that write these files. */
static bool take_last_number(cq_slice *line) {
  size_t n = line->n;
  if (n < 4 || line->data[n - 1] != '.') return false;
  n--;
  while (n > 0 && line->data[n - 1] >= '0' && line->data[n - 1] <= '9') n--;
  if (n + 1 == line->n || n == 0 || line->data[n - 1] != ' ') return false;
  *line = cq_slice_trimmed((cq_slice){line->data, n});
  return true;
}

/* An indented line: an example, a phrase's translation, or "Synonym: ...", "see: ...". */
static bool is_remark(cq_slice line) {
  const bool indented = line.n && cq_is_blank(*line.data);
  const cq_slice text = cq_slice_trimmed(line);
  size_t n = 0;
  if (text.n == 0 || *text.data == '"') return true;
  if (!indented) return false;
  if (text.n > 1 && text.data[0] == '-' && text.data[1] == ' ') return true;
  while (n < text.n && ((text.data[n] | 0x20) >= 'a' && (text.data[n] | 0x20) <= 'z')) n++;
  if (n + 6 < text.n && memcmp(text.data + n, " also:", 6) == 0) n += 5;
  return n > 0 && n < text.n && text.data[n] == ':';
}

static cq_status read_entry(dictd *d, const place *p, cq_error *error) {
  bool has_head = false, wants_translation = true;
  cq_status status = CQ_OK;
  for (; !status && d->line.data && d->line_begin < p->end; status = read_line(d, error)) {
    cq_slice line = d->line;
    if (cq_slice_trimmed(line).n == 0) continue;
    if (!has_head) {
      cq_entry_add_heads(&d->entry, line);
      has_head = true;
      continue;
    }
    if (is_remark(line)) continue;
    if (take_number(&line)) {
      wants_translation = line.n > 0;
      if (!wants_translation || is_remark(line)) continue;
    }
    if (!wants_translation) continue;
    const bool defines_next = take_last_number(&line);
    if (cq_entry_add_translations(&d->entry, line) > 0 || defines_next) wants_translation = false;
  }
  return status;
}

static cq_status next_dictd_row(cq_row *out, cq_format_reader *reader, cq_error *error) {
  dictd *d = (dictd *)reader;
  for (;;) {
    out->n = 0;
    if (d->under_way && cq_entry_next(out, &d->entry, d->swapped))
      return cq_corpus_count_row(reader->counts, &reader->flow, error);
    d->under_way = false;
    if (d->next == d->n) return CQ_OK;
    const place *p = &d->places[d->next++];
    cq_status status = CQ_OK;
    while (!status && d->line.data && d->line_begin < p->begin) status = read_line(d, error);
    if (status) return status;
    cq_entry_begin(&d->entry);
    const bool begins_line = d->line.data && d->line_begin == p->begin;
    if (begins_line) status = read_entry(d, p, error);
    if (!status && d->entry.failed) status = cq_fail_memory(error, cq_lines_path(d->text));
    d->under_way = d->entry.heads.n && d->entry.translations.n;
    if (status || d->under_way) {
      if (status) return status;
      continue;
    }
    status = cq_corpus_count_row(reader->counts, &reader->flow, error);
    if (status) return status;
    cq_corpus_drop(reader->counts, begins_line ? "without a translation" : "not where the index says");
  }
}

static void close_dictd(cq_format_reader *reader) {
  dictd *d = (dictd *)reader;
  cq_lines_close(d->text);
  cq_free(d->places);
  cq_entry_free(&d->entry);
}

const cq_format cq_format_dictd = CQ_FORMAT_OF(
    ".index", "dictd", "NAME.index", 1, 1, .has_columns = true, dictd, open_dictd, next_dictd_row, close_dictd,
    "dictionaries of the DICT server, such as FreeDict's in Debian (dict-freedict-eng-deu), NAME.dict.dz "
    "next to the index: a word, a translation; --columns 2,1: the translation first");
