/* Adds new languages to a model in one call:
 *
 *   files ──held out──▶ train, dev ──student──▶ a few timed steps ──▶ the number of steps ──distill──▶ output
 *
 * The intermediate files and the plan are in OUTPUT.extend; the run itself is in OUTPUT.work, as for any
 * distillation. */
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "calque/reranker.h"
#include "format/json.h"
#include "model/model_language.h"
#include "ranks/ranks.h"
#include "recipe/extend/extend_language.h"
#include "recipe/extend/extend_options.h"
#include "recipe/extend/extending.h"
#include "recipe/run/work_directory.h"
#include "recipe/student/make_student.h"
#include "tensor/products.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the student ---- */

/* What an earlier call was told while it made the student, told again. */
static cq_status read_notices(cq_extending *e, cq_error *error) {
  cq_slice text = {0};
  const cq_status status = cq_file_exists(e->notices) ? cq_file_read(&text, e->notices, error) : CQ_OK;
  cq_builder_bytes(&e->made, text.data, text.n);
  for (size_t at = 0, end; at < text.n; at = end + 1) {
    for (end = at; end < text.n && text.data[end] != '\n';) end++;
    cq_extend_choose(&e->news, "%.*s", (int)(end - at), text.data + at);
  }
  cq_free((void *)(uintptr_t)text.data);
  return status;
}

/* Tells a notice and keeps it, unless it was kept by an earlier call, whose part of the work is done again. */
static void keep_notice(void *extending, const char *text) {
  cq_extending *e = extending;
  const char *earlier = e->made.data ? strstr(e->made.data, text) : NULL;
  if (earlier && earlier[strlen(text)] == '\n') return;
  cq_builder_printf(&e->made, "%s\n", text);
  if (!e->made.failed && cq_file_write(e->notices, e->made.data, e->made.n, NULL)) e->made.failed = true;
  cq_extend_notice(&e->news, text);
}

/* Makes it, unless an earlier call has. */
static cq_status make_student(cq_extending *e, cq_error *error) {
  const cq_extend_options *o = &e->o;
  cq_training_data *text;
  cq_student_options s = e->parts.student;
  cq_status status = cq_extend_student_text(&text, &s.n_text, &e->texts, error);
  s.text = text;
  s.notice = keep_notice, s.notice_context = e;
  s.progress = cq_extend_progress, s.progress_context = &e->news;
  cq_extend_choose(&e->news, "student: %s (--kind); vocabulary: %d pieces at most (--vocab-size)",
                   o->kind == CQ_EXTEND_STATIC ? "the mean of word vectors"
                                               : "the model's layers under a new vocabulary",
                   s.vocab_size);
  if (s.keep_words) cq_extend_choose(&e->news, "all words of the model's own vocabulary are in it (--drop-words)");
  if (s.fold_variants) cq_extend_choose(&e->news, "spelling variants are read as one (--keep-variants)");
  if (cq_extend_languages(&e->texts) > 1)
    cq_extend_choose(&e->news, "its text: balanced between the languages by %.3g (--vocab-balance)", o->vocab_balance);
  if (e->language)
    cq_extend_choose(&e->news, "%s has a vocabulary of its own (--own-vocabulary): its embeddings alone are trained",
                     e->language);
  if (!status) status = read_notices(e, error);
  if (!status && !cq_file_exists(e->student)) status = cq_student_make(e->student, e->vocabulary, &s, e->ctx, error);
  cq_free(text);
  if (!status && e->made.failed) status = cq_fail_file(error, CQ_ERR_IO, e->notices, "cannot be written");
  return status;
}

/* ---- a reranker ---- */

static bool is_reranker(const cq_extending *e) {
  return e->o.kind == CQ_EXTEND_RERANKER;
}

