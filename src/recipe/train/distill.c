/* Multilingual knowledge distillation, end to end.
 *
 *   files -> pairs -> batches of (source, translation) -> student -> MSE to teacher(source) on both -> AdamW
 *               \-> distinct sources -> teacher, once -> vectors on disk
 *
 * Text in the teacher's language without translations is its own target: student -> MSE to teacher(sentence), once.
 * With a contrastive loss, the candidates are the batch's teacher vectors and hard negatives (hard_negatives.h).
 *
 * A reranker's "vector" is its logit, and a text is a query, a mark, and a passage (CQ_PAIR_MARK).
 *
 * Source: Reimers & Gurevych 2020, section 2; for text without translations LEAF (arXiv 2509.12539); for logits
 * Hofstätter et al. 2020 (arXiv 2010.02666). */
#include "train/training_data.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/options.h"
#include "model/modules.h"
#include "recipe/encode/cached_encoder.h"
#include "recipe/run/encoder_training.h"
#include "recipe/run/model_card.h"
#include "recipe/run/training_options.h"
#include "recipe/train/columns.h"
#include "recipe/train/distillation.h"
#include "recipe/train/hard_negatives.h"
#include "recipe/train/projection.h"
#include "text/typed.h"
#include "train/soft_contrast.h"

#include <math.h>

static const char *const dim_matches[] = {"equal", "project", "truncate", "fit", NULL};

#define TEMPERATURE 0.05

#define O cq_distill_options
static const cq_option option_rows[] = {
    {CQ_TEXT(O, "teacher", teacher, CHANGES, "MODEL",
             "the model that knows the language of the first column: a directory, or a name in the local "
             "Hugging Face cache"),
     .flags = CQ_OPTION_REQUIRED},
    {CQ_TEXT(O, "student", student, CHANGES, "MODEL",
             "the model to train, for example one that 'calque model new' made"),
     .flags = CQ_OPTION_REQUIRED},
    {CQ_DATA(O, "train", train, n_train, CHANGES, "[LABEL=]TSV[:WEIGHT]",
             "parallel text, a sentence and its translations on each line; with several files, weight 2 means twice as "
             "many draws (weights imply --balanced)")},
    {CQ_DATA(
        O, "source-text", source_text, n_source_text, CHANGES, "[LABEL=]FILE[:WEIGHT]",
        "text in the teacher's language without translations, one sentence per line: the student learns the "
        "teacher's vectors of it. Use it with parallel text, or alone to make a smaller model with the same vectors")},
    {CQ_CHOICE(O, "dim-match", dim_match, CHANGES, CQ_DIM_EQUAL, dim_matches, "HOW",
               "if student and teacher differ in dimension: refuse (equal), learn a projection (project), "
               "or use the teacher's first dimensions (truncate); fit: learn a projection in any case, which begins "
               "as the linear map from the student's vectors to the teacher's")},
    {CQ_NUMBER(
        O, "contrast", contrast, CHANGES, 0, 0, 1e6, "WEIGHT",
        "weight of a contrastive loss with the teacher's similarities as soft labels, added to the squared distance; "
        "0: none")},
    {CQ_NUMBER(O, "final-contrast", final_contrast, CHANGES, -1, -1, 1e6, "WEIGHT",
               "final value of --contrast, approached as the learning rate falls"),
     .otherwise = "as --contrast"},
    {CQ_NUMBER(O, "temperature", temperature, CHANGES, TEMPERATURE, 1e-4, 1e6, "T",
               "temperature of the contrastive loss")},
    {CQ_SIZE(O, "hard-negatives", hard_negatives, CHANGES, 0, 0, 1000, "N",
             "hard negatives: the N sources nearest to each source are additional candidates of the contrastive loss")},
    {CQ_FLAG(O, "near-misses", near_misses, CHANGES,
             "near misses of English sources (another number or name, a negation added or removed, clauses swapped) "
             "are additional candidates of the contrastive loss")},
    {CQ_TEXT(O, "cache", cache_directory, KEEPS, "DIR", "where the teacher's vectors are kept for the next run"),
     .otherwise = "~/.cache/calque"},
    {CQ_NUMBER(O, "source-share", source_share, CHANGES, 1, 0, 1, "SHARE",
               "share of each batch's source sentences to train on, in addition to all translations: few are enough if "
               "the student already reads the teacher's language as the teacher does, and steps are faster")},
    {CQ_NUMBER(O, "piece-dropout", piece_dropout, CHANGES, 0, 0, 0.9, "SHARE",
               "subword regularization: split translations without a random share of the vocabulary's pieces each "
               "time (Unigram vocabularies)")},
    {CQ_NUMBER(O, "augment", augment, CHANGES, 0, 0, 1, "SHARE",
               "write this share of the text as people type it: in lower or upper case, without accents, or "
               "without the last full stop, drawn anew each time")},
    {CQ_INTS(
         O, "matryoshka", matryoshka, n_matryoshka, CHANGES, 1, 1 << 20, "N,...",
         "also compute the contrastive loss on the student's first N dimensions, so that vectors can be truncated to "
         "these (Matryoshka)"),
     .flags = CQ_OPTION_COMMAS, .otherwise = ""},
};

