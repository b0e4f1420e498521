#include "recipe/extend/extending.h"

#include <math.h>

static const cq_extend_recipe recipes[] = {
    [CQ_EXTEND_BODY] = {.what = "the model's layers under a new vocabulary",
                        .kind = CQ_STUDENT_NEW_VOCABULARY,
                        .learning_rate = 3e-4,
                        .embedding_learning_rate = 1e-3,
                        .contrast = 4,
                        .final_contrast = 1,
                        .hard_negatives = 4,
                        .source_share = 0.25,
                        .piece_dropout = 0.15,
                        .weight_decay = 0.01,
                        .max_epochs = 30},
    [CQ_EXTEND_STATIC] = {.what = "the mean of word vectors",
                          .kind = CQ_STUDENT_STATIC,
                          .learning_rate = 0.03,
                          .embedding_learning_rate = 0.03,
                          .final_contrast = -1,
                          .source_share = 1,
                          .max_epochs = 10},
};

const cq_extend_recipe *cq_extend_recipe_of(cq_extend_kind kind) {
  return &recipes[kind];
}

/* What the caller has, or the recipe's; below 0 nothing was given. */
static double chosen(double given, double otherwise) {
  return given >= 0 ? given : otherwise;
}

cq_distill_options cq_extend_distill_options(const cq_extending *e) {
  const cq_extend_options *o = &e->o;
  cq_distill_options d = cq_distill_default_options();
  d.teacher = o->model, d.student = e->student;
  d.train = e->texts.train, d.n_train = e->texts.n;
  d.dim_match = o->kind == CQ_EXTEND_STATIC ? CQ_DIM_PROJECT : CQ_DIM_EQUAL;
  /* Under layers that stay as they are, the higher weight wins nothing. */
  const double contrast = o->own_vocabulary ? e->recipe->final_contrast : e->recipe->contrast;
  d.contrast = chosen(o->contrast, o->n_matryoshka ? fmax(contrast, 1) : contrast);
  if (d.contrast > 0) {
    d.hard_negatives = (size_t)(o->hard_negatives >= 0 ? o->hard_negatives : e->recipe->hard_negatives);
    d.final_contrast = o->final_contrast >= 0 || o->contrast >= 0 ? o->final_contrast : e->recipe->final_contrast;
    d.temperature = chosen(o->temperature, d.temperature);
  }
  d.matryoshka = o->matryoshka, d.n_matryoshka = o->n_matryoshka;
  d.source_share = chosen(o->source_share, e->recipe->source_share);
  d.piece_dropout = chosen(o->piece_dropout, e->recipe->piece_dropout);
  d.cache_directory = o->cache_directory;
  return d;
}

cq_status cq_extend_distill(cq_training_result *result, const cq_extending *e, const cq_training_options *run,
                            cq_error *error) {
  cq_distill_options d = cq_extend_distill_options(e);
  d.run = run;
  return cq_distill(result, &d, e->ctx, error);
}

cq_training_options cq_extend_run_options(const cq_extending *e) {
  const cq_extend_options *o = &e->o;
  cq_training_options run = cq_training_default_options();
  run.learning_rate = o->learning_rate > 0 ? o->learning_rate : e->recipe->learning_rate;
  run.embedding_learning_rate =
      o->embedding_learning_rate > 0 ? o->embedding_learning_rate : e->recipe->embedding_learning_rate;
  run.adam_eps = chosen(o->adam_eps, 1e-9), run.dropout = chosen(o->dropout, 0);
  run.weight_decay = chosen(o->weight_decay, e->recipe->weight_decay);
  run.warmup_steps = chosen(o->warmup_steps, run.warmup_steps);
  run.batch_pairs = o->batch_pairs, run.max_characters = o->max_characters, run.skip_bad = o->skip_bad;
  run.balanced = e->texts.n > 1;
  run.seed = o->seed, run.precision = (cq_training_precision)o->precision;
  run.freeze_body = o->own_vocabulary;
  return run;
}

void cq_extend_tell_settings(const cq_extending *e) {
  static const char *const precisions[] = {"f32", "bf16"};
  const cq_training_options run = cq_extend_run_options(e);
  const cq_distill_options d = cq_extend_distill_options(e);
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
        d.contrast, chosen(d.final_contrast, d.contrast), d.temperature, d.hard_negatives);
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
