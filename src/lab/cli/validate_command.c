/* calque clir validate: build and run for each fold of the topics, with settings chosen on the other folds. */
#include "cli/frame/report.h"
#include "lab/cli/clir_command.h"

#include <stdlib.h>
#include <string.h>

static const char *const taken[] = {"method", "model", "k1", "b", "exhaustive", "kappa", "tau", "window", NULL};

static const cq_option validate_options[] = {
    CLI_CLIR_BETWEEN_OPTIONS,
    CLI_CLIR_METHOD_OPTION(" and feedback"),
    CLI_RUN_TAG(cli_clir_args, tag),
    CLI_THREADS(cli_clir_args, threads),
};
static const cq_option_part groups[] = {
    {.group = &cq_group_clir_validation, .offset = CLI_LIBRARY},
    {.group = &cq_group_clir_sources, .offset = offsetof(cli_clir_args, sources)},
    {.group = &cq_group_clir, .offset = offsetof(cli_clir_args, clir), .left_out = taken},
    {0}};

static void note_fold(int number, const cq_clir_fold *f, bool cognates) {
  char chosen[128];
  if (cognates)
    snprintf(chosen, sizeof chosen, "shares %g, %g, %g; contrast %.0f (%.0f by chance)", f->query_share,
             f->similar_share, f->first_share, f->contrast, f->chance);
  else
    snprintf(chosen, sizeof chosen, "kappa %d, window %d, tau %d", f->kappa, f->window, f->tau);
  if (f->map_chosen > 0) snprintf(chosen + strlen(chosen), 32, ", validated %.4f", f->map_chosen);
  cli_note("fold %d: %s; MAP %.4f; %.2f s before, %.3f s retrieval", number, chosen, f->map_tested, f->seconds_before,
           f->seconds_retrieval);
}

static int run_clir_validate(const cli_call *call) {
  const cli_clir_args *args = call->options;
  const bool by_letters = args->method == CLI_CLIR_COGNATES;
  const cq_clir_validation *how = call->library;
  const int n_folds = how->folds->n;
  cq_clir_options *o = args->clir;
  const size_t k = o->ranking->k;
  cq_error error = {0};
  cq_context *ctx = NULL;
  cq_clir *clir = NULL;
  cq_lexical_hit *hits = NULL;
  cq_clir_fold *folds = calloc((size_t)n_folds, sizeof *folds);
  int code = folds ? cli_clir_check_tag(args->tag) : cli_fail("out of memory");
  if (code == CLI_OK && by_letters) code = cli_clir_check_no_vectors(call);
  if (!by_letters) o->method = (cq_clir_method)args->method;
  if (code == CLI_OK) code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK) code = cli_clir_open(&clir, args, ctx);
  if (code == CLI_OK) {
    const cq_status status =
        by_letters ? cq_clir_validate_cognates(&hits, folds, clir, args->from, args->to, how, NULL, k, ctx, &error)
                   : cq_clir_validate(&hits, folds, clir, args->from, args->to, how, o, ctx, &error);
    if (status) code = cli_fail_error(&error);
  }
  if (code == CLI_OK) {
    int n_unlearned = 0;
    for (int f = 0; f < n_folds; f++) {
      note_fold(f + 1, &folds[f], by_letters);
      n_unlearned += by_letters && !folds[f].is_learned;
    }
    if (n_unlearned)
      cli_note("in %d of %d folds letters are matched hardly better than by chance: there words match by how they are "
               "spelled in Latin letters",
               n_unlearned, n_folds);
    cli_note("MAP %.4f over all topics", cq_clir_map(clir, args->to, hits, k, NULL));
    if (cq_clir_write_run(NULL, clir, hits, k, args->tag, &error)) code = cli_fail_error(&error);
  }
  cq_free(hits);
  free(folds);
  cq_clir_free(clir);
  cq_context_free(ctx);
  return code;
}

const cli_command cli_clir_validate = {
    .name = "validate",
    .summary = "cross-validate over topics, choosing kappa, window and tau on the training folds",
    .arguments = NULL,
    .min_arguments = 0,
    .max_arguments = 0,
    .description = "Cross-validation: for each fold, chooses settings on another fold, trains on all topics but the "
                   "fold's, and searches for the fold's topics. Prints one TREC run of all topics; the settings go to "
                   "standard error.",
    .example = "calque clir validate --from en --to hi --group 4" CLI_CLIR_EXAMPLE " >run.txt",
    .groups = groups,
    CLI_OPTIONS(cli_clir_args, validate_options),
    .run = run_clir_validate,
};
