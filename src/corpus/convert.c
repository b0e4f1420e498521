/* Converts parallel text from any file format to tab-separated columns: formats, cleaning, counts of dropped rows. */
#include "base/error.h"
#include "base/memory.h"
#include "corpus/format.h"

#include <string.h>

const cq_format *const cq_formats[] = {
    &cq_format_moses,      &cq_format_europarl,      &cq_format_tsv,   &cq_format_ted2020, &cq_format_wikimatrix,
    &cq_format_muse,       &cq_format_tmx,           &cq_format_opus,  &cq_format_ids,     &cq_format_tatoeba,
    &cq_format_wikititles, &cq_format_xquad,         &cq_format_dictd, &cq_format_tei,     &cq_format_parquet,
    &cq_format_gettext,    &cq_format_json_messages, &cq_format_xliff, &cq_format_qt_ts,   NULL,
};
enum { N_FORMATS = sizeof cq_formats / sizeof *cq_formats - 1 };

const cq_corpus_format *cq_corpus_format_at(size_t i) {
  return i < N_FORMATS ? &cq_formats[i]->about : NULL;
}

/* The format of a name; without a name, the only one that all files' endings name. NULL: none. */
static const cq_format *find_format(const cq_corpus_convert_options *o) {
  const cq_format *found = NULL;
  for (size_t i = 0; i < N_FORMATS; i++) {
    size_t n = 0;
    while (!o->format && n < o->n_inputs && cq_format_ends(cq_formats[i], o->inputs[n])) n++;
    if (o->format ? strcmp(cq_formats[i]->about.name, o->format) != 0 : n == 0 || n < o->n_inputs) continue;
    if (found) return NULL;
    found = cq_formats[i];
  }
  return found;
}

#define O cq_corpus_convert_options
static const cq_option option_rows[] = {
    CQ_CORPUS_INPUT_ROW(O),
    {CQ_TEXT(O, "from", format, CHANGES, "FORMAT", "the files' format; see the list"), .letter = 'f',
     .otherwise = "by the files' endings"},
    {CQ_TEXTS(O, "columns", columns, n_columns, CHANGES, "A,B,...",
              "the output's columns: languages, or columns of the input"),
     .letter = 'c', .flags = CQ_OPTION_COMMAS, .otherwise = ""},
    {CQ_NUMBER(O, "threshold", threshold, CHANGES, -1, -1, 1e9, "X", "wikimatrix: min score"), .otherwise = "1.05"},
    CQ_CORPUS_OUTPUT_ROWS(O),
};
#undef O
static cq_status check_convert_options(const void *options, cq_error *error) {
  const cq_corpus_convert_options *o = options;
  const cq_format *format = find_format(o);
  if (!format && o->format) return cq_fail(error, CQ_ERR_ARGUMENT, "there is no format '%s'", o->format);
  if (!format)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s: which format? The name does not tell: --from FORMAT", o->inputs[0]);
  const cq_corpus_format *about = &format->about;
  if (o->n_inputs < about->min_inputs || o->n_inputs > about->max_inputs)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s is read from %s, got %zu file%s", about->name, about->inputs,
                   o->n_inputs, o->n_inputs == 1 ? "" : "s");
  if (o->n_columns > 0 && !about->has_columns)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s has no columns to choose", about->name);
  if (o->n_columns == 1 || o->n_columns > CQ_ROW_MAX)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%zu column%s, expected 2 to %d", o->n_columns, o->n_columns == 1 ? "" : "s",
                   CQ_ROW_MAX);
  if (o->threshold >= 0 && !about->has_scores)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s has no scores for a threshold", about->name);
  return CQ_OK;
}
const cq_option_group cq_group_corpus_convert =
    CQ_CORPUS_GROUP("corpus-convert", cq_corpus_convert_options, check_convert_options);

/* Reports that no rows were written; an existing output is then left unchanged. */
static cq_status fail_empty(const cq_corpus_convert_options *o, const cq_corpus_counts *counts, cq_error *error) {
  size_t most = 0;
  for (size_t i = 1; i < counts->n_reasons; i++)
    if (counts->dropped[i].n > counts->dropped[most].n) most = i;
  return cq_fail_file(error, CQ_ERR_FORMAT, o->inputs[0], "none of %llu rows can be written: %llu %s",
                      (unsigned long long)counts->n_read, (unsigned long long)counts->dropped[most].n,
                      counts->dropped[most].reason);
}

cq_status cq_corpus_convert(cq_corpus_counts *counts, const cq_corpus_convert_options *options, cq_error *error) {
  cq_corpus_convert_options o;
  cq_row_writer writer;
  cq_row row;
  *counts = (cq_corpus_counts){0};
  cq_status status = cq_options_take(&o, &cq_group_corpus_convert, options, error);
  if (!status) status = cq_corpus_check_inputs(o.inputs, o.n_inputs, NULL, 0, error);
  if (status) return status;
  const cq_format *format = find_format(&o);
  cq_format_reader *reader = cq_alloc_zeroed(format->size);
  if (!reader) return cq_fail_memory(error, format->about.name);
  *reader = (cq_format_reader){format, &o, CQ_CORPUS_FLOW(&o), counts};
  status = format->open(reader, error);
  if (!status) status = cq_row_writer_open(&writer, &reader->flow, counts, error);
  if (!status) {
    while (!status && !(status = format->next(&row, reader, error)) && row.n > 0)
      status = cq_row_writer_put(&writer, &row, error);
    if (!status && counts->n_written == 0 && counts->n_reasons) status = fail_empty(&o, counts, error);
    status = cq_row_writer_finish(&writer, status, error);
  }
  format->close(reader);
  cq_free(reader);
  return status;
}
