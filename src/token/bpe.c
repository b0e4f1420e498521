/* Byte-pair encoding: a word's characters are merged pair by pair, the earliest learned pair first, until no adjacent
 * pair has a merge. Source: Sennrich et al. 2016; byte-level vocabularies: Radford et al. 2019.
 *
 *   merges   (left id, right id) -> (rank, merged id), open addressing
 *
 * Short words are scanned for their best pair; long ones (a whole sentence, if there is no pre-tokenizer) keep their
 * pairs in a heap. Both take the lowest rank and, on a tie, the leftmost pair. */
#include "token/tokenizer_parts.h"

#include "base/error.h"
#include "base/heap.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/table.h"
#include "base/utf8.h"

typedef struct merge {
  int32_t left, right; /* left -1: empty */
  int32_t merged;
  uint32_t rank;
} merge;

struct cq_merges {
  merge *slots;
  size_t n, capacity;
};

void cq_merges_free(cq_merges *merges) {
  if (!merges) return;
  cq_free(merges->slots);
  cq_free(merges);
}

static bool merge_ends(const void *slot, const void *sought) {
  const merge *a = slot, *b = sought;
  return a->left < 0 || (a->left == b->left && a->right == b->right);
}

static merge *place_of_merge(const cq_merges *merges, int32_t left, int32_t right) {
  const merge sought = {.left = left, .right = right};
  const uint64_t hash = cq_mix((uint64_t)(uint32_t)left << 32 | (uint32_t)right);
  return cq_table_find(merges->slots, merges->capacity, sizeof sought, hash, merge_ends, &sought);
}

static const merge *find_merge(const cq_merges *merges, int32_t left, int32_t right) {
  const merge *m = place_of_merge(merges, left, right);
  return m->left < 0 ? NULL : m;
}

cq_merges *cq_merges_new(size_t n) {
  cq_merges *merges = cq_alloc_zeroed(sizeof *merges);
  if (!merges) return NULL;
  merges->capacity = 64;
  while (merges->capacity < 2 * n + 2) merges->capacity *= 2;
  merges->slots = cq_alloc_array(merges->capacity, sizeof *merges->slots);
  if (!merges->slots) {
    cq_free(merges);
    return NULL;
  }
  for (size_t i = 0; i < merges->capacity; i++) merges->slots[i].left = -1;
  return merges;
}

void cq_merges_put(cq_merges *merges, int32_t left, int32_t right, int32_t merged) {
  if (2 * merges->n + 2 > merges->capacity) return;
  *place_of_merge(merges, left, right) = (merge){left, right, merged, (uint32_t)merges->n++};
}

cq_merge_view *cq_merges_list(const cq_merges *merges, size_t *n) {
  cq_merge_view *views = cq_alloc_array(merges->n ? merges->n : 1, sizeof *views);
  *n = 0;
  if (!views) return NULL;
  for (size_t i = 0; i < merges->capacity; i++) {
    const merge *m = &merges->slots[i];
    if (m->left >= 0) views[(*n)++] = (cq_merge_view){m->left, m->right, m->merged, m->rank};
  }
  return views;
}

/* --- parsing --- */

/* One merge: "left right" or ["left", "right"]. */
static bool split_merge(cq_slice *left, cq_slice *right, const json_t *entry) {
  if (json_is_array(entry)) {
    const json_t *a = json_array_get(entry, 0), *b = json_array_get(entry, 1);
    if (!json_is_string(a) || !json_is_string(b)) return false;
    *left = (cq_slice){json_string_value(a), json_string_length(a)};
    *right = (cq_slice){json_string_value(b), json_string_length(b)};
    return true;
  }
  if (!json_is_string(entry)) return false;
  const char *text = json_string_value(entry), *space = strchr(text, ' ');
  if (!space) return false;
  *left = (cq_slice){text, (size_t)(space - text)};
  *right = (cq_slice){space + 1, json_string_length(entry) - left->n - 1};
  return true;
}

cq_vocab_result cq_merges_add(cq_tokenizer *t, cq_slice left, cq_slice right) {
  cq_model *m = &t->model;
  int32_t a = cq_vocab_id(&t->vocab, left), b = cq_vocab_id(&t->vocab, right);
  cq_builder joined = {0};
  cq_builder_bytes(&joined, left.data, left.n);
  size_t skip =
      right.n >= m->prefix.n && m->prefix.n && !memcmp(right.data, m->prefix.data, m->prefix.n) ? m->prefix.n : 0;
  cq_builder_bytes(&joined, right.data + skip, right.n - skip);
  bool failed = joined.failed;
  int32_t c = failed ? -1 : cq_vocab_id(&t->vocab, (cq_slice){joined.data, joined.n});
  cq_builder_free(&joined);
  if (failed) return CQ_VOCAB_MEMORY;
  if (a < 0 || b < 0 || c < 0) return CQ_VOCAB_TAKEN;
  cq_merges_put(m->merges, a, b, c);
  return CQ_VOCAB_OK;
}

