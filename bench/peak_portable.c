/* The peak of multiply-adds of the portable kernels. */
#include "tensor/cpu/simd_portable.h"

#define PEAK_NAME peak_portable
double peak_portable(float *sink, int64_t steps);
#include "peak.inc.h"
