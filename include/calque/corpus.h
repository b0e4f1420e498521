/** @file Parallel text: converts it from its published formats to tab-separated columns; joins, samples, deduplicates,
 * filters and counts it.
 *
 *      cq_corpus_convert_options o = cq_corpus_convert_default_options();
 *      o.format = "moses", o.inputs = files, o.n_inputs = 2, o.output = "en-fr.tsv.gz";
 *      cq_corpus_counts counts;
 *      cq_corpus_convert(&counts, &o, &err);               // counts.n_written rows; counts.dropped: the others
 *      cq_corpus_pivot_options p = cq_corpus_pivot_default_options();
 *      p.first = "en-fr.tsv.gz", p.second = "en-it.tsv.gz", p.output = "fr-it.tsv";
 *      cq_corpus_pivot(&counts, &p, &err);
 *
 * A row is a line: a sentence and its translations, separated by tabs, without quoting. Files are plain or compressed;
 * "-" is standard input. An output is compressed if its name ends in .gz or .zst, NULL is standard output, and files
 * are written atomically. Rows are streamed: memory grows with the text only for functions that say so. Every dropped
 * row is counted under its reason.
 *
 * @errors All functions return CQ_ERR_FORMAT with file and line for a line that is not UTF-8 or lacks a column (with
 * skip_bad it is counted instead), CQ_ERR_STOPPED when progress returns false, CQ_ERR_ARGUMENT, CQ_ERR_IO,
 * CQ_ERR_MEMORY.
 *
 * @threads Calls are independent of one another if each has its own output; progress is called on the calling
 * thread. */
#ifndef CALQUE_CORPUS_H
#define CALQUE_CORPUS_H

#include "calque/options.h"
#include "calque/slice.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @name What became of the rows */

enum { CQ_CORPUS_MAX_REASONS = 32 };

typedef struct cq_corpus_counts {
  uint64_t n_read, n_written; /**< rows */
  struct {
    const char *reason; /**< static: "empty", "malformed" ... */
    uint64_t n;
  } dropped[CQ_CORPUS_MAX_REASONS]; /**< [n_reasons], in the order of first occurrence */
  size_t n_reasons;
  uint64_t n_quoted; /**< rows read that have a field quoted as in CSV ("a ""b"""): its quotation marks are kept */
} cq_corpus_counts;

/** Receives the number of rows read, from time to time; return false to stop. */
typedef bool (*cq_corpus_progress_fn)(void *context, uint64_t n_read);

/** @name From other file formats */

typedef struct cq_corpus_format {
  const char *name;
  const char *inputs; /**< "LINKS SENTENCES" */
  size_t min_inputs, max_inputs;
  bool has_columns; /**< to choose */
  bool has_scores;  /**< for a threshold */
  const char *help;
} cq_corpus_format;

/** The i-th input format; NULL beyond the last. */
CQ_API const cq_corpus_format *cq_corpus_format_at(size_t i);

typedef struct cq_corpus_convert_options {
  size_t size;
  const char *format; /**< a cq_corpus_format's name; NULL: the only one whose files have such endings */
  const char *const *inputs;
  size_t n_inputs;
  const char *const *columns; /**< the output's columns, in order; none: the format's default */
  size_t n_columns;
  double threshold; /**< minimum score of a pair, if the format has scores; below 0: the format's default */
  const char *output;
  bool skip_bad;
  cq_corpus_progress_fn progress;
  void *progress_context;
  const char *const *languages; /**< codes of the columns, for an output that names them */
  size_t n_languages;
} cq_corpus_convert_options;
/** Group "corpus-convert". */
CQ_DEFAULT_OPTIONS(cq_corpus_convert_options, cq_corpus_convert_default_options, corpus_convert)

/** Converts files to rows. Those with an empty first column, or with all others empty, are dropped; tabs and line
 * breaks within text become blanks. */
CQ_API CQ_MUST_USE cq_status cq_corpus_convert(cq_corpus_counts *counts, const cq_corpus_convert_options *options,
                                               cq_error *error);

/** @name From rows to rows */

/** How sentences are compared: byte for byte, or by only their letters and digits, ignoring case (NFKC, full case
 * folding); sentences without letters and digits byte for byte. */
typedef enum cq_corpus_match { CQ_CORPUS_EXACT, CQ_CORPUS_NORMALIZED } cq_corpus_match;

