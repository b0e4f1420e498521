/* Times the kernels of a level and sets them beside the machine's own peak, measured in the same run.
 *
 *   bench_kernels [LEVEL] [--threads N] [--only NAME] [--seconds S]        TSV on stdout
 *
 * The columns are harness.h's. */
#include "harness.h"

#include "tensor/products.h"

/* ---- the kernels ---- */

static void run_product(const bench_case *c, float **b) {
  bench.k->product(b[0], c->n, b[1], c->k, b[2], c->m, c->n, c->k, &(cq_epilogue){.bias = b[3]});
}
static void run_product_gelu(const bench_case *c, float **b) {
  bench.k->product(b[0], c->n, b[1], c->k, b[2], c->m, c->n, c->k, &(cq_epilogue){.bias = b[3], .activation = CQ_GELU});
}
static void run_transposed(const bench_case *c, float **b) {
  bench.k->product_transposed(b[0], c->n, b[1], c->m, b[2], c->n, c->m, c->n, c->k, b[3]);
}
static void run_pack(const bench_case *c, float **b) {
  bench.k->pack(b[0], b[1], 1, c->k, c->k, c->n);
}
static cq_attention_shape shape_of(const bench_case *c) {
  const int64_t width = c->heads * c->k;
  return (cq_attention_shape){
      .n_tokens = c->n, .n_heads = c->heads, .head_dim = c->k, .stride = 3 * width, .out_stride = width, .scale = 0.2f};
}
/* An encoder works on blocks of a few hundred tokens, whose q, k and v it has just written: the sequences timed are
 * those of one such block over and over. */
static int64_t sequences_at_hand(const bench_case *c) {
  return c->n < 256 ? 256 / c->n : 1;
}
static void run_attention(const bench_case *c, float **b) {
  const int64_t width = c->heads * c->k;
  cq_attention_shape s = shape_of(c);
  const int64_t cycle = sequences_at_hand(c);
  for (int64_t i = 0; i < c->m; i++) {
    float *qkv = b[1] + i % cycle * c->n * 3 * width;
    bench.k->attention(b[0] + i % cycle * c->n * width, b[2], qkv, qkv + width, qkv + 2 * width, &s, b[3]);
  }
}
/* In bf16, as an encoder in bf16 or int8 does it. */
static void run_attention_bf16(const bench_case *c, float **b) {
  const cq_products *bf16 = c->object;
  const int64_t width = c->heads * c->k;
  const cq_attention_shape s = shape_of(c);
  const int64_t cycle = sequences_at_hand(c);
  for (int64_t i = 0; i < c->m; i++) {
    const float *qkv = b[1] + i % cycle * c->n * 3 * width;
    bf16->attention(b[0] + i % cycle * c->n * width, qkv, qkv + width, qkv + 2 * width, &s, b[3]);
  }
}
static void run_attention_backward(const bench_case *c, float **b) {
  const int64_t width = c->heads * c->k;
  cq_attention_shape s = shape_of(c);
  const int64_t cycle = sequences_at_hand(c);
  for (int64_t i = 0; i < c->m; i++) {
    const int64_t first = i % cycle * c->n;
    float *qkv = b[1] + first * 3 * width, *d = b[4] + first * 3 * width, *out = b[0] + first * width;
    bench.k->attention_backward(d, d + width, d + 2 * width, NULL, out, out, b[2], qkv, qkv + width, qkv + 2 * width,
                                &s, b[3]);
  }
}
static void run_layer_norm(const bench_case *c, float **b) {
  bench.k->layer_norm(b[0], NULL, NULL, b[1], b[2], b[3], b[4], 1e-12f, c->m, c->n);
}
static void run_layer_norm_backward(const bench_case *c, float **b) {
  bench.k->layer_norm_backward(b[0], b[3], b[4], b[1], b[2], b[5], b[6], c->m, c->n);
}
static void run_gelu(const bench_case *c, float **b) {
  bench.k->activate(b[0], b[1], c->n, CQ_GELU);
}
static void run_gelu_backward(const bench_case *c, float **b) {
  bench.k->activate_backward(b[0], b[1], b[2], c->n, CQ_GELU);
}
static void run_tanh(const bench_case *c, float **b) {
  bench.k->activate(b[0], b[1], c->n, CQ_TANH);
}
static void run_sigmoid(const bench_case *c, float **b) {
  bench.k->activate(b[0], b[1], c->n, CQ_SIGMOID);
}
static void run_dropout(const bench_case *c, float **b) {
  bench.k->dropout(b[0], c->n, (cq_dropout){0.1f, 7});
}
static void run_add_columns(const bench_case *c, float **b) {
  bench.k->add_columns(b[0], b[1], c->n, c->m, c->n);
}
static void run_lstm(const bench_case *c, float **b) {
  bench.k->lstm_cell(b[0], c->n, b[1], b[2], b[3], c->m, c->n);
}
/* In place, so that all but the first run see gradients instead of logits: the work is the same. */
static void run_cross_entropy(const bench_case *c, float **b) {
  static const int32_t ids[64];
  bench.k->cross_entropy(b[0], b[0], c->n, ids, 1, 0, c->m, c->n);
}
static void run_log_softmax(const bench_case *c, float **b) {
  bench.k->log_softmax(b[0], c->n, b[0], c->n, c->m, c->n);
}
static void run_adamw(const bench_case *c, float **b) {
  bench.k->adamw(b[0], b[1], b[2], b[3], c->n, &(cq_adamw){1e-5, 0.9, 0.999, 1e-8, 0.01, 0.5, 0.5, 1});
}

