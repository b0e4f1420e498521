/* Averaged parameters: the mean by hand, exchanged and given back, saved and restored. */
#include "support/files.h"

#include "base/memory.h"
#include "calque/context.h"
#include "train/average.h"

#include <math.h>

/* A table of more than one chunk of work, between two dense parameters. */
enum { ROWS = 9001, COLS = 11 };

typedef struct model {
  float first[3], table[ROWS * COLS], last[2 * COLS];
  cq_param items[3];
  cq_params params;
} model;

static float value_at(int64_t i, int version) {
  return (float)(i % 97) * 0.25f + (float)version * (float)(i % 5 + 1);
}

static void set_values(model *m, int version) {
  for (size_t p = 0; p < 3; p++)
    for (int64_t i = 0; i < cq_param_floats(&m->items[p]); i++)
      m->items[p].value[i] = value_at(i + 7 * (int64_t)p, version);
}

static model *make_model(void) {
  model *m = cq_alloc_zeroed(sizeof *m);
  m->items[0] = (cq_param){.name = "first", .rows = 1, .cols = 3, .value = m->first};
  m->items[1] = (cq_param){.name = "table", .rows = ROWS, .cols = COLS, .value = m->table, .table = true};
  m->items[2] = (cq_param){.name = "last", .rows = 2, .cols = COLS, .value = m->last};
  for (size_t p = 0; p < 3; p++) assert_int_equal(cq_params_add(&m->params, &m->items[p], NULL), CQ_OK);
  assert_int_equal(cq_params_own(&m->params, NULL), CQ_OK);
  return m;
}

static void free_model(model *m) {
  cq_params_free(&m->params);
  cq_free(m);
}

/* Every value is the mean of versions first ... last, or one of them. */
static void check_values(const model *m, int first, int last) {
  for (size_t p = 0; p < 3; p++)
    for (int64_t i = 0; i < cq_param_floats(&m->items[p]); i++) {
      double sum = 0;
      for (int v = first; v <= last; v++) sum += (double)value_at(i + 7 * (int64_t)p, v);
      const double mean = sum / (last - first + 1), is = (double)m->items[p].value[i];
      if (first == last ? is != mean : fabs(is - mean) > 1e-5)
        fail_msg("%s, element %d: %g, expected %g", m->items[p].name, (int)i, is, mean);
    }
}

static void the_mean_of_what_was_added(void **state) {
  model *m = make_model();
  cq_average a[2];
  cq_context *ctx;
  (void)state;
  assert_int_equal(cq_context_open(&ctx, 3, NULL), CQ_OK);
  for (int k = 0; k < 2; k++) {
    assert_int_equal(cq_average_new(&a[k], &m->params, NULL), CQ_OK);
    for (int version = 1; version <= 3; version++) {
      set_values(m, version);
      cq_average_add(&a[k], k ? ctx : NULL);
    }
    assert_int_equal(a[k].n, 3);
  }
  assert_memory_equal(a[0].mean, a[1].mean, (size_t)a[0].n_floats * sizeof(float));
  cq_average_swap(&a[0], ctx);
  check_values(m, 1, 3);
  cq_average_swap(&a[0], NULL);
  check_values(m, 3, 3);
  cq_average_free(&a[0]), cq_average_free(&a[1]);
  cq_context_free(ctx);
  free_model(m);
}

static void write_checkpoint(const cq_average *a, const char *path) {
  cq_checkpoint_writer *w;
  assert_int_equal(cq_checkpoint_writer_open(&w, path, NULL), CQ_OK);
  assert_int_equal(cq_average_save(a, w, NULL), CQ_OK);
  assert_int_equal(cq_checkpoint_writer_commit(w, NULL), CQ_OK);
}

static void a_saved_mean_goes_on(void **state) {
  model *m = make_model();
  cq_average whole, saved, restored;
  cq_checkpoint *c;
  char path[400];
  (void)state;
  snprintf(path, sizeof path, "%s", test_path("average"));
  assert_int_equal(cq_average_new(&whole, &m->params, NULL), CQ_OK);
  for (int n = 0; n < 3; n++) { /* saved before there is anything to be the mean of, too */
    assert_int_equal(cq_average_new(&saved, &m->params, NULL), CQ_OK);
    assert_int_equal(cq_average_new(&restored, &m->params, NULL), CQ_OK);
    cq_average_free(&whole);
    assert_int_equal(cq_average_new(&whole, &m->params, NULL), CQ_OK);
    for (int version = 1; version <= 3; version++) {
      if (version == n + 1) {
        write_checkpoint(&saved, path);
        assert_int_equal(cq_checkpoint_open(&c, path, NULL), CQ_OK);
        assert_int_equal(cq_checkpoint_count(c), n ? 2 : 1);
        assert_int_equal(cq_average_restore(&restored, c, NULL), CQ_OK);
        assert_int_equal(restored.n, n);
        cq_checkpoint_close(c);
      }
      set_values(m, version);
      cq_average_add(&whole, NULL);
      cq_average_add(version <= n ? &saved : &restored, NULL);
    }
    assert_int_equal(restored.n, 3);
    assert_memory_equal(whole.mean, restored.mean, (size_t)whole.n_floats * sizeof(float));
    cq_average_free(&saved), cq_average_free(&restored);
  }
  cq_average_free(&whole);
  free_model(m);
}

static void restore_refused(cq_average *a, const char *path, const char *says) {
  cq_error error = {0};
  cq_checkpoint *c;
  assert_int_equal(cq_checkpoint_open(&c, path, NULL), CQ_OK);
  assert_int_equal(cq_average_restore(a, c, &error), CQ_ERR_FORMAT);
  if (!strstr(error.message, says)) fail_msg("'%s' does not say '%s'", error.message, says);
  cq_checkpoint_close(c);
}

static void other_checkpoints_are_refused(void **state) {
  const uint64_t n = 2;
  const float few[3] = {1, 2, 3};
  model *m = make_model();
  cq_average a;
  cq_checkpoint_writer *w;
  char path[400];
  (void)state;
  snprintf(path, sizeof path, "%s", test_path("other"));
  assert_int_equal(cq_average_new(&a, &m->params, NULL), CQ_OK);
  for (int sections = 0; sections < 3; sections++) {
    assert_int_equal(cq_checkpoint_writer_open(&w, path, NULL), CQ_OK);
    assert_int_equal(cq_checkpoint_writer_section(w, "step", &n, sizeof n, NULL), CQ_OK);
    if (sections > 0) assert_int_equal(cq_checkpoint_writer_section(w, "average.n", &n, sizeof n, NULL), CQ_OK);
    if (sections > 1) assert_int_equal(cq_checkpoint_writer_section(w, "average", few, sizeof few, NULL), CQ_OK);
    assert_int_equal(cq_checkpoint_writer_commit(w, NULL), CQ_OK);
    restore_refused(&a, path, sections ? "'average'" : "'average.n'");
  }
  cq_average_free(&a);
  free_model(m);
}

static void no_memory_is_an_error(void **state) {
  model *m = make_model();
  cq_average a;
  (void)state;
  cq_alloc_fail_at(1);
  assert_int_equal(cq_average_new(&a, &m->params, NULL), CQ_ERR_MEMORY);
  cq_alloc_fail_at(0);
  cq_average_free(&a);
  free_model(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_mean_of_what_was_added), cmocka_unit_test(a_saved_mean_goes_on),
      cmocka_unit_test(other_checkpoints_are_refused), cmocka_unit_test(no_memory_is_an_error)};
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
