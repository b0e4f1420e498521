/* The backward kernels of every level against central differences of forward functions written here, in double
 * precision.
 *
 * A loss is the sum of a function's outputs, each times a weight of its own: the weights are then the gradient of the
 * outputs. With steps of 1e-5 a central difference is good to about 1e-9, and what remains is the f32 kernel: tolerance
 * 2e-5 of the largest gradient. */
#include "harness.h"

enum { MAX_INPUTS = 4000 };

/* The loss at x. */
typedef double (*loss_function)(const double *x, const void *context);

/* got against the difference quotients for the n inputs x; the kernels got the same inputs rounded to f32, so these
 * are. */
static void check_gradient(const char *level, const char *what, loss_function loss, const float *x, const float *got,
                           int64_t n, const void *context) {
  static double at[MAX_INPUTS], want[MAX_INPUTS];
  assert_true(n <= MAX_INPUTS);
  double largest = 0;
  for (int64_t i = 0; i < n; i++) at[i] = (double)x[i];
  for (int64_t i = 0; i < n; i++) {
    const double h = 1e-5, here = at[i];
    at[i] = here + h;
    double above = loss(at, context);
    at[i] = here - h;
    double below = loss(at, context);
    at[i] = here;
    want[i] = (above - below) / (2 * h);
    largest = fmax(largest, fabs(want[i]));
  }
  assert_true(largest > 0);
  for (int64_t i = 0; i < n; i++)
    if (!(fabs((double)got[i] - want[i]) <= 2e-5 * largest))
      fail_msg("%s, %s: gradient %lld is %.9g, the difference quotient %.9g", level, what, (long long)i, (double)got[i],
               want[i]);
}

static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

/* ---- activations ---- */

typedef struct activation_context {
  cq_activation activation;
  const float *weight;
  int64_t n;
} activation_context;

static double activation_loss(const double *x, const void *context) {
  const activation_context *c = context;
  double loss = 0;
  for (int64_t i = 0; i < c->n; i++) {
    double y = x[i];
    switch (c->activation) {
    case CQ_IDENTITY: break;
    case CQ_GELU: y = 0.5 * x[i] * erfc(-x[i] / sqrt(2)); break;
    case CQ_GELU_TANH: y = 0.5 * x[i] * (1 + tanh(sqrt(2 / acos(-1)) * (x[i] + 0.044715 * pow(x[i], 3)))); break;
    case CQ_RELU: y = fmax(x[i], 0); break;
    case CQ_TANH: y = tanh(x[i]); break;
    case CQ_SIGMOID: y = sigmoid(x[i]); break;
    case CQ_SILU: y = x[i] * sigmoid(x[i]); break;
    }
    loss += (double)c->weight[i] * y;
  }
  return loss;
}

static void activations(const cq_kernels *k) {
  static const cq_activation all[] = {CQ_IDENTITY, CQ_GELU, CQ_GELU_TANH, CQ_RELU, CQ_TANH, CQ_SIGMOID, CQ_SILU};
  enum { N = 203 };
  float *x = random_buffer(N, 1, -6, 6), *dy = random_buffer(N, 1, -1, 1), *dx = buffer(N, 0);
  for (size_t a = 0; a < COUNT(all); a++) {
    activation_context c = {all[a], dy, N};
    k->activate_backward(dx, dy, x, N, all[a]);
    check_gradient(k->name, "activation", activation_loss, x, dx, N, &c);
  }
}

/* ---- layer norm: inputs are x, gamma, beta ---- */

typedef struct rows_context {
  int64_t rows, dim;
  const float *weight;
} rows_context;

static double layer_norm_loss(const double *x, const void *context) {
  const rows_context *c = context;
  const double *gamma = x + c->rows * c->dim, *beta = gamma + c->dim, n = (double)c->dim;
  double loss = 0;
  for (int64_t i = 0; i < c->rows; i++, x += c->dim) {
    double mean = 0, variance = 0;
    for (int64_t j = 0; j < c->dim; j++) mean += x[j] / n;
    for (int64_t j = 0; j < c->dim; j++) variance += (x[j] - mean) * (x[j] - mean) / n;
    for (int64_t j = 0; j < c->dim; j++)
      loss += (double)c->weight[i * c->dim + j] * (gamma[j] * (x[j] - mean) / sqrt(variance + 1e-5) + beta[j]);
  }
  return loss;
}

