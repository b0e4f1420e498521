/* Fetching from the imitation of the hub: the cache's layout, what is fetched, and every way in which it can fail. */
#include "support/files.h"

#include "base/memory.h"
#include "calque/calque.h"
#include "curl/blob.h"
#include "curl/listing.h"
#include "support/again.h"
#include "support/hub.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { WEIGHTS = 300000 };

static hub_imitation hub;
static char *weights;
static int next_cache;
static char cache[400];

/* A fresh cache, and a hub without faults. */
static void start(void) {
  snprintf(cache, sizeof cache, "%s/cache-%d", test_directory, next_cache++);
  setenv("HF_HUB_CACHE", cache, 1);
  setenv("HF_ENDPOINT", hub.endpoint, 1);
  unsetenv("HF_HUB_OFFLINE"), unsetenv("HF_TOKEN");
  hub.token = NULL;
  hub_forget(&hub);
}

static cq_status get(const char *name, cq_error *error) {
  char *directory = NULL;
  *error = (cq_error){0};
  const cq_status status = cq_hub_get(&directory, name, NULL, error);
  assert_true((status == CQ_OK) == (directory != NULL));
  cq_free(directory);
  return status;
}

static const char *in_cache(const char *name) {
  static char paths[4][900];
  static unsigned next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/models--org--model/%s", cache, name);
  return path;
}

static const char *in_snapshot(const char *name) {
  char path[400];
  snprintf(path, sizeof path, "snapshots/%s/%s", hub.commit, name);
  return in_cache(path);
}

static bool is_there(const char *path) {
  return access(path, F_OK) == 0;
}

static void assert_text(const char *path, const char *text) {
  size_t n;
  char *bytes = (char *)read_bytes(&n, path);
  assert_string_equal(bytes, text);
  free(bytes);
}

static void assert_weights(void) {
  size_t n;
  unsigned char *bytes = read_bytes(&n, in_snapshot("model.safetensors"));
  assert_int_equal(n, WEIGHTS);
  assert_memory_equal(bytes, weights, n);
  free(bytes);
}

/* Nothing has a name that others look for: no snapshot, no reference, no contents but those that are whole. */
static void assert_nothing_named(void) {
  assert_false(is_there(in_cache("refs/main")));
  assert_false(is_there(in_snapshot("")));
}

static void assert_fails(cq_status status, const char *part, const char *reason) {
  cq_error error;
  const cq_status got = get("org/model", &error);
  if (got != status || !strstr(error.message, part) || !strstr(error.message, reason))
    fail_msg("status %d, expected %d with '%s' and '%s': %s", got, status, part, reason, error.message);
  assert_nothing_named();
}

static int open_hub(void **state) {
  uint32_t x = 1;
  if (make_test_directory(state) || !hub_open(&hub, "models", "org/model")) return -1;
  setenv("HOME", test_directory, 1);
  setenv("HF_HUB_DOWNLOAD_TIMEOUT", "1", 1);
  setenv("HF_HUB_ETAG_TIMEOUT", "2", 1);
  unsetenv("HF_HOME"), unsetenv("http_proxy"), unsetenv("all_proxy");
  cq_hub_ms_per_second = 1;
  weights = malloc(WEIGHTS);
  for (size_t i = 0; i < WEIGHTS; i++) weights[i] = (char)((x = x * 1664525 + 1013904223) >> 24);
  hub_add(&hub, "model.safetensors", weights, WEIGHTS);
  hub_add_text(&hub, "config.json", "{\"model_type\": \"bert\"}");
  hub_add_text(&hub, "modules.json", "[{\"idx\": 0, \"path\": \"\"}, {\"idx\": 1, \"path\": \"1_Pooling\"}]");
  hub_add_text(&hub, "1_Pooling/config.json", "{}");
  hub_add_text(&hub, "tokenizer.json", "{\"model\": {}}");
  hub_add_text(&hub, "vocab.txt", "");
  hub_add_text(&hub, "README.md", "# A model\n");
  hub_add_text(&hub, "pytorch_model.bin", "a pickle");
  hub_add_text(&hub, "tf_model.h5", "of another library");
  hub_add_text(&hub, "onnx/model.onnx", "of another library");
  hub_add_text(&hub, "2_Unknown/config.json", "{}");
  hub_add_text(&hub, "a b/c+d%.json", "{}");
  return 0;
}

static int close_hub(void **state) {
  hub_close(&hub);
  free(weights);
  return remove_test_directory(state);
}

/* --- what is fetched, and where it lies --- */

