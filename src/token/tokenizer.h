/* Text to token ids, for every tokenizer behind one handle.
 *
 * A tokenizer is immutable once open and may be shared by threads. Which files make it, in order of preference:
 *   tokenizer.json           WordPiece, Unigram, BPE (byte-level, or SentencePiece's with byte fallback), WordLevel
 *   vocab.txt                WordPiece; tokenizer_config.json holds do_lower_case, strip_accents and the like
 *   sentencepiece.bpe.model, spiece.model, tokenizer.model   SentencePiece, unigram or BPE
 *   vocab.json, merges.txt   byte-level BPE
 * with tokenizer_config.json and special_tokens_map.json beside them. */
#ifndef TOKEN_TOKENIZER_H
#define TOKEN_TOKENIZER_H

#include "base/slice.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct cq_tokenizer cq_tokenizer;

/* A growing run of ids; start from {0}, release ids with cq_free. */
typedef struct cq_ids {
  int32_t *ids;
  size_t n, capacity;
} cq_ids;

typedef struct cq_tokenizer_info {
  const char *type;                                /* "WordPiece", "Unigram", "BPE", "ByteLevelBPE", "WordLevel" */
  int64_t vocab_size;                              /* ids are in [0, vocab_size) */
  int32_t pad_id, unk_id, cls_id, sep_id, mask_id; /* -1: none; cls/sep are <s> and </s> where the tokenizer says so */
  int n_special;                                   /* tokens put around a single sentence */
  int64_t model_max_length;                        /* tokenizer_config.json's; 0: not given or absurdly large */
  int64_t truncation;                              /* tokenizer.json's max_length, for callers that use it; 0: none */
  bool truncates_start;                            /* truncates longer text at the beginning, not at the end */
  bool lowercase;
} cq_tokenizer_info;

/* Opens what a directory holds.
 *   lowercase_override  sentence_bert_config.json's do_lower_case: lower-cases the text before the tokenizer sees it
 * Errors: CQ_ERR_IO when no tokenizer file is there (the message lists what was looked for), CQ_ERR_FORMAT,
 * CQ_ERR_UNSUPPORTED for a component calque does not know (named). */
CQ_MUST_USE cq_status cq_tokenizer_open(cq_tokenizer **out, const char *directory, bool lowercase_override,
                                        cq_error *error);
void cq_tokenizer_free(cq_tokenizer *tokenizer);
const cq_tokenizer_info *cq_tokenizer_describe(const cq_tokenizer *tokenizer);

/* A tokenizer's scratch memory, kept from sentence to sentence to avoid allocations. One thread at a time may use it,
 * for any tokenizer. */
typedef struct cq_token_memory cq_token_memory;
cq_token_memory *cq_token_memory_new(void); /* NULL: out of memory */
/* From now on, texts are split without a share of the pieces longer than a character, drawn by key at each place: the
 * best split into the others (Unigram only). So a model sees several splits of a word, and rarer pieces. 0: off.
 * Source: Provilkov et al. 2020 for byte-pair encoding, Kudo 2018 for drawing by likelihood. */
void cq_token_memory_drop_pieces(cq_token_memory *memory, double share, uint64_t key);
size_t cq_token_memory_bytes(const cq_token_memory *memory);
void cq_token_memory_free(cq_token_memory *memory);

/* Appends one sentence's ids to out.
 *   memory       NULL: some for this call
 *   add_special  put the special tokens around (static models do without)
 *   max_length   keep at most this many ids, special ones included (0: no limit), truncating the end
 *   truncated    set to whether it was; may be NULL
 * text is well-formed UTF-8 (checked by the caller). Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_tokenizer_encode(cq_ids *out, const cq_tokenizer *tokenizer, cq_token_memory *memory,
                                          cq_slice text, bool add_special, size_t max_length, bool *truncated,
                                          cq_error *error);

/* Writes into an existing directory what Hugging Face transformers needs to load the same tokenizer: the files it was
 * opened from, byte for byte, and those of tokenizer.json, tokenizer_config.json and special_tokens_map.json that were
 * not among them; a trained vocabulary also as sentencepiece.bpe.model.
 *   max_seq_length  goes to tokenizer_config.json's model_max_length; 0 leaves that alone */
CQ_MUST_USE cq_status cq_tokenizer_save(const cq_tokenizer *tokenizer, const char *directory, int max_seq_length,
                                        cq_error *error);

