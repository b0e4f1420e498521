/* Every allocation of opening, encoding and saving fails once: a clean error each time, nothing leaked (the sanitizer
 * build tells), nothing crashed. */
#include "golden.h"

#include "base/file.h"

#include <dlfcn.h>

static void sweep(const char *name) {
  const char *directory = golden_path(name);
  char target[512];
  cq_error error = {0};
  snprintf(target, sizeof target, "%s", test_path(name));
  assert_int_equal(cq_directory_make(target, &error), CQ_OK);
  long n_failures = 0;
  for (long n = 1;; n += n < 400 ? 1 : n / 16) {
    cq_tokenizer *t = NULL;
    cq_ids ids = {0};
    error = (cq_error){0};
    cq_alloc_fail_at(n);
    cq_status status = cq_tokenizer_open(&t, directory, n % 2 == 0, &error);
    if (!status)
      status = cq_tokenizer_encode(&ids, t, NULL, cq_slice_of("the río, [MASK] নদী  <mask> 水 e\xCC\x81"), true, 7,
                                   NULL, &error);
    if (!status) status = cq_tokenizer_save(t, target, 64, &error);
    bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    cq_free(ids.ids);
    cq_tokenizer_free(t);
    if (!failed) {
      assert_int_equal(status, CQ_OK);
      break;
    }
    n_failures++;
    if (status != CQ_ERR_MEMORY)
      fail_msg("%s: allocation %ld failed, and the answer was '%s' (%d)", name, n, error.message, status);
  }
  assert_true(n_failures > 20);
}

static void test_sweep(void **state) {
  (void)state;
  sweep("vocab-txt-uncased");
  sweep("wordpiece-added");
  sweep("sentencepiece-unigram");
  sweep("sentencepiece-bpe");
  sweep("byte-level-prefix");
  sweep("vocab-json");
  sweep("unigram-never");
  sweep("words-marked");
  sweep("albert");
  void *plugin = dlopen("libcalque_mecab.so", RTLD_NOW | RTLD_LOCAL);
  if (plugin && cq_is_directory("/var/lib/mecab/dic/ipadic-utf8")) {
    sweep("japanese-lower");
    sweep("japanese-characters");
  } else {
    print_message("without Japanese: no plugin for MeCab, or no mecab-ipadic-utf8\n");
  }
  if (plugin) dlclose(plugin);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sweep)};
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
