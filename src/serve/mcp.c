/* Two threads, so that a client can cancel, and gets answers to pings, while a call takes its time:
 *
 *   reader  lines ──▶ answers at once: initialize, ping, tools/list, mistakes
 *             └─ tools/call ──▶ calls that wait, in order
 *   worker  indexes the folder ──▶ for each call: the folder's changes ──▶ the tool (serve/mcp_tools.h) ──▶ an answer
 *
 * A cancelled call has no answer. It does not stop the indexing, from which the next call profits. At the end of the
 * input, the calls that wait are answered. */
#include "serve/mcp.h"

#include "serve/folder.h"
#include "serve/mcp_tools.h"

#include "base/error.h"
#include "calque/version.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CALLS = 256, MAX_TEXTS = 100, PROGRESS_MS = 1000 };

/* Protocol versions, the newest first. 2025-03-26 alone has batches, which no client sends: it gets the one before. */
static const char *const versions[] = {"2025-11-25", "2025-06-18", "2024-11-05"};
enum { N_VERSIONS = sizeof versions / sizeof *versions };

/* JSON-RPC's errors. */
enum { NOT_JSON = -32700, NO_REQUEST = -32600, NO_METHOD = -32601, NO_PARAMS = -32602, TOO_BUSY = -32000 };

typedef struct call {
  struct call *next;
  const serve_route *tool;
  json_t *id, *arguments, *token; /* arguments and the token of progress: NULL if missing */
  uint64_t received_us;
  bool is_cancelled;
} call;

typedef struct session {
  const serve_mcp_options *options;
  bool has_index, is_initialized;
  /* the worker's */
  serve_shared shared;
  serve_model *model; /* NULL: not open yet */
  serve_folder folder;
  uint64_t followed_us, told_ms, n_told;
  /* both threads' */
  pthread_mutex_t mutex, writing;
  pthread_cond_t changed;
  call *first, *last, *current;
  size_t n_calls;      /* that wait */
  bool is_ending;      /* no more calls come */
  atomic_bool is_gone; /* nobody reads the answers */
} session;

static void free_call(call *c) {
  if (!c) return;
  json_decref(c->id), json_decref(c->arguments), json_decref(c->token);
  free(c);
}

/* ---- writing ---- */

static void write_line(session *s, cq_builder *b) {
  for (char *c = b->data; c && (c = strchr(c, '\n'));) *c = ' '; /* between the tokens of a document's metadata */
  cq_builder_char(b, '\n');
  pthread_mutex_lock(&s->writing);
  for (size_t at = 0; !b->failed && at < b->n && !atomic_load(&s->is_gone);) {
    const ssize_t n = write(s->options->out, b->data + at, b->n - at);
    if (n >= 0)
      at += (size_t)n;
    else if (errno == EAGAIN)
      poll(&(struct pollfd){.fd = s->options->out, .events = POLLOUT}, 1, -1);
    else if (errno != EINTR)
      atomic_store(&s->is_gone, true);
  }
  pthread_mutex_unlock(&s->writing);
  cq_builder_free(b);
}

static void put_json(cq_builder *b, const char *before, const json_t *value) {
  char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
  cq_builder_text(b, before);
  cq_builder_text(b, text ? text : "null");
  free(text);
}

static void begin_answer(cq_builder *b, const json_t *id, const char *member) {
  *b = (cq_builder){0};
  put_json(b, "{\"jsonrpc\":\"2.0\",\"id\":", id);
  cq_builder_printf(b, ",\"%s\":", member);
}

static void fail(session *s, const json_t *id, int code, const char *format, ...) CQ_PRINTF(4, 5);
static void fail(session *s, const json_t *id, int code, const char *format, ...) {
  char message[1024];
  cq_builder b;
  va_list list;
  va_start(list, format);
  vsnprintf(message, sizeof message, format, list);
  va_end(list);
  begin_answer(&b, id, "error");
  cq_builder_printf(&b, "{\"code\":%d,\"message\":", code);
  cq_json_text(&b, message, strlen(message));
  cq_builder_text(&b, "}}");
  write_line(s, &b);
}

/* ---- the worker: what the tools see ---- */

