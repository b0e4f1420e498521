/* The states that an encoder passes to a decoder, and their gradient. See states.h. */
#include "lab/autoencode/states.h"

#include "base/error.h"
#include "model/modules.h"

/* Finds an encoder's only LSTM, which must be unidirectional. */
static cq_status find_lstm(cq_lstm_sizes *out, const cq_encoder *encoder, cq_error *error) {
  int n = 0;
  for (size_t i = 0; i < encoder->n_modules; i++)
    if (encoder->modules[i]->type->has_states) {
      *out = cq_lstm_module_sizes(encoder->modules[i]);
      n++;
    }
  if (n != 1)
    return cq_fail(error, CQ_ERR_ARGUMENT, "an encoder of %d LSTMs hands over no states: it must have one", n);
  if (out->n_directions != 1)
    return cq_fail(error, CQ_ERR_ARGUMENT, "an encoder that reads in both directions hands over no states");
  return CQ_OK;
}

cq_status cq_encoder_states_width(int64_t *out, const cq_encoder *encoder, cq_error *error) {
  cq_lstm_sizes sizes = {0};
  cq_status status = find_lstm(&sizes, encoder, error);
  *out = 2 * sizes.n_layers * sizes.dim;
  return status;
}

int64_t cq_decoder_states_width(const cq_decoder *decoder) {
  const cq_decoder_shape *s = cq_decoder_shape_of(decoder);
  return s->states_from_encoder ? 2 * s->n_layers * s->hidden_dim : 0;
}

cq_status cq_states_check(const cq_decoder *decoder, const cq_encoder *encoder, cq_error *error) {
  const cq_decoder_shape *s = cq_decoder_shape_of(decoder);
  cq_lstm_sizes sizes = {0};
  if (!s->states_from_encoder) return CQ_OK;
  cq_status status = find_lstm(&sizes, encoder, error);
  if (status || (sizes.n_layers == s->n_layers && sizes.dim == s->hidden_dim)) return status;
  return cq_fail(error, CQ_ERR_ARGUMENT,
                 "a decoder that begins with the states of %lld layers of %lld, an encoder that ends in %lld of %lld",
                 (long long)s->n_layers, (long long)s->hidden_dim, (long long)sizes.n_layers, (long long)sizes.dim);
}
