/* calque model get: downloads a model from the Hugging Face hub. cq_hub_get does the work and defines the options. */
#include "cli/frame/command.h"
#include "cli/frame/report.h"
#include "cli/model/hub_command.h"

#include <stdio.h>
#include <string.h>

bool cli_hub_progress(void *progress, const char *file, uint64_t done, uint64_t n_all) {
  const uint64_t mb = 1000000;
  cli_hub_watch *w = progress;
  char what[300], remark[64] = "MB";
  if (w->started_s == 0) w->started_s = cli_now_s(), w->from = done;
  if (done > w->from) {
    char left[24];
    const double rate = (double)(done - w->from) / (cli_now_s() - w->started_s + 1e-3);
    cli_duration(left, (double)(n_all > done ? n_all - done : 0) / rate);
    snprintf(remark, sizeof remark, "MB  %.1f MB/s  %s left", 1e-6 * rate, left);
  }
  snprintf(what, sizeof what, "%s", file);
  if (n_all) cli_progress_draw(&w->line, what, done / mb, (n_all + mb - 1) / mb, remark, false);
  return true;
}

static int run_model_get(const cli_call *call) {
  cq_hub_options *o = call->library;
  cli_hub_watch watch = {.line = cli_progress_start()};
  cq_error error = {0};
  char *directory;
  o->type = CQ_HUB_MODEL;
  o->progress = cli_hub_progress, o->progress_context = &watch;
  const cq_status status = cq_hub_get(&directory, call->arguments[0], o, &error);
  cli_progress_clear(&watch.line);
  if (status) return cli_fail_error(&error);
  printf("%s\n", directory);
  cq_free(directory);
  return CLI_OK;
}

static const char *const taken[] = {"type", NULL};

const cli_command cli_model_get = {
    .name = "get",
    .summary = "fetch a model from the Hugging Face hub",
    CLI_ARGUMENTS("NAME[@REVISION]", 1, 1),
    .description =
        "Fetches a model into the cache that huggingface_hub and sentence-transformers use, and prints its directory. "
        "From then on all commands find it by its name, without a network. Cached files are not fetched again; an "
        "interrupted download resumes. Only what calque reads is fetched: configuration, "
        "tokenizer and one set of weights, as safetensors if available (--file names other files). Every "
        "file is compared with the hub's hash of it.\n\n"
        "A NAME without an organization is one of sentence-transformers'. REVISION is a branch, a tag or a commit. "
        "Models that need an account: set HF_TOKEN, or log in once with 'hf auth login'. Also read are HF_HOME, "
        "HF_HUB_CACHE, HF_ENDPOINT (a mirror), HF_HUB_OFFLINE and https_proxy.",
    .example = "calque model get all-MiniLM-L6-v2\n"
               "calque encode --model all-MiniLM-L6-v2 sentences.txt --output vectors.npy\n"
               "calque model get sentence-transformers/LaBSE@main --file \"*.json\"",
    CLI_GROUP(&cq_group_hub, .left_out = taken),
    .run = run_model_get,
};
