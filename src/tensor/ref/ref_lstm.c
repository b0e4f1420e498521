/* The LSTM cell, one step. i, f, g, o are the input, forget, cell and output gates. */
#include "tensor/ref/reference.h"

#include <math.h>

static float gate_sigmoid(float x) {
  return (float)(1.0 / (1.0 + exp(-(double)x)));
}

void ref_lstm_cell(float *h, int64_t h_stride, float *c, float *gates, const float *c_before, int64_t rows,
                   int64_t dim) {
  for (int64_t row = 0; row < rows; row++) {
    for (int64_t j = 0; j < dim; j++) {
      float *gate = &gates[row * 4 * dim + j];
      float i = gate_sigmoid(gate[0]), f = gate_sigmoid(gate[dim]), g = (float)tanh((double)gate[2 * dim]),
            o = gate_sigmoid(gate[3 * dim]);
      float before = c_before ? c_before[row * dim + j] : 0.0f;
      float now = f * before + i * g;
      gate[0] = i, gate[dim] = f, gate[2 * dim] = g, gate[3 * dim] = o;
      c[row * dim + j] = now;
      h[row * h_stride + j] = o * (float)tanh((double)now);
    }
  }
}

/* Through h = o tanh c: do = dh tanh c, dc += dh o (1 - tanh^2 c). Through c = f c_before + i g, then each gate's
 * derivative: a (1 - a) for a sigmoid and 1 - a^2 for a tanh of value a. */
void ref_lstm_cell_backward(float *dgates, float *dc, const float *dh, const float *gates, const float *c,
                            const float *c_before, int64_t rows, int64_t dim) {
  for (int64_t row = 0; row < rows; row++) {
    for (int64_t j = 0; j < dim; j++) {
      const float *gate = &gates[row * 4 * dim + j];
      float *dgate = &dgates[row * 4 * dim + j];
      double i = (double)gate[0], f = (double)gate[dim], g = (double)gate[2 * dim], o = (double)gate[3 * dim];
      double t = tanh((double)c[row * dim + j]), dh_j = (double)dh[row * dim + j];
      double before = c_before ? (double)c_before[row * dim + j] : 0.0;
      double dc_j = (double)dc[row * dim + j] + dh_j * o * (1.0 - t * t);
      dgate[0] = (float)(dc_j * g * i * (1.0 - i));
      dgate[dim] = (float)(dc_j * before * f * (1.0 - f));
      dgate[2 * dim] = (float)(dc_j * i * (1.0 - g * g));
      dgate[3 * dim] = (float)(dh_j * t * o * (1.0 - o));
      dc[row * dim + j] = (float)(dc_j * f);
    }
  }
}
