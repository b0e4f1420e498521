/** @file Makes a student model: the directory that distillation starts from.
 *
 *      cq_student_options o = cq_student_default_options();
 *      o.kind = CQ_STUDENT_NEW_VOCABULARY;
 *      o.from = "all-MiniLM-L6-v2";
 *      o.text = files, o.n_text = 2, o.vocab_size = 32000; // const cq_training_data files[] = {{"en-de.tsv.gz"}, ...}
 *      cq_student_new("student-dir", &o, ctx, &err);
 *
 * @threads Several calls may work at once, each with its own directory. */
#ifndef CALQUE_STUDENT_H
#define CALQUE_STUDENT_H

#include "calque/context.h"
#include "calque/options.h"
#include "calque/status.h"
#include "calque/training.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cq_student_kind {
  CQ_STUDENT_COPY,           /**< an existing model as it is, in a new directory */
  CQ_STUDENT_NEW_VOCABULARY, /**< the body of `from` with a vocabulary trained on the text */
  CQ_STUDENT_TRANSFORMER,    /**< a fresh BERT of the given sizes, mean pooling */
  CQ_STUDENT_BILSTM,         /**< new word embeddings and a bidirectional LSTM, max pooling */
  CQ_STUDENT_STATIC,         /**< the mean of word vectors: random, or `from`'s vectors of single pieces */
  CQ_STUDENT_RERANKER,       /**< the body of `from`, an embedding model, under a fresh classifier with one logit */
} cq_student_kind;

typedef enum cq_student_vocabulary {
  CQ_VOCABULARY_UNIGRAM, /**< SentencePiece's unigram model (Kudo 2018) */
  CQ_VOCABULARY_BPE,     /**< SentencePiece's byte-pair encoding (Sennrich et al. 2016) */
  CQ_VOCABULARY_WORDS,   /**< the most frequent whole words */
} cq_student_vocabulary;

/** Progress of a part of the work: "vocabulary", "counts" of pieces (files), "pieces" encoded by the teacher, "alignment"
 * (languages). Return false to stop. */
typedef bool (*cq_student_progress_fn)(void *context, const char *part, uint64_t done, uint64_t n);

/** Where the embedding rows of new pieces come from. */
typedef enum cq_carry_over {
  CQ_CARRY_SHARED, /**< common pieces keep their rows; others are drawn from the old rows' mean and variance */
  CQ_CARRY_MEAN,   /**< others get the mean of the old rows of their text's old tokens */
  CQ_CARRY_ALIGN,  /**< others get the mean of old rows weighted by a word-alignment model of each language */
  CQ_CARRY_FOCUS,  /**< ALIGN; pieces without translations get the mean of rows weighted by similarity of contexts */
} cq_carry_over;

typedef struct cq_student_options {
  size_t size;
  cq_student_kind kind;
  const char *from; /**< COPY, NEW_VOCABULARY, RERANKER, STATIC (which also uses its dim): directory or cached name */
  /** Text for the vocabulary: .txt or .tsv, plain or compressed, every column. ALIGN: files with translations,
   * including dictionaries, determine the new rows; files with the same label are aligned together, files without one
   * separately. weight: how many times a file counts, rounded; below 1: once; below 0: only aligned. */
  const cq_training_data *text;
  size_t n_text;
  cq_student_vocabulary vocabulary;
  int vocab_size;                               /**< pieces, including special ones, or max words */
  double character_coverage;                    /**< minimum share of the text's characters in pieces */
  bool keep_case;                               /**< else the vocabulary folds case */
  cq_carry_over carry_over;                     /**< NEW_VOCABULARY */
  int dim, n_layers, n_heads, feed_forward_dim; /**< the fresh kinds */
  int max_seq_length;                           /**< tokens; 0: 128, or what `from` has */
  double dropout;                               /**< TRANSFORMER, BILSTM */
  int output_dim;                               /**< above 0: a Dense module to this many dimensions */
  bool normalize; /**< end with a Normalize module (new kinds; otherwise, and for STATIC as well, `from` decides) */
  bool replace;   /**< overwrite an existing directory */
  bool skip_bad;  /**< skip and count malformed lines of text */
  uint64_t seed;
  cq_notice_fn notice;
  void *notice_context;
  bool fold_variants; /**< unify spelling variants in the vocabulary's normalizer (SentencePiece) */
  bool keep_words;    /**< NEW_VOCABULARY, UNIGRAM: keep the words of `from`, besides vocab_size pieces */
  /** STATIC with `from`: a piece with share p of the text has weight smoothing / (smoothing + p); 0: 1 */
  double smoothing;
  int n_components;                /**< STATIC with `from`: principal components removed, max dim / 8 */
  int embedding_dim;               /**< of factorized word embeddings: BERT becomes ELECTRA; 0: the hidden size */
  cq_student_progress_fn progress; /**< may be NULL; called on the calling thread */
  void *progress_context;
} cq_student_options;
/** A new vocabulary of 32,000 pieces, placed by alignment: group "student". */
CQ_DEFAULT_OPTIONS(cq_student_options, cq_student_default_options, student)

/** Writes a student to `directory`. @errors CQ_ERR_ARGUMENT (sizes that do not fit, an existing directory), those of
 * opening `from` and of reading the text; CQ_ERR_STOPPED by progress. */
CQ_API CQ_MUST_USE cq_status cq_student_new(const char *directory, const cq_student_options *options, cq_context *ctx,
                                            cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
