/* The options of extending: its own, and those of its parts, with defaults for the kind of student.
 *
 *   extend ──▶ student    the vocabulary's rows
 *          ──▶ distill    all but teacher, student and train
 *          ──▶ training   all
 *
 * An option that the caller does not set gets the recipe's value, which depends on other options: the kind of student,
 * the number of languages, the weight of the contrastive loss. docs/results has the results of other values. */
#include "recipe/extend/extend_options.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "calque/reranker.h"
#include "recipe/extend/extend_language.h"
#include "recipe/extend/texts.h"
#include "recipe/run/training_options.h"
#include "train/training_data.h"

#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"body", "static", "reranker", NULL};

#define O cq_extend_options
static const cq_option option_rows[] = {
    {CQ_DATA(O, "to", to, n_to, CHANGES, "LANGUAGE=TSV[:WEIGHT]",
             "text of a new language: a sentence the model understands, a tab, its translation")},
    {CQ_DATA(O, "dictionary", dictionaries, n_dictionaries, CHANGES, "LANGUAGE=TSV",
             "a dictionary: a word the model understands, a tab, its translation. Word alignment with it gives the "
             "initial embeddings of the language's pieces; if the language has little or no --to text, it also "
             "translates text for training, word by word")},
    {CQ_DATA(O, "text", text, n_text, CHANGES, "[LANGUAGE=]FILE",
             "untranslated text: with LANGUAGE=, for that language's vocabulary; without it, in the model's own "
             "language, for dictionaries to translate")},
    {CQ_TEXT(O, "time", time, CHANGES, "TIME",
             "time for the whole run, which the number of steps follows, for example 90s, 20m or 1.5h"),
     .otherwise = "20m"},
    {CQ_CHOICE(O, "kind", kind, CHANGES, CQ_EXTEND_BODY, kinds, "KIND",
               "body: the model's layers under a new vocabulary; static: the mean of word vectors, tens of times as "
               "fast, but less sensitive to nuances; reranker: body, of a reranker"),
     .otherwise = "reranker if MODEL is one, otherwise body"},
    {CQ_FLAG(
        O, "drop-words", drop_words, CHANGES,
        "keep only those pieces of the model's vocabulary that the text needs (see calque model new --keep-words)")},
    {CQ_FLAG(O, "keep-variants", keep_variants, CHANGES,
             "do not read spelling variants as one (see calque model new --fold-variants)")},
    {CQ_FLAG(
        O, "lemmas-only", lemmas_only, CHANGES,
        "use dictionaries as they are: add neither transliterated names (see calque data transliterate) nor, for a "
        "language without --to, inflected forms found in its --text (see calque data inflect)")},
    {CQ_NUMBER(O, "vocab-balance", vocab_balance, CHANGES, 0.7, 0, 1, "X",
               "balance of the languages in the vocabulary's text, from 0 (as they are) to 1 (equal)")},
    {CQ_NUMBER(O, "gloss-share", gloss_share, CHANGES, -1, -1, 1, "SHARE",
               "share of a language's pairs that are sentences glossed with its dictionary, besides translations"),
     .otherwise = "0.4 for fewer than 30,000 translations and 10,000 entries or more"},
    {CQ_FLAG(O, "own-vocabulary", own_vocabulary, CHANGES,
             "one language: give it a tokenizer and word embeddings of its own and leave everything else of the model "
             "as it is, so that other languages' vectors do not change. DIR is a copy of MODEL with "
             "languages/LANGUAGE; every command takes DIR/languages/LANGUAGE as a model's name")},
};
#undef O

/* ---- the recipe ---- */

static const char *label_of(const cq_training_data *file) {
  return file->label ? file->label : file->path;
}

