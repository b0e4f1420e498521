/* Titles of Wikipedia articles in two languages, from two of Wikipedia's dumps:
 *
 *   page.sql        INSERT INTO `page` VALUES (12,0,'Anarchism',...),(13,1,'It\'s',...);      number, namespace, title
 *   langlinks.sql   INSERT INTO `langlinks` VALUES (12,'de','Anarchismus'),...;               number, language, title
 *
 * Namespace 0 has the articles; underscores represent blanks. The titles in the other language are held in memory. */
#include "base/error.h"
#include "base/map.h"
#include "base/memory.h"
#include "corpus/format.h"

#include <string.h>

/* Iterates over the tuples in a dump's INSERT lines; only the first three values are read. */
typedef struct dump {
  cq_lines *lines;
  cq_slice rest;   /* of the line, after the last tuple */
  cq_builder text; /* of strings whose escapes are resolved */
  cq_slice values[3];
} dump;

typedef struct wikititles {
  cq_format_reader base;
  dump pages;
  cq_map titles; /* page number, as text -> offset of the page's other title in texts */
  cq_builder texts, title;
} wikititles;

/* --- dumps --- */

static cq_status fail_dump(const dump *d, const char *expected, cq_error *error) {
  return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(d->lines), cq_lines_number(d->lines),
                      "expected %s before '%.*s'", expected, (int)cq_min(d->rest.n, 40), d->rest.data);
}

static bool take_char(dump *d, char c) {
  if (d->rest.n == 0 || *d->rest.data != c) return false;
  d->rest.data++, d->rest.n--;
  return true;
}

/* Decodes 'It\'s' to text; copies a value that is not a string. Slices of text are set at the end of the tuple. */
static bool take_value(size_t *begin, size_t *end, dump *d) {
  *begin = d->text.n;
  const bool quoted = take_char(d, '\'');
  size_t i = 0;
  for (; i < d->rest.n; i++) {
    const char c = d->rest.data[i];
    if (quoted ? c == '\'' : c == ',' || c == ')') break;
    if (quoted && c == '\\' && i + 1 < d->rest.n) i++;
    cq_builder_char(&d->text, d->rest.data[i]);
  }
  *end = d->text.n;
  d->rest.data += i, d->rest.n -= i;
  return quoted ? take_char(d, '\'') : d->rest.n > 0;
}

/* The next line of tuples; *over at the end of the file. */
static cq_status next_insert(bool *over, dump *d, cq_format_reader *reader, cq_error *error) {
  static const char insert[] = "INSERT INTO ", values[] = " VALUES ";
  for (;;) {
    cq_slice line;
    cq_status status = cq_corpus_line(&line, d->lines, &reader->flow, reader->counts, error);
    *over = !line.data;
    if (status || *over) return status;
    if (line.n < sizeof insert || memcmp(line.data, insert, sizeof insert - 1) != 0) continue;
    const char *at = line.data;
    const char *end = line.data + line.n;
    while ((at = memchr(at, ' ', (size_t)(end - at))) && (size_t)(end - at) >= sizeof values - 1 &&
           memcmp(at, values, sizeof values - 1) != 0)
      at++;
    d->rest = line;
    if (!at || (size_t)(end - at) < sizeof values - 1) return fail_dump(d, "VALUES", error);
    d->rest = (cq_slice){at + sizeof values - 1, (size_t)(end - at) - (sizeof values - 1)};
    return cq_corpus_ask(reader->counts, &reader->flow, error);
  }
}

/* The next tuple's first three values, valid until the next call; *over at the end. */
static cq_status next_tuple(bool *over, dump *d, cq_format_reader *reader, cq_error *error) {
  size_t begin[3] = {0}, end[3] = {0};
  *over = false;
  if (d->rest.n == 0 || *d->rest.data == ';') {
    const cq_status status = next_insert(over, d, reader, error);
    if (status || *over) return status;
  } else if (!take_char(d, ',')) {
    return fail_dump(d, "a comma", error);
  }
  cq_builder_clear(&d->text);
  if (!take_char(d, '(')) return fail_dump(d, "a parenthesis", error);
  for (size_t i = 0;; i++) {
    size_t ignored[2];
    if (i > 0 && !take_char(d, ',')) {
      if (take_char(d, ')') && i >= 3) break;
      return fail_dump(d, i < 3 ? "three values" : "a parenthesis", error);
    }
    if (!take_value(i < 3 ? &begin[i] : &ignored[0], i < 3 ? &end[i] : &ignored[1], d))
      return fail_dump(d, "the end of a value", error);
  }
  if (d->text.failed) return cq_fail_memory(error, cq_lines_path(d->lines));
  for (size_t i = 0; i < 3; i++) d->values[i] = (cq_slice){d->text.data + begin[i], end[i] - begin[i]};
  return CQ_OK;
}

