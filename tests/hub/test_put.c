/* Sending to the imitation of the hub: what is sent and where, what is kept back, the card, and what goes wrong. */
#include "support/files.h"

#include "base/base64.h"
#include "base/memory.h"
#include "calque/calque.h"
#include "curl/http.h"
#include "support/again.h"
#include "support/hub.h"

#include <sys/stat.h>

static hub_imitation hub;
static char noticed[2000];

/* --- the hub's side --- */

static hub_result send_modes(struct MHD_Connection *c, const json_t *body) {
  json_t *files = json_array(), *entry;
  size_t i;
  json_array_foreach(json_object_get(body, "files"), i, entry) {
    const char *path = json_string_value(json_object_get(entry, "path"));
    json_array_append_new(files, json_pack("{s:s, s:s, s:b}", "path", path, "uploadMode",
                                           strstr(path, ".safetensors") ? "lfs" : "regular", "shouldIgnore", 0));
  }
  return hub_json(c, json_pack("{s:o}", "files", files));
}

static hub_result send_places(hub_imitation *h, struct MHD_Connection *c, const json_t *body) {
  json_t *objects = json_array(), *entry;
  size_t i;
  json_array_foreach(json_object_get(body, "objects"), i, entry) {
    const char *oid = json_string_value(json_object_get(entry, "oid"));
    char upload[200], verify[200];
    snprintf(upload, sizeof upload, "http://127.0.0.1:%d/upload/%s", h->cdn_port, oid);
    snprintf(verify, sizeof verify, "%s/verify", h->endpoint);
    json_t *object = json_pack("{s:s, s:O}", "oid", oid, "size", json_object_get(entry, "size"));
    if (!hub_find(h, oid))
      json_object_set_new(object, "actions",
                          json_pack("{s:{s:s, s:{s:s}}, s:{s:s}}", "upload", "href", upload, "header", "X-Signed",
                                    "yes", "verify", "href", verify));
    json_array_append_new(objects, object);
  }
  return hub_json(c, json_pack("{s:s, s:o}", "transfer", "basic", "objects", objects));
}

static hub_result keep_upload(hub_imitation *h, struct MHD_Connection *c, const char *oid, const hub_body *body) {
  hub_file *f = &h->uploaded[h->n_uploaded++ % HUB_MAX_FILES];
  const char *header = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "X-Signed");
  free(f->bytes);
  hub_make_file(f, ".safetensors", body->bytes, body->n);
  return hub_send(c, header && !strcmp(f->etag, oid) ? 200 : 400, hub_text("", "text/plain"));
}

static void put_file(hub_imitation *h, const char *name, const void *bytes, size_t n) {
  hub_file *f = hub_find(h, name);
  if (!f) f = &h->files[h->n_files++];
  free(f->bytes);
  hub_make_file(f, name, bytes, n);
}

/* A line of the commit: false for what is none. */
static bool take_line(hub_imitation *h, const char *text, size_t n) {
  json_t *line = json_loadb(text, n, 0, NULL), *value = json_object_get(line, "value");
  const char *key = json_string_value(json_object_get(line, "key"));
  const char *path = json_string_value(json_object_get(value, "path"));
  bool ok = key && value;
  if (ok && !strcmp(key, "file")) {
    cq_builder bytes = {0};
    ok = path && cq_base64_decode(&bytes, cq_slice_of(json_string_value(json_object_get(value, "content"))));
    if (ok) put_file(h, path, bytes.data, bytes.n);
    cq_builder_free(&bytes);
  } else if (ok && !strcmp(key, "lfsFile")) {
    const char *oid = json_string_value(json_object_get(value, "oid"));
    const hub_file *from = hub_find(h, oid);
    for (size_t i = 0; i < HUB_MAX_FILES && !from; i++)
      if (!strcmp(h->uploaded[i].etag, oid)) from = &h->uploaded[i];
    ok = path && from;
    if (ok) put_file(h, path, from->bytes, from->n);
  } else if (ok) {
    const char *parent = json_string_value(json_object_get(value, "parentCommit"));
    ok = !strcmp(key, "header") && parent && !strcmp(parent, h->commit);
  }
  json_decref(line);
  return ok;
}

