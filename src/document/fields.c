/* Assigns fields by name: the text, the title, the id; all others are metadata. */
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "document/reader.h"
#include "format/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const role_names[CQ_ROLES] = {"id", "title", "text", "url", "language"};

/* The usual names, the likeliest first. */
enum { MAX_USUAL = 5 };
static const char *const usual[CQ_ROLES][MAX_USUAL] = {
    [CQ_ROLE_ID] = {"id", "_id", "docid", "docno", "doc_id"},
    [CQ_ROLE_TITLE] = {"title", "headline"},
    [CQ_ROLE_TEXT] = {"text", "contents", "content", "body"},
    [CQ_ROLE_URL] = {"url", "link"},
    [CQ_ROLE_LANGUAGE] = {"language", "lang"},
};

static bool is_same_name(cq_slice name, const char *other) {
  return strlen(other) == name.n && !strncasecmp(name.data, other, name.n);
}

int cq_document_fields_rank(const cq_document_fields *fields, cq_document_role role, cq_slice name) {
  if (fields->name[role].n) return cq_slice_equal(fields->name[role], name) ? 0 : -1;
  for (int i = 0; i < MAX_USUAL && usual[role][i]; i++)
    if (is_same_name(name, usual[role][i])) return i;
  return -1;
}

cq_status cq_document_fields_parse(cq_document_fields *out, const char *fields, cq_error *error) {
  *out = (cq_document_fields){0};
  for (const char *at = fields ? fields : ""; *at;) {
    const size_t n = strcspn(at, ",");
    const char *equals = memchr(at, '=', n);
    const cq_slice role = {at, equals ? (size_t)(equals - at) : 0};
    int i = 0;
    while (i < CQ_ROLES && !is_same_name(role, role_names[i])) i++;
    if (i == CQ_ROLES || equals + 1 == at + n)
      return cq_fail(error, CQ_ERR_ARGUMENT,
                     "'%.*s' does not name a field: id, title, text, url or language, '=' and its name in the file",
                     (int)cq_min(n, (size_t)80), at);
    out->name[i] = (cq_slice){equals + 1, (size_t)(at + n - equals - 1)};
    at += n + (at[n] == ',');
  }
  return CQ_OK;
}

void cq_document_room_clear(cq_document_room *room) {
  for (int i = 0; i < CQ_ROLES; i++) cq_builder_clear(&room->role[i]);
  cq_builder_clear(&room->metadata);
}

void cq_document_room_free(cq_document_room *room) {
  for (int i = 0; i < CQ_ROLES; i++) cq_builder_free(&room->role[i]);
  cq_builder_free(&room->metadata);
}

cq_status cq_document_fail(const cq_document_file *file, cq_error *error, const char *format, ...) {
  char text[300];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  return cq_fail_line(error, CQ_ERR_FORMAT, file->path, file->line, "%s", text);
}

cq_status cq_document_fail_text(const cq_document_file *file, cq_error *error, const char *what) {
  const cq_slice given = file->fields->name[CQ_ROLE_TEXT], name = given.n ? given : cq_slice_of(usual[CQ_ROLE_TEXT][0]);
  return cq_document_fail(file, error, "%s \"%.*s\" (fields)", what, (int)cq_min(name.n, (size_t)80), name.data);
}

/* Appends a JSON value as text: strings as they are, one per line, or an integer in digits; false: another type. Only
 * a text or title can be a list of several: an id of two lines would be of no document. */
static bool put_value(cq_builder *out, cq_document_role role, const json_t *value) {
  if (json_is_integer(value)) cq_builder_printf(out, "%lld", (long long)json_integer_value(value));
  if (json_is_string(value)) cq_builder_bytes(out, json_string_value(value), json_string_length(value));
  const bool may_be_list = role == CQ_ROLE_TEXT || role == CQ_ROLE_TITLE || json_array_size(value) == 1;
  bool ok = json_is_integer(value) || json_is_string(value) || (json_is_array(value) && may_be_list);
  for (size_t i = 0; ok && i < json_array_size(value); i++) {
    const json_t *item = json_array_get(value, i);
    if (i) cq_builder_char(out, '\n');
    if ((ok = json_is_string(item))) cq_builder_bytes(out, json_string_value(item), json_string_length(item));
  }
  return ok;
}

