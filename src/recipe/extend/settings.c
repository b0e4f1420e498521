/* The settings of training: what the caller is told of them, and the run. */
#include "recipe/extend/extending.h"

cq_status cq_extend_distill(cq_training_result *result, const cq_extending *e, const cq_training_options *run,
                            cq_error *error) {
  cq_distill_options d = e->parts.distill;
  d.student = e->student, d.train = e->texts.train, d.n_train = e->texts.n, d.run = run;
  return cq_distill(result, &d, e->ctx, error);
}

void cq_extend_tell_settings(const cq_extending *e) {
  static const char *const precisions[] = {"f32", "bf16"};
  const cq_training_options run = e->parts.run;
  const cq_distill_options d = e->parts.distill;
  cq_extend_choose(
      &e->news,
      "rates: %g, embeddings %g (--lr, --embedding-lr), warm-up %g (--warmup); AdamW: epsilon %g (--eps), weight "
      "decay %g (--weight-decay)",
      run.learning_rate, run.embedding_learning_rate, run.warmup_steps, run.adam_eps, run.weight_decay);
  if (d.contrast > 0)
    cq_extend_choose(
        &e->news,
        "contrastive loss: weight %g (--contrast), in the end %g (--final-contrast), temperature %g (--temperature), "
        "hard negatives %zu (--hard-negatives)",
        d.contrast, d.final_contrast >= 0 ? d.final_contrast : d.contrast, d.temperature, d.hard_negatives);
  else
    cq_extend_choose(&e->news, "contrastive loss: none (--contrast)");
  cq_extend_choose(
      &e->news,
      "share of sources %g (--source-share); piece dropout %g (--piece-dropout), other dropout %g (--dropout)",
      d.source_share, d.piece_dropout, run.dropout);
  cq_extend_choose(
      &e->news,
      "batches of %d pairs (--batch), sentences of at most %d characters (--max-characters; 0: any), in %s "
      "(--precision)",
      run.batch_pairs, run.max_characters, precisions[run.precision]);
}
