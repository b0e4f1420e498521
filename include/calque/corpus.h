/* Parallel text on its way to a training: from the forms it is published in to tab-separated columns, and there joined,
 * sampled, rid of repetitions, filtered and counted.
 *
 *   cq_corpus_convert_options o = cq_corpus_convert_default_options();
 *   o.format = "moses", o.inputs = files, o.n_inputs = 2, o.flow.output = "en-fr.tsv.gz";
 *   cq_corpus_counts counts;
 *   cq_corpus_convert(&counts, &o, &err);                     // counts.n_written rows; counts.losses says the rest
 *   cq_corpus_pivot_options p = {.inputs = {"en-fr.tsv.gz", "en-it.tsv.gz"}, .on = {1, 1}, .flow.output = "fr-it.tsv"};
 *   cq_corpus_pivot(&counts, &p, &err);
 *
 * A row is a line: a sentence and its translations, a tab between them, no quoting. Files are plain or gzipped, "-" is
 * standard input; an output whose name ends in .gz is gzipped, NULL is standard output, and a file appears whole or not
 * at all. Rows stream through: memory grows with the text only where a function says so. A row that is left out is
 * counted under why.
 *
 * Errors of all: CQ_ERR_FORMAT with file and line for a line that is not UTF-8 or lacks a column (skip_bad: it is counted
 * instead), CQ_ERR_STOPPED when progress says so, CQ_ERR_ARGUMENT, CQ_ERR_IO, CQ_ERR_MEMORY. */
#ifndef CALQUE_CORPUS_H
#define CALQUE_CORPUS_H

#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- what became of the rows --- */

enum { CQ_CORPUS_MOST_LOSSES = 12 };

typedef struct cq_corpus_counts {
  uint64_t n_read, n_written; /* rows */
  struct {
    const char *reason; /* static: "empty", "malformed" ... */
    uint64_t n;
  } losses[CQ_CORPUS_MOST_LOSSES]; /* of reasons that came up, in the order in which they did */
  size_t n_losses;
} cq_corpus_counts;

/* Told how many rows were read, now and then; false stops. */
typedef bool (*cq_corpus_progress_fn)(void *context, uint64_t n_read);

/* What all have in common. */
typedef struct cq_corpus_flow {
  const char *output;
  bool skip_bad;
  cq_corpus_progress_fn progress;
  void *progress_context;
} cq_corpus_flow;

/* --- from other forms --- */

typedef struct cq_corpus_format {
  const char *name;
  const char *inputs; /* "LINKS SENTENCES" */
  size_t least_inputs, most_inputs;
  bool has_columns; /* to choose */
  bool has_scores;  /* for a threshold */
  const char *help;
} cq_corpus_format;

/* The i-th form that can be read; NULL: there are no more. */
CQ_API const cq_corpus_format *cq_corpus_format_at(size_t i);

typedef struct cq_corpus_convert_options {
  const char *format; /* a cq_corpus_format's name */
  const char *const *inputs;
  size_t n_inputs;
  const char *const *columns; /* what the columns of the output are, in their order; none: the format's default */
  size_t n_columns;
  double threshold; /* the least score of a pair, where the format has scores; below 0: the format's default */
  cq_corpus_flow flow;
} cq_corpus_convert_options;

CQ_API cq_corpus_convert_options cq_corpus_convert_default_options(void); /* the format's columns and threshold */

/* Rows of which the first column or all others are empty are left out; tabs and line breaks within text become blanks. */
CQ_API CQ_MUST_USE cq_status cq_corpus_convert(cq_corpus_counts *counts, const cq_corpus_convert_options *options,
                                               cq_error *error);

/* --- from rows to rows --- */

/* How sentences are compared: byte for byte, or as the letters and digits that are in them, whatever their case
 * (NFKC, full case folding), and nothing else; a sentence without any is compared byte for byte. */
typedef enum cq_corpus_match { CQ_CORPUS_EXACT, CQ_CORPUS_NORMALISED } cq_corpus_match;

typedef struct cq_corpus_pivot_options {
  const char *inputs[2];
  size_t on[2]; /* the column, from 1, in which the sentence that both know stands */
  cq_corpus_match match;
  size_t most;      /* partners of a row of the first file; 0: all */
  double memory_gb; /* what the second file may take, about (GiB); 0: 1. Larger ones are split on disk, in $TMPDIR */
  cq_corpus_flow flow;
} cq_corpus_pivot_options;

/* Joins two corpora that have a language in common: from English-French and English-Italian comes French-Italian, as Dore
 * did with Europarl. A row is the first's other columns, then the second's. Every row of the one meets every row of the
 * other that has the sentence; the order is the first file's, then the second's (of split files: within each part). */
CQ_API CQ_MUST_USE cq_status cq_corpus_pivot(cq_corpus_counts *counts, const cq_corpus_pivot_options *options,
                                             cq_error *error);

typedef struct cq_corpus_sample_options {
  const char *const *inputs; /* one after the other */
  size_t n_inputs;
  uint64_t n;   /* so many rows, held in memory; 0: by share */
  double share; /* of all rows, each by itself */
  uint64_t seed;
  cq_corpus_flow flow;
} cq_corpus_sample_options;

