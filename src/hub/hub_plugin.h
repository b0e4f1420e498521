/* The interface to the plugin for the network (src/curl): all that asks the hub. It is loaded when something is fetched,
 * listed or sent, so that offline use needs neither libcurl nor its TLS library. It has its own copy of the functions
 * that it needs of calque's folders. */
#ifndef HUB_HUB_PLUGIN_H
#define HUB_HUB_PLUGIN_H

#include "base/walk.h"
#include "calque/hub.h"
#include "calque/version.h"
#include "hub/name.h"

/* Plugin and library share structures: both must be of one version of calque. */
enum { CQ_HUB_PLUGIN_VERSION = CQ_VERSION_NUMBER };

/* As the functions of calque/hub.h, with options and names that were checked. */
typedef struct cq_hub_plugin {
  int version; /* CQ_HUB_PLUGIN_VERSION */
  cq_status (*get)(char **directory, const cq_hub_name *name, const cq_hub_options *options, cq_error *error);
  /* Adds the names of a repository's files to those of a walk. */
  cq_status (*list)(cq_walk *files, const cq_hub_name *name, const cq_hub_options *options, cq_error *error);
  cq_status (*put)(char **url, const char *directory, const cq_hub_name *name, const cq_hub_put_options *options,
                   cq_error *error);
  cq_status (*put_preview)(char **text, const char *directory, const cq_hub_name *name,
                           const cq_hub_put_options *options, cq_error *error);
} cq_hub_plugin;

/* Errors: CQ_ERR_UNSUPPORTED without the plugin. */
CQ_MUST_USE cq_status cq_hub_plugin_load(const cq_hub_plugin **out, cq_error *error);

#endif
