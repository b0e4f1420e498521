/* The parts of a command, and what the framework provides.
 *
 *   argv ──▶ main.c: table of commands ──▶ command_options.c: fills the library's structs and the command's ──▶ run()
 *                         │                     ▲
 *                         └── help.c ───────────┘  the same tables produce the help text
 *
 * A command is one file. The options of the library function that it calls come from the library's table (`groups`,
 * calque/options.h), the only place for name, type, range, default and help. The command's own options, for example the
 * number of threads, are a struct, which begins with its size, and a table of the same kind of rows.
 *
 *   struct args { size_t size; int threads; };
 *   static const cq_option options[] = { CLI_THREADS(struct args, threads) };
 *   static int run(const cli_call *call) {
 *     const struct args *args = call->options;
 *     const cq_thing_options *o = call->library; ...
 *     return CLI_OK;
 *   }
 *   const cli_command cli_thing = {.name = "thing", .summary = "...", CLI_GROUP(&cq_group_thing),
 *                                  CLI_OPTIONS(struct args, options), .run = run};
 *
 * Data goes to standard output, everything else to standard error. */
#ifndef CLI_FRAME_COMMAND_H
#define CLI_FRAME_COMMAND_H

#include "calque/calque.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes. CLI_NO_BETTER: training ended with a model that is no better than the initial one, or collapsed; 'align'
 * found documents that are not translations of each other. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_NO_BETTER = 3 };
enum { CLI_MAX_GROUPS = 5 }; /* of the library's, in a command */

/* Values of a repeatable option; the option's row has the offsets of both fields. */
typedef struct cli_list {
  const char *const *items;
  size_t n;
} cli_list;

typedef struct cli_command cli_command;

/* A call's values by name: the library's options, if any, the command's own, and those of other groups. */
typedef struct cli_values {
  cq_option_group whole, own;
  cq_option_part parts[2], parts_of_own[CLI_MAX_GROUPS];
  cq_options *options;
  void *of_library, *of_command; /* structs; of_library NULL: the command has no group at CLI_LIBRARY */
} cli_values;

/* A line of a list in help: "  NAME ARGUMENTS   text". */
typedef struct cli_list_item {
  const char *name, *arguments, *text;
} cli_list_item;

/* One run of a command. */
typedef struct cli_call {
  const cli_command *program; /* all commands are below it */
  const cli_command *command;
  const char *path;    /* "calque model new" */
  void *library;       /* the filled struct of the group at CLI_LIBRARY; NULL: none */
  const void *options; /* the command's own struct, filled */
  const char *const *arguments;
  size_t n_arguments;
  const cli_values *values; /* both, by name */
  int argc;                 /* as the program was started, for messages that repeat it */
  char **argv;
} cli_call;

struct cli_command {
  const char *name;
  const char *summary;                        /* one line, in the list of commands */
  const char *arguments;                      /* for the usage line: "A B [FILE]"; NULL: none */
  int min_arguments;                          /* how many of them there must be */
  int max_arguments;                          /* and may be; -1: any number */
  const char *description;                    /* a paragraph or more of help */
  const char *example;                        /* lines as they are typed, without indentation */
  const char *list_title;                     /* of a list in help; NULL: none */
  bool (*list)(cli_list_item *out, size_t i); /* the list's i-th item; false: there are no more */
  /* Groups of the library's options that the command takes; an entry without a group ends the list. offset: of the
   * pointer to the group's struct in the command's own struct, or CLI_LIBRARY. left_out: options that arguments or the
   * command itself set. NULL: none */
  const cq_option_part *groups;
  const cq_option *options; /* its own */
  size_t n_options;
  size_t options_size;
  bool takes_ranks; /* mpirun may start several of it (calque/ranks.h) */
  int (*run)(const cli_call *call);
  const cli_command *const *children; /* for a group: its commands, NULL-terminated; above, only name and texts are
                                       * set */
  const cli_command *lab;             /* the first child that is a research method; NULL: there is none */
};

