/* vocab.json and merges.txt: RoBERTa's byte-level BPE, or HerBERT's, whose words end with "</w>".
 *
 *   vocab.json   {"piece": id, ...}
 *   merges.txt   "#version: ..." first, then "left right" per line, the earliest learned first */
#include "token/tokenizer_files.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <limits.h>

static cq_status read_merges(cq_tokenizer *t, const char *path, cq_error *error) {
  cq_slice bytes;
  cq_status status = cq_file_read(&bytes, path, error);
  if (status) return status;
  size_t n_lines = 1, start = 0;
  for (size_t i = 0; i < bytes.n; i++) n_lines += bytes.data[i] == '\n';
  t->model.merges = cq_merges_new(n_lines);
  if (!t->model.merges) status = cq_fail_memory(error, "merges");
  for (uint64_t line = 1; start < bytes.n && !status; line++) {
    const char *text = bytes.data + start, *newline = memchr(text, '\n', bytes.n - start);
    size_t n = newline ? (size_t)(newline - text) : bytes.n - start;
    start += n + 1;
    if (n && text[n - 1] == '\r') n--;
    if (n == 0 || (line == 1 && n > 8 && !memcmp(text, "#version", 8))) continue;
    const char *space = memchr(text, ' ', n);
    if (!space || cq_utf8_invalid_at(text, n) != n) {
      status = cq_fail_line(error, CQ_ERR_FORMAT, path, line, "expected two pieces with a space between");
      break;
    }
    cq_slice left = {text, (size_t)(space - text)}, right = {space + 1, n - left.n - 1};
    cq_vocab_result result = cq_merges_add(t, left, right);
    if (result == CQ_VOCAB_MEMORY) status = cq_fail_memory(error, "merges");
    if (result == CQ_VOCAB_TAKEN)
      status = cq_fail_line(error, CQ_ERR_FORMAT, path, line, "'%.*s' names a piece that is not in vocab.json", (int)n,
                            text);
  }
  cq_free((void *)bytes.data);
  return status;
}

cq_status cq_open_vocab_json(cq_tokenizer *t, const char *directory, const char *path, cq_naming *naming,
                             cq_error *error) {
  char merges_path[PATH_MAX];
  json_t *vocab;
  const json_t *config = naming->config;
  cq_status status =
      cq_tokenizer_class(&naming->kind, directory, config, CQ_CLASS_ROBERTA, CQ_CLASS_HERBERT, path, error);
  if (naming->kind == CQ_CLASS_NONE) naming->kind = CQ_CLASS_ROBERTA;
  naming->makes_ends = true;
  const bool herbert = naming->kind == CQ_CLASS_HERBERT;
  if (!status) status = cq_path_join(merges_path, sizeof merges_path, directory, "merges.txt", error);
  if (!status) status = cq_json_read(&vocab, path, error);
  if (status) return status;
  status = cq_vocab_parse(t, vocab, path, error);
  json_decref(vocab);
  if (!status) status = read_merges(t, merges_path, error);
  bool prefix_space = false;
  if (!status) status = cq_json_get_bool(&prefix_space, config, "add_prefix_space", "tokenizer_config.json", error);
  if (status) return status;
  const char *unk = cq_class_token(config, naming->kind, CQ_UNK), *suffix = herbert ? "</w>" : "";
  const bool has_unk = herbert && unk && cq_vocab_id(&t->vocab, cq_slice_of(unk)) >= 0;
  json_t *decoder = herbert
                        ? json_pack("{s:s, s:s}", "type", "BPEDecoder", "suffix", suffix)
                        : json_pack("{s:s, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 1, "trim_offsets", 1);
  t->document = json_pack("{s:s, s:n, s:n, s:[], s:o, s:{s:s, s:n, s:o, s:s, s:s, s:b, s:b}}", "version", "1.0",
                          "truncation", "padding", "added_tokens", "decoder", decoder, "model", "type", "BPE",
                          "dropout", "unk_token", has_unk ? json_string(unk) : json_null(), "continuing_subword_prefix",
                          "", "end_of_word_suffix", suffix, "fuse_unk", 0, "byte_fallback", 0);
  cq_json_update(&t->document, cq_class_steps_json(config, naming->kind, NULL));
  if (!t->document) return cq_fail_memory(error, "tokenizer document");
  t->config_class = herbert ? "HerbertTokenizer" : "RobertaTokenizer";
  return cq_tokenizer_assemble(t, t->document, naming, path, error);
}
