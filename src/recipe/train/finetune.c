/* Fine-tuning, end to end.
 *
 *   labeled ─┐                 ┌─▶ label head
 *   scored   ─┼─▶ batch of one ─┼─▶ cosines         ─▶ gradients of the vectors ─▶ encoder
 *   ranked   ─┘                 └─▶ ranking */
#include "calque/finetune.h"
#include "train/training_data.h"

#include "base/error.h"
#include "base/intern.h"
#include "base/memory.h"
#include "base/options.h"
#include "recipe/run/encoder_training.h"
#include "recipe/run/model_card.h"
#include "recipe/run/training_options.h"
#include "train/contrast.h"
#include "train/label_head.h"

typedef enum kind { LABELED, SCORED, RANKED, N_KINDS } kind;
static const char *const names[N_KINDS] = {"labeled", "scored", "ranked"};

#define O cq_finetune_options
static const cq_option option_rows[] = {
    {CQ_TEXT(O, "model", model, CHANGES, "MODEL",
             "the model to train: a directory, or a name in the local Hugging Face cache"),
     .letter = 'm', .flags = CQ_OPTION_REQUIRED},
    {CQ_DATA(O, "nli", nli, n_nli, CHANGES, "[LABEL=]TSV[:WEIGHT]",
             "labeled pairs (sentence, sentence, label in any words), for the softmax loss (NLI); with several such "
             "files, weight 2 means twice as many draws (weights imply --balanced)")},
    {CQ_DATA(O, "scored", scored, n_scored, CHANGES, "[LABEL=]TSV[:WEIGHT]",
             "scored pairs (sentence, sentence, score), for the cosine similarity loss "
             "(CosineSimilarityLoss); for a reranker (query, passage, score), for the cross-entropy of its logit and "
             "the score (BinaryCrossEntropyLoss)")},
    {CQ_DATA(
        O, "pairs", pairs, n_pairs, CHANGES, "[LABEL=]TSV[:WEIGHT]",
        "pairs that belong together (paraphrases, translations, question and answer), for the contrastive loss over "
        "in-batch negatives (InfoNCE, MultipleNegativesRankingLoss); a third column is a hard negative. A larger "
        "--batch has more negatives, which gives better models and takes more memory; --accumulate adds no negatives")},
    {CQ_NUMBER(O, "max-score", max_score, CHANGES, 5, 0, 1e308, "X",
               "the score in --scored that means a cosine, or a reranker's probability, of 1; 0 means 0"),
     .flags = CQ_OPTION_ABOVE_MIN},
    {CQ_NUMBER(O, "temperature", temperature, CHANGES, 0.05, 0, 1e308, "X",
               "temperature of the contrastive loss: cosines are divided by it (1 / sentence-transformers' scale)"),
     .flags = CQ_OPTION_ABOVE_MIN},
    {CQ_FLAG(O, "symmetric", symmetric, CHANGES,
             "contrastive loss in both directions: anchor to positive and positive to anchor")},
};

static cq_status check_finetune(const void *options, cq_error *error) {
  const O *o = options;
  if (!o->model) return cq_fail(error, CQ_ERR_ARGUMENT, "a model is needed");
  if (o->n_nli + o->n_scored + o->n_pairs == 0)
    return cq_fail(error, CQ_ERR_ARGUMENT, "nothing to train on: expected nli, scored or pairs");
  if (o->run && o->run->best_by == CQ_BEST_MSE)
    return cq_fail(error, CQ_ERR_ARGUMENT, "without a teacher there is no MSE to choose the best model by");
  return CQ_OK;
}

static void training_defaults(void *options) {
  cq_training_options *o = options;
  o->epochs = 1, o->batch_pairs = 16;
}

static const cq_option_part parts[] = {
    {.group = &cq_group_training, .offset = offsetof(O, run), .defaults = training_defaults}};
const cq_option_group cq_group_finetune = {
    .name = "finetune", CQ_ROWS(O, option_rows), .parts = parts, .n_parts = 1, .check = check_finetune};
#undef O

/* Files of one kind. */
typedef struct task {
  const cq_training_data *files;
  size_t n_files;
  cq_parallel data;
  cq_sampler sampler;
  uint64_t n_pairs; /* 0: none */
  uint64_t n_dealt; /* batches */
} task;

