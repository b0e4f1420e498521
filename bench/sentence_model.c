/* Sentences: trains the model that the library carries.
 *
 *   bench_sentence_model train OUT TEXT DEV  TEXT, DEV: a text a line: a language's code, then its sentences, each after a
 *                                            tab; U+0001 before a blank: whether a sentence ends there is not known
 *   bench_sentence_model abbreviations       prints CLDR's, as ICU carries them: a language's code, a tab, the word
 *
 * scripts/make-sentence-model calls both. A logistic regression on the hashed features of text/sentence_model.h by
 * AdaGrad; a share of the texts is learned as if their language were unknown. Each threshold is the one that gives DEV's
 * texts the best mean F1 while the others stay as they are, in two rounds; of equal ones, the middle. One thread; the
 * same text gives the same bytes. */
#include "text/sentence_model.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "must.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uloc.h>
#include <unicode/ures.h>
#include <unicode/ustring.h>

enum { UNKNOWN_OF_100 = 10, MIN_PLACES = 9 };
static const float rate = 0.2f, decay = 2e-6f, smoothing = 1e-2f;

/* A text, joined, and what is known of its bytes: 1 a sentence ends before this blank or byte, 2 unknown. */
typedef struct text {
  cq_slice joined;
  const unsigned char *marks;
  int language;
} text;

static cq_sentence_model model;

static int language_of(cq_slice code) {
  for (int i = 0; i < CQ_SENTENCE_LANGUAGES; i++) {
    if (!*model.codes[i] && code.n && code.n < sizeof *model.codes) memcpy(model.codes[i], code.data, code.n);
    if (strlen(model.codes[i]) == code.n && !memcmp(model.codes[i], code.data, code.n)) return i;
  }
  die("too many languages");
  return 0;
}

static text read_text(cq_slice line) {
  const char *tab = memchr(line.data, '\t', line.n), *end = line.data + line.n;
  if (!tab) die("a line without a tab");
  char *joined = must(malloc(line.n + 1));
  unsigned char *marks = must(calloc(line.n + 1, 1));
  text t = {.marks = marks, .language = language_of((cq_slice){line.data, (size_t)(tab - line.data)})};
  const bool no_blanks = !strcmp(model.codes[t.language], "ja") || !strcmp(model.codes[t.language], "zh");
  size_t n = 0;
  for (const char *at = tab + 1; at < end; at++) {
    if (*at == '\t') {
      marks[n] = 1;
      if (!no_blanks) joined[n++] = ' ';
    } else if (*at == 1) {
      marks[n] = 2;
    } else {
      joined[n++] = *at;
    }
  }
  t.joined = (cq_slice){joined, n};
  return t;
}

/* --- the regression: first with a weight for (nearly) every feature, then with those that have a slot --- */

enum { BITS = 24 };

typedef struct weight {
  uint32_t hash; /* of the feature that it belongs to */
  float value, squares;
  uint32_t n; /* places that have it */
} weight;
static weight *weights;
static bool is_pruned;

/* NULL: it has no weight. */
static weight *weight_of(uint32_t hash) {
  weight *w = &weights[is_pruned ? cq_sentence_slot_of(hash) : hash >> (32 - BITS)];
  return !is_pruned || cq_sentence_tag(w->hash) == cq_sentence_tag(hash) ? w : NULL;
}

static double learn(const cq_sentence_place *p, bool ends, float step) {
  weight *of[CQ_SENTENCE_FEATURES];
  float sum = 0;
  for (size_t i = 0; i < p->n_features; i++)
    if ((of[i] = weight_of(p->features[i]))) sum += of[i]->value, of[i]->hash = p->features[i], of[i]->n++;
  const float probability = 1 / (1 + expf(-sum)), error = probability - (ends ? 1 : 0);
  for (size_t i = 0; i < p->n_features; i++) {
    if (!of[i]) continue;
    const float d = error + decay * of[i]->value;
    of[i]->squares += d * d;
    of[i]->value -= step * d / sqrtf(of[i]->squares + smoothing);
  }
  return -log(fmax(ends ? probability : 1 - probability, 1e-9));
}

/* Gives each slot to the feature that is the most useful one of those that belong there: |weight| * sqrt(n). */
static void prune(void) {
  weight *kept = must(calloc(CQ_SENTENCE_SLOTS, sizeof *kept));
  for (size_t i = 0; i < (size_t)1 << BITS; i++) {
    const weight *w = &weights[i];
    weight *slot = &kept[cq_sentence_slot_of(w->hash)];
    const float use = fabsf(w->value) * sqrtf((float)w->n), other = fabsf(slot->value) * sqrtf((float)slot->n);
    if (w->n >= MIN_PLACES && use > other) *slot = *w;
  }
  for (size_t i = 0; i < CQ_SENTENCE_SLOTS; i++) kept[i].squares = 0;
  free(weights);
  weights = kept, is_pruned = true;
}

static void train_text(double *loss, size_t *n, const text *t, bool known, float step) {
  cq_sentence_scan scan = {.text = t->joined, .language = known ? t->language : -1};
  cq_sentence_place p;
  while (cq_sentence_scan_next(&p, &scan)) {
    const int mark = p.next > p.end ? t->marks[p.end] : 1;
    if (mark != 2 && p.next > p.end) *loss += learn(&p, mark == 1, step), ++*n;
    if (mark == 1) scan.begin = p.next;
  }
}

