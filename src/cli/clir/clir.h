/* What the files of `calque clir` share: its commands, the options that several of them have, and the collections that
 * these name.
 *
 *   clir.c            the group, and what learns vectors or uses them: build, expand, run
 *   validate.c   the same over folds of topics: validate
 *   runs.c       runs beside these: dense, fuse
 *   options.c    values of options, checked and opened
 *
 * build, expand, run and validate fill one struct, cli_clir_args; each lists those of the options below that it has. */
#ifndef CLI_CLIR_CLIR_H
#define CLI_CLIR_CLIR_H

#include "cli/frame/command.h"

extern const cli_command cli_clir_validate, cli_clir_dense, cli_clir_fuse;

/* ---- values of options ---- */

typedef struct cli_clir_sources {
  const char *languages, *documents, *topics, *judgements, *stop_words, *work;
  bool no_stems;
} cli_clir_sources;

typedef struct cli_clir_args {
  size_t size;
  cli_clir_sources sources;
  cq_clir_options o;
  const char *from, *to, *tag;
  int mixing, method, top, n_folds, group, fold, threads;
  double share;
  cli_list kappas, windows, taus;
  bool json;
} cli_clir_args;

extern const char *const cli_clir_mixings[]; /* in cq_clir_mixing's order */
extern const char *const cli_clir_methods[]; /* cq_clir_method's, and one: */
enum { CLI_CLIR_COGNATES = 3 };

/* ---- options ---- */

/* The end of an example: the collections. */
#define CLI_CLIR_EXAMPLE                                                                                               \
  " \\\n    --languages en,hi --docs docs.%.trec --topics topics.%.xml \\\n    --qrels qrels.%.txt --stop-words "      \
  "stop.%.txt"

/* The collections. */
#define CLI_CLIR_SOURCE_OPTIONS                                                                                        \
  {.name = "languages",                                                                                                \
   .letter = 'l',                                                                                                      \
   .type = CQ_OPTION_TEXT,                                                                                             \
   .flags = CQ_OPTION_REQUIRED,                                                                                        \
   .argument = "CODES",                                                                                                \
   .offset = offsetof(cli_clir_args, sources.languages),                                                               \
   .help = "the languages that vectors are learned of, between commas: en,hi"},                                        \
      {.name = "docs",                                                                                                 \
       .type = CQ_OPTION_TEXT,                                                                                         \
       .flags = CQ_OPTION_REQUIRED,                                                                                    \
       .argument = "PATTERN",                                                                                          \
       .offset = offsetof(cli_clir_args, sources.documents),                                                           \
       .help = "where each language's documents are; % stands for its code: docs.%.trec"},                             \
      {.name = "topics",                                                                                               \
       .type = CQ_OPTION_TEXT,                                                                                         \
       .flags = CQ_OPTION_REQUIRED,                                                                                    \
       .argument = "PATTERN",                                                                                          \
       .offset = offsetof(cli_clir_args, sources.topics),                                                              \
       .help = "its topics; those of one number are translations"},                                                    \
      {.name = "qrels",                                                                                                \
       .type = CQ_OPTION_TEXT,                                                                                         \
       .flags = CQ_OPTION_REQUIRED,                                                                                    \
       .argument = "PATTERN",                                                                                          \
       .offset = offsetof(cli_clir_args, sources.judgements),                                                          \
       .help = "its relevance judgements"},                                                                            \
      {.name = "stop-words",                                                                                           \
       .type = CQ_OPTION_TEXT,                                                                                         \
       .argument = "PATTERN",                                                                                          \
       .offset = offsetof(cli_clir_args, sources.stop_words),                                                          \
       .otherwise = "none",                                                                                            \
       .help = "words to leave out, between blanks or a line each"},                                                   \
      {.name = "no-stems",                                                                                             \
       .type = CQ_OPTION_FLAG,                                                                                         \
       .offset = offsetof(cli_clir_args, sources.no_stems),                                                            \
       .help = "keep words as they are, though a language has a stemmer"},                                             \
  {                                                                                                                    \
    .name = "work", .type = CQ_OPTION_TEXT, .argument = "DIR", .offset = offsetof(cli_clir_args, sources.work),        \
    .otherwise = "a temporary one", .help = "keep the lexical indexes in this new directory"                           \
  }

