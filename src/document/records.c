/* Formats with one document per line: lines of text, JSON lines; also JSON lists. */
#include "base/error.h"
#include "base/memory.h"
#include "document/reader.h"
#include "format/json.h"

#include <string.h>

/* The next non-blank line; out->data is NULL at the end. */
static cq_status next_filled(cq_slice *out, cq_document_file *file, cq_error *error) {
  cq_status status;
  do status = cq_lines_next(out, file->lines, error);
  while (!status && out->data && cq_slice_trimmed(*out).n == 0);
  file->line = cq_lines_number(file->lines);
  return status;
}

/* --- lines --- */

static cq_status read_line(bool *found, void *state, cq_document_file *file, cq_error *error) {
  cq_slice line;
  (void)state;
  const cq_status status = next_filled(&line, file, error);
  *found = !status && line.data;
  if (*found) cq_builder_bytes(&file->room->role[CQ_ROLE_TEXT], line.data, line.n);
  return status;
}

const cq_document_type cq_document_type_lines = {.name = "lines", .endings = "", .resumes = true, .read = read_line};

/* --- JSON lines --- */

static cq_status parse_document(json_t **out, const cq_document_file *file, cq_slice text, cq_error *error) {
  json_error_t problem;
  const cq_status status = cq_json_load(out, text, JSON_REJECT_DUPLICATES, &problem);
  if (status == CQ_ERR_MEMORY) return cq_fail_memory(error, file->path);
  return status ? cq_document_fail(file, error, "not a JSON object: %.200s (column %d)", problem.text, problem.column)
                : CQ_OK;
}

static cq_status read_json_line(bool *found, void *state, cq_document_file *file, cq_error *error) {
  cq_slice line;
  json_t *object = NULL;
  (void)state;
  cq_status status = next_filled(&line, file, error);
  *found = !status && line.data;
  if (!*found) return status;
  status = parse_document(&object, file, line, error);
  if (!status && !json_is_object(object)) status = cq_document_fail(file, error, "not a JSON object");
  if (!status) status = cq_document_take_object(file, object, true, error);
  json_decref(object);
  return status;
}

const cq_document_type cq_document_type_jsonl = {
    .name = "jsonl", .endings = " .jsonl .ndjson ", .resumes = true, .read = read_json_line};

/* --- JSON: an object, or a list of them --- */

typedef struct list {
  json_t *root;
  size_t next, n;
} list;

static void close_list(void *state) {
  list *l = state;
  if (l) json_decref(l->root);
  cq_free(l);
}

static cq_status open_list(void **state, cq_document_file *file, cq_error *error) {
  list *l = cq_alloc_zeroed(sizeof *l);
  if (!l) return cq_fail_memory(error, file->path);
  file->line = 1;
  json_error_t problem;
  cq_status status = cq_json_load(&l->root, file->bytes, JSON_REJECT_DUPLICATES, &problem);
  if (status == CQ_ERR_MEMORY) status = cq_fail_memory(error, file->path);
  if (status == CQ_ERR_FORMAT)
    status = cq_fail_line(error, CQ_ERR_FORMAT, file->path, (uint64_t)problem.line, "not JSON: %.200s", problem.text);
  l->n = json_is_array(l->root) ? json_array_size(l->root) : 1;
  if (status)
    close_list(l);
  else
    *state = l;
  return status;
}

static cq_status read_list(bool *found, void *state, cq_document_file *file, cq_error *error) {
  list *l = state;
  *found = l->next < l->n;
  if (!*found) return CQ_OK;
  file->line = ++l->next;
  const json_t *object = json_is_array(l->root) ? json_array_get(l->root, l->next - 1) : l->root;
  if (json_is_object(object)) return cq_document_take_object(file, object, true, error);
  return cq_fail_file(error, CQ_ERR_FORMAT, file->path, "item %zu of the list is not an object", l->next);
}

const cq_document_type cq_document_type_json = {.name = "json",
                                                .endings = " .json ",
                                                .most_bytes = CQ_WHOLE_FILE,
                                                .open = open_list,
                                                .read = read_list,
                                                .close = close_list};
