/* calque clir build | expand | run | validate: queries in one language, documents in another, no parallel data. Its
 * other commands are in clir_runs.c. */
#include "command.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- the collections: options of every command --- */

struct sources {
  const char *languages, *documents, *topics, *judgements, *stop_words, *work;
  bool no_stems;
};

#define SOURCE_OPTIONS(owner)                                                                                          \
  {.name = "languages",                                                                                                \
   .letter = 'l',                                                                                                      \
   .type = CLI_TEXT,                                                                                                   \
   .required = true,                                                                                                   \
   .argument = "CODES",                                                                                                \
   .offset = offsetof(owner, sources.languages),                                                                       \
   .help = "the languages that vectors are learned of, between commas: en,hi"},                                        \
      {.name = "docs",                                                                                                 \
       .type = CLI_TEXT,                                                                                               \
       .required = true,                                                                                               \
       .argument = "PATTERN",                                                                                          \
       .offset = offsetof(owner, sources.documents),                                                                   \
       .help = "where each language's documents are; % stands for its code: docs.%.trec"},                             \
      {.name = "topics",                                                                                               \
       .type = CLI_TEXT,                                                                                               \
       .required = true,                                                                                               \
       .argument = "PATTERN",                                                                                          \
       .offset = offsetof(owner, sources.topics),                                                                      \
       .help = "its topics; those of one number are translations"},                                                    \
      {.name = "qrels",                                                                                                \
       .type = CLI_TEXT,                                                                                               \
       .required = true,                                                                                               \
       .argument = "PATTERN",                                                                                          \
       .offset = offsetof(owner, sources.judgements),                                                                  \
       .help = "its relevance judgements"},                                                                            \
      {.name = "stop-words",                                                                                           \
       .type = CLI_TEXT,                                                                                               \
       .argument = "PATTERN",                                                                                          \
       .offset = offsetof(owner, sources.stop_words),                                                                  \
       .default_text = "none",                                                                                         \
       .help = "words to leave out, between blanks or a line each"},                                                   \
      {.name = "no-stems",                                                                                             \
       .type = CLI_FLAG,                                                                                               \
       .offset = offsetof(owner, sources.no_stems),                                                                    \
       .help = "keep words as they are, though a language has a stemmer"},                                             \
  {                                                                                                                    \
    .name = "work", .type = CLI_TEXT, .argument = "DIR", .offset = offsetof(owner, sources.work),                      \
    .default_text = "a temporary one", .help = "keep the lexical indexes in this new directory"                        \
  }

enum { MOST_LANGUAGES = 32 };

typedef struct collections {
  cq_clir *clir;
  cq_clir_language languages[MOST_LANGUAGES];
  char *texts[MOST_LANGUAGES * 5];
  size_t n, n_texts;
} collections;

/* The pattern with each % replaced; owned by c. */
static const char *filled(collections *c, const char *pattern, const char *code) {
  size_t n = 1;
  for (const char *p = pattern; *p; p++) n += *p == '%' ? strlen(code) : 1;
  char *text = malloc(n), *to = text;
  for (const char *p = pattern; text && *p; p++) {
    if (*p == '%')
      to = stpcpy(to, code);
    else
      *to++ = *p;
  }
  if (text) *to = '\0', c->texts[c->n_texts++] = text;
  return text;
}

static bool add_language(collections *c, const struct sources *s, const char *code) {
  cq_clir_language *l = &c->languages[c->n++];
  *l = (cq_clir_language){.code = code,
                          .documents = filled(c, s->documents, code),
                          .topics = filled(c, s->topics, code),
                          .judgements = filled(c, s->judgements, code),
                          .no_stems = s->no_stems};
  if (s->stop_words) l->stop_words = filled(c, s->stop_words, code);
  return l->documents && l->topics && l->judgements && (!s->stop_words || l->stop_words);
}

static int open_collections(collections *c, const struct sources *s, cq_pool *pool) {
  cq_error error = {0};
  char *codes = filled(c, s->languages, "%") ? c->texts[0] : NULL;
  for (char *code = codes ? strtok(codes, ",") : NULL; code; code = strtok(NULL, ",")) {
    if (c->n == MOST_LANGUAGES) return cli_fail("at most %d languages", MOST_LANGUAGES);
    if (!add_language(c, s, code)) return cli_fail("out of memory");
  }
  if (cq_clir_open(&c->clir, c->languages, c->n, s->work, pool, &error)) return cli_fail_error(&error);
  const cq_clir_info about = cq_clir_about(c->clir);
  if (about.n_unknown) cli_note("%zu judgements are of documents that are not there", about.n_unknown);
  return CLI_OK;
}

