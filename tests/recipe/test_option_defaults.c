/* Every option of the library with its default, its range and whether it changes the result is as
 * tests/golden/options.txt says: somebody who leaves an option alone relies on it. UPDATE=1 writes the list anew. */
#include "support/files.h"

#include "base/memory.h"
#include "base/slice.h"
#include "calque/lab/autoencode_trials.h"
#include "calque/lab/clir.h"
#include "calque/lab/compare.h"
#include "calque/lab/compare_models.h"
#include "calque/lab/lexical.h"
#include "calque/lab/mt.h"
#include "calque/lab/retrieval.h"
#include "calque/lab/tsne.h"
#include "calque/options.h"

static const char *const types[] = {"flag",   "yes|no",  "int",  "size", "count", "number",
                                    "choice", "choices", "text", "ints", "texts", "items"};

static void add_row(cq_builder *out, const cq_options *options, const cq_option *row) {
  char *value;
  assert_int_equal(cq_options_get(&value, options, row->name, 0, NULL), CQ_OK);
  cq_builder_printf(out, "  %-28s %-9s %s", row->name, types[row->type], value ? value : "-");
  if (row->min != 0 || row->max != 0)
    cq_builder_printf(out, " %s%.10g, %.10g%s", row->flags & CQ_OPTION_ABOVE_MIN ? "(" : "[", row->min, row->max,
                      row->flags & CQ_OPTION_BELOW_MAX ? ")" : "]");
  for (size_t i = 0; row->choices && row->choices[i]; i++)
    cq_builder_printf(out, "%s%s", i ? "|" : " ", row->choices[i]);
  cq_builder_printf(out, "%s%s\n", row->effect == CQ_CHANGES_RESULT ? "" : " keeps",
                    row->flags & CQ_OPTION_REQUIRED ? " required" : "");
  cq_free(value);
}

static const cq_option_group *const of_lab[] = {&cq_group_autoencode,
                                                &cq_group_autoencode_ablate,
                                                &cq_group_autoencode_as_described,
                                                &cq_group_autoencode_search,
                                                &cq_group_bleu,
                                                &cq_group_chrf,
                                                &cq_group_clir,
                                                &cq_group_clir_cognates,
                                                &cq_group_clir_folds,
                                                &cq_group_clir_sources,
                                                &cq_group_clir_validation,
                                                &cq_group_compare,
                                                &cq_group_compare_models,
                                                &cq_group_lexical_build,
                                                &cq_group_meteor,
                                                &cq_group_retrieval_eval,
                                                &cq_group_translate,
                                                &cq_group_tsne,
                                                NULL};

/* The library's groups, then the lab's. */
static const cq_option_group *group_at(size_t i) {
  size_t n = 0;
  while (cq_option_group_at(n)) n++;
  return i < n ? cq_option_group_at(i) : of_lab[i - n];
}

static void defaults_are_those_listed(void **state) {
  (void)state;
  cq_builder found = {0};
  for (size_t g = 0; group_at(g); g++) {
    cq_options *options;
    const cq_option_group *group = group_at(g);
    assert_int_equal(cq_options_new(&options, group, NULL), CQ_OK);
    cq_builder_printf(&found, "%s\n", group->name);
    for (size_t i = 0; cq_options_row(options, i); i++) add_row(&found, options, cq_options_row(options, i));
    for (size_t i = 0; i < group->n_fields; i++) cq_builder_printf(&found, "  (%s)\n", group->fields[i].name);
    cq_options_free(options);
  }
  assert_false(found.failed);
  const char *path = tests_file("golden/options.txt");
  if (getenv("UPDATE")) write_bytes(path, found.data, found.n);
  size_t n;
  char *listed = (char *)read_bytes(&n, path), *rest = listed, *rest_found = found.data;
  for (const char *line; (line = strsep(&rest, "\n"));) {
    const char *now = strsep(&rest_found, "\n");
    if (!now || strcmp(line, now) != 0)
      fail_msg("listed:    %s\nis:        %s\nif that is meant, UPDATE=1 writes the list anew", line, now ? now : "");
  }
  assert_null(rest_found);
  free(listed);
  cq_builder_free(&found);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(defaults_are_those_listed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
