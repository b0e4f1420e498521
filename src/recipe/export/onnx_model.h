/* An encoder's modules as the nodes of an ONNX graph. */
#ifndef RECIPE_EXPORT_ONNX_MODEL_H
#define RECIPE_EXPORT_ONNX_MODEL_H

#include "model/encoder.h"
#include "recipe/export/onnx_graph.h"

/* CQ_ERR_UNSUPPORTED for a module that a format cannot express: "MODEL: module 3 (LSTM) cannot be ...: REASON". */
CQ_MUST_USE cq_status cq_refuse_module(const cq_encoder *e, size_t index, const char *format, const char *reason,
                                       cq_error *error);

/* Writes the encoder to path. Errors: CQ_ERR_UNSUPPORTED, which names the module; those of cq_graph_write. */
CQ_MUST_USE cq_status cq_onnx_write(const cq_encoder *encoder, cq_export_precision precision, const char *path,
                                    cq_error *error);

#endif
