/* OPUS's corpora (Tiedemann 2012): documents of numbered sentences, and links between the numbers.
 *
 *   en/talk.xml.gz   <s id="4"><w id="4.1">It</w> <w id="4.2">rains</w> <w id="4.3">.</w></s>      or <s id="4">It rains.</s>
 *   opus             <linkGrp fromDoc="en/talk.xml.gz" toDoc="de/talk.xml.gz"> <link xtargets="4 5;6"/> ...
 *   ids              en/talk.xml.gz <tab> de/talk.xml.gz <tab> 4 5 <tab> 6        the same as lines, as in JW300
 *
 * The file of links comes first, then the directory of the documents, which may also lack the .gz. All sentences of the
 * two linked documents are held in memory. */
#include "base/error.h"
#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"
#include "corpus/format.h"
#include "corpus/xml.h"

#include <limits.h>
#include <string.h>

/* A document's sentences by their ids. */
typedef struct document {
  char *name;       /* as links call it; NULL: none is read */
  cq_map places;    /* id -> where its text begins in texts */
  cq_builder texts; /* zero-terminated, one after the other */
  /* while it is read */
  cq_xml *xml;
  bool in_sentence;
  size_t begin; /* of its text */
} document;

typedef struct opus {
  cq_format_reader base;
  document sides[2];
  cq_xml *xml;        /* of links */
  cq_row_reader rows; /* of links a line each */
  char *names[2];     /* of the documents that links are about */
  char *link;         /* the sentence numbers of a link, "4 5;6"; NULL: missing */
  cq_builder texts[2];
} opus;

/* --- documents --- */

static void document_free(document *d) {
  cq_free(d->name);
  cq_map_free(&d->places);
  cq_builder_free(&d->texts);
  cq_xml_close(d->xml);
  *d = (document){0};
}

static void open_sentence(void *context, const char *name, const char **attributes) {
  document *d = context;
  if (strcmp(name, "s") != 0) return;
  const char *id = cq_xml_attribute(attributes, "id");
  if (!id || d->in_sentence) {
    cq_xml_refuse(d->xml, id ? "a sentence within another" : "a sentence without id");
    return;
  }
  d->in_sentence = true, d->begin = d->texts.n;
  if (cq_map_get(&d->places, cq_slice_of(id)) != CQ_MAP_NONE)
    cq_xml_refuse(d->xml, "two sentences of id '%.80s'", id);
  else if (!cq_map_put(&d->places, cq_slice_of(id), d->texts.n))
    cq_xml_refuse(d->xml, NULL);
}

static void close_sentence(void *context, const char *name) {
  document *d = context;
  if (strcmp(name, "s") != 0) return;
  d->in_sentence = false;
  if (d->texts.n > d->begin && d->texts.data[d->texts.n - 1] == ' ') d->texts.n--; /* after the last word */
  cq_builder_char(&d->texts, '\0');
  if (d->texts.failed) cq_xml_refuse(d->xml, NULL);
}

/* A run of white space, for instance between words, becomes one blank. */
static void add_opus_text(cq_builder *b, size_t begin, const char *bytes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const bool blank = cq_is_blank(bytes[i]);
    if (blank && (b->n == begin || b->data[b->n - 1] == ' ')) continue;
    cq_builder_char(b, blank ? ' ' : bytes[i]);
  }
}

static void sentence_text(void *context, const char *bytes, int n) {
  document *d = context;
  if (!d->in_sentence) return;
  add_opus_text(&d->texts, d->begin, bytes, (size_t)n);
}

/* Whether a name from a file points outside the directory. */
static bool leads_out(const char *name) {
  for (const char *p = name; p; p = (p = strchr(p, '/')) ? p + 1 : NULL)
    if (!strncmp(p, "..", 2) && (p[2] == '/' || p[2] == '\0')) return true;
  return name[0] == '/' || name[0] == '\0';
}

static cq_status read_document(document *d, const char *name, const char *root, cq_error *error) {
  char path[PATH_MAX];
  const size_t n = strlen(name);
  bool more;
  if (d->name && !strcmp(d->name, name)) return CQ_OK;
  document_free(d);
  if (leads_out(name))
    return cq_fail_file(error, CQ_ERR_FORMAT, name, "a document must lie under the directory that was named");
  cq_status status = cq_path_join(path, sizeof path, root, name, error);
  if (!status && !cq_file_exists(path) && n > 3 && !strcmp(name + n - 3, ".gz")) path[strlen(path) - 3] = '\0';
  if (!status)
    status = cq_xml_open(&d->xml, &(const char *){path}, 1,
                         (cq_xml_handler){open_sentence, close_sentence, sentence_text, d, NULL, NULL}, error);
  if (!status) status = cq_xml_read(&more, d->xml, error);
  cq_xml_close(d->xml);
  d->xml = NULL;
  if (!status && !(d->name = cq_strdup(name))) status = cq_fail_memory(error, name);
  return status;
}

/* --- links --- */

/* The texts of the listed sentence ids, joined by blanks; false: a sentence is missing. */
static bool gather_sentences(cq_builder *out, const document *d, cq_slice ids) {
  cq_builder_clear(out);
  while ((ids = cq_slice_trimmed(ids)).n > 0) {
    size_t n = 0;
    while (n < ids.n && !cq_is_blank(ids.data[n])) n++;
    const uint64_t place = cq_map_get(&d->places, (cq_slice){ids.data, n});
    if (place == CQ_MAP_NONE) return false;
    if (out->n) cq_builder_char(out, ' ');
    cq_builder_text(out, d->texts.data + place);
    ids.data += n, ids.n -= n;
  }
  return true;
}

