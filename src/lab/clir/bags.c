/* Documents as weighted bags of words, compared one by one. See bags.h. */
#include "lab/clir/bags.h"

#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

typedef struct growing {
  cq_weighted_word *items;
  size_t n, capacity;
} growing;

static int by_word(const void *a, const void *b) {
  const cq_weighted_word *p = a, *q = b;
  return (p->word > q->word) - (p->word < q->word);
}

/* How several weights of one word are merged. */
typedef enum merging { SUM, MAX } merging;

/* Sorts the items from `first` on and merges items with the same word. */
static void merge_entries(growing *g, size_t first, merging how) {
  size_t kept = first;
  if (g->n > first) qsort(g->items + first, g->n - first, sizeof *g->items, by_word);
  for (size_t i = first; i < g->n; i++) {
    cq_weighted_word *last = g->items + kept - (kept > first);
    const float weight = g->items[i].weight;
    if (kept == first || last->word != g->items[i].word)
      g->items[kept++] = g->items[i];
    else if (how == SUM)
      last->weight += weight;
    else if (weight > last->weight)
      last->weight = weight;
  }
  g->n = kept;
}

static bool put_entry(growing *g, uint32_t word, float weight) {
  if (!cq_reserve((void **)&g->items, &g->capacity, g->n + 1, sizeof *g->items)) return false;
  g->items[g->n++] = (cq_weighted_word){word, weight};
  return true;
}

static cq_status count_bag_words(cq_bags *b, cq_error *error) {
  b->lengths = cq_alloc_array_zeroed(b->n, sizeof *b->lengths);
  b->masses = cq_alloc_array_zeroed(b->n_words, sizeof *b->masses);
  b->idf = cq_alloc_array_zeroed(b->n_words, sizeof *b->idf);
  if (!b->lengths || !b->masses || !b->idf) return cq_fail_memory(error, "bags of words");
  assert(b->items || b->starts[b->n] == 0);
  for (uint32_t d = 0; b->items && d < b->n; d++)
    for (size_t i = b->starts[d]; i < b->starts[d + 1]; i++) {
      const cq_weighted_word *item = &b->items[i];
      b->lengths[d] += (double)item->weight;
      b->masses[item->word] += (double)item->weight;
      b->idf[item->word]++;
    }
  for (uint32_t w = 0; w < b->n_words; w++) {
    b->mass += b->masses[w];
    b->idf[w] = log((b->n + 1) / (b->idf[w] + 0.5));
  }
  return CQ_OK;
}

static cq_status start_bags(cq_bags *out, size_t n, uint32_t n_words, cq_error *error) {
  *out = (cq_bags){.n = (uint32_t)n, .n_words = n_words};
  out->starts = cq_alloc_array_zeroed(n + 1, sizeof *out->starts);
  return out->starts ? CQ_OK : cq_fail_memory(error, "bags of words");
}

cq_status cq_bags_open(cq_bags *out, const cq_word_run *documents, size_t n, uint32_t n_words, cq_error *error) {
  growing g = {0};
  cq_status status = start_bags(out, n, n_words, error);
  for (size_t d = 0; !status && d < n; d++) {
    for (size_t i = 0; !status && i < documents[d].n; i++)
      if (!put_entry(&g, documents[d].words[i], 1)) status = cq_fail_memory(error, "bags of words");
    merge_entries(&g, out->starts[d], SUM);
    out->starts[d + 1] = g.n;
  }
  out->items = g.items;
  if (!status) status = count_bag_words(out, error);
  if (status) cq_bags_close(out);
  return status;
}

void cq_bags_close(cq_bags *b) {
  cq_free(b->starts);
  cq_free(b->items);
  cq_free(b->lengths);
  cq_free(b->masses);
  cq_free(b->idf);
  *b = (cq_bags){0};
}

void cq_word_table_free(cq_word_table *t) {
  cq_free(t->starts);
  cq_free(t->items);
  *t = (cq_word_table){0};
}

