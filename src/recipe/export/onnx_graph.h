/* Writes an ONNX file: nodes are added in the order of computing, then the file is written with the weights, which are
 * converted one at a time.
 *
 *   cq_graph g = {.precision = CQ_EXPORT_F32};
 *   cq_value x = cq_graph_input(&g, "x", CQ_ONNX_FLOAT, (const char *[]){"batch", "4", NULL});
 *   cq_graph_output(&g, "y", CQ_NODE(&g, "Add", x, cq_graph_number(&g, 1)), CQ_ONNX_FLOAT, ...);
 *   cq_graph_write(&g, "y", path, &error);
 *
 *   ModelProto   1 ir_version, 2 producer_name, 3 producer_version, 7 graph, 8 opset_import {1 domain, 2 version}
 *   graph        1 node*, 2 name, 5 initializer*, 11 input*, 12 output*
 *   node         1 input*, 2 output*, 3 name, 4 op_type, 5 attribute* {1 name, 2 f, 3 i, 8 ints*, 20 type}
 *   initializer  1 dims*, 2 data_type, 8 name, 9 raw_data (little-endian)
 *   input        1 name, 2 type {1 tensor_type {1 elem_type, 2 shape {1 dim* {1 dim_value, 2 dim_param}}}}
 *
 * Source: onnx.proto, https://github.com/onnx/onnx. */
#ifndef RECIPE_EXPORT_ONNX_GRAPH_H
#define RECIPE_EXPORT_ONNX_GRAPH_H

#include "base/arena.h"
#include "base/slice.h"
#include "calque/export.h"
#include "recipe/export/weights_of.h"

enum { CQ_ONNX_FLOAT = 1, CQ_ONNX_UINT8 = 2, CQ_ONNX_INT64 = 7, CQ_ONNX_HALF = 10 };

/* The name of a value, in the graph's arena. Once memory has run out, all names are "", and writing says so. */
typedef const char *cq_value;

typedef struct cq_initializer {
  cq_value name;
  int type, n_dims;
  int64_t dims[2];
  cq_stored_weight weight; /* param NULL: bytes */
  cq_slice bytes;          /* in the arena */
} cq_initializer;

typedef struct cq_graph {
  cq_export_precision precision;
  cq_arena arena;
  cq_builder nodes, ends; /* fields of the graph: nodes; inputs and outputs */
  cq_initializer *initializers;
  size_t n_initializers, capacity;
  unsigned n_values;
  bool failed;
} cq_graph;

void cq_graph_free(cq_graph *g);

/* dims: names of dimensions or decimal numbers; NULL-terminated. */
cq_value cq_graph_input(cq_graph *g, const char *name, int type, const char *const *dims);
void cq_graph_output(cq_graph *g, const char *name, cq_value x, int type, const char *const *dims);

typedef struct cq_attribute {
  const char *name; /* NULL ends a list */
  enum { CQ_ATTRIBUTE_FLOAT = 1, CQ_ATTRIBUTE_INT = 2, CQ_ATTRIBUTE_INTS = 7 } type;
  float f;
  int64_t ints[4];
  size_t n_ints;
} cq_attribute;

/* Inputs end with NULL; "" is one that is left out. The n outputs, if there is more than one, are other's. */
cq_value cq_graph_node(cq_graph *g, const char *op, const cq_attribute *attributes, const cq_value *inputs,
                       cq_value *others, size_t n_others);
#define CQ_INPUTS(...)      ((const cq_value[]){__VA_ARGS__, NULL})
#define CQ_NODE(g, op, ...) cq_graph_node(g, op, NULL, CQ_INPUTS(__VA_ARGS__), NULL, 0)
#define CQ_ATTRIBUTES(...)  ((const cq_attribute[]){__VA_ARGS__, {.name = NULL}})
#define CQ_INT_ATTRIBUTE(k, x)                                                                                         \
  {                                                                                                                    \
    .name = (k), .type = CQ_ATTRIBUTE_INT, .ints = { x }                                                               \
  }

/* Constants, each once: f32 without dimensions, and int64 with one. */
cq_value cq_graph_number(cq_graph *g, float x);
cq_value cq_graph_integers(cq_graph *g, const int64_t *x, size_t n);
#define CQ_INTEGERS(g, ...)                                                                                            \
  cq_graph_integers(g, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
/* An int64 without dimensions. */
cq_value cq_graph_integer(cq_graph *g, int64_t x);
/* A constant of n elements, [rows, n / rows] with rows, else [n]. */
cq_value cq_graph_floats(cq_graph *g, const char *name, const float *x, size_t n, size_t rows);

/* A weight as it is stored; n_dims 1 for vectors. */
cq_value cq_graph_weight(cq_graph *g, const cq_stored_weight *w, int n_dims);

/* Errors: CQ_ERR_LIMIT above 2 GB, which no protocol buffer can have; CQ_ERR_MEMORY, CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_graph_write(const cq_graph *g, const char *name, const char *path, cq_error *error);

#endif
