/* Language identification: trains the model that the library carries, and measures it.
 *
 *   bench_language_model train OUT TEXT            TEXT: a language's code, a tab and a sentence a line
 *   bench_language_model measure TEXT...           several codes with commas between: all of them are right
 *
 * scripts/make-language-model calls the first. For each script that several languages share, a multinomial logistic
 * regression on the n-grams of text/ngrams.h, x = 1 / sqrt(number of n-grams). An n-gram has weights for the languages
 * that have it in two sentences or more, and of these the most useful ones:
 *
 *   logarithm of how often a language has it, by the mean ──AdaGrad──▶ weights ──the most useful──▶ AdaGrad ──▶ 8 bits
 *
 * How useful a weight is: its square times the number of sentences that have the n-gram. A language with little text is
 * seen more often than its sentences are many (BALANCE), as far as repeating them MAX_REPEATS times goes; half of the
 * long sentences are seen in part only, so that short texts are learned, too. One thread; the same text gives the same
 * bytes. */
#include "text/language_model.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/utf8.h"
#include "calque/language.h"
#include "must.h"
#include "text/ngrams.h"
#include "text/script.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  TABLE = 1 << 25,
  EPOCHS = 1,
  EPOCHS_AGAIN = 3,
  MAX_REPEATS = 8,
  MIN_SENTENCES = 2,        /* of a language that have an n-gram */
  BYTES_A_LANGUAGE = 31000, /* of the model */
  NGRAM_BYTES = 6,          /* in the model, with its share of the starts */
  FIRST = 3,                /* times as large is what is trained first */
  MANY = 16,                /* languages of an n-gram: it has no weights up to MIN_WEIGHT, of 127, which cost time */
  MIN_WEIGHT = 16,
  LONG = 60,
  PART = 40 /* n-grams of a long sentence, and of its smallest part */
};
#define BALANCE 0.5
/* What makes the probabilities of held-out text right: the regression is too cautious after few epochs. */
static const float sharpness = 1.75f, prior = 1;
static const float rate = 0.5f, smoothing = 1e-3f, initial = 0.6f, NO_GRADIENT = 1e-3f, MIN_INITIAL = 0.22f;

/* Languages that have a script to themselves, as far as this model goes, if there is no text of another one. */
static const struct {
  uint32_t letter;
  const char *code;
} alone[] = {{0x3B1, "el"},  {0x5D0, "he"},  {0x10D0, "ka"},  {0xAC00, "ko"},  {0xE01, "th"},  {0x995, "bn"},
             {0x561, "hy"},  {0xB95, "ta"},  {0xC15, "te"},   {0xC95, "kn"},   {0xD15, "ml"},  {0xA95, "gu"},
             {0xA15, "pa"},  {0xB15, "or"},  {0xD9A, "si"},   {0xE81, "lo"},   {0x1780, "km"}, {0x1000, "my"},
             {0x1208, "am"}, {0xF40, "bo"},  {0x780, "dv"},   {0x13A0, "chr"}, {0x1401, "iu"}, {0x1C50, "sat"},
             {0x7CA, "nqo"}, {0xA000, "ii"}, {0xA500, "vai"}, {0x2D30, "zgh"}, {0xABC0, "mni"}};
enum { N_ALONE = sizeof alone / sizeof *alone };

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

/* An n-gram in a language. */
typedef struct pair {
  uint32_t ngram;
  uint8_t language;
  float share; /* of the language's sentences that have it */
  float weight;
} pair;

typedef struct ngrams {
  uint32_t *keys, *values; /* a hash table */
  uint32_t n, *hashes;     /* [n] */
  uint32_t *ids;           /* of all examples */
  size_t n_ids;
  example *examples;
  size_t n_examples;
  int n_languages;
  uint32_t *starts; /* [n + 1] of pairs */
  pair *pairs;
  size_t n_pairs;
  uint8_t *languages; /* while training, [n_pairs]: of the pairs, as are the weights and sums of squared gradients */
  float *weights, *squares;
} ngrams;

