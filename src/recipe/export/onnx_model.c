/* An encoder's modules as ONNX nodes. Padding is what a graph has and calque has not: [batch, sequence] with a mask.
 *
 *   ids, mask ──▶ embeddings ──layers──▶ x [batch, sequence, dim] ──pooling──▶ [batch, dim] ──Dense, ...──▶ vectors
 *
 * Layers are written from the opened structs (nn/transformer.h, nn/block.h), which BERT's kin and every row of
 * families/ fill in: a part that a family leaves out is NULL there, and has no node. */
#include "recipe/export/onnx_model.h"

#include "base/error.h"
#include "model/modules.h"
#include "model/transformer_module.h"
#include "tensor/levels.h"

#include <math.h>

typedef struct emitter {
  cq_graph *g;
  const cq_encoder *encoder;
  cq_value ids, mask, types; /* inputs; types NULL: none */
  cq_value kept;             /* [batch, sequence] f32: 1 for tokens, 0 for padding */
  cq_value steps;            /* [sequence] int64: 0, 1, ... */
  struct {
    cq_value of, x, scales; /* the last vectors that were quantized: several products may share them */
  } quantized;
  cq_value tokens; /* the last vectors of tokens; NULL: none */
  /* Added to the scores, by what attention sees. */
  struct {
    const cq_attention *of;
    cq_value bias;
  } biases[4];
  size_t n_biases;
  cq_value relative;             /* [1, n_heads, sequence, sequence]; NULL: none */
  cq_value cosines[2], sines[2]; /* [sequence, n_turned / 2] by rotation; NULL: not yet */
  const char *reason;            /* why the module cannot be written; NULL: it can */
} emitter;

/* ---- small parts ---- */

static cq_value cast(cq_graph *g, cq_value x, int type) {
  return cq_graph_node(g, "Cast", CQ_ATTRIBUTES(CQ_INT_ATTRIBUTE("to", type)), CQ_INPUTS(x), NULL, 0);
}

static cq_value unsqueeze(cq_graph *g, cq_value x, int64_t axis) {
  return CQ_NODE(g, "Unsqueeze", x, CQ_INTEGERS(g, axis));
}

static cq_value sum_over(cq_graph *g, cq_value x, int64_t axis) {
  return cq_graph_node(g, "ReduceSum", CQ_ATTRIBUTES(CQ_INT_ATTRIBUTE("keepdims", 0)),
                       CQ_INPUTS(x, CQ_INTEGERS(g, axis)), NULL, 0);
}

/* Columns [from, to) of the last axis. */
static cq_value columns(cq_graph *g, cq_value x, int64_t from, int64_t to) {
  return CQ_NODE(g, "Slice", x, CQ_INTEGERS(g, from), CQ_INTEGERS(g, to), CQ_INTEGERS(g, -1));
}

static cq_value vector(cq_graph *g, const cq_param *p) {
  const cq_stored_weight w = cq_stored_weight_of(p, CQ_AS_F32, false);
  return cq_graph_weight(g, &w, 1);
}

/* A matrix in f32: half precision is widened when the file is loaded. */
static cq_value matrix(cq_graph *g, const cq_param *p, int64_t rows, bool transposed) {
  const bool is_half = g->precision == CQ_EXPORT_F16;
  cq_stored_weight w = cq_stored_weight_of(p, is_half ? CQ_AS_F16 : CQ_AS_F32, transposed);
  w.rows = rows;
  const cq_value stored = cq_graph_weight(g, &w, 2);
  return is_half ? cast(g, stored, CQ_ONNX_FLOAT) : stored;
}

/* Rows of a table, in 8 bits if the graph's matrices have them. */
static cq_value gather(cq_graph *g, const cq_param *table, cq_value ids) {
  if (g->precision != CQ_EXPORT_INT8 || !table->narrows)
    return CQ_NODE(g, "Gather", matrix(g, table, table->rows, false), ids);
  const cq_stored_weight quantized = cq_stored_weight_of(table, CQ_AS_U8, false),
                         scales = cq_stored_weight_of(table, CQ_AS_SCALES, false);
  const cq_value rows = cast(g, CQ_NODE(g, "Gather", cq_graph_weight(g, &quantized, 2), ids), CQ_ONNX_FLOAT);
  return CQ_NODE(g, "Mul", CQ_NODE(g, "Sub", rows, cq_graph_number(g, 128)),
                 CQ_NODE(g, "Gather", cq_graph_weight(g, &scales, 2), ids));
}

