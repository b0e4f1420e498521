/* Translation memories and catalogs, by the readers of parallel text: a document for each unit that is translated.
 *
 *   <tu> en: It rains. de: Es regnet.   ──▶   text "It rains.", language en, metadata {"de": "Es regnet."}
 *
 * Without a language's name the translation is {"translation": ...}. A memory of more than two languages gives the first
 * two that it names. */
#include "base/error.h"
#include "base/input.h"
#include "base/memory.h"
#include "corpus/format.h"
#include "document/reader.h"
#include "format/json.h"

#include <stdio.h>
#include <string.h>

typedef struct translations {
  const cq_format *format;
  cq_format_reader *reader;
  cq_corpus_convert_options o;
  cq_corpus_counts counts;
  char names[2][64]; /* of a memory's first languages */
  const char *columns[2];
} translations;

static void close_reader(translations *t) {
  if (t->reader) t->format->close(t->reader);
  cq_free(t->reader);
  t->reader = NULL;
}

static void close_translations(void *state) {
  close_reader(state);
  cq_free(state);
}

static cq_status open_reader(translations *t, const cq_document_file *file, cq_error *error) {
  t->reader = cq_alloc_zeroed(t->format->size);
  if (!t->reader) return cq_fail_memory(error, file->path);
  t->counts = (cq_corpus_counts){0};
  *t->reader = (cq_format_reader){.format = t->format,
                                  .o = &t->o,
                                  .flow = {.skip_bad = t->format != &cq_format_tmx || t->o.n_columns > 0},
                                  .counts = &t->counts};
  return t->format->open(t->reader, error);
}

/* By the name's ending, otherwise by the first bytes. */
static cq_status find_format(translations *t, const cq_document_file *file, cq_error *error) {
  static const struct {
    const cq_format *format;
    const char *mark;
  } rows[] = {
      {&cq_format_tmx, "<tmx"}, {&cq_format_xliff, "<xliff"}, {&cq_format_qt_ts, "<TS"}, {&cq_format_gettext, "msgid"}};
  enum { N = sizeof rows / sizeof *rows };
  cq_input *input;
  cq_slice bytes;
  char begin[CQ_PEEK + 1];
  for (size_t i = 0; i < N && !t->format; i++)
    if (cq_format_ends(rows[i].format, file->path)) t->format = rows[i].format;
  if (t->format) return CQ_OK;
  cq_status status = cq_input_open(&input, file->path, error);
  if (status) return status;
  if (!(status = cq_input_peek(&bytes, input, error))) cq_slice_copy(begin, sizeof begin, bytes);
  cq_input_close(input);
  for (size_t i = 0; i < N && !t->format && !status; i++)
    if (strstr(begin, rows[i].mark)) t->format = rows[i].format;
  return status || t->format
             ? status
             : cq_fail_file(error, CQ_ERR_FORMAT, file->path,
                            "is in no format of translations that calque reads: TMX, XLIFF, gettext or Qt");
}

static cq_status open_translations(void **state, cq_document_file *file, cq_error *error) {
  translations *t = cq_alloc_zeroed(sizeof *t);
  if (!t) return cq_fail_memory(error, file->path);
  t->o = cq_corpus_convert_default_options();
  t->o.inputs = &file->path, t->o.n_inputs = 1;
  cq_status status = find_format(t, file, error);
  if (!status) status = open_reader(t, file, error);
  if (status) close_translations(t);
  *state = status ? NULL : t;
  return status;
}

/* A memory has a third language, or a malformed unit: it is read again to where it was, with its first two languages
 * and without such units. False: that is not what the error is. */
static bool chooses_languages(cq_status *status, cq_row *row, translations *t, const cq_document_file *file,
                              cq_error *error) {
  const uint64_t n_read = t->counts.n_read;
  if (*status != CQ_ERR_FORMAT || t->format != &cq_format_tmx || t->o.n_columns || t->reader->n_languages < 2)
    return false;
  for (int i = 0; i < 2; i++) {
    snprintf(t->names[i], sizeof t->names[i], "%s", t->reader->languages[i]);
    t->columns[i] = t->names[i];
  }
  close_reader(t);
  t->o.columns = t->columns, t->o.n_columns = 2;
  *status = open_reader(t, file, error);
  do {
    row->n = 0;
    if (!*status) *status = t->format->next(row, t->reader, error);
  } while (!*status && row->n && t->counts.n_read <= n_read);
  return true;
}

/* "app.po: left out units: 2 untranslated, 1 malformed". */
static void tell_dropped(const translations *t, const cq_document_file *file) {
  char text[600];
  size_t n = (size_t)snprintf(text, sizeof text, "%.250s: left out units: ", file->path);
  for (size_t i = 0; i < t->counts.n_reasons && n < sizeof text; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "%s%llu %s", i ? ", " : "",
                          (unsigned long long)t->counts.dropped[i].n, t->counts.dropped[i].reason);
  if (t->counts.n_reasons && file->notice) file->notice(file->notice_context, text);
}

static cq_status read_translations(bool *found, void *state, cq_document_file *file, cq_error *error) {
  translations *t = state;
  cq_error own = {0};
  cq_row row;
  row.n = 0;
  cq_status status = t->format->next(&row, t->reader, &own);
  (void)chooses_languages(&status, &row, t, file, &own);
  file->line = t->counts.n_read, file->is_broken = status;
  *found = !status && row.n >= 2;
  if (status && error) *error = own;
  if (!*found && !status) tell_dropped(t, file);
  if (!*found) return status;
  const bool is_named = t->reader->n_languages >= 2;
  const char *const *languages = t->o.n_columns ? t->columns : is_named ? t->reader->languages : NULL;
  cq_builder *role = file->room->role;
  json_t *metadata = json_object();
  cq_builder_slice(&role[CQ_ROLE_TEXT], row.columns[0]);
  if (languages) cq_builder_text(&role[CQ_ROLE_LANGUAGE], languages[0]);
  cq_json_set(&metadata, languages && strcmp(languages[1], languages[0]) != 0 ? languages[1] : "translation",
              json_stringn(row.columns[1].data, row.columns[1].n));
  if (!metadata) return cq_fail_memory(error, file->path);
  cq_json_append(&file->room->metadata, metadata, -1);
  json_decref(metadata);
  return CQ_OK;
}

const cq_document_type cq_document_type_translations = {
    .name = "translations",
    .endings = " .tmx .xlf .xliff .mxliff .sdlxliff .mqxliff .po .mo .gmo ",
    .is_mapped = true,
    .open = open_translations,
    .read = read_translations,
    .close = close_translations};
