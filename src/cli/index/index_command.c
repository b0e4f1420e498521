/* calque index: documents for search. The larger commands (add, copy, hubness) are in their own files. */
#include "cli/index/index_command.h"
#include "base/utf8.h"
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <math.h>
#include <string.h>

/* --- new --- */

struct new_args {
  size_t size;
  const char *model;
  bool compose;
};

static const cq_option new_options[] = {CLI_MODEL_OR_SHIPPED(struct new_args, model), CQ_COMPOSE_ROW(struct new_args)};

/* An address may contain a password. */
static const char *shown_place(const char *place) {
  return cq_index_is_address(place) ? "an index in the database" : place;
}

static int run_index_new(const cli_call *call) {
  const struct new_args *args = call->options;
  cq_index_options o = cq_index_default_options();
  cq_error error = {0};
  o.model = args->model, o.notice = cli_notice, o.compose = args->compose;
  if (cq_index_create(call->arguments[0], &o, &error)) return cli_fail_error(&error);
  cli_note("made %s for the model %s", shown_place(call->arguments[0]), args->model);
  return CLI_OK;
}

static const cli_command index_new = {
    .name = "new",
    .summary = "make an empty index for a model",
    CLI_ARGUMENTS("INDEX", 1, 1),
    .description = "Makes an empty index. It belongs to its model: documents and queries are encoded with it.",
    .example = "calque index new --model multilingual news.index",
    CLI_OPTIONS(struct new_args, new_options),
    .run = run_index_new,
};

/* What a command works with; {0}: nothing is open. */
typedef struct opened {
  cq_index *index;
  cq_context *ctx;
  cq_error error;
} opened;

/* Opens the index named by the first argument, without its model. */
static int open_index(opened *o, const cli_call *call, bool writing) {
  cq_index_options how = cq_index_default_options();
  how.writing = writing, how.notice = cli_notice;
  return cq_index_open(&o->index, call->arguments[0], &how, &o->error) ? cli_fail_error(&o->error) : CLI_OK;
}

static int open_with_threads(opened *o, const cli_call *call, bool writing, int n_threads) {
  const int code = cli_open_context(&o->ctx, n_threads);
  return code ? code : open_index(o, call, writing);
}

static int close_index(opened *o, int code) {
  cq_index_free(o->index);
  cq_context_free(o->ctx);
  return code;
}

/* --- remove --- */

static int run_index_remove(const cli_call *call) {
  const size_t n = call->n_arguments - 1;
  opened o = {0};
  size_t n_removed = 0;
  int code = open_index(&o, call, true);
  for (size_t i = 0; i < n && code == CLI_OK; i++) {
    const cq_slice id = {call->arguments[i + 1], strlen(call->arguments[i + 1])};
    size_t is_removed = 0;
    if (cq_index_remove(o.index, &id, 1, &is_removed, &o.error)) code = cli_fail_error(&o.error);
    if (code == CLI_OK && !is_removed) cli_note("there is no document '%s'", call->arguments[i + 1]);
    n_removed += is_removed;
  }
  if (code == CLI_OK && cq_index_commit(o.index, &o.error)) code = cli_fail_error(&o.error);
  if (code == CLI_OK)
    cli_note("removed %zu of %zu document%s, the index has %zu", n_removed, n, n == 1 ? "" : "s",
             cq_index_size(o.index));
  return close_index(&o, code);
}

static const cli_command index_remove = {
    .name = "remove",
    .summary = "remove documents by id",
    CLI_ARGUMENTS("INDEX ID...", 2, -1),
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
    {CQ_CHOICE(struct approximate_args, "method", method, CHANGES, CQ_APPROXIMATE_HNSW, methods, "METHOD",
               "hnsw: graph, fast to search; ivf: inverted lists, fast to build; none: exact search again")},
    CLI_THREADS(struct approximate_args, threads),
};

static int run_index_approximate(const cli_call *call) {
  const struct approximate_args *args = call->options;
  opened o = {0};
  int code = open_with_threads(&o, call, true, args->threads);
  if (code == CLI_OK && (cq_index_approximate(o.index, (cq_approximation)args->method, o.ctx, &o.error) ||
                         cq_index_commit(o.index, &o.error)))
    code = cli_fail_error(&o.error);
  if (code == CLI_OK && cq_index_approximated(o.index) == 0) cli_note("search is exact");
  if (code == CLI_OK && cq_index_approximated(o.index) > 0)
    cli_note("approximate search (ANN) over %zu vectors", cq_index_approximated(o.index));
  return close_index(&o, code);
}

static const cli_command index_approximate = {
    .name = "approximate",
    .summary = "approximate nearest neighbors (ANN: HNSW, IVF), for millions of documents",
    CLI_ARGUMENTS("INDEX", 1, 1),
    .description = "Builds a FAISS index for approximate nearest neighbors (ANN). ANN finds candidates without "
                   "comparing every vector, and calque computes their cosines exactly: scores are right, but some "
                   "neighbors may be missed (recall). Documents that are added later are searched exactly until the "
                   "command is run again. Needs calque's FAISS plugin, which is built where libfaiss is installed.",
    .example = "calque index approximate news.index --method ivf",
    CLI_OPTIONS(struct approximate_args, approximate_options),
    .run = run_index_approximate,
};

