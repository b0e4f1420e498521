/* Text to token ids: one handle for every kind of tokenizer.
 *
 * A tokenizer is immutable once open and may be shared by threads. Its files, in order of preference:
 *   tokenizer.json           WordPiece, Unigram, BPE (byte-level, or SentencePiece's with byte fallback), WordLevel
 *   vocab.txt                WordPiece; tokenizer_config.json holds do_lower_case, strip_accents and the like
 *   sentencepiece.bpe.model, spiece.model, tokenizer.model   SentencePiece, unigram or BPE
 *   vocab.json, merges.txt   byte-level BPE, HerBERT's BPE
 * with tokenizer_config.json and special_tokens_map.json beside them. */
#ifndef TOKEN_TOKENIZER_H
#define TOKEN_TOKENIZER_H

#include "base/slice.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct cq_tokenizer cq_tokenizer;

/* A growing array of ids; start from {0}, release ids with cq_free. */
typedef struct cq_ids {
  int32_t *ids;
  size_t n, capacity;
} cq_ids;

typedef struct cq_tokenizer_info {
  const char *type;                                /* "WordPiece", "Unigram", "BPE", "ByteLevelBPE", "WordLevel" */
  int64_t vocab_size;                              /* ids are in [0, vocab_size) */
  int32_t pad_id, unk_id, cls_id, sep_id, mask_id; /* -1: none; cls/sep are <s> and </s> in tokenizers that use these */
  int n_special;                                   /* tokens put around a single sentence */
  int64_t model_max_length;                        /* from tokenizer_config.json; 0: not given or absurdly large */
  int64_t truncation;                              /* tokenizer.json's max_length, if the caller wants it; 0: none */
  bool truncates_start;                            /* truncates longer text at the beginning instead of the end */
  bool lowercase;
  bool normalizes; /* to a normal form of Unicode, whichever the text has */
} cq_tokenizer_info;

/* Opens the tokenizer in a directory.
 *   lowercase_override  sentence_bert_config.json's do_lower_case: lower-cases as the first step of normalization
 * Errors: CQ_ERR_IO if there is no tokenizer file (the message lists the possible ones), CQ_ERR_FORMAT,
 * CQ_ERR_UNSUPPORTED for a component unknown to calque (named). */
CQ_MUST_USE cq_status cq_tokenizer_open(cq_tokenizer **out, const char *directory, bool lowercase_override,
                                        cq_error *error);
/* The same, but a tokenizer.json is read as it is, whatever class the files beside it name (static models). */
CQ_MUST_USE cq_status cq_tokenizer_open_as_it_is(cq_tokenizer **out, const char *directory, bool lowercase_override,
                                                 cq_error *error);
void cq_tokenizer_free(cq_tokenizer *tokenizer);
/* Leaves out the ids that have no row in a table of n rows: vocab_size is n from now on, and a text that uses one of
 * these ids is an error. Errors: CQ_ERR_FORMAT unless all of them are added tokens that no text needs. */
CQ_MUST_USE cq_status cq_tokenizer_limit(cq_tokenizer *tokenizer, int64_t n, const char *path, const char *table,
                                         cq_error *error);
const cq_tokenizer_info *cq_tokenizer_describe(const cq_tokenizer *tokenizer);

/* A tokenizer's scratch memory, reused between sentences to avoid allocations. One thread at a time may use it, for any
 * tokenizer. */
typedef struct cq_token_memory cq_token_memory;
cq_token_memory *cq_token_memory_new(void); /* NULL: out of memory */
/* From now on, a random share of the pieces longer than a character is not available at each position (drawn by key);
 * texts get the best split into the other pieces (Unigram only). So a model sees several splits of a word, and rarer
 * pieces. 0: off. Source: Provilkov et al. 2020 for byte-pair encoding, Kudo 2018 for drawing by likelihood. */
void cq_token_memory_drop_pieces(cq_token_memory *memory, double share, uint64_t key);
size_t cq_token_memory_bytes(const cq_token_memory *memory);
void cq_token_memory_free(cq_token_memory *memory);

