/* Writes SentencePiece's normalization rules for its trainer, including spelling variants. See rules.h. */
#include "token/rules.h"

#include "base/error.h"
#include "base/map.h"
#include "base/utf8.h"
#include "text/unicode.h"
#include "text/variants.h"
#include "token/charsmap.h"
#include "token/model_proto.h"
#include "token/sentencepiece_shim.h"

#include <stdlib.h>

typedef struct rules {
  cq_builder *out;
  cq_map variants; /* character -> its replacement, 0: none; as UTF-8 */
  cq_map seen;     /* characters that have a rule already */
  cq_builder text;
  bool failed;
} rules;

static int next_line(void *context, const char **text, size_t *n) {
  bool *given = context;
  if (*given) return 0;
  *text = "a b", *n = 3, *given = true;
  return 1;
}

/* The library compiles its rules into each model. */
static cq_status compiled_rules(cq_charsmap **out, const char *base, cq_error *error) {
  const char *keys[] = {"vocab_size", "model_type", "hard_vocab_limit", "normalization_rule_name", "minloglevel"};
  const char *values[] = {"16", "char", "false", base, "4"};
  char *bytes = NULL, message[256] = "";
  size_t n = 0;
  bool given = false;
  cq_sp_model model = {0};
  *out = NULL;
  if (cq_sp_train(&bytes, &n, keys, values, sizeof keys / sizeof *keys, next_line, &given, message, sizeof message))
    return cq_fail(error, CQ_ERR_ARGUMENT, "no rules '%s': %s", base, message);
  cq_status status = cq_sp_model_read(&model, (cq_slice){bytes, n}, base, error);
  if (!status) status = cq_charsmap_open(out, model.charsmap, base, error);
  cq_sp_model_free(&model);
  free(bytes);
  return status;
}

/* --- text --- */

static void add_codes(cq_builder *out, cq_slice text) {
  for (size_t i = 0; i < text.n;) {
    uint32_t code;
    if (i) cq_builder_char(out, ' ');
    i += cq_utf8_decode(&code, text.data + i, text.n - i);
    cq_builder_printf(out, "%X", code);
  }
}

static void add_rule(cq_builder *out, cq_slice from, cq_slice to) {
  add_codes(out, from);
  cq_builder_char(out, '\t');
  add_codes(out, to);
  cq_builder_char(out, '\n');
}

static cq_slice text_of(rules *r, uint32_t code) {
  cq_builder_clear(&r->text);
  if (code) cq_builder_code(&r->text, code);
  r->failed |= r->text.failed;
  return (cq_slice){r->text.data ? r->text.data : "", r->text.n};
}

static bool note_variant(void *context, uint32_t from, uint32_t to) {
  rules *r = context;
  const cq_slice key = text_of(r, from);
  return !r->failed && cq_map_put(&r->variants, key, to);
}

/* A rule of the library, with spelling variants in its replacement unified. */
static bool add_base_rule(void *context, cq_slice from, cq_slice to) {
  rules *r = context;
  cq_builder_clear(&r->text);
  for (size_t i = 0; i < to.n;) {
    uint32_t code;
    const size_t n = cq_utf8_decode(&code, to.data + i, to.n - i);
    const uint64_t variant = cq_map_get(&r->variants, (cq_slice){to.data + i, n});
    if (variant == CQ_MAP_NONE)
      cq_builder_bytes(&r->text, to.data + i, n);
    else if (variant)
      cq_builder_code(&r->text, (uint32_t)variant);
    i += n;
  }
  add_rule(r->out, from, (cq_slice){r->text.data ? r->text.data : "", r->text.n});
  return !r->text.failed && cq_map_put(&r->seen, from, 1);
}

static bool add_variant_rule(void *context, uint32_t from, uint32_t to) {
  rules *r = context;
  char target[8];
  const cq_slice replacement = text_of(r, to);
  memcpy(target, replacement.data, replacement.n);
  const size_t n = replacement.n;
  const cq_slice key = text_of(r, from);
  if (!r->failed && cq_map_get(&r->seen, key) == CQ_MAP_NONE) add_rule(r->out, key, (cq_slice){target, n});
  return !r->failed;
}

cq_status cq_rules_with_variants(cq_builder *out, const char *base, cq_error *error) {
  rules r = {.out = out};
  cq_charsmap *map;
  cq_status status = compiled_rules(&map, base, error);
  if (!status) status = cq_text_each_variant(note_variant, &r, error);
  if (!status) status = cq_charsmap_each(map, add_base_rule, &r, error);
  if (!status) status = cq_text_each_variant(add_variant_rule, &r, error);
  if (!status && (out->failed || r.failed)) status = cq_fail_memory(error, "normalization rules");
  cq_charsmap_free(map);
  cq_map_free(&r.variants);
  cq_map_free(&r.seen);
  cq_builder_free(&r.text);
  return status;
}
