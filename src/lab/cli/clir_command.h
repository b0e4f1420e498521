/* Shared by the files of `calque clir`: its commands, and options that several of them have besides the library's.
 *
 *   clir.c       the group, and the commands for vectors: build, expand, run
 *   validate.c   the same over folds of topics: validate
 *   runs.c       dense runs, and the fusion of runs: dense, fuse */
#ifndef LAB_CLI_CLIR_COMMAND_H
#define LAB_CLI_CLIR_COMMAND_H

#include "calque/lab/clir.h"
#include "cli/frame/command.h"

extern const cli_command cli_clir_validate, cli_clir_dense, cli_clir_fuse;

/* Arguments of build, expand, run and validate; each declares only the ones it uses. */
typedef struct cli_clir_args {
  size_t size;
  const cq_clir_sources *sources;
  const cq_clir_folds *folds;
  cq_clir_options *clir; /* for validate; the library's group is that of the validation */
  const char *from, *to, *tag;
  int method, fold, threads;
  bool json;
} cli_clir_args;

extern const char *const cli_clir_methods[]; /* cq_clir_method's, and one: */
enum { CLI_CLIR_COGNATES = 3 };

/* The end of an example: the collections. */
#define CLI_CLIR_EXAMPLE                                                                                               \
  " \\\n    --languages en,hi --docs docs.%.trec --topics topics.%.xml \\\n    --qrels qrels.%.txt --stop-words "      \
  "stop.%.txt"

#define CLI_CLIR_BETWEEN_OPTIONS                                                                                       \
  {CQ_TEXT(cli_clir_args, "from", from, CHANGES, "CODE", "the language of the queries"), .flags = CQ_OPTION_REQUIRED}, \
  {                                                                                                                    \
    CQ_TEXT(cli_clir_args, "to", to, CHANGES, "CODE", "the language of the documents"), .flags = CQ_OPTION_REQUIRED    \
  }

/* more: text about the last method. */
#define CLI_CLIR_METHOD_OPTION(more)                                                                                   \
  {                                                                                                                    \
    CQ_CHOICE(cli_clir_args, "method", method, CHANGES, CQ_CLIR_TERMS, cli_clir_methods, "METHOD",                     \
              "translate each word of the query to its nearest words (terms), or the sum of its words to the nearest " \
              "words (sum); rank documents by the sum of their word vectors (documents); or match words that are "     \
              "spelled alike in both languages (cognates): transliteration-based matching" more),                      \
        .letter = 'm'                                                                                                  \
  }

#define CLI_CLIR_HOLD_OUT_OPTION(help, none)                                                                           \
  { CQ_INT(cli_clir_args, "hold-out", fold, CHANGES, 0, 0, 1000, "FOLD", help), .otherwise = none }

/* Opens the collections; prints errors, and a warning about judgements of missing documents. */
int cli_clir_open(cq_clir **out, const cli_clir_args *args, cq_context *ctx);
/* Warns on standard error if nothing was learned about letters. */
void cli_clir_note_letters(const cq_clir_cognates *cognates);
/* These two report errors on standard error before any training, and return an exit code. */
int cli_clir_check_tag(const char *tag);
/* Options for vectors have no effect without vectors, so they are refused rather than ignored. */
int cli_clir_check_no_vectors(const cli_call *call);

#endif