/* Appends one sentence's ids to out.
 *   memory       NULL: temporary memory for this call
 *   add_special  adds the special tokens (static models use none)
 *   max_length   keep at most this many ids, special ones included (0: no limit), truncating the end of the text, or
 *                its start if the tokenizer's info says so
 *   truncated    set to whether it was; may be NULL
 * text is well-formed UTF-8 (checked by the caller). Errors: CQ_ERR_MEMORY, CQ_ERR_FORMAT (cq_tokenizer_limit). */
CQ_MUST_USE cq_status cq_tokenizer_encode(cq_ids *out, const cq_tokenizer *tokenizer, cq_token_memory *memory,
                                          cq_slice text, bool add_special, size_t max_length, bool *truncated,
                                          cq_error *error);

/* The same for two texts in the tokenizer's template of pairs, with special tokens. Over max_length, the longer text is
 * truncated until both are equally long, then both (longest_first).
 *   second  number of ids of token type 0: all others have type 1
 * Errors: also CQ_ERR_UNSUPPORTED if the tokenizer has no such template, CQ_ERR_ARGUMENT if max_length leaves no room. */
CQ_MUST_USE cq_status cq_tokenizer_encode_pair(cq_ids *out, size_t *second, const cq_tokenizer *tokenizer,
                                               cq_token_memory *memory, const cq_slice texts[2], size_t max_length,
                                               bool *truncated, cq_error *error);

/* Writes into an existing directory the files that Hugging Face transformers needs to load the same tokenizer: its
 * original files, byte for byte, and tokenizer.json, tokenizer_config.json and special_tokens_map.json if they are not
 * among these; a trained vocabulary also as sentencepiece.bpe.model.
 *   max_seq_length  written to tokenizer_config.json as model_max_length; 0: unchanged */
CQ_MUST_USE cq_status cq_tokenizer_save(const cq_tokenizer *tokenizer, const char *directory, int max_seq_length,
                                        cq_error *error);

/* --- the vocabulary, for copying embedding rows to another one --- */

typedef enum cq_piece_kind {
  CQ_PIECE_SPECIAL, /* <s>, [CLS], ... */
  CQ_PIECE_START,   /* at a word's start: SentencePiece's "\u2581x", WordPiece's "x", byte-level BPE's "\u0120x" */
  CQ_PIECE_INSIDE,  /* inside a word: SentencePiece's "x", WordPiece's "##x" */
  CQ_PIECE_OTHER,   /* a byte, an unused slot */
} cq_piece_kind;

/* A piece's text without its marker, and its kind; the text is borrowed. False if the id is out of range. */
bool cq_tokenizer_piece(cq_slice *text, cq_piece_kind *kind, const cq_tokenizer *tokenizer, int32_t id);

/* Decodes ids [n]: words separated by one space, without special tokens and single bytes; unknown tokens become U+2047.
 * SentencePiece's splits are joined exactly, but the text stays normalized. */
void cq_tokenizer_text(cq_builder *out, const cq_tokenizer *tokenizer, const int32_t *ids, size_t n);

/* --- trimming the vocabulary to a text --- */

