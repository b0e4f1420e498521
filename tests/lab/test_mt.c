/* BLEU, chrF and METEOR: sacreBLEU's and NLTK's figures, alignments against all there are, and what is refused. */
#include "eval/golden.h"
#include "support/comma.h"
#include "support/files.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/slice.h"
#include "calque/lab/mt.h"
#include "lab/measures/meteor_align.h"
#include "lab/measures/mt_tokens.h"

#define MT CQ_TESTS_DIR "/golden/mt/"

static cq_mt_texts *texts_of(size_t n_references) {
  static const char *const references[] = {MT "reference-1.txt", MT "reference-2.txt", MT "reference-3.txt"};
  cq_mt_texts *texts;
  assert_int_equal(cq_mt_read(&texts, MT "hypotheses.txt", references, n_references, NULL), CQ_OK);
  assert_int_equal(texts->n, 35);
  return texts;
}

/* --- golden --- */

static double next_number(char **at) {
  char *end;
  const double x = strtod(*at, &end);
  assert_ptr_not_equal(end, *at);
  *at = end;
  return x;
}

/* The sums of logarithms may be added up in another order. */
static const double tolerance = 1e-9;

static void compare_sentences(const double *got, size_t n, char *expected) {
  for (size_t i = 0; i < n; i++) assert_near(got[i], next_number(&expected), tolerance);
}

static int index_of(const char *const *names, const char *name) {
  for (int i = 0; names[i]; i++)
    if (!strcmp(names[i], name)) return i;
  fail_msg("%s", name);
  return 0;
}

static void check_bleu(char *line, char *second) {
  static const char *const tokens[] = {"13a", "intl", "zh", "char", "none", NULL};
  static const char *const smoothings[] = {"exp", "floor", "add-k", "none", NULL};
  char token[16], smoothing[16];
  double value, sentences[64];
  int lowercase, effective, n_references, used;
  assert_int_equal(sscanf(line, "bleu %15s %15s %lf %d %d %d%n", token, smoothing, &value, &lowercase, &effective,
                          &n_references, &used),
                   6);
  cq_bleu_options o = cq_bleu_default_options();
  o.tokens = (cq_mt_tokens)index_of(tokens, token), o.smoothing = (cq_bleu_smoothing)index_of(smoothings, smoothing);
  o.smooth_value = value, o.lowercase = lowercase, o.effective_order = effective;
  cq_mt_texts *texts = texts_of((size_t)n_references);
  cq_bleu_result r;
  char *at = line + used;
  assert_int_equal(cq_bleu(&r, sentences, texts, &o, NULL), CQ_OK);
  assert_near(r.score, next_number(&at), tolerance);
  assert_near(r.brevity_penalty, next_number(&at), tolerance);
  for (size_t n = 0; n < CQ_BLEU_ORDER; n++) assert_int_equal(r.n_correct[n], (size_t)next_number(&at));
  for (size_t n = 0; n < CQ_BLEU_ORDER; n++) assert_int_equal(r.n_total[n], (size_t)next_number(&at));
  assert_int_equal(r.n_hypothesis_words, (size_t)next_number(&at));
  assert_int_equal(r.n_reference_words, (size_t)next_number(&at));
  compare_sentences(sentences, texts->n, second);
  cq_mt_free(texts);
}

static void check_chrf(char *line, char *second) {
  cq_chrf_options o = cq_chrf_default_options();
  double score, sentences[64];
  int lowercase, whitespace, n_references, used;
  assert_int_equal(sscanf(line, "chrf %d %d %lf %d %d %d%n", &o.char_order, &o.word_order, &o.beta, &lowercase,
                          &whitespace, &n_references, &used),
                   6);
  o.lowercase = lowercase, o.whitespace = whitespace;
  cq_mt_texts *texts = texts_of((size_t)n_references);
  char *at = line + used;
  assert_int_equal(cq_chrf(&score, sentences, texts, &o, NULL), CQ_OK);
  assert_near(score, next_number(&at), tolerance);
  compare_sentences(sentences, texts->n, second);
  cq_mt_free(texts);
}

