/* The plugins for formats and for bzip2, linked into a test instead of loaded, so that their allocations fail, too. */
#include "base/compression.h"
#include "base/error.h"
#include "document/formats_plugin.h"

#include <string.h>

extern const cq_formats_plugin cq_formats_plugin_table;
extern const cq_bzip2_plugin cq_bzip2_plugin_table;
extern bool is_plugin_missing;
bool is_plugin_missing;
cq_status __wrap_cq_plugin_load(const void **out, const char *name, int version, const char *need, cq_error *error);

cq_status __wrap_cq_plugin_load(const void **out, const char *name, int version, const char *need, cq_error *error) {
  (void)version;
  if (is_plugin_missing) return cq_fail(error, CQ_ERR_UNSUPPORTED, "%s: it is missing", need);
  *out = &cq_formats_plugin_table;
#ifdef HAS_BZIP2
  if (!strcmp(name, "bzip2")) *out = &cq_bzip2_plugin_table;
#endif
  return CQ_OK;
}