static cq_status check_kind(const cq_extending *e, cq_error *error) {
  bool is_one;
  const cq_status status = cq_model_is_reranker(&is_one, e->o.model, error);
  if (status || is_one == is_reranker(e)) return status;
  return cq_fail(error, CQ_ERR_ARGUMENT,
                 is_one ? "%s is a reranker, which needs kind reranker"
                        : "%s is no reranker: kind reranker is for cross-encoders with one label",
                 e->o.model);
}

/* A pair is as long as its two texts. */
static cq_status make_pairs(cq_extending *e, cq_error *error) {
  if (!is_reranker(e)) return CQ_OK;
  const cq_status status = cq_extend_texts_make_pairs(&e->texts, error);
  if (e->parts.run.max_characters) e->parts.run.max_characters = 2 * e->parts.run.max_characters + 1;
  return status;
}

/* ---- the plan ---- */

static void tell_settings(const cq_extending *e) {
  const cq_training_options run = e->parts.run;
  const bool bf16 = run.precision == CQ_TRAINING_BF16;
  const cq_precision in_use = cq_products_of(cq_kernels_best(), bf16 ? CQ_PRECISION_BF16 : CQ_PRECISION_F32)->precision;
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
  else if (!is_reranker(e))
    cq_extend_choose(&e->news, "contrastive loss: none (--contrast)");
  cq_extend_choose(
      &e->news,
      "share of sources %g (--source-share); piece dropout %g (--piece-dropout), other dropout %g (--dropout)",
      d.source_share, d.piece_dropout, run.dropout);
  cq_extend_choose(
      &e->news,
      "batches of %d pairs (--batch), sentences of at most %d characters (--max-characters; 0: any), in %s "
      "(--precision%s)",
      run.batch_pairs, run.max_characters, cq_precision_name(in_use),
      bf16 && in_use != CQ_PRECISION_BF16 ? "; this processor has no products in bf16" : "");
}

/* Reports languages that are lost: they need the model's layers unchanged, but the student changes them. */
static cq_status tell_languages_left(const cq_extending *e, cq_error *error) {
  char model[CQ_EXTEND_PATH];
  json_t *names = NULL;
  cq_status status = cq_model_resolve(model, sizeof model, e->o.model, error);
  if (!status) status = cq_language_list(&names, model, error);
  if (!status && names)
    cq_extend_choose(
        &e->news,
        "%zu languages in the model's directory are left out: they are for its layers as they are, and these will "
        "be trained (--own-vocabulary adds a language instead)",
        json_array_size(names));
  json_decref(names);
  return status;
}

static cq_status make_plan(cq_extending *e, cq_error *error) {
  cq_status status = e->language ? cq_extend_language_check(&e->o, e->language, e->work, error) : CQ_OK;
  if (!status && !e->language && e->o.kind == CQ_EXTEND_BODY) status = tell_languages_left(e, error);
  if (!status) status = cq_extend_texts_make(&e->texts, error);
  if (!status) cq_extend_texts_find_dev(&e->texts);
  if (!status) status = make_student(e, error);
  if (!status) status = make_pairs(e, error);
  if (!status) tell_settings(e);
  if (!status && e->o.run->n_dev == 0 && e->texts.n_dev == 0)
    cq_extend_choose(
        &e->news,
        "nothing is held out, because no file has twenty sources: whether training helps is not measured, and the "
        "model of the last step is kept (--dev)");
  const uint64_t given = e->o.run->steps;
  e->steps = (cq_extend_steps){given, given};
  if (!status && given && e->o.time)
    cq_extend_choose(&e->news, "steps: %llu, as given, whatever the time (--steps)", (unsigned long long)given);
  if (!status && !given) status = cq_extend_choose_steps(e, error);
  if (!status) status = cq_extend_card_keep(e, error);
  return status ? status : cq_extend_plan_write(e->plan, e->steps, &e->texts, error);
}

/* ---- the whole ---- */

