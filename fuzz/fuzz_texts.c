/* Any bytes, a line of '=' between two files, as translations and references, as rows with gold scores, as the
 * sentences of a corpus and as the log of a training are an error with a message, or texts and numbers. */
#include "fuzz.h"

#include "base/utf8.h"
#include "calque/lab/autoencode.h"
#include "calque/lab/mt.h"
#include "recipe/encode/sentences.h"
#include "recipe/evaluate/evaluate.h"

#include <math.h>
#include <string.h>

static void check_status(cq_status status, const cq_error *error) {
  CHECK(status == CQ_OK || status == CQ_ERR_FORMAT || status == CQ_ERR_ARGUMENT);
  CHECK(!status || error->message[0]);
}

static void check_text(cq_slice text) {
  CHECK(cq_utf8_invalid_at(text.data, text.n) == text.n);
}

static void read_translations(const char *hypotheses, const char *references) {
  cq_mt_texts *texts;
  cq_error error = {0};
  const cq_status status = cq_mt_read(&texts, hypotheses, &references, 1, &error);
  check_status(status, &error);
  if (status) return;
  CHECK(texts->n > 0 && texts->n_references == 1);
  for (size_t i = 0; i < texts->n; i++) check_text(texts->hypotheses[i]), check_text(texts->references[0][i]);
  cq_mt_free(texts);
}

static void read_rows(const char *path, bool skip_bad) {
  cq_rows rows;
  cq_error error = {0};
  cq_eval_options o = cq_eval_default_options();
  o.skip_bad = skip_bad;
  const cq_status status = cq_rows_read(&rows, path, 3, &o, &error);
  check_status(status, &error);
  for (size_t i = 0; !status && i < rows.n; i++) {
    check_text(rows.column[0][i]), check_text(rows.column[1][i]);
    CHECK(isfinite(rows.gold[i]));
  }
  cq_rows_free(&rows);
}

static void read_sentences(const char *path, bool skip_bad) {
  cq_sentences s;
  cq_error error = {0};
  const cq_status status = cq_sentences_read(&s, path, skip_bad, &error);
  check_status(status, &error);
  size_t n_lines = 0;
  for (uint32_t i = 0; !status && i < s.n; i++) {
    check_text(cq_sentences_text(&s, i));
    n_lines += cq_sentences_n_lines(&s, i);
  }
  CHECK(status || n_lines == s.n_lines);
  cq_sentences_free(&s);
}

static void read_log(const char *path) {
  cq_autoencode_log log;
  cq_error error = {0};
  const cq_status status = cq_autoencode_log_read(&log, path, &error);
  check_status(status, &error);
  if (status) {
    CHECK(!log.path && !log.steps && log.n_steps == 0);
    return;
  }
  CHECK(log.n_steps > 0);
  for (size_t i = 0; i < log.n_stages; i++) CHECK(log.stages[i].begin <= log.n_steps);
  for (size_t i = 0; i < log.n_devs; i++) CHECK(log.devs[i].n_steps <= log.n_steps);
  volatile double sum = 0;
  for (size_t i = 0; i < log.n_steps * log.n_languages; i++) sum += log.nll[i];
  (void)sum;
  cq_autoencode_log_free(&log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  const bool skip_bad = n % 2;
  const fuzz_part part = fuzz_next_part(&data, &n);
  const char *first = input_file(part.data, part.n), *second = fuzz_file("second", data, n);
  read_translations(first, second);
  read_rows(first, skip_bad);
  read_sentences(first, skip_bad);
  read_log(first);
  return 0;
}