static cq_status copy_bpe_text(cq_slice *out, cq_tokenizer *t, const json_t *model, const char *key, const char *path,
                               cq_error *error) {
  const char *text = "";
  cq_status status = cq_json_get_string(&text, model, key, path, error);
  if (status) return status;
  text = cq_arena_strdup(&t->arena, text);
  if (!text) return cq_fail_memory(error, "tokenizer");
  *out = cq_slice_of(text);
  return CQ_OK;
}

static cq_status parse_bpe(cq_tokenizer *t, const json_t *model, const char *path, cq_error *error) {
  cq_model *m = &t->model;
  const char *unk = NULL;
  double dropout = 0;
  cq_status status = cq_json_get_string(&unk, model, "unk_token", path, error);
  if (!status) status = cq_json_get_number(&dropout, model, "dropout", path, error);
  if (!status) status = cq_json_get_bool(&m->fuse_unk, model, "fuse_unk", path, error);
  if (!status) status = cq_json_get_bool(&m->byte_fallback, model, "byte_fallback", path, error);
  if (!status) status = cq_json_get_bool(&m->ignore_merges, model, "ignore_merges", path, error);
  if (!status) status = copy_bpe_text(&m->prefix, t, model, "continuing_subword_prefix", path, error);
  if (!status) status = copy_bpe_text(&m->suffix, t, model, "end_of_word_suffix", path, error);
  if (status) return status;
  if (dropout > 0) return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "model: BPE with dropout is not supported");
  if (unk && *unk) {
    m->unk_id = cq_vocab_id(&t->vocab, cq_slice_of(unk));
    if (m->unk_id < 0)
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "the unknown token '%s' is not in the vocabulary", unk);
  }
  const json_t *merges = json_object_get(model, "merges");
  if (!m->merges && !json_is_array(merges))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "model.merges: expected an array");
  if (!m->merges) {
    m->merges = cq_merges_new(json_array_size(merges));
    if (!m->merges) return cq_fail_memory(error, "merges");
  }
  for (size_t i = 0; i < json_array_size(merges); i++) {
    cq_slice left, right;
    if (!split_merge(&left, &right, json_array_get(merges, i)))
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "model.merges: entry %zu is not two pieces", i);
    cq_vocab_result result = cq_merges_add(t, left, right);
    if (result == CQ_VOCAB_MEMORY) return cq_fail_memory(error, "merges");
    if (result == CQ_VOCAB_TAKEN)
      return cq_fail_file(error, CQ_ERR_FORMAT, path,
                          "model.merges: entry %zu, '%.*s' '%.*s', names a piece that is not in the vocabulary", i,
                          (int)left.n, left.data, (int)right.n, right.data);
  }
  if (m->byte_fallback) cq_find_byte_pieces(m, &t->vocab);
  m->byte_level = t->pre_tokenizers.byte_level;
  t->info.type = m->byte_level ? "ByteLevelBPE" : "BPE";
  return CQ_OK;
}

/* --- encoding --- */

typedef struct symbol {
  int32_t id;
  int32_t previous, next; /* with the heap only; -1: none */
} symbol;

typedef struct candidate {
  uint32_t rank;
  int32_t at; /* symbol on the left */
  int32_t left, right, merged;
} candidate;

static bool trace_merge(cq_ids *trace, int32_t left, int32_t right, int32_t merged) {
  return !trace || (cq_ids_put(trace, left) && cq_ids_put(trace, right) && cq_ids_put(trace, merged));
}

/* trace: receives the merges that are made; NULL: not needed. False: out of memory for it. */
static bool merge_short(symbol *s, size_t *n, const cq_merges *merges, cq_ids *trace) {
  while (*n > 1) {
    const merge *best = NULL;
    size_t at = 0;
    for (size_t i = 0; i + 1 < *n; i++) {
      const merge *m = find_merge(merges, s[i].id, s[i + 1].id);
      if (m && (!best || m->rank < best->rank)) {
        best = m;
        at = i;
      }
    }
    if (!best) return true;
    if (!trace_merge(trace, best->left, best->right, best->merged)) return false;
    s[at].id = best->merged;
    memmove(s + at + 1, s + at + 2, (*n - at - 2) * sizeof *s);
    --*n;
  }
  return true;
}

static bool is_before(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  return x->rank != y->rank ? x->rank < y->rank : x->at < y->at;
}

static void push_pair(candidate *heap, size_t *n_heap, const symbol *s, int32_t at, const cq_merges *merges) {
  if (at < 0 || s[at].next < 0) return;
  int32_t left = s[at].id, right = s[s[at].next].id;
  const merge *m = find_merge(merges, left, right);
  if (m) cq_heap_push(heap, (*n_heap)++, sizeof *heap, &(candidate){m->rank, at, left, right, m->merged}, is_before);
}

