/* Training, in jobs of about ten thousand words. Any thread may run a job:
 *
 *   job ──▶ frequent words thinned out ──▶ for each word a window of 1 to `window` on both sides ──▶ pairs ──▶ updates
 *
 * A job's random draws depend only on the seed, the epoch and the job's number; its learning rate depends on its
 * position in the text. So one thread always gives the same result. Threads write to the vectors without locks: an
 * update may be lost when two threads write to the same row at once. This is rare and does no harm (Recht et al. 2011).
 * The order of steps is gensim 4's: words are thinned out before windows are formed; the center word is predicted from
 * each word around it; a negative that equals the center word is skipped, not drawn again. */
#include "words/train_words.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "tensor/kernels.h"
#include "words/negatives.h"

#include <math.h>
#include <stdatomic.h>

#define O cq_words_options
static const cq_option option_rows[] = {
    {CQ_INT(O, "dim", dim, CHANGES, 100, 1, 1 << 16, "N", "dimensions of a vector")},
    {CQ_INT(O, "window", window, CHANGES, 5, 1, 10000, "N",
            "context window: up to N words on either side, drawn from 1 to N for each word"),
     .letter = 'w'},
    {CQ_INT(O, "negative", negative, CHANGES, 5, 1, CQ_MAX_NEGATIVES, "N", "negative samples for each pair")},
    {CQ_NUMBER(O, "sample", sample, CHANGES, 1e-3, 0, 1, "X",
               "subsample words that are more than this share of the text"),
     .flags = CQ_OPTION_BELOW_MAX},
    {CQ_COUNT(O, "seed", seed, CHANGES, 1, 0, 0, "N", "seed of the random numbers")},
    {CQ_INT(O, "epochs", epochs, CHANGES, 5, 1, 100000, "N", "passes over the text")},
    {CQ_NUMBER(O, "lr", learning_rate, CHANGES, 0.01, 0, 100, "RATE",
               "learning rate at the start; it falls to --min-lr"),
     .flags = CQ_OPTION_ABOVE_MIN | CQ_OPTION_BELOW_MAX},
    {CQ_NUMBER(O, "min-lr", min_learning_rate, CHANGES, 0.0001, 0, 100, "RATE", "learning rate at the end")},
    {CQ_COUNT(O, "min-count", min_count, CHANGES, 1, 0, 0, "N", "leave out words that are rarer")},
    {CQ_FLAG(O, "cbow", cbow, CHANGES, "CBOW instead of skip-gram: predict a word from the mean of those around it")},
    {CQ_FLAG(O, "share-negatives", share_negatives, CHANGES,
             "share negatives between a word's context words: several times faster, with slightly different training")},
    {CQ_INT(O, "min-ngram", min_ngram, CHANGES, 0, 0, 0, "N", "shortest subword, in characters")},
    {CQ_INT(O, "max-ngram", max_ngram, CHANGES, 0, 0, 0, "N", "longest subword, in characters; 0: whole words only")},
    {CQ_COUNT(O, "buckets", buckets, CHANGES, 2000000, 1, 1 << 28, "N", "hash buckets for subwords")},
};
#undef O

static cq_status check_words(const void *options, cq_error *error) {
  const cq_words_options *o = options;
  if (o->min_learning_rate > o->learning_rate)
    return cq_fail(error, CQ_ERR_ARGUMENT, "the learning rate goes from %g to %g, expected one that falls",
                   o->learning_rate, o->min_learning_rate);
  if (o->max_ngram && (o->min_ngram < 1 || o->min_ngram > o->max_ngram))
    return cq_fail(error, CQ_ERR_ARGUMENT, "subwords of %d to %d characters", o->min_ngram, o->max_ngram);
  return CQ_OK;
}

const cq_option_group cq_group_words = {.name = "words",
                                        CQ_ROWS(cq_words_options, option_rows),
                                        .check = check_words,
                                        CQ_FIELDS(CQ_CALLBACK(cq_words_options, progress))};

enum {
  JOB_TOKENS = 10000,
  LINE_FLOATS = 16,
};

/* --- jobs --- */

typedef struct piece {
  size_t first, end; /* tokens of one document */
} piece;

typedef struct jobs {
  piece *pieces;
  size_t *starts; /* [n + 1] into pieces */
  size_t n, n_pieces, pieces_capacity, starts_capacity;
} jobs;