typedef struct run {
  cq_finetune_options o;
  cq_training training;
  task tasks[N_KINDS];
  uint64_t n_dealt;                    /* batches of all kinds */
  cq_intern labels;                    /* names, as they came */
  uint32_t *label_of;                  /* [labeled targets] */
  cq_intern texts_known;               /* of ranked pairs, to tell equal ones */
  uint32_t *target_ids, *negative_ids; /* [ranked targets] */
  cq_label_head *head;                 /* NULL: no labels */
  cq_worker worker;                    /* of the ranking */
  cq_pair *pairs;                      /* [batch_pairs] the current batch */
  cq_slice *texts;                     /* [3 batch_pairs] firsts, seconds, negatives */
  uint32_t *labels_now;                /* [batch_pairs] */
  float *scores_now;                   /* [batch_pairs] */
  uint32_t *ids_now[2];                /* [batch_pairs], [2 batch_pairs] text ids of the two sides; equal texts have
                                        * equal ids */
  kind kind;                           /* of the batch */
  cq_builder joined;                   /* a reranker's pairs, one after another */
  size_t *pair_ends;                   /* [batch_pairs] in `joined` */
} run;

/* ---- data ---- */

static cq_status read_task(run *r, kind k, cq_error *error) {
  static const cq_third thirds[N_KINDS] = {CQ_THIRD_LABEL, CQ_THIRD_SCORE, CQ_THIRD_NEGATIVE};
  task *t = &r->tasks[k];
  cq_sampling sampling = CQ_SAMPLE_SHUFFLED;
  cq_parallel_options options = cq_training_text_options(&r->training);
  options.third = thirds[k], options.max_score = r->o.max_score;
  if (t->n_files == 0) return CQ_OK;
  cq_status status = cq_training_sampling(&sampling, &r->training, t->files, t->n_files, error);
  if (!status) status = cq_training_read(&t->data, &r->training, t->files, t->n_files, &options, error);
  if (status) return status;
  t->n_pairs = cq_parallel_pairs(&t->data);
  return cq_sampler_new(&t->sampler, &t->data, sampling, r->training.o->seed + (uint64_t)k, error);
}

/* A ranking needs wrong answers. */
static cq_status check_ranked(const run *r, cq_error *error) {
  const task *t = &r->tasks[RANKED];
  const int n = r->training.o->batch_pairs;
  bool negatives = false;
  for (size_t i = 0; i < t->data.n_targets; i++) negatives |= t->data.thirds[i].n > 0;
  if (t->n_files == 0) return CQ_OK;
  if ((uint64_t)n > t->n_pairs)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, t->files[0].path,
                        "a batch of %d of %llu pairs to rank: make it smaller", n, (unsigned long long)t->n_pairs);
  if (n == 1 && !negatives)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, t->files[0].path, "a batch of one pair holds no wrong answers");
  return CQ_OK;
}

/* "labels: entailment 314, neutral 290", truncated to the buffer. */
static cq_status tell_labels(run *r, cq_error *error) {
  enum { SHOWN = 10 };
  const cq_parallel *data = &r->tasks[LABELED].data;
  cq_builder text = {0};
  size_t *counts = cq_alloc_array_zeroed(r->labels.n, sizeof *counts);
  for (size_t i = 0; counts && i < data->n_targets; i++) counts[r->label_of[i]]++;
  cq_builder_printf(&text, "%u labels:", r->labels.n);
  for (uint32_t k = 0; counts && k < r->labels.n && k < SHOWN; k++) {
    const cq_slice name = r->labels.items[k];
    cq_builder_printf(&text, "%s %.*s %zu", k ? "," : "", (int)cq_min(name.n, 40), name.data, counts[k]);
  }
  if (r->labels.n > SHOWN) cq_builder_text(&text, ", ...");
  const bool ok = counts && !text.failed;
  if (ok) cq_training_notice(&r->training, text.data);
  cq_builder_free(&text);
  cq_free(counts);
  return ok ? CQ_OK : cq_fail_memory(error, "labels");
}

static cq_status number_labels(run *r, cq_error *error) {
  const cq_parallel *data = &r->tasks[LABELED].data;
  r->label_of = cq_alloc_array(data->n_targets, sizeof *r->label_of);
  if (!r->label_of) return cq_fail_memory(error, "labels");
  for (size_t i = 0; i < data->n_targets; i++)
    if ((r->label_of[i] = cq_intern_put(&r->labels, data->thirds[i])) == CQ_INTERN_NONE)
      return cq_fail_memory(error, "labels");
  if (r->tasks[LABELED].n_files > 0 && r->labels.n < 2)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, r->tasks[LABELED].files[0].path,
                        "all pairs have one label (-1 and - mean that there is none)");
  return r->labels.n ? tell_labels(r, error) : CQ_OK;
}

