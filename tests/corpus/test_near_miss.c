/* Near misses of sentences: what each rule makes, what it leaves alone, and that nothing but sentence, names and seed
 * decides. */
#include "support/files.h"

#include "base/memory.h"
#include "corpus/near_miss.h"

#include <ctype.h>

/* Of one sentence among others: the near miss of a kind; {NULL}: there is none. */
static cq_slice miss_of(cq_near_misses *out, const char *sentence, cq_miss kind, uint64_t seed) {
  const cq_slice sentences[] = {cq_slice_of(sentence), cq_slice_of("We met Olga in Rome."),
                                cq_slice_of("We met Olga in New York.")};
  assert_int_equal(cq_near_misses_make(out, sentences, 3, seed, NULL), CQ_OK);
  for (size_t i = 0; i < out->n; i++)
    if (out->items[i].of == 0 && out->items[i].kind == kind) return out->items[i].text;
  return (cq_slice){NULL, 0};
}

typedef struct example {
  const char *sentence, *miss; /* NULL: none of this kind */
} example;

static void check(cq_miss kind, const example *examples, size_t n) {
  for (size_t i = 0; i < n; i++) {
    cq_near_misses misses;
    const cq_slice got = miss_of(&misses, examples[i].sentence, kind, 1),
                   wanted = cq_slice_of(examples[i].miss ? examples[i].miss : "");
    if (!cq_slice_equal(got, wanted))
      fail_msg("%s of '%s': '%.*s', expected '%s'", cq_miss_names[kind], examples[i].sentence, (int)got.n, got.data,
               wanted.data);
    cq_near_misses_free(&misses);
  }
}
#define CHECK(kind, examples) check(kind, examples, sizeof examples / sizeof *examples)

static void negations(void **state) {
  static const example examples[] = {
      {"He is here.", "He is not here."},
      {"They can swim, too.", "They cannot swim, too."},
      {"I'm tired.", "I'm not tired."},
      {"The water will, it seems, stay.", "The water will not, it seems, stay."},
      {"Are you hungry?", "Aren't you hungry?"},
      {"What do you want?", "What don't you want?"},
      {"Why did she laugh?", "Why didn't she laugh?"},
      {"She has seen it.", "She has not seen it."},
      {"She has eaten it.", "She has not eaten it."},
      {"She has a car.", NULL},
      {"Do it now.", "Don't it now."},
      {"He did it.", NULL},
      {"It stood there in May.", NULL},
      {"He is not here.", "He is here."},
      {"He isn't here.", "He is here."},
      {"He isn\xe2\x80\x99t here.", "He is here."},
      {"I can't go.", "I can go."},
      {"I can\xe2\x80\x99t go.", "I can go."},
      {"I cannot go.", "I can go."},
      {"I won't go.", "I will go."},
      {"Don't go.", "Do go."},
      {"Not a word came.", NULL},
      {"There is no way.", NULL},
      {"He saw whether or not we came.", NULL},
      {"I always came.", "I never came."},
      {"Buy it!", "Sell it!"},
      {"", NULL},
      {"...", NULL},
  };
  (void)state;
  CHECK(CQ_MISS_NEGATION, examples);
}

static void orders(void **state) {
  static const example examples[] = {
      {"He left because she sang.", "She sang because he left."},
      {"The road was long, but we walked on.", "We walked on, but the road was long."},
      {"Anna left before he came!", "He came before Anna left!"},
      {"I smile when they sing.", "They sing when I smile."},
      {"He left because of the rain.", NULL},
      {"He left after the rain.", NULL},
      {"He left even though she sang.", NULL},
      {"He came. She left because it rained.", NULL},
      {"Did you go because he came?", NULL},
      {"\"He left because she sang.\"", NULL},
      {"Tom but Anna stayed here.", NULL},
      {"He left - she sang because we came.", NULL},
      {"Left because she sang.", NULL},
      {"He left because she.", NULL},
  };
  (void)state;
  CHECK(CQ_MISS_ORDER, examples);
}

/* One digit, or one word. */
static void numbers(void **state) {
  (void)state;
  cq_near_misses misses;
  for (uint64_t seed = 0; seed < 50; seed++) {
    const char *sentence = "On 3rd street, 1,204 ships (5%) sank.";
    const cq_slice miss = miss_of(&misses, sentence, CQ_MISS_NUMBER, seed);
    int n_changed = 0;
    assert_int_equal(miss.n, strlen(sentence));
    for (size_t i = 0; i < miss.n; i++) {
      n_changed += miss.data[i] != sentence[i];
      assert_true(miss.data[i] == sentence[i] || (isdigit(miss.data[i]) && miss.data[i] != '0' && i != 3));
    }
    assert_int_equal(n_changed, 1);
    cq_near_misses_free(&misses);
    const cq_slice words = miss_of(&misses, "Twenty ships sank.", CQ_MISS_NUMBER, seed);
    assert_true(words.n > 13 && isupper(words.data[0]) && memcmp(words.data, "Twenty", 6) != 0);
    assert_memory_equal(words.data + words.n - 13, "y ships sank.", 13);
    cq_near_misses_free(&misses);
  }
  assert_null(miss_of(&misses, "One came on the 3rd day.", CQ_MISS_NUMBER, 1).data);
  cq_near_misses_free(&misses);
}