/* A token's numbers in 8 bits: 128 + x / scale, where scale = max |x| / 127 of the token, as in calque's own products. The
 * operator DynamicQuantizeLinear has one scale for the whole batch, which loses ten times as much. */
static cq_value quantize_tokens(cq_graph *g, cq_value *scales, cq_value x) {
  const cq_attribute last[] = {{.name = "axes", .type = CQ_ATTRIBUTE_INTS, .ints = {-1}, .n_ints = 1}, {.name = NULL}};
  const cq_value max = cq_graph_node(g, "ReduceMax", last, CQ_INPUTS(CQ_NODE(g, "Abs", x)), NULL, 0);
  *scales = CQ_NODE(g, "Mul", CQ_NODE(g, "Max", max, cq_graph_number(g, 1e-30f)), cq_graph_number(g, 1.0f / 127));
  const cq_value rounded = CQ_NODE(g, "Round", CQ_NODE(g, "Div", x, *scales));
  return cast(g, CQ_NODE(g, "Add", rounded, cq_graph_number(g, 128)), CQ_ONNX_UINT8);
}

/* x W^T + b. In 8 bits, the product is of whole numbers. Weights are unsigned: with signed ones, processors without VNNI
 * add pairs of products in 16 bits, which overflow. */
static cq_value linear(emitter *m, cq_value x, const cq_param *weight, const cq_param *bias, bool exact) {
  cq_graph *g = m->g;
  cq_value y;
  if (g->precision == CQ_EXPORT_INT8 && !exact) {
    const cq_stored_weight quantized = cq_stored_weight_of(weight, CQ_AS_U8, true),
                           scales = cq_stored_weight_of(weight, CQ_AS_SCALES, false);
    const cq_value zero = cast(g, cq_graph_integer(g, 128), CQ_ONNX_UINT8);
    if (m->quantized.of != x) m->quantized.of = x, m->quantized.x = quantize_tokens(g, &m->quantized.scales, x);
    y = CQ_NODE(g, "MatMulInteger", m->quantized.x, cq_graph_weight(g, &quantized, 2), zero, zero);
    y = CQ_NODE(g, "Mul", CQ_NODE(g, "Mul", cast(g, y, CQ_ONNX_FLOAT), m->quantized.scales),
                cq_graph_weight(g, &scales, 1));
  } else {
    y = CQ_NODE(g, "MatMul", x, matrix(g, weight, weight->rows, true));
  }
  return bias ? CQ_NODE(g, "Add", y, vector(g, bias)) : y;
}

static cq_value layer_linear(emitter *m, cq_value x, const cq_linear *l) {
  return linear(m, x, l->weight, l->bias, false);
}

/* Without gamma: x. */
static cq_value norm(cq_graph *g, cq_value x, const cq_norm *l) {
  if (!l->gamma) return x;
  if (!l->rms) {
    const cq_attribute attributes[] = {{.name = "epsilon", .type = CQ_ATTRIBUTE_FLOAT, .f = l->eps}, {.name = NULL}};
    const cq_value gamma = vector(g, l->gamma);
    return l->beta
               ? cq_graph_node(g, "LayerNormalization", attributes, CQ_INPUTS(x, gamma, vector(g, l->beta)), NULL, 0)
               : cq_graph_node(g, "LayerNormalization", attributes, CQ_INPUTS(x, gamma), NULL, 0);
  }
  const cq_attribute last[] = {{.name = "axes", .type = CQ_ATTRIBUTE_INTS, .ints = {-1}, .n_ints = 1}, {.name = NULL}};
  const cq_value mean = cq_graph_node(g, "ReduceMean", last, CQ_INPUTS(CQ_NODE(g, "Mul", x, x)), NULL, 0);
  const cq_value root = CQ_NODE(g, "Sqrt", CQ_NODE(g, "Add", mean, cq_graph_number(g, l->eps)));
  cq_value gamma = vector(g, l->gamma);
  if (l->offset > 0) gamma = CQ_NODE(g, "Add", gamma, cq_graph_number(g, l->offset));
  return CQ_NODE(g, "Mul", CQ_NODE(g, "Div", x, root), gamma);
}