/* Sentences alone, since the counts of each are compared. Counts those that NLTK's greedy alignment makes no worse. */
static size_t check_meteor(const char *line, char *at) {
  cq_meteor_options o = cq_meteor_default_options();
  int stems, synonyms, reference;
  size_t n_equal = 0;
  assert_int_equal(sscanf(line, "meteor %d %d %d", &stems, &synonyms, &reference), 3);
  o.language = stems ? "en" : NULL, o.synonyms = synonyms ? MT "synonyms.tsv" : NULL;
  cq_mt_texts *texts = texts_of(3);
  for (size_t i = 0; i < texts->n; i++) {
    const cq_slice *const one = &texts->references[reference - 1][i];
    const cq_mt_texts sentence = {&texts->hypotheses[i], &one, 1, 1};
    cq_meteor_result r;
    double score;
    assert_int_equal(cq_meteor(&r, &score, &sentence, &o, NULL), CQ_OK);
    const double expected = next_number(&at);
    at++;
    const size_t n_matches = (size_t)next_number(&at);
    at++;
    const size_t n_chunks = (size_t)next_number(&at);
    const size_t got = r.n_exact + r.n_stem + r.n_synonym;
    assert_int_equal(r.n_approximate, 0);
    assert_near(score, r.score, 0);
    if (stems && got > n_matches) continue; /* an analysis finds the same word in „Hallo“ and „Hallo */
    if (got != n_matches || r.n_chunks > n_chunks)
      fail_msg("%s sentence %zu: %zu matches in %zu chunks, expected %zu in %zu", line, i + 1, got, r.n_chunks,
               n_matches, n_chunks);
    if (r.n_chunks < n_chunks) {
      assert_true(score > expected);
      continue;
    }
    assert_near(score, expected, tolerance);
    n_equal++;
  }
  cq_mt_free(texts);
  return n_equal;
}

static void golden_scores(void **state) {
  (void)state;
  static char line[4096], second[8192];
  size_t n_bleu = 0, n_chrf = 0, n_meteor = 0, n_equal = 0;
  FILE *file = fopen(MT "scores.txt", "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) {
    assert_non_null(fgets(second, sizeof second, file));
    line[strcspn(line, "\n")] = 0;
    if (!strncmp(line, "bleu", 4))
      check_bleu(line, second), n_bleu++;
    else if (!strncmp(line, "chrf", 4))
      check_chrf(line, second), n_chrf++;
    else
      n_equal += check_meteor(line, second), n_meteor++;
  }
  fclose(file);
  assert_int_equal(n_bleu, 39);
  assert_int_equal(n_chrf, 33);
  assert_int_equal(n_meteor, 12);
  print_message("METEOR: %zu of %zu sentences are as NLTK has them, the others have fewer chunks or more stems\n",
                n_equal, 35 * n_meteor);
  assert_true(n_equal >= 35 * n_meteor * 8 / 10);
}

/* --- words --- */

static void tokens_are(cq_mt_tokens tokens, const char *text, const char *expected) {
  cq_mt_tokenizer t = {.tokens = tokens};
  cq_u32_array ids = {0};
  cq_builder got = {0};
  assert_true(cq_mt_tokenize(&ids, &t, cq_slice_of(text)));
  for (size_t i = 0; i < ids.n; i++) {
    if (i) cq_builder_char(&got, '|');
    cq_builder_bytes(&got, t.words.items[ids.items[i]].data, t.words.items[ids.items[i]].n);
  }
  assert_string_equal(got.data ? got.data : "", expected);
  cq_builder_free(&got);
  cq_u32_array_free(&ids);
  cq_mt_tokenizer_free(&t);
}

