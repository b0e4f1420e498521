/* WordPiece: the longest piece at the start of a word, then the longest "##" piece that continues it, up to the word's
 * end; a word that cannot be covered becomes one unknown token. Source: Schuster & Nakajima 2012; Devlin et al. 2019
 * for the variant used here.
 *
 * The vocabulary's trie gives the longest match in one walk: inner pieces are looked up from the node after "##". */
#include "token/tokenizer_parts.h"

#include "base/error.h"
#include "base/utf8.h"

static cq_status parse_wordpiece(cq_tokenizer *t, const json_t *model, const char *path, cq_error *error) {
  const char *unk = "[UNK]", *prefix = "##";
  int64_t longest = 100;
  cq_status status = cq_json_get_string(&unk, model, "unk_token", path, error);
  if (!status) status = cq_json_get_string(&prefix, model, "continuing_subword_prefix", path, error);
  if (!status) status = cq_json_get_int(&longest, model, "max_input_chars_per_word", 1, INT32_MAX, path, error);
  if (status) return status;
  t->model.unk_id = cq_vocab_id(&t->vocab, cq_slice_of(unk));
  if (t->model.unk_id < 0)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "the unknown token '%s' is not in the vocabulary", unk);
  const char *copy = cq_arena_strdup(&t->arena, prefix);
  if (!copy) return cq_fail_memory(error, "tokenizer");
  t->model.prefix = cq_slice_of(copy);
  t->model.max_word_chars = (size_t)longest;
  t->model.continuation = cq_trie_walk(&t->vocab.index, CQ_TRIE_ROOT, t->model.prefix);
  t->info.type = "WordPiece";
  return CQ_OK;
}

/* *whole false: the pieces do not cover the word. */
static bool match_pieces(cq_ids *out, bool *whole, const cq_tokenizer *t, cq_slice word) {
  const cq_model *m = &t->model;
  const cq_trie *trie = &t->vocab.index;
  *whole = false;
  if (word.n > m->max_word_chars && cq_utf8_length(word.data, word.n) > m->max_word_chars) return true;
  for (size_t start = 0; start < word.n;) {
    uint32_t node = start ? m->continuation : CQ_TRIE_ROOT;
    int32_t best = -1;
    size_t end = start;
    for (size_t i = start; i < word.n && node != CQ_TRIE_NONE;) {
      node = cq_trie_step(trie, node, (unsigned char)word.data[i]);
      i++;
      if (node != CQ_TRIE_NONE && node & CQ_TRIE_END) {
        best = cq_trie_value(trie, node);
        end = i;
      }
    }
    if (best < 0) return true;
    if (!cq_ids_put(out, best)) return false;
    start = end;
  }
  *whole = true;
  return true;
}

static bool encode_wordpiece(cq_ids *out, const cq_tokenizer *t, cq_slice word, cq_model_memory *memory) {
  (void)memory;
  const size_t first = out->n;
  bool whole;
  if (!match_pieces(out, &whole, t, word)) return false;
  if (whole) return true;
  out->n = first;
  return cq_ids_put(out, t->model.unk_id);
}

/* Also includes the pieces of an unknown word: without its first pieces, others might cover it. */
static bool trace_wordpiece(cq_ids *out, const cq_tokenizer *t, cq_slice word, cq_model_memory *memory) {
  (void)memory;
  bool whole;
  return match_pieces(out, &whole, t, word);
}

const cq_model_kind cq_wordpiece_kind = {"WordPiece", parse_wordpiece, encode_wordpiece, trace_wordpiece};
