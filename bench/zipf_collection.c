/* A synthetic collection, the same bytes for the same seed, for measuring retrieval where no real one can be had.
 *
 *   bench_zipf_collection [OPTION...] >docs.trec               documents: <DOC><DOCNO>d1</DOCNO><TEXT>...</TEXT></DOC>
 *   bench_zipf_collection --queries Q [--terms L] >topics.tsv  queries: id TAB L distinct terms, spaces between them
 *   bench_zipf_collection --qrels Q >qrels                     documents of the queries' topics: id 0 document 1
 *
 *   --documents N (200000)   --vocabulary V (2000000 words to draw from)   --topics T (500)   --seed S (1)
 *   --length WORDS (200, the mean)   --terms L (75)
 *
 * Documents and queries of one collection need the same N, V, T and S. Figures of the collection go to standard error.
 *
 *   length     log-normal, sigma 0.6
 *   a word     an earlier word of the document again (8 %); or of the document's topic, a quarter of these of a second
 *              one; or of the language at large. How much is topical, 5-35 %, is the document's own
 *   language   p(rank) ~ (rank + 0.8)^-1.07 to rank 6000 (Zipf-Mandelbrot), from there falling as rank^-1.9 (rare words
 *              follow a steeper law than frequent ones, Montemurro 2001; under one law a vocabulary grows too fast)
 *   topic      250 words of ranks 150 to 60000, as many from every octave, drawn as 1 / (place + 10)
 *   spelling   one to four syllables of two letters and often a letter more, short for frequent ranks
 *   query      of every three terms two from a topic, one of middling frequency (ranks 150 to 20000), as an expansion
 *              finds them; no stop words (ranks below 150)
 *
 * Beside real English:
 *                                       seed 1, as above    real
 *   most frequent word                  6.2 %               7.5 %      WMT news, 1.36 million words, lower case
 *   the 10, 100, 1000 most frequent     22.8, 42.9, 67.2 %  24.3, 45.6, 69.2 %                    the same
 *   distinct among 200 words            133                 139                                   the same
 *   letters a word                      4.1                 4.8                                   the same
 *   distinct in the first million       45,700              33,400 there; 38,400 in RCV1 (Manning et al. 2008, 5.1)
 *   distinct in 40.1 million            245,700             234,700 by Heaps' law with RCV1's 44 n^0.49
 *   of them seen once                   46 %                about half
 */
#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  N_STOP = 150,
  KNEE = 6000,
  TOPIC_WORDS = 250,
  TOPIC_RANKS = 60000,
  MIDDLE_RANKS = 20000,
  MAX_WORD = 16,
  MAX_LENGTH = 100000
};

static const double SHIFT = 0.8, SLOPE = 1.07, TAIL = 1.9, REPEATED = 0.08;

typedef struct settings {
  uint64_t n_documents, n_words, n_topics, seed, n_queries, n_terms, n_judged;
  double mean_length;
} settings;

/* Draws from any distribution in constant time (Walker's alias method). */
typedef struct alias {
  float *keep;
  uint32_t *other, n;
} alias;

typedef struct collection {
  settings s;
  alias language, places; /* ranks of words; places in a topic's list */
  uint32_t *topics;       /* [n_topics, TOPIC_WORDS] ranks */
} collection;

/* What a seeded generator is for: item numbers of different kinds never meet. */
enum { OF_DOCUMENT = 1, OF_TOPIC = 2, OF_QUERY = 3 };
static cq_random of(const collection *c, uint64_t kind, uint64_t item) {
  return cq_random_seeded(c->s.seed, kind << 56 | item);
}

static void *take(size_t n, size_t size) {
  void *p = cq_alloc_array_zeroed(n, size);
  if (!p) fprintf(stderr, "out of memory\n"), exit(1);
  return p;
}

static alias alias_new(const double *weights, uint32_t n) {
  alias a = {take(n, sizeof(float)), take(n, sizeof(uint32_t)), n};
  double *share = take(n, sizeof *share), sum = 0;
  uint32_t *poor = take(n, sizeof *poor), *rich = take(n, sizeof *rich), n_poor = 0, n_rich = 0;
  for (uint32_t i = 0; i < n; i++) sum += weights[i];
  for (uint32_t i = 0; i < n; i++) {
    share[i] = weights[i] / sum * n;
    if (share[i] < 1)
      poor[n_poor++] = i;
    else
      rich[n_rich++] = i;
    a.keep[i] = 1, a.other[i] = i;
  }
  while (n_poor > 0 && n_rich > 0) {
    const uint32_t p = poor[--n_poor], r = rich[n_rich - 1];
    a.keep[p] = (float)share[p], a.other[p] = r;
    share[r] -= 1 - share[p];
    if (share[r] < 1) poor[n_poor++] = r, n_rich--;
  }
  cq_free(share), cq_free(poor), cq_free(rich);
  return a;
}