static void words_by_hand(void **state) {
  (void)state;
  tokens_are(CQ_MT_13A, "", "");
  tokens_are(CQ_MT_13A, " \t ", "");
  tokens_are(CQ_MT_13A, "1,000.5 costs 3.4%.", "1,000.5|costs|3.4|%|.");
  tokens_are(CQ_MT_13A, "well-known 10-year \"don't\"", "well-known|10|-|year|\"|don't|\"");
  tokens_are(CQ_MT_13A, "&quot;&amp;&lt;&gt; &amp;lt; a<skipped>b", "\"|&|<|>|<|ab");
  tokens_are(CQ_MT_13A, "„Na“, ok…", "„Na“|,|ok…");
  tokens_are(CQ_MT_INTL, "„Na“, 1,5 € &amp;", "„|Na|“|,|1,5|€|&|amp|;");
  tokens_are(CQ_MT_INTL, "in 2012.", "in|2012.");
  tokens_are(CQ_MT_ZH, "到5月15日,“请”3.5", "到|5|月|15|日|,|“|请|”|3.5");
  tokens_are(CQ_MT_CHAR, "a é日 b", "a|é|日|b");
  tokens_are(CQ_MT_NONE,
             "a,b \xC2\xA0 c\x1F"
             "d",
             "a,b|c|d");
}

/* --- METEOR --- */

typedef struct found {
  size_t counts[3], n_chunks;
} found;

/* Every alignment there is: the specification. kinds[h][r]: 0 exact, 1 stem, 2 synonym, 3 none. */
static void try_all(found *best, int kinds[8][8], size_t n_h, size_t n_r, size_t i, unsigned taken, size_t counts[3],
                    size_t chunks, size_t next) {
  if (i == n_h) {
    int better = 0;
    for (int k = 0; k < 3 && !better; k++) better = (counts[k] > best->counts[k]) - (counts[k] < best->counts[k]);
    if (better > 0 || (better == 0 && chunks < best->n_chunks)) {
      memcpy(best->counts, counts, sizeof best->counts);
      best->n_chunks = chunks;
    }
    return;
  }
  try_all(best, kinds, n_h, n_r, i + 1, taken, counts, chunks, SIZE_MAX);
  for (size_t r = 0; r < n_r; r++) {
    if (kinds[i][r] == 3 || taken >> r & 1) continue;
    counts[kinds[i][r]]++;
    try_all(best, kinds, n_h, n_r, i + 1, taken | 1u << r, counts, chunks + (r != next), r + 1);
    counts[kinds[i][r]]--;
  }
}

/* Bit s of sets[stem]: the stem is in set s. */
static bool share_a_set(const void *context, uint32_t a, uint32_t b) {
  const unsigned *sets = context;
  return (sets[a] & sets[b]) != 0;
}

static void alignments_are_the_best(void **state) {
  (void)state;
  cq_random random = cq_random_seeded(11, 0);
  for (int trial = 0; trial < 6000; trial++) {
    const size_t n_h = cq_random_below(&random, 8), n_r = cq_random_below(&random, 8);
    const uint32_t n_words = 1 + (uint32_t)cq_random_below(&random, 8);
    const int with_synonyms = trial % 3;
    unsigned sets[4];
    cq_meteor_word h[8], r[8];
    int kinds[8][8];
    /* two words a stem; stems 0 to 3 in some of three sets, all of one group */
    for (int s = 0; s < 4; s++) sets[s] = with_synonyms ? (unsigned)cq_random_below(&random, 8) : 0;
    for (size_t i = 0; i < n_h; i++) h[i].word = (uint32_t)cq_random_below(&random, n_words);
    for (size_t i = 0; i < n_r; i++) r[i].word = (uint32_t)cq_random_below(&random, n_words);
    for (size_t i = 0; i < n_h; i++) h[i].stem = h[i].word / 2, h[i].group = with_synonyms ? 0 : h[i].stem;
    for (size_t i = 0; i < n_r; i++) r[i].stem = r[i].word / 2, r[i].group = with_synonyms ? 0 : r[i].stem;
    for (size_t i = 0; i < n_h; i++)
      for (size_t j = 0; j < n_r; j++)
        kinds[i][j] = h[i].word == r[j].word                    ? 0
                      : h[i].stem == r[j].stem                  ? 1
                      : share_a_set(sets, h[i].stem, r[j].stem) ? 2
                                                                : 3;
    found expected = {.n_chunks = SIZE_MAX};
    size_t counts[3] = {0};
    cq_meteor_alignment got;
    try_all(&expected, kinds, n_h, n_r, 0, 0, counts, 0, SIZE_MAX);
    assert_int_equal(
        cq_meteor_align(&got, h, n_h, r, n_r, with_synonyms ? share_a_set : NULL, with_synonyms ? sets : NULL, NULL),
        CQ_OK);
    assert_int_equal(got.n_exact, expected.counts[0]);
    assert_int_equal(got.n_stem, expected.counts[1]);
    assert_int_equal(got.n_synonym, expected.counts[2]);
    assert_int_equal(got.n_chunks, expected.n_chunks);
    assert_false(got.approximate);
  }
}

