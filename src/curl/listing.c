/* Lists the files of a repository at a commit, page by page, and chooses those that a download wants. */
#include "curl/listing.h"

#include "base/error.h"
#include "base/memory.h"

#include <fnmatch.h>

/* A list of thousands of files takes long. An empty list in JSON has 3 bytes, and 300 in memory. */
enum { LIST_PATIENCE = 3, MAX_VALUES = 2000000 };

/* At least the number of values in JSON: each follows a comma or a bracket. */
static size_t bound_values(cq_slice json) {
  size_t n = 1;
  for (size_t i = 0; i < json.n; i++) n += json.data[i] == ',' || json.data[i] == '[' || json.data[i] == '{';
  return n;
}

cq_status cq_hub_ask_json(json_t **out, int *code, cq_hub_session *s, const cq_hub_request *r, cq_error *error) {
  cq_hub_answer a = {0};
  json_error_t problem;
  *out = NULL;
  cq_status status = cq_hub_ask(&a, s, r, error);
  if (code) *code = a.code;
  if (!status) {
    const cq_slice text = {a.text.data ? a.text.data : "", a.text.n};
    if (bound_values(text) > MAX_VALUES)
      status = cq_fail_file(error, CQ_ERR_LIMIT, r->url, "the answer has more than %d values", MAX_VALUES);
    else
      status = cq_json_load(out, text, JSON_REJECT_DUPLICATES, &problem);
    if (!status && !json_is_object(*out)) status = CQ_ERR_FORMAT;
    if (status == CQ_ERR_MEMORY)
      status = cq_fail_memory(error, r->url);
    else if (status == CQ_ERR_FORMAT)
      status = cq_fail_file(error, CQ_ERR_FORMAT, r->url,
                            "expected a JSON object, got %s that begins '%.40s': is there a proxy or a login page "
                            "between here and the hub?",
                            a.type[0] ? a.type : "text", text.n ? text.data : "");
  }
  if (status) {
    json_decref(*out);
    *out = NULL;
  }
  cq_hub_answer_free(&a);
  return status;
}

/* --- reading the list --- */

static bool is_hex(const char *text, size_t n) {
  return text && strlen(text) == n && strspn(text, "0123456789abcdef") == n;
}

/* Checks a name: it becomes a path inside the snapshot, and a part of URLs. */
static bool stays_inside(const json_t *name) {
  const char *text = json_string_value(name);
  const size_t n = json_string_length(name);
  if (!text || n == 0 || n > 1024 || strlen(text) != n) return false;
  for (const char *part = text;; part++) {
    const size_t length = strcspn(part, "/");
    if (length == 0 || length > 255 || (length == 1 && part[0] == '.') || (length == 2 && !memcmp(part, "..", 2)))
      return false;
    part += length;
    if (!*part) break;
  }
  for (size_t i = 0; i < n; i++)
    if ((unsigned char)text[i] < ' ' || text[i] == '\\' || text[i] == 127) return false;
  return true;
}

static cq_status read_file_entry(cq_hub_file *out, const json_t *entry, const char *url, cq_error *error) {
  const json_t *name = json_object_get(entry, "rfilename"), *lfs = json_object_get(entry, "lfs");
  const json_t *size = json_object_get(json_is_object(lfs) ? lfs : entry, "size");
  const char *sha256 = json_string_value(json_object_get(lfs, "sha256"));
  if (!name) name = json_object_get(entry, "path");
  if (!json_is_string(name)) return cq_fail_file(error, CQ_ERR_FORMAT, url, "a file of the list has no name");
  if (!stays_inside(name))
    return cq_fail_file(error, CQ_ERR_FORMAT, url, "the file name '%.200s' leaves the directory of the files",
                        json_string_value(name));
  *out = (cq_hub_file){.name = json_string_value(name)};
  if (json_is_integer(size) && json_integer_value(size) >= 0)
    out->has_size = true, out->n_bytes = (uint64_t)json_integer_value(size);
  if (is_hex(sha256, 64)) out->sha256 = sha256;
  const char *git_hash = json_string_value(json_object_get(entry, "blobId"));
  if (is_hex(git_hash, 40)) out->git_hash = git_hash;
  return CQ_OK;
}

static cq_status read_list(cq_hub_listing *l, const char *url, cq_error *error) {
  const json_t *files = json_object_get(l->json, "siblings");
  const char *commit = json_string_value(json_object_get(l->json, "sha"));
  if (!is_hex(commit, 40)) return cq_fail_file(error, CQ_ERR_FORMAT, url, "the answer has no commit ('sha')");
  if (!json_is_array(files))
    return cq_fail_file(error, CQ_ERR_FORMAT, url, "the answer has no list of files ('siblings')");
  memcpy(l->commit, commit, sizeof l->commit);
  l->files = cq_alloc_array_zeroed(json_array_size(files), sizeof *l->files);
  if (!l->files) return cq_fail_memory(error, url);
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < json_array_size(files); i++)
    status = read_file_entry(&l->files[l->n++], json_array_get(files, i), url, error);
  return status;
}

cq_status cq_hub_listing_read(cq_hub_listing *out, json_t *answer, const char *url, cq_error *error) {
  *out = (cq_hub_listing){.json = answer};
  const cq_status status = read_list(out, url, error);
  if (status) cq_hub_listing_free(out);
  return status;
}

