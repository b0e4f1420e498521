/* Parameters, and the gradients that one shard of a batch collects for them.
 *
 * A parameter is a named matrix. For inference, `value` is borrowed from the mapped file; training copies all values
 * into owned memory (cq_params_own). Dense parameters share one long gradient array; a table (a word embedding) has a
 * sparse gradient with only the touched rows. A frozen parameter stays borrowed or narrow: it has no gradient, and no
 * optimizer updates it. */
#ifndef NN_PARAM_H
#define NN_PARAM_H

#include "base/map.h"
#include "calque/status.h"
#include "tensor/workspace.h"

typedef struct cq_param {
  const char *name; /* the tensor's name on disk */
  int64_t rows, cols;
  int n_dims;            /* number of dimensions on disk: 1 (rows is 1), 2, or 3: [rows, cols / depth, depth] */
  int64_t depth;         /* where n_dims is 3 */
  float *value;          /* [rows, cols]; written to only by training; NULL: the rows are narrow */
  cq_narrow_rows narrow; /* [rows, cols], where value is NULL */
  bool narrows;          /* may be stored narrow: only read through cq_param_gather and cq_linear_pack */
  bool decay;            /* weight decay applies: true for matrices, not for biases and norms */
  bool table;            /* sparse gradient */
  bool frozen;           /* not trained: no gradient is computed, the value never changes */
  int64_t offset;        /* dense: offset in floats in the gradient array; table: its index; set by cq_params_index */
} cq_param;

static inline int64_t cq_param_floats(const cq_param *p) {
  return p->rows * p->cols;
}

/* y [n, cols] = rows ids of p, in f32. */
static inline void cq_param_gather(const cq_kernels *k, float *y, const cq_param *p, const int32_t *ids, int64_t n) {
  if (p->value)
    k->gather(y, p->value, ids, n, p->cols, false);
  else
    k->gather_narrow(y, &p->narrow, ids, n, p->cols);
}
/* The whole parameter in f32: value, or a copy in *made, to be released with cq_free; NULL: out of memory. */
const float *cq_param_f32(float **made, const cq_param *p);

/* The parameters of a model in the order of its modules and files. */
typedef struct cq_params {
  cq_param **items; /* borrowed */
  size_t n, capacity;
  int64_t n_dense; /* floats of all dense parameters together, each rounded up to 16; excludes frozen ones */
  int n_tables;
  float *own; /* the values' memory when training, NULL while they are borrowed */
} cq_params;

CQ_MUST_USE cq_status cq_params_add(cq_params *params, cq_param *param, cq_error *error);
/* Gives every parameter that is not frozen its offset; call once all parameters are added. */
void cq_params_index(cq_params *params);
/* Copies all values that are not frozen into owned memory: dense ones at their offsets, which it sets, then tables. */
CQ_MUST_USE cq_status cq_params_own(cq_params *params, cq_error *error);
/* The size of that memory in floats: all values that are not frozen, each rounded up to 16. */
int64_t cq_params_floats(const cq_params *params);
void cq_params_free(cq_params *params);
/* A view of the first n parameters, with their offsets in the whole array. Not to be freed. */
cq_params cq_params_first(const cq_params *params, size_t n);

/* --- gradients --- */

/* The touched rows of one table, in the order of first touch. */
typedef struct cq_table_gradient {
  int64_t dim;
  int32_t *slot_of; /* [table rows] slot + 1; 0: untouched; reset by means of row_of */
  int32_t *row_of;  /* [n] */
  float *rows;      /* [n, dim] */
  size_t n, row_capacity, float_capacity;
} cq_table_gradient;

typedef struct cq_gradients {
  float *dense; /* [n_dense] */
  int64_t n_dense;
  cq_table_gradient *tables;
  int n_tables;
  /* Called by backward after each layer, from the last to the first: gradients from dense + offset on are now final.
   * NULL: no callback. */
  void (*passed)(void *context, int64_t offset);
  void *context; /* of passed */
} cq_gradients;

CQ_MUST_USE cq_status cq_gradients_new(cq_gradients *out, const cq_params *params, cq_error *error);
void cq_gradients_free(cq_gradients *gradients);
void cq_gradients_clear(cq_gradients *gradients);
/* A view of the gradients of the first parameters (cq_params_first) within these. Not to be freed. */
cq_gradients cq_gradients_first(const cq_gradients *gradients, const cq_params *first);

/* A dense parameter's gradient, [rows, cols] to be added to. */
static inline float *cq_gradient_of(cq_gradients *g, const cq_param *p) {
  assert(!p->table && !p->frozen);
  return g->dense + p->offset;
}

/* Backward calls this after each layer with the layer's dense parameters, once nothing more is added to their gradients
 * or to any at higher offsets. NULL, frozen parameters and tables are ignored. */
void cq_gradients_pass(const cq_gradients *g, const cq_param *const *params, size_t n);

/* Finds the slots of n rows of a table, and makes zeroed slots for untouched rows. Row [slot] is at
 * tables[p->offset].rows + slot * dim until the next call. The caller provides slots [n]. */
CQ_MUST_USE cq_status cq_gradient_slots(int32_t *slots, cq_gradients *g, const cq_param *p, const int32_t *ids,
                                        int64_t n, cq_error *error);

/* into += from for the tables' rows, in order of first touch in `from`. */
CQ_MUST_USE cq_status cq_gradients_add_tables(cq_gradients *into, const cq_gradients *from, const cq_kernels *kernels,
                                              cq_error *error);

#endif
