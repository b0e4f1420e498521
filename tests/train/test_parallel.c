/* Parallel text, sampling and the schedule: small cases by hand. */
#include "support/files.h"

#include "base/memory.h"
#include "base/slice.h"
#include "train/sampler.h"
#include "train/schedule.h"

#include <math.h>

static bool is(cq_slice slice, const char *text) {
  return cq_slice_equal(slice, cq_slice_of(text));
}

static const char *written(const char *name, const char *text) {
  const char *path = test_path(name);
  write_text(path, text);
  return path;
}

/* --- reading --- */

static void translations_of_a_source_are_a_set(void **state) {
  (void)state;
  cq_parallel data = {0};
  const cq_parallel_options options = {.max_characters = 10};
  const char *path = written("a.tsv", "One.\tEins.\tUno.\n"
                                      "Two.\tZwei.\n"
                                      "One.\tEins.\n"
                                      "One.\tUn.\n"
                                      "Long.\tA translation of too many characters\n"
                                      "A source of too many characters\tKurz.\n"
                                      "Half.\tHalb.\tA translation of too many characters\n");
  static const double no_weights[] = {0, -1, 2e12, NAN};
  for (int w = 0; w < 4; w++)
    assert_int_equal(cq_parallel_add(&data, path, NULL, no_weights[w], &options, NULL), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_parallel_add(&data, path, NULL, 2, &options, NULL), CQ_OK);
  assert_int_equal(data.n_sources, 3); /* what has no usable translation is not for the teacher */
  assert_int_equal(data.n_entries, 3);
  assert_int_equal(cq_parallel_pairs(&data), 5);
  assert_int_equal(data.sets[0].n_long, 3);
  assert_int_equal(data.sets[0].n_lines, 7);
  assert_int_equal(data.entries[0].n_targets, 3);
  assert_true(is(data.targets[data.entries[0].first_target + 2], "Un."));
  /* The same source in another set is stored once. */
  assert_int_equal(cq_parallel_add(&data, written("b.tsv", "One.\tJeden.\n"), "slk", 1, &options, NULL), CQ_OK);
  assert_int_equal(data.n_sources, 3);
  assert_int_equal(data.entries[3].source, data.entries[0].source);
  assert_string_equal(data.sets[1].label, "slk");
  cq_parallel_free(&data);
}

static void what_is_said_of_pairs_stays_with_them(void **state) {
  cq_parallel data = {0}, other = {0};
  cq_parallel_options options = {.third = CQ_THIRD_LABEL, .max_characters = 10};
  (void)state;
  const char *path = written("nli.tsv", "A cat.\tAn animal.\tentailment\n"
                                        "A dog.\tA cat.\tcontradiction\tnobody's\n"
                                        "A cat.\tA dog.\tcontradiction\n"
                                        "A cat.\tAn animal.\tentailment\n"
                                        "A cat.\tAn animal.\tneutral\n"
                                        "A cat.\tOf too many characters\tneutral\n");
  assert_int_equal(cq_parallel_add(&data, path, NULL, 1, &options, NULL), CQ_OK);
  assert_int_equal(data.n_entries, 2);
  assert_int_equal(cq_parallel_pairs(&data), 4); /* the same pair twice is one, with another label it is two */
  assert_int_equal(data.sets[0].n_long, 1);
  const cq_entry *cat = &data.entries[0];
  static const char *const wanted[][2] = {
      {"An animal.", "entailment"}, {"A dog.", "contradiction"}, {"An animal.", "neutral"}};
  assert_int_equal(cat->n_targets, 3);
  for (uint32_t i = 0; i < 3; i++) {
    assert_true(is(data.targets[cat->first_target + i], wanted[i][0]));
    assert_true(is(data.thirds[cat->first_target + i], wanted[i][1]));
  }
  cq_parallel_free(&data);

  /* A sentence that is not meant need not be there, and is measured like the others. */
  options.third = CQ_THIRD_NEGATIVE;
  path =
      written("ranked.tsv", "A cat.\tAn animal.\nA cat.\tA pet.\tA plant.\nA dog.\tA pet.\tOf too many characters\n");
  assert_int_equal(cq_parallel_add(&data, path, NULL, 1, &options, NULL), CQ_OK);
  assert_int_equal(cq_parallel_pairs(&data), 2);
  assert_true(data.thirds[0].n == 0 && is(data.thirds[1], "A plant."));
  assert_int_equal(data.sets[0].n_long, 1);
  cq_parallel_free(&data);

  /* The source and the label of a target are part of a resumed run's identity. */
  options = (cq_parallel_options){0};
  assert_int_equal(cq_parallel_add(&data, written("1.tsv", "A\tx\ty\nB\tz\n"), NULL, 1, &options, NULL), CQ_OK);
  assert_int_equal(cq_parallel_add(&other, written("2.tsv", "A\tx\nB\ty\tz\n"), NULL, 1, &options, NULL), CQ_OK);
  assert_true(!cq_identity_equal(cq_parallel_identity(&data, data.sets), cq_parallel_identity(&other, other.sets)));
  cq_parallel_free(&data);
  cq_parallel_free(&other);
}

