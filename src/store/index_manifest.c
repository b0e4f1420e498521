/* The manifest of an index: the valid sizes of its files, and the checks of files that are written as a whole. */
#include "store/index_snapshot.h"

#include "base/error.h"
#include "base/memory.h"
#include "format/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORMAT "calque index 4"
enum { CHECK_HEX = 17, MAX_WORDS = 4096 };

void cq_index_manifest_free(cq_index_manifest *m) {
  cq_free(m->model);
  cq_free(m->fingerprint);
  cq_free(m->words);
  *m = (cq_index_manifest){0};
}

bool cq_index_manifest_equal(const cq_index_manifest *a, const cq_index_manifest *b) {
  return a->check == b->check;
}

cq_status cq_index_manifest_copy(cq_index_manifest *out, const cq_index_manifest *m, cq_error *error) {
  *out = *m;
  out->model = cq_strdup(m->model), out->fingerprint = cq_strdup(m->fingerprint);
  out->words = cq_alloc_array(m->n_words, sizeof *m->words);
  if (!out->model || !out->fingerprint || !out->words) {
    cq_index_manifest_free(out);
    return cq_fail_memory(error, "manifest");
  }
  if (m->n_words) memcpy(out->words, m->words, m->n_words * sizeof *m->words);
  return CQ_OK;
}

cq_status cq_index_new_identity(char out[CQ_IDENTITY_HEX], const char *directory, cq_error *error) {
  cq_identity identity;
  if (getentropy(&identity, sizeof identity) != 0) return cq_fail_errno(error, directory, "no random numbers");
  cq_identity_hex(out, identity);
  return CQ_OK;
}

/* --- the manifest's own check: of all other values, each followed by a newline --- */

static cq_status check_of_manifest(uint64_t *out, const cq_index_manifest *m, cq_error *error) {
  cq_builder all = {0};
  const int64_t numbers[] = {
      m->dim,           m->n,         m->n_documents, m->files, m->generation, m->n_deleted_bytes, m->approximate,
      m->n_approximate, m->last_words};
  cq_builder_printf(&all, FORMAT "\n%s\n%s\n%s\n", m->model, m->fingerprint, m->identity);
  if (m->tasks) cq_builder_printf(&all, "tasks\n");
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) cq_builder_printf(&all, "%" PRId64 "\n", numbers[i]);
  for (size_t i = 0; i < m->n_words; i++)
    cq_builder_printf(&all, "%" PRId64 "\n%" PRId64 "\n", m->words[i].number, m->words[i].n);
  if (m->hubness)
    cq_builder_printf(&all, "%" PRId64 "\n%" PRId64 "\n%" PRId64 "\n%016" PRIx64 "\n", m->hubness, m->n_queries, m->k,
                      m->queries_check);
  cq_builder_printf(&all, "%016" PRIx64 "\n%016" PRIx64 "\n", m->deleted_check, m->approximate_check);
  const bool failed = all.failed;
  *out = failed ? 0 : cq_check64(all.data, all.n, 0);
  cq_builder_free(&all);
  return failed ? cq_fail_memory(error, "manifest") : CQ_OK;
}

/* --- writing --- */

static json_t *pack_words(const cq_index_manifest *m) {
  json_t *list = json_array();
  for (size_t i = 0; i < m->n_words; i++)
    cq_json_push(&list, json_pack("[I, I]", (json_int_t)m->words[i].number, (json_int_t)m->words[i].n));
  return list;
}

/* Only if there is hubness: older versions then still read the manifest. */
static void add_hubness(json_t **json, const cq_index_manifest *m) {
  char check[CHECK_HEX];
  if (!m->hubness) return;
  snprintf(check, sizeof check, "%016" PRIx64, m->queries_check);
  cq_json_set(json, "hubness",
              json_pack("{s:I, s:I, s:I, s:s}", "generation", (json_int_t)m->hubness, "queries",
                        (json_int_t)m->n_queries, "k", (json_int_t)m->k, "queries_check", check));
}