#define CLI_LIBRARY SIZE_MAX
/* CLI_GROUP(&cq_group_thing, .left_out = as_arguments): the group of the library's function that the command calls. */
#define CLI_GROUP(...)                                                                                                 \
  .groups = (const cq_option_part[]) {                                                                                 \
    {.offset = CLI_LIBRARY, .group = __VA_ARGS__}, {                                                                   \
      0                                                                                                                \
    }                                                                                                                  \
  }
/* The arguments of the usage line, how many there must be, and how many there may be (-1: any number). */
#define CLI_ARGUMENTS(text, min, max) .arguments = (text), .min_arguments = (min), .max_arguments = (max)
#define CLI_OPTIONS(owner, table)                                                                                      \
  .options = (table), .n_options = sizeof(table) / sizeof *(table), .options_size = sizeof(owner)

/* Options that many commands have, declared once. */
#define CLI_MODEL(owner, field)                                                                                        \
  {                                                                                                                    \
    .name = "model", .letter = 'm', .type = CQ_OPTION_TEXT, .flags = CQ_OPTION_REQUIRED, .argument = "MODEL",          \
    .offset = offsetof(owner, field),                                                                                  \
    .help = "the model: a directory, a name in the local Hugging Face cache, or small or base, which calque ships"     \
  }
#define CLI_MODEL_OR_SHIPPED(owner, field)                                                                             \
  {                                                                                                                    \
    .name = "model", .letter = 'm', .type = CQ_OPTION_TEXT, .argument = "MODEL", .text = CQ_DEFAULT_MODEL,             \
    .offset = offsetof(owner, field),                                                                                  \
    .help = "the model: a directory, a name in the local Hugging Face cache, or small or base, which calque ships"     \
  }
#define CLI_THREADS(owner, field)                                                                                      \
  {                                                                                                                    \
    .name = "threads", .letter = 't', .type = CQ_OPTION_INT, .argument = "N", .offset = offsetof(owner, field),        \
    .max = 1024, .otherwise = "one per processor", .help = "threads to compute with; results do not depend on it"      \
  }
/* Own options of a command that has no other. */
typedef struct cli_threads_args {
  size_t size;
  int threads;
} cli_threads_args;
extern const cq_option cli_threads_options[1];
#define CLI_THREADS_ONLY .options = cli_threads_options, .n_options = 1, .options_size = sizeof(cli_threads_args)
#define CLI_BATCH(owner, field)                                                                                        \
  {                                                                                                                    \
    .name = "batch", .letter = 'b', .type = CQ_OPTION_INT, .argument = "N", .offset = offsetof(owner, field),          \
    .min = 1, .max = 1 << 20, .number = 1024, .help = "lines held in memory at a time; results do not depend on it"    \
  }
#define CLI_SKIP_BAD(owner, field)                                                                                     \
  {                                                                                                                    \
    .name = "skip-bad", .type = CQ_OPTION_FLAG, .offset = offsetof(owner, field),                                      \
    .help = "count malformed lines and continue, instead of failing at the first"                                      \
  }
/* Options of what writes TREC runs. */
#define CLI_RUN_TOP(owner, field, each)                                                                                \
  {                                                                                                                    \
    .name = "top", .letter = 'k', .type = CQ_OPTION_INT, .argument = "N", .offset = offsetof(owner, field), .min = 1,  \
    .max = 1000000, .number = 1000, .help = "documents for each " each                                                 \
  }
#define CLI_RUN_TAG(owner, field)                                                                                      \
  {                                                                                                                    \
    .name = "tag", .type = CQ_OPTION_TEXT, .argument = "NAME", .offset = offsetof(owner, field), .text = "calque",     \
    .help = "the run's name, its last column"                                                                          \
  }
#define CLI_JSON(owner, field)                                                                                         \
  { .name = "json", .type = CQ_OPTION_FLAG, .offset = offsetof(owner, field), .help = "print JSON, for machines" }
