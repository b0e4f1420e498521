/* Times what a decoder is made of: an LSTM over whole sequences, its single steps, and the likelihood of tokens.
 *
 *   bench_decoder [LEVEL] [--only NAME] [--seconds S]        TSV on stdout, columns as in harness.h
 *
 * One thread, as workers share nothing. The work is that of the products: 2 (in + dim) 4 dim a token and LSTM, 2 dim
 * vocabulary a token of the output layer, and twice as much again backward. */
#include "lab/autoencode/token_loss.h"
#include "nn/lstm.h"

#include "harness.h"

enum { MAX_SEQS = 256, MAX_TOKENS = 8192 };

typedef struct decoder {
  cq_param params[6];
  cq_params all;
  cq_lstm lstm;
  cq_linear output;
  cq_gradients gradients;
  cq_worker worker;
  cq_batch batch;
  int64_t starts[MAX_SEQS + 1];
  int32_t ids[MAX_TOKENS];
} decoder;

static void must(cq_status status) {
  if (status) abort();
}

static void make(decoder *d, int64_t in, int64_t dim, int64_t vocabulary, int64_t n_seqs, int64_t n_steps) {
  cq_random random = cq_random_seeded(1, 0);
  *d = (decoder){.lstm = {.n_directions = 1, .in = in, .dim = dim}, .worker = {.kernels = bench.k}};
  const int64_t sizes[][2] = {{4 * dim, in}, {4 * dim, dim},    {1, 4 * dim},
                              {1, 4 * dim},  {vocabulary, dim}, {1, vocabulary}};
  cq_param *p = d->params;
  for (int i = 0; i < 6; i++) {
    p[i] = (cq_param){.rows = sizes[i][0], .cols = sizes[i][1], .n_dims = 2};
    p[i].value = cq_alloc_array((size_t)cq_param_floats(&p[i]), sizeof(float));
    if (!p[i].value) abort();
    for (int64_t j = 0; j < cq_param_floats(&p[i]); j++)
      p[i].value[j] = 0.1f * (float)(cq_random_uniform(&random) - 0.5);
    must(cq_params_add(&d->all, &p[i], NULL));
  }
  cq_params_index(&d->all);
  must(cq_gradients_new(&d->gradients, &d->all, NULL));
  d->lstm.direction[0] = (cq_lstm_direction){
      .input = {.weight = &p[0]}, .recurrent = {.weight = &p[1]}, .bias_input = &p[2], .bias_recurrent = &p[3]};
  d->output = (cq_linear){.weight = &p[4], .bias = &p[5]};
  must(cq_lstm_pack(&d->lstm, 0, &(cq_packing){bench.k, CQ_PRECISION_F32, true}, NULL));
  must(cq_linear_pack(&d->output, &(cq_packing){bench.k, CQ_PRECISION_F32, true}, NULL));
  for (int64_t s = 0; s < n_seqs; s++) d->starts[s + 1] = d->starts[s] + n_steps;
  for (int i = 0; i < MAX_TOKENS; i++) d->ids[i] = (int32_t)cq_random_below(&random, (uint64_t)vocabulary);
  d->batch = (cq_batch){.starts = d->starts, .n_seqs = n_seqs};
}

static void unmake(decoder *d) {
  for (int i = 0; i < 6; i++) cq_free(d->params[i].value);
  cq_lstm_free(&d->lstm);
  cq_linear_free(&d->output);
  cq_gradients_free(&d->gradients);
  cq_params_free(&d->all);
  cq_workspace_free(&d->worker.workspace);
}

