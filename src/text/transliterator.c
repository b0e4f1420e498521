/* Opens ICU's transliterators, which share state that is not thread-safe. See transliterator.h. */
#include "text/transliterator.h"

#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <string.h>
#include <unicode/ustring.h>

enum {
  SETUP_BYTES = 8 << 20, /* rules of all scripts, loaded on first use */
  MAX_NAME = 128,
};

cq_status cq_transliterator_open(UTransliterator **out, const char *name, cq_error *error) {
  UErrorCode code = U_ZERO_ERROR;
  UChar id[MAX_NAME];
  *out = NULL;
  assert(strlen(name) < MAX_NAME);
  /* ICU may not survive failed allocations while it sets up its rules, as with its locales. */
  if (!cq_has_room(SETUP_BYTES)) return cq_fail_memory(error, "ICU");
  u_uastrcpy(id, name);
  *out = utrans_openU(id, -1, UTRANS_FORWARD, NULL, 0, NULL, &code);
  if (U_SUCCESS(code)) return CQ_OK;
  *out = NULL;
  if (code == U_MEMORY_ALLOCATION_ERROR) return cq_fail_memory(error, "ICU");
  return cq_fail(error, CQ_ERR_UNSUPPORTED, "ICU cannot transliterate by '%s': %s", name, u_errorName(code));
}