/* Whether training is done: the model is in place, and its work directory is gone. What is left of that is removed. */
static bool is_trained(const cq_extending *e) {
  char under_way[CQ_EXTEND_PATH + 8];
  snprintf(under_way, sizeof under_way, "%.*s.work", (int)cq_path_length(e->trained), e->trained);
  cq_remove_leftovers(under_way);
  return !cq_file_exists(under_way) && cq_file_exists(e->language ? e->trained : e->done);
}

/* The result of a run that was killed when training was done. */
static cq_status read_result(cq_training_result *result, const cq_extending *e, cq_error *error) {
  cq_slice image = {0};
  *result = (cq_training_result){.steps = e->steps.planned, .best_step = e->steps.planned, .best_score = NAN};
  const cq_status status = cq_file_exists(e->done) ? cq_file_read(&image, e->done, error) : CQ_OK;
  if (image.n == sizeof *result) memcpy(result, image.data, image.n);
  cq_free((void *)(uintptr_t)image.data);
  return status;
}

static cq_status train(cq_training_result *result, const cq_extending *e, bool replace, cq_error *error) {
  cq_training_options run = e->parts.run;
  cq_builder card = {0};
  run.output = e->trained, run.replace = replace, run.steps = e->steps.planned, run.balanced |= e->texts.n > 1;
  if (run.n_dev == 0 || is_reranker(e)) run.dev = e->texts.dev, run.n_dev = e->texts.n_dev;
  cq_status status = cq_extend_card_end(&card, e, error);
  const cq_distillation_end end = {
      .time = {e->steps.given ? 0 : e->started + e->budget, e->budget}, .card = {card.data, card.n}, .done = e->done};
  const cq_distill_options d = cq_extend_distillation(e, &run);
  if (!status) status = cq_distill_part(result, &d, &end, e->ctx, error);
  cq_builder_free(&card);
  return status;
}

static cq_status name_paths(cq_extending *e, cq_error *error) {
  const char *output = e->o.run->output;
  if ((size_t)snprintf(e->work, sizeof e->work, "%.*s.extend", (int)cq_path_length(output), output) >=
      sizeof e->work - 64)
    return cq_fail(error, CQ_ERR_ARGUMENT, "the output's name is too long");
  cq_status status = cq_path_join(e->plan, sizeof e->plan, e->work, "plan", error);
  if (!status) status = cq_path_join(e->identity, sizeof e->identity, e->work, "identity", error);
  if (!status) status = cq_path_join(e->notices, sizeof e->notices, e->work, "notices", error);
  if (!status) status = cq_path_join(e->student, sizeof e->student, e->work, "student", error);
  if (!status) status = cq_path_join(e->vocabulary, sizeof e->vocabulary, e->work, "vocabulary", error);
  if (!status) status = cq_path_join(e->done, sizeof e->done, e->work, "done", error);
  return status ? status
                : cq_path_join(e->trained, sizeof e->trained, e->language ? e->work : "",
                               e->language ? "trained" : output, error);
}

/* Creates the work directory of a new run. When a run is resumed, it already contains what the run has made. */
static cq_status open_work(const cq_extending *e, bool under_way, cq_error *error) {
  const cq_extend_options *o = &e->o;
  const cq_status status = cq_work_directory_check_output(o->run->output, error);
  if (status) return status;
  cq_remove_leftovers(e->work);
  if (!under_way && !o->run->replace && cq_file_exists(o->run->output))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, o->run->output,
                        o->run->resume ? "already exists, and no run is under way next to it: it is finished"
                                       : "already exists (--replace overwrites it)");
  if (under_way)
    return o->run->resume
               ? CQ_OK
               : cq_fail_file(
                     error, CQ_ERR_ARGUMENT, e->work,
                     "an earlier call ended before it was done: resume it (--resume), or remove this and %s.work",
                     o->run->output);
  cq_directory_remove(e->work);
  return cq_directory_make(e->work, error);
}

