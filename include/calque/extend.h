/* Extending a model to new languages by one call: cq_student_new and cq_distill with everything chosen that they need.
 * Each choice is reported, and each can be made by the caller instead.
 *
 *   const cq_training_data files[] = {{.path = "en-de.tsv.gz", .label = "de", .weight = 1}};
 *   cq_extend_options o = cq_extend_default_options();
 *   cq_training_options run = cq_training_default_options();
 *   o.model = "all-MiniLM-L6-v2", o.to = files, o.n_to = 1, o.run = &run;
 *   cq_extend_recipe(&o, NULL, NULL, &run);
 *   run.output = "multilingual";
 *   cq_extend(NULL, &o, ctx, &err);
 *
 * What is chosen, and from what:
 *   dictionary     with the names of the sentences that are glossed, if it is of another script
 *                  (cq_corpus_transliterate); where there are no translations, with the inflected forms of its words
 *                  in the language's labeled `text` (cq_corpus_inflect)
 *   glosses        of a language with a dictionary: sentences of the teacher's language, of `text` and `to`, translated
 *                  word by word (cq_corpus_gloss), by how often text of the language has each translation. Where there
 *                  are translations, they are part of the training only if these are fewer than 30,000 lines and the
 *                  dictionary has 10,000 or more
 *   dev set        a twentieth of each file's sources, at most 1,000: those with the smallest hashes. No sentence of it
 *                  stays in training, on either side, in any file
 *   vocabulary     20,000 pieces, 12,000 more for each of up to eight languages and up to eight dictionaries; of word
 *                  vectors twice as many, up to 212,000; as many as the text makes at most. Languages with less text
 *                  count more often (by the power 0.7 of the ratio to the most); a dictionary's words are part of it
 *                  where there are fewer than 50,000 lines
 *   recipe         the options of `distill` and of the run, by kind of student: cq_extend_recipe
 *   steps          as many as fit into the time: the teacher's and the student's speeds are measured in a few steps of
 *                  training first; no more epochs than ever helped
 *
 * With own_vocabulary `to`, `dictionaries` and labeled `text` are of one language, and only its word embeddings are
 * trained. `replace` is needed where the model has that language already.
 *
 * Work in progress lies in OUTPUT.extend and OUTPUT.work. */
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
  CQ_EXTEND_BODY,   /* the model's layers under a new vocabulary */
  CQ_EXTEND_STATIC, /* the mean of word vectors, which begin as the model's vectors of single pieces: tens of times as
                     * fast, with less of the nuances */
} cq_extend_kind;

typedef struct cq_extend_options { /* group "extend", with "student", "distill" and "training" within it */
  size_t size;
  const char *model;          /* the teacher: a directory or cached name */
  const cq_training_data *to; /* a file for each language, or several: text in the teacher's language, translation */
  size_t n_to;
  const cq_training_data *dictionaries; /* of a language each: a word in the teacher's language, translation */
  size_t n_dictionaries;
  const cq_training_data *text; /* untranslated, of a language each; without a label, of the teacher's own */
  size_t n_text;
  cq_extend_kind kind;
  const char *time;     /* for all of it: "90s", "20m", "1.5h" */
  bool lemmas_only;     /* dictionaries as they are, without names and inflected forms */
  double gloss_share;   /* of a language's pairs, glosses where there are translations, too; below 0: chosen */
  double vocab_balance; /* of the vocabulary's text, between 0: what there is of each language, and 1: as much of each;
                         * a file counts as if it were repeated (most lines of a language / lines of its own)^balance
                         * times, 16 at most */
  bool own_vocabulary;  /* BODY, one language: under a tokenizer and word embeddings of its own, over the model's layers
                         * as they are. The output is the model, byte by byte, and OUTPUT/languages/LANGUAGE beside its
                         * files, which is a model's name. The vectors of all that the model could read before keep
                         * their bits */
  /* The recipe does not set student.fold_variants; nor student.keep_words, so that only those of the model's own words
   * are in the vocabulary that the text needs. */
  bool keep_variants, drop_words;
  const cq_student_options
      *student; /* but for kind, from, text, normalize, seed, skip_bad, replace; NULL: the recipe */
  const cq_distill_options *distill; /* but for teacher, student, train, run; NULL: the recipe */
  const cq_training_options *run;    /* its output is needed. dev: none: held out of `to`. steps: 0: chosen by time, of
                                      * `epochs` at most. ranks: the time is reckoned for one. progress: phase "choice"
                                      * tells what was chosen */
} cq_extend_options;
CQ_DEFAULT_OPTIONS(cq_extend_options, cq_extend_default_options, extend)

/* Sets what a recipe has other than the parts' defaults, by options->kind and own_vocabulary, and by the number of
 * languages the size of the vocabulary. A part may be NULL. */
CQ_API void cq_extend_recipe(const cq_extend_options *options, cq_student_options *student, cq_distill_options *distill,
                             cq_training_options *run);

/* Runs to the end; `resume` continues a stopped run, with the steps chosen then where none are given, and is refused
 * (CQ_ERR_ARGUMENT) under other options or with files of other contents. result: as cq_distill's; may be NULL. Errors: those
 * of cq_student_new and cq_distill. */
CQ_API CQ_MUST_USE cq_status cq_extend(cq_training_result *result, const cq_extend_options *options, cq_context *ctx,
                                       cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
