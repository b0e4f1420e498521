/* vocab.txt: one piece per line; the line's number (from 0) is its id. tokenizer_config.json has BERT's switches. */
#include "token/tokenizer_files.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"

static cq_status read_pieces(cq_vocab *vocab, const char *path, cq_error *error) {
  cq_slice bytes;
  cq_status status = cq_file_read(&bytes, path, error);
  if (status) return status;
  size_t start = 0;
  for (int32_t id = 0; start < bytes.n && !status; id++) {
    const char *line = bytes.data + start, *newline = memchr(line, '\n', bytes.n - start);
    size_t n = newline ? (size_t)(newline - line) : bytes.n - start;
    start += n + 1;
    if (n && line[n - 1] == '\r') n--;
    if (cq_utf8_invalid_at(line, n) != n) {
      status = cq_fail_line(error, CQ_ERR_FORMAT, path, (uint64_t)id + 1, "not UTF-8");
    } else if (cq_vocab_put(vocab, (cq_slice){line, n}, id) != CQ_VOCAB_OK) {
      status = cq_fail_memory(error, "vocabulary");
    }
  }
  if (!status && vocab->n == 0) status = cq_fail_file(error, CQ_ERR_FORMAT, path, "no pieces");
  cq_free((void *)bytes.data);
  return status;
}

cq_status cq_open_vocab_txt(cq_tokenizer *t, const char *directory, const char *path, const json_t *config,
                            const json_t *specials, cq_error *error) {
  cq_class_kind kind = CQ_CLASS_NONE;
  cq_status status = cq_tokenizer_class(&kind, directory, config, CQ_CLASS_BERT, CQ_CLASS_JAPANESE, path, error);
  if (!status) status = read_pieces(&t->vocab, path, error);
  if (status) return status;
  static const char *const keys[] = {"pad_token",  "unk_token", "cls_token", "sep_token",
                                     "mask_token", "bos_token", "eos_token"};
  const bool mpnet = kind == CQ_CLASS_MPNET;
  static const char *const bert[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", NULL, NULL},
                           *const roberta[] = {"<pad>", "[UNK]", "<s>", "</s>", "<mask>", NULL, NULL},
                           *const funnel[] = {"<pad>", "<unk>", "<cls>", "<sep>", "<mask>", "<s>", "</s>"};
  const char *const *usual = mpnet ? roberta : kind == CQ_CLASS_FUNNEL ? funnel : bert;
  const char *names[7];
  json_t *added = json_array();
  for (size_t i = 0; i < 7; i++) {
    names[i] = cq_special_text(config, specials, keys[i], usual[i]);
    int32_t id = names[i] ? cq_vocab_id(&t->vocab, cq_slice_of(names[i])) : -1;
    if (id < 0 && i >= 1 && i <= 3) /* the others may be missing */
      status = cq_fail_file(error, CQ_ERR_FORMAT, path, "the %s '%s' is not in the vocabulary", keys[i], names[i]);
    if (id < 0) continue;
    cq_json_push(&added, cq_added_token_json(id, cq_slice_of(names[i]), true, mpnet && i == 4, false));
  }
  if (status) {
    json_decref(added);
    return status;
  }
  int cls = cq_vocab_id(&t->vocab, cq_slice_of(names[2])), sep = cq_vocab_id(&t->vocab, cq_slice_of(names[3]));
  t->document = json_pack(
      "{s:s, s:n, s:n, s:o, s:{s:s, s:[s, i], s:[s, i]}, s:{s:s, s:s, s:b}, s:{s:s, s:s, s:s, s:i}}", "version", "1.0",
      "truncation", "padding", "added_tokens", added, "post_processor", "type", "BertProcessing", "sep", names[3], sep,
      "cls", names[2], cls, "decoder", "type", "WordPiece", "prefix", "##", "cleanup", 1, "model", "type", "WordPiece",
      "unk_token", names[1], "continuing_subword_prefix", "##", "max_input_chars_per_word", 100);
  json_t *steps = NULL;
  if (!t->document) return cq_fail_memory(error, "tokenizer document");
  if (kind == CQ_CLASS_JAPANESE)
    status = cq_japanese_step(&steps, config, added, error);
  else
    steps = cq_bert_steps_json(config, kind);
  if (!status && (!steps || json_object_update(t->document, steps)))
    status = cq_fail_memory(error, "tokenizer document");
  json_decref(steps);
  if (status) return status;
  t->config_class = mpnet ? "MPNetTokenizer" : kind == CQ_CLASS_FUNNEL ? "FunnelTokenizer" : "BertTokenizer";
  return cq_tokenizer_assemble_document(t, config, (const json_t *const[]){config, specials}, path, error);
}
