/* Reads the language identification model that is built into the library. See language_model.h. */
#include "text/language_model.h"

#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the model of language identification is little-endian"
#endif

/* The file's bytes. CMake sets the file's name and recompiles this file when the model changes. */
__asm__(".section .rodata\n"
        ".balign 8\n"
        ".hidden cq_language_model_bytes\n"
        ".global cq_language_model_bytes\n"
        "cq_language_model_bytes:\n"
        ".incbin \"" CQ_LANGUAGE_MODEL "\"\n"
        ".previous\n");
extern const char cq_language_model_bytes[] __attribute__((visibility("hidden")));

bool cq_language_next(cq_language_view *v) {
  static const size_t start = sizeof CQ_LANGUAGE_MAGIC - 1 + sizeof(uint32_t);
  const char *at = v->end ? v->end : cq_language_model_bytes + start;
  uint32_t n_scripts;
  memcpy(&n_scripts, cq_language_model_bytes + sizeof CQ_LANGUAGE_MAGIC - 1, sizeof n_scripts);
  if (v->index++ == n_scripts) return false;
  memcpy(&v->head, at, sizeof v->head), at += sizeof v->head;
  v->codes = (const void *)at, at += v->head.n_languages * CQ_LANGUAGE_CODE;
  v->bias = (const void *)at, at += v->head.n_languages * sizeof(float);
  v->starts = (const void *)at, at += v->head.n_bytes ? (((size_t)1 << v->head.bits) + 1) * sizeof(uint32_t) : 0;
  v->ngrams = (const void *)at, v->end = at + v->head.n_bytes;
  return true;
}
