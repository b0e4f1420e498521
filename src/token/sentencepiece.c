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
  if (cq_vocab_put(&t->vocab, &t->vocab.index, text, id) != CQ_VOCAB_OK) return cq_fail_memory(error, "vocabulary");
  t->model.scores[id] = score;
  return CQ_OK;
}

/* Pieces of a class in front of the file's, which count from n_left_out on, and after them: <mask>, or T5's extra
 * ones. */
typedef struct layout {
  const char *own[5]; /* [n_own]; <unk> is the fourth */
  size_t n_own, n_left_out, n_extra;
} layout;

static layout layout_of(const json_t *config, cq_class_kind kind) {
  layout l = {.n_extra = 0};
  if (kind != CQ_CLASS_XLMR && kind != CQ_CLASS_CAMEMBERT) return l;
  static const cq_named_token roles[] = {CQ_BOS, CQ_PAD, CQ_EOS, CQ_UNK};
  for (int i = 0; i < 4; i++) l.own[i] = cq_class_token(config, kind, roles[i]);
  l.n_own = 4, l.n_left_out = 3;
  if (kind == CQ_CLASS_XLMR) return l;
  l.own[0] = "<s>NOTUSED", l.own[2] = "</s>NOTUSED", l.own[4] = "<unk>NOTUSED";
  l.n_own = 5, l.n_left_out = 1;
  return l;
}

static cq_status fill_vocab(cq_tokenizer *t, const cq_sp_model *m, const layout *l, const char *mask, const char *path,
                            cq_error *error) {
  cq_status status = CQ_OK;
  if (m->n > CQ_TRIE_MAX_NODES || (l->n_own && m->n < 3))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "%zu pieces, expected <unk>, <s>, </s> and more", m->n);
  t->model.scores = cq_alloc_array_zeroed(m->n + l->n_own + l->n_extra + 1, sizeof *t->model.scores);
  if (!t->model.scores) return cq_fail_memory(error, "vocabulary");
  int32_t id = 0;
  for (; (size_t)id < l->n_own && !status; id++)
    status = put_vocab_piece(t, cq_slice_of(l->own[id] ? l->own[id] : ""), id < 4 ? 0 : -100, id, error);
  for (size_t i = l->n_left_out; i < m->n && !status; i++)
    status = put_vocab_piece(t, m->pieces[i].text, (double)m->pieces[i].score, id++, error);
  if (l->n_own && mask && !status) status = put_vocab_piece(t, cq_slice_of(mask), 0, id, error);
  for (size_t i = l->n_extra; i-- > 0 && !status;) {
    char text[32];
    snprintf(text, sizeof text, "<extra_id_%zu>", i);
    status = put_vocab_piece(t, cq_slice_of(text), 0, id++, error);
  }
  return status;
}

typedef struct split {
  double score;
  size_t n_left; /* bytes */
  int32_t left, right, merged;
} split;

/* Best score first; then by the piece's id; then the shortest left part. */
static int piece_by_score(const void *a, const void *b) {
  const split *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  if (x->merged != y->merged) return x->merged < y->merged ? -1 : 1;
  return (x->n_left > y->n_left) - (x->n_left < y->n_left);
}

/* types: only normal pieces merge, by their scores; NULL: all do, in the order of their ids (Llama's and Gemma's
 * classes). */