static void test_layout(void **state) {
  (void)state;
  char target[400], expected[400];
  cq_error error;
  start();
  assert_int_equal(get("org/model", &error), CQ_OK);
  assert_text(in_cache("refs/main"), hub.commit);
  assert_weights();
  assert_text(in_snapshot("config.json"), "{\"model_type\": \"bert\"}");
  assert_text(in_snapshot("1_Pooling/config.json"), "{}");
  assert_text(in_snapshot("vocab.txt"), "");
  assert_true(is_there(in_snapshot("README.md")));
  static const char *const unwanted[] = {"pytorch_model.bin", "tf_model.h5", "onnx", "2_Unknown", "a b"};
  for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++) assert_false(is_there(in_snapshot(unwanted[i])));
  const ssize_t n = readlink(in_snapshot("1_Pooling/config.json"), target, sizeof target - 1);
  assert_true(n > 0);
  target[n] = '\0';
  snprintf(expected, sizeof expected, "../../../blobs/%s", hub_find(&hub, "1_Pooling/config.json")->etag);
  assert_string_equal(target, expected);
  /* Once more: nothing but questions. */
  hub_forget(&hub);
  assert_int_equal(get("org/model", &error), CQ_OK);
  assert_int_equal(hub_count(&hub, "GET"), 1);
  /* The same at a commit, and found by its name. */
  char name[100];
  snprintf(name, sizeof name, "org/model@%s", hub.commit);
  assert_int_equal(get(name, &error), CQ_OK);
  setenv("HF_HUB_OFFLINE", "1", 1);
  hub_forget(&hub);
  assert_int_equal(get("org/model", &error), CQ_OK);
  assert_int_equal(get(name, &error), CQ_OK);
  assert_int_equal(get("org/model@other", &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "HF_HUB_OFFLINE"));
  assert_int_equal(hub_count(&hub, ""), 0);
}

static void test_patterns(void **state) {
  (void)state;
  const char *const files[] = {"a b/", "*.h5"}, *const nothing[] = {"*.json", "*.parquet"};
  cq_hub_options o = cq_hub_default_options();
  cq_error error = {0};
  char *directory;
  start();
  o.files = files, o.n_files = 2;
  assert_int_equal(cq_hub_get(&directory, "org/model@refs/pr/1", &o, &error), CQ_OK);
  cq_free(directory);
  assert_text(in_snapshot("a b/c+d%.json"), "{}");
  assert_true(is_there(in_snapshot("tf_model.h5")));
  assert_false(is_there(in_snapshot("config.json")));
  assert_text(in_cache("refs/refs/pr/1"), hub.commit);
  o.files = nothing;
  assert_int_equal(cq_hub_get(&directory, "org/model", &o, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "*.parquet"));
  assert_null(directory);
}

/* Which files of a list are wanted, of a model with these modules. */
static void assert_choice(const char *const *names, const char *modules, const char *wanted) {
  cq_hub_file files[16] = {{0}};
  cq_hub_listing l = {.files = files};
  char chosen[1000] = "";
  for (; names[l.n]; l.n++) files[l.n].name = names[l.n];
  json_t *json = modules ? json_loads(modules, 0, NULL) : NULL;
  cq_hub_want_model(&l, json);
  json_decref(json);
  for (size_t i = 0; i < l.n; i++)
    if (files[i].is_wanted) snprintf(chosen + strlen(chosen), sizeof chosen - strlen(chosen), "%s ", files[i].name);
  assert_string_equal(chosen, wanted);
}

static void test_choices(void **state) {
  (void)state;
  const char *const sharded[] = {"model-00001-of-00002.safetensors",
                                 "model-00002-of-00002.safetensors",
                                 "model.safetensors.index.json",
                                 "pytorch_model.bin",
                                 "pytorch_model.bin.index.json",
                                 "model.onnx",
                                 "LICENSE.txt",
                                 "train.txt",
                                 "vocab.txt",
                                 NULL};
  assert_choice(sharded, NULL,
                "model-00001-of-00002.safetensors model-00002-of-00002.safetensors model.safetensors.index.json "
                "LICENSE.txt vocab.txt ");
  const char *const pickles[] = {"pytorch_model.bin",
                                 "training_args.bin",
                                 "optimizer.pt",
                                 "rust_model.ot",
                                 "sentencepiece.bpe.model",
                                 "openvino_model.bin",
                                 NULL};
  assert_choice(pickles, NULL, "pytorch_model.bin sentencepiece.bpe.model ");
  const char *const modular[] = {"modules.json",
                                 "0_Transformer/config.json",
                                 "0_Transformer/model.safetensors",
                                 "0_Transformer/pytorch_model.bin",
                                 "1_Dense/pytorch_model.bin",
                                 "1_Dense/more/config.json",
                                 "2_Other/config.json",
                                 "languages/tr/model.safetensors",
                                 "languages/tr/tokenizer.json",
                                 "onnx/config.json",
                                 NULL};
  assert_choice(modular, "[{\"path\": \"0_Transformer\"}, {\"path\": \"1_Dense/\"}, {\"path\": 3}, 4]",
                "modules.json 0_Transformer/config.json 0_Transformer/model.safetensors 1_Dense/pytorch_model.bin "
                "languages/tr/model.safetensors languages/tr/tokenizer.json ");
  const char *const narrow[] = {"model-int8.safetensors", "quantization.json", "modules.json", NULL};
  assert_choice(narrow, "[]", "model-int8.safetensors quantization.json modules.json ");
}