static void layer_norms(const cq_kernels *k) {
  enum { ROWS = 4, DIM = 37, SIZE = ROWS * DIM };
  float *in = random_buffer(SIZE + 2 * DIM, 0, -1, 1), *dy = random_buffer(SIZE, 0, -1, 1);
  float *y = buffer(SIZE, 0), *xhat = buffer(SIZE, 0), *rstd = buffer(ROWS, 0), *d = buffer(SIZE + 2 * DIM, 0);
  memset(d + SIZE, 0, 2 * DIM * sizeof *d);
  k->layer_norm(y, xhat, rstd, in, NULL, in + SIZE, in + SIZE + DIM, 1e-5f, ROWS, DIM);
  k->layer_norm_backward(d, d + SIZE, d + SIZE + DIM, dy, xhat, rstd, in + SIZE, ROWS, DIM);
  check_gradient(k->name, "layer_norm", layer_norm_loss, in, d, SIZE + 2 * DIM, &(rows_context){ROWS, DIM, dy});
}

static double normalize_loss(const double *x, const void *context) {
  const rows_context *c = context;
  double loss = 0;
  for (int64_t i = 0; i < c->rows; i++, x += c->dim) {
    double squares = 0;
    for (int64_t j = 0; j < c->dim; j++) squares += x[j] * x[j];
    for (int64_t j = 0; j < c->dim; j++) loss += (double)c->weight[i * c->dim + j] * x[j] / sqrt(squares);
  }
  return loss;
}

static void normalizes(const cq_kernels *k) {
  enum { ROWS = 4, DIM = 37, SIZE = ROWS * DIM };
  float *x = random_buffer(SIZE, 0, -1, 1), *dy = random_buffer(SIZE, 0, -1, 1);
  float *y = buffer(SIZE, 0), *length = buffer(ROWS, 0), *dx = buffer(SIZE, 0);
  k->normalize(y, length, x, ROWS, DIM);
  k->normalize_backward(dx, dy, y, length, ROWS, DIM);
  check_gradient(k->name, "normalize", normalize_loss, x, dx, SIZE, &(rows_context){ROWS, DIM, dy});
}

/* ---- pooling ---- */

typedef struct pool_context {
  cq_pooling_mode mode;
  int64_t n_tokens, dim;
  const float *weight;
} pool_context;

static double pool_loss(const double *x, const void *context) {
  const pool_context *c = context;
  const int64_t n = c->n_tokens;
  double loss = 0;
  for (int64_t j = 0; j < c->dim; j++) {
    double sum = 0, weighted = 0, max = x[j];
    for (int64_t i = 0; i < n; i++) {
      sum += x[i * c->dim + j];
      weighted += (double)(i + 1) * x[i * c->dim + j];
      max = fmax(max, x[i * c->dim + j]);
    }
    const double y[CQ_N_POOLING_MODES] = {[CQ_POOL_CLS] = x[j],
                                          [CQ_POOL_MAX] = max,
                                          [CQ_POOL_MEAN] = sum / (double)n,
                                          [CQ_POOL_MEAN_SQRT] = sum / sqrt((double)n),
                                          [CQ_POOL_WEIGHTED_MEAN] = weighted / (double)(n * (n + 1) / 2),
                                          [CQ_POOL_LAST] = x[(n - 1) * c->dim + j]};
    loss += (double)c->weight[j] * y[c->mode];
  }
  return loss;
}

static void pools(const cq_kernels *k) {
  enum { N = 9, DIM = 21, SIZE = N * DIM };
  float *x = random_buffer(SIZE, 0, -1, 1), *dy = random_buffer(DIM, 0, -1, 1), *y = buffer(DIM, 0),
        *dx = buffer(SIZE, 0);
  for (int mode = 0; mode < CQ_N_POOLING_MODES; mode++) {
    int32_t argmax[DIM];
    memset(dx, 0, SIZE * sizeof *dx);
    k->pool(y, argmax, x, N, DIM, (cq_pooling_mode)mode);
    k->pool_backward(dx, dy, argmax, N, DIM, (cq_pooling_mode)mode);
    check_gradient(k->name, "pool", pool_loss, x, dx, SIZE, &(pool_context){(cq_pooling_mode)mode, N, DIM, dy});
  }
}

/* ---- attention: inputs are q k v side by side, then the bias ---- */

typedef struct attention_context {
  cq_attention_shape s;
  const float *weight;
} attention_context;

