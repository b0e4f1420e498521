/* Requests to the hub. Some failures are worth another try after a pause; redirections are followed here and not by
 * libcurl, so that the token stays with the hub. See http.h. */
#include "curl/http.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "calque/version.h"
#include "hub/hub_cache.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

/* Maximum bytes of a response in memory; longest wait that a server may request; redirections per request. */
enum {
  MAX_ANSWER = 64 << 20,
  MAX_WAIT_S = 300,
  MAX_REDIRECTS = 10,
  MAX_HEADERS = 12,
  KEPT_OF_ERRORS = 2000,
  TRIES_TO_CONNECT = 3
};

int cq_hub_ms_per_second = 1000;

/* --- URLs --- */

void cq_hub_escape(cq_builder *out, const char *text, bool keep_slashes) {
  for (const unsigned char *c = (const unsigned char *)text; *c; c++)
    if ((*c < 128 && isalnum(*c)) || strchr("-._~", *c) || (*c == '/' && keep_slashes))
      cq_builder_char(out, (char)*c);
    else
      cq_builder_printf(out, "%%%02X", *c);
}

/* The host and port of a URL, and their length; NULL unless it is an http(s) URL without a user. */
static const char *authority_of(size_t *n, int *scheme, const char *url) {
  static const char *const schemes[] = {"http://", "https://"};
  for (int i = 0; i < 2; i++) {
    const size_t start = strlen(schemes[i]);
    if (strncasecmp(url, schemes[i], start) != 0) continue;
    *n = strcspn(url + start, "/?#");
    *scheme = i;
    return *n == 0 || memchr(url + start, '@', *n) ? NULL : url + start;
  }
  return NULL;
}

/* Without the scheme's default port. */
static size_t without_default_port(const char *authority, size_t n, int scheme) {
  const char *const port = scheme ? ":443" : ":80";
  const size_t length = strlen(port);
  return n > length && !memcmp(authority + n - length, port, length) ? n - length : n;
}

bool cq_hub_same_origin(const char *a, const char *b) {
  size_t n_a, n_b;
  int scheme_a, scheme_b;
  const char *of_a = authority_of(&n_a, &scheme_a, a), *of_b = authority_of(&n_b, &scheme_b, b);
  if (!of_a || !of_b || scheme_a != scheme_b) return false;
  n_a = without_default_port(of_a, n_a, scheme_a), n_b = without_default_port(of_b, n_b, scheme_b);
  return n_a == n_b && strncasecmp(of_a, of_b, n_a) == 0;
}

/* --- the session --- */

/* Reads the token from the environment, else from the file, and strips blanks around it. A control character could
 * inject a header. */
static cq_status find_token(cq_hub_session *s, cq_error *error) {
  char path[CQ_HUB_PATH];
  cq_slice text = {0};
  const char *value = cq_hub_environment("HF_TOKEN");
  if (!value) value = cq_hub_environment("HUGGING_FACE_HUB_TOKEN");
  s->token_from = "HF_TOKEN";
  if (!value && !cq_hub_environment_is_true("HF_HUB_DISABLE_IMPLICIT_TOKEN") && cq_hub_token_file(path) &&
      cq_file_exists(path)) {
    cq_status status = cq_file_read(&text, path, error);
    if (status) return status;
    value = text.data, s->token_from = "the token of 'hf auth login'";
  }
  if (!value) return CQ_OK;
  const cq_slice trimmed = cq_slice_trimmed(cq_slice_of(value));
  bool is_plain = trimmed.n < 1024;
  for (size_t i = 0; i < trimmed.n; i++) is_plain = is_plain && trimmed.data[i] > ' ' && trimmed.data[i] < 127;
  cq_status status = CQ_OK;
  if (!is_plain)
    status = cq_fail(error, CQ_ERR_ARGUMENT,
                     "%s is not a token: it has blanks or characters that are not allowed in a token", s->token_from);
  else if (trimmed.n && !(s->token = cq_strndup(trimmed.data, trimmed.n)))
    status = cq_fail_memory(error, "token");
  cq_free((void *)(uintptr_t)text.data);
  return status;
}

