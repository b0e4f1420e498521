/* Questions on paragraphs in SQuAD's format, the same in two files of different languages (XQuAD):
 *
 *   {"data": [{"paragraphs": [{"context": "...", "qas": [{"id": "56be", "question": "...", "answers": [...]}]}]}]}
 *
 * Each question in both files (by id) gives a row. A paragraph gives a row before its questions, at the first question
 * that both files have. Both files are held in memory. */
#include "base/error.h"
#include "base/map.h"
#include "base/memory.h"
#include "corpus/format.h"
#include "format/json.h"

#include <string.h>

typedef struct xquad {
  cq_format_reader base;
  json_t *files[2];
  cq_map questions; /* of the second file: id -> its json_t */
  cq_map contexts;  /* for the second file: question id -> the json_t of its paragraph */
  size_t article, paragraph, question;
  bool context_is_done;
} xquad;

/* The i-th element of the array `key`; NULL: there are no more, or no such array. */
static json_t *json_item(const json_t *object, const char *key, size_t i) {
  return json_array_get(json_object_get(object, key), i);
}

static cq_slice text_of(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  const size_t n = json_string_length(value);
  if (!json_is_string(value) || memchr(json_string_value(value), '\0', n)) return (cq_slice){0};
  return (cq_slice){json_string_value(value), n};
}

static cq_status fail_xquad(const char *path, const char *key, size_t article, size_t paragraph, cq_error *error) {
  return cq_fail_file(error, CQ_ERR_FORMAT, path, "article %zu, paragraph %zu: no text under '%s', or one with NUL",
                      article + 1, paragraph + 1, key);
}

/* Checks that no text is missing; with maps, remembers the questions. */
static cq_status walk_questions(xquad *x, size_t side, cq_error *error) {
  const char *path = x->base.o->inputs[side];
  const json_t *article, *paragraph, *question;
  if (!json_is_array(json_object_get(x->files[side], "data")))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "no array 'data'");
  for (size_t a = 0; (article = json_item(x->files[side], "data", a)); a++) {
    if (!json_is_array(json_object_get(article, "paragraphs")))
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "article %zu: no array 'paragraphs'", a + 1);
    for (size_t p = 0; (paragraph = json_item(article, "paragraphs", p)); p++) {
      if (!text_of(paragraph, "context").data) return fail_xquad(path, "context", a, p, error);
      for (size_t q = 0; (question = json_item(paragraph, "qas", q)); q++) {
        const cq_slice id = text_of(question, "id");
        if (!id.data) return fail_xquad(path, "id", a, p, error);
        if (!text_of(question, "question").data) return fail_xquad(path, "question", a, p, error);
        if (side == 1 && cq_map_get(&x->questions, id) != CQ_MAP_NONE)
          return cq_fail_file(error, CQ_ERR_FORMAT, path, "two questions of id '%.*s'", (int)cq_min(id.n, 80), id.data);
        if (side == 1 && (!cq_map_put(&x->questions, id, (uint64_t)(uintptr_t)question) ||
                          !cq_map_put(&x->contexts, id, (uint64_t)(uintptr_t)paragraph)))
          return cq_fail_memory(error, path);
      }
    }
  }
  return CQ_OK;
}

static cq_status open_xquad(cq_format_reader *reader, cq_error *error) {
  xquad *x = (xquad *)reader;
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < 2; i++) {
    status = cq_json_read(&x->files[i], reader->o->inputs[i], error);
    if (!status) status = walk_questions(x, i, error);
  }
  return status;
}

static const json_t *find_question(const cq_map *map, cq_slice id) {
  const uint64_t value = cq_map_get(map, id);
  return value == CQ_MAP_NONE ? NULL : (const json_t *)(uintptr_t)value;
}

static void set_columns(cq_row *out, const json_t *a, const json_t *b, const char *key) {
  out->columns[0] = text_of(a, key), out->columns[1] = text_of(b, key);
  out->n = 2;
}

static cq_status next_question_row(cq_row *out, cq_format_reader *reader, cq_error *error) {
  xquad *x = (xquad *)reader;
  const json_t *article, *paragraph, *question;
  out->n = 0;
  while ((article = json_item(x->files[0], "data", x->article))) {
    if (!(paragraph = json_item(article, "paragraphs", x->paragraph))) {
      x->article++, x->paragraph = 0;
      continue;
    }
    if (!(question = json_item(paragraph, "qas", x->question))) {
      x->paragraph++, x->question = 0, x->context_is_done = false;
      continue;
    }
    const json_t *other = find_question(&x->questions, text_of(question, "id"));
    const cq_status status = cq_corpus_count_row(reader->counts, &reader->flow, error);
    if (status) return status;
    if (!other) {
      cq_corpus_drop(reader->counts, "without a translation");
      x->question++;
    } else if (!x->context_is_done) {
      set_columns(out, paragraph, find_question(&x->contexts, text_of(question, "id")), "context");
      x->context_is_done = true;
      return CQ_OK;
    } else {
      set_columns(out, question, other, "question");
      x->question++;
      return CQ_OK;
    }
  }
  return CQ_OK;
}

static void close_xquad(cq_format_reader *reader) {
  xquad *x = (xquad *)reader;
  for (size_t i = 0; i < 2; i++) json_decref(x->files[i]);
  cq_map_free(&x->questions);
  cq_map_free(&x->contexts);
}

const cq_format cq_format_xquad = CQ_FORMAT_OF(
    ".json", "xquad", "FIRST.json SECOND.json", 2, 2, .has_columns = false, xquad, open_xquad, next_question_row,
    close_xquad, "questions and paragraphs in SQuAD's format, the same in two languages: XQuAD; plain files");
