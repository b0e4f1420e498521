/* The manifest of an index: what counts of its files, and the checks of those that are written whole. */
#include "store/index_snapshot.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "format/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The first knew models by fingerprints of another kind and had no checks. */
static const char *const formats[] = {"calque index 1", "calque index 2"};
enum { N_KEYS_OF_FIRST = 10 };

enum { CHECK_HEX = 17 };

void cq_index_manifest_free(cq_index_manifest *m) {
  cq_free(m->model);
  cq_free(m->fingerprint);
  *m = (cq_index_manifest){0};
}

bool cq_index_manifest_equal(const cq_index_manifest *a, const cq_index_manifest *b) {
  return a->format == b->format && a->dim == b->dim && a->n == b->n && a->n_bytes == b->n_bytes &&
         a->generation == b->generation && a->n_deleted_bytes == b->n_deleted_bytes &&
         a->approximate == b->approximate && a->n_approximate == b->n_approximate &&
         a->deleted_check == b->deleted_check && a->approximate_check == b->approximate_check &&
         !strcmp(a->model, b->model) && !strcmp(a->fingerprint, b->fingerprint);
}

cq_status cq_index_manifest_copy(cq_index_manifest *out, const cq_index_manifest *m, cq_error *error) {
  *out = *m;
  out->model = cq_strdup(m->model), out->fingerprint = cq_strdup(m->fingerprint);
  return out->model && out->fingerprint ? CQ_OK : cq_fail_memory(error, "manifest");
}

/* --- its own check: of all other values, each with a newline behind it --- */

static cq_status check_of_manifest(char out[CHECK_HEX], const cq_index_manifest *m, cq_error *error) {
  cq_builder all = {0};
  const int64_t numbers[] = {m->dim,          m->n, m->n_bytes, m->generation, m->n_deleted_bytes, m->approximate,
                             m->n_approximate};
  cq_builder_printf(&all, "%s\n%s\n%s\n", formats[m->format], m->model, m->fingerprint);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) cq_builder_printf(&all, "%" PRId64 "\n", numbers[i]);
  cq_builder_printf(&all, "%016" PRIx64 "\n%016" PRIx64 "\n", m->deleted_check, m->approximate_check);
  const bool failed = all.failed;
  snprintf(out, CHECK_HEX, "%016" PRIx64, failed ? 0 : cq_check64(all.data, all.n, 0));
  cq_builder_free(&all);
  return failed ? cq_fail_memory(error, "manifest") : CQ_OK;
}

/* --- on disk --- */

cq_status cq_index_manifest_save(const cq_index_manifest *m, const char *directory, cq_error *error) {
  char check[CHECK_HEX], deleted[CHECK_HEX], approximate[CHECK_HEX];
  cq_status status = check_of_manifest(check, m, error);
  if (status) return status;
  snprintf(deleted, sizeof deleted, "%016" PRIx64, m->deleted_check);
  snprintf(approximate, sizeof approximate, "%016" PRIx64, m->approximate_check);
  json_t *json =
      json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "format", formats[m->format], "model", m->model,
                "fingerprint", m->fingerprint, "dim", (json_int_t)m->dim, "documents", (json_int_t)m->n, "bytes",
                (json_int_t)m->n_bytes, "deleted_generation", (json_int_t)m->generation, "deleted_bytes",
                (json_int_t)m->n_deleted_bytes, "approximate_generation", (json_int_t)m->approximate,
                "approximate_documents", (json_int_t)m->n_approximate);
  json_t *checks = m->format == 0 ? NULL
                                  : json_pack("{s:s, s:s, s:s}", "deleted_check", deleted, "approximate_check",
                                              approximate, "check", check);
  if (json && m->format > 0 && (!checks || json_object_update(json, checks))) {
    json_decref(json);
    json = NULL;
  }
  json_decref(checks);
  return cq_json_save(json, directory, "manifest.json", error);
}

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

static cq_status read_numbers(cq_index_manifest *m, const json_t *json, const char *path, cq_error *error) {
  cq_status status = cq_json_get_int(&m->dim, json, "dim", 1, 1 << 20, path, error);
  if (!status) status = cq_json_get_int(&m->n, json, "documents", 0, UINT32_MAX - 1, path, error);
  if (!status) status = cq_json_get_int(&m->n_bytes, json, "bytes", 0, INT64_MAX / 2, path, error);
  if (!status) status = cq_json_get_int(&m->generation, json, "deleted_generation", 0, INT64_MAX - 1, path, error);
  if (!status) status = cq_json_get_int(&m->n_deleted_bytes, json, "deleted_bytes", 0, (m->n + 7) / 8, path, error);
  if (!status) status = cq_json_get_int(&m->approximate, json, "approximate_generation", 0, INT64_MAX - 1, path, error);
  if (!status) status = cq_json_get_int(&m->n_approximate, json, "approximate_documents", 0, m->n, path, error);
  if (!status && m->dim == 0) status = cq_fail_file(error, CQ_ERR_FORMAT, path, "\"dim\" is missing");
  return status;
}

static cq_status read_checks(cq_index_manifest *m, const json_t *json, const char *path, cq_error *error) {
  char expected[CHECK_HEX];
  const char *check = NULL;
  cq_status status = read_check(&m->deleted_check, json, "deleted_check", path, error);
  if (!status) status = read_check(&m->approximate_check, json, "approximate_check", path, error);
  if (!status) status = cq_json_get_string(&check, json, "check", path, error);
  if (!status) status = check_of_manifest(expected, m, error);
  if (!status && (!check || strcmp(check, expected) != 0))
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
  while (!status && out->format < 2 && (!format || strcmp(format, formats[out->format]) != 0)) out->format++;
  if (!status && out->format == 2)
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "\"format\" is not \"%s\"", formats[1]);
  if (!status) status = copy_string(&out->model, json, "model", path, error);
  if (!status) status = copy_string(&out->fingerprint, json, "fingerprint", path, error);
  if (!status) status = read_numbers(out, json, path, error);
  if (!status && out->format > 0) status = read_checks(out, json, path, error);
  if (!status && out->format == 0 && json_object_size(json) > N_KEYS_OF_FIRST) /* the digit is what is damaged */
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "it is damaged: \"%s\" has no checks", formats[0]);
  json_decref(json);
  if (status) cq_index_manifest_free(out);
  return status;
}