static void close_collections(collections *c) {
  cq_clir_free(c->clir);
  for (size_t i = 0; i < c->n_texts; i++) free(c->texts[i]);
}

/* --- options of the method --- */

static const char *const mixings[] = {"by-length", "at-random", NULL};                /* in cq_clir_mixing's order */
static const char *const methods[] = {"terms", "sum", "documents", "cognates", NULL}; /* cq_clir_method's, and one */
enum { COGNATES = 3 };
#define BY_LETTERS "; or, of two languages, go by words that are written alike"

#define TRAIN_OPTIONS(owner)                                                                                           \
  {.name = "mix",                                                                                                      \
   .type = CLI_CHOICE,                                                                                                 \
   .argument = "HOW",                                                                                                  \
   .choices = mixings,                                                                                                 \
   .offset = offsetof(owner, mixing),                                                                                  \
   .help = "how documents of one topic become one text: words in turn by their lengths, or in random order"},          \
      {.name = "all-documents",                                                                                        \
       .type = CLI_FLAG,                                                                                               \
       .offset = offsetof(owner, o.all_documents),                                                                     \
       .help = "learn from every document by itself, too, so that words of no aligned one get vectors"},               \
      {.name = "pseudo-in-all",                                                                                        \
       .type = CLI_FLAG,                                                                                               \
       .offset = offsetof(owner, o.pseudo_in_all),                                                                     \
       .help = "look for pseudo-relevant documents in all languages, by the translations of topics held out"},         \
      {.name = "dim",                                                                                                  \
       .type = CLI_INT,                                                                                                \
       .argument = "N",                                                                                                \
       .offset = offsetof(owner, o.words.dim),                                                                         \
       .least = 1,                                                                                                     \
       .greatest = 1 << 16,                                                                                            \
       .help = "numbers a vector"},                                                                                    \
      {.name = "epochs",                                                                                               \
       .type = CLI_INT,                                                                                                \
       .argument = "N",                                                                                                \
       .offset = offsetof(owner, o.words.epochs),                                                                      \
       .least = 1,                                                                                                     \
       .greatest = 100000,                                                                                             \
       .help = "times through the text"},                                                                              \
      {.name = "lr",                                                                                                   \
       .type = CLI_NUMBER,                                                                                             \
       .argument = "X",                                                                                                \
       .offset = offsetof(owner, o.words.rate),                                                                        \
       .help = "learning rate at the beginning"},                                                                      \
      {.name = "sample",                                                                                               \
       .type = CLI_NUMBER,                                                                                             \
       .argument = "X",                                                                                                \
       .offset = offsetof(owner, o.words.sample),                                                                      \
       .greatest = 1,                                                                                                  \
       .help = "thin out words that are more than this share of the text; 0: none"},                                   \
      {.name = "share-negatives",                                                                                      \
       .type = CLI_FLAG,                                                                                               \
       .offset = offsetof(owner, o.words.share_negatives),                                                             \
       .help = "draw negatives once for a word and all around it: several times as fast, another algorithm"},          \
      {.name = "cbow",                                                                                                 \
       .type = CLI_FLAG,                                                                                               \
       .offset = offsetof(owner, o.words.cbow),                                                                        \
       .help = "CBOW instead of skip-gram"},                                                                           \
      {.name = "shortest-ngram",                                                                                       \
       .type = CLI_INT,                                                                                                \
       .argument = "N",                                                                                                \
       .offset = offsetof(owner, o.words.shortest_ngram),                                                              \
       .help = "sub-words of so many characters and more"},                                                            \
      {.name = "longest-ngram",                                                                                        \
       .type = CLI_INT,                                                                                                \
       .argument = "N",                                                                                                \
       .offset = offsetof(owner, o.words.longest_ngram),                                                               \
       .help = "and up to so many; 0: words only"},                                                                    \
  {                                                                                                                    \
    .name = "seed", .type = CLI_COUNT, .argument = "N", .offset = offsetof(owner, o.words.seed),                       \
    .help = "of all that is random"                                                                                    \
  }

