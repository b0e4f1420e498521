/* New languages for a model by one call:
 *
 *   files ──held out──▶ train, dev ──student──▶ a few steps, timed ──▶ the number of steps ──distill──▶ output
 *
 * What was made on the way, and the plan, lie in OUTPUT.extend; the run itself in OUTPUT.work, as any distillation's. */
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/options.h"
#include "format/json.h"
#include "model/model_language.h"
#include "ranks/ranks.h"
#include "recipe/extend/extend_card.h"
#include "recipe/extend/extend_language.h"
#include "recipe/extend/extending.h"
#include "recipe/extend/plan.h"
#include "recipe/run/work_directory.h"
#include "train/training_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"body", "static", NULL};
static const char *const precisions[] = {"f32", "bf16", NULL};

#define O cq_extend_options
static const cq_option option_rows[] = {
    {CQ_TEXT(O, "output", output, KEEPS, "DIR", "the new model; work in progress lies in DIR.extend and DIR.work"),
     .letter = 'o', .flags = CQ_OPTION_REQUIRED},
    {CQ_DATA(O, "to", to, n_to, CHANGES, "LANGUAGE=TSV[:WEIGHT]",
             "text of a new language: a sentence the model understands, a tab, its translation")},
    {CQ_DATA(
        O, "dictionary", dictionaries, n_dictionaries, CHANGES, "LANGUAGE=TSV",
        "a dictionary: a word the model understands, a tab, its translation. Word alignment with it says where the "
        "embeddings of the language's pieces begin; where the language has no --to, or little, it also translates "
        "text for training, word by word")},
    {CQ_DATA(O, "text", text, n_text, CHANGES, "[LANGUAGE=]FILE",
             "untranslated text of a language for its vocabulary, or, without one, of the model's own for dictionaries "
             "to translate")},
    {CQ_TEXT(O, "time", time, CHANGES, "TIME", "for all of it, for example 90s, 20m or 1.5h"), .otherwise = "20m"},
    {CQ_CHOICE(O, "kind", kind, CHANGES, CQ_EXTEND_BODY, kinds, "KIND",
               "body: the model's layers under a new vocabulary; static: the mean of word vectors, tens of times as "
               "fast, with less of the nuances")},
    {CQ_DATA(O, "dev", dev, n_dev, CHANGES, "[LABEL=]TSV", "held-out pairs (dev set)"),
     .otherwise = "a twentieth of each file, at most 1,000 pairs"},
    {CQ_FLAG(O, "lowercase", lowercase, CHANGES, "lowercase all text (an uncased model)")},
    {CQ_FLAG(O, "drop-words", drop_words, CHANGES,
             "of the model's own vocabulary, keep only what the text needs (see calque model new --keep-words)")},
    {CQ_FLAG(O, "keep-variants", keep_variants, CHANGES,
             "do not read spelling variants as one (see calque model new --fold-variants)")},
    {CQ_FLAG(
        O, "lemmas-only", lemmas_only, CHANGES,
        "use dictionaries as they are: add neither transliterated names (see calque data transliterate) nor, for a "
        "language without --to, inflected forms found in its --text (see calque data inflect)")},
    {CQ_INT(O, "vocab-size", vocab_size, CHANGES, 0, 0, 1 << 22, "N", "size of the vocabulary"),
     .otherwise =
         "20,000, and 12,000 for each language and each dictionary, of at most eight each; twice that for --kind "
         "static, but at most 212,000"},
    {CQ_NUMBER(O, "vocab-balance", vocab_balance, CHANGES, 0.7, 0, 1, "X",
               "of the vocabulary's text, between 0: what there is of each language, and 1: as much of each")},
    {CQ_COUNT(O, "steps", steps, CHANGES, 0, 0, 0, "N", "steps of training"), .otherwise = "what fits into --time"},
    {CQ_NUMBER(O, "lr", learning_rate, CHANGES, 0, 0, 1e300, "RATE", "peak learning rate"),
     .otherwise = "body 3e-4, static 0.03"},
    {CQ_NUMBER(O, "embedding-lr", embedding_learning_rate, CHANGES, 0, 0, 1e300, "RATE",
               "peak learning rate of the vocabulary's embeddings"),
     .otherwise = "body 1e-3, static 0.03"},
    {CQ_NUMBER(O, "contrast", contrast, CHANGES, -1, -1, 1e6, "WEIGHT",
               "weight of a contrastive loss beside the squared distance; 0: none"),
     .otherwise = "body 4, with --own-vocabulary 1; static 0"},
    {CQ_NUMBER(O, "final-contrast", final_contrast, CHANGES, -1, -1, 1e6, "WEIGHT",
               "that weight at the end, to which it falls or rises as the learning rate falls"),
     .otherwise = "1, or as --contrast if that is given"},
    {CQ_NUMBER(O, "temperature", temperature, CHANGES, -1, -1, 1e6, "T", "of the contrastive loss"),
     .otherwise = "0.05"},
    {CQ_INT(O, "hard-negatives", hard_negatives, CHANGES, -1, -1, 1000, "N",
            "hard negatives: the N nearest other sentences of each, in the model's own language, are further "
            "candidates of the "
            "contrastive loss"),
     .otherwise = "4, with a contrastive loss"},
    {CQ_NUMBER(O, "source-share", source_share, CHANGES, -1, -1, 1, "SHARE",
               "share of each batch's sentences in the model's own language that are trained on, beside all "
               "translations"),
     .otherwise = "body 0.25, static 1"},
    {CQ_NUMBER(O, "piece-dropout", piece_dropout, CHANGES, -1, -1, 0.9, "SHARE",
               "subword regularisation: split translations without a share of the vocabulary's pieces"),
     .otherwise = "body 0.15, static 0"},
    {CQ_NUMBER(O, "gloss-share", gloss_share, CHANGES, -1, -1, 1, "SHARE",
               "share of a language's pairs that are sentences glossed with its dictionary, beside translations"),
     .otherwise = "0.4 for fewer than 30,000 translations and 10,000 entries or more"},
    {CQ_INTS(O, "matryoshka", matryoshka, n_matryoshka, CHANGES, 1, 1 << 20, "N,...",
             "also train the first N dimensions, so that vectors can be truncated to these (Matryoshka, see calque "
             "distill --matryoshka)"),
     .flags = CQ_OPTION_COMMAS, .otherwise = ""},
    {CQ_INT(O, "batch", batch_pairs, CHANGES, 64, 1, 1 << 20, "PAIRS", "batch size in pairs"), .letter = 'b'},
    {CQ_INT(O, "max-characters", max_characters, CHANGES, 250, 0, 0, "N",
            "leave out pairs with a sentence of more characters; 0: no limit")},
    {CQ_NUMBER(O, "weight-decay", weight_decay, CHANGES, -1, -1, 1e6, "X", "AdamW: weight decay"),
     .otherwise = "body 0.01, static 0"},
    {CQ_NUMBER(O, "eps", adam_eps, CHANGES, -1, -1, 1e6, "X", "AdamW: epsilon"), .otherwise = "1e-9"},
    {CQ_NUMBER(O, "dropout", dropout, CHANGES, -1, -1, 1, "P", "dropout while training"), .flags = CQ_OPTION_BELOW_MAX,
     .otherwise = "0"},
    {CQ_NUMBER(O, "warmup", warmup_steps, CHANGES, -1, -1, 0x1p53, "STEPS",
               "warm-up: steps in which the learning rate rises; below 1: a share of all steps"),
     .otherwise = "0.1"},
    {CQ_INT(O, "evaluate-every", evaluate_every, CHANGES, -1, -1, 0, "STEPS",
            "measure on the held-out pairs; 0: only at the end"),
     .otherwise = "a tenth of all steps"},
    {CQ_CHOICE(O, "precision", precision, CHANGES, CQ_TRAINING_BF16, precisions, "TYPE",
               "mixed precision: multiply in this while training, where the processor can; else in f32")},
    {CQ_COUNT(O, "seed", seed, CHANGES, 1, 0, 0, "N", "seed of the random numbers")},
    {CQ_TEXT(O, "cache", cache_directory, KEEPS, "DIR", "where the model's vectors are kept for the next run"),
     .otherwise = "~/.cache/calque"},
    {CQ_FLAG(
        O, "own-vocabulary", own_vocabulary, CHANGES,
        "one language: give it a tokenizer and word embeddings of its own and leave everything else of the model as "
        "it is, so that no other language's vectors change by a bit. DIR is a copy of MODEL with "
        "languages/LANGUAGE, and DIR/languages/LANGUAGE a model's name for every command")},
    {CQ_FLAG(O, "skip-bad", skip_bad, KEEPS, "count malformed lines and go on, instead of failing at the first")},
    {CQ_FLAG(O, "resume", resume, KEEPS, "continue a run that was stopped")},
    {CQ_FLAG(O, "replace", replace, KEEPS, "overwrite an existing output directory")},
};

