/* AMX's instructions in C, for what includes them in the place of the processor's: registers, the configuration, and
 * what the processor refuses. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct emulated_register {
  unsigned char bytes[16][64];
} emulated_register;

static struct {
  emulated_register tmm[8];
  int rows[8], row_bytes[8];
} amx;

static inline void amx_must(int condition) {
  if (!condition) abort(); /* where a processor raises an exception */
}

static inline void emulated_loadconfig(const void *from) {
  const unsigned char *c = from;
  amx_must(c[0] == 1 && c[1] == 0);
  for (int i = 2; i < 16; i++) amx_must(c[i] == 0);
  for (int i = 0; i < 8; i++) {
    uint16_t bytes;
    memcpy(&bytes, c + 16 + 2 * i, sizeof bytes);
    amx.rows[i] = c[48 + i], amx.row_bytes[i] = bytes;
    amx_must(amx.rows[i] <= 16 && bytes <= 64 && (amx.rows[i] == 0) == (bytes == 0));
  }
  for (int i = 8; i < 16; i++) amx_must(c[48 + i] == 0 && c[16 + 2 * i] == 0 && c[17 + 2 * i] == 0);
  memset(amx.tmm, 0, sizeof amx.tmm);
}

static inline void emulated_release(void) {
  memset(&amx, 0, sizeof amx);
}

static inline void emulated_zero(int t) {
  amx_must(amx.rows[t]);
  memset(&amx.tmm[t], 0, sizeof amx.tmm[t]);
}

static inline void emulated_load(int t, const void *from, size_t stride) {
  amx_must(amx.rows[t]);
  memset(&amx.tmm[t], 0, sizeof amx.tmm[t]);
  for (int r = 0; r < amx.rows[t]; r++)
    memcpy(amx.tmm[t].bytes[r], (const char *)from + (size_t)r * stride, (size_t)amx.row_bytes[t]);
}

static inline void emulated_store(int t, void *to, size_t stride) {
  amx_must(amx.rows[t]);
  for (int r = 0; r < amx.rows[t]; r++)
    memcpy((char *)to + (size_t)r * stride, amx.tmm[t].bytes[r], (size_t)amx.row_bytes[t]);
}

static inline void amx_must_fit(int c, int a, int b) {
  amx_must(amx.rows[c] && amx.rows[a] && amx.rows[b]);
  amx_must(amx.rows[c] == amx.rows[a] && amx.row_bytes[c] == amx.row_bytes[b] && amx.row_bytes[a] == 4 * amx.rows[b]);
}

static inline void emulated_dpbusd(int c, int a, int b) {
  amx_must_fit(c, a, b);
  for (int r = 0; r < amx.rows[c]; r++)
    for (int n = 0; n < amx.row_bytes[c] / 4; n++) {
      int32_t sum;
      memcpy(&sum, amx.tmm[c].bytes[r] + 4 * n, sizeof sum);
      for (int k = 0; k < amx.row_bytes[a]; k++)
        sum += amx.tmm[a].bytes[r][k] * (int8_t)amx.tmm[b].bytes[k / 4][4 * n + k % 4];
      memcpy(amx.tmm[c].bytes[r] + 4 * n, &sum, sizeof sum);
    }
}

static inline float emulated_bf16(const unsigned char *from) {
  uint16_t half;
  float x;
  memcpy(&half, from, sizeof half);
  const uint32_t bits = (half & 0x7F80u) ? (uint32_t)half << 16 : (uint32_t)(half & 0x8000u) << 16;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline void emulated_dpbf16ps(int c, int a, int b) {
  amx_must_fit(c, a, b);
  for (int r = 0; r < amx.rows[c]; r++)
    for (int n = 0; n < amx.row_bytes[c] / 4; n++) {
      float sum;
      memcpy(&sum, amx.tmm[c].bytes[r] + 4 * n, sizeof sum);
      for (int k = 0; k < amx.row_bytes[a] / 2; k++)
        sum +=
            emulated_bf16(amx.tmm[a].bytes[r] + 2 * k) * emulated_bf16(amx.tmm[b].bytes[k / 2] + 4 * n + 2 * (k % 2));
      memcpy(amx.tmm[c].bytes[r] + 4 * n, &sum, sizeof sum);
    }
}

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbusd
#undef _tile_dpbf16ps
#define _tile_loadconfig(from)       emulated_loadconfig(from)
#define _tile_release()              emulated_release()
#define _tile_zero(t)                emulated_zero(t)
#define _tile_loadd(t, from, stride) emulated_load(t, from, stride)
#define _tile_stored(t, to, stride)  emulated_store(t, to, stride)
#define _tile_dpbusd(c, a, b)        emulated_dpbusd(c, a, b)
#define _tile_dpbf16ps(c, a, b)      emulated_dpbf16ps(c, a, b)