#define METHOD_OPTION(owner, more)                                                                                     \
  {                                                                                                                    \
    .name = "method", .letter = 'm', .type = CLI_CHOICE, .argument = "METHOD", .choices = methods,                     \
    .offset = offsetof(owner, method),                                                                                 \
    .help = "search for the nearest words of each word, of their sum; rank documents by the sum of their vectors" more \
  }

#define SEARCH_OPTIONS(owner)                                                                                          \
  {.name = "weighted",                                                                                                 \
   .type = CLI_FLAG,                                                                                                   \
   .offset = offsetof(owner, o.weighted),                                                                              \
   .help = "multiply a word's score by its cosine"},                                                                   \
      {.name = "csls",                                                                                                 \
       .type = CLI_INT,                                                                                                \
       .argument = "K",                                                                                                \
       .offset = offsetof(owner, o.csls),                                                                              \
       .greatest = 100,                                                                                                \
       .help = "correct for words that are near to all, by their K nearest; 0: do not"},                               \
      {.name = "keep-words",                                                                                           \
       .type = CLI_FLAG,                                                                                               \
       .offset = offsetof(owner, o.keep_words),                                                                        \
       .help = "search for the query's own words, too"},                                                               \
      {.name = "mu",                                                                                                   \
       .type = CLI_NUMBER,                                                                                             \
       .argument = "X",                                                                                                \
       .offset = offsetof(owner, o.ranking.mu),                                                                        \
       .default_text = "2500",                                                                                         \
       .help = "the weight of the collection in a document's language model"},                                         \
      CLI_RUN_TOP(owner, top, "topic")

#define WEIGHT_OPTIONS(owner)                                                                                          \
  {.name = "idf",                                                                                                      \
   .type = CLI_FLAG,                                                                                                   \
   .offset = offsetof(owner, o.idf),                                                                                   \
   .help = "multiply a word's score by how rare the query's word that it is for is among its language's documents"},   \
  {                                                                                                                    \
    .name = "feedback", .type = CLI_INT, .argument = "N", .offset = offsetof(owner, o.feedback), .greatest = 10000,    \
    .help =                                                                                                            \
        "before translation, add the N words that the query's best documents in its own language have most of, as "    \
        "half of its weight; 0: none"                                                                                  \
  }

#define BETWEEN_OPTIONS(owner)                                                                                         \
  {.name = "from",                                                                                                     \
   .type = CLI_TEXT,                                                                                                   \
   .required = true,                                                                                                   \
   .argument = "CODE",                                                                                                 \
   .offset = offsetof(owner, from),                                                                                    \
   .help = "the language of the queries"},                                                                             \
  {                                                                                                                    \
    .name = "to", .type = CLI_TEXT, .required = true, .argument = "CODE", .offset = offsetof(owner, to),               \
    .help = "the language of the documents"                                                                            \
  }

#define FOLD_OPTIONS(owner)                                                                                            \
  {.name = "folds",                                                                                                    \
   .type = CLI_INT,                                                                                                    \
   .argument = "N",                                                                                                    \
   .offset = offsetof(owner, n_folds),                                                                                 \
   .least = 2,                                                                                                         \
   .greatest = 1000,                                                                                                   \
   .help = "parts that topics are cut into"},                                                                          \
  {                                                                                                                    \
    .name = "group", .type = CLI_INT, .argument = "N", .offset = offsetof(owner, group), .least = 1,                   \
    .greatest = 1000000, .help = "consecutive topic numbers that stay together: those of one article"                  \
  }

struct args {
  struct sources sources;
  cq_clir_options o;
  const char *from, *to, *tag;
  int mixing, method, top, n_folds, group, fold, threads;
  double share;
  cli_list kappas, windows, taus;
  bool json;
};

static void defaults(void *options) {
  struct args *args = options;
  *args = (struct args){.o = cq_clir_default_options(), .n_folds = 5, .group = 1, .tag = "calque"};
  args->top = (int)args->o.ranking.k;
}

static void build_defaults(void *options) {
  defaults(options);
  ((struct args *)options)->threads = 1;
}

static cq_clir_options options_of(const struct args *args) {
  cq_clir_options o = args->o;
  o.mixing = (cq_clir_mixing)args->mixing;
  o.method = (cq_clir_method)args->method;
  o.ranking.k = (size_t)args->top;
  return o;
}