#define CLI_CLIR_BETWEEN_OPTIONS                                                                                       \
  {.name = "from",                                                                                                     \
   .type = CQ_OPTION_TEXT,                                                                                             \
   .flags = CQ_OPTION_REQUIRED,                                                                                        \
   .argument = "CODE",                                                                                                 \
   .offset = offsetof(cli_clir_args, from),                                                                            \
   .help = "the language of the queries"},                                                                             \
  {                                                                                                                    \
    .name = "to", .type = CQ_OPTION_TEXT, .flags = CQ_OPTION_REQUIRED, .argument = "CODE",                             \
    .offset = offsetof(cli_clir_args, to), .help = "the language of the documents"                                     \
  }

/* Which topics are held out. */
#define CLI_CLIR_FOLD_OPTIONS                                                                                          \
  {.name = "folds",                                                                                                    \
   .type = CQ_OPTION_INT,                                                                                              \
   .argument = "N",                                                                                                    \
   .offset = offsetof(cli_clir_args, n_folds),                                                                         \
   .min = 2,                                                                                                           \
   .max = 1000,                                                                                                        \
   .help = "parts that topics are cut into"},                                                                          \
  {                                                                                                                    \
    .name = "group", .type = CQ_OPTION_INT, .argument = "N", .offset = offsetof(cli_clir_args, group), .min = 1,       \
    .max = 1000000, .help = "consecutive topic numbers that stay together: those of one article"                       \
  }

/* How vectors are learned. */
#define CLI_CLIR_TRAIN_OPTIONS                                                                                         \
  {.name = "mix",                                                                                                      \
   .type = CQ_OPTION_CHOICE,                                                                                           \
   .argument = "HOW",                                                                                                  \
   .choices = cli_clir_mixings,                                                                                        \
   .offset = offsetof(cli_clir_args, mixing),                                                                          \
   .help = "how documents of one topic become one text: words in turn by their lengths, or in random order"},          \
      {.name = "all-documents",                                                                                        \
       .type = CQ_OPTION_FLAG,                                                                                         \
       .offset = offsetof(cli_clir_args, o.all_documents),                                                             \
       .help = "learn from every document by itself, too, so that words of no aligned one get vectors"},               \
      {.name = "pseudo-in-all",                                                                                        \
       .type = CQ_OPTION_FLAG,                                                                                         \
       .offset = offsetof(cli_clir_args, o.pseudo_in_all),                                                             \
       .help = "look for pseudo-relevant documents in all languages, by the translations of topics held out"},         \
      {.name = "dim",                                                                                                  \
       .type = CQ_OPTION_INT,                                                                                          \
       .argument = "N",                                                                                                \
       .offset = offsetof(cli_clir_args, o.words.dim),                                                                 \
       .min = 1,                                                                                                       \
       .max = 1 << 16,                                                                                                 \
       .help = "numbers a vector"},                                                                                    \
      {.name = "epochs",                                                                                               \
       .type = CQ_OPTION_INT,                                                                                          \
       .argument = "N",                                                                                                \
       .offset = offsetof(cli_clir_args, o.words.epochs),                                                              \
       .min = 1,                                                                                                       \
       .max = 100000,                                                                                                  \
       .help = "times through the text"},                                                                              \
      {.name = "lr",                                                                                                   \
       .type = CQ_OPTION_NUMBER,                                                                                       \
       .argument = "X",                                                                                                \
       .offset = offsetof(cli_clir_args, o.words.learning_rate),                                                       \
       .help = "learning rate at the beginning"},                                                                      \
      {.name = "sample",                                                                                               \
       .type = CQ_OPTION_NUMBER,                                                                                       \
       .argument = "X",                                                                                                \
       .offset = offsetof(cli_clir_args, o.words.sample),                                                              \
       .max = 1,                                                                                                       \
       .help = "thin out words that are more than this share of the text; 0: none"},                                   \
      {.name = "share-negatives",                                                                                      \
       .type = CQ_OPTION_FLAG,                                                                                         \
       .offset = offsetof(cli_clir_args, o.words.share_negatives),                                                     \
       .help = "draw negatives once for a word and all around it: several times as fast, another algorithm"},          \
      {.name = "cbow",                                                                                                 \
       .type = CQ_OPTION_FLAG,                                                                                         \
       .offset = offsetof(cli_clir_args, o.words.cbow),                                                                \
       .help = "CBOW instead of skip-gram"},                                                                           \
      {.name = "min-ngram",                                                                                            \
       .type = CQ_OPTION_INT,                                                                                          \
       .argument = "N",                                                                                                \
       .offset = offsetof(cli_clir_args, o.words.min_ngram),                                                           \
       .help = "sub-words of so many characters and more"},                                                            \
      {.name = "max-ngram",                                                                                            \
       .type = CQ_OPTION_INT,                                                                                          \
       .argument = "N",                                                                                                \
       .offset = offsetof(cli_clir_args, o.words.max_ngram),                                                           \
       .help = "and up to so many; 0: words only"},                                                                    \
  {                                                                                                                    \
    .name = "seed", .type = CQ_OPTION_COUNT, .argument = "N", .offset = offsetof(cli_clir_args, o.words.seed),         \
    .help = "of all that is random"                                                                                    \
  }

