/* calque search: the documents of an index that are nearest to a query, in any language. */
#include "base/utf8.h"
#include "cli/frame/command.h"
#include "cli/frame/input_sentences.h"
#include "cli/frame/report.h"
#include "cli/index/index_command.h"

#include <stdlib.h>
#include <string.h>

struct args {
  size_t size;
  const char *model, *queries, *query_model, *encoding, *rerank;
  int threads, precision, rerank_depth;
  bool json, compose;
};

static const cq_option options[] = {
    CLI_INDEX_MODEL(struct args),
    {CQ_TEXT(
         struct args, "query-model", query_model, CHANGES, "MODEL",
         "model for the queries: a student of the index's model, in the same vector space; the index stays as it is"),
     .otherwise = "the index's model"},
    CLI_RERANK(struct args, rerank),
    {CQ_INT(struct args, "rerank-depth", rerank_depth, CHANGES, 50, 1, 10000, "N",
            "documents for --rerank to order, at least --top")},
    CLI_FOLDER_ENCODING(struct args),
    CLI_PRECISION(struct args, precision),
    CQ_COMPOSE_ROW(struct args),
    {CQ_TEXT(struct args, "queries", queries, CHANGES, "FILE",
             "also search for each line of this file; - is standard input, answered line by line"),
     .letter = 'q', .otherwise = "none"},
    CLI_JSON(struct args, json),
    CLI_THREADS(struct args, threads),
};

/* Each JSON line has the query's number of hits, so that readers recognize the last one. */
static void print_json_hit(const cq_hit *hit, cq_slice query, size_t rank, size_t n) {
  cli_json_text(stdout, "{\"query\": ", query);
  printf(", \"hits\": %zu", n);
  if (hit) {
    const cq_document *d = &hit->document;
    printf(", \"rank\": %zu, \"cosine\": %.6f, \"good\": %s", rank, hit->cosine, hit->is_good ? "true" : "false");
    cli_json_text(stdout, ", \"id\": ", d->id);
    cli_json_text(stdout, ", \"language\": ", d->language);
    cli_json_text(stdout, ", \"text\": ", d->text);
    printf(", \"score\": %.6f, \"words\": %.6f, \"by\": \"%s\"", hit->score, hit->words,
           hit->by_vector && hit->by_words ? "both"
           : hit->by_words                 ? "words"
                                           : "dense");
    printf(", \"passage\": %zu, \"begin\": %zu, \"end\": %zu", hit->passage, hit->begin, hit->end);
    if (hit->best.data) cli_json_text(stdout, ", \"best\": ", hit->best);
    if (d->title.n) cli_json_text(stdout, ", \"title\": ", d->title);
    if (d->url.n) cli_json_text(stdout, ", \"url\": ", d->url);
    if (d->metadata.n) printf(", \"metadata\": %.*s", (int)d->metadata.n, d->metadata.data);
  }
  printf("}\n");
}

static void print_hit(const cq_hit *hit) {
  const cq_slice fields[] = {hit->document.id, hit->document.language, hit->best.data ? hit->best : hit->document.text};
  printf("%.4f", hit->score);
  for (int i = 0; i < 3; i++) putchar('\t'), cli_field(stdout, fields[i]);
  putchar('\n');
}

typedef struct search {
  const struct args *args;
  const cq_search_options *options;
  size_t k;              /* documents printed */
  cq_reranker *reranker; /* NULL: none */
  cq_encode_stats reranked;
  cq_index *index;
  cq_context *ctx;
  bool several; /* queries, each of which is named above its hits */
  size_t n_hits;
} search;

static void note_no_good_match(const cq_hit *hits, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (hits[i].is_good) return;
  if (n > 0) cli_note("no good match: the first has a cosine of %.2f", hits[0].cosine);
}

/* hits NULL: none. */
static bool print_hits(search *s, const cq_hits *hits, const cq_slice *queries, size_t n) {
  for (size_t i = 0; i < n; i++) {
    size_t n_found = 0;
    const cq_hit *found = hits ? cq_hits_of(hits, i, &n_found) : NULL;
    if (s->several && !s->args->json) printf("# "), cq_print_text(stdout, queries[i]), putchar('\n');
    note_no_good_match(found, n_found);
    s->n_hits += n_found;
    if (s->args->json && n_found == 0) print_json_hit(NULL, queries[i], 0, 0);
    for (size_t rank = 0; rank < n_found; rank++) {
      if (s->args->json)
        print_json_hit(&found[rank], queries[i], rank + 1, n_found);
      else
        print_hit(&found[rank]);
    }
    if (s->several && !s->args->json) putchar('\n');
  }
  return cli_flush_output(); /* the caller may wait for these before asking more */
}

static int search_for(search *s, const cq_slice *queries, size_t n) {
  cq_hits *hits;
  cq_error error = {0};
  if (n == 0) return CLI_OK;
  if (cq_index_search(&hits, s->index, queries, n, s->options, s->ctx, &error)) return cli_fail_error(&error);
  int code = CLI_OK;
  if (s->reranker && cq_hits_rerank(hits, &s->reranked, s->reranker, queries, s->options->k, s->k, s->ctx, &error))
    code = cli_fail_error(&error);
  if (code == CLI_OK && !print_hits(s, hits, queries, n)) code = CLI_FAILED;
  cq_hits_free(hits);
  return code;
}

static int search_for_arguments(search *s, const cli_call *call) {
  const size_t n = call->n_arguments - 1;
  cq_slice *queries = calloc(n + 1, sizeof *queries);
  if (!queries) return cli_fail("out of memory");
  int code = CLI_OK;
  for (size_t i = 0; i < n && code == CLI_OK; i++) {
    queries[i] = cq_slice_of(call->arguments[i + 1]);
    if (strspn(queries[i].data, " \t\r\n") == queries[i].n) code = cli_usage(call->path, "query %zu is blank", i + 1);
  }
  if (code == CLI_OK) code = search_for(s, queries, n);
  free(queries);
  return code;
}