/* Counts the labels of files that occur neither in an earlier file nor in the others. */
static size_t count_labels(const cq_training_data *files, size_t n, const cq_training_data *others, size_t n_others) {
  size_t n_labels = 0;
  for (size_t i = 0; i < n; i++) {
    bool is_new = true;
    for (size_t j = 0; is_new && j < i; j++) is_new = strcmp(label_of(&files[j]), label_of(&files[i])) != 0;
    for (size_t j = 0; is_new && j < n_others; j++) is_new = strcmp(label_of(&others[j]), label_of(&files[i])) != 0;
    n_labels += is_new;
  }
  return n_labels;
}

/* Each language and each dictionary gets 12,000 pieces. A static student cannot combine the pieces of a word, so it
 * gets twice as many. */
static int vocabulary_size(const cq_extend_options *o) {
  enum { COUNTED = 8, SHARED = 20000, EACH = 12000, MOST = SHARED + 2 * COUNTED * EACH };
  const size_t dictionaries = count_labels(o->dictionaries, o->n_dictionaries, NULL, 0);
  const size_t languages =
      count_labels(o->to, o->n_to, NULL, 0) + count_labels(o->dictionaries, o->n_dictionaries, o->to, o->n_to);
  const size_t pieces = SHARED + EACH * (cq_min(languages, COUNTED) + cq_min(dictionaries, COUNTED));
  return (int)(o->kind == CQ_EXTEND_STATIC ? cq_min(2 * pieces, MOST) : pieces);
}

static bool is_named(const cq_options *named, const char *name) {
  return named && cq_options_is_set(named, name);
}

/* Sets a field unless its option was set by name. */
#define CHOOSE(name, field, value)                                                                                     \
  if (!is_named(named, name)) (field) = (value)

static void choose_student(cq_student_options *s, const cq_extend_options *o, const cq_options *named) {
  CHOOSE("vocab-size", s->vocab_size, vocabulary_size(o));
  s->fold_variants = !o->keep_variants && s->vocabulary != CQ_VOCABULARY_WORDS;
  s->keep_words =
      o->kind != CQ_EXTEND_STATIC && !o->drop_words && !o->own_vocabulary && s->vocabulary == CQ_VOCABULARY_UNIGRAM;
}

static void choose_distill(cq_distill_options *d, const cq_extend_options *o, const cq_options *named) {
  const bool body = o->kind == CQ_EXTEND_BODY, is_static = o->kind == CQ_EXTEND_STATIC;
  /* With frozen layers a higher weight gains nothing; a static student pays for it with similarity. */
  CHOOSE("contrast", d->contrast, body && !o->own_vocabulary ? 4 : body || is_static ? 1 : 0);
  CHOOSE("final-contrast", d->final_contrast, body && !is_named(named, "contrast") ? 1 : -1);
  CHOOSE("hard-negatives", d->hard_negatives, body && d->contrast > 0 ? 4 : 0);
  CHOOSE("source-share", d->source_share, is_static ? 1 : 0.25);
  CHOOSE("piece-dropout", d->piece_dropout, is_static ? 0 : 0.15);
  CHOOSE("dim-match", d->dim_match, is_static ? CQ_DIM_PROJECT : CQ_DIM_EQUAL);
}

static void choose_run(cq_training_options *run, const cq_extend_options *o, const cq_options *named) {
  const bool body = o->kind == CQ_EXTEND_BODY, is_static = o->kind == CQ_EXTEND_STATIC;
  CHOOSE("batch", run->batch_pairs, is_static ? 256 : 64);
  CHOOSE("lr", run->learning_rate, body ? 3e-4 : is_static ? 0.03 : 3e-5);
  CHOOSE("embedding-lr", run->embedding_learning_rate, body ? 1e-3 : is_static ? 0.03 : 3e-4);
  CHOOSE("weight-decay", run->weight_decay, is_static ? 0 : 0.01); /* rows of rare words keep their initial values */
  CHOOSE("epochs", run->epochs, is_static ? 10 : 30);
  CHOOSE("eps", run->adam_eps, 1e-9);
  CHOOSE("dropout", run->dropout, 0);
  CHOOSE("precision", run->precision, CQ_TRAINING_BF16);
  CHOOSE("evaluate-every", run->evaluate_every, -1);
  CHOOSE("checkpoint-every", run->checkpoint_every, -1);
  CHOOSE("freeze-body", run->freeze_body, o->own_vocabulary);
}