static long seconds_of(const char *variable, long otherwise) {
  const char *value = cq_hub_environment(variable);
  const long s = value ? strtol(value, NULL, 10) : 0;
  return s > 0 && s <= 86400 ? s : otherwise;
}

cq_status cq_hub_session_open(cq_hub_session *out, const cq_hub_options *options, const char *purpose,
                              cq_error *error) {
  const char *endpoint = cq_hub_environment("HF_ENDPOINT");
  size_t n;
  int scheme;
  *out =
      (cq_hub_session){.progress = options->progress, .progress_context = options->progress_context, .what = purpose};
  if (cq_hub_is_offline())
    return cq_fail_file(error, CQ_ERR_IO, purpose, "HF_HUB_OFFLINE is set: the hub is not contacted");
  if (!endpoint) endpoint = "https://huggingface.co";
  if (!authority_of(&n, &scheme, endpoint) || strlen(endpoint) >= sizeof out->endpoint)
    return cq_fail(error, CQ_ERR_ARGUMENT, "HF_ENDPOINT is '%.200s', expected http://HOST or https://HOST", endpoint);
  snprintf(out->endpoint, sizeof out->endpoint, "%.*s", (int)cq_path_length(endpoint), endpoint);
  out->request_s = seconds_of("HF_HUB_ETAG_TIMEOUT", 10);
  out->download_s = seconds_of("HF_HUB_DOWNLOAD_TIMEOUT", 10);
  cq_status status = find_token(out, error);
  if (!status && !(out->curl = cq_curl_open())) status = cq_fail_memory(error, "libcurl");
  if (status) cq_hub_session_close(out);
  return status;
}

void cq_hub_session_close(cq_hub_session *s) {
  if (s->curl) cq_curl_close(s->curl);
  cq_free(s->token);
  *s = (cq_hub_session){0};
}

bool cq_hub_tell(cq_hub_session *s) {
  return !s->progress || s->progress(s->progress_context, s->what, s->done, s->n_all);
}

/* --- one try --- */

void cq_hub_answer_free(cq_hub_answer *a) {
  cq_builder_free(&a->text);
  *a = (cq_hub_answer){0};
}

typedef struct exchange {
  cq_hub_session *session;
  const cq_hub_request *request;
  cq_hub_answer *answer;
  uint64_t n_sent;     /* of a body in memory */
  uint64_t n_received; /* of the response's body, unless a sink takes it */
  bool is_stopped, is_full, sink_failed;
} exchange;

static void keep_value(char *out, size_t size, cq_slice value) {
  const size_t n = cq_min(value.n, size - 1);
  for (size_t i = 0; i < n; i++) out[i] = (unsigned char)value.data[i] < ' ' ? ' ' : value.data[i];
  out[n] = '\0';
}

/* Stores the ETag without W/ and quotes. It becomes a file name, so an unsuitable ETag is ignored. */
static void keep_etag(char out[CQ_HUB_ETAG], cq_slice value) {
  if (value.n > 2 && !memcmp(value.data, "W/", 2)) value.data += 2, value.n -= 2;
  if (value.n >= 2 && value.data[0] == '"' && value.data[value.n - 1] == '"') value.data++, value.n -= 2;
  out[0] = '\0';
  if (value.n == 0 || value.n >= CQ_HUB_ETAG || value.data[0] == '.') return;
  for (size_t i = 0; i < value.n; i++)
    if (!isalnum((unsigned char)value.data[i]) && !strchr("-_.", value.data[i])) return;
  keep_value(out, CQ_HUB_ETAG, value);
}

static bool keep_number(uint64_t *out, cq_slice value) {
  *out = 0;
  for (size_t i = 0; i < value.n; i++) {
    const unsigned digit = (unsigned)(value.data[i] - '0');
    if (digit > 9 || *out > ((uint64_t)INT64_MAX - digit) / 10) return false;
    *out = 10 * *out + digit;
  }
  return value.n > 0;
}

