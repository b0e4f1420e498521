/* Optional libraries that calque opens when it first needs them, such as FAISS, which has many dependencies.
 *
 *   const void *table;
 *   cq_status status = cq_plugin_load(&table, "faiss", CQ_FAISS_PLUGIN_VERSION,
 *                                     "approximate search needs calque's plugin for FAISS", error);
 *
 * They are in calque/ next to libcalque, next to it in a build folder, or on the system's library path. The program,
 * which contains the library, looks in the same places. A static program has no plugins. */
#ifndef BASE_PLUGIN_H
#define BASE_PLUGIN_H

#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>

/* *out: the table cq_NAME_plugin_table of libcalque_NAME.so. It begins with an int, its version. The library stays
 * loaded. An error message begins with `need`. Errors: CQ_ERR_UNSUPPORTED, with the system's message. */
CQ_MUST_USE cq_status cq_plugin_load(const void **out, const char *name, int version, const char *need,
                                     cq_error *error);

/* The directory of the library that contains this function, or of the program it is linked into. False when it is
 * unknown or does not fit into size bytes. */
bool cq_library_directory(char *out, size_t size);

#endif
