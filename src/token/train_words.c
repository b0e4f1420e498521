/* Trains a vocabulary of whole words: the most frequent ones; all others are unknown.
 *
 *   NFKC, one blank for any white space   Bonjour, «le  monde» !
 *   Metaspace                             ▁Bonjour,   ▁«le       ▁monde»   ▁!
 *   Split by CQ_SPLIT_PUNCTUATION         ▁Bonjour ,  ▁« le   ▁monde »     ▁!
 *
 * The encoder itself counts the words, with a model that counts instead of looking up, so that training splits text
 * exactly like encoding. */
#include "token/tokenizer_files.h"

#include "base/error.h"
#include "base/intern.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <stdlib.h>

#define BLANK "\xE2\x96\x81"

enum { N_SPECIAL = 4, MAX_WORDS = 1 << 20, MAX_WORD_BYTES = 512 };
static const char *const specials[N_SPECIAL] = {"<s>", "<pad>", "</s>", "<unk>"}; /* ids as XLM-R has them */

/* --- counting --- */

struct cq_word_counts {
  cq_intern words;
  uint64_t *counts; /* [words.n] */
  size_t capacity;
};

/* Anything longer is not a word: it is left out, and unknown later. */
static bool count_word(cq_ids *out, const cq_tokenizer *t, cq_slice word, cq_model_memory *memory) {
  (void)out, (void)memory;
  cq_word_counts *c = t->model.counts;
  if (word.n > MAX_WORD_BYTES) return true;
  const uint32_t n_before = c->words.n, number = cq_intern_put(&c->words, word);
  if (number == CQ_INTERN_NONE) return false;
  if (number == n_before) {
    if (!cq_reserve((void **)&c->counts, &c->capacity, (size_t)number + 1, sizeof *c->counts)) return false;
    c->counts[number] = 0;
  }
  c->counts[number]++;
  return true;
}

static const cq_model_kind counting = {"counting", NULL, count_word, NULL};

static cq_status count_sentences(cq_tokenizer *t, bool (*next)(void *context, cq_slice *sentence), void *context,
                                 cq_error *error) {
  const cq_model_kind *kind = t->model.kind;
  cq_ids ids = {0}; /* only special tokens that the text spells out */
  cq_slice sentence;
  cq_status status = CQ_OK;
  t->model.kind = &counting;
  while (!status && next(context, &sentence)) {
    ids.n = 0;
    if (cq_utf8_invalid_at(sentence.data, sentence.n) == sentence.n)
      status = cq_tokenizer_encode(&ids, t, NULL, sentence, false, 0, NULL, error);
  }
  t->model.kind = kind;
  cq_free(ids.ids);
  return status;
}

/* --- choosing --- */

typedef struct counted {
  cq_slice word;
  uint64_t count;
} counted;

/* Most frequent first; ties by their bytes. */
static int by_count(const void *a, const void *b) {
  const counted *x = a, *y = b;
  return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : cq_slice_compare(x->word, y->word);
}

static cq_status put_words(cq_tokenizer *t, const cq_word_counts *c, const cq_words_training *o, cq_error *error) {
  if (c->words.n == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "no word to make a vocabulary of");
  counted *words = cq_alloc_array(c->words.n, sizeof *words);
  if (!words) return cq_fail_memory(error, "vocabulary");
  for (uint32_t i = 0; i < c->words.n; i++) words[i] = (counted){c->words.items[i], c->counts[i]};
  qsort(words, c->words.n, sizeof *words, by_count);
  cq_status status = CQ_OK;
  if (words[0].count < o->min_count)
    status = cq_fail(
        error, CQ_ERR_ARGUMENT, "no word occurs %llu times: the most frequent one, '%.*s', occurs %llu times",
        (unsigned long long)o->min_count, (int)words[0].word.n, words[0].word.data, (unsigned long long)words[0].count);
  const uint32_t room = (uint32_t)(o->vocab_size - N_SPECIAL), n = c->words.n < room ? c->words.n : room;
  for (uint32_t i = 0; i < n && !status && words[i].count >= o->min_count; i++) {
    if (cq_vocab_put(&t->vocab, &t->vocab.index, words[i].word, (int32_t)(N_SPECIAL + i)) != CQ_VOCAB_OK)
      status = cq_fail_memory(error, "vocabulary");
  }
  t->n_model_pieces = t->vocab.n;
  cq_free(words);
  return status;
}

