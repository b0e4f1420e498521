/* calque lexical build | search | run | terms | info: finds documents by their words. */
#include "calque/lab/lexical.h"
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- build --- */

static void draw_indexed(void *context, uint64_t n_documents) {
  cli_progress_draw(context, "indexed", n_documents, 0, "", false);
}

static int run_lexical_build(const cli_call *call) {
  const cli_threads_args *args = call->options;
  cli_progress progress = cli_progress_start();
  cq_lexical_build_options *o = call->library;
  cq_error error = {0};
  cq_context *ctx;
  cq_lexical *index = NULL;
  int code = cli_open_context(&ctx, args->threads);
  if (code) return code;
  o->progress = draw_indexed, o->progress_context = &progress;
  if (cq_lexical_build(call->arguments[0], call->arguments + 1, call->n_arguments - 1, o, ctx, &error) ||
      cq_lexical_open(&index, call->arguments[0], &error))
    code = CLI_FAILED;
  cli_progress_clear(&progress);
  if (code) {
    code = cli_fail_error(&error);
  } else {
    const cq_lexical_info *about = cq_lexical_about(index);
    cli_note("%" PRIu64 " documents, %" PRIu64 " terms, %" PRIu64 " different", about->n_documents,
             about->n_occurrences, about->n_terms);
  }
  cq_lexical_free(index);
  cq_context_free(ctx);
  return code;
}

static const cli_command lexical_build = {
    .name = "build",
    .summary = "index documents by their words",
    CLI_ARGUMENTS("INDEX FILE...", 2, -1),
    .description = "Reads files and directories, plain or compressed: TREC documents (<DOC><DOCNO>...), JSON lines "
                   "with \"id\" and \"text\", or lines of id, tab and text; the format is recognized by how a file "
                   "begins. Words are split at Unicode's word boundaries, with dictionaries for Chinese, Japanese and "
                   "Thai, normalized, lowercased, and stemmed if the language has a stemmer.",
    .example = "calque lexical build news.lexical --language de --stop-words de.txt news.trec.gz",
    CLI_GROUP(&cq_group_lexical_build),
    CLI_THREADS_ONLY,
    .run = run_lexical_build,
};

/* --- ranking --- */

static int run_lexical_search(const cli_call *call) {
  const cli_threads_args *args = call->options;
  const cq_lexical_options *o = call->library;
  cq_error error = {0};
  cq_context *ctx;
  cq_lexical *index = NULL;
  int code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK && cq_lexical_open(&index, call->arguments[0], &error)) code = cli_fail_error(&error);
  for (size_t i = 1; code == CLI_OK && i < call->n_arguments; i++) {
    cq_lexical_query query = {0};
    cq_lexical_hit *hits = NULL;
    const cq_slice text = {call->arguments[i], strlen(call->arguments[i])};
    if (cq_lexical_parse(&query, index, text, &error) || cq_lexical_search(&hits, index, &query, 1, o, ctx, &error))
      code = cli_fail_error(&error);
    if (code == CLI_OK && call->n_arguments > 2) printf("%s# %s\n", i > 1 ? "\n" : "", call->arguments[i]);
    for (size_t rank = 0; code == CLI_OK && rank < o->k && hits[rank].id.data; rank++)
      printf("%.4f\t%.*s\n", hits[rank].score, (int)hits[rank].id.n, hits[rank].id.data);
    cq_free(hits);
    cq_lexical_query_free(&query);
  }
  cq_lexical_free(index);
  cq_context_free(ctx);
  return code;
}

static const cli_command lexical_search = {
    .name = "search",
    .summary = "search an index of words by BM25 or query likelihood",
    CLI_ARGUMENTS("INDEX QUERY...", 2, -1),
    .description = "Ranks documents by query likelihood or BM25. Prints lines of score and id, separated by a tab, "
                   "best first.",
    .example = "calque lexical search news.lexical \"steigende Mieten in der Hauptstadt\"",
    CLI_GROUP(&cq_group_lexical),
    CLI_THREADS_ONLY,
    .run = run_lexical_search,
};

struct run_args {
  size_t size;
  const char *fields, *tag;
  int threads;
};

static const cq_option run_options[] = {
    {CQ_TEXT(struct run_args, "fields", fields, CHANGES, "LETTERS",
             "parts of a topic that form the query: t title, d description, n narrative"),
     .text = "t"},
    CLI_RUN_TAG(struct run_args, tag),
    CLI_THREADS(struct run_args, threads),
};

static void run_defaults(void *library) {
  ((cq_lexical_options *)library)->k = 1000;
}

