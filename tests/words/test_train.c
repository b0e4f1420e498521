/* Training: against a plain one in double precision whose gradients are finite differences, on text with topics, and
 * at its edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "words/negatives.h"
#include "words/train_words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- corpora --- */

/* A document a line; words between single blanks. */
static cq_word_corpus corpus_of(const char *text) {
  cq_word_corpus c = {0};
  while (*text) {
    uint32_t ids[100];
    size_t n = 0;
    const size_t length = strcspn(text, "\n");
    for (size_t i = 0, end; i < length; i = end + 1) {
      for (end = i; end < length && text[end] != ' ';) end++;
      assert_true(n < 100);
      if (end > i) ids[n++] = cq_intern_put(&c.words, (cq_slice){text + i, end - i});
    }
    assert_int_equal(cq_word_corpus_add(&c, ids, n, NULL), CQ_OK);
    text += length + (text[length] == '\n');
  }
  assert_int_equal(cq_word_corpus_finish(&c, 1, NULL), CQ_OK);
  return c;
}

enum { TOPIC_WORDS = 6, DOCUMENT_WORDS = 12, FEW_TOPICS = 3, MANY_TOPICS = 40 };

/* Words of a topic beside each other, and never those of two. No word's letters say which topic is its own: they are
 * drawn. */
static cq_word_corpus topical_corpus(size_t n_documents, size_t n_topics) {
  cq_word_corpus c = {0};
  cq_random random = cq_random_seeded(77, 0);
  for (size_t w = 0; w < n_topics * TOPIC_WORDS; w++) {
    char word[5];
    for (size_t i = 0; i < sizeof word; i++) word[i] = (char)('a' + cq_random_below(&random, 26));
    assert_int_equal(cq_intern_put(&c.words, (cq_slice){word, sizeof word}), w);
  }
  for (size_t d = 0; d < n_documents; d++) {
    uint32_t document[DOCUMENT_WORDS];
    for (size_t i = 0; i < DOCUMENT_WORDS; i++)
      document[i] = (uint32_t)(d % n_topics * TOPIC_WORDS + cq_random_below(&random, TOPIC_WORDS));
    assert_int_equal(cq_word_corpus_add(&c, document, DOCUMENT_WORDS, NULL), CQ_OK);
  }
  return c;
}

static cq_words_options tiny_options(void) {
  return (cq_words_options){.dim = 5,
                            .window = 3,
                            .negative = 2,
                            .epochs = 2,
                            .learning_rate = 0.1,
                            .min_learning_rate = 0.01,
                            .seed = 3,
                            .buckets = 50};
}

static cq_word_model trained(const cq_word_corpus *c, const cq_words_options *o, cq_context *ctx) {
  cq_word_model m;
  assert_int_equal(cq_word_model_train(&m, c, o, ctx, NULL), CQ_OK);
  return m;
}

static size_t rows_of(const cq_word_model *m, const cq_words_options *o) {
  return m->n + (o->max_ngram ? o->buckets : 0);
}

static bool same_model(const cq_word_model *a, const cq_word_model *b, size_t rows) {
  const size_t row = (size_t)a->stride * sizeof(float);
  return !memcmp(a->in, b->in, rows * row) && !memcmp(a->out, b->out, a->n * row);
}

/* --- the plain training --- */

enum { DIM = 5, MOST_ROWS = 80, MOST_INPUTS = 60 };

typedef struct plain {
  double in[MOST_ROWS][DIM], out[MOST_ROWS][DIM];
  const cq_word_corpus *corpus;
  const cq_words_options *o;
  const cq_word_model *grams; /* for the rows of a word's sub-words only */
  cq_negatives negatives;
} plain;

/* The loss of one word against one input. */
static double loss_of(const double *x, const double *o, bool belongs) {
  double f = 0;
  for (int i = 0; i < DIM; i++) f += x[i] * o[i];
  return log1p(exp(belongs ? -f : f));
}

static void slope(double *g, double *at, const double *x, const double *o, bool belongs) {
  const double h = 1e-4;
  for (int i = 0; i < DIM; i++) {
    const double kept = at[i];
    at[i] = kept + h;
    const double above = loss_of(x, o, belongs);
    at[i] = kept - h;
    g[i] = (above - loss_of(x, o, belongs)) / (2 * h);
    at[i] = kept;
  }
}

