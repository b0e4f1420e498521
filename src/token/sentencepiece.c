/* SentencePiece models: converted to a tokenizer.json document, from which the tokenizer is assembled, as in the Python
 * readers. A directory thus gives the same ids whether its .model or the tokenizer.json saved next to it is opened.
 *
 *   normalizer   Precompiled, then WhitespaceSplit and Metaspace, which implement "remove extra white space" and "add a
 *                dummy prefix"; a model that keeps white space gets Prepend and Replace and no pre-tokenizer
 *   ids          as in the file, or fairseq's: XLM-R's or CamemBERT's own pieces, the file's others, <mask>
 *   BPE          a merge for every way to form a piece from two others, best scores first */
#include "token/tokenizer_files.h"

#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "token/charsmap.h"
#include "token/model_proto.h"

#include <limits.h>
#include <stdlib.h>

/* --- the vocabulary --- */

static cq_status put_vocab_piece(cq_tokenizer *t, cq_slice text, double score, int32_t id, cq_error *error) {
  if (cq_vocab_put(&t->vocab, text, id) != CQ_VOCAB_OK) return cq_fail_memory(error, "vocabulary");
  t->model.scores[id] = score;
  return CQ_OK;
}

/* Pieces of a class in front of the file's, which count from n_left_out on; the class also has <mask> at the end. */
typedef struct layout {
  const char *const *own; /* [n_own]; <unk> is the fourth */
  size_t n_own, n_left_out;
} layout;

static layout layout_of(cq_class_kind kind) {
  static const char *const xlmr[] = {"<s>", "<pad>", "</s>", "<unk>"};
  static const char *const camembert[] = {"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"};
  if (kind == CQ_CLASS_XLMR) return (layout){xlmr, 4, 3};
  return kind == CQ_CLASS_CAMEMBERT ? (layout){camembert, 5, 1} : (layout){NULL, 0, 0};
}

static bool is_unused(cq_slice piece) {
  return piece.n > 7 && memcmp(piece.data + piece.n - 7, "NOTUSED", 7) == 0;
}

static cq_status fill_vocab(cq_tokenizer *t, const cq_sp_model *m, const layout *l, const char *path, cq_error *error) {
  cq_status status = CQ_OK;
  if (m->n > CQ_TRIE_MAX_NODES || (l->n_own && m->n < 3))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "%zu pieces, expected <unk>, <s>, </s> and more", m->n);
  t->model.scores = cq_alloc_array_zeroed(m->n + l->n_own + 1, sizeof *t->model.scores);
  if (!t->model.scores) return cq_fail_memory(error, "vocabulary");
  int32_t id = 0;
  for (; (size_t)id < l->n_own && !status; id++)
    status = put_vocab_piece(t, cq_slice_of(l->own[id]), id < 4 ? 0 : -100, id, error);
  for (size_t i = l->n_left_out; i < m->n && !status; i++)
    status = put_vocab_piece(t, m->pieces[i].text, (double)m->pieces[i].score, id++, error);
  if (l->n_own && !status) status = put_vocab_piece(t, cq_slice_of("<mask>"), 0, id, error);
  return status;
}

typedef struct split {
  double score;
  uint32_t left_chars, right_chars, order;
  int32_t left, right, merged;
} split;

/* Best score first; on a tie, the longest left part; otherwise stable. */
static int piece_by_score(const void *a, const void *b) {
  const split *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  if (x->left_chars != y->left_chars) return x->left_chars > y->left_chars ? -1 : 1;
  if (x->right_chars != y->right_chars) return x->right_chars > y->right_chars ? -1 : 1;
  return x->order < y->order ? -1 : 1;
}

static cq_status make_merges(cq_tokenizer *t, cq_error *error) {
  split *splits = NULL;
  size_t n = 0, capacity = 0;
  for (size_t id = 0; id < t->vocab.n; id++) {
    cq_slice piece = cq_vocab_piece(&t->vocab, (int32_t)id);
    for (size_t i = 1; i < piece.n; i++) {
      if (((unsigned char)piece.data[i] & 0xC0) == 0x80) continue;
      cq_slice left = {piece.data, i}, right = {piece.data + i, piece.n - i};
      int32_t a = cq_vocab_id(&t->vocab, left), b = cq_vocab_id(&t->vocab, right);
      if (a < 0 || b < 0) continue;
      if (!cq_reserve((void **)&splits, &capacity, n + 1, sizeof *splits)) {
        cq_free(splits);
        return cq_fail_memory(error, "merges");
      }
      splits[n] = (split){t->model.scores[id],
                          (uint32_t)cq_utf8_length(left.data, left.n),
                          (uint32_t)cq_utf8_length(right.data, right.n),
                          (uint32_t)n,
                          a,
                          b,
                          (int32_t)id};
      n++;
    }
  }
  if (n) qsort(splits, n, sizeof *splits, piece_by_score);
  t->model.merges = cq_merges_new(n);
  for (size_t i = 0; i < n && t->model.merges; i++)
    cq_merges_put(t->model.merges, splits[i].left, splits[i].right, splits[i].merged);
  cq_free(splits);
  return t->model.merges ? CQ_OK : cq_fail_memory(error, "merges");
}

