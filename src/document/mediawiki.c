/* Dumps of a MediaWiki (pages-articles.xml); each page is a document. They are read line by line, as the exporter writes
 * them, so that memory is that of one page:
 *
 *   <mediawiki ... xml:lang="de">
 *     <siteinfo> <base>https://de.wikipedia.org/wiki/...</base> ... <namespace key="6" ...>Datei</namespace> </siteinfo>
 *     <page>
 *       <title>Hund</title> <ns>0</ns> <id>7</id> [<redirect title="..." />]
 *       <revision> <id>8</id> ... <text ...>markup</text> </revision>            of several, the last one
 *     </page>
 *
 * Redirects and pages outside of the namespace of articles are left out and counted. Source: mediawiki.org/xml/export-0.11.xsd */
#include "base/error.h"
#include "base/memory.h"
#include "document/reader.h"
#include "document/wiki_text.h"
#include "format/markup.h"

#include <string.h>

typedef struct mediawiki {
  cq_builder page, markup, language, base;
  cq_builder dropped; /* names of namespaces whose links are no text, a newline after each */
  bool in_page;
  uint64_t line, n_redirects, n_others;
} mediawiki;

static void close_mediawiki(void *state) {
  mediawiki *m = state;
  if (!m) return;
  cq_builder_free(&m->page);
  cq_builder_free(&m->markup);
  cq_builder_free(&m->language);
  cq_builder_free(&m->base);
  cq_builder_free(&m->dropped);
  cq_free(m);
}

static cq_status open_mediawiki(void **state, cq_document_file *file, cq_error *error) {
  mediawiki *m = cq_alloc_zeroed(sizeof *m);
  if (!m) return cq_fail_memory(error, file->path);
  m->page.limit = CQ_WHOLE_FILE;
  cq_builder_text(&m->dropped, "File\nImage\nCategory\nMedia\n");
  *state = m;
  return CQ_OK;
}

/* What is between two texts of a line; data is NULL if it has not both. */
static cq_slice between(cq_slice line, const char *before, const char *after) {
  const size_t n = strlen(before), n_after = strlen(after);
  size_t begin = 0;
  while (begin + n <= line.n && memcmp(line.data + begin, before, n) != 0) begin++;
  if (begin + n > line.n) return (cq_slice){0};
  begin += n;
  for (size_t end = begin; end + n_after <= line.n; end++)
    if (!memcmp(line.data + end, after, n_after)) return (cq_slice){line.data + begin, end - begin};
  return (cq_slice){0};
}

/* A line before the first page. */
static void take_site(mediawiki *m, cq_slice line) {
  static const char *const keys[] = {"key=\"-2\"", "key=\"6\"", "key=\"14\""};
  if (cq_slice_begins(line, cq_slice_of("<mediawiki")))
    cq_markup_text(&m->language, between(line, "xml:lang=\"", "\""));
  if (cq_slice_begins(line, cq_slice_of("<base>"))) {
    cq_slice base = between(line, "<base>", "</base>");
    while (base.n && base.data[base.n - 1] != '/') base.n--;
    cq_markup_text(&m->base, base);
  }
  for (size_t i = 0; i < sizeof keys / sizeof *keys && cq_slice_begins(line, cq_slice_of("<namespace ")); i++) {
    if (!between(line, keys[i], ">").data) continue;
    cq_markup_text(&m->dropped, between(line, ">", "<"));
    cq_builder_char(&m->dropped, '\n');
  }
}

static void put_url(cq_builder *out, cq_slice base, cq_slice title) {
  if (base.n == 0) return;
  cq_builder_slice(out, base);
  for (size_t i = 0; i < title.n; i++) {
    const char c = title.data[i];
    if (strchr("?%\"#", c))
      cq_builder_printf(out, "%%%02X", (unsigned)c);
    else
      cq_builder_char(out, c == ' ' ? '_' : c);
  }
}