/* --- what goes wrong --- */

typedef struct wrong {
  const char *title;
  hub_fault fault;
  cq_status status;
  const char *part, *reason; /* both in the message */
} wrong;

static void test_wrong_answers(void **state) {
  (void)state;
#define LIST        "/revision/main"
#define WEIGHTS_URL "/org/model/resolve/"
  const wrong all[] = {
      {"not there", {.method = "GET", .part = LIST, .kind = HUB_CODE, .number = 404}, CQ_ERR_IO, LIST, "404"},
      {"no token", {.method = "GET", .part = LIST, .kind = HUB_CODE, .number = 401}, CQ_ERR_IO, LIST, "HF_TOKEN"},
      {"gated",
       {.method = "HEAD", .part = "safetensors", .kind = HUB_CODE, .number = 403},
       CQ_ERR_IO,
       "model.safetensors",
       "403"},
      {"always busy",
       {.method = "GET", .part = LIST, .kind = HUB_CODE, .number = 503},
       CQ_ERR_IO,
       LIST,
       "after 5 tries"},
      {"wait for an hour",
       {.method = "GET", .part = LIST, .kind = HUB_CODE, .number = 429, .retry_after_s = 3600},
       CQ_ERR_IO,
       LIST,
       "3600 s"},
      {"a login page",
       {.method = "GET", .part = LIST, .kind = HUB_TEXT, .text = "<html>Please log in</html>"},
       CQ_ERR_FORMAT,
       LIST,
       "text/html that begins '<html>Please"},
      {"no commit",
       {.method = "GET", .part = LIST, .kind = HUB_TEXT, .text = "{\"siblings\": []}"},
       CQ_ERR_FORMAT,
       LIST,
       "sha"},
      {"no files",
       {.method = "GET",
        .part = LIST,
        .kind = HUB_TEXT,
        .text = "{\"sha\": \"0123456789012345678901234567890123456789\"}"},
       CQ_ERR_FORMAT,
       LIST,
       "siblings"},
      {"a list that ends",
       {.method = "GET", .part = LIST, .kind = HUB_TEXT, .text = "{\"sha\": \"01234567"},
       CQ_ERR_FORMAT,
       LIST,
       "JSON"},
      {"a loop",
       {.method = "GET",
        .part = LIST,
        .kind = HUB_REDIRECTED,
        .text = "http://127.0.0.1:%d/api/models/org/model/revision/main"},
       CQ_ERR_FORMAT,
       LIST,
       "more than 10 times"},
      {"another scheme",
       {.method = "GET", .part = LIST, .kind = HUB_REDIRECTED, .text = "file:///etc/passwd"},
       CQ_ERR_FORMAT,
       LIST,
       "file:///"},
      {"a user",
       {.method = "GET", .part = LIST, .kind = HUB_REDIRECTED, .text = "http://me@127.0.0.1:%d/"},
       CQ_ERR_FORMAT,
       LIST,
       "me@"},
      {"no ETag",
       {.method = "HEAD", .part = "config.json", .kind = HUB_HEADER, .text = "ETag: "},
       CQ_ERR_FORMAT,
       "config.json",
       "ETag"},
      {"an ETag that leaves",
       {.method = "HEAD", .part = "config.json", .kind = HUB_HEADER, .text = "ETag: \"../../x\""},
       CQ_ERR_FORMAT,
       "config.json",
       "ETag"},
      {"an ETag that is hidden",
       {.method = "HEAD", .part = "config.json", .kind = HUB_HEADER, .text = "ETag: \".x\""},
       CQ_ERR_FORMAT,
       "config.json",
       "ETag"},
      {"a file without a name",
       {.method = "GET",
        .part = LIST,
        .kind = HUB_TEXT,
        .text = "{\"sha\": \"0123456789012345678901234567890123456789\", \"siblings\": [{\"size\": 1}]}"},
       CQ_ERR_FORMAT,
       LIST,
       "has no name"},
      {"another commit",
       {.method = "HEAD", .part = "config.json", .kind = HUB_HEADER, .text = "X-Repo-Commit: abc"},
       CQ_ERR_FORMAT,
       "config.json",
       "of commit abc"},
      {"no hub",
       {.method = "HEAD", .part = "config.json", .kind = HUB_HEADER, .text = "X-Repo-Commit: "},
       CQ_ERR_FORMAT,
       "config.json",
       "X-Repo-Commit"},
      {"another size",
       {.method = "HEAD", .part = "safetensors", .kind = HUB_HEADER, .text = "X-Linked-Size: 77"},
       CQ_ERR_FORMAT,
       "model.safetensors",
       "77 bytes"},
      {"another hash",
       {.method = "HEAD",
        .part = "safetensors",
        .kind = HUB_HEADER,
        .text = "X-Linked-ETag: "
                "0000000000000000000000000000000000000000000000000000000000000000"},
       CQ_ERR_FORMAT,
       "model.safetensors",
       "SHA-256"},
      {"a changed byte",
       {.method = "GET", .part = "/blob/", .kind = HUB_CHANGED},
       CQ_ERR_FORMAT,
       WEIGHTS_URL,
       "SHA-256"},
      {"a changed small file",
       {.method = "GET", .part = "c0ffee/config.json", .kind = HUB_CHANGED},
       CQ_ERR_FORMAT,
       "config.json",
       "git's hash"},
      {"too long",
       {.method = "GET", .part = "/blob/", .kind = HUB_LONGER},
       CQ_ERR_FORMAT,
       WEIGHTS_URL,
       "more than the 300000 bytes"},
      {"too short",
       {.method = "GET", .part = "config.json", .kind = HUB_SHORTER},
       CQ_ERR_FORMAT,
       "config.json",
       "ends after"},
      {"a wrong range",
       {.method = "GET", .part = "/blob/", .kind = HUB_TRUNCATED, .number = 1000},
       CQ_ERR_IO,
       WEIGHTS_URL,
       "bytes"},
      {"no weights there",
       {.method = "GET", .part = "/blob/", .kind = HUB_CODE, .number = 404},
       CQ_ERR_IO,
       WEIGHTS_URL,
       "404"},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    start();
    hub_fail(&hub, all[i].fault);
    assert_fails(all[i].status, all[i].part, all[i].reason);
    /* Whatever it was, the next call is as if it had not been. */
    cq_error error;
    hub_forget(&hub);
    if (get("org/model", &error)) fail_msg("after '%s': %s", all[i].title, error.message);
    assert_weights();
  }
}

