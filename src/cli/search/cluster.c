/* calque cluster: sentences of a file that mean about the same, put together. */
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <inttypes.h>

struct args {
  size_t size;
  const char *model, *cache;
  double threshold;
  int threads, min_size, dim, first_pass;
  bool skip_bad;
};

static void defaults(void *options) {
  const cq_cluster_options o = cq_cluster_default_options();
  *(struct args *)options =
      (struct args){.threshold = o.threshold, .min_size = (int)o.min_size, .first_pass = (int)o.first_pass};
}

#define AT(field) .offset = offsetof(struct args, field)
static const cq_option options[] = {
    CLI_MODEL_OR_VECTORS(struct args, model, "FILE holds vectors"),
    {.name = "threshold",
     .type = CQ_OPTION_NUMBER,
     .argument = "X",
     AT(threshold),
     .min = -1,
     .max = 1,
     .help = "the least cosine of a sentence and its cluster's centre"},
    {.name = "min-size",
     .type = CQ_OPTION_INT,
     .argument = "N",
     AT(min_size),
     .min = 1,
     .max = 1000000000,
     .help = "leave out smaller clusters"},
    CLI_FIRST_PASS(struct args, first_pass,
                   "numbers in which near sentences are first looked for; the clusters are the same"),
    CLI_RAW_DIM(struct args, dim, "numbers in a row, for a file of f32 alone (LASER's)"),
    CLI_VECTOR_CACHE(struct args, cache, "where vectors are kept for the next run"),
    CLI_SKIP_BAD(struct args, skip_bad),
    CLI_THREADS(struct args, threads),
};
#undef AT

/* A line for each line of the file that the sentence stands in, if those have ids; else one. */
static void print_member(const cq_clustering *c, size_t cluster, const cq_member *m) {
  const cq_slice text = cq_clustering_sentence(c, m->row);
  const bool ids = cq_clustering_id(c, m->row, 0).data;
  for (size_t i = 0; i < (ids ? cq_clustering_n_lines(c, m->row) : 1); i++) {
    printf("%zu\t%.4f\t", cluster + 1, m->cosine);
    const cq_slice id = cq_clustering_id(c, m->row, i);
    if (ids) cli_field(stdout, id), putchar('\t');
    if (text.data)
      cli_field(stdout, text), putchar('\n');
    else
      printf("%" PRIu32 "\n", m->row + 1);
  }
}

static int run(const cli_call *call) {
  const struct args *args = call->options;
  cq_error error = {0};
  cq_context *ctx = NULL;
  cq_clustering *c = NULL;
  cli_progress line = cli_progress_start();
  cq_cluster_options o = cq_cluster_default_options();
  if (args->model && args->dim) return cli_usage(call->path, "--dim is for files of vectors, without --model");
  o.file = call->arguments[0], o.model = args->model, o.cache_directory = args->cache;
  o.raw_dim = (size_t)args->dim, o.skip_bad = args->skip_bad;
  o.threshold = args->threshold, o.min_size = (size_t)args->min_size;
  o.first_pass = (cq_first_pass)args->first_pass;
  o.notice = cli_notice, o.progress = cli_progress_watch, o.progress_context = &line;
  int code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK) {
    code = cq_cluster(&c, &o, ctx, &error) ? CLI_FAILED : CLI_OK;
    cli_progress_clear(&line);
    if (code) cli_fail_error(&error);
  }
  size_t n, n_members = 0;
  for (size_t i = 0; code == CLI_OK && i < cq_clustering_n(c); i++) {
    const cq_member *members = cq_clustering_members(&n, c, i);
    for (size_t j = 0; j < n; j++) print_member(c, i, &members[j]);
    n_members += n;
  }
  if (code == CLI_OK) cli_note("%zu clusters of %zu sentences", cq_clustering_n(c), n_members);
  cq_clustering_free(c);
  cq_context_free(ctx);
  return code;
}

const cli_command cli_cluster = {
    .name = "cluster",
    .summary = "put sentences of a file together that mean about the same",
    .arguments = "FILE",
    .min_arguments = 1,
    .max_arguments = 1,
    .description =
        "A cluster is a sentence, its centre, and all sentences near it that are in no larger cluster. Prints lines of "
        "cluster, cosine to the centre and sentence, the largest cluster first and its centre at its head. A file "
        "holds a "
        "sentence a line, or an id, a tab and a sentence (then ids are printed, too); plain or gzipped. Without "
        "--model it "
        "holds vectors, and row numbers are printed. A sentence that stands several times counts once.",
    .example = "calque cluster --model multilingual reviews.txt.gz --threshold 0.8 --min-size 5",
    CLI_OPTIONS(struct args, options),
    .defaults = defaults,
    .run = run,
};