cq_status cq_word_table_mean(cq_word_table *out, const cq_word_table *tables, size_t n, cq_error *error) {
  growing g = {0};
  *out = (cq_word_table){.n_sources = tables[0].n_sources, .n_targets = tables[0].n_targets};
  out->starts = cq_alloc_array_zeroed((size_t)out->n_sources + 1, sizeof *out->starts);
  bool ok = out->starts != NULL;
  for (uint32_t s = 0; ok && s < out->n_sources; s++) {
    for (size_t t = 0; t < n; t++)
      for (size_t i = tables[t].starts[s]; ok && i < tables[t].starts[s + 1]; i++)
        ok = put_entry(&g, tables[t].items[i].word, tables[t].items[i].weight / (float)n);
    merge_entries(&g, out->starts[s], SUM);
    out->starts[s + 1] = g.n;
  }
  out->items = g.items;
  if (ok) return CQ_OK;
  cq_word_table_free(out);
  return cq_fail_memory(error, "a table of words");
}

cq_status cq_word_table_through(cq_word_table *out, const cq_word_table *ab, const cq_word_table *bc, float min_entry,
                                cq_error *error) {
  growing g = {0};
  assert(ab->n_targets == bc->n_sources);
  *out = (cq_word_table){.n_sources = ab->n_sources, .n_targets = bc->n_targets};
  out->starts = cq_alloc_array_zeroed((size_t)out->n_sources + 1, sizeof *out->starts);
  bool ok = out->starts != NULL;
  for (uint32_t s = 0; ok && s < out->n_sources; s++) {
    for (size_t i = ab->starts[s]; i < ab->starts[s + 1]; i++) {
      const cq_weighted_word *via = &ab->items[i];
      for (size_t k = bc->starts[via->word]; ok && k < bc->starts[via->word + 1]; k++) {
        const float product = via->weight * bc->items[k].weight;
        if (product > min_entry) ok = put_entry(&g, bc->items[k].word, product);
      }
    }
    merge_entries(&g, out->starts[s], MAX);
    out->starts[s + 1] = g.n;
  }
  out->items = g.items;
  if (ok) return CQ_OK;
  cq_word_table_free(out);
  return cq_fail_memory(error, "a table of words");
}

/* The table by target. */
static cq_status transpose_table(cq_word_table *out, const cq_word_table *t, cq_error *error) {
  const size_t n = t->starts[t->n_sources];
  *out = (cq_word_table){.n_sources = t->n_targets, .n_targets = t->n_sources};
  out->starts = cq_alloc_array_zeroed((size_t)t->n_targets + 2, sizeof *out->starts);
  out->items = cq_alloc_array(n, sizeof *out->items);
  if (!out->starts || !out->items) {
    cq_word_table_free(out);
    return cq_fail_memory(error, "a table of words");
  }
  for (size_t i = 0; i < n; i++) out->starts[t->items[i].word + 2]++;
  for (uint32_t w = 0; w < t->n_targets; w++) out->starts[w + 2] += out->starts[w + 1];
  for (uint32_t s = 0; s < t->n_sources; s++)
    for (size_t i = t->starts[s]; i < t->starts[s + 1]; i++)
      out->items[out->starts[t->items[i].word + 1]++] = (cq_weighted_word){s, t->items[i].weight};
  return CQ_OK;
}

cq_status cq_bags_project(cq_bags *out, const cq_bags *targets, const cq_word_table *table, cq_error *error) {
  growing g = {0};
  cq_word_table by_target = {0};
  cq_status status = start_bags(out, targets->n, table->n_sources, error);
  if (!status) status = transpose_table(&by_target, table, error);
  for (uint32_t d = 0; !status && d < targets->n; d++) {
    for (size_t i = targets->starts[d]; !status && i < targets->starts[d + 1]; i++) {
      const cq_weighted_word *item = &targets->items[i];
      for (size_t k = by_target.starts[item->word]; !status && k < by_target.starts[item->word + 1]; k++)
        if (!put_entry(&g, by_target.items[k].word, item->weight * by_target.items[k].weight))
          status = cq_fail_memory(error, "bags of words");
    }
    merge_entries(&g, out->starts[d], SUM);
    out->starts[d + 1] = g.n;
  }
  out->items = g.items;
  cq_word_table_free(&by_target);
  if (!status) status = count_bag_words(out, error);
  if (status) cq_bags_close(out);
  return status;
}

void cq_bags_likelihood(double *scores, const cq_bags *b, const double *query, double mu) {
  double known = 0;
  for (uint32_t w = 0; w < b->n_words; w++)
    if (b->masses[w] > 0) known += query[w];
  for (uint32_t d = 0; d < b->n; d++) {
    double score = known * log2(mu / (b->lengths[d] + mu));
    for (size_t i = b->starts[d]; i < b->starts[d + 1]; i++) {
      const cq_weighted_word *item = &b->items[i];
      if (query[item->word] == 0) continue;
      score += query[item->word] * log2(1 + (double)item->weight / (mu * b->masses[item->word] / b->mass));
    }
    scores[d] = score;
  }
}

