/* The values of a GGUF file, appended one by one. See gguf.h. */
#include "recipe/export/gguf.h"

void cq_gguf_put(cq_gguf *g, const void *bytes, size_t n) {
  cq_builder_bytes(&g->head, bytes, n);
}

void cq_gguf_put_string(cq_gguf *g, cq_slice text) {
  cq_gguf_put(g, &(uint64_t){text.n}, sizeof(uint64_t));
  cq_gguf_put(g, text.data, text.n);
}

static void put_key(cq_gguf *g, const char *key, uint32_t type) {
  cq_gguf_put_string(g, cq_slice_of(key));
  cq_gguf_put(g, &type, sizeof type);
  g->n_values++;
}

void cq_gguf_u32(cq_gguf *g, const char *key, uint32_t x) {
  put_key(g, key, CQ_GGUF_U32);
  cq_gguf_put(g, &x, sizeof x);
}

void cq_gguf_f32(cq_gguf *g, const char *key, float x) {
  put_key(g, key, CQ_GGUF_F32);
  cq_gguf_put(g, &x, sizeof x);
}

void cq_gguf_bool(cq_gguf *g, const char *key, bool x) {
  put_key(g, key, CQ_GGUF_BOOL);
  cq_gguf_put(g, &(uint8_t){x}, 1);
}

void cq_gguf_string(cq_gguf *g, const char *key, const char *text) {
  put_key(g, key, CQ_GGUF_STRING);
  cq_gguf_put_string(g, cq_slice_of(text));
}

void cq_gguf_array(cq_gguf *g, const char *key, uint32_t type, uint64_t n) {
  enum { ARRAY = 9 };
  put_key(g, key, ARRAY);
  cq_gguf_put(g, &type, sizeof type);
  cq_gguf_put(g, &n, sizeof n);
}