/* Equal texts get equal numbers. */
static cq_status number_texts(run *r, cq_error *error) {
  const cq_parallel *data = &r->tasks[RANKED].data;
  const size_t n = data->n_targets, n_batch = (size_t)r->training.o->batch_pairs;
  r->target_ids = cq_alloc_array(n, sizeof *r->target_ids);
  r->negative_ids = cq_alloc_array(n, sizeof *r->negative_ids);
  r->ids_now[0] = cq_alloc_array(n_batch, sizeof *r->ids_now[0]);
  r->ids_now[1] = cq_alloc_array(n_batch, 2 * sizeof *r->ids_now[1]);
  bool ok = r->target_ids && r->negative_ids && r->ids_now[0] && r->ids_now[1];
  for (size_t i = 0; ok && i < n; i++) {
    r->target_ids[i] = cq_intern_put(&r->texts_known, data->targets[i]);
    r->negative_ids[i] = data->thirds[i].n ? cq_intern_put(&r->texts_known, data->thirds[i]) : 0;
    ok = r->target_ids[i] != CQ_INTERN_NONE && r->negative_ids[i] != CQ_INTERN_NONE;
  }
  return ok ? CQ_OK : cq_fail_memory(error, "texts");
}

static cq_status read_data(run *r, cq_error *error) {
  const size_t n = (size_t)r->training.o->batch_pairs;
  cq_status status = CQ_OK;
  for (kind k = 0; !status && k < N_KINDS; k++) status = read_task(r, k, error);
  if (!status) status = check_ranked(r, error);
  if (!status) status = number_labels(r, error);
  if (!status) status = number_texts(r, error);
  if (status) return status;
  r->pairs = cq_alloc_array(n, sizeof *r->pairs);
  r->texts = cq_alloc_array(n, 3 * sizeof *r->texts);
  r->labels_now = cq_alloc_array(n, sizeof *r->labels_now);
  r->scores_now = cq_alloc_array(n, sizeof *r->scores_now);
  r->pair_ends = cq_alloc_array(n, sizeof *r->pair_ends);
  return r->pairs && r->texts && r->labels_now && r->scores_now && r->pair_ends ? CQ_OK
                                                                                : cq_fail_memory(error, "batch");
}

static uint64_t count_all_pairs(const run *r) {
  uint64_t n = 0;
  for (kind k = 0; k < N_KINDS; k++) n += r->tasks[k].n_pairs;
  return n;
}

/* ---- a batch ---- */

/* The kind that is furthest behind its share gets the next batch. */
static kind deal_batch(run *r) {
  const double n_pairs = (double)count_all_pairs(r);
  double furthest = -1;
  kind chosen = 0;
  for (kind k = 0; k < N_KINDS; k++) {
    const task *t = &r->tasks[k];
    const double behind = (double)t->n_pairs / n_pairs * (double)(r->n_dealt + 1) - (double)t->n_dealt;
    if (t->n_pairs > 0 && behind > furthest) furthest = behind, chosen = k;
  }
  r->tasks[chosen].n_dealt++;
  r->n_dealt++;
  return chosen;
}

/* The kind of batch number n: a resumed run repeats the choices of all earlier batches. */
static kind kind_of_batch(run *r, uint64_t n) {
  assert(r->n_dealt <= n);
  while (r->n_dealt < n) deal_batch(r);
  return deal_batch(r);
}

/* Fills in the batch's texts and their labels, scores or ids. Returns the number of texts. */
static size_t fill_batch(run *r, uint64_t number) {
  const size_t n = (size_t)r->training.o->batch_pairs;
  r->kind = kind_of_batch(r, number);
  task *t = &r->tasks[r->kind];
  size_t n_texts = 2 * n;
  cq_sampler_draw(r->pairs, &t->sampler, t->n_dealt - 1, n);
  for (size_t i = 0; i < n; i++) {
    const uint32_t target = r->pairs[i].target;
    const cq_slice third = t->data.thirds[target];
    double score;
    r->texts[i] = t->data.sources[r->pairs[i].source];
    r->texts[n + i] = t->data.targets[target];
    if (r->kind == LABELED) r->labels_now[i] = r->label_of[target];
    if (r->kind == SCORED && cq_slice_number(&score, third)) r->scores_now[i] = (float)(score / r->o.max_score);
    if (r->kind != RANKED) continue;
    r->ids_now[0][i] = r->pairs[i].source;
    r->ids_now[1][i] = r->target_ids[target];
    if (third.n == 0) continue;
    r->ids_now[1][n_texts - n] = r->negative_ids[target];
    r->texts[n_texts++] = third;
  }
  return n_texts;
}