static bool add_piece(jobs *j, size_t first, size_t end, size_t *n_tokens) {
  const size_t n = end - first;
  if (j->n == 0 || *n_tokens + n > JOB_TOKENS) {
    if (!cq_reserve((void **)&j->starts, &j->starts_capacity, j->n + 2, sizeof *j->starts)) return false;
    j->starts[j->n++] = j->n_pieces;
    *n_tokens = 0;
  }
  if (!cq_reserve((void **)&j->pieces, &j->pieces_capacity, j->n_pieces + 1, sizeof *j->pieces)) return false;
  j->pieces[j->n_pieces++] = (piece){first, end};
  j->starts[j->n] = j->n_pieces;
  *n_tokens += n;
  return true;
}

/* Documents of more than ten thousand words are divided, as by gensim. */
static cq_status jobs_of(jobs *j, const cq_word_corpus *c, cq_error *error) {
  size_t n_tokens = 0;
  *j = (jobs){0};
  for (size_t d = 0; d < c->n_documents; d++)
    for (size_t first = c->starts[d], end; first < c->starts[d + 1]; first = end) {
      end = first + cq_min(JOB_TOKENS, c->starts[d + 1] - first);
      if (!add_piece(j, first, end, &n_tokens)) return cq_fail_memory(error, "a corpus");
    }
  return CQ_OK;
}

/* --- subwords --- */

static uint32_t sign_extended(char byte) {
  return ((uint32_t)(unsigned char)byte ^ 0x80u) - 0x80u;
}

bool cq_word_grams(cq_u32_array *out, cq_slice word, const cq_words_options *o) {
  cq_builder b = {0};
  bool ok = true;
  cq_builder_char(&b, '<');
  cq_builder_bytes(&b, word.data, word.n);
  cq_builder_char(&b, '>');
  for (size_t first = 0, step; ok && !b.failed && first < b.n; first += step) {
    uint32_t c, hash = 2166136261u;
    step = cq_utf8_decode(&c, b.data + first, b.n - first);
    int n_characters = 0;
    for (size_t at = first; ok && at < b.n && n_characters < o->max_ngram;) {
      const size_t n = cq_utf8_decode(&c, b.data + at, b.n - at);
      for (size_t i = 0; i < n; i++) hash = (hash ^ sign_extended(b.data[at + i])) * 16777619u;
      at += n;
      n_characters++;
      if (n_characters < o->min_ngram || (n_characters == 1 && (first == 0 || at == b.n))) continue;
      const uint32_t bucket = hash % (uint32_t)o->buckets;
      ok = cq_u32_array_append(out, &bucket, 1);
    }
  }
  ok &= !b.failed;
  cq_builder_free(&b);
  return ok;
}

static cq_status find_grams(cq_word_model *m, const cq_word_corpus *c, const cq_words_options *o, cq_error *error) {
  cq_u32_array ids = {0};
  m->gram_starts = cq_alloc_array((size_t)m->n + 1, sizeof *m->gram_starts);
  bool ok = m->gram_starts != NULL;
  for (uint32_t w = 0; ok && w < m->n; w++) {
    m->gram_starts[w] = (uint32_t)ids.n;
    ok = cq_word_grams(&ids, c->words.items[w], o) && ids.n < UINT32_MAX;
  }
  for (size_t i = 0; ok && i < ids.n; i++) ids.items[i] += m->n;
  if (ok) m->gram_starts[m->n] = (uint32_t)ids.n;
  m->grams = ids.items;
  return ok ? CQ_OK : cq_fail_memory(error, "subwords");
}

/* --- the model --- */

static cq_status make_word_model(cq_word_model *m, const cq_word_corpus *c, const cq_words_options *o,
                                 cq_error *error) {
  *m = (cq_word_model){.n = c->words.n, .dim = o->dim};
  m->stride = (o->dim + LINE_FLOATS - 1) / LINE_FLOATS * LINE_FLOATS;
  const bool has_grams = o->max_ngram > 0;
  const size_t rows = m->n + (has_grams ? (size_t)o->buckets : 0);
  m->in = cq_alloc_array_zeroed(rows, (size_t)m->stride * sizeof *m->in);
  m->out = cq_alloc_array_zeroed(m->n, (size_t)m->stride * sizeof *m->out);
  if (!m->in || !m->out) return cq_fail_memory(error, "word vectors");
  for (size_t row = 0; row < rows; row++) {
    cq_random r = cq_random_seeded(o->seed, row);
    float *v = m->in + row * (size_t)m->stride;
    for (int i = 0; i < o->dim; i++) v[i] = (float)((2 * cq_random_uniform(&r) - 1) / o->dim);
  }
  return has_grams ? find_grams(m, c, o, error) : CQ_OK;
}

void cq_word_model_free(cq_word_model *m) {
  cq_free(m->in);
  cq_free(m->out);
  cq_free(m->grams);
  cq_free(m->gram_starts);
  *m = (cq_word_model){0};
}

