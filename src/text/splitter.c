/* Words or sentences of a text, by ICU's break iterators. See splitter.h. */
#include "text/splitter.h"

#include "base/error.h"
#include "base/memory.h"

#include <unicode/ubrk.h>

enum { ICU_SETUP_BYTES = 1 << 16 }; /* it takes 10 KB */

cq_status cq_splitter_open(cq_splitter *out, cq_split what, cq_error *error) {
  UErrorCode code = U_ZERO_ERROR;
  *out = (cq_splitter){0};
  /* While ICU sets up its locales and locks, a failed allocation ends in a crash or a deadlock. */
  if (!cq_has_room(ICU_SETUP_BYTES)) return cq_fail_memory(error, "ICU");
  const UBreakIteratorType type = what == CQ_SPLIT_WORDS ? UBRK_WORD : UBRK_SENTENCE;
  *out = (cq_splitter){.iterator = ubrk_open(type, "", NULL, 0, &code), .what = what};
  if (U_SUCCESS(code)) return CQ_OK;
  cq_splitter_close(out);
  if (code == U_MEMORY_ALLOCATION_ERROR) return cq_fail_memory(error, "ICU");
  return cq_fail(error, CQ_ERR_UNSUPPORTED, "ICU has no %s boundaries: %s",
                 what == CQ_SPLIT_WORDS ? "word" : "sentence", u_errorName(code));
}

bool cq_splitter_run(cq_splitter *w, cq_slice text) {
  UErrorCode code = U_ZERO_ERROR;
  UText view = UTEXT_INITIALIZER;
  w->n = 0;
  utext_openUTF8(&view, text.data, (int64_t)text.n, &code);
  ubrk_setUText(w->iterator, &view, &code);
  bool ok = U_SUCCESS(code);
  int32_t from = ok ? ubrk_first(w->iterator) : 0;
  for (int32_t to; ok && (to = ubrk_next(w->iterator)) != UBRK_DONE; from = to) {
    if (w->what == CQ_SPLIT_WORDS && ubrk_getRuleStatus(w->iterator) < UBRK_WORD_NONE_LIMIT) continue;
    ok = cq_reserve((void **)&w->items, &w->capacity, w->n + 1, sizeof *w->items);
    if (ok) w->items[w->n++] = (cq_slice){text.data + from, (size_t)(to - from)};
  }
  utext_close(&view);
  return ok;
}

void cq_splitter_close(cq_splitter *w) {
  if (w->iterator) ubrk_close(w->iterator);
  cq_free(w->items);
  *w = (cq_splitter){0};
}
