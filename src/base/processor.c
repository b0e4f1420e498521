/* Processor facts that only the system knows: ARM's features, and the permission to use AMX. See processor.h. */
#include "base/processor.h"

#if defined(__linux__) && defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>

bool cq_processor_has_bf16(void) {
  return getauxval(AT_HWCAP2) & HWCAP2_BF16;
}
bool cq_processor_has_i8mm(void) {
  return getauxval(AT_HWCAP2) & HWCAP2_I8MM;
}
bool cq_processor_has_dotprod(void) {
  return getauxval(AT_HWCAP) & HWCAP_ASIMDDP;
}

#else

bool cq_processor_has_bf16(void) {
  return false;
}
bool cq_processor_has_i8mm(void) {
  return false;
}
bool cq_processor_has_dotprod(void) {
  return false;
}

#endif

#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>

bool cq_processor_allows_amx(void) {
  enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 }; /* arch_prctl's ARCH_REQ_XCOMP_PERM, the state's number */
  return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

#else

bool cq_processor_allows_amx(void) {
  return false;
}

#endif