static int run_lexical_run(const cli_call *call) {
  const struct run_args *args = call->options;
  cq_error error = {0};
  cq_context *ctx;
  cq_lexical *index = NULL;
  int code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK &&
      (cq_lexical_open(&index, call->arguments[0], &error) ||
       cq_lexical_run(NULL, index, call->arguments[1], args->fields, call->library, args->tag, ctx, &error)))
    code = cli_fail_error(&error);
  cq_lexical_free(index);
  cq_context_free(ctx);
  return code;
}

static const cli_command lexical_run = {
    .name = "run",
    .summary = "search for all topics of a test collection, as a TREC run",
    CLI_ARGUMENTS("INDEX TOPICS", 2, 2),
    .description = "Searches for each topic of a test collection. Topics are TREC's, FIRE's or CLEF's (<top>), JSON "
                   "lines, or lines of id, tab and query. Prints a TREC run, lines of topic, Q0, document, rank, score "
                   "and tag, which 'calque eval retrieval' compares with relevance judgments.",
    .example = "calque lexical run news.lexical topics.xml --fields td >run.txt\n"
               "calque eval retrieval qrels.txt run.txt",
    CLI_GROUP(&cq_group_lexical, .defaults = run_defaults),
    CLI_OPTIONS(struct run_args, run_options),
    .run = run_lexical_run,
};

/* --- terms --- */

static int print_terms(cq_terms *terms, cq_slice text) {
  cq_error error = {0};
  const cq_slice *items;
  size_t n;
  if (cq_terms_of(&items, &n, terms, text, &error)) return cli_fail_error(&error);
  for (size_t i = 0; i < n; i++) printf("%s%.*s", i ? " " : "", (int)items[i].n, items[i].data);
  putchar('\n');
  return CLI_OK;
}

static int print_lines(cq_terms *terms) {
  cq_error error = {0};
  cq_lines *lines;
  cq_slice line;
  cq_status status = cq_lines_open(&lines, "-", &error);
  if (status) return cli_fail_error(&error);
  int code = CLI_OK;
  while (code == CLI_OK && !(status = cq_lines_next(&line, lines, &error)) && line.data)
    code = print_terms(terms, line);
  cq_lines_close(lines);
  return status ? cli_fail_error(&error) : code;
}

static int run_lexical_terms(const cli_call *call) {
  cq_error error = {0};
  cq_terms *terms;
  if (cq_terms_open(&terms, call->library, &error)) return cli_fail_error(&error);
  int code = call->n_arguments ? CLI_OK : print_lines(terms);
  for (size_t i = 0; code == CLI_OK && i < call->n_arguments; i++)
    code = print_terms(terms, (cq_slice){call->arguments[i], strlen(call->arguments[i])});
  cq_terms_free(terms);
  return code;
}

static const cli_command lexical_terms = {
    .name = "terms",
    .summary = "show the terms that a text is indexed under",
    CLI_ARGUMENTS("[TEXT...]", 0, -1),
    .description = "Prints the terms of each text, or of each line of standard input, separated by blanks.",
    .example = "calque lexical terms --language en \"The houses' roofs were leaking\"",
    CLI_GROUP(&cq_group_analysis),
    .run = run_lexical_terms,
};

/* --- info --- */

static int run_lexical_info(const cli_call *call) {
  cq_error error = {0};
  cq_lexical *index;
  if (cq_lexical_open(&index, call->arguments[0], &error)) return cli_fail_error(&error);
  const cq_lexical_info *about = cq_lexical_about(index);
  printf("documents   %" PRIu64 "\nterms       %" PRIu64 "\ndifferent   %" PRIu64
         "\nsegments    %zu\nlanguage    %s\nstems       %s\nstop words  %zu\n",
         about->n_documents, about->n_occurrences, about->n_terms, about->n_segments,
         *about->language ? about->language : "none", about->stems ? "yes" : "no", about->n_stop_words);
  cq_lexical_free(index);
  return CLI_OK;
}

static const cli_command lexical_info = {
    .name = "info",
    .summary = "show the size of an index, and how its text was analyzed",
    CLI_ARGUMENTS("INDEX", 1, 1),
    .example = "calque lexical info news.lexical",
    .run = run_lexical_info,
};

static const cli_command *const children[] = {&lexical_build, &lexical_search, &lexical_run,
                                              &lexical_terms, &lexical_info,   NULL};

const cli_command cli_lexical = {
    .name = "lexical",
    .summary = "lexical search (BM25, query likelihood): build, search, run, terms, info",
    .description = "An index of words, and exact ranking by query likelihood or BM25. For documents in languages other "
                   "than the query's, see `calque clir` and `calque index`.",
    .example = "calque lexical build news.lexical --language de news.trec.gz\n"
               "calque lexical search news.lexical \"steigende Mieten\"",
    .children = children,
};
