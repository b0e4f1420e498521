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

/* The pre-tokenizer, the normalizer and the decoder of either; the ownership passes to the caller. */
static json_t *steps_of(bool herbert, bool prefix_space) {
  if (herbert)
    return json_pack("{s:{s:s, s:b, s:b, s:b, s:b}, s:{s:s}, s:{s:s, s:s}}", "normalizer", "type", "BertNormalizer",
                     "clean_text", 1, "handle_chinese_chars", 1, "strip_accents", 0, "lowercase", 0, "pre_tokenizer",
                     "type", "BertPreTokenizer", "decoder", "type", "BPEDecoder", "suffix", "</w>");
  return json_pack("{s:n, s:{s:s, s:b, s:b, s:b}, s:{s:s, s:b, s:b, s:b}}", "normalizer", "pre_tokenizer", "type",
                   "ByteLevel", "add_prefix_space", prefix_space, "trim_offsets", 1, "use_regex", 1, "decoder", "type",
                   "ByteLevel", "add_prefix_space", 1, "trim_offsets", 1, "use_regex", 1);
}

cq_status cq_open_vocab_json(cq_tokenizer *t, const char *directory, const char *path, const json_t *config,
                             const json_t *specials, cq_error *error) {
  char merges_path[PATH_MAX];
  static const char *const keys[] = {"bos_token", "pad_token", "eos_token", "unk_token", "mask_token"};
  static const char *const usual[] = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"};
  json_t *vocab;
  cq_class_kind kind = CQ_CLASS_NONE;
  cq_status status = cq_tokenizer_class(&kind, directory, config, CQ_CLASS_ROBERTA, CQ_CLASS_HERBERT, path, error);
  const bool herbert = kind == CQ_CLASS_HERBERT;
  if (!status) status = cq_path_join(merges_path, sizeof merges_path, directory, "merges.txt", error);
  if (!status) status = cq_json_read(&vocab, path, error);
  if (status) return status;
  status = cq_vocab_parse(t, vocab, path, error);
  json_decref(vocab);
  if (!status) status = read_merges(t, merges_path, error);
  bool prefix_space = false;
  if (!status && config)
    status = cq_json_get_bool(&prefix_space, config, "add_prefix_space", "tokenizer_config.json", error);
  if (status) return status;
  const char *cls = cq_special_text(config, specials, "cls_token", "<s>");
  const char *sep = cq_special_text(config, specials, "sep_token", "</s>");
  const char *unk = cq_special_text(config, specials, "unk_token", "<unk>");
  int cls_id = cq_vocab_id(&t->vocab, cq_slice_of(cls)), sep_id = cq_vocab_id(&t->vocab, cq_slice_of(sep));
  if (cls_id < 0 || sep_id < 0)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "the special token '%s' is not in the vocabulary",
                        cls_id < 0 ? cls : sep);
  json_t *added = json_array();
  for (size_t i = 0; i < 5; i++) {
    const char *text = cq_special_text(config, specials, keys[i], usual[i]);
    int32_t id = cq_vocab_id(&t->vocab, cq_slice_of(text));
    if (id < 0) continue;
    const bool lstrip = json_is_true(json_object_get(json_object_get(config, keys[i]), "lstrip")) ||
                        json_is_true(json_object_get(json_object_get(specials, keys[i]), "lstrip"));
    cq_json_push(&added, cq_added_token_json(id, cq_slice_of(text), true, lstrip, false));
  }
  bool has_unk = cq_vocab_id(&t->vocab, cq_slice_of(unk)) >= 0;
  json_t *steps = steps_of(herbert, prefix_space);
  t->document = json_pack("{s:s, s:n, s:n, s:o, s:{s:s, s:[s, i], s:[s, i], s:b, s:b}, "
                          "s:{s:s, s:n, s:o, s:s, s:s, s:b, s:b}}",
                          "version", "1.0", "truncation", "padding", "added_tokens", added, "post_processor", "type",
                          herbert ? "BertProcessing" : "RobertaProcessing", "sep", sep, sep_id, "cls", cls, cls_id,
                          "trim_offsets", 1, "add_prefix_space", prefix_space, "model", "type", "BPE", "dropout",
                          "unk_token", has_unk ? json_string(unk) : json_null(), "continuing_subword_prefix", "",
                          "end_of_word_suffix", herbert ? "</w>" : "", "fuse_unk", 0, "byte_fallback", 0);
  const bool whole = t->document && steps && json_object_update(t->document, steps) == 0;
  json_decref(steps);
  if (!whole) return cq_fail_memory(error, "tokenizer document");
  t->config_class = herbert ? "HerbertTokenizer" : "RobertaTokenizer";
  return cq_tokenizer_assemble_document(t, config, (const json_t *const[]){config, specials}, path, error);
}
