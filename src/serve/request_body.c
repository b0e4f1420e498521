/* Content-Encoding by base's decompressors, Content-Type with its parameters, and forms:
 *
 *   --BOUNDARY CRLF  headers CRLF CRLF  bytes CRLF  --BOUNDARY CRLF  ...  --BOUNDARY-- */
#include "serve/request_body.h"
#include "serve/option_fields.h"
#include "serve/route.h"

#include "base/compression.h"
#include "text/decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { MAX_PARTS = 1000 };

/* Unless the request has failed. */
static void replace_body(serve_request *r, cq_builder *by) {
  cq_builder_free(&r->body);
  if (r->code)
    cq_builder_free(by);
  else
    r->body = *by;
}

/* ---- Content-Encoding ---- */

static void expand(serve_request *r, const cq_compression *compression) {
  const size_t max = r->shared->limits.max_body;
  cq_builder out = {0};
  cq_decompress_step step = {.in = (const unsigned char *)r->body.data, .n_in = r->body.n};
  cq_decompressed did = CQ_DECOMPRESS_MORE;
  void *state = compression->open();
  if (!state) did = CQ_DECOMPRESS_MEMORY;
  while (did == CQ_DECOMPRESS_MORE && out.n <= max && !out.failed) {
    unsigned char bytes[16384];
    step.out = bytes, step.n_out = sizeof bytes, step.is_last = step.n_in == 0;
    did = compression->step(state, &step);
    cq_builder_bytes(&out, (const char *)bytes, sizeof bytes - step.n_out);
  }
  if (out.n > max)
    serve_fail(r, SERVE_TOO_LARGE, NULL, "the body has more than %zu bytes, decompressed (--max-body)", max);
  else if (did == CQ_DECOMPRESS_BROKEN)
    serve_fail(r, SERVE_MALFORMED, NULL, "the body is a broken %s stream: %s", compression->name, step.why);
  else if (did == CQ_DECOMPRESS_MEMORY || out.failed)
    serve_fail_memory(r);
  compression->close(state);
  replace_body(r, &out);
}

bool serve_expand_body(serve_request *r) {
  static const struct {
    const char *name;
    const cq_compression *compression;
  } rows[] = {{"gzip", &cq_gzip}, {"x-gzip", &cq_gzip}, {"deflate", &cq_deflate}, {"zstd", &cq_zstandard}};
  const char *encoding = r->body_encoding;
  r->body_encoding = NULL;
  if (!encoding || !*encoding || !strcasecmp(encoding, "identity") || !r->body.n) return true;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcasecmp(encoding, rows[i].name) != 0) continue;
    expand(r, rows[i].compression);
    return !r->code;
  }
  return serve_fail(r, SERVE_MEDIA_TYPE, NULL, "Content-Encoding is '%.100s', expected gzip, deflate or zstd",
                    encoding);
}

/* ---- Content-Type ---- */

static void lower(char *text) {
  for (; *text; text++)
    if (*text >= 'A' && *text <= 'Z') *text = (char)(*text + 32);
}

static bool is_end_of_token(char c) {
  return c == ';' || c == '=' || cq_is_blank(c);
}

static void skip_blanks(cq_slice *s) {
  while (s->n && cq_is_blank(*s->data)) s->data++, s->n--;
}

/* Moves a token to out; false: it is too long. */
static bool take_token(char *out, size_t size, cq_slice *s) {
  size_t n = 0;
  while (n < s->n && !is_end_of_token(s->data[n])) n++;
  if (n >= size) return false;
  if (n) memcpy(out, s->data, n);
  out[n] = '\0';
  s->data += n, s->n -= n;
  skip_blanks(s);
  return true;
}

static bool take_quoted(char *out, size_t size, cq_slice *s) {
  size_t n = 0;
  for (s->data++, s->n--; s->n && *s->data != '"'; s->data++, s->n--) {
    if (*s->data == '\\' && s->n > 1 && (s->data[1] == '"' || s->data[1] == '\\')) s->data++, s->n--;
    if (n + 1 >= size) return false;
    out[n++] = *s->data;
  }
  out[n] = '\0';
  if (!s->n) return false;
  s->data++, s->n--;
  skip_blanks(s);
  return true;
}

/* Takes the next of "; name=value; name=\"value\"". *found false: there is none. False: malformed. */
static bool take_parameter(bool *found, char name[SERVE_MEDIA_NAME], char value[SERVE_FILE_NAME], cq_slice *s) {
  *found = false;
  while (s->n && *s->data == ';') s->data++, s->n--, skip_blanks(s);
  if (!s->n) return true;
  if (!take_token(name, SERVE_MEDIA_NAME, s) || !*name || !s->n || *s->data != '=') return false;
  s->data++, s->n--;
  skip_blanks(s);
  lower(name);
  *found = true;
  const bool is_quoted = s->n && *s->data == '"';
  return (is_quoted ? take_quoted(value, SERVE_FILE_NAME, s) : take_token(value, SERVE_FILE_NAME, s)) &&
         (!s->n || *s->data == ';');
}