static cq_status check_distill(const void *options, cq_error *error) {
  const O *o = options;
  if (!o->teacher || !o->student) return cq_fail(error, CQ_ERR_ARGUMENT, "a teacher and a student are needed");
  if (o->n_train + o->n_source_text == 0)
    return cq_fail(error, CQ_ERR_ARGUMENT, "at least one file to train on is needed (train, source-text)");
  const char *of_contrast = o->hard_negatives               ? "hard-negatives"
                            : o->near_misses                ? "near-misses"
                            : o->final_contrast > 0         ? "final-contrast"
                            : o->temperature != TEMPERATURE ? "temperature"
                            : o->n_matryoshka               ? "matryoshka"
                                                            : NULL;
  if (of_contrast && !(o->contrast > 0))
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s: of the contrastive loss, which needs a weight (contrast)", of_contrast);
  return CQ_OK;
}

static const cq_option_part parts[] = {{.group = &cq_group_training, .offset = offsetof(O, run)}};
const cq_option_group cq_group_distill = {
    .name = "distill", CQ_ROWS(O, option_rows), .parts = parts, .n_parts = 1, .check = check_distill};
#undef O

typedef struct run {
  cq_distill_options o;
  cq_training training;
  cq_parallel data;
  cq_cached_encoder teacher;
  cq_sampler sampler;
  cq_sampling sampling;
  cq_hard_negatives hard;
  cq_pair *pairs, *plain;   /* [batch_pairs] */
  cq_slice *texts;          /* [2 batch_pairs] translations, sources */
  const float **targets;    /* [2 batch_pairs] the teacher's vectors */
  uint64_t n_batches;       /* whose sources the teacher has encoded: later ones repeat them; 0: all sources */
  const float **candidates; /* candidates for contrast: [batch_pairs] the sources' vectors, then hard negatives */
  size_t n_candidates;
  cq_builder typed;   /* the batch's augmented translations, one after another */
  size_t *typed_ends; /* [2 batch_pairs] the end of each in `typed` */
} run;

static bool tell_teacher(void *context, uint64_t done, uint64_t n) {
  cq_training *t = context;
  t->sentences = done;
  return cq_training_tell(t, "teacher", done, n, NULL);
}

/* ---- the teacher ---- */

