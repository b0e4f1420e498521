/* States that an encoder passes to a decoder: the state of each encoder layer after a sentence's last token is the
 * decoder layer's initial state. A sentence's states are one row of numbers, like its vector; cq_lstm_state_of_layer
 * (nn/lstm.h) shows the layout of the row.
 *
 * An encoder writes them to cq_batch.final and reads their gradient from cq_batch.dfinal. */
#ifndef LAB_AUTOENCODE_STATES_H
#define LAB_AUTOENCODE_STATES_H

#include "lab/autoencode/decoder.h"
#include "model/encoder.h"

/* The size of an encoder's final states. Errors: CQ_ERR_ARGUMENT for an encoder without suitable states: no LSTM, two
 * of them, or a bidirectional one. */
CQ_MUST_USE cq_status cq_encoder_states_width(int64_t *out, const cq_encoder *encoder, cq_error *error);
/* The same for a decoder's initial states; 0 unless states_from_encoder. */
int64_t cq_decoder_states_width(const cq_decoder *decoder);
/* Whether a decoder can start from an encoder's final states: same number and size of layers. Always true for a decoder
 * without given states. Errors: CQ_ERR_ARGUMENT, with both sizes. */
CQ_MUST_USE cq_status cq_states_check(const cq_decoder *decoder, const cq_encoder *encoder, cq_error *error);

#endif