/* --- build --- */

static const cli_option build_options[] = {
    SOURCE_OPTIONS(struct args),
    {.name = "window",
     .letter = 'w',
     .type = CLI_INT,
     .argument = "N",
     .offset = offsetof(struct args, o.words.window),
     .least = 1,
     .greatest = 10000,
     .help = "words on either side of a word"},
    {.name = "hold-out",
     .type = CLI_INT,
     .argument = "FOLD",
     .offset = offsetof(struct args, fold),
     .default_text = "none",
     .help = "learn nothing from the topics of this fold, 1 and up, but their queries in --from"},
    {.name = "from",
     .type = CLI_TEXT,
     .argument = "CODE",
     .offset = offsetof(struct args, from),
     .default_text = "the first",
     .help = "the language of the queries that are held out"},
    {.name = "kappa",
     .type = CLI_INT,
     .argument = "N",
     .offset = offsetof(struct args, o.kappa),
     .greatest = 100000,
     .help = "pseudo-relevant documents of a topic that is held out"},
    FOLD_OPTIONS(struct args),
    TRAIN_OPTIONS(struct args),
    {.name = "threads",
     .letter = 't',
     .type = CLI_INT,
     .argument = "N",
     .offset = offsetof(struct args, threads),
     .least = 1,
     .greatest = 1024,
     .help = "with 1 the result depends on the seed alone; more write to one another's vectors as they go"},
};

static int check_fold(const struct args *args) {
  return args->fold > args->n_folds ? cli_fail("there are %d folds", args->n_folds) : CLI_OK;
}

/* Before anything is learned. */
static int check_tag(const char *tag) {
  return *tag && !strpbrk(tag, " \t\r\n\v\f") ? CLI_OK : cli_fail("the tag '%s' is empty or has blanks", tag);
}

static const char *const about_vectors[] = {
    "kappa",
    "window",
    "mix",
    "all-documents",
    "pseudo-in-all",
    "dim",
    "epochs",
    "lr",
    "sample",
    "share-negatives",
    "cbow",
    "seed",
    "shortest-ngram",
    "longest-ngram",
    "tau",
    "weighted",
    "idf",
    "csls",
    "mu",
    "keep-words",
    "feedback",
};

/* What is said of vectors goes unheard where there are none: rather refused than passed over. */
static int check_no_vectors(const cli_call *call) {
  for (size_t i = 0; i < sizeof about_vectors / sizeof *about_vectors; i++)
    if (cli_given(call, about_vectors[i]))
      return cli_usage(call->path, "--%s is about word vectors, which --method cognates does without",
                       about_vectors[i]);
  if (call->n_arguments == 0) return CLI_OK;
  return cli_usage(call->path, "--method cognates does without VECTORS, but there is '%s'", call->arguments[0]);
}

static cq_clir_folds folds_of(const struct args *args) {
  return (cq_clir_folds){.n = args->n_folds, .group = args->group, .share = args->share};
}

/* The topics of --hold-out; none: NULL. */
static int find_fold(bool **out, const struct args *args, const cq_clir *clir) {
  const cq_clir_folds how = folds_of(args);
  cq_error error = {0};
  *out = NULL;
  return args->fold && cq_clir_fold_topics(out, clir, &how, args->fold - 1, &error) ? cli_fail_error(&error) : CLI_OK;
}

static int run_build(const cli_call *call) {
  const struct args *args = call->options;
  const cq_clir_options o = options_of(args);
  cq_error error = {0};
  cq_pool *pool = NULL;
  collections c = {0};
  cq_clir_model *model = NULL;
  int code = check_fold(args);
  if (code == CLI_OK) code = cli_open_pool(&pool, args->threads);
  if (code == CLI_OK) code = open_collections(&c, &args->sources, pool);
  bool *held_out = NULL;
  if (code == CLI_OK) code = find_fold(&held_out, args, c.clir);
  if (code == CLI_OK) {
    if (cq_clir_train(&model, c.clir, held_out, args->from ? args->from : c.languages[0].code, &o, pool, &error) ||
        cq_clir_save(model, call->arguments[0], &error))
      code = cli_fail_error(&error);
    else
      cli_note("learned from %zu words of text; wrote %s", cq_clir_n_trained(model), call->arguments[0]);
  }
  free(held_out);
  cq_clir_model_free(model);
  close_collections(&c);
  cq_pool_free(pool);
  return code;
}

