/* Any bytes as two files of parallel text, a line of '=' between them, in every form that is read, are an error that says
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

static void read_form(const cq_form_kind *kind, const char *const inputs[2], bool skip_bad) {
  static const char *const names[] = {"en", "de"}, *const numbers[] = {"2", "1"};
  const bool by_number = kind == &cq_form_tsv;
  const cq_corpus_convert_options o = {.inputs = inputs,
                                       .n_inputs = cq_smaller(2, kind->about.most_inputs),
                                       .columns = by_number ? numbers : names,
                                       .n_columns = kind->about.has_columns ? 2 : 0,
                                       .flow.skip_bad = skip_bad};
  cq_corpus_counts counts = {0};
  cq_error error = {0};
  cq_row row;
  uint64_t n = 0;
  cq_form *form = cq_alloc_zeroed(kind->size);
  *form = (cq_form){kind, &o, &counts};
  cq_status status = kind->open(form, &error);
  while (!status) {
    status = kind->next(&row, form, &error);
    if (status || row.n == 0) break;
    n++;
    CHECK(row.n == 2);
    for (size_t c = 0; c < row.n; c++) check_text(row.columns[c]);
  }
  kind->close(form);
  cq_free(form);
  CHECK(!status || error.message[0]);
  CHECK(!status || status == CQ_ERR_FORMAT || status == CQ_ERR_ARGUMENT || status == CQ_ERR_IO);
  for (size_t i = 0; i < counts.n_losses; i++) n += counts.losses[i].n;
  CHECK(status ? n <= counts.n_read : n == counts.n_read);
}

static void check_rewritten(const cq_corpus_counts *counts, cq_status status, const cq_error *error, bool adds_up) {
  uint64_t n = counts->n_written;
  for (size_t i = 0; i < counts->n_losses; i++) n += counts->losses[i].n;
  CHECK(!status || error->message[0]);
  CHECK(!status || status == CQ_ERR_FORMAT || status == CQ_ERR_ARGUMENT || status == CQ_ERR_IO);
  if (!status && adds_up) CHECK(n == counts->n_read);
}

/* Both files as columns, in every way that rows are made from rows. */
static void rewrite(const char *const inputs[2], bool odd) {
  static const char *const languages[] = {"en", "ru"};
  const cq_corpus_flow flow = {.output = temporary_file(2), .skip_bad = odd};
  cq_corpus_counts counts;
  cq_error error = {0};
  cq_status status;
  for (cq_corpus_repeats repeats = CQ_REPEATS_ROW; repeats <= CQ_REPEATS_SECOND; repeats++) {
    const cq_corpus_dedup_options o = {.inputs = inputs,
                                       .n_inputs = 1,
                                       .held_out = &inputs[1],
                                       .n_held_out = odd,
                                       .match = odd ? CQ_CORPUS_NORMALISED : CQ_CORPUS_EXACT,
                                       .repeats = repeats,
                                       .flow = flow};
    counts = (cq_corpus_counts){0};
    status = cq_corpus_dedup(&counts, &o, &error);
    check_rewritten(&counts, status, &error, true);
  }
  const cq_corpus_filter_options filter = {.inputs = inputs,
                                           .n_inputs = 2,
                                           .least_characters = 1,
                                           .most_characters = 40,
                                           .most_ratio = 1.5,
                                           .languages = languages,
                                           .n_languages = odd ? 2 : 0,
                                           .flow = flow};
  counts = (cq_corpus_counts){0};
  status = cq_corpus_filter(&counts, &filter, &error);
  check_rewritten(&counts, status, &error, true);
  const cq_corpus_pivot_options pivot = {.inputs = {inputs[0], inputs[1]},
                                         .on = {1, 1},
                                         .match = odd ? CQ_CORPUS_NORMALISED : CQ_CORPUS_EXACT,
                                         .flow = flow};
  counts = (cq_corpus_counts){0};
  status = cq_corpus_pivot(&counts, &pivot, &error);
  check_rewritten(&counts, status, &error, false);
  const cq_corpus_sample_options sample = {.inputs = inputs, .n_inputs = 2, .n = 3, .seed = 1, .flow = flow};
  counts = (cq_corpus_counts){0};
  status = cq_corpus_sample(&counts, &sample, &error);
  check_rewritten(&counts, status, &error, true);
  const cq_corpus_gloss_options gloss = {.inputs = inputs,
                                         .n_inputs = 1,
                                         .dictionaries = &inputs[1],
                                         .n_dictionaries = 1,
                                         .least = odd ? 0.5 : 0,
                                         .flow = flow};
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
  for (size_t i = 0; cq_form_kinds[i]; i++) {
    const bool links = cq_form_kinds[i] == &cq_form_opus || cq_form_kinds[i] == &cq_form_ids;
    const char *const inputs[2] = {first, links ? directory : temporary_file(1)};
    read_form(cq_form_kinds[i], inputs, data && n % 2);
  }
  rewrite((const char *const[2]){first, temporary_file(1)}, data && n % 2);
  return 0;
}
