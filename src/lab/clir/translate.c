/* Translates a query's words to their nearest words in another language. See translate.h. */
#include "lab/clir/translate.h"

#include "base/error.h"
#include "base/memory.h"
#include "tensor/kernels.h"

#include <math.h>
#include <string.h>

enum { LINE_FLOATS = 16, MAX_CSLS = 100 };

static float *vector_of(const cq_translator *t, uint32_t word) {
  return t->vectors + word * t->stride;
}

static void make_unit(float *v, int64_t n) {
  const float length = sqrtf((float)cq_kernels_best()->sum_squares(v, n));
  if (length > 0) cq_kernels_best()->scale(v, v, 1 / length, n);
}

typedef struct crowding_work {
  cq_translator *t;
  const bool *is_source, *is_target;
  int k;
} crowding_work;

/* The mean cosine to the k nearest words of one language. */
static float mean_of_nearest(const cq_translator *t, uint32_t word, const bool *language, int k) {
  float best[MAX_CSLS] = {0};
  int n = 0;
  for (uint32_t other = 0; other < t->n; other++) {
    if (!language[other] || other == word) continue;
    const float cosine = cq_kernels_best()->dot(vector_of(t, word), vector_of(t, other), t->stride);
    if (n == k && !(cosine > best[n - 1])) continue;
    int at = n < k ? n++ : k - 1;
    for (; at > 0 && best[at - 1] < cosine; at--) best[at] = best[at - 1];
    best[at] = cosine;
  }
  float sum = 0;
  for (int i = 0; i < n; i++) sum += best[i];
  return n ? sum / (float)n : 0;
}

static void crowd_word(void *context, size_t word, int worker) {
  (void)worker;
  const crowding_work *w = context;
  w->t->crowding[word] = mean_of_nearest(w->t, (uint32_t)word, w->is_target[word] ? w->is_source : w->is_target, w->k);
}

cq_status cq_translator_open(cq_translator *t, const float *vectors, uint32_t n, int dim, const bool *is_source,
                             const bool *is_target, int csls, cq_context *ctx, cq_error *error) {
  *t = (cq_translator){.n = n, .stride = (dim + LINE_FLOATS - 1) / LINE_FLOATS * LINE_FLOATS};
  t->vectors = cq_alloc_array_zeroed(n, (size_t)t->stride * sizeof *t->vectors);
  t->targets = cq_alloc_array(n, sizeof *t->targets);
  const bool corrects = csls > 0;
  if (corrects) t->crowding = cq_alloc_array_zeroed(n, sizeof *t->crowding);
  if (!t->vectors || !t->targets || (corrects && !t->crowding)) {
    cq_translator_close(t);
    return cq_fail_memory(error, "vectors of words");
  }
  for (uint32_t w = 0; w < n; w++) {
    memcpy(vector_of(t, w), vectors + (size_t)w * (size_t)dim, (size_t)dim * sizeof *vectors);
    make_unit(vector_of(t, w), t->stride);
    if (is_target[w]) t->targets[t->n_targets++] = w;
  }
  crowding_work work = {t, is_source, is_target, csls < MAX_CSLS ? csls : MAX_CSLS};
  if (corrects) cq_context_run(ctx, n, crowd_word, &work);
  return CQ_OK;
}

void cq_translator_close(cq_translator *t) {
  cq_free(t->vectors);
  cq_free(t->targets);
  cq_free(t->crowding);
  *t = (cq_translator){0};
}

/* Appends the tau target words nearest to a unit vector. */
static size_t nearest_targets(cq_translation *out, const cq_translator *t, const float *x, float crowding,
                              uint32_t from, size_t tau) {
  size_t n = 0;
  for (uint32_t i = 0; i < t->n_targets; i++) {
    const uint32_t to = t->targets[i];
    const float cosine = cq_kernels_best()->dot(x, vector_of(t, to), t->stride);
    const float score = t->crowding ? 2 * cosine - crowding - t->crowding[to] : cosine;
    if (n == tau && !(score > out[n - 1].score)) continue;
    size_t at = n < tau ? n++ : tau - 1;
    for (; at > 0 && out[at - 1].score < score; at--) out[at] = out[at - 1];
    out[at] = (cq_translation){from, to, cosine, score};
  }
  return n;
}

size_t cq_translate(cq_translation *out, const cq_translator *t, const uint32_t *words, size_t n, size_t tau,
                    bool summed, const float *raw, int dim) {
  size_t n_found = 0;
  if (tau == 0 || n == 0) return 0;
  if (!summed) {
    for (size_t i = 0; i < n; i++)
      n_found += nearest_targets(out + n_found, t, vector_of(t, words[i]), t->crowding ? t->crowding[words[i]] : 0,
                                 words[i], tau);
    return n_found;
  }
  float *sum = cq_alloc_array_zeroed(1, (size_t)t->stride * sizeof *sum);
  if (!sum) return SIZE_MAX;
  for (size_t i = 0; i < n; i++) cq_kernels_best()->add(sum, raw + (size_t)words[i] * (size_t)dim, dim);
  make_unit(sum, t->stride);
  n_found = nearest_targets(out, t, sum, 0, CQ_ALL_WORDS, tau);
  cq_free(sum);
  return n_found;
}
