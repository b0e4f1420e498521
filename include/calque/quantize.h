/** @file Quantizing a model: storing its weights in fewer bits, and measuring the loss.
 *
 *      cq_quantize_options o = cq_quantize_default_options();
 *      o.sts_files = &file, o.n_sts_files = 1, o.max_loss = 0.2;
 *      cq_quantize("small-dir", "model-dir", &worst, &o, ctx, &err);
 *
 * The directory has the usual layout of a model. sentence-transformers can read bf16 and f16, too; only calque can read
 * int8, and uses int8 products for it by default. */
#ifndef CALQUE_QUANTIZE_H
#define CALQUE_QUANTIZE_H

#include "calque/context.h"
#include "calque/options.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cq_stored_precision {
  CQ_STORED_BF16, /**< every number rounded to bfloat16 */
  CQ_STORED_F16,  /**< every number rounded to IEEE's half precision */
  CQ_STORED_INT8, /**< matrices in 8 bits with one scale per row (output channel, word); everything else in f32 */
  CQ_STORED_INT4, /**< the same, with the embeddings of the vocabulary in 4 bits */
} cq_stored_precision;

typedef struct cq_quantize_options {
  size_t size;
  cq_stored_precision precision;
  const char *const *text_files; /**< sentences, one per line, for comparing vectors before and after */
  size_t n_text_files;
  const char *const *translation_files; /**< as cq_eval_translation's */
  size_t n_translation_files;
  const char *const *sts_files; /**< as cq_eval_sts's */
  size_t n_sts_files;
  double max_loss; /**< maximum loss in points of the worst measure (otherwise CQ_ERR_LIMIT); infinity: any */
  bool replace;    /**< overwrite an existing directory */
  void (*measured)(void *context, const char *measure, const char *file, double before, double after, double loss);
  void *measured_context;
} cq_quantize_options;
CQ_DEFAULT_OPTIONS(cq_quantize_options, cq_quantize_default_options, quantize) /**< group "quantize" */

/** Writes `model`, a directory or cached name, in fewer bits to `directory`, atomically, and evaluates both on the
 * files in the options: the original in f32, the new model in its default precision (int8 in int8, otherwise f32).
 * `measured` receives each measure, in points of 100:
 * - "cosine": 100, and 100 times the mean cosine between a sentence's two vectors; the loss is their difference -
 * "cosine, min": the same for the worst sentence; its loss does not count
 * - "translation": translation accuracy, the mean of both directions
 * - "STS": Spearman's rank correlation
 * @param worst  points lost by the worst measure, negative for a gain, 0 without files; may be NULL
 * @errors CQ_ERR_LIMIT, and nothing is written, when that exceeds max_loss; CQ_ERR_ARGUMENT for a max_loss without
 * files, and for an existing directory; those of opening, reading and encoding. */
CQ_API CQ_MUST_USE cq_status cq_quantize(const char *directory, const char *model, double *worst,
                                         const cq_quantize_options *options, cq_context *ctx, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