static cq_value activate(cq_graph *g, cq_value x, cq_activation activation) {
  cq_value inner = x;
  switch (activation) {
  case CQ_IDENTITY: return x;
  case CQ_RELU: return CQ_NODE(g, "Relu", x);
  case CQ_TANH: return CQ_NODE(g, "Tanh", x);
  case CQ_SIGMOID: return CQ_NODE(g, "Sigmoid", x);
  case CQ_SILU: return CQ_NODE(g, "Mul", x, CQ_NODE(g, "Sigmoid", x));
  case CQ_GELU: inner = CQ_NODE(g, "Erf", CQ_NODE(g, "Div", x, cq_graph_number(g, (float)sqrt(2)))); break;
  case CQ_GELU_TANH:
    inner = CQ_NODE(g, "Mul", CQ_NODE(g, "Mul", CQ_NODE(g, "Mul", x, x), x), cq_graph_number(g, 0.044715f));
    inner = CQ_NODE(g, "Mul", CQ_NODE(g, "Add", x, inner), cq_graph_number(g, (float)sqrt(2 / 3.14159265358979323846)));
    inner = CQ_NODE(g, "Tanh", inner);
    break;
  }
  return CQ_NODE(g, "Mul", CQ_NODE(g, "Mul", x, CQ_NODE(g, "Add", inner, cq_graph_number(g, 1))),
                 cq_graph_number(g, 0.5f));
}

/* ---- positions ---- */

static cq_value steps_of(emitter *m) {
  cq_graph *g = m->g;
  if (!m->steps) {
    const cq_value length = CQ_NODE(g, "Gather", CQ_NODE(g, "Shape", m->ids), cq_graph_integer(g, 1));
    m->steps = CQ_NODE(g, "Range", cq_graph_integer(g, 0), length, cq_graph_integer(g, 1));
  }
  return m->steps;
}

/* [sequence, sequence] int64: the key's position less the query's. */
static cq_value distances_of(emitter *m) {
  cq_graph *g = m->g;
  const cq_value steps = steps_of(m);
  return CQ_NODE(g, "Sub", unsqueeze(g, steps, 0), unsqueeze(g, steps, 1));
}

/* [sequence, dim], or [batch, sequence, dim] where pad tokens do not count. */
static cq_value learned_positions(emitter *m, const cq_embedding *e) {
  cq_graph *g = m->g;
  if (e->first_position == 0)
    return CQ_NODE(g, "Gather", matrix(g, e->positions, e->positions->rows, false), steps_of(m));
  const cq_value pad = cq_graph_integer(g, e->first_position - 1);
  const cq_value counts = cast(g, CQ_NODE(g, "Not", CQ_NODE(g, "Equal", m->ids, pad)), CQ_ONNX_INT64);
  const cq_value places = CQ_NODE(g, "Mul", CQ_NODE(g, "CumSum", counts, cq_graph_integer(g, 1)), counts);
  return CQ_NODE(g, "Gather", matrix(g, e->positions, e->positions->rows, false), CQ_NODE(g, "Add", places, pad));
}

/* The first half of the turned columns is a, the second b: a cos - b sin, b cos + a sin. x [.., sequence, head_dim]. */
static cq_value rotate(emitter *m, cq_value x, int which, int64_t n_turned, int64_t head_dim, const cq_rotary *r) {
  cq_graph *g = m->g;
  const int64_t half = n_turned / 2;
  if (!m->cosines[which]) {
    const cq_value frequencies = cq_graph_floats(g, "rotary.frequencies", r->frequencies, (size_t)half, 1);
    const cq_value angles = CQ_NODE(g, "Mul", unsqueeze(g, cast(g, steps_of(m), CQ_ONNX_FLOAT), 1), frequencies);
    const cq_value magnitude = cq_graph_number(g, r->magnitude);
    m->cosines[which] = CQ_NODE(g, "Mul", CQ_NODE(g, "Cos", angles), magnitude);
    m->sines[which] = CQ_NODE(g, "Mul", CQ_NODE(g, "Sin", angles), magnitude);
  }
  const cq_value c = m->cosines[which], s = m->sines[which];
  const cq_value a = columns(g, x, 0, half), b = columns(g, x, half, n_turned);
  const cq_value left = CQ_NODE(g, "Sub", CQ_NODE(g, "Mul", a, c), CQ_NODE(g, "Mul", b, s));
  const cq_value right = CQ_NODE(g, "Add", CQ_NODE(g, "Mul", b, c), CQ_NODE(g, "Mul", a, s));
  const cq_attribute *last = CQ_ATTRIBUTES(CQ_INT_ATTRIBUTE("axis", -1));
  return n_turned == head_dim
             ? cq_graph_node(g, "Concat", last, CQ_INPUTS(left, right), NULL, 0)
             : cq_graph_node(g, "Concat", last, CQ_INPUTS(left, right, columns(g, x, n_turned, head_dim)), NULL, 0);
}