/* A reranker's texts: a pair each. */
static cq_status join_pairs(run *r, size_t *n_texts, cq_error *error) {
  const size_t n = *n_texts / 2;
  size_t *ends = r->pair_ends;
  cq_builder_clear(&r->joined);
  for (size_t i = 0; i < n; i++) {
    cq_builder_bytes(&r->joined, r->texts[i].data, r->texts[i].n);
    cq_builder_char(&r->joined, CQ_PAIR_MARK);
    cq_builder_bytes(&r->joined, r->texts[n + i].data, r->texts[n + i].n);
    ends[i] = r->joined.n;
  }
  if (r->joined.failed) return cq_fail_memory(error, "batch");
  for (size_t i = 0, first = 0; i < n; first = ends[i++])
    r->texts[i] = (cq_slice){r->joined.data + first, ends[i] - first};
  *n_texts = n;
  return CQ_OK;
}

/* The loss of the batch's vectors. */
static cq_status compute_batch_loss(void *context, double *loss, float *gradients, const float *vectors, size_t n_texts,
                                    cq_error *error) {
  run *r = context;
  const bool of_pairs = r->training.encoder->of_pairs; /* each text is a pair, whose vector is its logit */
  const int64_t n = r->training.o->batch_pairs, dim = cq_encoder_full_dim(r->training.encoder);
  const cq_space space = {{vectors, vectors + n * dim}, {gradients, gradients + n * dim}, n, dim};
  cq_status status = CQ_OK;
  switch (r->kind) {
  case LABELED: {
    cq_label_head_report report;
    status = cq_label_head_forward(r->head, &report, &space, r->labels_now, error);
    *loss = report.loss;
    break;
  }
  case SCORED:
    *loss = of_pairs ? cq_logits_loss(gradients, vectors, r->scores_now, (size_t)n)
                     : cq_space_cosines(&space, r->scores_now, 1);
    break;
  case RANKED: {
    const cq_contrast c = {.vectors = {space.vectors[0], space.vectors[1]},
                           .gradients = {space.gradients[0], space.gradients[1]},
                           .n = {n, (int64_t)n_texts - n},
                           .dim = dim,
                           .ids = {r->ids_now[0], r->ids_now[1]},
                           .temperature = r->o.temperature,
                           .symmetric = r->o.symmetric};
    status = cq_contrast_loss(loss, &c, 1, &r->worker, r->training.ctx, error);
    break;
  }
  case N_KINDS: break;
  }
  return status;
}

static cq_status compute_finetune_batch(void *context, cq_step_report *report, cq_error *error) {
  run *r = context;
  cq_trainer *trainer = r->training.trainer;
  size_t n_texts = fill_batch(r, cq_trainer_batches(trainer));
  cq_status status = r->training.encoder->of_pairs ? join_pairs(r, &n_texts, error) : CQ_OK;
  if (!status) status = cq_trainer_step_jointly(trainer, r->texts, n_texts, compute_batch_loss, r, report, error);
  r->training.kind = names[r->kind];
  if (!status && r->head && report->updated)
    status = cq_label_head_update(r->head, 1.0 / r->training.o->accumulate, r->training.ctx, error);
  return status;
}

/* ---- the rest of the task ---- */

static cq_status make_head(run *r, cq_error *error) {
  r->worker.kernels = r->training.encoder->kernels;
  if (r->labels.n == 0) return CQ_OK;
  const cq_label_head_options options = {.dim = cq_encoder_full_dim(r->training.encoder),
                                         .n_labels = (int64_t)r->labels.n,
                                         .seed = r->training.o->seed,
                                         .optimizer = cq_training_optimizer(&r->training)};
  return cq_label_head_new(&r->head, r->worker.kernels, &options, error);
}

static cq_status save_head(void *context, cq_checkpoint_writer *w, cq_error *error) {
  const run *r = context;
  return r->head ? cq_label_head_save(r->head, w, error) : CQ_OK;
}

static cq_status restore_head(void *context, const cq_checkpoint *c, cq_error *error) {
  run *r = context;
  return r->head ? cq_label_head_restore(r->head, c, error) : CQ_OK;
}

static cq_status identify_finetune(const void *context, cq_run_identity *out, cq_error *error) {
  const run *r = context;
  (void)error;
  cq_run_identity_options(out, &cq_group_finetune, &r->o);
  for (kind k = 0; k < N_KINDS; k++) cq_training_identify_data(out, names[k], &r->tasks[k].data);
  return CQ_OK;
}

