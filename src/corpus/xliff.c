/* Files of translators with a source and its translation, by libxml2:
 *
 *   XLIFF 1.2   <file source-language="en" target-language="de"> <trans-unit id="1"> <source>It <g>rains</g>.</source>
 *               <target state="translated">Es regnet.</target> </trans-unit>
 *   XLIFF 2     <xliff srcLang="en" trgLang="de"> <file> <unit> <segment state="final"> <source>..</source>
 *               <target>..</target> </segment> </unit>
 *   Qt's .ts    <TS sourcelanguage="en" language="de"> <context> <message numerus="yes"> <source>%n file(s)</source>
 *               <translation> <numerusform>%n Datei</numerusform> <numerusform>%n Dateien</numerusform> </translation>
 *
 * The contents of <bpt>, <ept>, <it>, <ph>, <bx>, <ex>, and <x> are layout, not text. Of several forms, the last is
 * used; of Qt's variants by length, the first. Alternative translations are ignored. */
#include "base/error.h"
#include "base/memory.h"
#include "corpus/format.h"
#include "corpus/xml.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LANGUAGE = 64 };

typedef struct xliff {
  cq_format_reader base;
  cq_xml *xml;
  bool is_ts;
  bool is_resuming;         /* after a damaged unit: what precedes the first one is read again */
  char unit[LANGUAGE + 16]; /* "trans-unit", "x:segment": what reading resumes at */
  const char *known[2];     /* the languages */
  cq_builder texts[2];
  bool is_there[2];
  char languages[2][LANGUAGE]; /* "": not known */
  int side;                    /* whose text is read: 0, 1, or -1 */
  int hidden;                  /* how deep in layout, or in a later variant */
  int aside;                   /* how deep in alternative translations */
  size_t n_variants;           /* of the translation */
  bool in_unit;                /* Qt's message, a segment of XLIFF 2, or a unit of 1.2 */
  const char *why;             /* the reason to leave it out */
} xliff;

static bool is_one_of(const char *name, const char *const *names) {
  while (*names && strcmp(name, *names) != 0) names++;
  return *names;
}

static void take_language(xliff *x, int side, const char *language) {
  if (language) snprintf(x->languages[side], LANGUAGE, "%s", language);
}

static void begin_unit(xliff *x) {
  x->is_resuming = false;
  if (x->in_unit) {
    cq_xml_refuse(x->xml, "a unit in a unit");
    return;
  }
  x->in_unit = true, x->why = NULL, x->side = -1, x->hidden = 0, x->n_variants = 0;
  for (int i = 0; i < 2; i++) cq_builder_clear(&x->texts[i]), x->is_there[i] = false;
}

static void begin_side(xliff *x, int side, const char **attributes) {
  static const char *const untranslated[] = {"new", "needs-translation", "initial", NULL};
  const char *state = cq_xml_attribute(attributes, "state");
  take_language(x, side, cq_xml_attribute(attributes, "xml:lang"));
  x->side = side, x->is_there[side] = true, x->hidden = 0;
  cq_builder_clear(&x->texts[side]);
  if (state && is_one_of(state, untranslated))
    x->why = "untranslated";
  else if (state && !strncmp(state, "needs-", 6))
    x->why = "not final";
}

static void add_text(xliff *x, const char *bytes, size_t n) {
  if (x->side < 0 || x->hidden > 0) return;
  cq_builder_bytes(&x->texts[x->side], bytes, n);
  if (x->texts[x->side].failed) cq_xml_refuse(x->xml, NULL);
}

/* A character that XML cannot have: <cp hex="001b"/>, <byte value="x1b"/>. It counts as a blank. */
static bool is_control_element(const char *name) {
  return !strcmp(name, "cp") || !strcmp(name, "byte");
}

static void open_inline(xliff *x, const char *name) {
  static const char *const layout[] = {"bpt", "ept", "it", "ph", "bx", "ex", "x", "ut", NULL};
  if (x->is_ts && !strcmp(name, "numerusform")) {
    cq_builder_clear(&x->texts[1]); /* the last one counts */
    x->n_variants = 0;
  } else if (x->is_ts && !strcmp(name, "lengthvariant")) {
    x->hidden += x->hidden > 0 || x->n_variants++ > 0;
  } else if (is_control_element(name)) {
    add_text(x, " ", 1);
    x->hidden += x->hidden > 0;
  } else {
    x->hidden += x->hidden > 0 || (!x->is_ts && is_one_of(name, layout));
  }
}

