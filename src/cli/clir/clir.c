/* calque clir build | expand | run: queries in one language, documents in another, no parallel data. clir.h says where
 * its other commands are. */
#include "cli/clir/clir.h"
#include "cli/frame/report.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int check_fold(const cli_clir_args *args) {
  return args->fold > args->n_folds ? cli_fail("there are %d folds", args->n_folds) : CLI_OK;
}

/* The topics of --hold-out; none: NULL. */
static int find_fold(bool **out, const cli_clir_args *args, const cq_clir *clir) {
  const cq_clir_folds how = cli_clir_folds_of(args);
  cq_error error = {0};
  *out = NULL;
  return args->fold && cq_clir_fold_topics(out, clir, &how, args->fold - 1, &error) ? cli_fail_error(&error) : CLI_OK;
}

/* --- build --- */

static void build_defaults(void *options) {
  cli_clir_defaults(options);
  ((cli_clir_args *)options)->threads = 1;
}

static const cq_option build_options[] = {
    CLI_CLIR_SOURCE_OPTIONS,
    {.name = "window",
     .letter = 'w',
     .type = CQ_OPTION_INT,
     .argument = "N",
     .offset = offsetof(cli_clir_args, o.words.window),
     .min = 1,
     .max = 10000,
     .help = "words on either side of a word"},
    {.name = "hold-out",
     .type = CQ_OPTION_INT,
     .argument = "FOLD",
     .offset = offsetof(cli_clir_args, fold),
     .otherwise = "none",
     .help = "learn nothing from the topics of this fold, 1 and up, but their queries in --from"},
    {.name = "from",
     .type = CQ_OPTION_TEXT,
     .argument = "CODE",
     .offset = offsetof(cli_clir_args, from),
     .otherwise = "the first",
     .help = "the language of the queries that are held out"},
    {.name = "kappa",
     .type = CQ_OPTION_INT,
     .argument = "N",
     .offset = offsetof(cli_clir_args, o.kappa),
     .max = 100000,
     .help = "pseudo-relevant documents of a topic that is held out"},
    CLI_CLIR_FOLD_OPTIONS,
    CLI_CLIR_TRAIN_OPTIONS,
    {.name = "threads",
     .letter = 't',
     .type = CQ_OPTION_INT,
     .argument = "N",
     .offset = offsetof(cli_clir_args, threads),
     .min = 1,
     .max = 1024,
     .help = "with 1 the result depends on the seed alone; more write to one another's vectors as they go"},
};

static int run_build(const cli_call *call) {
  const cli_clir_args *args = call->options;
  const cq_clir_options o = cli_clir_options_of(args);
  cq_error error = {0};
  cq_context *ctx = NULL;
  cli_collections c = {0};
  cq_clir_model *model = NULL;
  int code = check_fold(args);
  if (code == CLI_OK) code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK) code = cli_collections_open(&c, &args->sources, ctx);
  bool *held_out = NULL;
  if (code == CLI_OK) code = find_fold(&held_out, args, c.clir);
  if (code == CLI_OK) {
    if (cq_clir_train(&model, c.clir, held_out, args->from ? args->from : c.languages[0].code, &o, ctx, &error) ||
        cq_clir_save(model, call->arguments[0], &error))
      code = cli_fail_error(&error);
    else
      cli_note("learned from %zu words of text; wrote %s", cq_clir_n_trained(model), call->arguments[0]);
  }
  cq_free(held_out);
  cq_clir_model_free(model);
  cli_collections_close(&c);
  cq_context_free(ctx);
  return code;
}

static const cli_command clir_build = {
    .name = "build",
    .summary = "learn vectors of several languages' words from their test collections",
    .arguments = "VECTORS",
    .min_arguments = 1,
    .max_arguments = 1,
    .description = "For each topic the relevant documents of every language are put together in tuples and their words "
                   "shuffled into "
                   "one another; vectors are learned of the whole and written in word2vec's text format.",
    .example = "calque clir build vectors.txt" CLI_CLIR_EXAMPLE,
    CLI_OPTIONS(cli_clir_args, build_options),
    .defaults = build_defaults,
    .run = run_build,
};

/* --- expand and run --- */

