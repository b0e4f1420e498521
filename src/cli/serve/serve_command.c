/* calque serve: a model, and an index, over HTTP. */
#include "cli/frame/command.h"
#include "cli/frame/report.h"
#include "cli/frame/stop.h"
#include "cli/index/index_command.h"
#include "serve/folder.h"
#include "serve/health.h"
#include "serve/mcp.h"
#include "serve/route.h"
#include "serve/server.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct args {
  size_t size;
  serve_options serve;
  const char *store, *encoding;
  int threads, deadline_ms, receive_s, max_connections;
  bool health, mcp, compose;
};

static const cq_option options[] = {
    {CQ_TEXT(struct args, "model", serve.model.model, CHANGES, "MODEL",
             "the model: a directory, a name in the local Hugging Face cache, or small or base, which calque ships"),
     .letter = 'm', .otherwise = "the index's; without one, calque-base"},
    {CQ_TEXT(struct args, "task", serve.model.task, CHANGES, "NAME",
             "encode for this task: 'query', 'document' or one of the model's own; an INDEX chooses by itself")},
    {CQ_TEXT(struct args, "rerank", serve.model.rerank, CHANGES, "MODEL",
             "a reranker (a cross-encoder with one logit) for /rerank, and for searches, whose first documents it "
             "orders"),
     .otherwise = "none: /rerank orders by cosine"},
    {CQ_INT(struct args, "rerank-depth", serve.model.rerank_depth, CHANGES, 50, 1, 10000, "N",
            "documents of a search for --rerank to order")},
    {CQ_TEXT(
         struct args, "store", store, CHANGES, "ADDRESS",
         "postgresql://USER@HOST/DATABASE?schema=NAME: the index is in this database; several servers may share it"),
     .otherwise = "the INDEX"},
    {CQ_TEXT(struct args, "host", serve.host, KEEPS, "HOST",
             "listen on this address; an address that other machines can reach needs an API key or --insecure"),
     .text = "127.0.0.1"},
    {CQ_INT(struct args, "port", serve.port, KEEPS, 8080, 0, 65535, "PORT", "listen on this port; 0: any free port"),
     .letter = 'p'},
    {CQ_TEXT(struct args, "api-key-file", serve.key_file, KEEPS, "FILE",
             "API keys, one per line; a request must send one (Authorization: Bearer KEY)"),
     .otherwise = "CALQUE_API_KEY, else none"},
    {CQ_FLAG(struct args, "insecure", serve.insecure, KEEPS,
             "without a key, answer everybody who can reach the address")},
    {CQ_SIZE(struct args, "max-body", serve.max_body, KEEPS, 8 << 20, 1024, 1 << 30, "BYTES",
             "maximum body of a request; a larger one is answered with 413")},
    {CQ_SIZE(struct args, "max-tokens", serve.max_tokens, KEEPS, 300000, 1, 1e9, "N",
             "maximum tokens of a request; more are answered with 413")},
    {CQ_SIZE(struct args, "queue-tokens", serve.queue_tokens, KEEPS, 600000, 1, 1e9, "N",
             "maximum tokens waiting to be encoded; requests beyond are answered with 429 and Retry-After")},
    {CQ_INT(struct args, "deadline-ms", deadline_ms, KEEPS, 60000, 1, 86400000, "MS",
            "answer with 504 if a request's texts are not encoded within this time")},
    {CQ_INT(struct args, "receive-s", receive_s, KEEPS, 75, 1, 86400, "S",
            "close a connection if no complete request arrives in this time")},
    {CQ_INT(struct args, "max-connections", max_connections, KEEPS, 4096, 1, 1000000, "N", "maximum open connections")},
    {CQ_TEXT(struct args, "access-log", serve.access_log, KEEPS, "FILE",
             "append a line of JSON for each request; -: standard output")},
    {CQ_FLAG(struct args, "writable", serve.model.writable, KEEPS,
             "let clients add, replace and remove documents of the INDEX")},
    {CQ_TEXT(struct args, "cors", serve.cors, KEEPS, "ORIGIN",
             "let pages of other origins use the server: https://example.org,app://obsidian.md; *: any page that a "
             "browser opens here"),
     .otherwise = "only its own page"},
    {CQ_CHOICE(
        struct args, "token-ids", serve.token_kind, KEEPS, SERVE_TOKENS_REFUSED, serve_token_kinds, "KIND",
        "what lists of token ids are on /v1/embeddings: of OpenAI's models, as LangChain sends them, decoded with "
        "--token-table, or the model's own")},
    {CQ_TEXT(struct args, "token-table", serve.token_table, KEEPS, "FILE",
             "the table of --token-ids in tiktoken's format, such as cl100k_base.tiktoken")},
    {CQ_FLAG(struct args, "health", health, KEEPS,
             "only ask the server at --host and --port whether it is ready: exit code 0 if so, else 1")},
    {CQ_FLAG(
        struct args, "mcp", mcp, KEEPS,
        "tools for the assistant that starts this program (Model Context Protocol), over standard input and output")},
    CLI_FOLDER_ENCODING(struct args),
    CLI_PRECISION(struct args, serve.model.precision),
    CQ_COMPOSE_ROW(struct args),
    CLI_THREADS(struct args, threads),
};

static serve_server *running;

static void told_of_signal(int signal) {
  serve_ask(running, signal == SIGHUP ? SERVE_RELOAD : SERVE_STOP);
}

static void tell(const char *text) {
  cli_note("%s", text);
}