#define COLLECTION_EXAMPLE                                                                                             \
  " \\\n    --languages en,hi --docs docs.%.trec --topics topics.%.xml \\\n    --qrels qrels.%.txt --stop-words "      \
  "stop.%.txt"

static const cli_command clir_build = {
    .name = "build",
    .summary = "learn vectors of several languages' words from their test collections",
    .arguments = "VECTORS",
    .least_arguments = 1,
    .most_arguments = 1,
    .description = "For each topic the relevant documents of every language are put together in tuples and their words "
                   "shuffled into "
                   "one another; vectors are learned of the whole and written in word2vec's text format.",
    .example = "calque clir build vectors.txt" COLLECTION_EXAMPLE,
    CLI_OPTIONS(struct args, build_options),
    .defaults = build_defaults,
    .run = run_build,
};

/* --- expand and run --- */

#define TAU_OPTION(owner)                                                                                              \
  {                                                                                                                    \
    .name = "tau", .type = CLI_INT, .argument = "N", .offset = offsetof(owner, o.tau), .least = 1, .greatest = 100000, \
    .help = "words for each word of the query, or for their sum"                                                       \
  }

static const cli_option expand_options[] = {
    BETWEEN_OPTIONS(struct args),      SOURCE_OPTIONS(struct args),
    TAU_OPTION(struct args),           METHOD_OPTION(struct args, BY_LETTERS ": without VECTORS"),
    SEARCH_OPTIONS(struct args),       CLI_JSON(struct args, json),
    CLI_THREADS(struct args, threads),
};

static cq_status expand(cq_clir_word **words, size_t *n, const cq_clir_model *model, const cq_clir_cognates *cognates,
                        const struct args *args, cq_slice query, cq_error *error) {
  const cq_clir_options o = options_of(args);
  return cognates ? cq_clir_cognates_expand(words, n, cognates, query, error)
                  : cq_clir_expand(words, n, model, args->from, args->to, query, &o, error);
}

static int print_expansion(const cq_clir_model *model, const cq_clir_cognates *cognates, const struct args *args,
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
  free(words);
  return CLI_OK;
}

static int run_expand(const cli_call *call) {
  const struct args *args = call->options;
  const bool by_letters = args->method == COGNATES;
  cq_error error = {0};
  cq_pool *pool = NULL;
  collections c = {0};
  cq_clir_model *model = NULL;
  cq_clir_cognates *cognates = NULL;
  if (!by_letters && call->n_arguments < 2)
    return cli_usage(call->path, "no VECTORS or no QUERY; only --method cognates does without vectors");
  int code = cli_open_pool(&pool, args->threads);
  if (code == CLI_OK) code = open_collections(&c, &args->sources, pool);
  if (code == CLI_OK &&
      (by_letters ? cq_clir_learn_cognates(&cognates, c.clir, NULL, args->from, args->to, NULL, pool, &error)
                  : cq_clir_load(&model, c.clir, call->arguments[0], &error)))
    code = cli_fail_error(&error);
  for (size_t i = by_letters ? 0 : 1; code == CLI_OK && i < call->n_arguments; i++)
    code = print_expansion(model, cognates, args, call->arguments[i]);
  cq_clir_cognates_free(cognates);
  cq_clir_model_free(model);
  close_collections(&c);
  cq_pool_free(pool);
  return code;
}

static const cli_command clir_expand = {
    .name = "expand",
    .summary = "show what a query becomes in another language",
    .arguments = "[VECTORS] QUERY...",
    .least_arguments = 1,
    .most_arguments = -1,
    .description = "Prints lines of the query's word (* for the sum of all), cosine and word of the other language, "
                   "separated by tabs; by --method cognates, instead of the cosine, how far the two are one word.",
    .example = "calque clir expand vectors.txt \"rising rents\" --from en --to hi" COLLECTION_EXAMPLE,
    CLI_OPTIONS(struct args, expand_options),
    .defaults = defaults,
    .run = run_expand,
};