static void plain_step(plain *p, const uint32_t *inputs, size_t n_inputs, const uint32_t *rows, int n, double rate) {
  double x[DIM] = {0}, dx[DIM] = {0};
  for (size_t k = 0; k < n_inputs; k++)
    for (int i = 0; i < DIM; i++) x[i] += p->in[inputs[k]][i] / (double)n_inputs;
  for (int r = 0; r < n; r++) {
    double of_x[DIM], of_o[DIM], *o = p->out[rows[r]];
    slope(of_x, x, x, o, r == 0);
    slope(of_o, o, x, o, r == 0);
    for (int i = 0; i < DIM; i++) dx[i] += of_x[i], o[i] -= rate * of_o[i];
  }
  /* Each of several inputs moves by the gradient of their mean, as word2vec has it. */
  for (size_t k = 0; k < n_inputs; k++)
    for (int i = 0; i < DIM; i++) p->in[inputs[k]][i] -= rate * dx[i];
}

static size_t plain_inputs(uint32_t *inputs, const plain *p, uint32_t word) {
  size_t n = 0;
  inputs[n++] = word;
  for (uint32_t g = p->grams->grams ? p->grams->gram_starts[word] : 0;
       p->grams->grams && g < p->grams->gram_starts[word + 1]; g++)
    inputs[n++] = p->grams->grams[g];
  return n;
}

static int plain_draw(uint32_t *rows, const plain *p, uint32_t word, cq_random *random) {
  int n = 1;
  rows[0] = word;
  for (int i = 0; i < p->o->negative; i++) {
    rows[n] = cq_negatives_draw(&p->negatives, random);
    n += rows[n] != word; /* left out, not drawn again */
  }
  return n;
}

static void plain_document(plain *p, const uint32_t *tokens, size_t n_tokens, double rate, cq_random *random) {
  uint32_t kept[100], inputs[MOST_INPUTS];
  long n = 0;
  for (size_t i = 0; i < n_tokens; i++) {
    const double count = (double)p->corpus->counts[tokens[i]], t = p->o->sample * (double)p->corpus->tokens.n;
    const double keep = t > 0 ? (sqrt(count / t) + 1) * t / count : 1;
    if (keep < 1 && (uint32_t)cq_random_u64(random) > (uint32_t)(keep * UINT32_MAX)) continue;
    kept[n++] = tokens[i];
  }
  for (long i = 0; i < n; i++) {
    uint32_t rows[64];
    size_t n_inputs = 0;
    const long reach = 1 + (long)cq_random_below(random, (uint64_t)p->o->window);
    const long low = i - reach > 0 ? i - reach : 0, high = i + reach < n - 1 ? i + reach : n - 1;
    if (low == high) continue;
    int n_rows = plain_draw(rows, p, kept[i], random);
    for (long j = low; j <= high; j++) {
      if (j == i) continue;
      if (p->o->cbow) {
        n_inputs += plain_inputs(inputs + n_inputs, p, kept[j]);
        continue;
      }
      uint32_t next[64];
      const int n_next = p->o->share_negatives ? 0 : plain_draw(next, p, kept[i], random);
      plain_step(p, inputs, plain_inputs(inputs, p, kept[j]), rows, n_rows, rate);
      if (!p->o->share_negatives) memcpy(rows, next, sizeof rows), n_rows = n_next;
    }
    if (p->o->cbow) plain_step(p, inputs, n_inputs, rows, n_rows, rate);
  }
}

/* Begins where the trained model began; the text is one job. */
static void plain_train(plain *p) {
  const cq_words_options *o = p->o;
  for (size_t row = 0; row < rows_of(p->grams, o); row++) {
    cq_random random = cq_random_seeded(o->seed, row);
    for (int i = 0; i < DIM; i++) p->in[row][i] = (2 * cq_random_uniform(&random) - 1) / DIM;
  }
  assert_int_equal(cq_negatives_open(&p->negatives, p->corpus->counts, p->corpus->words.n, 0.75, NULL), CQ_OK);
  for (int epoch = 0; epoch < o->epochs; epoch++) {
    const double rate = o->learning_rate - (o->learning_rate - o->min_learning_rate) * epoch / o->epochs;
    cq_random random = cq_random_seeded(cq_mix(o->seed) + (uint64_t)epoch + 1, 0);
    for (size_t d = 0; d < p->corpus->n_documents; d++)
      plain_document(p, p->corpus->tokens.items + p->corpus->starts[d], p->corpus->starts[d + 1] - p->corpus->starts[d],
                     rate, &random);
  }
  cq_negatives_close(&p->negatives);
}