/* Makes the plan, or reads it when resuming a run that had one. Afterwards, the text and the student exist. */
static cq_status open_plan(cq_extending *e, bool under_way, bool planned, cq_error *error) {
  const bool leads = cq_ranks_rank(e->o.run->ranks) == 0;
  e->texts = (cq_extend_texts){.o = &e->o, .work = e->work, .news = &e->news};
  cq_status status = cq_extend_inputs_open(&e->inputs, &e->o, &e->parts, e->work, error);
  if (!status) status = cq_extend_texts_open(&e->texts, error);
  if (!status && under_way) status = cq_extend_identity_compare(e->identity, &e->texts, error);
  if (!status && leads) status = cq_extend_identity_write(e->identity, &e->o, error);
  if (status) return status;
  if (!planned)
    return leads ? make_plan(e, error)
                 : cq_fail_file(error, CQ_ERR_IO, e->plan, "not found: all ranks must see the directory of rank 0");
  cq_extend_texts_drop_empty(&e->texts);
  status = cq_extend_plan_read(&e->steps, &e->texts, e->plan, error);
  if (!status) cq_extend_texts_find_dev(&e->texts);
  return status ? status : make_pairs(e, error);
}

static cq_status extend(cq_extending *e, cq_training_result *result, cq_error *error) {
  const cq_extend_options *o = &e->o;
  const bool leads = cq_ranks_rank(o->run->ranks) == 0;
  cq_status status = name_paths(e, error);
  if (!status && !leads) status = cq_ranks_meet(o->run->ranks, NULL, error); /* until rank 0 has made the plan */
  if (status) return status;
  const bool planned = cq_file_exists(e->plan);
  const bool under_way = planned || (o->run->resume && cq_file_exists(e->identity));
  const bool replace = o->run->replace || under_way;
  bool trained = leads && planned && is_trained(e);
  if (leads && (status = open_work(e, under_way, error))) return status;
  status = open_plan(e, under_way, planned, error);
  if (status && status != CQ_ERR_STOPPED && leads && !under_way && !cq_file_exists(e->plan))
    cq_directory_remove(e->work); /* nothing to resume */
  if (!status && leads) status = cq_ranks_meet(o->run->ranks, NULL, error);
  if (status) return status;
  status = cq_ranks_broadcast(o->run->ranks, &trained, sizeof trained, error);
  if (!status) status = trained ? read_result(result, e, error) : train(result, e, replace, error);
  if (!status && e->language) /* added to a copy of the model */
    status = cq_extend_language_save(o, e->language, e->trained, replace, error);
  return status || !leads ? status : cq_directory_retire(e->work, error);
}

cq_status cq_extend(cq_training_result *result, const cq_extend_options *options, cq_context *ctx, cq_error *error) {
  cq_training_result ignored;
  cq_extending *e = cq_alloc_zeroed(sizeof *e);
  if (!e) return cq_fail_memory(error, "extending");
  const cq_extend_options *o = &e->o;
  cq_status status = cq_extend_take(&e->o, &e->parts, options, error);
  if (!status && !o->model) status = cq_fail(error, CQ_ERR_ARGUMENT, "a model to extend is needed");
  if (!status && o->own_vocabulary && cq_ranks_count(o->run->ranks) > 1)
    status = cq_fail(error, CQ_ERR_ARGUMENT, "a vocabulary of its own is trained by one process");
  if (status) {
    cq_free(e);
    return status;
  }
  e->news = (cq_extend_news){.progress = o->run->progress, .context = o->run->progress_context, .told = &e->told};
  e->ctx = ctx, e->started = cq_seconds(CLOCK_MONOTONIC);
  if (!cq_extend_time(&e->budget, o->time ? o->time : "20m")) e->budget = 0; /* checked */
  status = check_kind(e, error);
  if (!status && o->own_vocabulary) status = cq_extend_language(&e->language, o, error);
  if (!status) status = extend(e, result ? result : &ignored, error);
  cq_extend_texts_close(&e->texts);
  cq_extend_inputs_close(&e->inputs);
  cq_builder_free(&e->told);
  cq_builder_free(&e->made);
  cq_free(e);
  return status;
}
