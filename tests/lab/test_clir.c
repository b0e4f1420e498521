/* Searching across languages, on two little collections: what is learned finds, and what is held out is not looked
 * at. */
#include "support/files.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/slice.h"
#include "calque/lab/clir.h"

#include <math.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* --- the collections ---
 *
 * Two made-up languages, aa and bb. Eight topics with six words each in both, no word the same; four documents a
 * topic in aa and three in bb, of ten words out of the topic's and some that all have; one document of each language
 * is empty. A topic's title is two of its words. */
enum { TOPICS = 8, WORDS = 6, LENGTH = 10, DOCUMENTS = 4 };

typedef struct changes {
  int fold_of_judgements; /* topics t with t % 4 == fold have others in both languages; -1: none */
  int fold_of_titles;     /* and other titles in bb */
  const char *more_judgements, *more_documents; /* of aa */
  bool no_relevant;                             /* topic 2 has none in bb */
  bool unknown_title;                           /* topic 4's of aa has words that are nowhere else */
  bool own_script, quotes;                      /* bb is written in Greek letters; and quotes words of aa */
  bool scrambled;                               /* bb's topics have the documents of others */
} changes;
static const changes none = {.fold_of_judgements = -1, .fold_of_titles = -1};

static int n_documents(int language) {
  return language ? DOCUMENTS - 1 : DOCUMENTS;
}

/* A word, in Greek letters or as it is. */
static void put_word(FILE *f, bool greek, char first, char vowel, const char *end) {
  const char word[] = {first, vowel, end[0], end[1]};
  for (int i = 0; i < 4; i++) {
    const int code = 0x3b1 + word[i] - 'a' + (word[i] > 'q'); /* no final sigma */
    if (greek)
      fprintf(f, "%c%c", 0xc0 | code >> 6, 0x80 | (code & 63));
    else
      fputc(word[i], f);
  }
  fputc(' ', f);
}

static void write_language(int language, const changes *change) {
  const char *const code = language ? "bb" : "aa", *const vowels = language ? "oeiuay" : "aeiouy";
  const bool greek = language && change->own_script;
  char name[40];
  cq_random random = cq_random_seeded(5, (uint64_t)language);
  snprintf(name, sizeof name, "docs.%s", code);
  FILE *f = fopen(test_path(name), "w");
  assert_non_null(f);
  for (int t = 0; t < TOPICS; t++)
    for (int d = 0; d < n_documents(language); d++) {
      fprintf(f, "<DOC>\n<DOCNO>%s-%d-%d</DOCNO>\n<TEXT>", code, t, d);
      for (int i = 0; i < LENGTH; i++)
        put_word(f, greek, "bdgklmnr"[t], vowels[cq_random_below(&random, WORDS)], language ? "zt" : "vk");
      for (int i = 0; greek && change->quotes && i < 3; i++) put_word(f, false, "bdgklmnr"[t], "aei"[i], "vk");
      fprintf(f, "%s\n</TEXT>\n</DOC>\n", language ? "uzzo zuu" : "ivva vii");
    }
  fprintf(f, "<DOC>\n<DOCNO>%s-empty</DOCNO>\n<TEXT></TEXT>\n</DOC>\n", code);
  if (!language && change->more_documents) fputs(change->more_documents, f);
  assert_int_equal(fclose(f), 0);

  snprintf(name, sizeof name, "topics.%s", code);
  f = fopen(test_path(name), "w");
  assert_non_null(f);
  for (int t = 0; t < TOPICS; t++) {
    const char *const end = language ? "zt" : "vk";
    if (!language && t == 4 && change->unknown_title)
      fprintf(f, "%d\twholly unheard\n", t + 1);
    else if (language && t % 4 == change->fold_of_titles)
      fprintf(f, "%d\tquite another kavk mivk title\n", t + 1); /* words of aa among them */
    else
      fprintf(f, "%d\t%c%c%s %c%c%s\n", t + 1, "bdgklmnr"[t], vowels[0], end, "bdgklmnr"[t], vowels[1], end);
  }
  assert_int_equal(fclose(f), 0);

  snprintf(name, sizeof name, "qrels.%s", code);
  f = fopen(test_path(name), "w");
  assert_non_null(f);
  for (int t = 0; t < TOPICS; t++)
    for (int d = 0; d < n_documents(language); d++) {
      const bool other = t % 4 == change->fold_of_judgements;
      if (language && change->no_relevant && t == 2) continue;
      const int of = language && change->scrambled ? (t * 3 + 2) % TOPICS : other ? (t + 3) % TOPICS : t;
      fprintf(f, "%d 0 %s-%d-%d %d\n", t + 1, code, of, d, other && d == 0 ? 0 : 1);
    }
  fprintf(f, "1 0 %s-empty 1\n1 0 %s-7-0 0\n", code, code);
  if (!language && change->more_judgements) fputs(change->more_judgements, f);
  assert_int_equal(fclose(f), 0);
}

static cq_status open_collections_in(cq_clir **out, const changes *change, bool other_order, const char *work,
                                     cq_error *error) {
  const char *const codes[] = {other_order ? "bb" : "aa", other_order ? "aa" : "bb"};
  cq_clir_sources s = cq_clir_default_sources();
  for (int i = 0; i < 2; i++) write_language(other_order ? 1 - i : i, change);
  s.languages = codes, s.n_languages = 2, s.work = work;
  s.documents = test_path("docs.%"), s.topics = test_path("topics.%"), s.judgements = test_path("qrels.%");
  return cq_clir_open(out, &s, NULL, error);
}

static cq_status open_collections(cq_clir **out, const changes *change, bool other_order, cq_error *error) {
  return open_collections_in(out, change, other_order, NULL, error);
}

static cq_clir *opened(const changes *change, bool other_order) {
  cq_clir *c;
  cq_error error = {0};
  if (open_collections(&c, change, other_order, &error)) fail_msg("%s", error.message);
  return c;
}

/* What the last tiny options point to. */
static cq_words_options tiny_words;
static cq_lexical_options tiny_ranking;

static cq_clir_options tiny_options(void) {
  cq_clir_options o = cq_clir_default_options();
  tiny_words = cq_clir_default_words(), tiny_ranking = cq_clir_default_ranking();
  tiny_words.dim = 16, tiny_words.epochs = 40, tiny_words.learning_rate = 0.05, tiny_words.sample = 0;
  tiny_words.window = 5, tiny_ranking.k = 40;
  o.kappa = 3, o.tau = 3, o.words = &tiny_words, o.ranking = &tiny_ranking;
  return o;
}

static double map_of(const cq_clir *c, const cq_clir_model *m, const char *from, const char *to, const bool *asked,
                     const cq_clir_options *o) {
  cq_lexical_hit *hits;
  assert_int_equal(cq_clir_search(&hits, c, m, from, to, asked, o, NULL, NULL), CQ_OK);
  const double map = cq_clir_map(c, to, hits, o->ranking->k, asked);
  cq_free(hits);
  return map;
}

/* --- what is there --- */