static bool take_type_slice(serve_media_type *out, serve_request *r, cq_slice header) {
  char name[SERVE_MEDIA_NAME], value[SERVE_FILE_NAME];
  cq_slice rest = cq_slice_trimmed(header);
  bool found = true, is_fine;
  *out = (serve_media_type){0};
  if (!rest.n) return true;
  is_fine = take_token(out->type, sizeof out->type, &rest) && strchr(out->type, '/');
  lower(out->type);
  while (is_fine && (is_fine = take_parameter(&found, name, value, &rest)) && found) {
    char *to = !strcmp(name, "charset") ? out->charset : !strcmp(name, "boundary") ? out->boundary : NULL;
    if (to) is_fine = !*to && strlen(value) < SERVE_MEDIA_NAME && snprintf(to, SERVE_MEDIA_NAME, "%s", value) > 0;
  }
  if (!is_fine)
    serve_fail(r, SERVE_MEDIA_TYPE, NULL, "Content-Type is '%.*s', expected TYPE/SUBTYPE; charset=NAME",
               (int)(header.n < 200 ? header.n : 200), header.data);
  else if (*out->charset && !cq_encoding_is_known(out->charset))
    serve_fail(r, SERVE_MEDIA_TYPE, NULL, "the charset '%s' is not known, expected for example utf-8", out->charset);
  return !r->code;
}

bool serve_take_media_type(serve_media_type *out, serve_request *r, const char *header) {
  return take_type_slice(out, r, cq_slice_of(header ? header : ""));
}

bool serve_fail_media_type(serve_request *r, const char *type, const char *expected) {
  return serve_fail(r, SERVE_MEDIA_TYPE, NULL, "Content-Type is '%s', expected %s", type, expected);
}

/* ---- JSON ---- */

/* Of clients that do not say what they send: curl -d, fetch() with a string. */
static bool may_be_json(const char *type) {
  static const char *const types[] = {"",           "application/json",         "text/json",
                                      "text/plain", "application/octet-stream", "application/x-www-form-urlencoded"};
  const size_t n = strlen(type);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (!strcmp(type, types[i])) return true;
  return n > 5 && !strcmp(type + n - 5, "+json");
}

static void decode(serve_request *r, const char *charset) {
  cq_builder text = {0};
  cq_error error = {0};
  if (cq_decode_all(&text, (cq_slice){r->body.data, r->body.n}, charset, &error)) {
    serve_fail_error(r, &error);
  } else {
    for (size_t i = 0; i < text.n && !r->code; i++) /* ICU writes either for what is invalid */
      if (text.data[i] == '\x1A' || !strncmp(text.data + i, "\xEF\xBF\xBD", 3))
        serve_fail(r, SERVE_MALFORMED, NULL, "the body is not %s, or has U+FFFD", charset);
  }
  replace_body(r, &text);
}

/* Makes the body UTF-8, without a byte order mark; refuses other media types. */
static bool decode_json(serve_request *r) {
  serve_media_type type;
  if (!serve_expand_body(r) || !serve_take_media_type(&type, r, r->body_type)) return false;
  if (!may_be_json(type.type)) return serve_fail_media_type(r, type.type, "application/json");
  const char *marked = cq_encoding_marked((cq_slice){r->body.data, r->body.n});
  const bool is_utf8 = !*type.charset || !strcasecmp(type.charset, "utf-8") || !strcasecmp(type.charset, "utf8");
  if (marked || !is_utf8) decode(r, marked ? marked : type.charset);
  if (!r->code && r->body.n >= 3 && !memcmp(r->body.data, "\xEF\xBB\xBF", 3)) {
    r->body.n -= 3;
    memmove(r->body.data, r->body.data + 3, r->body.n + 1);
  }
  return !r->code;
}

enum { READING = JSON_ALLOW_NUL | JSON_DECODE_ANY };

/* Fails if a field that the route reads comes twice in the body, an object, or holds an object in which a name does. Of
 * other fields, anything is fine. */