/* "bytes 100-199/200" */
static void keep_range(cq_hub_answer *a, cq_slice value) {
  if (value.n < 6 || strncasecmp(value.data, "bytes ", 6) != 0) return;
  const char *first = value.data + 6, *end = value.data + value.n;
  const char *dash = memchr(first, '-', (size_t)(end - first)), *slash = memchr(first, '/', (size_t)(end - first));
  a->has_range = dash && slash && dash < slash &&
                 keep_number(&a->range_first, (cq_slice){first, (size_t)(dash - first)}) &&
                 keep_number(&a->range_all, (cq_slice){slash + 1, (size_t)(end - slash - 1)});
}

static bool take_header(void *context, const char *line, size_t n) {
  exchange *x = context;
  cq_hub_answer *a = x->answer;
  if (n > 5 && !memcmp(line, "HTTP/", 5)) { /* after 100 Continue there is another head */
    const cq_builder text = a->text;
    const char *code = memchr(line, ' ', n);
    *a = (cq_hub_answer){.text = text, .code = code ? atoi(code + 1) : 0};
    return true;
  }
  const char *colon = memchr(line, ':', n);
  if (!colon) return true;
  const cq_slice name = cq_slice_trimmed((cq_slice){line, (size_t)(colon - line)});
  const cq_slice value = cq_slice_trimmed((cq_slice){colon + 1, (size_t)(line + n - colon - 1)});
#define IS(text) (name.n == sizeof(text) - 1 && !strncasecmp(name.data, text, name.n))
  if (IS("ETag")) keep_etag(a->etag, value);
  if (IS("X-Linked-ETag")) keep_etag(a->linked_etag, value);
  if (IS("X-Repo-Commit")) keep_value(a->commit, sizeof a->commit, value);
  if (IS("X-Error-Code")) keep_value(a->error_code, sizeof a->error_code, value);
  if (IS("X-Error-Message")) keep_value(a->error_message, sizeof a->error_message, value);
  if (IS("Content-Type")) keep_value(a->type, sizeof a->type, value);
  if (IS("Content-Length")) a->has_length = keep_number(&a->length, value);
  if (IS("X-Linked-Size")) a->has_linked_size = keep_number(&a->linked_size, value);
  if (IS("Content-Range")) keep_range(a, value);
#undef IS
  return true;
}

static bool is_success(int code) {
  return code >= 200 && code < 300;
}

static bool take_body(void *context, const void *bytes, size_t n) {
  exchange *x = context;
  cq_hub_answer *a = x->answer;
  if (x->request->sink && is_success(a->code)) {
    x->sink_failed = !x->request->sink(x->request->context, a, bytes, n);
    return !x->sink_failed;
  }
  x->n_received += n;
  x->is_full = x->n_received > MAX_ANSWER;
  if (x->is_full) return false;
  if (!is_success(a->code)) n = cq_min(n, KEPT_OF_ERRORS - cq_min(KEPT_OF_ERRORS, a->text.n));
  cq_builder_bytes(&a->text, bytes, n);
  return !a->text.failed;
}

static size_t give_body(void *context, void *bytes, size_t n) {
  exchange *x = context;
  if (x->request->read) {
    const size_t got = x->request->read(x->request->context, bytes, n);
    x->sink_failed = got == SIZE_MAX;
    return got;
  }
  n = (size_t)(n < x->request->n_body - x->n_sent ? n : x->request->n_body - x->n_sent);
  if (n) memcpy(bytes, x->request->body + x->n_sent, n);
  x->n_sent += n;
  return n;
}

static bool rewind_body(void *context) {
  exchange *x = context;
  x->n_sent = 0;
  return !x->request->read || (x->request->rewind && x->request->rewind(x->request->context));
}

static bool tick(void *context) {
  exchange *x = context;
  x->is_stopped = !cq_hub_tell(x->session);
  return !x->is_stopped;
}

