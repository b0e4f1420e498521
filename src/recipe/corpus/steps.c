/* What each step does. See steps.h. */
#include "recipe/corpus/steps.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/options.h"
#include "base/text_writer.h"
#include "calque/lines.h"
#include "corpus/rows.h"
#include "recipe/align/alignment.h"

#include <string.h>

/* "N-NAME.tsv" with another ending. */
static cq_status path_beside(char out[CQ_STEP_PATH], const char *rows, const char *ending, cq_error *error) {
  const size_t n = strlen(rows) - strlen(".tsv");
  return cq_snprintf(out, CQ_STEP_PATH, "%.*s%s", (int)n, rows, ending) < CQ_STEP_PATH
             ? CQ_OK
             : cq_fail_file(error, CQ_ERR_ARGUMENT, rows, "the name is too long");
}

/* --- from documents --- */

/* Rows of source and target, and a file with the score of each. */
typedef struct scored_rows {
  cq_text_writer rows, scores;
  cq_builder text;
} scored_rows;

static cq_status open_scored(scored_rows *w, const char *output, cq_error *error) {
  char scores[CQ_STEP_PATH];
  memset(w, 0, sizeof *w);
  cq_status status = path_beside(scores, output, ".scores", error);
  if (!status) status = cq_text_writer_open(&w->rows, output, error);
  return status ? status : cq_text_writer_open(&w->scores, scores, error);
}

static cq_status put_scored(scored_rows *w, double score, cq_slice source, cq_slice target, cq_error *error) {
  char number[32];
  cq_builder_clear(&w->text);
  cq_builder_field(&w->text, source);
  cq_builder_char(&w->text, '\t');
  cq_builder_field(&w->text, target);
  cq_builder_char(&w->text, '\n');
  if (w->text.failed) return cq_fail_memory(error, "a row");
  const cq_status status = cq_text_writer_put(&w->rows, w->text.data, w->text.n, error);
  const size_t n = (size_t)cq_snprintf(number, sizeof number, "%.6f\n", score);
  return status ? status : cq_text_writer_put(&w->scores, number, n, error);
}

static cq_status close_scored(scored_rows *w, cq_status status, cq_error *error) {
  if (!status) status = cq_text_writer_commit(&w->scores, error);
  if (!status) status = cq_text_writer_commit(&w->rows, error);
  cq_text_writer_abort(&w->rows), cq_text_writer_abort(&w->scores);
  cq_builder_free(&w->text);
  return status;
}

static cq_status run_align(cq_corpus_counts *counts, const cq_building *b, cq_options *options, const char *input,
                           const char *output, cq_error *error) {
  cq_align_options *o = cq_options_struct(options);
  cq_alignment *a = NULL;
  scored_rows w = {0};
  (void)input;
  o->notice = b->o->notice, o->notice_context = b->o->notice_context;
  o->progress = b->o->progress, o->progress_context = b->o->progress_context;
  cq_status status = cq_align(&a, o, b->ctx, error);
  if (!status && cq_alignment_n_documents(a) == 0)
    status = cq_fail(error, CQ_ERR_ARGUMENT, "no documents of %s and %s are translations of each other", o->source,
                     o->target);
  if (!status) status = open_scored(&w, output, error);
  for (size_t d = 0; !status && d < cq_alignment_n_documents(a); d++) {
    size_t n;
    const cq_bead *beads = cq_alignment_beads(&n, a, d);
    for (size_t i = 0; !status && i < n; i++) {
      counts->n_read++;
      if (!beads[i].n_source || !beads[i].n_target) {
        cq_corpus_drop(counts, "without a translation");
        continue;
      }
      status = put_scored(&w, beads[i].score, cq_alignment_text(a, d, CQ_SOURCE, beads[i].source, beads[i].n_source),
                          cq_alignment_text(a, d, CQ_TARGET, beads[i].target, beads[i].n_target), error);
      counts->n_written++;
    }
  }
  status = close_scored(&w, status, error);
  cq_alignment_free(a);
  return status;
}