/* False: nobody waits for the index any more. */
static bool tell_progress(void *context, uint64_t n_read) {
  session *s = context;
  pthread_mutex_lock(&s->mutex);
  const bool is_needed = !atomic_load(&s->is_gone) && (s->current || s->first || !s->is_ending);
  const bool is_told = s->current && s->current->token && !s->current->is_cancelled;
  pthread_mutex_unlock(&s->mutex);
  if (is_told && n_read > s->n_told && cq_now_ms() - s->told_ms >= PROGRESS_MS) {
    cq_builder b = {0};
    put_json(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":",
             s->current->token);
    cq_builder_printf(&b, ",\"progress\":%llu,\"message\":\"documents read\"}}", (unsigned long long)n_read);
    write_line(s, &b);
    s->told_ms = cq_now_ms(), s->n_told = n_read;
  }
  return is_needed;
}

/* Brings the index up to date with its folder, and opens it. */
static cq_status follow(session *s, cq_error *error) {
  const serve_mcp_options *o = s->options;
  serve_model_options opening = o->model;
  serve_model *model;
  s->followed_us = cq_now_us();
  if (o->folder) {
    const cq_status status = serve_folder_follow(&s->folder, s->shared.ctx, error);
    if (status) return status;
    opening.index = s->folder.place;
  }
  if (s->model && (!s->model->index || !cq_index_refresh(s->model->index, NULL, NULL))) return CQ_OK;
  const cq_status status = serve_model_open(&model, &opening, error);
  if (status) return status;
  serve_model_leave(s->model); /* another index has taken the place of the old one */
  s->model = model;
  return CQ_OK;
}

/* The tool's answer, or its error, as text and as JSON. */
static void put_result(cq_builder *b, const serve_request *r) {
  const cq_slice answer = cq_built(&r->answer);
  json_t *failed = r->code == 200 ? NULL : json_loadb(answer.data, answer.n, 0, NULL);
  const char *why = failed ? json_string_value(json_object_get(failed, "error")) : NULL;
  cq_builder_text(b, "{\"content\":[{\"type\":\"text\",\"text\":");
  if (r->code == 200) {
    cq_json_text(b, answer.data, answer.n);
    cq_builder_text(b, "}],\"structuredContent\":");
    cq_builder_slice(b, answer);
    cq_builder_text(b, ",\"isError\":false}}");
  } else {
    cq_json_member(b, "", cq_slice_of(why ? why : "out of memory"));
    cq_builder_text(b, "}],\"isError\":true}}");
  }
  json_decref(failed);
}

/* Calls that came while the folder was looked at share that look, but for those that came after its begin. */
static void run_call(session *s, const call *c) {
  serve_request r = {.shared = &s->shared, .route = c->tool};
  cq_builder b;
  cq_error error = {0};
  s->told_ms = cq_now_ms(), s->n_told = 0;
  if (c->received_us >= s->followed_us && follow(s, &error)) {
    s->followed_us = 0;
    serve_fail_error(&r, &error);
  } else if (s->model) {
    put_json(&r.body, "", c->arguments);
    r.model = serve_model_use(s->model);
    serve_mcp_run_tool(&r);
  }
  begin_answer(&b, c->id, "result");
  put_result(&b, &r);
  pthread_mutex_lock(&s->mutex);
  const bool is_cancelled = c->is_cancelled;
  s->current = NULL;
  pthread_mutex_unlock(&s->mutex);
  if (is_cancelled)
    cq_builder_free(&b);
  else
    write_line(s, &b);
  serve_request_clear(&r);
}

/* The next call that nobody has cancelled; NULL: there are no more. */
static call *next_call(session *s) {
  call *c = NULL;
  pthread_mutex_lock(&s->mutex);
  while (!atomic_load(&s->is_gone)) {
    if (!(c = s->first) && s->is_ending) break;
    if (!c) {
      pthread_cond_wait(&s->changed, &s->mutex);
      continue;
    }
    if (!(s->first = c->next)) s->last = NULL;
    s->n_calls--;
    if (!c->is_cancelled) break;
    free_call(c);
    c = NULL;
  }
  s->current = c;
  pthread_mutex_unlock(&s->mutex);
  return c;
}

static void *work(void *context) {
  session *s = context;
  cq_error error = {0};
  if (s->options->folder && follow(s, &error)) {
    s->followed_us = 0;
    if (error.status != CQ_ERR_STOPPED) serve_folder_say(&s->folder, error.message);
  }
  for (call *c; (c = next_call(s)); free_call(c)) run_call(s, c);
  return NULL;
}

/* ---- the reader ---- */

