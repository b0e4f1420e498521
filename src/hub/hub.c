/* Fetching and publishing: options, names, and what the cache has; the rest is the plugin's for the network. */
#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/plugin.h"
#include "hub/hub_plugin.h"

#include <string.h>

#define O cq_hub_options
static const char *const types[] = {"model", "dataset", NULL};
static const cq_option get_rows[] = {
    {CQ_CHOICE(O, "type", type, CHANGES, CQ_HUB_MODEL, types, "TYPE", "what the repository is")},
    {CQ_TEXTS(O, "file", files, n_files, CHANGES, "PATTERN",
              "fetch the files that match, * and ? as in a shell, DIRECTORY/ for all in it"),
     .otherwise = "what calque reads of a model, all of a data set"},
};
#undef O

const cq_option_group cq_group_hub = {
    .name = "hub", CQ_ROWS(cq_hub_options, get_rows), CQ_FIELDS(CQ_CALLBACK(cq_hub_options, progress))};

#define O cq_hub_put_options
static const cq_option put_rows[] = {
    {CQ_TEXT(O, "license", license, CHANGES, "NAME", "the card's license, by its name on the hub: apache-2.0"),
     .otherwise = "from the directory's card"},
    {CQ_TEXTS(O, "base-model", base_models, n_base_models, CHANGES, "NAME",
              "the card's base model: what it was made from"),
     .otherwise = "from the directory's card"},
    {CQ_TEXTS(O, "language", languages, n_languages, CHANGES, "CODE", "the card's languages"),
     .otherwise = "from the directory's card", .flags = CQ_OPTION_COMMAS},
    {CQ_TEXTS(O, "dataset", datasets, n_datasets, CHANGES, "NAME", "the card's data sets, by their names on the hub"),
     .otherwise = "from the directory's card"},
    {CQ_TEXT(O, "message", message, CHANGES, "TEXT", "commit message"), .otherwise = "names the model and calque"},
    {CQ_FLAG(O, "private", is_private, CHANGES, "make the repository private if it is created")},
    {CQ_FLAG(O, "replace", replace, CHANGES, "replace existing files with other contents")},
};
#undef O

const cq_option_group cq_group_hub_put = {
    .name = "hub_put",
    CQ_ROWS(cq_hub_put_options, put_rows),
    CQ_FIELDS(CQ_CALLBACK(cq_hub_put_options, progress), CQ_CALLBACK(cq_hub_put_options, notice))};

cq_status cq_hub_plugin_load(const cq_hub_plugin **out, cq_error *error) {
  const void *table;
  const cq_status status = cq_plugin_load(&table, "curl", CQ_HUB_PLUGIN_VERSION,
                                          "the Hugging Face hub needs calque's plugin for libcurl", error);
  *out = table;
  return status;
}

/* Finds the files in the cache, when nothing may be fetched. */
static cq_status get_offline(char **directory, const cq_hub_name *name, const cq_hub_options *o, cq_error *error) {
  char cache[CQ_HUB_PATH], looked[CQ_HUB_PATH], path[CQ_HUB_PATH];
  const char *revision = strcmp(name->revision, "main") != 0 ? name->revision : NULL;
  const char *kind = o->type == CQ_HUB_MODEL ? "models" : "datasets";
  const bool is_bare = o->type == CQ_HUB_MODEL && !strchr(name->repository, '/');
  if (cq_hub_cache_directory(cache) &&
      ((is_bare && cq_hub_find_snapshot(path, sizeof path, looked, cache, kind, "sentence-transformers",
                                        name->repository, revision)) ||
       cq_hub_find_snapshot(path, sizeof path, looked, cache, kind, NULL, name->repository, revision)))
    return (*directory = cq_strdup(path)) ? CQ_OK : cq_fail_memory(error, name->repository);
  return cq_fail_file(error, CQ_ERR_IO, name->repository,
                      "HF_HUB_OFFLINE is set, and the cache has no snapshot of it at %s", name->revision);
}

cq_status cq_hub_get(char **directory, const char *repository, const cq_hub_options *options, cq_error *error) {
  cq_hub_options o;
  cq_hub_name name;
  const cq_hub_plugin *plugin;
  *directory = NULL;
  cq_status status = cq_options_take(&o, &cq_group_hub, options, error);
  if (!status) status = cq_hub_name_parse(&name, repository, error);
  if (status) return status;
  if (cq_hub_is_offline()) return get_offline(directory, &name, &o, error);
  status = cq_hub_plugin_load(&plugin, error);
  return status ? status : plugin->get(directory, &name, &o, error);
}

static cq_status begin_put(cq_hub_put_options *o, cq_hub_name *name, const cq_hub_plugin **plugin,
                           const char *repository, const cq_hub_put_options *options, cq_error *error) {
  cq_status status = cq_options_take(o, &cq_group_hub_put, options, error);
  if (!status) status = cq_hub_name_parse(name, repository, error);
  if (!status && !strchr(name->repository, '/'))
    status = cq_fail(error, CQ_ERR_ARGUMENT,
                     "'%.200s' has no organization: expected ORGANIZATION/NAME, where yours is "
                     "the name of your account",
                     repository);
  return status ? status : cq_hub_plugin_load(plugin, error);
}

cq_status cq_hub_put(char **url, const char *directory, const char *repository, const cq_hub_put_options *options,
                     cq_error *error) {
  cq_hub_put_options o;
  cq_hub_name name;
  const cq_hub_plugin *plugin;
  *url = NULL;
  const cq_status status = begin_put(&o, &name, &plugin, repository, options, error);
  return status ? status : plugin->put(url, directory, &name, &o, error);
}

cq_status cq_hub_put_preview(char **text, const char *directory, const char *repository,
                             const cq_hub_put_options *options, cq_error *error) {
  cq_hub_put_options o;
  cq_hub_name name;
  const cq_hub_plugin *plugin;
  *text = NULL;
  const cq_status status = begin_put(&o, &name, &plugin, repository, options, error);
  return status ? status : plugin->put_preview(text, directory, &name, &o, error);
}
