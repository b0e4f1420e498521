/* Rows of files of any format: reads them, chooses among them, writes them in any format, and counts those that are
 * dropped. */
#include "base/error.h"
#include "base/memory.h"
#include "corpus/format.h"
#include "text/language_codes.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

const cq_format *const cq_formats[] = {
    &cq_format_moses,   &cq_format_europarl,      &cq_format_tsv,
    &cq_format_ted2020, &cq_format_wikimatrix,    &cq_format_muse,
    &cq_format_tmx,     &cq_format_opus,          &cq_format_ids,
    &cq_format_tatoeba, &cq_format_wikititles,    &cq_format_xquad,
    &cq_format_dictd,   &cq_format_tei,           &cq_format_parquet,
    &cq_format_gettext, &cq_format_json_messages, &cq_format_xliff,
    &cq_format_qt_ts,   &cq_format_csv,           NULL,
};
enum { N_FORMATS = sizeof cq_formats / sizeof *cq_formats - 1 };

const cq_corpus_format *cq_corpus_format_at(size_t i) {
  return i < N_FORMATS ? &cq_formats[i]->about : NULL;
}

/* The format of a name; NULL: the only one that all files' endings name. NULL: none. */
static const cq_format *find_format(const char *name, const char *const *paths, size_t n_paths) {
  const cq_format *found = NULL;
  for (size_t i = 0; i < N_FORMATS; i++) {
    size_t n = 0;
    while (!name && n < n_paths && cq_format_ends(cq_formats[i], paths[n])) n++;
    if (name ? strcmp(cq_formats[i]->about.name, name) != 0 : n == 0 || n < n_paths) continue;
    if (found) return NULL;
    found = cq_formats[i];
  }
  return found;
}

/* --- rows of files of any format --- */

static cq_status open_reader(cq_source *s, const cq_format *format, cq_error *error) {
  s->reader = cq_alloc_zeroed(format->size);
  if (!s->reader) return cq_fail_memory(error, format->about.name);
  *s->reader = (cq_format_reader){.format = format, .o = &s->o, .flow = *s->files.flow, .counts = s->files.counts};
  return format->open(s->reader, error);
}

void cq_source_close(cq_source *s) {
  if (s->reader) s->reader->format->close(s->reader);
  cq_free(s->reader);
  s->reader = NULL;
  cq_row_reader_close(&s->files);
}

/* Opens the next file if it has a format of its own. */
static cq_status open_next(cq_source *s, cq_error *error) {
  const char *const *path = &s->files.paths[s->files.next_path];
  const cq_format *format = find_format(NULL, path, 1);
  if (!format || format == &cq_format_tsv) return CQ_OK;
  s->files.next_path++;
  s->o = cq_corpus_convert_default_options();
  s->o.inputs = path, s->o.n_inputs = 1;
  s->o.columns = s->files.flow->languages, s->o.n_columns = s->files.flow->n_languages;
  s->is_named = false;
  return open_reader(s, format, error);
}

bool cq_is_same_language(const char *a, const char *b) {
  char codes[2][CQ_LANGUAGE_CODES][CQ_LANGUAGE_LETTERS];
  size_t n_code;
  return !strcasecmp(a, b) || (cq_language_codes(codes[0], &n_code, a, strlen(a)) &&
                               cq_language_codes(codes[1], &n_code, b, strlen(b)) && !strcmp(codes[0][0], codes[1][0]));
}

/* Notes the languages of the first file, in whose order those of all others are to be. */
static cq_status note_languages(cq_source *s, cq_error *error) {
  if (s->is_named || s->files.flow->n_languages || s->reader->n_languages < 2) return CQ_OK;
  s->is_named = true;
  for (size_t c = 0; c < 2; c++) {
    const char *here = s->reader->languages[c], *first = s->languages[c];
    if (!first) {
      snprintf(s->names[c], sizeof s->names[c], "%s", here), s->languages[c] = s->names[c];
    } else if (!cq_is_same_language(here, first)) {
      return cq_fail_file(error, CQ_ERR_ARGUMENT, s->o.inputs[0],
                          "column %zu is of language '%s', in files before it of '%s': --languages %s,%s", c + 1, here,
                          first, s->names[0], s->names[1]);
    }
  }
  return CQ_OK;
}