/* Some of the rows, at random, in their order; all rows have the same chance (Vitter 1985, algorithm R). */
CQ_API CQ_MUST_USE cq_status cq_corpus_sample(cq_corpus_counts *counts, const cq_corpus_sample_options *options,
                                              cq_error *error);

/* What makes a row a repetition of an earlier one: all its sides, or any, or the first, or the second, each as the same
 * side of the earlier one; an empty side repeats nothing. */
typedef enum cq_corpus_repeats {
  CQ_REPEATS_ROW,
  CQ_REPEATS_ANY,
  CQ_REPEATS_FIRST,
  CQ_REPEATS_SECOND
} cq_corpus_repeats;

typedef struct cq_corpus_dedup_options {
  const char *const *inputs; /* one after the other */
  size_t n_inputs;
  const char *const *held_out; /* a row that has any sentence of these files, in any column, is left out; a malformed
                                  line there is an error in any case */
  size_t n_held_out;
  cq_corpus_match match;
  cq_corpus_repeats repeats;
  cq_corpus_flow flow;
} cq_corpus_dedup_options;

/* Of rows that repeat one another the first. Sentences are known by 64 bits of them, of which up to 21 bytes a row (or a
 * side, for CQ_REPEATS_ANY) are kept: 60 million different ones take 1 GiB while the table does not grow, and hold two
 * that are taken for one with a chance of 1 in 10,000. */
CQ_API CQ_MUST_USE cq_status cq_corpus_dedup(cq_corpus_counts *counts, const cq_corpus_dedup_options *options,
                                             cq_error *error);

typedef struct cq_corpus_filter_options {
  const char *const *inputs; /* one after the other */
  size_t n_inputs;
  uint64_t least_characters, most_characters; /* of every side; most 0: any number */
  double most_ratio;            /* of the longer side's characters to the shorter's, ten added to both; 0: any */
  const char *const *languages; /* codes of the columns: their sentences must be in that language's script; none: any */
  size_t n_languages;
  bool keep_identical; /* rows of which two sides are the same, compared CQ_CORPUS_NORMALISED */
  cq_corpus_flow flow;
} cq_corpus_filter_options;

/* Rows that may be translations. Of rows of three columns and more all but the first may be empty. A side's script is
 * the one that most of its letters have; sides without letters pass. */
CQ_API CQ_MUST_USE cq_status cq_corpus_filter(cq_corpus_counts *counts, const cq_corpus_filter_options *options,
                                              cq_error *error);

typedef struct cq_corpus_gloss_options {
  const char *const *inputs; /* one after the other */
  size_t n_inputs;
  size_t column;                   /* of the inputs, from 1, in which the sentences stand; 0: 1 */
  const char *const *dictionaries; /* rows of a word and its translations, one after the other; held in memory */
  size_t n_dictionaries;
  double least; /* share of a sentence's words, within [0, 1], that must be known; one must be in any case */
  uint64_t seed;
  cq_corpus_flow flow;
} cq_corpus_gloss_options;

/* Sentences and what becomes of them when their words are translated one by one: parallel text where there is but a
 * dictionary (Lample et al. 2018, "word-by-word"). A word is found whatever its case; of several translations one is drawn,
 * and a word that is not known stays as it is. Errors: CQ_ERR_ARGUMENT when no word has a translation. */
CQ_API CQ_MUST_USE cq_status cq_corpus_gloss(cq_corpus_counts *counts, const cq_corpus_gloss_options *options,
                                             cq_error *error);

/* --- figures --- */

enum { CQ_CORPUS_MOST_SCRIPTS = 3 };

typedef struct cq_corpus_column {
  uint64_t n, n_empty;    /* rows that have the column; of them, those with nothing but white space there */
  uint64_t n_distinct;    /* sentences, byte for byte, empty ones not counted */
  double mean_characters; /* of sentences that are not empty, as all that follows */
  uint64_t median_characters, most_characters;
  uint64_t characters_95; /* that many or fewer have 95 % of them */
  double mean_words;      /* between white space */
  struct {
    char name[32];                   /* "Latin", "Cyrillic": what most letters of a sentence are */
    double share;                    /* of the sentences */
  } scripts[CQ_CORPUS_MOST_SCRIPTS]; /* the most frequent ones first; of those that are missing the share is 0 */
} cq_corpus_column;

typedef struct cq_corpus_figures {
  uint64_t n_rows, n_distinct; /* n_distinct: rows, byte for byte */
  uint64_t n_identical;        /* rows of which two sides are the same, letter for letter */
  uint64_t n_malformed;        /* lines, with skip_bad */
  size_t n_columns;
  cq_corpus_column *columns; /* [n_columns] */
} cq_corpus_figures;

typedef struct cq_corpus_stats_options {
  const char *const *inputs; /* one after the other */
  size_t n_inputs;
  cq_corpus_flow flow; /* its output is not asked for */
} cq_corpus_stats_options;

/* What a corpus consists of. Memory grows by about 20 bytes a row and side that is not yet there, as in cq_corpus_dedup.
 * *out is {0} after an error; release with cq_corpus_figures_free. */
CQ_API CQ_MUST_USE cq_status cq_corpus_stats(cq_corpus_figures *out, const cq_corpus_stats_options *options,
                                             cq_error *error);
CQ_API void cq_corpus_figures_free(cq_corpus_figures *figures);

#ifdef __cplusplus
}
#endif
#endif
