/* XXH3 for AVX2: three times as fast as for SSE2, which every x86-64 has. */
#define CQ_XXH3_TABLE cq_xxh3_avx2
#include "base/hash_xxh3.inc.h"
