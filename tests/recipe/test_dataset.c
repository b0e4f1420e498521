/* Data sets of the hub: which files are of a config and a split; those that the hub has converted; a lack of memory. */
#include "support/files.h"

#include "base/memory.h"
#include "calque/calque.h"
#include "hub/http.h"
#include "recipe/dataset/dataset_files.h"
#include "support/hub.h"

/* --- names --- */

/* Blanks between names, in and out. */
static void check_choice(const char *files, const char *config, const char *split, const char *wanted) {
  char text[1000], chosen[1000] = "";
  const char *names[20];
  size_t n = 0;
  bool is_there;
  cq_error error = {0};
  snprintf(text, sizeof text, "%s", files);
  for (char *at = strtok(text, " "); at; at = strtok(NULL, " ")) names[n++] = at;
  if (cq_dataset_choose(names, &n, &is_there, "org/pairs", config, split, &error)) {
    assert_int_equal(error.status, CQ_ERR_ARGUMENT);
    if (!strstr(error.message, wanted) || strncmp(error.message, "org/pairs: ", 11) != 0)
      fail_msg("'%s', expected '%s'", error.message, wanted);
    assert_int_equal(is_there, !strncmp(wanted, "which", 5));
    return;
  }
  assert_true(is_there);
  for (size_t i = 0; i < n; i++)
    snprintf(chosen + strlen(chosen), sizeof chosen - strlen(chosen), "%s%s", i ? " " : "", names[i]);
  assert_string_equal(chosen, wanted);
}

static void files_are_chosen_by_their_names(void **state) {
  (void)state;
  static const char two[] = "README.md de-en/train-00001-of-00002.parquet de-en/train-00000-of-00002.parquet "
                            "fr-en/train-00000-of-00001.parquet de-en/test-00000-of-00001.parquet de-en/train.json";
  check_choice(two, "de-en", "train", "de-en/train-00000-of-00002.parquet de-en/train-00001-of-00002.parquet");
  check_choice(two, "fr-en", "train", "fr-en/train-00000-of-00001.parquet");
  check_choice(two, NULL, "train", "which config? de-en, fr-en");
  check_choice(two, "en", "train", "no config 'en'; there are de-en, fr-en");
  check_choice(two, "fr-en", "test", "no Parquet file of split 'test'; the config has 1: fr-en/train-");
  check_choice("data/train-00000-of-00001.parquet data/validation-00000-of-00001.parquet", NULL, "validation",
               "data/validation-00000-of-00001.parquet");
  check_choice("train.parquet test.parquet", NULL, "train", "train.parquet");
  check_choice("train.parquet test.parquet", "default", "test", "test.parquet");
  check_choice("data/a/train.parquet data/b/train.parquet", "b", "train", "data/b/train.parquet");
  check_choice("a/train/0000.parquet a/test/0000.parquet a/partial-dev/0000.parquet", NULL, "train",
               "a/train/0000.parquet");
  check_choice("a/train/0000.parquet a/test/0000.parquet a/partial-dev/0000.parquet", "a", "dev",
               "a/partial-dev/0000.parquet");
  check_choice("default/train/0000.parquet x/train/0000.parquet", NULL, "train", "default/train/0000.parquet");
  check_choice("data/wiki_train.parquet data/wiki_test.parquet", NULL, "train", "data/wiki_train.parquet");
  check_choice("data/gold-2020-00000-of-00001.parquet", NULL, "gold-2020", "data/gold-2020-00000-of-00001.parquet");
  check_choice("data/trainer.parquet", NULL, "train", "no Parquet file of split 'train'");
  check_choice("README.md train.jsonl .parquet", NULL, "train", "has no Parquet files");
  check_choice("", NULL, "train", "has no Parquet files");
}

/* --- what the hub has converted --- */

static hub_imitation hub;