static const cli_option run_options[] = {
    BETWEEN_OPTIONS(struct args),
    SOURCE_OPTIONS(struct args),
    TAU_OPTION(struct args),
    METHOD_OPTION(struct args, BY_LETTERS ", and feedback: without VECTORS"),
    SEARCH_OPTIONS(struct args),
    WEIGHT_OPTIONS(struct args),
    {.name = "hold-out",
     .type = CLI_INT,
     .argument = "FOLD",
     .offset = offsetof(struct args, fold),
     .default_text = "all topics",
     .help = "search for the topics of this fold only, 1 and up"},
    FOLD_OPTIONS(struct args),
    CLI_RUN_TAG(struct args, tag),
    CLI_THREADS(struct args, threads),
};

static cq_status search_by_letters(cq_lexical_hit **hits, const struct args *args, const cq_clir *clir,
                                   const bool *asked, size_t k, cq_pool *pool, cq_error *error) {
  cq_clir_cognates *cognates;
  cq_status status = cq_clir_learn_cognates(&cognates, clir, asked, args->from, args->to, NULL, pool, error);
  if (!status) status = cq_clir_search_cognates(hits, cognates, asked, k, pool, error);
  cq_clir_cognates_free(cognates);
  return status;
}

static int run_run(const cli_call *call) {
  const struct args *args = call->options;
  const cq_clir_options o = options_of(args);
  const bool monolingual = !strcasecmp(args->from, args->to);
  const bool by_letters = args->method == COGNATES && !monolingual;
  bool *asked = NULL;
  cq_error error = {0};
  cq_pool *pool = NULL;
  collections c = {0};
  cq_clir_model *model = NULL;
  cq_lexical_hit *hits = NULL;
  int code = check_tag(args->tag);
  if (code == CLI_OK) code = check_fold(args);
  if (code == CLI_OK && by_letters) code = check_no_vectors(call);
  if (code == CLI_OK && !monolingual && !by_letters && call->n_arguments == 0)
    code = cli_usage(call->path, "no VECTORS, which only --method cognates, or a run from a language to itself, can do "
                                 "without");
  if (code == CLI_OK) code = cli_open_pool(&pool, args->threads);
  if (code == CLI_OK) code = open_collections(&c, &args->sources, pool);
  if (code == CLI_OK && call->n_arguments && cq_clir_load(&model, c.clir, call->arguments[0], &error))
    code = cli_fail_error(&error);
  if (code == CLI_OK) code = find_fold(&asked, args, c.clir);
  if (code == CLI_OK) {
    const cq_status status = by_letters
                                 ? search_by_letters(&hits, args, c.clir, asked, o.ranking.k, pool, &error)
                                 : cq_clir_search(&hits, c.clir, model, args->from, args->to, asked, &o, pool, &error);
    if (status || cq_clir_write_run(stdout, c.clir, hits, o.ranking.k, args->tag, &error))
      code = cli_fail_error(&error);
  }
  free(asked);
  free(hits);
  cq_clir_model_free(model);
  close_collections(&c);
  cq_pool_free(pool);
  return code;
}

static const cli_command clir_run = {
    .name = "run",
    .summary = "search for topics in another language, as a TREC run",
    .arguments = "[VECTORS]",
    .least_arguments = 0,
    .most_arguments = 1,
    .description =
        "Prints lines of topic, Q0, document, rank, score and tag. From a language to itself it is the "
        "monolingual run. Without --hold-out, topics that were learned from are searched for, too: figures of "
        "such a run say nothing; `clir validate` is for those.",
    .example = "calque clir run vectors.txt --from en --to hi" COLLECTION_EXAMPLE " >run.txt",
    CLI_OPTIONS(struct args, run_options),
    .defaults = defaults,
    .run = run_run,
};

/* --- validate --- */