static void collections_are_read(void **state) {
  (void)state;
  changes change = none;
  change.more_judgements = "3 0 nobody-knows 1\n3 0 nor-this 0\n99 0 nor-this-topic 1\n";
  cq_clir *c = opened(&change, false);
  const cq_clir_info *about = cq_clir_about(c);
  assert_int_equal(about->n_languages, 2);
  assert_int_equal(about->n_topics, TOPICS);
  assert_int_equal(about->n_unknown, 2); /* of topics that all languages have */
  for (size_t t = 0; t < TOPICS; t++) {
    assert_int_equal(cq_clir_topic(c, t).n, 1);
    assert_int_equal(cq_clir_topic(c, t).data[0], '1' + t);
  }
  cq_clir_free(c);
  cq_clir_free(NULL);
}

static void learned_words_find_documents(void **state) {
  (void)state;
  cq_clir *c = opened(&none, false);
  const cq_clir_mixing mixings[] = {CQ_MIX_BY_LENGTH, CQ_MIX_AT_RANDOM};
  for (int mixing = 0; mixing < 2; mixing++) {
    cq_clir_options o = tiny_options();
    cq_clir_model *m;
    o.mixing = mixings[mixing];
    assert_int_equal(cq_clir_train(&m, c, NULL, "aa", &o, NULL, NULL), CQ_OK);
    for (int method = 0; method < 3; method++)
      for (int way = 0; way < 3; way++) {
        o.method = (cq_clir_method)method;
        o.weighted = way == 1, o.csls = way == 2 ? 5 : 0;
        const double map = map_of(c, m, "aa", "bb", NULL, &o), back = map_of(c, m, "bb", "aa", NULL, &o);
        if (!(map > 0.8 && back > 0.8)) fail_msg("method %d, way %d: %.3f and %.3f", method, way, map, back);
      }
    /* Documents without a word of the topics are not found; k is what the array has. */
    cq_clir_model_free(m);
  }
  cq_clir_free(c);
}