static void initialize(session *s, const json_t *id, const json_t *params) {
  const char *asked = json_string_value(json_object_get(params, "protocolVersion"));
  const char *version = versions[0];
  cq_builder b;
  if (!asked) {
    fail(s, id, NO_PARAMS, "'protocolVersion' is missing");
    return;
  }
  for (size_t i = 0; i < N_VERSIONS && strcmp(version = versions[i], asked) > 0; i++) continue; /* they are dates */
  begin_answer(&b, id, "result");
  cq_builder_printf(&b,
                    "{\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"calque\","
                    "\"version\":\"%s\"},\"instructions\":",
                    version, cq_version());
  const char *place = s->options->folder ? s->options->folder : s->options->model.index;
  cq_builder instructions = {0};
  if (place && !cq_index_is_address(place)) /* an address may have a password */
    cq_builder_printf(&instructions, "The documents are those of %s. ", place);
  cq_builder_text(&instructions, s->has_index ? "'search' finds passages, and 'read' gets the text around them."
                                              : "There are no documents; 'similarity' compares texts.");
  cq_json_member(&b, "", cq_built(&instructions));
  cq_builder_text(&b, "}}");
  cq_builder_free(&instructions);
  s->is_initialized = true;
  write_line(s, &b);
}

static void list_tools(session *s, const json_t *id, const json_t *params) {
  cq_builder b;
  if (json_object_get(params, "cursor")) {
    fail(s, id, NO_PARAMS, "'cursor' is unknown: all tools are on one page");
    return;
  }
  begin_answer(&b, id, "result");
  cq_builder_text(&b, "{\"tools\":");
  serve_mcp_put_tools(&b, s->has_index);
  cq_builder_text(&b, "}}");
  write_line(s, &b);
}

static void call_tool(session *s, json_t *id, const json_t *params) {
  const char *name = json_string_value(json_object_get(params, "name"));
  json_t *arguments = json_object_get(params, "arguments");
  const serve_route *tool = name ? serve_mcp_tool(name, s->has_index) : NULL;
  if (!tool || (arguments && !json_is_object(arguments))) {
    if (tool)
      fail(s, id, NO_PARAMS, "'arguments' is not an object");
    else
      fail(s, id, NO_PARAMS, name ? "there is no tool '%.100s'" : "'name' is not a string", name);
    return;
  }
  call *c = calloc(1, sizeof *c);
  pthread_mutex_lock(&s->mutex);
  const bool is_taken = c && s->n_calls < MAX_CALLS;
  if (is_taken) {
    c->tool = tool, c->received_us = cq_now_us();
    c->id = json_incref(id);
    c->arguments = arguments ? json_incref(arguments) : json_object();
    c->token = json_incref(json_object_get(json_object_get(params, "_meta"), "progressToken"));
    *(s->last ? &s->last->next : &s->first) = c;
    s->last = c, s->n_calls++;
    pthread_cond_signal(&s->changed);
  }
  pthread_mutex_unlock(&s->mutex);
  if (is_taken) return;
  free(c);
  fail(s, id, TOO_BUSY, "%d calls wait already, or the memory is full", MAX_CALLS);
}

static void cancel(session *s, const json_t *params) {
  const json_t *id = json_object_get(params, "requestId");
  pthread_mutex_lock(&s->mutex);
  if (s->current && json_equal(s->current->id, id)) s->current->is_cancelled = true;
  for (call *c = s->first; c; c = c->next)
    if (json_equal(c->id, id)) c->is_cancelled = true;
  pthread_mutex_unlock(&s->mutex);
}

static void take_request(session *s, const char *method, json_t *id, const json_t *params) {
  if (params && !json_is_object(params))
    fail(s, id, NO_PARAMS, "'params' is not an object");
  else if (!strcmp(method, "initialize"))
    initialize(s, id, params);
  else if (!strcmp(method, "ping")) {
    cq_builder b;
    begin_answer(&b, id, "result");
    cq_builder_text(&b, "{}}");
    write_line(s, &b);
  } else if (!s->is_initialized)
    fail(s, id, NO_REQUEST, "the first request is not 'initialize'");
  else if (!strcmp(method, "tools/list"))
    list_tools(s, id, params);
  else if (!strcmp(method, "tools/call"))
    call_tool(s, id, params);
  else
    fail(s, id, NO_METHOD, "there is no method '%.100s'", method);
}