static hub_result take_commit(hub_imitation *h, struct MHD_Connection *c, const hub_body *body) {
  snprintf(h->sent, sizeof h->sent, "%s", body->bytes);
  for (const char *line = body->bytes; *line;) {
    const size_t n = strcspn(line, "\n");
    if (!take_line(h, line, n)) return hub_refuse(c, 412, "", "the repository has changed");
    line += n + (line[n] == '\n');
  }
  char url[200];
  h->commit[0] = h->commit[0] == '0' ? '1' : '0';
  snprintf(url, sizeof url, "%s/%s/commit/%s", h->endpoint, h->repository, h->commit);
  return hub_json(c, json_pack("{s:s, s:s}", "commitUrl", url, "commitOid", h->commit));
}

static hub_result answer_post(hub_imitation *h, struct MHD_Connection *c, const char *path, const hub_body *body) {
  hub_result result = MHD_NO;
  json_t *json = body->n ? json_loadb(body->bytes, body->n, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
  if (!strncmp(path, "/upload/", 8)) {
    result = keep_upload(h, c, path + 8, body);
  } else if (!strcmp(path, "/api/repos/create")) {
    result = h->exists ? hub_refuse(c, 409, "", "You already created this model repo")
                       : hub_json(c, json_pack("{s:s}", "url", h->endpoint));
    h->exists = true;
  } else if (strstr(path, "/preupload/")) {
    result = send_modes(c, json);
  } else if (strstr(path, ".git/info/lfs/objects/batch")) {
    result = send_places(h, c, json);
  } else if (!strcmp(path, "/verify")) {
    result = hub_json(c, json_object());
  } else if (strstr(path, "/commit/")) {
    result = take_commit(h, c, body);
  } else {
    result = hub_refuse(c, 404, "", "");
  }
  json_decref(json);
  return result;
}

/* --- this side --- */

static void take_notice(void *context, const char *text) {
  (void)context;
  snprintf(noticed + strlen(noticed), sizeof noticed - strlen(noticed), "%s\n", text);
}

/* No repository yet, and a model of three files. */
static void start(void) {
  char command[600];
  for (size_t i = 0; i < hub.n_files; i++) free(hub.files[i].bytes);
  for (size_t i = 0; i < HUB_MAX_FILES; i++) free(hub.uploaded[i].bytes);
  memset(hub.files, 0, sizeof hub.files);
  memset(hub.uploaded, 0, sizeof hub.uploaded);
  hub.n_files = hub.n_uploaded = 0;
  hub.exists = false;
  hub.token = "hf_write";
  hub_forget(&hub);
  setenv("HF_ENDPOINT", hub.endpoint, 1);
  setenv("HF_TOKEN", "hf_write", 1);
  noticed[0] = '\0';
  snprintf(command, sizeof command, "rm -rf '%s' '%s'", test_path("model"), test_path("cache"));
  assert_int_equal(system(command), 0);
  mkdir(test_path("model"), 0777), mkdir(test_path("model/1_Pooling"), 0777);
  write_text(test_path("model/config.json"), "{}");
  write_text(test_path("model/1_Pooling/config.json"), "{\"dim\": 4}");
  write_text(test_path("model/model.safetensors"), "many weights");
  write_text(test_path("model/.hidden"), "a secret");
  write_text(test_path("model/log.jsonl"), "{\"file\": \"/home/me/text.tsv\"}\n");
  write_text(test_path("model/README.md"),
             "---\nlicense: mit\ntags:\n- mine\nlanguage:\n- en\n---\n\n# A title\n\nA text.\n");
}

static cq_status put(const cq_hub_put_options *given, cq_error *error) {
  cq_hub_put_options o = given ? *given : cq_hub_put_default_options();
  char *url = NULL;
  o.notice = take_notice;
  *error = (cq_error){0};
  const cq_status status = cq_hub_put(&url, test_path("model"), "org/model", &o, error);
  assert_true((status == CQ_OK) == (url != NULL));
  cq_free(url);
  return status;
}

static const char *sent_text(const char *name) {
  static char text[4000];
  const hub_file *f = hub_find(&hub, name);
  assert_non_null(f);
  snprintf(text, sizeof text, "%.*s", (int)f->n, f->bytes);
  return text;
}

static void test_put(void **state) {
  (void)state;
  const char *const languages[] = {"de", "no"}, *const base[] = {"org/teacher"};
  cq_hub_put_options o = cq_hub_put_default_options();
  cq_error error;
  start();
  o.languages = languages, o.n_languages = 2, o.base_models = base, o.n_base_models = 1;
  o.message = "The \"first\" one";
  if (put(&o, &error)) fail_msg("%s", error.message);
  assert_int_equal(hub_count(&hub, "POST /api/repos/create"), 1);
  assert_int_equal(hub_count(&hub, "cdn PUT /upload/"), 1);
  if (hub_count(&hub, "auth=-") != 1) fail_msg("%s", hub.log);
  assert_int_equal(hub_count(&hub, "hub POST /verify"), 1);
  assert_int_equal(hub.n_files, 4);
  assert_null(hub_find(&hub, ".hidden"));
  assert_null(hub_find(&hub, "log.jsonl"));
  assert_string_equal(sent_text("model.safetensors"), "many weights");
  assert_string_equal(sent_text("1_Pooling/config.json"), "{\"dim\": 4}");
  assert_non_null(strstr(hub.sent, "The \\\"first\\\" one"));
  const char *card = sent_text("README.md");
  const char *front = "---\nlicense: mit\ntags:\n- mine\nlanguage:\n- de\n- \"no\"\nbase_model:\n- org/teacher\n"
                      "library_name: sentence-transformers\npipeline_tag: sentence-similarity\n---\n\n# A title\n";
  if (strncmp(card, front, strlen(front)) != 0) fail_msg("%s", card);
  assert_non_null(strstr(card, "SentenceTransformer(\"org/model\")"));
  assert_string_equal(noticed, "");
  /* Once more: there is nothing to send. */
  hub_forget(&hub);
  if (put(&o, &error)) fail_msg("%s", error.message);
  assert_int_equal(hub_count(&hub, "POST"), 0);
  assert_non_null(strstr(noticed, "nothing was sent"));
  /* What is there is not replaced in silence, and what is the same is not sent. */
  write_text(test_path("model/1_Pooling/config.json"), "{\"dim\": 5}");
  hub_forget(&hub);
  assert_int_equal(put(&o, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "org/model: has a 1_Pooling/config.json with other contents"));
  assert_int_equal(hub_count(&hub, "POST"), 0);
  o.replace = true;
  assert_int_equal(put(&o, &error), CQ_OK);
  assert_string_equal(sent_text("1_Pooling/config.json"), "{\"dim\": 5}");
  assert_null(strstr(hub.sent, "safetensors"));
  assert_int_equal(hub_count(&hub, "PUT"), 0);
  /* And back again. */
  char *directory;
  setenv("HF_HUB_CACHE", test_path("cache"), 1);
  assert_int_equal(cq_hub_get(&directory, "org/model", NULL, &error), CQ_OK);
  char path[900];
  size_t n;
  snprintf(path, sizeof path, "%s/model.safetensors", directory);
  char *bytes = (char *)read_bytes(&n, path);
  assert_string_equal(bytes, "many weights");
  free(bytes);
  cq_free(directory);
}

static void test_card(void **state) {
  (void)state;
  cq_hub_put_options o = cq_hub_put_default_options();
  cq_error error = {0};
  char *text;
  start();
  o.notice = take_notice;
  assert_int_equal(cq_hub_put_preview(&text, test_path("model"), "org/model", &o, &error), CQ_OK);
  assert_non_null(strstr(text, "          12  model.safetensors\n"));
  assert_null(strstr(text, ".hidden"));
  assert_non_null(strstr(text, "\n---\nlicense: mit\n"));
  assert_non_null(strstr(noticed, "base_models"));
  assert_null(strstr(noticed, "(license)"));
  cq_free(text);
  /* No card at all. */
  assert_int_equal(unlink(test_path("model/README.md")), 0);
  o.license = "other: mine";
  assert_int_equal(cq_hub_put_preview(&text, test_path("model"), "org/model", &o, &error), CQ_OK);
  assert_non_null(strstr(text, "---\nlicense: \"other: mine\"\nlibrary_name: sentence-transformers\n"));
  assert_non_null(strstr(text, "- calque\n---\n\n# model\n"));
  cq_free(text);
  /* One that says how it is used, and one that does not end. */
  write_text(test_path("model/README.md"), "# Mine\n\n## Usage\n\nSo.");
  assert_int_equal(cq_hub_put_preview(&text, test_path("model"), "org/model", &o, &error), CQ_OK);
  assert_non_null(strstr(text, "## Usage\n\nSo.\n"));
  assert_null(strstr(text, "SentenceTransformer("));
  cq_free(text);
  write_text(test_path("model/README.md"), "---\nlicense: mit\n# Mine\n");
  assert_int_equal(cq_hub_put_preview(&text, test_path("model"), "org/model", &o, &error), CQ_ERR_FORMAT);
  assert_int_equal(error.line, 1);
  assert_null(text);
  assert_int_equal(hub_count(&hub, ""), 0);
}

typedef struct wrong {
  hub_fault fault;
  cq_status status;
  const char *part, *reason;
} wrong;

static void test_wrong_answers(void **state) {
  (void)state;
  const wrong all[] = {
      {{.part = "/api/repos/create", .kind = HUB_CODE, .number = 403}, CQ_ERR_IO, "/api/repos/create", "403"},
      {{.part = "/preupload/", .kind = HUB_TEXT, .text = "<html>"}, CQ_ERR_FORMAT, "/preupload/main", "JSON"},
      {{.part = "/preupload/", .kind = HUB_TEXT, .text = "{\"files\": []}"},
       CQ_ERR_FORMAT,
       "/preupload/main",
       "README.md"},
      {{.part = "/batch", .kind = HUB_TEXT, .text = "{\"objects\": []}"}, CQ_ERR_FORMAT, "/batch", "model.safetensors"},
      {{.part = "/upload/", .kind = HUB_CODE, .number = 400}, CQ_ERR_IO, "/upload/", "400"},
      {{.part = "/upload/", .kind = HUB_CODE, .number = 503}, CQ_ERR_IO, "/upload/", "5 tries"},
      {{.part = "/upload/", .kind = HUB_REDIRECTED, .text = "ftp://127.0.0.1/"}, CQ_ERR_FORMAT, "/upload/", "ftp"},
      {{.part = "/verify", .kind = HUB_CODE, .number = 404}, CQ_ERR_IO, "/verify", "404"},
      {{.part = "/commit/", .kind = HUB_CODE, .number = 412}, CQ_ERR_IO, "/commit/main", "412"},
      {{.part = "/commit/", .kind = HUB_TEXT, .text = "{}"}, CQ_ERR_FORMAT, "/commit/main", "commit"},
  };
  cq_error error;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    start();
    hub_fail(&hub, all[i].fault);
    const cq_status status = put(NULL, &error);
    if (status != all[i].status || !strstr(error.message, all[i].part) || !strstr(error.message, all[i].reason))
      fail_msg("%zu: status %d: %s", i, status, error.message);
    assert_int_equal(hub.n_files, 0); /* nothing half-done is to be seen */
    hub_forget(&hub);
    if (put(NULL, &error)) fail_msg("after %zu: %s", i, error.message);
    assert_string_equal(sent_text("model.safetensors"), "many weights");
  }
  /* What passes: a store that is busy at first, and one that moved. */
  start();
  hub_fail(&hub, (hub_fault){.part = "/upload/", .kind = HUB_CODE, .number = 503, .times = 2});
  assert_int_equal(put(NULL, &error), CQ_OK);
  assert_string_equal(sent_text("model.safetensors"), "many weights");
}