typedef struct cq_corpus_pivot_options {
  size_t size;
  const char *first, *second;
  const char *on; /**< "A,B": the column of each, from 1, with the common sentences */
  cq_corpus_match match;
  uint64_t max_partners; /**< for a row of the first file; 0: all */
  double memory_gb; /**< approximate memory for the second file (GiB); larger files are split on disk, in $TMPDIR */
  const char *output;
  bool skip_bad;
  cq_corpus_progress_fn progress;
  void *progress_context;
  const char *const *languages; /**< codes of the columns, for an output that names them */
  size_t n_languages;
} cq_corpus_pivot_options;
CQ_DEFAULT_OPTIONS(cq_corpus_pivot_options, cq_corpus_pivot_default_options, corpus_pivot) /**< group "corpus-pivot" */

/** Joins two corpora that have a language in common: English-French and English-Italian give French-Italian, as in
 * Dore's work with Europarl. A row has the first file's other columns, then the second file's. Every row of one file is
 * paired with every row of the other that has the same sentence, in the order of the first file, then of the second
 * (within each part, if the file was split). */
CQ_API CQ_MUST_USE cq_status cq_corpus_pivot(cq_corpus_counts *counts, const cq_corpus_pivot_options *options,
                                             cq_error *error);

typedef struct cq_corpus_sample_options {
  size_t size;
  const char *const *inputs; /**< one after the other */
  size_t n_inputs;
  uint64_t n;   /**< this many rows, in memory; 0: by share */
  double share; /**< the chance of each row; 0: by number */
  uint64_t seed;
  const char *output;
  bool skip_bad;
  cq_corpus_progress_fn progress;
  void *progress_context;
  const char *const *languages; /**< codes of the columns, for an output that names them */
  size_t n_languages;
} cq_corpus_sample_options;
/** Group "corpus-sample". */
CQ_DEFAULT_OPTIONS(cq_corpus_sample_options, cq_corpus_sample_default_options, corpus_sample)

/** Draws a random sample of the rows and keeps their order; all rows have the same probability (reservoir sampling:
 * Vitter 1985, algorithm R). */
CQ_API CQ_MUST_USE cq_status cq_corpus_sample(cq_corpus_counts *counts, const cq_corpus_sample_options *options,
                                              cq_error *error);

/** What makes a row a repetition of an earlier one: an equal row, or an equal side (any, the first, or the second). An
 * empty side is not a repetition. */
typedef enum cq_corpus_repeats {
  CQ_REPEATS_ROW,
  CQ_REPEATS_ANY,
  CQ_REPEATS_FIRST,
  CQ_REPEATS_SECOND
} cq_corpus_repeats;

typedef struct cq_corpus_dedup_options {
  size_t size;
  const char *const *inputs; /**< one after the other */
  size_t n_inputs;
  const char *const *held_out; /**< drop rows with any sentence from these files; malformed lines in them are errors */
  size_t n_held_out;
  cq_corpus_match match;
  cq_corpus_repeats repeats;
  const char *output;
  bool skip_bad;
  cq_corpus_progress_fn progress;
  void *progress_context;
  const char *const *languages; /**< codes of the columns, for an output that names them */
  size_t n_languages;
  /** Drop rows of this similarity to an earlier one, too: the Jaccard similarity of their sequences of four letters and
   * digits, estimated by MinHash (Broder 1997); 64 bytes of memory a row; 0: none */
  double near;
  const char *rejected; /**< as for cq_corpus_filter() */
} cq_corpus_dedup_options;
CQ_DEFAULT_OPTIONS(cq_corpus_dedup_options, cq_corpus_dedup_default_options, corpus_dedup) /**< group "corpus-dedup" */

/** Keeps the first of several equal rows. Sentences are compared by 64-bit hashes, with up to 21 bytes per row (or per
 * side, for CQ_REPEATS_ANY): 60 million distinct ones take 1 GiB (more while the table grows), and the probability of
 * any collision among them is 1 in 10,000. */
CQ_API CQ_MUST_USE cq_status cq_corpus_dedup(cq_corpus_counts *counts, const cq_corpus_dedup_options *options,
                                             cq_error *error);

/** Rows to drop although both sides look like text. */
enum {
  CQ_FILTER_NUMBERS = 1, /**< digits of one side that the other lacks */
  CQ_FILTER_LINKS = 2,   /**< a URL or an address on one side only, or little else on either side */
  CQ_FILTER_INCONSISTENT =
      4, /**< a first side whose first translation was another one; up to 42 bytes of memory a row */
};

/** What text of user interfaces has beside words. */
enum {
  CQ_CLEAN_MARKUP = 1,       /**< <b>, &lt; */
  CQ_CLEAN_ACCELERATORS = 2, /**< _File, &File */
  CQ_CLEAN_PLACEHOLDERS = 4, /**< %s, {name}, $1 */
  CQ_CLEAN_ELLIPSES = 8      /**< at the end */
};