/* Lists the sources that the steps will draw, all or fewer; the caller frees *out. */
static cq_status list_drawn(uint32_t **out, size_t *n, run *r, cq_error *error) {
  const cq_training *t = &r->training;
  const uint64_t n_pairs = cq_parallel_pairs(&r->data), per_batch = (uint64_t)t->o->batch_pairs;
  const uint64_t batches = cq_training_steps(t, n_pairs) * (uint64_t)t->o->accumulate;
  const bool all = r->sampling != CQ_SAMPLE_BALANCED && batches >= n_pairs / per_batch;
  r->n_batches = all ? 0 : batches;
  bool *drawn = cq_alloc_array_zeroed(r->data.n_sources, sizeof *drawn);
  cq_sampler sampler = {0};
  *out = cq_alloc_array(r->data.n_sources, sizeof **out);
  *n = 0;
  cq_status status = drawn && *out ? CQ_OK : cq_fail_memory(error, "sources");
  if (!status && !all) status = cq_sampler_new(&sampler, &r->data, r->sampling, t->o->seed, error);
  for (uint64_t b = 0; !status && !all && b < batches; b++) {
    cq_sampler_draw(r->pairs, &sampler, b, per_batch);
    for (uint64_t i = 0; i < per_batch; i++) drawn[r->pairs[i].source] = true;
  }
  for (size_t i = 0; !status && i < r->data.n_sources; i++)
    if (all || drawn[i]) (*out)[(*n)++] = (uint32_t)i;
  cq_sampler_free(&sampler);
  cq_free(drawn);
  return status;
}

static bool tell_negatives(void *context, uint64_t done, uint64_t n) {
  return cq_training_tell(context, "negatives", done, n, NULL);
}

static cq_status prepare_teacher(run *r, cq_error *error) {
  cq_training *t = &r->training;
  uint32_t *drawn = NULL;
  size_t n = 0;
  t->started = cq_seconds(CLOCK_MONOTONIC);
  cq_status status = list_drawn(&drawn, &n, r, error);
  if (!status)
    status = cq_hard_negatives_list(&r->hard, r->data.sources, r->data.n_sources, drawn, n, r->o.hard_negatives,
                                    r->o.near_misses, t->o->seed, error);
  cq_free(drawn);
  if (!status)
    status = cq_cached_encoder_prepare(&r->teacher, r->hard.texts, r->hard.n_texts, t->ctx, tell_teacher, t, error);
  for (size_t i = 0; !status && i < t->dev.n_parallel; i++)
    status = cq_cached_encoder_prepare(&r->teacher, t->dev.parallel[i].rows.column[0], t->dev.parallel[i].rows.n,
                                       t->ctx, NULL, NULL, error);
  t->teacher = &r->teacher;
  if (!status) status = cq_cached_encoder_map(&r->teacher, error);
  if (!status && cq_ranks_rank(t->o->ranks) == 0) status = cq_ranks_meet(t->o->ranks, NULL, error);
  t->started = cq_seconds(CLOCK_MONOTONIC), t->sentences = 0; /* the rate is no longer the teacher's */
  if (!status) status = cq_hard_negatives_search(&r->hard, &r->teacher, tell_negatives, t, t->ctx, error);
  const size_t n_pairs = (size_t)t->o->batch_pairs;
  r->candidates = cq_alloc_array(n_pairs, (1 + cq_hard_negatives_max(&r->hard)) * sizeof *r->candidates);
  return status || r->candidates ? status : cq_fail_memory(error, "batch");
}

/* ---- the student ---- */

/* Whether a linear map to the teacher's space is appended. */
static bool is_projected(const run *r) {
  return r->o.dim_match == CQ_DIM_FIT ||
         (r->o.dim_match == CQ_DIM_PROJECT && cq_encoder_full_dim(r->training.encoder) != r->teacher.dim);
}

/* Fits it to the texts of the first batches. */
static cq_status append_projection(run *r, cq_error *error) {
  enum { MAX_TEXTS = 8192 };
  const size_t n = (size_t)r->training.o->batch_pairs;
  const uint64_t n_batches = cq_min(r->n_batches ? r->n_batches : UINT64_MAX, (MAX_TEXTS + n - 1) / n);
  cq_slice *texts = cq_alloc_array(n_batches * n, sizeof *texts);
  const float **targets = cq_alloc_array(n_batches * n, sizeof *targets);
  for (uint64_t b = 0; texts && targets && b < n_batches; b++) {
    cq_sampler_draw(r->pairs, &r->sampler, b, n);
    for (size_t i = 0; i < n; i++) {
      texts[b * n + i] = r->data.targets[r->pairs[i].target];
      targets[b * n + i] = cq_cached_encoder_vector(&r->teacher, r->data.sources[r->pairs[i].source]);
    }
  }
  const cq_status status = texts && targets ? cq_projection_append(r->training.encoder, texts, targets, n_batches * n,
                                                                   (size_t)r->teacher.dim, r->training.ctx, error)
                                            : cq_fail_memory(error, "a projection");
  cq_free(texts);
  cq_free(targets);
  return status;
}

