/* calque data score: which rows of parallel text are translations. */
#include "cli/data/data_command.h"

struct score_args {
  size_t size;
  const char *output;
  bool json;
  int threads;
};

static const cq_option score_options[] = {
    {CQ_TEXT(struct score_args, "output", output, CHANGES, "FILE",
             "write the rows here, as the name's ending says: .csv, .tmx, .xlf, .po, otherwise tab-separated; "
             "compressed if .gz or .zst follows"),
     .letter = 'o', .otherwise = "standard output"},
    {CQ_FLAG(struct score_args, "json", json, KEEPS,
             "write JSON objects: line, score, reason, run, columns, evidence")},
    CLI_THREADS(struct score_args, threads),
};

/* "10000 rows: 95.1 % translations, 2.0 % unrelated, ..." */
static void tell_shares(const cq_row_scores *s) {
  char text[512];
  size_t n = 0;
  for (cq_score_reason r = 0; r < CQ_SCORE_EMPTY && n < sizeof text; r++)
    if (cq_row_scores_share(s, r) >= 0.0005)
      n += (size_t)snprintf(text + n, sizeof text - n, "%s%.1f %% %s", n ? ", " : "", 100 * cq_row_scores_share(s, r),
                            cq_score_reason_name(r));
  cli_note("%zu row%s; estimated: %s", cq_row_scores_n(s), cq_row_scores_n(s) == 1 ? "" : "s", text);
}

static int run_score(const cli_call *call) {
  const struct score_args *args = call->options;
  cq_score_options *o = call->library;
  cq_error error = {0};
  cq_context *ctx = NULL;
  cq_row_scores *s = NULL;
  cli_progress line = cli_progress_start();
  CLI_DATA_INPUTS(o, call);
  o->notice = cli_notice, o->progress = cli_progress_watch, o->progress_context = &line;
  int code = cli_check_options(call);
  if (code == CLI_OK) code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK) {
    code = cq_score(&s, o, ctx, &error) ? CLI_FAILED : CLI_OK;
    cli_progress_clear(&line);
    if (!code && cq_row_scores_write(s, args->output, args->json, &error)) code = CLI_FAILED;
    if (code) cli_fail_error(&error);
  }
  if (code == CLI_OK) tell_shares(s);
  cq_row_scores_free(s);
  cq_context_free(ctx);
  return code;
}

const cli_command cli_data_score = {
    .name = "score",
    .summary = "the probability that each row's sides are translations, and the reason why not",
    CLI_ARGUMENTS("[FILE...]", 0, -1),
    .description =
        "Scores parallel text. Prints for each row the probability that its sides are translations, the reason, and "
        "the row itself. No gold standard is needed: cosines are compared with those of shifted rows of the same file; "
        "lengths, languages and the order of words with those of most rows. Reasons: translation, unrelated, "
        "truncated, language, numbers, names, untranslated, order, copy, repeated, empty. Runs of rows that are "
        "shifted against each other are reported. Different punctuation is not a fault. All rows are held in memory. "
        "A file's ending chooses its format, as in data convert.",
    .example = "calque data score --model base en-de.tsv.gz -o scored.tsv.gz\n"
               "calque data score --model base en-de.tsv.gz --min-precision 0.95 | cut -f 3- > clean.tsv",
    CLI_GROUP(&cq_group_score, .left_out = cli_data_inputs_taken),
    CLI_OPTIONS(struct score_args, score_options),
    .run = run_score,
};