cq_status cq_source_next(cq_row *out, cq_source *s, cq_error *error) {
  cq_row_reader *files = &s->files;
  const size_t n_paths = files->n_paths;
  for (;;) {
    cq_status status = CQ_OK;
    out->n = 0;
    if (!s->reader && !files->lines && files->next_path < n_paths) status = open_next(s, error);
    if (status) return status;
    if (s->reader) {
      *out = (cq_row){.n = 0};
      status = s->reader->format->next(out, s->reader, error);
      out->line = (cq_slice){0}; /* of the file, not of the row */
      if (!status && out->n > 0) status = note_languages(s, error);
    } else {
      files->n_paths = files->lines ? files->next_path : cq_min(files->next_path + 1, n_paths); /* to the file's end */
      status = cq_row_reader_next(out, files, error);
      files->n_paths = n_paths;
    }
    if (status || out->n > 0) return status;
    cq_source_close(s);
    if (files->next_path == n_paths) return CQ_OK;
  }
}

void cq_source_name(cq_pairs *w, const cq_source *s) {
  const cq_corpus_flow *flow = s->files.flow;
  w->languages = flow->n_languages ? flow->languages : s->languages;
  w->n_languages = flow->n_languages ? flow->n_languages : s->languages[0] ? 2 : 0;
}

/* Reports that no rows were written; an existing output is then left unchanged. */
static cq_status fail_empty(const char *path, const cq_corpus_counts *counts, cq_error *error) {
  size_t most = 0;
  for (size_t i = 1; i < counts->n_reasons; i++)
    if (counts->dropped[i].n > counts->dropped[most].n) most = i;
  return cq_fail_file(error, CQ_ERR_FORMAT, path, "none of %llu rows can be written: %llu %s",
                      (unsigned long long)counts->n_read, (unsigned long long)counts->dropped[most].n,
                      counts->dropped[most].reason);
}

/* Rows whose last check is outstanding, as they will be written to either file. */
enum { BATCH = 512 };
typedef struct choice {
  const cq_corpus_flow *flow;
  cq_corpus_counts *counts;
  cq_row_writer writer;
  cq_pairs rejected;
  cq_builder kept_text, rejected_text, sides;
  struct {
    const char *why;                 /* NULL: not yet dropped */
    size_t kept, rejected, sides[2]; /* where its texts end */
  } rows[BATCH];
  size_t n;
} choice;

static const char unlike[] = "lower cosine";

/* The cosines of the rows that are not dropped, and what follows from them. */
static cq_status check_cosines(choice *c, cq_error *error) {
  double cosines[BATCH];
  cq_slice sides[2 * BATCH];
  size_t begin = 0, n = 0;
  if (!c->flow->cosines) return CQ_OK;
  for (size_t i = 0; i < c->n; i++) {
    if (c->rows[i].why) continue;
    for (size_t s = 0; s < 2; begin = c->rows[i].sides[s++])
      sides[n++] = (cq_slice){cq_built(&c->sides).data + begin, c->rows[i].sides[s] - begin};
  }
  const cq_status status = n ? c->flow->cosines(c->flow->cosines_context, cosines, sides, n / 2, error) : CQ_OK;
  n = 0;
  for (size_t i = 0; !status && i < c->n; i++)
    if (!c->rows[i].why && !(cosines[n++] >= c->flow->min_cosine)) c->rows[i].why = unlike;
  return status;
}

static cq_status write_choice(choice *c, cq_error *error) {
  size_t begins[2] = {0, 0};
  cq_status status = c->kept_text.failed || c->rejected_text.failed || c->sides.failed ? cq_fail_memory(error, "rows")
                                                                                       : check_cosines(c, error);
  for (size_t i = 0; i < c->n && !status; i++) {
    const char *why = c->rows[i].why;
    const size_t ends[2] = {c->rows[i].kept, c->rows[i].rejected};
    if (!why && ends[0] > begins[0]) {
      c->counts->n_written++;
      status = cq_pairs_put_rendered(&c->writer.pairs,
                                     (cq_slice){cq_built(&c->kept_text).data + begins[0], ends[0] - begins[0]}, error);
    } else if (why) {
      cq_corpus_drop(c->counts, why);
      if (c->flow->rejected)
        status = cq_pairs_put_rendered(
            &c->rejected, (cq_slice){cq_built(&c->rejected_text).data + begins[1], ends[1] - begins[1]}, error);
    }
    memcpy(begins, ends, sizeof begins);
  }
  cq_builder_clear(&c->kept_text), cq_builder_clear(&c->rejected_text), cq_builder_clear(&c->sides);
  c->n = 0;
  return status;
}

