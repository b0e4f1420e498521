/* Libraries that calque opens when it first needs them, and works without: FAISS and the like, which bring much of their
 * own.
 *
 *   const void *table;
 *   cq_status status = cq_plugin_open(&table, "libcalque_faiss.so", CQ_FAISS_PLUGIN_SYMBOL, error);
 *
 * They lie in calque/ beside libcalque, beside it where it was built, or where the system looks for libraries. The program,
 * which has the library in it, looks in the same places. A program without shared libraries has none. */
#ifndef BASE_PLUGIN_H
#define BASE_PLUGIN_H

#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>

/* *out: what the symbol of that name in the library points to; the library stays loaded.
 * Errors: CQ_ERR_UNSUPPORTED, with what the system says. */
CQ_MUST_USE cq_status cq_plugin_open(const void **out, const char *library, const char *symbol, cq_error *error);

/* The directory of the library that this function is in, or of the program where it is linked into one. False when it is
 * not known, or has size bytes or more. */
bool cq_library_directory(char *out, size_t size);

#endif
