/* XXH3 for what every processor of the architecture has (SSE2, NEON or none). */
#define CQ_XXH3_TABLE cq_xxh3_baseline
#include "base/hash_xxh3.inc.h"