void cq_word_model_vector(float *out, const cq_word_model *m, uint32_t word) {
  const float *own = m->in + word * m->stride;
  const uint32_t first = m->grams ? m->gram_starts[word] : 0, end = m->grams ? m->gram_starts[word + 1] : 0;
  for (int i = 0; i < m->dim; i++) {
    float sum = own[i];
    for (uint32_t g = first; g < end; g++) sum += m->in[m->grams[g] * m->stride + i];
    out[i] = sum / (float)(1 + end - first);
  }
}

/* --- training --- */

typedef struct worker {
  uint32_t kept[JOB_TOKENS];
  cq_u32_array inputs;
  float *x, *dx; /* [stride] */
  bool failed;
} worker;

typedef struct training {
  const cq_word_corpus *corpus;
  const cq_words_options *o;
  const cq_kernels *k;
  cq_word_model *model;
  cq_negatives negatives;
  uint32_t *keep; /* by word: kept when a 32-bit draw is at most this */
  jobs jobs;
  int epoch;
  worker *workers;
  size_t n_workers;
  atomic_ullong n_done;
} training;

/* Source: word2vec's (sqrt(c / t) + 1) t / c, with t the threshold times the text's length. */
static cq_status set_keep_thresholds(training *t, cq_error *error) {
  const cq_word_corpus *c = t->corpus;
  const double threshold = t->o->sample * (double)c->tokens.n;
  t->keep = cq_alloc_array(c->words.n, sizeof *t->keep);
  if (!t->keep) return cq_fail_memory(error, "a vocabulary");
  for (uint32_t w = 0; w < c->words.n; w++) {
    const double count = (double)c->counts[w];
    const double share = threshold > 0 ? (sqrt(count / threshold) + 1) * threshold / count : 1;
    t->keep[w] = share < 1 ? (uint32_t)(share * UINT32_MAX) : UINT32_MAX;
  }
  return CQ_OK;
}

static uint32_t subsample(uint32_t *kept, const training *t, piece p, cq_random *random) {
  uint32_t n = 0;
  for (size_t i = p.first; i < p.end; i++) {
    const uint32_t word = t->corpus->tokens.items[i];
    if (t->keep[word] == UINT32_MAX || (uint32_t)cq_random_u64(random) <= t->keep[word]) kept[n++] = word;
  }
  return n;
}

/* rows[0] = target, then negatives; returns the total number. Prefetches their rows. */
static int draw_negatives(uint32_t rows[CQ_MAX_NEGATIVES + 1], const training *t, uint32_t target, cq_random *random) {
  const cq_word_model *m = t->model;
  int n = 1;
  rows[0] = target;
  for (int i = 0; i < t->o->negative; i++) {
    const uint32_t word = cq_negatives_draw(&t->negatives, random);
    if (word == target) continue;
    rows[n++] = word;
    const float *row = m->out + word * m->stride;
    for (int64_t f = 0; f < m->stride; f += LINE_FLOATS) __builtin_prefetch(row + f, 1);
  }
  return n;
}

/* One step with one input, which is a row. */
static void train_step(const training *t, worker *w, float *x, const uint32_t *rows, int n, float rate) {
  const int64_t stride = t->model->stride;
  t->k->negative_sampling(w->dx, x, t->model->out, stride, rows, n, rate, stride);
  t->k->add(x, w->dx, stride);
}

/* One step with the mean of many rows as input; each row moves by the whole gradient. */
static void step_of_mean(const training *t, worker *w, const uint32_t *rows, int n, float rate) {
  const int64_t stride = t->model->stride;
  float *in = t->model->in;
  const uint32_t *inputs = w->inputs.items;
  memcpy(w->x, in + inputs[0] * stride, (size_t)stride * sizeof *w->x);
  for (size_t i = 1; i < w->inputs.n; i++) t->k->add(w->x, in + inputs[i] * stride, stride);
  t->k->scale(w->x, w->x, 1 / (float)w->inputs.n, stride);
  t->k->negative_sampling(w->dx, w->x, t->model->out, stride, rows, n, rate, stride);
  for (size_t i = 0; i < w->inputs.n; i++) t->k->add(in + inputs[i] * stride, w->dx, stride);
}

static bool add_input(const training *t, worker *w, uint32_t word) {
  const cq_word_model *m = t->model;
  if (!cq_u32_array_append(&w->inputs, &word, 1)) return false;
  return !m->grams || cq_u32_array_append(&w->inputs, m->grams + m->gram_starts[word],
                                          m->gram_starts[word + 1] - m->gram_starts[word]);
}