/* The member that fits a role best; NULL: none. */
static const char *best_member(const cq_document_fields *fields, cq_document_role role, const json_t *object) {
  const char *key, *best = NULL;
  json_t *value;
  int best_rank = 2 * MAX_USUAL;
  json_object_foreach((json_t *)(uintptr_t)object, key, value) {
    int rank = json_is_null(value) ? -1 : cq_document_fields_rank(fields, role, cq_slice_of(key));
    if (rank >= 0 && !fields->name[role].n)
      rank = 2 * rank + (strcmp(key, usual[role][rank]) != 0); /* its very spelling first */
    if (rank >= 0 && rank < best_rank) best = key, best_rank = rank;
  }
  return best;
}

cq_status cq_document_take_object(cq_document_file *file, const json_t *object, bool has_text, cq_error *error) {
  const char *taken[CQ_ROLES], *key;
  json_t *value, *metadata = NULL;
  for (int i = 0; i < CQ_ROLES; i++) {
    taken[i] = i == CQ_ROLE_TEXT && !has_text ? NULL : best_member(file->fields, (cq_document_role)i, object);
    if (!taken[i] || put_value(&file->room->role[i], (cq_document_role)i, json_object_get(object, taken[i]))) continue;
    cq_builder_clear(&file->room->role[i]);
    if (has_text) return cq_document_fail(file, error, "\"%.80s\" is neither a string nor a whole number", taken[i]);
    cq_json_append(&file->room->role[i], json_object_get(object, taken[i]), -1); /* of front matter */
  }
  for (int i = 0; i < CQ_ROLES; i++)
    if (file->room->role[i].n && memchr(file->room->role[i].data, 0, file->room->role[i].n))
      return cq_document_fail(file, error, "a NUL character in \"%.80s\"", taken[i]);
  if (has_text && !taken[CQ_ROLE_TEXT] && !taken[CQ_ROLE_TITLE])
    return cq_document_fail_text(file, error, "a document without text: no");
  bool any = false;
  metadata = json_object();
  json_object_foreach((json_t *)(uintptr_t)object, key, value) {
    bool is_taken = false;
    for (int i = 0; i < CQ_ROLES; i++) is_taken |= taken[i] == key;
    if (is_taken || json_is_null(value)) continue;
    cq_json_set(&metadata, key, json_incref(value));
    any = true;
  }
  if (!metadata) return cq_fail_memory(error, file->path);
  if (any) cq_json_append(&file->room->metadata, metadata, -1);
  json_decref(metadata);
  return CQ_OK;
}

/* A member with the same name as a role's field is renamed, so that it is not lost. */
static void put_metadata(json_t **object, const char *key, json_t *value) {
  cq_builder name = {0};
  cq_builder_text(&name, key);
  while (!name.failed && *object && json_object_get(*object, name.data)) cq_builder_char(&name, '_');
  cq_json_set(object, name.failed ? "" : name.data, name.failed ? NULL : json_incref(value));
  cq_builder_free(&name);
}

bool cq_document_is_blank(const cq_document *document) {
  static const char blanks[] = {' ', '\t', '\r', '\n', '\f', '\v'};
  const cq_slice text = document->text;
  size_t i = 0;
  while (i < text.n && memchr(blanks, text.data[i], sizeof blanks)) i++;
  return i == text.n;
}

cq_status cq_document_json(char **out, const cq_document *document, cq_error *error) {
  const cq_slice values[CQ_ROLES] = {document->id, document->title, document->text, document->url, document->language};
  json_t *metadata = NULL, *object = json_object(), *value;
  cq_builder text = {0};
  const char *key;
  cq_status status = CQ_OK;
  *out = NULL;
  if (document->metadata.n) status = cq_json_parse(&metadata, document->metadata, "metadata", error);
  if (!status && metadata && !json_is_object(metadata))
    status = cq_fail(error, CQ_ERR_FORMAT, "metadata are not a JSON object");
  for (int i = 0; !status && i < CQ_ROLES; i++) {
    const size_t bad = cq_utf8_invalid_at(values[i].data, values[i].n);
    if (bad < values[i].n) status = cq_fail(error, CQ_ERR_FORMAT, "%s: not UTF-8 at byte %zu", role_names[i], bad);
    if (!status && values[i].n) cq_json_set(&object, role_names[i], json_stringn(values[i].data, values[i].n));
  }
  if (!status && metadata) json_object_foreach(metadata, key, value) put_metadata(&object, key, value);
  if (!status && object) cq_json_append(&text, object, -1);
  if (!status && (!object || text.failed)) status = cq_fail_memory(error, "a document");
  json_decref(metadata);
  json_decref(object);
  if (status) cq_builder_free(&text);
  *out = status ? NULL : text.data;
  return status;
}
