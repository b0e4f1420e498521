/* FOCUS: skip-gram vectors of the new pieces on the text, then each unplaced row as a sparse mean of placed ones.
 * See focus.h. */
#include "recipe/student/focus.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "recipe/student/student_text.h"
#include "tensor/kernels.h"
#include "words/train_words.h"

#include <math.h>
#include <string.h>

enum {
  MAX_TOKENS = 4000000,  /* maximum tokens of text; of a longer text, only each second, fourth ... sentence is read */
  SEEN_TOKENS = 5000000, /* tokens of training over all epochs: a short text is read more often */
  MIN_EPOCHS = 3,
  MAX_EPOCHS = 50,
  MIN_COUNT = 2, /* a piece met once says little */
  BLOCK = 16,    /* pieces whose neighbors one thread looks for at once */
};

typedef struct focus {
  float *rows;
  int64_t dim;
  const unsigned char *origins;
  const cq_kernels *k;
  cq_word_corpus corpus;
  cq_word_model vectors;
  uint32_t *known, *left; /* [n_known], [n_left] ids */
  size_t n_known, n_left;
  float *known_vectors, *left_vectors; /* [.., vectors.stride] of length 1; known_vectors are packed for products */
  float *cosines;                      /* [n_workers, BLOCK, n_known] */
  uint32_t *at;                        /* [n_workers, n_known] */
} focus;

/* --- text --- */

/* Each second sentence goes. */
static void thin_out(cq_word_corpus *c) {
  size_t n = 0, n_documents = 0;
  for (size_t d = 0; d < c->n_documents; d += 2) {
    const size_t first = c->starts[d], length = c->starts[d + 1] - first;
    memmove(c->tokens.items + n, c->tokens.items + first, length * sizeof *c->tokens.items);
    n += length;
    c->starts[++n_documents] = n;
  }
  c->n_documents = n_documents, c->tokens.n = n;
}

/* Reads a corpus whose words are the bytes of ids, because words are renumbered by frequency. */
static cq_status read_text(focus *f, const cq_tokenizer *tokenizer, const cq_student_options *o, cq_error *error) {
  cq_student_text *text = cq_alloc_zeroed(sizeof *text);
  cq_token_memory *memory = cq_token_memory_new();
  cq_ids ids = {0};
  cq_slice sentence;
  bool ok = text && memory;
  for (uint32_t id = 0; ok && id < cq_tokenizer_describe(tokenizer)->vocab_size; id++)
    ok = cq_intern_put(&f->corpus.words, (cq_slice){(const char *)&id, sizeof id}) == id;
  cq_status status = ok ? CQ_OK : cq_fail_memory(error, "text");
  if (text) text->options = o;
  uint64_t every = 1, n_read = 0;
  while (!status && cq_student_text_next(text, &sentence)) {
    if (n_read++ % every != 0) continue;
    ids.n = 0;
    status = cq_tokenizer_encode(&ids, tokenizer, memory, sentence, false, 0, NULL, error);
    if (!status) status = cq_word_corpus_add(&f->corpus, (const uint32_t *)ids.ids, ids.n, error);
    if (f->corpus.tokens.n > MAX_TOKENS) thin_out(&f->corpus), every *= 2;
  }
  if (text) status = cq_student_text_close(text, status, error);
  cq_free(text);
  cq_token_memory_free(memory);
  cq_free(ids.ids);
  return status ? status : cq_word_corpus_finish(&f->corpus, MIN_COUNT, error);
}

/* The same files, but each only once: repetitions are for the vocabulary and add nothing to the contexts. */
static cq_status read_text_once(focus *f, const cq_tokenizer *tokenizer, const cq_student_options *o, cq_error *error) {
  cq_student_options once = *o;
  cq_training_data *files = cq_alloc_array(o->n_text, sizeof *files);
  if (!files) return cq_fail_memory(error, "text");
  for (size_t i = 0; i < o->n_text; i++) {
    files[i] = o->text[i];
    files[i].weight = fmin(files[i].weight, 1);
  }
  once.text = files;
  const cq_status status = read_text(f, tokenizer, &once, error);
  cq_free(files);
  return status;
}

static uint32_t id_of_word(const focus *f, uint32_t word) {
  uint32_t id;
  memcpy(&id, f->corpus.words.items[word].data, sizeof id);
  return id;
}

static size_t count_words(const focus *f, cq_row_origin origin) {
  size_t n = 0;
  for (uint32_t w = 0; w < f->corpus.words.n; w++) n += f->origins[id_of_word(f, w)] == origin;
  return n;
}

/* --- vectors --- */

/* One thread, because several would give different vectors each time. */
static cq_status train_vectors(focus *f, uint64_t seed, cq_error *error) {
  cq_words_options o = cq_words_default_options();
  o.epochs = (int)fmin(fmax(SEEN_TOKENS / (double)f->corpus.tokens.n, MIN_EPOCHS), MAX_EPOCHS);
  o.learning_rate = 0.05;
  o.share_negatives = true;
  o.seed = seed;
  return cq_word_model_train(&f->vectors, &f->corpus, &o, NULL, error);
}

static void copy_unit(float *out, const focus *f, uint32_t word) {
  const int64_t n = f->vectors.stride;
  const float *v = f->vectors.in + word * n;
  const float length = sqrtf(f->k->dot(v, v, n));
  f->k->scale(out, v, length > 0 ? 1 / length : 0, n);
}

