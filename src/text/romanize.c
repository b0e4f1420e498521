/* Words in Latin letters, by ICU's transliterators. See romanize.h. */
#include "text/romanize.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/transliterator.h"
#include "text/unicode.h"

#include <unicode/ustring.h>

enum { GROWTH = 8 }; /* a byte becomes at most this many characters */

static const char rules[] = "Any-Latin; NFD; [:M:] Remove; Latin-ASCII; Lower";

struct cq_romanizer {
  UTransliterator *transliterator;
  UChar *text;
  size_t capacity;
};

cq_status cq_romanizer_open(cq_romanizer **out, cq_error *error) {
  *out = NULL;
  cq_romanizer *r = cq_alloc_zeroed(sizeof *r);
  if (!r) return cq_fail_memory(error, "ICU");
  const cq_status status = cq_transliterator_open(&r->transliterator, rules, error);
  if (status) cq_romanizer_free(r);
  *out = status ? NULL : r;
  return status;
}

void cq_romanizer_free(cq_romanizer *r) {
  if (!r) return;
  if (r->transliterator) utrans_close(r->transliterator);
  cq_free(r->text);
  cq_free(r);
}

static void add_letters(cq_builder *out, cq_slice latin) {
  for (uint32_t c; cq_utf8_next(&c, &latin);)
    if (cq_char_is_letter(c) || cq_char_is_number(c)) cq_builder_code(out, c);
}

void cq_romanize(cq_builder *out, cq_romanizer *r, cq_slice text) {
  const size_t room = GROWTH * (text.n + 4);
  if (room > INT32_MAX / 4 || !cq_reserve((void **)&r->text, &r->capacity, room, sizeof *r->text)) {
    out->failed = true;
    return;
  }
  UErrorCode code = U_ZERO_ERROR;
  int32_t n = 0, n_bytes = 0;
  u_strFromUTF8WithSub(r->text, (int32_t)room, &n, text.data, (int32_t)text.n, 0xfffd, NULL, &code);
  int32_t limit = n;
  utrans_transUChars(r->transliterator, r->text, &n, (int32_t)room, 0, &limit, &code);
  char *bytes = U_SUCCESS(code) ? cq_alloc(3 * (size_t)n + 1) : NULL;
  if (bytes) u_strToUTF8WithSub(bytes, 3 * n + 1, &n_bytes, r->text, n, 0xfffd, NULL, &code);
  if (!bytes || U_FAILURE(code))
    out->failed = true;
  else
    add_letters(out, (cq_slice){bytes, (size_t)n_bytes});
  cq_free(bytes);
}
