/* Any bytes as two files of parallel text, a line of '=' between them, in a format that is read, are an error that says
 * where or rows of well-formed text, and no row is lost without being counted. So are rows made from the files' rows.
 *
 *   first byte   'a' + i: the i-th format; 'A' dedup, 'B' filter, 'C' pivot, 'D' sample, 'E' gloss; else the formats */
#include "fuzz.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "corpus/format.h"

#include <string.h>

static void check_text(cq_slice text) {
  CHECK(text.data || text.n == 0);
  CHECK(cq_utf8_invalid_at(text.data, text.n) == text.n);
  CHECK(text.n == 0 || !memchr(text.data, '\0', text.n));
}

static void read_format(const cq_format *format, const char *const inputs[2], bool skip_bad) {
  static const char *const names[] = {"en", "de"}, *const numbers[] = {"2", "1"};
  const bool in_order = format == &cq_format_gettext || format == &cq_format_json_messages;
  const bool by_number = format == &cq_format_tsv || format == &cq_format_dictd || format == &cq_format_tei;
  cq_corpus_convert_options o = cq_corpus_convert_default_options();
  o.inputs = inputs, o.n_inputs = cq_min(2, format->about.max_inputs);
  o.columns = by_number ? numbers : names, o.n_columns = format->about.has_columns && !in_order ? 2 : 0;
  cq_corpus_counts counts = {0};
  cq_error error = {0};
  cq_row row;
  uint64_t n = 0;
  cq_format_reader *reader = cq_alloc_zeroed(format->size);
  *reader = (cq_format_reader){.format = format, .o = &o, .flow = {.skip_bad = skip_bad}, .counts = &counts};
  cq_status status = format->open(reader, &error);
  while (!status) {
    status = format->next(&row, reader, &error);
    if (status || row.n == 0) break;
    n++;
    CHECK(row.n == 2);
    for (size_t c = 0; c < row.n; c++) check_text(row.columns[c]);
  }
  format->close(reader);
  cq_free(reader);
  CHECK(!status || error.message[0]);
  CHECK(!status || status == CQ_ERR_FORMAT || status == CQ_ERR_ARGUMENT || status == CQ_ERR_IO ||
        (format == &cq_format_parquet && (status == CQ_ERR_UNSUPPORTED || status == CQ_ERR_LIMIT)));
  for (size_t i = 0; i < counts.n_reasons; i++) n += counts.dropped[i].n;
  CHECK(status ? n <= counts.n_read : n == counts.n_read);
}

static void check_rewritten(const cq_corpus_counts *counts, cq_status status, const cq_error *error) {
  uint64_t n = counts->n_written;
  for (size_t i = 0; i < counts->n_reasons; i++) n += counts->dropped[i].n;
  CHECK(!status || error->message[0]);
  CHECK(!status || status == CQ_ERR_FORMAT || status == CQ_ERR_ARGUMENT || status == CQ_ERR_IO);
  if (!status) CHECK(n == counts->n_read);
}

/* Both files as columns, by what makes rows from rows. */
static void dedup(const char *const inputs[2], bool odd) {
  static const char *const languages[] = {"en", "de"};
  cq_corpus_dedup_options o = cq_corpus_dedup_default_options();
  cq_corpus_counts counts = {0};
  cq_error error = {0};
  o.inputs = inputs, o.n_inputs = 1, o.held_out = &inputs[1], o.n_held_out = odd;
  o.match = odd ? CQ_CORPUS_NORMALIZED : CQ_CORPUS_EXACT, o.skip_bad = odd;
  o.output = fuzz_path(odd ? "written.tmx" : "written.po"), o.languages = languages, o.n_languages = 2;
  for (o.repeats = CQ_REPEATS_ROW; o.repeats <= CQ_REPEATS_SECOND; o.repeats++) {
    counts = (cq_corpus_counts){0};
    const cq_status status = cq_corpus_dedup(&counts, &o, &error);
    check_rewritten(&counts, status, &error);
  }
}

