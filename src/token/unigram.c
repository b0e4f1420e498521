/* Unigram: the segmentation of a word with the highest sum of log-probabilities (Viterbi). A character without a piece
 * is unknown, with the lowest score minus ten; adjacent unknown characters become one token, or their bytes if the
 * vocabulary has bytes. Source: Kudo 2018; ties go to the first candidate, and sums are in double precision, as in the
 * readers of tokenizer.json. */
#include "token/tokenizer_parts.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>

static size_t char_length(unsigned char lead) {
  return lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* [["piece", score], ...]: the position is the id. */
static cq_status parse_vocab(cq_tokenizer *t, const json_t *vocab, const char *path, cq_error *error) {
  size_t n = json_array_size(vocab);
  t->model.scores = cq_alloc_array(n ? n : 1, sizeof *t->model.scores);
  if (!t->model.scores) return cq_fail_memory(error, "vocabulary");
  for (size_t i = 0; i < n; i++) {
    const json_t *entry = json_array_get(vocab, i), *piece = json_array_get(entry, 0),
                 *score = json_array_get(entry, 1);
    if (!json_is_string(piece) || !json_is_number(score) || i > INT32_MAX)
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "model.vocab: entry %zu is not [piece, score]", i);
    t->model.scores[i] = json_number_value(score);
    if (cq_vocab_put(&t->vocab, &t->vocab.index, (cq_slice){json_string_value(piece), json_string_length(piece)},
                     (int32_t)i) != CQ_VOCAB_OK)
      return cq_fail_memory(error, "vocabulary");
  }
  return CQ_OK;
}

void cq_find_byte_pieces(cq_model *model, const cq_vocab *vocab) {
  for (unsigned b = 0; b < 256; b++) {
    static const char hex[] = "0123456789ABCDEF";
    char name[] = {'<', '0', 'x', hex[b >> 4], hex[b & 15], '>'};
    model->byte_ids[b] = cq_vocab_id(vocab, (cq_slice){name, sizeof name});
  }
}

static cq_status parse_unigram(cq_tokenizer *t, const json_t *model, const char *path, cq_error *error) {
  const json_t *vocab = json_object_get(model, "vocab");
  cq_status status = CQ_OK;
  if (vocab && !json_is_array(vocab))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "model.vocab: expected an array of [piece, score]");
  if (vocab) status = parse_vocab(t, vocab, path, error);
  if (status) return status;
  if (t->vocab.n == 0) return cq_fail_file(error, CQ_ERR_FORMAT, path, "model.vocab: no pieces");
  int64_t unk = -1;
  t->model.fuse_unk = true;
  status = cq_json_get_int(&unk, model, "unk_id", 0, (int64_t)t->vocab.n - 1, path, error);
  if (!status) status = cq_json_get_bool(&t->model.byte_fallback, model, "byte_fallback", path, error);
  if (status) return status;
  t->model.unk_id = (int32_t)unk;
  double min = INFINITY;
  for (size_t i = 0; i < t->vocab.n; i++) {
    if (!(fabs(t->model.scores[i]) < 1e30))
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "model.vocab: entry %zu has no finite score", i);
    if (t->model.scores[i] < min) min = t->model.scores[i];
  }
  t->model.unk_score = min - 10.0;
  if (t->model.byte_fallback) cq_find_byte_pieces(&t->model, &t->vocab);
  t->info.type = "Unigram";
  return CQ_OK;
}

/* The best way to reach a byte offset. */
typedef struct node {
  double score;
  int32_t id;
  uint32_t length; /* of the last piece; 0: not reached */
} node;

/* Characters without a piece: their bytes if the vocabulary has all of them, otherwise one unknown token. */
static bool put_unknown(cq_ids *out, const cq_model *m, cq_slice text) {
  if (m->byte_fallback) {
    bool all = true;
    for (size_t i = 0; i < text.n; i++) all = all && m->byte_ids[(unsigned char)text.data[i]] >= 0;
    for (size_t i = 0; i < text.n && all; i++) {
      if (!cq_ids_put(out, m->byte_ids[(unsigned char)text.data[i]])) return false;
    }
    if (all) return true;
  }
  return m->unk_id < 0 || cq_ids_put(out, m->unk_id);
}

/* Single characters are never dropped, so that a path exists. */
static bool is_dropped(const cq_piece_dropout *d, size_t start, int32_t id) {
  return cq_mix(d->key ^ cq_mix((uint64_t)start << 32 | (uint32_t)id)) >> 11 < d->share;
}

