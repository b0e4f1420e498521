/* Classifies a pair of sentences by their vectors:
 *
 *   (u, v, |u - v|) [3 dim] --linear--> [n_labels] --softmax--> probabilities
 *
 * It is trained together with the encoder, with its own optimizer, and discarded after training:
 *
 *   cq_label_head_forward(h, &report, &space, labels, error);   // gradients of the vectors
 *   cq_label_head_update(h, scale, ctx, error);                 // its own gradients since the last update
 *
 * Source: Reimers & Gurevych 2019, section 3, the classification objective; with a bias, as sentence-transformers. */
#ifndef TRAIN_LABEL_HEAD_H
#define TRAIN_LABEL_HEAD_H

#include "cache/checkpoint.h"
#include "nn/optimizer.h"
#include "train/space_loss.h"

typedef struct cq_label_head_options {
  int64_t dim, n_labels;
  uint64_t seed;
  cq_optimizer_options optimizer;
} cq_label_head_options;

typedef struct cq_label_head_report {
  double loss;     /* cross-entropy, the mean over pairs */
  double accuracy; /* share of the pairs whose label is the likeliest */
} cq_label_head_report;

typedef struct cq_label_head cq_label_head;

/* A new one, initialized like PyTorch's linear layers. Errors: CQ_ERR_ARGUMENT, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_label_head_new(cq_label_head **out, const cq_kernels *kernels,
                                        const cq_label_head_options *options, cq_error *error);
void cq_label_head_free(cq_label_head *h);

/* labels [n], each below n_labels. Adds the loss's gradient to the space's, and its own to the kept gradient. Errors:
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_label_head_forward(cq_label_head *h, cq_label_head_report *report, const cq_space *space,
                                            const uint32_t *labels, cq_error *error);
/* Updates by the kept gradient, times scale. Errors: CQ_ERR_LIMIT if it is not finite, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_label_head_update(cq_label_head *h, double scale, cq_context *ctx, cq_error *error);

/* Weight [n_labels, 3 dim] and bias; pack them after a change. */
const cq_params *cq_label_head_params(const cq_label_head *h);
/* Their gradients that are kept. */
const cq_gradients *cq_label_head_gradients(const cq_label_head *h);
CQ_MUST_USE cq_status cq_label_head_pack(cq_label_head *h, cq_error *error);

/* Its whole state as sections "labels.*", and back. Errors of restoring: CQ_ERR_FORMAT. */
CQ_MUST_USE cq_status cq_label_head_save(const cq_label_head *h, cq_checkpoint_writer *w, cq_error *error);
CQ_MUST_USE cq_status cq_label_head_restore(cq_label_head *h, const cq_checkpoint *c, cq_error *error);

#endif
