/* calque cluster: groups of sentences with similar meaning. */
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <inttypes.h>

static const char *const as_arguments[] = {"file", NULL};

/* With ids, one line for each of the sentence's lines in the file; otherwise one line. */
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

static int run_cluster(const cli_call *call) {
  const cli_threads_args *args = call->options;
  cq_error error = {0};
  cq_context *ctx = NULL;
  cq_clustering *c = NULL;
  cli_progress line = cli_progress_start();
  cq_cluster_options *o = call->library;
  o->file = call->arguments[0];
  o->notice = cli_notice, o->progress = cli_progress_watch, o->progress_context = &line;
  int code = cli_check_options(call);
  if (code == CLI_OK) code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK) {
    code = cq_cluster(&c, o, ctx, &error) ? CLI_FAILED : CLI_OK;
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
    .summary = "group similar sentences of a file (community detection)",
    CLI_ARGUMENTS("FILE", 1, 1),
    .description =
        "Community detection, as in sentence-transformers: a cluster is a central sentence and all sentences near it "
        "that are in no larger cluster. Prints lines of cluster, cosine to the center and sentence; the largest "
        "cluster comes first, and each begins with its center. A file holds one sentence per line, or an id, a tab and "
        "a sentence (then ids are printed, too); plain or compressed. Without --model it holds vectors, and row "
        "numbers are printed. Duplicate sentences count once.",
    .example = "calque cluster --model multilingual reviews.txt.gz --threshold 0.8 --min-size 5",
    CLI_GROUP(&cq_group_cluster, .left_out = as_arguments),
    CLI_THREADS_ONLY,
    .run = run_cluster,
};