/* Notifications have no id, and answers no method: neither is answered. */
static void take_message(session *s, cq_slice line) {
  json_error_t e;
  if (cq_slice_trimmed(line).n == 0) return;
  json_t *message = json_loadb(line.data, line.n, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &e);
  if (!message) {
    fail(s, NULL, NOT_JSON, "the line is not JSON: column %d: %s", e.column, e.text);
    return;
  }
  json_t *id = json_object_get(message, "id");
  const char *method = json_string_value(json_object_get(message, "method"));
  const char *version = json_string_value(json_object_get(message, "jsonrpc"));
  const json_t *params = json_object_get(message, "params");
  const bool is_answer = json_object_get(message, "result") || json_object_get(message, "error");
  if (json_is_array(message))
    fail(s, NULL, NO_REQUEST, "batches are not supported: send a message a line");
  else if (id && !json_is_string(id) && !json_is_integer(id) && !is_answer)
    fail(s, NULL, NO_REQUEST, "'id' is not a string or a whole number");
  else if (!version || strcmp(version, "2.0") != 0 || (!method && !is_answer))
    fail(s, id, NO_REQUEST, "the message is not a request of JSON-RPC 2.0: 'jsonrpc' or 'method' is missing");
  else if (method && id)
    take_request(s, method, id, params);
  else if (method && !strcmp(method, "notifications/cancelled"))
    cancel(s, params);
  json_decref(message);
}

/* Adds bytes to a line, up to the limit; a longer one is read to its end, and refused. */
static void take_bytes(session *s, cq_builder *line, bool *is_long, cq_slice bytes) {
  for (const char *end; bytes.n; bytes = (cq_slice){end + 1, bytes.n - (size_t)(end + 1 - bytes.data)}) {
    end = memchr(bytes.data, '\n', bytes.n);
    const size_t n = end ? (size_t)(end - bytes.data) : bytes.n;
    *is_long = *is_long || line->n + n > s->options->max_line;
    if (!*is_long) cq_builder_bytes(line, bytes.data, n);
    if (!end) return;
    if (*is_long)
      fail(s, NULL, NO_REQUEST, "the message has more than %zu bytes (--max-body)", s->options->max_line);
    else if (line->failed)
      fail(s, NULL, TOO_BUSY, "out of memory");
    else
      take_message(s, cq_built(line));
    *is_long = false;
    cq_builder_free(line);
  }
}

static void read_messages(session *s) {
  cq_builder line = {0};
  bool is_long = false;
  char *bytes = malloc(1 << 16);
  while (bytes && !atomic_load(&s->is_gone)) {
    struct pollfd streams[] = {{.fd = s->options->in, .events = POLLIN}, {.fd = s->options->out}};
    if (poll(streams, 2, -1) < 0 && errno != EINTR) break;
    if (streams[1].revents) atomic_store(&s->is_gone, true);
    if (!streams[0].revents) continue;
    const ssize_t n = read(s->options->in, bytes, 1 << 16);
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) break;
    if (n > 0) take_bytes(s, &line, &is_long, (cq_slice){bytes, (size_t)n});
  }
  take_bytes(s, &line, &is_long, cq_slice_of(line.n || is_long ? "\n" : "")); /* the last line may have no end */
  cq_builder_free(&line);
  free(bytes);
}

cq_status serve_mcp(const serve_mcp_options *options, cq_context *ctx, cq_error *error) {
  session s = {.options = options, .has_index = options->folder || options->model.index};
  pthread_t worker;
  s.folder = (serve_folder){.path = options->folder,
                            .encoding = options->encoding,
                            .model = &options->model,
                            .progress = tell_progress,
                            .context = &s};
  s.shared.ctx = ctx, s.shared.routes = serve_all_routes;
  s.shared.limits =
      (serve_limits){.max_body = options->max_line, .max_tokens = options->max_tokens, .max_texts = MAX_TEXTS};
  cq_status status = options->folder ? CQ_OK : follow(&s, error);
  if (status) return status;
  pthread_mutex_init(&s.mutex, NULL), pthread_mutex_init(&s.writing, NULL);
  pthread_cond_init(&s.changed, NULL);
  if (pthread_create(&worker, NULL, work, &s)) {
    status = cq_fail(error, CQ_ERR_MEMORY, "cannot start a thread");
  } else {
    read_messages(&s);
    pthread_mutex_lock(&s.mutex);
    s.is_ending = true;
    pthread_cond_signal(&s.changed);
    pthread_mutex_unlock(&s.mutex);
    pthread_join(worker, NULL);
  }
  for (call *c = s.first, *next; c; c = next) next = c->next, free_call(c);
  pthread_cond_destroy(&s.changed);
  pthread_mutex_destroy(&s.mutex), pthread_mutex_destroy(&s.writing);
  cq_builder_free(&s.folder.said);
  serve_model_leave(s.model);
  return status;
}