static void malformed_judgements_are_named(void **state) {
  static const struct {
    cq_third third;
    const char *text;
  } cases[] = {{CQ_THIRD_LABEL, "a\tb\tc\na\tb\n"},       {CQ_THIRD_LABEL, "a\tb\tc\na\tb\t\n"},
               {CQ_THIRD_SCORE, "a\tb\t1\na\tb\tone\n"},  {CQ_THIRD_SCORE, "a\tb\t1\na\tb\t5.01\n"},
               {CQ_THIRD_SCORE, "a\tb\t1\na\tb\t-0.1\n"}, {CQ_THIRD_SCORE, "a\tb\t1\na\tb\tnan\n"},
               {CQ_THIRD_NEGATIVE, "a\tb\na\tb\tc\td\n"}, {CQ_THIRD_NEGATIVE, "a\tb\na\n"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_parallel data = {0};
    cq_error error = {0};
    cq_parallel_options options = {.third = cases[i].third, .max_score = 5};
    const char *path = written("bad.tsv", cases[i].text);
    if (cq_parallel_add(&data, path, NULL, 1, &options, &error) != CQ_ERR_FORMAT) fail_msg("case %zu is read", i);
    assert_int_equal(error.line, 2);
    cq_parallel_free(&data);
    options.skip_bad = true;
    assert_int_equal(cq_parallel_add(&data, path, NULL, 1, &options, &error), CQ_OK);
    assert_int_equal(data.sets[0].n_bad, 1);
    cq_parallel_free(&data);
  }
}

static void malformed_lines_are_named(void **state) {
  (void)state;
  const struct {
    const char *text;
    uint64_t line;
  } cases[] = {
      {"One.\tEins.\nTwo.\n", 2}, {"One.\tEins.\n\tZwei.\n", 2}, {"One.\t\n", 1}, {"One.\tEins.\n\xff\tx\n", 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_parallel data = {0};
    cq_error error = {0};
    cq_parallel_options options = {0};
    const char *path = written("bad.tsv", cases[i].text);
    assert_int_equal(cq_parallel_add(&data, path, NULL, 1, &options, &error), CQ_ERR_FORMAT);
    assert_int_equal(error.line, cases[i].line);
    cq_parallel_free(&data);
    options.skip_bad = true;
    const cq_status status = cq_parallel_add(&data, path, NULL, 1, &options, &error);
    assert_int_equal(status, cases[i].line == 2 ? CQ_OK : CQ_ERR_FORMAT); /* nothing is left of the others */
    if (!status) assert_int_equal(data.sets[0].n_bad, 1);
    cq_parallel_free(&data);
  }
}

/* Sentences without translations are their own, and share what is known of a source with files of pairs. */
static void plain_text_is_its_own_translation(void **state) {
  (void)state;
  char summary[CQ_PARALLEL_SUMMARY];
  cq_parallel data = {0};
  cq_parallel_options options = {.max_characters = 10};
  assert_int_equal(cq_parallel_add(&data, written("pairs.tsv", "One.\tOne.\n"), NULL, 1, &options, NULL), CQ_OK);
  options.plain = true;
  const char *path = written("plain.txt", "Two.\nOne.\nTwo.\nA line of too many characters\n");
  assert_int_equal(cq_parallel_add(&data, path, "en", 0.5, &options, NULL), CQ_OK);
  assert_int_equal(data.n_sources, 2);
  assert_int_equal(data.n_entries, 3);
  assert_int_equal(cq_parallel_pairs(&data), 3);
  for (size_t e = 0; e < 3; e++) {
    const cq_entry *entry = &data.entries[e];
    assert_int_equal(entry->n_targets, 1);
    assert_true(cq_slice_equal(data.targets[entry->first_target], data.sources[entry->source]));
    assert_int_equal(cq_parallel_is_plain(&data, entry->source, entry->first_target), e > 0);
  }
  cq_parallel_summary(summary, &data.sets[1]);
  assert_string_equal(summary, "en: 2 sentences (4 lines, 0 malformed skipped, 1 too long: --max-characters)");
  cq_parallel_free(&data);
  options.max_entries = 1;
  assert_int_equal(cq_parallel_add(&data, path, NULL, 1, &options, NULL), CQ_OK);
  assert_int_equal(data.n_entries, 1);
  cq_parallel_free(&data);
}

static void malformed_plain_text_is_named(void **state) {
  (void)state;
  const struct {
    const char *text, *says;
  } cases[] = {{"One.\nTwo.\tZwei.\n", "a tab, expected a sentence without translations"},
               {"One.\n{\"text\": \"Two.\"}\n", "a JSON object, expected a sentence"},
               {"One.\n\nTwo.\n", "an empty line"},
               {"One.\n\xff\n", "UTF-8"}};
  cq_parallel data = {0};
  cq_error error = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_parallel_options options = {.plain = true};
    const char *path = written("bad.txt", cases[i].text);
    assert_int_equal(cq_parallel_add(&data, path, NULL, 1, &options, &error), CQ_ERR_FORMAT);
    assert_int_equal(error.line, 2);
    assert_non_null(strstr(error.message, cases[i].says));
    cq_parallel_free(&data);
    options.skip_bad = true;
    assert_int_equal(cq_parallel_add(&data, path, NULL, 1, &options, &error), CQ_OK);
    assert_int_equal(data.sets[0].n_bad, 1);
    cq_parallel_free(&data);
  }
  const cq_parallel_options options = {.plain = true};
  assert_int_equal(cq_parallel_add(&data, written("empty.txt", ""), NULL, 1, &options, &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "no sentences (0 lines, 0 malformed, 0 too long)"));
  cq_parallel_free(&data);
}

static void labels_are_the_last_two_names(void **state) {
  (void)state;
  char label[32];
  assert_int_equal(cq_parallel_label(label, sizeof label, "/data/en-de/train-anki.tsv.gz", NULL), CQ_OK);
  assert_string_equal(label, "en-de/train-anki");
  assert_int_equal(cq_parallel_label(label, sizeof label, "x.tsv", NULL), CQ_OK);
  assert_string_equal(label, "x");
  assert_int_equal(cq_parallel_label(label, 4, "x/longer.tsv", NULL), CQ_ERR_ARGUMENT);
}

static void check_allocations(const char *path, bool plain) {
  for (long n = 1;; n++) {
    cq_parallel data = {0};
    cq_sampler sampler = {0};
    cq_alloc_fail_at(n);
    cq_status status = cq_parallel_add(&data, path, NULL, 1, &(cq_parallel_options){.plain = plain}, NULL);
    if (!status) status = cq_sampler_new(&sampler, &data, CQ_SAMPLE_BALANCED, 1, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    cq_sampler_free(&sampler);
    cq_parallel_free(&data);
    if (!failed) break;
  }
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  check_allocations(written("small.tsv", "One.\tEins.\tUno.\nTwo.\tZwei.\n"), false);
  check_allocations(written("small.txt", "One.\nTwo.\n"), true);
}

/* --- drawing --- */

enum { N_A = 7, N_B = 3 };

static void fill(cq_parallel *data, double weight_a, double weight_b) {
  char text[2][512] = {"", ""};
  *data = (cq_parallel){0};
  for (int i = 0; i < N_A; i++) snprintf(text[0] + strlen(text[0]), 40, "a%d\tx%d\n", i, i);
  for (int i = 0; i < N_B; i++) snprintf(text[1] + strlen(text[1]), 40, "b%d\ty%d\tz%d\n", i, i, i);
  const cq_parallel_options options = {0};
  assert_int_equal(cq_parallel_add(data, written("set-a.tsv", text[0]), NULL, weight_a, &options, NULL), CQ_OK);
  assert_int_equal(cq_parallel_add(data, written("set-b.tsv", text[1]), NULL, weight_b, &options, NULL), CQ_OK);
}

static void batches_are_a_function_of_their_number(void **state) {
  (void)state;
  enum { BATCH = 4, N_BATCHES = 20 };
  const cq_sampling ways[] = {CQ_SAMPLE_IN_ORDER, CQ_SAMPLE_SHUFFLED, CQ_SAMPLE_BALANCED};
  cq_parallel data;
  fill(&data, 1, 3);
  for (size_t w = 0; w < 3; w++) {
    cq_pair all[N_BATCHES][BATCH], again[BATCH];
    cq_sampler s;
    assert_int_equal(cq_sampler_new(&s, &data, ways[w], 5, NULL), CQ_OK);
    for (uint64_t b = 0; b < N_BATCHES; b++) cq_sampler_draw(all[b], &s, b, BATCH);
    for (uint64_t b = N_BATCHES; b-- > 0;) { /* in any order, and after a fresh start */
      if (b % 7 == 0) {
        cq_sampler_free(&s);
        assert_int_equal(cq_sampler_new(&s, &data, ways[w], 5, NULL), CQ_OK);
      }
      cq_sampler_draw(again, &s, b, BATCH);
      assert_memory_equal(again, all[b], sizeof again);
    }
    cq_sampler_free(&s);
  }
  cq_parallel_free(&data);
}

static void each_way_draws_what_it_says(void **state) {
  (void)state;
  enum { N_PAIRS = N_A + 2 * N_B, N_DRAWS = 400 };
  cq_parallel data;
  cq_sampler s;
  cq_pair drawn[N_DRAWS];
  fill(&data, 1, 3);
  assert_int_equal(cq_parallel_pairs(&data), N_PAIRS);
  assert_int_equal(cq_sampler_new(&s, &data, CQ_SAMPLE_IN_ORDER, 1, NULL), CQ_OK);
  cq_sampler_draw(drawn, &s, 0, 2 * N_PAIRS);
  for (size_t i = 0; i < N_PAIRS; i++) assert_int_equal(drawn[i].target, drawn[i + N_PAIRS].target);
  assert_true(is(data.targets[drawn[0].target], "x0") && is(data.targets[drawn[N_A + 1].target], "z0"));
  cq_sampler_free(&s);
  /* Shuffled: every pair once an epoch, another order each time. */
  assert_int_equal(cq_sampler_new(&s, &data, CQ_SAMPLE_SHUFFLED, 1, NULL), CQ_OK);
  cq_sampler_draw(drawn, &s, 0, 2 * N_PAIRS);
  bool other = false;
  for (size_t epoch = 0; epoch < 2; epoch++) {
    unsigned seen = 0;
    for (size_t i = 0; i < N_PAIRS; i++) {
      seen |= 1u << drawn[epoch * N_PAIRS + i].target;
      other |= drawn[i].target != drawn[i + N_PAIRS].target;
    }
    assert_int_equal(seen, (1u << N_PAIRS) - 1);
  }
  assert_true(other);
  cq_sampler_free(&s);
  /* Balanced: three draws of four from the set of weight 3, each of its entries alike. */
  assert_int_equal(cq_sampler_new(&s, &data, CQ_SAMPLE_BALANCED, 1, NULL), CQ_OK);
  cq_sampler_draw(drawn, &s, 0, N_DRAWS);
  size_t of_b = 0, of_entry[N_B] = {0};
  for (size_t i = 0; i < N_DRAWS; i++) {
    const char *source = data.sources[drawn[i].source].data;
    if (source[0] == 'b') of_b++, of_entry[source[1] - '0']++;
  }
  assert_int_equal(of_b, N_DRAWS * 3 / 4);
  for (int i = 0; i < N_B; i++) assert_int_equal(of_entry[i], N_DRAWS / 4);
  cq_sampler_free(&s);
  cq_parallel_free(&data);
}

/* --- the schedule --- */

static void rates_rise_and_fall(void **state) {
  (void)state;
  const cq_schedule_plan linear = {.decay = CQ_SCHEDULE_LINEAR, .n_steps = 110, .n_warmup = 10},
                         flat = {.decay = CQ_SCHEDULE_CONSTANT, .n_steps = 110, .n_warmup = 0},
                         cosine = {.decay = CQ_SCHEDULE_COSINE, .n_steps = 110, .n_warmup = 10},
                         all_warmup = {.decay = CQ_SCHEDULE_LINEAR, .n_steps = 4, .n_warmup = 8};
  const struct {
    const cq_schedule_plan *plan;
    uint64_t step;
    double factor;
  } cases[] = {{&linear, 1, 0},
               {&linear, 6, 0.5},
               {&linear, 11, 1},
               {&linear, 61, 0.5},
               {&linear, 110, 0.01},
               {&linear, 111, 0},
               {&linear, 1000, 0},
               {&flat, 1, 1},
               {&flat, 500, 1},
               {&cosine, 11, 1},
               {&cosine, 61, 0.5},
               {&cosine, 111, 0},
               {&cosine, 36, 0.5 * (1 + sqrt(0.5))},
               {&all_warmup, 5, 0.5}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (fabs(cq_schedule_factor(cases[i].plan, cases[i].step) - cases[i].factor) > 1e-12)
      fail_msg("case %zu: %.17g, expected %.17g", i, cq_schedule_factor(cases[i].plan, cases[i].step), cases[i].factor);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(translations_of_a_source_are_a_set),
      cmocka_unit_test(what_is_said_of_pairs_stays_with_them),
      cmocka_unit_test(malformed_judgements_are_named),
      cmocka_unit_test(plain_text_is_its_own_translation),
      cmocka_unit_test(malformed_plain_text_is_named),
      cmocka_unit_test(malformed_lines_are_named),
      cmocka_unit_test(labels_are_the_last_two_names),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(batches_are_a_function_of_their_number),
      cmocka_unit_test(each_way_draws_what_it_says),
      cmocka_unit_test(rates_rise_and_fall),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
