/* Encoding shared by several ranks: rank 0 sends batches and receives the vectors. See shared_encoder.h. */
#include "recipe/encode/shared_encoder.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/encoder.h"
#include "ranks/ranks.h"
#include "tensor/products.h"

#include <string.h>

/* The header of a share: n texts with n_bytes in total; the texts' lengths and bytes follow. The reply is
 * cq_encode_stats and the vectors. */
typedef struct share {
  uint64_t n, n_bytes, is_end;
} share;

/* --- rank 0 --- */

static size_t bytes_of_texts(const cq_slice *texts, size_t n) {
  size_t n_bytes = 0;
  for (size_t i = 0; i < n; i++) n_bytes += texts[i].n;
  return n_bytes;
}

static cq_status send_share(cq_messages *m, int to, const cq_slice *texts, size_t n, cq_error *error) {
  const share s = {n, bytes_of_texts(texts, n), 0};
  uint64_t *lengths = cq_alloc_array(n, sizeof *lengths);
  char *bytes = cq_alloc(s.n_bytes + 1);
  cq_status status = lengths && bytes ? CQ_OK : cq_fail_memory(error, "texts to encode");
  size_t at = 0;
  for (size_t i = 0; !status && i < n; at += texts[i++].n) {
    lengths[i] = texts[i].n;
    if (texts[i].n) memcpy(bytes + at, texts[i].data, texts[i].n);
  }
  if (!status) status = cq_messages_send(m, to, &s, sizeof s, error);
  if (!status) status = cq_messages_send(m, to, lengths, n * sizeof *lengths, error);
  if (!status) status = cq_messages_send(m, to, bytes, s.n_bytes, error);
  cq_free(lengths);
  cq_free(bytes);
  return status;
}

/* The first text of rank r's share: shares have similar numbers of bytes, plus a constant per text. */
static void find_shares(size_t *first, const cq_slice *texts, size_t n, int n_ranks) {
  enum { BYTES_A_TEXT = 16 };
  const double each = (double)(bytes_of_texts(texts, n) + n * BYTES_A_TEXT) / n_ranks;
  double before = 0;
  int r = 0;
  first[0] = 0;
  for (size_t i = 0; i < n; i++) {
    while (r + 1 < n_ranks && before >= each * (r + 1)) first[++r] = i;
    before += (double)(texts[i].n + BYTES_A_TEXT);
  }
  while (r < n_ranks) first[++r] = n;
}

static void add_stats(cq_encode_stats *stats, const cq_encode_stats *more, size_t first) {
  if (more->n_truncated && !stats->n_truncated) stats->first_truncated = first + more->first_truncated;
  stats->n_sentences += more->n_sentences;
  stats->n_tokens += more->n_tokens;
  stats->n_truncated += more->n_truncated;
}

static cq_status receive_answer(float *vectors, cq_encode_stats *stats, cq_messages *m, int from, size_t n_floats,
                                cq_error *error) {
  const cq_status status = cq_messages_receive(m, from, stats, sizeof *stats, error);
  return status ? status : cq_messages_receive(m, from, vectors, n_floats * sizeof *vectors, error);
}

cq_status cq_shared_encode(float *vectors, cq_encode_stats *stats, const cq_encoder *encoder, const cq_slice *texts,
                           size_t n, cq_ranks *ranks, cq_context *ctx, cq_error *error) {
  const int n_ranks = cq_ranks_count(ranks);
  if (n_ranks == 1) return cq_encoder_encode(vectors, stats, encoder, texts, n, NULL, ctx, error);
  cq_messages *m = cq_ranks_messages(ranks);
  const size_t dim = (size_t)cq_encoder_dim(encoder);
  size_t *first = cq_alloc_array((size_t)n_ranks + 1, sizeof *first);
  if (!first) return cq_fail_memory(error, "texts to encode");
  find_shares(first, texts, n, n_ranks);
  cq_status status = CQ_OK;
  for (int r = 1; !status && r < n_ranks; r++)
    status = send_share(m, r, texts + first[r], first[r + 1] - first[r], error);
  if (!status) status = cq_encoder_encode(vectors, stats, encoder, texts, first[1], NULL, ctx, error);
  for (int r = 1; !status && r < n_ranks; r++) {
    cq_encode_stats more = {0};
    status = receive_answer(vectors + first[r] * dim, &more, m, r, (first[r + 1] - first[r]) * dim, error);
    if (!status) add_stats(stats, &more, first[r]);
  }
  cq_free(first);
  return status;
}