static cq_status divide_vectors(focus *f, cq_error *error) {
  const size_t stride = (size_t)f->vectors.stride;
  float *plain = cq_alloc_array(f->n_known, stride * sizeof *plain);
  f->known = cq_alloc_array(f->n_known, sizeof *f->known);
  f->left = cq_alloc_array(f->n_left, sizeof *f->left);
  f->left_vectors = cq_alloc_array(f->n_left, stride * sizeof *f->left_vectors);
  f->known_vectors = cq_alloc_array((size_t)f->k->packed_floats((int64_t)stride, (int64_t)f->n_known), sizeof(float));
  const bool ok = plain && f->known && f->left && f->left_vectors && f->known_vectors;
  size_t n_known = 0, n_left = 0;
  for (uint32_t w = 0; ok && w < f->corpus.words.n; w++) {
    const uint32_t id = id_of_word(f, w);
    if (f->origins[id] == CQ_ROW_KNOWN) {
      copy_unit(plain + n_known * stride, f, w);
      f->known[n_known++] = id;
    } else if (f->origins[id] == CQ_ROW_UNALIGNED) {
      copy_unit(f->left_vectors + n_left * stride, f, w);
      f->left[n_left++] = id;
    }
  }
  if (ok) f->k->pack(f->known_vectors, plain, 1, (int64_t)stride, (int64_t)stride, (int64_t)f->n_known);
  cq_free(plain);
  return ok ? CQ_OK : cq_fail_memory(error, "vectors of pieces");
}

/* --- rows --- */

size_t cq_sparsemax(float *z, uint32_t *at, size_t n) {
  float largest = -INFINITY;
  double sum = 0, threshold;
  size_t n_kept = 0, n_before = 0;
  for (size_t i = 0; i < n; i++) largest = fmaxf(largest, z[i]);
  for (size_t i = 0; i < n; i++) {
    if (!(z[i] > largest - 1)) continue; /* no weight whatever the others */
    sum += (double)z[i];
    at[n_kept] = (uint32_t)i, z[n_kept++] = z[i];
  }
  do {
    n_before = n_kept, n_kept = 0;
    threshold = (sum - 1) / (double)n_before, sum = 0;
    for (size_t i = 0; i < n_before; i++) {
      if (!((double)z[i] > threshold)) continue;
      sum += (double)z[i];
      at[n_kept] = at[i], z[n_kept++] = z[i];
    }
  } while (n_kept < n_before);
  for (size_t i = 0; i < n_kept; i++) z[i] = (float)((double)z[i] - threshold);
  return n_kept;
}

static float length_of(const focus *f, const float *row) {
  return sqrtf(f->k->dot(row, row, f->dim));
}

/* Scaled to the rows' mean length: see carry.c. */
static void combine(const focus *f, float *row, const float *weights, const uint32_t *at, size_t n) {
  float length = 0;
  memset(row, 0, (size_t)f->dim * sizeof *row);
  for (size_t i = 0; i < n; i++) {
    const float *of = f->rows + f->known[at[i]] * f->dim;
    for (int64_t j = 0; j < f->dim; j++) row[j] += weights[i] * of[j];
    length += weights[i] * length_of(f, of);
  }
  const float now = length_of(f, row);
  if (now > 0) f->k->scale(row, row, length / now, f->dim);
}

static void fill_block(void *context, size_t block, int worker) {
  focus *f = context;
  const size_t first = block * BLOCK, n = cq_min(BLOCK, f->n_left - first), stride = (size_t)f->vectors.stride;
  float *cosines = f->cosines + (size_t)worker * BLOCK * f->n_known;
  uint32_t *at = f->at + (size_t)worker * f->n_known;
  f->k->product(cosines, (int64_t)f->n_known, f->left_vectors + first * stride, (int64_t)stride, f->known_vectors,
                (int64_t)n, (int64_t)f->n_known, (int64_t)stride, NULL);
  for (size_t i = 0; i < n; i++) {
    float *z = cosines + i * f->n_known;
    const size_t n_kept = cq_sparsemax(z, at, f->n_known);
    combine(f, f->rows + f->left[first + i] * f->dim, z, at, n_kept);
  }
}

static cq_status fill_left(focus *f, cq_context *ctx, cq_error *error) {
  const size_t n_workers = (size_t)cq_context_n_threads(ctx);
  f->cosines = cq_alloc_array(f->n_known, n_workers * BLOCK * sizeof *f->cosines);
  f->at = cq_alloc_array(f->n_known, n_workers * sizeof *f->at);
  if (!f->cosines || !f->at) return cq_fail_memory(error, "neighbors of pieces");
  cq_context_run(ctx, (f->n_left + BLOCK - 1) / BLOCK, fill_block, f);
  return CQ_OK;
}

cq_status cq_focus_rows(int64_t *n, float *rows, int64_t dim, const unsigned char *origins,
                        const cq_tokenizer *tokenizer, const cq_student_options *o, cq_context *ctx, cq_error *error) {
  focus f = {.rows = rows, .dim = dim, .origins = origins, .k = cq_kernels_best()};
  *n = 0;
  cq_status status = read_text_once(&f, tokenizer, o, error);
  if (!status) f.n_known = count_words(&f, CQ_ROW_KNOWN), f.n_left = count_words(&f, CQ_ROW_UNALIGNED);
  if (f.n_known > 0 && f.n_left > 0) {
    status = train_vectors(&f, o->seed, error);
    if (!status) status = divide_vectors(&f, error);
    if (!status) status = fill_left(&f, ctx, error);
    if (!status) *n = (int64_t)f.n_left;
  }
  cq_word_corpus_free(&f.corpus);
  cq_word_model_free(&f.vectors);
  cq_free(f.known), cq_free(f.left), cq_free(f.known_vectors), cq_free(f.left_vectors);
  cq_free(f.cosines), cq_free(f.at);
  return status;
}