static void open_ts(xliff *x, const char *name, const char **attributes) {
  if (!strcmp(name, "TS")) {
    x->languages[0][0] = x->languages[1][0] = '\0';
    take_language(x, 0, cq_xml_attribute(attributes, "sourcelanguage"));
    take_language(x, 1, cq_xml_attribute(attributes, "language"));
  } else if (!strcmp(name, "message")) {
    begin_unit(x);
  } else if (x->in_unit && !strcmp(name, "source")) {
    begin_side(x, 0, attributes);
  } else if (x->in_unit && !strcmp(name, "translation")) {
    const char *type = cq_xml_attribute(attributes, "type");
    begin_side(x, 1, attributes);
    if (type) x->why = !strcmp(type, "unfinished") ? "not final" : "obsolete";
  }
}

/* The element that a unit is, with the prefix of the root. */
static void set_unit(xliff *x, int n_prefix, const char *prefix, const char **attributes) {
  const char *version = cq_xml_attribute(attributes, "version");
  snprintf(x->unit, sizeof x->unit, "%.*s%s", n_prefix, prefix, version && *version == '2' ? "segment" : "trans-unit");
  cq_xml_set_unit(x->xml, x->unit);
}

static void open_xliff_tag(xliff *x, const char *name, const char **attributes) {
  static const char *const asides[] = {"alt-trans", "matches", "notes", "seg-source", "ignorable", NULL};
  if (x->aside > 0 || is_one_of(name, asides)) {
    x->aside++;
  } else if (x->is_resuming && (!strcmp(name, "xliff") || !strcmp(name, "file"))) {
    return; /* the languages may be those of a later <file> */
  } else if (!strcmp(name, "xliff")) {
    x->languages[0][0] = x->languages[1][0] = '\0';
    take_language(x, 0, cq_xml_attribute(attributes, "srcLang"));
    take_language(x, 1, cq_xml_attribute(attributes, "trgLang"));
  } else if (!strcmp(name, "file")) {
    take_language(x, 0, cq_xml_attribute(attributes, "source-language"));
    take_language(x, 1, cq_xml_attribute(attributes, "target-language"));
  } else if (!strcmp(name, "trans-unit") || !strcmp(name, "segment")) {
    begin_unit(x);
    const char *state = cq_xml_attribute(attributes, "state"), *kind = cq_xml_attribute(attributes, "restype");
    if (state && !strcmp(state, "initial")) x->why = "untranslated";
    if (kind && !strcmp(kind, "x-gettext-domain-header")) x->why = "header"; /* of a catalog that was converted */
  } else if (x->in_unit && !strcmp(name, "source")) {
    begin_side(x, 0, attributes);
  } else if (x->in_unit && !strcmp(name, "target")) {
    begin_side(x, 1, attributes);
  }
}

static void open_tag(void *context, const char *qualified, const char **attributes) {
  xliff *x = context;
  const char *prefix = strchr(qualified, ':'), *name = prefix ? prefix + 1 : qualified;
  if (!x->is_ts && !x->is_resuming && !strcmp(name, "xliff"))
    set_unit(x, (int)(prefix ? cq_min((size_t)(name - qualified), LANGUAGE) : 0), qualified, attributes);
  if (x->in_unit && !strcmp(qualified, x->is_ts ? "message" : x->unit))
    begin_unit(x); /* in a target that does not end, say */
  else if (x->side >= 0)
    open_inline(x, name);
  else if (x->is_ts)
    open_ts(x, name, attributes);
  else
    open_xliff_tag(x, name, attributes);
}

static void close_tag(void *context, const char *qualified) {
  xliff *x = context;
  const char *prefix = strchr(qualified, ':'), *name = prefix ? prefix + 1 : qualified;
  if (x->hidden > 0)
    x->hidden--;
  else if (x->aside > 0)
    x->aside--;
  else if (x->side >= 0 && (!strcmp(name, "source") || !strcmp(name, x->is_ts ? "translation" : "target")))
    x->side = -1;
  else if (x->in_unit && (!strcmp(name, "trans-unit") || !strcmp(name, "segment") || !strcmp(name, "message")))
    x->in_unit = false, cq_xml_pause(x->xml);
}

static void take_text(void *context, const char *bytes, int n) {
  add_text(context, bytes, (size_t)n);
}

