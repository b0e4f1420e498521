/* Added tokens: strings that are taken out of the text before any other stage.
 *
 * Tokens with normalized = false are searched for in the original text; the others are normalized and searched for in
 * the normalized text. The leftmost match wins; of several that begin there, the longest. lstrip and rstrip extend a
 * match over adjacent white space; single_word requires that no word character is next to it. */
#include "token/tokenizer_parts.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/unicode.h"

static cq_status add_token(cq_tokenizer *t, const cq_added_token *token, cq_slice content, const char *path,
                           cq_error *error) {
  cq_slice known = cq_vocab_piece(&t->vocab, token->id);
  if (known.data && !cq_slice_equal(known, content))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "added_tokens: '%.*s' has the id %d of the vocabulary's '%.*s'",
                        (int)content.n, content.data, token->id, (int)known.n, known.data);
  if (!known.data && cq_vocab_put(&t->vocab, &t->vocab.added, content, token->id) != CQ_VOCAB_OK)
    return cq_fail_memory(error, "added tokens");
  if (!cq_reserve((void **)&t->added.tokens, &t->added.capacity, t->added.n + 1, sizeof *t->added.tokens))
    return cq_fail_memory(error, "added tokens");
  t->added.tokens[t->added.n] = *token;
  cq_builder normal = {0}, other[2] = {{0}, {0}};
  const size_t n = content.n;
  cq_status status = CQ_OK;
  if (token->normalized) {
    status = cq_normalizers_run(&normal, other, &t->normalizers, content);
    content = (cq_slice){normal.data ? normal.data : "", normal.n};
  }
  if (!status && content.n) {
    bool *first = token->normalized ? t->added.first_normalized : t->added.first_raw;
    if (!cq_trie_put(token->normalized ? &t->added.normalized : &t->added.raw, content, (int32_t)t->added.n))
      status = CQ_ERR_MEMORY;
    first[(unsigned char)content.data[0]] = true;
  }
  cq_builder_free(&normal);
  cq_builder_free(&other[0]);
  cq_builder_free(&other[1]);
  t->added.n++;
  return status ? cq_fail_encoding(error, status, n) : CQ_OK;
}

cq_status cq_added_parse(cq_tokenizer *t, const json_t *list, const char *path, cq_error *error) {
  if (!list || json_is_null(list)) return CQ_OK;
  if (!json_is_array(list)) return cq_fail_file(error, CQ_ERR_FORMAT, path, "added_tokens: expected an array");
  const int64_t limit = cq_id_limit(t->vocab.n + json_array_size(list));
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *item = json_array_get(list, i), *content = json_object_get(item, "content");
    if (!json_is_string(content) || json_string_length(content) == 0)
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "added_tokens: entry %zu has no content", i);
    int64_t id = -1;
    cq_added_token token = {.normalized = true};
    cq_status status = cq_json_get_int(&id, item, "id", 0, INT32_MAX, path, error);
    if (!status) status = cq_json_get_bool(&token.special, item, "special", path, error);
    if (!status) token.normalized = !token.special;
    if (!status) status = cq_json_get_bool(&token.normalized, item, "normalized", path, error);
    if (!status) status = cq_json_get_bool(&token.single_word, item, "single_word", path, error);
    if (!status) status = cq_json_get_bool(&token.lstrip, item, "lstrip", path, error);
    if (!status) status = cq_json_get_bool(&token.rstrip, item, "rstrip", path, error);
    if (status) return status;
    if (id < 0 || id >= limit)
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "added_tokens: entry %zu has the id %lld, expected 0 to %lld", i,
                          (long long)id, (long long)limit - 1);
    token.id = (int32_t)id;
    status = add_token(t, &token, (cq_slice){json_string_value(content), json_string_length(content)}, path, error);
    if (status) return status;
  }
  return CQ_OK;
}

static bool is_word_at(cq_slice text, size_t at) {
  uint32_t c;
  cq_utf8_decode(&c, text.data + at, text.n - at);
  return cq_char_is_word(c);
}

static bool is_beside_word(cq_slice text, size_t start, size_t end) {
  return (start > 0 && is_word_at(text, cq_utf8_begin(text.data, start))) || (end < text.n && is_word_at(text, end));
}

bool cq_added_find(const cq_added_token **token, size_t *start, size_t *end, const cq_added *added, bool normalized,
                   cq_slice text, size_t from) {
  const cq_trie *trie = normalized ? &added->normalized : &added->raw;
  const bool *first = normalized ? added->first_normalized : added->first_raw;
  if (trie->n_nodes == 0) return false;
  for (size_t at = from; at < text.n; at++) {
    if (!first[(unsigned char)text.data[at]]) continue;
    int32_t found = -1;
    size_t stop = at;
    uint32_t node = CQ_TRIE_ROOT;
    for (size_t i = at; i < text.n;) {
      node = cq_trie_step(trie, node, (unsigned char)text.data[i]);
      if (node == CQ_TRIE_NONE) break;
      i++;
      if (node & CQ_TRIE_END) {
        found = cq_trie_value(trie, node);
        stop = i;
      }
    }
    if (found < 0) continue;
    const cq_added_token *match = &added->tokens[found];
    if ((match->special && added->splits_special) || (match->single_word && is_beside_word(text, at, stop))) {
      at = stop - 1; /* the match is used: the search continues after it */
      continue;
    }
    *token = match;
    *start = at;
    *end = stop;
    while (match->lstrip && *start > from) {
      const size_t i = from + cq_utf8_begin(text.data + from, *start - from);
      uint32_t c;
      cq_utf8_decode(&c, text.data + i, text.n - i);
      if (!cq_char_is_whitespace(c)) break;
      *start = i;
    }
    while (match->rstrip && *end < text.n) {
      uint32_t c;
      size_t n = cq_utf8_decode(&c, text.data + *end, text.n - *end);
      if (!cq_char_is_whitespace(c)) break;
      *end += n;
    }
    return true;
  }
  return false;
}

void cq_added_free(cq_added *added) {
  cq_free(added->tokens);
  cq_trie_free(&added->raw);
  cq_trie_free(&added->normalized);
  *added = (cq_added){0};
}