static const cli_option validate_options[] = {
    BETWEEN_OPTIONS(struct args),
    SOURCE_OPTIONS(struct args),
    {.name = "kappa",
     .type = CLI_LIST,
     .argument = "N",
     .offset = offsetof(struct args, kappas),
     .help = "pseudo-relevant documents to choose among; may be given again. Else 5, 10, 20"},
    {.name = "window",
     .letter = 'w',
     .type = CLI_LIST,
     .argument = "N",
     .offset = offsetof(struct args, windows),
     .help = "windows to choose among. Else 10, 25, 50"},
    {.name = "tau",
     .type = CLI_LIST,
     .argument = "N",
     .offset = offsetof(struct args, taus),
     .help = "words for each word to choose among. Else 5, 10, 15"},
    FOLD_OPTIONS(struct args),
    TRAIN_OPTIONS(struct args),
    METHOD_OPTION(struct args, BY_LETTERS ", and feedback"),
    SEARCH_OPTIONS(struct args),
    WEIGHT_OPTIONS(struct args),
    {.name = "share",
     .type = CLI_NUMBER,
     .argument = "X",
     .offset = offsetof(struct args, share),
     .greatest = 1,
     .default_text = "all",
     .help = "learn from this share of the training groups only, in quarters: for learning curves"},
    CLI_RUN_TAG(struct args, tag),
    CLI_THREADS(struct args, threads),
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
  const struct args *args = call->options;
  static const int kappas[] = {5, 10, 20}, windows[] = {10, 25, 50}, taus[] = {5, 10, 15};
  const cq_clir_options o = options_of(args);
  int lists[3][MOST_CHOICES];
  cq_clir_grid grid = {lists[0], lists[1], lists[2], 0, 0, 0};
  cq_error error = {0};
  cq_pool *pool = NULL;
  collections c = {0};
  cq_lexical_hit *hits = NULL;
  cq_clir_fold *folds = calloc((size_t)args->n_folds, sizeof *folds);
  int code = folds ? check_tag(args->tag) : cli_fail("out of memory");
  if (code == CLI_OK && args->method == COGNATES) code = check_no_vectors(call);
  if (code == CLI_OK) code = read_list(lists[0], &grid.n_kappas, &args->kappas, kappas, 3, "kappa");
  if (code == CLI_OK) code = read_list(lists[1], &grid.n_windows, &args->windows, windows, 3, "window");
  if (code == CLI_OK) code = read_list(lists[2], &grid.n_taus, &args->taus, taus, 3, "tau");
  if (code == CLI_OK) code = cli_open_pool(&pool, args->threads);
  if (code == CLI_OK) code = open_collections(&c, &args->sources, pool);
  if (code == CLI_OK) {
    const cq_clir_folds how = folds_of(args);
    const cq_status status =
        args->method == COGNATES
            ? cq_clir_validate_cognates(&hits, folds, c.clir, args->from, args->to, &how, NULL, o.ranking.k, pool,
                                        &error)
            : cq_clir_validate(&hits, folds, c.clir, args->from, args->to, &how, &grid, &o, pool, &error);
    if (status) code = cli_fail_error(&error);
  }
  if (code == CLI_OK) {
    for (int f = 0; f < args->n_folds; f++) note_fold(f + 1, &folds[f], args->method == COGNATES);
    cli_note("MAP %.4f over all topics", cq_clir_map(c.clir, args->to, hits, o.ranking.k, NULL));
    if (cq_clir_write_run(stdout, c.clir, hits, o.ranking.k, args->tag, &error)) code = cli_fail_error(&error);
  }
  free(hits);
  free(folds);
  close_collections(&c);
  cq_pool_free(pool);
  return code;
}

static const cli_command clir_validate = {
    .name = "validate",
    .summary = "cross-validate over topics, choosing kappa, window and tau on the training folds",
    .arguments = NULL,
    .least_arguments = 0,
    .most_arguments = 0,
    .description =
        "For each fold the best choice is found by validation on another one, then vectors are learned from all topics "
        "but the "
        "fold's, and these are searched for. Prints the run of all topics; what was chosen goes to standard error.",
    .example = "calque clir validate --from en --to hi --group 4" COLLECTION_EXAMPLE " >run.txt",
    CLI_OPTIONS(struct args, validate_options),
    .defaults = defaults,
    .run = run_validate,
};

extern const cli_command cli_clir_dense, cli_clir_fuse;

static const cli_command *const children[] = {&clir_build,     &clir_expand,   &clir_run, &clir_validate,
                                              &cli_clir_dense, &cli_clir_fuse, NULL};

const cli_command cli_clir = {
    .name = "clir",
    .summary = "search across languages without parallel data: build, expand, run, validate, dense, fuse",
    .description = "Queries in one language find documents in another, by word vectors learned from test collections "
                   "whose topics are "
                   "translations of one another: no aligned sentences, no dictionaries (Niyogi et al. 2018).",
    .example = "calque clir build vectors.txt" COLLECTION_EXAMPLE,
    .children = children,
};