/* "90s", "20m", "1.5h" in seconds; false when it is none of them. */
static bool parse_time(double *seconds, const char *text) {
  char *end;
  const double n = cq_strtod(text, &end);
  const double unit = !strcmp(end, "s") ? 1 : !strcmp(end, "m") ? 60 : !strcmp(end, "h") ? 3600 : 0;
  *seconds = n * unit;
  return end > text && unit > 0 && n > 0 && *seconds < 1e8;
}

/* Whether there is a contrastive loss: static students have one only where it is asked for. */
static bool has_contrast(const O *o) {
  return o->contrast > 0 || (o->contrast < 0 && (o->kind == CQ_EXTEND_BODY || o->n_matryoshka));
}

static cq_status check_extend(const void *options, cq_error *error) {
  const O *o = options;
  double seconds;
  if (!o->output) return cq_fail(error, CQ_ERR_ARGUMENT, "an output directory is needed");
  if (o->n_to + o->n_dictionaries == 0)
    return cq_fail(error, CQ_ERR_ARGUMENT,
                   "translations or a dictionary of a new language are needed (to, dictionary)");
  for (size_t i = 0; i < o->n_dictionaries; i++)
    if (!o->dictionaries[i].label)
      return cq_fail(error, CQ_ERR_ARGUMENT, "%s: which language's dictionary? LANGUAGE=FILE", o->dictionaries[i].path);
  bool has_sentences = o->n_to > 0;
  for (size_t i = 0; i < o->n_text; i++) has_sentences |= !o->text[i].label;
  if (!has_sentences)
    return cq_fail(error, CQ_ERR_ARGUMENT,
                   "a dictionary alone needs text of the model's own language to translate (text without a language)");
  for (size_t i = 0; i < o->n_text; i++)
    if (!o->own_vocabulary && o->text[i].label && !cq_extend_has_file(o->to, o->n_to, o->text[i].label) &&
        !cq_extend_has_file(o->dictionaries, o->n_dictionaries, o->text[i].label))
      return cq_fail(error, CQ_ERR_ARGUMENT, "%s: text of '%s', which has neither translations nor a dictionary",
                     o->text[i].path, o->text[i].label);
  const char *of_contrast = o->hard_negatives > 0   ? "hard-negatives"
                            : o->final_contrast > 0 ? "final-contrast"
                            : o->temperature >= 0   ? "temperature"
                            : o->n_matryoshka       ? "matryoshka"
                                                    : NULL;
  if (of_contrast && !has_contrast(o))
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s: of the contrastive loss, which needs a weight (contrast)", of_contrast);
  if (o->temperature >= 0 && o->temperature < 1e-4)
    return cq_fail(error, CQ_ERR_ARGUMENT, "temperature is %g, expected 0.0001 or more", o->temperature);
  if (o->adam_eps == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "eps is 0, expected more");
  if (o->gloss_share == 1)
    return cq_fail(error, CQ_ERR_ARGUMENT,
                   "gloss-share is 1: nothing is left for the translations; a language of which no translations are "
                   "given is learned from glosses alone");
  if (o->time && !parse_time(&seconds, o->time))
    return cq_fail(error, CQ_ERR_ARGUMENT, "time is '%s', expected a number and s, m or h, for example 20m", o->time);
  const char *language;
  return o->own_vocabulary ? cq_extend_language(&language, o, error) : CQ_OK;
}
#undef O

