/* TMX, the exchange format of translation memories (LISA 2005, 1.4b), plain or compressed, in the encoding that they declare:
 *
 *   <tu> <tuv xml:lang="en-GB"><seg>It <hi>rains</hi>.</seg></tuv> <tuv xml:lang="de"><seg>Es regnet.</seg></tuv> </tu>
 *
 * A unit gives a row if it has all requested languages (if none are requested: the file's two); of several segments in a
 * language, the first is used. "en" also matches "en-GB". The contents of <bpt>, <ept>, <it>, <ph> and <ut> are layout,
 * not text. For an output that is TMX, too, a unit is kept as it is: its attributes, properties, notes and layout. */
#include "base/error.h"
#include "base/memory.h"
#include "corpus/format.h"
#include "corpus/xml.h"

#include <string.h>

typedef struct tmx {
  cq_format_reader base;
  cq_xml *xml;
  cq_builder *texts;  /* [n_columns] of the unit */
  bool *is_there;     /* [n_columns] */
  bool *was_there;    /* [n_columns]: in any unit */
  cq_intern seen;     /* languages */
  unsigned char *fit; /* [seen, n_columns]: FITS, and exactly so */
  size_t n_fit, fit_capacity;
  int language; /* of the variant: a column, or -1 */
  int hidden;   /* how deep in the layout's */
  bool in_unit, in_segment;
  size_t n;                   /* columns */
  const char *languages[2];   /* the columns that were found, if none are requested */
  bool is_kept;               /* units are */
  cq_builder head, *wholes;   /* of the unit; [n] its variants */
  cq_builder *whole;          /* what is read goes here; NULL: nowhere */
  size_t n_inner;             /* how deep in properties, notes, and segments */
  cq_pairs_variant *variants; /* [n] */
  cq_pairs_unit unit;
} tmx;

static bool is_layout(const char *name) {
  static const char *const names[] = {"bpt", "ept", "it", "ph", "ut"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(name, names[i])) return true;
  return false;
}

/* A tag of the unit as it is; a prefix would be declared outside of it. */
static void keep_tag(tmx *t, const char *name, const char **attributes) {
  if (!t->whole || strchr(name, ':')) return;
  cq_builder_printf(t->whole, attributes ? "<%s" : "</%s", name);
  for (; attributes && *attributes; attributes += 2) {
    if (strchr(*attributes, ':') && strncmp(*attributes, "xml:", 4) != 0) continue;
    cq_builder_printf(t->whole, " %s=\"", *attributes);
    const char *value = attributes[1], *ampersand;
    for (; (ampersand = strstr(value, "&#38;")); value = ampersand + 5) { /* libxml2 leaves "&amp;" so */
      cq_put_xml(t->whole, (cq_slice){value, (size_t)(ampersand - value)}, true);
      cq_builder_text(t->whole, "&amp;");
    }
    cq_put_xml(t->whole, cq_slice_of(value), true);
    cq_builder_char(t->whole, '"');
  }
  cq_builder_char(t->whole, '>');
  if (t->whole->failed) cq_xml_refuse(t->xml, NULL);
}

/* How a column's language fits one that was seen. */
enum { DIFFERS, FITS, FITS_EXACTLY };

/* Compares a new language with those requested, once for all units. */
static bool compare_language(tmx *t, uint32_t number) {
  if (number < t->n_fit) return true;
  if (!cq_reserve((void **)&t->fit, &t->fit_capacity, (number + 1) * t->n, sizeof *t->fit)) return false;
  for (size_t c = 0; c < t->n; c++) {
    bool is_exact;
    const bool fits = cq_language_matches(&is_exact, t->base.o->columns[c], t->seen.items[number]);
    t->fit[number * t->n + c] = !fits ? DIFFERS : is_exact ? FITS_EXACTLY : FITS;
  }
  t->n_fit = number + 1;
  return true;
}

/* The column of a language; -1: none. */
static int column_of(tmx *t, const char *language) {
  const bool is_open = t->base.o->n_columns == 0;
  const uint32_t number = cq_intern_put(&t->seen, cq_slice_of(language));
  if (number == CQ_INTERN_NONE || (!is_open && !compare_language(t, number))) {
    cq_xml_refuse(t->xml, NULL);
    return -1;
  }
  if (is_open && number >= 2) {
    cq_xml_refuse(t->xml, "which languages? There are %s, %s, %.40s: --columns %s,%s", t->languages[0], t->languages[1],
                  language, t->languages[0], t->languages[1]);
    return -1;
  }
  if (is_open) {
    t->languages[number] = t->seen.items[number].data;
    if (t->base.n_languages <= number) t->base.n_languages = number + 1;
    return t->is_there[number] ? -1 : (int)number;
  }
  int found = -1;
  for (size_t c = t->n; c-- > 0;) {
    const unsigned char fit = t->fit[number * t->n + c];
    if (fit == DIFFERS || t->is_there[c]) continue;
    found = (int)c;
    if (fit == FITS_EXACTLY) break; /* "pt-BR" is not "pt" if both are requested */
  }
  return found;
}

static void open_variant(tmx *t, const char **attributes) {
  const char *language = cq_xml_attribute(attributes, "xml:lang");
  if (!language) language = cq_xml_attribute(attributes, "lang"); /* before 1.4 */
  t->language = language ? column_of(t, language) : -1;
  t->whole = t->is_kept && t->language >= 0 ? &t->wholes[t->language] : NULL;
  if (t->whole) cq_builder_clear(t->whole);
}

