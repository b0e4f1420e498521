/* Retrieval: the documents nearest to each query, against judgements. */
#include "calque/retrieval.h"
#include "calque/lines.h"
#include "cli/mteb/mteb.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH = 1000 };
static const int cutoffs[] = {1, 3, 5, 10, 20, 100, DEPTH};
enum { N_CUTOFFS = sizeof cutoffs / sizeof *cutoffs };
static const struct {
  const char *ours, *theirs; /* before the cutoff */
} ranked[] = {{"ndcg_cut_", "ndcg_at_"}, {"recall_", "recall_at_"}, {"P_", "precision_at_"}};
enum { N_RANKED = sizeof ranked / sizeof *ranked, MAP = N_RANKED * N_CUTOFFS, RECIP_RANK, N_MEASURES };

static int put_ranked(json_t *scores, const cq_retrieval_eval *r) {
  char key[48];
  const size_t n_topics = cq_retrieval_eval_n_topics(r);
  int failed = 0;
  for (size_t m = 0; m < MAP; m++) {
    const double value = cq_retrieval_eval_overall(r, m);
    snprintf(key, sizeof key, "%s%d", ranked[m / N_CUTOFFS].theirs, cutoffs[m % N_CUTOFFS]);
    failed |= mteb_put_figure(scores, key, value);
    if (strcmp(key, "ndcg_at_10") == 0) failed |= mteb_put_figure(scores, "main_score", value);
  }
  failed |= mteb_put_figure(scores, "map_at_1000", cq_retrieval_eval_overall(r, MAP));
  for (size_t i = 0; i < N_CUTOFFS; i++) {
    double sum = 0;
    for (size_t t = 0; t < n_topics; t++) {
      const double value = cq_retrieval_eval_value(r, t, RECIP_RANK);
      if (value > 0 && 1 / value < cutoffs[i] + 0.5) sum += value;
    }
    snprintf(key, sizeof key, "mrr_at_%d", cutoffs[i]);
    failed |= mteb_put_figure(scores, key, sum / (double)n_topics);
  }
  return failed ? cli_fail("out of memory") : CLI_OK;
}

/* Queries and documents have prompts, modules or weights of their own where the model has some. */
static int open_task(cq_encoder **out, const mteb_bench *b, const char *task) {
  cq_encoder_options options = *b->args->encoder;
  if (!options.task) options.task = task;
  return cli_open_model(out, b->args->model, &options);
}

/* Before hours of encoding: that the judgements are there. */
static cq_status check_judgements(const char *file, cq_error *error) {
  cq_lines *lines;
  const cq_status status = cq_lines_open(&lines, file, error);
  if (!status) cq_lines_close(lines);
  return status;
}

int mteb_retrieval(json_t *scores, const mteb_bench *b, const char *file) {
  cq_encoder *of_documents = NULL, *of_queries = NULL;
  char names[N_MEASURES][24], *path;
  const char *measures[N_MEASURES];
  cq_retrieval_eval_options options = cq_retrieval_eval_default_options();
  cq_retrieval_eval *r = NULL;
  cq_error error = {0};
  for (size_t m = 0; m < N_MEASURES; m++) {
    measures[m] = m == MAP ? "map" : m == RECIP_RANK ? "recip_rank" : names[m];
    if (m < MAP) snprintf(names[m], sizeof names[m], "%s%d", ranked[m / N_CUTOFFS].ours, cutoffs[m % N_CUTOFFS]);
  }
  options.measures = measures, options.n_measures = N_MEASURES;
  if (!(path = mteb_path(b->directory, "/", b->args->name, ".run"))) return cli_fail("out of memory");
  int code = check_judgements(file, &error) ? cli_fail_error(&error) : CLI_OK;
  if (code == CLI_OK) code = open_task(&of_documents, b, "document");
  if (code == CLI_OK) code = open_task(&of_queries, b, "query");
  if (code == CLI_OK) {
    cq_status status = cq_dense_run_asymmetric(path, of_documents, of_queries, b->args->documents, b->args->topics,
                                               DEPTH, "calque", b->ctx, &error);
    if (!status) status = cq_eval_retrieval(&r, file, path, &options, &error);
    code = status ? cli_fail_error(&error) : put_ranked(scores, r);
    if (code != CLI_OK) remove(path);
  }
  cq_encoder_free(of_documents), cq_encoder_free(of_queries);
  cq_retrieval_eval_free(r);
  free(path);
  return code;
}
