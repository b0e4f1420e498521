/* The version of the library that runs. */
#include "calque/version.h"

const char *cq_version(void) {
  return CQ_VERSION;
}

int cq_version_number(void) {
  return CQ_VERSION_NUMBER;
}
