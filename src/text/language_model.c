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

static size_t padded(size_t n) {
  return (n + 3) & ~(size_t)3;
}

static size_t script_size(const cq_language_script *head) {
  size_t n = sizeof *head + head->n_languages * (CQ_LANGUAGE_CODE + sizeof(float));
  if (head->n_ngrams)
    n += (((size_t)1 << head->bits) + 1) * sizeof(uint32_t) + padded(head->n_ngrams * sizeof(uint16_t)) +
         padded((size_t)head->n_ngrams * head->n_languages);
  return n;
}

bool cq_language_view_at(cq_language_view *out, size_t index) {
  const char *at = cq_language_model_bytes + sizeof CQ_LANGUAGE_MAGIC - 1;
  uint32_t n_scripts;
  memcpy(&n_scripts, at, sizeof n_scripts);
  if (index >= n_scripts) return false;
  at += sizeof n_scripts;
  for (;; index--) {
    memcpy(&out->head, at, sizeof out->head);
    if (!index) break;
    at += script_size(&out->head);
  }
  at += sizeof out->head;
  out->codes = (const void *)at, at += out->head.n_languages * CQ_LANGUAGE_CODE;
  out->bias = (const void *)at, at += out->head.n_languages * sizeof(float);
  out->starts = (const void *)at, at += (((size_t)1 << out->head.bits) + 1) * sizeof(uint32_t);
  out->tags = (const void *)at, at += padded(out->head.n_ngrams * sizeof(uint16_t));
  out->weights = (const void *)at;
  return true;
}
