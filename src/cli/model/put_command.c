/* calque model put: uploads a model to the Hugging Face hub. cq_hub_put does the work and defines the options. */
#include "cli/frame/command.h"
#include "cli/frame/report.h"
#include "cli/model/hub_command.h"

#include <stdio.h>

struct put_args {
  size_t size;
  bool dry_run;
};

static const cq_option put_options[] = {
    {CQ_FLAG(struct put_args, "dry-run", dry_run, KEEPS, "print the files and the card; do not connect or send")},
};

static int run_model_put(const cli_call *call) {
  const struct put_args *args = call->options;
  cq_hub_put_options *o = call->library;
  const char *directory = call->arguments[0], *repository = call->arguments[1];
  cli_hub_watch watch = {.line = cli_progress_start()};
  cq_error error = {0};
  char *text;
  o->notice = cli_notice;
  o->progress = cli_hub_progress, o->progress_context = &watch;
  const cq_status status = args->dry_run ? cq_hub_put_preview(&text, directory, repository, o, &error)
                                         : cq_hub_put(&text, directory, repository, o, &error);
  cli_progress_clear(&watch.line);
  if (status) return cli_fail_error(&error);
  printf(args->dry_run ? "%s" : "%s\n", text);
  cq_free(text);
  return CLI_OK;
}

const cli_command cli_model_put = {
    .name = "put",
    .summary = "send a model to the Hugging Face hub",
    CLI_ARGUMENTS("DIRECTORY ORGANIZATION/NAME[@BRANCH]", 2, 2),
    .description =
        "Sends a model's directory to the hub as one commit, and prints its address. A repository that does not exist "
        "yet is created. README.md becomes the model's page: --license, --language, --base-model and --dataset "
        "complete what training wrote into it, and an example of its use is added; the README.md in the directory does "
        "not change. Files that the repository has with other contents are an error, unless --replace is given.\n\nYou "
        "need a token with write access: set HF_TOKEN, or log in once with 'hf auth login'. ORGANIZATION may be the "
        "name of your account. Look at --dry-run first.",
    .example = "calque model put multilingual ada/multilingual --license apache-2.0 --language en,de,es \\\n"
               "    --base-model sentence-transformers/all-MiniLM-L6-v2 --dry-run",
    CLI_GROUP(&cq_group_hub_put),
    CLI_OPTIONS(struct put_args, put_options),
    .run = run_model_put,
};