/* Sentences without end are aligned all the same, and the answer says that it is no proof. */
static void long_and_repetitive(void **state) {
  (void)state;
  enum { N = 3000 };
  cq_meteor_word *h = calloc(N, sizeof *h), *r = calloc(N, sizeof *r);
  cq_meteor_alignment got;
  assert_non_null(h);
  assert_non_null(r);
  assert_int_equal(cq_meteor_align(&got, h, N, r, N, NULL, NULL, NULL), CQ_OK);
  assert_int_equal(got.n_exact, N);
  assert_int_equal(got.n_chunks, 1);
  assert_false(got.approximate);
  for (uint32_t i = 0; i < N; i++) h[i] = (cq_meteor_word){i % 3, i % 3, i % 3}, r[i] = h[N - 1 - i];
  for (uint32_t i = 0; i < N; i++) r[i] = (cq_meteor_word){i % 7 % 3, i % 7 % 3, i % 7 % 3};
  assert_int_equal(cq_meteor_align(&got, h, N, r, N, NULL, NULL, NULL), CQ_OK);
  assert_true(got.approximate);
  assert_in_range(got.n_chunks, 1, N);
  free(h);
  free(r);
}

static cq_meteor_result meteor_of(const char *hypothesis, const char *reference, const char *language,
                                  const char *synonyms) {
  const cq_slice h = cq_slice_of(hypothesis), r = cq_slice_of(reference);
  const cq_slice *const one = &r;
  const cq_mt_texts texts = {&h, &one, 1, 1};
  cq_meteor_options o = cq_meteor_default_options();
  cq_meteor_result result;
  o.language = language, o.synonyms = synonyms;
  assert_int_equal(cq_meteor(&result, NULL, &texts, &o, NULL), CQ_OK);
  return result;
}

static void meteor_by_hand(void **state) {
  (void)state;
  /* 4 of 5 and of 6 words in 3 chunks: P 4/5, R 4/6, F 10 P R / (R + 9 P), penalty 1/2 (3/4)^3 */
  cq_meteor_result r = meteor_of("The cat sat there quietly", "a cat sat the there down", NULL, NULL);
  assert_int_equal(r.n_exact, 4);
  assert_int_equal(r.n_chunks, 3);
  assert_near(r.score, 100 * (0.8 * 2 / 3 / (0.9 * 0.8 + 0.1 * 2 / 3)) * (1 - 0.5 * 27 / 64), 1e-12);
  assert_near(r.score, r.mean, 0);
  /* the greedy choice of the last "the" would break the chunk */
  r = meteor_of("the dog", "the dog and the", NULL, NULL);
  assert_int_equal(r.n_chunks, 1);
  r = meteor_of("Läufe Häuser", "Lauf Haus", "de", NULL);
  assert_int_equal(r.n_stem, 2);
  assert_int_equal(meteor_of("Läufe Häuser", "Lauf Haus", NULL, NULL).n_stem, 0);
  write_text(test_path("sets"), "\xEF\xBB\xBF# remark\n\nHouse\thome\nhome\tdwelling\r\n");
  assert_int_equal(meteor_of("houses", "home", "en", test_path("sets")).n_synonym, 1);
  assert_int_equal(meteor_of("houses", "home", NULL, test_path("sets")).n_synonym, 0);
  assert_int_equal(meteor_of("house", "dwelling", NULL, test_path("sets")).n_synonym, 0); /* no set has both */
  /* equal words first, though "home" could be matched with either */
  assert_int_equal(meteor_of("home house", "house dwelling", NULL, test_path("sets")).n_synonym, 1);
  assert_int_equal(meteor_of("home dwelling", "house home", NULL, test_path("sets")).n_exact, 1);
  /* nothing to match */
  assert_near(meteor_of("", "", NULL, NULL).score, 0, 0);
  assert_near(meteor_of("a", "", NULL, NULL).score, 0, 0);
  assert_near(meteor_of("", "a", NULL, NULL).score, 0, 0);
}