static uint32_t id_of(ngrams *g, uint32_t hash) {
  uint32_t i = hash & (TABLE - 1);
  while (g->keys[i] && g->keys[i] != hash) i = (i + 1) & (TABLE - 1);
  if (!g->keys[i]) {
    if (g->n == TABLE / 4 * 3) die("more n-grams than expected");
    g->keys[i] = hash, g->values[i] = g->n, g->hashes[g->n++] = hash;
  }
  return g->values[i];
}

static void add_example(ngrams *g, cq_slice text, int script, int language) {
  static size_t room; /* of ids */
  if (!g->n_ids) room = 0;
  example *e = &g->examples[g->n_examples++];
  *e = (example){.language = language, .begin = g->n_ids};
  cq_ngram_words words = {.text = text, .script = script};
  while (cq_ngram_next(&words)) {
    if (g->n_ids + CQ_NGRAM_HASHES > room)
      g->ids = must(realloc(g->ids, (room = 2 * room + ((size_t)1 << 20)) * sizeof *g->ids));
    const size_t n = cq_ngram_hashes(g->ids + g->n_ids, &words);
    for (size_t k = 0; k < n; k++, g->n_ids++) g->ids[g->n_ids] = id_of(g, g->ids[g->n_ids]);
  }
  e->n = g->n_ids - e->begin;
}

/* Pairs of n-grams with the languages that have them in several sentences. */
static void count_ngrams(ngrams *g, const corpus *c, int script) {
  size_t room = 0;
  g->keys = must(calloc(TABLE, sizeof *g->keys)), g->values = must(calloc(TABLE, sizeof *g->values));
  g->hashes = must(malloc(TABLE * sizeof *g->hashes));
  g->examples = must(calloc(c->n, sizeof *g->examples));
  uint32_t *last = must(calloc(TABLE, sizeof *last)), *counts = must(calloc(TABLE, sizeof *counts));
  for (int l = 0; l < c->n_languages; l++) {
    if (c->script[l] != script) continue;
    const size_t first = g->n_examples, first_id = g->n_ids;
    for (size_t i = 0; i < c->n; i++)
      if (c->items[i].language == l && c->items[i].script == script)
        add_example(g, c->items[i].text, script, g->n_languages);
    for (size_t e = first; e < g->n_examples; e++)
      for (size_t k = g->examples[e].begin; k < g->examples[e].begin + g->examples[e].n; k++)
        if (last[g->ids[k]] != e + 1) last[g->ids[k]] = (uint32_t)e + 1, counts[g->ids[k]]++;
    for (size_t k = first_id; k < g->n_ids; k++) {
      const uint32_t id = g->ids[k], count = counts[id];
      counts[id] = 0;
      if (count < MIN_SENTENCES) continue;
      if (g->n_pairs == room) g->pairs = must(realloc(g->pairs, (room = 2 * room + 65536) * sizeof *g->pairs));
      g->pairs[g->n_pairs++] = (pair){id, (uint8_t)g->n_languages, (float)count / (float)(g->n_examples - first), 0};
    }
    g->n_languages++;
  }
  free(last), free(counts), free(g->keys), free(g->values);
}

static int compare_pairs(const void *a, const void *b) {
  const pair *x = a, *y = b;
  return x->ngram != y->ngram ? (x->ngram > y->ngram) - (x->ngram < y->ngram) : x->language - y->language;
}

/* By n-gram, these in the order of their hashes: a model file has them so. */
static const uint32_t *sorted_hashes;
static int compare_hashes(const void *a, const void *b) {
  const uint32_t x = sorted_hashes[*(const uint32_t *)a], y = sorted_hashes[*(const uint32_t *)b];
  return (x > y) - (x < y);
}