/* What was done is found out, and not done twice. */
static void test_lost_answers(void **state) {
  (void)state;
  static const char *const parts[] = {"/api/repos/create", "/preupload/", "/batch", "/upload/", "/verify", "/commit/"};
  cq_error error;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    start();
    hub_fail(&hub, (hub_fault){.part = parts[i], .kind = HUB_ANSWER_LOST, .times = 1});
    if (put(NULL, &error)) fail_msg("%s: %s", parts[i], error.message);
    assert_int_equal(hub_count(&hub, parts[i]), 2);
    assert_string_equal(sent_text("model.safetensors"), "many weights");
  }
  /* Somebody else's commit is no success, whatever was lost. */
  start();
  hub_fail(&hub, (hub_fault){.part = "/commit/", .kind = HUB_CODE, .number = 412});
  assert_int_equal(put(NULL, &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "412"));
  /* Nor is one whose files are others. */
  start();
  hub.exists = true;
  put_file(&hub, "config.json", "{\"other\": 1}", 12);
  const cq_hub_put_options replace = {.size = sizeof replace, .replace = true};
  hub_fail(&hub, (hub_fault){.part = "/commit/", .kind = HUB_CODE, .number = 409});
  assert_int_equal(put(&replace, &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "409"));
}

static void test_arguments(void **state) {
  (void)state;
  cq_error error = {0};
  char *url;
  start();
  assert_int_equal(cq_hub_put(&url, test_path("model"), "model", NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "no organization"));
  assert_int_equal(cq_hub_put(&url, test_path("nothing"), "org/model", NULL, &error), CQ_ERR_IO);
  assert_int_equal(cq_hub_put(&url, test_path("model/1_Pooling/none"), "org/model", NULL, &error), CQ_ERR_IO);
  assert_int_equal(unlink(test_path("model/config.json")), 0);
  assert_int_equal(put(NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "not a model"));
  setenv("HF_HUB_OFFLINE", "1", 1);
  assert_int_equal(put(NULL, &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "HF_HUB_OFFLINE"));
  unsetenv("HF_HUB_OFFLINE"), unsetenv("HF_TOKEN");
  assert_int_equal(put(NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "HF_TOKEN"));
  assert_int_equal(hub_count(&hub, ""), 0);
}

