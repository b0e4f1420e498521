/* Attention, head by head. Names as in the paper; i is a row (a query's token), j a column (a key's token):
 *
 *   S = scale Q K^T + bias - slope |i - j|, -inf where masked      P = softmax(S) by rows      D = dropout(P)      O = D V
 *   dV = D^T dO    dD = dO V^T    dP = dropout(dD)    dS = P (dP - r), r_i = sum_j P_ij dP_ij = dO_i . O_i
 *   dQ = scale dS K    dK = scale dS^T Q    dbias = dS */
#include "tensor/ref/reference.h"

#include "tensor/levels.h"

#include <math.h>

/* Forward keeps one row of P; backward keeps D and dS of one head. */
int64_t ref_attention_scratch(int64_t n_tokens, int64_t head_dim) {
  (void)head_dim;
  return 2 * n_tokens * n_tokens;
}

static double score_of_pair(const float *q, const float *k, const cq_attention_shape *s, int64_t head, int64_t i,
                            int64_t j) {
  if (j < cq_attention_first(s, i) || j >= cq_attention_end(s, i)) return -INFINITY;
  const int64_t kv = cq_attention_kv_column(s, head);
  double sum = 0;
  for (int64_t d = 0; d < s->head_dim; d++)
    sum += (double)q[i * s->stride + head * s->head_dim + d] * (double)k[j * s->stride + kv + d];
  sum *= (double)s->scale;
  if (s->bias) sum += (double)s->bias[(head * s->n_tokens + i) * s->n_tokens + j];
  if (s->slopes) sum -= (double)s->slopes[head] * fabs((double)(i - j));
  return sum;
}

/* Dropout's factor for element (head, i, j) of the probabilities. */
static double dropout_factor(const cq_attention_shape *s, int64_t head, int64_t i, int64_t j) {
  if (!(s->dropout.rate > 0)) return 1;
  cq_dropout_rule rule = cq_dropout_rule_of(s->dropout.rate);
  uint32_t element = (uint32_t)((head * s->n_tokens + i) * s->n_tokens + j);
  return cq_dropout_bits(s->dropout.key, element) >= rule.threshold ? (double)rule.factor : 0.0;
}

void ref_attention(float *out, float *log_sum, const float *q, const float *k, const float *v,
                   const cq_attention_shape *s, float *scratch) {
  int64_t n = s->n_tokens;
  float *p = scratch; /* [n] */
  for (int64_t head = 0; head < s->n_heads; head++) {
    for (int64_t i = 0; i < n; i++) {
      double max = -INFINITY, sum = 0;
      for (int64_t j = 0; j < n; j++) {
        double value = score_of_pair(q, k, s, head, i, j);
        if (!(value <= max)) max = value;
      }
      for (int64_t j = 0; j < n; j++) {
        double e = exp(score_of_pair(q, k, s, head, i, j) - max);
        sum += e;
        p[j] = (float)e;
      }
      for (int64_t d = 0; d < s->head_dim; d++) {
        const int64_t column = cq_attention_kv_column(s, head) + d;
        double mixed = 0;
        for (int64_t j = 0; j < n; j++)
          mixed += (double)p[j] / sum * dropout_factor(s, head, i, j) * (double)v[j * s->stride + column];
        out[i * s->out_stride + head * s->head_dim + d] = (float)mixed;
      }
      if (log_sum) log_sum[head * n + i] = (float)(max + log(sum));
    }
  }
}

void ref_attention_backward(float *dq, float *dk, float *dv, float *dbias, const float *dout, const float *out,
                            const float *log_sum, const float *q, const float *k, const float *v,
                            const cq_attention_shape *s, float *scratch) {
  int64_t n = s->n_tokens;
  float *dropped = scratch;        /* [n, n]: D */
  float *dscore = scratch + n * n; /* [n, n]: dS */
  for (int64_t head = 0; head < s->n_heads; head++) {
    const int64_t first = head * s->head_dim, kv = cq_attention_kv_column(s, head);
    const bool adds = !cq_attention_first_of_kv(s, head);
    for (int64_t i = 0; i < n; i++) {
      double r = 0;
      for (int64_t d = first; d < first + s->head_dim; d++)
        r += (double)dout[i * s->out_stride + d] * (double)out[i * s->out_stride + d];
      for (int64_t j = 0; j < n; j++) {
        double p = exp(score_of_pair(q, k, s, head, i, j) - (double)log_sum[head * n + i]);
        double keep = dropout_factor(s, head, i, j), ddropped = 0;
        for (int64_t d = 0; d < s->head_dim; d++)
          ddropped += (double)dout[i * s->out_stride + first + d] * (double)v[j * s->stride + kv + d];
        dropped[i * n + j] = (float)(p * keep);
        dscore[i * n + j] = (float)(p * (ddropped * keep - r));
        if (dbias) dbias[(head * n + i) * n + j] += dscore[i * n + j];
      }
    }
    for (int64_t row = 0; row < n; row++) {
      for (int64_t d = 0; d < s->head_dim; d++) {
        double dq_sum = 0, dk_sum = 0, dv_sum = 0;
        for (int64_t other = 0; other < n; other++) {
          dq_sum += (double)dscore[row * n + other] * (double)k[other * s->stride + kv + d];
          dk_sum += (double)dscore[other * n + row] * (double)q[other * s->stride + first + d];
          dv_sum += (double)dropped[other * n + row] * (double)dout[other * s->out_stride + first + d];
        }
        float *dk_at = &dk[row * s->stride + kv + d], *dv_at = &dv[row * s->stride + kv + d];
        dq[row * s->stride + first + d] = (float)((double)s->scale * dq_sum);
        *dk_at = (float)((double)s->scale * dk_sum) + (adds ? *dk_at : 0.0f);
        *dv_at = (float)dv_sum + (adds ? *dv_at : 0.0f);
      }
    }
  }
}
