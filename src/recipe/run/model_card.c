#include "recipe/run/model_card.h"

#include "base/file.h"

void cq_model_card_name(cq_builder *out, const char *path) {
  const cq_slice name = cq_path_name(path);
  cq_builder_char(out, '`');
  cq_builder_bytes(out, name.data, name.n);
  cq_builder_char(out, '`');
}

void cq_model_card_data_heading(cq_builder *out) {
  cq_builder_text(out, "| file | sources | pairs | weight |\n|---|---:|---:|---:|\n");
}

void cq_model_card_data(cq_builder *out, const cq_parallel *data) {
  for (size_t i = 0; i < data->n_sets; i++) {
    const cq_parallel_set *set = &data->sets[i];
    cq_builder_printf(out, "| %s | %u | %u | %g |\n", set->label, set->n_entries, set->plain ? 0 : set->n_pairs,
                      set->weight);
  }
}

static void write_training_options(cq_builder *out, const cq_training *run, uint64_t kept_step) {
  const cq_training_options *o = run->o;
  char kept[120] = "the one of";
  if (run->measured.averaged)
    snprintf(kept, sizeof kept, "the mean of the weights at %llu evaluations up to",
             (unsigned long long)run->measured.averaged);
  cq_builder_printf(out,
                    "- %llu steps of %lld pairs%s; the model is %s step %llu\n"
                    "- AdamW: learning rate %g (word embeddings %g), betas %g and %g, eps %g, weight decay %g, "
                    "clipping at %g\n"
                    "- %s schedule, warm-up %g; seed %llu; %d shards\n",
                    (unsigned long long)run->n_steps, (long long)o->batch_pairs * o->accumulate,
                    o->no_shuffle    ? ", in file order"
                    : run->by_weight ? ", drawn from the files by weight"
                                     : ", shuffled",
                    kept, (unsigned long long)kept_step, o->learning_rate,
                    o->embedding_learning_rate > 0 ? o->embedding_learning_rate : o->learning_rate, o->adam_beta1,
                    o->adam_beta2, o->adam_eps, o->weight_decay, o->clip_norm, cq_schedule_names[o->schedule],
                    o->warmup_steps, (unsigned long long)o->seed, o->n_shards);
  if (o->dropout >= 0) cq_builder_printf(out, "- dropout %g\n", o->dropout);
}

void cq_model_card_write(cq_builder *out, const cq_training *run, uint64_t kept_step) {
  const cq_training_task *task = &run->task;
  cq_builder_text(out, "---\nlibrary_name: sentence-transformers\npipeline_tag: sentence-similarity\ntags:\n"
                       "- sentence-transformers\n- feature-extraction\n- calque\n---\n\n# ");
  cq_model_card_name(out, run->o->output);
  cq_builder_text(out, "\n\n");
  task->card_title(task->context, out);
  cq_builder_text(out, "\n\n## Training data\n\n");
  task->card_data(task->context, out);
  cq_builder_text(out, "\n## Training\n\n");
  task->card_task(task->context, out);
  write_training_options(out, run, kept_step);
  if (run->dev.n_parallel + run->dev.n_sts == 0) return;
  cq_builder_text(out, run->has_before ? "\n## Held-out figures, before -> after training\n\n"
                                       : "\n## Held-out figures\n\n");
  cq_dev_table(out, &run->dev, run->has_before ? &run->before : NULL, &run->now, true);
  cq_builder_printf(out,
                    "\nTranslation: share of sentences whose nearest neighbour among the other column's is their "
                    "partner.%s Similarity: correlation of cosine and human score, times 100.\n",
                    run->teacher ? " MSE is times 100." : "");
}