/* Checks prefixes against the student's final dimensions. */
static cq_status check_prefixes(const run *r, cq_error *error) {
  const int dim = is_projected(r) ? (int)r->teacher.dim : cq_encoder_full_dim(r->training.encoder);
  for (size_t i = 0; i < r->o.n_matryoshka; i++)
    if (r->o.matryoshka[i] >= dim)
      return cq_fail(error, CQ_ERR_ARGUMENT, "matryoshka is %d, expected fewer dimensions than the student's %d",
                     r->o.matryoshka[i], dim);
  return CQ_OK;
}

static cq_status open_student(run *r, cq_error *error) {
  const cq_distill_options *o = &r->o;
  cq_status status = cq_training_open_encoder(&r->training, o->student, error);
  if (status) return status;
  const cq_tokenizer *t = cq_encoder_text_module(r->training.encoder)->tokenizer;
  if (o->piece_dropout > 0 && (!t || strcmp(cq_tokenizer_describe(t)->type, "Unigram") != 0))
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s: piece_dropout is for Unigram vocabularies, not for %s", o->student,
                   t ? cq_tokenizer_describe(t)->type : "one of whole words");
  const bool of_pairs = r->training.encoder->of_pairs;
  if (of_pairs != r->teacher.encoder->of_pairs)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s is a reranker, %s is none: teacher and student are of one kind",
                   of_pairs ? o->student : o->teacher, of_pairs ? o->teacher : o->student);
  if (of_pairs && (o->contrast > 0 || o->dim_match != CQ_DIM_EQUAL))
    return cq_fail(error, CQ_ERR_ARGUMENT, "contrast and dim-match are for vectors: a reranker gives one logit");
  const int dim = cq_encoder_full_dim(r->training.encoder);
  switch (o->dim_match) {
  case CQ_DIM_FIT:
  case CQ_DIM_PROJECT: return CQ_OK; /* by append_projection, once the teacher's vectors are there */
  case CQ_DIM_TRUNCATE:
    if (dim <= r->teacher.dim) return CQ_OK;
    break;
  case CQ_DIM_EQUAL:
    if (dim == r->teacher.dim) return CQ_OK;
    break;
  }
  return cq_fail(error, CQ_ERR_ARGUMENT,
                 "the student %s has %d dimensions, the teacher %s %lld: use a projection%s (dim-match)", o->student,
                 dim, o->teacher, (long long)r->teacher.dim, dim < r->teacher.dim ? " or truncation" : "");
}

/* ---- the task ---- */

static cq_status make_batches(run *r, cq_error *error) {
  const size_t n = (size_t)r->training.o->batch_pairs;
  r->pairs = cq_alloc_array(n, sizeof *r->pairs);
  r->plain = cq_alloc_array(n, sizeof *r->plain);
  r->texts = cq_alloc_array(n, 2 * sizeof *r->texts);
  r->targets = cq_alloc_array(n, 2 * sizeof *r->targets);
  r->typed_ends = cq_alloc_array(n, 2 * sizeof *r->typed_ends);
  if (!r->pairs || !r->plain || !r->texts || !r->targets || !r->typed_ends) return cq_fail_memory(error, "batch");
  return cq_sampler_new(&r->sampler, &r->data, r->sampling, r->training.o->seed, error);
}

/* The weight of the contrastive loss in the current update. */
static double contrast_weight(const run *r) {
  const cq_schedule_plan *plan = &r->training.run.plan;
  const uint64_t step = cq_trainer_updates(r->training.trainer) + 1;
  const double final = r->o.final_contrast;
  if (final < 0 || step <= plan->n_warmup) return r->o.contrast;
  return final + (r->o.contrast - final) * cq_schedule_factor(plan, step);
}

