/* The choice of a level. The environment is read once a process, so every setting is tried in a child of its own. */
#include "tensor/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void levels_are_whole_and_best_first(void **state) {
  (void)state;
  const cq_kernels *all[8];
  size_t n = cq_kernels_all(all, 8);
  assert_true(n >= 2 && n <= 4);
  assert_string_equal(all[n - 1]->name, "reference");
  assert_string_equal(all[n - 2]->name, "portable");
  for (size_t l = 0; l < n; l++) {
    assert_ptr_equal(cq_kernels_named(all[l]->name), all[l]);
    assert_non_null(all[l]->products);
    void (*entries[(sizeof(cq_kernels) - offsetof(cq_kernels, packed_floats)) / sizeof(void (*)(void))])(void);
    memcpy(entries, (const char *)all[l] + offsetof(cq_kernels, packed_floats), sizeof entries);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) assert_true(entries[i] != NULL);
  }
  assert_int_equal(cq_kernels_all(all, 1), 1);
  assert_null(cq_kernels_named("sse9"));
  assert_null(cq_kernels_named(""));
}

/* The name of the best level when CALQUE_SIMD is set so (NULL: not set). */
static void best_with(const char *setting, char *name, size_t size) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    if (setting)
      setenv("CALQUE_SIMD", setting, 1);
    else
      unsetenv("CALQUE_SIMD");
    const cq_kernels *best = cq_kernels_best();
    size_t n = strlen(best->name) + 1;
    _exit(best == cq_kernels_best() && write(ends[1], best->name, n) == (ssize_t)n ? 0 : 1);
  }
  close(ends[1]);
  assert_true(read(ends[0], name, size) > 0);
  close(ends[0]);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static void the_environment_lowers_the_level(void **state) {
  (void)state;
  const cq_kernels *all[8];
  size_t n = cq_kernels_all(all, 8);
  char name[32];
  for (size_t l = 0; l < n; l++) {
    best_with(all[l]->name, name, sizeof name);
    assert_string_equal(name, all[l]->name);
  }
  best_with(NULL, name, sizeof name);
  assert_string_equal(name, all[0]->name);
  best_with("avx512", name, sizeof name); /* asking for more than there is gives what there is */
  assert_string_equal(name, all[0]->name);
  best_with("no such level", name, sizeof name);
  assert_string_equal(name, all[0]->name);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(levels_are_whole_and_best_first),
      cmocka_unit_test(the_environment_lowers_the_level),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
