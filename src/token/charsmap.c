/* SentencePiece's compiled normalization rules: a double-array trie, matched longest first. See charsmap.h. */
#include "token/charsmap.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/unicode.h"

struct cq_charsmap {
  uint32_t *units;
  size_t n_units;
  char *texts; /* n_texts bytes, the last of them zero */
  size_t n_texts;
  cq_slice ascii[128]; /* the replacement of each ASCII character; data NULL: unchanged */
};

/* The replacement of the shortest rule that is a prefix of key; false when there is none. */
static bool lookup_rule(cq_slice *replacement, const cq_charsmap *map, const char *key, size_t n) {
  size_t node = 0;
  uint32_t unit = map->units[0];
  node ^= (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
  for (size_t i = 0; i < n; i++) {
    unsigned char byte = (unsigned char)key[i];
    if (byte == 0) return false;
    node ^= byte;
    if (node >= map->n_units) return false;
    unit = map->units[node];
    if ((unit & (1u << 31 | 0xFF)) != byte) return false;
    node ^= (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
    if (node >= map->n_units) return false;
    if (unit >> 8 & 1) {
      size_t start = map->units[node] & 0x7FFFFFFFu;
      if (start >= map->n_texts) return false;
      *replacement = (cq_slice){map->texts + start, strlen(map->texts + start)};
      return true;
    }
  }
  return false;
}

cq_status cq_charsmap_open(cq_charsmap **out, cq_slice bytes, const char *path, cq_error *error) {
  *out = NULL;
  const unsigned char *p = (const unsigned char *)bytes.data;
  if (bytes.n < 4)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "precompiled_charsmap has %zu bytes, expected 4 at least", bytes.n);
  size_t n = (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
  if (n < 4 || n % 4 || n > bytes.n - 4)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "precompiled_charsmap names an array of %zu bytes in %zu", n,
                        bytes.n);
  cq_charsmap *map = cq_alloc_zeroed(sizeof *map);
  if (!map) return cq_fail_memory(error, "normalization rules");
  map->n_units = n / 4;
  map->n_texts = bytes.n - 4 - n + 1;
  map->units = cq_alloc_array(map->n_units, sizeof *map->units);
  map->texts = cq_alloc(map->n_texts);
  if (!map->units || !map->texts) {
    cq_charsmap_free(map);
    return cq_fail_memory(error, "normalization rules");
  }
  for (size_t i = 0; i < map->n_units; i++) {
    const unsigned char *u = p + 4 + 4 * i;
    map->units[i] = (uint32_t)u[0] | (uint32_t)u[1] << 8 | (uint32_t)u[2] << 16 | (uint32_t)u[3] << 24;
  }
  memcpy(map->texts, bytes.data + 4 + n, map->n_texts - 1);
  map->texts[map->n_texts - 1] = 0;
  if (cq_utf8_invalid_at(map->texts, map->n_texts) != map->n_texts) {
    cq_charsmap_free(map);
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "precompiled_charsmap's replacements are not UTF-8");
  }
  for (int c = 1; c < 128; c++) {
    char key = (char)c;
    cq_slice replacement;
    if (lookup_rule(&replacement, map, &key, 1)) map->ascii[c] = replacement;
  }
  *out = map;
  return CQ_OK;
}

void cq_charsmap_free(cq_charsmap *map) {
  if (!map) return;
  cq_free(map->units);
  cq_free(map->texts);
  cq_free(map);
}

void cq_charsmap_run(cq_builder *out, const cq_charsmap *map, cq_slice text) {
  cq_slice replacement;
  size_t kept = 0; /* [kept, i) waits to be copied as it is */
  for (size_t i = 0; i < text.n;) {
    const char *p = text.data + i;
    bool ascii = (unsigned char)*p < 0x80, alone = i + 1 == text.n || ((unsigned char)p[1] < 0x80 && *p != '\r');
    if (ascii && alone) {
      const cq_slice *r = &map->ascii[(unsigned char)*p];
      if (r->data) {
        cq_builder_bytes(out, text.data + kept, i - kept);
        cq_builder_bytes(out, r->data, r->n);
        kept = i + 1;
      }
      i++;
      continue;
    }
    size_t cluster = cq_grapheme_length(p, text.n - i);
    cq_builder_bytes(out, text.data + kept, i - kept);
    if (cluster < 6 && lookup_rule(&replacement, map, p, cluster)) {
      cq_builder_bytes(out, replacement.data, replacement.n);
    } else {
      for (size_t k = 0; k < cluster;) {
        uint32_t c;
        size_t n = cq_utf8_decode(&c, p + k, cluster - k);
        if (lookup_rule(&replacement, map, p + k, n))
          cq_builder_bytes(out, replacement.data, replacement.n);
        else
          cq_builder_bytes(out, p + k, n);
        k += n;
      }
    }
    i += cluster;
    kept = i;
  }
  cq_builder_bytes(out, text.data + kept, text.n - kept);
}

bool cq_charsmap_lowers(const cq_charsmap *map) {
  for (int c = 'A'; c <= 'Z'; c++) {
    const cq_slice *r = &map->ascii[c];
    if (!r->data || r->n != 1 || r->data[0] != (char)(c - 'A' + 'a')) return false;
  }
  return true;
}

/* key holds the n bytes that lead to a node. Untrusted rules may contain cycles, so keys have at most MAX_KEY bytes. */
enum { MAX_KEY = 32 };

typedef struct walk {
  const cq_charsmap *map;
  char key[MAX_KEY];
  cq_charsmap_fn each;
  void *context;
} walk;

static bool walk_rules(walk *w, size_t base, size_t n) {
  const cq_charsmap *map = w->map;
  for (uint32_t byte = 1; byte < 256 && n < MAX_KEY; byte++) {
    const size_t node = base ^ byte;
    if (node >= map->n_units) continue;
    const uint32_t unit = map->units[node];
    if ((unit & (1u << 31 | 0xFF)) != byte) continue;
    w->key[n] = (char)byte;
    const size_t next = node ^ (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
    if (unit >> 8 & 1 && next < map->n_units) {
      const size_t start = map->units[next] & 0x7FFFFFFFu;
      const char *text = start < map->n_texts ? map->texts + start : "";
      if (!w->each(w->context, (cq_slice){w->key, n + 1}, (cq_slice){text, strlen(text)})) return false;
    }
    if (!walk_rules(w, next, n + 1)) return false;
  }
  return true;
}

cq_status cq_charsmap_each(const cq_charsmap *map, cq_charsmap_fn each, void *context, cq_error *error) {
  walk w = {.map = map, .each = each, .context = context};
  const uint32_t root = map->units[0];
  const size_t base = (size_t)(root >> 10) << ((root & 1u << 9) >> 6);
  return walk_rules(&w, base, 0) ? CQ_OK : cq_fail_memory(error, "normalization rules");
}