/* The mean squared error, as without contrast, plus the contrastive loss with 1 / dim of its weight: a squared distance
 * is dim times a mean over dimensions. */
static cq_status contrast_batch(void *context, double *loss, float *gradients, const float *vectors, size_t n,
                                cq_error *error) {
  const run *r = context;
  const size_t dim = (size_t)cq_encoder_full_dim(r->training.encoder); /* the teacher's first ones, if it has more */
  const cq_soft_contrast contrast = {.candidates = r->candidates,
                                     .n_own = (size_t)r->training.o->batch_pairs,
                                     .n_candidates = r->n_candidates,
                                     .dim = (int64_t)dim,
                                     .temperature = r->o.temperature,
                                     .prefixes = r->o.matryoshka,
                                     .n_prefixes = r->o.n_matryoshka};
  double sum = 0, contrastive;
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < dim; k++) {
      const float difference = vectors[i * dim + k] - r->targets[i][k];
      sum += (double)difference * (double)difference;
      gradients[i * dim + k] += (float)(2.0 / ((double)n * (double)dim)) * difference;
    }
  }
  const double weight = contrast_weight(r) / (double)dim;
  const cq_status status = cq_soft_contrast_loss(&contrastive, gradients, vectors, n, &contrast, weight,
                                                 r->training.encoder->kernels, r->training.ctx, error);
  *loss = sum / ((double)n * (double)dim) + weight * contrastive;
  return status;
}

static void list_candidates(run *r, size_t n) {
  for (size_t i = 0; i < n; i++) r->candidates[i] = r->targets[i];
  r->n_candidates = n;
  for (size_t i = 0; i < n; i++)
    r->n_candidates += cq_hard_negatives_of(r->candidates + r->n_candidates, &r->hard, r->pairs[i].source);
}

/* Puts pairs first, then sentences without translations, both in their original order. Returns the number of pairs. */
static size_t sort_plain_last(cq_pair *pairs, cq_pair *plain, size_t n, const cq_parallel *data) {
  size_t n_pairs = 0, n_plain = 0;
  for (size_t i = 0; i < n; i++) {
    if (cq_parallel_is_plain(data, pairs[i].source, pairs[i].target))
      plain[n_plain++] = pairs[i];
    else
      pairs[n_pairs++] = pairs[i];
  }
  for (size_t i = 0; i < n_plain; i++) pairs[n_pairs + i] = plain[i];
  return n_pairs;
}

/* Writes a share of n texts otherwise, each by a draw of its place in the run. */
static cq_status augment_texts(run *r, cq_slice *texts, size_t n, cq_error *error) {
  const uint64_t batch = cq_trainer_batches(r->training.trainer);
  cq_builder_clear(&r->typed);
  for (size_t i = 0; i < n; i++) {
    cq_random random = cq_random_seeded(r->training.o->seed ^ cq_mix(batch), i);
    if (cq_random_uniform(&random) < r->o.augment)
      cq_text_typed(&r->typed, texts[i], (cq_typing)cq_random_below(&random, CQ_TYPED_BY_PEOPLE));
    r->typed_ends[i] = r->typed.n;
  }
  if (r->typed.failed) return cq_fail_memory(error, "batch");
  for (size_t i = 0, start = 0; i < n; start = r->typed_ends[i++])
    if (r->typed_ends[i] > start) texts[i] = (cq_slice){r->typed.data + start, r->typed_ends[i] - start};
  return CQ_OK;
}

