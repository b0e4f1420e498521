#include "text/word_splitter.h"

#include "base/error.h"
#include "base/memory.h"

#include <unicode/ubrk.h>

enum { ICU_SETUP_BYTES = 1 << 16 }; /* it takes 10 KB */

cq_status cq_word_splitter_open(cq_word_splitter *out, cq_error *error) {
  UErrorCode code = U_ZERO_ERROR;
  *out = (cq_word_splitter){0};
  /* While ICU sets up its locales and locks, a failed allocation ends in a crash or a deadlock. */
  if (!cq_has_room(ICU_SETUP_BYTES)) return cq_fail_memory(error, "ICU");
  *out = (cq_word_splitter){.iterator = ubrk_open(UBRK_WORD, "", NULL, 0, &code)};
  if (U_SUCCESS(code)) return CQ_OK;
  cq_word_splitter_close(out);
  return cq_fail(error, CQ_ERR_UNSUPPORTED, "ICU has no word boundaries: %s", u_errorName(code));
}

bool cq_word_splitter_run(cq_word_splitter *w, cq_slice text) {
  UErrorCode code = U_ZERO_ERROR;
  UText view = UTEXT_INITIALIZER;
  w->n = 0;
  utext_openUTF8(&view, text.data, (int64_t)text.n, &code);
  ubrk_setUText(w->iterator, &view, &code);
  bool ok = U_SUCCESS(code);
  int32_t from = ok ? ubrk_first(w->iterator) : 0;
  for (int32_t to; ok && (to = ubrk_next(w->iterator)) != UBRK_DONE; from = to) {
    if (ubrk_getRuleStatus(w->iterator) < UBRK_WORD_NONE_LIMIT) continue;
    ok = cq_reserve((void **)&w->items, &w->capacity, w->n + 1, sizeof *w->items);
    if (ok) w->items[w->n++] = (cq_slice){text.data + from, (size_t)(to - from)};
  }
  utext_close(&view);
  return ok;
}

void cq_word_splitter_close(cq_word_splitter *w) {
  if (w->iterator) ubrk_close(w->iterator);
  cq_free(w->items);
  *w = (cq_word_splitter){0};
}
