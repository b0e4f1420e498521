/* Trimming a model to the text it is for: the embedding rows and the pieces of the vocabulary that the text never needs
 * go, and the vectors of the text keep every bit. The vectors of a static model can also be projected on the principal
 * axes of the text.
 *
 *   const char *const files[] = {"corpus.txt"};
 *   cq_trim_options o = cq_trim_default_options();
 *   o.text_files = files, o.n_text_files = 1;
 *   cq_trim("small-dir", "model-dir", &result, &o, NULL, &err);
 *
 * Other text is split into shorter pieces where it would need what is gone.
 *
 * Threads: several calls may work at once, each with a directory of its own. */
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

typedef struct cq_trim_options { /* group "trim" */
  size_t size;
  const char *const *text_files; /* .txt or .tsv, plain or compressed: every column of every line */
  size_t n_text_files;           /* 1 or more */
  int keep;          /* keep the first so many pieces of the vocabulary, too, which are the most frequent in most */
  int vocab_size;    /* keep this many pieces, those that the text uses most, files counting alike; 0: all it needs */
  bool fold_case;    /* pieces that differ in case become one, and text is composed (NFC); Unigram vocabularies */
  const int *layers; /* [n_layers] to keep, rising from 0; the model must be trained again */
  size_t n_layers;   /* 0: all */
  int embedding_dim; /* of factorized word embeddings (BERT, XLM-R become ELECTRA); 0: the hidden size */
  bool replace;      /* overwrite an existing directory */
  int dimensions;    /* of a static model: the principal axes of the text's vectors to keep, by variance; 0: all */
} cq_trim_options;
CQ_DEFAULT_OPTIONS(cq_trim_options, cq_trim_default_options, trim)

typedef struct cq_trim_result {
  uint64_t n_sentences;              /* of the text */
  int64_t rows_before, rows_after;   /* of the word embeddings */
  int64_t bytes_before, bytes_after; /* of all weights, as they are stored */
} cq_trim_result;

/* Writes `model`, a directory or cached name, for that text to `directory`, which appears whole or not at all. Before it
 * does, all of the text is split by both vocabularies and compared, with each of the model's prompts before it. WordPiece,
 * SentencePiece (unigram and BPE), byte-level BPE and whole words can be trimmed; special and added tokens stay.
 *   result  may be NULL
 * Errors: CQ_ERR_ARGUMENT (no text, an existing directory, more dimensions than there are); CQ_ERR_UNSUPPORTED for a
 * model without such a vocabulary, one in 8 bits, and where the text would be split otherwise (file and line); those of
 * opening and reading. */
CQ_API CQ_MUST_USE cq_status cq_trim(const char *directory, const char *model, cq_trim_result *result,
                                     const cq_trim_options *options, cq_context *ctx, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