/* Of commands that print a table; field is a cli_tables, which cli_tables_format (report.h) reads. */
typedef struct cli_tables {
  int format;
  bool csv, json;
} cli_tables;
extern const char *const cli_table_formats[]; /* by cli_table_format (report.h) */
#define CLI_TABLES(owner, field)                                                                                       \
  CLI_JSON(owner, field.json), {CQ_FLAG(owner, "csv", field.csv, KEEPS, "print comma-separated values: --table csv")}, \
  {                                                                                                                    \
    CQ_CHOICE(                                                                                                         \
        owner, "table", field.format, KEEPS, 0, cli_table_formats, "FORMAT",                                           \
        "print the table as aligned text, comma-separated values with all digits, Markdown, or LaTeX (booktabs)")      \
  }

/* ---- open_model.c ---- */

extern const char *const cli_precisions[]; /* by cq_precision */
#define CLI_PRECISION(owner, field)                                                                                    \
  {                                                                                                                    \
    CQ_CHOICE(owner, "precision", field, CHANGES, CQ_PRECISION_DEFAULT, cli_precisions, "TYPE",                        \
              "multiply in this precision"),                                                                           \
        .otherwise = "CALQUE_PRECISION, else the model's"                                                              \
  }

#define CLI_RERANK(owner, field)                                                                                       \
  {                                                                                                                    \
    CQ_TEXT(owner, "rerank", field, CHANGES, "MODEL",                                                                  \
            "order the first documents by this reranker (a cross-encoder with one logit), whose logits become the "    \
            "scores"),                                                                                                 \
        .otherwise = "none"                                                                                            \
  }

/* Opens a model; reports errors on standard error. options NULL: the defaults; its notice is set here. */
int cli_open_model(cq_encoder **out, const char *name, const cq_encoder_options *options);
/* The same, but a reranker is opened as one; it is refused if `reranker` is NULL. */
int cli_open_measured(cq_encoder **out, cq_reranker **reranker, const char *name, const cq_encoder_options *options);
/* Notes truncated pairs, if there are any. reranker NULL: there were none. */
void cli_note_reranked(const cq_encode_stats *stats, const cq_reranker *reranker);
int cli_open_context(cq_context **out, int n_threads);
/* The '=' after the label of "[LABEL=]FILE"; NULL: no label, or a file with the whole name exists. */
const char *cli_label_end(const char *argument);
/* The label of "[LABEL=]FILE", and its file; without a label, the name of the file, up to ".tsv", or directory. The caller frees the label;
 * NULL: out of memory. */
char *cli_split_label(const char **file, const char *argument);

/* ---- command_options.c ---- */

/* All options of a command with their defaults. Returns CLI_OK or CLI_FAILED; free them even after an error. */
int cli_values_new(cli_values *out, const cli_command *command);
void cli_values_free(cli_values *values);

/* Fills `values` from argv[0..argc); everything else goes to arguments [*n_arguments], which has room for argc. Returns
 * CLI_OK, or CLI_USAGE after printing the error on standard error. *help is set if --help was given. */
int cli_options_parse(const cli_command *command, const char *path, cli_values *values, int argc, char **argv,
                      const char **arguments, size_t *n_arguments, bool *help);
/* Whether the library function would accept the values: CLI_OK, or CLI_USAGE after printing the error. Commands call it
 * after they have set values from arguments. */
int cli_check_options(const cli_call *call);
/* Whether an option was given, with any value; false if the command does not have the option. */
bool cli_given(const cli_call *call, const char *name);

/* ---- help.c ---- */

void cli_help(const cli_command *command, const char *path);
/* The help on an option: its text, choices, default and, if requested, the range of a number. The caller frees it;
 * NULL: out of memory. */
char *cli_option_text(const cq_option *row, const cq_options *values, bool with_range);
/* The choices of an option, NULL-terminated; NULL: it is not a choice. */
const char *const *cli_option_choices(const cq_option *row);

#endif
