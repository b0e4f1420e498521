/* Rows of parallel text as CSV, TMX, XLIFF, gettext's .po, or tab-separated columns. See pairs.h. */
#include "format/pairs.h"

#include "base/error.h"
#include "base/hash.h"
#include "calque/version.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

static bool has_ending(const char *path, size_t n, const char *ending) {
  return n > strlen(ending) && !strncasecmp(path + n - strlen(ending), ending, strlen(ending));
}

cq_status cq_pairs_kind_of(cq_pairs_kind *out, const char *path, cq_error *error) {
  static const struct {
    const char *ending;
    cq_pairs_kind kind;
  } written[] = {{".csv", CQ_PAIRS_AS_CSV},
                 {".tmx", CQ_PAIRS_AS_TMX},
                 {".xlf", CQ_PAIRS_AS_XLIFF},
                 {".xliff", CQ_PAIRS_AS_XLIFF},
                 {".po", CQ_PAIRS_AS_PO}};
  static const char *const others[] = {".xml",   ".json", ".jsonl",  ".arb",      ".parquet", ".npy",
                                       ".moses", ".html", ".md",     ".xlsx",     ".xls",     ".ods",
                                       ".pot",   ".mo",   ".gmo",    ".ts",       ".docx",    ".tbx",
                                       ".dict",  ".tei",  ".mxliff", ".sdlxliff", ".mqxliff", ".properties"};
  const size_t n = path ? strlen(path) - cq_text_writer_ending(path) : 0;
  *out = CQ_PAIRS_AS_TSV;
  for (size_t i = 0; i < sizeof written / sizeof *written; i++)
    if (has_ending(path, n, written[i].ending)) *out = written[i].kind;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (has_ending(path, n, others[i]))
      return cq_fail_file(error, CQ_ERR_ARGUMENT, path,
                          "rows are not written as %s; endings that are: " CQ_PAIRS_ENDINGS, others[i]);
  return CQ_OK;
}

cq_status cq_pairs_open(cq_pairs *out, cq_pairs_kind kind, const char *path, const char *remark, cq_error *error) {
  *out = (cq_pairs){.kind = kind, .path = path ? path : "<stdout>", .remark = remark};
  return cq_text_writer_open(&out->text, path, error);
}

/* --- text within other text --- */

/* Bytes of a character that XML cannot carry: a control character, U+FFFE, U+FFFF; 0: it can. */
static size_t unfit_for_xml(cq_slice text) {
  const unsigned char c = (unsigned char)*text.data;
  if (c < 0x20) return !cq_is_blank((char)c);
  return c == 0xEF && text.n > 2 && !memcmp(text.data + 1, "\xBF", 1) && (unsigned char)text.data[2] >= 0xBE ? 3 : 0;
}

void cq_put_xml(cq_builder *out, cq_slice text, bool is_attribute) {
  for (size_t unfit; text.n; text.data++, text.n--) {
    const char c = *text.data;
    if (c == '&')
      cq_builder_text(out, "&amp;");
    else if (c == '<')
      cq_builder_text(out, "&lt;");
    else if (c == '>')
      cq_builder_text(out, "&gt;");
    else if (c == '"' && is_attribute)
      cq_builder_text(out, "&quot;");
    else if ((unfit = unfit_for_xml(text)))
      cq_builder_char(out, ' '), text.data += unfit - 1, text.n -= unfit - 1;
    else
      cq_builder_char(out, c);
  }
}

/* As within a string of C. */
static void put_escaped(cq_builder *out, cq_slice text) {
  for (size_t i = 0; i < text.n; i++) {
    const char c = text.data[i];
    if (c == '"' || c == '\\') cq_builder_char(out, '\\');
    if ((unsigned char)c < 0x20)
      cq_builder_printf(out, "\\%03o", (unsigned)c);
    else
      cq_builder_char(out, c);
  }
}

static void put_quoted(cq_builder *out, cq_slice text) {
  bool is_plain = true;
  for (size_t i = 0; i < text.n; i++) is_plain &= text.data[i] != '"' && text.data[i] != ',';
  if (!is_plain) cq_builder_char(out, '"');
  for (size_t i = 0; i < text.n; i++) {
    if (text.data[i] == '"') cq_builder_char(out, '"');
    cq_builder_char(out, text.data[i]);
  }
  if (!is_plain) cq_builder_char(out, '"');
}

/* Appends text without blanks at its ends, and without tabs and line breaks. */
static void put_line(cq_builder *out, cq_slice text) {
  text = cq_slice_trimmed(text);
  while (text.n) {
    size_t n = 0;
    while (n < text.n && text.data[n] != '\t' && text.data[n] != '\n' && text.data[n] != '\r') n++;
    cq_builder_bytes(out, text.data, n);
    if (n == text.n) break;
    while (n < text.n && cq_is_blank(text.data[n])) n++; /* not at the end: it is trimmed */
    text.data += n, text.n -= n;
    cq_builder_char(out, ' ');
  }
}

