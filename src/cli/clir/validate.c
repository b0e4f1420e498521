/* calque clir validate: clir.c's build and run for each fold of the topics, with what is best chosen on the others. */
#include "cli/clir/clir.h"
#include "cli/frame/report.h"

#include <stdlib.h>
#include <string.h>

static const cq_option validate_options[] = {
    CLI_CLIR_BETWEEN_OPTIONS,
    CLI_CLIR_SOURCE_OPTIONS,
    {.name = "kappa",
     .type = CQ_OPTION_TEXTS,
     .count_offset = offsetof(cli_clir_args, kappas.n),
     .argument = "N",
     .offset = offsetof(cli_clir_args, kappas),
     .help = "pseudo-relevant documents to choose among; may be given again. Else 5, 10, 20"},
    {.name = "window",
     .letter = 'w',
     .type = CQ_OPTION_TEXTS,
     .count_offset = offsetof(cli_clir_args, windows.n),
     .argument = "N",
     .offset = offsetof(cli_clir_args, windows),
     .help = "windows to choose among. Else 10, 25, 50"},
    {.name = "tau",
     .type = CQ_OPTION_TEXTS,
     .count_offset = offsetof(cli_clir_args, taus.n),
     .argument = "N",
     .offset = offsetof(cli_clir_args, taus),
     .help = "words for each word to choose among. Else 5, 10, 15"},
    CLI_CLIR_FOLD_OPTIONS,
    CLI_CLIR_TRAIN_OPTIONS,
    CLI_CLIR_METHOD_OPTION(", and feedback"),
    CLI_CLIR_SEARCH_OPTIONS,
    CLI_CLIR_WEIGHT_OPTIONS,
    {.name = "share",
     .type = CQ_OPTION_NUMBER,
     .argument = "X",
     .offset = offsetof(cli_clir_args, share),
     .max = 1,
     .otherwise = "all",
     .help = "learn from this share of the training groups only, in quarters: for learning curves"},
    CLI_RUN_TAG(cli_clir_args, tag),
    CLI_THREADS(cli_clir_args, threads),
};

enum { MOST_CHOICES = 64 };

static int read_list(int out[MOST_CHOICES], size_t *n, const cli_list *list, const int *usual, size_t n_usual,
                     const char *name) {
  *n = list->n ? list->n : n_usual;
  if (*n > MOST_CHOICES) return cli_fail("--%s: at most %d to choose among", name, MOST_CHOICES);
  for (size_t i = 0; i < *n; i++) {
    uint64_t value = 0;
    if (!list->n) {
      out[i] = usual[i];
      continue;
    }
    if (!cli_parse_count(&value, list->items[i]) || value > 10000)
      return cli_fail("--%s is '%s', expected a whole number up to 10000", name, list->items[i]);
    out[i] = (int)value;
  }
  return CLI_OK;
}

static void note_fold(int number, const cq_clir_fold *f, bool cognates) {
  char chosen[128];
  if (cognates)
    snprintf(chosen, sizeof chosen, "shares %g, %g, %g; contrast %.0f", f->query_share, f->similar_share,
             f->first_share, f->contrast);
  else
    snprintf(chosen, sizeof chosen, "kappa %d, window %d, tau %d", f->kappa, f->window, f->tau);
  if (f->map_chosen > 0) snprintf(chosen + strlen(chosen), 32, ", validated %.4f", f->map_chosen);
  cli_note("fold %d: %s; MAP %.4f; %.2f s before, %.3f s retrieval", number, chosen, f->map_tested, f->seconds_before,
           f->seconds_retrieval);
}

static int run_validate(const cli_call *call) {
  const cli_clir_args *args = call->options;
  static const int kappas[] = {5, 10, 20}, windows[] = {10, 25, 50}, taus[] = {5, 10, 15};
  const cq_clir_options o = cli_clir_options_of(args);
  int lists[3][MOST_CHOICES];
  cq_clir_grid grid = {lists[0], lists[1], lists[2], 0, 0, 0};
  cq_error error = {0};
  cq_context *ctx = NULL;
  cli_collections c = {0};
  cq_lexical_hit *hits = NULL;
  cq_clir_fold *folds = calloc((size_t)args->n_folds, sizeof *folds);
  int code = folds ? cli_clir_check_tag(args->tag) : cli_fail("out of memory");
  if (code == CLI_OK && args->method == CLI_CLIR_COGNATES) code = cli_clir_check_no_vectors(call);
  if (code == CLI_OK) code = read_list(lists[0], &grid.n_kappas, &args->kappas, kappas, 3, "kappa");
  if (code == CLI_OK) code = read_list(lists[1], &grid.n_windows, &args->windows, windows, 3, "window");
  if (code == CLI_OK) code = read_list(lists[2], &grid.n_taus, &args->taus, taus, 3, "tau");
  if (code == CLI_OK) code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK) code = cli_collections_open(&c, &args->sources, ctx);
  if (code == CLI_OK) {
    const cq_clir_folds how = cli_clir_folds_of(args);
    const cq_status status =
        args->method == CLI_CLIR_COGNATES
            ? cq_clir_validate_cognates(&hits, folds, c.clir, args->from, args->to, &how, NULL, o.ranking.k, ctx,
                                        &error)
            : cq_clir_validate(&hits, folds, c.clir, args->from, args->to, &how, &grid, &o, ctx, &error);
    if (status) code = cli_fail_error(&error);
  }
  if (code == CLI_OK) {
    for (int f = 0; f < args->n_folds; f++) note_fold(f + 1, &folds[f], args->method == CLI_CLIR_COGNATES);
    cli_note("MAP %.4f over all topics", cq_clir_map(c.clir, args->to, hits, o.ranking.k, NULL));
    if (cq_clir_write_run(NULL, c.clir, hits, o.ranking.k, args->tag, &error)) code = cli_fail_error(&error);
  }
  cq_free(hits);
  free(folds);
  cli_collections_close(&c);
  cq_context_free(ctx);
  return code;
}

const cli_command cli_clir_validate = {
    .name = "validate",
    .summary = "cross-validate over topics, choosing kappa, window and tau on the training folds",
    .arguments = NULL,
    .min_arguments = 0,
    .max_arguments = 0,
    .description =
        "For each fold the best choice is found by validation on another one, then vectors are learned from all topics "
        "but the fold's, and these are searched for. Prints the run of all topics; what was chosen goes to standard "
        "error.",
    .example = "calque clir validate --from en --to hi --group 4" CLI_CLIR_EXAMPLE " >run.txt",
    CLI_OPTIONS(cli_clir_args, validate_options),
    .defaults = cli_clir_defaults,
    .run = run_validate,
};