/* The kind is chosen when the model is known, that is by the time of the checks. */
static void choose(void *options, const cq_options *named) {
  cq_extend_options *o = options;
  bool is_reranker;
  if (o->model && !is_named(named, "kind") && !cq_model_is_reranker(&is_reranker, o->model, NULL) && is_reranker)
    o->kind = CQ_EXTEND_RERANKER;
  choose_student((cq_student_options *)(uintptr_t)o->student, o, named);
  choose_distill((cq_distill_options *)(uintptr_t)o->distill, o, named);
  choose_run((cq_training_options *)(uintptr_t)o->run, o, named);
}

void cq_extend_recipe(const cq_extend_options *o, cq_student_options *student, cq_distill_options *distill,
                      cq_training_options *run) {
  if (student) choose_student(student, o, NULL);
  if (distill) choose_distill(distill, o, NULL);
  if (run) choose_run(run, o, NULL);
}

/* ---- checks ---- */

bool cq_extend_time(double *seconds, const char *text) {
  char *end;
  const double n = cq_strtod(text, &end);
  const double unit = !strcmp(end, "s") ? 1 : !strcmp(end, "m") ? 60 : !strcmp(end, "h") ? 3600 : 0;
  *seconds = n * unit;
  return end > text && unit > 0 && n > 0 && *seconds < 1e8;
}

static cq_status check_reranker(const cq_extend_options *o, const cq_distill_options *d, cq_error *error) {
  const char *of_vectors = o->own_vocabulary                                            ? "own-vocabulary"
                           : d->contrast > 0                                            ? "contrast"
                           : d->final_contrast > 0                                      ? "final-contrast"
                           : d->temperature != cq_distill_default_options().temperature ? "temperature"
                           : d->hard_negatives                                          ? "hard-negatives"
                           : d->near_misses                                             ? "near-misses"
                           : d->n_matryoshka                                            ? "matryoshka"
                           : d->dim_match != CQ_DIM_EQUAL                               ? "dim-match"
                                                                                        : NULL;
  return of_vectors ? cq_fail(error, CQ_ERR_ARGUMENT, "%s: for vectors, but a reranker gives one logit", of_vectors)
                    : CQ_OK;
}

/* Takes the parts, with placeholders for files that extending makes. */
static cq_status take_parts(cq_extend_parts *out, const cq_extend_options *o, cq_error *error) {
  const char *model = o->model ? o->model : "";
  cq_status status = cq_options_copy(&out->student, &cq_group_student, o->student, error);
  if (!status) status = cq_options_copy(&out->distill, &cq_group_distill, o->distill, error);
  if (!status) status = cq_options_copy(&out->run, &cq_group_training, o->run, error);
  if (status) return status;
  cq_extend_recipe(o, o->student ? NULL : &out->student, o->distill ? NULL : &out->distill, o->run ? NULL : &out->run);
  cq_student_options *s = &out->student;
  s->kind = o->kind == CQ_EXTEND_STATIC ? CQ_STUDENT_STATIC : CQ_STUDENT_NEW_VOCABULARY, s->from = model;
  s->text = o->n_to ? o->to : o->dictionaries, s->n_text = 1;
  s->normalize = o->kind == CQ_EXTEND_STATIC, s->replace = true;
  s->seed = out->run.seed, s->skip_bad = out->run.skip_bad;
  out->distill.teacher = out->distill.student = model;
  out->distill.train = s->text, out->distill.n_train = 1;
  cq_training_options run = out->run;
  if (run.n_dev == 0) run.dev = s->text, run.n_dev = 1; /* some will be held out */
  if (o->kind == CQ_EXTEND_RERANKER) status = check_reranker(o, &out->distill, error);
  if (!status) status = cq_group_check(&cq_group_training, &run, error);
  if (!status) status = cq_group_check(&cq_group_distill, &out->distill, error);
  return status ? status : cq_group_check(&cq_group_student, s, error);
}