/* Notes what becomes of a row. original: as it was before the check, for the file of dropped rows. */
static cq_status note_row(choice *c, const char *why, const cq_row *row, const cq_row *original, cq_error *error) {
  cq_status status = CQ_OK;
  if (!why) status = cq_row_writer_render(&c->kept_text, &c->writer, row, error);
  if (!status && c->flow->rejected && (why || c->flow->cosines)) {
    const cq_slice reason = cq_slice_of(why ? why : unlike);
    if (c->rejected.kind == CQ_PAIRS_AS_TSV && original->line.data)
      cq_builder_printf(&c->rejected_text, "%s\t", reason.data), cq_builder_slice(&c->rejected_text, original->line),
          cq_builder_char(&c->rejected_text, '\n');
    else
      status = cq_pairs_render(&c->rejected_text, &c->rejected, reason, original->columns, original->n, original->unit,
                               error);
  }
  for (size_t s = 0; s < 2; s++) {
    if (!why && c->flow->cosines) cq_builder_slice(&c->sides, row->columns[s]);
    c->rows[c->n].sides[s] = c->sides.n;
  }
  c->rows[c->n].why = why, c->rows[c->n].kept = c->kept_text.n, c->rows[c->n].rejected = c->rejected_text.n;
  return ++c->n < (c->flow->cosines ? BATCH : 1) || status ? status : write_choice(c, error);
}

cq_status cq_corpus_choose(cq_source *source, cq_row_check check, void *context, cq_error *error) {
  const cq_corpus_flow *flow = source->files.flow;
  choice c = {.flow = flow, .counts = source->files.counts};
  const char *path = flow->rejected;
  cq_pairs_kind kind;
  cq_row row, original = {0};
  cq_status status = CQ_OK;
  if (path && flow->output && !strcmp(path, flow->output))
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, path, "kept and rejected rows need two files");
  if (!status) status = cq_row_writer_open(&c.writer, flow, c.counts, error);
  if (status) {
    cq_source_close(source);
    return status;
  }
  if (path) status = cq_pairs_kind_of(&kind, path, error);
  if (path && !status) status = cq_pairs_open(&c.rejected, kind, path, "reason", error);
  while (cq_source_more(&status, &row, source, error)) {
    const char *why = NULL;
    if (path) original = row;
    const bool has_line = row.line.data;
    if (check) status = check(&why, context, &row, error);
    if (!has_line) row.line.data = NULL;
    cq_source_name(&c.writer.pairs, source), cq_source_name(&c.rejected, source);
    if (!status) status = note_row(&c, why, &row, &original, error);
  }
  if (!status) status = write_choice(&c, error);
  if (!status && !check && c.counts->n_written == 0 && c.counts->n_reasons)
    status = fail_empty(source->files.paths[0], c.counts, error);
  cq_source_close(source);
  cq_source_name(&c.writer.pairs, source), cq_source_name(&c.rejected, source);
  if (path) status = cq_pairs_finish(&c.rejected, status, error);
  cq_builder_free(&c.kept_text), cq_builder_free(&c.rejected_text), cq_builder_free(&c.sides);
  return cq_row_writer_finish(&c.writer, status, error);
}

/* --- converting --- */

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
  const cq_format *format = find_format(o->format, o->inputs, o->n_inputs);
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

cq_status cq_corpus_convert(cq_corpus_counts *counts, const cq_corpus_convert_options *options, cq_error *error) {
  cq_source source = {0};
  cq_corpus_convert_options *o = &source.o;
  double number;
  *counts = (cq_corpus_counts){0};
  cq_status status = cq_options_take(o, &cq_group_corpus_convert, options, error);
  if (!status) status = cq_corpus_check_inputs(o->inputs, o->n_inputs, NULL, 0, error);
  if (status) return status;
  const cq_format *format = find_format(o->format, o->inputs, o->n_inputs);
  cq_corpus_flow flow = CQ_CORPUS_FLOW(o);
  if (!o->n_columns && format->endings && format != &cq_format_tsv)
    o->columns = o->languages, o->n_columns = o->n_languages;
  if (!o->n_languages && o->n_columns && !cq_slice_number(&number, cq_slice_of(o->columns[0])))
    flow.languages = o->columns, flow.n_languages = o->n_columns;
  source.files = (cq_row_reader){
      .paths = o->inputs, .n_paths = o->n_inputs, .next_path = o->n_inputs, .flow = &flow, .counts = counts};
  status = open_reader(&source, format, error);
  if (!status) return cq_corpus_choose(&source, NULL, NULL, error);
  cq_source_close(&source);
  return status;
}