/* The words around position i: from *low to *high, including i itself. */
static void lay_window(uint32_t *low, uint32_t *high, const training *t, uint32_t i, uint32_t n, cq_random *random) {
  const uint32_t reach = 1 + (uint32_t)cq_random_below(random, (uint64_t)t->o->window);
  *low = i > reach ? i - reach : 0;
  *high = reach < n - 1 - i ? i + reach : n - 1;
}

static void train_skip_gram(const training *t, worker *w, uint32_t n, float rate, cq_random *random) {
  const cq_word_model *m = t->model;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t rows[2][CQ_MAX_NEGATIVES + 1], low, high;
    lay_window(&low, &high, t, i, n, random);
    if (low == high) continue;
    int now = 0, n_rows[2] = {draw_negatives(rows[0], t, w->kept[i], random), 0};
    for (uint32_t j = low; j <= high; j++) {
      if (j == i) continue;
      /* Prefetches the next pair's negatives. */
      if (!t->o->share_negatives) n_rows[!now] = draw_negatives(rows[!now], t, w->kept[i], random);
      if (m->grams) {
        w->inputs.n = 0;
        w->failed |= !add_input(t, w, w->kept[j]);
        if (w->inputs.n) step_of_mean(t, w, rows[now], n_rows[now], rate);
      } else {
        train_step(t, w, m->in + w->kept[j] * m->stride, rows[now], n_rows[now], rate);
      }
      if (!t->o->share_negatives) now = !now;
    }
  }
}

static void train_cbow(const training *t, worker *w, uint32_t n, float rate, cq_random *random) {
  for (uint32_t i = 0; i < n; i++) {
    uint32_t rows[CQ_MAX_NEGATIVES + 1], low, high;
    lay_window(&low, &high, t, i, n, random);
    if (low == high) continue;
    const int n_rows = draw_negatives(rows, t, w->kept[i], random);
    w->inputs.n = 0;
    for (uint32_t j = low; j <= high; j++)
      if (j != i) w->failed |= !add_input(t, w, w->kept[j]);
    if (w->inputs.n) step_of_mean(t, w, rows, n_rows, rate);
  }
}

static cq_random random_of_job(const training *t, size_t job) {
  return cq_random_seeded(cq_mix(t->o->seed) + (uint64_t)t->epoch + 1, job);
}

static void run_job(void *context, size_t job, int worker_number) {
  training *t = context;
  worker *w = &t->workers[worker_number];
  cq_random random = random_of_job(t, job);
  const piece *pieces = t->jobs.pieces;
  const size_t first = t->jobs.starts[job], end = t->jobs.starts[job + 1];
  const double all = (double)t->corpus->tokens.n;
  const double done = (t->epoch + (double)pieces[first].first / all) / t->o->epochs;
  const float rate = (float)fmax(t->o->learning_rate - (t->o->learning_rate - t->o->min_learning_rate) * done,
                                 t->o->min_learning_rate);
  uint64_t n_read = 0;
  for (size_t p = first; p < end; p++) {
    const uint32_t n = subsample(w->kept, t, pieces[p], &random);
    n_read += pieces[p].end - pieces[p].first;
    if (n == 0) continue;
    if (t->o->cbow)
      train_cbow(t, w, n, rate, &random);
    else
      train_skip_gram(t, w, n, rate, &random);
  }
  const uint64_t before = atomic_fetch_add(&t->n_done, n_read);
  if (t->o->progress && worker_number == 0)
    t->o->progress(t->o->progress_context, before + n_read, t->corpus->tokens.n * (uint64_t)t->o->epochs);
}

static cq_status open_workers(training *t, cq_context *ctx, cq_error *error) {
  t->n_workers = ctx ? (size_t)cq_context_n_threads(ctx) : 1;
  t->workers = cq_alloc_array_zeroed(t->n_workers, sizeof *t->workers);
  bool ok = t->workers != NULL;
  for (size_t i = 0; ok && i < t->n_workers; i++) {
    t->workers[i].x = cq_alloc_array(2 * (size_t)t->model->stride, sizeof(float));
    ok = t->workers[i].x != NULL;
    if (ok) t->workers[i].dx = t->workers[i].x + t->model->stride;
  }
  return ok ? CQ_OK : cq_fail_memory(error, "training");
}

static void close_training(training *t) {
  for (size_t i = 0; t->workers && i < t->n_workers; i++) {
    cq_free(t->workers[i].x);
    cq_u32_array_free(&t->workers[i].inputs);
  }
  cq_free(t->workers);
  cq_free(t->keep);
  cq_negatives_close(&t->negatives);
  cq_free(t->jobs.pieces);
  cq_free(t->jobs.starts);
}