cq_status cq_index_manifest_save(cq_index_manifest *m, const char *directory, cq_error *error) {
  char check[CHECK_HEX], deleted[CHECK_HEX], approximate[CHECK_HEX];
  cq_status status = check_of_manifest(&m->check, m, error);
  if (status) return status;
  snprintf(check, sizeof check, "%016" PRIx64, m->check);
  snprintf(deleted, sizeof deleted, "%016" PRIx64, m->deleted_check);
  snprintf(approximate, sizeof approximate, "%016" PRIx64, m->approximate_check);
  json_t *words = pack_words(m);
  json_t *json =
      words ? json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:s, s:s, s:s}",
                        "format", FORMAT, "model", m->model, "fingerprint", m->fingerprint, "identity", m->identity,
                        "dim", (json_int_t)m->dim, "records", (json_int_t)m->n, "documents", (json_int_t)m->n_documents,
                        "files", (json_int_t)m->files, "deleted_generation", (json_int_t)m->generation, "deleted_bytes",
                        (json_int_t)m->n_deleted_bytes, "approximate_generation", (json_int_t)m->approximate,
                        "approximate_records", (json_int_t)m->n_approximate, "last_words", (json_int_t)m->last_words,
                        "words", words, "deleted_check", deleted, "approximate_check", approximate, "check", check)
            : NULL;
  if (m->tasks) cq_json_set(&json, "tasks", json_true());
  add_hubness(&json, m);
  return cq_json_save(json, directory, "manifest.json", error);
}

/* --- reading --- */

static cq_status copy_string(char **out, const json_t *object, const char *key, const char *path, cq_error *error) {
  const char *text = NULL;
  cq_status status = cq_json_get_string(&text, object, key, path, error);
  if (!status && !text) status = cq_fail_file(error, CQ_ERR_FORMAT, path, "\"%s\" is missing", key);
  if (!status && !(*out = cq_strdup(text))) status = cq_fail_memory(error, path);
  return status;
}

static cq_status read_check(uint64_t *out, const json_t *object, const char *key, const char *path, cq_error *error) {
  const char *text = NULL;
  char *end;
  cq_status status = cq_json_get_string(&text, object, key, path, error);
  if (status) return status;
  *out = text ? strtoull(text, &end, 16) : 0;
  return text && strlen(text) == CHECK_HEX - 1 && !*end
             ? CQ_OK
             : cq_fail_file(error, CQ_ERR_FORMAT, path, "\"%s\": expected 16 hexadecimal digits", key);
}

static cq_status read_identity(cq_index_manifest *m, const json_t *json, const char *path, cq_error *error) {
  const char *text = NULL;
  cq_status status = cq_json_get_string(&text, json, "identity", path, error);
  if (status) return status;
  if (!text || strlen(text) != CQ_IDENTITY_HEX - 1 || strspn(text, "0123456789abcdef") != CQ_IDENTITY_HEX - 1)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "\"identity\": expected 32 hexadecimal digits");
  memcpy(m->identity, text, CQ_IDENTITY_HEX);
  return CQ_OK;
}

static cq_status read_words(cq_index_manifest *m, const json_t *json, const char *path, cq_error *error) {
  const json_t *list = json_object_get(json, "words");
  const size_t n = json_array_size(list);
  int64_t n_records = 0;
  if (!json_is_array(list) || n > MAX_WORDS)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "\"words\": expected a list of at most %d pairs", MAX_WORDS);
  m->words = cq_alloc_array(n, sizeof *m->words);
  if (!m->words) return cq_fail_memory(error, path);
  for (size_t i = 0; i < n; i++) {
    const json_t *pair = json_array_get(list, i);
    const int64_t number = json_integer_value(json_array_get(pair, 0));
    const int64_t n_of_part = json_integer_value(json_array_get(pair, 1));
    if (json_array_size(pair) != 2 || number < 1 || number > m->last_words || n_of_part < 1 ||
        n_of_part > m->n - n_records)
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "\"words\": pair %zu is not a file's number and record count",
                          i + 1);
    m->words[m->n_words++] = (cq_index_words){number, n_of_part};
    n_records += n_of_part;
  }
  return CQ_OK;
}

