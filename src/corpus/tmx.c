/* TMX, the exchange format of translation memories (LISA 2005, 1.4b), plain or compressed, in the encoding that they declare:
 *
 *   <tu> <tuv xml:lang="en-GB"><seg>It <hi>rains</hi>.</seg></tuv> <tuv xml:lang="de"><seg>Es regnet.</seg></tuv> </tu>
 *
 * A unit gives a row if it has all requested languages; of several segments in a language, the first is used. "en" also
 * matches "en-GB". The contents of <bpt>, <ept>, <it>, <ph> and <ut> are layout, not text. */
#include "base/error.h"
#include "base/memory.h"
#include "corpus/format.h"
#include "corpus/xml.h"

#include <string.h>
#include <strings.h>

typedef struct tmx {
  cq_format_reader base;
  cq_xml *xml;
  cq_builder *texts; /* [n_columns] of the unit */
  bool *is_there;    /* [n_columns] */
  bool *was_there;   /* [n_columns]: in any unit */
  cq_intern seen;    /* languages */
  int language;      /* of the variant: a column, or -1 */
  int hidden;        /* how deep in the layout's */
  bool in_unit, in_segment;
} tmx;

static bool is_layout(const char *name) {
  static const char *const names[] = {"bpt", "ept", "it", "ph", "ut"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(name, names[i])) return true;
  return false;
}

static void open_variant(tmx *t, const char **attributes) {
  const cq_corpus_convert_options *o = t->base.o;
  const char *language = cq_xml_attribute(attributes, "xml:lang");
  if (!language) language = cq_xml_attribute(attributes, "lang"); /* before 1.4 */
  t->language = -1;
  if (language && cq_intern_put(&t->seen, cq_slice_of(language)) == CQ_INTERN_NONE) cq_xml_refuse(t->xml, NULL);
  for (size_t c = 0; language && c < o->n_columns && t->language < 0; c++) {
    const size_t n = strlen(o->columns[c]);
    if (!strncasecmp(language, o->columns[c], n) && (language[n] == '\0' || language[n] == '-' || language[n] == '_') &&
        !t->is_there[c])
      t->language = (int)c;
  }
}

static void open_tag(void *context, const char *name, const char **attributes) {
  tmx *t = context;
  if (!strcmp(name, "tu")) {
    if (t->in_unit) {
      cq_xml_refuse(t->xml, "a <tu> in a <tu>");
      return;
    }
    t->in_unit = true;
    for (size_t c = 0; c < t->base.o->n_columns; c++) {
      cq_builder_clear(&t->texts[c]);
      t->is_there[c] = false;
    }
    t->language = -1;
  } else if (t->in_segment) {
    t->hidden += t->hidden > 0 || is_layout(name);
  } else if (!strcmp(name, "tuv")) {
    open_variant(t, attributes);
  } else if (!strcmp(name, "seg") && t->language >= 0) {
    t->in_segment = t->is_there[t->language] = t->was_there[t->language] = true;
    t->hidden = 0;
  }
}

static void close_tag(void *context, const char *name) {
  tmx *t = context;
  if (t->hidden > 0)
    t->hidden--;
  else if (!strcmp(name, "seg"))
    t->in_segment = false, t->language = -1;
  else if (!strcmp(name, "tu"))
    t->in_unit = false, cq_xml_pause(t->xml);
}

static void take_tmx_text(void *context, const char *bytes, int n) {
  tmx *t = context;
  if (!t->in_segment || t->hidden > 0) return;
  cq_builder_bytes(&t->texts[t->language], bytes, (size_t)n);
  if (t->texts[t->language].failed) cq_xml_refuse(t->xml, NULL);
}

static cq_status open_tmx(cq_format_reader *reader, cq_error *error) {
  tmx *t = (tmx *)reader;
  const cq_xml_handler handler = {open_tag, close_tag, take_tmx_text, t, "no <tu> in it: is it TMX?", "tu"};
  const size_t n = reader->o->n_columns;
  if (n == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "tmx: which languages?");
  t->texts = cq_alloc_array_zeroed(n, sizeof *t->texts);
  t->is_there = cq_alloc_array_zeroed(n, sizeof *t->is_there);
  t->was_there = cq_alloc_array_zeroed(n, sizeof *t->was_there);
  if (!t->texts || !t->is_there || !t->was_there) return cq_fail_memory(error, "tmx");
  return cq_xml_open(&t->xml, reader->o->inputs, reader->o->n_inputs, handler, error);
}

/* At the end: a language that no unit has may be misspelled. */
static cq_status check_languages(const tmx *t, cq_error *error) {
  const cq_corpus_convert_options *o = t->base.o;
  for (size_t c = 0; c < o->n_columns; c++)
    if (!t->was_there[c]) return cq_fail_language(o->inputs[0], o->columns[c], &t->seen, error);
  return CQ_OK;
}

static cq_status next_tmx_row(cq_row *out, cq_format_reader *reader, cq_error *error) {
  tmx *t = (tmx *)reader;
  out->n = 0;
  for (;;) {
    bool more, complete = true;
    cq_status status = cq_xml_read(&more, t->xml, error);
    const bool is_bad = status == CQ_ERR_FORMAT && reader->flow.skip_bad && cq_xml_skip(t->xml);
    if (!status && !more) return check_languages(t, error);
    if (!status || is_bad) status = cq_corpus_count_row(reader->counts, &reader->flow, error);
    if (status) return status;
    if (is_bad) {
      t->in_unit = t->in_segment = false, t->hidden = 0;
      cq_corpus_drop(reader->counts, "malformed");
      continue;
    }
    for (size_t c = 0; c < reader->o->n_columns; c++) {
      complete &= t->is_there[c];
      out->columns[c] = cq_built(&t->texts[c]);
    }
    if (complete) {
      out->n = reader->o->n_columns;
      return CQ_OK;
    }
    cq_corpus_drop(reader->counts, "without a language");
  }
}

static void close_tmx(cq_format_reader *reader) {
  tmx *t = (tmx *)reader;
  cq_xml_close(t->xml);
  for (size_t c = 0; t->texts && c < reader->o->n_columns; c++) cq_builder_free(&t->texts[c]);
  cq_free(t->texts);
  cq_free(t->is_there);
  cq_free(t->was_there);
  cq_intern_free(&t->seen);
}

const cq_format cq_format_tmx =
    CQ_FORMAT_OF(".tmx", "tmx", "FILE...", 1, CQ_MANY_FILES, .has_columns = true, tmx, open_tmx, next_tmx_row,
                 close_tmx, "translation memories: units that have all languages of --columns en,de");
