/* calque align: sentence alignment of two documents, or of two folders of them. */
#include "cli/frame/command.h"
#include "cli/frame/output.h"
#include "cli/frame/report.h"

#include <unistd.h>

struct args {
  size_t size;
  const char *output;
  int threads;
  bool replace;
};

static const cq_option options[] = {
    {CQ_TEXT(struct args, "output", output, CHANGES, "FILE",
             "write the pairs here, in the format of the extension: tab-separated (.tsv, .txt or none), .jsonl, .tmx, "
             ".csv, .po, .xlf, .moses (one file per language), .beads (numbers of sentences, as Vecalign writes them), "
             ".html (a page, side by side); compressed if .gz or .zst follows"),
     .letter = 'o', .otherwise = "standard output"},
    CLI_REPLACE(struct args, replace),
    CLI_THREADS(struct args, threads),
};
static const char *const as_arguments[] = {"source", "target", NULL};

static void report(const cq_alignment *a) {
  size_t n_pairs = 0, n_alone[2] = {0};
  for (size_t i = 0; i < cq_alignment_n_documents(a); i++) {
    size_t n;
    const cq_bead *beads = cq_alignment_beads(&n, a, i);
    for (size_t k = 0; k < n; k++) {
      n_pairs += beads[k].n_source && beads[k].n_target;
      n_alone[0] += !beads[k].n_target, n_alone[1] += !beads[k].n_source;
    }
  }
  cli_note("%zu pair%s; sentences without a translation: %zu of the source, %zu of the target", n_pairs,
           n_pairs == 1 ? "" : "s", n_alone[0], n_alone[1]);
}

static int run_align(const cli_call *call) {
  const struct args *args = call->options;
  cq_align_options *o = call->library;
  cq_error error = {0};
  cq_context *ctx = NULL;
  cq_alignment *a = NULL;
  cli_progress line = cli_progress_start();
  o->source = call->arguments[0], o->target = call->arguments[1];
  o->notice = cli_notice, o->progress = cli_progress_watch, o->progress_context = &line;
  int code = cli_check_options(call);
  if (code == CLI_OK && cq_alignment_check_path(args->output, &error)) code = cli_fail_error(&error);
  if (code == CLI_OK && cli_output_check(args->output, args->replace, &error)) code = cli_fail_error(&error);
  if (code == CLI_OK) code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK) {
    code = cq_align(&a, o, ctx, &error) ? CLI_FAILED : CLI_OK;
    cli_progress_clear(&line);
    if (code) cli_fail_error(&error);
  }
  if (code == CLI_OK && cq_alignment_n_documents(a) == 0)
    code = CLI_NO_BETTER;
  else if (code == CLI_OK && cq_alignment_write(a, args->output, &error))
    code = cli_fail_error(&error);
  if (code == CLI_OK) report(a);
  cq_alignment_free(a);
  cq_context_free(ctx);
  return code;
}

const cli_command cli_align = {
    .name = "align",
    .summary = "sentence alignment: two documents, in order, to pairs of sentences",
    CLI_ARGUMENTS("SOURCE TARGET", 2, 2),
    .description =
        "Sentence alignment: finds which sentences of two documents translate one another, in order, one to one, one "
        "to several, or several to several. Prints lines of score, source and target; sentences without a translation "
        "are counted, and the formats .html, .beads and .jsonl show them. The score is the cosine of the two sides, "
        "scaled so that 0 is that of unrelated sentences of these documents, and 1 the highest. Documents have the "
        "formats of 'calque data documents'; of two folders, or files of several documents, documents are paired "
        "first. "
        "Exit code 3: the documents are not translations of each other. For sentences in no order, see 'calque mine'.",
    .example = "calque align book.de.txt book.en.txt -o book.tmx\n"
               "calque align --languages de,fr --lines de.txt fr.txt -o beads.html",
    CLI_GROUP(&cq_group_align, .left_out = as_arguments),
    CLI_OPTIONS(struct args, options),
    .run = run_align,
};