static double attention_loss(const double *x, const void *context) {
  const attention_context *c = context;
  const int64_t n = c->s.n_tokens, dim = c->s.head_dim, width = c->s.n_heads * dim, stride = c->s.stride;
  const int64_t kv_heads = c->s.n_kv_heads > 0 ? c->s.n_kv_heads : c->s.n_heads, shared = c->s.n_heads / kv_heads;
  const double *q = x, *key = x + width, *v = key + kv_heads * dim, *bias = x + n * stride;
  const double rate = (double)c->s.dropout.rate;
  double loss = 0;
  for (int64_t head = 0; head < c->s.n_heads; head++) {
    for (int64_t i = 0; i < n; i++) {
      double p[64], sum = 0;
      for (int64_t j = 0; j < n; j++) {
        const int64_t distance = i > j ? i - j : j - i;
        double score = 0;
        for (int64_t d = 0; d < dim; d++)
          score += q[i * stride + head * dim + d] * key[j * stride + head / shared * dim + d];
        score = (double)c->s.scale * score + bias[(head * n + i) * n + j];
        if (c->s.slopes) score -= (double)c->s.slopes[head] * (double)distance;
        const bool seen = (c->s.window == 0 || distance < c->s.window) && (!c->s.causal || j <= i);
        p[j] = seen ? exp(score) : 0;
        sum += p[j];
      }
      for (int64_t j = 0; j < n; j++) {
        uint32_t bits = cq_dropout_bits(c->s.dropout.key, (uint32_t)((head * n + i) * n + j));
        p[j] *= (double)bits >= rate * 4294967296.0 ? 1 / (1 - rate) / sum : 0;
        for (int64_t d = 0; d < dim; d++)
          loss += (double)c->weight[i * width + head * dim + d] * p[j] * v[j * stride + head / shared * dim + d];
      }
    }
  }
  return loss;
}

static void attentions(const cq_kernels *k) {
  enum { N = 11, HEADS = 2, DIM = 6, WIDTH = HEADS * DIM, SIZE = 3 * N * WIDTH, BIASES = HEADS * N * N };
  for (int r = 0; r < 2; r++) {
    float *in = random_buffer(SIZE + BIASES, 0, -1, 1), *dout = random_buffer(N * WIDTH, 0, -1, 1);
    float *out = buffer(N * WIDTH, 0), *log_sum = buffer(HEADS * N, 0), *d = buffer(SIZE + BIASES, 0);
    float *scratch = buffer(k->attention_scratch(N, DIM), 0);
    attention_context c = {.s = {.n_tokens = N,
                                 .n_heads = HEADS,
                                 .head_dim = DIM,
                                 .stride = 3 * WIDTH,
                                 .out_stride = WIDTH,
                                 .scale = 0.7f,
                                 .bias = in + SIZE,
                                 .dropout = {r ? 0.3f : 0.0f, 42}},
                           .weight = dout};
    memset(d + SIZE, 0, BIASES * sizeof *d);
    k->attention(out, log_sum, in, in + WIDTH, in + 2 * WIDTH, &c.s, scratch);
    k->attention_backward(d, d + WIDTH, d + 2 * WIDTH, d + SIZE, dout, out, log_sum, in, in + WIDTH, in + 2 * WIDTH,
                          &c.s, scratch);
    check_gradient(k->name, "attention", attention_loss, in, d, SIZE + BIASES, &c);
  }
}

static void masked_attentions(const cq_kernels *k) {
  enum { N = 13, HEADS = 4, KV = 2, DIM = 5, WIDTH = HEADS * DIM, STRIDE = WIDTH + 2 * KV * DIM, SIZE = N * STRIDE };
  enum { BIASES = HEADS * N * N };
  static const float slopes[HEADS] = {0.5f, 0.25f, 0.1f, 0.05f};
  for (int causal = 0; causal < 2; causal++) {
    float *in = random_buffer(SIZE + BIASES, 0, -1, 1), *dout = random_buffer(N * WIDTH, 0, -1, 1);
    float *out = buffer(N * WIDTH, 0), *log_sum = buffer(HEADS * N, 0), *d = buffer(SIZE + BIASES, 0);
    float *scratch = buffer(k->attention_scratch(N, DIM), 0);
    attention_context c = {.s = {.n_tokens = N,
                                 .n_heads = HEADS,
                                 .head_dim = DIM,
                                 .stride = STRIDE,
                                 .out_stride = WIDTH,
                                 .scale = 0.7f,
                                 .bias = in + SIZE,
                                 .n_kv_heads = KV,
                                 .window = 4,
                                 .causal = causal,
                                 .slopes = slopes},
                           .weight = dout};
    memset(d + SIZE, 0, BIASES * sizeof *d);
    const float *key = in + WIDTH, *v = key + KV * DIM;
    k->attention(out, log_sum, in, key, v, &c.s, scratch);
    k->attention_backward(d, d + WIDTH, d + WIDTH + KV * DIM, d + SIZE, dout, out, log_sum, in, key, v, &c.s, scratch);
    check_gradient(k->name, "masked attention", attention_loss, in, d, SIZE + BIASES, &c);
  }
}