const cq_option_group cq_group_extend = {.name = "extend",
                                         CQ_ROWS(cq_extend_options, option_rows),
                                         .check = check_extend,
                                         CQ_FIELDS(CQ_FIELD(cq_extend_options, model),
                                                   CQ_CALLBACK(cq_extend_options, progress),
                                                   CQ_FIELD(cq_extend_options, ranks))};

enum { MAX_LANGUAGES_COUNTED = 8 };

/* ---- the student ---- */

/* Each language and each dictionary asks for 12,000 pieces. A static student, which cannot put the pieces of a word
 * together again, gets twice as many. */
static int vocabulary_size(const cq_extending *e) {
  enum { SHARED = 20000, EACH = 12000, MOST = SHARED + 2 * MAX_LANGUAGES_COUNTED * EACH };
  const size_t languages = cq_min(cq_extend_languages(&e->texts), MAX_LANGUAGES_COUNTED);
  const size_t dictionaries = cq_min(cq_extend_dictionaries(&e->texts), MAX_LANGUAGES_COUNTED);
  const size_t pieces = SHARED + EACH * (languages + dictionaries);
  return (int)(e->o.kind == CQ_EXTEND_STATIC ? cq_min(2 * pieces, MOST) : pieces);
}

static cq_status make_student(cq_extending *e, cq_error *error) {
  const cq_extend_options *o = &e->o;
  cq_training_data *text;
  cq_student_options s = cq_student_default_options();
  cq_status status = cq_extend_student_text(&text, &s.n_text, &e->texts, error);
  s.kind = e->recipe->kind;
  s.from = o->model;
  s.text = text;
  s.vocab_size = o->vocab_size ? o->vocab_size : vocabulary_size(e);
  s.lowercase = o->lowercase, s.fold_variants = !o->keep_variants,
  s.keep_words = o->kind == CQ_EXTEND_BODY && !o->drop_words && !e->language, s.skip_bad = o->skip_bad,
  s.seed = o->seed, s.replace = true;
  s.normalize = o->kind == CQ_EXTEND_STATIC;
  s.notice = cq_extend_notice, s.notice_context = &e->news;
  cq_extend_choose(&e->news, "student: %s (--kind); vocabulary: %d pieces at most (--vocab-size)", e->recipe->what,
                   s.vocab_size);
  if (s.keep_words) cq_extend_choose(&e->news, "all words of the model's own vocabulary are in it (--drop-words)");
  if (s.fold_variants) cq_extend_choose(&e->news, "spelling variants are read as one (--keep-variants)");
  if (cq_extend_languages(&e->texts) > 1)
    cq_extend_choose(&e->news, "its text: balanced between the languages by %.3g (--vocab-balance)", o->vocab_balance);
  if (e->language)
    cq_extend_choose(&e->news, "%s has a vocabulary of its own (--own-vocabulary): its embeddings alone are trained",
                     e->language);
  if (!status) status = cq_student_new(e->student, &s, e->ctx, error);
  cq_free(text);
  return status;
}