static uint32_t alias_draw(const alias *a, cq_random *r) {
  const uint32_t i = (uint32_t)cq_random_below(r, a->n);
  return cq_random_uniform(r) < a->keep[i] ? i : a->other[i];
}

/* As many from every octave between two ranks. */
static uint32_t draw_rank(cq_random *r, double low, double high) {
  return (uint32_t)(low * pow(high / low, cq_random_uniform(r)));
}

static size_t spell(char *word, uint32_t rank) {
  static const char consonants[] = "bcdfghjklmnpqrstvwxz", vowels[] = "aeiou";
  const uint64_t more = cq_mix(rank + UINT64_C(0x9e3779b97f4a7c15));
  size_t n = 0;
  for (uint32_t left = rank + 1; left > 0;
       left = (left - 1) / 100) { /* bijective numeration: nothing is spelled twice */
    word[n++] = consonants[(left - 1) % 100 / 5];
    word[n++] = vowels[(left - 1) % 5];
  }
  if (more % 4) word[n++] = consonants[more / 4 % 20];
  return n;
}

static void open_collection(collection *c) {
  double *weights = take(c->s.n_words, sizeof *weights);
  for (uint64_t i = 0; i < c->s.n_words; i++) {
    const double rank = (double)(i + 1);
    weights[i] = pow(fmin(rank, KNEE) + SHIFT, -SLOPE) * (rank <= KNEE ? 1 : pow(rank / KNEE, -TAIL));
  }
  c->language = alias_new(weights, (uint32_t)c->s.n_words);
  for (int i = 0; i < TOPIC_WORDS; i++) weights[i] = 1.0 / (i + 10);
  c->places = alias_new(weights, TOPIC_WORDS);
  cq_free(weights);
  c->topics = take(c->s.n_topics * TOPIC_WORDS, sizeof *c->topics);
  for (uint64_t t = 0; t < c->s.n_topics; t++) {
    cq_random r = of(c, OF_TOPIC, t);
    for (int i = 0; i < TOPIC_WORDS; i++) c->topics[t * TOPIC_WORDS + (uint64_t)i] = draw_rank(&r, N_STOP, TOPIC_RANKS);
  }
}

static uint32_t draw_topical(const collection *c, uint64_t topic, cq_random *r) {
  return c->topics[topic * TOPIC_WORDS + alias_draw(&c->places, r)];
}

static void figure(const char *name, double value) {
  fprintf(stderr, "%s\t%.6g\n", name, value);
}

static int write_documents(const collection *c) {
  uint32_t *count = take(c->s.n_words, sizeof *count); /* times seen */
  uint32_t *words = take(MAX_LENGTH, sizeof *words);   /* the document's so far */
  uint64_t *last = take(c->s.n_words, sizeof *last);   /* document last seen in */
  uint64_t n_tokens = 0, n_types = 0, n_postings = 0, n_letters = 0, n_once = 0;
  const double sigma = 0.6, mu = log(c->s.mean_length) - sigma * sigma / 2;
  for (uint64_t d = 1; d <= c->s.n_documents; d++) {
    cq_random r = of(c, OF_DOCUMENT, d);
    const uint64_t topic = cq_random_below(&r, c->s.n_topics), second = cq_random_below(&r, c->s.n_topics);
    const double topical = 0.05 + 0.3 * cq_random_uniform(&r);
    uint64_t length = 1 + (uint64_t)exp(mu + sigma * cq_random_normal(&r));
    length = length < MAX_LENGTH ? length : MAX_LENGTH;
    printf("<DOC>\n<DOCNO>d%llu</DOCNO>\n<TEXT>", (unsigned long long)d);
    for (uint64_t i = 0; i < length; i++) {
      const double from = cq_random_uniform(&r) / topical;
      const uint32_t rank = i > 0 && cq_random_uniform(&r) < REPEATED ? words[cq_random_below(&r, i)]
                            : from >= 1                               ? alias_draw(&c->language, &r)
                                        : draw_topical(c, from < 0.25 ? second : topic, &r);
      words[i] = rank;
      char word[MAX_WORD];
      const size_t n = spell(word, rank);
      putchar(i % 12 ? ' ' : '\n');
      fwrite(word, 1, n, stdout);
      n_letters += n;
      n_types += count[rank]++ == 0;
      n_postings += last[rank] != d;
      last[rank] = d;
      if (++n_tokens == 1000000) figure("distinct words in the first million", (double)n_types);
    }
    printf("\n</TEXT>\n</DOC>\n");
  }
  uint32_t max = 0;
  for (uint64_t i = 0; i < c->s.n_words; i++) {
    n_once += count[i] == 1;
    max = count[i] > max ? count[i] : max;
  }
  figure("documents", (double)c->s.n_documents);
  figure("words", (double)n_tokens);
  figure("distinct words", (double)n_types);
  figure("of them seen once, %", 100 * (double)n_once / (double)n_types);
  figure("most frequent word, %", 100 * (double)max / (double)n_tokens);
  figure("letters a word", (double)n_letters / (double)n_tokens);
  figure("postings", (double)n_postings);
  figure("distinct words a document", (double)n_postings / (double)c->s.n_documents);
  cq_free(count), cq_free(words), cq_free(last);
  return 0;
}

