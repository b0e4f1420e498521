/* Any bytes as two files of parallel text, a line of '=' between them, in every format that is read, are an error that says
 * where or rows of well-formed text, and no row is lost without being counted. So are rows made from the files' rows. */
#define _GNU_SOURCE
#include "fuzz.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "corpus/format.h"

#include <string.h>
#include <sys/stat.h>

/* The second file as DIR/d, too: what links of OPUS lead to. */
static char directory[80], document[96];

static void remove_document(void) {
  unlink(document);
  rmdir(directory);
}

static void write_file(const char *path, const uint8_t *data, size_t n) {
  FILE *f = fopen(path, "wb");
  CHECK(f && fwrite(data, 1, n, f) == n && fclose(f) == 0);
}

static void check_text(cq_slice text) {
  CHECK(text.data || text.n == 0);
  CHECK(cq_utf8_invalid_at(text.data, text.n) == text.n);
  CHECK(text.n == 0 || !memchr(text.data, '\0', text.n));
}

static void read_format(const cq_format *format, const char *const inputs[2], bool skip_bad) {
  static const char *const names[] = {"en", "de"}, *const numbers[] = {"2", "1"};
  const bool by_number = format == &cq_format_tsv;
  cq_corpus_convert_options o = cq_corpus_convert_default_options();
  o.inputs = inputs, o.n_inputs = cq_min(2, format->about.max_inputs);
  o.columns = by_number ? numbers : names, o.n_columns = format->about.has_columns ? 2 : 0;
  cq_corpus_counts counts = {0};
  cq_error error = {0};
  cq_row row;
  uint64_t n = 0;
  cq_format_reader *reader = cq_alloc_zeroed(format->size);
  *reader = (cq_format_reader){format, &o, {.skip_bad = skip_bad}, &counts};
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
  CHECK(!status || status == CQ_ERR_FORMAT || status == CQ_ERR_ARGUMENT || status == CQ_ERR_IO);
  for (size_t i = 0; i < counts.n_reasons; i++) n += counts.dropped[i].n;
  CHECK(status ? n <= counts.n_read : n == counts.n_read);
}

static void check_rewritten(const cq_corpus_counts *counts, cq_status status, const cq_error *error, bool adds_up) {
  uint64_t n = counts->n_written;
  for (size_t i = 0; i < counts->n_reasons; i++) n += counts->dropped[i].n;
  CHECK(!status || error->message[0]);
  CHECK(!status || status == CQ_ERR_FORMAT || status == CQ_ERR_ARGUMENT || status == CQ_ERR_IO);
  if (!status && adds_up) CHECK(n == counts->n_read);
}

/* Both files as columns, by everything that makes rows from rows. */
static void rewrite(const char *const inputs[2], bool odd) {
  static const char *const languages[] = {"en", "ru"};
  const char *const output = temporary_file(2);
  cq_corpus_counts counts;
  cq_error error = {0};
  cq_status status;
  for (cq_corpus_repeats repeats = CQ_REPEATS_ROW; repeats <= CQ_REPEATS_SECOND; repeats++) {
    cq_corpus_dedup_options o = cq_corpus_dedup_default_options();
    o.inputs = inputs, o.n_inputs = 1, o.held_out = &inputs[1], o.n_held_out = odd;
    o.match = odd ? CQ_CORPUS_NORMALISED : CQ_CORPUS_EXACT, o.repeats = repeats, o.output = output, o.skip_bad = odd;
    counts = (cq_corpus_counts){0};
    status = cq_corpus_dedup(&counts, &o, &error);
    check_rewritten(&counts, status, &error, true);
  }
  cq_corpus_filter_options filter = cq_corpus_filter_default_options();
  filter.inputs = inputs, filter.n_inputs = 2, filter.max_characters = 40, filter.max_ratio = 1.5;
  filter.languages = languages, filter.n_languages = odd ? 2 : 0, filter.output = output, filter.skip_bad = odd;
  counts = (cq_corpus_counts){0};
  status = cq_corpus_filter(&counts, &filter, &error);
  check_rewritten(&counts, status, &error, true);
  cq_corpus_pivot_options pivot = cq_corpus_pivot_default_options();
  pivot.first = inputs[0], pivot.second = inputs[1], pivot.output = output, pivot.skip_bad = odd;
  pivot.match = odd ? CQ_CORPUS_NORMALISED : CQ_CORPUS_EXACT;
  counts = (cq_corpus_counts){0};
  status = cq_corpus_pivot(&counts, &pivot, &error);
  check_rewritten(&counts, status, &error, false);
  cq_corpus_sample_options sample = cq_corpus_sample_default_options();
  sample.inputs = inputs, sample.n_inputs = 2, sample.n = 3, sample.output = output, sample.skip_bad = odd;
  counts = (cq_corpus_counts){0};
  status = cq_corpus_sample(&counts, &sample, &error);
  check_rewritten(&counts, status, &error, true);
  cq_corpus_gloss_options gloss = cq_corpus_gloss_default_options();
  gloss.inputs = inputs, gloss.n_inputs = 1, gloss.dictionaries = &inputs[1], gloss.n_dictionaries = 1;
  gloss.min_known = odd ? 0.5 : 0, gloss.output = output, gloss.skip_bad = odd;
  counts = (cq_corpus_counts){0};
  status = cq_corpus_gloss(&counts, &gloss, &error);
  check_rewritten(&counts, status, &error, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  const uint8_t *end = n > 0 ? memmem(data, n, "\n=\n", 3) : NULL;
  const size_t n_first = end ? (size_t)(end - data) + 1 : n, from = end ? n_first + 2 : n;
  if (!directory[0]) {
    snprintf(directory, sizeof directory, "%s-documents", temporary_file(0));
    snprintf(document, sizeof document, "%s/d", directory);
    mkdir(directory, 0700);
    atexit(remove_document);
  }
  write_file(temporary_file(1), data + from, n - from);
  write_file(document, data + from, n - from);
  const char *first = input_file(data, n_first);
  for (size_t i = 0; cq_formats[i]; i++) {
    const bool links = cq_formats[i] == &cq_format_opus || cq_formats[i] == &cq_format_ids;
    const char *const inputs[2] = {first, links ? directory : temporary_file(1)};
    read_format(cq_formats[i], inputs, data && n % 2);
  }
  rewrite((const char *const[2]){first, temporary_file(1)}, data && n % 2);
  return 0;
}