/* Fills best[0 .. word.n], which is zero. */
static void find_best_path(node *best, const cq_tokenizer *t, cq_slice word, const cq_piece_dropout *dropout) {
  const cq_model *m = &t->model;
  const size_t n = word.n;
  for (size_t start = 0; start < n;) {
    size_t first = char_length((unsigned char)word.data[start]);
    if (first > n - start) first = n - start;
    bool single = false;
    uint32_t at = CQ_TRIE_ROOT;
    for (size_t i = start; i < n;) {
      at = cq_trie_step(&t->vocab.index, at, (unsigned char)word.data[i]);
      if (at == CQ_TRIE_NONE) break;
      i++;
      if (!(at & CQ_TRIE_END)) continue;
      int32_t id = cq_trie_value(&t->vocab.index, at);
      if (dropout->share && i - start > first && is_dropped(dropout, start, id)) continue;
      double score = best[start].score + m->scores[id];
      if (best[i].length == 0 || score > best[i].score) best[i] = (node){score, id, (uint32_t)(i - start)};
      if (i - start == first) single = true;
    }
    if (!single) {
      double score = best[start].score + m->unk_score;
      node *end = &best[start + first];
      if (end->length == 0 || score > end->score) *end = (node){score, -1, (uint32_t)first};
    }
    start += first;
  }
}

static bool put_path(cq_ids *out, node *best, const cq_model *m, cq_slice word) {
  const size_t n = word.n;
  /* Reverses the path: each node's score is no longer needed, and its length now points forward. */
  uint32_t next = 0;
  for (size_t end = n; end > 0;) {
    uint32_t length = best[end].length;
    best[end].length = next;
    next = length;
    end -= length;
  }
  for (size_t start = 0; start < n;) {
    size_t end = start + next;
    if (best[end].id >= 0 && best[end].id != m->unk_id) {
      if (!cq_ids_put(out, best[end].id)) return false;
      next = best[end].length;
    } else {
      size_t from = start;
      next = best[end].length;
      while (end < n && m->fuse_unk && (best[end + next].id < 0 || best[end + next].id == m->unk_id)) {
        end += next;
        next = best[end].length;
      }
      if (!put_unknown(out, m, (cq_slice){word.data + from, end - from})) return false;
    }
    start = end;
  }
  return true;
}

static bool encode_unigram(cq_ids *out, const cq_tokenizer *t, cq_slice word, cq_model_memory *memory) {
  size_t n_bytes;
  if (!cq_checked_mul(&n_bytes, word.n + 1, sizeof(node)) || word.n > UINT32_MAX ||
      !cq_reserve(&memory->scratch, &memory->scratch_size, n_bytes, 1))
    return false;
  memset(memory->scratch, 0, n_bytes);
  find_best_path(memory->scratch, t, word, &memory->dropout);
  return put_path(out, memory->scratch, &t->model, word);
}

cq_status cq_tokenizer_piece_values(double *probability, double *loss, const cq_tokenizer *t, cq_error *error) {
  const cq_model *m = &t->model;
  const bool is_unigram = m->kind == &cq_unigram_kind;
  static const cq_piece_dropout none = {0};
  node *best = NULL;
  size_t size = 0;
  double sum = 0;
  cq_status status = CQ_OK;
  for (size_t id = 0; id < t->vocab.n; id++) {
    probability[id] = is_unigram ? exp(m->scores[id]) : 0, loss[id] = 1;
    sum += probability[id];
    const cq_slice piece = cq_vocab_piece(&t->vocab, (int32_t)id);
    if (!is_unigram || piece.n == 0) continue;
    if (!cq_reserve((void **)&best, &size, piece.n + 1, sizeof *best)) {
      status = cq_fail_memory(error, "vocabulary");
      break;
    }
    memset(best, 0, (piece.n + 1) * sizeof *best);
    const double score = m->scores[id];
    m->scores[id] = m->unk_score * (double)piece.n; /* for a moment: every other way is better */
    find_best_path(best, t, piece, &none);
    m->scores[id] = score;
    loss[id] = score - best[piece.n].score;
  }
  for (size_t id = 0; sum > 0 && id < t->vocab.n; id++) probability[id] /= sum;
  cq_free(best);
  return status;
}

const cq_model_kind cq_unigram_kind = {"Unigram", parse_unigram, encode_unigram, NULL};
