/* Tokens of sentences, and their matching by embeddings. See token_match.h. */
#include "recipe/mine/token_match.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>

/* Counts the sentences that contain each token; `last`: the sentence, from 1, in which it was last seen. */
static void count_sentences(float *counts, uint32_t *last, const int32_t *ids, size_t n, uint32_t sentence) {
  for (size_t i = 0; i < n; i++) {
    if (last[ids[i]] == sentence) continue;
    last[ids[i]] = sentence;
    counts[ids[i]]++;
  }
}

static size_t leave_out_special(int32_t *ids, size_t from, size_t n, const cq_encoder *encoder) {
  size_t kept = from;
  for (size_t i = from; i < n; i++) {
    bool special = false;
    cq_slice text;
    if (!cq_encoder_token(&text, &special, encoder, ids[i]) || !special) ids[kept++] = ids[i];
  }
  return kept;
}

cq_status cq_text_tokens_read(cq_text_tokens *out, const cq_slice *texts, size_t n, const cq_encoder *encoder,
                              cq_error *error) {
  const size_t vocab = (size_t)cq_encoder_vocab_size(encoder);
  cq_token_memory *memory = cq_token_memory_new();
  uint32_t *last = cq_alloc_array_zeroed(vocab, sizeof *last);
  cq_ids ids = {0};
  bool truncated;
  out->starts = cq_alloc_array_zeroed(n + 1, sizeof *out->starts);
  out->weights = cq_alloc_array_zeroed(vocab, sizeof *out->weights);
  cq_status status =
      memory && last && out->starts && out->weights ? CQ_OK : cq_fail_memory(error, "tokens of a corpus");
  for (size_t i = 0; !status && i < n; i++) {
    const size_t start = out->starts[i];
    status = cq_encoder_tokenize(&ids, encoder, memory, texts[i], &truncated, error);
    if (status) break;
    ids.n = cq_min(leave_out_special(ids.ids, start, ids.n, encoder), start + CQ_MATCH_MAX_TOKENS);
    count_sentences(out->weights, last, ids.ids + start, ids.n - start, (uint32_t)i + 1);
    out->starts[i + 1] = ids.n;
  }
  for (size_t v = 0; !status && v < vocab; v++)
    if (out->weights[v] > 0) out->weights[v] = (float)log((double)n / (double)out->weights[v]);
  out->ids = ids.ids;
  cq_token_memory_free(memory);
  cq_free(last);
  return status;
}

void cq_text_tokens_free(cq_text_tokens *tokens) {
  cq_free(tokens->ids), cq_free(tokens->starts), cq_free(tokens->weights);
  *tokens = (cq_text_tokens){0};
}

bool cq_token_match_open(cq_token_match *m, const cq_encoder *encoder) {
  *m = (cq_token_match){.kernels = encoder->kernels};
  m->table = cq_encoder_word_table(&m->row_of, encoder);
  m->rows = cq_alloc_array(CQ_MATCH_MAX_TOKENS, sizeof *m->rows);
  const size_t dim = m->table ? (size_t)m->table->cols : 0;
  bool failed = !m->rows;
  for (int side = 0; side < 2; side++) {
    m->vectors[side] = cq_alloc_array(CQ_MATCH_MAX_TOKENS, (dim ? dim : 1) * sizeof *m->vectors[side]);
    m->best[side] = cq_alloc_array(CQ_MATCH_MAX_TOKENS, sizeof *m->best[side]);
    m->nearest[side] = cq_alloc_array_zeroed(CQ_MATCH_MAX_TOKENS, sizeof *m->nearest[side]);
    failed |= !m->vectors[side] || !m->best[side] || !m->nearest[side];
  }
  return !failed;
}

void cq_token_match_close(cq_token_match *m) {
  for (int side = 0; side < 2; side++) cq_free(m->vectors[side]), cq_free(m->best[side]), cq_free(m->nearest[side]);
  cq_free(m->rows);
}

/* The embeddings of a side's tokens, scaled to length 1. */
static void gather_tokens(cq_token_match *m, int side) {
  for (size_t i = 0; i < m->n[side]; i++) m->rows[i] = m->row_of ? m->row_of[m->ids[side][i]] : m->ids[side][i];
  cq_param_gather(m->kernels, m->vectors[side], m->table, m->rows, (int64_t)m->n[side]);
  m->kernels->normalize(m->vectors[side], NULL, m->vectors[side], (int64_t)m->n[side], m->table->cols);
}

static void keep_nearest(cq_token_match *m, int side, size_t i, size_t other, float cosine) {
  if (cosine <= m->best[side][i]) return;
  m->best[side][i] = cosine, m->nearest[side][i] = (uint32_t)other;
}

void cq_token_match_run(cq_token_match *m, const cq_text_tokens sides[2], size_t source, size_t target) {
  const size_t rows[2] = {source, target}, dim = m->table ? (size_t)m->table->cols : 0;
  for (int side = 0; side < 2; side++) {
    m->ids[side] = sides[side].ids + sides[side].starts[rows[side]];
    m->n[side] = sides[side].starts[rows[side] + 1] - sides[side].starts[rows[side]];
    if (!dim) m->n[side] = 0; /* nothing to match by */
    if (m->n[side]) gather_tokens(m, side);
  }
  for (int side = 0; side < 2; side++)
    for (size_t i = 0; i < m->n[side]; i++) m->best[side][i] = m->n[!side] ? -2 : 0;
  for (size_t i = 0; i < m->n[0]; i++)
    for (size_t j = 0; j < m->n[1]; j++) {
      const float cosine = m->kernels->dot(m->vectors[0] + i * dim, m->vectors[1] + j * dim, (int64_t)dim);
      keep_nearest(m, 0, i, j, cosine);
      keep_nearest(m, 1, j, i, cosine);
    }
}
