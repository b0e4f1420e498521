/* Documents of test collections: TREC, TSV and JSON lines, recognized by content. See collection.h. */
#include "format/collection.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/walk.h"
#include "calque/lines.h"
#include "format/json.h"
#include "format/markup.h"

#include <strings.h>

#define MAX_DOCUMENT ((size_t)64 << 20)

struct cq_collection {
  cq_walk walk;
  size_t next_path;
  cq_lines *lines; /* of the file that is open */
  cq_collection_format format;
  bool has_format;
  bool is_lost;        /* TREC: after an error; text before the next <DOC> is ignored */
  cq_slice again;      /* TREC: the rest of a line with an error, which is read again; data NULL: none */
  cq_builder document; /* TREC: what has been read of it */
};

cq_status cq_collection_open(cq_collection **out, const char *const *paths, size_t n_paths, cq_error *error) {
  *out = NULL;
  cq_collection *c = cq_alloc_zeroed(sizeof *c);
  if (!c) return cq_fail_memory(error, "a collection");
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < n_paths; i++) status = cq_walk_add(&c->walk, paths[i], error);
  if (status)
    cq_collection_close(c);
  else
    *out = c;
  return status;
}

cq_status cq_collection_of_lines(cq_collection **out, cq_lines *lines, cq_error *error) {
  *out = cq_alloc_zeroed(sizeof **out);
  if (*out) {
    **out = (cq_collection){.lines = lines, .format = CQ_FORMAT_TREC, .has_format = true};
    return CQ_OK;
  }
  const cq_status status = cq_fail_memory(error, cq_lines_path(lines));
  cq_lines_close(lines);
  return status;
}

void cq_collection_close(cq_collection *c) {
  if (!c) return;
  cq_walk_free(&c->walk);
  if (c->lines) cq_lines_close(c->lines);
  cq_builder_free(&c->document);
  cq_free(c);
}

/* The name of the open file, valid even after it is closed. */
static const char *open_path(const cq_collection *c) {
  if (c->next_path == 0) return cq_lines_path(c->lines); /* of lines that were open */
  const char *path = c->walk.files[c->next_path - 1].path;
  return strcmp(path, "-") ? path : "<stdin>";
}

/* --- the next document --- */

/* The end of <DOC> or </DOC> in a line; 0: none. *begins: its start. */
static size_t document_tag(size_t *begins, cq_slice line, bool closing) {
  const char *name = closing ? "</doc" : "<doc";
  const size_t n = strlen(name);
  for (const char *at = line.data; (at = memchr(at, '<', line.n - (size_t)(at - line.data))); at++) {
    const size_t left = line.n - (size_t)(at - line.data);
    if (left <= n || strncasecmp(at, name, n) != 0) continue;
    if (at[n] != '>' && at[n] != ' ') continue;
    const char *end = memchr(at + n, '>', left - n);
    if (!end) break; /* nor is there one for a later tag */
    *begins = (size_t)(at - line.data);
    return (size_t)(end - line.data) + 1;
  }
  return 0;
}

/* Only tags and blanks may appear between documents. */
static bool has_text(cq_slice bytes) {
  cq_markup markup = {.rest = bytes};
  cq_slice piece;
  for (cq_markup_kind kind; (kind = cq_markup_next(&piece, &markup)) != CQ_MARKUP_END;)
    if (kind == CQ_MARKUP_TEXT && cq_slice_trimmed(piece).n) return true;
  return false;
}

static cq_status fail_here(const cq_collection *c, const char *what, cq_error *error) {
  return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(c->lines), cq_lines_number(c->lines), "%s", what);
}

/* Reads the rest of a document, whose first line is `line`. */
static cq_status next_trec(cq_raw_document *out, cq_collection *c, cq_slice line, cq_error *error) {
  size_t begins, end = document_tag(&begins, line, false);
  if (!c->is_lost && has_text((cq_slice){line.data, end ? begins : line.n}))
    return fail_here(c, "text outside of a document, expected <DOC>", error);
  if (!end) return CQ_OK;
  c->is_lost = false;
  const uint64_t first = cq_lines_number(c->lines);
  cq_builder_clear(&c->document);
  cq_builder_bytes(&c->document, "", 0);
  line.data += end, line.n -= end;
  for (cq_status status; line.data;) {
    size_t at, after = document_tag(&at, line, true);
    const cq_slice inside = {line.data, after ? at : line.n};
    size_t other;
    if (document_tag(&other, inside, false)) {
      c->again = (cq_slice){line.data + other, line.n - other};
      return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(c->lines), cq_lines_number(c->lines),
                          "<DOC> inside the document of line %llu, which is not closed", (unsigned long long)first);
    }
    cq_builder_bytes(&c->document, inside.data, inside.n);
    cq_builder_char(&c->document, '\n');
    if (c->document.failed) return cq_fail_memory(error, cq_lines_path(c->lines));
    if (c->document.n > MAX_DOCUMENT)
      return cq_fail_line(error, CQ_ERR_LIMIT, cq_lines_path(c->lines), first, "a document of more than 64 MiB");
    const cq_slice rest = {line.data + after, line.n - after};
    if (after && (has_text(rest) || document_tag(&other, rest, false))) {
      c->again = rest;
      return fail_here(c, "text after </DOC>, expected a new line", error);
    }
    if (after) {
      *out = (cq_raw_document){{c->document.data, c->document.n}, open_path(c), first, CQ_FORMAT_TREC};
      return CQ_OK;
    }
    if ((status = cq_lines_next(&line, c->lines, error))) return status;
  }
  return cq_fail_line(error, CQ_ERR_FORMAT, cq_lines_path(c->lines), first, "<DOC> is not closed");
}