/* ---- the plan ---- */

/* Languages beside the model belong to its body as it is, which the student changes. */
static cq_status tell_languages_left(const cq_extending *e, cq_error *error) {
  char model[CQ_EXTEND_PATH];
  json_t *names = NULL;
  cq_status status = cq_model_resolve(model, sizeof model, e->o.model, error);
  if (!status) status = cq_language_list(&names, model, error);
  if (!status && names)
    cq_extend_choose(
        &e->news,
        "%zu languages beside the model's files are left out: they are for its layers as they are, and these will "
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
  if (!status) cq_extend_tell_settings(e);
  if (!status && e->o.n_dev == 0 && e->texts.n_dev == 0)
    cq_extend_choose(
        &e->news,
        "nothing is held out, because no file has twenty sources: whether training helps is not measured, and the "
        "model of the last step is kept (--dev)");
  e->steps = e->o.steps;
  if (!status && e->steps && e->o.time)
    cq_extend_choose(&e->news, "steps: %llu, as asked for, whatever the time (--steps)", (unsigned long long)e->steps);
  if (!status && e->steps == 0) status = cq_extend_choose_steps(e, error);
  if (!status) status = cq_extend_card_keep(e, error);
  return status ? status : cq_extend_plan_write(e->plan, e->steps, &e->texts, error);
}

/* ---- the whole ---- */

static cq_status train(cq_training_result *result, const cq_extending *e, cq_error *error) {
  const cq_extend_options *o = &e->o;
  cq_training_options run = cq_extend_run_options(e);
  run.output = e->trained, run.resume = o->resume, run.replace = o->replace;
  run.steps = e->steps;
  run.dev = o->n_dev ? o->dev : e->texts.dev, run.n_dev = o->n_dev ? o->n_dev : e->texts.n_dev;
  run.checkpoint_every = (int)(e->steps / CQ_EXTEND_EVALUATIONS ? e->steps / CQ_EXTEND_EVALUATIONS : 1);
  run.evaluate_every = o->evaluate_every >= 0 ? o->evaluate_every : run.checkpoint_every;
  run.progress = o->progress, run.progress_context = o->progress_context;
  run.ranks = o->ranks;
  const cq_status status = cq_extend_distill(result, e, &run, error);
  return status || cq_ranks_rank(o->ranks) > 0 ? status : cq_extend_card_complete(e, error);
}

/* What training wrote into the work directory becomes a language of the model's copy. A run that was killed in between
 * is not trained again. */
static cq_status train_language(cq_training_result *result, const cq_extending *e, bool replace, cq_error *error) {
  char under_way[CQ_EXTEND_PATH + 8];
  cq_status status = CQ_OK;
  snprintf(under_way, sizeof under_way, "%s.work", e->trained);
  if (!cq_file_exists(e->trained) || cq_file_exists(under_way))
    status = train(result, e, error);
  else if (result)
    *result = (cq_training_result){.steps = e->steps, .best_step = e->steps, .best_score = NAN};
  return status ? status : cq_extend_language_save(&e->o, e->language, e->trained, replace, error);
}

static cq_status name_paths(cq_extending *e, cq_error *error) {
  const char *output = e->o.output;
  if ((size_t)snprintf(e->work, sizeof e->work, "%.*s.extend", (int)cq_path_length(output), output) >=
      sizeof e->work - 64)
    return cq_fail(error, CQ_ERR_ARGUMENT, "the output's name is too long");
  cq_status status = cq_path_join(e->plan, sizeof e->plan, e->work, "plan", error);
  if (!status) status = cq_path_join(e->student, sizeof e->student, e->work, "student", error);
  return status ? status
                : cq_path_join(e->trained, sizeof e->trained, e->language ? e->work : "",
                               e->language ? "trained" : output, error);
}

/* The work directory of a run that begins; of one that is under way there is a plan. */
static cq_status open_work(const cq_extending *e, bool under_way, cq_error *error) {
  const cq_extend_options *o = &e->o;
  const cq_status status = cq_work_directory_check_output(o->output, error);
  if (status) return status;
  if (!under_way && !o->replace && cq_file_exists(o->output))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, o->output, "already exists (--replace overwrites it)");
  if (under_way)
    return o->resume ? CQ_OK
                     : cq_fail_file(
                           error, CQ_ERR_ARGUMENT, e->work,
                           "an earlier call ended before it was done: resume it (--resume), or remove this and %s.work",
                           o->output);
  cq_directory_remove(e->work);
  return cq_directory_make(e->work, error);
}