static void expect_rows(const float *got, int64_t stride, double (*want)[DIM], size_t n, const char *what) {
  for (size_t r = 0; r < n; r++) {
    for (int i = 0; i < DIM; i++)
      if (!(fabs((double)got[(int64_t)r * stride + i] - want[r][i]) < 2e-6)) /* f32, after some hundred steps */
        fail_msg("%s, row %zu, place %d: %.9g, expected %.9g", what, r, i, (double)got[(int64_t)r * stride + i],
                 want[r][i]);
    for (int64_t i = DIM; i < stride; i++) assert_true(got[(int64_t)r * stride + i] == 0);
  }
}

static const char verses[] = "the mill by the river turns slowly\n"
                             "slowly the river turns the mill\n"
                             "bread\n"
                             "the baker sells bread by the mill by the road\n"
                             "\n"
                             "river mill\n"
                             "the the the road\n";

/* Windows, negatives, order, rates and gradients: all that is said of training, done anew. */
static void steps_are_those_of_finite_differences(void **state) {
  (void)state;
  static plain p;
  cq_words_options o[7];
  const char *const names[] = {"one step's worth", "skip-gram",         "shared", "cbow",
                               "sub-words",        "cbow of sub-words", "thinned"};
  for (size_t i = 0; i < 7; i++) o[i] = tiny_options(), o[i].epochs = 4, o[i].learning_rate = 0.3;
  o[0].window = o[0].negative = o[0].epochs = 1;
  o[2].share_negatives = true;
  o[3].cbow = true;
  o[4].min_ngram = 2, o[4].max_ngram = 3;
  o[5].cbow = true, o[5].min_ngram = 3, o[5].max_ngram = 3;
  o[6].sample = 0.05, o[6].negative = 7;
  for (size_t i = 0; i < 7; i++) {
    cq_word_corpus c = corpus_of(verses);
    cq_word_model m = trained(&c, &o[i], NULL);
    memset(&p, 0, sizeof p);
    p.corpus = &c, p.o = &o[i], p.grams = &m;
    assert_true(rows_of(&m, &o[i]) <= MOST_ROWS);
    plain_train(&p);
    expect_rows(m.in, m.stride, p.in, rows_of(&m, &o[i]), names[i]);
    expect_rows(m.out, m.stride, p.out, m.n, names[i]);
    double moved = 0;
    for (uint32_t w = 0; w < m.n; w++) moved = fmax(moved, fabs(p.out[w][0]));
    assert_true(moved > 1e-3); /* there was something to see */
    cq_word_model_free(&m);
    cq_word_corpus_free(&c);
  }
}

/* --- seeds --- */

static void the_seed_decides_every_bit(void **state) {
  (void)state;
  cq_word_corpus c = topical_corpus(40, FEW_TOPICS);
  assert_int_equal(cq_word_corpus_finish(&c, 1, NULL), CQ_OK);
  for (int way = 0; way < 4; way++) {
    cq_words_options o = tiny_options();
    cq_context *ctx;
    o.cbow = way == 1, o.share_negatives = way == 2;
    o.sample = 0.01;
    if (way == 3) o.min_ngram = 3, o.max_ngram = 4;
    cq_word_model a = trained(&c, &o, NULL), b = trained(&c, &o, NULL);
    assert_int_equal(cq_context_open(&ctx, 1, NULL), CQ_OK);
    cq_word_model in_pool = trained(&c, &o, ctx);
    assert_true(same_model(&a, &b, rows_of(&a, &o)) && same_model(&a, &in_pool, rows_of(&a, &o)));
    assert_int_equal(a.n_read, c.tokens.n * (uint64_t)o.epochs);
    o.seed++;
    cq_word_model other = trained(&c, &o, NULL);
    assert_false(same_model(&a, &other, rows_of(&a, &o)));
    cq_word_model_free(&a), cq_word_model_free(&b), cq_word_model_free(&in_pool), cq_word_model_free(&other);
    cq_context_free(ctx);
  }
  cq_word_corpus_free(&c);
}

/* --- topics --- */