static cq_status open_next_file(cq_collection *c, cq_error *error) {
  if (c->lines) cq_lines_close(c->lines);
  c->lines = NULL;
  c->has_format = false;
  return cq_lines_open(&c->lines, c->walk.files[c->next_path++].path, error);
}

cq_status cq_collection_next(cq_raw_document *out, cq_collection *c, cq_error *error) {
  cq_slice line;
  *out = (cq_raw_document){0};
  while (!out->bytes.data) {
    cq_status status = CQ_OK;
    line.data = NULL;
    if (c->again.data)
      line = c->again, c->again.data = NULL;
    else if (c->lines)
      status = cq_lines_next(&line, c->lines, error);
    c->is_lost |= status != CQ_OK;
    if (status) return status;
    if (!line.data) {
      if (c->next_path == c->walk.n) return CQ_OK;
      if ((status = open_next_file(c, error))) return status;
      continue;
    }
    if (cq_slice_trimmed(line).n == 0) continue;
    const char first = *cq_slice_trimmed(line).data;
    if (!c->has_format) c->format = first == '<' ? CQ_FORMAT_TREC : first == '{' ? CQ_FORMAT_JSON : CQ_FORMAT_TSV;
    c->has_format = true;
    if (c->format != CQ_FORMAT_TREC)
      *out = (cq_raw_document){line, open_path(c), cq_lines_number(c->lines), c->format};
    else {
      status = next_trec(out, c, line, error);
      c->is_lost |= status != CQ_OK;
      if (status) return status;
    }
  }
  return CQ_OK;
}

/* --- what is in it --- */

static bool is_one_of(cq_slice name, const char *const *names, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (cq_markup_is(name, names[i])) return true;
  return false;
}

static cq_status fail_document(const cq_raw_document *raw, const char *what, cq_error *error) {
  return cq_fail_line(error, CQ_ERR_FORMAT, raw->path, raw->line, "%s", what);
}

static const char *const id_tags[] = {"docno", "docid"};

/* Looks for the id: DOCNO's, else DOCID's. */
static cq_status find_trec_id(cq_slice *id, const cq_raw_document *raw, cq_error *error) {
  for (size_t i = 0; i < sizeof id_tags / sizeof *id_tags; i++) {
    cq_markup markup = {.rest = raw->bytes};
    cq_slice piece;
    bool is_here = false, is_found = false;
    for (cq_markup_kind kind; (kind = cq_markup_next(&piece, &markup)) != CQ_MARKUP_END;) {
      if (kind == CQ_MARKUP_TEXT && is_here) {
        const char *begins = id->n ? id->data : piece.data; /* a '<' makes it two pieces */
        *id = cq_slice_trimmed((cq_slice){begins, (size_t)(piece.data + piece.n - begins)});
      }
      if (kind == CQ_MARKUP_TEXT) continue;
      is_here = kind == CQ_MARKUP_OPEN && cq_markup_is(piece, id_tags[i]);
      if (is_here && is_found) return fail_document(raw, "a document with two ids", error);
      is_found |= is_here;
    }
    if (id->n) return CQ_OK;
  }
  return fail_document(raw, "a document without <DOCNO>", error);
}

/* The text outside the id, or within the chosen fields; tags become blanks. */
static cq_status read_trec_document(cq_slice *id, const cq_raw_document *raw, const char *const *fields,
                                    size_t n_fields, cq_builder *text, cq_error *error) {
  cq_markup markup = {.rest = raw->bytes};
  cq_slice piece, field = {0};
  bool in_id = false;
  cq_status status = find_trec_id(id, raw, error);
  for (cq_markup_kind kind; !status && (kind = cq_markup_next(&piece, &markup)) != CQ_MARKUP_END;) {
    if (kind == CQ_MARKUP_TEXT) {
      if (!in_id && (n_fields == 0 || field.n)) cq_markup_text(text, piece);
      continue;
    }
    cq_builder_char(text, ' ');
    const bool opens = kind == CQ_MARKUP_OPEN;
    in_id = opens && is_one_of(piece, id_tags, sizeof id_tags / sizeof *id_tags);
    if (field.n == 0 && opens && is_one_of(piece, fields, n_fields))
      field = piece;
    else if (field.n && field.n == piece.n && !opens && !strncasecmp(field.data, piece.data, piece.n))
      field.n = 0;
  }
  return status;
}

