/* calque model quantize: stores a model's weights in fewer bits. cq_quantize does the work and defines the options. */
#include "calque/quantize.h"
#include "cli/frame/command.h"
#include "cli/frame/report.h"

struct args {
  size_t size;
  int threads;
  const char *output;
};

static const cq_option options[] = {
    {CQ_TEXT(struct args, "output", output, CHANGES, "DIRECTORY", "write the quantized model here"), .letter = 'o',
     .flags = CQ_OPTION_REQUIRED},
    CLI_THREADS(struct args, threads),
};

static void print_measure(void *has_header, const char *measure, const char *file, double before, double after,
                          double loss) {
  bool *header = has_header;
  if (!*header) printf("%-12s %9s %9s %9s  %s\n", "measure", "before", "after", "loss", "file");
  *header = true;
  printf("%-12s %9.3f %9.3f %9.3f  %s\n", measure, before, after, loss, file);
}

static int run_model_quantize(const cli_call *call) {
  const struct args *args = call->options;
  cq_quantize_options *o = call->library;
  cq_error error = {0};
  cq_context *ctx = NULL;
  bool has_header = false;
  int code = cli_check_options(call);
  if (code || (code = cli_open_context(&ctx, args->threads))) return code;
  o->measured = print_measure, o->measured_context = &has_header;
  const cq_status status = cq_quantize(args->output, call->arguments[0], NULL, o, ctx, &error);
  cq_context_free(ctx);
  if (status) return cli_fail_error(&error);
  cli_note("wrote %s", args->output);
  return CLI_OK;
}

const cli_command cli_model_quantize = {
    .name = "quantize",
    .summary = "store a model in bf16, f16 or int8, and report what that loses",
    CLI_ARGUMENTS("MODEL", 1, 1),
    .description = "Writes a model with its weights in fewer bits: half the size in bf16 and f16, which "
                   "sentence-transformers also reads, a quarter in int8, which calque also computes in. Given text, "
                   "pairs or scored pairs, it reports cosines, translation accuracy and STS of both models, in points "
                   "of 100, and with --max-loss writes nothing when too much is lost.",
    .example = "calque model quantize multilingual --sts stsb-en-dev.tsv.gz --max-loss 0.2 -o multilingual-int8",
    CLI_GROUP(&cq_group_quantize),
    CLI_OPTIONS(struct args, options),
    .run = run_model_quantize,
};