cq_status cq_shared_encode_end(cq_ranks *ranks, cq_error *error) {
  const share end = {.is_end = 1};
  cq_status status = CQ_OK;
  for (int r = 1; !status && r < cq_ranks_count(ranks); r++)
    status = cq_messages_send(cq_ranks_messages(ranks), r, &end, sizeof end, error);
  return status;
}

/* --- the others --- */

/* A rank's share. */
typedef struct serving {
  uint64_t *lengths;
  char *bytes;
  cq_slice *texts;
  float *vectors;
} serving;

static cq_status receive_share(serving *s, const share *of, cq_messages *m, cq_error *error) {
  cq_status status = cq_messages_receive(m, 0, s->lengths, (size_t)of->n * sizeof *s->lengths, error);
  if (!status) status = cq_messages_receive(m, 0, s->bytes, (size_t)of->n_bytes, error);
  size_t at = 0;
  for (size_t i = 0; !status && i < of->n; at += (size_t)s->lengths[i++]) {
    if (s->lengths[i] > of->n_bytes - at)
      return cq_fail(error, CQ_ERR_IO, "rank 0 sends texts of more bytes than it says");
    s->texts[i] = (cq_slice){s->bytes + at, (size_t)s->lengths[i]};
  }
  return status;
}

static cq_status encode_share(serving *s, const share *of, const cq_encoder *encoder, cq_messages *m, cq_context *ctx,
                              cq_error *error) {
  const size_t dim = (size_t)cq_encoder_dim(encoder), n = (size_t)of->n;
  cq_encode_stats stats = {0};
  s->lengths = cq_alloc_array(n, sizeof *s->lengths);
  s->bytes = cq_alloc((size_t)of->n_bytes + 1);
  s->texts = cq_alloc_array(n, sizeof *s->texts);
  s->vectors = cq_alloc_array(n, dim * sizeof *s->vectors);
  if (!s->lengths || !s->bytes || !s->texts || !s->vectors) return cq_fail_memory(error, "texts to encode");
  cq_status status = receive_share(s, of, m, error);
  if (!status) status = cq_encoder_encode(s->vectors, &stats, encoder, s->texts, n, NULL, ctx, error);
  if (status) return status;
  status = cq_messages_send(m, 0, &stats, sizeof stats, error);
  return status ? status : cq_messages_send(m, 0, s->vectors, n * dim * sizeof *s->vectors, error);
}

cq_status cq_shared_encode_serve(const cq_encoder *encoder, cq_ranks *ranks, cq_context *ctx, cq_error *error) {
  cq_messages *m = cq_ranks_messages(ranks);
  for (;;) {
    share of;
    serving s = {0};
    cq_status status = cq_messages_receive(m, 0, &of, sizeof of, error);
    if (status || of.is_end) return status;
    status = encode_share(&s, &of, encoder, m, ctx, error);
    cq_free(s.lengths);
    cq_free(s.bytes);
    cq_free(s.texts);
    cq_free(s.vectors);
    if (status) return status;
  }
}

/* --- before --- */

cq_status cq_shared_encoder_agree(const cq_encoder *encoder, cq_ranks *ranks, cq_error *error) {
  char fingerprint[33];
  cq_builder lines = {0};
  if (cq_ranks_count(ranks) == 1) return CQ_OK;
  cq_status status = cq_encoder_fingerprint(fingerprint, encoder, error);
  if (status) return status;
  cq_agree_text(&lines, "SIMD level", cq_simd_level());
  cq_agree_text(&lines, "the model of fingerprint", fingerprint);
  cq_agree_text(&lines, "precision", cq_precision_name(cq_encoder_precision(encoder)));
  cq_agree_text(&lines, "products by", cq_products_of(encoder->kernels, encoder->precision)->name);
  cq_builder_char(&lines, '\0');
  status = lines.failed ? cq_fail_memory(error, "options") : cq_ranks_agree(ranks, lines.data, error);
  cq_builder_free(&lines);
  return status;
}