static double cosine(const float *x, const float *y, int dim) {
  double xy = 0, xx = 0, yy = 0;
  for (int i = 0; i < dim; i++)
    xy += (double)x[i] * (double)y[i], xx += (double)x[i] * (double)x[i], yy += (double)y[i] * (double)y[i];
  return xy / sqrt(xx * yy);
}

/* The mean cosine within a topic and between two. */
static void measure_topics(double *within, double *between, const cq_word_model *m) {
  static float vectors[MANY_TOPICS * TOPIC_WORDS][16];
  const int n = (int)m->n;
  assert_true(m->dim == 16 && n <= MANY_TOPICS * TOPIC_WORDS);
  for (uint32_t w = 0; w < m->n; w++) cq_word_model_vector(vectors[w], m, w);
  *within = *between = 0;
  for (int a = 0; a < n; a++)
    for (int b = 0; b < a; b++) {
      const double c = cosine(vectors[a], vectors[b], m->dim);
      assert_true(isfinite(c));
      if (a / TOPIC_WORDS == b / TOPIC_WORDS)
        *within += c / (n * (TOPIC_WORDS - 1) / 2);
      else
        *between += c / (n * (n - TOPIC_WORDS) / 2);
    }
}

static cq_words_options topic_options(void) {
  cq_words_options o = tiny_options();
  o.dim = 16, o.window = 5, o.negative = 5, o.epochs = 30, o.learning_rate = 0.05, o.buckets = 1000;
  return o;
}

/* Numbers stay as they were given: the corpus is counted by hand, not sorted. */
static void count(cq_word_corpus *c) {
  c->counts = cq_alloc_array_zeroed(c->words.n, sizeof *c->counts);
  assert_non_null(c->counts);
  for (size_t i = 0; i < c->tokens.n; i++) c->counts[c->tokens.items[i]]++;
}

static void words_of_one_topic_come_together(void **state) {
  (void)state;
  cq_word_corpus c = topical_corpus(120, FEW_TOPICS);
  count(&c);
  for (int way = 0; way < 5; way++) {
    cq_words_options o = topic_options();
    double within, between;
    o.cbow = way == 1, o.share_negatives = way == 2;
    if (way >= 3) o.min_ngram = 3, o.max_ngram = 4;
    if (way == 4) o.cbow = true;
    if (o.cbow) o.epochs *= 4; /* a step a word, not one a pair */
    cq_word_model m = trained(&c, &o, NULL);
    measure_topics(&within, &between, &m);
    if (!(within > between + 0.3)) fail_msg("way %d: %.3f within topics, %.3f between", way, within, between);
    cq_word_model_free(&m);
  }
  cq_word_corpus_free(&c);
}

/* Enough jobs that threads meet. What they give is not the same twice. Of few words one thread would overwrite what
 * another has just learned, and how good the vectors are would be a matter of scheduling. */
static void several_threads_learn_as_well(void **state) {
  (void)state;
  cq_word_corpus c = topical_corpus(12000, MANY_TOPICS);
  cq_context *ctx;
  count(&c);
  assert_int_equal(cq_context_open(&ctx, 3, NULL), CQ_OK);
  for (int way = 0; way < 3; way++) {
    cq_words_options o = topic_options();
    double within, between;
    o.epochs = 6;
    o.cbow = way == 1;
    if (way == 2) o.min_ngram = 3, o.max_ngram = 3;
    cq_word_model m = trained(&c, &o, ctx);
    measure_topics(&within, &between, &m);
    assert_true(within > between + 0.3);
    assert_int_equal(m.n_read, 6 * c.tokens.n);
    cq_word_model_free(&m);
  }
  cq_context_free(ctx);
  cq_word_corpus_free(&c);
}

/* --- loss --- */

static void loss_falls_with_epochs(void **state) {
  (void)state;
  cq_word_corpus c = topical_corpus(90, FEW_TOPICS);
  count(&c);
  const int epochs[] = {1, 4, 16, 40};
  cq_words_options o = topic_options();
  cq_context *ctx;
  double last = (1 + o.negative) * log(2) * 1.001; /* of output vectors that are still zero */
  assert_int_equal(cq_context_open(&ctx, 2, NULL), CQ_OK);
  for (size_t i = 0; i < 4; i++) {
    cq_words_options measuring = topic_options();
    double loss, again;
    o.epochs = epochs[i];
    measuring.seed = 999;
    cq_word_model m = trained(&c, &o, NULL);
    assert_int_equal(cq_word_model_loss(&loss, &m, &c, c.counts, &measuring, NULL, NULL), CQ_OK);
    assert_int_equal(cq_word_model_loss(&again, &m, &c, c.counts, &measuring, ctx, NULL), CQ_OK);
    assert_true(loss == again); /* measuring does not depend on threads */
    assert_true(loss < last);
    last = loss;
    cq_word_model_free(&m);
  }
  cq_context_free(ctx);
  cq_word_corpus_free(&c);
}