/* Sentences: translations, those without any, sources. The k-th source is that of the k-th translation. */
static cq_status compute_distill_batch(void *context, cq_step_report *report, cq_error *error) {
  run *r = context;
  cq_trainer *trainer = r->training.trainer;
  const size_t n = (size_t)r->training.o->batch_pairs;
  const uint64_t batch = cq_trainer_batches(trainer);
  cq_sampler_draw(r->pairs, &r->sampler, r->n_batches ? batch % r->n_batches : batch, n);
  const size_t n_translations = sort_plain_last(r->pairs, r->plain, n, &r->data);
  const size_t n_sources = (size_t)ceil(r->o.source_share * (double)n_translations);
  for (size_t i = 0; i < n; i++) {
    const cq_slice source = r->data.sources[r->pairs[i].source];
    r->texts[i] = r->data.targets[r->pairs[i].target];
    r->targets[i] = cq_cached_encoder_vector(&r->teacher, source);
    if (i < n_sources) r->texts[n + i] = source, r->targets[n + i] = r->targets[i];
  }
  cq_status status = r->o.augment > 0 ? augment_texts(r, r->texts, n + n_sources, error) : CQ_OK;
  if (status) return status;
  cq_trainer_drop_pieces(trainer, r->o.piece_dropout, n_translations);
  if (!(r->o.contrast > 0)) return cq_trainer_step(trainer, r->texts, r->targets, n + n_sources, report, error);
  list_candidates(r, n);
  return cq_trainer_step_jointly(trainer, r->texts, n + n_sources, contrast_batch, r, report, error);
}

static cq_status identify_distill(const void *context, cq_run_identity *out, cq_error *error) {
  const run *r = context;
  char teacher[CQ_IDENTITY_HEX];
  cq_status status = cq_encoder_fingerprint(teacher, r->teacher.encoder, error);
  if (status) return status;
  cq_run_identity_options(out, &cq_group_distill, &r->o);
  cq_run_identity_fingerprint(out, "teacher", teacher);
  cq_run_identity_precision(out, "teacher's precision", r->teacher.encoder);
  cq_training_identify_data(out, "train", &r->data);
  cq_run_identity_count(out, "source-text files", r->o.n_source_text);
  return CQ_OK;
}

static void distill_card_title(const void *context, cq_builder *card) {
  const run *r = context;
  cq_builder_text(card, r->training.encoder->of_pairs
                            ? "A reranker (cross-encoder) that gives a translated query and a passage the logit that a "
                              "teacher gives the original. Made with calque by distillation of logits (Hofstätter et "
                              "al. 2020) from "
                        : r->o.n_train > 0
                            ? "A sentence encoder that gives a sentence and its translations one vector. Made with "
                              "calque by multilingual knowledge distillation (Reimers & Gurevych 2020) from "
                            : "A sentence encoder that gives a sentence the vector that a larger one gives it. Made "
                              "with calque by distillation from ");
  cq_model_card_name(card, r->o.teacher);
  cq_builder_char(card, '.');
}

static void distill_card_data(const void *context, cq_builder *card) {
  const run *r = context;
  cq_model_card_data_heading(card);
  cq_model_card_data(card, &r->data);
}

static void distill_card_task(const void *context, cq_builder *card) {
  const run *r = context;
  cq_builder_text(card, "- teacher ");
  cq_model_card_name(card, r->o.teacher);
  cq_builder_text(card, ", student begun from ");
  cq_model_card_name(card, r->o.student);
  cq_builder_printf(card, "\n- loss: mean squared error to the teacher's %s of the source, on the source",
                    r->training.encoder->of_pairs ? "logit" : "vector");
  if (r->o.n_train > 0) cq_builder_text(card, " and on its translation");
  if (r->o.n_train > 0 && r->o.source_share < 1) cq_builder_printf(card, ", %g of the sources", r->o.source_share);
  if (r->o.contrast > 0) {
    cq_builder_printf(card, "; %g times", r->o.contrast);
    if (r->o.final_contrast >= 0) cq_builder_printf(card, ", in the end %g times,", r->o.final_contrast);
    cq_builder_printf(card, " a contrastive loss with the teacher's similarities as soft labels, temperature %g",
                      r->o.temperature);
  }
  if (r->o.augment > 0) cq_builder_printf(card, "; %g of the text as people type it", r->o.augment);
  for (size_t i = 0; i < r->o.n_matryoshka; i++)
    cq_builder_printf(card, "%s%d", i ? ", " : ", on all dimensions and on the first ", r->o.matryoshka[i]);
  if (r->o.n_matryoshka) cq_builder_text(card, " (Matryoshka)");
  if (r->o.hard_negatives)
    cq_builder_printf(card, "; among its candidates the %zu nearest other sources of each", r->o.hard_negatives);
  if (r->o.near_misses) cq_builder_text(card, "; near misses of the sources among its candidates");
  if (r->training.o->freeze_body) cq_builder_text(card, "; only the vocabulary's embeddings were trained");
  cq_builder_char(card, '\n');
}