/* A whole encoder layer, d 384, 12 heads, ffn 1536, on one block of m sequences of n tokens: what a worker does.
 * Buffers: 0 x, 1 qkv, 2 attended and summed, 3 hidden, 4 packed weights one after the other, 5 biases and norms, 6
 * scratch. */
static void run_layer(const bench_case *c, float **b) {
  enum { D = 384, FFN = 1536 };
  const cq_kernels *k = bench.k;
  const int64_t tokens = c->m * c->n;
  float *x = b[0], *qkv = b[1], *attended = b[2], *hidden = b[3], *ones = b[5];
  const float *w_qkv = b[4], *w_out = w_qkv + k->packed_floats(D, 3 * D), *w_up = w_out + k->packed_floats(D, D),
              *w_down = w_up + k->packed_floats(D, FFN);
  const cq_attention_shape s = {
      .n_tokens = c->n, .n_heads = 12, .head_dim = 32, .stride = 3 * D, .out_stride = D, .scale = 0.177f};
  k->product(qkv, 3 * D, x, D, w_qkv, tokens, 3 * D, D, &(cq_epilogue){.bias = ones});
  for (int64_t i = 0; i < c->m; i++) {
    float *q = qkv + i * c->n * 3 * D;
    k->attention(attended + i * c->n * D, NULL, q, q + D, q + 2 * D, &s, b[6]);
  }
  k->product(qkv, D, attended, D, w_out, tokens, D, D, &(cq_epilogue){.bias = ones});
  k->layer_norm(attended, NULL, NULL, qkv, x, ones, ones, 1e-12f, tokens, D);
  k->product(hidden, FFN, attended, D, w_up, tokens, FFN, D, &(cq_epilogue){.bias = ones, .activation = CQ_GELU});
  k->product(qkv, D, hidden, FFN, w_down, tokens, D, FFN, &(cq_epilogue){.bias = ones});
  k->layer_norm(x, NULL, NULL, qkv, attended, ones, ones, 1e-12f, tokens, D);
}

static void run_layers(void) {
  static const int64_t sizes[][2] = {{25, 10}, {8, 32}, {2, 128}, {4, 128}}; /* sequences, tokens */
  char shape[64];
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int64_t m = sizes[i][0], n = sizes[i][1], t = m * n, d = 384;
    snprintf(shape, sizeof shape, "%dx%d tokens, d 384, ffn 1536", (int)m, (int)n);
    run_case(&(bench_case){
        .name = "layer",
        .shape = shape,
        .unit = "GF/s",
        .work = 2.0 * (double)t * 12 * (double)(d * d) + 4.0 * (double)(t * n * d),
        .run = run_layer,
        .m = m,
        .n = n,
        .floats = {t * d, 3 * t * d, t * d, 4 * t * d, 12 * d * d, 4 * d, bench.k->attention_scratch(n, 32)}});
  }
}

