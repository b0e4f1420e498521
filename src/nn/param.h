/* Parameters, and the gradients that one shard of a batch collects for them.
 *
 * A parameter is a named matrix. While a model only runs, `value` is borrowed from the mapped file; training moves all
 * values into memory of its own (cq_params_own). Dense parameters have a place in one long gradient array; a table (a
 * word embedding) has a sparse gradient, holding the rows that were touched and no others. A frozen parameter stays as
 * it lies, borrowed or narrow: it has no gradient, and no optimizer knows it. */
#ifndef NN_PARAM_H
#define NN_PARAM_H

#include "base/map.h"
#include "calque/status.h"
#include "tensor/workspace.h"

typedef struct cq_param {
  const char *name; /* the tensor's name on disk */
  int64_t rows, cols;
  int n_dims;            /* on disk: 1 (rows is 1), 2, or 3: [rows, cols / depth, depth] */
  int64_t depth;         /* where n_dims is 3 */
  float *value;          /* [rows, cols]; written to only by training; NULL: the rows are narrow */
  cq_narrow_rows narrow; /* [rows, cols], where value is NULL */
  bool narrows;          /* may be stored narrow: a matrix that is read through cq_param_gather and cq_linear_pack */
  bool decay;            /* weight decay applies: matrices, not biases and norms */
  bool table;            /* sparse gradient */
  bool frozen;           /* not trained: no gradient is computed, the value never changes */
  int64_t offset;        /* dense: floats into the gradient array; table: number of the table; set by cq_params_index */
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
/* All of it in f32: value, or a copy that *made points to and cq_free releases; NULL: no memory. */
const float *cq_param_f32(float **made, const cq_param *p);

/* The parameters of a model in the order of its modules and files. */
typedef struct cq_params {
  cq_param **items; /* borrowed */
  size_t n, capacity;
  int64_t n_dense; /* floats of all dense parameters together, each rounded up to 16; without frozen ones */
  int n_tables;
  float *own; /* the values' memory when training, NULL while they are borrowed */
} cq_params;

CQ_MUST_USE cq_status cq_params_add(cq_params *params, cq_param *param, cq_error *error);
/* Gives every parameter that is not frozen its offset; call once all are added. */
void cq_params_index(cq_params *params);
/* Copies all values but the frozen ones into memory of their own: dense ones at their offsets, which it sets, then
 * tables. */
CQ_MUST_USE cq_status cq_params_own(cq_params *params, cq_error *error);
/* Floats of that memory: of all values that are not frozen, each rounded up to 16. */
int64_t cq_params_floats(const cq_params *params);
void cq_params_free(cq_params *params);
/* A view of the first n, with the offsets that they have among all. Not to be freed. */
cq_params cq_params_first(const cq_params *params, size_t n);

/* --- gradients --- */

/* The touched rows of one table, in the order of first touch. */
typedef struct cq_table_gradient {
  int64_t dim;
  int32_t *slot_of; /* [table rows] slot + 1, 0: untouched; reset through row_of */
  int32_t *row_of;  /* [n] */
  float *rows;      /* [n, dim] */
  size_t n, row_capacity, float_capacity;
} cq_table_gradient;

typedef struct cq_gradients {
  float *dense; /* [n_dense] */
  int64_t n_dense;
  cq_table_gradient *tables;
  int n_tables;
  /* Called by backward after each layer, from the last to the first: nothing more is added from dense + offset on.
   * NULL: no callback. */
  void (*passed)(void *context, int64_t offset);
  void *context; /* of passed */
} cq_gradients;

CQ_MUST_USE cq_status cq_gradients_new(cq_gradients *out, const cq_params *params, cq_error *error);
void cq_gradients_free(cq_gradients *gradients);
void cq_gradients_clear(cq_gradients *gradients);
/* A view of the gradients of the first parameters (cq_params_first), of which these hold all. Not to be freed. */
cq_gradients cq_gradients_first(const cq_gradients *gradients, const cq_params *first);

/* A dense parameter's gradient, [rows, cols] to be added to. */
static inline float *cq_gradient_of(cq_gradients *g, const cq_param *p) {
  assert(!p->table && !p->frozen);
  return g->dense + p->offset;
}

/* Backward calls this after each layer, whose dense parameters these are; no later layer's parameters precede them.
 * NULL, frozen ones and tables are ignored. */
void cq_gradients_pass(const cq_gradients *g, const cq_param *const *params, size_t n);

/* The slots of n rows of a table, making (zeroed) slots for rows not yet touched; rows [slot] is then at
 * tables[p->offset].rows + slot * dim, until the next call. slots [n] is the caller's. */
CQ_MUST_USE cq_status cq_gradient_slots(int32_t *slots, cq_gradients *g, const cq_param *p, const int32_t *ids,
                                        int64_t n, cq_error *error);

/* into += from for the tables' rows, in from's order of first touch. */
CQ_MUST_USE cq_status cq_gradients_add_tables(cq_gradients *into, const cq_gradients *from, const cq_kernels *kernels,
                                              cq_error *error);

#endif