static void loss_by_hand(void **state) {
  (void)state;
  float in[16] = {1, 2}, out[16] = {0.5f, 0.25f};
  const cq_word_model m = {.n = 1, .dim = 2, .stride = 16, .in = in, .out = out};
  cq_words_options o = tiny_options();
  cq_word_corpus c = corpus_of("a a a\na a");
  double loss;
  /* A single word: every negative is the word itself and left out. x o = 1. */
  assert_int_equal(cq_word_model_loss(&loss, &m, &c, c.counts, &o, NULL, NULL), CQ_OK);
  assert_float_equal(loss, log1p(exp(-1)), 1e-7);
  in[0] = -200; /* far out: no overflow, x o = -99.5 */
  assert_int_equal(cq_word_model_loss(&loss, &m, &c, c.counts, &o, NULL, NULL), CQ_OK);
  assert_float_equal(loss, 99.5, 1e-6);
  cq_word_corpus_free(&c);
  /* Two words, out of which the negatives are every other draw: between the loss without and with all of them. */
  float in2[32] = {0}, out2[32] = {0};
  const cq_word_model zero = {.n = 2, .dim = 2, .stride = 16, .in = in2, .out = out2};
  c = corpus_of("a b a b a b a b a b\nb a b a b a b a b a");
  o.negative = 10;
  assert_int_equal(cq_word_model_loss(&loss, &zero, &c, c.counts, &o, NULL, NULL), CQ_OK);
  assert_float_equal(loss / log(2), 6, 0.7);
  cq_word_corpus_free(&c);
}

/* --- edges --- */