static void check_repeated(serve_request *r, cq_slice text) {
  json_t *read = json_loads(r->route->body ? r->route->body : "{}", 0, NULL);
  for (const serve_field *f = r->route->fields; f && f->name; f++) json_object_set_new(read, f->name, json_object());
  size_t depth = 0, end;
  for (size_t i = 0; read && i < text.n && !r->code; i++) {
    const char c = text.data[i];
    depth += c == '{' || c == '[', depth -= c == '}' || c == ']';
    if (c != '"') continue;
    for (end = i + 1; text.data[end] != '"'; end++) end += text.data[end] == '\\';
    json_t *name = json_loadb(text.data + i, end + 1 - i, READING, NULL);
    for (i = end; i + 1 < text.n && cq_is_blank(text.data[i + 1]);) i++;
    const bool is_name = depth == 1 && i + 2 < text.n && text.data[i + 1] == ':';
    const char *field = json_string_value(name);
    json_t *seen = is_name && field ? json_object_get(read, field) : NULL, *value = NULL;
    if (seen)
      value = json_loadb(text.data + i + 2, text.n - i - 2, READING | JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK,
                         NULL);
    if (seen && (json_is_true(seen) || !value))
      serve_fail(r, SERVE_INVALID, field, "'%s' %s", field, value ? "comes twice" : "has a name that comes twice");
    if (seen && !r->code) json_object_set_new(read, field, json_true());
    json_decref(value);
    json_decref(name);
  }
  if (!read) serve_fail_memory(r);
  json_decref(read);
}

/* Reads what Jansson refuses though it is JSON, too; in documents, numbers keep their digits, and no name comes twice. */
static json_t *load(serve_request *r, cq_slice text, json_error_t *e) {
  const bool is_document = r->rest && *r->rest;
  json_t *json = json_loadb(text.data, text.n, READING | JSON_REJECT_DUPLICATES, e);
  if (!json && !is_document && json_error_code(e) == json_error_duplicate_key &&
      (json = json_loadb(text.data, text.n, READING, e)) && json_is_object(json))
    check_repeated(r, text);
  return json;
}

json_t *serve_body_json(serve_request *r) {
  json_error_t e;
  if (!decode_json(r)) return NULL;
  if (!r->body.n) {
    serve_fail(r, SERVE_MALFORMED, NULL, "the body is empty, expected a JSON object");
    return NULL;
  }
  json_t *json = load(r, (cq_slice){r->body.data, r->body.n}, &e);
  if (!json) {
    cq_builder mended = {0};
    cq_json_mend(&mended, (cq_slice){r->body.data, r->body.n}, r->rest && *r->rest);
    if (mended.failed)
      serve_fail_memory(r);
    else
      json = load(r, (cq_slice){mended.data, mended.n}, &e);
    cq_builder_free(&mended);
  }
  cq_builder_free(&r->body);
  if (!json && !r->code && json_error_code(&e) == json_error_out_of_memory)
    serve_fail_memory(r);
  else if (!json && !r->code)
    serve_fail(r, SERVE_MALFORMED, NULL, "the body is not %s: line %d, column %d: %s",
               json_error_code(&e) == json_error_duplicate_key ? "a document" : "JSON", e.line, e.column, e.text);
  else if (!r->code && !json_is_object(json))
    serve_fail(r, SERVE_INVALID, NULL, "the body is not a JSON object");
  if (!r->code) return json;
  json_decref(json);
  return NULL;
}

/* ---- forms ---- */

/* Where the delimiter begins in text; SIZE_MAX: nowhere. */
static size_t find_delimiter(const serve_form *f, cq_slice text) {
  const size_t n = strlen(f->delimiter);
  for (size_t at = 0; at + n <= text.n; at++) {
    const char *cr = memchr(text.data + at, '\r', text.n - n + 1 - at);
    if (!cr) break;
    at = (size_t)(cr - text.data);
    if (!memcmp(cr, f->delimiter, n)) return at;
  }
  return SIZE_MAX;
}

static void drop(cq_slice *s, size_t n) {
  s->data += n, s->n -= n;
}

bool serve_form_begin(serve_form *out, serve_request *r, const serve_media_type *type) {
  *out = (serve_form){.rest = {r->body.n ? r->body.data : "", r->body.n}};
  snprintf(out->delimiter, sizeof out->delimiter, "\r\n--%s", type->boundary);
  const size_t n = strlen(out->delimiter) - 2;
  const bool is_first = out->rest.n >= n && !memcmp(out->rest.data, out->delimiter + 2, n);
  const size_t at = is_first ? 0 : find_delimiter(out, out->rest);
  if (!*type->boundary)
    serve_fail(r, SERVE_MEDIA_TYPE, NULL, "Content-Type is 'multipart/form-data' without a boundary");
  else if (at == SIZE_MAX)
    serve_fail(r, SERVE_MALFORMED, NULL, "the form has no part that begins with its boundary");
  else
    drop(&out->rest, at + n + (is_first ? 0 : 2));
  return !r->code;
}

/* Without folders, which some browsers send. */
static void keep_last_component(char *name) {
  for (const char *slash; (slash = strpbrk(name, "/\\"));) memmove(name, slash + 1, strlen(slash + 1) + 1);
}

