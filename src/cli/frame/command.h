/* What a command of the program is made of, and what the framework gives it.
 *
 *   argv ──▶ main.c: table of commands ──▶ options.c: fills the command's own struct ──▶ run()
 *                         │                     ▲
 *                         └── help.c ───────────┘  the same declarations make the help text
 *
 * A command is one file: a struct of its option values, a table of cli_option that points into it, a function that sets
 * the defaults, a function that runs, and one `const cli_command`, which main.c lists. Defaults that help shows are
 * read from the struct, so each stands in one place only.
 *
 *   struct args { const char *model; int threads; };
 *   static const cli_option options[] = { CLI_MODEL(struct args, model), CLI_THREADS(struct args, threads) };
 *   static int run(const cli_call *call) { const struct args *args = call->options; ... return CLI_OK; }
 *   const cli_command cli_thing = {.name = "thing", .summary = "...", CLI_OPTIONS(struct args, options), .run = run};
 *
 * Data goes to standard output, everything else to standard error. */
#ifndef CLI_FRAME_COMMAND_H
#define CLI_FRAME_COMMAND_H

#include "calque/calque.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 }; /* exit codes */
enum { CLI_MOST_OPTIONS = 128 };                    /* of a command */

typedef enum cli_type {
  CLI_FLAG,   /* bool; takes no value */
  CLI_INT,    /* int */
  CLI_COUNT,  /* uint64_t */
  CLI_NUMBER, /* double */
  CLI_TEXT,   /* const char *, borrowed from argv */
  CLI_CHOICE, /* an enum: the index into `choices` */
  CLI_ANSWER, /* bool, from "no" or "yes" */
  CLI_LIST,   /* cli_list; the option may be given again and again */
} cli_type;

typedef struct cli_list {
  const char **items;
  size_t n;
} cli_list;

typedef struct cli_option {
  const char *name; /* without dashes */
  char letter;      /* of the short form; 0: none */
  cli_type type;
  bool required;
  const char *argument;       /* what help calls the value: "FILE" */
  size_t offset;              /* of the value in the command's struct */
  double least, greatest;     /* numbers: the range allowed; greatest 0: no bound above */
  const char *const *choices; /* CLI_CHOICE: names, NULL-terminated */
  const char *default_text;   /* shown instead of the value; "" shows none */
  const char *help;
} cli_option;

typedef struct cli_command cli_command;

/* Of a list in help: "  NAME ARGUMENTS   text". */
typedef struct cli_list_item {
  const char *name, *arguments, *text;
} cli_list_item;

/* One run of a command. */
typedef struct cli_call {
  const cli_command *command;
  const char *path;    /* "calque model new" */
  const void *options; /* the command's struct, filled */
  const char *const *arguments;
  size_t n_arguments;
  const bool *given; /* which options were there, in cli_option_at's order */
  int argc;          /* as the program was started, for messages that repeat it */
  char **argv;
} cli_call;

struct cli_command {
  const char *name;
  const char *summary;                        /* one line, in the list of commands */
  const char *arguments;                      /* for the usage line: "A B [FILE]"; NULL: none */
  int least_arguments;                        /* how many of them there must be */
  int most_arguments;                         /* and may be; -1: any number */
  const char *description;                    /* a paragraph or more of help */
  const char *example;                        /* lines as they are typed, without indentation */
  const char *list_title;                     /* of a list in help; NULL: there is none */
  bool (*list)(cli_list_item *out, size_t i); /* the list's i-th item; false: there are no more */
  const cli_option *options;
  size_t n_options;
  const cli_option *more_options; /* those it has in common with a command whose struct its own begins with */
  size_t n_more_options;
  size_t options_size;
  void (*defaults)(void *options); /* the struct is zeroed before; NULL: zeros are the defaults */
  int (*run)(const cli_call *call);
  const cli_command *const *children; /* a group: NULL-terminated, and none of the above but name and texts */
};

#define CLI_OPTIONS(owner, table)                                                                                      \
  .options = (table), .n_options = sizeof(table) / sizeof *(table), .options_size = sizeof(owner)

/* Options that many commands have, declared once. */
#define CLI_MODEL(owner, field)                                                                                        \
  {                                                                                                                    \
    .name = "model", .letter = 'm', .type = CLI_TEXT, .required = true, .argument = "MODEL",                           \
    .offset = offsetof(owner, field), .help = "the model: a directory, or a name in the local Hugging Face cache"      \
  }
#define CLI_THREADS(owner, field)                                                                                      \
  {                                                                                                                    \
    .name = "threads", .letter = 't', .type = CLI_INT, .argument = "N", .offset = offsetof(owner, field),              \
    .greatest = 1024, .default_text = "one per processor",                                                             \
    .help = "threads to compute with; results do not depend on it"                                                     \
  }
#define CLI_PROMPT(owner, field)                                                                                       \
  {                                                                                                                    \
    .name = "prompt", .type = CLI_TEXT, .argument = "TEXT", .offset = offsetof(owner, field),                          \
    .default_text = "the model's", .help = "put this before every sentence"                                            \
  }
