/* calque model new: makes a student. cq_student_new does the work and defines the options. */
#include "cli/frame/command.h"
#include "cli/frame/report.h"

static int run_model_new(const cli_call *call) {
  const cli_threads_args *args = call->options;
  cq_student_options *o = call->library;
  cq_error error = {0};
  cq_context *ctx = NULL;
  const int code = cli_check_options(call);
  if (code) return code;
  cli_progress line = cli_progress_start();
  o->notice = cli_notice;
  o->progress = cli_progress_watch, o->progress_context = &line;
  cq_status status = cq_context_open(&ctx, args->threads, &error);
  if (!status) status = cq_student_new(call->arguments[0], o, ctx, &error);
  cq_context_free(ctx);
  cli_progress_clear(&line);
  if (status) return cli_fail_error(&error);
  cli_note("wrote %s", call->arguments[0]);
  return CLI_OK;
}

const cli_command cli_model_new = {
    .name = "new",
    .summary = "make a student for distillation: new vocabulary, copy, or a fresh model",
    CLI_ARGUMENTS("DIRECTORY", 1, 1),
    .description =
        "Makes a model to train with 'calque distill'. The best student for new languages is the teacher's own layers "
        "under a vocabulary of these languages (--kind new-vocabulary). The embedding of a new piece starts as the "
        "mean of the teacher's pieces that it translates, by word alignment of the text. Files with the same LANGUAGE= "
        "are aligned together, a file without a language by itself. So do not mix languages in a file.",
    .example = "calque model new --kind new-vocabulary --from all-MiniLM-L6-v2 --text train/en-de.tsv.gz student",
    CLI_GROUP(&cq_group_student),
    CLI_THREADS_ONLY,
    .run = run_model_new,
};