cq_status cq_hub_list(cq_hub_listing *out, int *code, cq_hub_session *s, const char *kind, const char *repository,
                      const char *revision, cq_error *error) {
  cq_builder url = {0};
  json_t *answer = NULL;
  *out = (cq_hub_listing){0};
  *code = 0;
  cq_builder_printf(&url, "%s/api/%s/%s/revision/", s->endpoint, kind, repository);
  cq_hub_escape(&url, revision, false);
  cq_builder_text(&url, "?blobs=true");
  cq_status status = url.failed ? cq_fail_memory(error, repository) : CQ_OK;
  if (!status)
    status = cq_hub_ask_json(
        &answer, code, s, &(cq_hub_request){.method = "GET", .url = url.data, .stall_s = LIST_PATIENCE * s->request_s},
        error);
  if (!status) status = cq_hub_listing_read(out, answer, url.data, error);
  cq_builder_free(&url);
  return status;
}

void cq_hub_listing_free(cq_hub_listing *l) {
  json_decref(l->json);
  cq_free(l->files);
  *l = (cq_hub_listing){0};
}

cq_hub_file *cq_hub_listing_find(const cq_hub_listing *l, const char *name) {
  for (size_t i = 0; i < l->n; i++)
    if (!strcmp(l->files[i].name, name)) return &l->files[i];
  return NULL;
}

/* --- choosing by patterns --- */

static bool matches(const char *pattern, const char *name) {
  const size_t n = strlen(pattern);
  if (n && pattern[n - 1] == '/') return strncmp(pattern, name, n) == 0;
  return fnmatch(pattern, name, FNM_NOESCAPE) == 0;
}

cq_status cq_hub_want_matching(cq_hub_listing *l, const char *const *patterns, size_t n, const char *repository,
                               cq_error *error) {
  for (size_t i = 0; n == 0 && i < l->n; i++) l->files[i].is_wanted = true;
  for (size_t p = 0; p < n; p++) {
    size_t n_matching = 0;
    for (size_t i = 0; i < l->n; i++)
      if (matches(patterns[p], l->files[i].name)) l->files[i].is_wanted = true, n_matching++;
    if (n_matching == 0)
      return cq_fail_file(error, CQ_ERR_ARGUMENT, repository, "no file of its %zu matches '%.200s'%s%.200s", l->n,
                          patterns[p], l->n ? "; the first is " : "", l->n ? l->files[0].name : "");
  }
  return CQ_OK;
}

/* --- choosing what a model needs --- */

/* The file's name if it is directly in that folder ("": the root); otherwise NULL. */
static const char *name_in(const char *folder, const char *name) {
  const size_t n = strlen(folder);
  if (n && (strncmp(folder, name, n) != 0 || name[n] != '/')) return NULL;
  const char *rest = n ? name + n + 1 : name;
  return strchr(rest, '/') ? NULL : rest;
}

static bool has_in(const cq_hub_listing *l, const char *folder, const char *pattern) {
  for (size_t i = 0; i < l->n; i++) {
    const char *name = name_in(folder, l->files[i].name);
    if (name && fnmatch(pattern, name, FNM_NOESCAPE) == 0) return true;
  }
  return false;
}

/* Selects weights of only one kind and name: the first pattern that any file matches. */
static const char *weights_of(const cq_hub_listing *l, const char *folder) {
  static const char *const kinds[] = {"model.safetensors", "model-int8.safetensors", "model-*-of-*.safetensors",
                                      "pytorch_model.bin", "pytorch_model-*-of-*.bin"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (has_in(l, folder, kinds[i])) return kinds[i];
  return NULL;
}

static bool is_index_of(const char *name, const char *weights) {
  return weights && !strcmp(weights, "model-*-of-*.safetensors")   ? !strcmp(name, "model.safetensors.index.json")
         : weights && !strcmp(weights, "pytorch_model-*-of-*.bin") ? !strcmp(name, "pytorch_model.bin.index.json")
                                                                   : false;
}

static bool any_matches(const char *const *patterns, const char *name) {
  for (; *patterns; patterns++)
    if (fnmatch(*patterns, name, FNM_NOESCAPE) == 0) return true;
  return false;
}

static void want_folder(cq_hub_listing *l, const char *folder) {
  static const char *const always[] = {"*.json", "vocab.txt", "merges.txt", "*.model", "adapter_model.safetensors",
                                       NULL};
  static const char *const at_root[] = {"README.md", "LICENSE*", "NOTICE*", NULL};
  static const char *const never[] = {"*onnx*", "*openvino*", NULL};
  const char *weights = weights_of(l, folder);
  for (size_t i = 0; i < l->n; i++) {
    const char *name = name_in(folder, l->files[i].name);
    if (!name || any_matches(never, name)) continue;
    const bool is_index = fnmatch("*.index.json", name, FNM_NOESCAPE) == 0;
    if (is_index ? is_index_of(name, weights)
                 : any_matches(always, name) || (!*folder && any_matches(at_root, name)) ||
                       (weights && fnmatch(weights, name, FNM_NOESCAPE) == 0))
      l->files[i].is_wanted = true;
  }
}

void cq_hub_want_model(cq_hub_listing *l, const json_t *modules) {
  char folder[1025];
  want_folder(l, "");
  for (size_t m = 0; m < json_array_size(modules); m++) {
    const char *path = json_string_value(json_object_get(json_array_get(modules, m), "path"));
    if (!path || !*path || strlen(path) >= sizeof folder) continue;
    snprintf(folder, sizeof folder, "%.*s", (int)(strlen(path) - (path[strlen(path) - 1] == '/')), path);
    want_folder(l, folder);
  }
  /* A model's additional languages (model/model_language.h), each in its own folder. */
  for (size_t i = 0; i < l->n; i++) {
    const char *name = l->files[i].name, *slash = strrchr(name, '/');
    if (l->files[i].is_wanted || !slash || strncmp(name, "languages/", 10) != 0) continue;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - name), name);
    want_folder(l, folder);
  }
}