static const cq_option expand_options[] = {
    CLI_CLIR_BETWEEN_OPTIONS,
    CLI_CLIR_SOURCE_OPTIONS,
    CLI_CLIR_TAU_OPTION,
    CLI_CLIR_METHOD_OPTION(": without VECTORS"),
    CLI_CLIR_SEARCH_OPTIONS,
    CLI_JSON(cli_clir_args, json),
    CLI_THREADS(cli_clir_args, threads),
};

static cq_status expand(cq_clir_word **words, size_t *n, const cq_clir_model *model, const cq_clir_cognates *cognates,
                        const cli_clir_args *args, cq_slice query, cq_error *error) {
  const cq_clir_options o = cli_clir_options_of(args);
  return cognates ? cq_clir_cognates_expand(words, n, cognates, query, error)
                  : cq_clir_expand(words, n, model, args->from, args->to, query, &o, error);
}

static int print_expansion(const cq_clir_model *model, const cq_clir_cognates *cognates, const cli_clir_args *args,
                           const char *query) {
  cq_error error = {0};
  cq_clir_word *words;
  size_t n;
  if (expand(&words, &n, model, cognates, args, (cq_slice){query, strlen(query)}, &error))
    return cli_fail_error(&error);
  if (n == 0) cli_note("the text has none of the words of '%s'", query);
  for (size_t i = 0; i < n; i++) {
    const cq_clir_word *w = &words[i];
    if (args->json) {
      printf("{\"from\": ");
      cli_json_text(stdout, w->from.data ? w->from.data : "", w->from.n);
      printf(", \"to\": ");
      cli_json_text(stdout, w->to.data, w->to.n);
      printf(", \"cosine\": %.6f, \"score\": %.6f}\n", w->cosine, w->score);
    } else {
      printf("%.*s\t%.4f\t%.*s\n", w->from.n ? (int)w->from.n : 1, w->from.n ? w->from.data : "*", w->cosine,
             (int)w->to.n, w->to.data);
    }
  }
  cq_free(words);
  return CLI_OK;
}

static int run_expand(const cli_call *call) {
  const cli_clir_args *args = call->options;
  const bool by_letters = args->method == CLI_CLIR_COGNATES;
  cq_error error = {0};
  cq_context *ctx = NULL;
  cli_collections c = {0};
  cq_clir_model *model = NULL;
  cq_clir_cognates *cognates = NULL;
  if (!by_letters && call->n_arguments < 2)
    return cli_usage(call->path, "no VECTORS or no QUERY; only --method cognates does without vectors");
  int code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK) code = cli_collections_open(&c, &args->sources, ctx);
  if (code == CLI_OK &&
      (by_letters ? cq_clir_learn_cognates(&cognates, c.clir, NULL, args->from, args->to, NULL, ctx, &error)
                  : cq_clir_load(&model, c.clir, call->arguments[0], &error)))
    code = cli_fail_error(&error);
  for (size_t i = by_letters ? 0 : 1; code == CLI_OK && i < call->n_arguments; i++)
    code = print_expansion(model, cognates, args, call->arguments[i]);
  cq_clir_cognates_free(cognates);
  cq_clir_model_free(model);
  cli_collections_close(&c);
  cq_context_free(ctx);
  return code;
}

static const cli_command clir_expand = {
    .name = "expand",
    .summary = "show what a query becomes in another language",
    .arguments = "[VECTORS] QUERY...",
    .min_arguments = 1,
    .max_arguments = -1,
    .description = "Prints lines of the query's word (* for the sum of all), cosine and word of the other language, "
                   "separated by tabs; by --method cognates, instead of the cosine, how far the two are one word.",
    .example = "calque clir expand vectors.txt \"rising rents\" --from en --to hi" CLI_CLIR_EXAMPLE,
    CLI_OPTIONS(cli_clir_args, expand_options),
    .defaults = cli_clir_defaults,
    .run = run_expand,
};