/* The sentences of documents, one a line. */
static cq_status write_sentences(const char *path, const char *from, const cq_building *b, cq_error *error) {
  cq_align_options o = cq_align_default_options();
  cq_align_documents documents = {0};
  cq_text_writer w;
  memset(&w, 0, sizeof w);
  o.source = from, o.notice = b->o->notice, o.notice_context = b->o->notice_context;
  cq_status status = cq_align_documents_read(&documents, &o, CQ_SOURCE, error);
  if (!status) status = cq_text_writer_open(&w, path, error);
  for (size_t d = 0; !status && d < documents.n; d++) {
    for (size_t i = 0; !status && i < documents.items[d].n; i++) {
      const cq_slice text = cq_align_text(&documents.items[d], i, 1);
      status = cq_text_writer_put(&w, text.data, text.n, error);
      if (!status) status = cq_text_writer_put(&w, "\n", 1, error);
    }
  }
  if (!status) status = cq_text_writer_commit(&w, error);
  cq_text_writer_abort(&w);
  cq_align_documents_free(&documents);
  return status;
}

static cq_status run_mine(cq_corpus_counts *counts, const cq_building *b, cq_options *options, const char *input,
                          const char *output, cq_error *error) {
  cq_mine_options *o = cq_options_struct(options);
  char sides[2][CQ_STEP_PATH];
  cq_mining *m = NULL;
  scored_rows w = {0};
  size_t n = 0;
  (void)input;
  cq_status status = path_beside(sides[0], output, ".source", error);
  if (!status) status = path_beside(sides[1], output, ".target", error);
  if (!status) status = write_sentences(sides[0], o->source, b, error);
  if (!status) status = write_sentences(sides[1], o->target, b, error);
  o->source = sides[0], o->target = sides[1];
  if (!o->model) o->model = CQ_DEFAULT_MODEL;
  o->notice = b->o->notice, o->notice_context = b->o->notice_context;
  o->progress = b->o->progress, o->progress_context = b->o->progress_context;
  if (!status) status = cq_mine(&m, o, b->ctx, error);
  const cq_mined_pair *pairs = status ? NULL : cq_mining_pairs(&n, m);
  if (!status) status = open_scored(&w, output, error);
  for (size_t i = 0; !status && i < n; i++)
    status = put_scored(&w, pairs[i].score, cq_mining_sentence(m, CQ_SOURCE, pairs[i].source),
                        cq_mining_sentence(m, CQ_TARGET, pairs[i].target), error);
  counts->n_read = counts->n_written = n;
  status = close_scored(&w, status, error);
  cq_mining_free(m);
  return status;
}

/* --- from rows --- */

/* Gives a function of calque/corpus.h its input, output, and file of dropped rows. */
#define CONNECT(o) (o)->inputs = &input, (o)->n_inputs = 1, (o)->output = output

static cq_status run_convert(cq_corpus_counts *counts, const cq_building *b, cq_options *options, const char *input,
                             const char *output, cq_error *error) {
  cq_corpus_convert_options *o = cq_options_struct(options);
  (void)b, (void)input;
  o->output = output;
  return cq_corpus_convert(counts, o, error);
}

static void put_columns(cq_builder *out, const cq_score_row *row) {
  for (size_t c = 0; c < row->n_columns; c++) {
    if (c) cq_builder_char(out, '\t');
    cq_builder_field(out, row->columns[c]);
  }
  cq_builder_char(out, '\n');
}