/* Sets needed[id], [vocab_size], for the pieces that affect how the text is split: the resulting pieces, intermediate
 * merges, and matches in a word that becomes unknown. memory, add_special: as cq_tokenizer_encode's. Errors:
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_tokenizer_mark(bool *needed, const cq_tokenizer *tokenizer, cq_token_memory *memory,
                                        cq_slice text, bool add_special, cq_error *error);

/* What text loses without a piece, as training a Unigram vocabulary prunes it (Kudo 2018, 3.2).
 *   probability  [vocab_size] of the piece in the text that the vocabulary was trained on, by its score; 0: unknown.
 *                Control pieces have the score 0, so that a vocabulary with five leaves a sixth to all others
 *   loss         [vocab_size] log-probability that the best way to write the piece with others has less; 1: unknown.
 *                A character that no others can write counts as many unknown ones as it has bytes
 * Not while other threads use the tokenizer. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_tokenizer_piece_values(double *probability, double *loss, const cq_tokenizer *tokenizer,
                                                cq_error *error);

/* A tokenizer with only the needed, special and added pieces, which splits the marked text as before.
 *   new_ids  [vocab_size] a piece's new id; -1: removed. Ids keep their order
 * It is saved as tokenizer.json, tokenizer_config.json and special_tokens_map.json. Errors: CQ_ERR_UNSUPPORTED for a
 * vocabulary with a piece twice; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_tokenizer_trim(cq_tokenizer **out, int32_t *new_ids, const cq_tokenizer *tokenizer,
                                        const bool *needed, cq_error *error);

/* A tokenizer that reads text in lower case, composed and without invisible characters, with one piece for those that
 * differ in case alone.
 *   new_ids, weights  [vocab_size] a piece's new id, and its share, by frequency, of the pieces that became this one
 * Errors: CQ_ERR_UNSUPPORTED for another vocabulary than Unigram; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_tokenizer_fold_case(cq_tokenizer **out, int32_t *new_ids, double *weights,
                                             const cq_tokenizer *tokenizer, cq_error *error);

/* --- training a SentencePiece vocabulary --- */

typedef struct cq_sentencepiece_training {
  int vocab_size; /* total number of ids, including <s> <pad> </s> <unk> and <mask> */
  bool bpe;
  double character_coverage;
  bool lowercase;           /* nmt_nfkc_cf instead of nmt_nfkc */
  bool fold_variants;       /* spelling variants are one (text/variants.h) */
  uint64_t max_sentences;   /* sampled when there are more; 0: all */
  const cq_tokenizer *keep; /* its word-initial pieces are kept, in addition to vocab_size; unigram only */
} cq_sentencepiece_training;

/* Trains on sentences and opens the result as a tokenizer with XLM-R's layout: <s> 0, <pad> 1, </s> 2, <unk> 3, ...,
 * <mask> last. The same sentences and options give the same bytes: the sample is drawn from a fixed seed, and the
 * trainer always runs eight threads, because its sums are split by thread.
 *   largest  set if the text is too small for vocab_size: the largest possible size, if the trainer reports it; else 0
 *   next     returns the next sentence; false at the end. The caller reports a failed read afterwards.
 * Errors: CQ_ERR_ARGUMENT when the text is too small for vocab_size (with SentencePiece's message), CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_tokenizer_train_sentencepiece(cq_tokenizer **out, int *largest,
                                                       bool (*next)(void *context, cq_slice *sentence), void *context,
                                                       const cq_sentencepiece_training *options, cq_error *error);

/* --- training a vocabulary of whole words --- */

typedef struct cq_words_training {
  int vocab_size;     /* total number of ids, including <s> <pad> </s> <unk>; fewer if the text has fewer words */
  uint64_t min_count; /* words that occur less often are left out; 0 or 1: all words are kept */
  bool lowercase;
} cq_words_training;

/* Counts the words of sentences and makes a tokenizer from the most frequent ones: <s> 0, <pad> 1, </s> 2, <unk> 3,
 * then words by count, ties in byte order. Words are separated by blanks; punctuation marks and symbols are separate
 * words. A word after a blank begins with U+2581, so cq_tokenizer_text restores the text, in NFKC and with one blank
 * for any white space. The text must have blanks between words; add them to Chinese or Thai first. The tokenizer is
 * saved as a tokenizer.json that Hugging Face's tokenizers can read.
 *   next  returns the next sentence; false at the end. Sentences that are not UTF-8 are left out. The caller reports a
 *         failed read afterwards.
 * Errors: CQ_ERR_ARGUMENT when vocab_size has no room for a word or is more than 2^20, when there are no words, or none
 * occurs min_count times; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_tokenizer_train_words(cq_tokenizer **out, bool (*next)(void *context, cq_slice *sentence),
                                               void *context, const cq_words_training *options, cq_error *error);

#endif