static const cq_option run_options[] = {
    CLI_CLIR_BETWEEN_OPTIONS,
    CLI_CLIR_SOURCE_OPTIONS,
    CLI_CLIR_TAU_OPTION,
    CLI_CLIR_METHOD_OPTION(", and feedback: without VECTORS"),
    CLI_CLIR_SEARCH_OPTIONS,
    CLI_CLIR_WEIGHT_OPTIONS,
    {.name = "hold-out",
     .type = CQ_OPTION_INT,
     .argument = "FOLD",
     .offset = offsetof(cli_clir_args, fold),
     .otherwise = "all topics",
     .help = "search for the topics of this fold only, 1 and up"},
    CLI_CLIR_FOLD_OPTIONS,
    CLI_RUN_TAG(cli_clir_args, tag),
    CLI_THREADS(cli_clir_args, threads),
};

static cq_status search_by_letters(cq_lexical_hit **hits, const cli_clir_args *args, const cq_clir *clir,
                                   const bool *asked, size_t k, cq_context *ctx, cq_error *error) {
  cq_clir_cognates *cognates;
  cq_status status = cq_clir_learn_cognates(&cognates, clir, asked, args->from, args->to, NULL, ctx, error);
  if (!status) status = cq_clir_search_cognates(hits, cognates, asked, k, ctx, error);
  cq_clir_cognates_free(cognates);
  return status;
}

static int run_run(const cli_call *call) {
  const cli_clir_args *args = call->options;
  const cq_clir_options o = cli_clir_options_of(args);
  const bool monolingual = !strcasecmp(args->from, args->to);
  const bool by_letters = args->method == CLI_CLIR_COGNATES && !monolingual;
  bool *asked = NULL;
  cq_error error = {0};
  cq_context *ctx = NULL;
  cli_collections c = {0};
  cq_clir_model *model = NULL;
  cq_lexical_hit *hits = NULL;
  int code = cli_clir_check_tag(args->tag);
  if (code == CLI_OK) code = check_fold(args);
  if (code == CLI_OK && by_letters) code = cli_clir_check_no_vectors(call);
  if (code == CLI_OK && !monolingual && !by_letters && call->n_arguments == 0)
    code = cli_usage(call->path, "no VECTORS, which only --method cognates, or a run from a language to itself, can do "
                                 "without");
  if (code == CLI_OK) code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK) code = cli_collections_open(&c, &args->sources, ctx);
  if (code == CLI_OK && call->n_arguments && cq_clir_load(&model, c.clir, call->arguments[0], &error))
    code = cli_fail_error(&error);
  if (code == CLI_OK) code = find_fold(&asked, args, c.clir);
  if (code == CLI_OK) {
    const cq_status status = by_letters
                                 ? search_by_letters(&hits, args, c.clir, asked, o.ranking.k, ctx, &error)
                                 : cq_clir_search(&hits, c.clir, model, args->from, args->to, asked, &o, ctx, &error);
    if (status || cq_clir_write_run(NULL, c.clir, hits, o.ranking.k, args->tag, &error))
      code = cli_fail_error(&error);
  }
  cq_free(asked);
  cq_free(hits);
  cq_clir_model_free(model);
  cli_collections_close(&c);
  cq_context_free(ctx);
  return code;
}

static const cli_command clir_run = {
    .name = "run",
    .summary = "search for topics in another language, as a TREC run",
    .arguments = "[VECTORS]",
    .min_arguments = 0,
    .max_arguments = 1,
    .description =
        "Prints lines of topic, Q0, document, rank, score and tag. From a language to itself it is the "
        "monolingual run. Without --hold-out, topics that were learned from are searched for, too: figures of "
        "such a run say nothing; `clir validate` is for those.",
    .example = "calque clir run vectors.txt --from en --to hi" CLI_CLIR_EXAMPLE " >run.txt",
    CLI_OPTIONS(cli_clir_args, run_options),
    .defaults = cli_clir_defaults,
    .run = run_run,
};

static const cli_command *const children[] = {&clir_build,     &clir_expand,   &clir_run, &cli_clir_validate,
                                              &cli_clir_dense, &cli_clir_fuse, NULL};

const cli_command cli_clir = {
    .name = "clir",
    .summary = "search across languages without parallel data: build, expand, run, validate, dense, fuse",
    .description = "Queries in one language find documents in another, by word vectors learned from test collections "
                   "whose topics are "
                   "translations of one another: no aligned sentences, no dictionaries (Niyogi et al. 2018).",
    .example = "calque clir build vectors.txt" CLI_CLIR_EXAMPLE,
    .children = children,
};