static void filter(const char *const inputs[2], bool odd) {
  static const char *const languages[] = {"en", "ru"};
  cq_corpus_filter_options o = cq_corpus_filter_default_options();
  cq_corpus_counts counts = {0};
  cq_error error = {0};
  o.inputs = inputs, o.n_inputs = 2, o.max_characters = 40, o.max_ratio = 1.5;
  o.languages = languages, o.n_languages = odd ? 2 : 0, o.clean = odd ? 15 : 0, o.rejected = fuzz_path("rejected.csv"),
  o.drop = odd ? 7 : 0, o.output = fuzz_path("written"), o.skip_bad = odd;
  const cq_status status = cq_corpus_filter(&counts, &o, &error);
  check_rewritten(&counts, status, &error);
}

static void pivot(const char *const inputs[2], bool odd) {
  cq_corpus_pivot_options o = cq_corpus_pivot_default_options();
  cq_corpus_counts counts = {0};
  cq_error error = {0};
  o.first = inputs[0], o.second = inputs[1], o.output = fuzz_path("written"), o.skip_bad = odd;
  o.match = odd ? CQ_CORPUS_NORMALIZED : CQ_CORPUS_EXACT;
  const cq_status status = cq_corpus_pivot(&counts, &o, &error);
  CHECK(!status || error.message[0]); /* rows that are joined become more or fewer, and may be too wide */
  CHECK(!status || status == CQ_ERR_FORMAT || status == CQ_ERR_ARGUMENT || status == CQ_ERR_IO ||
        status == CQ_ERR_LIMIT);
}

static void sample(const char *const inputs[2], bool odd) {
  cq_corpus_sample_options o = cq_corpus_sample_default_options();
  cq_corpus_counts counts = {0};
  cq_error error = {0};
  o.inputs = inputs, o.n_inputs = 2, o.n = 3, o.output = fuzz_path("written"), o.skip_bad = odd;
  const cq_status status = cq_corpus_sample(&counts, &o, &error);
  check_rewritten(&counts, status, &error);
}

static void gloss(const char *const inputs[2], bool odd) {
  cq_corpus_gloss_options o = cq_corpus_gloss_default_options();
  cq_corpus_counts counts = {0};
  cq_error error = {0};
  o.inputs = inputs, o.n_inputs = 1, o.dictionaries = &inputs[1], o.n_dictionaries = 1;
  o.min_known = odd ? 0.5 : 0, o.output = fuzz_path("written"), o.skip_bad = odd;
  const cq_status status = cq_corpus_gloss(&counts, &o, &error);
  check_rewritten(&counts, status, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static void (*const rewrites[])(const char *const inputs[2], bool odd) = {dedup, filter, pivot, sample, gloss};
  if (n == 0) return 0;
  const uint8_t which = data[0];
  data++, n--;
  const fuzz_part part = fuzz_next_part(&data, &n);
  const bool odd = (part.n + n) % 2;
  const char *first = input_file(part.data, part.n), *second = fuzz_file("second", data, n),
             *directory = fuzz_path("d");
  if (which >= 'A' && which < 'A' + sizeof rewrites / sizeof *rewrites) {
    rewrites[which - 'A']((const char *const[2]){first, second}, odd);
    return 0;
  }
  fuzz_file("d/d", data, n); /* the second file once more: what links of OPUS lead to */
  for (size_t i = 0; cq_formats[i]; i++) {
    if (which >= 'a' && which <= 'z' && i != (size_t)(which - 'a')) continue;
    const bool links = cq_formats[i] == &cq_format_opus || cq_formats[i] == &cq_format_ids;
    const bool has_index = cq_formats[i] == &cq_format_dictd;
    if (has_index) fuzz_file("x.dict", data, n);
    const char *const inputs[2] = {has_index ? fuzz_file("x.index", part.data, part.n) : first,
                                   links ? directory : second};
    read_format(cq_formats[i], inputs, odd);
  }
  return 0;
}