/* In a process of its own, whose memory is not lacking; ends with its standard input. */
static int be_other_hub(void) {
  static hub_imitation other;
  char c;
  hub_answer_post = answer_post;
  if (!hub_open(&other, "models", "org/model")) return 1;
  other.exists = false;
  if (write(STDOUT_FILENO, other.endpoint, sizeof other.endpoint) < 0) return 1;
  while (read(STDIN_FILENO, &c, 1) > 0) continue;
  hub_close(&other);
  return 0;
}

static void test_memory(void **state) {
  (void)state;
  char endpoint[64];
  cq_error error = {0};
  start();
  again other = start_again("other hub", true);
  assert_int_equal(read(other.from, endpoint, sizeof endpoint), (ssize_t)sizeof endpoint);
  setenv("HF_ENDPOINT", endpoint, 1);
  for (long n = 1;; n++) {
    char *url;
    cq_alloc_fail_at(n);
    const cq_status status = cq_hub_put(&url, test_path("model"), "org/model", NULL, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (!failed) {
      if (status) fail_msg("%s", error.message);
      assert_true(n > 100);
      cq_free(url);
      break;
    }
    if (status != CQ_ERR_MEMORY) fail_msg("allocation %ld: status %d: %s", n, status, error.message);
    assert_null(url);
  }
  assert_int_equal(end_again(&other), 0);
}

static int open_hub(void **state) {
  hub_answer_post = answer_post;
  if (make_test_directory(state) || !hub_open(&hub, "models", "org/model")) return -1;
  setenv("HOME", test_directory, 1);
  unsetenv("HF_HOME"), unsetenv("HF_HUB_OFFLINE"), unsetenv("http_proxy"), unsetenv("all_proxy");
  cq_hub_ms_per_second = 1;
  return 0;
}

static int close_hub(void **state) {
  hub_close(&hub);
  return remove_test_directory(state);
}

int main(int argc, char **argv) {
  if (argc == 2) return strcmp(argv[1], "other hub") ? -1 : be_other_hub();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_put),          cmocka_unit_test(test_card),      cmocka_unit_test(test_wrong_answers),
      cmocka_unit_test(test_lost_answers), cmocka_unit_test(test_arguments), cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests(tests, open_hub, close_hub);
}