static cq_status read_hubness(cq_index_manifest *m, const json_t *json, const char *path, cq_error *error) {
  const json_t *hubness = json_object_get(json, "hubness");
  if (!hubness) return CQ_OK;
  if (!json_is_object(hubness)) return cq_fail_file(error, CQ_ERR_FORMAT, path, "\"hubness\": expected an object");
  cq_status status = cq_json_get_int(&m->hubness, hubness, "generation", 1, INT64_MAX - 1, path, error);
  if (!status) status = cq_json_get_int(&m->n_queries, hubness, "queries", 0, CQ_INDEX_MAX_QUERIES, path, error);
  if (!status) status = cq_json_get_int(&m->k, hubness, "k", 0, m->n_queries, path, error);
  if (!status && (!m->hubness || (m->n_queries > 0 && m->k < 1)))
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "\"hubness\": expected \"generation\", \"queries\" and \"k\"");
  return status ? status : read_check(&m->queries_check, hubness, "queries_check", path, error);
}

static cq_status read_numbers(cq_index_manifest *m, const json_t *json, const char *path, cq_error *error) {
  cq_status status = cq_json_get_int(&m->dim, json, "dim", 1, 1 << 20, path, error);
  if (!status) status = cq_json_get_int(&m->n, json, "records", 0, UINT32_MAX - 1, path, error);
  if (!status) status = cq_json_get_int(&m->n_documents, json, "documents", 0, m->n, path, error);
  if (!status) status = cq_json_get_int(&m->files, json, "files", 1, INT64_MAX - 1, path, error);
  if (!status) status = cq_json_get_int(&m->generation, json, "deleted_generation", 0, INT64_MAX - 1, path, error);
  if (!status) status = cq_json_get_int(&m->n_deleted_bytes, json, "deleted_bytes", 0, (m->n + 7) / 8, path, error);
  if (!status) status = cq_json_get_int(&m->approximate, json, "approximate_generation", 0, INT64_MAX - 1, path, error);
  if (!status) status = cq_json_get_int(&m->n_approximate, json, "approximate_records", 0, m->n, path, error);
  if (!status) status = cq_json_get_int(&m->last_words, json, "last_words", 0, INT64_MAX - 1, path, error);
  if (!status && m->dim == 0) status = cq_fail_file(error, CQ_ERR_FORMAT, path, "\"dim\" is missing");
  if (!status && m->files == 0) status = cq_fail_file(error, CQ_ERR_FORMAT, path, "\"files\" is missing");
  return status;
}

static cq_status read_checks(cq_index_manifest *m, const json_t *json, const char *path, cq_error *error) {
  uint64_t check = 0;
  cq_status status = read_check(&m->deleted_check, json, "deleted_check", path, error);
  if (!status) status = read_check(&m->approximate_check, json, "approximate_check", path, error);
  if (!status) status = read_check(&check, json, "check", path, error);
  if (!status) status = check_of_manifest(&m->check, m, error);
  if (!status && check != m->check)
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "it is damaged: its values do not fit its check");
  return status;
}

cq_status cq_index_manifest_read(cq_index_manifest *out, const char *directory, cq_error *error) {
  char path[PATH_MAX];
  json_t *json = NULL;
  const char *format = NULL;
  *out = (cq_index_manifest){0};
  cq_status status = cq_path_join(path, sizeof path, directory, "manifest.json", error);
  if (!status) status = cq_json_read(&json, path, error);
  if (!status) status = cq_json_get_string(&format, json, "format", path, error);
  if (!status && (!format || strcmp(format, FORMAT) != 0))
    status = cq_fail_file(error, CQ_ERR_FORMAT, path,
                          "\"format\" is \"%.40s\", not \"" FORMAT "\": build the index again ('calque index new')",
                          format ? format : "");
  if (!status) status = copy_string(&out->model, json, "model", path, error);
  if (!status) status = copy_string(&out->fingerprint, json, "fingerprint", path, error);
  if (!status) status = read_identity(out, json, path, error);
  if (!status) status = read_numbers(out, json, path, error);
  if (!status) status = read_words(out, json, path, error);
  if (!status) status = cq_json_get_bool(&out->tasks, json, "tasks", path, error);
  if (!status) status = read_hubness(out, json, path, error);
  if (!status) status = read_checks(out, json, path, error);
  json_decref(json);
  if (status) cq_index_manifest_free(out);
  return status;
}