/* --- corpora --- */

static void corpora_by_hand(void **state) {
  (void)state;
  /* "the" is in the reference twice: 2 of 7, and no pair */
  const cq_slice h[] = {cq_slice_of("the the the the the the the"), cq_slice_of("")};
  const cq_slice r[] = {cq_slice_of("the cat is on the mat"), cq_slice_of("")};
  const cq_slice *const one = r;
  cq_mt_texts texts = {h, &one, 2, 1};
  cq_bleu_result bleu;
  double sentences[2], chrf;
  assert_int_equal(cq_bleu(&bleu, sentences, &texts, NULL, NULL), CQ_OK);
  assert_int_equal(bleu.n_correct[0], 2);
  assert_int_equal(bleu.n_total[0], 7);
  assert_int_equal(bleu.n_correct[1], 0);
  assert_near(bleu.score, 100 * pow(2. / 7 / (2 * 6) / (4 * 5) / (8 * 4), 0.25), 1e-12);
  assert_near(sentences[1], 0, 0);
  /* the same sentence: 100 */
  texts.references = (const cq_slice *const[]){h};
  assert_int_equal(cq_bleu(&bleu, sentences, &texts, NULL, NULL), CQ_OK);
  assert_near(bleu.score, 100, 1e-12);
  assert_int_equal(cq_chrf(&chrf, sentences, &texts, NULL, NULL), CQ_OK);
  assert_near(chrf, 100, 1e-12);
  assert_near(sentences[1], 0, 0);
  /* half of a word: all that is said is right, and of 6 letters, 5 pairs and 4 triples 3, 2 and 1 are said; recall counts
   * four times as much as precision */
  const cq_slice half = cq_slice_of("abc"), word = cq_slice_of("abcdef");
  const cq_slice *const whole = &word;
  const double recall = (3. / 6 + 2. / 5 + 1. / 4) / 3;
  texts = (cq_mt_texts){&half, &whole, 1, 1};
  assert_int_equal(cq_chrf(&chrf, NULL, &texts, NULL, NULL), CQ_OK);
  assert_near(chrf, 100 * 5 * recall / (4 + recall), 1e-12);
}

/* Files are checked on their way; what is handed in is not. */
static void malformed_text(void **state) {
  (void)state;
  const cq_slice h = cq_slice_of("a\xE3\x81 \xFF \xF0\x9F, \xC3"), r = cq_slice_of("a\xEF\xBF\xBD \xEF\xBF\xBD");
  const cq_slice *const one = &r, *const same = &h;
  const cq_mt_texts other = {&h, &one, 1, 1}, texts = {&h, &same, 1, 1};
  for (cq_mt_tokens tokens = CQ_MT_13A; tokens <= CQ_MT_NONE; tokens++) {
    cq_bleu_options o = cq_bleu_default_options();
    o.tokens = tokens, o.lowercase = true, o.effective_order = true;
    cq_bleu_result bleu;
    assert_int_equal(cq_bleu(&bleu, NULL, &other, &o, NULL), CQ_OK);
    assert_true(bleu.score > 0);
    assert_int_equal(cq_bleu(&bleu, NULL, &texts, &o, NULL), CQ_OK);
    assert_near(bleu.score, 100, 1e-9);
  }
  cq_chrf_options o = cq_chrf_default_options();
  cq_meteor_options m = cq_meteor_default_options();
  cq_meteor_result meteor;
  double chrf;
  o.word_order = 2, o.lowercase = o.whitespace = true, m.language = "en";
  assert_int_equal(cq_chrf(&chrf, NULL, &texts, &o, NULL), CQ_OK);
  assert_near(chrf, 100, 1e-9);
  assert_int_equal(cq_meteor(&meteor, NULL, &texts, &m, NULL), CQ_OK);
  assert_int_equal(meteor.n_chunks, 1);
}