static cq_status open_xliff(cq_format_reader *reader, cq_error *error) {
  xliff *x = (xliff *)reader;
  x->is_ts = reader->format == &cq_format_qt_ts;
  x->side = -1;
  reader->languages = x->known;
  const cq_xml_handler handler = {open_tag,
                                  close_tag,
                                  take_text,
                                  x,
                                  x->is_ts ? "no <message> in it: is it Qt's .ts?"
                                           : "no <trans-unit> or <segment> in it: is it XLIFF?",
                                  x->is_ts ? "message" : "trans-unit"};
  if (reader->o->n_columns > 2)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s: %zu languages, expected 2", reader->format->about.name,
                   reader->o->n_columns);
  return cq_xml_open(&x->xml, reader->o->inputs, reader->o->n_inputs, handler, error);
}

/* Whether the target is the first column; false: the columns are not the file's languages. A language that the file
 * does not name may be any. */
static bool find_order(bool *is_swapped, const xliff *x) {
  const cq_corpus_convert_options *o = x->base.o;
  *is_swapped = false;
  for (int swap = 0; swap < 2 && o->n_columns > 0; swap++) {
    bool fits = true, is_exact;
    for (int c = 0; c < 2; c++) {
      const cq_slice language = cq_slice_of(x->languages[c ^ swap]);
      fits &= language.n == 0 || cq_language_matches(&is_exact, o->columns[c], language);
    }
    *is_swapped = swap;
    if (fits) return true;
  }
  return o->n_columns == 0;
}

static cq_status next_xliff_row(cq_row *out, cq_format_reader *reader, cq_error *error) {
  xliff *x = (xliff *)reader;
  out->n = 0;
  for (;;) {
    bool more, is_swapped;
    cq_status status = cq_xml_read(&more, x->xml, error);
    const bool is_bad = status == CQ_ERR_FORMAT && reader->flow.skip_bad && cq_xml_skip(x->xml);
    if (!status && !more) return CQ_OK;
    if (!status || is_bad) status = cq_corpus_count_row(reader->counts, &reader->flow, error);
    if (status) return status;
    if (is_bad) {
      x->in_unit = false, x->side = -1, x->hidden = x->aside = 0, x->is_resuming = true;
      cq_corpus_drop(reader->counts, "malformed");
      continue;
    }
    if (!find_order(&is_swapped, x))
      return cq_fail_file(error, CQ_ERR_ARGUMENT, reader->o->inputs[0], "the languages are %s and %s, not %s and %s",
                          x->languages[0], x->languages[1], reader->o->columns[0], reader->o->columns[1]);
    const cq_builder *target = &x->texts[1];
    if (!x->is_there[1] || cq_slice_trimmed((cq_slice){target->data ? target->data : "", target->n}).n == 0)
      x->why = x->why && !strcmp(x->why, "obsolete") ? x->why : "untranslated";
    if (x->why) {
      cq_corpus_drop(reader->counts, x->why);
      continue;
    }
    for (int c = 0; c < 2; c++) {
      const cq_builder *text = &x->texts[c ^ is_swapped];
      out->columns[c] = (cq_slice){text->data ? text->data : "", text->n};
    }
    for (int i = 0; i < 2; i++) x->known[i] = x->languages[i];
    reader->n_languages = *x->known[0] && *x->known[1] ? 2 : 0;
    out->n = 2;
    return CQ_OK;
  }
}

static void close_xliff(cq_format_reader *reader) {
  xliff *x = (xliff *)reader;
  cq_xml_close(x->xml);
  for (int i = 0; i < 2; i++) cq_builder_free(&x->texts[i]);
}

#define XML_FORMAT(label, ends, text)                                                                                  \
  {                                                                                                                    \
    .about =                                                                                                           \
        {.name = label, .inputs = "FILE...", .min_inputs = 1, .max_inputs = 65536, .has_columns = true, .help = text}, \
    .endings = ends, .size = sizeof(xliff), .open = open_xliff, .next = next_xliff_row, .close = close_xliff,          \
  }

const cq_format cq_format_xliff =
    XML_FORMAT("xliff", ".xlf .xliff .mxliff .sdlxliff .mqxliff",
               "XLIFF 1.2 and 2: source and target, or the languages of --columns en,de in this order");
const cq_format cq_format_qt_ts = XML_FORMAT("qt-ts", ".ts", "Qt's translations: source and translation, or --columns");