static int open_hub(void **state) {
  if (make_test_directory(state) || !hub_open(&hub, "datasets", "org/pairs")) return -1;
  size_t n;
  unsigned char *bytes = read_bytes(&n, tests_file("golden/parquet/scored.parquet"));
  hub_add(&hub, "default/train/0000.parquet", bytes, n);
  free(bytes);
  setenv("HOME", test_directory, 1);
  setenv("HF_ENDPOINT", hub.endpoint, 1);
  unsetenv("HF_HOME"), unsetenv("HF_HUB_CACHE"), unsetenv("HF_HUB_OFFLINE"), unsetenv("HF_TOKEN");
  unsetenv("http_proxy"), unsetenv("all_proxy");
  return 0;
}

static int close_hub(void **state) {
  hub_close(&hub);
  return remove_test_directory(state);
}

static cq_status get(const char *name, cq_error *error) {
  cq_dataset_options o = cq_dataset_default_options();
  cq_corpus_counts counts;
  o.output = test_path("rows.tsv");
  *error = (cq_error){0};
  const cq_status status = cq_dataset_get(&counts, name, &o, error);
  if (!status) assert_int_equal(counts.n_written, 2);
  return status;
}

/* At main there is nothing but a description. */
static void hide_main(void) {
  static char list[200];
  snprintf(list, sizeof list, "{\"sha\": \"%s\", \"siblings\": [{\"rfilename\": \"train.csv\"}]}", hub.commit);
  hub_forget(&hub);
  hub_fail(&hub, (hub_fault){.method = "GET", .part = "revision/main", .kind = HUB_TEXT, .text = list});
}

static void check_rows(void) {
  size_t n;
  char *rows = (char *)read_bytes(&n, test_path("rows.tsv"));
  assert_string_equal(rows, "a cat\tone cat\t4.75\na dog\ta fish\t0.5\n");
  free(rows);
  remove(test_path("rows.tsv"));
}

static void other_formats_are_read_as_the_hub_has_converted_them(void **state) {
  (void)state;
  cq_error error;
  hide_main();
  if (get("org/pairs", &error)) fail_msg("%s", error.message);
  check_rows();
  assert_true(hub_count(&hub, "convert") > 0);
  assert_int_equal(get("org/pairs@main", &error), CQ_ERR_ARGUMENT); /* asked for: no other is looked at */
  assert_non_null(strstr(error.message, "org/pairs: has no Parquet files"));
  /* Not converted: what main lacks is what is said. */
  hub_fail(&hub, (hub_fault){.method = "GET", .part = "convert", .kind = HUB_CODE, .number = 404});
  assert_int_equal(get("org/pairs", &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "org/pairs: has no Parquet files"));
  assert_int_equal(count_files("rows.tsv"), 0);
}

/* Reads from the cache: otherwise the imitation's own allocations would fail. */
static void every_failed_allocation_is_an_error(void **state) {
  (void)state;
  cq_error error;
  hide_main();
  assert_int_equal(get("org/pairs", &error), CQ_OK);
  setenv("HF_HUB_OFFLINE", "1", 1);
  for (long n = 1;; n++) {
    cq_alloc_fail_at(n);
    const cq_status status = get("org/pairs@refs/convert/parquet", &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (!failed) {
      assert_int_equal(status, CQ_OK);
      assert_true(n > 20);
      break;
    }
    if (status == CQ_ERR_IO && strstr(error.message, "the cache has no snapshot"))
      continue; /* its reference was not read */
    if (status != CQ_ERR_MEMORY) fail_msg("allocation %ld: status %d: %s", n, status, error.message);
  }
  check_rows();
  unsetenv("HF_HUB_OFFLINE");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_are_chosen_by_their_names),
      cmocka_unit_test(other_formats_are_read_as_the_hub_has_converted_them),
      cmocka_unit_test(every_failed_allocation_is_an_error),
  };
  return cmocka_run_group_tests_name("recipe/dataset", tests, open_hub, close_hub);
}