static double rms_norm_loss(const double *x, const void *context) {
  const rows_context *c = context;
  const double *gamma = x + c->rows * c->dim, n = (double)c->dim;
  double loss = 0;
  for (int64_t i = 0; i < c->rows; i++, x += c->dim) {
    double squares = 0;
    for (int64_t j = 0; j < c->dim; j++) squares += x[j] * x[j] / n;
    for (int64_t j = 0; j < c->dim; j++)
      loss += (double)c->weight[i * c->dim + j] * (1 + gamma[j]) * x[j] / sqrt(squares + 1e-5);
  }
  return loss;
}

static void rms_norms(const cq_kernels *k) {
  enum { ROWS = 4, DIM = 37, SIZE = ROWS * DIM };
  float *in = random_buffer(SIZE + DIM, 0, -1, 1), *dy = random_buffer(SIZE, 0, -1, 1);
  float *y = buffer(SIZE, 0), *xhat = buffer(SIZE, 0), *rstd = buffer(ROWS, 0), *d = buffer(SIZE + DIM, 0);
  memset(d + SIZE, 0, DIM * sizeof *d);
  k->rms_norm(y, xhat, rstd, in, in + SIZE, 1.0f, 1e-5f, ROWS, DIM);
  k->rms_norm_backward(d, d + SIZE, dy, xhat, rstd, in + SIZE, 1.0f, ROWS, DIM);
  check_gradient(k->name, "rms_norm", rms_norm_loss, in, d, SIZE + DIM, &(rows_context){ROWS, DIM, dy});
}

/* ---- LSTM: inputs are the four gates before their activations, then c_before ---- */

typedef struct lstm_context {
  int64_t rows, dim;
  const float *weight_h, *weight_c;
} lstm_context;

static double lstm_loss(const double *x, const void *context) {
  const lstm_context *c = context;
  const double *before = x + 4 * c->rows * c->dim;
  double loss = 0;
  for (int64_t row = 0; row < c->rows; row++) {
    for (int64_t j = 0; j < c->dim; j++) {
      const double *gate = x + row * 4 * c->dim + j;
      double now = sigmoid(gate[c->dim]) * before[row * c->dim + j] + sigmoid(gate[0]) * tanh(gate[2 * c->dim]);
      loss += (double)c->weight_h[row * c->dim + j] * sigmoid(gate[3 * c->dim]) * tanh(now);
      loss += (double)c->weight_c[row * c->dim + j] * now;
    }
  }
  return loss;
}

static void lstms(const cq_kernels *k) {
  enum { ROWS = 3, DIM = 19, SIZE = ROWS * DIM };
  float *in = random_buffer(5 * SIZE, 0, -2, 2), *gates = copy_of(in, 4 * SIZE, 0), *h = buffer(SIZE, 0);
  float *c = buffer(SIZE, 0), *dh = random_buffer(SIZE, 0, -1, 1), *dc = random_buffer(SIZE, 0, -1, 1);
  float *weight_c = copy_of(dc, SIZE, 0), *d = buffer(5 * SIZE, 0);
  k->lstm_cell(h, DIM, c, gates, in + 4 * SIZE, ROWS, DIM);
  k->lstm_cell_backward(d, dc, dh, gates, c, in + 4 * SIZE, ROWS, DIM);
  memcpy(d + 4 * SIZE, dc, SIZE * sizeof *dc);
  check_gradient(k->name, "lstm", lstm_loss, in, d, 5 * SIZE, &(lstm_context){ROWS, DIM, dh, weight_c});
}

/* ---- the likelihood of tokens: inputs are the logits ---- */