static void finetune_card_title(const void *context, cq_builder *card) {
  const run *r = context;
  cq_builder_printf(card, "A %s. Made with calque by finetuning ",
                    r->training.encoder->of_pairs ? "reranker (cross-encoder)" : "sentence encoder");
  cq_model_card_name(card, r->o.model);
  cq_builder_char(card, '.');
}

static void finetune_card_data(const void *context, cq_builder *card) {
  const run *r = context;
  cq_model_card_data_heading(card);
  for (kind k = 0; k < N_KINDS; k++) cq_model_card_data(card, &r->tasks[k].data);
}

static void finetune_card_task(const void *context, cq_builder *card) {
  const run *r = context;
  const cq_finetune_options *o = &r->o;
  cq_builder_text(card, "- begun from ");
  cq_model_card_name(card, o->model);
  cq_builder_char(card, '\n');
  if (o->n_nli > 0)
    cq_builder_printf(card, "- labels: cross-entropy of %u, predicted from (u, v, |u - v|) (Reimers & Gurevych 2019)\n",
                      r->labels.n);
  if (o->n_scored > 0)
    cq_builder_printf(card,
                      r->training.encoder->of_pairs
                          ? "- scores, from 0 to %g: cross-entropy of the logit\n"
                          : "- scores, from 0 to %g: squared error of the cosine (Reimers & Gurevych 2019)\n",
                      o->max_score);
  if (o->n_pairs > 0)
    cq_builder_printf(card, "- pairs: ranking among the batch's%s, temperature %g (Henderson et al. 2017)\n",
                      o->symmetric ? ", both ways" : "", o->temperature);
}

static void release_finetune(run *r) {
  cq_training_close(&r->training);
  for (kind k = 0; k < N_KINDS; k++) {
    cq_sampler_free(&r->tasks[k].sampler);
    cq_parallel_free(&r->tasks[k].data);
  }
  cq_intern_free(&r->labels);
  cq_intern_free(&r->texts_known);
  cq_label_head_free(r->head);
  cq_workspace_free(&r->worker.workspace);
  cq_free(r->label_of);
  cq_free(r->target_ids);
  cq_free(r->negative_ids);
  cq_free(r->ids_now[0]);
  cq_free(r->ids_now[1]);
  cq_free(r->pairs);
  cq_free(r->texts);
  cq_free(r->labels_now);
  cq_free(r->scores_now);
  cq_builder_free(&r->joined);
  cq_free(r->pair_ends);
  cq_free(r);
}

cq_status cq_finetune(cq_training_result *result, const cq_finetune_options *options, cq_context *ctx,
                      cq_error *error) {
  cq_training_options training;
  run *r = cq_alloc_zeroed(sizeof *r);
  if (!r) return cq_fail_memory(error, "fine-tuning");
  cq_status status = cq_options_take(&r->o, &cq_group_finetune, options, error);
  if (!status) status = cq_options_take_part(&training, &parts[0], &r->o, error);
  r->tasks[LABELED] = (task){.files = r->o.nli, .n_files = r->o.n_nli};
  r->tasks[SCORED] = (task){.files = r->o.scored, .n_files = r->o.n_scored};
  r->tasks[RANKED] = (task){.files = r->o.pairs, .n_files = r->o.n_pairs};
  const cq_training_task about = {.name = "finetune",
                                  .batch = compute_finetune_batch,
                                  .save = save_head,
                                  .restore = restore_head,
                                  .identify = identify_finetune,
                                  .card_title = finetune_card_title,
                                  .card_data = finetune_card_data,
                                  .card_task = finetune_card_task,
                                  .context = r};
  if (!status) status = cq_training_open(&r->training, &training, &about, ctx, error);
  r->training.task.base_model = r->o.model;
  if (!status) status = read_data(r, error);
  if (!status) status = cq_training_open_encoder(&r->training, r->o.model, error);
  if (!status && r->training.encoder->of_pairs && r->o.n_nli + r->o.n_pairs > 0)
    status = cq_fail(error, CQ_ERR_ARGUMENT,
                     "%s is a reranker, which is trained on scored pairs: nli and pairs are for "
                     "embedding models",
                     r->o.model);
  if (!status) status = make_head(r, error);
  if (!status) status = cq_training_run(&r->training, count_all_pairs(r), result, error);
  release_finetune(r);
  return status;
}
