#include "recipe/distill_card.h"

static const char *schedule_name(cq_schedule schedule) {
  switch (schedule) {
  case CQ_SCHEDULE_LINEAR: return "linear";
  case CQ_SCHEDULE_CONSTANT: return "constant";
  case CQ_SCHEDULE_COSINE: return "cosine";
  }
  return "unknown";
}

/* The last component of a path: a card travels, the directories of one machine do not. */
static void add_base_name(cq_builder *out, const char *path) {
  size_t end = strlen(path);
  while (end > 1 && path[end - 1] == '/') end--;
  size_t start = end;
  while (start > 0 && path[start - 1] != '/') start--;
  cq_builder_bytes(out, path + start, end - start);
}

static void write_data(cq_builder *out, const cq_parallel *data) {
  cq_builder_text(out, "## Training data\n\n| file | sources | pairs | weight |\n|---|---:|---:|---:|\n");
  for (size_t i = 0; i < data->n_sets; i++) {
    const cq_parallel_set *set = &data->sets[i];
    cq_builder_printf(out, "| %s | %u | %u | %g |\n", set->label, set->n_entries, set->n_pairs, set->weight);
  }
}

static void write_options(cq_builder *out, const cq_distill_card *card) {
  const cq_distill_options *o = card->options;
  cq_builder_text(out, "\n## Training\n\n- teacher `");
  add_base_name(out, o->teacher);
  cq_builder_text(out, "`, student begun from `");
  add_base_name(out, o->student);
  cq_builder_printf(
      out,
      "`\n"
      "- loss: mean squared error to the teacher's vector of the source, on the source and on its translation\n"
      "- %llu steps of %d pairs, %s; the model is the one of step %llu\n"
      "- AdamW: learning rate %g (word embeddings %g), betas %g and %g, eps %g, weight decay %g, clipping at %g\n"
      "- %s schedule, warm-up %g; seed %llu; %d shards\n",
      (unsigned long long)card->n_steps, o->batch_pairs * o->accumulate,
      o->no_shuffle     ? "in file order"
      : card->by_weight ? "drawn from the files by weight"
                        : "shuffled",
      (unsigned long long)card->kept_step, o->learning_rate,
      o->embedding_learning_rate > 0 ? o->embedding_learning_rate : o->learning_rate, o->adam_beta1, o->adam_beta2,
      o->adam_eps, o->weight_decay, o->clip_norm, schedule_name(o->schedule), o->warmup_steps,
      (unsigned long long)o->seed, o->n_shards);
  if (o->dropout >= 0) cq_builder_printf(out, "- dropout %g\n", o->dropout);
}

void cq_distill_card_write(cq_builder *out, const cq_distill_card *card) {
  cq_builder_text(out, "---\nlibrary_name: sentence-transformers\npipeline_tag: sentence-similarity\ntags:\n"
                       "- sentence-transformers\n- feature-extraction\n- multilingual\n- calque\n---\n\n");
  cq_builder_text(out, "# ");
  add_base_name(out, card->options->output);
  cq_builder_text(out,
                  "\n\nA sentence encoder that gives a sentence and its translations one vector. Made with calque by "
                  "multilingual knowledge distillation (Reimers & Gurevych 2020) from `");
  add_base_name(out, card->options->teacher);
  cq_builder_text(out, "`.\n\n");
  write_data(out, card->data);
  write_options(out, card);
  if (card->dev->n_parallel + card->dev->n_sts == 0) return;
  cq_builder_text(out,
                  card->before ? "\n## Held-out figures, before -> after training\n\n" : "\n## Held-out figures\n\n");
  cq_dev_table(out, card->dev, card->before, card->after, true);
  cq_builder_text(out,
                  "\nTranslation: share of sentences whose nearest neighbour in the other language is their "
                  "translation. MSE is times 100. Similarity: correlation of cosine and human score, times 100.\n");
}