static void names(void **state) {
  static const example examples[] = {
      {"He left Anna's house.", "He left Olga's house."},
      {"Where is San Jose?", "Where is New York?"},
      {"Anna came.", NULL},
      {"He went to the U.S. with her.", NULL},
      {"\"What?\" Anna said.", NULL},
      {"He and I came, OK.", NULL},
      {"The Long History Of The World", NULL},
      {"He met the Grand Old Duke Of Kent there on that very long and rainy day.", NULL},
  };
  (void)state;
  cq_near_misses misses;
  CHECK(CQ_MISS_NAME, examples);
  for (uint64_t seed = 0; seed < 20; seed++) {
    const cq_slice person = miss_of(&misses, "He saw Anna.", CQ_MISS_NAME, seed);
    assert_true(cq_slice_equal(person, cq_slice_of("He saw Olga.")) ||
                cq_slice_equal(person, cq_slice_of("He saw Rome.")) ||
                cq_slice_equal(person, cq_slice_of("He saw New York.")));
    cq_near_misses_free(&misses);
    const cq_slice day = miss_of(&misses, "He came on Monday.", CQ_MISS_NAME, seed);
    assert_memory_equal(day.data + day.n - 4, "day.", 4);
    assert_memory_not_equal(day.data, "He came on Monday", 17);
    cq_near_misses_free(&misses);
  }
}

/* By sentence and kind; each by the sentence alone, but for names. */
static void sentence_and_seed_decide(void **state) {
  (void)state;
  const cq_slice sentences[] = {cq_slice_of("He is 30 and lives in Rome."), cq_slice_of("..."),
                                cq_slice_of("She left Oslo because he is 42.")};
  const cq_slice one = sentences[2];
  cq_near_misses all, alone, again, other;
  assert_int_equal(cq_near_misses_make(&all, sentences, 3, 7, NULL), CQ_OK);
  assert_int_equal(cq_near_misses_make(&again, sentences, 3, 7, NULL), CQ_OK);
  assert_int_equal(cq_near_misses_make(&alone, &one, 1, 7, NULL), CQ_OK);
  static const struct {
    uint32_t of;
    cq_miss kind;
  } wanted[] = {{0, CQ_MISS_NUMBER}, {0, CQ_MISS_NAME},     {0, CQ_MISS_NEGATION}, {2, CQ_MISS_NUMBER},
                {2, CQ_MISS_NAME},   {2, CQ_MISS_NEGATION}, {2, CQ_MISS_ORDER}};
  assert_int_equal(all.n, 7);
  for (size_t i = 0; i < 7; i++) {
    assert_int_equal(all.items[i].of, wanted[i].of);
    assert_int_equal(all.items[i].kind, wanted[i].kind);
    assert_true(cq_slice_equal(all.items[i].text, again.items[i].text));
  }
  assert_true(cq_slice_equal(all.items[1].text, cq_slice_of("He is 30 and lives in Oslo.")));
  assert_int_equal(alone.n, 3); /* there is no other name */
  assert_true(cq_slice_equal(alone.items[0].text, all.items[3].text));
  assert_true(cq_slice_equal(alone.items[2].text, all.items[6].text));
  int n_differ = 0;
  for (uint64_t seed = 0; seed < 10; seed++) {
    assert_int_equal(cq_near_misses_make(&other, &one, 1, seed, NULL), CQ_OK);
    n_differ += !cq_slice_equal(other.items[0].text, alone.items[0].text);
    cq_near_misses_free(&other);
  }
  assert_true(n_differ > 3);
  cq_near_misses_free(&all), cq_near_misses_free(&again), cq_near_misses_free(&alone);
}

static void memory_may_be_short(void **state) {
  (void)state;
  const cq_slice sentences[] = {cq_slice_of("He is 30 and lives in Rome."),
                                cq_slice_of("She left Oslo because he is 42.")};
  for (long n = 1;; n++) {
    cq_near_misses misses;
    cq_alloc_fail_at(n);
    const cq_status status = cq_near_misses_make(&misses, sentences, 2, 1, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    if (!failed) assert_int_equal(misses.n, 7);
    cq_near_misses_free(&misses);
    if (!failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(negations),
      cmocka_unit_test(orders),
      cmocka_unit_test(numbers),
      cmocka_unit_test(names),
      cmocka_unit_test(sentence_and_seed_decide),
      cmocka_unit_test(memory_may_be_short),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
