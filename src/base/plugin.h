/* Libraries that calque opens when it first needs them, and works without: FAISS and the like, which depend on much
 * else.
 *
 *   const void *table;
 *   cq_status status = cq_plugin_load(&table, "faiss", CQ_FAISS_PLUGIN_VERSION,
 *                                     "approximate search needs calque's plugin for FAISS", error);
 *
 * They lie in calque/ next to libcalque, next to it in a build folder, or where the system looks for libraries. The
 * program, which has the library in it, looks in the same places. A program without shared libraries has none. */
#ifndef BASE_PLUGIN_H
#define BASE_PLUGIN_H

#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The table cq_NAME_plugin_table of libcalque_NAME.so, which begins with an int, its version; the library stays loaded.
 * `need` begins the message. Errors: CQ_ERR_UNSUPPORTED, with the system's message. */
CQ_MUST_USE cq_status cq_plugin_load(const void **out, const char *name, int version, const char *need,
                                     cq_error *error);

/* The directory of the library that this function is in, or of the program that it is linked into. False when it is
 * unknown or has size bytes or more. */
bool cq_library_directory(char *out, size_t size);

#endif
