/** @file The calque version that a program was compiled with, and the one it runs with.
 *
 *      if (strcmp(cq_version(), CQ_VERSION)) ...                 // the library and the headers differ
 *      #if CQ_VERSION_NUMBER >= 200                              // 0.2.0 or later
 *
 * While the major version is 0, each minor version has its own SONAME (libcalque.so.0.2): within it, functions do not
 * change, and option structs only grow at the end (calque/options.h). calque/extra/ and calque/lab/ are outside that
 * promise.
 *
 * @threads All may be called by any number of threads at once. */
#ifndef CALQUE_VERSION_H
#define CALQUE_VERSION_H

#include "calque/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The version, which the build reads from these three lines. */
#define CQ_VERSION_MAJOR 0
#define CQ_VERSION_MINOR 2
#define CQ_VERSION_PATCH 0

#define CQ_VERSION_NUMBER                  (CQ_VERSION_MAJOR * 10000 + CQ_VERSION_MINOR * 100 + CQ_VERSION_PATCH)
#define CQ_VERSION_TEXT(x)                 #x
#define CQ_VERSION_OF(major, minor, patch) CQ_VERSION_TEXT(major) "." CQ_VERSION_TEXT(minor) "." CQ_VERSION_TEXT(patch)
#define CQ_VERSION                         CQ_VERSION_OF(CQ_VERSION_MAJOR, CQ_VERSION_MINOR, CQ_VERSION_PATCH)

/** The library's version, "0.2.0", and as CQ_VERSION_NUMBER. */
CQ_API const char *cq_version(void);
CQ_API int cq_version_number(void);

#ifdef __cplusplus
}
#endif
#endif
