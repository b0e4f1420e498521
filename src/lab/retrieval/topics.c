/* The topics of a test collection. See collection.h for the formats. */
#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/memory.h"
#include "calque/lines.h"
#include "format/collection.h"
#include "format/json.h"
#include "format/markup.h"

#include <stdlib.h>
#include <strings.h>

typedef enum field { NO_FIELD, ID, TITLE, DESCRIPTION, NARRATIVE } field;

/* Each field's name, and what may precede its text. */
static const struct field_name {
  const char *name;
  field field;
  const char *label;
} field_names[] = {
    {"num", ID, "Number:"},
    {"identifier", ID, NULL},
    {"id", ID, NULL},
    {"_id", ID, NULL},
    {"qid", ID, NULL},
    {"title", TITLE, "Topic:"},
    {"text", TITLE, NULL},
    {"query", TITLE, NULL},
    {"desc", DESCRIPTION, "Description:"},
    {"description", DESCRIPTION, NULL},
    {"narr", NARRATIVE, "Narrative:"},
    {"narrative", NARRATIVE, NULL},
    {"dom", NO_FIELD, NULL},
    {"smry", NO_FIELD, NULL},
    {"con", NO_FIELD, NULL},
    {"fac", NO_FIELD, NULL},
    {"nat", NO_FIELD, NULL},
    {"def", NO_FIELD, NULL},
    {"head", NO_FIELD, NULL},
};

typedef struct reading {
  cq_topics *out;
  size_t capacity;
  cq_arena *text;
  cq_map ids;
  const char *path;
  cq_builder room;
} reading;

static const struct field_name *field_named(cq_slice name) {
  for (size_t i = 0; i < sizeof field_names / sizeof *field_names; i++)
    if (cq_markup_is(name, field_names[i].name)) return &field_names[i];
  /* CLEF's: a language in front */
  const char *dash = memchr(name.data, '-', name.n);
  if (dash && dash - name.data == 2) return field_named((cq_slice){dash + 1, name.n - 3});
  return NULL;
}

static cq_slice *field_of(cq_topic *topic, field f) {
  cq_slice *const fields[] = {NULL, &topic->id, &topic->title, &topic->description, &topic->narrative};
  return fields[f];
}

/* Strips blanks at the ends and replaces each run of blanks inside by one; kept in the arena. */
static cq_status keep_field(cq_slice *out, reading *r, cq_slice text, const char *label, cq_error *error) {
  cq_builder *b = &r->room;
  const size_t n = label ? strlen(label) : 0;
  while (text.n && cq_is_blank(*text.data)) text.data++, text.n--;
  if (n && text.n >= n && !strncasecmp(text.data, label, n)) text.data += n, text.n -= n;
  cq_builder_clear(b);
  for (size_t i = 0; i < text.n; i++) {
    if (!cq_is_blank(text.data[i]))
      cq_builder_char(b, text.data[i]);
    else if (b->n && b->data[b->n - 1] != ' ')
      cq_builder_char(b, ' ');
  }
  while (b->n && b->data[b->n - 1] == ' ') b->n--;
  const char *copy = b->failed ? NULL : cq_arena_strndup(r->text, b->data ? b->data : "", b->n);
  if (!copy) return cq_fail_memory(error, r->path);
  *out = (cq_slice){copy, b->n};
  return CQ_OK;
}

static cq_status add_read_topic(reading *r, const cq_topic *topic, uint64_t line, cq_error *error) {
  if (topic->id.n == 0) return cq_fail_line(error, CQ_ERR_FORMAT, r->path, line, "a topic without a number");
  for (size_t i = 0; i < topic->id.n; i++)
    if (!topic->id.data[i] || cq_is_blank(topic->id.data[i]))
      return cq_fail_line(error, CQ_ERR_FORMAT, r->path, line, "the topic's number '%.*s' has a blank in it",
                          (int)topic->id.n, topic->id.data);
  if (cq_map_get(&r->ids, topic->id) != CQ_MAP_NONE)
    return cq_fail_line(error, CQ_ERR_FORMAT, r->path, line, "topic '%.*s' appears twice", (int)topic->id.n,
                        topic->id.data);
  if (!cq_map_put_borrowed(&r->ids, topic->id, 1) ||
      !cq_reserve((void **)&r->out->items, &r->capacity, r->out->n + 1, sizeof *r->out->items))
    return cq_fail_memory(error, r->path);
  r->out->items[r->out->n++] = *topic;
  return CQ_OK;
}

