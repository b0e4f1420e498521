/* Unifies the spelling variants of a language. See variants.h. */
#include "text/variants.h"

#include "base/error.h"
#include "text/transliterator.h"

#include <stddef.h>

enum { FIRST_HAN = 0x4E00, LAST_HAN = 0x9FFF };

/* A range of characters that become one, or nothing. */
typedef struct variant {
  uint32_t first, last, to;
} variant;

/* The Han characters, which are ICU's, go in the gap. */
static const variant before_han[] = {
    {0xAB, 0xAB, '"'},     {0xBB, 0xBB, '"'},     {0x401, 0x401, 0x435}, {0x451, 0x451, 0x435}, {0x5B0, 0x5BD, 0},
    {0x5BF, 0x5BF, 0},     {0x5C1, 0x5C2, 0},     {0x5C4, 0x5C5, 0},     {0x5C7, 0x5C7, 0},     {0x622, 0x623, 0x627},
    {0x624, 0x624, 0x648}, {0x625, 0x625, 0x627}, {0x626, 0x626, 0x64A}, {0x629, 0x629, 0x647}, {0x640, 0x640, 0},
    {0x649, 0x649, 0x64A}, {0x64B, 0x652, 0},     {0x670, 0x670, 0},     {0x671, 0x671, 0x627}, {0x6A9, 0x6A9, 0x643},
    {0x6CC, 0x6CC, 0x64A}, {0x901, 0x901, 0x902}, {0x93C, 0x93C, 0},     {0x2010, 0x2015, '-'}, {0x2018, 0x201B, '\''},
    {0x201C, 0x201F, '"'},
};

static bool tell_ranges(cq_variant_fn each, void *context) {
  for (size_t i = 0; i < sizeof before_han / sizeof *before_han; i++)
    for (uint32_t c = before_han[i].first; c <= before_han[i].last; c++)
      if (!each(context, c, before_han[i].to)) return false;
  return true;
}

/* The simplified form of a traditional character, or the character itself if it has none. */
static UChar simplified(const UTransliterator *t, UChar c, UErrorCode *code) {
  UChar text[8] = {c};
  int32_t n = 1, limit = 1;
  utrans_transUChars(t, text, &n, sizeof text / sizeof *text, 0, &limit, code);
  return n == 1 ? text[0] : c;
}

static cq_status tell_han(cq_variant_fn each, void *context, cq_error *error) {
  UErrorCode code = U_ZERO_ERROR;
  UTransliterator *t;
  const cq_status status = cq_transliterator_open(&t, "Traditional-Simplified", error);
  if (status) return status;
  bool ok = true;
  for (UChar c = FIRST_HAN; ok && c <= LAST_HAN; c++) {
    const UChar to = simplified(t, c, &code);
    /* some simplified characters have a simplified form themselves: 著 and 着 */
    if (to != c && simplified(t, to, &code) == to) ok = each(context, c, to);
    ok &= U_SUCCESS(code) != 0;
  }
  utrans_close(t);
  return ok ? CQ_OK : cq_fail_memory(error, "spelling variants");
}

cq_status cq_text_each_variant(cq_variant_fn each, void *context, cq_error *error) {
  if (!tell_ranges(each, context)) return cq_fail_memory(error, "spelling variants");
  return tell_han(each, context, error);
}
