/* Resolves a model's name to a directory: itself, a model shipped with calque, or one in the Hugging Face cache.
 *
 *   share/calque/models/NAME                          next to the library's lib/; or CALQUE_MODELS, if it is set
 *   models/NAME                                       next to a static program
 *
 *   NAME, ORG/NAME, either with @REVISION             in the cache (hub/hub_cache.h)
 *
 * small and base are short for calque-small and calque-base. */
#include "base/error.h"
#include "base/file.h"
#include "base/plugin.h"
#include "hub/hub_cache.h"
#include "model/encoder.h"

#include <string.h>

#define MAX_PATH CQ_HUB_PATH

const char *cq_model_shipped(const char *name) {
  if (strchr(name, '/') || strchr(name, '@') || cq_is_directory(name)) return NULL;
  if (!strcmp(name, "small")) return "calque-small";
  if (!strcmp(name, "base")) return "calque-base";
  return strncmp(name, "calque-", 7) == 0 ? name : NULL;
}

/* Whether the model is among these models. A damaged directory of calque's own is one: opening it says what is wrong. */
static bool is_among(char *out, size_t size, const char *models, const char *name, bool is_own) {
  char path[MAX_PATH];
  if (snprintf(out, size, "%s/%s", models, name) >= (int)size) return false;
  if (is_own && cq_is_directory(out)) return true;
  return snprintf(path, sizeof path, "%s/modules.json", out) < (int)sizeof path && cq_file_exists(path);
}

/* A model that is installed with the library, wherever the library is. *looked: the places, for an error. */
static bool find_shipped(char *out, size_t size, char looked[MAX_PATH], const char *name, bool is_own) {
  static const char *const beside[] = {
      "../share/calque/models", /* relative to bin/calque, and to the library in the build folder */
      "../../share/calque/models",
      "share/calque/models", /* of the program where it was built */
#ifdef CQ_STATIC             /* as its archive has them, side by side */
      "models",
#endif
  };
  const char *models = cq_hub_environment("CALQUE_MODELS");
  char library[MAX_PATH], path[2 * MAX_PATH];
  size_t n = 0;
  looked[0] = '\0';
  if (strchr(name, '/') || name[0] == '.') return false;
  if (models) {
    snprintf(looked, MAX_PATH, "%s (CALQUE_MODELS)", models);
    return is_among(out, size, models, name, is_own);
  }
  if (!cq_library_directory(library, sizeof library)) return false;
  for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
    snprintf(path, sizeof path, "%s/%s", library, beside[i]);
    if (is_among(out, size, path, name, is_own)) return true;
    if (n < MAX_PATH) n += (size_t)snprintf(looked + n, MAX_PATH - n, "%s%s", n ? ", " : "", path);
  }
  return false;
}

cq_status cq_model_resolve(char *out, size_t out_size, const char *name, cq_error *error) {
  char cache[MAX_PATH], repository[CQ_HUB_NAME], looked[2][MAX_PATH] = {"", ""}, installed[MAX_PATH];
  const char *shipped = cq_model_shipped(name);
  if (cq_is_directory(name)) {
    if (snprintf(out, out_size, "%s", name) >= (int)out_size)
      return cq_fail_file(error, CQ_ERR_ARGUMENT, name, "the path is too long");
    return CQ_OK;
  }
  if (!shipped && cq_file_exists(name))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, name, "a model is a directory, this is a file");
  if (find_shipped(out, out_size, installed, shipped ? shipped : name, shipped != NULL)) return CQ_OK;
  if (shipped)
    return cq_fail_file(
        error, CQ_ERR_IO, shipped,
        "this model, which calque ships, is not installed: looked in %.600s; install calque with its models, set "
        "CALQUE_MODELS to the directory that has it, or choose another model (--model)",
        installed);
  if (!cq_hub_cache_directory(cache))
    return cq_fail_file(error, CQ_ERR_IO, name, "no such directory, and no cache to look in (HOME is not set)");
  const char *at = strchr(name, '@'), *revision = at && at[1] ? at + 1 : NULL;
  const int n = (int)(at ? (size_t)(at - name) : strlen(name));
  if (snprintf(repository, sizeof repository, "%.*s", n, name) >= (int)sizeof repository)
    return cq_fail_file(error, CQ_ERR_IO, name, "no such directory");
  const bool is_bare = !strchr(repository, '/');
  if (is_bare &&
      cq_hub_find_snapshot(out, out_size, looked[0], cache, "models", "sentence-transformers", repository, revision))
    return CQ_OK;
  if (cq_hub_find_snapshot(out, out_size, looked[1], cache, "models", NULL, repository, revision)) return CQ_OK;
  if (!looked[0][0] && !looked[1][0]) return cq_fail_file(error, CQ_ERR_IO, name, "no such directory");
  return cq_fail_file(error, CQ_ERR_IO, name,
                      "no such directory, and no snapshot of that name in the cache ('calque model get %.120s' fetches "
                      "it from the Hugging Face hub): looked for %.300s%s%.300s",
                      name, looked[0], looked[0][0] && looked[1][0] ? " and " : "", looked[1]);
}