static void options_out_of_range(void **state) {
  (void)state;
  cq_word_corpus c = corpus_of(verses), none = {0};
  cq_word_model m;
  cq_error error = {0};
  const cq_words_options usual = tiny_options();
  struct {
    cq_words_options o;
    const char *message;
  } cases[20];
  size_t n = 0;
#define CASE(change, text) (cases[n].o = usual, cases[n].o.change, cases[n++].message = (text))
  CASE(dim = 0, "dim is 0, expected 1 to 65536");
  CASE(dim = -4, "dim is -4, expected 1 to 65536");
  CASE(dim = (1 << 16) + 1, "dim is 65537, expected 1 to 65536");
  CASE(window = 0, "window is 0, expected 1 to 10000");
  CASE(negative = 0, "negative is 0, expected 1 to 63");
  CASE(negative = 64, "negative is 64, expected 1 to 63");
  CASE(epochs = 0, "epochs is 0, expected 1 to 100000");
  CASE(learning_rate = 0, "lr is 0, expected more than 0 and less than 100");
  CASE(learning_rate = NAN, NULL);
  CASE(learning_rate = INFINITY, NULL);
  CASE(min_learning_rate = 0.2, "the learning rate goes from 0.1 to 0.2, expected one that falls");
  CASE(min_learning_rate = -0.1, NULL);
  CASE(min_learning_rate = NAN, NULL);
  CASE(sample = -1, "sample is -1, expected at least 0 and less than 1");
  CASE(sample = 1, "sample is 1, expected at least 0 and less than 1");
  CASE(sample = NAN, NULL);
  CASE(max_ngram = 4, "subwords of 0 to 4 characters");
  CASE(max_ngram = -1, NULL);
  CASE(max_ngram = 4, "subwords of 5 to 4 characters");
  cases[n - 1].o.min_ngram = 5;
  CASE(max_ngram = 4, "buckets is 0, expected 1 to 268435456");
  cases[n - 1].o.min_ngram = 3, cases[n - 1].o.buckets = 0;
#undef CASE
  assert_int_equal(n, 20);
  for (size_t i = 0; i < n; i++) {
    assert_int_equal(cq_word_model_train(&m, &c, &cases[i].o, NULL, &error), CQ_ERR_ARGUMENT);
    if (cases[i].message) assert_string_equal(error.message, cases[i].message);
    assert_null(m.in);
  }
  assert_int_equal(cq_word_model_train(&m, &none, &usual, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "the corpus has no words");
  cq_words_options wide = usual;
  wide.window = 10000, wide.learning_rate = wide.min_learning_rate = 0.5, wide.negative = 63;
  m = trained(&c, &wide, NULL);
  cq_word_model_free(&m);
  cq_word_corpus_free(&c);
}

static void long_documents_are_cut(void **state) {
  (void)state;
  enum { LONG = 25001, CUT = 10000 };
  static uint32_t tokens[LONG];
  cq_word_corpus whole = {0}, pieces = {0};
  cq_words_options o = tiny_options();
  cq_random random = cq_random_seeded(8, 8);
  o.epochs = 1;
  for (size_t i = 0; i < LONG; i++) tokens[i] = (uint32_t)cq_random_below(&random, 4);
  cq_word_corpus *const both[] = {&whole, &pieces};
  for (int i = 0; i < 2; i++)
    for (const char *word = "wxyz"; *word; word++)
      assert_int_not_equal(cq_intern_put(&both[i]->words, (cq_slice){word, 1}), CQ_INTERN_NONE);
  assert_int_equal(cq_word_corpus_add(&whole, tokens, LONG, NULL), CQ_OK);
  for (size_t first = 0; first < LONG; first += CUT)
    assert_int_equal(cq_word_corpus_add(&pieces, tokens + first, cq_min(CUT, LONG - first), NULL), CQ_OK);
  count(&whole), count(&pieces);
  cq_word_model a = trained(&whole, &o, NULL), b = trained(&pieces, &o, NULL);
  assert_int_equal(a.n_read, LONG);
  assert_true(same_model(&a, &b, 4));
  cq_word_model_free(&a), cq_word_model_free(&b);
  cq_word_corpus_free(&whole), cq_word_corpus_free(&pieces);
}

static void documents_of_one_word_teach_nothing(void **state) {
  (void)state;
  cq_word_corpus c = corpus_of("a\nb\n\na\nc\n");
  cq_words_options o = tiny_options();
  cq_error error = {0};
  double loss;
  for (int way = 0; way < 3; way++) {
    o.cbow = way == 1;
    if (way == 2) o.min_ngram = o.max_ngram = 1; /* "<a>": the letter alone */
    cq_word_model m = trained(&c, &o, NULL);
    for (uint32_t w = 0; w < 3; w++) {
      cq_random random = cq_random_seeded(o.seed, w);
      for (int i = 0; i < o.dim; i++) {
        assert_true(m.in[w * m.stride + i] == (float)((2 * cq_random_uniform(&random) - 1) / o.dim));
        assert_true(m.out[w * m.stride + i] == 0);
      }
    }
    assert_int_equal(m.n_read, 8);
    assert_int_equal(cq_word_model_loss(&loss, &m, &c, c.counts, &o, NULL, &error), CQ_ERR_ARGUMENT);
    assert_string_equal(error.message, "the corpus has no two adjacent words");
    cq_word_model_free(&m);
  }
  cq_word_corpus_free(&c);
}

/* --- sub-words --- */

static void expect_grams(const char *word, int shortest, int longest, uint32_t buckets, const uint32_t *expected,
                         size_t n) {
  const cq_words_options o = {.min_ngram = shortest, .max_ngram = longest, .buckets = buckets};
  cq_u32_array ids = {0};
  assert_true(cq_word_grams(&ids, (cq_slice){word, strlen(word)}, &o));
  assert_int_equal(ids.n, n);
  for (size_t i = 0; i < n; i++) assert_int_equal(ids.items[i], expected[i]);
  cq_u32_array_free(&ids);
}

/* FNV-1a in 32 bits, 2166136261 and 16777619, of bytes that are signed; worked out apart from this program. */
static void grams_hash_as_fasttexts(void **state) {
  (void)state;
  const uint32_t whole = UINT32_MAX; /* hashes as they are */
  /* <ca <cat cat cat> at> */
  expect_grams("cat", 3, 4, whole, (uint32_t[]){1066916747, 453988973, 108289031, 1647127995, 3848351106}, 5);
  expect_grams("cat", 3, 4, 2000000, (uint32_t[]){916747, 1988973, 289031, 1127995, 351106}, 5);
  /* <a a ab b b>: a bracket alone is none */
  expect_grams("ab", 1, 2, 1000, (uint32_t[]){750, 220, 946, 77, 561}, 5);
  expect_grams("a", 1, 1, whole, (uint32_t[]){0xe40c292c}, 1); /* published */
  /* Characters, not bytes: <घर <घर> घर> of घर, where every byte's sign is extended */
  expect_grams("\xe0\xa4\x98\xe0\xa4\xb0", 3, 4, whole, (uint32_t[]){1931104451, 795704903, 1584844025}, 3);
  expect_grams("\xe0\xa4\x98\xe0\xa4\xb0", 1, 2, 2000000, (uint32_t[]){1164133, 265307, 1043581, 928163, 507815}, 5);
  expect_grams("\xc3\xa9", 3, 4, whole, (uint32_t[]){1002806231}, 1);
  expect_grams("cat", 6, 9, whole, NULL, 0); /* "<cat>" has five */
  expect_grams("cat", 5, 9, 1, (uint32_t[]){0}, 1);
}

static void a_vector_is_the_mean_with_its_sub_words(void **state) {
  (void)state;
  cq_word_corpus c = corpus_of("cat a cat a");
  cq_words_options o = tiny_options();
  o.min_ngram = 5, o.max_ngram = 6;
  cq_word_model m = trained(&c, &o, NULL);
  float got[5];
  assert_int_equal(m.gram_starts[1] - m.gram_starts[0], 1); /* <cat> */
  assert_int_equal(m.gram_starts[2] - m.gram_starts[1], 0); /* "<a>" is too short */
  const float *own = m.in, *gram = m.in + m.grams[0] * m.stride;
  assert_true(m.grams[0] >= 2 && m.grams[0] < 2 + o.buckets);
  cq_word_model_vector(got, &m, 0);
  for (int i = 0; i < 5; i++) assert_float_equal(got[i], (own[i] + gram[i]) / 2, 1e-7);
  cq_word_model_vector(got, &m, 1);
  assert_memory_equal(got, m.in + m.stride, sizeof got);
  cq_word_model_free(&m);
  cq_word_corpus_free(&c);
}

/* --- memory --- */

static void every_allocation_may_fail(void **state) {
  (void)state;
  cq_word_corpus c = corpus_of(verses);
  for (int way = 0; way < 4; way++) {
    cq_words_options o = tiny_options();
    o.cbow = way % 2;
    if (way >= 2) o.min_ngram = 3, o.max_ngram = 4;
    for (long n = 1;; n++) {
      cq_word_model m;
      double loss;
      cq_alloc_fail_at(n);
      cq_status status = cq_word_model_train(&m, &c, &o, NULL, NULL);
      if (!status) status = cq_word_model_loss(&loss, &m, &c, c.counts, &o, NULL, NULL);
      const bool failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
      cq_word_model_free(&m);
      if (!failed) break;
    }
  }
  cq_word_corpus_free(&c);
}

static void progress_counts_to_the_end(void *context, uint64_t done, uint64_t all) {
  uint64_t *seen = context;
  assert_true(done > seen[0] && done <= all);
  seen[0] = done, seen[1] = all;
}

static void progress_is_told(void **state) {
  (void)state;
  cq_word_corpus c = topical_corpus(2000, FEW_TOPICS);
  cq_words_options o = tiny_options();
  uint64_t seen[2] = {0};
  count(&c);
  o.progress = progress_counts_to_the_end, o.progress_context = seen;
  cq_word_model m = trained(&c, &o, NULL);
  assert_int_equal(seen[0], 2 * c.tokens.n);
  assert_int_equal(seen[1], 2 * c.tokens.n);
  cq_word_model_free(&m);
  cq_word_corpus_free(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_are_those_of_finite_differences),
      cmocka_unit_test(the_seed_decides_every_bit),
      cmocka_unit_test(words_of_one_topic_come_together),
      cmocka_unit_test(several_threads_learn_as_well),
      cmocka_unit_test(loss_falls_with_epochs),
      cmocka_unit_test(loss_by_hand),
      cmocka_unit_test(options_out_of_range),
      cmocka_unit_test(long_documents_are_cut),
      cmocka_unit_test(documents_of_one_word_teach_nothing),
      cmocka_unit_test(grams_hash_as_fasttexts),
      cmocka_unit_test(a_vector_is_the_mean_with_its_sub_words),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(progress_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