/* --- the vocabulary, for copying embedding rows to another one --- */

typedef enum cq_piece_kind {
  CQ_PIECE_SPECIAL, /* <s>, [CLS], ... */
  CQ_PIECE_START,   /* at a word's start: SentencePiece's "\u2581x", WordPiece's "x", byte-level BPE's "\u0120x" */
  CQ_PIECE_INSIDE,  /* inside a word: SentencePiece's "x", WordPiece's "##x" */
  CQ_PIECE_OTHER,   /* a byte, an unused slot */
} cq_piece_kind;

/* A piece's text without its marker, and its kind; the text is borrowed. False when the id is out of range. */
bool cq_tokenizer_piece(cq_slice *text, cq_piece_kind *kind, const cq_tokenizer *tokenizer, int32_t id);

/* Decodes ids [n]: words separated by one space, special tokens and single bytes left out, unknown ones as U+2047.
 * SentencePiece's splits are joined exactly, except for its normalization. */
void cq_tokenizer_text(cq_builder *out, const cq_tokenizer *tokenizer, const int32_t *ids, size_t n);

/* --- trimming the vocabulary to a text --- */

/* Sets needed[id], [vocab_size], for the pieces that affect how the text is split: the resulting pieces, intermediate
 * merges, and matches in a word that ends as unknown. memory, add_special: as cq_tokenizer_encode's. Errors:
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_tokenizer_mark(bool *needed, const cq_tokenizer *tokenizer, cq_token_memory *memory,
                                        cq_slice text, bool add_special, cq_error *error);

/* A tokenizer of the needed, special and added pieces, which splits the marked text as before.
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
  int vocab_size; /* ids in all, <s> <pad> </s> <unk> and <mask> included */
  bool bpe;
  double character_coverage;
  bool lowercase;           /* nmt_nfkc_cf instead of nmt_nfkc */
  bool fold_variants;       /* spelling variants are one (text/variants.h) */
  uint64_t max_sentences;   /* sampled when there are more; 0: all */
  const cq_tokenizer *keep; /* its word-initial pieces are kept in addition to vocab_size; unigram only */
} cq_sentencepiece_training;

/* Trains on sentences and opens the result as a tokenizer of XLM-R's layout: <s> 0, <pad> 1, </s> 2, <unk> 3, ...,
 * <mask> last. The same sentences and options give the same bytes: the sample is drawn from a fixed seed, and the
 * trainer always runs eight threads, as its sums are split by thread.
 *   largest  set where the text is too small for vocab_size: what it is large enough for, as far as the trainer knows;
 *            else 0
 *   next     gives sentence after sentence; false at the end. A failed read is reported by the caller afterwards.
 * Errors: CQ_ERR_ARGUMENT when the text is too small for vocab_size (with SentencePiece's own words), CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_tokenizer_train_sentencepiece(cq_tokenizer **out, int *largest,
                                                       bool (*next)(void *context, cq_slice *sentence), void *context,
                                                       const cq_sentencepiece_training *options, cq_error *error);

/* --- training a vocabulary of whole words --- */

typedef struct cq_words_training {
  int vocab_size;     /* ids in all, <s> <pad> </s> <unk> included; fewer when the text has fewer words */
  uint64_t min_count; /* words that occur less often are left out; 0 or 1: none */
  bool lowercase;
} cq_words_training;

/* Counts the words of sentences and makes the most frequent ones a tokenizer: <s> 0, <pad> 1, </s> 2, <unk> 3, then by
 * count, ties by their bytes. Words are separated by blanks; punctuation marks and symbols are separate words; one
 * after a blank begins with U+2581, so that cq_tokenizer_text gives the text back, in NFKC and with one blank for any
 * white space. The text must have blanks between words; add them to Chinese or Thai first. It is saved as a
 * tokenizer.json that Hugging Face's tokenizers reads.
 *   next  gives sentence after sentence; false at the end. Those that are not UTF-8 are left out. A failed read is
 *         reported by the caller afterwards.
 * Errors: CQ_ERR_ARGUMENT when vocab_size has no room for a word or is more than 2^20, when there is no word, or none
 * that occurs min_count times; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_tokenizer_train_words(cq_tokenizer **out, bool (*next)(void *context, cq_slice *sentence),
                                               void *context, const cq_words_training *options, cq_error *error);

#endif