/* --- the document --- */

/* Removes soft hyphens; turns zero-width spaces, byte order marks and the character that marks blanks into blanks. */
static json_t *words_normalizer_json(bool lowercase) {
  json_t *steps = json_array();
  cq_json_push(&steps, json_pack("{s:s}", "type", "NFKC"));
  if (lowercase) cq_json_push(&steps, json_pack("{s:s}", "type", "Lowercase"));
  cq_json_push(&steps, cq_replace_json("String", "\xC2\xAD", ""));
  cq_json_push(&steps, cq_replace_json("String", "\xE2\x80\x8B", " "));
  cq_json_push(&steps, cq_replace_json("String", "\xEF\xBB\xBF", " "));
  cq_json_push(&steps, cq_replace_json("String", BLANK, " "));
  cq_json_push(&steps, cq_replace_json("Regex", "\\s+", " "));
  cq_json_push(&steps, json_pack("{s:s, s:b, s:b}", "type", "Strip", "strip_left", 1, "strip_right", 1));
  return json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", steps);
}

static json_t *words_metaspace_json(void) {
  return json_pack("{s:s, s:s, s:s, s:b}", "type", "Metaspace", "replacement", BLANK, "prepend_scheme", "always",
                   "split", 1);
}

static json_t *document_json(bool lowercase) {
  json_t *added = json_array();
  for (int id = 0; id < N_SPECIAL; id++)
    cq_json_push(&added, cq_added_token_json(id, cq_slice_of(specials[id]), true, false, false));
  json_t *pre_tokenizers =
      json_pack("{s:s, s:[o, {s:s, s:{s:s}, s:s, s:b}]}", "type", "Sequence", "pretokenizers", words_metaspace_json(),
                "type", "Split", "pattern", "Regex", CQ_SPLIT_PUNCTUATION, "behavior", "Isolated", "invert", 0);
  return json_pack("{s:s, s:n, s:n, s:o, s:o, s:o, s:{s:s, s:[s, i], s:[s, i]}, s:o, s:{s:s, s:s}}", "version", "1.0",
                   "truncation", "padding", "added_tokens", added, "normalizer", words_normalizer_json(lowercase),
                   "pre_tokenizer", pre_tokenizers, "post_processor", "type", "BertProcessing", "sep", specials[2], 2,
                   "cls", specials[0], 0, "decoder", words_metaspace_json(), "model", "type", "WordLevel", "unk_token",
                   specials[3]);
}

static cq_status assemble_words(cq_tokenizer *t, bool lowercase, cq_error *error) {
  for (int32_t id = 0; id < N_SPECIAL; id++) {
    if (cq_vocab_put(&t->vocab, &t->vocab.index, cq_slice_of(specials[id]), id) != CQ_VOCAB_OK)
      return cq_fail_memory(error, "vocabulary");
  }
  t->document = document_json(lowercase);
  t->config_class = "PreTrainedTokenizerFast";
  return t->document ? cq_tokenizer_assemble(t, t->document, NULL, "tokenizer.json", error)
                     : cq_fail_memory(error, "tokenizer document");
}

cq_status cq_tokenizer_train_words(cq_tokenizer **out, bool (*next)(void *context, cq_slice *sentence), void *context,
                                   const cq_words_training *options, cq_error *error) {
  *out = NULL;
  if (options->vocab_size <= N_SPECIAL || options->vocab_size > MAX_WORDS)
    return cq_fail(error, CQ_ERR_ARGUMENT, "vocab_size is %d, expected %d to %d", options->vocab_size, N_SPECIAL + 1,
                   MAX_WORDS);
  cq_tokenizer *t = cq_tokenizer_new();
  if (!t) return cq_fail_memory(error, "tokenizer");
  cq_word_counts counts = {0};
  cq_status status = assemble_words(t, options->lowercase, error);
  t->model.counts = &counts;
  if (!status) status = count_sentences(t, next, context, error);
  if (!status) status = put_words(t, &counts, options, error);
  t->model.counts = NULL;
  if (!status) status = cq_tokenizer_finish(t, NULL, "tokenizer_config.json", error);
  cq_intern_free(&counts.words);
  cq_free(counts.counts);
  if (status) {
    cq_tokenizer_free(t);
    return status;
  }
  *out = t;
  return CQ_OK;
}