/* heap has room for 3 n: n - 1 initial pairs, and at most two more for each of n - 1 merges. */
static bool merge_long(symbol *s, size_t *n, candidate *heap, const cq_merges *merges, cq_ids *trace) {
  size_t n_heap = 0, count = *n;
  for (size_t i = 0; i < count; i++) {
    s[i].previous = (int32_t)i - 1;
    s[i].next = i + 1 < count ? (int32_t)i + 1 : -1;
  }
  for (size_t i = 0; i + 1 < count; i++) push_pair(heap, &n_heap, s, (int32_t)i, merges);
  while (n_heap) {
    const candidate c = heap[0];
    n_heap--;
    cq_heap_replace(heap, n_heap, sizeof *heap, &heap[n_heap], is_before);
    symbol *left = &s[c.at];
    if (left->id != c.left || left->next < 0 || s[left->next].id != c.right)
      continue; /* a neighbor has changed since */
    if (!trace_merge(trace, c.left, c.right, c.merged)) return false;
    symbol *right = &s[left->next];
    left->id = c.merged;
    right->id = -2; /* gone */
    left->next = right->next;
    if (left->next >= 0) s[left->next].previous = c.at;
    push_pair(heap, &n_heap, s, left->previous, merges);
    push_pair(heap, &n_heap, s, c.at, merges);
  }
  size_t kept = 0;
  for (int32_t i = 0; i >= 0; i = s[i].next) s[kept++].id = s[i].id;
  *n = kept;
  return true;
}

/* The id of a character of a word, with the prefix if it is inside the word and the suffix if it is at the end (where
 * the vocabulary uses these). */
static int32_t char_id(const cq_tokenizer *t, cq_slice c, bool first, bool last) {
  const cq_model *m = &t->model;
  const cq_trie *trie = &t->vocab.index;
  uint32_t node = CQ_TRIE_ROOT;
  if (trie->n_nodes == 0) return -1;
  if (!first && m->prefix.n) node = cq_trie_walk(trie, node, m->prefix);
  if (node != CQ_TRIE_NONE) node = cq_trie_walk(trie, node, c);
  if (last && m->suffix.n && node != CQ_TRIE_NONE) node = cq_trie_walk(trie, node, m->suffix);
  return node == CQ_TRIE_NONE ? -1 : cq_trie_value(trie, node);
}

enum { SHORT_WORD = 48 };

static bool encode_bpe_traced(cq_ids *out, const cq_tokenizer *t, cq_slice word, cq_model_memory *memory,
                              cq_ids *trace) {
  const cq_model *m = &t->model;
  if (m->ignore_merges) {
    int32_t id = cq_vocab_id(&t->vocab, word);
    if (id >= 0) return cq_ids_put(out, id);
  }
  size_t n_bytes, heap_bytes = 0;
  if (word.n > INT32_MAX / 4 || !cq_checked_mul(&n_bytes, word.n + 1, sizeof(symbol))) return false;
  n_bytes = (n_bytes + 63) & ~(size_t)63;
  if (word.n > SHORT_WORD && !cq_checked_mul(&heap_bytes, word.n + 1, 3 * sizeof(candidate))) return false;
  if (!cq_reserve(&memory->scratch, &memory->scratch_size, n_bytes + heap_bytes, 1)) return false;
  symbol *s = memory->scratch;
  candidate *heap = (candidate *)((char *)s + n_bytes);
  size_t n = 0;
  bool unknown = false; /* the last symbol is an unknown one */
  for (size_t i = 0; i < word.n;) {
    uint32_t code;
    size_t length = cq_utf8_decode(&code, word.data + i, word.n - i);
    int32_t id = char_id(t, (cq_slice){word.data + i, length}, i == 0, i + length == word.n);
    if (id < 0 && m->byte_fallback) {
      bool all = true;
      for (size_t k = 0; k < length; k++) all = all && m->byte_ids[(unsigned char)word.data[i + k]] >= 0;
      for (size_t k = 0; k < length && all; k++) s[n++].id = m->byte_ids[(unsigned char)word.data[i + k]];
      if (all) {
        unknown = false;
        i += length;
        continue;
      }
    }
    if (id >= 0) {
      s[n++].id = id;
      unknown = false;
    } else if (m->unk_id >= 0 && !(unknown && m->fuse_unk)) {
      s[n++].id = m->unk_id;
      unknown = true;
    }
    i += length;
  }
  if (!(n > SHORT_WORD ? merge_long(s, &n, heap, m->merges, trace) : merge_short(s, &n, m->merges, trace)))
    return false;
  for (size_t i = 0; i < n; i++) {
    if (!cq_ids_put(out, s[i].id)) return false;
  }
  return true;
}

static bool encode_bpe(cq_ids *out, const cq_tokenizer *t, cq_slice word, cq_model_memory *memory) {
  return encode_bpe_traced(out, t, word, memory, NULL);
}

static bool trace_bpe(cq_ids *out, const cq_tokenizer *t, cq_slice word, cq_model_memory *memory) {
  return encode_bpe_traced(out, t, word, memory, out);
}

const cq_model_kind cq_bpe_kind = {"BPE", parse_bpe, encode_bpe, trace_bpe};