/* utf-8''%C3%A9.txt, RFC 8187. */
static bool take_extended(char out[SERVE_FILE_NAME], const char *value) {
  size_t n = 0;
  if (strncasecmp(value, "utf-8'", 6) != 0 || !(value = strchr(value + 6, '\''))) return false;
  for (value++; *value; value++) {
    char hex[3] = {0}, *end = hex;
    if (*value == '%' && value[1]) hex[0] = value[1], hex[1] = value[2];
    const long byte = *hex ? strtol(hex, &end, 16) : (unsigned char)*value;
    if (*value == '%' && (end != hex + 2 || byte == 0)) return false;
    if (*value == '%') value += 2;
    out[n++] = (char)byte;
  }
  out[n] = '\0';
  return true;
}

static bool take_disposition(serve_part *out, cq_slice value) {
  char kind[SERVE_MEDIA_NAME], name[SERVE_MEDIA_NAME], text[SERVE_FILE_NAME];
  bool found, is_fine = take_token(kind, sizeof kind, &value) && !strcasecmp(kind, "form-data");
  while (is_fine && (is_fine = take_parameter(&found, name, text, &value)) && found) {
    if (!strcmp(name, "name")) memcpy(out->name, text, sizeof text);
    if (!strcmp(name, "filename") && !*out->file_name) memcpy(out->file_name, text, sizeof text);
    if (!strcmp(name, "filename*")) is_fine = take_extended(out->file_name, text);
  }
  keep_last_component(out->file_name);
  return is_fine;
}

/* A header of a part. False: the request has failed. */
static bool take_part_header(serve_part *out, serve_request *r, cq_slice line) {
  const char *colon = line.n ? memchr(line.data, ':', line.n) : NULL;
  const size_t n = colon ? (size_t)(colon - line.data) : 0;
  const cq_slice value = cq_slice_trimmed((cq_slice){line.data + n + (n > 0), line.n - n - (n > 0)});
  bool is_fine = n > 0 && !memchr(line.data, 0, line.n); /* a NUL would end a name */
  if (is_fine && n == 12 && !strncasecmp(line.data, "Content-Type", n)) return take_type_slice(&out->type, r, value);
  if (is_fine && n == 19 && !strncasecmp(line.data, "Content-Disposition", n)) is_fine = take_disposition(out, value);
  if (n == 25 && !strncasecmp(line.data, "Content-Transfer-Encoding", n) && value.n && value.data[0] != '7' &&
      value.data[0] != '8' && !(value.n == 6 && !strncasecmp(value.data, "binary", 6)))
    return serve_fail(r, SERVE_MEDIA_TYPE, NULL, "Content-Transfer-Encoding is '%.*s', expected none",
                      (int)(value.n < 60 ? value.n : 60), value.data);
  if (!is_fine)
    serve_fail(r, SERVE_MALFORMED, NULL, "the form has a part with the header '%.*s'",
               (int)(line.n < 200 ? line.n : 200), line.data);
  return is_fine;
}

/* A line up to CR LF; false: there is none. */
static bool take_line(cq_slice *line, cq_slice *rest) {
  for (size_t n = 0; n + 1 < rest->n; n++) {
    if (memcmp(rest->data + n, "\r\n", 2) != 0) continue;
    *line = (cq_slice){rest->data, n};
    drop(rest, n + 2);
    return true;
  }
  return false;
}

bool serve_form_next(serve_part *out, serve_form *f, serve_request *r) {
  cq_slice line;
  memset(out, 0, sizeof *out);
  if (f->rest.n >= 2 && !memcmp(f->rest.data, "--", 2)) return false;
  bool is_whole = take_line(&line, &f->rest) && !cq_slice_trimmed(line).n; /* the boundary's */
  while (is_whole && (is_whole = take_line(&line, &f->rest)) && line.n)
    if (!take_part_header(out, r, line)) return false;
  /* An empty part's delimiter begins with the line end of its headers. */
  const cq_slice content = is_whole ? (cq_slice){f->rest.data - 2, f->rest.n + 2} : f->rest;
  const size_t n = is_whole ? find_delimiter(f, content) : SIZE_MAX;
  if (n == SIZE_MAX) {
    serve_fail(r, SERVE_MALFORMED, NULL, "the form ends within a part: its last boundary is missing");
  } else if (++f->n_parts > MAX_PARTS) {
    serve_fail(r, SERVE_TOO_LARGE, NULL, "the form has more than %d parts", MAX_PARTS);
  } else if (!*out->name) {
    serve_fail(r, SERVE_MALFORMED, NULL, "part %zu of the form has no name", f->n_parts);
  } else {
    out->bytes = n < 2 ? (cq_slice){"", 0} : (cq_slice){f->rest.data, n - 2};
    drop(&f->rest, n - 2 + strlen(f->delimiter));
  }
  return !r->code;
}
