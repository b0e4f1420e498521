/* Language identification: trains the model that the library carries, and measures it.
 *
 *   bench_language_model train OUT TEXT            TEXT: a language's code, a tab and a sentence a line
 *   bench_language_model measure TEXT...           several codes with commas between: all of them are right
 *
 * scripts/make-language-model calls the first. For each script that several languages share, a multinomial logistic
 * regression on the n-grams of text/ngrams.h, x = 1 / sqrt(number of n-grams):
 *
 *   n-grams of two sentences or more ──AdaGrad──▶ weights ──the most useful──▶ AdaGrad again ──▶ 8 bits
 *
 * How useful an n-gram is: the standard deviation of its weights over the languages times the root of the number of its
 * sentences. Every language is seen as often in an epoch, as far as repeating its sentences MAX_REPEATS times goes;
 * half of the long sentences are seen in part only, so that short texts are learned, too. One thread; the same text
 * gives the same bytes. */
#include "text/language_model.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/utf8.h"
#include "calque/language.h"
#include "text/ngrams.h"
#include "text/script.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  EPOCHS = 12,
  EPOCHS_AGAIN = 6,
  MAX_SENTENCES = 10000, /* of a language */
  MAX_REPEATS = 8,
  MIN_SENTENCES = 2, /* that have an n-gram */
  MAX_NGRAMS = 60000,
  NGRAMS_A_LANGUAGE = 5000, /* of a script with few languages */
  LONG = 60,
  PART = 40 /* n-grams of a long sentence, and of its smallest part */
};
static const float rate = 0.5f, decay = 1e-5f, smoothing = 1e-3f;

/* Languages that are alone with their script, as far as this model goes; text of them is not needed. */
static const struct {
  uint32_t letter;
  const char *code;
} alone[] = {{0x3B1, "el"}, {0x5D0, "he"}, {0x10D0, "ka"}, {0xAC00, "ko"}, {0xE01, "th"}, {0x995, "bn"},
             {0x561, "hy"}, {0xB95, "ta"}, {0xC15, "te"},  {0xC95, "kn"},  {0xD15, "ml"}, {0xA95, "gu"},
             {0xA15, "pa"}, {0xB15, "or"}, {0xD9A, "si"},  {0xE81, "lo"},  {0x1780, "km"}};
enum { N_ALONE = sizeof alone / sizeof *alone };

