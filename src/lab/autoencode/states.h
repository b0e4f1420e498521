/* States that an encoder hands to a decoder: what each layer of the one's LSTM has after a sentence's last token is
 * what each layer of the other's has before its first. A sentence's are one row of numbers, as its vector is;
 * cq_lstm_state_of_layer (nn/lstm.h) draws the row.
 *
 * An encoder leaves them in cq_batch.final and takes their gradient from cq_batch.dfinal. */
#ifndef LAB_AUTOENCODE_STATES_H
#define LAB_AUTOENCODE_STATES_H

#include "lab/autoencode/decoder.h"
#include "model/encoder.h"

/* The size of an encoder's final states. Errors: CQ_ERR_ARGUMENT for one without states that a decoder can start from:
 * without an LSTM, with two, or with a bidirectional one. */
CQ_MUST_USE cq_status cq_encoder_states_width(int64_t *out, const cq_encoder *encoder, cq_error *error);
/* The same for a decoder's initial states; 0 unless states_from_encoder. */
int64_t cq_decoder_states_width(const cq_decoder *decoder);
/* Whether a decoder can start from an encoder's final states: same number and size of layers. Always true for a decoder
 * that takes no states. Errors: CQ_ERR_ARGUMENT, with both sizes. */
CQ_MUST_USE cq_status cq_states_check(const cq_decoder *decoder, const cq_encoder *encoder, cq_error *error);

#endif
