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
    } else if (cq_vocab_put(vocab, &vocab->index, (cq_slice){line, n}, id) != CQ_VOCAB_OK) {
      status = cq_fail_memory(error, "vocabulary");
    }
  }
  if (!status && vocab->n == 0) status = cq_fail_file(error, CQ_ERR_FORMAT, path, "no pieces");
  cq_free((void *)bytes.data);
  return status;
}

cq_status cq_open_vocab_txt(cq_tokenizer *t, const char *directory, const char *path, cq_naming *naming,
                            cq_error *error) {
  const json_t *config = naming->config;
  cq_status status =
      cq_tokenizer_class(&naming->kind, directory, config, CQ_CLASS_BERT, CQ_CLASS_JAPANESE, path, error);
  if (!status) status = read_pieces(&t->vocab, path, error);
  if (status) return status;
  if (naming->kind == CQ_CLASS_NONE) naming->kind = CQ_CLASS_BERT;
  naming->makes_ends = true;
  const cq_class_kind kind = naming->kind;
  const char *unk = cq_class_token(config, kind, CQ_UNK);
  if (!unk || cq_vocab_id(&t->vocab, cq_slice_of(unk)) < 0)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "the unk_token '%s' is not in the vocabulary", unk ? unk : "");
  t->document = json_pack("{s:s, s:n, s:n, s:[], s:{s:s, s:s, s:b}, s:{s:s, s:s, s:s, s:i}}", "version", "1.0",
                          "truncation", "padding", "added_tokens", "decoder", "type", "WordPiece", "prefix", "##",
                          "cleanup", 1, "model", "type", "WordPiece", "unk_token", unk, "continuing_subword_prefix",
                          "##", "max_input_chars_per_word", 100);
  json_t *steps = NULL;
  if (!t->document) return cq_fail_memory(error, "tokenizer document");
  if (kind == CQ_CLASS_JAPANESE) {
    status = cq_tokenizer_put_named(t->document, t, naming, path, error);
    if (!status) status = cq_japanese_step(&steps, config, json_object_get(t->document, "added_tokens"), error);
  } else {
    steps = cq_class_steps_json(config, kind, NULL);
  }
  if (status) return status;
  cq_json_update(&t->document, steps);
  if (!t->document) return cq_fail_memory(error, "tokenizer document");
  t->config_class = kind == CQ_CLASS_MPNET    ? "MPNetTokenizer"
                    : kind == CQ_CLASS_FUNNEL ? "FunnelTokenizer"
                                              : "BertTokenizer";
  return cq_tokenizer_assemble(t, t->document, naming, path, error);
}
