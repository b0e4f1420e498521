/** @file Trims a model to a text: removes vocabulary pieces and embedding rows that the text does not need; the text's
 * vectors do not change. A static model's vectors can also be projected on the text's principal axes.
 *
 *      const char *const files[] = {"corpus.txt"};
 *      cq_trim_options o = cq_trim_default_options();
 *      o.text_files = files, o.n_text_files = 1;
 *      cq_trim("small-dir", "model-dir", &result, &o, NULL, &err);
 *
 * Other text is split into shorter pieces if it needs removed ones.
 *
 * @threads Several calls may work at once, each with its own directory. */
#ifndef CALQUE_TRIM_H
#define CALQUE_TRIM_H

#include "calque/context.h"
#include "calque/options.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_trim_options {
  size_t size;
  const char *const *text_files; /**< .txt or .tsv, plain or compressed: every column of every line */
  size_t n_text_files;           /**< 1 or more */
  int keep;                      /**< also keep this many of the vocabulary's first pieces, often the most frequent
                                  * ones */
  bool replace;                  /**< overwrite an existing directory */
  int vocab_size;                /**< keep the pieces the text uses most, files counting alike; 0: all it needs */
  bool fold_case;                /**< lower case, NFC, no invisible characters; Unigram vocabularies */
  const int *layers;             /**< [n_layers] to keep, in rising order from 0; NULL: all */
  size_t n_layers;
  int embedding_dim; /**< of factorized word embeddings: BERT becomes ELECTRA; 0: the hidden size */
  int dimensions;    /**< of a static model: principal axes to keep, by variance; 0: all */
} cq_trim_options;
CQ_DEFAULT_OPTIONS(cq_trim_options, cq_trim_default_options, trim) /**< group "trim" */

typedef struct cq_trim_result {
  uint64_t n_sentences;              /**< of the text */
  int64_t rows_before, rows_after;   /**< of the word embeddings */
  int64_t bytes_before, bytes_after; /**< of all weights, as stored */
} cq_trim_result;

/** Writes `model`, a directory or cached name, for that text to `directory`, atomically. First, the text is split by
 * both vocabularies, with each of the model's prompts, and the results are compared. WordPiece, SentencePiece (unigram
 * and BPE), byte-level BPE and whole words can be trimmed; special and added tokens stay.
 * @param result  may be NULL
 * @errors CQ_ERR_ARGUMENT (no text, an existing directory, too many dimensions); CQ_ERR_UNSUPPORTED for a model without
 * such a vocabulary, for one in int8, or if the text would be split differently (file and line); those of opening and
 * reading. */
CQ_API CQ_MUST_USE cq_status cq_trim(const char *directory, const char *model, cq_trim_result *result,
                                     const cq_trim_options *options, cq_context *ctx, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