/* ---- attention ---- */

static const float hidden = -1e9f; /* added to the score of what is not attended to */

/* [1, n_heads, sequence, sequence]: a table of distances up to those that share a bucket. */
static cq_status relative_scores(emitter *m, const cq_param *table, cq_error *error) {
  cq_graph *g = m->g;
  const int64_t far = CQ_RELATIVE_FAR, n = 2 * far + 1, n_heads = table->cols;
  float *rows = cq_arena_array(&g->arena, (size_t)(n * n_heads), sizeof *rows);
  if (!rows) return cq_fail_memory(error, "relative positions");
  for (int64_t d = -far; d <= far; d++)
    memcpy(rows + (d + far) * n_heads, table->value + cq_relative_bucket(d, table->rows) * n_heads,
           (size_t)n_heads * sizeof *rows);
  const cq_value by_distance = cq_graph_floats(g, "relative_bias", rows, (size_t)(n * n_heads), (size_t)n);
  const cq_value near =
      CQ_NODE(g, "Min", CQ_NODE(g, "Max", distances_of(m), cq_graph_integer(g, -far)), cq_graph_integer(g, far));
  const cq_value scores = CQ_NODE(g, "Gather", by_distance, CQ_NODE(g, "Add", near, cq_graph_integer(g, far)));
  const cq_attribute order[] = {{.name = "perm", .type = CQ_ATTRIBUTE_INTS, .ints = {2, 0, 1}, .n_ints = 3},
                                {.name = NULL}};
  m->relative = unsqueeze(g, cq_graph_node(g, "Transpose", order, CQ_INPUTS(scores), NULL, 0), 0);
  return CQ_OK;
}

/* What is added to the scores: padding, the window, later tokens, ALiBi, a relative bias. */
static cq_value bias_of(emitter *m, const cq_attention *l) {
  cq_graph *g = m->g;
  for (size_t i = 0; i < m->n_biases; i++) {
    const cq_attention *of = m->biases[i].of;
    if (of->window == l->window && of->causal == l->causal && of->slopes == l->slopes) return m->biases[i].bias;
  }
  const cq_value padding = CQ_NODE(g, "Sub", cq_graph_number(g, 1), m->kept);
  cq_value bias = CQ_NODE(g, "Unsqueeze", CQ_NODE(g, "Mul", padding, cq_graph_number(g, hidden)), CQ_INTEGERS(g, 1, 2));
  if (l->window > 0) {
    const cq_value far =
        CQ_NODE(g, "GreaterOrEqual", CQ_NODE(g, "Abs", distances_of(m)), cq_graph_integer(g, l->window));
    bias = CQ_NODE(g, "Add", bias, CQ_NODE(g, "Mul", cast(g, far, CQ_ONNX_FLOAT), cq_graph_number(g, hidden)));
  }
  if (l->causal) {
    const cq_value later = CQ_NODE(g, "Greater", distances_of(m), cq_graph_integer(g, 0));
    bias = CQ_NODE(g, "Add", bias, CQ_NODE(g, "Mul", cast(g, later, CQ_ONNX_FLOAT), cq_graph_number(g, hidden)));
  }
  if (l->slopes) {
    const cq_value slopes =
        CQ_NODE(g, "Reshape", cq_graph_floats(g, "slopes", l->slopes, (size_t)l->n_heads, 0), CQ_INTEGERS(g, -1, 1, 1));
    const cq_value apart = cast(g, CQ_NODE(g, "Abs", distances_of(m)), CQ_ONNX_FLOAT);
    bias = CQ_NODE(g, "Sub", bias, CQ_NODE(g, "Mul", slopes, apart));
  }
  if (m->relative) bias = CQ_NODE(g, "Add", bias, m->relative);
  if (m->n_biases < sizeof m->biases / sizeof *m->biases) {
    m->biases[m->n_biases].of = l;
    m->biases[m->n_biases++].bias = bias;
  }
  return bias;
}

static cq_value transpose(cq_graph *g, cq_value x, int64_t third, int64_t fourth) {
  const cq_attribute order[] = {{.name = "perm", .type = CQ_ATTRIBUTE_INTS, .ints = {0, 2, third, fourth}, .n_ints = 4},
                                {.name = NULL}};
  return cq_graph_node(g, "Transpose", order, CQ_INPUTS(x), NULL, 0);
}