/* --- info --- */

/* "de 268, en 12, 3 of none". */
static void print_languages(const cq_index_language *languages, size_t n) {
  if (n == 0) return;
  printf("languages   ");
  for (size_t i = 0; i < n; i++) {
    const cq_slice code = languages[i].code;
    printf("%s", i ? ", " : "");
    cq_print_text(stdout, code.n ? code : cq_slice_of("of none"));
    printf(" %zu", languages[i].n_documents);
  }
  putchar('\n');
}

static int run_index_info(const cli_call *call) {
  opened o = {0};
  cq_index_language *languages = NULL;
  size_t n_languages;
  int code = open_index(&o, call, false);
  const cq_index *index = o.index;
  if (code == CLI_OK && cq_index_languages(&languages, &n_languages, o.index, &o.error))
    code = cli_fail_error(&o.error);
  if (code == CLI_OK) {
    printf("documents   %zu\npassages    %zu\ndimensions  %d\nmodel       %s\napproximate %zu\n", cq_index_size(index),
           cq_index_n_passages(index), cq_index_dim(index), cq_index_model(index), cq_index_approximated(index));
    print_languages(languages, n_languages);
    if (cq_index_n_hubness_queries(index)) printf("hubness     by %zu queries\n", cq_index_n_hubness_queries(index));
  }
  cq_free(languages);
  return close_index(&o, code);
}

static const cli_command index_info = {
    .name = "info",
    .summary = "show how much is in an index, and of which model",
    CLI_ARGUMENTS("INDEX", 1, 1),
    .description = "Prints how many documents and passages an index has, the dimension of their vectors, its model, "
                   "how many vectors its approximation (ANN) covers (removed documents included), and the number of "
                   "documents in each language.",
    .example = "calque index info news.index",
    .run = run_index_info,
};

/* --- check --- */

struct check_args {
  size_t size;
  const char *model;
  int threads;
  bool probe, json;
};

static const cq_option check_options[] = {
    {CQ_FLAG(struct check_args, "probe", probe, CHANGES,
             "also report text that the model's vocabulary does not cover, truncated and decomposed passages, "
             "duplicates, hubs, and the recall of an approximation")},
    {CQ_TEXT(struct check_args, "model", model, CHANGES, "MODEL", "where the index's model is now, for --probe"),
     .letter = 'm', .otherwise = "the name the index was made with"},
    CLI_JSON(struct check_args, json),
    CLI_THREADS(struct check_args, threads),
};

static void print_report_json(const cq_index_report *r, size_t n_documents) {
  printf("{\"documents\": %zu, \"passages\": %zu, \"sampled\": %zu, \"truncated\": %zu, \"decomposed\": %zu, "
         "\"duplicates\": %zu",
         n_documents, r->n_passages, r->n_sampled, r->n_truncated, r->n_decomposed, r->n_duplicates);
  cli_json_number(stdout, ", \"recall\": ", r->recall < 0 ? NAN : r->recall, 4);
  printf(", \"hubs\": [");
  for (size_t i = 0; i < r->n_hubs; i++) {
    cli_json_text(stdout, i ? ", {\"id\": " : "{\"id\": ", cq_slice_of(r->hubs[i].id));
    printf(", \"share\": %.4f}", r->hubs[i].share);
  }
  printf("], \"vocabulary\": [");
  for (size_t i = 0; i < r->n_vocabularies; i++) {
    const cq_index_vocabulary *v = &r->vocabularies[i];
    cli_json_text(stdout, i ? ", {\"script\": " : "{\"script\": ", cq_slice_of(v->script));
    cli_json_text(stdout, ", \"language\": ", cq_slice_of(v->language));
    printf(", \"passages\": %zu, \"unknown\": %.4f, \"bytes\": %.4f, \"pieces_per_letter\": %.4f, \"covered\": %s}",
           v->n_passages, v->unknown, v->bytes, v->pieces_per_letter, v->is_covered ? "true" : "false");
  }
  printf("], \"findings\": [");
  for (size_t i = 0; i < r->n_findings; i++) cli_json_text(stdout, i ? ", " : "", cq_slice_of(r->findings[i]));
  printf("]}\n");
}

static void print_report(const cq_index_report *r) {
  printf("probed %zu of %zu passages: %zu finding%s\n", r->n_sampled, r->n_passages, r->n_findings,
         r->n_findings == 1 ? "" : "s");
  for (size_t i = 0; i < r->n_findings; i++) cq_print_text(stdout, cq_slice_of(r->findings[i])), putchar('\n');
}