/* The error for a curl failure. message is libcurl's. */
static cq_status explain_failure(const exchange *x, cq_curl_result result, const char *message, cq_error *error) {
  cq_hub_answer *a = x->answer;
  const char *url = x->request->url;
  if (x->is_stopped) return cq_fail(error, CQ_ERR_STOPPED, "stopped; what was downloaded so far is kept");
  if (x->sink_failed) { /* said already */
    if (error && x->request->failed) *error = *x->request->failed;
    return x->request->failure && *x->request->failure ? *x->request->failure : CQ_ERR_IO;
  }
  if (x->is_full) return cq_fail_file(error, CQ_ERR_FORMAT, url, "the answer has more than %d MiB", MAX_ANSWER >> 20);
  if (a->text.failed || result == CQ_CURL_STOPPED) return cq_fail_memory(error, url);
  a->lost = result == CQ_CURL_LOST;
  return cq_fail_file(error, CQ_ERR_IO, url, "%s", message);
}

static bool is_redirection(int code) {
  return code == 301 || code == 302 || code == 303 || code == 307 || code == 308;
}

cq_status cq_hub_check_redirection(const char *from, const char *to, const char *url, cq_error *error) {
  size_t n;
  int scheme_from, scheme_to;
  if (!to[0]) return cq_fail_file(error, CQ_ERR_FORMAT, url, "is redirected without an address");
  if (!authority_of(&n, &scheme_from, from) || !authority_of(&n, &scheme_to, to))
    return cq_fail_file(error, CQ_ERR_FORMAT, url,
                        "is redirected to something that is not an http or https address: '%.100s'", to);
  if (scheme_from > scheme_to) {
    const char *host = authority_of(&n, &scheme_to, to);
    return cq_fail_file(error, CQ_ERR_FORMAT, url, "is redirected from https to http, at %.*s", (int)cq_min(n, 200),
                        host);
  }
  return CQ_OK;
}

cq_status cq_hub_exchange(cq_hub_answer *a, cq_hub_session *s, const cq_hub_request *r, cq_error *error) {
  exchange x = {.session = s, .request = r, .answer = a};
  char *urls = cq_alloc(2 * CQ_HUB_URL), message[512], authorization[1100] = "";
  char *url = urls, *next = urls ? urls + CQ_HUB_URL : NULL;
  const char *headers[MAX_HEADERS];
  cq_status status = urls ? CQ_OK : cq_fail_memory(error, "a request");
  if (!status && snprintf(url, CQ_HUB_URL, "%s", r->url) >= CQ_HUB_URL)
    status = cq_fail_file(error, CQ_ERR_FORMAT, r->url, "the address has more than %d bytes", CQ_HUB_URL);
  if (s->token) snprintf(authorization, sizeof authorization, "Authorization: Bearer %s", s->token);
  if (!status && !rewind_body(&x)) status = cq_fail_file(error, CQ_ERR_IO, r->url, "cannot be sent");
  for (int n_redirects = 0; !status; n_redirects++) {
    cq_curl_exchange e = {.method = r->method,
                          .url = url,
                          .headers = headers,
                          .n_body = r->n_body,
                          .read = give_body,
                          .rewind = rewind_body,
                          .header = take_header,
                          .body = take_body,
                          .tick = tick,
                          .context = &x,
                          .connect_s = s->request_s,
                          .stall_s = r->stall_s ? r->stall_s : s->request_s};
    headers[e.n_headers++] = "User-Agent: calque/" CQ_VERSION;
    if (s->token && !r->is_foreign && cq_hub_same_origin(url, s->endpoint)) headers[e.n_headers++] = authorization;
    for (size_t i = 0; i < sizeof r->headers / sizeof *r->headers && r->headers[i]; i++)
      headers[e.n_headers++] = r->headers[i];
    cq_hub_answer_free(a);
    x.n_received = 0;
    const cq_curl_result result =
        cq_curl_perform(s->curl, &e, &a->code, &a->retry_after_s, next, CQ_HUB_URL, message, sizeof message);
    if (result != CQ_CURL_OK) {
      status = explain_failure(&x, result, message, error);
      break;
    }
    if (!is_redirection(a->code) || (r->is_metadata && a->linked_etag[0])) break;
    if (n_redirects == MAX_REDIRECTS)
      status = cq_fail_file(error, CQ_ERR_FORMAT, r->url, "is redirected more than %d times", MAX_REDIRECTS);
    else
      status = cq_hub_check_redirection(url, next, r->url, error);
    char *swapped = url;
    url = next, next = swapped;
    if (!rewind_body(&x) && !status) status = cq_fail_file(error, CQ_ERR_IO, r->url, "cannot be sent once more");
  }
  cq_free(urls);
  return status;
}