#define CLI_BATCH(owner, field)                                                                                        \
  {                                                                                                                    \
    .name = "batch", .letter = 'b', .type = CLI_INT, .argument = "N", .offset = offsetof(owner, field), .least = 1,    \
    .greatest = 1 << 20, .help = "lines held in memory at a time; results do not depend on it"                         \
  }
#define CLI_MAX_LENGTH(owner, field)                                                                                   \
  {                                                                                                                    \
    .name = "max-length", .type = CLI_INT, .argument = "TOKENS", .offset = offsetof(owner, field),                     \
    .default_text = "the model's", .help = "cut sentences after this many tokens, special ones included"               \
  }
/* Options of what reads sentences with a model or vectors without: what lacks a model, and help that names the files.
 * */
#define CLI_MODEL_OR_VECTORS(owner, field, without)                                                                    \
  {                                                                                                                    \
    .name = "model", .letter = 'm', .type = CLI_TEXT, .argument = "MODEL", .offset = offsetof(owner, field),           \
    .default_text = without, .help = "encodes the sentences: a directory, or a name in the local Hugging Face cache"   \
  }
#define CLI_FIRST_PASS(owner, field, text)                                                                             \
  {                                                                                                                    \
    .name = "first-pass", .type = CLI_CHOICE, .argument = "TYPE", .offset = offsetof(owner, field),                    \
    .choices = cli_first_passes, .help = text                                                                          \
  }
#define CLI_RAW_DIM(owner, field, text)                                                                                \
  {                                                                                                                    \
    .name = "dim", .type = CLI_INT, .argument = "N", .offset = offsetof(owner, field), .least = 1,                     \
    .greatest = 1 << 20, .default_text = "a .npy file says it", .help = text                                           \
  }
#define CLI_VECTOR_CACHE(owner, field, text)                                                                           \
  {                                                                                                                    \
    .name = "cache", .type = CLI_TEXT, .argument = "DIR", .offset = offsetof(owner, field),                            \
    .default_text = "~/.cache/calque", .help = text                                                                    \
  }
#define CLI_SKIP_BAD(owner, field)                                                                                     \
  {                                                                                                                    \
    .name = "skip-bad", .type = CLI_FLAG, .offset = offsetof(owner, field),                                            \
    .help = "count malformed lines and go on, instead of failing at the first"                                         \
  }
/* Options of what writes TREC runs. */
#define CLI_RUN_TOP(owner, field, each)                                                                                \
  {                                                                                                                    \
    .name = "top", .letter = 'k', .type = CLI_INT, .argument = "N", .offset = offsetof(owner, field), .least = 1,      \
    .greatest = 1000000, .help = "documents for each " each                                                            \
  }
#define CLI_RUN_TAG(owner, field)                                                                                      \
  {                                                                                                                    \
    .name = "tag", .type = CLI_TEXT, .argument = "NAME", .offset = offsetof(owner, field),                             \
    .help = "the run's name, its last column"                                                                          \
  }
#define CLI_JSON(owner, field)                                                                                         \
  { .name = "json", .type = CLI_FLAG, .offset = offsetof(owner, field), .help = "print JSON, for machines" }

extern const char *const cli_answers[];      /* no, yes */
extern const char *const cli_first_passes[]; /* in cq_first_pass's order */

/* ---- open.c ---- */

/* Opens a model with the options that commands have for it; says why not on standard error. max_length 0: the
 * model's. */
int cli_open_model(cq_encoder **out, const char *name, int max_length);
int cli_open_context(cq_context **out, int n_threads);
/* Where the label of "[LABEL=]FILE" ends, its '='; NULL: there is none. A file of exactly that name is meant as it
 * is. */
const char *cli_label_end(const char *argument);

/* ---- options.c ---- */

/* Fills `values` from argv[0..argc), and given [CLI_MOST_OPTIONS] with which options were there; what is no option goes
 * to arguments (room for argc), counted in *n_arguments. Returns CLI_OK, or CLI_USAGE after saying why on standard
 * error. *help is set when --help was among them. */
int cli_options_parse(const cli_command *command, const char *path, void *values, int argc, char **argv, bool *given,
                      const char **arguments, size_t *n_arguments, bool *help);
/* All options of a command: its own, then those it shares. */
size_t cli_option_count(const cli_command *command);
const cli_option *cli_option_at(const cli_command *command, size_t i);
/* Whether an option was there, whatever its value; one that the command has not was not. */
bool cli_given(const cli_call *call, const char *name);
void cli_options_free(const cli_command *command, void *values);

/* Strict numbers: the whole text, nothing before or after, finite. */
bool cli_parse_number(double *out, const char *text);
bool cli_parse_count(uint64_t *out, const char *text);

/* ---- help.c ---- */

void cli_help(const cli_command *command, const char *path);

/* ---- nearest.c ---- */

/* Of n names, the one nearest to a misspelt word; NULL when none is near. `name(context, i)` gives the i-th. */
const char *cli_nearest(const char *word, const char *(*name)(const void *context, size_t i), const void *context,
                        size_t n);

#endif