/* [batch, sequence, n * head_dim] -> [batch, n, sequence, head_dim], normalized. */
static cq_value heads_of(cq_graph *g, cq_value x, int64_t n, int64_t head_dim, const cq_norm *l) {
  return transpose(g, norm(g, CQ_NODE(g, "Reshape", x, CQ_INTEGERS(g, 0, 0, n, head_dim)), l), 1, 3);
}

/* Each head of keys and values for several heads of queries. */
static cq_value share_heads(cq_graph *g, cq_value x, int64_t n, int64_t n_kv, int64_t head_dim) {
  if (n == n_kv) return x;
  const cq_value each = CQ_NODE(g, "Expand", unsqueeze(g, x, 2), CQ_INTEGERS(g, 1, 1, n / n_kv, 1, 1));
  return CQ_NODE(g, "Reshape", each, CQ_INTEGERS(g, 0, n, -1, head_dim));
}

static cq_value attention(emitter *m, cq_value x, const cq_attention *l, int64_t dim, int rotary, const cq_rotary *r) {
  cq_graph *g = m->g;
  static const cq_norm none = {0};
  const int64_t n = l->n_heads, n_kv = l->n_kv_heads > 0 ? l->n_kv_heads : n;
  const int64_t head_dim = l->head_dim > 0 ? l->head_dim : dim / n, query = n * head_dim, key = n_kv * head_dim;
  const float scale = l->scale != 0 ? l->scale : 1 / sqrtf((float)head_dim);
  cq_value q, k, v;
  if (l->fused.weight) {
    const cq_value all = layer_linear(m, x, &l->fused);
    q = columns(g, all, 0, query), k = columns(g, all, query, query + key);
    v = columns(g, all, query + key, query + 2 * key);
  } else {
    q = layer_linear(m, x, &l->query), k = layer_linear(m, x, &l->key), v = layer_linear(m, x, &l->value);
  }
  q = heads_of(g, q, n, head_dim, &l->q_norm);
  k = heads_of(g, k, n_kv, head_dim, &l->k_norm);
  if (r && l->n_turned > 0) {
    q = rotate(m, q, rotary - 1, l->n_turned, head_dim, r);
    k = rotate(m, k, rotary - 1, l->n_turned, head_dim, r);
  }
  k = share_heads(g, k, n, n_kv, head_dim);
  v = share_heads(g, heads_of(g, v, n_kv, head_dim, &none), n, n_kv, head_dim);
  const cq_attribute swapped[] = {{.name = "perm", .type = CQ_ATTRIBUTE_INTS, .ints = {0, 1, 3, 2}, .n_ints = 4},
                                  {.name = NULL}};
  k = cq_graph_node(g, "Transpose", swapped, CQ_INPUTS(k), NULL, 0);
  const cq_value scores = CQ_NODE(g, "Mul", CQ_NODE(g, "MatMul", q, k), cq_graph_number(g, scale));
  const cq_value weights = cq_graph_node(g, "Softmax", CQ_ATTRIBUTES(CQ_INT_ATTRIBUTE("axis", -1)),
                                         CQ_INPUTS(CQ_NODE(g, "Add", scores, bias_of(m, l))), NULL, 0);
  const cq_value context = transpose(g, CQ_NODE(g, "MatMul", weights, v), 1, 3);
  return layer_linear(m, CQ_NODE(g, "Reshape", context, CQ_INTEGERS(g, 0, 0, query)), &l->output);
}

/* ---- the Transformer ---- */

static cq_value feed_forward(emitter *m, cq_value x, const cq_feed_forward *l) {
  cq_graph *g = m->g;
  if (!l->gate.weight && !l->fused.weight)
    return layer_linear(m, activate(g, layer_linear(m, x, &l->up), l->activation), &l->down);
  cq_value gate, up;
  if (l->fused.weight) {
    const cq_value both = layer_linear(m, x, &l->fused);
    const cq_value first = columns(g, both, 0, l->dim), second = columns(g, both, l->dim, 2 * l->dim);
    gate = l->up_first ? second : first, up = l->up_first ? first : second;
  } else {
    gate = layer_linear(m, x, &l->gate), up = layer_linear(m, x, &l->up);
  }
  return layer_linear(m, CQ_NODE(g, "Mul", activate(g, gate, l->activation), up), &l->down);
}