/** Computes the cosines of pairs of sentences: sides [2n], out [n]. */
typedef cq_status (*cq_corpus_cosines_fn)(void *context, double *out, const cq_slice *sides, size_t n, cq_error *error);

typedef struct cq_corpus_filter_options {
  size_t size;
  const char *const *inputs; /**< one after the other */
  size_t n_inputs;
  uint64_t min_characters, max_characters; /**< of every side; max 0: no limit */
  double max_ratio; /**< maximum ratio of the longer side to the shorter, in characters, with ten added to both; 0:
                     * any */
  const char *const *languages; /**< codes of the columns: sentences must be in the languages' scripts; none: any */
  size_t n_languages;
  bool keep_identical; /**< keep rows with two equal sides, compared CQ_CORPUS_NORMALIZED */
  const char *output;
  bool skip_bad;
  cq_corpus_progress_fn progress;
  void *progress_context;
  /** Drop rows with a side that has at least this probability of being in another language than its code in `languages`
   * (calque/language.h); 0: keep them. All of `languages` must be known */
  double other_language;
  const char *rejected; /**< file for the dropped rows: the reason, a tab, the row as it was; NULL: none */
  unsigned clean;       /**< CQ_CLEAN_*: removed from every side, before it is checked */
  unsigned drop;        /**< CQ_FILTER_*: of the first two columns */
  /** Drop rows whose first two columns have a lower cosine, by `cosines`; -1: keep them */
  double min_cosine;
  cq_corpus_cosines_fn cosines;
  void *cosines_context;
  uint64_t max_word;     /**< longest word between blanks, in characters; not in scripts without blanks; 0: any */
  double min_letters;    /**< smallest share of letters among a side's characters other than blanks; 0: any */
  double max_repetition; /**< largest share of repeated sequences of three words, in sides of ten or more; 1: any */
} cq_corpus_filter_options;
/** Group "corpus-filter". */
CQ_DEFAULT_OPTIONS(cq_corpus_filter_options, cq_corpus_filter_default_options, corpus_filter)

/** Drops rows that cannot be translations. In rows of three or more columns, all except the first may be empty. A
 * side's script is the script of most of its letters; sides without letters pass. */
CQ_API CQ_MUST_USE cq_status cq_corpus_filter(cq_corpus_counts *counts, const cq_corpus_filter_options *options,
                                              cq_error *error);

typedef struct cq_corpus_gloss_options {
  size_t size;
  const char *const *inputs; /**< one after the other */
  size_t n_inputs;
  size_t column;                   /**< of the inputs' sentences, from 1 */
  const char *const *dictionaries; /**< rows with a word and its translations; held in memory */
  size_t n_dictionaries;
  const char *const *texts; /**< text whose frequencies weight the choice of translations; none: all are equally
                             * likely */
  size_t n_texts;
  double min_known; /**< minimum share of known words in a sentence; at least one word */
  uint64_t seed;
  const char *output;
  bool skip_bad;
  cq_corpus_progress_fn progress;
  void *progress_context;
  const char *const *languages; /**< codes of the columns, for an output that names them */
  size_t n_languages;
} cq_corpus_gloss_options;
CQ_DEFAULT_OPTIONS(cq_corpus_gloss_options, cq_corpus_gloss_default_options, corpus_gloss) /**< group "corpus-gloss" */

/** Makes parallel text with only a dictionary: sentences and their word-by-word translations (Lample et al. 2018,
 * "word-by-word"). Words are looked up regardless of case, the longest phrase first; one of several translations is
 * drawn at random, and an unknown word is copied. @errors CQ_ERR_ARGUMENT when no word has a translation. */
CQ_API CQ_MUST_USE cq_status cq_corpus_gloss(cq_corpus_counts *counts, const cq_corpus_gloss_options *options,
                                             cq_error *error);

typedef struct cq_corpus_inflect_options {
  size_t size;
  const char *const *inputs; /**< dictionaries: rows with a word and its translations; held in memory */
  size_t n_inputs;
  const char *const *texts; /**< text in the translations' language, each row's last column; words are held in memory */
  size_t n_texts;
  uint64_t min_support; /**< words of the text that follow a rule */
  const char *output;
  bool skip_bad;
  cq_corpus_progress_fn progress;
  void *progress_context;
  const char *const *languages; /**< codes of the columns, for an output that names them */
  size_t n_languages;
} cq_corpus_inflect_options;
/** Group "corpus-inflect". */
CQ_DEFAULT_OPTIONS(cq_corpus_inflect_options, cq_corpus_inflect_default_options, corpus_inflect)

