/* calque index new | add | remove | approximate | info | check: documents to be searched by meaning. Searching them is
 * search.c. */
#include "cli/encode/sentences.h"
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- new --- */

struct new_args {
  size_t size;
  const char *model;
};

static const cq_option new_options[] = {CLI_MODEL(struct new_args, model)};

static int run_index_new(const cli_call *call) {
  const struct new_args *args = call->options;
  cq_index_options o = cq_index_default_options();
  cq_error error = {0};
  o.model = args->model, o.notice = cli_notice;
  if (cq_index_create(call->arguments[0], &o, &error)) return cli_fail_error(&error);
  cli_note("made %s for the model %s", call->arguments[0], args->model);
  return CLI_OK;
}

static const cli_command index_new = {
    .name = "new",
    .summary = "make an empty index for a model",
    .arguments = "INDEX",
    .min_arguments = 1,
    .max_arguments = 1,
    .description = "Makes an empty index. It belongs to its model: documents and queries are encoded with it.",
    .example = "calque index new --model multilingual news.index",
    CLI_OPTIONS(struct new_args, new_options),
    .run = run_index_new,
};

/* --- add --- */

struct add_args {
  size_t size;
  const char *model, *language;
  int batch, threads, precision;
  bool ids, skip_bad;
};

#define MODEL_OF_INDEX(owner)                                                                                          \
  {                                                                                                                    \
    .name = "model", .letter = 'm', .type = CQ_OPTION_TEXT, .argument = "MODEL", .offset = offsetof(owner, model),     \
    .otherwise = "the name it was made with", .help = "where the index's model is now"                                 \
  }

static const cq_option add_options[] = {
    MODEL_OF_INDEX(struct add_args),
    CLI_PRECISION(struct add_args, precision),
    {.name = "language",
     .letter = 'l',
     .type = CQ_OPTION_TEXT,
     .argument = "CODE",
     .offset = offsetof(struct add_args, language),
     .text = "",
     .otherwise = "none",
     .help = "the documents' language, so that a search can be limited to it"},
    {.name = "ids",
     .type = CQ_OPTION_FLAG,
     .offset = offsetof(struct add_args, ids),
     .help = "lines are an id, a tab and a text; else ids are FILE:LINE"},
    CLI_SKIP_BAD(struct add_args, skip_bad),
    CLI_BATCH(struct add_args, batch),
    CLI_THREADS(struct add_args, threads),
};

/* Opens the index that the first argument names. adding: NULL unless documents are to be encoded. */
static cq_status open_index(cq_index **out, const cli_call *call, const struct add_args *adding, bool writing,
                            cq_error *error) {
  cq_index_options o = cq_index_default_options();
  if (adding) o.model = adding->model, o.precision = (cq_precision)adding->precision;
  o.writing = writing, o.notice = cli_notice;
  return cq_index_open(out, call->arguments[0], &o, error);
}

typedef struct adding {
  const struct add_args *args;
  cq_index *index;
  cq_context *ctx;
  cli_sentences in;
  cq_document *documents; /* [batch] */
  char (*names)[512];     /* [batch], ids that are made here */
  uint64_t n_added, n_blank;
} adding;

static bool is_blank(cq_slice text) {
  size_t i = 0;
  while (i < text.n && strchr(" \t\r\f\v", text.data[i])) i++;
  return i == text.n;
}

/* Leaves blank lines out of the chunk: a document of nothing would be near every query. */
static void drop_blanks(adding *a) {
  cli_sentences *in = &a->in;
  const size_t columns = (size_t)in->n_columns;
  size_t n = 0;
  for (size_t i = 0; i < in->n; i++) {
    if (is_blank(in->slices[columns * (i + 1) - 1])) continue;
    memmove(in->slices + columns * n, in->slices + columns * i, columns * sizeof *in->slices);
    in->places[n++] = in->places[i];
  }
  a->n_blank += in->n - n;
  a->n_added += n;
  in->n = n;
}

/* An object a line is data about a document, not its text. */
static bool is_json_line(cq_slice text) {
  size_t begin = 0, end = text.n;
  while (begin < end && (text.data[begin] == ' ' || text.data[begin] == '\t')) begin++;
  while (end > begin && (text.data[end - 1] == ' ' || text.data[end - 1] == '\t')) end--;
  return end - begin > 4 && text.data[begin] == '{' && text.data[end - 1] == '}' &&
         memchr(text.data + begin, '"', end - begin) && memchr(text.data + begin, ':', end - begin);
}

static int refuse_json(const adding *a) {
  if (a->n_added > a->in.n || !is_json_line(a->in.slices[(size_t)a->in.n_columns - 1])) return CLI_OK;
  return cli_fail("%s:%" PRIu64 ": looks like JSON lines: an index takes lines of text, or of an id, a tab and a text "
                  "(--ids)",
                  a->in.places[0].path, a->in.places[0].line);
}