/* Before the hub stands another that names versions instead of hashes: the list of files has the hash all the same. */
static void test_etag_without_hash(void **state) {
  (void)state;
  cq_error error;
  start();
  hub_fail(&hub, (hub_fault){.part = "c0ffee/config.json", .kind = HUB_HEADER, .text = "ETag: \"version-1\""});
  assert_int_equal(get("org/model", &error), CQ_OK);
  start();
  hub_fail(
      &hub,
      (hub_fault){.method = "HEAD", .part = "c0ffee/config.json", .kind = HUB_HEADER, .text = "ETag: \"version-1\""});
  hub_fail(&hub, (hub_fault){.method = "GET", .part = "c0ffee/config.json", .kind = HUB_CHANGED});
  assert_fails(CQ_ERR_FORMAT, "config.json", "git's hash");
  /* And a hash that the list contradicts. */
  start();
  hub_fail(&hub, (hub_fault){.part = "c0ffee/config.json",
                             .kind = HUB_HEADER,
                             .text = "ETag: \"0123456789012345678901234567890123456789\""});
  assert_fails(CQ_ERR_FORMAT, "config.json", "the list of files says");
}

/* Names that leave the directory, in the list of files. */
static void test_file_names(void **state) {
  (void)state;
  static const char *const names[] = {"../x.json",   "/etc/x.json", "a/../x.json", "a//x.json", "./x.json",
                                      "a\\\\x.json", "x\\n.json",   "..",          ""};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char list[300];
    snprintf(list, sizeof list, "{\"sha\": \"%s\", \"siblings\": [{\"rfilename\": \"%s\"}]}", hub.commit, names[i]);
    start();
    hub_fail(&hub, (hub_fault){.part = LIST, .kind = HUB_TEXT, .text = list});
    assert_fails(CQ_ERR_FORMAT, LIST, "leaves the directory");
  }
}