/* The rows that are kept, and the others with their reason; the probabilities of all. */
static cq_status write_scored(cq_corpus_counts *counts, const cq_row_scores *s, const char *const paths[3],
                              cq_error *error) {
  cq_text_writer out[3]; /* rows, rejected, scores */
  cq_builder text = {0};
  memset(out, 0, sizeof out);
  cq_status status = CQ_OK;
  for (int i = 0; !status && i < 3; i++) status = cq_text_writer_open(&out[i], paths[i], error);
  for (size_t i = 0; !status && i < cq_row_scores_n(s); i++) {
    const cq_score_row row = cq_row_scores_row(s, i);
    const char *reason = row.reason == CQ_SCORE_TRANSLATION ? "low probability" : cq_score_reason_name(row.reason);
    cq_builder_clear(&text);
    if (!row.is_kept) cq_builder_printf(&text, "%s\t", reason), cq_corpus_drop(counts, reason);
    put_columns(&text, &row);
    status =
        text.failed ? cq_fail_memory(error, "a row") : cq_text_writer_put(&out[!row.is_kept], text.data, text.n, error);
    cq_builder_clear(&text);
    cq_builder_printf(&text, "%.6f\n", row.probability);
    if (!status) status = cq_text_writer_put(&out[2], text.data, text.n, error);
    counts->n_read++, counts->n_written += row.is_kept;
  }
  for (int i = 2; !status && i >= 0; i--) status = cq_text_writer_commit(&out[i], error);
  for (int i = 0; i < 3; i++) cq_text_writer_abort(&out[i]);
  cq_builder_free(&text);
  return status;
}

static cq_status run_score(cq_corpus_counts *counts, const cq_building *b, cq_options *options, const char *input,
                           const char *output, cq_error *error) {
  cq_score_options *o = cq_options_struct(options);
  cq_row_scores *s = NULL;
  char rejected[CQ_STEP_PATH], scores[CQ_STEP_PATH];
  o->inputs = &input, o->n_inputs = 1;
  if (!o->model) o->model = CQ_DEFAULT_MODEL;
  o->notice = b->o->notice, o->notice_context = b->o->notice_context;
  o->progress = b->o->progress, o->progress_context = b->o->progress_context;
  cq_status status = path_beside(rejected, output, ".rejected.tsv", error);
  if (!status) status = path_beside(scores, output, ".scores", error);
  if (!status) status = cq_score(&s, o, b->ctx, error);
  if (!status) status = write_scored(counts, s, (const char *const[]){output, rejected, scores}, error);
  cq_row_scores_free(s);
  return status;
}

static cq_status run_filter(cq_corpus_counts *counts, const cq_building *b, cq_options *options, const char *input,
                            const char *output, cq_error *error) {
  cq_corpus_filter_options *o = cq_options_struct(options);
  char rejected[CQ_STEP_PATH];
  (void)b;
  const cq_status status = path_beside(rejected, output, ".rejected.tsv", error);
  if (status) return status;
  CONNECT(o), o->rejected = rejected;
  return cq_corpus_filter(counts, o, error);
}

static cq_status run_dedup(cq_corpus_counts *counts, const cq_building *b, cq_options *options, const char *input,
                           const char *output, cq_error *error) {
  cq_corpus_dedup_options *o = cq_options_struct(options);
  char rejected[CQ_STEP_PATH];
  (void)b;
  const cq_status status = path_beside(rejected, output, ".rejected.tsv", error);
  if (status) return status;
  CONNECT(o), o->rejected = rejected;
  return cq_corpus_dedup(counts, o, error);
}

/* --- the division --- */

#define O cq_split_options
static const cq_option split_rows[] = {
    {CQ_COUNT(O, "dev", dev, CHANGES, 0, 0, 0, "N", "rows of dev.tsv, drawn at random")},
    {CQ_COUNT(O, "test", test, CHANGES, 0, 0, 0, "N", "rows of test.tsv, drawn at random")},
    CQ_SEED_ROW(O, 1),
    {CQ_TEXT(O, "output", output, CHANGES, "NAME",
             "name of the file of the other rows, which share no sentence with these; its ending is its format: .tsv, "
             ".tmx, .xlf, .csv, .po"),
     .text = "train.tsv"},
    {CQ_TEXTS(O, "languages", languages, n_languages, CHANGES, "A,B",
              "codes of the two languages, for .tmx, .xlf, .po and .csv"),
     .flags = CQ_OPTION_COMMAS, .otherwise = "none"},
};
#undef O
static cq_status check_split(const void *options, cq_error *error) {
  const cq_split_options *o = options;
  return *o->output && !strchr(o->output, '/') ? CQ_OK
                                               : cq_fail(error, CQ_ERR_ARGUMENT, "output is a name, without a folder");
}
const cq_option_group cq_group_corpus_split = {
    .name = "corpus-split", CQ_ROWS(cq_split_options, split_rows), .check = check_split};

