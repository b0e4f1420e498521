/* The peak of multiply-adds with AVX-512. */
#ifdef CQ_X86
#include "tensor/cpu/simd_avx512.h"

#define PEAK_NAME peak_avx512
double peak_avx512(float *sink, int64_t steps);
#include "peak.inc.h"
#else
typedef int cq_peak_not_built; /* C wants a declaration in every file */
#endif