/* Leaves the n-grams that have pairs, in the order of their hashes. */
static void renumber(ngrams *g) {
  uint32_t *order = must(malloc(g->n * sizeof *order)), *map = must(malloc(g->n * sizeof *map)), n = 0;
  uint32_t *hashes = must(malloc(g->n * sizeof *hashes));
  memset(map, 0, g->n * sizeof *map);
  for (size_t k = 0; k < g->n_pairs; k++)
    if (!map[g->pairs[k].ngram]++) order[n++] = g->pairs[k].ngram;
  sorted_hashes = g->hashes;
  qsort(order, n, sizeof *order, compare_hashes);
  memset(map, 0xFF, g->n * sizeof *map);
  for (uint32_t i = 0; i < n; i++) map[order[i]] = i, hashes[i] = g->hashes[order[i]];
  free(g->hashes), g->hashes = hashes, g->n = n;
  g->starts = must(realloc(g->starts, (n + 1) * sizeof *g->starts));
  memset(g->starts, 0, (n + 1) * sizeof *g->starts);
  for (size_t k = 0; k < g->n_pairs; k++) g->starts[(g->pairs[k].ngram = map[g->pairs[k].ngram]) + 1]++;
  for (uint32_t i = 0; i < n; i++) g->starts[i + 1] += g->starts[i];
  qsort(g->pairs, g->n_pairs, sizeof *g->pairs, compare_pairs);
  size_t n_ids = 0;
  for (size_t i = 0; i < g->n_examples; i++) {
    example *e = &g->examples[i];
    const size_t begin = n_ids;
    for (size_t k = e->begin; k < e->begin + e->n; k++)
      if (map[g->ids[k]] != UINT32_MAX) g->ids[n_ids++] = map[g->ids[k]];
    e->begin = begin, e->n = n_ids - begin;
  }
  g->n_ids = n_ids;
  free(order), free(map);
}

/* Leaves the pairs with the highest scores, as many as the size of a model file allows. */
static void prune(ngrams *g, const float *scores, size_t n_bytes) {
  float low = 0, high = 0;
  for (size_t k = 0; k < g->n_pairs; k++) high = fmaxf(high, scores[k]);
  uint8_t *kept = must(malloc(g->n));
  for (int step = 0; step < 40; step++) {
    const float middle = step ? sqrtf(low * high) : (low = high * 1e-9f);
    size_t size = 0;
    memset(kept, 0, g->n);
    for (size_t k = 0; k < g->n_pairs; k++)
      if (scores[k] > middle) size += kept[g->pairs[k].ngram] ? 2 : 2u + NGRAM_BYTES, kept[g->pairs[k].ngram] = 1;
    if (size <= n_bytes)
      high = middle;
    else
      low = middle;
    if (!step && size <= n_bytes) break;
  }
  size_t n = 0;
  for (size_t k = 0; k < g->n_pairs; k++)
    if (scores[k] > high) g->pairs[n++] = g->pairs[k];
  g->n_pairs = n;
  free(kept);
  renumber(g);
}

/* --- the regression --- */

static double learn(ngrams *g, const uint32_t *ids, size_t n, int language, float step) {
  float p[CQ_LANGUAGES_MAX] = {0}, total = 0, max;
  const int L = g->n_languages;
  const float x = 1 / sqrtf((float)n);
  for (size_t i = 0; i < n; i++)
    for (uint32_t k = g->starts[ids[i]]; k < g->starts[ids[i] + 1]; k++) p[g->languages[k]] += g->weights[k];
  max = p[0] * x;
  for (int l = 0; l < L; l++) max = fmaxf(max, p[l] *= x);
  for (int l = 0; l < L; l++) total += p[l] = expf(p[l] - max);
  for (int l = 0; l < L; l++) p[l] /= total;
  const double loss = -log(fmax(p[language], 1e-12));
  p[language] -= 1;
  for (int l = 0; l < L; l++) p[l] = fabsf(p[l]) > NO_GRADIENT ? p[l] * x : 0;
  for (size_t i = 0; i < n; i++)
    for (uint32_t k = g->starts[ids[i]]; k < g->starts[ids[i] + 1]; k++) {
      const float d = p[g->languages[k]];
      if (d == 0) continue;
      g->squares[k] += d * d;
      g->weights[k] -= step * d / sqrtf(g->squares[k] + smoothing);
    }
  return loss;
}