/* All but the model. */
static cq_status open_training(training *t, const uint64_t *counts, cq_context *ctx, cq_error *error) {
  cq_status status = cq_group_check(&cq_group_words, t->o, error);
  if (!status && t->corpus->tokens.n == 0) status = cq_fail(error, CQ_ERR_ARGUMENT, "the corpus has no words");
  if (!status) status = cq_negatives_open(&t->negatives, counts, t->corpus->words.n, 0.75, error);
  if (!status) status = set_keep_thresholds(t, error);
  if (!status) status = jobs_of(&t->jobs, t->corpus, error);
  if (!status) status = open_workers(t, ctx, error);
  return status;
}

cq_status cq_word_model_train(cq_word_model *out, const cq_word_corpus *corpus, const cq_words_options *o,
                              cq_context *ctx, cq_error *error) {
  training t = {.corpus = corpus, .o = o, .k = cq_kernels_best(), .model = out};
  *out = (cq_word_model){0};
  cq_status status = cq_group_check(&cq_group_words, o, error);
  if (!status) status = make_word_model(out, corpus, o, error);
  if (!status) status = open_training(&t, corpus->counts, ctx, error);
  for (t.epoch = 0; !status && t.epoch < o->epochs; t.epoch++) {
    cq_context_run(ctx, t.jobs.n, run_job, &t);
    for (size_t i = 0; i < t.n_workers; i++)
      if (t.workers[i].failed) status = cq_fail_memory(error, "training");
  }
  out->n_read = t.n_done;
  close_training(&t);
  if (status) cq_word_model_free(out);
  return status;
}

/* --- loss --- */

typedef struct measuring {
  training t;
  double *sums; /* [n_jobs] */
  uint64_t *n_pairs;
} measuring;

/* log(1 + e^-f), without overflow. */
static double softplus_of_minus(double f) {
  return f > 0 ? log1p(exp(-f)) : log1p(exp(f)) - f;
}

static void measure_job(void *context, size_t job, int worker_number) {
  measuring *q = context;
  const training *t = &q->t;
  const cq_word_model *m = t->model;
  worker *w = &t->workers[worker_number];
  cq_random random = random_of_job(t, job);
  double sum = 0;
  uint64_t n_pairs = 0;
  for (size_t p = t->jobs.starts[job]; p < t->jobs.starts[job + 1]; p++) {
    const uint32_t n = subsample(w->kept, t, t->jobs.pieces[p], &random);
    for (uint32_t i = 0; i < n; i++) {
      uint32_t rows[CQ_MAX_NEGATIVES + 1], low, high;
      lay_window(&low, &high, t, i, n, &random);
      for (uint32_t j = low; j <= high; j++) {
        if (j == i) continue;
        const int n_rows = draw_negatives(rows, t, w->kept[i], &random);
        for (int r = 0; r < n_rows; r++) {
          const double f = (double)t->k->dot(m->in + w->kept[j] * m->stride, m->out + rows[r] * m->stride, m->stride);
          sum += softplus_of_minus(r == 0 ? f : -f);
        }
        n_pairs++;
      }
    }
  }
  q->sums[job] = sum;
  q->n_pairs[job] = n_pairs;
}

cq_status cq_word_model_loss(double *loss, const cq_word_model *model, const cq_word_corpus *corpus,
                             const uint64_t *counts, const cq_words_options *o, cq_context *ctx, cq_error *error) {
  /* A separate epoch number: the draws differ from those of any training. */
  measuring q = {.t = {.corpus = corpus, .o = o, .k = cq_kernels_best(), .model = (cq_word_model *)model, .epoch = -1}};
  double sum = 0;
  uint64_t n_pairs = 0;
  cq_status status = open_training(&q.t, counts, ctx, error);
  if (!status) {
    q.sums = cq_alloc_array(q.t.jobs.n, sizeof *q.sums);
    q.n_pairs = cq_alloc_array(q.t.jobs.n, sizeof *q.n_pairs);
    if (!q.sums || !q.n_pairs) status = cq_fail_memory(error, "a loss");
  }
  if (!status) cq_context_run(ctx, q.t.jobs.n, measure_job, &q);
  for (size_t i = 0; !status && i < q.t.jobs.n; i++) sum += q.sums[i], n_pairs += q.n_pairs[i];
  if (!status && n_pairs == 0) status = cq_fail(error, CQ_ERR_ARGUMENT, "the corpus has no two adjacent words");
  if (!status) *loss = sum / (double)n_pairs;
  cq_free(q.sums);
  cq_free(q.n_pairs);
  close_training(&q.t);
  return status;
}