/* The chunk at hand. */
static int add_index_chunk(adding *a) {
  cq_error error = {0};
  for (size_t i = 0; i < a->in.n; i++) {
    cq_document *d = &a->documents[i];
    d->language = (cq_slice){a->args->language, strlen(a->args->language)};
    if (a->args->ids) {
      d->id = a->in.slices[2 * i], d->text = a->in.slices[2 * i + 1];
      continue;
    }
    const cli_place *place = &a->in.places[i];
    const int n = snprintf(a->names[i], sizeof a->names[i], "%s:%" PRIu64,
                           strcmp(place->path, "-") ? place->path : "<stdin>", place->line);
    if (n >= (int)sizeof a->names[i]) return cli_fail("%s: the path is too long for an id", place->path);
    d->id = (cq_slice){a->names[i], (size_t)n}, d->text = a->in.slices[i];
  }
  return cq_index_add(a->index, a->documents, a->in.n, a->ctx, &error) ? cli_sentences_fail(&a->in, &error) : CLI_OK;
}

static int add_all(adding *a) {
  cq_error error = {0};
  cli_progress progress = cli_progress_start();
  const size_t before = cq_index_size(a->index);
  int code = CLI_OK;
  while (code == CLI_OK) {
    if (cli_sentences_next(&a->in, &error)) code = cli_sentences_fail(&a->in, &error);
    if (code || a->in.n == 0) break;
    drop_blanks(a);
    if (a->in.n > 0) code = refuse_json(a);
    if (code == CLI_OK) code = add_index_chunk(a);
    cli_progress_draw(&progress, "added", a->in.n_read, 0, "", false);
  }
  cli_progress_clear(&progress);
  if (code == CLI_OK && a->in.n_skipped) cli_note("%" PRIu64 " malformed lines were skipped", a->in.n_skipped);
  if (code == CLI_OK && a->n_blank) cli_note("%" PRIu64 " blank lines were left out", a->n_blank);
  if (code == CLI_OK && cq_index_commit(a->index, &error)) code = cli_fail_error(&error);
  if (code) return code;
  const size_t after = cq_index_size(a->index), n_replaced = before + (size_t)a->n_added - after;
  char replaced[64] = "";
  if (n_replaced) snprintf(replaced, sizeof replaced, " (%zu replaced)", n_replaced);
  cli_note("added %" PRIu64 " document%s%s, the index has %zu", a->n_added, a->n_added == 1 ? "" : "s", replaced,
           after);
  return code;
}

static int run_index_add(const cli_call *call) {
  const struct add_args *args = call->options;
  cq_error error = {0};
  adding a = {.args = args,
              .in = {.paths = call->arguments + 1,
                     .n_paths = call->n_arguments - 1,
                     .columns = {args->ids ? 1 : 0, 2},
                     .n_columns = args->ids ? 2 : 1,
                     .rows = (size_t)args->batch,
                     .skip_bad = args->skip_bad}};
  int code = cli_open_context(&a.ctx, args->threads);
  if (code == CLI_OK && open_index(&a.index, call, args, true, &error)) code = cli_fail_error(&error);
  if (code == CLI_OK) {
    a.documents = calloc(a.in.rows, sizeof *a.documents);
    a.names = calloc(a.in.rows, sizeof *a.names);
    code = a.documents && a.names ? add_all(&a) : cli_fail("out of memory");
  }
  cli_sentences_close(&a.in);
  free(a.documents);
  free(a.names);
  cq_index_free(a.index);
  cq_context_free(a.ctx);
  return code;
}

static const cli_command index_add = {
    .name = "add",
    .summary = "add documents, a line each",
    .arguments = "INDEX [FILE...]",
    .min_arguments = 1,
    .max_arguments = -1,
    .description =
        "Adds one document for each line of the files, plain or compressed, or of standard input. A document "
        "replaces an earlier one with the same id. If anything fails, none is added.",
    .example = "calque index add news.index --language de news.de.gz",
    CLI_OPTIONS(struct add_args, add_options),
    .run = run_index_add,
};

/* --- remove --- */

static int run_index_remove(const cli_call *call) {
  const size_t n = call->n_arguments - 1;
  cq_error error = {0};
  cq_index *index = NULL;
  size_t n_removed = 0;
  int code = CLI_OK;
  if (open_index(&index, call, NULL, true, &error)) code = cli_fail_error(&error);
  for (size_t i = 0; i < n && code == CLI_OK; i++) {
    const cq_slice id = {call->arguments[i + 1], strlen(call->arguments[i + 1])};
    size_t is_removed = 0;
    if (cq_index_remove(index, &id, 1, &is_removed, &error)) code = cli_fail_error(&error);
    if (code == CLI_OK && !is_removed) cli_note("there is no document '%s'", call->arguments[i + 1]);
    n_removed += is_removed;
  }
  if (code == CLI_OK && cq_index_commit(index, &error)) code = cli_fail_error(&error);
  if (code == CLI_OK)
    cli_note("removed %zu of %zu document%s, the index has %zu", n_removed, n, n == 1 ? "" : "s", cq_index_size(index));
  cq_index_free(index);
  return code;
}

static const cli_command index_remove = {
    .name = "remove",
    .summary = "remove documents by id",
    .arguments = "INDEX ID...",
    .min_arguments = 2,
    .max_arguments = -1,
    .description = "Removes documents by their ids, which 'calque search' prints.",
    .example = "calque index remove news.index news.de.gz:17",
    .run = run_index_remove,
};