static void train(ngrams *g, int n_epochs) {
  size_t counts[CQ_LANGUAGES_MAX] = {0};
  cq_random random = cq_random_seeded(1, 0);
  uint32_t *order = must(malloc((size_t)(MAX_REPEATS + 1) * g->n_examples * sizeof *order));
  for (size_t i = 0; i < g->n_examples; i++) counts[g->examples[i].language]++;
  g->languages = must(malloc(g->n_pairs)), g->weights = must(malloc(g->n_pairs * sizeof *g->weights));
  g->squares = must(calloc(g->n_pairs, sizeof *g->squares));
  for (size_t k = 0; k < g->n_pairs; k++) g->languages[k] = g->pairs[k].language, g->weights[k] = g->pairs[k].weight;
  for (int epoch = 0; epoch < n_epochs; epoch++) {
    size_t n = 0;
    double loss = 0;
    for (size_t i = 0; i < g->n_examples; i++) {
      const double repeats = (double)g->n_examples / g->n_languages / (double)counts[g->examples[i].language];
      const double times = fmin(pow(repeats, BALANCE), MAX_REPEATS);
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
      if (length) loss += learn(g, g->ids + begin, length, e->language, rate * (float)(1 - done) + 1e-4f);
    }
    fprintf(stderr, "  epoch %d: loss %.4f\n", epoch + 1, loss / (double)(n ? n : 1));
  }
  for (size_t k = 0; k < g->n_pairs; k++) g->pairs[k].weight = g->weights[k];
  free(order), free(g->languages), free(g->weights), free(g->squares);
}

/* How useful a pair is for a first choice, by its share among the languages; and once there are weights. */
static void choose(ngrams *g, bool trained, size_t n_bytes) {
  float *scores = must(malloc(g->n_pairs * sizeof *scores)), *shares = must(calloc(g->n, sizeof *shares));
  const float least = MIN_INITIAL * initial * logf((float)g->n_languages);
  for (size_t k = 0; k < g->n_pairs; k++) shares[g->pairs[k].ngram] += g->pairs[k].share;
  for (size_t k = 0; k < g->n_pairs; k++) {
    pair *w = &g->pairs[k];
    const float all = shares[w->ngram];
    if (!trained) w->weight = initial * logf(w->share * (float)g->n_languages / all);
    scores[k] = trained ? w->weight * w->weight * all
                        : fmaxf(w->share, all / (float)g->n_languages) * fmaxf(0, fabsf(w->weight) - least);
  }
  prune(g, scores, n_bytes);
  free(scores), free(shares);
}

/* --- the file --- */

static void put(FILE *out, const void *bytes, size_t n) {
  if (fwrite(bytes, 1, n, out) != n) die("cannot write the model");
}

/* The weights of an n-gram as the file has them; of an n-gram in many languages the large ones. Returns their end. */
static uint8_t *write_weights(uint8_t *at, const ngrams *g, uint32_t ngram, float unit) {
  const uint32_t n = g->starts[ngram + 1] - g->starts[ngram];
  for (uint32_t k = g->starts[ngram]; k < g->starts[ngram + 1]; k++) {
    const long weight = lrintf(g->pairs[k].weight / unit);
    if (n > MANY && labs(weight) <= MIN_WEIGHT) continue;
    *at++ = g->pairs[k].language, *at++ = (uint8_t)weight;
  }
  return at;
}

static void write_script(FILE *out, int script, const ngrams *g, const char (*codes)[CQ_LANGUAGE_CODE]) {
  cq_language_script head = {.script = (uint32_t)script, .n_languages = (uint32_t)g->n_languages, .bits = 1};
  while ((2u << head.bits) < g->n) head.bits++;
  float max = 0, bias[CQ_LANGUAGES_MAX] = {0}, counts[CQ_LANGUAGES_MAX] = {0};
  for (size_t k = 0; k < g->n_pairs; k++) max = fmaxf(max, fabsf(g->pairs[k].weight));
  const float unit = max / 127;
  head.scale = sharpness * unit;
  for (size_t i = 0; i < g->n_examples; i++) counts[g->examples[i].language]++;
  for (int l = 0; g->n_examples && l < g->n_languages; l++)
    bias[l] = prior * logf(counts[l] * (float)g->n_languages / (float)g->n_examples);
  uint32_t *starts = must(calloc((1u << head.bits) + 1, sizeof *starts)), b = 0;
  uint8_t *bytes = must(calloc(3 * (size_t)g->n + 2 * g->n_pairs + 4, 1)), *at = bytes;
  for (uint32_t i = 0; i < g->n; i++) { /* hashes are in order */
    while (b <= (uint64_t)g->hashes[i] << head.bits >> 32) starts[b++] = (uint32_t)(at - bytes);
    uint8_t *end = write_weights(at + 3, g, i, unit);
    if (end == at + 3) continue;
    at[0] = (uint8_t)g->hashes[i], at[1] = (uint8_t)(g->hashes[i] >> 8), at[2] = (uint8_t)((end - at - 3) / 2);
    at = end;
  }
  while (b <= 1u << head.bits) starts[b++] = (uint32_t)(at - bytes);
  memset(at, 0, 3);
  head.n_bytes = g->n ? (uint32_t)(at - bytes + 3) / 4 * 4 : 0;
  put(out, &head, sizeof head);
  put(out, codes, (size_t)g->n_languages * CQ_LANGUAGE_CODE);
  put(out, bias, (size_t)g->n_languages * sizeof *bias);
  if (g->n) put(out, starts, ((1u << head.bits) + 1) * sizeof *starts), put(out, bytes, head.n_bytes);
  free(starts), free(bytes);
}