static cq_status make_merges(cq_tokenizer *t, const cq_sp_piece *types, cq_error *error) {
  split *splits = NULL;
  size_t n = 0, capacity = 0;
  for (size_t id = 0; id < t->vocab.n; id++) {
    cq_slice piece = cq_vocab_piece(&t->vocab, (int32_t)id);
    if (types && types[id].type != CQ_SP_NORMAL) continue;
    for (size_t i = 1; i < piece.n; i++) {
      if (((unsigned char)piece.data[i] & 0xC0) == 0x80) continue;
      int32_t a = cq_vocab_id(&t->vocab, (cq_slice){piece.data, i});
      int32_t b = cq_vocab_id(&t->vocab, (cq_slice){piece.data + i, piece.n - i});
      if (a < 0 || b < 0 || (types && (types[a].type != CQ_SP_NORMAL || types[b].type != CQ_SP_NORMAL))) continue;
      if (!cq_reserve((void **)&splits, &capacity, n + 1, sizeof *splits)) {
        cq_free(splits);
        return cq_fail_memory(error, "merges");
      }
      splits[n++] = (split){types ? t->model.scores[id] : 0, i, a, b, (int32_t)id};
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

static json_t *sp_added_json(const cq_sp_model *m, const layout *l, cq_class_kind kind) {
  json_t *list = json_array();
  for (size_t i = 0; i < m->n; i++) {
    const cq_sp_piece *p = &m->pieces[i];
    if (p->type != CQ_SP_CONTROL && (p->type != CQ_SP_USER_DEFINED || kind == CQ_CLASS_NONE)) continue;
    cq_json_push(&list, json_pack("{s:o, s:b, s:b}", "content", json_stringn(p->text.data, p->text.n), "special",
                                  p->type == CQ_SP_CONTROL, "normalized", 0));
  }
  for (size_t i = 0; i < l->n_extra; i++) cq_json_push(&list, json_sprintf("<extra_id_%d>", (int)i));
  return list;
}

/* What config says of the special tokens; the control and user-defined pieces are additional ones, if it has none. */
static json_t *sp_naming_json(const json_t *config, const cq_sp_model *m, const layout *l, cq_class_kind kind) {
  static const char extra[] = "extra_special_tokens", decoder[] = "added_tokens_decoder";
  json_t *out = config ? cq_json_copy(config) : json_object();
  if (!json_object_get(out, extra)) cq_json_set(&out, extra, sp_added_json(m, l, kind));
  if (kind != CQ_CLASS_NONE) return out;
  if (m->add_dummy_prefix && json_is_object(json_object_get(out, decoder))) { /* each text between them has a prefix */
    json_t *copy = cq_json_deep_copy(json_object_get(out, decoder)), *token;
    const char *id;
    bool failed = false;
    json_object_foreach(copy, id, token) failed |=
        json_is_object(token) && json_object_set_new(token, "normalized", json_false());
    cq_json_set(&out, decoder, failed ? NULL : json_incref(copy));
    json_decref(copy);
  }
  const int32_t ids[] = {m->bos_id, m->eos_id, m->unk_id};
  for (int i = 0; i < 3; i++) {
    if (ids[i] < 0 || (size_t)ids[i] >= m->n || json_object_get(out, cq_named_tokens[i])) continue;
    const cq_slice text = m->pieces[ids[i]].text;
    cq_json_set(&out, cq_named_tokens[i], json_stringn(text.data, text.n));
  }
  return out;
}

static json_t *precompiled_json(const cq_sp_model *m) {
  cq_builder base64 = {0};
  cq_base64_encode(&base64, m->charsmap);
  json_t *step =
      base64.failed ? NULL : json_pack("{s:s, s:s}", "type", "Precompiled", "precompiled_charsmap", base64.data);
  cq_builder_free(&base64);
  return step;
}

/* The steps without a class, which are the library's. */
static json_t *sp_steps_json(const cq_sp_model *m, bool legacy) {
  json_t *steps = json_array(), *splitters = json_array();
  cq_builder pieces = {0};
  if (m->charsmap.n) cq_json_push(&steps, precompiled_json(m));
  if (m->remove_extra_whitespaces) {
    cq_json_push(&steps, cq_replace_json("Regex", "\\A +| +\\z", ""));
    cq_json_push(&steps, cq_replace_json("Regex", " {2,}", " "));
  }
  cq_json_push(&steps, cq_replace_json("String", " ", "\xE2\x96\x81"));
  if (m->add_dummy_prefix && legacy) /* Metaspace puts none before a text that begins with one */
    cq_json_push(&steps, cq_replace_json("Regex", "\\A\xE2\x96\x81", "\xE2\x96\x81\xE2\x96\x81"));
  if (m->add_dummy_prefix) cq_json_push(&splitters, cq_metaspace_json(legacy ? "always" : "first", false));
  for (size_t i = 0; i < m->n; i++) {
    if (m->pieces[i].type != CQ_SP_USER_DEFINED) continue;
    cq_builder_text(&pieces, pieces.n ? "|" : "");
    for (size_t k = 0; k < m->pieces[i].text.n; k++) {
      const char c = m->pieces[i].text.data[k];
      if (strchr("\\^$.|?*+()[]{}-#&~ \t\n\r", c)) cq_builder_char(&pieces, '\\');
      cq_builder_char(&pieces, c);
    }
  }
  if (pieces.n || pieces.failed)
    cq_json_push(&splitters, pieces.failed ? NULL
                                           : json_pack("{s:s, s:{s:s%}, s:s, s:b}", "type", "Split", "pattern", "Regex",
                                                       pieces.data, pieces.n, "behavior", "Isolated", "invert", 0));
  cq_builder_free(&pieces);
  return json_pack("{s:{s:s, s:o}, s:{s:s, s:o}}", "normalizer", "type", "Sequence", "normalizers", steps,
                   "pre_tokenizer", "type", "Sequence", "pretokenizers", splitters);
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

/* The place of the unknown piece, as the class has it. */
static int unknown_of(const cq_tokenizer *t, const cq_sp_model *m, const json_t *config, cq_class_kind kind) {
  const char *name = cq_class_token(config, kind, CQ_UNK);
  const int named = name ? (int)cq_vocab_id(&t->vocab, cq_slice_of(name)) : -1;
  switch (kind) {
  case CQ_CLASS_XLMR: return 3;
  case CQ_CLASS_CAMEMBERT: return named < 0 ? 0 : named;
  case CQ_CLASS_T5: return 2;
  case CQ_CLASS_ALBERT: return 1;
  case CQ_CLASS_DEBERTA_V2: return named >= 0 && t->model.scores[named] == 0 ? named : (int)m->unk_id;
  case CQ_CLASS_LLAMA: return -1;
  case CQ_CLASS_GEMMA: return named;
  default: return (int)find_unknown(m);
  }
}

cq_status cq_sentencepiece_assemble(cq_tokenizer *t, cq_slice bytes, const cq_naming *given, const char *path,
                                    cq_error *error) {
  const cq_class_kind kind = given->kind;
  layout l = layout_of(given->config, kind);
  int64_t n_extra = kind == CQ_CLASS_T5 ? 100 : 0;
  cq_naming naming = *given;
  cq_sp_model m;
  cq_status status = CQ_OK;
  if (n_extra) status = cq_json_get_int(&n_extra, given->config, "extra_ids", 0, 65536, "tokenizer_config.json", error);
  if (!status) status = cq_sp_model_read(&m, bytes, path, error);
  if (status) return status;
  l.n_extra = (size_t)n_extra;
  const bool by_id = kind == CQ_CLASS_LLAMA || kind == CQ_CLASS_GEMMA, bpe = by_id || m.model_type == CQ_SP_BPE;
  const bool fallback = by_id || (kind == CQ_CLASS_NONE && m.byte_fallback);
  json_t *config = sp_naming_json(given->config, &m, &l, kind), *rules = m.charsmap.n ? precompiled_json(&m) : NULL;
  naming.config = config;
  naming.makes_ends = true;
  status = config && (rules || !m.charsmap.n) ? check_sp_model(&m, path, error) : cq_fail_memory(error, path);
  if (!status && bpe && !by_id && kind != CQ_CLASS_NONE && kind != CQ_CLASS_XLMR)
    status = cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "a BPE model, which its tokenizer_class reads as a Unigram");
  if (!status) status = fill_vocab(t, &m, &l, cq_class_token(config, kind, CQ_MASK), path, error);
  if (!status && bpe) status = make_merges(t, by_id || l.n_own ? NULL : m.pieces, error);
  if (!status) {
    const int unk = unknown_of(t, &m, config, kind);
    const cq_slice unknown = cq_vocab_piece(&t->vocab, unk);
    bool isolates = false;
    for (size_t i = 0; i < m.n; i++) isolates |= kind == CQ_CLASS_NONE && m.pieces[i].type == CQ_SP_USER_DEFINED;
    json_t *model =
        bpe ? json_pack("{s:s, s:n, s:o, s:n, s:n, s:b, s:b, s:b}", "type", "BPE", "dropout", "unk_token",
                        unknown.data ? json_stringn(unknown.data, unknown.n) : json_null(), "continuing_subword_prefix",
                        "end_of_word_suffix", "fuse_unk", 1, "byte_fallback", fallback, "ignore_merges", isolates)
            : json_pack("{s:s, s:i, s:b}", "type", "Unigram", "unk_id", unk, "byte_fallback", fallback);
    t->document =
        json_pack("{s:s, s:n, s:n, s:[], s:o, s:o}", "version", "1.0", "truncation", "padding", "added_tokens",
                  "decoder", cq_metaspace_json(m.add_dummy_prefix ? "always" : "never", true), "model", model);
    /* XLM-R's class treats any model as a Unigram. */
    t->config_class = kind == CQ_CLASS_XLMR && !bpe ? "XLMRobertaTokenizer" : "PreTrainedTokenizerFast";
    cq_json_update(&t->document, kind == CQ_CLASS_NONE
                                     ? sp_steps_json(&m, !json_is_false(json_object_get(config, "legacy")))
                                     : cq_class_steps_json(config, kind, rules));
    status = t->document ? cq_tokenizer_assemble(t, t->document, &naming, path, error)
                         : cq_fail_memory(error, "tokenizer document");
  }
  json_decref(rules);
  json_decref(config);
  cq_sp_model_free(&m);
  return status;
}

cq_status cq_open_sentencepiece(cq_tokenizer *t, const char *directory, const char *path, cq_naming *naming,
                                cq_error *error) {
  const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  cq_status status =
      cq_tokenizer_class(&naming->kind, directory, naming->config, CQ_CLASS_XLMR, CQ_CLASS_GEMMA, path, error);
  if (status) return status;
  if (naming->kind == CQ_CLASS_NONE && !strcmp(name, "sentencepiece.bpe.model")) naming->kind = CQ_CLASS_XLMR;
  if (naming->kind == CQ_CLASS_NONE && !strcmp(name, "spm.model")) naming->kind = CQ_CLASS_DEBERTA_V2;
  cq_slice bytes;
  status = cq_file_read(&bytes, path, error);
  if (status) return status;
  status = cq_sentencepiece_assemble(t, bytes, naming, path, error);
  cq_free((void *)bytes.data);
  return status;
}