/* --- approximate --- */

struct approximate_args {
  size_t size;
  int method, threads;
};

static const char *const methods[] = {"none", "ivf", "hnsw", NULL}; /* in cq_approximation's order */

static const cq_option approximate_options[] = {
    {.name = "method",
     .type = CQ_OPTION_CHOICE,
     .argument = "METHOD",
     .choices = methods,
     .number = CQ_APPROXIMATE_HNSW,
     .offset = offsetof(struct approximate_args, method),
     .help = "hnsw: graph, fast to search; ivf: inverted lists, fast to build; none: exact search again"},
    CLI_THREADS(struct approximate_args, threads),
};

static int run_index_approximate(const cli_call *call) {
  const struct approximate_args *args = call->options;
  cq_error error = {0};
  cq_index *index = NULL;
  cq_context *ctx = NULL;
  int code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK &&
      (open_index(&index, call, NULL, true, &error) ||
       cq_index_approximate(index, (cq_approximation)args->method, ctx, &error) || cq_index_commit(index, &error)))
    code = cli_fail_error(&error);
  if (code == CLI_OK && cq_index_approximated(index) == 0) cli_note("search is exact");
  if (code == CLI_OK && cq_index_approximated(index) > 0)
    cli_note("approximate search (ANN) over %zu vectors", cq_index_approximated(index));
  cq_index_free(index);
  cq_context_free(ctx);
  return code;
}

static const cli_command index_approximate = {
    .name = "approximate",
    .summary = "approximate nearest neighbours (ANN: HNSW, IVF), for millions of documents",
    .arguments = "INDEX",
    .min_arguments = 1,
    .max_arguments = 1,
    .description = "Builds a FAISS index for approximate nearest neighbours (ANN). ANN finds candidates without "
                   "comparing every vector, and calque computes their cosines exactly: scores are right, but some "
                   "neighbours may be missed (recall). Documents that are added later are searched exactly until the "
                   "command is run again. Needs calque's FAISS plugin, which is built where libfaiss is installed.",
    .example = "calque index approximate news.index --method ivf",
    CLI_OPTIONS(struct approximate_args, approximate_options),
    .run = run_index_approximate,
};

/* --- info --- */

static int run_index_info(const cli_call *call) {
  cq_error error = {0};
  cq_index *index;
  if (open_index(&index, call, NULL, false, &error)) return cli_fail_error(&error);
  printf("documents   %zu\ndimensions  %d\nmodel       %s\napproximate %zu\n", cq_index_size(index),
         cq_index_dim(index), cq_index_model(index), cq_index_approximated(index));
  cq_index_free(index);
  return CLI_OK;
}

static const cli_command index_info = {
    .name = "info",
    .summary = "show how much is in an index, and of which model",
    .arguments = "INDEX",
    .min_arguments = 1,
    .max_arguments = 1,
    .description = "Prints how many documents an index has, the dimension of their vectors, its model, and how many "
                   "vectors its approximation (ANN) covers, those of removed documents included.",
    .example = "calque index info news.index",
    .run = run_index_info,
};

/* --- check --- */

struct check_args {
  size_t size;
  int threads;
};

static const cq_option check_options[] = {CLI_THREADS(struct check_args, threads)};

static int run_index_check(const cli_call *call) {
  const struct check_args *args = call->options;
  cq_error error = {0};
  cq_index *index = NULL;
  cq_context *ctx = NULL;
  int code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK && (open_index(&index, call, NULL, false, &error) || cq_index_check(index, ctx, &error)))
    code = cli_fail_error(&error);
  if (code == CLI_OK) printf("%s: %zu documents, nothing is damaged\n", call->arguments[0], cq_index_size(index));
  cq_index_free(index);
  cq_context_free(ctx);
  return code;
}

static const cli_command index_check = {
    .name = "check",
    .summary = "verify the checksums of an index",
    .arguments = "INDEX",
    .min_arguments = 1,
    .max_arguments = 1,
    .description =
        "Compares documents, vectors, deletions and the approximation with their checksums. Exits with 1 and names "
        "file "
        "and document where something is damaged. A search verifies what it reads, so damage never changes results "
        "unnoticed.",
    .example = "calque index check news.index",
    CLI_OPTIONS(struct check_args, check_options),
    .run = run_index_check,
};

static const cli_command *const children[] = {&index_new,  &index_add,   &index_remove, &index_approximate,
                                              &index_info, &index_check, NULL};

const cli_command cli_index = {
    .name = "index",
    .summary = "document index for semantic search: new, add, remove, approximate, info, check",
    .description = "An index is a directory with documents and their vectors, for semantic search in any languages "
                   "(calque search). A change counts when it is complete: a process killed at any moment leaves the "
                   "index as it was. One process writes at a time; searching never waits.",
    .example = "calque index new --model multilingual news.index\n"
               "calque index add news.index --language de news.de.gz\n"
               "calque search news.index \"rising rents in the capital\"",
    .children = children,
};