/* *found: it is an article. */
static cq_status take_page(bool *found, mediawiki *m, cq_document_file *file, cq_error *error) {
  cq_markup markup = {.rest = cq_built(&m->page)};
  cq_builder *role = file->room->role;
  cq_slice piece, name = {"", 0};
  bool is_redirect = false, is_article = true;
  for (cq_markup_kind kind; (kind = cq_markup_next(&piece, &markup)) != CQ_MARKUP_END;) {
    if (kind != CQ_MARKUP_TEXT) {
      is_redirect |= cq_markup_is(piece, "redirect");
      name = kind == CQ_MARKUP_OPEN ? piece : (cq_slice){"", 0};
      if (cq_markup_is(piece, "text") && kind == CQ_MARKUP_OPEN) cq_builder_clear(&m->markup);
    } else if (cq_markup_is(name, "title")) {
      cq_markup_text(&role[CQ_ROLE_TITLE], piece);
    } else if (cq_markup_is(name, "id") && !role[CQ_ROLE_ID].n) {
      cq_builder_slice(&role[CQ_ROLE_ID], cq_slice_trimmed(piece));
    } else if (cq_markup_is(name, "ns")) {
      is_article &= cq_slice_equal(cq_slice_trimmed(piece), cq_slice_of("0"));
    } else if (cq_markup_is(name, "model")) {
      is_article &= cq_slice_equal(cq_slice_trimmed(piece), cq_slice_of("wikitext"));
    } else if (cq_markup_is(name, "text")) {
      cq_markup_text(&m->markup, piece);
    }
  }
  *found = is_article && !is_redirect;
  m->n_others += !is_article, m->n_redirects += is_article && is_redirect;
  if (*found) {
    cq_builder_slice(&role[CQ_ROLE_LANGUAGE], cq_built(&m->language));
    put_url(&role[CQ_ROLE_URL], cq_built(&m->base), cq_built(&role[CQ_ROLE_TITLE]));
    cq_wiki_text(&role[CQ_ROLE_TEXT], cq_built(&m->markup), cq_built(&m->dropped));
  } else {
    cq_document_room_clear(file->room);
  }
  const bool has_failed = m->markup.failed || m->dropped.failed || m->language.failed || m->base.failed;
  cq_builder_clear(&m->page);
  cq_builder_clear(&m->markup);
  return has_failed ? cq_fail_memory(error, file->path) : CQ_OK;
}

static void tell_left_out(const mediawiki *m, const cq_document_file *file) {
  if (m->n_redirects || m->n_others)
    CQ_NOTIFY(file, "%.250s: left out: redirects: %llu, pages that are no articles: %llu", file->path,
              (unsigned long long)m->n_redirects, (unsigned long long)m->n_others);
}

static cq_status read_mediawiki(bool *found, void *state, cq_document_file *file, cq_error *error) {
  mediawiki *m = state;
  cq_slice line = {0};
  cq_status status = CQ_OK;
  while (!status && !*found && !(status = cq_lines_next(&line, file->lines, error)) && line.data) {
    const cq_slice trimmed = cq_slice_trimmed(line), end = cq_slice_of("</page>");
    const uint64_t number = cq_lines_number(file->lines);
    if (cq_slice_begins(trimmed, cq_slice_of("<page>"))) {
      if (m->in_page) status = cq_fail_line(error, CQ_ERR_FORMAT, file->path, m->line, "<page> is not closed");
      m->in_page = true, file->line = m->line = number;
      cq_builder_clear(&m->page);
    } else if (!m->in_page) {
      take_site(m, trimmed);
    }
    if (!m->in_page) continue;
    cq_builder_slice(&m->page, line);
    cq_builder_char(&m->page, '\n');
    if (m->page.failed) {
      status = m->page.is_full ? cq_fail_line(error, CQ_ERR_LIMIT, file->path, m->line, "a page of more than %zu MiB",
                                              CQ_WHOLE_FILE >> 20)
                               : cq_fail_memory(error, file->path);
      m->page.failed = m->page.is_full = m->in_page = false;
    } else if (trimmed.n >= end.n && !memcmp(trimmed.data + trimmed.n - end.n, end.data, end.n)) {
      m->in_page = false;
      if (!status) status = take_page(found, m, file, error);
    }
  }
  if (status && !line.data) m->in_page = false;
  if (status) return status;
  if (!*found && m->in_page) {
    m->in_page = false;
    return cq_fail_line(error, CQ_ERR_FORMAT, file->path, m->line, "<page> is not closed");
  }
  if (!*found) tell_left_out(m, file);
  return CQ_OK;
}

const cq_document_type cq_document_type_mediawiki = {.name = "mediawiki",
                                                     .endings = "",
                                                     .resumes = true,
                                                     .open = open_mediawiki,
                                                     .read = read_mediawiki,
                                                     .close = close_mediawiki};
