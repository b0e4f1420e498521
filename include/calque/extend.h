/** @file Extending a model to new languages with one call: cq_student_new() and cq_distill() with all their options
 * chosen. Each choice is reported, and the caller may override it.
 *
 *      const cq_training_data files[] = {{.path = "en-de.tsv.gz", .label = "de", .weight = 1}};
 *      cq_extend_options o = cq_extend_default_options();
 *      cq_training_options run = cq_training_default_options();
 *      o.model = "all-MiniLM-L6-v2", o.to = files, o.n_to = 1, o.run = &run;
 *      cq_extend_recipe(&o, NULL, NULL, &run);
 *      run.output = "multilingual";
 *      cq_extend(NULL, &o, ctx, &err);
 *
 * What is chosen, and how:
 * - dictionary: completed with names from the glossed sentences, if it is in another script
 *   (cq_corpus_transliterate()), and, without translations, with inflected forms from the language's labeled `text`
 *   (cq_corpus_inflect())
 * - glosses: with a dictionary, sentences in the teacher's language (`text` and `to`) are translated word by word, by
 *   each translation's frequency in text (cq_corpus_gloss()). If there are translations, glosses are used only if there
 *   are fewer than 30,000 of these and the dictionary has at least 10,000 lines
 * - dev set: 5 % of each file's sources, at most 1,000, chosen by hash. None of its sentences is in the training set,
 *   on either side, in any file
 * - vocabulary: 20,000 pieces, plus 12,000 for each of up to eight languages and up to eight dictionaries; twice as
 *   many for word vectors, up to 212,000; never more than the text allows. Text of smaller languages is repeated (by
 *   the ratio to the largest to the power 0.7); a dictionary's words are added if there are fewer than 50,000 lines
 * - recipe: the options of `distill` and of the run, by kind of student: cq_extend_recipe()
 * - steps: as many as fit into the time, planned by the speeds of teacher and student in a few trial steps, then
 *   following the clock: the learning rate falls to zero when the time is over. No more epochs than have been useful in
 *   tests. Evaluations take at most a tenth of the time. A resumed run may have more time, or less
 *
 * With own_vocabulary, `to`, `dictionaries` and labeled `text` are in one language, and only its word embeddings are
 * trained. `replace` is required if the model already has that language.
 *
 * Work in progress is in OUTPUT.extend and OUTPUT.work. */
#ifndef CALQUE_EXTEND_H
#define CALQUE_EXTEND_H

#include "calque/context.h"
#include "calque/distill.h"
#include "calque/student.h"
#include "calque/training.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cq_extend_kind {
  CQ_EXTEND_BODY, /**< the model's layers under a new vocabulary */
  /** The mean of word vectors, initialized with the model's vectors of single pieces: tens of times faster, but less
   * accurate */
  CQ_EXTEND_STATIC,
  CQ_EXTEND_RERANKER, /**< as BODY, for a reranker: logits are learned, and there are no vectors */
} cq_extend_kind;

typedef struct cq_extend_options {
  size_t size;
  const char *model;          /**< the teacher: a directory or cached name */
  const cq_training_data *to; /**< one or more files per language: text in the teacher's language, then its
                               * translation */
  size_t n_to;
  const cq_training_data *dictionaries; /**< one file per language: a word in the teacher's language, then its
                                         * translation */
  size_t n_dictionaries;
  const cq_training_data *text; /**< untranslated text, one language per file; without a label: the teacher's */
  size_t n_text;
  cq_extend_kind kind;
  const char *time;   /**< for all of it: "90s", "20m", "1.5h" */
  bool lemmas_only;   /**< use dictionaries as they are, without names and inflected forms */
  double gloss_share; /**< share of glosses among a language's pairs; below 0: chosen automatically */
  /** Balance of the vocabulary's text, from 0 (unchanged) to 1 (equal languages). A file is repeated (largest
   * language's lines / its language's lines)^balance times, at most 16 */
  double vocab_balance;
  /** BODY, one language: its own tokenizer and word embeddings for the model's unchanged layers. The output is a copy
   * of the model, plus OUTPUT/languages/LANGUAGE, which can be opened as a model. All vectors of the model stay
   * bit-identical */
  bool own_vocabulary;
  /** The recipe does not set student.fold_variants, or does not set student.keep_words, so that the vocabulary has only
   * the model's words that the text needs. */
  bool keep_variants, drop_words;
  /** Except kind, from, text, normalize, seed, skip_bad, replace; NULL: the recipe */
  const cq_student_options *student;
  const cq_distill_options *distill; /**< except teacher, student, train, run; NULL: the recipe */
  /** Its output is required. Without dev, it is held out of `to`. steps 0: chosen by time, up to `epochs`, for one
   * rank. progress: phase "choice" reports the choices */
  const cq_training_options *run;
} cq_extend_options;
/** Group "extend", with "student", "distill" and "training" within it. */
CQ_DEFAULT_OPTIONS(cq_extend_options, cq_extend_default_options, extend)

/** Sets the parts' options that differ from their defaults in the recipe for options->kind and own_vocabulary; the
 * vocabulary's size depends on the number of languages. A part may be NULL. */
CQ_API void cq_extend_recipe(const cq_extend_options *options, cq_student_options *student, cq_distill_options *distill,
                             cq_training_options *run);

/** Trains to the end. `resume` continues a stopped run, by default with its number of steps; other options or changed
 * files give CQ_ERR_ARGUMENT. result: as in cq_distill(); may be NULL. @errors Those of cq_student_new() and
 * cq_distill(). */
CQ_API CQ_MUST_USE cq_status cq_extend(cq_training_result *result, const cq_extend_options *options, cq_context *ctx,
                                       cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