static const char *const json_ids[] = {"id", "_id", "docid", "docno", "qid", "num"};
static const char *const json_texts[] = {"title", "text", "contents"};

/* A JSON value as text: a string unchanged, an integer in digits. */
static bool put_json(cq_builder *out, const json_t *value) {
  if (json_is_string(value)) cq_builder_bytes(out, json_string_value(value), json_string_length(value));
  if (json_is_integer(value)) cq_builder_printf(out, "%lld", (long long)json_integer_value(value));
  return json_is_string(value) || json_is_integer(value);
}

static bool put_json_id(cq_builder *out, const json_t *object) {
  for (size_t i = 0; i < sizeof json_ids / sizeof *json_ids; i++)
    if (put_json(out, json_object_get(object, json_ids[i]))) return true;
  return false;
}

static cq_status parse_json(json_t **out, const cq_raw_document *raw, cq_error *error) {
  cq_status status = cq_json_parse(out, raw->bytes, raw->path, NULL);
  if (status == CQ_ERR_FORMAT) return fail_document(raw, "not a JSON object", error);
  if (status) return cq_fail_memory(error, raw->path);
  if (json_is_object(*out)) return CQ_OK;
  json_decref(*out);
  return fail_document(raw, "not a JSON object", error);
}

static cq_status read_json(size_t *id_bytes, const cq_raw_document *raw, const char *const *fields, size_t n_fields,
                           cq_builder *room, cq_error *error) {
  json_t *object;
  cq_status status = parse_json(&object, raw, error);
  if (status) return status;
  if (!put_json_id(room, object)) status = fail_document(raw, "a document without \"id\"", error);
  *id_bytes = room->n;
  const size_t n = n_fields ? n_fields : sizeof json_texts / sizeof *json_texts;
  for (size_t i = 0; i < n; i++) {
    cq_builder_char(room, ' ');
    const json_t *text = json_object_get(object, n_fields ? fields[i] : json_texts[i]);
    if (!put_json(room, text) && text && !json_is_null(text))
      status = fail_document(raw, "a text that is neither a string nor a whole number", error);
  }
  json_decref(object);
  return status;
}

static cq_status read_tsv(cq_slice *id, cq_slice *text, const cq_raw_document *raw, cq_error *error) {
  const char *tab = memchr(raw->bytes.data, '\t', raw->bytes.n);
  if (!tab) return fail_document(raw, "no tab, expected id, tab, text", error);
  *id = cq_slice_trimmed((cq_slice){raw->bytes.data, (size_t)(tab - raw->bytes.data)});
  *text = (cq_slice){tab + 1, raw->bytes.n - (size_t)(tab + 1 - raw->bytes.data)};
  return CQ_OK;
}

/* The id becomes a column of run and judgment files, so it needs checking; JSON can contain a NUL. */
static cq_status check_id(cq_slice id, const cq_raw_document *raw, cq_error *error) {
  if (id.n == 0) return fail_document(raw, "an empty id", error);
  for (size_t i = 0; i < id.n; i++)
    if (!id.data[i] || cq_is_blank(id.data[i])) return fail_document(raw, "an id with a blank in it", error);
  return CQ_OK;
}

cq_status cq_document_read(cq_collection_document *out, const cq_raw_document *raw, const char *const *fields,
                           size_t n_fields, cq_builder *room, cq_error *error) {
  cq_slice id = {0}, text = {0};
  size_t id_bytes = 0;
  cq_status status = CQ_OK;
  cq_builder_clear(room);
  if (raw->format == CQ_FORMAT_JSON) {
    status = read_json(&id_bytes, raw, fields, n_fields, room, error);
    if (!status && !room->failed)
      id = cq_slice_trimmed((cq_slice){room->data, id_bytes}),
      text = (cq_slice){room->data + id_bytes, room->n - id_bytes};
  } else if (raw->format == CQ_FORMAT_TREC) {
    status = read_trec_document(&id, raw, fields, n_fields, room, error);
    if (!room->failed) text = (cq_slice){room->data ? room->data : "", room->n};
  } else {
    status = read_tsv(&id, &text, raw, error);
  }
  if (!status && room->failed) status = cq_fail_memory(error, raw->path);
  if (!status) status = check_id(id, raw, error);
  *out = (cq_collection_document){id, text};
  return status;
}