/* An empty line is not a query, but gets a reply: a caller may be waiting. */
static int search_for_lines(search *s) {
  cli_sentences in = {.paths = &s->args->queries, .n_paths = 1, .n_columns = 1, .rows = 1024};
  cq_error error = {0};
  int code = CLI_OK;
  for (bool more = true; more && code == CLI_OK;) {
    if (cli_sentences_next(&in, &error)) code = cli_sentences_fail(&in, &error);
    more = in.n > 0;
    for (size_t i = 0, n; code == CLI_OK && i < in.n; i += n ? n : 1) {
      for (n = 0; i + n < in.n && in.slices[i + n].n; n++) continue;
      if (n)
        code = search_for(s, in.slices + i, n);
      else if (!print_hits(s, NULL, in.slices + i, 1))
        code = CLI_FAILED;
    }
  }
  cli_sentences_close(&in);
  return code;
}

/* Opens the reranker, which gets more documents than are printed. */
static int open_reranker(search *s, cq_search_options *deeper, const struct args *args) {
  cq_encoder_options o = cq_encoder_default_options();
  cq_error error = {0};
  *deeper = *s->options;
  s->k = deeper->k;
  if (!args->rerank) return CLI_OK;
  o.precision = (cq_precision)args->precision, o.notice = cli_notice;
  if (deeper->k < (size_t)args->rerank_depth) deeper->k = (size_t)args->rerank_depth;
  s->options = deeper;
  return cq_reranker_open(&s->reranker, args->rerank, &o, &error) ? cli_fail_error(&error) : CLI_OK;
}

/* Without any hit: whether a condition that no document meets is the reason. */
static void note_no_match(const search *s) {
  cq_index_language *languages = NULL;
  cq_error error = {0};
  size_t n = 0;
  if (s->n_hits || s->options->ranking == CQ_RANK_WORDS || cq_index_size(s->index) == 0) return;
  if (s->options->filter && *s->options->filter)
    cli_note("no document matches --filter; names of fields are case-sensitive");
  if (!s->options->language || cq_index_languages(&languages, &n, s->index, &error)) return;
  char list[600] = "";
  for (size_t i = 0, at = 0; i < n && at < sizeof list; i++) {
    const cq_slice code = languages[i].code.n ? languages[i].code : cq_slice_of("none");
    at += (size_t)snprintf(list + at, sizeof list - at, "%s %.*s", i ? "," : "", (int)code.n, code.data);
  }
  cli_note("no document matches --language %s; the index has:%s", s->options->language, list);
  cq_free(languages);
}

static int run_index_search(const cli_call *call) {
  const struct args *args = call->options;
  cq_index_options opening = cq_index_default_options();
  search s = {.args = args, .options = call->library, .several = args->queries || call->n_arguments > 2};
  cq_error error = {0};
  opening.model = args->model, opening.query_model = args->query_model;
  opening.precision = (cq_precision)args->precision, opening.notice = cli_notice;
  opening.compose = args->compose;
  if (call->n_arguments < 2 && !args->queries)
    return cli_usage(call->path, "no query: expected one after INDEX, or --queries FILE");
  const char *place = call->arguments[0];
  const bool is_folder = cq_index_is_folder(place);
  cq_search_options deeper;
  if (args->encoding && !is_folder) return cli_usage(call->path, CLI_ENCODING_NEEDS_FOLDER);
  char own[4096];
  int code = cli_open_context(&s.ctx, args->threads);
  if (code == CLI_OK) code = open_reranker(&s, &deeper, args);
  if (code == CLI_OK && is_folder) {
    code = cli_index_folder(own, sizeof own, place, &opening, args->encoding, s.ctx);
    place = own;
  }
  if (code == CLI_OK && cq_index_open(&s.index, place, &opening, &error)) code = cli_fail_error(&error);
  if (code == CLI_OK) code = search_for_arguments(&s, call);
  if (code == CLI_OK && args->queries) code = search_for_lines(&s);
  if (code == CLI_OK) note_no_match(&s);
  if (code == CLI_OK) cli_note_reranked(&s.reranked, s.reranker);
  cq_reranker_free(s.reranker);
  cq_index_free(s.index);
  cq_context_free(s.ctx);
  return code;
}

const cli_command cli_search = {
    .name = "search",
    .summary = "semantic search in an index, exact or approximate (ANN)",
    CLI_ARGUMENTS("INDEX|FOLDER|FILE [QUERY...]", 1, -1),
    .description =
        "Semantic search: prints the documents with the highest scores, as lines of score, id, language and "
        "text, separated by tabs. The score is that of --ranking. If a document was "
        "split, the text is that of its best passage. Query and documents may be in different "
        "languages. With several queries, a line '# query' precedes each query's documents, and an empty "
        "line follows them; queries from a pipe are answered as they arrive. With --rerank, a reranker reads the query "
        "with each of the first documents and orders them: slower, and better. The search is exact unless "
        "'calque index approximate' built an approximation (ANN). A FOLDER of documents is indexed first, "
        "into FOLDER/.calque, or into the user's cache if the folder is read-only; later searches index "
        "only what has changed. A FILE of documents is likewise indexed in the user's cache. Its model is the one that "
        "calque ships unless --model names another.",
    .example = "calque search news.index \"rising rents in the capital\" --language de --top 3\n"
               "calque search english.index --query-model multilingual \"Mieten in der Hauptstadt\"",
    CLI_GROUP(&cq_group_search),
    CLI_OPTIONS(struct args, options),
    .run = run_index_search,
};