static void make_script(FILE *out, const corpus *c, int script) {
  char codes[CQ_LANGUAGES_MAX][CQ_LANGUAGE_CODE] = {0};
  int n_languages = 0;
  ngrams g = {0};
  for (int l = 0; l < c->n_languages; l++)
    if (c->script[l] == script) memcpy(codes[n_languages++], c->codes[l], CQ_LANGUAGE_CODE);
  count_ngrams(&g, c, script);
  fprintf(stderr, "%s: %d languages, %zu sentences, %u n-grams, %zu in languages\n", cq_script_name(script),
          n_languages, g.n_examples, g.n, g.n_pairs);
  const size_t n_bytes = BYTES_A_LANGUAGE * (size_t)n_languages;
  choose(&g, false, n_bytes * FIRST);
  fprintf(stderr, "%u n-grams, %zu pairs\n", g.n, g.n_pairs);
  train(&g, EPOCHS);
  choose(&g, true, n_bytes);
  fprintf(stderr, "%u n-grams, %zu pairs\n", g.n, g.n_pairs);
  train(&g, EPOCHS_AGAIN);
  write_script(out, script, &g, (const char(*)[CQ_LANGUAGE_CODE])codes);
  free(g.hashes), free(g.ids), free(g.examples), free(g.starts), free(g.pairs);
}

static void write_alone(FILE *out, int script, const char *code) {
  char codes[1][CQ_LANGUAGE_CODE] = {{0}};
  strcpy(codes[0], code);
  write_script(out, script, &(ngrams){.n_languages = 1}, (const char(*)[CQ_LANGUAGE_CODE])codes);
}

static int train_model(const char *path, const char *text) {
  corpus c = {0};
  uint32_t n_scripts = 0, n_languages[CQ_N_SCRIPTS] = {0};
  const char *only[CQ_N_SCRIPTS] = {NULL};
  for (size_t i = 0; i < N_ALONE; i++) only[cq_char_script(alone[i].letter)] = alone[i].code;
  read_corpus(&c, text);
  for (int l = 0; l < c.n_languages; l++) n_languages[c.script[l]]++, only[c.script[l]] = c.codes[l];
  for (int script = 1; script < CQ_N_SCRIPTS; script++) n_scripts += only[script] != NULL;
  FILE *out = must(fopen(path, "wb"));
  put(out, CQ_LANGUAGE_MAGIC, sizeof CQ_LANGUAGE_MAGIC - 1);
  put(out, &n_scripts, sizeof n_scripts);
  for (uint32_t n = CQ_LANGUAGES_MAX; n > 1; n--) /* those of many languages are found first */
    for (int script = 1; script < CQ_N_SCRIPTS; script++)
      if (n_languages[script] == n) make_script(out, &c, script);
  for (int script = 1; script < CQ_N_SCRIPTS; script++)
    if (n_languages[script] < 2 && only[script]) write_alone(out, script, only[script]);
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
    const double begin = cq_seconds(CLOCK_PROCESS_CPUTIME_ID);
    n_bytes = 0;
    for (size_t i = 0; i < c.n; i++) {
      guesses[i] = cq_language_identify(c.items[i].text).code;
      n_bytes += c.items[i].text.n;
    }
    seconds = fmin(seconds, cq_seconds(CLOCK_PROCESS_CPUTIME_ID) - begin);
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