static int serve(const struct args *args, const char *index, cq_context *ctx) {
  serve_options o = args->serve;
  o.encoding = args->encoding;
  o.routes = serve_all_routes, o.model.index = index, o.model.notice = cli_notice;
  o.model.compose = args->compose, o.key = getenv("CALQUE_API_KEY"), o.note = tell;
  o.deadline_ms = (unsigned)args->deadline_ms, o.receive_s = (unsigned)args->receive_s;
  o.max_connections = (unsigned)args->max_connections;
  cq_error error = {0};
  if (serve_open(&running, &o, ctx, &error)) return cli_fail_error(&error);
  cli_stop_call(told_of_signal);
  const bool logs_to_stdout = o.access_log && !strcmp(o.access_log, "-");
  fprintf(logs_to_stdout ? stderr : stdout, "listening on %s\n", serve_address(running));
  if (!logs_to_stdout) cli_flush_output();
  serve_run(running);
  cli_stop_call(NULL);
  serve_close(running);
  return CLI_OK;
}

/* Standard output is the protocol's: what anything else prints goes to standard error. */
static int serve_assistant(const struct args *args, const char *index, bool is_folder, cq_context *ctx) {
  serve_mcp_options o = {.model = args->serve.model,
                         .encoding = args->encoding,
                         .max_line = args->serve.max_body,
                         .max_tokens = args->serve.max_tokens,
                         .in = STDIN_FILENO,
                         .out = dup(STDOUT_FILENO)};
  cq_error error = {0};
  o.model.notice = cli_notice, o.model.compose = args->compose;
  *(is_folder ? &o.folder : &o.model.index) = index;
  if (o.out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return cli_fail("standard output is closed");
  const cq_status status = serve_mcp(&o, ctx, &error);
  close(o.out);
  return status ? cli_fail_error(&error) : CLI_OK;
}

static int run(const cli_call *call) {
  struct args args = *(const struct args *)call->options;
  const char *index = call->n_arguments ? call->arguments[0] : args.store;
  const bool is_folder = index && cq_index_is_folder(index);
  char own[4096];
  cq_context *ctx;
  if (args.health) {
    cq_error error = {0};
    return serve_health(args.serve.host, args.serve.port, &error) ? cli_fail_error(&error) : CLI_OK;
  }
  if (args.mcp && args.serve.model.rerank) return cli_usage(call->path, "--rerank is for a server, without --mcp");
  if (args.mcp && (args.serve.model.writable || args.serve.key_file || args.serve.access_log))
    return cli_usage(call->path, "--mcp serves who starts it, over pipes: without --writable, --api-key-file, "
                                 "--access-log");
  if (args.store && call->n_arguments) return cli_usage(call->path, "--store stands in place of an INDEX");
  if (args.store && !cq_index_is_address(args.store))
    return cli_usage(call->path, "--store takes an address, postgresql://...");
  if (args.serve.model.writable && !index) return cli_usage(call->path, "--writable needs an INDEX");
  if (args.serve.model.writable && is_folder)
    return cli_usage(call->path, "--writable is for an INDEX: the documents of a FOLDER or a FILE change there");
  if (args.encoding && !is_folder) return cli_usage(call->path, CLI_ENCODING_NEEDS_FOLDER);
  if (!args.serve.token_table == (serve_token_table_size((serve_token_kind)args.serve.token_kind) > 0))
    return cli_usage(call->path, "--token-ids cl100k or o200k needs --token-table FILE, and nothing else takes one");
  if (args.serve.model.task && index) return cli_usage(call->path, "--task is for a model: an INDEX has its own tasks");
  if (!args.serve.model.model && !index) args.serve.model.model = CQ_DEFAULT_MODEL;
  int code = cli_open_context(&ctx, args.threads);
  if (code != CLI_OK) return code;
  if (args.mcp) {
    code = serve_assistant(&args, index, is_folder, ctx);
    cq_context_free(ctx);
    return code;
  }
  if (is_folder) {
    cq_index_options o = cq_index_default_options();
    o.model = args.serve.model.model, o.precision = args.serve.model.precision, o.compose = args.compose;
    o.notice = cli_notice;
    args.serve.folder = index, args.serve.folder_state = serve_folder_state(index);
    code = cli_index_folder(own, sizeof own, index, &o, args.encoding, ctx);
    index = own;
  }
  if (code == CLI_OK) code = serve(&args, index, ctx);
  cq_context_free(ctx);
  return code;
}

const cli_command cli_serve = {
    .name = "serve",
    .summary = "a search page and an HTTP service for documents, or for a model",
    CLI_ARGUMENTS("[INDEX|FOLDER|FILE]", 0, 1),
    .description =
        "Prints an address: browsers get a search page there, and programs use the same over HTTP, through the "
        "interfaces of OpenAI (/v1/embeddings), Ollama, Cohere, and text-embeddings-inference (/embed), and calque's "
        "own; /openapi.json describes all routes. --mcp serves an assistant over pipes instead, with no address. INDEX "
        "is made by 'calque index new'. A FOLDER of documents is indexed "
        "first, into FOLDER/.calque, or into the user's cache if the folder is read-only; later starts index only what "
        "has changed, and so does the running server as soon as files change. A FILE of documents is indexed in the "
        "user's cache. --store names an index in PostgreSQL instead ('calque index copy' fills one): a server that "
        "cannot reach the database answers 503 and tries again. With none of these, sentences can be encoded and "
        "compared. Only this machine can reach the server unless --host says otherwise. SIGTERM ends it after the "
        "requests in progress; SIGHUP opens the model and the index again without losing a request. Answers that "
        "clients "
        "have not read yet take up to 256 MiB of memory; beyond that, the server answers 503.",
    .example = "calque serve Documents\n"
               "calque serve news.index --writable --host 0.0.0.0 --api-key-file keys\n"
               "curl -s http://127.0.0.1:8080/embed -H 'Content-Type: application/json' -d '{\"inputs\": \"A dog.\"}'",
    CLI_OPTIONS(struct args, options),
    .run = run,
};