/* A weak ETag is its hash; up to 128 characters may be a name. */
static void test_etags(void **state) {
  (void)state;
  cq_error error;
  char header[200], blob[200];
  start();
  snprintf(header, sizeof header, "ETag: W/\"%s\"", hub_find(&hub, "config.json")->etag);
  hub_fail(&hub, (hub_fault){.part = "c0ffee/config.json", .kind = HUB_HEADER, .text = header});
  if (get("org/model", &error)) fail_msg("%s", error.message);
  snprintf(blob, sizeof blob, "blobs/%s", hub_find(&hub, "config.json")->etag);
  assert_true(is_there(in_cache(blob)));
  for (int n = CQ_HUB_ETAG - 1; n <= CQ_HUB_ETAG; n++) {
    start();
    snprintf(header, sizeof header, "ETag: \"%0*d\"", n, 7);
    hub_fail(&hub, (hub_fault){.part = "c0ffee/config.json", .kind = HUB_HEADER, .text = header});
    assert_int_equal(get("org/model", &error), n < CQ_HUB_ETAG ? CQ_OK : CQ_ERR_FORMAT);
  }
}

/* Files whose size neither the list nor a header names: those of one call have a limit together. */
static void test_unsized(void **state) {
  (void)state;
  const uint64_t max = cq_hub_max_unsized;
  cq_error error;
  char list[400];
  snprintf(list, sizeof list,
           "{\"sha\": \"%s\", \"siblings\": [{\"rfilename\": \"config.json\"}, {\"rfilename\": \"tokenizer.json\"}, "
           "{\"rfilename\": \"model.safetensors\"}]}",
           hub.commit);
  cq_hub_max_unsized = 250000;
  static const struct {
    long config, tokenizer;
    bool fits;
  } cases[] = {{150000, 100000, true}, {150000, 100001, false}, {250001, 1, false}, {1L << 50, 1, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char blob[200];
    start();
    hub_fail(&hub, (hub_fault){.part = LIST, .kind = HUB_TEXT, .text = list});
    hub_fail(&hub, (hub_fault){.part = "/config.json", .kind = HUB_UNSIZED, .number = cases[i].config});
    hub_fail(&hub, (hub_fault){.part = "/tokenizer.json", .kind = HUB_UNSIZED, .number = cases[i].tokenizer});
    if (cases[i].fits) {
      if (get("org/model", &error)) fail_msg("%s", error.message);
      assert_weights();
      continue;
    }
    const char *refused = i == 1 ? "tokenizer.json" : "config.json";
    assert_fails(CQ_ERR_FORMAT, refused, "more than 250000 bytes");
    snprintf(blob, sizeof blob, "blobs/%s.incomplete", hub_find(&hub, refused)->etag);
    assert_false(is_there(in_cache(blob)));
  }
  cq_hub_max_unsized = max;
}

/* A list of empty lists, which would have a hundred times its bytes in memory, and an error whose body does not end. */
static void test_long_answers(void **state) {
  (void)state;
  enum { N = 2000000 };
  cq_error error;
  char *text = malloc(N + 200);
  for (int above = 0; above < 2; above++) { /* a value, two brackets of the beginning, and commas */
    int n = snprintf(text, 200, "{\"sha\":\"%s\",\"siblings\":[],\"x\":\"", hub.commit);
    memset(text + n, ',', N), text[n + N - 5 + above] = '\0';
    strcat(text, "\"}");
    start();
    hub_fail(&hub, (hub_fault){.part = LIST, .kind = HUB_TEXT, .text = text});
    assert_int_equal(get("org/model", &error), above ? CQ_ERR_LIMIT : CQ_ERR_UNSUPPORTED); /* a model without files */
    if (above) assert_non_null(strstr(error.message, "has more than 2000000 values"));
  }
  free(text);
  for (int i = 0; i < 2; i++) {
    start();
    hub_fail(&hub, (hub_fault){.part = LIST, .kind = HUB_ENDLESS, .number = i ? 200 : 404});
    assert_fails(CQ_ERR_FORMAT, LIST, "more than 64 MiB");
  }
}

static void test_origins(void **state) {
  (void)state;
  static const struct {
    const char *a, *b;
    bool same;
  } cases[] = {
      {"https://hub.co", "https://hub.co/org/model", true}, {"https://hub.co", "HTTPS://Hub.Co:443?x", true},
      {"http://hub.co:80", "http://hub.co", true},          {"https://hub.co", "https://hub.co.evil/", false},
      {"https://hub.co.evil", "https://hub.co/", false},    {"https://hub.co", "https://hub.com", false},
      {"https://hub.co", "https://hub.cp", false},          {"https://hub.co", "https://hub.co:4430", false},
      {"https://hub.co", "https://hub.co:80", false},       {"http://hub.co:443", "https://hub.co:443", false},
      {"https://hub.co", "https://hub.co@evil", false},     {"https://hub.co", "//hub.co", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (cq_hub_same_origin(cases[i].a, cases[i].b) != cases[i].same) fail_msg("%s, %s", cases[i].a, cases[i].b);
  static const struct {
    const char *from, *to;
    bool allowed;
  } ways[] = {
      {"https://hub.co/a", "https://cdn.co/b", true}, {"http://hub.co/a", "https://cdn.co/b", true},
      {"http://hub.co/a", "http://cdn.co/b", true},   {"https://hub.co/a", "http://hub.co/a", false},
      {"https://hub.co/a", "ftp://hub.co/a", false},  {"https://hub.co/a", "", false},
  };
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    cq_error error = {0};
    const cq_status status = cq_hub_check_redirection(ways[i].from, ways[i].to, "https://hub.co/first", &error);
    if (status != (ways[i].allowed ? CQ_OK : CQ_ERR_FORMAT)) fail_msg("%s to %s", ways[i].from, ways[i].to);
    if (status) assert_non_null(strstr(error.message, "https://hub.co/first"));
  }
}

/* A server may ask for up to 300 seconds. */
static void test_longest_wait(void **state) {
  (void)state;
  cq_error error;
  for (long s = 300; s <= 301; s++) {
    start();
    hub_fail(&hub, (hub_fault){.part = LIST, .kind = HUB_CODE, .number = 429, .times = 1, .retry_after_s = s});
    assert_int_equal(get("org/model", &error), s == 300 ? CQ_OK : CQ_ERR_IO);
    assert_int_equal(hub_count(&hub, LIST), s == 300 ? 2 : 1);
  }
  assert_non_null(strstr(error.message, "301 s"));
}

static void test_names(void **state) {
  (void)state;
  static const char *const names[] = {
      "",    "../x",          "a/b/c",      "/a", "a/", "a--b", "org/model@", "org/model@../x", "org/model@.x",
      "a b", "org/model@a b", "org/.hidden"};
  cq_error error;
  start();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (get(names[i], &error) != CQ_ERR_ARGUMENT) fail_msg("'%s' was taken", names[i]);
  setenv("HF_ENDPOINT", "ftp://somewhere", 1);
  assert_int_equal(get("org/model", &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "ftp://somewhere"));
  assert_int_equal(hub_count(&hub, ""), 0);
}

/* The token goes to the hub alone: not to the other host of large files, nor where a redirection leads. */
static void test_token(void **state) {
  (void)state;
  cq_error error;
  char path[500];
  start();
  hub.token = "hf_secret";
  assert_fails(CQ_ERR_IO, LIST, "needs a token (HF_TOKEN)");
  setenv("HF_TOKEN", "hf_wrong", 1);
  assert_fails(CQ_ERR_IO, LIST, "HF_TOKEN does not give access");
  assert_null(strstr(error.message, "hf_wrong"));
  setenv("HF_TOKEN", "two\nlines", 1);
  assert_fails(CQ_ERR_ARGUMENT, "HF_TOKEN", "not a token");
  setenv("HF_TOKEN", "hf_secret\n", 1);
  hub_forget(&hub);
  assert_int_equal(get("org/model", &error), CQ_OK);
  assert_true(hub_count(&hub, "auth=Bearer hf_secret") > 5);
  assert_int_equal(hub_count(&hub, "cdn"), 1);
  assert_int_equal(hub_count(&hub, "auth=-"), 1);
  /* The file that a login leaves. */
  start();
  hub.token = "hf_secret";
  snprintf(path, sizeof path, "%s/token", test_directory);
  write_text(path, "hf_secret");
  setenv("HF_TOKEN_PATH", path, 1);
  assert_int_equal(get("org/model", &error), CQ_OK);
  unsetenv("HF_TOKEN_PATH");
  /* Another name of this host is another host. */
  start();
  hub.token = "hf_secret";
  setenv("HF_TOKEN", "hf_secret", 1);
  hub_fail(&hub,
           (hub_fault){
               .part = LIST, .kind = HUB_REDIRECTED, .times = 1, .text = "http://localhost:%d/api/models/org/model"});
  assert_fails(CQ_ERR_IO, LIST, "401");
  assert_int_equal(hub_count(&hub, "auth=-"), 1);
  /* On the hub itself it stays: a model that was renamed. */
  start();
  hub.token = "hf_secret";
  setenv("HF_TOKEN", "hf_secret", 1);
  hub_fail(&hub, (hub_fault){.part = "/models/old/name/", .kind = HUB_REDIRECTED, .text = "/api/models/org/model"});
  assert_int_equal(get("old/name", &error), CQ_ERR_IO); /* whose files the imitation has under the new name only */
  assert_non_null(strstr(error.message, "/old/name/resolve/"));
}

/* --- going on --- */

static void test_lost_connections(void **state) {
  (void)state;
  cq_error error;
  start();
  hub_fail(&hub, (hub_fault){.part = "/blob/", .kind = HUB_TRUNCATED, .number = 100000, .times = 2});
  assert_int_equal(get("org/model", &error), CQ_OK);
  assert_weights();
  assert_int_equal(hub_count(&hub, "/blob/"), 3);
  assert_int_equal(hub_count(&hub, "range=bytes="), 2 * 2); /* at the hub, and at the other host */
  /* A server that stands still is left after HF_HUB_DOWNLOAD_TIMEOUT. */
  start();
  hub_fail(&hub, (hub_fault){.part = "/blob/", .kind = HUB_STALLED, .number = 50, .times = 1});
  assert_int_equal(get("org/model", &error), CQ_OK);
  assert_weights();
  /* One that asks to wait is asked again. */
  start();
  hub_fail(&hub, (hub_fault){.part = "/", .kind = HUB_CODE, .number = 429, .times = 3, .retry_after_s = 2});
  assert_int_equal(get("org/model", &error), CQ_OK);
}

static void assert_incomplete(bool expected) {
  char name[200];
  snprintf(name, sizeof name, "blobs/%s.incomplete", hub_find(&hub, "model.safetensors")->etag);
  assert_int_equal(is_there(in_cache(name)), expected);
}

static void test_resume(void **state) {
  (void)state;
  cq_error error;
  char name[200];
  snprintf(name, sizeof name, "blobs/%s.incomplete", hub_find(&hub, "model.safetensors")->etag);
  const hub_fault breaks = {.part = "/blob/", .kind = HUB_TRUNCATED, .number = 10000};
  /* An earlier call has left something; what the server answers to "from here on": 0 a range, 1 all of it, 2 another
   * range; 3: what was left is of something else, 4: more than there is. */
  for (int i = 0; i < 5; i++) {
    start();
    hub_fail(&hub, breaks);
    assert_fails(CQ_ERR_IO, WEIGHTS_URL, "");
    assert_incomplete(true);
    hub_forget(&hub);
    if (i == 1) hub_fail(&hub, (hub_fault){.part = "/blob/", .kind = HUB_WHOLE});
    if (i == 2) hub_fail(&hub, (hub_fault){.part = "/blob/", .kind = HUB_OTHER_RANGE});
    if (i == 3) write_text(in_cache(name), "of something else");
    if (i == 4)
      write_bytes(in_cache(name), weights, WEIGHTS), assert_int_equal(truncate(in_cache(name), WEIGHTS + 1), 0);
    if (i == 2) {
      assert_fails(CQ_ERR_FORMAT, WEIGHTS_URL, "another range");
      continue;
    }
    if (get("org/model", &error)) fail_msg("%d: %s", i, error.message);
    assert_weights();
    assert_incomplete(false);
    if (i == 0) assert_int_equal(hub_count(&hub, "cdn GET /blob/"), hub_count(&hub, "cdn GET"));
    if (i == 0) assert_int_equal(hub_count(&hub, "range=bytes="), 2);
  }
}

static bool stop_at_once(void *context, const char *file, uint64_t done, uint64_t n_all) {
  (void)file, (void)done, (void)n_all;
  return ++*(int *)context < 3;
}

static void test_processes(void **state) {
  (void)state;
  enum { N = 4 };
  again children[N];
  cq_error error = {0};
  char path[900], *directory;
  start();
  for (int i = 0; i < N; i++) children[i] = start_again("get", false);
  for (int i = 0; i < N; i++) assert_int_equal(end_again(&children[i]), 0);
  assert_weights();
  assert_int_equal(hub_count(&hub, "/blob/"), 1);
  /* Another library holds the lock: the call waits, until it is asked to stop. */
  start();
  snprintf(path, sizeof path, "%s/.locks", cache);
  assert_int_equal(mkdir(cache, 0777), 0);
  assert_int_equal(mkdir(path, 0777), 0);
  strcat(path, "/models--org--model");
  assert_int_equal(mkdir(path, 0777), 0);
  snprintf(path + strlen(path), 200, "/%s.lock", hub_find(&hub, "modules.json")->etag);
  const int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  assert_int_equal(flock(lock, LOCK_EX), 0);
  int n_told = 0;
  cq_hub_options o = cq_hub_default_options();
  o.progress = stop_at_once, o.progress_context = &n_told;
  assert_int_equal(cq_hub_get(&directory, "org/model", &o, &error), CQ_ERR_STOPPED);
  assert_nothing_named();
  close(lock);
}

/* Files of 100 kB at most, which is told as a full disk is. */
static int get_on_full_disk(void) {
  cq_error error = {0};
  char *directory = NULL;
  const struct rlimit limit = {100000, 100000};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &limit);
  const cq_status status = cq_hub_get(&directory, "org/model", NULL, &error);
  return status == CQ_ERR_IO && strstr(error.message, ".incomplete: cannot write") ? 0 : 1;
}

static void test_full_disk(void **state) {
  (void)state;
  start();
  again child = start_again("full disk", false);
  assert_int_equal(end_again(&child), 0);
  assert_nothing_named();
  cq_error error;
  assert_int_equal(get("org/model", &error), CQ_OK);
  assert_weights();
}

/* --- data sets, and a lack of memory --- */

/* In a process of its own, whose memory is not lacking; ends with its standard input. */
static int be_other_hub(void) {
  static hub_imitation data;
  char c;
  if (!hub_open(&data, "datasets", "org/data")) return 1;
  hub_add(&data, "data/train.parquet", "of 5 rows", 9);
  if (write(STDOUT_FILENO, data.endpoint, sizeof data.endpoint) < 0) return 1;
  while (read(STDIN_FILENO, &c, 1) > 0) continue;
  hub_close(&data);
  return 0;
}

static void test_memory(void **state) {
  (void)state;
  cq_hub_options o = cq_hub_default_options();
  cq_error error = {0};
  char *directory, endpoint[64];
  again other = start_again("other hub", true);
  assert_int_equal(read(other.from, endpoint, sizeof endpoint), (ssize_t)sizeof endpoint);
  o.type = CQ_HUB_DATASET;
  for (long n = 1;; n++) {
    start();
    setenv("HF_ENDPOINT", endpoint, 1);
    cq_alloc_fail_at(n);
    const cq_status status = cq_hub_get(&directory, "org/data", &o, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (!failed) {
      assert_int_equal(status, CQ_OK);
      assert_true(n > 20);
      break;
    }
    if (status != CQ_ERR_MEMORY) fail_msg("allocation %ld: status %d: %s", n, status, error.message);
    assert_null(directory);
  }
  assert_non_null(strstr(directory, "datasets--org--data/snapshots/"));
  cq_free(directory);
  assert_int_equal(end_again(&other), 0);
}

/* What the tests start as a process of its own. */
static int act(const char *role) {
  cq_error error;
  char *directory = NULL;
  if (!strcmp(role, "other hub")) return be_other_hub();
  if (!strcmp(role, "full disk")) return get_on_full_disk();
  if (!strcmp(role, "get")) {
    const cq_status status = cq_hub_get(&directory, "org/model", NULL, &error);
    cq_free(directory);
    return status ? 1 : 0;
  }
  fprintf(stderr, "%s: no such role\n", role);
  return 2;
}

int main(int argc, char **argv) {
  if (argc == 2) return act(argv[1]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wrong_answers),    cmocka_unit_test(test_etag_without_hash),
      cmocka_unit_test(test_file_names),       cmocka_unit_test(test_names),
      cmocka_unit_test(test_choices),          cmocka_unit_test(test_token),
      cmocka_unit_test(test_lost_connections), cmocka_unit_test(test_resume),
      cmocka_unit_test(test_processes),        cmocka_unit_test(test_full_disk),
      cmocka_unit_test(test_memory),           cmocka_unit_test(test_layout),
      cmocka_unit_test(test_patterns),         cmocka_unit_test(test_unsized),
      cmocka_unit_test(test_long_answers),     cmocka_unit_test(test_origins),
      cmocka_unit_test(test_longest_wait),     cmocka_unit_test(test_etags),
  };
  return cmocka_run_group_tests(tests, open_hub, close_hub);
}