static cq_value bert_layer(emitter *m, cq_value x, const cq_transformer_layer *l, int64_t dim) {
  cq_graph *g = m->g;
  const cq_value h = norm(g, CQ_NODE(g, "Add", attention(m, x, &l->attention, dim, 0, NULL), x), &l->attention_norm);
  const cq_value up = activate(g, layer_linear(m, h, &l->up), l->activation);
  return norm(g, CQ_NODE(g, "Add", layer_linear(m, up, &l->down), h), &l->output_norm);
}

/* A branch's end: before or after the residual is added. */
static cq_value add_residual(cq_graph *g, cq_value branch, cq_value x, const cq_norm *after, bool post) {
  return post ? norm(g, CQ_NODE(g, "Add", branch, x), after) : CQ_NODE(g, "Add", norm(g, branch, after), x);
}

static cq_value block(emitter *m, cq_value x, const cq_block *b, int64_t dim, const cq_stack *stack) {
  cq_graph *g = m->g;
  const cq_rotary *r = b->rotary ? &stack->rotary[b->rotary - 1] : NULL;
  const cq_value attended = attention(m, norm(g, x, &b->before_attention), &b->attention, dim, b->rotary, r);
  const cq_value h = add_residual(g, attended, x, &b->after_attention, b->post);
  return add_residual(g, feed_forward(m, norm(g, h, &b->before_ffn), &b->ffn), h, &b->after_ffn, b->post);
}

static cq_value embeddings(emitter *m, const cq_embedding *e) {
  cq_graph *g = m->g;
  cq_value x = gather(g, e->words, m->ids);
  if (e->scale != 0) x = CQ_NODE(g, "Mul", x, cq_graph_number(g, e->scale));
  if (e->types && m->types)
    x = CQ_NODE(g, "Add", x, CQ_NODE(g, "Gather", matrix(g, e->types, e->types->rows, false), m->types));
  if (e->types && !m->types) x = CQ_NODE(g, "Add", x, matrix(g, e->types, 1, false));
  if (e->positions) x = CQ_NODE(g, "Add", x, learned_positions(m, e));
  if (e->tasks) x = CQ_NODE(g, "Add", x, matrix(g, e->tasks, 1, false));
  x = norm(g, x, &e->norm);
  return e->projection.weight ? layer_linear(m, x, &e->projection) : x;
}

/* Adds a layer's output to the mixture of layers, if there is one. */
static void mix(cq_graph *g, cq_value *mixture, const cq_layer_mixture *of, cq_value x, int64_t index) {
  if (!of->weights || index < of->first) return;
  const cq_value part = CQ_NODE(g, "Mul", x, cq_graph_number(g, of->weights[index - of->first] / of->sum));
  *mixture = *mixture ? CQ_NODE(g, "Add", *mixture, part) : part;
}

static cq_status transformer(cq_value *x, emitter *m, const cq_module *module, cq_error *error) {
  cq_graph *g = m->g;
  const cq_transformer *t = (const cq_transformer *)module;
  const cq_param *relative = t->is_stack ? t->stack.relative.table : t->relative.table;
  cq_value mixture = NULL;
  cq_status status = CQ_OK;
  if (t->disentangled) {
    m->reason = "disentangled attention";
    return CQ_OK;
  }
  if (t->embedding.types && t->embedding.types->rows > 1)
    m->types = cq_graph_input(g, "token_type_ids", CQ_ONNX_INT64, (const char *const[]){"batch", "sequence", NULL});
  if (relative) status = relative_scores(m, relative, error);
  *x = embeddings(m, &t->embedding);
  mix(g, &mixture, &t->mixture, *x, 0);
  for (int64_t i = 0; !t->is_stack && i < cq_transformer_depth(t); i++) {
    *x = bert_layer(m, *x, cq_transformer_layer_at(t, i), t->dim);
    mix(g, &mixture, &t->mixture, *x, i + 1);
  }
  for (int64_t i = 0; i < t->stack.n_blocks; i++) *x = block(m, *x, &t->stack.blocks[i], t->dim, &t->stack);
  *x = norm(g, *x, &t->stack.last_norm);
  if (mixture) *x = mixture;
  m->tokens = *x;
  return status;
}

/* ---- other modules ---- */

