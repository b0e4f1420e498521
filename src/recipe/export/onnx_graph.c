/* The bytes of an ONNX file. See onnx_graph.h. */
#include "recipe/export/onnx_graph.h"

#include "base/error.h"
#include "base/memory.h"
#include "calque/version.h"
#include "format/protobuf.h"

#include <stdlib.h>

enum { IR_VERSION = 8, OPSET = 17 }; /* of ONNX 1.12: LayerNormalization is an operator */

void cq_graph_free(cq_graph *g) {
  cq_builder_free(&g->nodes);
  cq_builder_free(&g->ends);
  cq_free(g->initializers);
  cq_arena_free(&g->arena);
  *g = (cq_graph){0};
}

static cq_value keep_name(cq_graph *g, char *name) {
  if (name) return name;
  g->failed = true;
  return "";
}

/* ---- inputs, outputs, nodes ---- */

static void put_end(cq_graph *g, uint32_t field, const char *name, int type, const char *const *dims) {
  cq_builder shape = {0}, tensor = {0}, wrapped = {0}, info = {0};
  for (; *dims; dims++) {
    cq_builder dim = {0};
    char *end;
    const int64_t size = strtoll(*dims, &end, 10);
    if (*end)
      cq_proto_put_text(&dim, 2, *dims);
    else
      cq_proto_put_int(&dim, 1, size);
    cq_proto_put_message(&shape, 1, &dim);
  }
  cq_proto_put_int(&tensor, 1, type);
  cq_proto_put_message(&tensor, 2, &shape);
  cq_proto_put_message(&wrapped, 1, &tensor);
  cq_proto_put_text(&info, 1, name);
  cq_proto_put_message(&info, 2, &wrapped);
  cq_proto_put_message(&g->ends, field, &info);
}

cq_value cq_graph_input(cq_graph *g, const char *name, int type, const char *const *dims) {
  put_end(g, 11, name, type, dims);
  return keep_name(g, cq_arena_strdup(&g->arena, name));
}

static void put_attribute(cq_builder *node, const cq_attribute *a) {
  cq_builder b = {0};
  cq_proto_put_text(&b, 1, a->name);
  if (a->type == CQ_ATTRIBUTE_FLOAT) cq_proto_put_float(&b, 2, a->f);
  if (a->type == CQ_ATTRIBUTE_INT) cq_proto_put_int(&b, 3, a->ints[0]);
  for (size_t i = 0; i < a->n_ints; i++) cq_proto_put_int(&b, 8, a->ints[i]);
  cq_proto_put_int(&b, 20, (int)a->type);
  cq_proto_put_message(node, 5, &b);
}

static void put_node(cq_graph *g, const char *op, const cq_attribute *attributes, const cq_value *inputs,
                     const cq_value *outputs, size_t n_outputs) {
  cq_builder node = {0};
  for (; *inputs; inputs++) cq_proto_put_text(&node, 1, *inputs);
  for (size_t i = 0; i < n_outputs; i++) cq_proto_put_text(&node, 2, outputs[i]);
  cq_proto_put_text(&node, 3, outputs[0]);
  cq_proto_put_text(&node, 4, op);
  for (; attributes && attributes->name; attributes++) put_attribute(&node, attributes);
  cq_proto_put_message(&g->nodes, 1, &node);
}

cq_value cq_graph_node(cq_graph *g, const char *op, const cq_attribute *attributes, const cq_value *inputs,
                       cq_value *others, size_t n_others) {
  cq_value outputs[4];
  assert(n_others < sizeof outputs / sizeof *outputs);
  for (size_t i = 0; i <= n_others; i++)
    outputs[i] = keep_name(g, cq_arena_printf(&g->arena, "%s_%u", op, ++g->n_values));
  for (size_t i = 0; i < n_others; i++) others[i] = outputs[i + 1];
  put_node(g, op, attributes, inputs, outputs, 1 + n_others);
  return outputs[0];
}

