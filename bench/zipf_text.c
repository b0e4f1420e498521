/* Writes a made-up text for timing and judging word vectors: one document a line, words separated by single blanks.
 *
 *   bench_zipf_text [TOKENS [WORDS [TOPICS [SEED [KEY]]]]] > TEXT        5000000 100000 50 1
 *
 * Word r (1, 2, ...) has the frequency 1 / (r + 2.7) of Zipf and Mandelbrot. The first 100 are general, like "the"
 * and "of"; of the others every second one is, and the rest are dealt to the topics:
 *
 *   rank       1 .. 100   101   102   103   104   105   106 ...
 *   belongs to general     -     0     -     1     -     2  ... T-1, T-1 ... 1, 0, 0, 1 ...   to and fro: equal shares
 *
 * A document has 150 to 450 tokens (300 on average, the last what is left) and one topic. Where a topical word is due
 * it is one of that topic's, so that over the whole text every word keeps its frequency, and words of a topic are
 * found together. A vector learned well is nearest to its own topic's; KEY, a file to write, says whose each word is:
 * word TAB topic, or "-".
 *
 * Words are spelled in syllables, the frequent ones short. Document d depends on the seed and d alone. */
#include "base/random.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_HEAD = 100, N_SYLLABLES = 100, MAX_SPELLING = 24 };

/* Words that one draw chooses from, by the cumulative sum of their frequencies. */
typedef struct urn {
  uint32_t *rank; /* [n], from 0 */
  double *sum;    /* [n] */
  size_t n;
} urn;

static void *allocated(size_t n, size_t size) {
  void *p = calloc(n, size);
  if (!p) {
    fprintf(stderr, "out of memory\n");
    exit(1);
  }
  return p;
}

static urn urn_made(size_t capacity) {
  return (urn){.rank = allocated(capacity, sizeof(uint32_t)), .sum = allocated(capacity, sizeof(double))};
}

static void urn_add(urn *u, size_t rank) {
  const double before = u->n ? u->sum[u->n - 1] : 0;
  u->rank[u->n] = (uint32_t)rank;
  u->sum[u->n++] = before + 1.0 / ((double)rank + 3.7);
}

static double urn_mass(const urn *u) {
  return u->n ? u->sum[u->n - 1] : 0;
}

static size_t urn_draw(const urn *u, cq_random *random) {
  const double x = cq_random_uniform(random) * urn_mass(u);
  size_t low = 0, high = u->n - 1;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (u->sum[middle] > x)
      high = middle;
    else
      low = middle + 1;
  }
  return u->rank[low];
}

static void urn_free(urn *u) {
  free(u->rank);
  free(u->sum);
}

/* The topic of a rank, or n_topics where the word is general. */
static size_t owner(size_t rank, size_t n_topics) {
  if (rank < N_HEAD || (rank - N_HEAD) % 2 == 0) return n_topics;
  const size_t turn = (rank - N_HEAD) / 2, place = turn % n_topics;
  return turn / n_topics % 2 ? n_topics - 1 - place : place;
}

/* The rank in syllables: a number to the base 100 that has no zero, so that no two words are spelled alike. */
static const char *spelled(char buffer[MAX_SPELLING], size_t rank) {
  static const char consonants[] = "bcdfghjklmnpqrstvwxz", vowels[] = "aeiou";
  char *at = buffer + MAX_SPELLING - 1;
  *at = 0;
  for (size_t left = rank + 1; left; left = (left - 1) / N_SYLLABLES) {
    const size_t syllable = (left - 1) % N_SYLLABLES;
    *--at = vowels[syllable % 5];
    *--at = consonants[syllable / 5];
  }
  return at;
}

static size_t number(int argc, char **argv, int i, size_t otherwise) {
  return argc > i ? (size_t)strtoull(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv) {
  const size_t n_tokens = number(argc, argv, 1, 5000000), n_words = number(argc, argv, 2, 100000);
  const size_t n_topics = number(argc, argv, 3, 50);
  const uint64_t seed = number(argc, argv, 4, 1);
  if (argc > 6 || !n_topics || n_words < N_HEAD + 2 * n_topics || n_words > UINT32_MAX)
    return fprintf(stderr,
                   "usage: bench_zipf_text [TOKENS [WORDS [TOPICS [SEED [KEY]]]]], WORDS at least 100 + 2 TOPICS\n"),
           2;
  char buffer[MAX_SPELLING];
  urn *urns = allocated(n_topics + 1, sizeof *urns); /* the last one: general words */
  for (size_t t = 0; t <= n_topics; t++)
    urns[t] = urn_made(t < n_topics ? n_words / (2 * n_topics) + 2 : N_HEAD + n_words / 2 + 1);
  for (size_t rank = 0; rank < n_words; rank++) urn_add(&urns[owner(rank, n_topics)], rank);
  double mass = 0;
  for (size_t t = 0; t <= n_topics; t++) mass += urn_mass(&urns[t]);
  const double general = urn_mass(&urns[n_topics]) / mass;

  if (argc > 5) {
    FILE *key = fopen(argv[5], "w");
    if (!key) return perror(argv[5]), 1;
    for (size_t rank = 0; rank < n_words; rank++) {
      const size_t topic = owner(rank, n_topics);
      fprintf(key, topic < n_topics ? "%s\t%zu\n" : "%s\t-\n", spelled(buffer, rank), topic);
    }
    if (fclose(key)) return perror(argv[5]), 1;
  }
  for (size_t written = 0, document = 0; written < n_tokens; document++) {
    cq_random random = cq_random_seeded(seed, document);
    const size_t topic = (size_t)cq_random_below(&random, n_topics);
    size_t length = 150 + (size_t)cq_random_below(&random, 301);
    if (length > n_tokens - written) length = n_tokens - written;
    for (size_t i = 0; i < length; i++) {
      const urn *from = &urns[cq_random_uniform(&random) < general ? n_topics : topic];
      fputs(spelled(buffer, urn_draw(from, &random)), stdout);
      putchar(i + 1 < length ? ' ' : '\n');
    }
    written += length;
  }
  for (size_t t = 0; t <= n_topics; t++) urn_free(&urns[t]);
  free(urns);
  return fflush(stdout) || ferror(stdout) ? (perror("standard output"), 1) : 0;
}
