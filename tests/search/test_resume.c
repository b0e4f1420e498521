/* A search on disk: what is saved comes back, of another search nothing does, and lists that name rows which are not
 * there are refused. */
#include "support/files.h"

#include "base/memory.h"
#include "search/resume.h"

enum { N_X = 5, N_Y = 7, K = 3 };

static cq_neighbors lists(size_t n, uint32_t first) {
  cq_neighbors l = {.n = n, .k = K};
  l.index = cq_alloc_array(n * K, sizeof *l.index);
  l.cosine = cq_alloc_array(n * K, sizeof *l.cosine);
  for (size_t i = 0; i < n * K; i++) l.index[i] = (first + (uint32_t)i) % 5, l.cosine[i] = (float)i / 16;
  l.index[1] = UINT32_MAX; /* nothing is there yet */
  return l;
}

/* Saves the two lists and reads them back into others. */
static cq_status there_and_back(const cq_neighbors *x, const cq_neighbors *y, uint64_t done, bool same, size_t *got) {
  const cq_identity key = {1, 2}, other = {1, 3};
  cq_neighbors x_back = lists(N_X, 2), y_back = lists(N_Y, 3);
  const char *path = test_path("state");
  assert_int_equal(cq_search_save(path, key, done, x, y, NULL), CQ_OK);
  const cq_status status = cq_search_load(got, path, same ? key : other, N_X, N_Y, &x_back, y ? &y_back : NULL, NULL);
  if (!status && same) {
    assert_memory_equal(x_back.index, x->index, N_X * K * sizeof *x->index);
    assert_memory_equal(x_back.cosine, x->cosine, N_X * K * sizeof *x->cosine);
    if (y) assert_memory_equal(y_back.index, y->index, N_Y * K * sizeof *y->index);
    if (y) assert_memory_equal(y_back.cosine, y->cosine, N_Y * K * sizeof *y->cosine);
  }
  cq_neighbors_free(&x_back);
  cq_neighbors_free(&y_back);
  return status;
}

static void a_search_comes_back(void **state) {
  (void)state;
  size_t done = 9;
  cq_neighbors x = lists(N_X, 0), y = lists(N_Y, 1);
  assert_int_equal(cq_search_load(&done, test_path("nowhere"), (cq_identity){1, 2}, N_X, N_Y, &x, &y, NULL), CQ_OK);
  assert_int_equal(done, 0);
  for (int both = 0; both < 2; both++) {
    assert_int_equal(there_and_back(&x, both ? &y : NULL, 4, true, &done), CQ_OK);
    assert_int_equal(done, 4);
    assert_int_equal(there_and_back(&x, both ? &y : NULL, 4, false, &done), CQ_OK);
    assert_int_equal(done, 0);
  }
  assert_int_equal(there_and_back(&x, &y, N_Y, true, &done), CQ_OK);
  assert_int_equal(there_and_back(&x, &y, N_Y + 1, true, &done), CQ_ERR_FORMAT);
  for (size_t at = 0; at < N_X * K; at++) { /* x's lists name rows of y */
    const uint32_t before = x.index[at];
    x.index[at] = N_Y - 1;
    assert_int_equal(there_and_back(&x, &y, 4, true, &done), CQ_OK);
    x.index[at] = N_Y;
    assert_int_equal(there_and_back(&x, &y, 4, true, &done), CQ_ERR_FORMAT);
    x.index[at] = before;
  }
  for (size_t at = 0; at < N_Y * K; at++) { /* and y's those of x */
    const uint32_t before = y.index[at];
    y.index[at] = N_X;
    assert_int_equal(there_and_back(&x, &y, 4, true, &done), CQ_ERR_FORMAT);
    y.index[at] = before;
  }
  cq_neighbors_free(&x);
  cq_neighbors_free(&y);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_search_comes_back)};
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