static void close_dump(dump *d) {
  cq_lines_close(d->lines);
  cq_builder_free(&d->text);
  *d = (dump){0};
}

/* --- titles --- */

static void add_title(cq_builder *out, cq_slice title) {
  for (size_t i = 0; i < title.n; i++) cq_builder_char(out, title.data[i] == '_' ? ' ' : title.data[i]);
}

static cq_status read_links(wikititles *w, cq_error *error) {
  const cq_corpus_convert_options *o = w->base.o;
  dump links = {0};
  bool over = false;
  cq_status status = cq_lines_open(&links.lines, o->inputs[1], error);
  while (!status && !over) {
    status = next_tuple(&over, &links, &w->base, error);
    if (status || over || !cq_slice_equal(links.values[1], cq_slice_of(o->columns[1]))) continue;
    const uint64_t place = w->texts.n;
    add_title(&w->texts, links.values[2]);
    cq_builder_char(&w->texts, '\0');
    if (w->texts.failed || !cq_map_put(&w->titles, links.values[0], place))
      status = cq_fail_memory(error, o->inputs[1]);
  }
  close_dump(&links);
  if (!status && w->titles.n == 0)
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, o->inputs[1], "no link to language '%s'", o->columns[1]);
  return status;
}

static cq_status open_wikititles(cq_format_reader *reader, cq_error *error) {
  wikititles *w = (wikititles *)reader;
  if (reader->o->n_columns != 2)
    return cq_fail(error, CQ_ERR_ARGUMENT, "wikititles: %zu languages, expected 2", reader->o->n_columns);
  const cq_status status = read_links(w, error);
  return status ? status : cq_lines_open(&w->pages.lines, reader->o->inputs[0], error);
}

static cq_status next_title_row(cq_row *out, cq_format_reader *reader, cq_error *error) {
  wikititles *w = (wikititles *)reader;
  for (;;) {
    bool over;
    cq_status status = next_tuple(&over, &w->pages, reader, error);
    out->n = 0;
    if (status || over) return status;
    status = cq_corpus_count_row(reader->counts, &reader->flow, error);
    if (status) return status;
    const cq_slice *page = w->pages.values;
    if (!cq_slice_equal(page[1], cq_slice_of("0"))) {
      cq_corpus_drop(reader->counts, "no article");
      continue;
    }
    const uint64_t place = cq_map_get(&w->titles, page[0]);
    if (place == CQ_MAP_NONE) {
      cq_corpus_drop(reader->counts, "without a translation");
      continue;
    }
    cq_builder_clear(&w->title);
    add_title(&w->title, page[2]);
    if (w->title.failed) return cq_fail_memory(error, reader->o->inputs[0]);
    out->columns[0] = cq_built(&w->title);
    out->columns[1] = cq_slice_of(w->texts.data + place);
    out->n = 2;
    return CQ_OK;
  }
}

static void close_wikititles(cq_format_reader *reader) {
  wikititles *w = (wikititles *)reader;
  close_dump(&w->pages);
  cq_map_free(&w->titles);
  cq_builder_free(&w->texts);
  cq_builder_free(&w->title);
}

const cq_format cq_format_wikititles = CQ_FORMAT("wikititles", "PAGE.sql LANGLINKS.sql", 2, 2, .has_columns = true,
                                                 wikititles, open_wikititles, next_title_row, close_wikititles,
                                                 "titles of Wikipedia's articles and of those in another language, "
                                                 "from two dumps; --columns en,de: the dumps' own language, the other");
