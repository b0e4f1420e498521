/* XXH3 for the baseline of the architecture (SSE2, NEON or none). */
#define CQ_XXH3_TABLE cq_xxh3_baseline
#include "base/hash_xxh3.inc.h"