/* The first n_dev rows of a file go to dev, the others to test. */
static cq_status divide(const char *drawn, const char *dev, const char *test, uint64_t n_dev, cq_error *error) {
  cq_lines *lines = NULL;
  cq_text_writer out[2];
  cq_slice line;
  memset(out, 0, sizeof out);
  cq_status status = cq_lines_open(&lines, drawn, error);
  if (!status) status = cq_text_writer_open(&out[0], dev, error);
  if (!status) status = cq_text_writer_open(&out[1], test, error);
  for (uint64_t i = 0; !status; i++) {
    status = cq_lines_next(&line, lines, error);
    if (status || !line.data) break;
    cq_text_writer *w = &out[i >= n_dev];
    status = cq_text_writer_put(w, line.data, line.n, error);
    if (!status) status = cq_text_writer_put(w, "\n", 1, error);
  }
  for (int i = 0; !status && i < 2; i++) status = cq_text_writer_commit(&out[i], error);
  for (int i = 0; i < 2; i++) cq_text_writer_abort(&out[i]);
  cq_lines_close(lines);
  return status;
}

static cq_status run_split(cq_corpus_counts *counts, const cq_building *b, cq_options *options, const char *input,
                           const char *output, cq_error *error) {
  const cq_split_options *o = cq_options_struct(options);
  char dev[CQ_STEP_PATH], test[CQ_STEP_PATH], train[CQ_STEP_PATH];
  const char *const held_out[] = {dev, test};
  cq_corpus_sample_options sample = cq_corpus_sample_default_options();
  cq_corpus_dedup_options rest = cq_corpus_dedup_default_options();
  cq_corpus_counts drawn;
  cq_status status = cq_path_join(dev, sizeof dev, b->o->output, "dev.tsv", error);
  if (!status) status = cq_path_join(test, sizeof test, b->o->output, "test.tsv", error);
  if (!status) status = cq_path_join(train, sizeof train, b->o->output, o->output, error);
  sample.inputs = &input, sample.n_inputs = 1, sample.output = output;
  sample.n = o->dev + o->test, sample.seed = o->seed;
  if (!status && sample.n) status = cq_corpus_sample(&drawn, &sample, error);
  if (!status && sample.n) status = divide(output, dev, test, o->dev, error);
  rest.inputs = &input, rest.n_inputs = 1, rest.output = train;
  rest.held_out = held_out, rest.n_held_out = sample.n ? 2 : 0;
  rest.languages = o->languages, rest.n_languages = o->n_languages;
  return status ? status : cq_corpus_dedup(counts, &rest, error);
}

static const char *const of_source[] = {NULL}, *const of_rows[] = {"input", "output", "rejected", "min-cosine", NULL},
                         *const of_convert[] = {"output", NULL};
const cq_step cq_steps[] = {
    {"align", "pairs of sentences from two documents, or two folders of documents, in order", &cq_group_align,
     of_source, true, run_align},
    {"mine", "pairs of sentences from two documents, or two folders of documents, in any order", &cq_group_mine,
     of_source, true, run_mine},
    {"convert", "pairs of sentences from files of any format of parallel text", &cq_group_corpus_convert, of_convert,
     true, run_convert},
    {"score", "the probability that a row's sides are translations; min-precision drops the least likely",
     &cq_group_score, of_rows, false, run_score},
    {"filter", "drops rows that are unlikely to be translations", &cq_group_corpus_filter, of_rows, false, run_filter},
    {"dedup", "drops repeated rows, and rows that are nearly repeated", &cq_group_corpus_dedup, of_rows, false,
     run_dedup},
    {"split", "draws rows for dev and test; the others are for training", &cq_group_corpus_split, of_source, false,
     run_split},
    {.name = NULL}};
