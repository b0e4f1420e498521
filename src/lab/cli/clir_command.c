/* calque clir build | expand | run: queries in one language, documents in another, without parallel data.
 * clir_command.h lists the files of its other commands. */
#include "lab/cli/clir_command.h"
#include "cli/frame/report.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int check_fold(const cli_clir_args *args) {
  return args->fold > args->folds->n ? cli_fail("there are %d folds", args->folds->n) : CLI_OK;
}

/* The topics of --hold-out; none: NULL. */
static int find_fold(bool **out, const cli_clir_args *args, const cq_clir *clir) {
  cq_error error = {0};
  *out = NULL;
  return args->fold && cq_clir_fold_topics(out, clir, args->folds, args->fold - 1, &error) ? cli_fail_error(&error)
                                                                                           : CLI_OK;
}

#define COLLECTION(taken)                                                                                              \
  { .group = &cq_group_clir, .offset = CLI_LIBRARY, .left_out = (taken) }
#define SOURCES                                                                                                        \
  { .group = &cq_group_clir_sources, .offset = offsetof(cli_clir_args, sources) }
#define FOLDS                                                                                                          \
  { .group = &cq_group_clir_folds, .offset = offsetof(cli_clir_args, folds) }

/* --- build --- */

static const char *const not_of_build[] = {"method", "tau",        "weighted", "idf", "feedback",
                                           "csls",   "keep-words", "lexical",  NULL};

static const cq_option build_options[] = {
    CLI_CLIR_HOLD_OUT_OPTION("learn only from the --from queries of this fold's topics, from 1", "none"),
    {CQ_TEXT(cli_clir_args, "from", from, CHANGES, "CODE", "the language of the held-out queries"),
     .otherwise = "the first"},
    {CQ_INT(cli_clir_args, "threads", threads, CHANGES, 1, 1, 1024, "N",
            "with 1, the result depends on the seed alone; several threads update the same vectors without locks "
            "(Hogwild)"),
     .letter = 't'},
};

static int run_clir_build(const cli_call *call) {
  const cli_clir_args *args = call->options;
  cq_error error = {0};
  cq_context *ctx = NULL;
  cq_clir *clir = NULL;
  cq_clir_model *model = NULL;
  int code = check_fold(args);
  if (code == CLI_OK) code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK) code = cli_clir_open(&clir, args, ctx);
  bool *held_out = NULL;
  if (code == CLI_OK) code = find_fold(&held_out, args, clir);
  if (code == CLI_OK) {
    if (cq_clir_train(&model, clir, held_out, args->from ? args->from : args->sources->languages[0], call->library, ctx,
                      &error) ||
        cq_clir_save(model, call->arguments[0], &error))
      code = cli_fail_error(&error);
    else
      cli_note("learned from %zu words of text; wrote %s", cq_clir_n_trained(model), call->arguments[0]);
  }
  cq_free(held_out);
  cq_clir_model_free(model);
  cq_clir_free(clir);
  cq_context_free(ctx);
  return code;
}

static const cli_command clir_build = {
    .name = "build",
    .summary = "train cross-lingual word vectors on comparable test collections",
    CLI_ARGUMENTS("VECTORS", 1, 1),
    .description = "For each topic, shuffles the words of relevant documents in all languages into one text, trains "
                   "word vectors on it (skip-gram or CBOW), and writes them in word2vec's text format.",
    .example = "calque clir build vectors.txt" CLI_CLIR_EXAMPLE,
    .groups = (const cq_option_part[]){COLLECTION(not_of_build), SOURCES, FOLDS, {0}},
    CLI_OPTIONS(cli_clir_args, build_options),
    .run = run_clir_build,
};

/* --- expand and run --- */

static const char *const not_of_expand[] = {"words", "mix",      "kappa",    "pseudo-in-all", "all-documents", "method",
                                            "idf",   "feedback", "weighted", "keep-words",    "lexical",       NULL};

static const cq_option expand_options[] = {
    CLI_CLIR_BETWEEN_OPTIONS,
    CLI_CLIR_METHOD_OPTION(", without VECTORS"),
    CLI_JSON(cli_clir_args, json),
    CLI_THREADS(cli_clir_args, threads),
};