/** Finds inflected forms of a dictionary's translations in text, and writes them as rows of a dictionary: the rows of
 * the form's translation, with the form in its place. Rules that exchange beginnings and endings of words are learned
 * from text and dictionary, in any language (as in Soricut & Och 2015, "Unsupervised Morphology Induction", without
 * their vectors). A form belongs to the translation with the highest log support of the rule + log(1 + the
 * translation's count in the text) + half the letters that they share. counts.n_read: distinct words of the text that
 * the dictionary lacks. Phrases, and words with ideographs, are ignored. */
CQ_API CQ_MUST_USE cq_status cq_corpus_inflect(cq_corpus_counts *counts, const cq_corpus_inflect_options *options,
                                               cq_error *error);

typedef struct cq_corpus_transliterate_options {
  size_t size;
  const char *const *inputs; /**< dictionaries: rows with a word and its translations; held in memory */
  size_t n_inputs;
  const char *const *texts; /**< text in the words' language, each row's first column; words are held in memory */
  size_t n_texts;
  uint64_t min_pairs; /**< minimum pairs of words that sound alike; with fewer, nothing is written */
  const char *output;
  bool skip_bad;
  cq_corpus_progress_fn progress;
  void *progress_context;
  const char *const *languages; /**< codes of the columns, for an output that names them */
  size_t n_languages;
} cq_corpus_transliterate_options;
/** Group "corpus-transliterate". */
CQ_DEFAULT_OPTIONS(cq_corpus_transliterate_options, cq_corpus_transliterate_default_options, corpus_transliterate)

/** Transliterates names that occur in text but not in a dictionary, and writes them as rows of a dictionary. A name is
 * a word that never occurs in lower case in the text. Spelling is learned from dictionary words that sound like their
 * translations in another script: first from those with the same consonants (Soundex of ICU's romanization), then from
 * all pairs that these make likely, by a joint n-gram model of units of one or two letters (Bisani & Ney 2008,
 * "Joint-Sequence Models for Grapheme-to-Phoneme Conversion"); with 1,000 names or more, only from names. Nothing is
 * written if both languages have the same script. counts.n_read: names. */
CQ_API CQ_MUST_USE cq_status cq_corpus_transliterate(cq_corpus_counts *counts,
                                                     const cq_corpus_transliterate_options *options, cq_error *error);

/** @name Statistics */

enum { CQ_CORPUS_MAX_SCRIPTS = 3 };

typedef struct cq_corpus_column {
  uint64_t n, n_empty;    /**< rows that have the column; rows with only white space in it */
  uint64_t n_distinct;    /**< sentences, byte for byte, without empty ones */
  double mean_characters; /**< of sentences that are not empty, as all below */
  uint64_t median_characters, max_characters;
  uint64_t characters_95; /**< the 95th percentile */
  double mean_words;      /**< separated by white space */
  struct {
    char name[32];                  /**< "Latin", "Cyrillic": the script of most of a sentence's letters */
    double share;                   /**< of the sentences */
  } scripts[CQ_CORPUS_MAX_SCRIPTS]; /**< the most frequent first; a share of 0: no more */
} cq_corpus_column;

typedef struct cq_corpus_figures {
  uint64_t n_rows, n_distinct; /**< n_distinct: rows with all their columns, byte for byte */
  uint64_t n_identical;        /**< rows with two equal sides, compared CQ_CORPUS_NORMALIZED */
  uint64_t n_dropped;          /**< malformed lines, with skip_bad; messages without a translation */
  size_t n_columns;
  cq_corpus_column *columns; /**< [n_columns] */
} cq_corpus_figures;

typedef struct cq_corpus_stats_options {
  size_t size;
  const char *const *inputs; /**< one after the other */
  size_t n_inputs;
  bool skip_bad;
  cq_corpus_progress_fn progress;
  void *progress_context;
} cq_corpus_stats_options;
CQ_DEFAULT_OPTIONS(cq_corpus_stats_options, cq_corpus_stats_default_options, corpus_stats) /**< group "corpus-stats" */

/** Statistics of a corpus. Memory grows by about 20 bytes per new row and side, as in cq_corpus_dedup(). `*out` is {0}
 * after an error; release with cq_corpus_figures_free(). */
CQ_API CQ_MUST_USE cq_status cq_corpus_stats(cq_corpus_figures *out, const cq_corpus_stats_options *options,
                                             cq_error *error);
CQ_API void cq_corpus_figures_free(cq_corpus_figures *figures);

#ifdef __cplusplus
}
#endif
#endif