/* [batch, sequence] f32: the tokens' weights in a sum, and in *whole [batch] what the sum is divided by (NULL: 1). */
static cq_value pooling_weights(emitter *m, cq_pooling_mode mode, cq_value *whole) {
  cq_graph *g = m->g;
  const cq_value one = cq_graph_number(g, 1);
  const cq_value n = CQ_NODE(g, "Max", sum_over(g, m->kept, 1), one);
  *whole = NULL;
  if (mode == CQ_POOL_MEAN || mode == CQ_POOL_MEAN_SQRT) {
    *whole = mode == CQ_POOL_MEAN ? n : CQ_NODE(g, "Sqrt", n);
    return m->kept;
  }
  const cq_value place =
      CQ_NODE(g, "Mul", CQ_NODE(g, "CumSum", m->kept, cq_graph_integer(g, 1)), m->kept); /* from 1; 0: padding */
  if (mode == CQ_POOL_WEIGHTED_MEAN) {
    *whole = CQ_NODE(g, "Max", sum_over(g, place, 1), one);
    return place;
  }
  const cq_value wanted = mode == CQ_POOL_CLS ? one : unsqueeze(g, n, 1);
  return cast(g, CQ_NODE(g, "Equal", place, wanted), CQ_ONNX_FLOAT);
}

static cq_value pool(emitter *m, cq_value x, cq_pooling_mode mode) {
  cq_graph *g = m->g;
  cq_value whole;
  if (mode == CQ_POOL_MAX) {
    const cq_attribute over[] = {{.name = "axes", .type = CQ_ATTRIBUTE_INTS, .ints = {1}, .n_ints = 1},
                                 CQ_INT_ATTRIBUTE("keepdims", 0),
                                 {.name = NULL}};
    const cq_value padding = CQ_NODE(g, "Sub", cq_graph_number(g, 1), unsqueeze(g, m->kept, 2));
    const cq_value seen = CQ_NODE(g, "Add", x, CQ_NODE(g, "Mul", padding, cq_graph_number(g, hidden)));
    return cq_graph_node(g, "ReduceMax", over, CQ_INPUTS(seen), NULL, 0);
  }
  const cq_value weights = pooling_weights(m, mode, &whole);
  const cq_value sum = sum_over(g, CQ_NODE(g, "Mul", x, unsqueeze(g, weights, 2)), 1);
  return whole ? CQ_NODE(g, "Div", sum, unsqueeze(g, whole, 1)) : sum;
}

static cq_status pooling(cq_value *x, emitter *m, const cq_module *module, cq_error *error) {
  const cq_pooling_mode *modes;
  const size_t n = cq_pooling_modes(&modes, module);
  (void)error;
  if (module->leaves_out_prompt && m->encoder->prompts && json_object_size(m->encoder->prompts))
    m->reason = "it leaves out a prompt, whose length a graph does not know";
  cq_value all = pool(m, *x, modes[0]);
  for (size_t i = 1; i < n; i++)
    all = cq_graph_node(m->g, "Concat", CQ_ATTRIBUTES(CQ_INT_ATTRIBUTE("axis", 1)),
                        CQ_INPUTS(all, pool(m, *x, modes[i])), NULL, 0);
  *x = all;
  return CQ_OK;
}

/* A sentence's vector stays exact, as in calque. */
static cq_status dense(cq_value *x, emitter *m, const cq_module *module, cq_error *error) {
  (void)error;
  *x = linear(m, *x, &module->params[0], module->n_params > 1 ? &module->params[1] : NULL, true);
  *x = activate(m->g, *x, cq_dense_activation(module));
  return CQ_OK;
}

static cq_status layer_norm(cq_value *x, emitter *m, const cq_module *module, cq_error *error) {
  (void)error;
  *x = norm(m->g, *x, &(cq_norm){.gamma = &module->params[0], .beta = &module->params[1], .eps = CQ_LAYER_NORM_EPS});
  return CQ_OK;
}

static cq_status normalize(cq_value *x, emitter *m, const cq_module *module, cq_error *error) {
  cq_graph *g = m->g;
  (void)module, (void)error;
  const cq_value length = CQ_NODE(g, "Sqrt", sum_over(g, CQ_NODE(g, "Mul", *x, *x), 1));
  *x = CQ_NODE(g, "Div", *x, unsqueeze(g, CQ_NODE(g, "Max", length, cq_graph_number(g, CQ_NORMALIZE_MIN)), 1));
  return CQ_OK;
}

static cq_status unchanged(cq_value *x, emitter *m, const cq_module *module, cq_error *error) {
  (void)x, (void)m, (void)module, (void)error;
  return CQ_OK;
}