static int print_expansion(const cq_clir_model *model, const cq_clir_cognates *cognates, const cli_call *call,
                           const char *query) {
  const cli_clir_args *args = call->options;
  const cq_slice text = {query, strlen(query)};
  cq_error error = {0};
  cq_clir_word *words;
  size_t n;
  if (cognates ? cq_clir_cognates_expand(&words, &n, cognates, text, &error)
               : cq_clir_expand(&words, &n, model, args->from, args->to, text, call->library, &error))
    return cli_fail_error(&error);
  if (n == 0) cli_note("the text has none of the words of '%s'", query);
  for (size_t i = 0; i < n; i++) {
    const cq_clir_word *w = &words[i];
    if (args->json) {
      cli_json_text(stdout, "{\"from\": ", (cq_slice){w->from.data ? w->from.data : "", w->from.n});
      cli_json_text(stdout, ", \"to\": ", w->to);
      printf(", \"cosine\": %.6f, \"score\": %.6f}\n", w->cosine, w->score);
    } else {
      printf("%.*s\t%.4f\t%.*s\n", w->from.n ? (int)w->from.n : 1, w->from.n ? w->from.data : "*", w->cosine,
             (int)w->to.n, w->to.data);
    }
  }
  cq_free(words);
  return CLI_OK;
}

static int run_clir_expand(const cli_call *call) {
  const cli_clir_args *args = call->options;
  const bool by_letters = args->method == CLI_CLIR_COGNATES;
  cq_error error = {0};
  if (!by_letters) ((cq_clir_options *)call->library)->method = (cq_clir_method)args->method;
  cq_context *ctx = NULL;
  cq_clir *clir = NULL;
  cq_clir_model *model = NULL;
  cq_clir_cognates *cognates = NULL;
  if (!by_letters && call->n_arguments < 2)
    return cli_usage(call->path, "no VECTORS or no QUERY; only --method cognates works without vectors");
  int code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK) code = cli_clir_open(&clir, args, ctx);
  if (code == CLI_OK &&
      (by_letters ? cq_clir_learn_cognates(&cognates, clir, NULL, args->from, args->to, NULL, ctx, &error)
                  : cq_clir_load(&model, clir, call->arguments[0], &error)))
    code = cli_fail_error(&error);
  if (cognates) cli_clir_note_letters(cognates);
  for (size_t i = by_letters ? 0 : 1; code == CLI_OK && i < call->n_arguments; i++)
    code = print_expansion(model, cognates, call, call->arguments[i]);
  cq_clir_cognates_free(cognates);
  cq_clir_model_free(model);
  cq_clir_free(clir);
  cq_context_free(ctx);
  return code;
}

static const cli_command clir_expand = {
    .name = "expand",
    .summary = "show how a query is translated to another language",
    CLI_ARGUMENTS("[VECTORS] QUERY...", 1, -1),
    .description = "Prints lines of query word (* for the sum of all), cosine and word of the other language, "
                   "separated by tabs. With --method cognates the figure is the probability that both are the same "
                   "word.",
    .example = "calque clir expand vectors.txt \"rising rents\" --from en --to hi" CLI_CLIR_EXAMPLE,
    .groups = (const cq_option_part[]){COLLECTION(not_of_expand), SOURCES, {0}},
    CLI_OPTIONS(cli_clir_args, expand_options),
    .run = run_clir_expand,
};

static const char *const not_of_run[] = {
    "words", "mix", "kappa", "pseudo-in-all", "all-documents", "method", "model", "k1", "b", "exhaustive", NULL};

static const cq_option run_options[] = {
    CLI_CLIR_BETWEEN_OPTIONS,
    CLI_CLIR_METHOD_OPTION(" and feedback, without VECTORS"),
    CLI_CLIR_HOLD_OUT_OPTION("search for the topics of this fold only, from 1", "all topics"),
    CLI_RUN_TAG(cli_clir_args, tag),
    CLI_THREADS(cli_clir_args, threads),
};