static int probe_index(opened *o, const struct check_args *args) {
  cq_index_report *report;
  if (cq_index_probe(&report, o->index, o->ctx, &o->error)) return cli_fail_error(&o->error);
  if (args->json)
    print_report_json(report, cq_index_size(o->index));
  else
    print_report(report);
  cq_index_report_free(report);
  return CLI_OK;
}

static int run_index_check(const cli_call *call) {
  const struct check_args *args = call->options;
  opened o = {0};
  if (!args->probe && (args->json || args->model))
    return cli_usage(call->path, "--%s needs --probe", args->json ? "json" : "model");
  cq_index_options how = cq_index_default_options();
  how.model = args->model, how.notice = cli_notice;
  int code = cli_open_context(&o.ctx, args->threads);
  if (code == CLI_OK &&
      (cq_index_open(&o.index, call->arguments[0], &how, &o.error) || cq_index_check(o.index, o.ctx, &o.error)))
    code = cli_fail_error(&o.error);
  if (code == CLI_OK && !args->json)
    printf("%s: %zu documents, nothing is damaged\n", call->arguments[0], cq_index_size(o.index));
  if (code == CLI_OK && args->probe) code = probe_index(&o, args);
  return close_index(&o, code);
}

static const cli_command index_check = {
    .name = "check",
    .summary = "verify the checksums of an index, and probe what its searches may suffer from",
    CLI_ARGUMENTS("INDEX", 1, 1),
    .description =
        "Compares documents, vectors, deletions, hubness and the approximation with their checksums. If "
        "something is damaged, exits with 1 and names file and document. A search verifies what it reads, "
        "so damage never changes results unnoticed. With --probe, it also reports what may make searches poor "
        "though nothing is damaged, one line for each finding; of an index with more than 4,096 passages, "
        "that many are looked at, spread evenly, but duplicates are counted in all of it.",
    .example = "calque index check news.index\n"
               "calque index check news.index --probe",
    CLI_OPTIONS(struct check_args, check_options),
    .run = run_index_check,
};

/* --- get --- */

static int run_index_get(const cli_call *call) {
  opened o = {0};
  int code = open_index(&o, call, false);
  for (size_t i = 1; i < call->n_arguments && code == CLI_OK; i++) {
    const cq_slice id = {call->arguments[i], strlen(call->arguments[i])};
    cq_document *document = NULL;
    char *json = NULL;
    if (cq_index_get(&document, o.index, id, &o.error))
      code = cli_fail_error(&o.error);
    else if (!document)
      code = cli_fail("there is no document '%s'", call->arguments[i]);
    else if (cq_document_json(&json, document, &o.error))
      code = cli_fail_error(&o.error);
    if (json) cq_print_text(stdout, cq_slice_of(json)), putchar('\n');
    cq_free(json);
    cq_free(document);
  }
  return close_index(&o, code);
}

static const cli_command index_get = {
    .name = "get",
    .summary = "print documents by id, as JSON",
    CLI_ARGUMENTS("INDEX ID...", 2, -1),
    .description = "Prints documents as they were added, one JSON object per line: the whole text, title, url, "
                   "language and metadata.",
    .example = "calque index get news.index news.de.gz:17",
    .run = run_index_get,
};

/* --- compact --- */

static int run_index_compact(const cli_call *call) {
  const cli_threads_args *args = call->options;
  opened o = {0};
  int code = open_with_threads(&o, call, true, args->threads);
  if (code == CLI_OK && cq_index_compact(o.index, o.ctx, &o.error)) code = cli_fail_error(&o.error);
  if (code == CLI_OK)
    cli_note("%s holds its %zu documents and nothing else", call->arguments[0], cq_index_size(o.index));
  return close_index(&o, code);
}

static const cli_command index_compact = {
    .name = "compact",
    .summary = "give back the room of documents that were removed or replaced",
    CLI_ARGUMENTS("INDEX", 1, 1),
    .description = "Rewrites the index without documents that were removed or replaced. Running searches keep the old "
                   "state. An approximation (ANN) is dropped: build it again afterwards.",
    .example = "calque index compact news.index",
    CLI_THREADS_ONLY,
    .run = run_index_compact,
};

static const cli_command *const children[] = {
    &index_new,      &cli_index_add, &index_remove, &index_get, &index_approximate, &cli_index_hubness, &index_compact,
    &cli_index_copy, &index_info,    &index_check,  NULL};

const cli_command cli_index = {
    .name = "index",
    .summary =
        "document index for semantic search: new, add, remove, get, approximate, hubness, compact, copy, info, check",
    .description = "An index is a directory with documents and their vectors, for semantic search in any language "
                   "(calque search). A change counts when it is complete: a process killed at any moment leaves the "
                   "index as it was. One process writes at a time; searching never waits.",
    .example = "calque index new --model multilingual news.index\n"
               "calque index add news.index --language de news.de.gz\n"
               "calque search news.index \"rising rents in the capital\"",
    .children = children,
};