/* Products in less than f32, A's conversion included. */
static void pack_narrow(const bench_case *c, float **b) {
  const cq_products *p = c->object;
  p->pack(b[2], b[4], 1, c->k, c->k, c->n);
}
static void run_product_narrow(const bench_case *c, float **b) {
  const cq_products *p = c->object;
  p->convert(b[3], b[1], c->k, c->m, c->k);
  p->product(b[0], c->n, b[3], 0, b[2], c->m, c->n, c->k, NULL);
}

static void run_narrow_products(void) {
  static const int64_t ms[] = {1, 4, 8, 16, 32, 128, 512},
                       sizes[][2] = {{384, 384}, {384, 1536}, {768, 768}, {768, 3072}};
  char name[64], shape[64];
  for (cq_precision precision = CQ_PRECISION_F32 + 1; precision <= CQ_PRECISION_INT8; precision++) {
    cq_products p = *cq_products_of(bench.k, precision);
    if (p.precision != precision) continue;
    snprintf(name, sizeof name, "product_%s", precision == CQ_PRECISION_BF16 ? "bf16" : "int8");
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
      for (size_t i = 0; i < sizeof ms / sizeof *ms; i++) {
        const int64_t m = ms[i], k = sizes[s][0], n = sizes[s][1];
        snprintf(shape, sizeof shape, "m%d k%d n%d", (int)m, (int)k, (int)n);
        run_case(&(bench_case){
            .name = name,
            .shape = shape,
            .unit = "GF/s",
            .work = 2.0 * (double)(m * n * k),
            .prepare = pack_narrow,
            .run = run_product_narrow,
            .m = m,
            .n = n,
            .k = k,
            .object = &p,
            .floats = {m * n, m * k, (int64_t)p.packed_bytes(k, n) / 4, (int64_t)p.left_bytes(m, k) / 4, k * n}});
      }
  }
}

static void run_products(void) {
  static const int64_t ms[] = {1, 4, 8, 16, 32, 128, 512, 2048},
                       sizes[][2] = {{384, 384},  {384, 1536}, {1536, 384}, {768, 768},
                                     {768, 3072}, {3072, 768}, {3072, 3072}};
  char shape[64];
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    for (size_t i = 0; i < sizeof ms / sizeof *ms; i++) {
      int64_t m = ms[i], k = sizes[s][0], n = sizes[s][1];
      snprintf(shape, sizeof shape, "m%d k%d n%d", (int)m, (int)k, (int)n);
      double work = 2.0 * (double)(m * n * k);
      bench_case c = {.name = "product",
                      .shape = shape,
                      .unit = "GF/s",
                      .work = work,
                      .run = run_product,
                      .m = m,
                      .n = n,
                      .k = k,
                      .floats = {m * n, m * k, bench.k->packed_floats(k, n), n}};
      run_case(&c);
      if (n == 4 * k) {
        c.name = "product+gelu";
        c.run = run_product_gelu;
        run_case(&c);
      }
      /* the weight's gradient: C [out, in] += dY^T X, k counts tokens */
      snprintf(shape, sizeof shape, "m%d k%d n%d", (int)n, (int)m, (int)k);
      bench_case t = {.name = "product_transposed",
                      .shape = shape,
                      .unit = "GF/s",
                      .work = work,
                      .run = run_transposed,
                      .m = n,
                      .n = k,
                      .k = m,
                      .floats = {n * k, m * n, m * k, bench.k->packed_floats(m, k)}};
      if (m > 1) run_case(&t);
    }
    int64_t k = sizes[s][0], n = sizes[s][1];
    snprintf(shape, sizeof shape, "k%d n%d", (int)k, (int)n);
    run_case(&(bench_case){.name = "pack",
                           .shape = shape,
                           .unit = "Gelem/s",
                           .work = (double)(k * n),
                           .run = run_pack,
                           .n = n,
                           .k = k,
                           .floats = {bench.k->packed_floats(k, n), k * n}});
  }
}

