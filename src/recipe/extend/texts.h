/* Shared by the parts of an extension: the text of all languages, and the paths of work in progress. */
#ifndef RECIPE_EXTEND_TEXTS_H
#define RECIPE_EXTEND_TEXTS_H

#include "calque/extend.h"
#include "recipe/extend/news.h"
#include "train/parallel.h"

enum { CQ_EXTEND_PATH = 4200 };

/* A file of training pairs: a file of `to`, or sentences glossed with a language's dictionaries. */
typedef struct cq_extend_file {
  cq_training_data given; /* the caller's, or the glosses in the work directory */
  bool is_gloss;
  bool is_beside; /* glosses in addition to a language's translations: used for training, not for evaluation */
  char train_path[CQ_EXTEND_PATH], dev_path[CQ_EXTEND_PATH]; /* its two parts */
} cq_extend_file;

typedef struct cq_extend_texts {
  const cq_extend_options *o;
  const char *work; /* directory */
  cq_extend_file *files;
  cq_training_data *train, *dev; /* [n]; of dev n_dev are there */
  size_t n, n_dev;
  uint64_t n_pairs, n_sources;    /* of all files */
  uint64_t n_measured;            /* pairs held out */
  cq_training_data *dictionaries; /* [n_dictionaries] the caller's, then derived ones: names, inflected forms */
  size_t n_dictionaries, first_of_forms;
  char (*made_paths)[CQ_EXTEND_PATH];
  char (*pair_paths)[CQ_EXTEND_PATH]; /* of a reranker's pairs: train's, then dev's */
  uint64_t *n_lines; /* lines of each file of o->text, o->to and o->dictionaries; UINT64_MAX: not yet counted */
  cq_extend_news *news;
} cq_extend_texts;

/* Whether one of these files is of this language. */
bool cq_extend_has_file(const cq_training_data *files, size_t n_files, const char *label);

/* Names the files; o, work and news are set already. */
CQ_MUST_USE cq_status cq_extend_texts_open(cq_extend_texts *t, cq_error *error);
void cq_extend_texts_close(cq_extend_texts *t);
/* Makes the files: names, inflected forms, glosses, each file's training and dev part, weights. */
CQ_MUST_USE cq_status cq_extend_texts_make(cq_extend_texts *t, cq_error *error);
/* Drops glosses of languages with translations if there are none, just as making the files does. */
void cq_extend_texts_drop_empty(cq_extend_texts *t);
/* Finds the dev sets that were made. */
void cq_extend_texts_find_dev(cq_extend_texts *t);
size_t cq_extend_languages(const cq_extend_texts *t);
/* The files for the vocabulary: *out [*n], borrowed. */
CQ_MUST_USE cq_status cq_extend_student_text(cq_training_data **out, size_t *n, const cq_extend_texts *t,
                                             cq_error *error);

/* --- reranker_pairs.c --- */

/* Makes pairs of queries and passages from the files to train on and to evaluate on, which take their place. Call it
 * once the vocabulary is made. */
CQ_MUST_USE cq_status cq_extend_texts_make_pairs(cq_extend_texts *t, cq_error *error);

/* --- check_texts.c --- */

/* Reads the caller's dictionaries and dev sets, and reports the number of entries of each dictionary. Warns about
 * suspicious columns in these and in translations, languages without a code, translations that look like a dictionary,
 * and dev sets contained in the training data. Errors: CQ_ERR_FORMAT with file and line for a line without two columns
 * (skip_bad: left out), and for a file without such lines; the model's; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_extend_check_texts(const cq_extend_texts *t, const cq_parallel *translations, cq_error *error);

/* --- plan.c: the settings that must not differ from the first run's, and the choices that a resumed run needs --- */

/* Writes the caller's options and files. */
CQ_MUST_USE cq_status cq_extend_identity_write(const char *path, const cq_extend_options *o, cq_error *error);
/* CQ_ERR_ARGUMENT, naming the difference, if options or the contents of files differ from those. The steps may differ
 * if the caller lets calque choose them. */
CQ_MUST_USE cq_status cq_extend_identity_compare(const char *path, const cq_extend_texts *texts, cq_error *error);

typedef struct cq_extend_steps {
  uint64_t given; /* by the caller; 0: the run follows the clock */
  uint64_t planned;
} cq_extend_steps;

/* Writes the steps and the files' weights. */
CQ_MUST_USE cq_status cq_extend_plan_write(const char *path, cq_extend_steps steps, const cq_extend_texts *texts,
                                           cq_error *error);
/* Reads the steps, and the weights into texts->train. Errors: CQ_ERR_FORMAT for a file that is not a plan;
 * CQ_ERR_ARGUMENT for other steps than the caller's. */
CQ_MUST_USE cq_status cq_extend_plan_read(cq_extend_steps *steps, cq_extend_texts *texts, const char *path,
                                          cq_error *error);

#endif