/* The plan, made or as it was made; the text and the student are there. */
static cq_status open_plan(cq_extending *e, bool under_way, cq_error *error) {
  const bool leads = cq_ranks_rank(e->o.ranks) == 0;
  e->texts = (cq_extend_texts){.o = &e->o, .work = e->work, .news = &e->news};
  cq_status status = cq_extend_inputs_open(&e->inputs, &e->o, e->work, error);
  if (!status) status = cq_extend_texts_open(&e->texts, error);
  if (status) return status;
  if (!under_way)
    return leads ? make_plan(e, error)
                 : cq_fail_file(error, CQ_ERR_IO, e->plan, "not here: all ranks must see the directory of rank 0");
  cq_extend_texts_drop_empty(&e->texts);
  status = cq_extend_plan_read(&e->steps, &e->texts, e->plan, error);
  if (!status) cq_extend_texts_find_dev(&e->texts);
  return status;
}

static cq_status extend(cq_extending *e, cq_training_result *result, cq_error *error) {
  const cq_extend_options *o = &e->o;
  const bool leads = cq_ranks_rank(o->ranks) == 0;
  cq_status status = name_paths(e, error);
  if (!status && !leads) status = cq_ranks_meet(o->ranks, NULL, error); /* until rank 0 has made the plan */
  if (status) return status;
  const bool under_way = cq_file_exists(e->plan);
  if (leads && (status = open_work(e, under_way, error))) return status;
  status = open_plan(e, under_way, error);
  if (status && leads && !cq_file_exists(e->plan)) cq_directory_remove(e->work); /* nothing to resume */
  if (!status && leads) status = cq_ranks_meet(o->ranks, NULL, error);
  if (status) return status;
  status = e->language ? train_language(result, e, o->replace || under_way, error) : train(result, e, error);
  if (!status && leads) cq_directory_remove(e->work);
  return status;
}