/* --- the document --- */

static json_t *added_json(const cq_tokenizer *t, const cq_sp_model *m, const layout *l) {
  json_t *list = json_array();
  for (size_t id = 0; id < t->vocab.n; id++) {
    const bool is_last = l->n_own && id + 1 == t->vocab.n;
    const int type = id < l->n_own || is_last ? CQ_SP_CONTROL : m->pieces[id - l->n_own + l->n_left_out].type;
    if (type != CQ_SP_CONTROL && type != CQ_SP_USER_DEFINED && type != CQ_SP_UNKNOWN) continue;
    if (id < l->n_own && is_unused(cq_vocab_piece(&t->vocab, (int32_t)id))) continue;
    cq_json_push(&list, cq_added_token_json((int64_t)id, cq_vocab_piece(&t->vocab, (int32_t)id),
                                            type != CQ_SP_USER_DEFINED, is_last, false));
  }
  return list;
}

static json_t *precompiled_json(const cq_sp_model *m) {
  cq_builder base64 = {0};
  cq_base64_encode(&base64, m->charsmap);
  json_t *step =
      base64.failed ? NULL : json_pack("{s:s, s:s}", "type", "Precompiled", "precompiled_charsmap", base64.data);
  cq_builder_free(&base64);
  return step;
}

static json_t *sp_normalizer_json(const cq_sp_model *m) {
  bool rules = m->charsmap.n > 0;
  if (m->remove_extra_whitespaces) return rules ? precompiled_json(m) : json_null();
  json_t *steps = json_array();
  if (rules) cq_json_push(&steps, precompiled_json(m));
  if (m->add_dummy_prefix) cq_json_push(&steps, json_pack("{s:s, s:s}", "type", "Prepend", "prepend", "\xE2\x96\x81"));
  cq_json_push(
      &steps, json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern", "String", " ", "content", "\xE2\x96\x81"));
  return json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", steps);
}

static json_t *albert_json(const json_t *config, const cq_sp_model *m) {
  json_t *rules = sp_normalizer_json(m), *all = rules ? cq_albert_normalizer_json(config, rules) : NULL;
  json_decref(rules);
  return all;
}

static json_t *sp_metaspace_json(const cq_sp_model *m) {
  return json_pack("{s:s, s:s, s:b, s:s, s:b}", "type", "Metaspace", "replacement", "\xE2\x96\x81", "add_prefix_space",
                   m->add_dummy_prefix, "prepend_scheme", m->add_dummy_prefix ? "always" : "never", "split", 1);
}

static json_t *pre_tokenizer_json(const cq_sp_model *m) {
  if (!m->remove_extra_whitespaces) return json_null();
  return json_pack("{s:s, s:[{s:s}, o]}", "type", "Sequence", "pretokenizers", "type", "WhitespaceSplit",
                   sp_metaspace_json(m));
}

/* The template of special tokens around one sentence and around two; NULL: no token on that side. */
static json_t *template_json(const cq_tokenizer *t, const char *before, const char *after, bool twice) {
  json_t *single = json_array(), *pair = json_array(), *specials = json_object();
  const char *names[] = {before, after};
  for (int i = 0; i < 2; i++) {
    if (!names[i]) continue;
    cq_json_set(&specials, names[i],
                json_pack("{s:s, s:[i], s:[s]}", "id", names[i], "ids",
                          (int)cq_vocab_id(&t->vocab, cq_slice_of(names[i])), "tokens", names[i]));
  }
#define SPECIAL(list, name)                                                                                            \
  if (name) cq_json_push(&list, json_pack("{s:{s:s, s:i}}", "SpecialToken", "id", name, "type_id", 0))
#define TEXT(list, name) cq_json_push(&list, json_pack("{s:{s:s, s:i}}", "Sequence", "id", name, "type_id", 0))
  SPECIAL(single, before);
  TEXT(single, "A");
  SPECIAL(single, after);
  SPECIAL(pair, before);
  TEXT(pair, "A");
  SPECIAL(pair, after);
  if (twice) SPECIAL(pair, after);
  TEXT(pair, "B");
  SPECIAL(pair, after);
#undef SPECIAL
#undef TEXT
  return json_pack("{s:s, s:o, s:o, s:o}", "type", "TemplateProcessing", "single", single, "pair", pair,
                   "special_tokens", specials);
}

/* The special tokens that a tokenizer class adds to a sentence. */
static cq_status special_tokens(const char **before, const char **after, const cq_tokenizer *t, cq_class_kind kind,
                                const json_t *config, const char *path, cq_error *error) {
  *before = *after = NULL;
  if (kind == CQ_CLASS_T5) {
    *after = "</s>";
  } else if (kind == CQ_CLASS_ALBERT || kind == CQ_CLASS_DEBERTA_V2) {
    *before = "[CLS]";
    *after = "[SEP]";
  } else {
    const json_t *eos = json_object_get(config, "add_eos_token"), *bos = json_object_get(config, "add_bos_token");
    if (!json_is_false(bos)) *before = "<s>";
    if (json_is_true(eos)) *after = "</s>";
  }
  for (int i = 0; i < 2; i++) {
    const char *name = i ? *after : *before;
    if (name && cq_vocab_id(&t->vocab, cq_slice_of(name)) < 0)
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "the special token '%s' is not among the pieces", name);
  }
  return CQ_OK;
}