/* --- TREC --- */

static uint64_t line_of(cq_slice all, const char *at) {
  uint64_t line = 1;
  for (const char *p = all.data; p < at; p++) line += *p == '\n';
  return line;
}

static bool is_topic_tag(cq_slice name) {
  return cq_markup_is(name, "top") || cq_markup_is(name, "topic");
}

/* The value of a topic's attribute number="1" (or id, num ...), after the tag's name; empty: none. */
static cq_slice number_attribute(const char *p) {
  while (*p && *p != '>') {
    const size_t n = strcspn(p, " \t\r\n=>");
    const cq_slice name = {p, n};
    const struct field_name *named = field_named(name);
    p += n + strspn(p + n, " \t\r\n");
    if (*p != '=') continue;
    p += 1 + strspn(p + 1, " \t\r\n");
    const char quote[] = {*p == '"' || *p == '\'' ? *p++ : '>', '\0'};
    const size_t length = strcspn(p, *quote == '>' ? " \t\r\n>" : quote);
    if (cq_markup_is(name, "number") || (named && named->field == ID)) return (cq_slice){p, length};
    p += length + (p[length] == *quote && *quote != '>');
    p += strspn(p, " \t\r\n");
  }
  return (cq_slice){NULL, 0};
}

/* A topic with its number in an attribute may be text alone, or have other fields: all of that is its title. */
static cq_status fill_topic(cq_topic *topic, reading *r, cq_slice number, const cq_builder *loose, cq_error *error) {
  cq_status status = loose->failed ? cq_fail_memory(error, r->path) : CQ_OK;
  if (!status && number.n && !topic->id.n) status = keep_field(&topic->id, r, number, NULL, error);
  if (status || !number.n || topic->title.n || topic->description.n || !loose->n) return status;
  return keep_field(&topic->title, r, (cq_slice){loose->data, loose->n}, NULL, error);
}

/* A field's text ends at the tag that closes it, opens another field or ends the topic; inner tags become blanks. */
static cq_status read_trec_topics(reading *r, cq_slice all, cq_error *error) {
  cq_markup markup = {.rest = all};
  cq_slice piece;
  cq_topic topic = {0};
  const struct field_name *at = NULL;
  cq_builder text = {0}, loose = {0};
  cq_slice number = {0};
  const char *topic_begins = NULL, *field_begins = NULL;
  cq_status status = CQ_OK;
  for (cq_markup_kind kind; !status && (kind = cq_markup_next(&piece, &markup)) != CQ_MARKUP_END;) {
    if (kind == CQ_MARKUP_TEXT) {
      if (at || topic_begins) cq_markup_text(at ? &text : &loose, piece);
      continue;
    }
    const struct field_name *named = is_topic_tag(piece) ? NULL : field_named(piece);
    if (at && (named || is_topic_tag(piece))) {
      cq_slice *slot = field_of(&topic, at->field);
      if (text.failed) status = cq_fail_memory(error, r->path);
      if (!status && slot->n)
        status = cq_fail_line(error, CQ_ERR_FORMAT, r->path, line_of(all, field_begins), "a topic with two fields <%s>",
                              at->name);
      if (!status) status = keep_field(slot, r, (cq_slice){text.data ? text.data : "", text.n}, at->label, error);
      at = NULL;
    } else if (at || topic_begins) {
      cq_builder_char(at ? &text : &loose, ' ');
    }
    if (status) break;
    if (is_topic_tag(piece)) {
      if ((kind == CQ_MARKUP_OPEN) == (topic_begins != NULL))
        status = cq_fail_line(error, CQ_ERR_FORMAT, r->path, line_of(all, piece.data), "%s",
                              topic_begins ? "a topic inside a topic" : "the end of a topic, but none has begun");
      else if (kind == CQ_MARKUP_CLOSE && !(status = fill_topic(&topic, r, number, &loose, error)))
        status = add_read_topic(r, &topic, line_of(all, topic_begins), error);
      topic = (cq_topic){0};
      number = kind == CQ_MARKUP_OPEN ? number_attribute(piece.data + piece.n) : (cq_slice){0};
      cq_builder_clear(&loose);
      topic_begins = kind == CQ_MARKUP_OPEN ? piece.data : NULL;
    } else if (named && named->field != NO_FIELD && kind == CQ_MARKUP_OPEN && topic_begins) {
      at = named;
      field_begins = piece.data;
      cq_builder_clear(&text);
    }
  }
  if (!status && topic_begins)
    status = cq_fail_line(error, CQ_ERR_FORMAT, r->path, line_of(all, topic_begins), "the topic is not closed");
  cq_builder_free(&text);
  cq_builder_free(&loose);
  return status;
}