typedef struct tokens_context {
  int64_t rows, n;
  const int32_t *ids;
  double factor, smoothing;
} tokens_context;

static double tokens_loss(const double *x, const void *context) {
  const tokens_context *c = context;
  double loss = 0;
  for (int64_t i = 0; i < c->rows; i++, x += c->n) {
    double sum = 0, mean = 0;
    for (int64_t j = 0; j < c->n; j++) sum += exp(x[j]);
    for (int64_t j = 0; j < c->n; j++) mean += (log(sum) - x[j]) / (double)c->n;
    loss += (1 - c->smoothing) * (log(sum) - x[c->ids[i]]) + c->smoothing * mean;
  }
  return c->factor * loss;
}

static void tokens(const cq_kernels *k) {
  enum { ROWS = 3, N = 41, SIZE = ROWS * N };
  static const int32_t ids[ROWS] = {40, 0, 17};
  for (int s = 0; s < 2; s++) {
    float *x = random_buffer(SIZE, 1, -3, 3), *d = buffer(SIZE, 0);
    const tokens_context c = {ROWS, N, ids, 0.5, s ? 0.25 : 0};
    double at[SIZE], loss = k->cross_entropy(d, x, N, ids, 0.5f, s ? 0.25f : 0, ROWS, N);
    for (int i = 0; i < SIZE; i++) at[i] = (double)x[i];
    assert_true(fabs(0.5 * loss - tokens_loss(at, &c)) <= 1e-6 * loss);
    check_gradient(k->name, "cross_entropy", tokens_loss, x, d, SIZE, &c);
  }
}

/* ---- a linear layer y = x W^T + b and the squared error: inputs are x, W, b ---- */

enum { TOKENS = 13, IN = 7, OUT = 10 };

static double linear_loss(const double *x, const void *target) {
  const double *w = x + TOKENS * IN, *b = w + OUT * IN;
  double loss = 0;
  for (int64_t i = 0; i < TOKENS; i++) {
    for (int64_t o = 0; o < OUT; o++) {
      double y = b[o] - (double)((const float *)target)[i * OUT + o];
      for (int64_t j = 0; j < IN; j++) y += x[i * IN + j] * w[o * IN + j];
      loss += y * y / 5;
    }
  }
  return loss;
}

static void linears(const cq_kernels *k) {
  enum { X = TOKENS * IN, W = OUT * IN, SIZE = X + W + OUT };
  float *in = random_buffer(SIZE, 0, -1, 1), *target = random_buffer(TOKENS * OUT, 0, -1, 1), *d = buffer(SIZE, 0);
  float *w = in + X, *y = buffer(TOKENS * OUT, 0), *dy = buffer(TOKENS * OUT, 0);
  float *packed = buffer(k->packed_floats(IN, OUT) + k->packed_floats(OUT, IN) + k->packed_floats(TOKENS, IN), 0);
  memset(d, 0, SIZE * sizeof *d);
  k->pack(packed, w, 1, IN, IN, OUT);
  k->product(y, OUT, in, IN, packed, TOKENS, OUT, IN, &(cq_epilogue){.bias = w + W});
  double loss = k->squared_error(dy, y, target, 0.4f, TOKENS * OUT) / 5;
  double at[SIZE];
  for (int i = 0; i < SIZE; i++) at[i] = (double)in[i];
  assert_true(fabs(loss - linear_loss(at, target)) <= 1e-5 * loss);
  k->pack(packed, w, IN, 1, OUT, IN);
  k->product(d, IN, dy, OUT, packed, TOKENS, IN, OUT, NULL);
  k->product_transposed(d + X, IN, dy, OUT, in, IN, OUT, IN, TOKENS, packed);
  k->add_columns(d + X + W, dy, OUT, TOKENS, OUT);
  check_gradient(k->name, "linear layer", linear_loss, in, d, SIZE, target);
}

static void backward_kernels_agree_with_differences(void **state) {
  (void)state;
  const cq_kernels *levels[8];
  size_t n = cq_kernels_all(levels, COUNT(levels));
  void (*const all[])(const cq_kernels *) = {activations,       layer_norms, normalizes, pools,  attentions,
                                             masked_attentions, rms_norms,   lstms,      tokens, linears};
  for (size_t l = 0; l < n; l++) {
    for (size_t i = 0; i < COUNT(all); i++) {
      all[i](levels[l]);
      cq_arena_free(&arena);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(backward_kernels_agree_with_differences)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