static cq_status static_embedding(cq_value *x, emitter *m, const cq_module *module, cq_error *error) {
  cq_graph *g = m->g;
  cq_value rows = m->ids;
  if (module->row_of) {
    int64_t *row_of = cq_arena_array(&g->arena, (size_t)module->n_ids, sizeof *row_of);
    if (!row_of) return cq_fail_memory(error, "rows");
    for (int64_t i = 0; i < module->n_ids; i++) row_of[i] = module->row_of[i];
    rows = CQ_NODE(g, "Gather", cq_graph_integers(g, row_of, (size_t)module->n_ids), m->ids);
  }
  cq_value vectors = gather(g, &module->params[0], rows);
  if (module->n_params > 1)
    vectors = CQ_NODE(g, "Mul", vectors, unsqueeze(g, CQ_NODE(g, "Gather", vector(g, &module->params[1]), m->ids), 2));
  *x = pool(m, vectors, CQ_POOL_MEAN);
  return CQ_OK;
}

static const struct {
  const cq_module_type *type;
  cq_status (*emit)(cq_value *x, emitter *m, const cq_module *module, cq_error *error);
} kinds[] = {
    {&cq_transformer_type, transformer},   {&cq_static_type, static_embedding},
    {&cq_pooling_type, pooling},           {&cq_dense_type, dense},
    {&cq_normalize_type, normalize},       {&cq_layer_norm_type, layer_norm},
    {&cq_dropout_type, unchanged},         /* which acts in training only */
    {&cq_weighted_layers_type, unchanged}, /* the Transformer computes it */
};

cq_status cq_refuse_module(const cq_encoder *e, size_t index, const char *format, const char *reason, cq_error *error) {
  const cq_module *m = e->modules[index];
  const char *model_type = cq_is_transformer(m)
                               ? json_string_value(json_object_get(((const cq_transformer *)m)->config, "model_type"))
                               : NULL;
  return cq_fail_file(error, CQ_ERR_UNSUPPORTED, e->directory, "module %zu (%s%s%s) cannot be exported to %s%s%s",
                      index + 1, m->type->name, model_type ? ", " : "", model_type ? model_type : "", format,
                      reason ? ": " : "", reason ? reason : "");
}

static cq_status emit_modules(cq_value *x, emitter *m, cq_error *error) {
  const cq_encoder *e = m->encoder;
  for (size_t i = 0; i < e->n_modules; i++) {
    size_t k = 0;
    while (k < sizeof kinds / sizeof *kinds && kinds[k].type != e->modules[i]->type) k++;
    if (k == sizeof kinds / sizeof *kinds) return cq_refuse_module(e, i, "ONNX", NULL, error);
    const cq_status status = kinds[k].emit(x, m, e->modules[i], error);
    if (status) return status;
    if (m->reason) return cq_refuse_module(e, i, "ONNX", m->reason, error);
  }
  return CQ_OK;
}

cq_status cq_onnx_write(const cq_encoder *e, cq_export_precision precision, const char *path, cq_error *error) {
  static const char *const by_token[] = {"batch", "sequence", NULL};
  cq_graph g = {.precision = precision};
  cq_value x = NULL;
  char dim[24], hidden_dim[24];
  emitter m = {.g = &g, .encoder = e};
  m.ids = cq_graph_input(&g, "input_ids", CQ_ONNX_INT64, by_token);
  m.mask = cq_graph_input(&g, "attention_mask", CQ_ONNX_INT64, by_token);
  m.kept = cast(&g, m.mask, CQ_ONNX_FLOAT);
  cq_status status = emit_modules(&x, &m, error);
  if (!status && e->truncate_dim > 0) x = columns(&g, x, 0, e->truncate_dim);
  snprintf(dim, sizeof dim, "%d", cq_encoder_dim(e));
  snprintf(hidden_dim, sizeof hidden_dim, "%lld", (long long)e->modules[0]->output_dim);
  if (!status) cq_graph_output(&g, "sentence_embedding", x, CQ_ONNX_FLOAT, (const char *const[]){"batch", dim, NULL});
  if (!status && m.tokens)
    cq_graph_output(&g, "last_hidden_state", m.tokens, CQ_ONNX_FLOAT,
                    (const char *const[]){"batch", "sequence", hidden_dim, NULL});
  if (!status) status = cq_graph_write(&g, "calque", path, error);
  cq_graph_free(&g);
  return status;
}