void cq_graph_output(cq_graph *g, const char *name, cq_value x, int type, const char *const *dims) {
  put_node(g, "Identity", NULL, CQ_INPUTS(x), &name, 1);
  put_end(g, 12, name, type, dims);
}

/* ---- initializers ---- */

static bool is_same(const cq_initializer *a, const cq_initializer *b) {
  const cq_stored_weight *v = &a->weight, *w = &b->weight;
  return a->type == b->type && a->n_dims == b->n_dims && v->param == w->param && v->as == w->as &&
         v->transposed == w->transposed && v->first == w->first && v->rows == w->rows &&
         cq_slice_equal(a->bytes, b->bytes);
}

static bool is_taken(const cq_graph *g, const char *name) {
  for (size_t i = 0; i < g->n_initializers; i++)
    if (!strcmp(g->initializers[i].name, name)) return true;
  return false;
}

/* The initializer's name: that of an equal one, or the wanted one, with a number if another has it. */
static cq_value add_initializer(cq_graph *g, cq_initializer *t, const char *name) {
  for (size_t i = 0; i < g->n_initializers; i++)
    if (is_same(&g->initializers[i], t)) return g->initializers[i].name;
  t->name = keep_name(g, is_taken(g, name) ? cq_arena_printf(&g->arena, "%s.%u", name, ++g->n_values)
                                           : cq_arena_strdup(&g->arena, name));
  g->failed = g->failed || (!t->weight.param && !t->bytes.data) ||
              !cq_reserve((void **)&g->initializers, &g->capacity, g->n_initializers + 1, sizeof *t);
  if (!g->failed) g->initializers[g->n_initializers++] = *t;
  return t->name;
}

static cq_value add_constant(cq_graph *g, const char *name, int type, int n_dims, int64_t rows, const void *x, size_t n,
                             size_t element) {
  cq_initializer t = {.type = type, .n_dims = n_dims, .dims = {n_dims == 2 ? rows : (int64_t)n, (int64_t)n}};
  if (n_dims == 2) t.dims[1] = (int64_t)n / rows;
  t.bytes = (cq_slice){cq_arena_strndup(&g->arena, x, n * element), n * element};
  return add_initializer(g, &t, name);
}

cq_value cq_graph_number(cq_graph *g, float x) {
  return add_constant(g, "number", CQ_ONNX_FLOAT, 0, 0, &x, 1, sizeof x);
}

cq_value cq_graph_integers(cq_graph *g, const int64_t *x, size_t n) {
  return add_constant(g, "integers", CQ_ONNX_INT64, 1, 0, x, n, sizeof *x);
}

cq_value cq_graph_integer(cq_graph *g, int64_t x) {
  return add_constant(g, "integer", CQ_ONNX_INT64, 0, 0, &x, 1, sizeof x);
}

cq_value cq_graph_floats(cq_graph *g, const char *name, const float *x, size_t n, size_t rows) {
  return add_constant(g, name, CQ_ONNX_FLOAT, rows ? 2 : 1, (int64_t)rows, x, n, sizeof *x);
}

cq_value cq_graph_weight(cq_graph *g, const cq_stored_weight *w, int n_dims) {
  static const struct {
    int type;
    const char *suffix;
  } kinds[] = {[CQ_AS_F32] = {CQ_ONNX_FLOAT, ""},
               [CQ_AS_F16] = {CQ_ONNX_HALF, ""},
               [CQ_AS_U8] = {CQ_ONNX_UINT8, "_quantized"},
               [CQ_AS_SCALES] = {CQ_ONNX_FLOAT, "_scale"}};
  const int64_t cols = w->as == CQ_AS_SCALES ? 1 : w->param->cols;
  cq_initializer t = {.type = kinds[w->as].type, .n_dims = n_dims, .weight = *w};
  t.dims[0] = n_dims == 1 ? w->rows * cols : w->transposed ? cols : w->rows;
  t.dims[1] = w->transposed ? w->rows : cols;
  const char *name = keep_name(g, cq_arena_printf(&g->arena, "%s%s", w->param->name, kinds[w->as].suffix));
  return add_initializer(g, &t, name);
}