static void signatures(void **state) {
  (void)state;
  char text[CQ_MT_SIGNATURE];
  cq_bleu_options o = cq_bleu_default_options();
  assert_int_equal(cq_bleu_signature(text, NULL, 1, NULL), CQ_OK);
  assert_memory_equal(text, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:calque-", 60);
  o.smoothing = CQ_BLEU_ADD_K, o.lowercase = true, o.tokens = CQ_MT_INTL;
  assert_int_equal(cq_bleu_signature(text, &o, 3, NULL), CQ_OK);
  assert_memory_equal(text, "nrefs:3|case:lc|eff:no|tok:intl|smooth:add-k[1.00]|version:calque-", 66);
  assert_int_equal(cq_chrf_signature(text, NULL, 2, NULL), CQ_OK);
  assert_memory_equal(text, "nrefs:2|case:mixed|eff:yes|nc:6|nw:0|space:no|version:calque-", 61);
  assert_int_equal(cq_meteor_signature(text, NULL, 1, NULL), CQ_OK);
  assert_memory_equal(text, "nrefs:1|case:lc|tok:13a|stem:no|syn:no|alpha:0.9|beta:3|gamma:0.5|version:calque-", 81);
}

static void signatures_have_a_point(void **state) {
  (void)state;
  char text[CQ_MT_SIGNATURE];
  if (!take_comma()) return;
  cq_bleu_options o = cq_bleu_default_options();
  o.smoothing = CQ_BLEU_FLOOR;
  assert_int_equal(cq_bleu_signature(text, &o, 1, NULL), CQ_OK);
  const bool bleu = strstr(text, "floor[0.10]");
  assert_int_equal(cq_meteor_signature(text, NULL, 1, NULL), CQ_OK);
  const bool meteor = strstr(text, "alpha:0.9|beta:3|gamma:0.5");
  give_comma_back();
  assert_true(bleu && meteor);
}

/* --- what is refused --- */

static void reading_is_refused(const char *hypotheses, const char *reference, cq_status status, size_t line,
                               const char *message) {
  cq_mt_texts *texts;
  cq_error error = {0};
  write_text(test_path("h"), hypotheses);
  write_text(test_path("r"), reference);
  assert_int_equal(cq_mt_read(&texts, test_path("h"), (const char *[]){test_path("r")}, 1, &error), status);
  assert_null(texts);
  assert_int_equal(error.line, line);
  assert_non_null(strstr(error.message, message));
}

static void bad_files(void **state) {
  (void)state;
  cq_mt_texts *texts;
  cq_error error = {0};
  reading_is_refused("a\nb\n", "a\n", CQ_ERR_FORMAT, 2, "the file ends after 1 line, ");
  reading_is_refused("a\n", "a\nb\nc\n", CQ_ERR_FORMAT, 2, "one line more than the 1 of");
  reading_is_refused("", "a\n", CQ_ERR_ARGUMENT, 0, "h: the file is empty");
  reading_is_refused("a\n", "", CQ_ERR_ARGUMENT, 0, "r: the file is empty");
  reading_is_refused("a\nb\xC3\n", "a\nb\n", CQ_ERR_FORMAT, 2, "not UTF-8");
  reading_is_refused("a\nb\n", "\xFF\nb\n", CQ_ERR_FORMAT, 1, "not UTF-8");
  assert_int_equal(cq_mt_read(&texts, test_path("h"), NULL, 0, &error), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_mt_read(&texts, "-", (const char *[]){"-"}, 1, &error), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_mt_read(&texts, test_path("none"), (const char *[]){"-"}, 1, &error), CQ_ERR_IO);
  /* empty lines are sentences */
  write_text(test_path("h"), "\n\n");
  write_text(test_path("r"), "a\n");
  write_text(test_path("s"), "\nb");
  assert_int_equal(cq_mt_read(&texts, test_path("h"), (const char *[]){test_path("h"), test_path("s")}, 2, &error),
                   CQ_OK);
  assert_int_equal(texts->n, 2);
  assert_int_equal(texts->references[1][1].n, 1);
  cq_bleu_result bleu;
  double chrf;
  cq_meteor_result meteor;
  assert_int_equal(cq_bleu(&bleu, NULL, texts, NULL, NULL), CQ_OK);
  assert_near(bleu.score, 0, 0);
  assert_int_equal(cq_chrf(&chrf, NULL, texts, NULL, NULL), CQ_OK);
  assert_near(chrf, 0, 0);
  assert_int_equal(cq_meteor(&meteor, NULL, texts, NULL, NULL), CQ_OK);
  assert_near(meteor.score, 0, 0);
  cq_mt_free(texts);
  cq_mt_free(NULL);
}

static void bad_synonyms(const char *table, cq_status status, size_t line, const char *message) {
  const cq_slice a = cq_slice_of("a");
  const cq_slice *const one = &a;
  const cq_mt_texts texts = {&a, &one, 1, 1};
  cq_meteor_options o = cq_meteor_default_options();
  cq_meteor_result r;
  cq_error error = {0};
  write_text(test_path("sets"), table);
  o.synonyms = test_path("sets");
  assert_int_equal(cq_meteor(&r, NULL, &texts, &o, &error), status);
  assert_int_equal(error.line, line);
  assert_non_null(strstr(error.message, message));
}

static void bad_options(void **state) {
  (void)state;
  const cq_slice a = cq_slice_of("a");
  const cq_slice *const one = &a;
  const cq_mt_texts texts = {&a, &one, 1, 1}, none = {&a, &one, 0, 1}, alone = {&a, NULL, 1, 0};
  cq_bleu_result bleu;
  cq_meteor_result meteor;
  double chrf;
  cq_error error = {0};
  assert_int_equal(cq_bleu(&bleu, NULL, &none, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "BLEU: there are no sentences");
  assert_int_equal(cq_chrf(&chrf, NULL, &alone, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "chrF: there are no references");
  assert_int_equal(cq_meteor(&meteor, NULL, &none, NULL, &error), CQ_ERR_ARGUMENT);
  cq_bleu_options b = cq_bleu_default_options();
  b.smooth_value = NAN;
  assert_int_equal(cq_bleu(&bleu, NULL, &texts, &b, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "smooth-value is nan, expected -1 to 1000000");
  const double bad_chrf[][3] = {{0, 0, 2}, {17, 0, 2}, {6, -1, 2}, {6, 17, 2}, {6, 0, 0}, {6, 0, NAN}};
  for (size_t i = 0; i < sizeof bad_chrf / sizeof *bad_chrf; i++) {
    cq_chrf_options o = cq_chrf_default_options();
    o.char_order = (int)bad_chrf[i][0], o.word_order = (int)bad_chrf[i][1], o.beta = bad_chrf[i][2];
    assert_int_equal(cq_chrf(&chrf, NULL, &texts, &o, &error), CQ_ERR_ARGUMENT);
  }
  assert_string_equal(error.message, "beta is nan, expected more than 0 and less than 1000000");
  const double bad_meteor[][3] = {{1.1, 3, .5}, {NAN, 3, .5}, {.9, -1, .5}, {.9, INFINITY, .5}, {.9, 3, 2}};
  for (size_t i = 0; i < sizeof bad_meteor / sizeof *bad_meteor; i++) {
    cq_meteor_options o = cq_meteor_default_options();
    o.alpha = bad_meteor[i][0], o.beta = bad_meteor[i][1], o.gamma = bad_meteor[i][2];
    assert_int_equal(cq_meteor(&meteor, NULL, &texts, &o, &error), CQ_ERR_ARGUMENT);
  }
  assert_string_equal(error.message, "gamma is 2, expected 0 to 1");
  cq_meteor_options o = cq_meteor_default_options();
  o.language = "zh";
  assert_int_equal(cq_meteor(&meteor, NULL, &texts, &o, &error), CQ_OK); /* no stemmer: equal words */
  assert_int_equal(meteor.n_stem, 0);
  bad_synonyms("a\tb\nc\n", CQ_ERR_FORMAT, 2, "1 column");
  bad_synonyms("a\t\tb\n", CQ_ERR_FORMAT, 1, "column 2 is empty");
  bad_synonyms("a\tb\t\n", CQ_ERR_FORMAT, 1, "column 3 is empty");
  bad_synonyms("# a\na\tnew york\n", CQ_ERR_FORMAT, 2, "column 2 has a blank");
  bad_synonyms("a\tb\xFF\n", CQ_ERR_FORMAT, 1, "not UTF-8");
  o.language = NULL, o.synonyms = test_path("nowhere");
  assert_int_equal(cq_meteor(&meteor, NULL, &texts, &o, &error), CQ_ERR_IO);
}

static void too_many_words(void **state) {
  (void)state;
  const size_t n = 2 * (CQ_METEOR_MAX_WORDS + 1);
  char *text = malloc(n);
  assert_non_null(text);
  for (size_t i = 0; i < n; i++) text[i] = i % 2 ? ' ' : 'a';
  const cq_slice a = cq_slice_of("a"), many = {text, n};
  const cq_slice *const one = &many;
  const cq_mt_texts texts = {&a, &one, 1, 1};
  cq_meteor_result r;
  cq_error error = {0};
  assert_int_equal(cq_meteor(&r, NULL, &texts, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "METEOR: sentence 1 has 10001 words, expected at most 10000");
  free(text);
}

/* Every allocation of reading and measuring fails once. */
static void out_of_memory(void **state) {
  (void)state;
  cq_meteor_options o = cq_meteor_default_options();
  cq_chrf_options chrf_options = cq_chrf_default_options();
  o.language = "en";
  chrf_options.word_order = 2, chrf_options.lowercase = true;
  write_text(test_path("sets"), "cat\tdog\n");
  write_text(test_path("h"), "the CAT sat, ok\n");
  write_text(test_path("r"), "a dog sat down\n");
  bool failed = true;
  long n = 1;
  for (; failed; n++) {
    o.synonyms = test_path("sets");
    cq_mt_texts *texts = NULL;
    cq_bleu_result bleu;
    cq_meteor_result meteor;
    double chrf;
    cq_alloc_fail_at(n);
    cq_status status = cq_mt_read(&texts, test_path("h"), (const char *[]){test_path("r")}, 1, NULL);
    if (!status) status = cq_bleu(&bleu, NULL, texts, NULL, NULL);
    if (!status) status = cq_chrf(&chrf, NULL, texts, &chrf_options, NULL);
    if (!status) status = cq_meteor(&meteor, NULL, texts, &o, NULL);
    failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    cq_mt_free(texts);
  }
  assert_true(n > 60);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(golden_scores),
      cmocka_unit_test(words_by_hand),
      cmocka_unit_test(alignments_are_the_best),
      cmocka_unit_test(long_and_repetitive),
      cmocka_unit_test(meteor_by_hand),
      cmocka_unit_test(corpora_by_hand),
      cmocka_unit_test(malformed_text),
      cmocka_unit_test(signatures),
      cmocka_unit_test(signatures_have_a_point),
      cmocka_unit_test(bad_files),
      cmocka_unit_test(bad_options),
      cmocka_unit_test(too_many_words),
      cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