static void monolingual_runs_need_no_model(void **state) {
  (void)state;
  cq_clir *c = opened(&none, false);
  cq_clir_options o = tiny_options();
  cq_lexical_hit *hits;
  cq_error error = {0};
  assert_true(map_of(c, NULL, "aa", "aa", NULL, &o) > 0.9);
  assert_int_equal(cq_clir_search(&hits, c, NULL, "aa", "bb", NULL, &o, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "from 'aa' to 'bb' needs a model");
  assert_null(hits);
  cq_clir_free(c);
}

static void languages_that_are_not_there(void **state) {
  (void)state;
  cq_clir *c = opened(&none, false);
  const cq_clir_options o = tiny_options();
  const bool held_out[TOPICS] = {true};
  cq_clir_model *m, *other;
  cq_lexical_hit *hits;
  cq_clir_word *words;
  size_t n;
  cq_error error = {0};
  assert_int_equal(cq_clir_train(&m, c, NULL, NULL, &o, NULL, NULL), CQ_OK);
  assert_int_equal(cq_clir_train(&other, c, held_out, "cc", &o, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "there is no language 'cc' among the collections");
  assert_null(other);
  assert_int_equal(cq_clir_search(&hits, c, m, "cc", "bb", NULL, &o, NULL, &error), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_clir_search(&hits, c, m, "aa", "cc", NULL, &o, NULL, &error), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_clir_expand(&words, &n, m, "aa", "a", (cq_slice){"bavk", 4}, &o, &error), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_clir_expand(&words, &n, m, "aaa", "bb", (cq_slice){"bavk", 4}, &o, &error), CQ_ERR_ARGUMENT);
  assert_true(isnan(cq_clir_map(c, "cc", NULL, 1, NULL)));
  cq_clir_model_free(m);
  cq_clir_free(c);
}

static void queries_become_words_of_their_topic(void **state) {
  (void)state;
  cq_clir *c = opened(&none, false);
  cq_clir_options o = tiny_options();
  cq_clir_model *m;
  cq_clir_word *words;
  size_t n;
  assert_int_equal(cq_clir_train(&m, c, NULL, "aa", &o, NULL, NULL), CQ_OK);
  assert_int_equal(cq_clir_expand(&words, &n, m, "aa", "bb", (cq_slice){"bavk unheard devk", 17}, &o, NULL), CQ_OK);
  assert_int_equal(n, 6); /* three for each that is known */
  for (size_t i = 0; i < 6; i++) {
    assert_memory_equal(words[i].from.data, i < 3 ? "bavk" : "devk", 4);
    assert_int_equal(words[i].to.data[0], i < 3 ? 'b' : 'd');
    assert_memory_equal(words[i].to.data + words[i].to.n - 2, "zt", 2);
    assert_true(words[i].score == words[i].cosine && (i % 3 == 0 || words[i - 1].score >= words[i].score));
  }
  cq_free(words);
  o.method = CQ_CLIR_SUM, o.tau = 1000;
  assert_int_equal(cq_clir_expand(&words, &n, m, "aa", "bb", (cq_slice){"bavk bevk", 9}, &o, NULL), CQ_OK);
  assert_int_equal(n, TOPICS * WORDS + 2); /* all there are, best first */
  for (size_t i = 0; i < WORDS; i++) assert_true(words[i].to.data[0] == 'b' && words[i].from.n == 0);
  cq_free(words);
  assert_int_equal(cq_clir_expand(&words, &n, m, "aa", "bb", (cq_slice){"unheard", 7}, &o, NULL), CQ_OK);
  assert_int_equal(n, 0);
  cq_free(words);
  cq_clir_model_free(m);
  cq_clir_free(c);
}

/* How many documents of aa have a word. */
static double n_with(const char *word, double *n_documents) {
  size_t n;
  char *text = (char *)read_bytes(&n, test_path("docs.aa")), *next;
  double n_having = 0;
  *n_documents = 0;
  for (char *document = strstr(text, "<DOC>"); document; document = next) {
    if ((next = strstr(document + 1, "<DOC>"))) next[-1] = 0;
    n_having += strstr(document, word) != NULL;
    ++*n_documents;
  }
  free(text);
  return n_having;
}

static double idf_of(const char *word) {
  double n;
  const double n_having = n_with(word, &n);
  return log((n + 1) / (n_having + 0.5));
}

/* A topic's hits are those of a query that is put together by hand. */
static void check_hits(const cq_clir *c, const cq_clir_model *m, const char *to, const cq_clir_options *o,
                       const cq_lexical *index, cq_lexical_term *terms, size_t n) {
  const cq_lexical_query query = {terms, n};
  cq_lexical_hit *hits, *expected;
  cq_error error = {0};
  if (cq_clir_search(&hits, c, m, "aa", to, NULL, o, NULL, &error)) fail_msg("%s", error.message);
  assert_int_equal(cq_lexical_search(&expected, index, &query, 1, o->ranking, NULL, NULL), CQ_OK);
  assert_non_null(expected[0].id.data);
  for (size_t i = 0; i < o->ranking->k; i++) {
    assert_true(fabs(hits[i].score - expected[i].score) < 1e-6);
    if (!hits[i].id.data || !expected[i].id.data) assert_true(!hits[i].id.data && !expected[i].id.data);
  }
  cq_free(hits), cq_free(expected);
}

/* Feedback of the first topic by plain loops: terms [n of vocabulary] "bavk" and its like, and what each weighs. */
static void feed_back(double *weights, const char *const *vocabulary, size_t n, const cq_lexical *index) {
  enum { BEST = 10 };
  cq_lexical_term terms[] = {{cq_slice_of("bavk"), 1, 0}, {cq_slice_of("bevk"), 1, 0}};
  const cq_lexical_query query = {terms, 2};
  cq_lexical_options o = cq_lexical_default_options();
  cq_lexical_hit *hits;
  size_t n_bytes;
  double sum = 0;
  o.k = BEST;
  assert_int_equal(cq_lexical_search(&hits, index, &query, 1, &o, NULL, NULL), CQ_OK);
  char *text = (char *)read_bytes(&n_bytes, test_path("docs.aa"));
  for (size_t w = 0; w < n; w++) weights[w] = 0;
  for (size_t i = 0; i < BEST && hits[i].id.data; i++) {
    char id[40];
    size_t counts[64] = {0}, length = 0;
    snprintf(id, sizeof id, ">%.*s<", (int)hits[i].id.n, hits[i].id.data);
    char *document = strstr(text, id), *end = strstr(document, "</DOC>");
    *end = 0;
    for (size_t w = 0; w < n; w++)
      for (const char *at = document; (at = strstr(at, vocabulary[w])); at++) counts[w]++, length++;
    *end = '<';
    for (size_t w = 0; w < n; w++)
      weights[w] += exp2(hits[i].score - hits[0].score) * (double)counts[w] / (double)length;
  }
  for (size_t w = 0; w < n; w++) sum += weights[w] *= idf_of(vocabulary[w]);
  for (size_t w = 0; w < n; w++) weights[w] /= sum;
  cq_free(hits), free(text);
}

/* Checks the longer query of the first topic, within its language. */
static void check_feedback(const cq_clir *c, const cq_lexical *index) {
  enum { MOST = 64 };
  static char letters[MOST][5];
  const char *vocabulary[MOST] = {"ivva", "vii"};
  double weights[MOST];
  size_t n = 2, best = 0;
  cq_clir_options o = tiny_options();
  for (int t = 0; t < TOPICS; t++)
    for (int v = 0; v < WORDS; v++, n++) {
      snprintf(letters[n], sizeof letters[n], "%c%cvk", "bdgklmnr"[t], "aeiouy"[v]);
      vocabulary[n] = letters[n];
    }
  feed_back(weights, vocabulary, n, index);
  for (size_t w = 0; w < n; w++)
    if (weights[w] > weights[best]) best = w;
  for (int way = 0; way < 3; way++) { /* all words, the first, the first and idf */
    cq_lexical_term terms[MOST];
    size_t n_terms = 0;
    o.feedback = way == 0 ? 1000 : 1, o.idf = way == 2;
    for (size_t w = 0; w < n; w++) {
      const bool is_own = !strcmp(vocabulary[w], "bavk") || !strcmp(vocabulary[w], "bevk");
      double weight = (is_own ? 0.25 : 0) + (way == 0 ? weights[w] / 2 : w == best ? 0.5 : 0);
      if (way == 2) weight *= idf_of(vocabulary[w]);
      if (weight > 0) terms[n_terms++] = (cq_lexical_term){cq_slice_of(vocabulary[w]), weight, 0};
    }
    check_hits(c, NULL, "aa", &o, index, terms, n_terms);
  }
}

/* As clir.h has the formula. Topic 1 is "bavk bevk"; bevk is made the more frequent. */
static void queries_weigh_by_their_own_language(void **state) {
  (void)state;
  changes change = none;
  change.more_documents = "<DOC>\n<DOCNO>m1</DOCNO>\nbevk bevk\n</DOC>\n<DOC>\n<DOCNO>m2</DOCNO>\nbevk vii\n</DOC>\n";
  cq_clir *c;
  cq_clir_model *m;
  cq_lexical *index[2];
  cq_clir_options o = tiny_options();
  char work[400];
  snprintf(work, sizeof work, "%s", test_path("weights"));
  assert_int_equal(open_collections_in(&c, &change, false, work, NULL), CQ_OK);
  assert_int_equal(cq_lexical_open(&index[0], test_path("weights/aa.lexical"), NULL), CQ_OK);
  assert_int_equal(cq_lexical_open(&index[1], test_path("weights/bb.lexical"), NULL), CQ_OK);
  assert_int_equal(cq_clir_train(&m, c, NULL, "aa", &o, NULL, NULL), CQ_OK);
  const double idf[] = {idf_of("bavk"), idf_of("bevk")};
  assert_true(idf[0] > idf[1] && idf[1] > 0);
  o.idf = true, o.tau = 1; /* the words of a topic are near to one another: one of them may be nearest to both */
  for (int way = 0; way < 2; way++) {
    cq_clir_word *words;
    cq_lexical_term terms[2];
    size_t n, n_terms = 0;
    o.weighted = way == 1;
    assert_int_equal(cq_clir_expand(&words, &n, m, "aa", "bb", cq_slice_of("bavk bevk"), &o, NULL), CQ_OK);
    assert_int_equal(n, 2);
    for (size_t i = 0; i < n; i++) {
      const double weight = idf[i] * (o.weighted ? words[i].cosine : 1);
      if (n_terms && cq_slice_equal(terms[0].term, words[i].to))
        terms[0].weight += weight;
      else
        terms[n_terms++] = (cq_lexical_term){words[i].to, weight, 0};
    }
    check_hits(c, m, "bb", &o, index[1], terms, n_terms);
    cq_free(words);
  }
  cq_lexical_term own[] = {{cq_slice_of("bavk"), idf[0], 0}, {cq_slice_of("bevk"), idf[1], 0}};
  check_hits(c, NULL, "aa", &o, index[0], own, 2);
  check_feedback(c, index[0]);
  for (int method = 1; method < 3; method++) {
    cq_lexical_hit *hits;
    cq_error error = {0};
    o.method = (cq_clir_method)method, o.idf = method == 1, o.feedback = method == 2 ? 3 : 0;
    assert_int_equal(cq_clir_search(&hits, c, m, "aa", "bb", NULL, &o, NULL, &error), CQ_ERR_ARGUMENT);
    assert_null(hits);
    assert_non_null(strstr(error.message, "sums of vectors have none"));
  }
  for (int i = 0; i < 2; i++) cq_lexical_free(index[i]);
  cq_clir_model_free(m);
  cq_clir_free(c);
}

static void unknown_queries_find_nothing(void **state) {
  (void)state;
  changes change = none;
  change.fold_of_titles = 1; /* topics 2 and 6, from bb: "quite another kavk mivk title" */
  cq_clir *c = opened(&change, false);
  cq_clir_options o = tiny_options();
  const bool asked[TOPICS] = {[0] = true, [1] = true};
  cq_clir_model *m;
  tiny_words.min_count = 3;
  assert_int_equal(cq_clir_train(&m, c, NULL, "aa", &o, NULL, NULL), CQ_OK);
  for (int method = 0; method < 3; method++) {
    cq_lexical_hit *hits;
    o.method = (cq_clir_method)method;
    assert_int_equal(cq_clir_search(&hits, c, m, "bb", "bb", asked, &o, NULL, NULL), CQ_OK);
    assert_non_null(hits[0].id.data);
    /* As words, kavk is in no document of bb; as vectors, it is near some. */
    if (o.method != CQ_CLIR_DOCUMENTS) assert_null(hits[tiny_ranking.k].id.data);
    assert_null(hits[2 * tiny_ranking.k].id.data); /* not asked for */
    cq_free(hits);
  }
  cq_clir_model_free(m);
  /* Learned from topics that are not these, their words are unknown. */
  bool held_out[TOPICS] = {false};
  held_out[0] = true, o.kappa = 0, tiny_words.min_count = 1;
  assert_int_equal(cq_clir_train(&m, c, held_out, "aa", &o, NULL, NULL), CQ_OK);
  for (int method = 0; method < 3; method++) {
    cq_lexical_hit *hits;
    o.method = (cq_clir_method)method;
    assert_int_equal(cq_clir_search(&hits, c, m, "aa", "bb", NULL, &o, NULL, NULL), CQ_OK);
    assert_null(hits[0].id.data);
    assert_non_null(hits[2 * tiny_ranking.k].id.data);
    cq_free(hits);
  }
  cq_clir_model_free(m);
  cq_clir_free(c);
}

static void a_topic_without_documents_in_one_language(void **state) {
  (void)state;
  changes change = none;
  cq_clir *c = opened(&change, false);
  cq_clir_options o = tiny_options();
  cq_clir_model *all, *without;
  assert_int_equal(cq_clir_train(&all, c, NULL, "aa", &o, NULL, NULL), CQ_OK);
  cq_clir *before = c;
  change.no_relevant = true;
  c = opened(&change, false);
  assert_int_equal(cq_clir_train(&without, c, NULL, "aa", &o, NULL, NULL), CQ_OK);
  /* Three tuples of 12 words in each language are gone; the empty document is judged relevant and adds none. */
  assert_int_equal(cq_clir_n_trained(all) - cq_clir_n_trained(without), 3 * 2 * (LENGTH + 2));
  /* That topic does not count in the mean; the others are found as before. */
  assert_true(map_of(c, without, "aa", "bb", NULL, &o) > 0.8);
  bool only[TOPICS] = {[2] = true};
  assert_true(isnan(map_of(c, without, "aa", "bb", only, &o)));
  cq_clir_model_free(all), cq_clir_model_free(without);
  cq_clir_free(c), cq_clir_free(before);
}

/* --- what is held out --- */

static const cq_clir_folds four_folds = {.size = sizeof four_folds, .n = 4, .group = 1};

typedef struct outcome {
  unsigned char *vectors;
  char *run;
  size_t n_vectors, n_run;
} outcome;

static void keep_run(outcome *out, const cq_clir *c, const cq_lexical_hit *hits, size_t k) {
  assert_int_equal(cq_clir_write_run(test_path("run.txt"), c, hits, k, "tag", NULL), CQ_OK);
  out->run = (char *)read_bytes(&out->n_run, test_path("run.txt"));
}

/* Vectors and the run from aa to bb with one fold of four held out. */
static outcome outcome_of(const changes *change, int fold, const cq_clir_options *o, bool other_order) {
  outcome out = {0};
  cq_clir *c = opened(change, other_order);
  cq_clir_model *m;
  cq_lexical_hit *hits;
  bool *held_out;
  assert_int_equal(cq_clir_fold_topics(&held_out, c, &(cq_clir_folds){0}, fold, NULL), CQ_ERR_ARGUMENT);
  assert_null(held_out);
  assert_int_equal(cq_clir_fold_topics(&held_out, c, &four_folds, fold, NULL), CQ_OK);
  for (int t = 0; t < TOPICS; t++) assert_int_equal(held_out[t], t % 4 == fold);
  assert_int_equal(cq_clir_train(&m, c, held_out, "aa", o, NULL, NULL), CQ_OK);
  assert_int_equal(cq_clir_save(m, test_path("vectors.txt"), NULL), CQ_OK);
  out.vectors = read_bytes(&out.n_vectors, test_path("vectors.txt"));
  assert_int_equal(cq_clir_search(&hits, c, m, "aa", "bb", held_out, o, NULL, NULL), CQ_OK);
  keep_run(&out, c, hits, o->ranking->k);
  assert_true(out.n_run > 0 || o->pseudo_in_all); /* of titles that find nothing, nothing is learned */
  cq_free(hits);
  cq_free(held_out);
  cq_clir_model_free(m);
  cq_clir_free(c);
  return out;
}

static bool same_outcome(const outcome *a, const outcome *b) {
  return a->n_vectors == b->n_vectors && !memcmp(a->vectors, b->vectors, a->n_vectors) && a->n_run == b->n_run &&
         !memcmp(a->run, b->run, a->n_run);
}

static void free_outcome(outcome *o) {
  free(o->vectors);
  free(o->run);
}

static void judgements_and_translations_held_out_are_not_looked_at(void **state) {
  (void)state;
  for (int way = 0; way < 8; way++) {
    cq_clir_options o = tiny_options();
    const bool other_order = way % 2;
    changes change = none;
    tiny_words.epochs = 2;
    o.mixing = way & 2 ? CQ_MIX_AT_RANDOM : CQ_MIX_BY_LENGTH;
    o.method = way & 4 ? CQ_CLIR_DOCUMENTS : CQ_CLIR_TERMS;
    o.idf = way == 3, o.feedback = way == 3 ? 3 : 0;
    outcome usual = outcome_of(&none, 1, &o, other_order), again = outcome_of(&none, 1, &o, other_order);
    assert_true(same_outcome(&usual, &again));
    change.fold_of_judgements = 1;
    outcome other = outcome_of(&change, 1, &o, other_order);
    if (!same_outcome(&usual, &other)) fail_msg("way %d: judgements of topics held out were looked at", way);
    free_outcome(&other);
    change = none, change.fold_of_titles = 1;
    other = outcome_of(&change, 1, &o, other_order);
    if (!same_outcome(&usual, &other)) fail_msg("way %d: translations of topics held out were looked at", way);
    free_outcome(&other);
    /* Those of the other topics are: the test would see it. */
    change = none, change.fold_of_judgements = 2;
    other = outcome_of(&change, 1, &o, other_order);
    assert_false(same_outcome(&usual, &other));
    free_outcome(&other);
    /* And pseudo-relevant documents of all languages are found by translations. */
    o.pseudo_in_all = true, change = none, change.fold_of_titles = 1;
    outcome in_all = outcome_of(&none, 1, &o, other_order);
    other = outcome_of(&change, 1, &o, other_order);
    assert_false(same_outcome(&in_all, &other));
    free_outcome(&other), free_outcome(&in_all), free_outcome(&usual), free_outcome(&again);
  }
}

/* Lines of the run whose topics are a fold's. */
static void keep_fold(char *run, int fold) {
  char *to = run;
  for (char *line = run, *end; *line; line = end) {
    end = strchr(line, '\n') + 1;
    if ((line[0] - '1') % 4 != fold) continue;
    memmove(to, line, (size_t)(end - line));
    to += end - line;
  }
  *to = '\0';
}

/* --- by words that are spelled alike ---
 *
 * Words of bb are those of aa with an end of their own: "bavk" goes with "b.zt". Topics have all vowels, so that
 * nothing tells which is which, and words this short are not told with much certainty. */
static cq_cognate_options short_words(void) {
  cq_cognate_options o = cq_cognate_default_options();
  o.at = 3, o.mu = 20, o.mu_feedback = 20, o.n_source = o.n_target = 2, o.n_source_words = o.n_target_words = 5;
  return o;
}

enum { DEPTH = 15 };

/* The run from aa to bb, and its scores to the last bit. */
static outcome by_cognates(const changes *change, int fold, bool other_order, int n_threads) {
  outcome out = {0};
  cq_clir *c = opened(change, other_order);
  cq_clir_cognates *cognates;
  cq_lexical_hit *hits;
  bool *held_out;
  cq_context *ctx = NULL;
  const cq_cognate_options o = short_words();
  if (n_threads) assert_int_equal(cq_context_open(&ctx, n_threads, NULL), CQ_OK);
  assert_int_equal(cq_clir_fold_topics(&held_out, c, &four_folds, fold, NULL), CQ_OK);
  assert_int_equal(cq_clir_learn_cognates(&cognates, c, held_out, "aa", "bb", &o, ctx, NULL), CQ_OK);
  assert_int_equal(cq_clir_search_cognates(&hits, cognates, held_out, DEPTH, ctx, NULL), CQ_OK);
  keep_run(&out, c, hits, DEPTH);
  assert_true(out.n_run > 0);
  double *scores = malloc(TOPICS * DEPTH * sizeof *scores);
  assert_non_null(scores);
  for (size_t i = 0; i < TOPICS * DEPTH; i++) {
    assert_int_equal(hits[i].id.data != NULL, (int)(i / DEPTH) % 4 == fold); /* no other topic was requested */
    scores[i] = hits[i].id.data ? hits[i].score : 0;
  }
  out.vectors = (unsigned char *)scores, out.n_vectors = TOPICS * DEPTH * sizeof *scores;
  cq_free(hits);
  cq_free(held_out);
  cq_clir_cognates_free(cognates);
  cq_context_free(ctx);
  cq_clir_free(c);
  return out;
}

static void cognates_find_documents(void **state) {
  (void)state;
  cq_clir *c = opened(&none, false);
  cq_clir_cognates *cognates;
  cq_lexical_hit *hits;
  cq_clir_word *words;
  size_t n;
  const cq_cognate_options o = short_words();
  for (int fold = -1; fold < 4; fold++) {
    bool *held_out = NULL;
    if (fold >= 0) assert_int_equal(cq_clir_fold_topics(&held_out, c, &four_folds, fold, NULL), CQ_OK);
    assert_int_equal(cq_clir_learn_cognates(&cognates, c, held_out, "aa", "bb", &o, NULL, NULL), CQ_OK);
    assert_int_equal(cq_clir_search_cognates(&hits, cognates, held_out, DEPTH, NULL, NULL), CQ_OK);
    const double map = cq_clir_map(c, "bb", hits, DEPTH, held_out);
    if (fold < 0 && !(map > 0.8)) fail_msg("MAP %.3f", map);
    cq_free(hits);
    if (fold < 0) {
      assert_int_equal(cq_clir_cognates_expand(&words, &n, cognates, (cq_slice){"bavk", 4}, NULL), CQ_OK);
      assert_true(n > 0);
      for (size_t i = 0; i < n; i++) {
        assert_true(words[i].to.data[0] == 'b' && !memcmp(words[i].to.data + 2, "zt", 2));
        assert_true(words[i].score > 0 && words[i].score <= 1 && (i == 0 || words[i].score <= words[i - 1].score));
      }
      cq_free(words);
      assert_int_equal(cq_clir_cognates_expand(&words, &n, cognates, (cq_slice){"unheard", 7}, NULL), CQ_OK);
      assert_int_equal(n, 0);
      cq_free(words);
    }
    cq_free(held_out);
    cq_clir_cognates_free(cognates);
  }
  cq_clir_free(c);
  cq_clir_cognates_free(NULL);
}

static void words_that_are_quoted_teach_nothing(void **state) {
  (void)state;
  double contrasts[2];
  for (int quotes = 0; quotes < 2; quotes++) {
    changes change = none;
    change.own_script = true, change.quotes = quotes;
    cq_clir *c = opened(&change, false);
    cq_clir_cognates *cognates;
    cq_clir_word *words;
    size_t n;
    int n_quoted = 0;
    const cq_cognate_options o = short_words();
    assert_int_equal(cq_clir_learn_cognates(&cognates, c, NULL, "aa", "bb", &o, NULL, NULL), CQ_OK);
    contrasts[quotes] = cq_clir_cognates_contrast(cognates);
    assert_int_equal(cq_clir_cognates_expand(&words, &n, cognates, cq_slice_of("bavk, bavk!"), NULL), CQ_OK);
    for (size_t i = 0; i < n; i++) {
      if (cq_slice_equal(words[i].to, words[i].from))
        n_quoted++;
      else
        assert_memory_equal(words[i].to.data, "\xce\xb2", 2); /* beta */
    }
    assert_int_equal(n_quoted, 2 * quotes);
    assert_true((int)n > n_quoted);
    cq_free(words);
    cq_clir_cognates_free(cognates);
    cq_clir_free(c);
  }
  assert_true(contrasts[0] > 1);
  assert_true(contrasts[0] == contrasts[1]);
}

/* Topics that have nothing to do with each other teach nothing, and that is noticed. Words then match by how they are
 * spelled: "bavk" is no "gozt" whatever the topics say. */
static void nonsense_is_not_learned(void **state) {
  (void)state;
  changes change = none;
  change.own_script = change.scrambled = true;
  cq_clir *c = opened(&change, false);
  cq_clir_cognates *cognates;
  cq_clir_word *words;
  size_t n;
  const cq_cognate_options o = short_words();
  assert_int_equal(cq_clir_learn_cognates(&cognates, c, NULL, "aa", "bb", &o, NULL, NULL), CQ_OK);
  const double contrast = cq_clir_cognates_contrast(cognates), chance = cq_clir_cognates_chance(cognates);
  if (cq_clir_cognates_are_learned(cognates)) fail_msg("contrast %.2f, %.2f by chance", contrast, chance);
  assert_true(chance > 0 && contrast < 1.5 * chance);
  assert_int_equal(cq_clir_cognates_expand(&words, &n, cognates, cq_slice_of("bavk"), NULL), CQ_OK);
  for (size_t i = 0; i < n; i++) assert_memory_equal(words[i].to.data, "\xce\xb2", 2); /* beta */
  cq_free(words);
  cq_clir_cognates_free(cognates);
  cq_clir_free(c);
}

/* From a language to itself every word translates to itself, and only feedback differs from the plain run. */
static void a_language_to_itself_has_feedback(void **state) {
  (void)state;
  cq_clir *c = opened(&none, false);
  cq_clir_cognates *cognates;
  cq_clir_word *words;
  cq_lexical_hit *hits;
  size_t n;
  assert_int_equal(cq_clir_learn_cognates(&cognates, c, NULL, "aa", "aa", NULL, NULL, NULL), CQ_OK);
  assert_true(cq_clir_cognates_are_learned(cognates));
  assert_int_equal(cq_clir_cognates_expand(&words, &n, cognates, cq_slice_of("bavk bevk unheard"), NULL), CQ_OK);
  assert_int_equal(n, 2);
  for (size_t i = 0; i < n; i++) assert_true(cq_slice_equal(words[i].from, words[i].to) && words[i].score == 1);
  cq_free(words);
  assert_int_equal(cq_clir_search_cognates(&hits, cognates, NULL, DEPTH, NULL, NULL), CQ_OK);
  assert_true(cq_clir_map(c, "aa", hits, DEPTH, NULL) > 0.9);
  cq_free(hits);
  cq_clir_cognates_free(cognates);
  cq_clir_free(c);
}

static void cognates_do_not_look_at_what_is_held_out(void **state) {
  (void)state;
  for (int other_order = 0; other_order < 2; other_order++)
    for (int fold = 0; fold < 4; fold++) {
      changes change = none;
      outcome usual = by_cognates(&none, fold, other_order, 0), other = by_cognates(&none, fold, other_order, 3);
      if (!same_outcome(&usual, &other)) fail_msg("fold %d: three threads find something else", fold);
      free_outcome(&other);
      change.fold_of_judgements = fold;
      other = by_cognates(&change, fold, other_order, 0);
      if (!same_outcome(&usual, &other)) fail_msg("fold %d: its judgements were looked at", fold);
      free_outcome(&other);
      change = none, change.fold_of_titles = fold;
      other = by_cognates(&change, fold, other_order, 0);
      if (!same_outcome(&usual, &other)) fail_msg("fold %d: its translations were looked at", fold);
      free_outcome(&other);
      change = none, change.fold_of_judgements = (fold + 1) % 4; /* the test would see it */
      other = by_cognates(&change, fold, other_order, 0);
      assert_false(same_outcome(&usual, &other));
      free_outcome(&other), free_outcome(&usual);
    }
}

static void options_of_cognates_that_cannot_be(void **state) {
  (void)state;
  const cq_cognate_options usual = cq_cognate_default_options();
  cq_cognate_options bad[21];
  size_t n = 0;
  cq_clir *c = opened(&none, false);
  cq_clir_cognates *cognates;
  cq_error error = {0};
#define BAD(field, value) bad[n] = usual, bad[n++].field = (value)
  BAD(at, NAN), BAD(at, INFINITY), BAD(sharpness, 0), BAD(sharpness, NAN), BAD(mu, 0), BAD(mu, -1);
  BAD(mu_feedback, 0), BAD(mu_feedback, NAN), BAD(query_share, -0.1), BAD(query_share, 1.1), BAD(query_share, NAN);
  BAD(first_share, -0.1), BAD(first_share, 1.1), BAD(similar_share, -1), BAD(similar_share, NAN), BAD(n_source, 0);
  BAD(n_target, 0), BAD(n_target, -3), BAD(n_source_words, 0), BAD(n_target_words, 0), BAD(n_target_words, -1);
#undef BAD
  assert_int_equal(n, sizeof bad / sizeof *bad);
  for (size_t i = 0; i < n; i++) {
    error.message[0] = '\0';
    if (cq_clir_learn_cognates(&cognates, c, NULL, "aa", "bb", &bad[i], NULL, &error) != CQ_ERR_ARGUMENT)
      fail_msg("options %zu are not refused", i);
    assert_null(cognates);
    assert_non_null(strstr(error.message, "expected"));
  }
  assert_int_equal(cq_clir_learn_cognates(&cognates, c, NULL, "aa", "cc", NULL, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "there is no language 'cc' among the collections");
  /* Too few topics are left to learn from. */
  bool held_out[TOPICS];
  for (int t = 0; t < TOPICS; t++) held_out[t] = t > 1;
  assert_int_equal(cq_clir_learn_cognates(&cognates, c, held_out, "aa", "bb", NULL, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "2 topics have documents in both languages, expected at least 3");
  assert_null(cognates);
  cq_clir_free(c);
}

static void unknown_queries_have_no_cognates(void **state) {
  (void)state;
  changes change = none;
  change.unknown_title = true;
  cq_clir *c = opened(&change, false);
  const cq_cognate_options o = short_words();
  cq_clir_cognates *cognates;
  cq_lexical_hit *hits;
  assert_int_equal(cq_clir_learn_cognates(&cognates, c, NULL, "aa", "bb", &o, NULL, NULL), CQ_OK);
  assert_int_equal(cq_clir_search_cognates(&hits, cognates, NULL, DEPTH, NULL, NULL), CQ_OK);
  for (int t = 0; t < TOPICS; t++) assert_int_equal(hits[t * DEPTH].id.data == NULL, t == 4);
  cq_free(hits);
  /* k may be more than there are documents. */
  enum { ALL = TOPICS * (DOCUMENTS - 1) + 1 };
  assert_int_equal(cq_clir_search_cognates(&hits, cognates, NULL, ALL + 5, NULL, NULL), CQ_OK);
  assert_non_null(hits[ALL - 1].id.data);
  assert_null(hits[ALL].id.data);
  cq_free(hits);
  cq_clir_cognates_free(cognates);
  cq_clir_free(c);
}

static void cognates_are_validated_fold_by_fold(void **state) {
  (void)state;
  cq_clir *c = opened(&none, false);
  const cq_cognate_options o = short_words();
  cq_clir_validation how = cq_clir_default_validation();
  how.folds = &four_folds;
  cq_clir_fold folds[4];
  cq_lexical_hit *hits;
  outcome whole = {0};
  assert_int_equal(cq_clir_validate_cognates(&hits, folds, c, "aa", "bb", &how, &o, DEPTH, NULL, NULL), CQ_OK);
  keep_run(&whole, c, hits, DEPTH);
  cq_free(hits);
  for (int f = 0; f < 4; f++) {
    outcome direct = by_cognates(&none, f, false, 0);
    char *kept = strdup(whole.run);
    assert_non_null(kept);
    keep_fold(kept, f);
    assert_string_equal(kept, direct.run);
    assert_true(folds[f].map_tested >= 0 && folds[f].map_tested <= 1 && isfinite(folds[f].contrast));
    free(kept);
    free_outcome(&direct);
  }
  free_outcome(&whole);
  cq_clir_free(c);
}

static void every_allocation_of_cognates_may_fail(void **state) {
  (void)state;
  cq_clir *c = opened(&none, false);
  const cq_cognate_options o = short_words();
  for (long n = 1;; n += n < 150 ? 1 : 13) {
    cq_clir_cognates *cognates;
    cq_lexical_hit *hits = NULL;
    cq_alloc_fail_at(n);
    cq_status status = cq_clir_learn_cognates(&cognates, c, NULL, "aa", "bb", &o, NULL, NULL);
    if (!status) status = cq_clir_search_cognates(&hits, cognates, NULL, DEPTH, NULL, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    cq_free(hits);
    cq_clir_cognates_free(cognates);
    if (!failed) break;
  }
  cq_clir_free(c);
}

/* Pseudo-relevant documents: without them, words of topics held out are unknown. */
static void kappa_brings_words(void **state) {
  (void)state;
  cq_clir *c = opened(&none, false);
  cq_clir_options o = tiny_options();
  const bool held_out[TOPICS] = {[3] = true};
  const int kappas[] = {0, 2, 100};
  size_t n_words[3];
  for (int i = 0; i < 3; i++) {
    cq_clir_model *m;
    o.kappa = kappas[i];
    assert_int_equal(cq_clir_train(&m, c, held_out, "aa", &o, NULL, NULL), CQ_OK);
    n_words[i] = cq_clir_n_trained(m);
    cq_clir_model_free(m);
  }
  assert_int_equal(n_words[1] - n_words[0], 2 * (LENGTH + 2));
  assert_int_equal(n_words[2] - n_words[0], DOCUMENTS * (LENGTH + 2)); /* the query's words are in no more */
  cq_clir_free(c);
}

/* --- keeping --- */

static void a_model_is_kept(void **state) {
  (void)state;
  cq_clir *c = opened(&none, false);
  const cq_clir_options o = tiny_options();
  cq_clir_model *m, *again;
  cq_lexical_hit *hits[2];
  outcome runs[2] = {0};
  cq_error error = {0};
  assert_int_equal(cq_clir_train(&m, c, NULL, "aa", &o, NULL, NULL), CQ_OK);
  assert_int_equal(cq_clir_save(m, test_path("kept.txt"), NULL), CQ_OK);
  assert_int_equal(cq_clir_load(&again, c, test_path("kept.txt"), NULL), CQ_OK);
  assert_int_equal(cq_clir_search(&hits[0], c, m, "aa", "bb", NULL, &o, NULL, NULL), CQ_OK);
  assert_int_equal(cq_clir_search(&hits[1], c, again, "aa", "bb", NULL, &o, NULL, NULL), CQ_OK);
  for (int i = 0; i < 2; i++) keep_run(&runs[i], c, hits[i], tiny_ranking.k), cq_free(hits[i]);
  assert_string_equal(runs[0].run, runs[1].run);
  for (int i = 0; i < 2; i++) free_outcome(&runs[i]);
  cq_clir_model_free(again);
  write_text(test_path("bad.txt"), "1 2\nword 1\n");
  assert_int_equal(cq_clir_load(&again, c, test_path("bad.txt"), &error), CQ_ERR_FORMAT);
  assert_int_equal(error.line, 2);
  assert_null(again);
  /* Vectors of none of the collections' words: nothing is found. */
  write_text(test_path("bad.txt"), "1 2\nelsewhere 1 2\n");
  assert_int_equal(cq_clir_load(&again, c, test_path("bad.txt"), NULL), CQ_OK);
  assert_true(map_of(c, again, "aa", "bb", NULL, &o) == 0);
  cq_clir_model_free(again), cq_clir_model_free(m);
  cq_clir_free(c);
}

/* --- faults --- */

static void documents_that_come_twice(void **state) {
  (void)state;
  changes change = none;
  cq_clir *c;
  cq_error error = {0};
  change.more_documents = "<DOC>\n<DOCNO>aa-2-1</DOCNO>\n<TEXT>again</TEXT>\n</DOC>\n";
  assert_int_equal(open_collections(&c, &change, false, &error), CQ_ERR_FORMAT);
  /* Four lines a document, 32 of them, and three for the empty one, which begins where another would. */
  if (!error.line || !strstr(error.message, "docs.aa:")) fail_msg("%s", error.message);
  assert_non_null(strstr(error.message, "aa-2-1"));
  assert_null(c);
}

static void a_directory_of_work_is_whole_or_not_there(void **state) {
  (void)state;
  const char *const code = "aa";
  char work[400];
  cq_clir *c;
  cq_error error = {0};
  cq_clir_sources s = cq_clir_default_sources();
  write_language(0, &none);
  snprintf(work, sizeof work, "%s", test_path("work/inside"));
  s.languages = &code, s.n_languages = 1, s.work = work;
  s.documents = test_path("docs.%"), s.topics = test_path("topics.%"), s.judgements = test_path("nowhere");
  assert_int_equal(cq_clir_open(&c, &s, NULL, &error), CQ_ERR_IO);
  assert_int_not_equal(access(work, F_OK), 0);
  s.judgements = test_path("qrels.aa");
  assert_int_equal(cq_clir_open(&c, &s, NULL, &error), CQ_OK);
  assert_int_equal(access(work, F_OK), 0);
  cq_clir_free(c);
  assert_int_equal(cq_clir_open(&c, &s, NULL, &error), CQ_ERR_ARGUMENT); /* and not made again */
  assert_non_null(strstr(error.message, "already exists"));
  assert_int_equal(access(work, F_OK), 0);
  /* One language alone has nothing to learn from. */
  s.work = NULL;
  assert_int_equal(cq_clir_open(&c, &s, NULL, &error), CQ_OK);
  cq_clir_model *m;
  assert_int_equal(cq_clir_train(&m, c, NULL, "aa", NULL, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "no topic has relevant documents in two of the languages");
  cq_clir_free(c);
  s.n_languages = 0;
  assert_int_equal(cq_clir_open(&c, &s, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "languages is missing");
  assert_int_equal(cq_clir_open(&c, NULL, NULL, &error), CQ_ERR_ARGUMENT);
}

/* --- validation --- */

static const int kappas[] = {2, 3}, windows[] = {3, 6}, taus[] = {1, 4};

static cq_clir_validation grid_of(size_t n, const cq_clir_folds *folds) {
  cq_clir_validation how = cq_clir_default_validation();
  how.kappas = kappas, how.windows = windows, how.taus = taus, how.n_kappas = how.n_windows = how.n_taus = n;
  how.folds = folds;
  return how;
}

static char *validated(const cq_clir *c, cq_clir_fold *folds, const cq_clir_options *o, size_t n, cq_context *ctx) {
  const cq_clir_validation how = grid_of(n, &four_folds);
  cq_lexical_hit *hits;
  outcome out = {0};
  assert_int_equal(cq_clir_validate(&hits, folds, c, "aa", "bb", &how, o, ctx, NULL), CQ_OK);
  keep_run(&out, c, hits, o->ranking->k);
  cq_free(hits);
  return out.run;
}

static void validation_does_not_depend_on_threads(void **state) {
  (void)state;
  cq_clir *c = opened(&none, false);
  cq_clir_options o = tiny_options();
  cq_clir_fold folds[2][4];
  cq_context *ctx;
  tiny_words.epochs = 10;
  assert_int_equal(cq_context_open(&ctx, 3, NULL), CQ_OK);
  char *a = validated(c, folds[0], &o, 2, NULL), *b = validated(c, folds[1], &o, 2, ctx);
  assert_string_equal(a, b);
  for (int f = 0; f < 4; f++) {
    assert_int_equal(folds[0][f].kappa, folds[1][f].kappa);
    assert_int_equal(folds[0][f].window, folds[1][f].window);
    assert_int_equal(folds[0][f].tau, folds[1][f].tau);
    assert_true(folds[0][f].map_chosen == folds[1][f].map_chosen && folds[0][f].map_tested == folds[1][f].map_tested);
    assert_true(folds[0][f].kappa == 2 || folds[0][f].kappa == 3);
    assert_true(folds[0][f].map_chosen >= 0 && folds[0][f].map_chosen <= 1);
  }
  free(a), free(b);
  /* A grid of one: what is tested is what training and searching give. */
  a = validated(c, folds[0], &o, 1, ctx);
  o.kappa = 2, tiny_words.window = 3, o.tau = 1;
  for (int f = 0; f < 4; f++) {
    outcome direct = outcome_of(&none, f, &o, false);
    assert_true(folds[0][f].kappa == 2 && folds[0][f].window == 3 && folds[0][f].tau == 1);
    assert_true(isnan(folds[0][f].map_chosen));              /* there was no choice */
    for (char *line = direct.run, *end; *line; line = end) { /* each of its lines is in the whole run */
      char kept[200];
      end = strchr(line, '\n') + 1;
      snprintf(kept, sizeof kept, "%.*s", (int)(end - line), line);
      assert_non_null(strstr(a, kept));
    }
    free_outcome(&direct);
  }
  free(a);
  cq_context_free(ctx);
  cq_clir_free(c);
}

static void validation_does_not_look_at_the_fold_it_tests(void **state) {
  (void)state;
  cq_clir_options o = tiny_options();
  tiny_words.epochs = 5;
  changes change = none;
  char *runs[3];
  for (int i = 0; i < 3; i++) {
    change.fold_of_judgements = i == 1 ? 2 : -1;
    change.fold_of_titles = i == 2 ? 2 : -1;
    cq_clir *c = opened(&change, false);
    runs[i] = validated(c, NULL, &o, 2, NULL);
    keep_fold(runs[i], 2);
    assert_true(*runs[i]);
    cq_clir_free(c);
  }
  assert_string_equal(runs[0], runs[1]);
  assert_string_equal(runs[0], runs[2]);
  for (int i = 0; i < 3; i++) free(runs[i]);
}

static void folds_that_cannot_be(void **state) {
  (void)state;
  cq_clir *c = opened(&none, false);
  const cq_clir_options o = tiny_options();
  const struct {
    int n_folds, group;
  } cases[] = {{1, 1}, {0, 1}, {-2, 1}, {9, 1}, {4, 0}, {4, -1}, {5, 2}, {3, 4}, {2, 8}}; /* 8 topics */
  cq_lexical_hit *hits;
  cq_error error = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const cq_clir_folds folds = {.size = sizeof folds, .n = cases[i].n_folds, .group = cases[i].group};
    const cq_clir_validation how = grid_of(1, &folds);
    if (cq_clir_validate(&hits, NULL, c, "aa", "bb", &how, &o, NULL, &error) != CQ_ERR_ARGUMENT)
      fail_msg("%d folds of groups of %d are not refused", cases[i].n_folds, cases[i].group);
    assert_null(hits);
  }
  cq_clir_validation how = grid_of(1, &four_folds);
  assert_int_equal(cq_clir_validate(&hits, NULL, c, "aa", "cc", &how, &o, NULL, &error), CQ_ERR_ARGUMENT);
  static const int nothing[] = {3, 0};
  how.windows = nothing, how.n_windows = 2;
  assert_int_equal(cq_clir_validate(&hits, NULL, c, "aa", "bb", &how, &o, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "window is 0, expected 1 to 10000");
  cq_clir_free(c);
}

/* The fold to validate on has no relevant documents: there is nothing to tell choices by, and the first is taken. */
static void folds_without_relevant_documents(void **state) {
  (void)state;
  changes change = none;
  change.no_relevant = true; /* topic 2 of 8, alone in its fold of 8 */
  cq_clir *c = opened(&change, false);
  cq_clir_options o = tiny_options();
  cq_clir_fold folds[8];
  cq_lexical_hit *hits;
  cq_error error = {0};
  tiny_words.epochs = 1;
  const cq_clir_folds eight = {.size = sizeof eight, .n = 8, .group = 1};
  const cq_clir_validation how = grid_of(2, &eight);
  if (cq_clir_validate(&hits, folds, c, "aa", "bb", &how, &o, NULL, &error)) fail_msg("%s", error.message);
  assert_true(folds[1].kappa == 2 && folds[1].window == 3 && folds[1].tau == 1);
  assert_true(isnan(folds[1].map_chosen) && isnan(folds[2].map_tested));
  cq_free(hits);
  cq_clir_free(c);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  const changes change = none;
  const cq_slice query = {"bavk bevk", 9};
  cq_clir *c = opened(&change, false);
  cq_clir_options o = tiny_options();
  const bool held_out[TOPICS] = {[1] = true, [5] = true};
  tiny_words.epochs = 1, tiny_words.dim = 4;
  for (int way = 0; way < 5; way++) {
    o.method = (cq_clir_method)(way < 4 ? way % 3 : 0);
    o.pseudo_in_all = way == 1, o.csls = way == 2 ? 2 : 0, o.weighted = o.keep_words = o.idf = way == 3,
    o.feedback = way == 4 ? 2 : 0;
    o.mixing = way == 2 ? CQ_MIX_AT_RANDOM : CQ_MIX_BY_LENGTH;
    for (long n = 1;; n += n < 60 ? 1 : 7) { /* the text of each topic takes the same path */
      cq_clir_model *m;
      cq_lexical_hit *hits = NULL;
      cq_clir_word *words = NULL;
      size_t n_words;
      cq_alloc_fail_at(n);
      cq_status status = cq_clir_train(&m, c, held_out, "aa", &o, NULL, NULL);
      if (!status) status = cq_clir_expand(&words, &n_words, m, "aa", "bb", query, &o, NULL);
      if (!status) status = cq_clir_search(&hits, c, m, "aa", "bb", NULL, &o, NULL, NULL);
      const bool failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
      cq_free(words), cq_free(hits);
      cq_clir_model_free(m);
      if (!failed) break;
    }
  }
  cq_clir_free(c);
}

static void every_allocation_of_opening_may_fail(void **state) {
  (void)state;
  for (long n = 1;; n += n < 200 ? 1 : 61) {
    cq_clir *c;
    cq_alloc_fail_at(n);
    const cq_status status = open_collections(&c, &none, false, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    cq_clir_free(c);
    if (!failed) break;
  }
}

/* Temporary directories lie in the test's own, so that what is left of them is seen. */
static int make_directories(void **state) {
  char left[64];
  const pid_t ended = fork();
  if (ended == 0) _exit(0);
  if (ended < 0 || waitpid(ended, NULL, 0) != ended) return -1;
  snprintf(left, sizeof left, "calque-clir.tmp-%ld-0", (long)ended); /* as a killed process leaves it */
  return make_test_directory(state) || mkdir(test_path(left), 0700) || setenv("TMPDIR", test_directory, 1);
}

static void nothing_temporary_is_left(void **state) {
  (void)state;
  assert_int_equal(count_files("calque-clir"), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(collections_are_read),
      cmocka_unit_test(learned_words_find_documents),
      cmocka_unit_test(monolingual_runs_need_no_model),
      cmocka_unit_test(languages_that_are_not_there),
      cmocka_unit_test(queries_become_words_of_their_topic),
      cmocka_unit_test(queries_weigh_by_their_own_language),
      cmocka_unit_test(unknown_queries_find_nothing),
      cmocka_unit_test(a_topic_without_documents_in_one_language),
      cmocka_unit_test(judgements_and_translations_held_out_are_not_looked_at),
      cmocka_unit_test(cognates_find_documents),
      cmocka_unit_test(words_that_are_quoted_teach_nothing),
      cmocka_unit_test(nonsense_is_not_learned),
      cmocka_unit_test(a_language_to_itself_has_feedback),
      cmocka_unit_test(cognates_do_not_look_at_what_is_held_out),
      cmocka_unit_test(options_of_cognates_that_cannot_be),
      cmocka_unit_test(unknown_queries_have_no_cognates),
      cmocka_unit_test(cognates_are_validated_fold_by_fold),
      cmocka_unit_test(kappa_brings_words),
      cmocka_unit_test(a_model_is_kept),
      cmocka_unit_test(documents_that_come_twice),
      cmocka_unit_test(a_directory_of_work_is_whole_or_not_there),
      cmocka_unit_test(validation_does_not_depend_on_threads),
      cmocka_unit_test(validation_does_not_look_at_the_fold_it_tests),
      cmocka_unit_test(folds_that_cannot_be),
      cmocka_unit_test(folds_without_relevant_documents),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(every_allocation_of_cognates_may_fail),
      cmocka_unit_test(every_allocation_of_opening_may_fail),
      cmocka_unit_test(nothing_temporary_is_left),
  };
  return cmocka_run_group_tests(tests, make_directories, remove_test_directory);
}