/* --- several tries --- */

static bool may_recover(int code) {
  return code == 408 || code == 429 || code == 500 || code == 502 || code == 503 || code == 504;
}

bool cq_hub_try_again(int *tries, const cq_hub_answer *a, cq_hub_session *s, cq_status *status, cq_error *error) {
  if (!(a->lost || may_recover(a->code)) || ++*tries >= (a->code ? CQ_HUB_TRIES : TRIES_TO_CONNECT) ||
      a->retry_after_s > MAX_WAIT_S)
    return false;
  long wait_ms = (a->retry_after_s > 0 ? a->retry_after_s : 1L << (*tries - 1)) * cq_hub_ms_per_second;
  for (const long step = 100; wait_ms > 0; wait_ms -= step) {
    if (!cq_hub_tell(s)) {
      *status = cq_fail(error, CQ_ERR_STOPPED, "stopped; what was downloaded so far is kept");
      return false;
    }
    const long ms = wait_ms < step ? wait_ms : step;
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
  }
  return true;
}

/* The hub's reason for an error: "error" in the body's JSON object. */
static void error_of_text(char *out, size_t size, const cq_hub_answer *a) {
  const char *key = a->text.data ? strstr(a->text.data, "\"error\"") : NULL;
  const char *start = key ? strchr(key + 7, '"') : NULL;
  out[0] = '\0';
  if (start) keep_value(out, size, (cq_slice){start + 1, strcspn(start + 1, "\"")});
}

cq_status cq_hub_refused(const cq_hub_answer *a, const cq_hub_session *s, const char *url, cq_error *error) {
  char said[256], hint[300] = "";
  if (a->error_message[0])
    snprintf(said, sizeof said, "%s", a->error_message);
  else
    error_of_text(said, sizeof said, a);
  if (a->code == 401 || (a->code == 404 && !s->token))
    snprintf(hint, sizeof hint, "; %s%s", s->token ? s->token_from : "",
             s->token ? " is not accepted" : "there is no such name, or it needs a token (HF_TOKEN)");
  else if (a->code == 403)
    snprintf(hint, sizeof hint, "; %s%s", s->token ? s->token_from : "",
             s->token ? " does not give access, which its page may offer" : "it needs a token (HF_TOKEN) with access");
  else if (a->code == 429 || a->code >= 500)
    snprintf(hint, sizeof hint,
             a->retry_after_s > MAX_WAIT_S ? "; it asks to come back in %ld s" : "; %ld s were requested",
             a->retry_after_s);
  if (!a->retry_after_s && (a->code == 429 || a->code >= 500))
    snprintf(hint, sizeof hint, "; gave up after %d tries", CQ_HUB_TRIES);
  return cq_fail_file(error, CQ_ERR_IO, url, "the hub answers %d%s%s%s%s%s%s", a->code, a->error_code[0] ? " " : "",
                      a->error_code, said[0] ? " (" : "", said, said[0] ? ")" : "", hint);
}

cq_status cq_hub_ask(cq_hub_answer *a, cq_hub_session *s, const cq_hub_request *r, cq_error *error) {
  int tries = 0;
  for (;;) {
    cq_status stopped = CQ_OK, status = cq_hub_exchange(a, s, r, error);
    if (!status && (is_success(a->code) || (r->is_metadata && a->linked_etag[0]))) return CQ_OK;
    if (status && !a->lost) return status;
    if (cq_hub_try_again(&tries, a, s, &stopped, error)) continue;
    if (stopped) return stopped;
    return status ? status : cq_hub_refused(a, s, r->url, error);
  }
}