static uint64_t topic_of(const collection *c, uint64_t query) {
  return cq_mix(query) % c->s.n_topics;
}

static int write_queries(const collection *c) {
  uint64_t *used = take(c->s.n_words, sizeof *used);
  for (uint64_t q = 1; q <= c->s.n_queries; q++) {
    cq_random r = of(c, OF_QUERY, q);
    printf("q%llu\t", (unsigned long long)q);
    for (uint64_t n = 0; n < c->s.n_terms;) {
      const bool topical = n % 3 != 2;
      const uint32_t rank = topical ? draw_topical(c, topic_of(c, q), &r) : draw_rank(&r, N_STOP, MIDDLE_RANKS);
      char word[MAX_WORD];
      if (used[rank] == q) continue;
      used[rank] = q;
      if (n++) putchar(' ');
      fwrite(word, 1, spell(word, rank), stdout);
    }
    putchar('\n');
  }
  cq_free(used);
  return 0;
}

static int write_qrels(const collection *c) {
  for (uint64_t q = 1; q <= c->s.n_judged; q++)
    for (uint64_t d = 1; d <= c->s.n_documents; d++) {
      cq_random r = of(c, OF_DOCUMENT, d);
      if (cq_random_below(&r, c->s.n_topics) == topic_of(c, q))
        printf("q%llu 0 d%llu 1\n", (unsigned long long)q, (unsigned long long)d);
    }
  return 0;
}

static bool read_settings(settings *s, int argc, char **argv) {
  const struct {
    const char *name;
    uint64_t *value, min, max;
  } options[] = {
      {"--documents", &s->n_documents, 1, UINT32_MAX}, {"--vocabulary", &s->n_words, TOPIC_RANKS, 100000000},
      {"--topics", &s->n_topics, 1, 1000000},          {"--seed", &s->seed, 0, UINT64_MAX},
      {"--queries", &s->n_queries, 1, UINT32_MAX},     {"--qrels", &s->n_judged, 1, UINT32_MAX},
      {"--terms", &s->n_terms, 1, TOPIC_WORDS / 2},
  };
  for (int i = 1; i < argc; i += 2) {
    bool known = false;
    char *end = argv[i];
    if (i + 1 == argc) return false;
    if (strcmp(argv[i], "--length") == 0) s->mean_length = strtod(argv[i + 1], &end), known = s->mean_length >= 1;
    for (size_t o = 0; o < sizeof options / sizeof *options; o++)
      if (strcmp(argv[i], options[o].name) == 0) {
        *options[o].value = strtoull(argv[i + 1], &end, 10);
        known = *options[o].value >= options[o].min && *options[o].value <= options[o].max;
      }
    if (!known || *end || end == argv[i + 1]) return false;
  }
  return true;
}

int main(int argc, char **argv) {
  collection c = {
      .s = {.n_documents = 200000, .n_words = 2000000, .n_topics = 500, .seed = 1, .n_terms = 75, .mean_length = 200}};
  if (!read_settings(&c.s, argc, argv))
    return fprintf(
               stderr,
               "usage: bench_zipf_collection [--queries Q [--terms L] | --qrels Q] [--documents N] [--vocabulary V]\n"
               "                       [--topics T] [--length WORDS] [--seed S]\n"),
           2;
  open_collection(&c);
  int code = c.s.n_queries ? write_queries(&c) : c.s.n_judged ? write_qrels(&c) : write_documents(&c);
  cq_free(c.language.keep), cq_free(c.language.other);
  cq_free(c.places.keep), cq_free(c.places.other);
  cq_free(c.topics);
  if (fflush(stdout) || ferror(stdout)) return perror("standard output"), 1;
  return code;
}
