/* calque data filter: drops rows that cannot be translations. */
#include "base/error.h"
#include "base/memory.h"
#include "cli/data/data_command.h"

struct args {
  size_t size;
  const char *model;
  int threads;
};

static const cq_option options[] = {
    {.name = "model",
     .letter = 'm',
     .type = CQ_OPTION_TEXT,
     .argument = "MODEL",
     .offset = offsetof(struct args, model),
     .otherwise = "none",
     .help = "the model for --min-cosine: a directory, a name in the local Hugging Face cache, or "
             "small or base, which calque ships"},
    CLI_THREADS(struct args, threads),
};

typedef struct comparison {
  cq_encoder *encoder;
  cq_context *ctx;
} comparison;

static cq_status compute_cosines(void *context, double *out, const cq_slice *sides, size_t n, cq_error *error) {
  const comparison *c = context;
  const size_t dim = (size_t)cq_encoder_dim(c->encoder);
  float *vectors = cq_alloc_array(2 * n * dim, sizeof *vectors);
  if (!vectors) return cq_fail_memory(error, "vectors");
  const cq_status status = cq_encoder_encode(vectors, NULL, c->encoder, sides, 2 * n, NULL, c->ctx, error);
  for (size_t i = 0; !status && i < n; i++) out[i] = cq_cosine(vectors + 2 * i * dim, vectors + (2 * i + 1) * dim, dim);
  cq_free(vectors);
  return status;
}

static int run_filter(const cli_call *call) {
  const struct args *args = call->options;
  cq_corpus_filter_options *o = call->library;
  comparison c = {NULL, NULL};
  cli_data_run run = cli_data_start("rows read", "written");
  CLI_DATA_INPUTS(o, call);
  CLI_DATA_WATCH(o, &run);
  if (args->model) o->cosines = compute_cosines, o->cosines_context = &c;
  int code = cli_check_options(call);
  if (code == CLI_OK && o->cosines) code = cli_open_model(&c.encoder, args->model, NULL);
  if (code == CLI_OK && o->cosines) code = cli_open_context(&c.ctx, args->threads);
  if (code == CLI_OK) code = cli_data_report(&run, cq_corpus_filter(&run.counts, o, &run.error));
  cq_context_free(c.ctx);
  cq_encoder_free(c.encoder);
  return code;
}

const cli_command cli_data_filter = {
    .name = "filter",
    .summary = "drop rows that cannot be translations: by length, script, language, numbers, cosine, identical sides",
    CLI_ARGUMENTS("[FILE...]", 0, -1),
    .description = "Drops rows that are unlikely to be translations. Files are read one after the other; without "
                   "files, standard input is read. A file's ending chooses its format, as in data convert. A side's "
                   "script is that of most of its letters; a side without letters passes. --other-language identifies "
                   "languages, as calque data language does.",
    .example = "calque data filter --languages en,ru en-ru.tsv.gz -o clean.tsv.gz\n"
               "calque data filter memory.tmx --drop numbers --rejected dropped.tmx -o clean.tmx",
    CLI_GROUP(&cq_group_corpus_filter, .left_out = cli_data_inputs_taken),
    CLI_OPTIONS(struct args, options),
    .run = run_filter,
};