/* The row of a link, which is already counted; n is 0 if the link gives no row. */
static cq_status follow_link(cq_row *out, opus *o, const char *const names[2], const cq_slice ids[2], cq_error *error) {
  out->n = 0;
  cq_status status = CQ_OK;
  if (cq_slice_trimmed(ids[0]).n == 0 || cq_slice_trimmed(ids[1]).n == 0) {
    cq_corpus_drop(o->base.counts, "without a translation");
    return CQ_OK;
  }
  for (size_t i = 0; !status && i < 2; i++) status = read_document(&o->sides[i], names[i], o->base.o->inputs[1], error);
  if (status) return status;
  for (size_t i = 0; i < 2; i++) {
    if (!gather_sentences(&o->texts[i], &o->sides[i], ids[i])) {
      cq_corpus_drop(o->base.counts, "sentences that are not there");
      return CQ_OK;
    }
    if (o->texts[i].failed) return cq_fail_memory(error, names[i]);
    out->columns[i] = cq_built(&o->texts[i]);
  }
  out->n = 2;
  return CQ_OK;
}

/* --- links in XML --- */

static void open_link(void *context, const char *name, const char **attributes) {
  static const char *const documents[] = {"fromDoc", "toDoc"};
  opus *o = context;
  if (!strcmp(name, "linkGrp")) {
    for (size_t i = 0; i < 2; i++) {
      const char *value = cq_xml_attribute(attributes, documents[i]);
      cq_free(o->names[i]);
      o->names[i] = value ? cq_strdup(value) : NULL;
      if (!value)
        cq_xml_refuse(o->xml, "a group of links without %s", documents[i]);
      else if (!o->names[i])
        cq_xml_refuse(o->xml, NULL);
    }
  } else if (!strcmp(name, "link")) {
    const char *value = cq_xml_attribute(attributes, "xtargets");
    if (!o->names[0] || !o->names[1]) {
      cq_xml_refuse(o->xml, "a link before the group that names its documents");
    } else if (!value || !strchr(value, ';')) {
      cq_xml_refuse(o->xml, "a link without xtargets=\"FROM;TO\"");
    } else {
      cq_free(o->link);
      if (!(o->link = cq_strdup(value)))
        cq_xml_refuse(o->xml, NULL);
      else
        cq_xml_pause(o->xml);
    }
  }
}

static cq_status open_opus(cq_format_reader *reader, cq_error *error) {
  opus *o = (opus *)reader;
  return cq_xml_open(&o->xml, reader->o->inputs, 1, (cq_xml_handler){.open_tag = open_link, .context = o}, error);
}

static cq_status next_link(cq_row *out, cq_format_reader *reader, cq_error *error) {
  opus *o = (opus *)reader;
  for (;;) {
    bool more;
    cq_status status = cq_xml_read(&more, o->xml, error);
    out->n = 0;
    if (!status && !more && !o->names[0])
      return cq_fail_file(error, CQ_ERR_FORMAT, reader->o->inputs[0], "no <linkGrp> in it: does it hold links?");
    if (status || !more) return status;
    const char *between = strchr(o->link, ';');
    const cq_slice ids[2] = {{o->link, (size_t)(between - o->link)}, cq_slice_of(between + 1)};
    status = cq_corpus_count_row(reader->counts, &reader->flow, error);
    if (!status) status = follow_link(out, o, (const char *const *)o->names, ids, error);
    if (status || out->n > 0) return status;
  }
}

/* --- links a line each --- */

static cq_status open_ids(cq_format_reader *reader, cq_error *error) {
  opus *o = (opus *)reader;
  o->rows = (cq_row_reader){
      .paths = reader->o->inputs, .n_paths = 1, .min_columns = 4, .flow = &reader->flow, .counts = reader->counts};
  (void)error;
  return CQ_OK;
}

static cq_status next_id_link(cq_row *out, cq_format_reader *reader, cq_error *error) {
  opus *o = (opus *)reader;
  for (;;) {
    cq_status status = cq_row_reader_next(out, &o->rows, error);
    if (status || out->n == 0) return status;
    const cq_slice ids[2] = {out->columns[2], out->columns[3]};
    for (size_t i = 0; !status && i < 2; i++) {
      cq_free(o->names[i]);
      if (!(o->names[i] = cq_strndup(out->columns[i].data, out->columns[i].n)))
        status = cq_fail_memory(error, reader->o->inputs[0]);
    }
    if (!status) status = follow_link(out, o, (const char *const *)o->names, ids, error);
    if (status || out->n > 0) return status;
  }
}

static void close_opus(cq_format_reader *reader) {
  opus *o = (opus *)reader;
  cq_xml_close(o->xml);
  cq_row_reader_close(&o->rows);
  cq_free(o->link);
  for (size_t i = 0; i < 2; i++) {
    document_free(&o->sides[i]);
    cq_free(o->names[i]);
    cq_builder_free(&o->texts[i]);
  }
}

const cq_format cq_format_opus =
    CQ_FORMAT("opus", "LINKS.xml DIR", 2, 2, .has_columns = false, opus, open_opus, next_link, close_opus,
              "OPUS's XML: links between documents that lie under DIR, tokenized or not");

const cq_format cq_format_ids =
    CQ_FORMAT("ids", "LINKS.tsv DIR", 2, 2, .has_columns = false, opus, open_ids, next_id_link, close_opus,
              "the same with one link per line, as in JW300: two documents, the sentences of each");