/* Each text once, in a new order. */
static void learn_texts(const text *texts, uint32_t *order, size_t n_texts) {
  cq_random random = cq_random_seeded(1, 0);
  double loss = 0;
  size_t n = 0;
  cq_random_shuffle(&random, order, n_texts);
  for (size_t i = 0; i < n_texts; i++) {
    const float done = (float)i / (float)n_texts;
    train_text(&loss, &n, &texts[order[i]], cq_random_below(&random, 100) >= UNKNOWN_OF_100, rate * (1 - done) + 1e-4f);
  }
  fprintf(stderr, "%zu places, loss %.5f\n", n, loss / (double)(n ? n : 1));
}

static void set_slots(void) {
  float max = 0;
  size_t n_used = 0;
  for (size_t i = 0; i < CQ_SENTENCE_SLOTS; i++) max = fmaxf(max, fabsf(weights[i].value));
  memcpy(model.magic, CQ_SENTENCE_MAGIC, sizeof model.magic);
  model.scale = max / 127;
  for (size_t i = 0; i < CQ_SENTENCE_SLOTS; i++) {
    const int value = (int)lrintf(weights[i].value / model.scale);
    model.slots[i] = (cq_sentence_slot){value ? cq_sentence_tag(weights[i].hash) : 0, (int8_t)value};
    n_used += value != 0;
  }
  fprintf(stderr, "%zu features, scale %.4f\n", n_used, (double)model.scale);
}

/* --- thresholds --- */

static double f1_of(const text *t) {
  cq_sentence_scan scan = {.text = t->joined, .language = t->language};
  cq_sentence_place p;
  size_t n_found = 1, n_right = 1, n_gold = 1; /* the text's end is one */
  for (size_t i = 0; i < t->joined.n; i++) n_gold += t->marks[i] == 1;
  while (cq_sentence_scan_next(&p, &scan)) {
    if (p.next > p.end && !cq_sentence_ends(&model, &p)) continue;
    n_found++, n_right += t->marks[p.end] == 1, scan.begin = p.next;
  }
  return 200 * (double)n_right / (double)(n_found + n_gold);
}

static double mean_f1(const text *texts, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += f1_of(&texts[i]);
  return sum / (double)n;
}

static void choose_thresholds(const text *texts, size_t n) {
  for (int at = 0; at < 6; at++) {
    float *threshold = &model.thresholds[at % 3], first = 0, last = 0;
    double best = -1;
    for (float tried = -4; tried <= 5; tried += 0.25f) {
      *threshold = tried;
      const double f1 = mean_f1(texts, n);
      if (f1 > best) best = f1, first = tried;
      if (f1 >= best) last = tried;
    }
    *threshold = (first + last) / 2;
    fprintf(stderr, "threshold %d: %.3f, F1 %.3f\n", at % 3, (double)*threshold, best);
  }
  for (size_t i = 0; i < n; i++) fprintf(stderr, "%s\t%.2f\n", model.codes[texts[i].language], f1_of(&texts[i]));
}

static text *read_texts(size_t *n, const char *path) {
  cq_error error = {0};
  cq_mapping file;
  if (cq_mapping_open(&file, path, &error)) die(error.message);
  text *texts = NULL;
  *n = 0;
  for (const char *at = (const char *)file.data, *end = at + file.n; at < end;) {
    const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
    if (*n % 4096 == 0) texts = must(realloc(texts, (*n + 4096) * sizeof *texts));
    texts[(*n)++] = read_text((cq_slice){at, (size_t)(stop - at)});
    at = stop + 1;
  }
  cq_mapping_close(&file);
  if (!*n) die("no text");
  return texts;
}

static int train(const char *out, const char *path, const char *dev_path) {
  size_t n, n_dev;
  text *texts = read_texts(&n, path), *dev = read_texts(&n_dev, dev_path);
  uint32_t *order = must(malloc(n * sizeof *order));
  for (uint32_t i = 0; i < n; i++) order[i] = i;
  weights = must(calloc((size_t)1 << BITS, sizeof *weights));
  learn_texts(texts, order, n);
  prune();
  learn_texts(texts, order, n);
  set_slots();
  choose_thresholds(dev, n_dev);
  FILE *file = must(fopen(out, "wb"));
  if (fwrite(&model, sizeof model, 1, file) != 1 || fclose(file)) die("cannot write the model");
  return 0;
}

static void print_abbreviations(const char *locale) {
  UErrorCode code = U_ZERO_ERROR;
  UResourceBundle *bundle = ures_openDirect(U_ICUDATA_NAME "-brkitr", locale, &code);
  UResourceBundle *exceptions = ures_getByKey(bundle, "exceptions", NULL, &code);
  UResourceBundle *words = ures_getByKey(exceptions, "SentenceBreak", NULL, &code);
  for (int32_t i = 0; U_SUCCESS(code) && i < ures_getSize(words); i++) {
    char utf8[200];
    int32_t n;
    const UChar *word = ures_getStringByIndex(words, i, &n, &code);
    u_strToUTF8(utf8, sizeof utf8, NULL, word, n, &code);
    if (U_SUCCESS(code)) printf("%s\t%s\n", locale, utf8);
  }
  ures_close(words), ures_close(exceptions), ures_close(bundle);
}

int main(int argc, char **argv) {
  if (argc == 5 && !strcmp(argv[1], "train")) return train(argv[2], argv[3], argv[4]);
  if (argc != 2 || strcmp(argv[1], "abbreviations") != 0)
    die("usage: bench_sentence_model train OUT TEXT DEV | abbreviations");
  for (int32_t i = 0; i < uloc_countAvailable(); i++)
    if (!strpbrk(uloc_getAvailable(i), "_")) print_abbreviations(uloc_getAvailable(i));
  return 0;
}