/* --- rows --- */

/* What precedes the first row. */
static cq_status begin_pairs(cq_pairs *w, size_t n, cq_error *error) {
  cq_builder *out = &w->room;
  const bool is_named = w->n_languages > 1;
  const char *source = is_named ? w->languages[0] : "", *target = is_named ? w->languages[1] : "";
  w->has_begun = true;
  cq_builder_clear(out);
  if (!is_named && (w->kind == CQ_PAIRS_AS_TMX || w->kind == CQ_PAIRS_AS_XLIFF))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, w->path, "which languages are the columns? --languages en,de");
  for (size_t c = 1; w->kind == CQ_PAIRS_AS_TMX && c < w->n_languages; c++)
    for (size_t i = 0; i < c; i++)
      if (!strcasecmp(w->languages[i], w->languages[c]))
        return cq_fail_file(error, CQ_ERR_ARGUMENT, w->path, "two columns of the language '%s'", w->languages[c]);
  if (w->kind == CQ_PAIRS_AS_TMX) {
    cq_builder_text(out,
                    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<tmx version=\"1.4\"><header creationtool=\"calque\" "
                    "creationtoolversion=\"" CQ_VERSION "\" segtype=\"sentence\" o-tmf=\"calque\" adminlang=\"en\" "
                    "srclang=\"");
    cq_put_xml(out, cq_slice_of(source), true);
    cq_builder_text(out, "\" datatype=\"plaintext\"/><body>\n");
  } else if (w->kind == CQ_PAIRS_AS_XLIFF) {
    cq_builder_text(out,
                    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<xliff version=\"1.2\" "
                    "xmlns=\"urn:oasis:names:tc:xliff:document:1.2\"><file original=\"calque\" source-language=\"");
    cq_put_xml(out, cq_slice_of(source), true);
    cq_builder_text(out, "\" target-language=\"");
    cq_put_xml(out, cq_slice_of(target), true);
    cq_builder_text(out, "\" datatype=\"plaintext\"><body>\n");
  } else if (w->kind == CQ_PAIRS_AS_PO) { /* the fields that msgfmt --check expects */
    cq_builder_text(out,
                    "msgid \"\"\nmsgstr \"\"\n\"Project-Id-Version: calque " CQ_VERSION
                    "\\n\"\n\"PO-Revision-Date: \\n\"\n\"Last-Translator: \\n\"\n\"Language-Team: \\n\"\n\"Language: ");
    put_escaped(out, cq_slice_of(target));
    cq_builder_text(out, "\\n\"\n\"MIME-Version: 1.0\\n\"\n\"Content-Type: text/plain; charset=UTF-8\\n\"\n"
                         "\"Content-Transfer-Encoding: 8bit\\n\"\n\n");
  } else if (w->kind == CQ_PAIRS_AS_CSV) {
    static const char *const unnamed[] = {"source", "target"};
    if (w->remark) cq_builder_printf(out, "%s,", w->remark);
    for (size_t c = 0; c < n; c++) {
      if (c) cq_builder_char(out, ',');
      if (c < w->n_languages || (!is_named && c < 2))
        put_quoted(out, cq_slice_of(is_named ? w->languages[c] : unnamed[c]));
      else
        cq_builder_printf(out, "%zu", c + 1);
    }
    cq_builder_char(out, '\n');
  }
  return cq_pairs_put_rendered(w, cq_built(out), error);
}

/* A catalog has a message once, unless contexts tell them apart; its header is the one of no text. */
static void put_context(cq_builder *out, cq_pairs *w, cq_slice source) {
  const uint64_t key = cq_hash64(source.data, source.n, 0);
  cq_map_entry *entry = cq_map_at(&w->sources, (cq_slice){(const char *)&key, sizeof key});
  out->failed |= !entry;
  if (!entry) return;
  entry->value = entry->value == CQ_MAP_NONE ? 1 : entry->value + 1;
  if (entry->value > 1 || source.n == 0) cq_builder_printf(out, "msgctxt \"%" PRIu64 "\"\n", entry->value);
}

static void put_variant(cq_builder *out, const cq_pairs *w, size_t c, cq_slice line, const cq_pairs_variant *v) {
  if (v) {
    cq_builder_bytes(out, v->whole.data, v->begin);
  } else if (line.n) {
    cq_builder_text(out, "<tuv xml:lang=\"");
    cq_put_xml(out, cq_slice_of(w->languages[c]), true);
    cq_builder_text(out, "\"><seg>");
  }
  cq_put_xml(out, line, false);
  if (v)
    cq_builder_bytes(out, v->whole.data + v->end, v->whole.n - v->end);
  else if (line.n)
    cq_builder_text(out, "</seg></tuv>");
}