static void run_attentions(void) {
  static const int64_t sizes[][4] = {/* sequences, tokens, heads, elements of a head */
                                     {100, 10, 12, 32}, {32, 32, 12, 32},  {64, 128, 12, 32}, {4, 512, 12, 32},
                                     {1, 2048, 12, 32}, {1, 8192, 12, 32}, {64, 128, 12, 64}, {4, 512, 12, 64},
                                     {1, 2048, 12, 64}, {1, 8192, 12, 64}};
  char shape[64];
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const int64_t m = sizes[s][0], n = sizes[s][1], heads = sizes[s][2], dim = sizes[s][3], width = heads * dim;
    const int64_t floats = (n < 256 ? 256 : n) * width;
    snprintf(shape, sizeof shape, "%dx%d tokens, %dx%d", (int)m, (int)n, (int)heads, (int)dim);
    double work = 4.0 * (double)(m * n * n * width);
    bench_case c = {.name = "attention",
                    .shape = shape,
                    .unit = "GF/s",
                    .work = work,
                    .run = run_attention,
                    .m = m,
                    .n = n,
                    .k = dim,
                    .heads = heads,
                    .floats = {floats, 3 * floats, heads * n, bench.k->attention_scratch(n, dim), 3 * floats}};
    run_case(&c);
    cq_products bf16 = *cq_products_of(bench.k, CQ_PRECISION_BF16);
    if (bf16.attention) {
      bench_case narrow = c;
      narrow.name = "attention_bf16", narrow.run = run_attention_bf16, narrow.object = &bf16;
      narrow.floats[3] = bf16.attention_scratch(n, dim);
      run_case(&narrow);
    }
    c.name = "attention_backward";
    c.run = run_attention_backward;
    c.work = 2.5 * work;
    run_case(&c);
  }
}

static void run_others(void) {
  const int64_t rows = 128, dim = 384, n = rows * 1536, many = 4 << 20;
  run_case(&(bench_case){.name = "layer_norm",
                         .shape = "128x384",
                         .unit = "Gelem/s",
                         .work = (double)(rows * dim),
                         .run = run_layer_norm,
                         .m = rows,
                         .n = dim,
                         .floats = {rows * dim, rows * dim, rows * dim, dim, dim}});
  run_case(&(bench_case){.name = "layer_norm_backward",
                         .shape = "128x384",
                         .unit = "Gelem/s",
                         .work = (double)(rows * dim),
                         .run = run_layer_norm_backward,
                         .m = rows,
                         .n = dim,
                         .floats = {rows * dim, rows * dim, rows * dim, dim, dim, rows, dim}});
  static const struct {
    const char *name;
    void (*run)(const bench_case *c, float **b);
  } elementwise[] = {{"gelu", run_gelu},
                     {"gelu_backward", run_gelu_backward},
                     {"tanh", run_tanh},
                     {"sigmoid", run_sigmoid},
                     {"dropout", run_dropout}};
  for (size_t i = 0; i < sizeof elementwise / sizeof *elementwise; i++)
    run_case(&(bench_case){.name = elementwise[i].name,
                           .shape = "128x1536",
                           .unit = "Gelem/s",
                           .work = (double)n,
                           .run = elementwise[i].run,
                           .n = n,
                           .floats = {n, n, n}});
  run_case(&(bench_case){.name = "add_columns",
                         .shape = "128x1536",
                         .unit = "Gelem/s",
                         .work = (double)n,
                         .run = run_add_columns,
                         .m = rows,
                         .n = 1536,
                         .floats = {1536, n}});
  run_case(&(bench_case){.name = "lstm_cell",
                         .shape = "16x256",
                         .unit = "Gelem/s",
                         .work = 16.0 * 256,
                         .run = run_lstm,
                         .m = 16,
                         .n = 256,
                         .floats = {16 * 256, 16 * 256, 64 * 256, 16 * 256}});
  run_case(&(bench_case){.name = "cross_entropy",
                         .shape = "64x8000",
                         .unit = "Gelem/s",
                         .work = 64.0 * 8000,
                         .run = run_cross_entropy,
                         .m = 64,
                         .n = 8000,
                         .floats = {64 * 8000}});
  run_case(&(bench_case){.name = "log_softmax",
                         .shape = "64x8000",
                         .unit = "Gelem/s",
                         .work = 64.0 * 8000,
                         .run = run_log_softmax,
                         .m = 64,
                         .n = 8000,
                         .floats = {64 * 8000}});
  run_case(&(bench_case){.name = "adamw",
                         .shape = "4194304",
                         .unit = "GB/s",
                         .work = 28.0 * (double)many,
                         .run = run_adamw,
                         .n = many,
                         .floats = {many, many, many, many}});
}

int main(int argc, char **argv) {
  if (!open_bench(argc, argv, MAX_THREADS)) return 2;
  run_layers();
  run_products();
  run_narrow_products();
  run_attentions();
  run_others();
  cq_context_free(bench.ctx);
  return 0;
}