static int higher_score_first(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

cq_status cq_bags_feedback(double *query, const cq_bags *b, const double *weights, size_t m, const double *allowed,
                           cq_error *error) {
  double *sorted = cq_alloc_array(b->n_words, sizeof *sorted), sum = 0;
  if (!sorted) return cq_fail_memory(error, "feedback");
  for (uint32_t w = 0; w < b->n_words; w++) query[w] = 0;
  for (uint32_t d = 0; d < b->n; d++)
    for (size_t i = b->starts[d]; weights[d] > 0 && i < b->starts[d + 1]; i++)
      query[b->items[i].word] += weights[d] * (double)b->items[i].weight / b->lengths[d];
  for (uint32_t w = 0; w < b->n_words; w++) {
    query[w] *= allowed && !(allowed[w] > 0) ? 0 : b->idf[w];
    sorted[w] = query[w];
  }
  if (b->n_words) qsort(sorted, b->n_words, sizeof *sorted, higher_score_first);
  const double min = m && m <= b->n_words ? sorted[m - 1] : 0;
  for (uint32_t w = 0; w < b->n_words; w++) {
    if (query[w] < min) query[w] = 0;
    sum += query[w];
  }
  for (uint32_t w = 0; sum > 0 && w < b->n_words; w++) query[w] /= sum;
  cq_free(sorted);
  return CQ_OK;
}

static double damped_weight(const cq_weighted_word *item, const double *idf) {
  return log1p((double)item->weight) * idf[item->word];
}

void cq_bags_add_similar(double *sums, const cq_bags *a, uint32_t bag, const cq_bags *b, const double *idf,
                         double weight, double *scratch) {
  double squares = 0;
  for (size_t i = a->starts[bag]; i < a->starts[bag + 1]; i++) {
    const double x = damped_weight(&a->items[i], idf);
    scratch[a->items[i].word] = x;
    squares += x * x;
  }
  for (uint32_t d = 0; squares > 0 && d < b->n; d++) {
    double product = 0, others = 0;
    for (size_t i = b->starts[d]; i < b->starts[d + 1]; i++) {
      const double y = damped_weight(&b->items[i], idf);
      product += scratch[b->items[i].word] * y;
      others += y * y;
    }
    if (others > 0) sums[d] += weight * product * product / (squares * others);
  }
  for (size_t i = a->starts[bag]; i < a->starts[bag + 1]; i++) scratch[a->items[i].word] = 0;
}

typedef struct ranked {
  double score;
  size_t at;
} ranked;

static int best_score_first(const void *a, const void *b) {
  const ranked *p = a, *q = b;
  if (p->score != q->score) return p->score > q->score ? -1 : 1;
  return (p->at > q->at) - (p->at < q->at);
}

cq_status cq_top_weights(double *weights, const double *scores, size_t n, size_t k, cq_weighting how, cq_error *error) {
  ranked *order = cq_alloc_array(n, sizeof *order);
  double sum = 0;
  if (!order) return cq_fail_memory(error, "a ranking");
  for (size_t i = 0; i < n; i++) order[i] = (ranked){scores[i], i}, weights[i] = 0;
  if (n) qsort(order, n, sizeof *order, best_score_first);
  for (size_t i = 0; i < n && i < k; i++)
    sum += weights[order[i].at] = how == CQ_BY_RANK ? 1 / (double)(i + 1) : exp2(order[i].score - order[0].score);
  for (size_t i = 0; i < n && i < k; i++) weights[order[i].at] /= sum;
  cq_free(order);
  return CQ_OK;
}

void cq_standardize(double *scores, size_t n) {
  double mean = 0, squares = 0;
  for (size_t i = 0; i < n; i++) mean += scores[i] / (double)n;
  for (size_t i = 0; i < n; i++) squares += (scores[i] - mean) * (scores[i] - mean);
  const double deviation = sqrt(squares / (double)(n ? n : 1));
  for (size_t i = 0; i < n; i++) scores[i] = (scores[i] - mean) / (deviation + 1e-9);
}