static void put_side(cq_builder *out, cq_pairs *w, size_t c, cq_slice text, const cq_pairs_variant *v) {
  if (v && cq_slice_equal(v->text, text)) {
    cq_builder_slice(out, v->whole);
    return;
  }
  cq_builder_clear(&w->room);
  put_line(&w->room, text);
  const cq_slice line = cq_built(&w->room);
  out->failed |= w->room.failed;
  if (w->kind == CQ_PAIRS_AS_TMX) {
    put_variant(out, w, c, line, v);
  } else if (w->kind == CQ_PAIRS_AS_XLIFF) {
    cq_builder_text(out, c ? "<target>" : "<source>");
    cq_put_xml(out, line, false);
    cq_builder_text(out, c ? "</target>" : "</source>");
  } else if (w->kind == CQ_PAIRS_AS_PO) {
    if (c == 0) put_context(out, w, line);
    cq_builder_text(out, c ? "msgstr \"" : "msgid \"");
    put_escaped(out, line);
    cq_builder_text(out, "\"\n");
  } else if (w->kind == CQ_PAIRS_AS_CSV) {
    put_quoted(out, line);
  } else {
    cq_builder_slice(out, line);
  }
}

cq_status cq_pairs_render(cq_builder *out, cq_pairs *w, cq_slice remark, const cq_slice *columns, size_t n,
                          const cq_pairs_unit *unit, cq_error *error) {
  static const char *const begins[] = {"", "", "<tu>", "<trans-unit id=\"", ""}, *const ends[] = {"\n", "\n", "</tu>\n",
                                                                                                  "</trans-unit>\n",
                                                                                                  "\n"};
  const cq_pairs_kind kind = w->kind;
  const cq_status status = w->has_begun ? CQ_OK : begin_pairs(w, n, error);
  const size_t most = kind >= CQ_PAIRS_AS_XLIFF ? 2 : kind == CQ_PAIRS_AS_TMX ? w->n_languages : n;
  if (status) return status;
  if (n > most)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, w->path, "a row of %zu columns, at most %zu can be written", n, most);
  if (kind != CQ_PAIRS_AS_TMX) unit = NULL;
  cq_builder_slice(out, unit ? unit->head : cq_slice_of(begins[kind]));
  if (kind == CQ_PAIRS_AS_XLIFF) cq_builder_printf(out, "%" PRIu64 "\">", ++w->n);
  if (w->remark && kind == CQ_PAIRS_AS_PO)
    cq_builder_printf(out, "#. %s: %.*s\n", w->remark, (int)remark.n, remark.data);
  if (w->remark && kind < CQ_PAIRS_AS_TMX) {
    cq_builder_slice(out, remark);
    cq_builder_char(out, kind == CQ_PAIRS_AS_CSV ? ',' : '\t');
  } else if (w->remark && kind == CQ_PAIRS_AS_TMX) {
    cq_builder_printf(out, "<prop type=\"%s\">%.*s</prop>", w->remark, (int)remark.n, remark.data);
  }
  for (size_t c = 0; c < n; c++) {
    if (c && kind < CQ_PAIRS_AS_TMX) cq_builder_char(out, kind == CQ_PAIRS_AS_CSV ? ',' : '\t');
    put_side(out, w, c, columns[c], unit ? &unit->variants[c] : NULL);
  }
  if (w->remark && kind == CQ_PAIRS_AS_XLIFF)
    cq_builder_printf(out, "<note>%s: %.*s</note>", w->remark, (int)remark.n, remark.data);
  cq_builder_text(out, ends[kind]);
  return out->failed ? cq_fail_memory(error, w->path) : CQ_OK;
}

cq_status cq_pairs_put_rendered(cq_pairs *w, cq_slice rendered, cq_error *error) {
  return cq_text_writer_put(&w->text, rendered.data, rendered.n, error);
}

cq_status cq_pairs_put(cq_pairs *w, cq_slice remark, const cq_slice *columns, size_t n, const cq_pairs_unit *unit,
                       cq_error *error) {
  cq_builder_clear(&w->row);
  const cq_status status = cq_pairs_render(&w->row, w, remark, columns, n, unit, error);
  return status ? status : cq_pairs_put_rendered(w, cq_built(&w->row), error);
}

cq_status cq_pairs_finish(cq_pairs *w, cq_status status, cq_error *error) {
  static const char *const ends[] = {"", "", "</body></tmx>\n", "</body></file></xliff>\n", ""};
  if (!status && !w->has_begun) status = begin_pairs(w, w->n_languages > 2 ? w->n_languages : 2, error);
  if (!status) status = cq_pairs_put_rendered(w, cq_slice_of(ends[w->kind]), error);
  if (!status) status = cq_text_writer_commit(&w->text, error);
  cq_text_writer_abort(&w->text);
  cq_map_free(&w->sources);
  cq_builder_free(&w->room);
  cq_builder_free(&w->row);
  return status;
}