static int32_t find_unknown(const cq_sp_model *m) {
  for (size_t i = 0; i < m->n; i++) {
    if (m->pieces[i].type == CQ_SP_UNKNOWN) return (int32_t)i;
  }
  return -1;
}

static cq_status check_sp_model(const cq_sp_model *m, const char *path, cq_error *error) {
  if (m->model_type != CQ_SP_UNIGRAM && m->model_type != CQ_SP_BPE)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "a SentencePiece model of type %lld (neither unigram nor BPE)",
                        (long long)m->model_type);
  if (m->whitespace_as_suffix || !m->escape_whitespaces)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "a SentencePiece model with %s",
                        m->whitespace_as_suffix ? "white space as suffix" : "white space not escaped");
  if (find_unknown(m) < 0) return cq_fail_file(error, CQ_ERR_FORMAT, path, "no unknown piece");
  return CQ_OK;
}

cq_status cq_sentencepiece_assemble(cq_tokenizer *t, cq_slice bytes, cq_class_kind kind, const json_t *config,
                                    const char *path, cq_error *error) {
  const layout l = layout_of(kind);
  cq_sp_model m;
  const char *before = "<s>", *after = "</s>";
  cq_status status = cq_sp_model_read(&m, bytes, path, error);
  if (status) return status;
  bool bpe = m.model_type == CQ_SP_BPE;
  status = check_sp_model(&m, path, error);
  if (!status) status = fill_vocab(t, &m, &l, path, error);
  if (!status && bpe) status = make_merges(t, error);
  if (!status && !l.n_own) status = special_tokens(&before, &after, t, kind, config, path, error);
  if (!status) {
    const int unk = l.n_own ? 3 : (int)find_unknown(&m);
    const cq_slice unknown = cq_vocab_piece(&t->vocab, unk);
    json_t *model =
        bpe ? json_pack("{s:s, s:n, s:s%, s:n, s:n, s:b, s:b, s:b}", "type", "BPE", "dropout", "unk_token",
                        unknown.data, unknown.n, "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 1,
                        "byte_fallback", m.byte_fallback, "ignore_merges", 0)
            : json_pack("{s:s, s:i, s:b}", "type", "Unigram", "unk_id", unk, "byte_fallback", m.byte_fallback);
    t->document = json_pack("{s:s, s:n, s:n, s:o, s:o, s:o, s:o, s:o, s:o}", "version", "1.0", "truncation", "padding",
                            "added_tokens", added_json(t, &m, &l), "normalizer",
                            kind == CQ_CLASS_ALBERT ? albert_json(config, &m) : sp_normalizer_json(&m), "pre_tokenizer",
                            pre_tokenizer_json(&m), "post_processor", template_json(t, before, after, l.n_own > 0),
                            "decoder", sp_metaspace_json(&m), "model", model);
    /* XLM-R's class treats any model as a Unigram. */
    t->config_class = kind == CQ_CLASS_XLMR && !bpe ? "XLMRobertaTokenizer" : "PreTrainedTokenizerFast";
    status = t->document ? cq_tokenizer_assemble_document(t, config, NULL, path, error)
                         : cq_fail_memory(error, "tokenizer document");
  }
  cq_sp_model_free(&m);
  return status;
}

cq_status cq_open_sentencepiece(cq_tokenizer *t, const char *directory, const char *path, const json_t *config,
                                cq_error *error) {
  const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  cq_class_kind kind;
  cq_status status = cq_tokenizer_class(&kind, directory, config, CQ_CLASS_XLMR, CQ_CLASS_LLAMA, path, error);
  if (status) return status;
  if (kind == CQ_CLASS_NONE && !strcmp(name, "sentencepiece.bpe.model")) kind = CQ_CLASS_XLMR;
  if (kind == CQ_CLASS_NONE && !strcmp(name, "spm.model")) kind = CQ_CLASS_DEBERTA_V2;
  for (int i = 0; kind == CQ_CLASS_DEBERTA_V2 && i < 2; i++) {
    static const char *const keys[] = {"do_lower_case", "split_by_punct"};
    if (json_is_true(json_object_get(config, keys[i])))
      return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "key '%s' of tokenizer_config.json without tokenizer.json",
                          keys[i]);
  }
  cq_slice bytes;
  status = cq_file_read(&bytes, path, error);
  if (status) return status;
  status = cq_sentencepiece_assemble(t, bytes, kind, config, path, error);
  cq_free((void *)bytes.data);
  return status;
}
