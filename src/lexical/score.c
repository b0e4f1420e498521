/* A term's scores. The part that depends on a document's length is looked up in a table shared by all terms. */
#include "lexical/score.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"

#include <math.h>

enum { MAX_LENGTHS = 1 << 20 }; /* lengths in the table; for longer documents, the part is computed each time */

/* Adding and subtracting 1.5 * 2^20 rounds to a multiple of 2^-32. */
static inline double round_score(double score) {
  const double shift = 1.5 * CQ_MAX_SCORE;
  return (score + shift) - shift;
}

const char *const cq_lexical_model_names[] = {"dirichlet", "dirichlet-lucene", "bm25", "bm25-terrier", NULL};

const char *cq_lexical_model_name(cq_lexical_model model) {
  return cq_lexical_model_names[model];
}

#define O cq_lexical_options
static const cq_option option_rows[] = {
    {CQ_CHOICE(O, "model", model, CHANGES, CQ_DIRICHLET, cq_lexical_model_names, "MODEL",
               "query likelihood with Dirichlet smoothing as Terrier or as Lucene implements it, or BM25"),
     .letter = 'm'},
    CQ_TOP_ROW(O, 0),
    {CQ_NUMBER(O, "mu", mu, CHANGES, 0, 0, 1e12, "X",
               "Dirichlet smoothing: the weight of the collection's language model"),
     .flags = CQ_OPTION_BELOW_MAX, .otherwise = "2500; dirichlet-lucene: 2000"},
    {CQ_NUMBER(O, "k1", k1, CHANGES, 1.2, 0, 1000, "X", "BM25: term frequency saturation")},
    {CQ_NUMBER(O, "b", b, CHANGES, 0.75, 0, 1, "X", "BM25: document length normalization")},
    {CQ_FLAG(O, "exhaustive", exhaustive, KEEPS, "score every posting; the same result, slower")},
};
#undef O

const cq_option_group cq_group_lexical = {.name = "lexical", CQ_ROWS(cq_lexical_options, option_rows)};

static double part_of_length(const cq_scoring *s, double length) {
  const double average = s->counts.n_occurrences / s->counts.n_documents;
  switch (s->model) {
  case CQ_DIRICHLET: return log2(s->mu / (length + s->mu));
  case CQ_DIRICHLET_LUCENE: return log(s->mu / (length + s->mu));
  default: return s->k1 * (1 - s->b + s->b * (average > 0 ? length / average : 0));
  }
}

static double part_of_frequency(const cq_term_scoring *t, double frequency) {
  switch (t->of->model) {
  case CQ_DIRICHLET: return log2(1 + frequency * t->factor);
  case CQ_DIRICHLET_LUCENE: return log(1 + frequency * t->factor);
  default: return frequency;
  }
}

static inline double by_length(const cq_scoring *s, uint32_t length) {
  return length < s->n_lengths ? s->by_length[length] : part_of_length(s, length);
}

static inline double by_frequency(const cq_term_scoring *t, uint32_t frequency) {
  return frequency < CQ_TABLED ? t->by_frequency[frequency] : part_of_frequency(t, frequency);
}

cq_status cq_scoring_open(cq_scoring *out, const cq_lexical_options *o, cq_collection_counts counts,
                          uint32_t max_length, cq_error *error) {
  *out = (cq_scoring){.model = o->model, .k1 = o->k1, .b = o->b, .counts = counts};
  out->mu = o->mu > 0 ? o->mu : o->model == CQ_DIRICHLET_LUCENE ? 2000 : 2500;
  const uint32_t n = max_length < MAX_LENGTHS ? max_length + 1 : MAX_LENGTHS;
  out->by_length = cq_alloc_array(n, sizeof *out->by_length);
  if (!out->by_length) return cq_fail_memory(error, "scores by length");
  for (uint32_t i = 0; i < n; i++) out->by_length[i] = part_of_length(out, i);
  out->n_lengths = n;
  return CQ_OK;
}

void cq_scoring_free(cq_scoring *s) {
  cq_free(s->by_length);
  *s = (cq_scoring){0};
}

void cq_term_scoring_set(cq_term_scoring *t, const cq_scoring *s, double weight, uint64_t n_documents,
                         uint64_t n_occurrences) {
  const double n = (double)n_documents, f = (double)n_occurrences, all = s->counts.n_documents;
  t->of = s;
  t->weight = weight;
  switch (s->model) {
  case CQ_DIRICHLET: t->factor = s->counts.n_occurrences / (s->mu * f); break;
  case CQ_DIRICHLET_LUCENE: t->factor = (s->counts.n_occurrences + 1) / (s->mu * (f + 1)); break;
  case CQ_BM25: t->factor = log(1 + (all - n + 0.5) / (n + 0.5)); break;
  default:
    /* The term's frequency in the query saturates as in Terrier: (k3 + 1) qtf / (k3 + qtf). */
    t->factor = log2((all - n + 0.5) / (n + 0.5)) * (s->k1 + 1);
    t->weight = 9 * weight / (8 + weight);
  }
  for (uint32_t i = 0; i < CQ_TABLED; i++) t->by_frequency[i] = part_of_frequency(t, i);
}

double cq_term_score(const cq_term_scoring *t, uint32_t frequency, uint32_t length) {
  const double a = by_frequency(t, frequency), b = by_length(t->of, length);
  switch (t->of->model) {
  case CQ_DIRICHLET: return round_score(t->weight * (a + b));
  case CQ_DIRICHLET_LUCENE: return round_score(t->weight * fmax(0, a + b));
  default: return round_score(t->weight * (t->factor * (a / (a + b))));
  }
}

/* The same arithmetic as above, operation by operation. */
void cq_term_score_add(double *accumulators, uint32_t first, const cq_term_scoring *t, const uint32_t *documents,
                       const uint32_t *frequencies, const uint32_t *lengths, size_t n) {
  const double weight = t->weight, factor = t->factor;
  const cq_scoring *s = t->of;
  if (s->model == CQ_DIRICHLET || s->model == CQ_DIRICHLET_LUCENE) {
    const double min = s->model == CQ_DIRICHLET_LUCENE ? 0 : -INFINITY;
    for (size_t i = 0; i < n; i++) {
      const double sum = by_frequency(t, frequencies[i]) + by_length(s, lengths[documents[i]]);
      accumulators[documents[i] - first] += round_score(weight * (sum > min ? sum : min));
    }
  } else {
    for (size_t i = 0; i < n; i++) {
      const double a = frequencies[i], b = by_length(s, lengths[documents[i]]);
      accumulators[documents[i] - first] += round_score(weight * (factor * (a / (a + b))));
    }
  }
}
