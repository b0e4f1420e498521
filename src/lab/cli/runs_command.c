/* calque clir dense | fuse: dense runs for comparison with those of clir_command.c, and the fusion of runs. */
#include "calque/lab/retrieval.h"
#include "cli/frame/report.h"
#include "lab/cli/clir_command.h"

struct dense_args {
  size_t size;
  const char *model, *tag, *rerank;
  int top, threads, precision, rerank_depth;
};

static const cq_option dense_options[] = {
    CLI_MODEL(struct dense_args, model),
    CLI_RERANK(struct dense_args, rerank),
    {CQ_INT(struct dense_args, "rerank-depth", rerank_depth, CHANGES, 50, 1, 10000, "N",
            "documents of each topic for --rerank to order; the others follow")},
    CLI_PRECISION(struct dense_args, precision),
    CLI_RUN_TOP(struct dense_args, top, "topic"),
    CLI_RUN_TAG(struct dense_args, tag),
    CLI_THREADS(struct dense_args, threads),
};

static int run_clir_dense(const cli_call *call) {
  const struct dense_args *args = call->options;
  cq_error error = {0};
  cq_encoder *encoder = NULL;
  cq_reranker *reranker = NULL;
  cq_context *ctx = NULL;
  cq_encode_stats reranked = {0};
  cq_encoder_options opening = cq_encoder_default_options();
  opening.precision = (cq_precision)args->precision, opening.notice = cli_notice;
  int code = cli_open_model(&encoder, args->model, &opening);
  if (code == CLI_OK) code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK && args->rerank && cq_reranker_open(&reranker, args->rerank, &opening, &error))
    code = cli_fail_error(&error);
  const cq_dense_models models = {encoder, reranker, (size_t)args->rerank_depth, &reranked};
  if (code == CLI_OK &&
      cq_dense_run(NULL, &models, call->arguments[0], call->arguments[1], (size_t)args->top, args->tag, ctx, &error))
    code = cli_fail_error(&error);
  if (code == CLI_OK) cli_note_reranked(&reranked, reranker);
  cq_reranker_free(reranker);
  cq_encoder_free(encoder);
  cq_context_free(ctx);
  return code;
}

const cli_command cli_clir_dense = {
    .name = "dense",
    .summary = "rank documents by a multilingual model's vectors, as a TREC run",
    CLI_ARGUMENTS("DOCS TOPICS", 2, 2),
    .description =
        "Dense retrieval with a bi-encoder, for example a distilled student: ranks the documents of a test "
        "collection by cosine. With --rerank, a reranker reads each topic with its first documents and orders "
        "them. Compare the run with lexical ones by 'calque eval retrieval', or fuse them.",
    .example = "calque clir dense --model multilingual docs.hi.trec topics.en.xml >dense.txt",
    CLI_OPTIONS(struct dense_args, dense_options),
    .run = run_clir_dense,
};

struct fuse_args {
  size_t size;
  const char *tag;
  double k;
  int top;
};

static const cq_option fuse_options[] = {
    {CQ_NUMBER(struct fuse_args, "rank-constant", k, CHANGES, 60, 0, 0, "X",
               "added to ranks; a larger constant gives top ranks less weight")},
    CLI_RUN_TOP(struct fuse_args, top, "topic"),
    CLI_RUN_TAG(struct fuse_args, tag),
};

static int run_clir_fuse(const cli_call *call) {
  const struct fuse_args *args = call->options;
  cq_error error = {0};
  if (cq_fuse_runs(NULL, call->arguments, call->n_arguments, args->k, (size_t)args->top, args->tag, &error))
    return cli_fail_error(&error);
  return CLI_OK;
}

const cli_command cli_clir_fuse = {
    .name = "fuse",
    .summary = "fuse several runs into one (reciprocal rank fusion)",
    CLI_ARGUMENTS("RUN RUN...", 2, -1),
    .description = "Reciprocal rank fusion, for example of a lexical and a dense run (hybrid search): a document's "
                   "score is the sum of 1 / (rank constant + its rank) over the runs that have it.",
    .example = "calque clir fuse lexical.txt dense.txt >fused.txt",
    CLI_OPTIONS(struct fuse_args, fuse_options),
    .run = run_clir_fuse,
};