/* Both kinds of files, sampled in the same way. */
static cq_status read_files(run *r, cq_error *error) {
  const cq_distill_options *o = &r->o;
  cq_training *t = &r->training;
  cq_parallel_options text = cq_training_text_options(t);
  cq_training_data *all = cq_alloc_array(o->n_train + o->n_source_text, sizeof *all);
  if (!all) return cq_fail_memory(error, "files");
  for (size_t i = 0; i < o->n_train; i++) all[i] = o->train[i];
  for (size_t i = 0; i < o->n_source_text; i++) all[o->n_train + i] = o->source_text[i];
  cq_status status = cq_training_sampling(&r->sampling, t, all, o->n_train + o->n_source_text, error);
  cq_free(all);
  if (!status) status = cq_training_read(&r->data, t, o->train, o->n_train, &text, error);
  text.plain = true;
  return status ? status : cq_training_read(&r->data, t, o->source_text, o->n_source_text, &text, error);
}

cq_status cq_distill(cq_training_result *result, const cq_distill_options *options, cq_context *ctx, cq_error *error) {
  return cq_distill_part(result, options, NULL, ctx, error);
}

cq_status cq_distill_part(cq_training_result *result, const cq_distill_options *options, const cq_distillation_end *end,
                          cq_context *ctx, cq_error *error) {
  run *r = cq_alloc_zeroed(sizeof *r);
  if (!r) return cq_fail_memory(error, "distillation");
  const cq_distill_options *o = &r->o;
  cq_training_options training;
  const cq_training_task task = {.name = "distill",
                                 .batch = compute_distill_batch,
                                 .identify = identify_distill,
                                 .card_title = distill_card_title,
                                 .card_data = distill_card_data,
                                 .card_task = distill_card_task,
                                 .context = r};
  cq_training *t = &r->training;
  cq_status status = cq_options_take(&r->o, &cq_group_distill, options, error);
  if (!status) status = cq_options_take_part(&training, &parts[0], o, error);
  if (!status) status = cq_training_open(t, &training, &task, ctx, error);
  t->task.base_model = o->teacher, t->task.labeled = &r->data;
  if (end) t->task.card_end = end->card, t->task.done = end->done, t->task.time = end->time;
  if (!status) status = read_files(r, error);
  /* Rank 0 runs the teacher; the others wait until it has released the cache, and read the vectors from there. */
  if (!status && cq_ranks_rank(training.ranks) > 0) status = cq_ranks_meet(training.ranks, NULL, error);
  cq_encoder_options opening = cq_encoder_default_options();
  opening.notice = cq_training_notice, opening.notice_context = t;
  if (!status)
    status = cq_cached_teacher_open(&r->teacher, o->teacher, training.precision == CQ_TRAINING_BF16, &opening,
                                    o->cache_directory, error);
  if (!status && !r->teacher.encoder->of_pairs)
    status =
        cq_check_columns(&r->data, cq_encoder_text_module(r->teacher.encoder)->tokenizer, cq_training_notice, t, error);
  if (!status) status = open_student(r, error);
  if (!status) status = check_prefixes(r, error);
  if (!status) status = make_batches(r, error);
  if (!status) status = prepare_teacher(r, error);
  if (!status && is_projected(r)) status = append_projection(r, error);
  if (!status) status = cq_training_run(t, cq_parallel_pairs(&r->data), result, error);
  cq_training_close(t);
  cq_sampler_free(&r->sampler);
  cq_hard_negatives_free(&r->hard);
  cq_cached_encoder_close(&r->teacher);
  cq_parallel_free(&r->data);
  cq_free(r->pairs);
  cq_free(r->plain);
  cq_free(r->texts);
  cq_free(r->targets);
  cq_free(r->candidates);
  cq_builder_free(&r->typed);
  cq_free(r->typed_ends);
  cq_free(r);
  return status;
}
