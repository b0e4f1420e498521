/* The plugin for the hub, linked into the test instead of loaded. */
#include "hub/hub_plugin.h"

extern const cq_hub_plugin cq_curl_plugin_table;
cq_status __wrap_cq_plugin_load(const void **out, const char *name, int version, const char *need, cq_error *error);

cq_status __wrap_cq_plugin_load(const void **out, const char *name, int version, const char *need, cq_error *error) {
  (void)name, (void)version, (void)need, (void)error;
  *out = &cq_curl_plugin_table;
  return CQ_OK;
}