cq_status cq_extend(cq_training_result *result, const cq_extend_options *options, cq_context *ctx, cq_error *error) {
  cq_extending *e = cq_alloc_zeroed(sizeof *e);
  if (!e) return cq_fail_memory(error, "extending");
  const cq_extend_options *o = &e->o;
  cq_status status = cq_options_take(&e->o, &cq_group_extend, options, error);
  if (!status && !o->model) status = cq_fail(error, CQ_ERR_ARGUMENT, "a model to extend is needed");
  if (!status && o->own_vocabulary && cq_ranks_count(o->ranks) > 1)
    status = cq_fail(error, CQ_ERR_ARGUMENT, "a vocabulary of its own is trained by one process");
  if (status) {
    cq_free(e);
    return status;
  }
  e->news = (cq_extend_news){o->progress, o->progress_context, &e->told};
  e->recipe = cq_extend_recipe_of(o->kind), e->ctx = ctx, e->started = cq_seconds(CLOCK_MONOTONIC);
  if (!parse_time(&e->budget, o->time ? o->time : "20m")) e->budget = 0; /* checked */
  if (o->own_vocabulary) status = cq_extend_language(&e->language, o, error);
  if (!status) status = extend(e, result, error);
  cq_extend_texts_close(&e->texts);
  cq_extend_inputs_close(&e->inputs);
  cq_builder_free(&e->told);
  cq_free(e);
  return status;
}