static cq_status check_extend(const void *options, cq_error *error) {
  const cq_extend_options *o = options;
  double seconds;
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
  if (o->gloss_share == 1)
    return cq_fail(error, CQ_ERR_ARGUMENT,
                   "gloss-share is 1: nothing is left for the translations; a language of which no translations are "
                   "given is learned from glosses alone");
  if (o->time && !cq_extend_time(&seconds, o->time))
    return cq_fail(error, CQ_ERR_ARGUMENT, "time is '%s', expected a number and s, m or h, for example 20m", o->time);
  const char *language;
  cq_extend_parts parts;
  const cq_status status = take_parts(&parts, o, error);
  return status || !o->own_vocabulary ? status : cq_extend_language(&language, o, error);
}

static const char *const not_of_student[] = {
    "kind",       "from",    "text",       "keep-words", "fold-variants", "dim",  "layers",  "heads", "feed-forward",
    "max-length", "dropout", "output-dim", "normalize",  "skip-bad",      "seed", "replace", NULL};
static const cq_option_note notes_of_student[] = {
    {"vocab-size", "20,000 plus 12,000 for each language and each dictionary, at most eight of each; twice that for "
                   "--kind static, but at most 212,000"},
    {NULL, NULL}};
static const char *const not_of_distill[] = {"teacher", "student", "train", "training", NULL};
static const cq_option_note notes_of_distill[] = {{"dim-match", "equal, static project"},
                                                  {"contrast", "body 4, with --own-vocabulary 1; static 1; reranker 0"},
                                                  {"final-contrast", "1, or as --contrast if that is given"},
                                                  {"hard-negatives", "body 4, with a contrastive loss; others 0"},
                                                  {"source-share", "0.25, static 1"},
                                                  {"piece-dropout", "0.15, static 0"},
                                                  {NULL, NULL}};
static const cq_option_note notes_of_run[] = {{"dev", "a twentieth of each file, at most 1,000 pairs"},
                                              {"steps", "what fits into --time"},
                                              {"epochs", "what fits into --time, at most 30, static 10"},
                                              {"batch", "64, static 256"},
                                              {"lr", "body 3e-4, reranker 3e-5, static 0.03"},
                                              {"embedding-lr", "body 1e-3, reranker 3e-4, static 0.03"},
                                              {"weight-decay", "0.01, static 0"},
                                              {"eps", "1e-9"},
                                              {"dropout", "0"},
                                              {"evaluate-every", "a tenth of all steps"},
                                              {"checkpoint-every", "a tenth of all steps"},
                                              {NULL, NULL}};
static const cq_option_part parts_of_extend[] = {
    {.group = &cq_group_training, .offset = offsetof(cq_extend_options, run), .notes = notes_of_run},
    {.group = &cq_group_distill,
     .offset = offsetof(cq_extend_options, distill),
     .left_out = not_of_distill,
     .notes = notes_of_distill},
    {.group = &cq_group_student,
     .offset = offsetof(cq_extend_options, student),
     .left_out = not_of_student,
     .notes = notes_of_student}};

const cq_option_group cq_group_extend = {.name = "extend",
                                         CQ_ROWS(cq_extend_options, option_rows),
                                         .parts = parts_of_extend,
                                         .n_parts = sizeof parts_of_extend / sizeof *parts_of_extend,
                                         .check = check_extend,
                                         .choose = choose,
                                         CQ_FIELDS(CQ_FIELD(cq_extend_options, model))};

cq_status cq_extend_take(cq_extend_options *o, cq_extend_parts *parts, const cq_extend_options *given,
                         cq_error *error) {
  cq_status status = cq_options_take(o, &cq_group_extend, given, error);
  if (!status) status = take_parts(parts, o, error);
  o->student = &parts->student, o->distill = &parts->distill, o->run = &parts->run;
  return status;
}