/* ---- the file ---- */

static size_t initializer_bytes(const cq_initializer *t) {
  return t->weight.param ? cq_stored_weight_bytes(&t->weight) : t->bytes.n;
}

/* All of an initializer but its data. */
static void put_initializer_head(cq_builder *out, const cq_initializer *t) {
  cq_builder b = {0};
  const size_t n = initializer_bytes(t);
  for (int i = 0; i < t->n_dims; i++) cq_proto_put_int(&b, 1, t->dims[i]);
  cq_proto_put_int(&b, 2, t->type);
  cq_proto_put_text(&b, 8, t->name);
  cq_proto_put_length(&b, 9, n);
  cq_proto_put_length(out, 5, b.n + n);
  cq_builder_slice(out, cq_built(&b));
  out->failed = out->failed || b.failed;
  cq_builder_free(&b);
}

static void put_model_head(cq_builder *out, size_t graph_bytes) {
  cq_builder opset = {0};
  cq_proto_put_int(out, 1, IR_VERSION);
  cq_proto_put_text(out, 2, "calque");
  cq_proto_put_text(out, 3, CQ_VERSION);
  cq_proto_put_text(&opset, 1, "");
  cq_proto_put_int(&opset, 2, OPSET);
  cq_proto_put_message(out, 8, &opset);
  cq_proto_put_length(out, 7, graph_bytes);
}

static cq_status write_built(cq_writer *w, cq_builder *b, cq_error *error) {
  if (b->failed) return cq_fail_memory(error, "a graph");
  const cq_status status = cq_writer_bytes(w, cq_built(b).data, b->n, error);
  cq_builder_clear(b);
  return status;
}

cq_status cq_graph_write(const cq_graph *g, const char *name, const char *path, cq_error *error) {
  cq_builder part = {0}, named = {0};
  cq_writer w = {0};
  size_t n_data = 0;
  if (g->failed || g->nodes.failed || g->ends.failed) return cq_fail_memory(error, "a graph");
  cq_proto_put_text(&named, 2, name);
  for (size_t i = 0; i < g->n_initializers; i++) {
    put_initializer_head(&part, &g->initializers[i]);
    n_data += initializer_bytes(&g->initializers[i]);
  }
  const size_t n_graph = g->nodes.n + named.n + part.n + n_data + g->ends.n;
  cq_builder_clear(&part);
  put_model_head(&part, n_graph);
  cq_status status = CQ_OK;
  if (n_graph + part.n > INT32_MAX)
    status = cq_fail_file(error, CQ_ERR_LIMIT, path,
                          "would have %zu bytes, and ONNX files have up to 2 GB: f16 and int8 are smaller",
                          n_graph + part.n);
  if (!status) status = cq_writer_open(&w, path, error);
  cq_builder_slice(&part, cq_built(&g->nodes));
  cq_builder_slice(&part, cq_built(&named));
  if (!status) status = write_built(&w, &part, error);
  for (size_t i = 0; !status && i < g->n_initializers; i++) {
    const cq_initializer *t = &g->initializers[i];
    put_initializer_head(&part, t);
    status = write_built(&w, &part, error);
    if (!status)
      status = t->weight.param ? cq_stored_weight_write(&t->weight, &w, error)
                               : cq_writer_bytes(&w, t->bytes.data, t->bytes.n, error);
  }
  if (!status) status = cq_writer_bytes(&w, cq_built(&g->ends).data, g->ends.n, error);
  if (!status) status = cq_writer_commit(&w, error);
  cq_writer_abort(&w);
  cq_builder_free(&part);
  cq_builder_free(&named);
  return status;
}
