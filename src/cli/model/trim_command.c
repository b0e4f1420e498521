/* calque model trim: reduces a model to one text. cq_trim does the work and defines the options. */
#include "calque/trim.h"
#include "cli/frame/command.h"
#include "cli/frame/report.h"

struct args {
  size_t size;
  const char *output;
  bool json;
};

static const cq_option options[] = {
    {CQ_TEXT(struct args, "output", output, CHANGES, "DIRECTORY", "write the trimmed model here"), .letter = 'o',
     .flags = CQ_OPTION_REQUIRED},
    CLI_JSON(struct args, json),
};

static int run_model_trim(const cli_call *call) {
  const struct args *args = call->options;
  cq_error error = {0};
  cq_trim_result r;
  const int code = cli_check_options(call);
  if (code) return code;
  if (cq_trim(args->output, call->arguments[0], &r, call->library, NULL, &error)) return cli_fail_error(&error);
  if (args->json)
    printf("{\"n_sentences\": %llu, \"rows_before\": %lld, \"rows_after\": %lld, \"bytes_before\": %lld, "
           "\"bytes_after\": %lld}\n",
           (unsigned long long)r.n_sentences, (long long)r.rows_before, (long long)r.rows_after,
           (long long)r.bytes_before, (long long)r.bytes_after);
  else
    printf("%-8s %12s %12s %8s\n%-8s %12lld %12lld %7.1f%%\n%-8s %12.1f %12.1f %7.1f%%\n", "", "before", "after",
           "kept", "pieces", (long long)r.rows_before, (long long)r.rows_after,
           100.0 * (double)r.rows_after / (double)r.rows_before, "MB", 1e-6 * (double)r.bytes_before,
           1e-6 * (double)r.bytes_after, 100.0 * (double)r.bytes_after / (double)r.bytes_before);
  cli_note("wrote %s", args->output);
  return CLI_OK;
}

const cli_command cli_model_trim = {
    .name = "trim",
    .summary = "drop the vocabulary that a text never uses, or dimensions",
    CLI_ARGUMENTS("MODEL", 1, 1),
    .description = "Writes a model without the pieces of its vocabulary, and their embeddings, that the text never "
                   "uses. Multilingual models are mostly vocabulary, so a model for one or two languages has a "
                   "fraction of the size. The vectors of the text are the same to the last bit; other text is split "
                   "into shorter pieces if it needs removed ones. So pass as much text of the intended use as you "
                   "have. A static model's vectors can be reduced to fewer dimensions as well.",
    .example = "calque model trim multilingual --text de.txt --text en.txt -o german-english\n"
               "calque model trim static --text corpus.txt --dimensions 128 -o small",
    CLI_GROUP(&cq_group_trim),
    CLI_OPTIONS(struct args, options),
    .run = run_model_trim,
};