static void open_unit(tmx *t) {
  if (t->in_unit) cq_xml_refuse(t->xml, "a <tu> in a <tu>");
  t->in_unit = true, t->language = -1, t->n_inner = 0;
  for (size_t c = 0; c < t->n; c++) {
    cq_builder_clear(&t->texts[c]);
    t->is_there[c] = false;
  }
  cq_builder_clear(&t->head);
  t->whole = t->is_kept ? &t->head : NULL;
}

static void open_tag(void *context, const char *name, const char **attributes) {
  tmx *t = context;
  const bool is_segment = !t->in_segment && t->language >= 0 && !strcmp(name, "seg");
  if (!strcmp(name, "tu"))
    open_unit(t);
  else if (t->in_segment)
    t->hidden += t->hidden > 0 || is_layout(name);
  else if (!strcmp(name, "tuv"))
    open_variant(t, attributes);
  else
    t->n_inner++;
  keep_tag(t, name, attributes);
  if (!is_segment || !strcmp(name, "tu")) return;
  t->in_segment = t->is_there[t->language] = t->was_there[t->language] = true;
  t->hidden = 0;
  t->variants[t->language].begin = t->wholes[t->language].n;
}

static void close_tag(void *context, const char *name) {
  tmx *t = context;
  const bool is_unit = !strcmp(name, "tu"), is_variant = !strcmp(name, "tuv"), is_segment = !strcmp(name, "seg");
  if (t->in_segment && is_segment) t->variants[t->language].end = t->wholes[t->language].n;
  if (!is_unit) keep_tag(t, name, NULL);
  if (t->hidden > 0)
    t->hidden--;
  else if (is_segment)
    t->in_segment = false;
  else if (is_unit)
    t->in_unit = false, t->whole = NULL, cq_xml_pause(t->xml);
  if (is_variant) t->language = -1, t->whole = t->is_kept ? &t->head : NULL;
  if (!t->in_segment && !is_unit && !is_variant && t->n_inner > 0) t->n_inner--;
}

static void take_tmx_text(void *context, const char *bytes, int n) {
  tmx *t = context;
  if (t->whole && t->n_inner > 0) cq_put_xml(t->whole, (cq_slice){bytes, (size_t)n}, false);
  if (!t->in_segment || t->hidden > 0) return;
  cq_builder_bytes(&t->texts[t->language], bytes, (size_t)n);
  if (t->texts[t->language].failed) cq_xml_refuse(t->xml, NULL);
}

static cq_status open_tmx(cq_format_reader *reader, cq_error *error) {
  tmx *t = (tmx *)reader;
  const cq_xml_handler handler = {open_tag, close_tag, take_tmx_text, t, "no <tu> in it: is it TMX?", "tu"};
  const size_t n = t->n = reader->o->n_columns ? reader->o->n_columns : 2;
  cq_pairs_kind kind;
  t->is_kept = !cq_pairs_kind_of(&kind, reader->flow.output, NULL) && kind == CQ_PAIRS_AS_TMX;
  reader->languages = t->languages;
  t->texts = cq_alloc_array_zeroed(n, sizeof *t->texts);
  t->wholes = cq_alloc_array_zeroed(n, sizeof *t->wholes);
  t->variants = cq_alloc_array_zeroed(n, sizeof *t->variants);
  t->is_there = cq_alloc_array_zeroed(n, sizeof *t->is_there);
  t->was_there = cq_alloc_array_zeroed(n, sizeof *t->was_there);
  if (!t->texts || !t->wholes || !t->variants || !t->is_there || !t->was_there) return cq_fail_memory(error, "tmx");
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
      t->in_unit = t->in_segment = false, t->hidden = 0, t->whole = NULL;
      cq_corpus_drop(reader->counts, "malformed");
      continue;
    }
    for (size_t c = 0; c < t->n; c++) {
      complete &= t->is_there[c];
      out->columns[c] = t->variants[c].text = cq_built(&t->texts[c]);
      t->variants[c].whole = cq_built(&t->wholes[c]);
    }
    if (complete) {
      t->unit = (cq_pairs_unit){cq_built(&t->head), t->variants};
      out->n = t->n, out->unit = t->is_kept ? &t->unit : NULL;
      return CQ_OK;
    }
    cq_corpus_drop(reader->counts, "without a language");
  }
}

static void close_tmx(cq_format_reader *reader) {
  tmx *t = (tmx *)reader;
  cq_xml_close(t->xml);
  for (size_t c = 0; c < t->n; c++) {
    if (t->texts) cq_builder_free(&t->texts[c]);
    if (t->wholes) cq_builder_free(&t->wholes[c]);
  }
  cq_builder_free(&t->head);
  cq_free(t->texts);
  cq_free(t->wholes);
  cq_free(t->variants);
  cq_free(t->is_there);
  cq_free(t->was_there);
  cq_intern_free(&t->seen);
  cq_free(t->fit);
}

const cq_format cq_format_tmx =
    CQ_FORMAT_OF(".tmx", "tmx", "FILE...", 1, CQ_MANY_FILES, .has_columns = true, tmx, open_tmx, next_tmx_row,
                 close_tmx, "translation memories: units that have all languages of --columns en,de");
