/* calque data get: parallel text from the Hugging Face hub. cq_dataset_get does the work and defines the options. */
#include "calque/dataset.h"
#include "cli/data/data_command.h"
#include "cli/model/hub_command.h"

static int run_get(const cli_call *call) {
  cq_dataset_options *o = call->library;
  cli_data_run run = cli_data_start("rows read", "written");
  cli_hub_watch watch = {.line = run.progress};
  CLI_DATA_WATCH(o, &run);
  o->hub_progress = cli_hub_progress, o->hub_progress_context = &watch;
  const int code = cli_check_options(call);
  return code ? code : cli_data_report(&run, cq_dataset_get(&run.counts, call->arguments[0], o, &run.error));
}

const cli_command cli_data_get = {
    .name = "get",
    .summary = "fetch parallel text from the Hugging Face hub",
    CLI_ARGUMENTS("NAME[@REVISION]", 1, 1),
    .description =
        "Fetches the Parquet files of a data set into huggingface_hub's cache, and writes two of their "
        "columns, or those of --columns, as data convert does. Only the files of the config and the split are "
        "fetched, by directory and name: de-en/train-00000-of-00001.parquet. For data sets in other formats, the "
        "hub's conversion is used (refs/convert/parquet). If the request is ambiguous, the error lists configs or "
        "columns. For HF_TOKEN and other variables see calque model get.",
    .example = "calque data get Helsinki-NLP/opus-100 --config de-en -o de-en.tsv.gz\n"
               "calque data get sentence-transformers/stsb --split validation -o dev.tsv",
    CLI_GROUP(&cq_group_dataset),
    .run = run_get,
};