static void die(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static void *must(void *p) {
  if (!p) die("out of memory");
  return p;
}

/* --- the text --- */

typedef struct sentence {
  cq_slice text, codes;
  int language, script;
} sentence;

typedef struct corpus {
  cq_slice bytes;
  sentence *items;
  size_t n;
  char codes[CQ_LANGUAGES_MAX][CQ_LANGUAGE_CODE];
  int script[CQ_LANGUAGES_MAX]; /* of most of its sentences */
  int n_languages;
} corpus;

static int language_of(corpus *c, cq_slice code) {
  for (int l = 0; l < c->n_languages; l++)
    if (strlen(c->codes[l]) == code.n && !memcmp(c->codes[l], code.data, code.n)) return l;
  if (c->n_languages == CQ_LANGUAGES_MAX || code.n >= CQ_LANGUAGE_CODE || !code.n) die("not a code, or too many");
  memcpy(c->codes[c->n_languages], code.data, code.n);
  return c->n_languages++;
}

static void read_corpus(corpus *c, const char *path) {
  cq_error error = {0};
  if (cq_file_read(&c->bytes, path, &error)) die(error.message);
  size_t room = 0;
  for (const char *at = c->bytes.data, *end = at + c->bytes.n; at < end;) {
    const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
    const char *tab = memchr(at, '\t', (size_t)(stop - at));
    if (!tab) die("a line without a tab");
    if (c->n == room) c->items = must(realloc(c->items, (room = room ? 2 * room : 4096) * sizeof *c->items));
    const char *comma = memchr(at, ',', (size_t)(tab - at));
    sentence *s = &c->items[c->n++];
    *s = (sentence){.text = {tab + 1, (size_t)(stop - tab - 1)}, .codes = {at, (size_t)(tab - at)}};
    s->language = language_of(c, (cq_slice){at, (size_t)((comma ? comma : tab) - at)});
    s->script = cq_ngram_script(s->text);
    at = stop + 1;
  }
  for (int l = 0; l < c->n_languages; l++) {
    size_t counts[CQ_N_SCRIPTS] = {0}, most = 0;
    for (size_t i = 0; i < c->n; i++)
      if (c->items[i].language == l && c->items[i].script && ++counts[c->items[i].script] > most)
        most = counts[c->script[l] = c->items[i].script];
  }
}

/* --- the n-grams of a script's sentences --- */

typedef struct example {
  int language;
  size_t begin, n; /* of ids */
} example;

typedef struct ngrams {
  uint32_t *keys, *values; /* a hash table */
  uint32_t mask;
  uint32_t n;
  uint32_t *hashes, *n_sentences; /* [n] */
  uint32_t *ids;                  /* of all examples */
  size_t n_ids;
  example *examples;
  size_t n_examples;
} ngrams;

static uint32_t *slot_of(ngrams *g, uint32_t hash) {
  uint32_t i = hash & g->mask;
  while (g->keys[i] && g->keys[i] != hash) i = (i + 1) & g->mask;
  return &g->values[i];
}

static void count_ngrams(ngrams *g, const corpus *c, int script, const int *of_script) {
  size_t room = 0, n_seen[CQ_LANGUAGES_MAX] = {0};
  g->mask = (1u << 23) - 1;
  g->keys = must(calloc(g->mask + 1, sizeof *g->keys)), g->values = must(calloc(g->mask + 1, sizeof *g->values));
  g->examples = must(calloc(c->n, sizeof *g->examples));
  uint32_t *last = must(calloc(g->mask + 1, sizeof *last)), n_keys = 0;
  for (size_t i = 0; i < c->n; i++) {
    const sentence *s = &c->items[i];
    if (s->script != script || c->script[s->language] != script || n_seen[s->language]++ >= MAX_SENTENCES) continue;
    example *e = &g->examples[g->n_examples++];
    *e = (example){.language = of_script[s->language], .begin = g->n_ids};
    cq_ngram_words words = {.text = s->text, .script = script};
    while (cq_ngram_next(&words)) {
      if (g->n_ids + CQ_NGRAM_HASHES > room)
        g->ids = must(realloc(g->ids, (room = 2 * room + ((size_t)1 << 20)) * sizeof *g->ids));
      const size_t n = cq_ngram_hashes(g->ids + g->n_ids, &words);
      for (size_t k = 0; k < n; k++) {
        const uint32_t hash = g->ids[g->n_ids + k];
        uint32_t *count = slot_of(g, hash);
        if (!g->keys[count - g->values]) {
          if (++n_keys > g->mask / 4 * 3) die("more n-grams than expected");
          g->keys[count - g->values] = hash;
        }
        if (last[count - g->values] == g->n_examples) continue;
        last[count - g->values] = (uint32_t)g->n_examples;
        ++*count;
      }
      g->n_ids += n;
    }
    e->n = g->n_ids - e->begin;
  }
  free(last);
}

/* Keeps the n-grams for which keep says so, and gives them new numbers. map[old] is UINT32_MAX for the others. */
static void renumber(ngrams *g, const uint32_t *map) {
  size_t n = 0;
  for (size_t i = 0; i < g->n_examples; i++) {
    example *e = &g->examples[i];
    const size_t begin = n;
    for (size_t k = e->begin; k < e->begin + e->n; k++)
      if (map[g->ids[k]] != UINT32_MAX) g->ids[n++] = map[g->ids[k]];
    e->begin = begin, e->n = n - begin;
  }
  uint32_t n_kept = 0;
  for (uint32_t i = 0; i < g->n; i++)
    if (map[i] != UINT32_MAX) {
      assert(map[i] == n_kept);
      g->hashes[n_kept] = g->hashes[i], g->n_sentences[n_kept++] = g->n_sentences[i];
    }
  g->n = n_kept, g->n_ids = n;
}

/* From hashes to numbers, in the order of hashes: a model file has them so. */
static int compare_hashes(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static void number_ngrams(ngrams *g) {
  g->hashes = must(malloc((g->mask + 1) * sizeof *g->hashes));
  g->n_sentences = must(malloc((g->mask + 1) * sizeof *g->n_sentences));
  for (uint32_t i = 0; i <= g->mask; i++)
    if (g->keys[i]) g->hashes[g->n++] = g->keys[i];
  qsort(g->hashes, g->n, sizeof *g->hashes, compare_hashes);
  uint32_t *map = must(malloc(g->n * sizeof *map)), n_kept = 0;
  for (uint32_t i = 0; i < g->n; i++) {
    uint32_t *value = slot_of(g, g->hashes[i]);
    g->n_sentences[i] = *value, *value = i;
    map[i] = g->n_sentences[i] >= MIN_SENTENCES ? n_kept++ : UINT32_MAX;
  }
  for (size_t i = 0; i < g->n_ids; i++) g->ids[i] = *slot_of(g, g->ids[i]);
  renumber(g, map);
  free(map), free(g->keys), free(g->values);
}

/* --- the regression --- */

typedef struct regression {
  float *weights, *squares; /* [n_ngrams, n_languages]; sums of squared gradients */
  float bias[CQ_LANGUAGES_MAX];
  int n_languages;
} regression;

static double learn(regression *r, const uint32_t *ids, size_t n, int language, float step) {
  float p[CQ_LANGUAGES_MAX] = {0}, total = 0, max;
  const int L = r->n_languages;
  const float x = 1 / sqrtf((float)n);
  for (size_t i = 0; i < n; i++) {
    const float *w = r->weights + (size_t)ids[i] * (size_t)L;
    for (int l = 0; l < L; l++) p[l] += w[l];
  }
  max = p[0] * x;
  for (int l = 0; l < L; l++) max = fmaxf(max, p[l] *= x);
  for (int l = 0; l < L; l++) total += p[l] = expf(p[l] - max);
  for (int l = 0; l < L; l++) p[l] /= total;
  const double loss = -log(fmax(p[language], 1e-12));
  p[language] -= 1;
  for (size_t i = 0; i < n; i++) {
    float *w = r->weights + (size_t)ids[i] * (size_t)L, *s = r->squares + (size_t)ids[i] * (size_t)L;
    for (int l = 0; l < L; l++) {
      const float d = p[l] * x + decay * w[l];
      s[l] += d * d;
      w[l] -= step * d / sqrtf(s[l] + smoothing);
    }
  }
  return loss;
}

static void train(regression *r, const ngrams *g, int n_epochs) {
  size_t counts[CQ_LANGUAGES_MAX] = {0};
  cq_random random = cq_random_seeded(1, 0);
  uint32_t *order = must(malloc((size_t)(MAX_REPEATS + 1) * g->n_examples * sizeof *order));
  for (size_t i = 0; i < g->n_examples; i++) counts[g->examples[i].language]++;
  memset(r->squares, 0, (size_t)g->n * (size_t)r->n_languages * sizeof(float));
  for (int epoch = 0; epoch < n_epochs; epoch++) {
    size_t n = 0;
    double loss = 0;
    for (size_t i = 0; i < g->n_examples; i++) {
      const double repeats = (double)g->n_examples / r->n_languages / (double)counts[g->examples[i].language];
      const double times = fmin(repeats, MAX_REPEATS);
      int k = (int)times;
      k += (double)cq_random_below(&random, 1 << 20) < (times - k) * (1 << 20);
      while (k-- > 0) order[n++] = (uint32_t)i;
    }
    cq_random_shuffle(&random, order, n);
    for (size_t i = 0; i < n; i++) {
      const example *e = &g->examples[order[i]];
      size_t begin = e->begin, length = e->n;
      if (length > LONG && cq_random_below(&random, 2)) {
        length = PART + cq_random_below(&random, length - PART);
        begin += cq_random_below(&random, e->n - length + 1);
      }
      const double done = (epoch + (double)i / (double)n) / n_epochs;
      if (length) loss += learn(r, g->ids + begin, length, e->language, rate * (float)(1 - done) + 1e-4f);
    }
    fprintf(stderr, "  epoch %d: loss %.4f\n", epoch + 1, loss / (double)(n ? n : 1));
  }
  free(order);
}

static int compare_scores(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x < y) - (x > y);
}

/* Leaves the most useful n-grams. */
static void prune(regression *r, ngrams *g, size_t n_max) {
  if (g->n <= n_max) return;
  const size_t L = (size_t)r->n_languages;
  float *scores = must(malloc(2 * g->n * sizeof *scores)), *sorted = scores + g->n;
  uint32_t *map = must(malloc(g->n * sizeof *map)), n_kept = 0;
  for (size_t i = 0; i < g->n; i++) {
    const float *w = r->weights + i * L;
    float mean = 0, variance = 0;
    for (size_t l = 0; l < L; l++) mean += w[l] / (float)L;
    for (size_t l = 0; l < L; l++) variance += (w[l] - mean) * (w[l] - mean);
    sorted[i] = scores[i] = sqrtf((float)g->n_sentences[i] * variance);
  }
  qsort(sorted, g->n, sizeof *sorted, compare_scores);
  for (size_t i = 0; i < g->n; i++) {
    map[i] = scores[i] > sorted[n_max] ? n_kept++ : UINT32_MAX;
    if (map[i] != UINT32_MAX) memmove(r->weights + map[i] * L, r->weights + i * L, L * sizeof(float));
  }
  renumber(g, map);
  free(scores), free(map);
}

/* --- the file --- */

static void put(FILE *out, const void *bytes, size_t n, size_t unit) {
  static const char zeros[4];
  if (fwrite(bytes, 1, n, out) != n || fwrite(zeros, 1, unit ? (unit - n % unit) % unit : 0, out) > 3)
    die("cannot write the model");
}

static void write_script(FILE *out, int script, const ngrams *g, const regression *r,
                         const char (*codes)[CQ_LANGUAGE_CODE]) {
  const size_t L = (size_t)r->n_languages, n = g->n * L;
  cq_language_script head = {(uint32_t)script, (uint32_t)L, g->n, 1, 0};
  while ((4u << head.bits) < g->n) head.bits++;
  float max = 0;
  for (size_t i = 0; i < n; i++) max = fmaxf(max, fabsf(r->weights[i]));
  head.scale = max / 127;
  put(out, &head, sizeof head, 0);
  put(out, codes, L * CQ_LANGUAGE_CODE, 0);
  put(out, r->bias, L * sizeof(float), 0);
  if (!g->n) return;
  uint16_t *tags = must(malloc(g->n * sizeof *tags));
  int8_t *weights = must(malloc(n));
  for (uint32_t b = 0, i = 0; b <= 1u << head.bits; b++) { /* hashes are in order */
    while (i < g->n && (uint64_t)g->hashes[i] << head.bits >> 32 < b) i++;
    put(out, &i, sizeof i, 0);
  }
  for (size_t i = 0; i < g->n; i++) tags[i] = (uint16_t)g->hashes[i];
  for (size_t i = 0; i < n; i++) weights[i] = (int8_t)lrintf(r->weights[i] / head.scale);
  put(out, tags, g->n * sizeof *tags, 4);
  put(out, weights, n, 4);
  free(tags), free(weights);
}

static void make_script(FILE *out, const corpus *c, int script) {
  char codes[CQ_LANGUAGES_MAX][CQ_LANGUAGE_CODE] = {0};
  int of_script[CQ_LANGUAGES_MAX] = {0};
  regression r = {0};
  ngrams g = {0};
  for (int l = 0; l < c->n_languages; l++)
    if (c->script[l] == script) {
      memcpy(codes[r.n_languages], c->codes[l], CQ_LANGUAGE_CODE);
      of_script[l] = r.n_languages++;
    }
  count_ngrams(&g, c, script, of_script);
  number_ngrams(&g);
  fprintf(stderr, "%s: %d languages, %zu sentences, %u n-grams\n", cq_script_name(script), r.n_languages, g.n_examples,
          g.n);
  r.weights = must(calloc((size_t)g.n * (size_t)r.n_languages, sizeof(float)));
  r.squares = must(calloc((size_t)g.n * (size_t)r.n_languages, sizeof(float)));
  train(&r, &g, EPOCHS);
  const size_t n_max = (size_t)r.n_languages * NGRAMS_A_LANGUAGE;
  prune(&r, &g, n_max < MAX_NGRAMS ? n_max : MAX_NGRAMS);
  train(&r, &g, EPOCHS_AGAIN);
  write_script(out, script, &g, &r, (const char(*)[CQ_LANGUAGE_CODE])codes);
  free(r.weights), free(r.squares), free(g.hashes), free(g.n_sentences), free(g.ids), free(g.examples);
}

static int train_model(const char *path, const char *text) {
  corpus c = {0};
  uint32_t n_scripts = N_ALONE, n_languages[CQ_N_SCRIPTS] = {0};
  read_corpus(&c, text);
  for (int l = 0; l < c.n_languages; l++) n_scripts += ++n_languages[c.script[l]] == 2;
  FILE *out = must(fopen(path, "wb"));
  put(out, CQ_LANGUAGE_MAGIC, sizeof CQ_LANGUAGE_MAGIC - 1, 0);
  put(out, &n_scripts, sizeof n_scripts, 0);
  for (int script = 1; script < CQ_N_SCRIPTS; script++)
    if (n_languages[script] > 1) make_script(out, &c, script);
  for (size_t i = 0; i < N_ALONE; i++) {
    char code[1][CQ_LANGUAGE_CODE] = {{0}};
    strcpy(code[0], alone[i].code);
    const int script = cq_char_script(alone[i].letter);
    if (n_languages[script] > 1) die("a script of several languages is among those of one");
    write_script(out, script, &(ngrams){0}, &(regression){.n_languages = 1}, (const char(*)[CQ_LANGUAGE_CODE])code);
  }
  if (fclose(out)) die("cannot write the model");
  free(c.items), cq_free((void *)c.bytes.data);
  return 0;
}

/* --- measuring --- */

static bool is_among(cq_slice codes, const char *code) {
  const size_t n = strlen(code);
  for (size_t i = 0; i + n <= codes.n; i++)
    if (!memcmp(codes.data + i, code, n) && (!i || codes.data[i - 1] == ',') &&
        (i + n == codes.n || codes.data[i + n] == ','))
      return true;
  return false;
}

typedef struct tally {
  size_t n, n_right, n_first; /* n_first: the first code alone is right */
} tally;

static void count(tally *t, bool right, bool first) {
  t->n++, t->n_right += right, t->n_first += first;
}

static void print_tally(const char *name, const tally *t) {
  if (t->n)
    printf("%-14s %7zu %8.2f %8.2f\n", name, t->n, 100. * (double)t->n_right / (double)t->n,
           100. * (double)t->n_first / (double)t->n);
}

static void print_confusions(const corpus *c, int l, const char *const *guesses, const bool *counted) {
  char names[CQ_LANGUAGES_MAX][CQ_LANGUAGE_CODE];
  size_t counts[CQ_LANGUAGES_MAX] = {0}, n = 0;
  for (size_t i = 0; i < c->n; i++) {
    size_t k = 0;
    if (c->items[i].language != l || !counted[i] || is_among(c->items[i].codes, guesses[i])) continue;
    while (k < n && strcmp(names[k], guesses[i])) k++;
    if (k == n) snprintf(names[n++], CQ_LANGUAGE_CODE, "%s", guesses[i]);
    counts[k]++;
  }
  for (size_t k = 0; k < n; k++)
    if (counts[k] > 2) printf("    %s as %s: %zu\n", c->codes[l], names[k], counts[k]);
}

static void measure(const char *path) {
  enum { SHORT = 20, BINS = 10 };
  corpus c = {0};
  tally all[2] = {0}, of[CQ_LANGUAGES_MAX] = {0}, bins[BINS + 1] = {0};
  read_corpus(&c, path);
  const char **guesses = must(malloc(c.n * sizeof *guesses));
  bool *is_long = must(malloc(c.n));
  double seconds = INFINITY;
  size_t n_bytes = 0;
  for (int round = 0; round < 3; round++) {
    const double start = cq_seconds(CLOCK_PROCESS_CPUTIME_ID);
    n_bytes = 0;
    for (size_t i = 0; i < c.n; i++) {
      guesses[i] = cq_language_identify(c.items[i].text).code;
      n_bytes += c.items[i].text.n;
    }
    seconds = fmin(seconds, cq_seconds(CLOCK_PROCESS_CPUTIME_ID) - start);
  }
  for (size_t i = 0; i < c.n; i++) {
    const sentence *s = &c.items[i];
    const bool right = is_among(s->codes, guesses[i]), first = !strcmp(c.codes[s->language], guesses[i]);
    is_long[i] = cq_utf8_length(s->text.data, s->text.n) >= SHORT;
    count(&all[is_long[i]], right, first);
    if (is_long[i]) count(&of[s->language], right, first);
    count(&bins[(int)(cq_language_identify(s->text).probability * BINS)], right, first);
  }
  printf("%s: %.1f MB/s\nsentences            n    right  1st code\n", path, (double)n_bytes / seconds / 1e6);
  print_tally("20+ characters", &all[1]);
  print_tally("shorter", &all[0]);
  for (int l = 0; l < c.n_languages; l++) {
    print_tally(c.codes[l], &of[l]);
    print_confusions(&c, l, guesses, is_long);
  }
  for (int b = 0; b <= BINS; b++) {
    char name[32];
    snprintf(name, sizeof name, "p %.1f-%.1f", b / (double)BINS, fmin(1, (b + 1) / (double)BINS));
    print_tally(name, &bins[b]);
  }
  free(guesses), free(is_long), free(c.items), cq_free((void *)c.bytes.data);
}

int main(int argc, char **argv) {
  if (argc == 4 && !strcmp(argv[1], "train")) return train_model(argv[2], argv[3]);
  if (argc < 3 || strcmp(argv[1], "measure") != 0)
    return fprintf(stderr, "usage: bench_language_model train OUT TEXT | measure TEXT...\n"), 2;
  for (int i = 2; i < argc; i++) measure(argv[i]);
  return 0;
}