/* How queries are translated, and documents ranked. more: what is to be said of the last method. */
#define CLI_CLIR_METHOD_OPTION(more)                                                                                   \
  {                                                                                                                    \
    .name = "method", .letter = 'm', .type = CQ_OPTION_CHOICE, .argument = "METHOD", .choices = cli_clir_methods,      \
    .offset = offsetof(cli_clir_args, method),                                                                         \
    .help = "search for the nearest words of each word, of their sum; rank documents by the sum of their vectors"      \
            "; or, of two languages, go by words that are written alike" more                                          \
  }

#define CLI_CLIR_TAU_OPTION                                                                                            \
  {                                                                                                                    \
    .name = "tau", .type = CQ_OPTION_INT, .argument = "N", .offset = offsetof(cli_clir_args, o.tau), .min = 1,         \
    .max = 100000, .help = "words for each word of the query, or for their sum"                                        \
  }

#define CLI_CLIR_SEARCH_OPTIONS                                                                                        \
  {.name = "weighted",                                                                                                 \
   .type = CQ_OPTION_FLAG,                                                                                             \
   .offset = offsetof(cli_clir_args, o.weighted),                                                                      \
   .help = "multiply a word's score by its cosine"},                                                                   \
      {.name = "csls",                                                                                                 \
       .type = CQ_OPTION_INT,                                                                                          \
       .argument = "K",                                                                                                \
       .offset = offsetof(cli_clir_args, o.csls),                                                                      \
       .max = 100,                                                                                                     \
       .help = "correct for words that are near to all, by their K nearest; 0: do not"},                               \
      {.name = "keep-words",                                                                                           \
       .type = CQ_OPTION_FLAG,                                                                                         \
       .offset = offsetof(cli_clir_args, o.keep_words),                                                                \
       .help = "search for the query's own words, too"},                                                               \
      {.name = "mu",                                                                                                   \
       .type = CQ_OPTION_NUMBER,                                                                                       \
       .argument = "X",                                                                                                \
       .offset = offsetof(cli_clir_args, o.ranking.mu),                                                                \
       .otherwise = "2500",                                                                                            \
       .help = "the weight of the collection in a document's language model"},                                         \
      CLI_RUN_TOP(cli_clir_args, top, "topic")

#define CLI_CLIR_WEIGHT_OPTIONS                                                                                        \
  {.name = "idf",                                                                                                      \
   .type = CQ_OPTION_FLAG,                                                                                             \
   .offset = offsetof(cli_clir_args, o.idf),                                                                           \
   .help = "multiply a word's score by how rare the query's word that it is for is among its language's documents"},   \
  {                                                                                                                    \
    .name = "feedback", .type = CQ_OPTION_INT, .argument = "N", .offset = offsetof(cli_clir_args, o.feedback),         \
    .max = 10000,                                                                                                      \
    .help =                                                                                                            \
        "before translation, add the N words that the query's best documents in its own language have most of, as "    \
        "half of its weight; 0: none"                                                                                  \
  }

/* ---- options.c ---- */

void cli_clir_defaults(void *options);
/* What the library takes: args->o, with the options that are kept beside it. */
cq_clir_options cli_clir_options_of(const cli_clir_args *args);
cq_clir_folds cli_clir_folds_of(const cli_clir_args *args);

/* These two say what is wrong on standard error, before anything is learned, and return an exit code. */
int cli_clir_check_tag(const char *tag);
/* What is said of vectors goes unheard where there are none: rather refused than passed over. */
int cli_clir_check_no_vectors(const cli_call *call);

enum { CLI_CLIR_MOST_LANGUAGES = 32 };

typedef struct cli_collections {
  cq_clir *clir;
  cq_clir_language languages[CLI_CLIR_MOST_LANGUAGES];
  char *texts[CLI_CLIR_MOST_LANGUAGES * 5];
  size_t n, n_texts;
} cli_collections;

/* Opens the collections that the options name, into *c, which is zeroed before; says why not on standard error. What
 * was opened until then is closed by cli_collections_close, too. */
int cli_collections_open(cli_collections *c, const cli_clir_sources *sources, cq_context *ctx);
void cli_collections_close(cli_collections *c);

#endif