/* --- JSON lines and TSV --- */

static cq_status read_json_line(reading *r, cq_slice line, uint64_t number, cq_error *error) {
  json_t *object = NULL;
  cq_topic topic = {0};
  cq_status status = cq_json_parse(&object, line, r->path, NULL);
  if (status == CQ_ERR_MEMORY) return cq_fail_memory(error, r->path);
  if (status || !json_is_object(object)) {
    json_decref(object);
    return cq_fail_line(error, CQ_ERR_FORMAT, r->path, number, "not a JSON object");
  }
  for (size_t i = 0; !status && i < sizeof field_names / sizeof *field_names; i++) {
    const json_t *value = json_object_get(object, field_names[i].name);
    if (field_names[i].field == NO_FIELD) continue;
    cq_slice *slot = field_of(&topic, field_names[i].field);
    char digits[32];
    if (slot->n || !value) continue;
    if (json_is_integer(value)) {
      const int n = snprintf(digits, sizeof digits, "%lld", (long long)json_integer_value(value));
      status = keep_field(slot, r, (cq_slice){digits, (size_t)n}, NULL, error);
    } else if (json_is_string(value)) {
      status = keep_field(slot, r, (cq_slice){json_string_value(value), json_string_length(value)}, NULL, error);
    }
  }
  json_decref(object);
  return status ? status : add_read_topic(r, &topic, number, error);
}

static cq_status read_tsv_line(reading *r, cq_slice line, uint64_t number, cq_error *error) {
  const char *tab = memchr(line.data, '\t', line.n);
  cq_topic topic = {0};
  if (!tab) return cq_fail_line(error, CQ_ERR_FORMAT, r->path, number, "no tab, expected id, tab, title");
  cq_status status = keep_field(&topic.id, r, (cq_slice){line.data, (size_t)(tab - line.data)}, NULL, error);
  const cq_slice title = {tab + 1, line.n - (size_t)(tab + 1 - line.data)};
  if (!status) status = keep_field(&topic.title, r, title, NULL, error);
  return status ? status : add_read_topic(r, &topic, number, error);
}

cq_status cq_topics_read(cq_topics *out, const char *path, cq_error *error) {
  *out = (cq_topics){0};
  reading r = {.out = out, .path = path};
  cq_builder all = {0};
  cq_lines *lines;
  cq_slice line;
  char first = 0;
  cq_status status = cq_lines_open(&lines, path, error);
  if (status) return status;
  r.path = cq_lines_path(lines);
  r.text = out->text = cq_alloc_zeroed(sizeof *out->text);
  if (!r.text) status = cq_fail_memory(error, path);
  while (!status && !(status = cq_lines_next(&line, lines, error)) && line.data) {
    size_t i = 0;
    while (i < line.n && cq_is_blank(line.data[i])) i++;
    if (!first && i < line.n) first = line.data[i];
    if (first == '<') {
      cq_builder_bytes(&all, line.data, line.n);
      cq_builder_char(&all, '\n');
    } else if (first && i < line.n) {
      status = first == '{' ? read_json_line(&r, line, cq_lines_number(lines), error)
                            : read_tsv_line(&r, line, cq_lines_number(lines), error);
    } else {
      cq_builder_char(&all, '\n');
    }
  }
  if (!status && all.failed) status = cq_fail_memory(error, path);
  if (!status && first == '<') status = read_trec_topics(&r, (cq_slice){all.data, all.n}, error);
  if (!status && out->n == 0) status = cq_fail_line(error, CQ_ERR_FORMAT, r.path, cq_lines_number(lines), "no topics");
  cq_lines_close(lines);
  cq_builder_free(&all);
  cq_builder_free(&r.room);
  cq_map_free(&r.ids);
  if (status) cq_topics_free(out);
  return status;
}

void cq_topics_free(cq_topics *topics) {
  cq_free(topics->items);
  if (topics->text) cq_arena_free(topics->text);
  cq_free(topics->text);
  *topics = (cq_topics){0};
}