static cq_status search_by_letters(cq_lexical_hit **hits, const cli_clir_args *args, const cq_clir *clir,
                                   const bool *asked, size_t k, cq_context *ctx, cq_error *error) {
  cq_clir_cognates *cognates;
  cq_status status = cq_clir_learn_cognates(&cognates, clir, asked, args->from, args->to, NULL, ctx, error);
  if (!status) cli_clir_note_letters(cognates);
  if (!status) status = cq_clir_search_cognates(hits, cognates, asked, k, ctx, error);
  cq_clir_cognates_free(cognates);
  return status;
}

static int run_clir_run(const cli_call *call) {
  const cli_clir_args *args = call->options;
  cq_clir_options *o = call->library;
  const bool monolingual = !strcasecmp(args->from, args->to);
  const bool by_letters = args->method == CLI_CLIR_COGNATES;
  bool *asked = NULL;
  cq_error error = {0};
  cq_context *ctx = NULL;
  cq_clir *clir = NULL;
  cq_clir_model *model = NULL;
  cq_lexical_hit *hits = NULL;
  if (args->method != CLI_CLIR_COGNATES) o->method = (cq_clir_method)args->method;
  int code = cli_clir_check_tag(args->tag);
  if (code == CLI_OK) code = check_fold(args);
  if (code == CLI_OK && by_letters) code = cli_clir_check_no_vectors(call);
  if (code == CLI_OK && !monolingual && !by_letters && call->n_arguments == 0)
    code = cli_usage(call->path,
                     "no VECTORS: they can only be left out with --method cognates, or from a language to itself");
  if (code == CLI_OK) code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK) code = cli_clir_open(&clir, args, ctx);
  if (code == CLI_OK && call->n_arguments && cq_clir_load(&model, clir, call->arguments[0], &error))
    code = cli_fail_error(&error);
  if (code == CLI_OK) code = find_fold(&asked, args, clir);
  if (code == CLI_OK) {
    const cq_status status = by_letters
                                 ? search_by_letters(&hits, args, clir, asked, o->ranking->k, ctx, &error)
                                 : cq_clir_search(&hits, clir, model, args->from, args->to, asked, o, ctx, &error);
    if (!status && !monolingual && !asked)
      cli_note(
          "%s from these topics' judgments: do not measure this run; 'calque clir validate' gives figures to report",
          by_letters ? "it was learned" : "VECTORS may be learned");
    if (status || cq_clir_write_run(NULL, clir, hits, o->ranking->k, args->tag, &error)) code = cli_fail_error(&error);
  }
  cq_free(asked);
  cq_free(hits);
  cq_clir_model_free(model);
  cq_clir_free(clir);
  cq_context_free(ctx);
  return code;
}

static const cli_command clir_run = {
    .name = "run",
    .summary = "search for topics in another language, as a TREC run",
    CLI_ARGUMENTS("[VECTORS]", 0, 1),
    .description = "Searches for each topic in documents of another language. Prints a TREC run: lines of topic, Q0, "
                   "document, rank, score and tag. If --from and --to are the same language, the run is "
                   "monolingual; with --method cognates it uses the same feedback. Without --hold-out it includes "
                   "training topics, so do not evaluate it; 'calque clir validate' gives figures to report.",
    .example = "calque clir run vectors.txt --from en --to hi" CLI_CLIR_EXAMPLE " >run.txt",
    .groups = (const cq_option_part[]){COLLECTION(not_of_run), SOURCES, FOLDS, {0}},
    CLI_OPTIONS(cli_clir_args, run_options),
    .run = run_clir_run,
};

static const cli_command *const children[] = {&clir_build,     &clir_expand,   &clir_run, &cli_clir_validate,
                                              &cli_clir_dense, &cli_clir_fuse, NULL};

const cli_command cli_clir = {
    .name = "clir",
    .summary = "cross-language retrieval (CLIR) without parallel text: build, expand, run, validate, dense, fuse",
    .description =
        "Cross-language information retrieval (CLIR): queries in one language find documents in another, by word "
        "vectors learned from comparable test collections (Niyogi et al. 2018), or by words that are spelled alike. It "
        "needs topics that are translations of one another, but no parallel sentences and no dictionaries.",
    .example = "calque clir build vectors.txt" CLI_CLIR_EXAMPLE,
    .children = children,
};
