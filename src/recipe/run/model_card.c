/* Writes a model card in Markdown: front matter for model hubs, how the model was made, results before and after. */
#include "recipe/run/model_card.h"

#include "base/file.h"
#include "hub/card_value.h"
#include "hub/hub_cache.h"
#include "model/encoder.h"

#include <math.h>

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
                    (unsigned long long)run->run.stage.n_steps, (long long)o->batch_pairs * o->accumulate,
                    o->no_shuffle    ? ", in file order"
                    : run->by_weight ? ", drawn from the files by weight"
                                     : ", shuffled",
                    kept, (unsigned long long)kept_step, o->learning_rate,
                    o->embedding_learning_rate > 0 ? o->embedding_learning_rate : o->learning_rate, o->adam_beta1,
                    o->adam_beta2, o->adam_eps, o->weight_decay, o->clip_norm, cq_schedule_names[o->schedule],
                    o->warmup_steps, (unsigned long long)o->seed, o->n_shards);
  if (o->dropout >= 0) cq_builder_printf(out, "- dropout %g\n", o->dropout);
}

/* --- front matter --- */

/* Language codes at the start of a label: "de", "en-de", "en-de/train". */
static bool is_pair_of_codes(const char *label) {
  size_t n_letters = 0;
  for (const char *c = label;; c++) {
    if (*c >= 'a' && *c <= 'z') {
      n_letters++;
      continue;
    }
    if (n_letters < 2 || n_letters > 3) return false;
    if (*c == '\0' || *c == '/') return true;
    if (*c != '-') return false;
    n_letters = 0;
  }
}

/* Whether the code occurred in an earlier set or in an earlier part of this label. */
static bool was_code(const cq_parallel *data, size_t set, const char *code, size_t n) {
  for (size_t i = 0; i <= set; i++) {
    const char *label = data->sets[i].label;
    if (!is_pair_of_codes(label)) continue;
    for (const char *c = label; *c && *c != '/' && c != code;) {
      const size_t length = strcspn(c, "-/");
      if (length == n && !memcmp(c, code, n)) return true;
      c += length + (c[length] == '-');
    }
  }
  return false;
}

static void write_languages(cq_builder *out, const cq_parallel *data) {
  bool has_any = false;
  for (size_t i = 0; data && i < data->n_sets; i++) {
    if (!is_pair_of_codes(data->sets[i].label)) continue;
    for (const char *c = data->sets[i].label; *c && *c != '/';) {
      char code[4];
      const size_t n = strcspn(c, "-/");
      snprintf(code, sizeof code, "%.*s", (int)n, c);
      if (!was_code(data, i, c, n)) {
        cq_builder_text(out, has_any ? "- " : "language:\n- ");
        cq_hub_card_value(out, code);
        cq_builder_char(out, '\n');
        has_any = true;
      }
      c += n + (c[n] == '-');
    }
  }
}

/* The model's name on the hub, if it has one: a local directory is meaningless to others. */
static void write_base_model(cq_builder *out, const char *model) {
  char path[CQ_HUB_PATH], name[CQ_HUB_NAME];
  if (!model || cq_model_resolve(path, sizeof path, model, NULL) || !cq_hub_name_of(name, sizeof name, path)) return;
  cq_builder_text(out, "base_model: ");
  cq_hub_card_value(out, name);
  cq_builder_char(out, '\n');
}

static void write_result(cq_builder *out, const char *type, const char *title, const char *label) {
  cq_builder_printf(
      out, "  - task:\n      type: %s\n      name: %s\n    dataset:\n      type: unknown\n      name: ", type, title);
  cq_hub_card_value(out, label);
  cq_builder_text(out, "\n    metrics:\n");
}

static void write_metric(cq_builder *out, const char *type, const char *title, double value) {
  if (!isfinite(value)) return;
  cq_builder_printf(out, "    - type: %s\n      value: %.6g\n      name: %s\n", type, value, title);
}

/* The figures for the hub's pages, under sentence-transformers' names. */
static void write_model_index(cq_builder *out, const cq_training *run) {
  const cq_slice name = cq_path_name(run->o->output);
  char title[256];
  if (run->dev.n_parallel + run->dev.n_sts == 0) return;
  snprintf(title, sizeof title, "%.*s", (int)name.n, name.data);
  cq_builder_text(out, "model-index:\n- name: ");
  cq_hub_card_value(out, title);
  cq_builder_text(out, "\n  results:\n");
  for (size_t i = 0; i < run->dev.n_parallel && !run->encoder->of_pairs; i++) {
    const cq_translation_result *t = &run->now.translation[i];
    write_result(out, "translation", "Translation", run->dev.parallel[i].label);
    write_metric(out, "src2trg_accuracy", "Src2Trg Accuracy", t->source_to_target);
    write_metric(out, "trg2src_accuracy", "Trg2Src Accuracy", t->target_to_source);
    write_metric(out, "mean_accuracy", "Mean Accuracy", (t->source_to_target + t->target_to_source) / 2);
  }
  for (size_t i = 0; i < run->dev.n_sts; i++) {
    const cq_sts_result *s = &run->now.sts[i];
    write_result(out, "semantic-similarity", "Semantic Similarity", run->dev.sts[i].label);
    write_metric(out, "pearson_cosine", "Pearson Cosine", s->pearson);
    write_metric(out, "spearman_cosine", "Spearman Cosine", s->spearman);
  }
}

void cq_model_card_write(cq_builder *out, const cq_training *run, uint64_t kept_step) {
  const cq_training_task *task = &run->task;
  cq_builder_text(out, run->encoder->of_pairs
                           ? "---\nlibrary_name: sentence-transformers\npipeline_tag: text-ranking\ntags:\n"
                             "- sentence-transformers\n- cross-encoder\n- reranker\n- calque\n"
                           : "---\nlibrary_name: sentence-transformers\npipeline_tag: sentence-similarity\ntags:\n"
                             "- sentence-transformers\n- sentence-similarity\n- feature-extraction\n- calque\n");
  write_languages(out, task->labeled);
  write_base_model(out, task->base_model);
  write_model_index(out, run);
  cq_builder_text(out, "---\n\n# ");
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
  cq_builder_char(out, '\n');
  if (run->has_before) cq_dev_risen(out, &run->dev, &run->before, &run->now);
  cq_builder_printf(out,
                    run->encoder->of_pairs
                        ? "Spearman's correlation with the teacher's logits of the sources, or of logits and scores, "
                          "times 100.%s\n"
                        : "Translation: share of sentences whose nearest neighbor among the other column's is their "
                          "partner.%s Similarity: correlation of cosine and human score, times 100.\n",
                    run->teacher ? " MSE is times 100." : "");
}
