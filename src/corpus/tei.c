/* Dictionaries in TEI, FreeDict's own format, plain or gzipped:
 *
 *   <entry> <form><orth>starter</orth></form>
 *     <sense> <cit type="trans"><quote>Anlasser</quote></cit>
 *       <cit type="example"><quote>...</quote> <cit type="trans"><quote>...</quote></cit></cit> </sense> </entry>
 *
 * The rows are each <orth> with each <quote> of a translation that does not belong to an example. */
#include "base/error.h"
#include "corpus/entry.h"
#include "corpus/xml.h"

#include <string.h>

enum { MAX_CITATIONS = 64 }; /* how deep they may be nested */

typedef struct tei {
  cq_format_reader base;
  cq_xml *xml;
  cq_dictionary_entry entry;
  cq_builder text;
  bool translates[MAX_CITATIONS]; /* [depth] */
  size_t depth;
  bool in_entry, taking, swapped, under_way;
} tei;

static void open_citation(tei *t, const char **attributes) {
  const char *type = cq_xml_attribute(attributes, "type");
  if (t->depth == MAX_CITATIONS) {
    cq_xml_refuse(t->xml, "<cit> nested more than %d deep", MAX_CITATIONS);
    return;
  }
  const bool outer = t->depth == 0 || t->translates[t->depth - 1];
  t->translates[t->depth++] = outer && type && (!strcmp(type, "trans") || !strcmp(type, "translation"));
}

static void open_tag(void *context, const char *name, const char **attributes) {
  tei *t = context;
  if (!strcmp(name, "entry")) {
    cq_entry_begin(&t->entry);
    t->depth = 0, t->in_entry = true, t->taking = false;
  } else if (!strcmp(name, "cit")) {
    open_citation(t, attributes);
  } else if (t->in_entry && ((!strcmp(name, "orth") && t->depth == 0) ||
                             (!strcmp(name, "quote") && t->depth && t->translates[t->depth - 1]))) {
    cq_builder_clear(&t->text);
    t->taking = true;
  }
}

static void close_tag(void *context, const char *name) {
  tei *t = context;
  const cq_slice text = cq_built(&t->text);
  if (!strcmp(name, "entry")) {
    t->in_entry = false;
    cq_xml_pause(t->xml);
  } else if (!strcmp(name, "cit")) {
    t->depth -= t->depth > 0;
  } else if (t->taking && !strcmp(name, "orth")) {
    cq_entry_add_head(&t->entry, text);
    t->taking = false;
  } else if (t->taking && !strcmp(name, "quote")) {
    cq_entry_add_translation(&t->entry, text);
    t->taking = false;
  }
  if (t->entry.failed) cq_xml_refuse(t->xml, NULL);
}

static void take_tei_text(void *context, const char *bytes, int n) {
  tei *t = context;
  if (t->taking) cq_builder_bytes(&t->text, bytes, (size_t)n);
  if (t->text.failed) cq_xml_refuse(t->xml, NULL);
}

static cq_status open_tei(cq_format_reader *reader, cq_error *error) {
  tei *t = (tei *)reader;
  const cq_xml_handler handler = {open_tag, close_tag, take_tei_text, t, "no <entry> in it: is it TEI?", "entry"};
  const cq_status status = cq_entry_order(&t->swapped, reader->o, error);
  return status ? status : cq_xml_open(&t->xml, reader->o->inputs, reader->o->n_inputs, handler, error);
}

static cq_status next_tei_row(cq_row *out, cq_format_reader *reader, cq_error *error) {
  tei *t = (tei *)reader;
  for (;;) {
    bool more;
    out->n = 0;
    if (t->under_way && cq_entry_next(out, &t->entry, t->swapped))
      return cq_corpus_count_row(reader->counts, &reader->flow, error);
    t->under_way = false;
    cq_status status = cq_xml_read(&more, t->xml, error);
    if (status == CQ_ERR_FORMAT && reader->flow.skip_bad && cq_xml_skip(t->xml)) {
      t->in_entry = t->taking = false;
      status = cq_corpus_count_row(reader->counts, &reader->flow, error);
      if (status) return status;
      cq_corpus_drop(reader->counts, "malformed");
      continue;
    }
    if (status || !more) return status;
    t->under_way = t->entry.heads.n && t->entry.translations.n;
    if (t->under_way) continue;
    status = cq_corpus_count_row(reader->counts, &reader->flow, error);
    if (status) return status;
    cq_corpus_drop(reader->counts, "without a translation");
  }
}

static void close_tei(cq_format_reader *reader) {
  tei *t = (tei *)reader;
  cq_xml_close(t->xml);
  cq_entry_free(&t->entry);
  cq_builder_free(&t->text);
}

const cq_format cq_format_tei = CQ_FORMAT_OF(
    ".tei", "tei", "FILE...", 1, CQ_MANY_FILES, .has_columns = true, tei, open_tei, next_tei_row, close_tei,
    "dictionaries in TEI, such as FreeDict's sources: a word, a translation; --columns 2,1: the translation first");
