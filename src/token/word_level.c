/* WordLevel: a word is one token, or the unknown token. The pre-tokenizers determine what a word is. If they mark the
 * blank before a word with U+2581, the vocabulary's words include the mark, and the text can be restored. */
#include "token/tokenizer_parts.h"

#include "base/error.h"

static cq_status parse_word_level(cq_tokenizer *t, const json_t *model, const char *path, cq_error *error) {
  const char *unk = NULL;
  const json_t *vocab = json_object_get(model, "vocab");
  if (vocab && !json_is_object(vocab))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "model.vocab: expected an object of words and ids");
  cq_status status = cq_json_get_string(&unk, model, "unk_token", path, error);
  if (status) return status;
  if (!unk) return cq_fail_file(error, CQ_ERR_FORMAT, path, "model: WordLevel needs an 'unk_token'");
  t->model.unk_id = cq_vocab_id(&t->vocab, cq_slice_of(unk));
  if (t->model.unk_id < 0)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "the unknown token '%s' is not in the vocabulary", unk);
  t->info.type = "WordLevel";
  return CQ_OK;
}

static bool encode_word_level(cq_ids *out, const cq_tokenizer *t, cq_slice word, cq_model_memory *memory) {
  (void)memory;
  const int32_t id = cq_trie_get(&t->vocab.index, word);
  return cq_ids_put(out, id >= 0 ? id : t->model.unk_id);
}

const cq_model_kind cq_word_level_kind = {"WordLevel", parse_word_level, encode_word_level, NULL};