/* Buffers: 0 x, 1 y, 2 dx, 3 dy, 4 and 5 hidden and cell. */
static void run_lstm(const bench_case *c, float **b) {
  decoder *d = c->object;
  const int64_t n = c->m * c->n, dim = d->lstm.dim;
  const cq_lstm_state initial = {cq_tensor_f32(b[4], c->m, dim), cq_tensor_f32(b[5], c->m, dim)};
  cq_lstm_plan plan;
  must(cq_lstm_plan_make(&plan, &d->worker, &d->batch, 1, NULL));
  must(cq_lstm_forward(&d->worker, &d->lstm, &plan, cq_tensor_f32(b[1], n, dim), NULL,
                       cq_tensor_f32(b[0], n, d->lstm.in), &initial, NULL, NULL));
  cq_workspace_release(&d->worker.workspace, (cq_mark){0});
}
static void run_lstm_training(const bench_case *c, float **b) {
  decoder *d = c->object;
  const int64_t n = c->m * c->n, dim = d->lstm.dim;
  const cq_tensor x = cq_tensor_f32(b[0], n, d->lstm.in), y = cq_tensor_f32(b[1], n, dim);
  const cq_lstm_state initial = {cq_tensor_f32(b[4], c->m, dim), cq_tensor_f32(b[5], c->m, dim)};
  const cq_lstm_state dinitial = {cq_tensor_f32(b[6], c->m, dim), cq_tensor_f32(b[7], c->m, dim)};
  cq_lstm_plan plan;
  cq_lstm_saved saved;
  must(cq_lstm_plan_make(&plan, &d->worker, &d->batch, 1, NULL));
  must(cq_lstm_forward(&d->worker, &d->lstm, &plan, y, NULL, x, &initial, &saved, NULL));
  must(cq_lstm_backward(&d->worker, &d->lstm, &plan, &d->gradients, cq_tensor_f32(b[2], n, d->lstm.in), &dinitial,
                        cq_tensor_f32(b[3], n, dim), NULL, &saved, NULL));
  cq_workspace_release(&d->worker.workspace, (cq_mark){0});
}
static void run_step(const bench_case *c, float **b) {
  decoder *d = c->object;
  const int64_t dim = d->lstm.dim;
  must(cq_lstm_step(&d->worker, &d->lstm, cq_tensor_f32(b[4], c->m, dim), cq_tensor_f32(b[5], c->m, dim),
                    cq_tensor_f32(b[0], c->m, d->lstm.in), NULL));
}
static void run_tokens(const bench_case *c, float **b) {
  decoder *d = c->object;
  double loss = 0;
  must(cq_token_loss(&d->worker, &d->output, NULL, (cq_tensor){0}, cq_tensor_f32(b[0], c->m, d->lstm.dim), d->ids, 1, 0,
                     &loss, NULL));
}
static void run_tokens_training(const bench_case *c, float **b) {
  decoder *d = c->object;
  double loss = 0;
  must(cq_token_loss(&d->worker, &d->output, &d->gradients, cq_tensor_f32(b[2], c->m, d->lstm.dim),
                     cq_tensor_f32(b[0], c->m, d->lstm.dim), d->ids, 0.01f, 0, &loss, NULL));
}
static void run_log_p(const bench_case *c, float **b) {
  decoder *d = c->object;
  must(cq_token_log_probabilities(&d->worker, &d->output, cq_tensor_f32(b[1], c->m, c->n),
                                  cq_tensor_f32(b[0], c->m, d->lstm.dim), NULL));
}

static void run_lstms(void) {
  static const int64_t sizes[][2] = {{1, 40}, {16, 40}, {32, 40}, {64, 40}}; /* sequences, steps */
  static decoder d;
  char shape[64];
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int64_t m = sizes[i][0], n = sizes[i][1], in = 256, dim = 256, t = m * n;
    const double work = 2.0 * (double)t * (double)(in + dim) * 4 * (double)dim;
    make(&d, in, dim, 16, m, n);
    snprintf(shape, sizeof shape, "%dx%d tokens, in %d, dim %d", (int)m, (int)n, (int)in, (int)dim);
    bench_case c = {.name = "lstm",
                    .shape = shape,
                    .unit = "GF/s",
                    .work = work,
                    .run = run_lstm,
                    .m = m,
                    .n = n,
                    .object = &d,
                    .floats = {t * in, t * dim, t * in, t * dim, m * dim, m * dim, m * dim, m * dim}};
    run_case(&c);
    c.name = "lstm+backward";
    c.work = 3 * work;
    c.run = run_lstm_training;
    run_case(&c);
    snprintf(shape, sizeof shape, "%d, in %d, dim %d", (int)m, (int)in, (int)dim);
    c.name = "lstm_step";
    c.work = work / (double)n;
    c.run = run_step;
    run_case(&c);
    unmake(&d);
  }
}

static void run_losses(void) {
  static const int64_t sizes[][2] = {{640, 8000}, {640, 8192}, {640, 32000}}; /* tokens, vocabulary */
  static decoder d;
  char shape[64];
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int64_t m = sizes[i][0], n = sizes[i][1], dim = 256;
    const double work = 2.0 * (double)(m * n * dim);
    make(&d, 16, dim, n, 1, 1);
    snprintf(shape, sizeof shape, "%d tokens of %d, dim %d", (int)m, (int)n, (int)dim);
    bench_case c = {.name = "token_loss",
                    .shape = shape,
                    .unit = "GF/s",
                    .work = work,
                    .run = run_tokens,
                    .m = m,
                    .n = n,
                    .object = &d,
                    .floats = {m * dim, 16 * n, m * dim}};
    run_case(&c);
    c.name = "token_loss+backward";
    c.work = 3 * work;
    c.run = run_tokens_training;
    run_case(&c);
    c.name = "token_log_p";
    c.m = 16;
    c.work = work * 16 / (double)m;
    c.run = run_log_p;
    snprintf(shape, sizeof shape, "16 of %d, dim %d", (int)n, (int)dim);
    run_case(&c);
    unmake(&d);
  }
}

int main(int argc, char **argv) {
  if (!open_bench(argc, argv, 1)) return 2;
  run_lstms();
  run_losses();
  cq_context_free(bench.ctx);
  return 0;
}
